"""Directions in which a kernel regression changes most: a plane without a climb."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.metrics.pairwise import rbf_kernel

from ismlit.bandwidth import median_distance
from ismlit.memory import few_rows
from ismlit.objectives.protocol import Objective

MOST_ROWS = 5000  # Of more rows so many are drawn.


def gradient_scatter(
    X: np.ndarray,
    F: np.ndarray,
    s: np.ndarray | None = None,
    *,
    sigma: float,
    ridge: float = 1e-4,
) -> np.ndarray:
    """The mean outer product (d, d) of the gradients of a kernel ridge regression of F on X.

    Where F depends on X through W'X alone, every gradient lies in the span of W, so the leading
    eigenvectors of this matrix estimate it. Unlike the class means, which are all that Phi_0
    uses, gradients also notice an interaction of columns whose class means coincide.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows. Of more than 5000 so many are drawn, the same each time.
    F : array of shape (n, r)
        Targets, such as centred class indicators.
    s : array of shape (r,), optional
        Weight of each column of F; by default 1.
    sigma : float
        Bandwidth of the Gaussian kernel of the regression, in the units of X.
    ridge : float
        The regression minimises the mean squared error plus `ridge` times the squared norm.

    Returns
    -------
    array of shape (d, d)
        Symmetric; positive semidefinite where no weight is negative.

    References
    ----------
    Fukumizu and Leng 2014, Gradient-based kernel dimension reduction for regression.
    Hristache, Juditsky, Polzehl and Spokoiny 2001, Structure adaptive approach for dimension
    reduction.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.solvers.gradient_start import gradient_scatter
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> F = np.sign(X[:, :1] * X[:, 2:3])  # an interaction of columns 0 and 2
    >>> np.argsort(np.diag(gradient_scatter(X, F, sigma=1.0)))[2:].tolist() in ([0, 2], [2, 0])
    True
    """
    X, F = np.asarray(X, float), np.asarray(F, float)
    s = np.ones(F.shape[1]) if s is None else np.asarray(s, float)
    rows = few_rows(len(X), MOST_ROWS)
    X, F = X[rows] - X.mean(axis=0), F[rows]
    n, slope = len(X), 1 / sigma**2
    K = rbf_kernel(X, gamma=slope / 2)
    B = cho_solve(cho_factor(K + n * ridge * np.eye(n)), F)
    total = np.zeros((X.shape[1],) * 2)
    for weight, b in zip(s, B.T):
        gradients = slope * ((K * b) @ X - (K @ b)[:, None] * X)
        total += weight / n * (gradients.T @ gradients)
    return total


def gradient_plane(
    X: np.ndarray,
    F: np.ndarray,
    s: np.ndarray,
    q: int,
    *,
    bandwidth: float = 0.5,
    ridge: float = 1e-3,
    n_turns: int = 6,
) -> tuple[np.ndarray, np.ndarray]:
    """The leading eigenvectors of `gradient_scatter`, repeated in the metric that it has found.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    F, s : arrays of shape (n, r) and (r,)
        Targets and their weights.
    q : int
        How many eigenvectors.
    bandwidth : float
        In median distances of the rows, as the metric of each turn measures them.
    ridge : float
        As for `gradient_scatter`.
    n_turns : int
        With 1 the metric is that of X.

    Returns
    -------
    values : array of shape (q,)
        The largest eigenvalues of the last turn, in the units of X.
    vectors : array of shape (d, q)
        Their eigenvectors.

    References
    ----------
    Fukumizu and Leng 2014, Gradient-based kernel dimension reduction for regression.
    Radhakrishnan, Beaglehole, Pandit and Belkin 2024, Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models.
    """
    root = np.eye(X.shape[1])
    for _ in range(n_turns):
        Z = X @ root
        sigma = bandwidth * median_distance(Z)
        scatter = root @ gradient_scatter(Z, F, s, sigma=sigma, ridge=ridge) @ root
        values, vectors = eigh(scatter)
        sizes = np.maximum(values, 0) / max(values.sum(), 1e-300) * len(values)
        root = (vectors * np.sqrt(sizes)) @ vectors.T
    return values[::-1][:q], vectors[:, ::-1][:, :q]


def gradient_directions(problem: Objective, q: int) -> np.ndarray:
    """Return the leading eigenvectors of `gradient_scatter` for the targets of a problem.

    What a negative weight asks to avoid counts against a direction.

    Parameters
    ----------
    problem : Objective
        The problem.
    q : int
        How many.

    Returns
    -------
    array of shape (d, q)
        Orthonormal columns.
    """
    scatter = gradient_scatter(problem.X, *problem.targets(), sigma=median_distance(problem.X) / 2)
    return np.asarray(eigh(scatter)[1][:, ::-1][:, :q].astype(problem.dtype))
