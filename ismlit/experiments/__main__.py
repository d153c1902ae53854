"""Recompute a table: ``python -m ismlit.experiments table-5.4 [--quick] [--jobs N]``."""

import argparse
import time

from ismlit.experiments import store, table_5_4

TABLES = {"table-5.4": table_5_4}


def main():
    """Run the named tables (all by default) and store their numbers."""
    parser = argparse.ArgumentParser(prog="python -m ismlit.experiments", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"which of {sorted(TABLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="two folds only; nothing is stored")
    parser.add_argument("--jobs", type=int, default=1, help="folds run at once")
    options = parser.parse_args()
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no experiment {sorted(unknown)}; known are {sorted(TABLES)}")
    for name in options.tables or TABLES:
        start = time.perf_counter()
        rows = TABLES[name].rows(folds=2 if options.quick else 10, jobs=options.jobs)
        for row in rows:
            print(row)
        if not options.quick:
            settings = dict(folds=10, seed=table_5_4.SEED)
            print("stored", store(name, rows, time.perf_counter() - start, settings))


if __name__ == "__main__":
    main()
