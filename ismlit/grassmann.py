"""Geometry of the problem: subspaces, angles between them, and the exact second-order form.

J depends on W only through P = WW', a point of the Grassmann manifold Gr(q, d). There
``-Hess/2 = Kd - M`` with Kd = diag(lambda_j - lambda_bar_i) (chosen minus other eigenvalues
of Phi) and M = 1/2 sum Gamma f'' v v', v = vec(W_bar' A W). A local maximum needs it PSD.
"""

from __future__ import annotations

import warnings
from functools import cached_property

import numpy as np
from scipy.linalg import eigh, qr, subspace_angles
from scipy.sparse.linalg import LinearOperator, lobpcg

DENSE_LIMIT = 256  # tangent dimension up to which the Hessian is formed in one pass


def principal_angles(W1, W2):
    """Principal angles in radians, falling, between the spans of W1 and W2 (d, q)."""
    return subspace_angles(np.asarray(W1), np.asarray(W2))


def projector_distance(W1, W2):
    """||W1 W1' - W2 W2'||_F = sqrt(2) ||sin(principal angles)|| for orthonormal W1, W2."""
    outside = W2 - W1 @ (W1.T @ W2)
    return float(np.sqrt(2) * np.linalg.norm(outside))


def geodesic(W, Z, t):
    """The point at arc length ``t |Z|`` from W (d, q) along the tangent Z (W'Z = 0)."""
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    moved = (W @ Vt.T) * np.cos(t * s) + U * np.sin(t * s)
    return np.linalg.qr(moved @ Vt)[0].astype(W.dtype)


def half_gradient(phi, W):
    """Phi W - W (W' Phi W), half the Riemannian gradient of J: zero at a stationary point."""
    phi_w = phi @ W
    return phi_w - W @ (W.T @ phi_w)


def first_order_residual(phi, W):
    """||Phi W - W (W' Phi W)||_F / ||Phi||_F: 0 when W is stationary, and when Phi is 0.

    Relative to Phi, not to Phi W, which vanishes at a maximum where every chosen eigenvalue
    is 0 (a Gamma that only penalises).
    """
    size = np.linalg.norm(phi) if phi.any() else 1.0
    return float(np.linalg.norm(half_gradient(phi, W)) / size)


class SecondOrder:
    """``Kd - M`` at W (d, q) with Phi = Phi(W), in coordinates B = W_bar' Z of shape (d-q, q).

    Claims: thm-5.1 (through its exact form), eq-C.66.
    """

    def __init__(self, problem, W, phi):
        q = W.shape[1]
        self.problem, self.dtype = problem, W.dtype
        values, self.rotation = eigh(W.T @ phi @ W)
        self.W, self.chosen = W @ self.rotation, values  # columns as eigenvectors of Phi
        complement = qr(self.W)[0][:, q:]
        self.others, rotation = eigh(complement.T @ phi @ complement)
        self.W_bar = complement @ rotation
        self.shape = (phi.shape[0] - q, q)
        self.size = self.shape[0] * q
        self.kd = (self.chosen[None, :] - self.others[:, None]).ravel()

    @property
    def eigengap(self):
        """Smallest chosen minus largest other eigenvalue of Phi."""
        return float(self.kd.min()) if self.size else np.inf

    def m_times(self, B):
        """M applied to columns of coordinates B (size, m), in one pass over the pairs."""
        Z = np.einsum("di,miq->mdq", self.W_bar, B.T.reshape(-1, *self.shape))
        image = self.problem.phi_derivative(self.W, Z)
        return np.einsum("di,mdq->miq", self.W_bar, image).reshape(-1, self.size).T

    def m_dense(self):
        """M as a symmetric array (size, size); formed once, in one pass."""
        return self._m

    @cached_property
    def _m(self):
        M = self.m_times(np.eye(self.size, dtype=self.dtype))
        return (M + M.T) / 2

    def lowest(self, tol=1e-4, max_iter=30):
        """Smallest eigenvalue of Kd - M, its tangent Z at the given W, and its error.

        Z has shape (d, q) and norm 1. The error is the residual of the eigenpair: 0 up to
        rounding where the matrix is formed, and a bound on the distance to some eigenvalue
        where LOBPCG is used (more than 256 tangent dimensions).
        """
        if self.size == 0:
            return np.inf, np.zeros_like(self.W), 0.0
        if self.size <= DENSE_LIMIT:
            values, vectors = eigh(np.diag(self.kd) - self.m_dense(), subset_by_index=(0, 0))
            value, vector, error = values[0], vectors[:, 0], 0.0
        else:
            value, vector, error = self._lowest_lobpcg(tol, max_iter)
        Z = self.W_bar @ vector.reshape(self.shape) @ self.rotation.T
        return float(value), Z, float(error)

    def _lowest_lobpcg(self, tol, max_iter):
        """LOBPCG, preconditioned by the diagonal Kd, started where Kd is smallest."""
        scale = np.abs(self.kd).max()
        diagonal = np.maximum(np.abs(self.kd), 1e-3 * scale)
        shape, dtype = (self.size, self.size), self.dtype

        def product(B):
            B = B.reshape(self.size, -1).astype(dtype)
            return self.kd[:, None] * B - self.m_times(B)

        def precondition(B):
            return B.reshape(self.size, -1) / diagonal[:, None]

        start = np.random.default_rng(0).standard_normal((self.size, 4)) / diagonal[:, None]
        start[np.argsort(self.kd)[:4], range(4)] += np.abs(start).max()
        operator = LinearOperator(shape, matvec=product, matmat=product, dtype=dtype)
        inverse = LinearOperator(shape, matvec=precondition, matmat=precondition, dtype=dtype)
        with warnings.catch_warnings():  # its accuracy is measured below, not assumed
            warnings.simplefilter("ignore", UserWarning)
            values, vectors = lobpcg(
                operator, start, M=inverse, tol=tol * scale, maxiter=max_iter, largest=False
            )
        vector = vectors[:, 0]
        return values[0], vector, np.linalg.norm(product(vector)[:, 0] - values[0] * vector)
