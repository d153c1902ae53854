"""Recompute tables: ``python -m ismlit_book.experiments table-5.4 [--only Wine] [--quick]``.

Rows are stored one by one as they are found, so a run can be interrupted and taken up again.
"""

import argparse
import re
from importlib import import_module

from tqdm import tqdm

from ismlit_book.experiments import SEED
from ismlit_book.record.tables import store

TABLES = (
    "table-3.1 alternatives starts table-4.2 program-4.2 hypotheses-4.2 imsat-digits table-4.6 "
    "patience table-5.4 table-5.5 table-6.1 program-6.1 program-6.2 network-scaling cycles scaling "
    "peers classifiers clusterers defaults public responses unseen planes chance draws ridges"
).split()
"""Each is a module of this package, with an underscore for a sign."""


def main():
    """Run the named tables (all by default) and store their numbers."""
    parser = argparse.ArgumentParser(prog="python -m ismlit_book.experiments", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"which of {sorted(TABLES)}; all by default")
    parser.add_argument("--only", default="", help="rows whose name starts so, e.g. Wine/super")
    parser.add_argument("--quick", action="store_true", help="two folds only; nothing is stored")
    parser.add_argument("--jobs", type=int, default=1, help="folds run at once")
    parser.add_argument("--out", help="store rows in this folder instead of the book's results")
    options = parser.parse_args()
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no experiment {sorted(unknown)}; known are {sorted(TABLES)}")
    folds = 2 if options.quick else 10
    for name in options.tables or TABLES:
        module = re.sub(r"\W", "_", name)
        table = import_module(f"ismlit_book.experiments.{module}")
        rows = table.rows(only=options.only, folds=folds, jobs=options.jobs)
        for row in tqdm(rows, desc=name, unit="row"):
            tqdm.write(" ".join(str(v) for v in row.values() if isinstance(v, str)))
            if not options.quick:
                own = getattr(table, "FOLDS", folds)  # of some a number for each set
                settings = dict(folds=own if isinstance(own, int) else folds, seed=SEED)
                store(name, [row], settings, options.out)


if __name__ == "__main__":
    main()
