"""The iteration of the thesis as it was published, beside `ismlit.ism`, which never falls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ismlit import ISMResult, Kernel
from ismlit.geometry.frames import top_eigenvectors
from ismlit.objectives.parts import as_problem
from ismlit.solvers.climb import SolverState
from ismlit.solvers.ism import check_options, solve_in_span, warn_unless_converged
from numpy.typing import ArrayLike


def published_ism(
    X: Any,
    gamma: Any = None,
    kernel: Kernel | str | None = None,
    q: int | None = None,
    *,
    init: str | ArrayLike = "taylor",
    tol: float = 1e-6,
    max_iter: int = 200,
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Callable | None = None,
) -> ISMResult:
    """Run ISM as the thesis prints it, Algorithm 4 with its loop condition put right.

    No step is tested against the objective. The iteration need not converge, nor end at a maximum.

    Parameters
    ----------
    X : array of shape (n, d), or a problem
        As for `ismlit.ism`.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n), optional
        As for `ismlit.ism`.
    kernel : Kernel or str, optional
        As for `ismlit.ism`.
    q : int
        Dimension of the subspace, 1 <= q <= d.
    init : {"taylor", "pca", "random", "several"} or array of shape (d, q), default="taylor"
        As for `ismlit.ism`.
    tol : float, default=1e-6
        Stop when the eigenvalues change by less than this share; the thesis uses 0.01.
    max_iter : int, default=200
        The most steps taken.
    n_jobs : int, optional
        As for `ismlit.ism`.
    random_state : int, RandomState, optional
        Seed for init="random".
    callback : callable, optional
        Called with every `Point`, the start included.

    Returns
    -------
    ISMResult
        As for `ismlit.ism`.

    Warns
    -----
    ConvergenceWarning
        When the eigenvalues still change after `max_iter` steps.

    See Also
    --------
    ismlit.ism : Never lowers the objective, and says where it ends.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, label_gamma
    >>> from ismlit_book.methods.published import published_ism
    >>> X, y = load_wine(return_X_y=True)
    >>> result = published_ism(scale(X), label_gamma(y), Gaussian(3.0), 2, tol=0.01)
    >>> result.converged, result.residual < 1e-6  # it says that it has converged
    (True, False)
    """
    problem = as_problem(X, gamma, kernel, n_jobs)
    check_options(problem, q, tol, max_iter)

    def solve(problem, init):
        state = SolverState.begin(problem, q, init, random_state, tol, max_iter, callback)
        return state.result(*_iterate(state))

    result = solve_in_span(solve, problem, q, init)
    warn_unless_converged("published_ism", result, "`ism`, which cannot cycle")
    return result


def _iterate(state):
    """The top eigenvectors of Phi, again and again, until they change by less than tol.

    Returned are whether they did, and why it stopped.
    """
    before: Any = np.nan  # No change from it is small.
    while not state.spent:
        values, W = top_eigenvectors(state.point.phi, state.point.W.shape[1])
        state.move(state.trial(W))
        if np.linalg.norm(values - before) < state.tol * np.linalg.norm(values):
            return True, "the eigenvalues of Phi changed by less than tol"
        before = values
    return False, "max_iter reached"
