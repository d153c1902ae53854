"""Other solvers of the same problem, with the signature and result type of `ism`.

Dimension Growth climbs one column at a time, the feasible method of Wen and Yin follows curves
on the Stiefel manifold, and the trust region works on the Grassmann manifold. All share the
objective and gradient of `Problem`, so that algorithms are compared, not implementations;
none needs Phi itself, only ``Phi W``. `n_passes` counts every pass over the pairs: objective and
gradient together are one, a Hessian product is one; `max_passes` stops a solve that has used so
many. They test no second order: a start at a saddle or minimum is where they stay. Their
`history` holds ``objective`` and ``passes`` only.
"""

import warnings

import numpy as np
from ismlit import ISMResult
from ismlit.geometry.frames import canonical_frame, first_order_residual, project_out
from ismlit.objectives.parts import as_problem
from ismlit.solvers.climb import attainable, first_frame, require_slope
from ismlit.solvers.ism import check_options
from sklearn.exceptions import ConvergenceWarning

from ismlit_book.files import optional


def dimension_growth(X, gamma=None, kernel=None, q=None, **options) -> ISMResult:
    """Greedy ascent, one column of W at a time (DG; Niu, Dy and Jordan 2014).

    Column j maximises J([w_1 .. w_j]) over unit vectors orthogonal to the earlier columns,
    which stay as they are, by gradient ascent along great circles with an Armijo search. The
    end is in general no stationary point of J over all q columns: `residual` tells.

    Parameters and result as for `ismlit.ism`; `max_iter` (1000) is per column and `tol` bounds
    the gradient of each column relative to ||Phi|| at the start. `converged` says whether
    every column met it; the history holds the start and the steps of the last column.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit_book.methods.baselines import dimension_growth
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), label_gamma(y), Gaussian(1.0), 2
    >>> round(dimension_growth(*task).objective / ism(*task).objective, 2)
    0.97
    """
    run = _Descent(X, gamma, kernel, q, **options)
    problem = run.problem
    W, steps, done = np.zeros((problem.d, 0)), 0, True
    last = run.start.shape[1] - 1
    for j in range(last + 1):
        start = _orthogonal(run.start[:, j], W)
        log = run.record if j == last else None  # J of fewer columns is another function
        w, taken, settled = _grown_column(run, W, start, log)
        W, steps, done = np.c_[W, w], steps + taken, done and settled
    return run.result(W, steps, done, "one column after the other")


def _grown_column(run, W, w, record):
    """Climb in one more column w beside the fixed W: (w, steps, whether it has settled)."""
    J, g = run.problem.objective_and_gradient(np.c_[W, w])
    length = 0.1
    for step in range(run.max_iter):
        slope = _orthogonal(g[:, -1], np.c_[W, w], normalise=False)
        size = np.linalg.norm(slope)
        if size <= run.threshold:
            return w, step, True
        length = min(2 * length, 1.0)  # an angle; twice the last one that served
        found = _armijo(run, W, w, J, slope / size, size, length)
        if found is None:  # out of passes; or of digits: the gradient no longer tells the way up
            lost = size > np.sqrt(run.threshold * run.scale)
            return w, step, not (run.spent or lost)
        length, w, J, g = found
        if record is not None:
            record(J)
    return w, run.max_iter, False


def _armijo(run, W, w, J, direction, size, length):
    """(angle, w, J, gradient) of the first angle along the great circle that rises enough."""
    while length > 1e-12 and not run.spent:
        trial = np.cos(length) * w + np.sin(length) * direction
        J_new, g_new = run.problem.objective_and_gradient(np.c_[W, trial])
        if J_new >= J + 1e-4 * 2 * size * length:
            return length, trial, J_new, g_new
        length /= 4
    return None


def stiefel_descent(X, gamma=None, kernel=None, q=None, **options) -> ISMResult:
    """The feasible method on the Stiefel manifold (SM; Wen and Yin 2013).

    W moves along the Cayley curve of its gradient, formed by Sherman-Morrison-Woodbury with
    one 2q x 2q system; the step is Barzilai and Borwein's, accepted by the non-monotone test
    of Zhang and Hager. Constants are the paper's: rho = 1e-4, delta = 0.1, eta = 0.85.

    Parameters and result as for `ismlit.ism`; `tol` bounds the gradient on the manifold
    relative to ||Phi|| at the start.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit_book.methods.baselines import stiefel_descent
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), label_gamma(y), Gaussian(3.0), 2
    >>> round(stiefel_descent(*task).objective / ism(*task).objective, 2)
    1.0
    """
    run = _Descent(X, gamma, kernel, q, **options)
    problem = run.problem
    W = run.start
    J, G = problem.objective_and_gradient(W)
    along = _projected(W, G)
    best, reference, weight = (J, W), J, 1.0
    step, steps, done = 1e-3 / run.scale, 0, False
    while not (done := _tangent_norm(W, G) <= run.threshold):
        if steps == run.max_iter or run.spent:
            break
        slope = np.sum(G * along)  # half the derivative of J along the curve at 0
        while True:
            trial = cayley(W, G, step)
            J_new, G_new = problem.objective_and_gradient(trial)
            enough = J_new >= reference + 2e-4 * step * slope
            if enough or run.spent or step < 1e-14 / run.scale:
                break
            step *= 0.1
        along_new = _projected(trial, G_new)
        moved, turned = trial - W, along - along_new
        W, J, G, along, steps = trial, J_new, G_new, along_new, steps + 1
        run.record(J)
        best = max(best, (J, W), key=lambda pair: pair[0])
        weight, old = 0.85 * weight + 1, weight
        reference = (0.85 * old * reference + J) / weight
        step = _barzilai_borwein(moved, turned, even=steps % 2 == 0, default=1e-3 / run.scale)
    return run.result(W if done else best[1], steps, done, "Cayley curves")


def _barzilai_borwein(moved, turned, even, default):
    """The next step: their two lengths take turns."""
    product = abs(np.sum(moved * turned))
    above, below = (np.sum(moved**2), product) if even else (product, np.sum(turned**2))
    step = above / below if below else default
    return np.clip(step, 1e-20, 1e20)


def grassmann_trust_region(X, gamma=None, kernel=None, q=None, **options) -> ISMResult:
    """Riemannian trust region with exact Hessian products (GM; Boumal and Absil 2011).

    Parameters and result as for `ismlit.ism`; `tol` bounds the gradient relative to
    ||Phi|| at the start. Needs pymanopt (``pip install ./book``).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit_book.methods.baselines import grassmann_trust_region
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), label_gamma(y), Gaussian(3.0), 2
    >>> round(grassmann_trust_region(*task).objective / ism(*task).objective, 2)  # doctest: +SKIP
    1.0
    """
    pymanopt = optional("pymanopt")
    from pymanopt.manifolds import Grassmann
    from pymanopt.optimizers import TrustRegions

    run = _Descent(X, gamma, kernel, q, **{"max_iter": 200} | options)
    problem = run.problem
    if q == problem.d:
        return run.result(run.start, 0, True, "W spans all features: nothing to choose")
    manifold, values = Grassmann(problem.d, q), _Values(run)
    on_manifold = pymanopt.function.numpy(manifold)
    slopes = dict(
        euclidean_gradient=on_manifold(values.gradient),
        euclidean_hessian=on_manifold(values.hessian),
    )
    task = pymanopt.Problem(manifold, on_manifold(values.cost), **slopes)
    limits = dict(max_iterations=run.max_iter, min_gradient_norm=2 * run.threshold)
    optimizer = TrustRegions(**limits, max_time=np.inf, verbosity=0)
    try:
        found = optimizer.run(task, initial_point=run.start)
    except _Spent:
        message = f"max_passes = {run.max_passes} used"
        return run.result(values.W, len(run.objectives) - 1, False, message)
    W = found.point
    done = _tangent_norm(W, values.at(W)[1] @ W) <= 1.01 * run.threshold
    return run.result(W, found.iterations, done, found.stopping_criterion)


class _Values:
    """What pymanopt asks for, at no more than one pass a point.

    It asks for the cost of every trial and for the gradient of accepted points alone, which are
    recorded; the last two points are kept, since the Hessian is asked for at the accepted one.
    """

    def __init__(self, run):
        self.run, self.W = run, run.start
        self.kept = []

    def at(self, W):
        """J and Phi at W."""
        for point, found in self.kept:
            if np.array_equal(point, W):
                return found
        self._pay()
        found = self.run.problem.objective_and_phi(W)
        self.kept = [*self.kept[-1:], (W, found)]
        return found

    def cost(self, W):
        return -self.at(W)[0]

    def gradient(self, W):
        if not np.array_equal(W, self.W):
            self.run.record(self.at(W)[0])
            self.W = W
        return -2 * self.at(W)[1] @ W

    def hessian(self, W, Z):
        self._pay()
        along = self.run.problem.phi_derivative(W, Z[None])[0]
        return -2 * (along + self.at(W)[1] @ Z)

    def _pay(self):
        if self.run.spent:
            raise _Spent


# ---------------------------------------------------------------- Cayley curves


def cayley(W, G, step):
    """The point at `step` on the Cayley curve from W (d, q) that ascends along G (d, q).

    ``(I - step/2 A)^-1 (I + step/2 A) W`` with ``A = GW' - WG'``, by one 2q x 2q system.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.baselines import cayley
    >>> W, G = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> cayley(W, G, step=1.0).round(2)  # turned by 2 arctan(1/2)
    array([[0.6],
           [0.8]])
    """
    U, V = np.hstack([G, -W]), np.hstack([W, G])
    inner = np.eye(U.shape[1]) - step / 2 * (V.T @ U)
    Q, R = np.linalg.qr(W + step * U @ np.linalg.solve(inner, V.T @ W))  # removes rounding
    return Q * np.sign(np.diag(R))


def ascend(L, U, *, tol=1e-6, max_iter=100):
    """U (n, k) moved up along Cayley curves for Tr(U'LU); the U reached, and the steps taken.

    The gradient is G = 2LU, and the slope along the curve ``|G - UU'G|²``. The step doubles when
    a hundredth of what that promises is gained, else it is quartered. A step costs one product LU,
    O(n² k), and a curve, O(n k²).

    Notes
    -----
    Claims: eq-4.15, eq-4.16, eq-4.17.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.baselines import ascend
    >>> L = np.diag([4.0, 3.0, 1.0, 0.0])
    >>> start = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 2)))[0]
    >>> U, steps = ascend(L, start)
    >>> round(float(np.trace(U.T @ L @ U)), 2)  # the two largest eigenvalues, 4 + 3
    7.0
    """
    G, step = 2 * (L @ U), 1.0
    for k in range(max_iter):
        value, slope = np.sum(U * G) / 2, np.sum(project_out(G, U) ** 2)
        if slope <= (tol * np.linalg.norm(G)) ** 2:
            return U, k
        while True:
            trial = cayley(U, G, step)
            G_trial = 2 * (L @ trial)
            if np.sum(trial * G_trial) / 2 >= value + 0.01 * step * slope:
                break
            step /= 4
            if step < 1e-12:
                return U, k
        U, G, step = trial, G_trial, 2 * step
    return U, max_iter


# ---------------------------------------------------------------- what they share


class _Spent(Exception):
    """The passes allowed are used up."""


class _Descent:
    """The problem, the start, its scale ||Phi||, and the objective after each pass that counts."""

    def __init__(self, X, gamma, kernel, q, tol=1e-6, max_iter=1000, max_passes=None, **start):
        self.problem = problem = as_problem(X, gamma, kernel)
        self.max_iter, self.before = max_iter, problem.count.passes
        self.max_passes = np.inf if max_passes is None else max_passes
        check_options(problem, q, tol, max_iter)
        self.start = first_frame(problem, q, **{"init": "taylor"} | start)[0].astype(float)
        J, phi = problem.objective_and_phi(self.start)
        self.scale = float(np.linalg.norm(phi))
        require_slope(problem, J, self.scale)
        self.threshold = attainable(tol, problem.dtype) * self.scale
        self.objectives, self.passes = [], []
        self.record(J)

    @property
    def spent(self):
        """Whether the passes allowed are used up."""
        return self.problem.count.passes - self.before >= self.max_passes

    def record(self, J):
        """Note J of an accepted point."""
        self.objectives.append(J)
        self.passes.append(self.problem.count.passes - self.before)

    def result(self, W, n_iter, done, message):
        """The end of the solve, as the caller gets it."""
        n_passes = self.problem.count.passes - self.before
        J, phi = self.problem.objective_and_phi(W)  # to report, not to solve: does not count
        eigenvalues, W = canonical_frame(phi, W.astype(self.problem.dtype))
        residual = first_order_residual(phi, W)
        if not done:
            warnings.warn(
                f"not converged after {n_iter} steps: residual {residual:.1e}. Try a larger "
                "max_iter or tol, or another init.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return ISMResult(
            W=W,
            eigenvalues=eigenvalues,
            objective=J,
            residual=residual,
            converged=bool(done),
            n_iter=n_iter,
            n_passes=n_passes,
            message=message,
            history={"objective": np.array(self.objectives), "passes": np.array(self.passes)},
            problem=self.problem,
        )


def _orthogonal(v, W, normalise=True):
    """v minus its part in the span of W (d, j), twice, so that rounding does not add up."""
    v = project_out(project_out(v, W), W)
    return v / np.linalg.norm(v) if normalise else v


def _projected(W, G):
    """G minus its normal part on the Stiefel manifold: half the gradient that SM follows."""
    return G - W @ (G.T @ W)


def _tangent_norm(W, G):
    """||G - W W'G||, half the gradient norm on the Grassmann manifold."""
    return np.linalg.norm(project_out(G, W))
