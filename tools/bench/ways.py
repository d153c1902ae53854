"""Every way to climb J, watched: when did it first reach a height?"""

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from ismlit_book.methods.baselines import (
    dimension_growth,
    grassmann_trust_region,
    stiefel_descent,
)
from numpy.linalg import norm
from scipy.optimize import minimize

from ismlit.geometry.frames import project_out
from ismlit.objectives.plain import Problem
from ismlit.solvers.ism import ism, published_ism
from ismlit.solvers.lbfgs import Memory
from ismlit.solvers.starts import starting_point

SLOWEST = 40  # times as long as ours, after which a way is stopped at the latest


def patience(ours):
    """Times as long as ours that a way may take: some seconds, but at least four times."""
    return float(np.clip(5 / ours, 4, SLOWEST))


class TooSlow(Exception):
    """The time allowed is used up."""


class Arrived(Exception):
    """The slope is that of a stationary point: a peer need not go on."""


@dataclass
class Watch:
    """The heights seen, when, and how steep it was; fewer columns than q are another function."""

    q: int
    limit: float = np.inf
    start: float = 0.0
    flat: float = 0.0
    ended: float = np.inf
    seen: list = field(default_factory=list)

    def note(self, J, columns, slope=np.inf):
        now = time.perf_counter() - self.start
        if columns == self.q:
            self.seen.append((now, J, slope))
        if slope <= self.flat:
            raise Arrived
        if now > self.limit:
            raise TooSlow

    @property
    def stopped(self):
        """Whether its time was over before it came to an end."""
        return np.isinf(self.ended)

    def reached(self, height, slope=np.inf):
        """Seconds until a height was reached, with at most this slope; infinite if never."""
        return next((now for now, J, g in self.seen if height <= J and g <= slope), np.inf)


@dataclass(frozen=True, eq=False)
class Watched(Problem):
    """A problem that notes every J that is asked of it."""

    watch: Watch | None = None

    def objective(self, W):
        J = super().objective(W)
        self.watch.note(J, W.shape[1])
        return J

    def objective_and_phi(self, W):
        J, phi = super().objective_and_phi(W)
        self.watch.note(J, W.shape[1], np.linalg.norm(project_out(phi @ W, W)))
        return J, phi

    def objective_and_gradient(self, W):
        J, G = super().objective_and_gradient(W)
        self.watch.note(J, W.shape[1], np.linalg.norm(project_out(G, W)))
        return J, G


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


def riemannian_quasi_newton(problem, q, init):
    """L-BFGS on the Grassmann manifold: QR retracts, projection carries the pairs.

    Absil, Mahony and Sepulchre 2008; the two loops of Nocedal and Wright 2006 around 1.
    """
    W, memory = init, Memory(20)
    J, G = problem.objective_and_gradient(W)
    first = 2 * norm(project_out(G, W))
    for _ in range(2000):
        g, t = 2 * project_out(G, W), 1.0
        rise = memory.ascent(g, lambda v: v / first)
        while t > 1e-12:
            Q, R = np.linalg.qr(W + t * rise)
            V = Q * np.sign(np.diag(R))
            J_new, G = problem.objective_and_gradient(V)
            if J_new >= J + 1e-4 * t * np.sum(g * rise):
                break
            t /= 2
        else:
            return
        memory.carry(V)
        memory.add(project_out(t * rise, V), project_out(g, V) - 2 * project_out(G, V))
        W, J = V, J_new


OURS = "ism"
JUDGED = "polar L-BFGS", "Riemannian L-BFGS", "trust region", "conjugate gradients"
"""The ways with a target,"""
SHOWN = "ISM as published", "dimension growth", "Stiefel descent"
"""and those of the thesis, on some problems: ISM as published takes steps without our tests."""
WAYS = {
    "ISM as published": lambda p, q, init: published_ism(p, q=q, init=init, tol=1e-6),
    "dimension growth": lambda p, q, init: dimension_growth(p, q=q, init=init),
    "Stiefel descent": lambda p, q, init: stiefel_descent(p, q=q, init=init),
    "trust region": lambda p, q, init: grassmann_trust_region(p, q=q, init=init),
    "conjugate gradients": conjugate_gradients,
    "polar L-BFGS": polar_quasi_newton,
    "Riemannian L-BFGS": riemannian_quasi_newton,
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
    return problem.restrict(problem.span(more))


def climbed(way, problem, q, limit=np.inf, flat=0.0):
    """What a way saw from the Taylor start, which belongs to its time, until its slope is flat."""
    watch = Watch(q, limit, time.perf_counter(), flat)
    watched = Watched(problem.X, problem.gamma, problem.kernel, watch=watch)
    with quiet():
        try:
            if way == OURS:
                ism(watched, q=q)
            else:
                reduced = in_the_span(watched, q)
                WAYS[way](reduced, q, starting_point(reduced, q, "taylor"))
        except TooSlow:
            return watch
        except Arrived:
            pass
    watch.ended = time.perf_counter() - watch.start
    return watch
