"""Table D.7: the widths of the networks of Table 6.1, fold by fold, beside those of the program.

The splits into folds are not published, so that a printed fold may stand beside any fold of here,
but each beside one.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ismlit_book import printed


def printed_widths(name):
    """Table D.7's widths of a set: a list for each fold."""
    rows = (r for r in printed("table-D.7") if r["set"] == name)
    return [[int(width) for width in row["widths"].split()] for row in rows]


def near_widths(found, wanted):
    """Whether widths agree, each to 3 columns or 15 %."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return np.abs(found - wanted) <= np.maximum(3, 0.15 * wanted)


def folds_alike(found, wanted):
    """How many printed folds have a fold of their own beside them with the same layers.

    Parameters
    ----------
    found, wanted : list of list of int
        The widths of each fold.
    """
    alike = [[len(a) == len(b) and near_widths(a, b).all() for b in found] for a in wanted]
    pairs = linear_sum_assignment(alike, maximize=True)
    return int(np.array(alike)[pairs].sum())


def layers_alike(found, wanted):
    """{"layer 1": whether it comes out in all folds, ...}; both in order, 0 where there is none."""
    depth = max(map(len, [*found, *wanted]))
    padded = lambda folds: np.sort([[*w, *[0] * (depth - len(w))] for w in folds], axis=0)
    hits = near_widths(padded(found), padded(wanted)).all(axis=0)
    return {f"layer {k}": bool(hit) for k, hit in enumerate(hits, 1)}
