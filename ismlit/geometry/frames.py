"""Orthonormal frames W (d, q): angles, geodesics, leading eigenvectors, first order."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.linalg import ArpackError, eigsh

FULL = 400  # features up to which eigenvectors are found directly, else by Lanczos,


def principal_angles(W1, W2):
    """Principal angles in radians, falling, between the spans of W1 and W2 (d, q).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import principal_angles
    >>> np.degrees(principal_angles([[1.0], [0.0]], [[0.6], [0.8]])).round(2)
    array([53.13])
    """
    return subspace_angles(np.asarray(W1), np.asarray(W2))


def project_out(A, W):
    """A (..., d, m) minus its part in the span of orthonormal W (d, q).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import project_out
    >>> project_out(np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]]))
    array([[0.],
           [4.]])
    """
    return A - W @ (W.T @ A)


def column_signs(W):
    """For each column of W (d, q) the sign (q,) of its largest entry, the first of those as large.

    Entries that differ by less than a millionth count as equal, so that no rounding decides.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import column_signs
    >>> column_signs(np.array([[-0.7, 0.8], [0.7 + 1e-9, -0.6]]))
    array([-1.,  1.])
    """
    sizes = np.abs(W)
    first = (sizes >= (1 - 1e-6) * sizes.max(axis=0)).argmax(axis=0)
    return np.sign(W[first, range(W.shape[1])])


def fixed_signs(W):
    """W with each column's sign such that its largest entry is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import fixed_signs
    >>> fixed_signs(np.array([[0.6, 0.8], [-0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    return W * column_signs(W)


def projector_distance(W1, W2):
    """||W1 W1' - W2 W2'||_F = sqrt(2) ||sin(principal angles)|| for orthonormal W1, W2.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import projector_distance
    >>> W = np.eye(3)[:, :2]
    >>> projector_distance(W, W[:, ::-1])  # other columns, the same plane
    0.0
    >>> round(projector_distance(W, np.eye(3)[:, 1:]), 2)
    1.41
    """
    return float(np.sqrt(2) * np.linalg.norm(project_out(W2, W1)))


def geodesic(W, Z, t):
    """The point at arc length ``t |Z|`` from W (d, q) along the tangent Z (W'Z = 0).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import geodesic, principal_angles
    >>> W, Z = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> np.degrees(principal_angles(W, geodesic(W, Z, np.pi / 6))).round(2)
    array([30.])
    """
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    moved = (W @ Vt.T) * np.cos(t * s) + U * np.sin(t * s)
    return np.linalg.qr(moved @ Vt)[0].astype(W.dtype)


def top_eigenvectors(matrix, q):
    """The q largest algebraic eigenvalues of a symmetric matrix, falling, and their vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import top_eigenvectors
    >>> values, vectors = top_eigenvectors(np.diag([1.0, 3.0, 2.0]), 2)
    >>> values, abs(vectors).round(2)
    (array([3., 2.]), array([[0., 0.],
           [1., 0.],
           [0., 1.]]))
    """
    d = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(d - q, d - 1))
    if len(values) < q:  # LAPACK gives up on a subset of eigenvalues that are all equal
        values, vectors = (part[..., d - q :] for part in eigh(matrix))
    return values[::-1], vectors[:, ::-1]


def extreme_eigenvectors(matrix, m, which, tol=1e-9):
    """The m extreme eigenvalues of a symmetric matrix, rising, and their vectors.

    `which` is "LA" for the largest, "LM" for the largest in size. By Lanczos where the matrix is
    large, unless its eigenvalues lie too close for that.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import extreme_eigenvectors
    >>> extreme_eigenvectors(np.diag([1.0, -3.0, 2.0]), 1, "LM")[0]
    array([-3.])
    """
    d = len(matrix)
    if d > FULL and 10 * m < d:
        start = np.random.default_rng(0).standard_normal(d).astype(matrix.dtype)
        with suppress(ArpackError):
            return eigsh(matrix, m, which=which, tol=tol, v0=start)
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values if which == "LA" else np.abs(values))[-m:]
    return values[np.sort(order)], vectors[:, np.sort(order)]


def canonical_frame(phi, W):
    """Ritz values of Phi on span(W), falling, and its basis of Ritz vectors with fixed signs."""
    values, rotation = eigh(W.T @ phi @ W)
    return values[::-1], fixed_signs((W @ rotation)[:, ::-1])


def nearest_frame(W):
    """W (d, q), all but orthonormal in single precision, with columns as orthonormal as it allows.

    LAPACK's vectors are off by several units of rounding, all in one direction: J then changes
    with their length, by more than a last step would raise it. One step of Newton's iteration for
    the polar factor, in double precision, leaves the rounding of single entries, which averages
    out.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import nearest_frame
    >>> W = np.array([[1.0 + 1e-6], [0.0]], dtype="float32")
    >>> float(nearest_frame(W)[0, 0])
    1.0
    """
    if W.dtype != np.float32:
        return W
    exact = W.astype(float)
    return (1.5 * exact - 0.5 * exact @ (exact.T @ exact)).astype(np.float32)


def as_frame(W, d, dtype, name="W"):
    """A fresh orthonormal basis of the span of W (d, q), which must be nearly orthonormal."""
    W = np.array(W, dtype)
    if W.ndim != 2 or W.shape[0] != d:
        raise ValueError(f"{name} must have shape ({d}, q), got {W.shape}")
    error = np.abs(W.T @ W - np.eye(W.shape[1])).max()
    if not error < 1e-4:
        raise ValueError(
            f"{name} must have orthonormal columns; {name}'{name} - I has an entry of {error:.2g}: "
            f"pass numpy.linalg.qr({name})[0]"
        )
    return np.linalg.qr(W)[0]


def half_gradient(phi, W):
    """Phi W - W (W' Phi W), half the Riemannian gradient of J: zero at a stationary point.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import half_gradient
    >>> half_gradient(np.diag([3.0, 1.0]), np.array([[0.6], [0.8]])).round(2)
    array([[ 0.77],
           [-0.58]])
    """
    return project_out(phi @ W, W)


def first_order_residual(phi, W):
    """||Phi W - W (W' Phi W)||_F / ||Phi||_F: 0 when W is stationary, and when Phi is 0.

    Relative to Phi, not to Phi W, which vanishes at a maximum where every chosen eigenvalue
    is 0 (a Gamma that only penalises).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import first_order_residual
    >>> phi = np.diag([3.0, 1.0])
    >>> first_order_residual(phi, np.array([[1.0], [0.0]]))  # an eigenvector
    0.0
    >>> round(first_order_residual(phi, np.array([[0.6], [0.8]])), 2)
    0.3
    """
    size = np.linalg.norm(phi) if phi.any() else 1.0
    return float(np.linalg.norm(half_gradient(phi, W)) / size)
