"""Other solvers of the same problem, with the signature and result type of `ism`.

Dimension Growth climbs one column at a time, the feasible method of Wen and Yin follows curves
on the Stiefel manifold, and the trust region works on the Grassmann manifold. All share the
objective and gradient of `ismlit.phi`, so that algorithms are compared, not implementations;
none needs Phi itself, only ``Phi W``. `n_phi` counts every pass over the pairs: objective and
gradient together are one, a Hessian product is one; `max_phi` stops a run that has used so many.
They test no second order: a start at a saddle or minimum is where they stay. Their `history`
holds ``objective`` and ``passes`` only.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ismlit.grassmann import first_order_residual, outside
from ismlit.ism import (
    ISMResult,
    attainable,
    canonical_frame,
    check_options,
    check_signal,
    starting_point,
)
from ismlit.phi import as_problem


def dimension_growth(
    X,
    gamma,
    kernel,
    q,
    *,
    init="taylor",
    tol=1e-6,
    max_iter=1000,
    max_phi=None,
    n_jobs=None,
    random_state=None,
):
    """Greedy ascent, one column of W at a time (DG; Niu, Dy and Jordan 2014).

    Column j maximises J([w_1 .. w_j]) over unit vectors orthogonal to the earlier columns,
    which stay as they are, by gradient ascent along great circles with an Armijo search. The
    end is in general no stationary point of J over all q columns: `residual` tells.

    Parameters and result as for `ismlit.ism.ism`; `max_iter` is per column and `tol` bounds
    the gradient of each column relative to ||Phi|| at the start. `converged` says whether
    every column met it; the history holds the start and the steps of the last column.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.baselines import dimension_growth
    >>> from ismlit.gamma import supervised
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), supervised(y), Gaussian(1.0), 2
    >>> round(dimension_growth(*task).objective / ism(*task).objective, 2)
    0.97
    """
    run = _Run(X, gamma, kernel, q, init, tol, max_iter, max_phi, n_jobs, random_state)
    problem, W, steps, done = run.problem, np.zeros((run.problem.d, 0)), 0, True
    for j in range(q):
        w = _orthogonal(run.start[:, j], W)
        J, g = problem.objective_and_gradient(np.c_[W, w])
        length = 0.1
        for _ in range(max_iter):
            slope = _orthogonal(g[:, j], np.c_[W, w], normalise=False)
            size = np.linalg.norm(slope)
            if size <= run.threshold:
                break
            length = min(2 * length, 1.0)  # an angle; twice the last one that served
            while length > 1e-12 and not run.spent():
                trial = np.cos(length) * w + np.sin(length) * slope / size
                J_new, g_new = problem.objective_and_gradient(np.c_[W, trial])
                if J_new >= J + 1e-4 * 2 * size * length:
                    break
                length /= 4
            else:  # out of passes; or of digits: the gradient no longer tells the way up
                lost = size > np.sqrt(run.threshold * run.scale)
                done = done and not (run.spent() or lost)
                break
            w, J, g, steps = trial, J_new, g_new, steps + 1
            if j == q - 1:  # J of fewer columns is another function
                run.record(J)
        else:
            done = False
        W = np.c_[W, w]
    return run.result(W, steps, done, "one column after the other")


def stiefel_descent(
    X,
    gamma,
    kernel,
    q,
    *,
    init="taylor",
    tol=1e-6,
    max_iter=1000,
    max_phi=None,
    n_jobs=None,
    random_state=None,
):
    """The feasible method on the Stiefel manifold (SM; Wen and Yin 2013).

    W moves along the Cayley curve of its gradient, formed by Sherman-Morrison-Woodbury with
    one 2q x 2q system; the step is Barzilai and Borwein's, accepted by the non-monotone test
    of Zhang and Hager. Constants are the paper's: rho = 1e-4, delta = 0.1, eta = 0.85.

    Parameters and result as for `ismlit.ism.ism`; `tol` bounds the gradient on the manifold
    relative to ||Phi|| at the start.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.baselines import stiefel_descent
    >>> from ismlit.gamma import supervised
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), supervised(y), Gaussian(3.0), 2
    >>> round(stiefel_descent(*task).objective / ism(*task).objective, 2)
    1.0
    """
    run = _Run(X, gamma, kernel, q, init, tol, max_iter, max_phi, n_jobs, random_state)
    problem, W = run.problem, run.start
    J, G = problem.objective_and_gradient(W)
    along = _projected(W, G)
    best, reference, weight = (J, W), J, 1.0
    step, steps, done = 1e-3 / run.scale, 0, False
    while not (done := _tangent_norm(W, G) <= run.threshold):
        if steps == max_iter or run.spent():
            break
        slope = np.sum(G * along)  # half the derivative of J along the curve at 0
        while True:
            trial = cayley(W, G, step)
            J_new, G_new = problem.objective_and_gradient(trial)
            enough = J_new >= reference + 2e-4 * step * slope
            if enough or run.spent() or step < 1e-14 / run.scale:
                break
            step *= 0.1
        along_new = _projected(trial, G_new)
        moved, turned = trial - W, along - along_new
        product = abs(np.sum(moved * turned))
        W, J, G, along, steps = trial, J_new, G_new, along_new, steps + 1
        run.record(J)
        best = max(best, (J, W), key=lambda pair: pair[0])
        weight, old = 0.85 * weight + 1, weight
        reference = (0.85 * old * reference + J) / weight
        even = steps % 2 == 0  # the two Barzilai-Borwein lengths take turns
        step = np.sum(moved**2) / product if even else product / np.sum(turned**2)
        step = np.clip(np.nan_to_num(step, nan=1e-3 / run.scale), 1e-20, 1e20)
    return run.result(W if done else best[1], steps, done, "Cayley curves")


def grassmann_trust_region(
    X,
    gamma,
    kernel,
    q,
    *,
    init="taylor",
    tol=1e-6,
    max_iter=200,
    max_phi=None,
    n_jobs=None,
    random_state=None,
):
    """Riemannian trust region with exact Hessian products (GM; Boumal and Absil 2011).

    Parameters and result as for `ismlit.ism.ism`; `tol` bounds the gradient relative to
    ||Phi|| at the start. Needs pymanopt (``pip install 'ismlit[book]'``).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian, ism
    >>> from ismlit.baselines import grassmann_trust_region
    >>> from ismlit.gamma import supervised
    >>> X, y = load_wine(return_X_y=True)
    >>> task = scale(X), supervised(y), Gaussian(3.0), 2
    >>> round(grassmann_trust_region(*task).objective / ism(*task).objective, 2)  # doctest: +SKIP
    1.0
    """
    try:
        import pymanopt
        from pymanopt.manifolds import Grassmann
        from pymanopt.optimizers import TrustRegions
    except ImportError as error:
        raise ImportError(
            "grassmann_trust_region needs pymanopt: pip install 'ismlit[book]'"
        ) from error

    run = _Run(X, gamma, kernel, q, init, tol, max_iter, max_phi, n_jobs, random_state)
    if q == run.problem.d:
        return run.result(run.start, 0, True, "W spans all features: nothing to choose")
    problem, manifold = run.problem, Grassmann(run.problem.d, q)
    memory, accepted = {}, [run.start]

    def at(W):
        key = W.tobytes()
        if key not in memory:
            if run.spent():
                raise _Spent
            if len(memory) == 2:  # the point, and the one that is tried from it
                del memory[next(iter(memory))]
            memory[key] = problem.objective_and_gradient(W)
        return memory[key]

    @pymanopt.function.numpy(manifold)
    def cost(W):
        return -at(W)[0]

    @pymanopt.function.numpy(manifold)
    def gradient(W):
        if W is not accepted[-1]:
            run.record(at(W)[0])
            accepted.append(W)
        return -2 * at(W)[1]

    @pymanopt.function.numpy(manifold)
    def hessian(W, Z):
        if run.spent():
            raise _Spent
        return -2 * problem.gradient_derivative(W, Z)

    optimizer = TrustRegions(
        max_iterations=max_iter,
        min_gradient_norm=2 * run.threshold,
        max_time=np.inf,
        verbosity=0,
    )
    task = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    try:
        found = optimizer.run(task, initial_point=run.start)
    except _Spent:
        steps = len(run.objectives) - 1
        return run.result(accepted[-1], steps, False, f"max_phi = {max_phi} passes used")
    done = _tangent_norm(found.point, at(found.point)[1]) <= 1.01 * run.threshold
    return run.result(found.point, found.iterations, done, found.stopping_criterion)


# ---------------------------------------------------------------- what they share


class _Spent(Exception):
    """The passes allowed are used up."""


class _Run:
    """The problem, the start, its scale ||Phi||, and the objective after each pass that counts."""

    def __init__(self, X, gamma, kernel, q, init, tol, max_iter, max_phi, n_jobs, random_state):
        self.max_phi = np.inf if max_phi is None else max_phi
        self.problem = as_problem(X, gamma, kernel, n_jobs)
        self.before = self.problem.count.passes
        check_options(self.problem, q, tol, max_iter)
        self.start = starting_point(self.problem, q, init, random_state).astype(float)
        J, phi = self.problem.objective_and_phi(self.start)
        check_signal(phi)
        self.scale = float(np.linalg.norm(phi))
        self.threshold = attainable(tol, self.problem.X.dtype) * self.scale
        self.objectives, self.passes = [], []
        self.record(J)

    def spent(self):
        """Whether the passes allowed are used up."""
        return self.problem.count.passes - self.before >= self.max_phi

    def record(self, J):
        self.objectives.append(J)
        self.passes.append(self.problem.count.passes - self.before)

    def result(self, W, n_iter, done, message):
        n_phi = self.problem.count.passes - self.before
        J, phi = self.problem.objective_and_phi(W)  # to report, not to solve: does not count
        eigenvalues, W = canonical_frame(phi, W.astype(self.problem.X.dtype))
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
            n_phi=n_phi,
            message=message,
            history={"objective": np.array(self.objectives), "passes": np.array(self.passes)},
            problem=self.problem,
        )


def _orthogonal(v, W, normalise=True):
    """v minus its part in the span of W (d, j), twice, so that rounding does not add up."""
    v = outside(outside(v, W), W)
    return v / np.linalg.norm(v) if normalise else v


def _projected(W, G):
    """G minus its normal part on the Stiefel manifold: half the gradient that SM follows."""
    return G - W @ (G.T @ W)


def _tangent_norm(W, G):
    """||G - W W'G||, half the gradient norm on the Grassmann manifold."""
    return np.linalg.norm(outside(G, W))


def cayley(W, G, step):
    """The point at `step` on the Cayley curve from W (d, q) that ascends along G (d, q).

    ``(I - step/2 A)^-1 (I + step/2 A) W`` with ``A = GW' - WG'``, by one 2q x 2q system.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.baselines import cayley
    >>> W, G = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> cayley(W, G, step=1.0).round(2)  # turned by 2 arctan(1/2)
    array([[0.6],
           [0.8]])
    """
    U, V = np.hstack([G, -W]), np.hstack([W, G])
    inner = np.eye(U.shape[1]) - step / 2 * (V.T @ U)
    Q, R = np.linalg.qr(W + step * U @ np.linalg.solve(inner, V.T @ W))  # removes rounding
    return Q * np.sign(np.diag(R))
