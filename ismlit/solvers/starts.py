"""Where a solver starts: what a Taylor expansion knows, directions of variance, random frames."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from ismlit.geometry.frames import as_frame, top_eigenvectors
from ismlit.messages import warn

INITS = ("taylor", "pca", "random", "several")
START_SUBSAMPLE = 800  # "several" compares starts on at most so many samples.
TAYLOR_ON_ALL_ROWS = 5000  # Up to so many rows a Taylor start that wins is taken from all.
ORDER = ("taylor", "random", "pca") + 7 * ("random",)  # In this order they are tried.
LEAST = 6  # So many are tried in any case.
AGREEING = 3  # When so many have come to the highest J, no other is tried.
AGREED = 1e-3  # Two values of J count as equal within this share.


def starting_point(problem, q, init, random_state=None):
    """An orthonormal W_0 of shape (d, q) in the dtype of the problem.

    `init` is a name of `INITS` but "several", for which see `look_around`, or an orthonormal array.
    Claim: thm-5.3.
    """
    d, dtype = problem.d, problem.dtype
    if not isinstance(init, str):
        W = as_frame(init, d, dtype, "init")
        if W.shape != (d, q):
            raise ValueError(f"init must have shape ({d}, {q}), got {W.shape}")
        return W
    if init == "taylor":
        return _taylor(problem, q)
    if init == "pca":
        return top_eigenvectors(problem.scatter(), q)[1].astype(dtype)
    if init == "random":
        normal = check_random_state(random_state).standard_normal((d, q))
        return np.linalg.qr(normal)[0].astype(dtype)
    raise ValueError(f"init must be an orthonormal array or one of {INITS}, got {init!r}")


def look_around(problem, q, random_state, climb):
    """The highest W that climbs from the Taylor start and others lead to, and `Starts`.

    At least six starts are tried, in the order of `ORDER`, until three have come to the same
    height and none higher. With many rows this is done on a sample of them; where another start
    beats Taylor's there, both climb on all rows. Passes over the sample count for as much as they
    cost. Without a `random_state` the starts are the same every time.

    Parameters
    ----------
    climb : callable
        ``climb(problem, W)`` gives the height and the W that it comes to.

    Notes
    -----
    Claim: new-start.
    """
    rng = check_random_state(0 if random_state is None else random_state)
    n, view = problem.n, problem
    if n > START_SUBSAMPLE:
        held = len(problem.X)  # of rows in blocks a problem holds some
        view = problem.sample(np.sort(rng.permutation(held)[:START_SUBSAMPLE]))
    view, V = view.in_its_span(q)
    before, found = view.count.passes, []
    for name in ORDER:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Phi_0 may be zero: there are others
            start = _drawn(view, q, rng) if name == "random" else starting_point(view, q, name)
            found.append(climb(view, start))
        height = max(J for J, _ in found)
        agreed = sum(J >= height - AGREED * abs(height) for J, _ in found)
        if agreed >= AGREEING and len(found) >= LEAST:
            break
    starts = Starts(len(found), agreed)
    # Ends within the tolerance are one height: the first of them, whatever their rounding.
    W = next(W for J, W in found if J >= height - AGREED * abs(height))
    W = W if V is None else V @ W
    if view.count is problem.count:
        return W, starts
    passes = view.count.passes - before
    problem.count.passes += int(np.ceil(passes * (view.n / n) ** 2))
    if found[0][0] >= height - AGREED * abs(height):
        start = starting_point(problem, q, "taylor")
        if n <= TAYLOR_ON_ALL_ROWS:
            return start, starts
        if V is None:
            W = max(W, climb(view, start)[1], key=problem.objective)
        return W, starts
    ends = [climb(problem, start) for start in (W, starting_point(problem, q, "taylor"))]
    return max(ends, key=lambda pair: pair[0])[1], starts  # a sample can mislead


class Starts(NamedTuple):
    """How many starts "several" climbed from, and how many came to the greatest height.

    Attributes
    ----------
    tried, agreed : int

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import SupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> SupervisedIKDR(2).fit(scale(X), y).result_.starts
    Starts(tried=6, agreed=6)
    """

    tried: int
    agreed: int


def _drawn(problem, q, rng):
    """A frame (d, q) drawn evenly among the directions in which X varies.

    It is a combination of the rows of X, whitened. So it turns with X: where a climb ends does not
    hang on the coordinates in which X is written, as it would from a frame drawn in them.
    """
    values, vectors = eigh(problem.scatter().astype(float))
    kept = values > 1e-10 * values[-1]
    if kept.sum() < q:
        return starting_point(problem, q, "random", rng)
    V = vectors[:, kept]
    X = problem.X - problem.X.mean(axis=0)
    drawn = X.T @ rng.standard_normal((problem.n, q))
    return np.linalg.qr(V @ ((V.T @ drawn) / np.sqrt(values[kept])[:, None]))[0].astype(
        problem.dtype
    )


def _taylor(problem, q):
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
            return vectors[:, ::-1][:, :q].copy()
        W = np.hstack([W, tied @ top_eigenvectors(problem.scatter(tied), missing)[1]])
    return W.astype(problem.dtype)
