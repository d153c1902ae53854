"""The directions in which samples vary: constant columns, and what others determine, add none."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, svd

CHUNK = 16384  # looked at at once


def number_of_directions(X):
    """In how many directions the rows of X (n, d) vary: the rank of X less its mean, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.span import number_of_directions
    >>> number_of_directions(np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 5.0], [2.0, 3.0, 5.0]]))
    1
    """
    X = np.asarray(X)
    V = varying_directions(X, X.mean(axis=0))
    return max(X.shape[1] if V is None else V.shape[1], 1)


def varying_directions(X, mean=0.0):
    """An orthonormal basis (d, r) of the directions in which X (n, d) varies about its mean.

    None where they are all: constant columns and columns that others determine add none. The rank
    is that of the standardised columns, so that units do not decide it.

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
    size = np.maximum(X.max(axis=0) - mean, mean - X.min(axis=0)).astype(float)
    size[size == 0] = 1.0
    if d > n:
        X = (X - mean) / size
        scale = np.linalg.norm(X, axis=0)
        scale[scale == 0] = 1.0
        values, vectors = svd(X / scale, full_matrices=False)[1:]
        values, vectors = values**2, vectors.T
    else:
        products = np.zeros((d, d))
        for start in range(0, n, CHUNK):  # of a million rows no copy in double precision
            rows = (X[start : start + CHUNK] - mean) / size
            products += rows.T @ rows
        scale = np.sqrt(np.diag(products))
        scale[scale == 0] = 1.0
        values, vectors = eigh(products / scale / scale[:, None])
    return _basis(values, vectors, size * scale)


def directions_of(scatter):
    """As `varying_directions`, from the scatter matrix (d, d) of the rows about their mean."""
    scale = np.sqrt(np.diag(scatter))
    scale[scale == 0] = 1.0
    return _basis(*eigh(scatter / scale / scale[:, None]), scale)


def _basis(values, vectors, scale):
    """The span of eigenvectors of a correlation matrix (d, d), but for those of values near 0."""
    kept = values > 1e-13 * len(scale)
    if kept.sum() == len(scale):
        return None
    return np.linalg.qr(scale[:, None] * vectors[:, kept])[0]
