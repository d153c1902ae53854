"""The iterative spectral method: a fixed-point solver for Phi(W) W = W Lambda.

ISM is the self-consistent-field iteration of a nonlinear eigenproblem. As published it can
cycle, and each step forms Phi. Here a plain step goes first; from where it leads, L-BFGS climbs by
gradients alone, ISM's own second order being its first Hessian (`lbfgs`). Should that fail,
a level shift and a test of each step make ISM monotone (book: "When ISM does not converge"), and
an escape step leaves stationary points that are not local maxima. The steps are functions of one
signature below, tried in the order of `STEPS`; the numbers that they go by are those of
`Constants`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ismlit.messages import warn
from ismlit.objectives.parts import as_problem
from ismlit.solvers.climb import SolverState
from ismlit.solvers.result import ISMResult

STILL = 1e-3  # share of the largest standard deviation below which a component says nothing


def ism(
    X,
    gamma=None,
    kernel=None,
    q: int | None = None,
    *,
    init="taylor",
    tol: float = 1e-6,
    max_iter: int = 2000,
    escape: bool = True,
    n_jobs: int | None = None,
    random_features: int | None = None,
    random_state=None,
    callback: Callable | None = None,
) -> ISMResult:
    """Maximise Tr(Gamma K_XW) over orthonormal W of shape (d, q).

    Parameters
    ----------
    X : array of shape (n, d), or a problem
        Samples in rows; float32 stays float32. Polynomial kernels expect centred columns. A
        problem (`Problem`, or any `Objective` of its module) brings its own gamma and kernel:
        ``ism(problem, q=2)``.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n)
        For class labels y: ``label_gamma(y)``.
    kernel : Kernel or str
        A name stands for the kernel that `SupervisedIKDR` makes of it, with its bandwidth.
    q : int
        Dimension of the subspace, 1 <= q <= d.
    init : {"taylor", "gradient", "pca", "random", "several"} or orthonormal array of shape (d, q)
        "taylor": the top eigenvectors of Phi_0 (thm-5.3), ties completed by variance.
        "gradient": those of the mean outer product of the gradients of a kernel regression of
        Gamma's factor on X, see `ismlit.GradientKDR`; it also notices what the class means hide.
        "several": climbs from these two and from at least four other starts, until three agree and
        none is higher, on at most 800 samples; the best goes on. Where the highest end is not that
        of the first two, the dependence on rows held out decides between these ends. Against
        maxima that are only local, or of this sample alone; it does not exclude them.
    tol : float
        Largest first-order residual at which to stop.
    max_iter : int
        Most steps taken.
    escape : bool
        At a stationary point test the second-order condition and leave a saddle or minimum.
    n_jobs : int, optional
        Workers of joblib, threads by default.
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: O(n) time, approximate J, no
        second-order test. See `ismlit.objectives.features.FeatureProblem`.
    random_state : int, RandomState, optional
        For init="random" and random_features.
    callback : callable, optional
        Called with every accepted `Point`, the start included.

    Returns
    -------
    ISMResult

    Raises
    ------
    ValueError
        Non-finite X, q outside 1..d, wrong shapes, a W that is not orthonormal, or a kernel
        that is constant on the data (a bandwidth so small that it underflows).

    Warns
    -----
    ConvergenceWarning
        When the stopping rule was not met within `max_iter` steps.
    UserWarning
        When a component hardly varies, as it must where q is more than the rank of X.

    Notes
    -----
    With more features than samples the problem is solved, exactly, in the span of the samples.
    Claims: alg-4, eq-5.1, new-safeguard. See `ismlit.certify` for a certificate.

    See Also
    --------
    published_ism : the iteration as it was published.
    ismlit.certify : whether a W is a maximum.
    ismlit.SupervisedIKDR : with a bandwidth, scaling and a start of its own.

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
    problem = as_problem(X, gamma, kernel, n_jobs, random_features, random_state, q)
    check_options(problem, q, tol, max_iter)

    def solve(problem, init):
        state = SolverState.begin(problem, q, init, random_state, tol, max_iter, callback)
        return state.result(*state.to_a_maximum(escape))

    result = problem.solved_by(solve, q, init)
    warn_unless_converged("ism", result)
    if problem is not X:
        warn_of_components("ism", result)
    return result


def published_ism(
    X,
    gamma=None,
    kernel=None,
    q: int | None = None,
    *,
    init="taylor",
    tol: float = 1e-6,
    max_iter: int = 200,
    n_jobs: int | None = None,
    random_state=None,
    callback: Callable | None = None,
) -> ISMResult:
    """ISM as the thesis prints it, Algorithm 4 with its loop condition put right.

    No step is tested against the objective, and the iteration stops when the eigenvalues change
    by less than `tol`, relatively (the thesis uses 0.01): it need not converge, nor end at a
    maximum. Parameters and result as for `ism`.

    Notes
    -----
    Claim: alg-4.

    See Also
    --------
    ism : never falls, and says where it ends.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, label_gamma, published_ism
    >>> X, y = load_wine(return_X_y=True)
    >>> result = published_ism(scale(X), label_gamma(y), Gaussian(3.0), 2, tol=0.01)
    >>> result.converged, result.residual < 1e-6  # it says that it has converged
    (True, False)
    """
    problem = as_problem(X, gamma, kernel, n_jobs)
    check_options(problem, q, tol, max_iter)

    def solve(problem, init):
        state = SolverState.begin(problem, q, init, random_state, tol, max_iter, callback)
        return state.result(*state.as_published())

    result = problem.solved_by(solve, q, init)
    warn_unless_converged("published_ism", result, "`ism`, which cannot cycle")
    return result


def check_options(problem, q, tol, max_iter):
    """The rules that all solvers share; a ValueError says which is broken."""
    if not (tol >= 0 and max_iter >= 0):
        raise ValueError(f"tol and max_iter must be at least 0, got {tol!r} and {max_iter!r}")
    if not (isinstance(q, int | np.integer) and not isinstance(q, bool) and 1 <= q <= problem.d):
        raise ValueError(
            f"q must be an integer with 1 <= q <= d: q = {q!r}, d = {problem.d} features"
        )


def warn_unless_converged(name, result, hint="a larger max_iter or tol, or another init"):
    """Say that a solve did not converge, and why."""
    if not result.converged:
        warn(
            f"{name} did not converge in {result.n_iter} steps ({result.message}): residual "
            f"{result.residual:.1e}, last movement {result.history['movement'][-1]:.1e}. "
            f"Try {hint}.",
            ConvergenceWarning,
        )


def warn_of_components(name, result):
    """Say which component of a result hardly varies."""
    spread = (result.problem.X @ result.W).std(axis=0)
    still = np.flatnonzero(spread < STILL * spread.max())
    if still.size:
        warn(
            f"component {still[0]} of {name} hardly varies: its standard deviation is "
            f"{spread[still[0]] / spread.max():.0e} of the largest. There is nothing more to find "
            "for this kernel: ask for fewer components",
        )
