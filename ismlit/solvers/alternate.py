"""Clusterings and subspaces learnt together: U by eigenvectors, W by ISM, one after the other.

An orthonormal U (n, k) takes the place of the labels. Tr(U' A_W U) is maximised over U by the k
leading eigenvectors of the affinity A_W, and over W by any solver of `Tr(Gamma K_XW)`. The
affinity is HKH, for which Gamma = HUU'H, or with degrees ``D^(-1/2) K D^(-1/2)``, D = diag(K 1),
as in spectral clustering. D depends on W; `ismlit.objectives.normalized` takes that into account.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ismlit.geometry.frames import as_frame, half_gradient
from ismlit.messages import silenced, warn
from ismlit.objectives.joint import Envelope, JointProblem
from ismlit.objectives.normalized import NormalizedProblem
from ismlit.objectives.plain import Problem
from ismlit.objectives.protocol import Objective
from ismlit.solvers.climb import SolverState
from ismlit.solvers.ism import ism
from ismlit.solvers.result import STOPPED, ISMResult

MANY_ITERATIONS = 8  # Where more iterations than this are to come, W and U are maximised together.
JOINT_CLIMB: dict[str, Any] = dict(tol=1e-4, max_iter=200)
"""Options of the climb in W and U together."""


def maximize_envelope(joint: JointProblem, k: int, W: np.ndarray) -> np.ndarray:
    """Maximise over W with the best U at every step, which leads near to a maximum of both.

    Parameters
    ----------
    joint : JointProblem
        The objective of U and W.
    k : int
        Columns of U.
    W : array of shape (d, q)
        Where to start.

    Returns
    -------
    array of shape (d, q)
        Where it ends.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.joint import JointProblem
    >>> from ismlit.solvers.alternate import alternate, maximize_envelope
    >>> joint = JointProblem(scale(load_wine().data), Gaussian(3.0))
    >>> W = maximize_envelope(joint, 2, np.eye(13)[:, :2])
    >>> alternate(joint, 2, 2, init=W, start=joint.affinity(W).leading(2)[0]).n_iter <= 3
    True
    """
    end = SolverState(Envelope(joint, k), W, joint.count.passes, **JOINT_CLIMB)
    end.to_a_maximum(escape=False)
    return end.point.W


@dataclass(frozen=True, eq=False)
class Alternation:
    """The result of `alternate`: W (d, q), U (n, k), and how they were found.

    Attributes
    ----------
    W : array of shape (d, q)
        Orthonormal columns.
    U : array of shape (n, k)
        Orthonormal columns: the embedding.
    objective : float
        Of both, the degrees of W included.
    converged : bool
        Whether the last iteration changed the objective by less than tol, and the solver of W
        converged or left a gradient below tol times the objective.
    message : str
        Why it ended, and if it did not converge, why.
    n_iter, n_passes, n_test_passes : int
        Iterations; passes over the pairs; how many of them tested second-order conditions.
    history : dict of equal-length arrays
        After every half of an iteration (U, W, U, W, ...): ``objective``, ``passes``. The first
        half has no W yet and is left out.
    result : ISMResult
        Of W.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.joint import JointProblem
    >>> from ismlit.solvers.alternate import alternate
    >>> X = scale(load_wine().data)
    >>> solution = alternate(JointProblem(X, Gaussian(3.0)), 2, 2)
    >>> solution.converged, bool(solution.objective > solution.history["objective"][0])
    (True, True)
    """

    W: np.ndarray = field(repr=False)
    U: np.ndarray = field(repr=False)
    objective: float
    converged: bool
    message: str
    n_iter: int
    n_passes: int
    n_test_passes: int
    history: dict[str, np.ndarray] = field(repr=False)
    result: ISMResult = field(repr=False)

    def warn_unless_converged(self, name: str = "alternate") -> None:
        """Warn that the alternation did not converge, and say why.

        Parameters
        ----------
        name : str, default="alternate"
            What the user has called.
        """
        if not self.converged and self.message != STOPPED:
            warn(
                f"{name} did not converge in {self.n_iter} turns: {self.message}",
                ConvergenceWarning,
            )


def alternate(
    joint: JointProblem,
    k: int,
    q: int,
    *,
    solver: Callable[..., ISMResult] = ism,
    freeze: bool = False,
    start: ArrayLike | None = None,
    init: str | ArrayLike = "taylor",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_turns: int = 50,
    random_state: int | np.random.RandomState | None = None,
    callback: Callable[[Any], object] | None = None,
) -> Alternation:
    """Maximise over U and over W, one after the other, until neither gains.

    Parameters
    ----------
    joint : JointProblem
        The objective of U and W.
    k : int
        Columns of U.
    q : int
        Columns of W.
    solver : callable, default=ism
        The solver for W. Another one is called as ``solver(problem, q=q, init=...)``, and gets
        neither tol nor random_state.
    freeze : bool, default=False
        As published: D is held at the last W while W moves. The objective may then fall, the
        iteration goes on until it settles or for `max_turns`, and its end is returned.
    start : orthonormal array of shape (n, k), optional
        The first U. By default it is the embedding of X itself (W = I); with a guide to differ
        from, that part of it which is orthogonal to the guide.
    init : str or array of shape (d, q), default="taylor"
        The first W, as for `ism`. Later iterations start from the last W.
    tol : float, default=1e-6
        Stop when an iteration raises the objective by less than this share.
    max_iter : int, optional
        Most steps of the solver in an iteration; its own default when None.
    max_turns : int, default=50
        Most iterations.
    random_state : int, RandomState, optional
        Seed of a random start of W.
    callback : callable, optional
        Called after every half of an iteration with an object that has W, U and J. If it returns
        True, the iteration is the last.

    Returns
    -------
    Alternation
        U, W, the objective, and how they were found.

    Raises
    ------
    ValueError
        If k or `max_turns` is below 1, the solver is no function, or `start` has another shape.

    Warns
    -----
    ConvergenceWarning
        When the objective still changes after `max_turns` iterations.

    See Also
    --------
    ismlit.UnsupervisedIKDR : An estimator made of it.
    ismlit.KDAC : The same, away from a known clustering.

    Notes
    -----
    Both halves of an iteration maximise the same function. With the default solver the objective
    therefore never falls.

    References
    ----------
    Niu, Dy and Jordan 2014, Iterative discovery of multiple alternative clustering views.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.joint import JointProblem
    >>> from ismlit.solvers.alternate import alternate
    >>> X, y = make_blobs(100, centers=[[-3, 0, 0], [3, 0, 0]], random_state=0)
    >>> solution = alternate(JointProblem(X, Gaussian(2.0)), 1, 1)
    >>> round(float(normalized_mutual_info_score(y, solution.U[:, 0] > 0)), 2)
    1.0
    >>> int(abs(solution.W).argmax())  # the feature that tells the clusters apart
    0
    """
    if not (k >= 1 and max_turns >= 1):
        raise ValueError(f"k and max_turns must be at least 1, got {k!r} and {max_turns!r}")
    if not callable(solver):
        raise ValueError(f"solver must be a function such as ismlit.ism, got {solver!r}")
    options: dict[str, Any] = dict(tol=tol, random_state=random_state) if solver is ism else {}
    if max_iter is not None:
        options["max_iter"] = max_iter
    turns = _AlternatingMaximizer(joint, k, q, solver, options, freeze, init, tol)
    turns.callback = callback
    for _ in range(max_turns):
        turns.update_u(start)
        turns.update_w()
        if turns.settled or turns.stopped:
            break
        if turns.is_slow:
            turns.climb()
    alternation = turns.result()
    alternation.warn_unless_converged()
    return alternation


class _AlternatingMaximizer:
    """One alternation: the U and W it has come to, and the objective after every half-turn."""

    callback: Callable[[Any], object] | None = None
    stage = "step"
    climbed = stopped = False

    W: np.ndarray
    U: np.ndarray
    problem: Problem | NormalizedProblem
    solution: ISMResult
    log: list[tuple[float, int]]

    def __init__(
        self,
        joint: JointProblem,
        k: int,
        q: int,
        solver: Callable[..., ISMResult],
        options: dict[str, Any],
        freeze: bool,
        init: str | ArrayLike,
        tol: float,
    ) -> None:
        self.joint, self.k, self.q, self.solver, self.options = joint, k, q, solver, options
        self.frozen = freeze and joint.normalize != "none"
        self.init, self.tol = init, tol
        self.n_turns, self.n_test_passes, self.log = 0, 0, []
        self.before = joint.count.passes

    def update_u(self, start: ArrayLike | None) -> None:
        """U renewed: the leading eigenvectors of the affinity at W, or the start."""
        self.n_turns += 1
        if self.log:  # there is a W
            self.U = self.joint.affinity(self.W).leading(self.k)[0]
        elif start is None:
            identity = np.eye(self.joint.X.shape[1])
            self.U = self.joint.affinity(identity, self.joint.avoided).leading(self.k)[0]
        else:
            self.U = as_frame(start, len(self.joint.X), self.joint.X.dtype, "start")
            if self.U.shape[1] != self.k:
                raise ValueError(f"start must have k = {self.k} columns, got {self.U.shape[1]}")
        self.problem = self.joint.given(self.U)
        if self.log:
            self._record(self.problem.objective(self.W))

    def update_w(self) -> None:
        """W renewed by the solver, from the last one."""
        problem, is_first = self.problem, not self.log
        if self.frozen and isinstance(problem, NormalizedProblem):
            problem = problem.frozen(np.eye(problem.d) if is_first else self.W)
        solution = self._solved(problem, self.init if is_first else self.W)
        if not is_first and not self.frozen and solution.objective < self.log[-1][0]:
            solution = self._kept(solution)  # as DG can fall: W stays
        self.solution, self.W = solution, solution.W
        self.n_test_passes += solution.n_test_passes
        self._record(self.problem.objective(solution.W) if self.frozen else solution.objective)

    def climb(self) -> None:
        """W moved up with the best U at every step: what many short turns would come to."""
        self.W, self.climbed = maximize_envelope(self.joint, self.k, self.W), True

    @property
    def is_slow(self) -> bool:
        """Whether turns gain so evenly that many more are to come."""
        if self.solver is not ism or self.frozen or self.climbed or len(self.log) < 7:
            return False
        values = np.array([objective for objective, _ in self.log])
        before, last = np.diff(values[-5::2])
        ratio = last / before if before > 0 else 0.0
        left = (
            np.log(self.tol * abs(values[-1]) / last) / np.log(ratio) if 0 < ratio < 1 else np.inf
        )
        return bool(last > 0 and left > MANY_ITERATIONS)

    def _solved(self, problem: Objective, init: str | ArrayLike) -> ISMResult:
        """The solver's result; a W step cut short still climbs, so it need not converge."""
        options = self.options
        if self.solver is ism:  # a saddle is left in the first turn; later ones start near a top
            options = options | dict(escape=not self.log)
        with silenced(ConvergenceWarning):
            return self.solver(problem, q=self.q, init=init, **options)

    def _kept(self, solution: ISMResult) -> ISMResult:
        """The last W as a result, the solver's own having ended lower."""
        self.n_test_passes += solution.n_test_passes
        with silenced(ConvergenceWarning):
            here = ism(self.problem, q=self.q, init=self.W, max_iter=0, escape=False)
        message = "the solver's W lies lower than the last one, which is kept"
        return replace(here, converged=solution.converged, message=message)

    def _record(self, objective: float) -> None:
        self.J = objective
        self.log.append((objective, self.n_passes))
        if self.callback is not None:
            self.stopped = bool(self.callback(self)) or self.stopped

    @property
    def n_passes(self) -> int:
        """Passes over the pairs that this alternation has made."""
        return self.joint.count.passes - self.before

    @property
    def gain(self) -> float:
        """By what share the last turn raised the objective; infinite after the first."""
        if len(self.log) < 3:
            return np.inf
        values = np.array([objective for objective, _ in self.log])
        return float((values[-1] - values[-3]) / (np.abs(values).max() or 1.0))

    @property
    def settled(self) -> bool:
        """Whether the last turn changed next to nothing."""
        return bool(abs(self.gain) <= self.tol)

    def result(self) -> Alternation:
        """The end of the alternation, as the caller gets it."""
        converged = self.settled and self._w_settled()
        if isinstance(self.problem, NormalizedProblem):
            self.problem.forget()
        objectives, passes = map(np.array, zip(*self.log))
        return Alternation(
            W=self.W,
            U=self.U,
            objective=float(objectives[-1]),
            converged=converged,
            message=self._message(converged),
            n_iter=self.n_turns,
            n_passes=self.n_passes,
            n_test_passes=self.n_test_passes,
            history={"objective": objectives, "passes": passes},
            result=self.solution,
        )

    def _w_settled(self) -> bool:
        """Whether the solver converged, or what W leaves undone is small beside the objective.

        Where the clusters fall apart entirely Phi is all but 0, and a residual relative to it
        is rounding.
        """
        if self.solution.converged:
            return True
        W = self.solution.W
        left = 2 * np.linalg.norm(half_gradient(self.problem.phi(W), W))
        return bool(left <= self.tol * abs(self.log[-1][0]))

    def _message(self, converged: bool) -> str:
        """Why the alternation ended, and if it is not taken for converged, why."""
        if converged:
            return "a turn changed the objective by less than tol"
        if self.stopped:
            return STOPPED
        what = "fell" if self.gain < 0 else "still rose"
        what = f"in the last one the objective {what} by a share of {abs(self.gain):.1e}"
        if self.n_turns == 1:
            what = "a single one cannot show it"
        elif self.settled:
            residual = self.solution.residual
            what = f"the last W has a residual of {residual:.1e} ({self.solution.message})"
        hint = "With freeze=False it never falls." if self.frozen else "Raise max_turns or tol."
        return f"{what}. {hint}"
