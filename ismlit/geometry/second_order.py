"""The second order of J on the manifold of subspaces: Kd - M, and its smallest eigenvalue."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal, qr

from ismlit.geometry.frames import FULL, extreme_eigenvectors, project_out

BASIS = 1000  # and up to which a scaling has all those of Phi, not the extreme ones alone
DENSE_LIMIT = 256  # tangent dimension up to which M is formed ...
DENSE_WORK = 2e7  # ... if so many pairs times directions are enough
DENSE_ALWAYS = 16  # up to here forming M is no dearer than looking for one eigenvalue
LONGEST = 120  # Lanczos: products at the most
SETTLED = 1e-2  # and the residual, as a share of the value, at which it has settled
DOUBT = 1e-2  # probability with which its bound may be wrong


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
    >>> from ismlit.geometry.second_order import Scaling
    >>> scaling = Scaling(np.diag([3.0, 1.0, 0.0]), np.eye(3)[:, :1])
    >>> scaling(np.array([[0.0], [4.0], [6.0]])).ravel()  # over 3 - 1 and 3 - 0
    array([0., 2., 2.])
    """

    def __init__(self, phi, W, least=0.05):
        d, q = W.shape
        phi = phi.astype(float, copy=False)
        chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation
        rest = project_out(project_out(phi, self.W).T, self.W)
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
    >>> from ismlit.geometry.second_order import SecondOrder
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
        rest = project_out(project_out(self.phi, self.W).T, self.W)
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
            image = np.array([project_out(one, self.W) for one in image])
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
            main = (Z * self.chosen - project_out(self.phi @ Z, self.W)).ravel()
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
        noise = project_out(rng.standard_normal(self.shape), self.W).ravel()
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
