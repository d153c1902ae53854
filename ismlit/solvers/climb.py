"""The steps of the monotone solver, and the state between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import subspace_angles

from ismlit.geometry.frames import (
    canonical_frame,
    extreme_eigenvectors,
    geodesic,
    half_gradient,
    nearest_frame,
    project_out,
    projector_distance,
    top_eigenvectors,
)
from ismlit.geometry.second_order import Curvature, Scaling, SecondOrder
from ismlit.grams import ConstantKernelError
from ismlit.objectives.protocol import Objective, Smooth, TwiceDifferentiable
from ismlit.solvers.lbfgs import Memory
from ismlit.solvers.result import STOPPED, ISMResult
from ismlit.solvers.starts import Starts, look_around, starting_point


@dataclass(frozen=True)
class QuasiNewton:
    """The constants of the steps of L-BFGS and of their line search."""

    steps_per_phi: int = 25  # Phi is formed anew after so many steps by gradients.
    memory: int = 30  # Pairs of step and change of gradient that are remembered.
    armijo: float = 1e-4  # A step must gain this share of what the slope promises.
    max_radians: float = 1.0  # No step turns W further.
    max_lengths: int = 15  # Step lengths tried before the search gives up.
    min_length: float = 0.05  # Shorter steps are not tried where J is nothing but rounding.


@dataclass(frozen=True)
class Shift:
    """The constants of the step with a level shift, and of the test that every step must pass."""

    first: float = 0.05  # The least shift above 0, as a share of ||Phi||.
    growth: float = 4.0  # The shift grows by this factor when a step fails; it is halved else.
    gain: float = 0.25  # A step must bring this share of the gain that Phi promises.
    rounding: float = 10.0  # A promise below this multiple of J's rounding is too small to test.
    residual: float = 0.9  # Then the residual must fall below this share of the last one.
    single: float = 32.0  # In float32 J may fall by so much of its rounding: terms cancel.


@dataclass(frozen=True)
class Escape:
    """The constants of the step that leaves a saddle."""

    saddle: float = 1e-6  # Upward curvature above this share of ||Phi|| makes a saddle.
    flat: float = 1e-5  # Below this share, where no step gains, it counts as flat.
    radians: float = 0.8  # The first step tried along the direction that curves upwards.
    halvings: int = 12  # Lengths tried, each half of the one before.


ROUNDS = 5  # Times at most that an approximation is made anew at the end of a climb, ...
CLOSE = 0.5  # ... where the cosine of the largest angle between end and start is below this.
QUASI_NEWTON, SHIFT, ESCAPE = QuasiNewton(), Shift(), Escape()
START_CLIMB: dict[str, Any] = dict(tol=1e-3, max_iter=100)
"""Options of a climb that need not arrive: it only has to show which maximum it is near."""


def require_slope(problem: Smooth, J: float, size: float) -> None:
    """Refuse a start from which nothing can be learnt.

    Parameters
    ----------
    problem : Smooth
        What is maximised.
    J, size : float
        The objective at the start, and the norm of Phi there.

    Raises
    ------
    ConstantKernelError
        If Phi is zero.
    """
    if size <= 1e-60 * abs(J):  # what an underflow leaves of a kernel
        raise ConstantKernelError(
            "nothing can be learnt at the start, where Phi is zero: either Gamma is 0, since all "
            f"rows have the same target, or {getattr(problem, 'kernel', problem)!r} is constant on "
            "this data (a bandwidth far below the distances underflows; median_distance(X) is a "
            "usual one)"
        )


def attainable(tol: float, dtype: DTypeLike) -> float:
    """Return the tolerance, or what rounding allows if that is more.

    Parameters
    ----------
    tol : float
        What was asked for.
    dtype : dtype
        Single or double precision.

    Returns
    -------
    float
        At least 2e-5 in single precision.
    """
    return max(tol, 200 * float(np.finfo(dtype).eps))


def until_true(callback: Callable[[Any], object] | None) -> Callable[[Any], bool] | None:
    """Make a callback that stays True once it has been True, and then asks no more.

    Parameters
    ----------
    callback : callable or None
        The user's.

    Returns
    -------
    callable or None
        A function of the same argument.

    Examples
    --------
    >>> from ismlit.solvers.climb import until_true
    >>> once = until_true(lambda step: step == 2)
    >>> [once(step) for step in (1, 2, 3)]
    [False, True, True]
    """
    if callback is None:
        return None
    stopped = False

    def watched(at: object) -> bool:
        nonlocal stopped
        stopped = stopped or bool(callback(at))
        return stopped

    return watched


def first_frame(
    problem: Objective,
    q: int,
    init: str | ArrayLike,
    random_state: int | np.random.RandomState | None = None,
    callback: Callable[[Any], object] | None = None,
) -> tuple[np.ndarray, Starts | None]:
    """Return the frame that a solver starts from.

    Parameters
    ----------
    problem : Objective
        What is to be solved.
    q : int
        The number of columns.
    init : str or array of shape (d, q)
        As for `ism`.
    random_state : int, RandomState, optional
        Seed of a random start.
    callback : callable, optional
        As for `look_around`.

    Returns
    -------
    W : array of shape (d, q)
        Orthonormal columns.
    starts : Starts or None
        How several starts agreed, if there were several.
    """
    if not (isinstance(init, str) and init == "several"):
        return starting_point(problem, q, init, random_state), None

    def climb(view: Objective, W: np.ndarray) -> tuple[float, np.ndarray]:
        end = SolverState(view, W, view.count.passes, **START_CLIMB)
        end.to_a_maximum(escape=False)
        return end.point.J, end.point.W

    return look_around(problem, q, random_state, climb, callback)


class Point:
    """A frame W, with J and half of its gradient there, and Phi where it was formed.

    Parameters
    ----------
    W : array of shape (d, q)
        Orthonormal columns.
    J : float
        The objective.
    gradient : array of shape (d, q)
        Half of the Riemannian gradient.
    size : float
        The Frobenius norm of Phi, here or where it was formed last.
    phi : array of shape (d, d), optional
        Phi at W.
    """

    stage = "step"

    phi: np.ndarray

    def __init__(
        self, W: np.ndarray, J: float, gradient: np.ndarray, size: float, phi: Any = None
    ) -> None:
        self.W, self.J, self.gradient, self.size, self.phi = W, J, gradient, size, phi

    @classmethod
    def measured(cls, problem: Smooth, W: np.ndarray) -> Self:
        """Make a point with its Phi, in one pass over the pairs.

        Parameters
        ----------
        problem : Objective
            What is maximised.
        W : array of shape (d, q)
            The frame.

        Returns
        -------
        Point
            The point.
        """
        W = nearest_frame(W)
        J, phi = problem.objective_and_phi(W)
        return cls(W, J, half_gradient(phi, W), float(np.linalg.norm(phi)), phi)

    def point_by_gradient(self, problem: Smooth, W: np.ndarray) -> Point:
        """Make another point by its gradient alone, in a pass that costs less.

        Parameters
        ----------
        problem : Objective
            What is maximised.
        W : array of shape (d, q)
            The other frame.

        Returns
        -------
        Point
            The point, without Phi.
        """
        W = nearest_frame(W)
        J, G = problem.objective_and_gradient(W)
        return Point(W, J, project_out(G, W), self.size)

    @property
    def residual(self) -> float:
        """The first-order residual."""
        return float(np.linalg.norm(self.gradient) / (self.size or 1.0))


P = TypeVar("P", bound=Smooth, covariant=True)


class SolverState(Generic[P]):
    """The state of one solve: the point it is at, its memory, and the log of accepted points.

    Parameters
    ----------
    problem : Objective
        What is maximised.
    W : array of shape (d, q)
        Where to start.
    before : int
        Passes over the pairs that were made before this solve.
    tol : float
        Largest residual at which to stop.
    max_iter : int
        The most steps.
    callback : callable, optional
        Called with every accepted point; the climb ends where it returns True.
    """

    stopped = False
    starts: Starts | None = None
    curvature: Curvature | None = None
    log: list[tuple[float, int, float, float, float]]

    def __init__(
        self,
        problem: P,
        W: np.ndarray,
        before: int,
        tol: float,
        max_iter: int,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.problem, self.passes_at_start, self.max_iter = problem, before, max_iter
        self.callback, self.tol = callback, attainable(tol, problem.dtype)
        self.start, self.point = W, Point.measured(problem, W)
        require_slope(problem, self.point.J, self.point.size)
        eps = float(np.finfo(problem.dtype).eps)
        # The rounding of J is that of its n^2 terms, which are independent, and of the sum.
        size = max(abs(self.point.J), float(np.linalg.norm(self.point.phi)))
        self.noise: float = 8 * eps * size / np.sqrt(problem.n)
        self.noise += 16 * np.finfo(float).eps * abs(self.point.J)
        self.slack = self.noise * (SHIFT.single if problem.dtype == np.float32 else 1.0)
        self.log, self.n_iter, self.n_test_passes = [], 0, 0
        self.forget()
        self._record(movement=np.inf, shift=0.0)

    @staticmethod
    def begin(
        problem: Objective,
        q: int,
        init: str | ArrayLike,
        random_state: int | np.random.RandomState | None,
        tol: float,
        max_iter: int,
        callback: Callable[[Any], object] | None,
    ) -> SolverState[Objective]:
        """Make the state at the start that `ism` is asked for.

        Parameters
        ----------
        problem : Objective
            What is maximised.
        q : int
            The number of columns of W.
        init : str or array of shape (d, q)
            As for `ism`.
        random_state : int, RandomState, optional
            Seed of a random start.
        tol : float
            Largest residual at which to stop.
        max_iter : int
            The most steps.
        callback : callable or None
            Called with every start tried and every accepted point; True ends the search.

        Returns
        -------
        SolverState
            The state.
        """
        before = problem.count.passes
        W, starts = first_frame(problem, q, init, random_state, callback)
        state = SolverState(problem.near(W), W, before, tol, max_iter, callback)
        state.starts = starts
        return state

    def forget(self) -> None:
        """Start anew from here: with a plain step, no shift, and no pairs remembered."""
        self.try_plain_step, self.shift, self.memory = True, 0.0, Memory(QUASI_NEWTON.memory)

    def trial(self, W: np.ndarray) -> Point:
        """Return the point of a frame, which is not yet accepted.

        Parameters
        ----------
        W : array of shape (d, q)
            The frame.

        Returns
        -------
        Point
            The point, with its Phi.
        """
        return Point.measured(self.problem, W)

    def can_judge(self, promised: float) -> bool:
        """Say whether a gain of J stands out from its rounding.

        Parameters
        ----------
        promised : float
            The gain that a step promises to first order.

        Returns
        -------
        bool
            Whether J is fine enough to judge that step.
        """
        return promised > SHIFT.rounding * self.noise

    def accepts(self, point: Point, before: Point, promised: float, share: float) -> bool:
        """Say whether a step is good enough to be taken.

        Parameters
        ----------
        point, before : Point
            Where it leads, and where it starts.
        promised : float
            The gain of J that it promises to first order.
        share : float
            How much of the promise must be kept.

        Returns
        -------
        bool
            Whether J rises by that share; where rounding hides such a gain, whether the residual
            falls and J does not.
        """
        if self.can_judge(promised):
            return point.J - before.J >= share * promised
        falls = point.residual < SHIFT.residual * before.residual
        return point.J >= before.J - self.slack and falls

    def move(self, point: Point, shift: float = 0.0) -> None:
        """Accept a point.

        Parameters
        ----------
        point : Point
            Where to go.
        shift : float, default=0.0
            The level shift that led there.
        """
        movement = projector_distance(self.point.W, point.W)
        self.point, self.curvature = point, None
        self.n_iter += 1
        self._record(movement, shift)

    def compute_phi(self) -> None:
        """Form Phi where gradients have led: the point stays, and its residual is exact now."""
        self.point = self.trial(self.point.W)
        passes = self.problem.count.passes - self.passes_at_start
        self.log[-1] = (self.point.J, passes, self.point.residual, *self.log[-1][3:])

    def _record(self, movement: float, shift: float) -> None:
        passes = self.problem.count.passes - self.passes_at_start
        self.log.append((self.point.J, passes, self.point.residual, shift, movement))
        if self.callback is not None:
            self.stopped = bool(self.callback(self.point))

    @property
    def stationary(self) -> bool:
        """Whether the first-order condition is met."""
        return self.point.residual <= self.tol

    @property
    def spent(self) -> bool:
        """Whether no further step is allowed."""
        return self.stopped or self.n_iter >= self.max_iter

    def to_an_end(self: SolverState[Objective], escape: bool) -> tuple[bool, str]:
        """Climb to a maximum, and again where an approximation is good near the start alone.

        Parameters
        ----------
        escape : bool
            As for `to_a_maximum`.

        Returns
        -------
        converged : bool
            Whether the stopping rule was met.
        message : str
            Why it stopped.
        """
        for _ in range(ROUNDS):
            end = self.to_a_maximum(escape)
            if self.spent or np.cos(subspace_angles(self.start, self.point.W).max()) > CLOSE:
                return end
            near = self.problem.near(self.point.W)
            if near is self.problem:
                return end
            self.problem, self.start = near, self.point.W
            self.forget()
            self.point, self.curvature, self.n_iter = self.trial(self.start), None, self.n_iter + 1
            self._record(movement=0.0, shift=0.0)
        return end

    def to_a_maximum(self, escape: bool) -> tuple[bool, str]:
        """Take steps that never lower J, until it is at a maximum.

        Parameters
        ----------
        escape : bool
            Whether to test the second order, and to leave a saddle.

        Returns
        -------
        converged : bool
            Whether the stopping rule was met.
        message : str
            Why it stopped.
        """
        escape = escape and isinstance(self.problem, TwiceDifferentiable)
        while True:
            if self.stopped:
                return False, STOPPED
            if self.point.size <= self.noise:  # no direction can be read off it, nor a step judged
                return True, "J is flat here: Phi is nothing but the rounding of J"
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
                at = self.curvature
                flat = at is not None and at.value >= -ESCAPE.flat * at.size
                if self.stationary and flat:
                    return self._end(escape)
                return False, "at a saddle, and no step along it raises the objective"

    def _end(self, escape: bool) -> tuple[bool, str]:
        """Whether a point at which no step is left counts as converged, and why."""
        if self.stationary:
            tested = "" if escape else "; the second order was not tested"
            return True, "the first-order residual is below tol" + tested
        # what is still to be gained, gradient squared over ||Phi||, is then rounding of J as well
        left = np.linalg.norm(self.point.gradient) ** 2
        flat = left <= self.noise * max(self.point.size, self.noise)
        return bool(flat), "no step raises the objective above its rounding error"

    def result(self: SolverState[Objective], converged: bool, message: str) -> ISMResult:
        """Return the end of the solve, as the caller gets it.

        Parameters
        ----------
        converged : bool
            Whether the stopping rule was met.
        message : str
            Why it stopped.

        Returns
        -------
        ISMResult
            The result.
        """
        eigenvalues, W = canonical_frame(self.point.phi, self.point.W)
        names = "objective", "passes", "residual", "shift", "movement"
        return ISMResult(
            W=W,
            eigenvalues=eigenvalues,
            objective=self.point.J,
            residual=self.point.residual,
            converged=converged,
            n_iter=self.n_iter,
            n_passes=self.problem.count.passes - self.passes_at_start,
            n_test_passes=self.n_test_passes,
            message=message,
            history=dict(zip(names, map(np.array, zip(*self.log)))),
            problem=self.problem,
            curvature=self.curvature,
            starts=self.starts,
        )


def plain(state: SolverState[Smooth]) -> bool:
    """Take the step of ISM, the top eigenvectors of Phi, if J rises as promised.

    Parameters
    ----------
    state : SolverState
        Where it is; changed in place.

    Returns
    -------
    bool
        Whether the step was taken. It is tried once.
    """
    if not state.try_plain_step:
        return False
    state.try_plain_step, at = False, state.point
    W = extreme_eigenvectors(at.phi, at.W.shape[1], "LA")[1][:, ::-1]
    point = state.trial(W)
    promised = float(np.sum(W * (at.phi @ W)) - np.sum(at.W * (at.phi @ at.W)))
    enough = state.can_judge(SHIFT.gain * promised)
    passed = enough and state.accepts(point, at, promised, SHIFT.gain)
    if passed:
        state.move(point)
    return passed


def quasi_newton(state: SolverState[Smooth]) -> bool:
    """Take steps of L-BFGS by gradients alone, and form Phi where they lead.

    Parameters
    ----------
    state : SolverState
        Where it is; changed in place.

    Returns
    -------
    bool
        Whether a step was taken.
    """
    if state.point.W.shape[0] == state.point.W.shape[1]:
        return False
    scaling = Scaling(state.point.phi, state.point.W)
    state.memory.carry(scaling.W, scaling.rotation)
    here = Point(
        scaling.W.astype(state.problem.dtype),
        state.point.J,
        state.point.gradient @ scaling.rotation,
        state.point.size,
    )
    taken = 0
    while taken < QUASI_NEWTON.steps_per_phi and not state.spent and here.residual > state.tol / 2:
        point = _uphill(state, here, scaling)
        if point is None:
            break
        state.move(point)
        here, taken = point, taken + 1
    if taken:
        state.compute_phi()
    return taken > 0


def _uphill(state: SolverState[Smooth], here: Point, scaling: Scaling) -> Point | None:
    """The point that a step of L-BFGS leads to, or None; the pair is remembered."""
    memory = state.memory
    tangent: Callable[[np.ndarray], np.ndarray] = lambda A: project_out(A, here.W)
    G = 2 * here.gradient
    step = tangent(memory.ascent(G, lambda A: tangent(scaling(A)) / 2))
    slope = float(np.sum(step * G))
    if not slope > 0:
        memory.forget()
        step = tangent(scaling(G)) / 2
        slope = float(np.sum(step * G))
    size: Any = np.linalg.norm(step, 2)
    length = min(1.0, QUASI_NEWTON.max_radians / max(size, 1e-300))
    for _ in range(QUASI_NEWTON.max_lengths):
        Q, R = np.linalg.qr(here.W + length * step)
        W = (Q * np.where(np.diag(R) < 0, -1.0, 1.0)).astype(here.W.dtype)
        point = here.point_by_gradient(state.problem, W)
        promised = length * slope
        if state.accepts(point, here, promised, QUASI_NEWTON.armijo):
            memory.carry(W)
            memory.add(project_out(length * step, W), project_out(G, W) - 2 * point.gradient)
            return point
        if not state.can_judge(promised):  # J is too coarse to fit a parabola
            if length < QUASI_NEWTON.min_length:
                return None
            length *= 0.25
            continue
        bend = here.J + promised - point.J  # of the parabola through both J and the slope
        length *= float(np.clip(promised / (2 * bend), 0.1, 0.5)) if bend > 0 else 0.5
    return None


def shifted(state: SolverState[Smooth]) -> bool:
    """Take one step with Phi + shift P, where P = WW', and raise the shift until J rises enough.

    The test J(W+) - J(W) >= <Phi, P+ - P> / 4 is met by every shift of at least the Lipschitz
    constant of the gradient, so that the loop ends. Where Phi is lost in the rounding of the shift,
    which happens when J is nothing but rounding, no step is left.

    Parameters
    ----------
    state : SolverState
        Where it is; changed in place.

    Returns
    -------
    bool
        Whether the step was taken.
    """
    at, q = state.point, state.point.W.shape[1]
    P = at.W @ at.W.T
    size = float(np.linalg.norm(at.phi))
    floor = SHIFT.first * size
    here = np.sum(at.W * (at.phi @ at.W))
    while True:
        W = top_eigenvectors(at.phi + state.shift * P, q)[1]
        promised = float(np.sum(W * (at.phi @ W)) - here)
        point = state.trial(W)
        if state.accepts(point, at, promised, SHIFT.gain):
            state.move(point, state.shift)
            state.shift = state.shift / 2 if state.shift > floor / 8 else 0.0
            return True
        lost = state.shift * np.finfo(at.phi.dtype).eps > size
        if lost or promised <= state.noise:
            return False
        state.shift = max(SHIFT.growth * state.shift, floor)


STEPS = (plain, quasi_newton, shifted)
"""The steps tried at a point that is not stationary, in this order, until one is taken."""


def upward_curve(state: SolverState[Smooth]) -> np.ndarray | None:
    """Return a tangent along which J curves upwards, at a point that no step leaves.

    Parameters
    ----------
    state : SolverState
        Where it is.

    Returns
    -------
    array of shape (d, q), or None
        The tangent; None at a maximum.
    """
    if not isinstance(state.problem, TwiceDifferentiable):
        return None
    before = state.problem.count.passes
    second = SecondOrder(state.problem, state.point.W, state.point.phi)
    upward = ESCAPE.saddle * second.phi_size
    state.curvature, Z = second.lowest()
    state.n_test_passes += state.problem.count.passes - before
    return Z if state.curvature.value < -upward else None


def escaped(state: SolverState[Smooth], Z: np.ndarray) -> bool:
    """Leave a saddle along a tangent, to either side, as far as J rises.

    Parameters
    ----------
    state : SolverState
        Where it is; changed in place.
    Z : array of shape (d, q)
        The tangent.

    Returns
    -------
    bool
        Whether J rises at all.
    """
    for t in ESCAPE.radians * 0.5 ** np.arange(ESCAPE.halvings):
        for sign in (1, -1):
            point = state.trial(geodesic(state.point.W, sign * Z, t))
            if point.J > state.point.J + state.noise:
                state.move(point)
                state.forget()
                return True
    return False
