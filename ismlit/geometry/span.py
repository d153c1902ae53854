"""The directions in which samples vary: constant and repeated columns add none."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, polar, qr, svd
from sklearn.utils import gen_batches

ROW_CHUNK = 16384  # So many rows are looked at at once.
P = TypeVar("P", bound=Any)  # an objective, of whatever kind


def number_of_directions(X: ArrayLike) -> int:
    """Count the directions in which the rows of X vary.

    It is the rank of X less its mean, and at least 1.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.

    Returns
    -------
    int
        From 1 to d.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.span import number_of_directions
    >>> number_of_directions(np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 5.0], [2.0, 3.0, 5.0]]))
    1
    """
    X = np.asarray(X)
    V = varying_directions(X, X.mean(axis=0, dtype=float))
    return max(X.shape[1] if V is None else V.shape[1], 1)


def varying_directions(X: np.ndarray, mean: ArrayLike = 0.0) -> np.ndarray | None:
    """Return a basis of the directions in which the rows of X vary about their mean.

    Constant columns, and columns that others determine, add none. The rank is that of the columns
    scaled to standard size, so that their units do not decide it.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    mean : array of shape (d,), or 0
        What is to be subtracted from each row.

    Returns
    -------
    array of shape (d, r), or None
        Orthonormal columns; None where X varies in all d directions.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.span import varying_directions
    >>> a, b = np.random.default_rng(0).standard_normal((2, 9))
    >>> X = np.c_[a, b, a + b, np.ones(9)]
    >>> varying_directions(X, X.mean(axis=0)).shape
    (4, 2)
    """
    n, d = X.shape
    low, high = X.min(axis=0), X.max(axis=0)
    mean = np.where(low == high, low, mean)  # that of a constant column may be rounded
    size = np.maximum(high - mean, mean - low).astype(float)
    size[size == 0] = 1.0
    if d > n:
        X = (X - mean) / size
        scale = np.linalg.norm(X, axis=0)
        scale[scale == 0] = 1.0
        values, vectors = svd(X / scale, full_matrices=False)[1:]
        values, vectors = values**2, vectors.T
    else:
        products = np.zeros((d, d))
        for start in range(0, n, ROW_CHUNK):  # of a million rows no copy in double precision
            rows = (X[start : start + ROW_CHUNK] - mean) / size
            products += rows.T @ rows
        scale = np.sqrt(np.diag(products))
        scale[scale == 0] = 1.0
        values, vectors = eigh(products / scale / scale[:, None])
    return _basis(values, vectors, size * scale)


def turned_to_columns(V: np.ndarray) -> np.ndarray:
    """Turn a basis so that each direction is as near as can be to a column of X.

    Parameters
    ----------
    V : array of shape (d, r)
        Orthonormal columns.

    Returns
    -------
    array of shape (d, r)
        The same span; where X has constant columns, the other columns themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.span import turned_to_columns
    >>> V = np.array([[0.6, -0.8], [0.0, 0.0], [0.8, 0.6]])
    >>> abs(turned_to_columns(V).round(12))
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    columns = np.sort(qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]])
    return V @ polar(V[columns])[0].T


def scatter(X: np.ndarray, V: np.ndarray | None = None) -> np.ndarray:
    """Return how samples spread along some directions.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    V : array of shape (d, k), optional
        The directions; the features themselves when None.

    Returns
    -------
    array of shape (k, k)
        The matrix ``V'X'HXV``, n times their covariance, in double precision.
    """
    mean, total = X.mean(axis=0, dtype=float), 0.0
    for rows in gen_batches(len(X), ROW_CHUNK):
        centred = X[rows] - mean
        centred = centred if V is None else centred @ V
        total = total + centred.T @ centred
    return np.asarray(total)


def directions_of(scatter):
    """Return a basis of the directions in which rows vary, from their scatter matrix.

    Parameters
    ----------
    scatter : array of shape (d, d)
        The products of the columns about their mean.

    Returns
    -------
    array of shape (d, r), or None
        As for `varying_directions`.
    """
    scale = np.sqrt(np.diag(scatter))
    scale[scale == 0] = 1.0
    return _basis(*eigh(scatter / scale / scale[:, None]), scale)


def _basis(values, vectors, scale):
    """The span of eigenvectors of a correlation matrix (d, d), but for those of values near 0."""
    is_nonzero = values > 1e-13 * len(scale)
    if is_nonzero.sum() == len(scale):
        return None
    return np.linalg.qr(scale[:, None] * vectors[:, is_nonzero])[0]


def in_span(objective: P, q: int, W: np.ndarray | None = None) -> tuple[P, np.ndarray | None]:
    """Return an objective in the span of its samples, where that is smaller than all features.

    J sees a frame only through XW. So a solution, and every curvature at W, lies in a space that is
    spanned by the rows of X, the columns of W, and q more directions in which nothing varies. There
    Phi is ``V Phi_V V'``.

    Parameters
    ----------
    objective : Objective
        What is maximised.
    q : int
        The number of columns that a solution has.
    W : array of shape (d, k), optional
        Columns that the space is to hold.

    Returns
    -------
    objective : Objective
        The objective of B in W = VB.
    V : array of shape (d, r), or None
        The basis; None where the space is everything, and the objective is the one given.
    """
    more = np.random.default_rng(0).standard_normal((objective.d, q))
    more = more if W is None else np.hstack([more, W])
    if objective.d <= objective.n + more.shape[1]:
        return objective, None
    V = np.linalg.qr(np.hstack([objective.X.T, more]).astype(objective.dtype))[0]
    return objective.in_basis(V), V
