"""The iterative spectral method: a fixed-point solver for Phi(W) W = W Lambda.

ISM is the self-consistent-field iteration of a nonlinear eigenproblem. As published it can cycle,
and each step forms Phi. Here a plain step of ISM goes first. From where it leads, L-BFGS climbs by
gradients alone, with ISM's own second order as its first Hessian (`lbfgs`). If that fails, a level
shift and a test of each step make ISM monotone, and an escape step leaves stationary points that
are not local maxima. The steps and the numbers that they go by are those of `climb`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ismlit.geometry.frames import as_frame, fixed_signs
from ismlit.geometry.span import in_span
from ismlit.kernels import Kernel
from ismlit.messages import warn
from ismlit.objectives.parts import as_problem
from ismlit.objectives.protocol import Objective
from ismlit.solvers.climb import SolverState, until_true
from ismlit.solvers.result import STOPPED, ISMResult

LEAST_SPREAD = 1e-3  # A component says nothing if it varies by less than this share of the largest.


def ism(
    X: Any,
    gamma: Any = None,
    kernel: Kernel | str | Callable[[float], Kernel] | None = None,
    q: int | None = None,
    *,
    init: str | ArrayLike = "taylor",
    tol: float = 1e-6,
    max_iter: int = 2000,
    escape: bool = True,
    ridge: float = np.inf,
    n_jobs: int | None = None,
    random_features: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    callback: Callable[[Any], object] | None = None,
) -> ISMResult:
    """Find the projection W that maximises Tr(Gamma K_XW), the dependence that Gamma asks for.

    Parameters
    ----------
    X : array of shape (n, d), or a problem
        Samples in rows; single precision (float32) is kept. Polynomial kernels expect centred
        columns. A problem (`Problem`, or any `Objective` of its module) brings its own gamma and
        kernel: ``ism(problem, q=2)``.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n), optional
        Which pairs of samples are to be alike. For class labels y it is ``label_gamma(y)``.
    kernel : Kernel, str or function, optional
        A name, or a function of the bandwidth, stands for the kernel that `SupervisedIKDR` makes
        of it, with its bandwidth.
    q : int
        Dimension of the subspace, 1 <= q <= d.
    init : {"taylor", "gradient", "pca", "random", "several"} or array of shape (d, q)
        Where W starts, "taylor" by default: the top eigenvectors of Phi at W = 0, ties completed
        by variance. "gradient": those of the mean outer product of the gradients of a kernel
        regression of Gamma's factor on X, see `ismlit.GradientKDR`; it also notices what class
        means hide. "several": run the solver from these two and from at least four other starts,
        on at most 800 rows, until three agree and none is higher, and continue from the best.
        Where the highest end is not that of one of the first two, the dependence on rows held out
        decides between them. This helps against maxima that are only local, or of this sample
        alone, and does not exclude them. An array has orthonormal columns.
    tol : float, default=1e-6
        Stop when the first-order residual is below this.
    max_iter : int, default=2000
        The most steps taken.
    escape : bool, default=True
        Whether to test the second-order condition at a stationary point, and to leave a saddle or
        a minimum.
    ridge : float, default=inf
        Above 0. With a number the conditional covariance is minimised in place of HSIC, its limit
        for infinity, see `ismlit.SupervisedIKDR`.
    n_jobs : int, optional
        Workers of joblib, threads by default. None takes as many threads as BLAS would.
    random_features : int, optional
        Replace the Gaussian kernel by so many random features. The time is then linear in n, J is
        approximate, and the second order is not tested. See
        `ismlit.objectives.features.FeatureProblem`. With a finite `ridge` landmarks take their
        place.
    random_state : int, RandomState, optional
        Seed for init="random" and for random features.
    callback : callable, optional
        Called with every accepted `Point`, the start included, and with init="several" before
        that with the end of every start tried: an object that has W, J (on the rows that the
        starts are tried on) and ``stage``, such as "start 2 (gradient)"; that of a point is "step".
        If it returns True, the search stops, and the best W so far is the result.

    Returns
    -------
    ISMResult
        The projection W, the objective, and how the solver came to them.

    Raises
    ------
    ValueError
        For X that is not finite, q outside 1..d, wrong shapes, a W that is not orthonormal, or a
        kernel that is constant on the data (a bandwidth so small that it underflows).

    Warns
    -----
    ConvergenceWarning
        When the stopping rule was not met within `max_iter` steps.
    UserWarning
        When a component hardly varies, as it must where q is more than the rank of X.

    See Also
    --------
    ismlit.certify : Tests whether a W is a maximum.
    ismlit.SupervisedIKDR : With a bandwidth, scaling and a start of its own.

    Notes
    -----
    The objective never falls from one step to the next. With more features than samples the
    problem is solved, exactly, in the span of the samples.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.
    Nocedal and Wright 2006, Numerical optimization, chapter 7.
    Cai, Zhang, Bai and Li 2018, On an eigenvector-dependent nonlinear eigenvalue problem.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> result = ism(X, label_gamma(X[:, 0] > 0), Gaussian(1.0), 1)
    >>> result.converged, int(np.argmax(abs(result.W)))
    (True, 0)
    """
    problem = as_problem(X, gamma, kernel, n_jobs, random_features, random_state, q, ridge)
    columns = check_options(problem, q, tol, max_iter)
    watched = until_true(callback)

    def solve(objective: Objective, init: str | np.ndarray) -> ISMResult:
        state = SolverState.begin(objective, columns, init, random_state, tol, max_iter, watched)
        return state.result(*state.to_an_end(escape))

    result = solve_in_span(solve, problem, columns, init)
    warn_unless_converged("ism", result)
    if problem is not X:
        warn_of_components("ism", result)
    return result


def solve_in_span(
    solve: Callable[[Objective, str | np.ndarray], ISMResult],
    objective: Objective,
    q: int,
    init: str | ArrayLike,
) -> ISMResult:
    """Solve for W in the span of the samples, where that is smaller, and carry W back.

    Parameters
    ----------
    solve : callable ``solve(objective, init)``
        The solver.
    objective : Objective
        What is maximised.
    q : int
        The number of columns of W.
    init : str or array of shape (d, q)
        Where W starts.

    Returns
    -------
    ISMResult
        Its W is one for all features.
    """
    start = init if isinstance(init, str) else as_frame(init, objective.d, objective.dtype, "init")
    reduced, V = in_span(objective, q, None if isinstance(start, str) else start)
    if V is None:
        return solve(objective, start)
    result = solve(reduced, start if isinstance(start, str) else V.T @ start)
    return replace(result, W=fixed_signs(V @ result.W), problem=objective)


def check_options(problem: Objective, q: object, tol: float, max_iter: int) -> int:
    """Refuse options that no solver can work with.

    Parameters
    ----------
    problem : Objective
        What is to be solved.
    q : int
        Dimension of the subspace.
    tol : float
        The tolerance.
    max_iter : int
        The most steps.

    Returns
    -------
    int
        The dimension itself.

    Raises
    ------
    ValueError
        Names the rule that is broken, and what came.
    """
    if not (tol >= 0 and max_iter >= 0):
        raise ValueError(f"tol and max_iter must be at least 0, got {tol!r} and {max_iter!r}")
    if not (isinstance(q, int | np.integer) and not isinstance(q, bool) and 1 <= q <= problem.d):
        raise ValueError(
            f"q must be an integer with 1 <= q <= d: q = {q!r}, d = {problem.d} features"
        )
    return int(q)


def warn_unless_converged(
    name: str, result: ISMResult, hint: str = "a larger max_iter or tol, or another init"
) -> None:
    """Warn that a solver did not converge, and say why.

    Parameters
    ----------
    name : str
        What the user has called.
    result : ISMResult
        Its result; of one that converged, or that was told to stop, nothing is said.
    hint : str, default="a larger max_iter or tol, or another init"
        What to try.
    """
    if not result.converged and result.message != STOPPED:
        warn(
            f"{name} did not converge in {result.n_iter} steps ({result.message}): residual "
            f"{result.residual:.1e}, last movement {result.history['movement'][-1]:.1e}. "
            f"Try {hint}.",
            ConvergenceWarning,
        )


def warn_of_components(name: str, result: Any) -> None:
    """Warn of a component that hardly varies.

    Parameters
    ----------
    name : str
        What the user has called.
    result : ISMResult
        Its result.
    """
    spread = (result.problem.X @ result.W).std(axis=0, dtype=float)
    still = np.flatnonzero(spread < LEAST_SPREAD * spread.max())
    if still.size:
        warn(
            f"component {still[0]} of {name} hardly varies: its standard deviation is "
            f"{spread[still[0]] / spread.max():.0e} of the largest. There is nothing more to find "
            "for this kernel: ask for fewer components",
        )
