"""Geometry of the problem: frames and the subspaces they span, and the exact second-order form.

J depends on W only through P = WW', a point of the Grassmann manifold Gr(q, d). There
``-Hess/2 = Kd - M`` with Kd = diag(lambda_j - lambda_bar_i) (chosen minus other eigenvalues
of Phi) and M = 1/2 sum Gamma f'' v v', v = vec(W_bar' A W). A local maximum needs it PSD.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal, qr, subspace_angles
from scipy.sparse.linalg import ArpackError, eigsh

FULL = 400  # features up to which eigenvectors are found directly, else by Lanczos,
BASIS = 1000  # and up to which a scaling has all those of Phi, not the extreme ones alone
DENSE_LIMIT = 256  # tangent dimension up to which M is formed ...
DENSE_WORK = 2e7  # ... if so many pairs times directions are enough
DENSE_ALWAYS = 16  # up to here forming M is no dearer than looking for one eigenvalue
LONGEST = 120  # Lanczos: products at the most
SETTLED = 1e-2  # and the residual, as a share of the value, at which it has settled
DOUBT = 1e-2  # probability with which its bound may be wrong


def principal_angles(W1, W2):
    """Principal angles in radians, falling, between the spans of W1 and W2 (d, q).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import principal_angles
    >>> np.degrees(principal_angles([[1.0], [0.0]], [[0.6], [0.8]])).round(2)
    array([53.13])
    """
    return subspace_angles(np.asarray(W1), np.asarray(W2))


def outside(A, W):
    """A (..., d, m) minus its part in the span of orthonormal W (d, q).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import outside
    >>> outside(np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]]))
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
    >>> from ismlit.problems.grassmann import column_signs
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
    >>> from ismlit.problems.grassmann import fixed_signs
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
    >>> from ismlit.problems.grassmann import projector_distance
    >>> W = np.eye(3)[:, :2]
    >>> projector_distance(W, W[:, ::-1])  # other columns, the same plane
    0.0
    >>> round(projector_distance(W, np.eye(3)[:, 1:]), 2)
    1.41
    """
    return float(np.sqrt(2) * np.linalg.norm(outside(W2, W1)))


def geodesic(W, Z, t):
    """The point at arc length ``t |Z|`` from W (d, q) along the tangent Z (W'Z = 0).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import geodesic, principal_angles
    >>> W, Z = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> np.degrees(principal_angles(W, geodesic(W, Z, np.pi / 6))).round(2)
    array([30.])
    """
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    moved = (W @ Vt.T) * np.cos(t * s) + U * np.sin(t * s)
    return np.linalg.qr(moved @ Vt)[0].astype(W.dtype)


# ---------------------------------------------------------------- frames of eigenvectors


def top_eigenvectors(matrix, q):
    """The q largest algebraic eigenvalues of a symmetric matrix, falling, and their vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import top_eigenvectors
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
    >>> from ismlit.problems.grassmann import extreme_eigenvectors
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
    >>> from ismlit.problems.grassmann import nearest_frame
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


# ---------------------------------------------------------------- first and second order


def half_gradient(phi, W):
    """Phi W - W (W' Phi W), half the Riemannian gradient of J: zero at a stationary point.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import half_gradient
    >>> half_gradient(np.diag([3.0, 1.0]), np.array([[0.6], [0.8]])).round(2)
    array([[ 0.77],
           [-0.58]])
    """
    return outside(phi @ W, W)


def first_order_residual(phi, W):
    """||Phi W - W (W' Phi W)||_F / ||Phi||_F: 0 when W is stationary, and when Phi is 0.

    Relative to Phi, not to Phi W, which vanishes at a maximum where every chosen eigenvalue
    is 0 (a Gamma that only penalises).

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import first_order_residual
    >>> phi = np.diag([3.0, 1.0])
    >>> first_order_residual(phi, np.array([[1.0], [0.0]]))  # an eigenvector
    0.0
    >>> round(first_order_residual(phi, np.array([[0.6], [0.8]])), 2)
    0.3
    """
    size = np.linalg.norm(phi) if phi.any() else 1.0
    return float(np.linalg.norm(half_gradient(phi, W)) / size)


class Curvature(NamedTuple):
    """What a second-order test has found at a W, relative to ``size = ||Phi||``.

    `value` is a Rayleigh quotient of Kd - M, whose smallest eigenvalue lies between ``value -
    error`` and ``value``; the error is 0 where the matrix was formed. `eigengap` is the smallest
    chosen less the largest other eigenvalue of Phi.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> X, y = load_iris(return_X_y=True)
    >>> curvature = ism(X, label_gamma(y), Gaussian(1.0), 1).curvature
    >>> curvature.value > curvature.error  # a maximum, beyond doubt
    True
    """

    value: float
    error: float
    eigengap: float
    size: float


class Scaling:
    """Powers of |Kd| at W on tangents: Kd is what ISM takes for half of minus the Hessian of J.

    From all eigenvectors of Phi, or where it is large from the extreme ones; the others then
    share their mean.

    Parameters
    ----------
    phi : array of shape (d, d)
    W : array of shape (d, q)
    least : float
        |Kd| is kept above this share of the largest in its column.

    Attributes
    ----------
    W : array of shape (d, q)
        The frame given, its columns turned to Ritz vectors of Phi.
    rotation : array of shape (q, q)
        By which it was turned.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.problems.grassmann import Scaling
    >>> scaling = Scaling(np.diag([3.0, 1.0, 0.0]), np.eye(3)[:, :1])
    >>> scaling(np.array([[0.0], [4.0], [6.0]])).ravel()  # over 3 - 1 and 3 - 0
    array([0., 2., 2.])
    """

    def __init__(self, phi, W, least=0.05):
        d, q = W.shape
        phi = phi.astype(float, copy=False)
        chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation
        rest = outside(outside(phi, self.W).T, self.W)
        if d <= BASIS:
            others, self.V = np.linalg.eigh(rest)
            mean = 0.0
        else:
            others, self.V = extreme_eigenvectors(rest, q + 20, "LM", tol=1e-2)
            mean = (np.trace(rest) - others.sum()) / (d - len(others))
        sizes, of_mean = np.abs(chosen - others[:, None]), np.abs(chosen - mean)
        least = least * sizes.max(axis=0)
        self.sizes = np.maximum(sizes, least)
        self.bulk = np.maximum(of_mean, least) if d > BASIS else None

    def __call__(self, Z, power=-1):
        """|Kd| to a power, times the tangent Z (d, q)."""
        seen = self.V.T @ Z
        found = self.V @ (seen * self.sizes**power)
        return found if self.bulk is None else found + (Z - self.V @ seen) * self.bulk**power

    @property
    def extremes(self):
        """The least and the largest entry of |Kd|."""
        sizes = self.sizes if self.bulk is None else np.vstack([self.sizes, self.bulk])
        return sizes.min(), sizes.max()


class SecondOrder:
    """``Kd - M`` at W (d, q) with Phi = Phi(W), on tangents.

    In coordinates ``B = W_bar' Z`` of shape (d - q, q), W_bar being the other eigenvectors of Phi;
    where Phi is large these are not computed, and the coordinates are the tangents (d, q).
    Claims: thm-5.1 (through its exact form), eq-C.66.

    See Also
    --------
    ismlit.certify : what a user asks.

    References
    ----------
    Absil, Mahony and Sepulchre 2008, Optimization algorithms on matrix manifolds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit.problems.grassmann import SecondOrder
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ism(X, label_gamma(y), Gaussian(1.0), 2)
    >>> second = SecondOrder(result.problem, result.W, result.problem.phi(result.W))
    >>> curvature, Z = second.lowest()
    >>> second.eigengap > 0, curvature.value > curvature.error  # a maximum
    (True, True)
    """

    def __init__(self, problem, W, phi):
        d, q = W.shape
        self.problem, self.dtype, self.phi = problem, W.dtype, phi
        self.phi_size = float(np.linalg.norm(phi))
        self.chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation  # columns as eigenvectors of Phi
        self.size = (d - q) * q
        self.in_basis = d <= FULL
        self.shape = (d - q if self.in_basis else d, q)

    @cached_property
    def _complement(self):
        """The other eigenvalues of Phi, rising, and their vectors W_bar (d, d - q)."""
        complement = qr(self.W)[0][:, self.W.shape[1] :]
        others, rotation = np.linalg.eigh(complement.T @ self.phi @ complement)  # may be empty
        return others, complement @ rotation

    @property
    def W_bar(self):
        """The other eigenvectors of Phi (d, d - q)."""
        return self._complement[1]

    @property
    def kd(self):
        """The diagonal of Kd in the coordinates of W_bar (size,)."""
        return (self.chosen[None, :] - self._complement[0][:, None]).ravel()

    @cached_property
    def eigengap(self):
        """Smallest chosen minus largest other eigenvalue of Phi."""
        if not self.size:
            return np.inf
        if self.in_basis:
            return float(self.kd.min())
        rest = outside(outside(self.phi, self.W).T, self.W)
        rest -= 2 * self.phi_size * self.W @ self.W.T  # W's own zeros go to the far end
        return float(self.chosen[0] - extreme_eigenvectors(rest, 1, "LA")[0][0])

    def m_times(self, B):
        """M applied to columns of coordinates B (size, m), in one pass over the pairs."""
        Z = B.T.reshape(-1, *self.shape)
        if self.in_basis:
            Z = np.einsum("di,miq->mdq", self.W_bar, Z)
        image = self.problem.phi_derivative(self.W, Z)
        if self.in_basis:
            image = np.einsum("di,mdq->miq", self.W_bar, image)
        else:
            image = np.array([outside(one, self.W) for one in image])
        return image.reshape(len(Z), -1).T

    def m_dense(self):
        """M as a symmetric array (size, size); formed once, in one pass."""
        return self._m

    @cached_property
    def _m(self):
        M = self.m_times(np.eye(self.size, dtype=self.dtype))
        return (M + M.T) / 2

    @property
    def is_small(self):
        """Whether M is small enough to be formed, given its directions and the pairs."""
        few = self.in_basis and self.size * self.problem.n**2 <= DENSE_WORK
        return 0 < self.size <= (DENSE_LIMIT if few else DENSE_ALWAYS)

    def times(self, b):
        """(Kd - M) b for coordinates b, in one pass over the pairs."""
        if self.in_basis:
            main = self.kd * b
        else:
            Z = b.reshape(self.shape)
            main = (Z * self.chosen - outside(self.phi @ Z, self.W)).ravel()
        return main - self.m_times(b[:, None])[:, 0]

    def tangent(self, b):
        """The tangent Z (d, q) at the given W of coordinates b."""
        Z = b.reshape(self.shape)
        return (self.W_bar @ Z if self.in_basis else Z) @ self.rotation.T

    def lowest(self, dense=False, enough=None):
        """The smallest eigenvalue of Kd - M as a `Curvature`, and its tangent Z at the given W.

        M is formed if `dense`, with at most 16 directions, or, up to 256, where Lanczos, which
        looks for the eigenvalue first, does not settle. With `enough`, Lanczos stops as soon as
        the value is below minus it, or certain to be positive. Z has shape (d, q) and norm 1.
        """
        if self.size == 0:
            return Curvature(np.inf, 0.0, np.inf, self.phi_size), np.zeros_like(self.W)
        found = None if dense or self.size <= DENSE_ALWAYS else self._lowest_lanczos(enough)
        if found is None:
            values, vectors = eigh(np.diag(self.kd) - self.m_dense(), subset_by_index=(0, 0))
            found = values[0], vectors[:, 0], 0.0
        value, vector, error = found
        curvature = Curvature(float(value), float(error), self.eigengap, self.phi_size)
        return curvature, self.tangent(vector)

    def _preconditioner(self):
        """P = |Kd|, kept away from 0: its power -1/2 as a function, its extremes, and a start."""
        rng = np.random.default_rng(0)
        if self.in_basis:
            kd = self.kd
            diagonal = np.maximum(np.abs(kd), 1e-3 * np.abs(kd).max())
            root = np.sqrt(diagonal)
            start = rng.standard_normal(self.size) / diagonal
            start += np.eye(1, self.size, int(np.argmin(kd)))[0]
            return lambda b: b / root, (diagonal.min(), diagonal.max()), start
        scaling = Scaling(self.phi, self.W, least=1e-3)
        on_tangents = lambda b, power: scaling(b.reshape(self.shape), power).ravel()
        noise = outside(rng.standard_normal(self.shape), self.W).ravel()
        return lambda b: on_tangents(b, -0.5), scaling.extremes, on_tangents(noise, -1)

    def _lowest_lanczos(self, enough):
        """Lanczos for ``S = P^(-1/2) (Kd - M) P^(-1/2)``, P = |Kd|: (value, vector, error).

        S has the signs of Kd - M (Sylvester) and, M being small against Kd, a spectrum near
        one. With mu a lower bound of its eigenvalues, Kd - M >= mu min(P) if mu >= 0, else
        mu max(P). None where it does not settle and M can be formed.
        """
        over_root, (least, largest), start = self._preconditioner()
        basis = [start / np.linalg.norm(start)]
        on, off = [], []
        most = min(LONGEST, self.size)
        for k in range(1, most + 1):
            image = over_root(self.times(over_root(basis[-1]).astype(self.dtype)))
            on.append(float(image @ basis[-1]))
            Q = np.array(basis)
            for _ in range(2):  # twice is enough (Kahan)
                image -= Q.T @ (Q @ image)
            off.append(float(np.linalg.norm(image)))
            values, vectors = eigh_tridiagonal(on, off[:-1])
            residual = off[-1] * abs(vectors[-1, 0])
            x = over_root(Q.T @ vectors[:, 0])
            value = values[0] / (x @ x)
            settled = residual <= SETTLED * abs(values[0]) or k == self.size
            lower = values[0] - residual if settled else self._bound(k, values)
            if settled or (enough is not None and (value < -enough or lower >= 0)):
                break
            basis.append(image / off[-1])
        else:
            if self.in_basis and self.size <= DENSE_LIMIT:
                return None
        lower *= least if lower >= 0 else largest
        return value, x / np.linalg.norm(x), max(value - lower, 0.0)

    def _bound(self, k, values):
        """Below the smallest eigenvalue, after k steps, but for one random start in a hundred.

        Kuczynski and Wozniakowski 1992: the share of the spectrum's width by which Lanczos can
        miss its end.
        """
        share = (np.log(1.648 * np.sqrt(self.size) / DOUBT) / (2 * k - 1)) ** 2
        return -np.inf if share >= 1 else (values[0] - share * values[-1]) / (1 - share)
