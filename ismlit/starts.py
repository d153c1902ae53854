"""Where a solver starts: what a Taylor expansion knows, directions of variance, random frames."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from ismlit.grassmann import as_frame, top_eigenvectors

INITS = ("taylor", "pca", "random", "several")
SAMPLE = 400  # "several": most samples that it looks at,
RANDOM, STEPS = 30, 3  # random starts beside two others, and plain steps from each,
ON_ALL = 3  # random starts on all rows, where there are more,
FOLLOWED, FURTHER = 3, 12  # how many of the best are followed beside Taylor's, and how far


def starting_point(problem, q, init, random_state=None):
    """An orthonormal W_0 of shape (d, q) in the dtype of the problem.

    `init` is a name of `INITS`, or an orthonormal array. Claims: thm-5.3, new-start.
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
    if init == "several":
        return _look_around(problem, q, random_state)
    raise ValueError(f"init must be an orthonormal array or one of {INITS}, got {init!r}")


def _look_around(problem, q, random_state):
    """The best W after a few plain steps of ISM from each of many starts.

    Three steps from each; then twelve more from the best three and from the Taylor start. With
    many rows, on a sample of them; what it finds then has to be as good on all as three steps
    from the Taylor start, from PCA and from three random frames. The passes over the sample
    count for as much as they cost. Without a `random_state` the starts are the same every time.
    """
    rng = check_random_state(0 if random_state is None else random_state)
    n, view, V = problem.n, problem, None
    if n > SAMPLE:
        view = problem.sample(np.sort(rng.permutation(n)[:SAMPLE]))
    if view.d > view.n + q:
        V = np.linalg.qr(np.hstack([view.X.T, rng.standard_normal((view.d, q))]))[0]
        view = view.restrict(V)
    before = view.count.passes
    found = [_plain_steps(view, W, STEPS) for W in _many_starts(view, q, RANDOM, rng)]
    ranked = sorted(found[1:], key=lambda pair: -pair[0])
    followed = [_plain_steps(view, W, FURTHER) for _, W in [found[0], *ranked[:FOLLOWED]]]
    W = max(followed, key=lambda pair: pair[0])[1]
    W = W if V is None else V @ W
    if view.n == n:
        return W
    passes = view.count.passes - before
    problem.count.passes += int(np.ceil(passes * (view.n / n) ** 2))
    starts = [W, *_many_starts(problem, q, ON_ALL, rng)]
    on_all = [_plain_steps(problem, start, STEPS) for start in starts]
    return max(on_all, key=lambda pair: pair[0])[1]


def _many_starts(problem, q, count, rng):
    """Taylor's, that of variance, and so many random ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Phi_0 may be zero: there are others
        told = [starting_point(problem, q, name) for name in ("taylor", "pca")]
    return told + [starting_point(problem, q, "random", rng) for _ in range(count)]


def _plain_steps(problem, W, steps):
    """The best J and W of some plain steps of ISM from W: which basin it lies in."""
    best = -np.inf, W
    for step in range(steps + 1):
        J, phi = problem.objective_and_phi(W)
        best = max(best, (J, W), key=lambda pair: pair[0])
        if step < steps:
            W = top_eigenvectors(phi, W.shape[1])[1]
    return best


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
    W = vectors[:, values > rounding][:, ::-1][:, :q]
    missing = q - W.shape[1]
    if missing:
        tied = vectors if scale == 0 else vectors[:, np.abs(values) <= rounding]
        if tied.shape[1] < missing:  # no null space left: continue down the spectrum
            return vectors[:, ::-1][:, :q].copy()
        W = np.hstack([W, tied @ top_eigenvectors(problem.scatter(tied), missing)[1]])
    return W.astype(problem.dtype)
