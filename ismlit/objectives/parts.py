"""An objective from its parts: data, Gamma, a kernel."""

from __future__ import annotations

import numpy as np

from ismlit.bandwidth import as_kernel
from ismlit.messages import warn
from ismlit.objectives.features import FeatureProblem
from ismlit.objectives.plain import Problem
from ismlit.objectives.protocol import Objective


def as_problem(
    X, gamma=None, kernel=None, n_jobs=None, random_features=None, random_state=None, q=None
):
    """A problem from its parts, or X itself if it is one (gamma and kernel are then omitted)."""
    if isinstance(X, Objective):
        if any(part is not None for part in (gamma, kernel, random_features)):
            raise ValueError(
                "a problem brings its own gamma, kernel and random features: pass it alone, "
                "as in ism(problem, q=2)"
            )
        return X
    if gamma is None or kernel is None:
        raise ValueError("X is an array, so gamma and kernel are needed: ism(X, gamma, kernel, q)")
    if isinstance(kernel, str):
        kernel = as_kernel(kernel, np.asarray(X), "projected", q)
    if random_features is None:
        problem = Problem(X, gamma, kernel, n_jobs)
    else:
        options = dict(features=random_features, random_state=random_state)
        problem = FeatureProblem(X, gamma, kernel, n_jobs, **options)
        _warn_of_many_features(problem)
    _warn_of_the_origin(problem)
    return problem


def _warn_of_the_origin(problem):
    """A kernel of inner products sees the origin (a linear one, under a centred Gamma, not)."""
    curved = any(
        part.pairs == "inner" and np.any(part.d2f(np.array([0.5, 1.0])))
        for _, part in problem.kernel.terms()
    )
    mean = problem.X.mean(axis=0, dtype=float)
    if curved and mean @ mean > problem.X.var(axis=0, dtype=float).sum():
        warn(
            f"{problem.kernel!r} depends on the origin, and X is far from it: centre the columns, "
            "X - X.mean(axis=0)",
        )


def _warn_of_many_features(problem):
    """More random features than rows cost time, and gain nothing."""
    if problem.features > problem.n:
        warn(
            f"random_features = {problem.features} for {problem.n} rows: a fit without them is "
            "exact, and faster",
        )
