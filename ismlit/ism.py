"""The iterative spectral method: a fixed-point solver for Phi(W) W = W Lambda.

ISM is the self-consistent-field iteration of a nonlinear eigenproblem. As published it can
cycle; here a level shift and a test of each step make it monotone (book: "When ISM does not
converge"), Pulay's extrapolation (DIIS) and Newton steps remove the slow tail, and an escape
step leaves stationary points that are not local maxima.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import lobpcg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ismlit.features import FeatureProblem
from ismlit.grassmann import (
    SecondOrder,
    first_order_residual,
    fixed_signs,
    geodesic,
    half_gradient,
    projector_distance,
)
from ismlit.kernels import ConstantKernelError
from ismlit.phi import Problem, as_problem

METHODS = ("safeguarded", "published")
INITS = ("taylor", "pca", "random", "several")


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
        Whether the stopping rule of the method was met. `message` says which.
    n_iter, n_phi, n_phi_test : int
        Steps taken; passes over the pairs of samples (an objective, a Phi, or a Hessian product
        each count one); how many of them tested the second-order condition.
    history : dict of equal-length arrays
        Per accepted point: ``objective``, ``passes`` (made so far), ``residual``, ``shift``,
        ``eigengap``, ``movement`` (||P_new - P||), ``eigenvalue_change`` (the published test).
    problem : Problem
        What was solved; `ismlit.optimality.certify` reads it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.gamma import supervised
    >>> X, y = load_wine(return_X_y=True)
    >>> result = ism(scale(X), supervised(y), Gaussian(3.0), 2)
    >>> result.converged, bool(result.objective > result.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray
    objective: float
    residual: float
    converged: bool
    n_iter: int
    n_phi: int
    message: str
    history: dict = field(repr=False)
    problem: Problem | None = field(repr=False)
    n_phi_test: int = 0


def ism(
    X,
    gamma,
    kernel,
    q,
    *,
    init="taylor",
    method="safeguarded",
    tol=1e-6,
    max_iter=200,
    escape=True,
    n_jobs=None,
    random_features=None,
    random_state=None,
):
    """Maximise Tr(Gamma K_XW) over orthonormal W of shape (d, q).

    Parameters
    ----------
    X : array of shape (n, d), or Problem
        Samples in rows; float32 stays float32. Polynomial kernels expect centred columns. A
        Problem brings its own gamma and kernel; pass None for both.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n)
    kernel : Kernel
    q : int
        Dimension of the subspace, 1 <= q <= d.
    init : {"taylor", "pca", "random", "several"} or orthonormal array of shape (d, q)
        "taylor": the top eigenvectors of Phi_0 (thm-5.3), ties completed by variance.
        "several": two plain steps from each of the others, and the best of them goes on; nine
        passes more, against maxima that are only local.
    method : {"safeguarded", "published"}
        "published" is the thesis's Algorithm 4 with its loop condition put right: no test of
        the objective, and it stops when the eigenvalues change by less than `tol` (the
        thesis uses 0.01).
    tol : float
        "safeguarded": largest first-order residual at which to stop.
    max_iter : int
        Most steps taken.
    escape : bool
        At a stationary point test the second-order condition and leave a saddle or minimum.
        Ignored by "published".
    n_jobs : int, optional
        Workers of joblib, threads by default.
    random_features : int, optional
        Replace the Gaussian kernel by so many random features: O(n) time, approximate J, no
        second-order test. See `ismlit.features.FeatureProblem`.
    random_state : int, RandomState, optional
        For init="random" and random_features.

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

    Notes
    -----
    With more features than samples the problem is solved, exactly, in the span of the samples.
    Claims: alg-4, eq-5.1, new-safeguard. See `ismlit.optimality.certify` for a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.gamma import supervised
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> result = ism(X, supervised(X[:, 0] > 0), Gaussian(1.0), 1)
    >>> result.converged, int(np.argmax(abs(result.W)))
    (True, 0)
    """
    options = dict(init=init, method=method, tol=tol, max_iter=max_iter, escape=escape)
    options["random_state"] = random_state
    if random_features is None:
        problem = as_problem(X, gamma, kernel, n_jobs)
        check_options(problem, q, tol, max_iter)
        return _solve_wide(problem, q, options) or solve(problem, q, **options)
    problem = FeatureProblem(
        X, gamma, kernel, n_jobs, features=random_features, random_state=random_state
    )
    return _solve_anchored(problem, q, options)


def solve(
    problem,
    q,
    *,
    init="taylor",
    method="safeguarded",
    tol=1e-6,
    max_iter=200,
    escape=True,
    random_state=None,
):
    """`ism` for a Problem already made, or anything with its methods; parameters as there.

    A problem whose `has_hessian` is False is solved without Newton and escape steps.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.ism import solve
    >>> from ismlit.phi import Problem
    >>> X, y = load_wine(return_X_y=True)
    >>> solve(Problem(scale(X), supervised(y), Gaussian(3.0)), 2).converged
    True
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    check_options(problem, q, tol, max_iter)
    before = problem.count.passes
    W = starting_point(problem, q, init, random_state)
    run = _Run(problem, W, tol, max_iter, before)
    escape = escape and problem.has_hessian
    converged, message = run.published() if method == "published" else run.safeguarded(escape)
    if not converged:
        warnings.warn(
            f"ism ({method}) did not converge in {run.n_iter} steps ({message}): residual "
            f"{run.residual:.1e}, last movement {run.log[-1]['movement']:.1e}. "
            + "Try method='safeguarded', a larger max_iter or tol, or another init.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return run.result(converged, message)


def _solve_wide(problem, q, options):
    """Solve with more features than samples in the span of the samples; None when d <= n + q.

    J sees W only through XW. So the rows of X, and q more directions in which nothing varies,
    hold a solution: Phi is ``V Phi_V V'`` for an orthonormal basis V (d, n + q) of both.
    """
    n, d = problem.X.shape
    if d <= n + q:
        return None
    init = options["init"]
    more = np.random.default_rng(0).standard_normal((d, q)) if isinstance(init, str) else init
    if not isinstance(init, str):
        more = check_orthonormal(init, d, problem.X.dtype)
    V = np.linalg.qr(np.hstack([problem.X.T, more]))[0]
    small = replace(problem, X=problem.X @ V)
    if not isinstance(init, str):
        options = options | {"init": V.T @ more}
    result = solve(small, q, **options)
    return replace(result, W=fixed_signs(V @ result.W), problem=problem)


def _solve_anchored(problem, q, options, rounds=5):
    """Solve with features; again, anchored at the W found, while that is far from the anchor."""
    n_phi = 0
    for _ in range(rounds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = solve(problem, q, **options)
        n_phi += result.n_phi
        if problem.closeness(result.W) > 0.5:
            break
        options["init"] = result.W
        problem = replace(problem, anchor=result.W)
    if not result.converged:
        warnings.warn(
            f"ism with {problem.features} features did not converge ({result.message}): residual "
            f"{result.residual:.1e}. Try more features, another init, or the exact problem.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return replace(result, n_phi=n_phi)


def check_options(problem, q, tol, max_iter):
    """The rules that all solvers share; a ValueError says which is broken."""
    if not (tol >= 0 and max_iter >= 0):
        raise ValueError(f"tol and max_iter must be at least 0, got {tol!r} and {max_iter!r}")
    if not (isinstance(q, int | np.integer) and not isinstance(q, bool) and 1 <= q <= problem.d):
        raise ValueError(
            f"q must be an integer with 1 <= q <= d: q = {q!r}, d = {problem.d} features"
        )


def check_signal(phi):
    """Refuse a start from which nothing can be learnt."""
    if not np.any(phi):
        raise ConstantKernelError(
            "Phi is exactly zero at the start: either Gamma = 0, or the kernel is constant on "
            "this data (a bandwidth far below the distances underflows; try median_distance)"
        )


def attainable(tol, dtype):
    """`tol`, or what rounding allows if that is more: 2e-5 in float32."""
    return max(tol, 200 * float(np.finfo(dtype).eps))


# ---------------------------------------------------------------- starting points


def starting_point(problem, q, init, random_state=None):
    """An orthonormal W_0 of shape (d, q) in the dtype of X."""
    d, dtype = problem.d, problem.X.dtype
    if not isinstance(init, str):
        W = check_orthonormal(init, d, dtype)
        if W.shape != (d, q):
            raise ValueError(f"init must have shape ({d}, {q}), got {W.shape}")
        return W
    if init == "taylor":
        return _taylor(problem, q)
    if init == "pca":
        return top_eigenvectors(np.cov(problem.X.T).reshape(d, d), q)[1].astype(dtype)
    if init == "random":
        normal = check_random_state(random_state).standard_normal((d, q))
        return np.linalg.qr(normal)[0].astype(dtype)
    if init == "several":
        starts = [starting_point(problem, q, name, random_state) for name in INITS[:3]]
        return max((_two_steps(problem, W) for W in starts), key=lambda pair: pair[0])[1]
    raise ValueError(f"init must be an orthonormal array or one of {INITS}, got {init!r}")


def _two_steps(problem, W):
    """The best J and W of two plain steps of ISM from W: which basin it lies in."""
    J, phi = problem.objective_and_phi(W)
    best = J, W
    for _ in range(2):
        W = top_eigenvectors(phi, W.shape[1])[1]
        J, phi = problem.objective_and_phi(W)
        best = max(best, (J, W), key=lambda pair: pair[0])
    return best


def check_orthonormal(W, d, dtype, name="W"):
    """A fresh orthonormal basis of the span of W (d, q), which must be nearly orthonormal."""
    W = np.array(W, dtype)
    if W.ndim != 2 or W.shape[0] != d:
        columns = "q" if name == "W" else "k"
        raise ValueError(f"{name} must have shape ({d}, {columns}), got {W.shape}")
    error = np.abs(W.T @ W - np.eye(W.shape[1])).max()
    if not error < 1e-4:
        raise ValueError(
            f"{name} must have orthonormal columns; {name}'{name} - I has an entry of {error:.2g}"
        )
    return np.linalg.qr(W)[0]


def _taylor(problem, q):
    """Top q eigenvectors of Phi_0; where it has no more positive ones, directions of variance.

    With Gamma from k classes Phi_0 has rank at most k - 1, so q = k leaves a choice: it is
    made by variance rather than by the rounding of an eigensolver.
    """
    phi_0 = problem.phi_0()
    values, vectors = eigh(phi_0)
    scale = np.abs(values).max()
    if scale == 0:
        warnings.warn(
            "Phi_0 is zero (f'(0) = 0, or the class means coincide): starting from PCA instead",
            stacklevel=4,
        )
    rounding = np.sqrt(np.finfo(phi_0.dtype).eps) * scale
    keep = values > rounding
    W = vectors[:, keep][:, ::-1][:, :q]
    missing = q - W.shape[1]
    if missing:
        tied = vectors if scale == 0 else vectors[:, np.abs(values) <= rounding]
        if tied.shape[1] < missing:  # no null space left: continue down the spectrum
            return vectors[:, ::-1][:, :q].copy()
        spread = problem._data["difference"] @ tied
        W = np.hstack([W, tied @ top_eigenvectors(spread.T @ spread, missing)[1]])
    return W.astype(problem.X.dtype)


def top_eigenvectors(matrix, q):
    """The q largest algebraic eigenvalues of a symmetric matrix, falling, and their vectors."""
    d = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(max(d - q - 1, 0), d - 1))
    return values[::-1], vectors[:, ::-1][:, :q]


def matrix_free_eigenvectors(problem, W, q, *, start=None, tol=1e-8, max_iter=200):
    """Top q eigenvalues of Phi(W), falling, and their vectors, without forming the matrix.

    LOBPCG on ``problem.operator(W)``: O(n^2 q) a product with the tiles of Psi kept, and
    O(d q) memory instead of O(d^2). For d much larger than q; `start` (d, q) warm-starts it.

    Raises
    ------
    RuntimeError
        If LOBPCG does not reach `tol` (relative to the largest eigenvalue) in `max_iter` steps.
    """
    if 5 * q > problem.d:
        raise ValueError(f"matrix-free needs d >= 5 q, got d = {problem.d}, q = {q}: use phi(W)")
    operator = problem.operator(W)
    block = np.random.default_rng(0).standard_normal((problem.d, q + 2))
    block[:, :q] += 0 if start is None else 100 * start
    with warnings.catch_warnings():  # whether it converged is tested below
        warnings.simplefilter("ignore", UserWarning)
        block = np.linalg.qr(block)[0].astype(problem.X.dtype)
        scale = np.linalg.norm(operator @ block[:, 0])
        values, vectors = lobpcg(operator, block, tol=tol * scale, maxiter=max_iter)
    values, vectors = values[:q], vectors[:, :q]
    error = np.linalg.norm(operator @ vectors - vectors * values) / np.abs(values).max()
    if not error <= 100 * tol:
        raise RuntimeError(f"LOBPCG did not converge in {max_iter} steps: residual {error:.1e}")
    return values, vectors


def canonical_frame(phi, W):
    """Ritz values of Phi on span(W), falling, and its basis of Ritz vectors with fixed signs."""
    values, rotation = eigh(W.T @ phi @ W)
    return values[::-1], fixed_signs((W @ rotation)[:, ::-1])


def nearest_eigenvectors(matrix, W):
    """The q eigenvectors of a symmetric matrix that overlap most with the span of W (d, q)."""
    vectors = eigh(matrix)[1]
    overlap = np.linalg.norm(vectors.T @ W, axis=1)
    return vectors[:, np.argsort(overlap)[-W.shape[1] :]]


# ---------------------------------------------------------------- one run


class _Run:
    """The state of one solve: the current W with its J and Phi, and the log of accepted points."""

    def __init__(self, problem, W, tol, max_iter, before):
        eps = float(np.finfo(problem.X.dtype).eps)
        self.problem, self.max_iter, self.before = problem, max_iter, before
        self.tol = attainable(tol, problem.X.dtype)
        self.J, self.phi = problem.objective_and_phi(W)
        check_signal(self.phi)
        # rounding of J: independent errors of its n^2 terms, and of the sum itself
        terms = eps * max(abs(self.J), np.linalg.norm(self.phi)) / np.sqrt(problem.n)
        self.noise = 8 * terms + 16 * np.finfo(float).eps * abs(self.J)
        self.W, self.log, self.n_iter, self.n_phi_test = W, [], 0, 0
        self.record(shift=0.0, movement=np.inf, change=np.inf)

    def gradient(self):
        """Half the gradient of J on the manifold."""
        return half_gradient(self.phi, self.W)

    @property
    def residual(self):
        return first_order_residual(self.phi, self.W)

    def record(self, shift, movement, change):
        self.log.append(
            dict(
                objective=self.J,
                passes=self.problem.count.passes - self.before,
                residual=self.residual,
                shift=shift,
                eigengap=_eigengap(self.phi, self.W),
                movement=movement,
                eigenvalue_change=change,
            )
        )

    def move(self, W, J, phi, shift):
        """Accept a new point."""
        old = np.linalg.eigvalsh(self.W.T @ self.phi @ self.W)
        new = np.linalg.eigvalsh(W.T @ phi @ W)
        movement = projector_distance(self.W, W)
        self.W, self.J, self.phi, self.n_iter = W, J, phi, self.n_iter + 1
        self.record(shift, movement, float(np.linalg.norm(new - old) / np.linalg.norm(new)))

    # -------------------------------------------------- the two methods

    def published(self):
        """Algorithm 4, its loop condition put right: until Lambda changes by less than tol."""
        q, previous = self.W.shape[1], None
        while self.n_iter < self.max_iter:
            values, W = top_eigenvectors(self.phi, q)
            self.move(W, *self.problem.objective_and_phi(W), shift=0.0)
            if previous is not None:
                change = np.linalg.norm(values[:q] - previous) / np.linalg.norm(values[:q])
                self.log[-1]["eigenvalue_change"] = float(change)
                if change < self.tol:
                    return True, "the eigenvalues of Phi changed by less than tol"
            previous = values[:q]
        return False, "max_iter reached"

    def safeguarded(self, escape):
        """Level-shifted, extrapolated and Newton steps; J never falls beyond its rounding."""
        shift, memory = 0.0, deque(maxlen=8)
        while True:
            stationary, moved = self.residual <= self.tol, True
            if not stationary:
                if self.n_iter >= self.max_iter:
                    return False, "max_iter reached"
                memory.append((self.phi, self.gradient() @ self.W.T))
                if self.is_slow() and self.newton_step():
                    memory.clear()
                elif not self.extrapolated_step(memory):
                    shift, moved = self.shifted_step(shift)
            if stationary or not moved:
                saddle = self.upward_curve() if escape else None
                if saddle is None and stationary:
                    tested = "" if escape else "; the second order was not tested"
                    return True, "the first-order residual is below tol" + tested
                if saddle is None:
                    flat = np.linalg.norm(self.gradient()) <= self.noise
                    return bool(flat), "no step raises the objective above its rounding error"
                if self.n_iter >= self.max_iter:
                    return False, "max_iter reached at a saddle"
                if not self.leave_saddle(saddle):
                    return False, "at a saddle, and no step along it raises the objective"
                shift, memory = 0.0, deque(maxlen=8)

    def shifted_step(self, shift):
        """One step with Phi + shift P, the shift raised until the step passes the test.

        The test J(W+) - J(W) >= <Phi, P+ - P> / 4 is met by every shift of at least the
        Lipschitz constant of the gradient, so the loop ends. Where the promised gain is below
        the rounding of J the step is judged by the residual instead. Returns the next shift
        to try, and whether the point moved.
        """
        P = self.W @ self.W.T
        floor = 0.05 * np.linalg.norm(self.phi)
        while True:
            W = top_eigenvectors(self.phi + shift * P, self.W.shape[1])[1]
            promised = float(np.sum(W * (self.phi @ W)) - np.sum(self.W * (self.phi @ self.W)))
            J, phi = self.problem.objective_and_phi(W)
            at_rounding = promised <= 10 * self.noise
            if at_rounding:
                passed = J >= self.J - self.noise and _falls(phi, W, self.residual)
            else:
                passed = J - self.J >= promised / 4
            if passed:
                self.move(W, J, phi, shift)
                return (shift / 2 if shift > floor / 8 else 0.0), True
            if at_rounding and promised <= self.noise:
                return shift, False
            shift = max(4 * shift, floor)

    def extrapolated_step(self, memory):
        """Pulay's DIIS: the combination of past Phis whose commutators [Phi, P] cancel best.

        Taken only if J does not fall (beyond rounding) and the residual drops; else a pass is
        lost and the memory is cleared.
        """
        if len(memory) < 3 or self.residual > 0.1:
            return False
        errors = np.array([(e - e.T).ravel() for _, e in memory], dtype=float)
        m = len(errors)
        system = np.ones((m + 1, m + 1))
        system[:m, :m] = errors @ errors.T / (errors[-1] @ errors[-1])
        system[m, m] = 0
        weights = np.linalg.lstsq(system, np.r_[np.zeros(m), 1.0], rcond=None)[0][:m]
        mixture = sum(w * phi for w, (phi, _) in zip(weights, memory, strict=True))
        W = nearest_eigenvectors(mixture.astype(self.phi.dtype), self.W)
        J, phi = self.problem.objective_and_phi(W)
        if J < self.J - self.noise or first_order_residual(phi, W) > 0.7 * self.residual:
            memory.clear()
            return False
        self.move(W, J, phi, 0.0)
        return True

    def is_slow(self):
        """Has the residual not even halved over the last five points?"""
        past = [entry["residual"] for entry in self.log[-6:]]
        return len(past) == 6 and past[-1] > past[0] / 2

    def newton_step(self):
        """A step by the exact second-order form, solved by conjugate gradients.

        Taken if J rises; costs a pass for each product and one for each length tried.
        """
        if not self.problem.has_hessian or self.W.shape[0] == self.W.shape[1]:
            return False
        second = SecondOrder(self.problem, self.W, self.phi)
        Z = second.newton((second.W_bar.T @ self.phi @ second.W).ravel())
        for length in min(1.0, 0.5 / np.linalg.norm(Z)) * 0.5 ** np.arange(6):
            W = geodesic(self.W, Z, length)
            J, phi = self.problem.objective_and_phi(W)
            if J > self.J or (J > self.J - self.noise and _falls(phi, W, self.residual)):
                self.move(W, J, phi, 0.0)
                return True
        return False

    def upward_curve(self):
        """The tangent along which J curves upwards most, or None where it nowhere does."""
        before = self.problem.count.passes
        lowest, Z, _ = SecondOrder(self.problem, self.W, self.phi).lowest()
        self.n_phi_test += self.problem.count.passes - before
        return Z if lowest < -1e-6 * np.linalg.norm(self.phi) else None

    def leave_saddle(self, Z):
        """Step along tangent Z, to either side, as far as J rises; False if it never does."""
        for t in 0.8 * 0.5 ** np.arange(12):
            for sign in (1, -1):
                W = geodesic(self.W, sign * Z, t)
                J, phi = self.problem.objective_and_phi(W)
                if J > self.J + self.noise:
                    self.move(W, J, phi, 0.0)
                    return True
        return False

    def result(self, converged, message):
        """The end of the run, as the caller gets it."""
        eigenvalues, W = canonical_frame(self.phi, self.W)
        return ISMResult(
            W=W,
            eigenvalues=eigenvalues,
            objective=self.J,
            residual=self.residual,
            converged=converged,
            n_iter=self.n_iter,
            n_phi=self.problem.count.passes - self.before,
            n_phi_test=self.n_phi_test,
            message=message,
            history={key: np.array([entry[key] for entry in self.log]) for key in self.log[0]},
            problem=self.problem,
        )


def _falls(phi, W, residual):
    return first_order_residual(phi, W) < 0.9 * residual


def _eigengap(phi, W):
    """Smallest Ritz value on span(W) minus the largest on its complement."""
    d, q = W.shape
    if q == d:
        return np.inf
    rest = phi - W @ (W.T @ phi)
    rest = rest - (rest @ W) @ W.T  # Phi on the complement of W ...
    rest = rest - 2 * np.linalg.norm(phi) * (W @ W.T)  # ... and W below everything else
    outside = eigh(rest, eigvals_only=True, subset_by_index=[d - 1, d - 1])
    return float(np.linalg.eigvalsh(W.T @ phi @ W)[0] - outside[0])
