"""Where alternative clustering starts: fifty draws of two views, three solvers, five starts.

The seed draws the data as well, so that a start which does not hang on it varies too. "walk" is
KDAC's default: from the median distance down, each time also from where it was.
"""

import warnings
from functools import partial

from ismlit import KDAC, datasets, ism, median_distance
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit_book.experiments import named, over_runs
from ismlit_book.methods.baselines import dimension_growth, stiefel_descent

SOLVERS = {"ism": ism, "sm": stiefel_descent, "dg": dimension_growth}
STARTS = ("taylor", "pca", "random", "several", "walk")
DRAWS = 50


class SolvedBy(KDAC):
    """KDAC with another solver for W."""

    def _alternated(self, joint, columns, q, W=None, **options):
        solve = self.solver
        if solve is not ism:  # which `alternate` knows, and hands these by itself
            solve = partial(solve, tol=self.tol, random_state=self.random_state)
        options.setdefault("solver", solve)
        return super()._alternated(joint, columns, q, W, **options)


def one(solver, start, seed):
    """Quality, and agreement with the bands that are sought, of one fit with three directions."""
    X, clouds, bands = datasets.make_two_views(120, 2, random_state=seed)
    X = scale(X)
    options = dict(bandwidth=median_distance(X) / 16, init=start) if start != "walk" else {}
    model = SolvedBy(2, 3, random_state=seed, max_turns=30, tol=1e-4, **options)
    model.solver = SOLVERS[solver]
    with warnings.catch_warnings(action="ignore"):  # thirty turns need not be enough
        labels = model.fit_predict(X, clouds)
    agreement = normalized_mutual_info_score(bands, labels)
    return {"NMI": round(float(agreement), 4), "quality": round(float(model.quality_), 4)}


def rows(only="", folds=10, jobs=1):
    """One row a solver and start."""
    draws = range(DRAWS if folds > 2 else 2)
    for solver, start in named(only, SOLVERS, STARTS):
        found = over_runs([one(solver, start, seed) for seed in draws])
        yield {"solver": solver, "start": start} | found
