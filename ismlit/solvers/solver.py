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

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ismlit.problems.bandwidth import as_kernel
from ismlit.problems.features import FeatureProblem
from ismlit.problems.grassmann import (
    Curvature,
    Scaling,
    SecondOrder,
    as_frame,
    canonical_frame,
    extreme_eigenvectors,
    fixed_signs,
    geodesic,
    half_gradient,
    nearest_frame,
    outside,
    projector_distance,
    top_eigenvectors,
)
from ismlit.problems.kernels import Gaussian
from ismlit.problems.pairs import ConstantKernelError, gram
from ismlit.problems.problem import Objective, Problem, TwiceDifferentiable
from ismlit.solvers.lbfgs import Memory
from ismlit.solvers.starts import Starts, look_around, starting_point


@dataclass(frozen=True)
class Constants:
    """Every number that the solver decides by."""

    turn: int = 25  # quasi_newton: steps by gradients before Phi is formed anew,
    memory: int = 30  # pairs that L-BFGS remembers,
    armijo: float = 1e-4  # share of the slope that a step must gain,
    longest: float = 1.0  # radians of a step,
    lengths: int = 15  # and lengths tried,
    shortest: float = 0.05  # the least of them where J is rounding;
    floor: float = 0.05  # shifted: the first shift that is not 0, as a share of ||Phi||,
    raised: float = 4.0  # by what it grows when a step fails, and is halved when one passes;
    promise: float = 0.25  # share of the promised gain that a step must bring,
    rounding: float = 10.0  # unless the promise is below so many units of J's rounding:
    fall: float = 0.9  # then the residual must fall below this share
    single: float = 32.0  # and J by no more than so much rounding: terms of both signs cancel
    upward: float = 1e-6  # escape: curvature upwards that makes a saddle, as a share of ||Phi||,
    flat: float = 1e-5  # and below which one that no step can leave counts as flat;
    far: float = 0.8  # radians of the first step tried along it,
    tries: int = 12  # and lengths tried, each half the one before


CONSTANTS = Constants()
GLIMPSE = dict(tol=1e-3, max_iter=100)  # of a climb that need not arrive: which peak it is on
STILL = 1e-3  # share of the largest standard deviation below which a component says nothing


@dataclass(frozen=True, eq=False)
class ISMResult:
    """What `ism` found, and how.

    Attributes
    ----------
    W : array of shape (d, q)
        Orthonormal columns, eigenvectors of Phi(W) by falling eigenvalue; the largest entry
        of each column is positive.
    eigenvalues : array of shape (q,)
        Of Phi(W), same order.
    objective : float
        J(W) = Tr(Gamma K_XW).
    residual : float
        First-order residual ||Phi W - W (W' Phi W)||_F / ||Phi||_F, 0 at a stationary point.
    converged : bool
        Whether the stopping rule of the solver was met. `message` says which.
    n_iter, n_passes, n_start_passes, n_test_passes : int
        Steps taken; passes over the pairs of samples (an objective, a Phi, or a Hessian product
        each count one); how many of them chose the start, and tested the second-order condition.
    history : dict of equal-length arrays
        Per accepted point: ``objective``, ``passes`` (made so far), and from `ism` also
        ``residual``, ``shift``, ``movement`` (||P_new - P||).
    problem : Problem
        What was solved; `ismlit.certify` reads it.
    curvature : Curvature or None
        What the second-order test found at W, where it was made; `ismlit.certify` reads it.
    starts : Starts or None
        With init="several", how many starts were `tried`, and how many `agreed` on the highest J.

    See Also
    --------
    ism : what gives it.
    ismlit.certify : whether it is a maximum.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> X, y = load_wine(return_X_y=True)
    >>> result = ism(scale(X), label_gamma(y), Gaussian(3.0), 2)
    >>> result.converged, bool(result.objective > result.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray
    objective: float
    residual: float
    converged: bool
    n_iter: int
    n_passes: int
    message: str
    history: dict = field(repr=False)
    problem: Objective | None = field(repr=False)
    n_start_passes: int = 0
    n_test_passes: int = 0
    curvature: Curvature | None = None
    starts: Starts | None = None


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
    init : {"taylor", "pca", "random", "several"} or orthonormal array of shape (d, q)
        "taylor": the top eigenvectors of Phi_0 (thm-5.3), ties completed by variance.
        "several": climbs from "taylor" and from at least five other starts, until three agree and
        none is higher, on at most 800 samples; the best goes on. Against maxima that are only
        local; it does not exclude them.
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
        second-order test. See `ismlit.problems.features.FeatureProblem`.
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
        climb = Climb.begin(problem, q, init, random_state, tol, max_iter, callback)
        return climb.result(*climb.to_a_maximum(escape))

    if isinstance(problem, FeatureProblem):
        result = _anchored(solve, problem, init)
    else:
        result = _in_the_span(solve, problem, q, init)
    _warn_unless_converged("ism", result, "a larger max_iter or tol, or another init")
    if problem is not X:
        warn_of_components("ism", result, stacklevel=3)
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
        climb = Climb.begin(problem, q, init, random_state, tol, max_iter, callback)
        return climb.result(*climb.as_published())

    result = _in_the_span(solve, problem, q, init)
    _warn_unless_converged("published_ism", result, "`ism`, which cannot cycle")
    return result


# ---------------------------------------------------------------- before and after a solve


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
        warnings.warn(
            f"{problem.kernel!r} depends on the origin, and X is far from it: centre the columns, "
            "X - X.mean(axis=0)",
            stacklevel=4,
        )


def _warn_of_many_features(problem):
    """More random features than rows cost time, and gain nothing."""
    if problem.features > problem.n:
        warnings.warn(
            f"random_features = {problem.features} for {problem.n} rows: a fit without them is "
            "exact, and faster",
            stacklevel=4,
        )


def _check_features(problem, W, most=300):
    """Refuse a kernel that is constant between rows seen through W: features cannot show it."""
    rows = problem.X[:: -(-problem.n // most)]
    K = gram(problem.kernel, rows, W)[~np.eye(len(rows), dtype=bool)]
    if K.size and (K.max() < 1e-12 or K.min() > 1 - 1e-12):
        raise ConstantKernelError(
            f"{problem.kernel!r} is constant between any two projected samples to rounding: use a "
            "bandwidth near their distances (median_distance)"
        )


def check_options(problem, q, tol, max_iter):
    """The rules that all solvers share; a ValueError says which is broken."""
    if not (tol >= 0 and max_iter >= 0):
        raise ValueError(f"tol and max_iter must be at least 0, got {tol!r} and {max_iter!r}")
    if not (isinstance(q, int | np.integer) and not isinstance(q, bool) and 1 <= q <= problem.d):
        raise ValueError(
            f"q must be an integer with 1 <= q <= d: q = {q!r}, d = {problem.d} features"
        )


def check_signal(problem, J, phi):
    """Refuse a start from which nothing can be learnt."""
    size = np.linalg.norm(phi)
    if isinstance(getattr(problem, "kernel", None), Gaussian):  # of a wide one J is a sum of Gamma
        gamma = problem.gamma
        rounding = 100 * np.finfo(phi.dtype).eps * gamma.n * gamma.size
        if max(abs(J), size) <= rounding and np.any(problem.phi_0()):
            raise ConstantKernelError(
                f"{problem.kernel!r} is 1 between any two samples to rounding: use a bandwidth "
                "near the distances (median_distance), or kernel='linear', its limit"
            )
    if size <= 1e-60 * abs(J):  # what an underflow leaves of a kernel
        raise ConstantKernelError(
            "Phi is zero at the start: either Gamma = 0, or the kernel is constant on "
            "this data (a bandwidth far below the distances underflows; try median_distance)"
        )


def attainable(tol, dtype):
    """`tol`, or what rounding allows if that is more: 2e-5 in float32."""
    return max(tol, 200 * float(np.finfo(dtype).eps))


def first_frame(problem, q, init, random_state=None):
    """An orthonormal W (d, q) to start from, by the words of `ism`, and `Starts` or None."""
    if not (isinstance(init, str) and init == "several"):
        return starting_point(problem, q, init, random_state), None

    def climb(view, W):
        end = Climb(view, W, view.count.passes, GLIMPSE["tol"], GLIMPSE["max_iter"])
        end.to_a_maximum(escape=False)
        return end.at.J, end.at.W

    return look_around(problem, q, random_state, climb)


def _in_the_span(solve, problem, q, init):
    """Solve; with more features than samples in the span of the samples.

    J sees W only through XW. So the rows of X, and q more directions in which nothing varies,
    hold a solution: Phi is ``V Phi_V V'`` for an orthonormal basis V (d, n + q) of both.
    """
    if problem.d <= problem.n + q:
        return solve(problem, init)
    if isinstance(init, str):
        more = np.random.default_rng(0).standard_normal((problem.d, q))
    else:
        more = as_frame(init, problem.d, problem.dtype, "init")
    V = problem.span(more)
    result = solve(problem.restrict(V), init if isinstance(init, str) else V.T @ more)
    return replace(result, W=fixed_signs(V @ result.W), problem=problem)


def _anchored(solve, problem, init, rounds=5):
    """Solve with random features; again, anchored at the W found, while that is far from it."""
    n_passes = 0
    for _ in range(rounds):
        result = solve(problem, init)
        n_passes += result.n_passes
        if problem.closeness(result.W) > 0.5:
            break
        init = result.W
        problem = replace(problem, anchor=result.W)
    return replace(result, n_passes=n_passes)


def _warn_unless_converged(name, result, hint):
    if not result.converged:
        warnings.warn(
            f"{name} did not converge in {result.n_iter} steps ({result.message}): residual "
            f"{result.residual:.1e}, last movement {result.history['movement'][-1]:.1e}. "
            f"Try {hint}.",
            ConvergenceWarning,
            stacklevel=3,
        )


def warn_of_components(name, result, stacklevel):
    """Say which component of a result hardly varies."""
    spread = (result.problem.X @ result.W).std(axis=0)
    still = np.flatnonzero(spread < STILL * spread.max())
    if still.size:
        warnings.warn(
            f"component {still[0]} of {name} hardly varies: its standard deviation is "
            f"{spread[still[0]] / spread.max():.0e} of the largest. There is nothing more to find "
            "for this kernel: ask for fewer components",
            stacklevel=stacklevel,
        )


# ---------------------------------------------------------------- where a solve is


class Point:
    """A frame W (d, q), with J and half of its gradient there; Phi too where it was formed.

    Attributes
    ----------
    W, J, gradient
    size : float
        ||Phi||, here or where it was formed last.
    phi : array of shape (d, d), or None
    """

    def __init__(self, W, J, gradient, size, phi=None):
        self.W, self.J, self.gradient, self.size, self.phi = W, J, gradient, size, phi

    @classmethod
    def measured(cls, problem, W):
        """With Phi: one pass."""
        W = nearest_frame(W)
        J, phi = problem.objective_and_phi(W)
        return cls(W, J, half_gradient(phi, W), float(np.linalg.norm(phi)), phi)

    def further(self, problem, W):
        """Another point by its gradient alone: a pass that costs less."""
        W = nearest_frame(W)
        J, G = problem.objective_and_gradient(W)
        return Point(W, J, outside(G, W), self.size)

    @property
    def residual(self):
        """The first-order residual."""
        return float(np.linalg.norm(self.gradient) / (self.size or 1.0))


class Climb:
    """One solve: the point where it is, what it remembers, and the log of accepted points."""

    starts: Starts | None = None

    def __init__(self, problem, W, before, tol, max_iter, callback=None):
        self.problem, self.before, self.max_iter = problem, before, max_iter
        self.callback, self.twice = callback, isinstance(problem, TwiceDifferentiable)
        self.tol = attainable(tol, problem.dtype)
        self.n_start_passes = problem.count.passes - before
        self.at = Point.measured(problem, W)
        check_signal(problem, self.at.J, self.at.phi)
        eps = float(np.finfo(problem.dtype).eps)
        # rounding of J: independent errors of its n^2 terms, and of the sum itself
        size = max(abs(self.at.J), np.linalg.norm(self.at.phi))
        self.noise = 8 * eps * size / np.sqrt(problem.n) + 16 * np.finfo(float).eps * abs(self.at.J)
        self.slack = self.noise * (CONSTANTS.single if problem.dtype == np.float32 else 1.0)
        self.log, self.n_iter, self.n_test_passes, self.curvature = [], 0, 0, None
        self.forget()
        self._record(movement=np.inf, shift=0.0)

    @classmethod
    def begin(cls, problem, q, init, random_state, tol, max_iter, callback):
        """At the start that `ism` is asked for."""
        before = problem.count.passes
        W, starts = first_frame(problem, q, init, random_state)
        if isinstance(problem, FeatureProblem):
            _check_features(problem, W)
        climb = cls(problem, W, before, tol, max_iter, callback)
        climb.starts = starts
        return climb

    def forget(self):
        """Start anew from here: with a plain step, no shift, and no pairs remembered."""
        self.fresh, self.shift, self.memory = True, 0.0, Memory(CONSTANTS.memory)

    def trial(self, W):
        """The point W, not yet accepted."""
        return Point.measured(self.problem, W)

    def move(self, point, shift=0.0):
        """Accept a point."""
        movement = projector_distance(self.at.W, point.W)
        self.at, self.curvature = point, None
        self.n_iter += 1
        self._record(movement, shift)

    def formed(self):
        """Form Phi where gradients have led: the point stays, its residual is exact now."""
        self.at = self.trial(self.at.W)
        passes = self.problem.count.passes - self.before
        self.log[-1] = (self.at.J, passes, self.at.residual, *self.log[-1][3:])

    def _record(self, movement, shift):
        passes = self.problem.count.passes - self.before
        self.log.append((self.at.J, passes, self.at.residual, shift, movement))
        if self.callback is not None:
            self.callback(self.at)

    @property
    def stationary(self):
        """Whether the first-order condition is met."""
        return self.at.residual <= self.tol

    @property
    def spent(self):
        """Whether all steps allowed are taken."""
        return self.n_iter >= self.max_iter

    def to_a_maximum(self, escape):
        """Steps that never lower J, until it is at a maximum: (converged, message)."""
        escape = escape and self.twice
        while True:
            if not self.stationary:
                if self.spent:
                    return False, "max_iter reached"
                if any(step(self) for step in STEPS):
                    continue
            direction = upward_curve(self) if escape else None
            if direction is None:
                return self._end(escape)
            if self.spent:
                return False, "max_iter reached at a saddle"
            if not escaped(self, direction):
                flat = self.curvature.value >= -CONSTANTS.flat * self.curvature.size
                if self.stationary and flat:
                    return self._end(escape)
                return False, "at a saddle, and no step along it raises the objective"

    def _end(self, escape):
        """What a point is at which no step is left."""
        if self.stationary:
            tested = "" if escape else "; the second order was not tested"
            return True, "the first-order residual is below tol" + tested
        # what is still to be gained, gradient squared over ||Phi||, is then rounding of J as well
        left = np.linalg.norm(self.at.gradient) ** 2
        flat = left <= self.noise * max(self.at.size, self.noise)
        return bool(flat), "no step raises the objective above its rounding error"

    def as_published(self):
        """Top eigenvectors, again and again, until they change by less than tol."""
        before = np.nan  # nothing is near to it
        while not self.spent:
            values, W = top_eigenvectors(self.at.phi, self.at.W.shape[1])
            self.move(self.trial(W))
            if np.linalg.norm(values - before) < self.tol * np.linalg.norm(values):
                return True, "the eigenvalues of Phi changed by less than tol"
            before = values
        return False, "max_iter reached"

    def result(self, converged, message):
        """The end of the solve, as the caller gets it."""
        eigenvalues, W = canonical_frame(self.at.phi, self.at.W)
        names = "objective", "passes", "residual", "shift", "movement"
        return ISMResult(
            W=W,
            eigenvalues=eigenvalues,
            objective=self.at.J,
            residual=self.at.residual,
            converged=converged,
            n_iter=self.n_iter,
            n_passes=self.problem.count.passes - self.before,
            n_start_passes=self.n_start_passes,
            n_test_passes=self.n_test_passes,
            message=message,
            history=dict(zip(names, map(np.array, zip(*self.log)))),
            problem=self.problem,
            curvature=self.curvature,
            starts=self.starts,
        )


# ---------------------------------------------------------------- the steps


def plain(climb):
    """The first step: the top eigenvectors of Phi, if J rises as promised."""
    if not climb.fresh:
        return False
    climb.fresh, at = False, climb.at
    W = extreme_eigenvectors(at.phi, at.W.shape[1], "LA")[1][:, ::-1]
    point = climb.trial(W)
    promised = float(np.sum(W * (at.phi @ W)) - np.sum(at.W * (at.phi @ at.W)))
    passed = point.J - at.J >= CONSTANTS.promise * promised > CONSTANTS.rounding * climb.noise
    if passed:
        climb.move(point)
    return passed


def quasi_newton(climb):
    """Steps of L-BFGS by gradients alone, and Phi where they lead; False if none was taken."""
    if climb.at.W.shape[0] == climb.at.W.shape[1]:
        return False
    scaling = Scaling(climb.at.phi, climb.at.W)
    climb.memory.carry(scaling.W, scaling.rotation)
    here = Point(
        scaling.W.astype(climb.problem.dtype),
        climb.at.J,
        climb.at.gradient @ scaling.rotation,
        climb.at.size,
    )
    taken = 0
    while taken < CONSTANTS.turn and not climb.spent and here.residual > climb.tol / 2:
        point = _uphill(climb, here, scaling)
        if point is None:
            break
        climb.move(point)
        here, taken = point, taken + 1
    if taken:
        climb.formed()
    return taken > 0


def _uphill(climb, here, scaling):
    """The point that a step of L-BFGS leads to, or None; the pair is remembered."""
    memory, tangent = climb.memory, lambda A: outside(A, here.W)
    G = 2 * here.gradient
    step = tangent(memory.ascent(G, lambda A: tangent(scaling(A)) / 2))
    slope = float(np.sum(step * G))
    if not slope > 0:
        memory.forget()
        step = tangent(scaling(G)) / 2
        slope = float(np.sum(step * G))
    length = min(1.0, CONSTANTS.longest / max(np.linalg.norm(step, 2), 1e-300))
    for _ in range(CONSTANTS.lengths):
        Q, R = np.linalg.qr(here.W + length * step)
        W = (Q * np.where(np.diag(R) < 0, -1.0, 1.0)).astype(here.W.dtype)
        point = here.further(climb.problem, W)
        promised = length * slope
        if promised <= CONSTANTS.rounding * climb.noise:
            passed = point.J >= here.J - climb.slack and _falls(point, here)
        else:
            passed = point.J - here.J >= CONSTANTS.armijo * promised
        if passed:
            memory.carry(W)
            memory.add(outside(length * step, W), outside(G, W) - 2 * point.gradient)
            return point
        if promised <= CONSTANTS.rounding * climb.noise:  # J cannot say by how much too far
            if length < CONSTANTS.shortest:
                return None
            length *= 0.25
            continue
        bend = here.J + promised - point.J  # of the parabola through what is known
        length *= float(np.clip(promised / (2 * bend), 0.1, 0.5)) if bend > 0 else 0.5
    return None


def shifted(climb):
    """One step with Phi + shift P, the shift raised until the step passes the test.

    The test J(W+) - J(W) >= <Phi, P+ - P> / 4 is met by every shift of at least the Lipschitz
    constant of the gradient, so the loop ends. Where the promised gain is below the rounding of
    J the step is judged by the residual instead; where Phi is lost in the rounding of the shift,
    which happens when J is nothing but rounding, no step is left.
    """
    at, q = climb.at, climb.at.W.shape[1]
    P = at.W @ at.W.T
    size = np.linalg.norm(at.phi)
    floor = CONSTANTS.floor * size
    here = np.sum(at.W * (at.phi @ at.W))
    while True:
        W = top_eigenvectors(at.phi + climb.shift * P, q)[1]
        promised = float(np.sum(W * (at.phi @ W)) - here)
        point = climb.trial(W)
        at_rounding = promised <= CONSTANTS.rounding * climb.noise
        if at_rounding:
            passed = point.J >= at.J - climb.slack and _falls(point, at)
        else:
            passed = point.J - at.J >= CONSTANTS.promise * promised
        if passed:
            climb.move(point, climb.shift)
            climb.shift = climb.shift / 2 if climb.shift > floor / 8 else 0.0
            return True
        lost = climb.shift * np.finfo(at.phi.dtype).eps > size
        if lost or (at_rounding and promised <= climb.noise):
            return False
        climb.shift = max(CONSTANTS.raised * climb.shift, floor)


STEPS = (plain, quasi_newton, shifted)
"""What is tried at a point that is not stationary, in this order, until one moves."""


def upward_curve(climb):
    """The tangent along which J curves upwards at a point that no step leaves, or None."""
    before = climb.problem.count.passes
    second = SecondOrder(climb.problem, climb.at.W, climb.at.phi)
    upward = CONSTANTS.upward * second.phi_size
    climb.curvature, Z = second.lowest(enough=upward)
    climb.n_test_passes += climb.problem.count.passes - before
    return Z if climb.curvature.value < -upward else None


def escaped(climb, Z):
    """Step along the tangent Z, to either side, as far as J rises; False if it never does."""
    for t in CONSTANTS.far * 0.5 ** np.arange(CONSTANTS.tries):
        for sign in (1, -1):
            point = climb.trial(geodesic(climb.at.W, sign * Z, t))
            if point.J > climb.at.J + climb.noise:
                climb.move(point)
                climb.forget()
                return True
    return False


def _falls(point, before):
    return point.residual < CONSTANTS.fall * before.residual
