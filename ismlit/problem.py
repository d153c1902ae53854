"""J(W) = Tr(Gamma K_XW), its surrogate matrix Phi(W), and the Hessian, tile by tile.

One class serves all kernels. Constants are never dropped: the Euclidean gradient of J is exactly
``2 Phi(W) W`` (eq-5.2). Two more problems have the same methods: `ismlit.normalized`, with kernels
divided by their degrees, and `ismlit.features`, in linear time. `Objective` says what a solver asks
of any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from ismlit.gamma import as_gamma
from ismlit.kernels import Kernel
from ismlit.pairs import Count, Pairs, Samples, beta_slope


@runtime_checkable
class Objective(Protocol):
    """What a solver asks of a problem: J over frames W (d, q), and its first order."""

    X: np.ndarray
    n: int
    d: int
    dtype: np.dtype
    count: Count

    def objective(self, W):
        """J(W)."""

    def objective_and_gradient(self, W):
        """J(W), and half its Euclidean gradient (d, q)."""

    def objective_and_phi(self, W):
        """J(W), and the symmetric Phi(W) (d, d) whose product with W is half the gradient."""

    def phi_0(self):
        """Phi at W = 0."""

    def scatter(self, V=None):
        """How the samples spread along V (d, k), the identity when None: ``V'X'HXV``."""

    def restrict(self, V):
        """The problem of B in W = VB, for orthonormal V (d, k)."""

    def sample(self, rows):
        """The problem of some of the samples, with a count of its own."""


@runtime_checkable
class TwiceDifferentiable(Objective, Protocol):
    """An `Objective` whose second order is known: Newton, escape and certificates need it."""

    def phi_derivative(self, W, Z):
        """``(d/dt Phi(W + t Z)) W`` at t = 0 for each direction of Z (m, d, q)."""

    def gradient_derivative(self, W, Z):
        """Half the Euclidean Hessian of J applied to Z (d, q)."""


@dataclass(frozen=True, eq=False)
class Problem(Samples):
    """max over W'W = I of Tr(Gamma K_XW): the data, and every quantity that needs the pairs.

    Parameters
    ----------
    X : array of shape (n, d), float64 or float32 (kept)
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n)
    kernel : Kernel
    n_jobs : int, optional
        Workers of joblib (threads unless another backend is active).
    tile : int
        Side of a tile of pairs; memory is a few tile x tile arrays per worker.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, Problem, label_gamma
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Problem(X, label_gamma(y), Gaussian(1.0))
    >>> [round(problem.objective(w[:, None])) for w in np.eye(4)]  # J of every feature alone
    [1305, 384, 3456, 2238]
    """

    X: np.ndarray
    gamma: object
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 512
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self):
        pairs = Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)
        gamma = as_gamma(self.gamma)
        if gamma.n != pairs.n:
            raise ValueError(f"Gamma is for {gamma.n} samples but X has {pairs.n}")
        object.__setattr__(self, "X", pairs.X)
        object.__setattr__(self, "gamma", gamma.astype(pairs.dtype))

    @cached_property
    def pairs(self):
        """K as an operator, without Gamma."""
        return Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)

    # ------------------------------------------------------------ first order

    def objective(self, W):
        """J(W) = Tr(Gamma K_XW), accumulated in float64. Claim: eq-5.1."""
        return sum(self.pairs.sweep(self._objective_row, W))

    def objective_and_phi(self, W):
        """J(W) and Phi(W) of shape (d, d) in one pass. Claims: eq-5.1, eq-5.2."""
        pairs, value = self.pairs, 0.0
        degrees = np.zeros(self.n, self.dtype)
        products = {kind: np.zeros_like(self.X) for kind in pairs.kinds}
        rows = zip(pairs.blocks, pairs.sweep(self._phi_row, W), strict=True)
        for block, (share, product, sums) in rows:
            value += share
            degrees += sums
            for kind in products:
                products[kind][block] = product[kind]
        half = np.zeros((self.d, self.d), self.dtype)  # Phi = half + half'
        for kind, product in products.items():
            data = pairs.data[kind]
            if kind == "difference":  # X'(D - Psi)X, Psi = upper + upper'
                product = degrees[:, None] * data - 2 * product
            half += data.T @ product
        self._require_finite(value, half)
        return value, half + half.T

    def objective_and_gradient(self, W):
        """J(W) and half its Euclidean gradient, Phi(W) W of shape (d, q), in one pass.

        Phi is not formed: O(n^2 q) instead of O(n^2 d), all that a first-order method needs.
        """
        found = list(self.pairs.sweep(self._gradient_row, W))
        value = sum(share for share, _ in found)
        gradient = sum(share for _, share in found)
        self._require_finite(value, gradient)
        return value, gradient

    def phi(self, W):
        """Phi(W) of shape (d, d); the gradient of J is 2 Phi(W) W. Claim: eq-5.2."""
        return self.objective_and_phi(W)[1]

    def phi_0(self):
        """Phi at W = 0, the start that knows nothing of W. Claim: thm-5.3.

        Psi is then f'(0) Gamma, so no pass over the pairs is needed: O(n r d).
        """
        total = np.zeros((self.d, self.d))
        magnitude = 0.0
        for (weight, part), u in zip(self.kernel.terms(), self.pairs.scales):
            X = self.pairs.data[part.pairs]
            U = np.ones((self.n, 1), X.dtype) if u is None else u[:, None]
            product = U * (self.gamma @ (U * X))
            if part.pairs == "difference":
                degrees = U * (self.gamma @ U)
                product = 2 * (degrees * X - product)
            slope = weight * float(part.df(np.zeros(1))[0])
            total += slope * (X.T @ product)
            magnitude += abs(slope) * self.gamma.size * np.sum((U * X) ** 2)
        self._require_finite(0.0, total)
        if np.linalg.norm(total) <= 10 * np.finfo(self.dtype).eps * magnitude:
            total[:] = 0  # all terms cancel: what is left is rounding, and points nowhere
        return ((total + total.T) / 2).astype(self.dtype)

    # ------------------------------------------------------------ second order

    def phi_derivative(self, W, Z):
        """``(d/dt Phi(W + t Z)) W`` at t = 0, for each of m directions Z of shape (m, d, q).

        The part of the Hessian that comes from f''. Each direction counts as one pass.
        """
        Z = np.asarray(Z, self.dtype)
        if Z.ndim != 3 or Z.shape[1:] != np.shape(W):
            raise ValueError(f"Z must have shape (m, *W.shape) = (m, {np.shape(W)}), got {Z.shape}")
        found = sum(self.pairs.sweep(self._curvature_row, W, self.pairs.project(Z)))
        self.count.passes += len(Z) - 1
        if not np.isfinite(found).all():
            raise ValueError(f"{self.kernel!r} has a non-finite second derivative on this data")
        return found

    def gradient_derivative(self, W, Z):
        """``(d/dt) Phi(W + t Z)(W + t Z)`` at t = 0 for one direction Z (d, q), in one pass.

        Half the Euclidean Hessian of J applied to Z; Phi is not formed.
        """
        directions = self.pairs.project(np.asarray(Z, self.dtype))
        return sum(self.pairs.sweep(self._hessian_row, W, directions))

    def operator(self, W, cache_bytes=2**28):
        """Phi(W) as a LinearOperator on blocks of vectors: the d x d matrix is never formed.

        The tiles of Psi are kept if they fit in `cache_bytes`, else recomputed for each
        product. For d much larger than q.
        """
        project = self.pairs.project
        return self.pairs.operator(self.d, self._product_row, W, cache_bytes, project)

    # ------------------------------------------------------------ block rows of the sweep

    def _tiles(self, r, views, *orders):
        """`Pairs.tiles`, each value times Gamma."""
        for rows, columns, parts in self.pairs.tiles(r, views, *orders):
            gamma = self.gamma.tile(rows, columns)
            for _, values in parts:
                for value in values:
                    value *= gamma
            yield rows, columns, parts

    def _objective_row(self, r, views):
        """J of block row r."""
        tiles = self._tiles(r, views, 0)
        return sum(_double_sum(values[0]) for _, _, parts in tiles for _, values in parts)

    def _phi_row(self, r, views):
        """J of block row r, its rows of (upper Psi) X, and its share of the degrees of Psi."""
        value, product = 0.0, {}
        degrees = np.zeros(self.n, self.dtype)
        for rows, columns, parts in self._tiles(r, views, 0, 1):
            for kind, (weighted, psi) in parts:
                value += _double_sum(weighted)
                product[kind] = product.get(kind, 0) + psi @ self.pairs.data[kind][columns]
                if kind == "difference":
                    degrees[rows] += psi.sum(axis=1)
                    degrees[columns] += psi.sum(axis=0)
        return value, product, degrees

    def _gradient_row(self, r, views):
        """J of block row r and its share of Phi(W) W."""
        value, gradient = 0.0, 0.0
        for rows, columns, parts in self._tiles(r, views, 0, 1):
            for kind, (weighted, psi) in parts:
                value += _double_sum(weighted)
                gradient = gradient + self._times(kind, rows, columns, psi, views[kind].z)
        return value, gradient

    def _product_row(self, r, views, images, kept):
        """The share of block row r in Phi(W) V, `images` being XV."""
        total = 0.0
        for rows, columns, parts in self.pairs.kept_tiles(kept, r, self._tiles(r, views, 1)):
            for kind, (psi,) in parts:
                total = total + self._times(kind, rows, columns, psi, images[kind])
        return total

    def _curvature_row(self, r, views, directions):
        """Block row r of (d/dt Phi) W for each direction: Gamma f'' times the slope of beta."""
        some = next(iter(directions.values()))
        total = np.zeros((len(some), self.d, some.shape[2]), self.dtype)
        for rows, columns, parts in self._tiles(r, views, 2):
            for kind, (second,) in parts:
                z = views[kind].z
                for m, u in enumerate(directions[kind]):
                    change = beta_slope(kind, rows, columns, z, u)
                    change *= second
                    total[m] += self._times(kind, rows, columns, change, z)
        return total

    def _hessian_row(self, r, views, directions):
        """Block row r of (d/dt Phi) W + Phi Z for one direction."""
        total = 0.0
        for rows, columns, parts in self._tiles(r, views, 1, 2):
            for kind, (psi, second) in parts:
                z, u = views[kind].z, directions[kind]
                total = total + self._times(kind, rows, columns, psi, u)
                second *= beta_slope(kind, rows, columns, z, u)
                total += self._times(kind, rows, columns, second, z)
        return total

    def _times(self, kind, rows, columns, psi, P):
        """The share of one tile of Psi in ``sum_ij Psi_ij A_ij V / 2``, given P = X V."""
        X, forth, back = self.pairs.data[kind], psi @ P[columns], psi.T @ P[rows]
        if kind == "inner":
            return X[rows].T @ forth + X[columns].T @ back
        forth = psi.sum(axis=1)[:, None] * P[rows] - forth
        back = psi.sum(axis=0)[:, None] * P[columns] - back
        return 2 * (X[rows].T @ forth + X[columns].T @ back)

    def _require_finite(self, value, array):
        if not (np.isfinite(value) and np.isfinite(array).all()):
            raise ValueError(
                f"{self.kernel!r} gives a non-finite value or derivative on this data: f and f' "
                "must be finite wherever beta falls, beta = 0 included (scale the data, or "
                "choose a formula that is smooth at 0)"
            )


def _double_sum(values):
    """Twice the sum of a tile, in double precision: each unordered pair stands for two."""
    return 2 * float(values.sum(dtype=np.float64))
