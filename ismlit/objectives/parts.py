"""A problem made of its parts: data, Gamma, a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ismlit.bandwidth import as_kernel
from ismlit.kernels import Kernel
from ismlit.memory import few_rows
from ismlit.messages import warn
from ismlit.objectives.conditional import ConditionalProblem
from ismlit.objectives.features import FeatureProblem
from ismlit.objectives.landmarks import (
    LANDMARK_ROWS,
    LandmarkProblem,
    conditional_problem,
    visited_landmarks,
)
from ismlit.objectives.pairs import Samples
from ismlit.objectives.plain import Problem
from ismlit.objectives.protocol import Objective


def as_problem(
    X: Any,
    gamma: Any = None,
    kernel: Kernel | str | Callable[[float], Kernel] | None = None,
    n_jobs: int | None = None,
    random_features: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    q: int | None = None,
    ridge: float = np.inf,
) -> Objective:
    """Return the problem that a solver was asked for.

    Parameters
    ----------
    X : array of shape (n, d), or a problem
        Samples in rows. A problem is returned as it is; the other arguments are then left out.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n), optional
        Which pairs of samples are to be alike.
    kernel : Kernel, str or function, optional
        The kernel. A name stands for the kernel that `SupervisedIKDR` makes of it.
    n_jobs : int, optional
        Workers of joblib.
    random_features : int, optional
        So many random features in place of a Gaussian kernel.
    random_state : int, RandomState, optional
        Seed of the random features.
    q : int, optional
        The number of components, which a bandwidth may depend on.
    ridge : float
        Infinity for HSIC, else that of the conditional covariance, with landmarks where there would
        be random features.

    Returns
    -------
    Objective
        The problem.

    Raises
    ------
    ValueError
        If gamma or kernel is missing, or is given beside a problem; or if the ridge is not above 0.

    Warns
    -----
    UserWarning
        If the kernel depends on the origin and X is far from it, or if there are more random
        features than rows.
    """
    if isinstance(X, Objective):
        if any(part is not None for part in (gamma, kernel, random_features)) or ridge != np.inf:
            raise ValueError(
                "a problem brings its own gamma, kernel, ridge and random features: pass it alone, "
                "as in ism(problem, q=2)"
            )
        return X
    if gamma is None or kernel is None:
        raise ValueError("X is an array, so gamma and kernel are needed: ism(X, gamma, kernel, q)")
    made: Any = kernel
    problem: Problem | FeatureProblem | ConditionalProblem | LandmarkProblem
    if isinstance(kernel, str) or callable(kernel):
        made = as_kernel(kernel, np.asarray(X), "projected", q)
    if not ridge > 0:
        raise ValueError(f"ridge must be above 0, got {ridge!r}")
    if random_features is not None:
        options: dict[str, Any] = dict(features=random_features, random_state=random_state)
        problem = FeatureProblem(X, gamma, made, n_jobs, **options)
        if ridge != np.inf:
            return visited_landmarks(problem, ridge, few_rows(problem.n, LANDMARK_ROWS))
        _warn_of_many_features(problem)
    elif ridge != np.inf:
        problem = conditional_problem(X, gamma, made, ridge)
    else:
        problem = Problem(X, gamma, made, n_jobs)
    _warn_of_the_origin(problem)
    return problem


def _warn_of_the_origin(problem: Samples) -> None:
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


def _warn_of_many_features(problem: FeatureProblem) -> None:
    """More random features than rows cost time, and gain nothing."""
    if problem.features > problem.n:
        warn(
            f"random_features = {problem.features} for {problem.n} rows: a fit without them is "
            "exact, and faster",
        )
