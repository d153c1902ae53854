"""Recompute tables: ``python -m ismlit.edition.experiments table-5.4 [--only Wine] [--quick]``.

Rows are stored one by one as they are found, so a run can be interrupted and taken up again.
"""

import argparse

from tqdm import tqdm

from ismlit.edition.experiments import (
    SEED,
    alternatives,
    classifiers,
    clusterers,
    cycles,
    defaults,
    hypotheses_4_2,
    imsat_digits,
    network_scaling,
    patience,
    peers,
    program_4_2,
    program_6_1,
    program_6_2,
    public,
    responses,
    scaling,
    starts,
    table_3_1,
    table_4_2,
    table_4_6,
    table_5_4,
    table_5_5,
    table_6_1,
)
from ismlit.edition.tables import store

TABLES = {
    "table-3.1": table_3_1,
    "alternatives": alternatives,
    "starts": starts,
    "table-4.2": table_4_2,
    "program-4.2": program_4_2,
    "hypotheses-4.2": hypotheses_4_2,
    "imsat-digits": imsat_digits,
    "table-4.6": table_4_6,
    "patience": patience,
    "table-5.4": table_5_4,
    "table-5.5": table_5_5,
    "table-6.1": table_6_1,
    "program-6.1": program_6_1,
    "program-6.2": program_6_2,
    "network-scaling": network_scaling,
    "cycles": cycles,
    "scaling": scaling,
    "peers": peers,
    "classifiers": classifiers,
    "clusterers": clusterers,
    "defaults": defaults,
    "public": public,
    "responses": responses,
}


def main():
    """Run the named tables (all by default) and store their numbers."""
    parser = argparse.ArgumentParser(
        prog="python -m ismlit.edition.experiments", description=__doc__
    )
    parser.add_argument("tables", nargs="*", help=f"which of {sorted(TABLES)}; all by default")
    parser.add_argument("--only", default="", help="rows whose name starts so, e.g. Wine/super")
    parser.add_argument("--quick", action="store_true", help="two folds only; nothing is stored")
    parser.add_argument("--jobs", type=int, default=1, help="folds run at once")
    parser.add_argument("--out", help="store rows in this folder instead of book/results")
    options = parser.parse_args()
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no experiment {sorted(unknown)}; known are {sorted(TABLES)}")
    folds = 2 if options.quick else 10
    for name in options.tables or TABLES:
        rows = TABLES[name].rows(only=options.only, folds=folds, jobs=options.jobs)
        for row in tqdm(rows, desc=name, unit="row"):
            tqdm.write(" ".join(str(v) for v in row.values() if isinstance(v, str)))
            if not options.quick:
                own = getattr(TABLES[name], "FOLDS", folds)  # of some a number for each set
                settings = dict(folds=own if isinstance(own, int) else folds, seed=SEED)
                store(name, [row], settings, options.out)


if __name__ == "__main__":
    main()
