"""The steps of the monotone solver, and the state between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ismlit.geometry.frames import (
    canonical_frame,
    extreme_eigenvectors,
    geodesic,
    half_gradient,
    nearest_frame,
    outside,
    projector_distance,
    top_eigenvectors,
)
from ismlit.geometry.second_order import Scaling, SecondOrder
from ismlit.objectives.protocol import TwiceDifferentiable
from ismlit.solvers.lbfgs import Memory
from ismlit.solvers.result import ISMResult
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
        problem.check_start(W, self.at.J, self.at.phi)
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
