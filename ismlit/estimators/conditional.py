"""Conditional covariance in place of HSIC: where it starts, and whether held-out rows prefer it."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ismlit.estimators.components import standard_error
from ismlit.estimators.sliced_variance import variance_plane
from ismlit.memory import few_rows
from ismlit.messages import silenced
from ismlit.objectives.landmarks import conditional_problem
from ismlit.objectives.plain import Problem
from ismlit.objectives.protocol import Objective
from ismlit.solvers.gradient_start import gradient_plane
from ismlit.solvers.ism import ism
from ismlit.solvers.result import ISMResult
from ismlit.solvers.starts import START_SUBSAMPLE

RIDGE = 0.01  # What "auto" tries beside infinity.
JUDGED_ROWS = 600  # On at most so many rows.
FEWEST_JUDGED = 60  # With fewer the thesis's objective is kept.
ROUNDING = 5e-6  # The inverse costs digits: a climb that ends with a smaller residual is done.
TIED = 1e-6  # A gain on one of three thirds is exactly its standard error, and not more.
QUICK: dict[str, Any] = dict(tol=1e-2, max_iter=60, escape=False)
"""Options of a climb that only has to show which objective is better."""


def conditional_starts(X, y, narrow, q):
    """Planes to start from: gradients of a regression in their own metric, and SAVE.

    The maximum of HSIC is none of them: where it is far off and rows are few, a higher J is found
    beside it than beside the true plane.

    Parameters
    ----------
    X, y : arrays of n rows
    narrow : Gamma
        Of y, with half of the usual width.
    q : int

    Returns
    -------
    list of arrays of shape (d, q)
    """
    rows = np.random.default_rng(0).permutation(len(X))[:START_SUBSAMPLE]
    planes = [gradient_plane(X[rows], narrow.F[rows], narrow.s, q)[1], *variance_plane(X, y, q)]
    return [plane.astype(X.dtype) for plane in planes]


def climb_from_highest(problem: Objective, starts, **options) -> ISMResult:
    """Solve from that of several starts at which J is highest."""
    heights = [problem.near(W).objective(W) for W in starts]
    result = ism(problem, init=starts[int(np.argmax(heights))], **options)
    return replace(result, converged=result.converged or result.residual <= ROUNDING)


def choose_ridge(model, X, y, weight, kernel, q):
    """The ridge 0.01 if held-out rows prefer it to infinity by a standard error, else infinity.

    Parameters
    ----------
    model : estimator with ridge
    X, y, weight : arrays of n rows, and None or an array
    kernel : Kernel
    q : int
        The number of components.

    Returns
    -------
    ridge : float
    scores : array of shape (2, 3), or None
        Of five nearest neighbours in the projection, on every third held out: with a ridge of
        infinity, and with 0.01. None where the rows are too few, or a third cannot be fitted.
    """
    if len(X) < FEWEST_JUDGED:
        return np.inf, None
    twin, classes = copy.copy(model), hasattr(model, "classes_")
    kind, judge = (
        (StratifiedKFold, KNeighborsClassifier()) if classes else (KFold, KNeighborsRegressor())
    )
    drawn = few_rows(len(X), JUDGED_ROWS)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer than three rows
        thirds = list(kind(3, shuffle=True, random_state=0).split(drawn, y[drawn]))
    with silenced():  # what the last fit says is enough
        for train, test in thirds:
            rows, held = drawn[train], drawn[test]
            held_weight = None if weight is None else weight[held]
            try:
                planes = _planes(twin, X[rows], y[rows], _part(weight, rows), kernel.on(rows), q)
                known = [
                    judge.fit(X[rows] @ W, y[rows]).score(X[held] @ W, y[held], held_weight)
                    for W in planes
                ]
            except ValueError:  # a third without a class, or a kernel that is not definite
                return np.inf, None
            scores.append(known)
    scores = np.array(scores).T
    return RIDGE if is_clearly_better(*scores) else np.inf, scores


def _part(weight, rows):
    return None if weight is None else weight[rows]


def _planes(model, X, y, weight, kernel, q):
    """The planes of HSIC and of the conditional covariance, on some of the rows."""
    w = model._row_weights(weight, X, y)
    X = X - np.average(X, axis=0, weights=w)
    planes = [ism(Problem(X, model._gamma(y, w), kernel), q=q, init="gradient", **QUICK).W]
    starts = conditional_starts(X, y, model._regression_gamma(y, w, 0.5), q)
    problem = conditional_problem(X, model._regression_gamma(y, w), kernel, RIDGE, w)
    return [*planes, climb_from_highest(problem, starts, q=q, **QUICK).W]


def is_clearly_better(scores, others):
    """Say whether other scores beat some by more than a standard error in the mean.

    Parameters
    ----------
    scores, others : arrays of shape (n_folds,)

    Returns
    -------
    bool
        The error is that of the differences, fold by fold.

    Examples
    --------
    >>> from ismlit.estimators.conditional import is_clearly_better
    >>> is_clearly_better([0.7, 0.8], [0.9, 0.81])  # by .105 +- .095
    True
    """
    gains = np.asarray(others, dtype=float) - scores
    return bool(gains.mean() > (1 + TIED) * standard_error(gains))
