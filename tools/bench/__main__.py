"""``python -m tools.bench [--quick] [--only PART] [--store]``: all rows beside their targets."""

import argparse
import warnings

from tools.bench import climbs, cluster, growth, passes, peers
from tools.bench.rows import HISTORY, store

PARTS = dict(
    passes=passes.rows,
    climbs=climbs.rows,
    growth=growth.rows,
    peers=peers.rows,
    cluster=cluster.rows,
)


def main(arguments=None):
    """Run the parts asked for, print their rows, and say how many targets are met."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smaller sizes alone")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--store", action="store_true", help=f"add the run to {HISTORY.name}")
    options = parser.parse_args(arguments)
    found = []
    for name in [options.only] if options.only else PARTS:
        print(f"\n{name}", flush=True)
        with warnings.catch_warnings(action="ignore"):  # what does not converge is timed too
            for row in PARTS[name](options.quick):
                print(row, flush=True)
                found.append(row)
    judged = [row.met for row in found if row.met is not None]
    print(f"\n{sum(judged)} of {len(judged)} targets met")
    if options.store:
        store(found)


if __name__ == "__main__":
    main()
