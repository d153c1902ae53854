"""``python -m tools.bench [--quick] [--only PART] [--store]``: all rows beside their targets."""

import argparse

from tools.bench import climbs, cluster, estimators, growth, passes
from tools.bench.rows import HISTORY, store

PARTS = {
    "passes": passes.rows,
    "climbs": climbs.rows,
    "estimators": estimators.rows,
    "growth": growth.rows,
    "cluster": cluster.rows,
}


def main(arguments=None):
    """Run the parts asked for, print their rows, and say how many targets are met."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smaller sizes alone")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--store", action="store_true", help=f"add the run to {HISTORY.name}")
    options = parser.parse_args(arguments)
    found = []
    for name, rows in PARTS.items():
        if options.only in (None, name):
            print(f"\n{name}", flush=True)
            for row in rows(options.quick):
                print(row, flush=True)
                found.append(row)
    judged = [row.met for row in found if row.met is not None]
    print(f"\n{sum(judged)} of {len(judged)} targets met")
    if options.store:
        store(found)


if __name__ == "__main__":
    main()
