"""Every way to climb J, watched: when did it first reach a height?"""

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from ismlit.baselines import dimension_growth, grassmann_trust_region, stiefel_descent
from ismlit.problem import Problem
from ismlit.solver import ism, published_ism
from ismlit.starts import starting_point

SLOWEST = 40  # times as long as ours, after which a way is stopped at the latest


def patience(ours):
    """Times as long as ours that a way may take: some seconds, but at least four times."""
    return float(np.clip(5 / ours, 4, SLOWEST))


class TooSlow(Exception):
    """The time allowed is used up."""


@dataclass
class Watch:
    """The heights seen, and when; fewer columns than q are another function."""

    q: int
    limit: float = np.inf
    start: float = 0.0
    seen: list = field(default_factory=list)

    def note(self, J, columns):
        now = time.perf_counter() - self.start
        if columns == self.q:
            self.seen.append((now, J))
        if now > self.limit:
            raise TooSlow

    def reached(self, height):
        """Seconds until a height was reached; infinite if it never was."""
        return next((now for now, J in self.seen if height <= J), np.inf)


@dataclass(frozen=True, eq=False)
class Watched(Problem):
    """A problem that notes every J that is asked of it."""

    watch: Watch | None = None

    def _noted(self, found, W):
        self.watch.note(found[0] if isinstance(found, tuple) else found, W.shape[1])
        return found

    def objective(self, W):
        return self._noted(super().objective(W), W)

    def objective_and_phi(self, W):
        return self._noted(super().objective_and_phi(W), W)

    def objective_and_gradient(self, W):
        return self._noted(super().objective_and_gradient(W), W)


def conjugate_gradients(problem, q, init):
    """Pymanopt's, on the Grassmann manifold."""
    import pymanopt
    from pymanopt.manifolds import Grassmann
    from pymanopt.optimizers import ConjugateGradient

    manifold, kept = Grassmann(problem.d, q), {}

    def at(W):
        key = W.tobytes()
        if key not in kept:
            kept.clear()
            kept[key] = problem.objective_and_gradient(W)
        return kept[key]

    task = pymanopt.Problem(
        manifold,
        pymanopt.function.numpy(manifold)(lambda W: -at(W)[0]),
        euclidean_gradient=pymanopt.function.numpy(manifold)(lambda W: -2 * at(W)[1]),
    )
    size = np.linalg.norm(problem.phi(init))
    options = dict(max_iterations=2000, min_gradient_norm=1e-6 * size, verbosity=0)
    return ConjugateGradient(**options).run(task, initial_point=init)


def polar_quasi_newton(problem, q, init):
    """L-BFGS over free V (d, q), whose polar factor is W = V (V'V)^(-1/2)."""

    def fall(v):
        V = v.reshape(init.shape)
        values, Q = np.linalg.eigh(V.T @ V)
        roots = np.sqrt(values)
        W = V @ (Q / roots) @ Q.T
        J, half = problem.objective_and_gradient(W)
        # dW = (dV - W S) (V'V)^(-1/2) up to turns of W, which J does not see
        inverse = (Q / roots) @ Q.T
        slope = 2 * (half - W @ (W.T @ half)) @ inverse
        return -J, -slope.ravel()

    options = dict(maxiter=2000, maxfun=4000, ftol=1e-15, gtol=1e-12)
    return minimize(fall, init.ravel(), jac=True, method="L-BFGS-B", options=options)


OURS = "ism"
WAYS = {
    "ISM as published": lambda p, q, init: published_ism(p, q=q, init=init, tol=1e-6),
    "dimension growth": lambda p, q, init: dimension_growth(p, q=q, init=init),
    "Stiefel descent": lambda p, q, init: stiefel_descent(p, q=q, init=init),
    "trust region": lambda p, q, init: grassmann_trust_region(p, q=q, init=init),
    "conjugate gradients": conjugate_gradients,
    "L-BFGS, polar": polar_quasi_newton,
}


@contextmanager
def quiet():
    """That a way does not converge is part of the answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def in_the_span(problem, q):
    """With more features than samples: the problem in their span and q more directions.

    `ism` does so by itself; the others would be at a disadvantage without it.
    """
    if problem.d <= problem.n + q:
        return problem
    more = np.random.default_rng(0).standard_normal((problem.d, q))
    return problem.restrict(np.linalg.qr(np.hstack([problem.X.T, more]))[0])


def climbed(way, problem, q, limit=np.inf):
    """What a way saw from the Taylor start, which belongs to its time."""
    watch = Watch(q, limit, time.perf_counter())
    watched = Watched(problem.X, problem.gamma, problem.kernel, watch=watch)
    with quiet():
        try:
            if way == OURS:
                ism(watched, q=q)
            else:
                reduced = in_the_span(watched, q)
                WAYS[way](reduced, q, starting_point(reduced, q, "taylor"))
        except TooSlow:
            pass
    return watch
