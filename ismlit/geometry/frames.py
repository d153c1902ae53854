"""Orthonormal frames W (d, q): angles, geodesics, eigenvectors, the first-order condition."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

DENSE_FEATURES = 400  # With more features eigenvectors are found by Lanczos' method,
RESTARTS = 100  # of which so many cost as much as all eigenvectors by LAPACK.


def project_out(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return what is left of an array when its part in the span of W is taken away.

    Parameters
    ----------
    A : array of shape (..., d, m)
        One matrix or several.
    W : array of shape (d, q)
        Orthonormal columns.

    Returns
    -------
    array of shape (..., d, m)
        The difference A - W W' A.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import project_out
    >>> project_out(np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]]))
    array([[0.],
           [4.]])
    """
    return A - W @ (W.T @ A)


def column_signs(W: np.ndarray) -> np.ndarray:
    """Return the sign of the largest entry of each column.

    Of entries that differ by less than a millionth the first counts, so that no rounding decides.

    Parameters
    ----------
    W : array of shape (d, q)
        The columns.

    Returns
    -------
    array of shape (q,)
        The signs, 1 or -1; 0 for a column of zeros.

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


def fixed_signs(W: np.ndarray) -> np.ndarray:
    """Turn each column so that its largest entry is positive.

    Parameters
    ----------
    W : array of shape (d, q)
        The columns.

    Returns
    -------
    array of shape (d, q)
        The columns, or their negatives.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import fixed_signs
    >>> fixed_signs(np.array([[0.6, 0.8], [-0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    return W * column_signs(W)


def projector_distance(W1: np.ndarray, W2: np.ndarray) -> float:
    """Return how far two subspaces lie apart, as the distance of their projectors.

    It is ``||W1 W1' - W2 W2'||_F``, the root of twice the sum of squared sines of the principal
    angles.

    Parameters
    ----------
    W1, W2 : arrays of shape (d, q)
        Orthonormal bases of the two.

    Returns
    -------
    float
        From 0 for equal subspaces to sqrt(2 q) for orthogonal ones.

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


def geodesic(W: np.ndarray, Z: np.ndarray, t: float) -> np.ndarray:
    """Return the frame reached from W along a shortest path of subspaces.

    Parameters
    ----------
    W : array of shape (d, q)
        Where the path begins; orthonormal columns.
    Z : array of shape (d, q)
        The direction, a tangent: W'Z = 0.
    t : float
        How far to go. The arc length is t times the Frobenius norm of Z, in radians.

    Returns
    -------
    array of shape (d, q)
        Orthonormal columns.

    References
    ----------
    Edelman, Arias and Smith 1998, The geometry of algorithms with orthogonality constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import geodesic
    >>> from scipy.linalg import subspace_angles
    >>> W, Z = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> np.degrees(subspace_angles(W, geodesic(W, Z, np.pi / 6))).round(2)
    array([30.])
    """
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    moved = (W @ Vt.T) * np.cos(t * s) + U * np.sin(t * s)
    return np.linalg.qr(moved @ Vt)[0].astype(W.dtype)


def top_eigenvectors(matrix: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric matrix, and their eigenvectors.

    Parameters
    ----------
    matrix : array of shape (d, d)
        A symmetric matrix.
    q : int
        How many are wanted, at most d.

    Returns
    -------
    values : array of shape (q,)
        The largest ones by their sign, not by their size; falling.
    vectors : array of shape (d, q)
        The eigenvectors in the same order.

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


def extreme_eigenvectors(
    matrix: np.ndarray, m: int, which: str, tol: float = 1e-9
) -> tuple[np.ndarray, np.ndarray]:
    """Return some eigenvalues from the end of the spectrum, and their eigenvectors.

    A large matrix is left to Lanczos' method, unless its eigenvalues lie too close together for
    that.

    Parameters
    ----------
    matrix : array of shape (d, d)
        A symmetric matrix.
    m : int
        How many are wanted.
    which : {"LA", "LM"}
        The largest ones, or those of the largest size.
    tol : float, default=1e-9
        Relative accuracy of the eigenvalues by Lanczos.

    Returns
    -------
    values : array of shape (m,)
        The eigenvalues, rising.
    vectors : array of shape (d, m)
        The eigenvectors in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import extreme_eigenvectors
    >>> extreme_eigenvectors(np.diag([1.0, -3.0, 2.0]), 1, "LM")[0]
    array([-3.])
    """
    d = len(matrix)
    if d > DENSE_FEATURES and 10 * m < d:
        start = np.random.default_rng(0).standard_normal(d).astype(matrix.dtype)
        with suppress(ArpackError):
            return eigsh(matrix, m, which=which, tol=tol, v0=start, maxiter=RESTARTS)
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values if which == "LA" else np.abs(values))[-m:]
    return values[np.sort(order)], vectors[:, np.sort(order)]


def canonical_frame(phi: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of a subspace that consists of Ritz vectors of Phi.

    Parameters
    ----------
    phi : array of shape (d, d)
        A symmetric matrix.
    W : array of shape (d, q)
        An orthonormal basis of the subspace.

    Returns
    -------
    values : array of shape (q,)
        The Ritz values, falling: eigenvalues of Phi where W is stationary.
    vectors : array of shape (d, q)
        The Ritz vectors; the largest entry of each is positive.
    """
    values, rotation = eigh(W.T @ phi @ W)
    return values[::-1], fixed_signs((W @ rotation)[:, ::-1])


def nearest_frame(W: np.ndarray) -> np.ndarray:
    """Make columns in single precision as orthonormal as that precision allows.

    LAPACK's vectors are off by several units of rounding, all in one direction. J then changes
    with their length by more than a last step would raise it. One step of Newton's iteration for
    the polar factor, in double precision, leaves the rounding of single entries, which averages
    out.

    Parameters
    ----------
    W : array of shape (d, q)
        Columns that are all but orthonormal.

    Returns
    -------
    array of shape (d, q)
        W itself in double precision; in single precision the nearest frame.

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


def as_frame(W: ArrayLike, d: int, dtype: DTypeLike, name: str = "W") -> np.ndarray:
    """Return a fresh orthonormal basis of the span of a frame that a user gave.

    Parameters
    ----------
    W : array of shape (d, q)
        Nearly orthonormal columns.
    d : int
        The number of rows that it must have.
    dtype : dtype
        Type of the result.
    name : str, default="W"
        What the user calls it, for messages.

    Returns
    -------
    array of shape (d, q)
        Orthonormal columns.

    Raises
    ------
    ValueError
        If W has another number of rows, or its columns are not orthonormal.
    """
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


def half_gradient(phi: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return half the Riemannian gradient of J, which is 0 at a stationary point.

    It is Phi W - W (W' Phi W): the part of Phi W that leaves the span of W.

    Parameters
    ----------
    phi : array of shape (d, d)
        Phi at W.
    W : array of shape (d, q)
        Orthonormal columns.

    Returns
    -------
    array of shape (d, q)
        A tangent at W.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.frames import half_gradient
    >>> half_gradient(np.diag([3.0, 1.0]), np.array([[0.6], [0.8]])).round(2)
    array([[ 0.77],
           [-0.58]])
    """
    return project_out(phi @ W, W)


def first_order_residual(phi: np.ndarray, W: np.ndarray) -> float:
    """Return how far W is from being stationary, as a share of Phi.

    It is ``||Phi W - W (W' Phi W)||_F / ||Phi||_F``, and 0 where Phi is 0. The share is one of Phi
    and not of Phi W, which vanishes at a maximum where every chosen eigenvalue is 0, as those of a
    Gamma that only penalises.

    Parameters
    ----------
    phi : array of shape (d, d)
        Phi at W.
    W : array of shape (d, q)
        Orthonormal columns.

    Returns
    -------
    float
        0 at a stationary point, at most 1.

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
