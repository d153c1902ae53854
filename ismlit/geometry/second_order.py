"""Whether a stationary point is a maximum: the matrix Kd - M and its smallest eigenvalue.

At a stationary W, turn the subspace a little along a tangent Z. With Phi held fixed J falls,
because eigenvalues of Phi are given up for smaller ones; the diagonal matrix Kd collects these
losses. Phi itself changes as well, and M collects what that change brings. So Kd - M is half of
minus the Riemannian Hessian of J, and W is a maximum where all its eigenvalues are positive.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ismlit.geometry.frames import DENSE_FEATURES, extreme_eigenvectors, project_out

FULL_SCALING_FEATURES = 1000  # With more, a scaling has only extreme eigenvectors of Phi.
DENSE_DIRECTIONS = 100  # For so few M is formed: all at once they cost as 25 products do singly.
DENSE_LIMIT = 1000  # Where ARPACK does not settle, M is formed for at most so many directions.
KRYLOV = 20  # Vectors that ARPACK keeps: with fewer, small eigenvalues take it many more products.
RESTARTS = 10  # Of ARPACK at most, each of some ten products.
SETTLED = 0.1  # ARPACK stops when its residual is below this share of the eigenvalue, ...
FLAT = 1e-6  # ... to which it adds this share of Phi, for what counts as 0 needs no digits.
BLOCK = 16  # Columns of M that are formed at a time.


class Curvature(NamedTuple):
    """The result of a second-order test at some W.

    Parameters
    ----------
    value : float
        A Rayleigh quotient of Kd - M: the smallest eigenvalue is at most this.
    error : float
        Zero where the matrix was formed. Otherwise what a residual bounds. Let S be Kd - M, scaled
        on both sides by the root of P = ``|Kd|``, and r the norm of ``S v - mu v`` for the v of
        norm 1 that ARPACK found: some eigenvalue of S is within r of mu, for certain. If that is
        the smallest one, as ARPACK seeks it, no eigenvalue of Kd - M is below ``value - error``,
        which is ``(mu - r) min(P)``, or ``(mu - r) max(P)`` where mu < r. Infinite if ARPACK did
        not settle.
    eigengap : float
        The smallest chosen eigenvalue of Phi less the largest other one.
    size : float
        The Frobenius norm of Phi, which the other numbers are to be compared with.

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
    """Powers of the matrix |Kd| at some W, which scale a step as Newton's method would without M.

    It is made of all eigenvectors of Phi. Where Phi is large only the extreme ones are computed,
    and the others share their mean eigenvalue.

    Parameters
    ----------
    phi : array of shape (d, d)
        Phi at W.
    W : array of shape (d, q)
        Orthonormal columns.
    least : float, default=0.05
        |Kd| is kept above this share of the largest entry in its column.

    Attributes
    ----------
    W : array of shape (d, q)
        The frame given, its columns turned to Ritz vectors of Phi.
    rotation : array of shape (q, q)
        The rotation that turned them.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.geometry.second_order import Scaling
    >>> scaling = Scaling(np.diag([3.0, 1.0, 0.0]), np.eye(3)[:, :1])
    >>> scaling(np.array([[0.0], [4.0], [6.0]])).ravel()  # over 3 - 1 and 3 - 0
    array([0., 2., 2.])
    """

    def __init__(self, phi: np.ndarray, W: np.ndarray, least: float = 0.05) -> None:
        d, q = W.shape
        phi = phi.astype(float, copy=False)
        chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation
        rest = project_out(project_out(phi, self.W).T, self.W)
        if d <= FULL_SCALING_FEATURES:
            others, self.V = np.linalg.eigh(rest)
            mean = 0.0
        else:
            others, self.V = extreme_eigenvectors(rest, q + 20, "LM", tol=1e-2)
            mean = (np.trace(rest) - others.sum()) / (d - len(others))
        sizes, of_mean = np.abs(chosen - others[:, None]), np.abs(chosen - mean)
        least = least * sizes.max(axis=0)
        self.sizes = np.maximum(sizes, least)
        self.bulk = np.maximum(of_mean, least) if d > FULL_SCALING_FEATURES else None

    def __call__(self, Z: np.ndarray, power: float = -1) -> np.ndarray:
        """Multiply a tangent by a power of |Kd|.

        Parameters
        ----------
        Z : array of shape (d, q)
            A tangent at W.
        power : float, default=-1
            The exponent.

        Returns
        -------
        array of shape (d, q)
            The product.
        """
        coordinates = self.V.T @ Z
        scaled = self.V @ (coordinates * self.sizes**power)
        return (
            scaled if self.bulk is None else scaled + (Z - self.V @ coordinates) * self.bulk**power
        )

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest entry of |Kd|."""
        sizes = self.sizes if self.bulk is None else np.vstack([self.sizes, self.bulk])
        return sizes.min(), sizes.max()


class SecondOrder:
    """The matrix Kd - M at some W, as products with tangents.

    A tangent Z of shape (d, q) has the coordinates ``B = W_bar' Z`` of shape (d - q, q), where
    W_bar holds the other eigenvectors of Phi. Where Phi is large these are not computed, and a
    tangent is its own coordinates.

    Parameters
    ----------
    problem : TwiceDifferentiable
        What is maximised.
    W : array of shape (d, q)
        Orthonormal columns.
    phi : array of shape (d, d)
        Phi at W.

    See Also
    --------
    ismlit.certify : Tests the conditions of a maximum at any W.

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

    def __init__(self, problem: Any, W: np.ndarray, phi: np.ndarray) -> None:
        d, q = W.shape
        self.problem, self.dtype, self.phi = problem, W.dtype, phi
        self.phi_size = float(np.linalg.norm(phi))
        self.chosen, self.rotation = eigh(W.T @ phi @ W)
        self.W = W @ self.rotation  # columns as eigenvectors of Phi
        self.size = (d - q) * q
        self.in_basis = d <= DENSE_FEATURES
        self.shape = (d - q if self.in_basis else d, q)

    @cached_property
    def _complement(self):
        """The other eigenvalues of Phi, rising, and their vectors W_bar (d, d - q)."""
        complement = qr(self.W)[0][:, self.W.shape[1] :]
        others, rotation = np.linalg.eigh(complement.T @ self.phi @ complement)  # may be empty
        return others, complement @ rotation

    @property
    def W_bar(self) -> np.ndarray:
        """The other eigenvectors of Phi (d, d - q)."""
        return self._complement[1]

    @property
    def kd(self) -> np.ndarray:
        """The diagonal of Kd in the coordinates of W_bar (size,)."""
        return (self.chosen[None, :] - self._complement[0][:, None]).ravel()

    @cached_property
    def eigengap(self) -> float:
        """The smallest chosen eigenvalue of Phi less the largest other one."""
        if not self.size:
            return np.inf
        if self.in_basis:
            return float(self.kd.min())
        rest = project_out(project_out(self.phi, self.W).T, self.W)
        rest -= 2 * self.phi_size * self.W @ self.W.T  # W's own zeros go to the far end
        rest[np.diag_indices(len(rest))] += self.phi_size  # ARPACK's accuracy is the value's
        highest = extreme_eigenvectors(rest, 1, "LA")[0][0] - self.phi_size
        return float(self.chosen[0] - highest)

    def m_times(self, B: np.ndarray) -> np.ndarray:
        """Multiply M by columns of coordinates, in one pass over the pairs for each.

        Parameters
        ----------
        B : array of shape (size, m)
            Coordinates of m tangents.

        Returns
        -------
        array of shape (size, m)
            The products.
        """
        Z = B.T.reshape(-1, *self.shape)
        if self.in_basis:
            Z = np.einsum("di,miq->mdq", self.W_bar, Z)
        image = self.problem.phi_derivative(self.W, Z)
        if self.in_basis:
            image = np.einsum("di,mdq->miq", self.W_bar, image)
        else:
            image = np.array([project_out(one, self.W) for one in image])
        return image.reshape(len(Z), -1).T

    def m_dense(self) -> np.ndarray:
        """Return M as an array, which is formed once.

        Returns
        -------
        array of shape (size, size)
            The symmetric matrix.
        """
        columns = np.eye(self.size, dtype=self.dtype)
        blocks = range(0, self.size, BLOCK)
        M = np.hstack([self.m_times(columns[:, k : k + BLOCK]) for k in blocks])
        return (M + M.T) / 2

    def times(self, b: np.ndarray) -> np.ndarray:
        """Multiply Kd - M by the coordinates of one tangent, in one pass over the pairs.

        Parameters
        ----------
        b : array of shape (size,)
            Coordinates of a tangent.

        Returns
        -------
        array of shape (size,)
            The product.
        """
        if self.in_basis:
            main = self.kd * b
        else:
            Z = b.reshape(self.shape)
            main = (Z * self.chosen - project_out(self.phi @ Z, self.W)).ravel()
        return main - self.m_times(b[:, None])[:, 0]

    def tangent(self, b: np.ndarray) -> np.ndarray:
        """Return the tangent that has given coordinates.

        Parameters
        ----------
        b : array of shape (size,)
            The coordinates.

        Returns
        -------
        array of shape (d, q)
            A tangent at the W that was given.
        """
        Z = b.reshape(self.shape)
        return (self.W_bar @ Z if self.in_basis else Z) @ self.rotation.T

    def lowest(self, dense: bool = False) -> tuple[Curvature, np.ndarray]:
        """Return the smallest eigenvalue of Kd - M, and the tangent along which it is taken.

        M is formed if there are at most 100 directions. Otherwise ARPACK looks for the eigenvalue
        by products; where it does not settle, and there are at most 1000 directions, M is formed
        after all.

        Parameters
        ----------
        dense : bool, default=False
            Form M in any case.

        Returns
        -------
        curvature : Curvature
            The eigenvalue, with the error that it may have.
        Z : array of shape (d, q)
            The tangent at the W that was given, of norm 1.
        """
        if self.size == 0:
            return Curvature(np.inf, 0.0, np.inf, self.phi_size), np.zeros_like(self.W)
        dense = dense or (self.in_basis and self.size <= DENSE_DIRECTIONS)
        lowest = None if dense else self._lowest_by_products()
        if lowest is None:
            values, vectors = eigh(np.diag(self.kd) - self.m_dense(), subset_by_index=(0, 0))
            lowest = values[0], vectors[:, 0], 0.0
        value, vector, error = lowest
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
        tangent = lambda Z: project_out(Z, self.W).ravel()
        over_root = lambda b: tangent(scaling(b.reshape(self.shape), -0.5))
        return over_root, scaling.extremes, tangent(scaling(rng.standard_normal(self.shape)))

    def _along_w(self, b):
        """What is no tangent in coordinates that ARPACK tries: none where these are of W_bar."""
        return 0 if self.in_basis else (self.W @ (self.W.T @ b.reshape(self.shape))).ravel()

    def _lowest_by_products(self):
        """The smallest eigenvalue by ARPACK: (value, vector, error); None if M is to be formed.

        It is that of ``S = P^(-1/2) (Kd - M) P^(-1/2)``, P = |Kd|, which has the signs of Kd - M
        (Sylvester) and, M being small against Kd, a spectrum near one. If mu is a lower bound of
        its eigenvalues, Kd - M >= mu min(P) for mu >= 0, else mu max(P).
        """
        over_root, (least, largest), start = self._preconditioner()
        level = max(FLAT, 100 * float(np.finfo(self.dtype).eps)) * self.phi_size / largest

        def product(b):  # of S + level, whose eigenvalues ARPACK finds to a share of themselves
            image = over_root(self.times(over_root(b).astype(self.dtype)))
            return image + level * b + self._along_w(b)  # rounding does not grow amid a spectrum

        S = LinearOperator((start.size, start.size), matvec=product, dtype=float)
        options = dict(v0=start, ncv=KRYLOV, tol=SETTLED, maxiter=RESTARTS)
        try:
            v, settled = eigsh(S, 1, which="SA", **options)[1][:, 0], True
        except ArpackError:
            if self.in_basis and self.size <= DENSE_LIMIT:
                return None
            v, settled = start, False
        v = v - self._along_w(v)
        v /= np.linalg.norm(v)
        x, image = over_root(v), product(v) - level * v
        mu = v @ image
        lower = mu - np.linalg.norm(image - mu * v) if settled else -np.inf
        lower *= least if lower >= 0 else largest
        value = mu / (x @ x)
        return value, x / np.linalg.norm(x), max(value - lower, 0.0)
