"""Where a solver starts: what a Taylor expansion knows, directions of variance, random frames."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from ismlit.geometry.frames import as_frame, top_eigenvectors
from ismlit.geometry.span import in_span, scatter
from ismlit.grams import ConstantKernelError, column_means
from ismlit.memory import batches
from ismlit.messages import silenced, warn
from ismlit.objectives.protocol import Objective
from ismlit.solvers.gradient_start import gradient_directions

INITS = ("taylor", "gradient", "pca", "random", "several")
START_SUBSAMPLE = 800  # Rows on which "several" compares starts, at most.
GRADIENT_SUBSAMPLE = 2000  # Rows that a "gradient" start looks at, at most.
TAYLOR_ON_ALL_ROWS = 5000  # Up to this many, a Taylor start that wins is made anew from all.
START_ORDER = ("taylor", "gradient", "random", "pca") + 6 * ("random",)  # The order of trial.
LEAST_STARTS = 6  # Starts that are tried in any case.
ENOUGH_AGREEING = 3  # Starts at the highest J, after which no other is tried.
SAME_HEIGHT = 1e-3  # Two values of J count as equal within this share.
HELD_OUT_PARTS = 10  # Parts of the rows, each held out once, where maxima differ.
FEWEST_ROWS = 50  # With fewer, J alone decides between maxima.
End = tuple[float, np.ndarray]  # J and W, where a climb ends
Climb = Callable[[Objective, np.ndarray], End]


def starting_point(
    problem: Objective,
    q: int,
    init: str | ArrayLike,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Return the frame that a name of a start stands for.

    Parameters
    ----------
    problem : Objective
        What is to be solved.
    q : int
        The number of columns.
    init : str or array of shape (d, q)
        A name of `INITS` but "several", for which see `look_around`, or an orthonormal array.
    random_state : int, RandomState, optional
        Seed of a random start.

    Returns
    -------
    array of shape (d, q)
        Orthonormal columns, in the precision of the problem.
    """
    d, dtype = problem.d, problem.dtype
    if not isinstance(init, str):
        W = as_frame(init, d, dtype, "init")
        if W.shape != (d, q):
            raise ValueError(f"init must have shape ({d}, {q}), got {W.shape}")
        return W
    if init == "taylor":
        return _taylor(problem, q)
    if init == "gradient":
        view = problem
        if len(problem.X) > GRADIENT_SUBSAMPLE:
            rows = check_random_state(0).permutation(len(problem.X))[:GRADIENT_SUBSAMPLE]
            view = problem.on(np.sort(rows))
        return gradient_directions(view, q)
    if init == "pca":
        return top_eigenvectors(scatter(problem.X), q)[1].astype(dtype)
    if init == "random":
        normal = check_random_state(random_state).standard_normal((d, q))
        return np.linalg.qr(normal)[0].astype(dtype)
    raise ValueError(f"init must be an orthonormal array or one of {INITS}, got {init!r}")


def look_around(
    problem: Objective,
    q: int,
    random_state: int | np.random.RandomState | None,
    climb: Climb,
    callback: Callable[[Any], object] | None = None,
) -> tuple[np.ndarray, Starts]:
    """Return the W that a solve goes on from, by climbs from several starts.

    At least six starts are tried, in the order of `START_ORDER`, until three have come to the same
    height and none higher. Where the highest end differs from those of the Taylor start and of the
    gradient start, the held-out score decides between them and not J: with few rows the highest
    maximum can be one of the sample alone. With many rows all of this is done on a sample of them;
    where another start beats Taylor's there by J, the J of both ends on all rows decides. Passes
    over the sample count for as much as they cost.

    Parameters
    ----------
    problem : Objective
        What is to be solved.
    q : int
        The number of columns.
    random_state : int, RandomState, optional
        Seed of the random starts. Without one they are the same every time.
    climb : callable
        ``climb(problem, W)`` gives the height and the W that it comes to.
    callback : callable, optional
        Called with the end of every start: an object that has W, J and stage. If it returns True,
        the highest end so far is the answer.

    Returns
    -------
    W : array of shape (d, q)
        Orthonormal columns.
    starts : Starts
        How many starts were tried, and how many agreed.
    """
    rng = check_random_state(0 if random_state is None else random_state)
    n, rows = problem.n, by_distance(problem.X)  # of rows in blocks a problem holds some
    if n > START_SUBSAMPLE:
        rows = rows[rng.permutation(len(rows))[:START_SUBSAMPLE]]
    view, V = in_span(problem.on(rows), q)
    before, stopped = view.count.passes, False
    ends: list[End] = []
    for name in START_ORDER:
        with silenced():  # Phi_0 may be zero: there are others
            start = _drawn(view, q, rng) if name == "random" else starting_point(view, q, name)
            ends.append(climb(view, start))
        if callback is not None:
            J, W = ends[-1]
            at = dict(W=W if V is None else V @ W, J=J, stage=f"start {len(ends)} ({name})")
            stopped = bool(callback(SimpleNamespace(**at)))
        height = max(J for J, _ in ends)
        agreeing = sum(_reaches(J, height) for J, _ in ends)
        if stopped or (agreeing >= ENOUGH_AGREEING and len(ends) >= LEAST_STARTS):
            break
    # Ends within the tolerance are one height: the first of them, whatever their rounding.
    best = next(end for end in ends if _reaches(end[0], height))
    taken = best if stopped else _best_on_held_out_rows(view, [best, *ends[:2]], climb)
    agreed = sum(_reaches(J, taken[0]) and _reaches(taken[0], J) for J, _ in ends)
    higher = sum(not _reaches(taken[0], J) for J, _ in ends)
    starts = Starts(len(ends), agreed, higher)
    W = taken[1] if V is None else V @ taken[1]
    passes = view.count.passes - before
    problem.count.passes += int(np.ceil(passes * (view.n / n) ** 2))
    if stopped or len(rows) == n:
        return W, starts
    if taken is ends[0]:
        start = starting_point(problem, q, "taylor")
        if n <= TAYLOR_ON_ALL_ROWS:
            return start, starts
        if V is None:
            W = max(W, climb(view, start)[1], key=problem.objective)
        return W, starts
    if taken is not best:
        return W, starts
    other = ends[0][1] if V is None else V @ ends[0][1]
    on_all_rows = lambda frame: problem.near(frame).objective(frame)  # a sample can mislead
    return max(W, other, key=on_all_rows), starts


def by_distance(X: np.ndarray) -> np.ndarray:
    """The numbers of the rows of X (n, d), by their distance from the mean.

    What is drawn in this order depends neither on that in which the rows came nor on how X is
    turned.
    """
    mean = column_means(X)
    parts = (X[rows] - mean for rows in batches(len(X), X.shape[1]))  # X may be a file
    return np.concatenate([np.einsum("ij,ij->i", A, A) for A in parts]).argsort(kind="stable")


def _reaches(J: float, height: float) -> bool:
    """Whether J is as high as `height`, within what counts as equal."""
    return J >= height - SAME_HEIGHT * abs(height)


def _best_on_held_out_rows(problem: Objective, ends: list[End], climb: Climb) -> End:
    """The end (J, W) whose dependence is strongest on rows that it was not climbed with.

    One tenth of the rows after the other is held out; the climb goes on from each W on the others,
    and the normalised HSIC of those held out is measured. Ends that agree with the first in J
    are not compared, nor is anything with few rows: the first is then the answer.
    """
    rivals = [ends[0]]
    for end in ends[1:]:
        if not any(_reaches(J, end[0]) and _reaches(end[0], J) for J, _ in rivals):
            rivals.append(end)
    if len(rivals) == 1 or problem.n < FEWEST_ROWS:
        return ends[0]
    order, scores = np.random.default_rng(0).permutation(problem.n), np.zeros(len(rivals))
    for k in range(HELD_OUT_PARTS):
        held_out = np.zeros(problem.n, bool)
        held_out[order[k::HELD_OUT_PARTS]] = True
        training, test = problem.on(~held_out), problem.on(held_out)
        try:
            scores += [test.score(climb(training, W)[1]) for _, W in rivals]
        except ConstantKernelError:  # nothing can be learnt from so few rows
            return ends[0]
        problem.count.passes += int(np.ceil(training.count.passes * (training.n / problem.n) ** 2))
    return rivals[int(np.argmax(scores))]


class Starts(NamedTuple):
    """How many starts "several" climbed from, and where they ended.

    Parameters
    ----------
    tried : int
        Starts climbed from.
    agreed : int
        How many of them ended at the J of the start that was taken, within a thousandth.
    higher : int
        How many ended at a higher J, and were passed over because the dependence that they find
        is weaker on rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> SupervisedIKDR(2).fit(scale(X), y).result_.starts
    Starts(tried=6, agreed=6, higher=0)
    """

    tried: int
    agreed: int
    higher: int = 0


def _drawn(problem: Objective, q: int, rng: np.random.RandomState) -> np.ndarray:
    """A frame (d, q) drawn evenly among the directions in which X varies.

    It is a combination of the rows of X, whitened. So it turns with X: where a climb ends does
    not depend on the coordinates in which X is written, as it would from a frame drawn in them.
    """
    values, vectors = eigh(scatter(problem.X))
    is_nonzero = values > 1e-10 * values[-1]
    if is_nonzero.sum() < q:
        return starting_point(problem, q, "random", rng)
    V = vectors[:, is_nonzero]
    X = problem.X - problem.X.mean(axis=0)
    drawn = X.T @ rng.standard_normal((problem.n, q))
    return np.linalg.qr(V @ ((V.T @ drawn) / np.sqrt(values[is_nonzero])[:, None]))[0].astype(
        problem.dtype
    )


def _taylor(problem: Objective, q: int) -> np.ndarray:
    """Top q eigenvectors of Phi_0; where it has no more positive ones, directions of variance.

    With Gamma from k classes Phi_0 has rank at most k - 1, so q = k leaves a choice: it is
    made by variance rather than by the rounding of an eigensolver.
    """
    phi_0 = problem.phi_0()
    values, vectors = eigh(phi_0)
    scale = np.abs(values).max()
    if scale == 0:
        warn(
            "Phi_0 is zero (f'(0) = 0, or the class means coincide): starting from PCA instead",
        )
    rounding = np.sqrt(np.finfo(phi_0.dtype).eps) * scale
    W = vectors[:, values > rounding][:, ::-1][:, :q]
    missing = q - W.shape[1]
    if missing:
        tied = vectors if scale == 0 else vectors[:, np.abs(values) <= rounding]
        if tied.shape[1] < missing:  # no null space left: continue down the spectrum
            return np.asarray(vectors[:, ::-1][:, :q].copy())
        W = np.hstack([W, tied @ top_eigenvectors(scatter(problem.X, tied), missing)[1]])
    return np.asarray(W.astype(problem.dtype))
