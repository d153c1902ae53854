"""J(W) = Tr(Gamma K_XW), its surrogate matrix Phi(W), and the Hessian, tile by tile.

One function serves all kernels. A pass visits each unordered pair of samples once, in square
tiles, so memory is O(n * tile) and half of the n^2 work is saved by symmetry. Constants are
never dropped: the Euclidean gradient of J is exactly ``2 Phi(W) W`` (eq-5.2).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from ismlit.gamma import as_gamma
from ismlit.kernels import Kernel, betas


@dataclass
class Count:
    """How many passes over the pairs were made; shared by all calls of one solve."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Problem:
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
    """

    X: np.ndarray
    gamma: object
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 512
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self):
        X = check_array(self.X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a Kernel, got {self.kernel!r}; as_kernel(name, X) makes one"
            )
        gamma = as_gamma(self.gamma)
        if gamma.n != len(X):
            raise ValueError(f"Gamma is for {gamma.n} samples but X has {len(X)}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "gamma", gamma.astype(X.dtype))
        for _, part in self.kernel.terms():
            part.scale(len(X))  # per-sample bandwidths must match X

    n = property(lambda self: self.X.shape[0])
    d = property(lambda self: self.X.shape[1])

    @cached_property
    def _scales(self):
        scales = [part.scale(self.n) for _, part in self.kernel.terms()]
        return [None if u is None else u.astype(self.X.dtype) for u in scales]

    @cached_property
    def _data(self):
        """X by kind of pair; differences use X minus its mean, which rounds less."""
        return {"inner": self.X, "difference": self.X - self.X.mean(axis=0)}

    @cached_property
    def _blocks(self):
        return [slice(a, min(a + self.tile, self.n)) for a in range(0, self.n, self.tile)]

    # ------------------------------------------------------------ what a solver asks for

    def objective(self, W):
        """J(W) = Tr(Gamma K_XW), accumulated in float64. Claim: eq-5.1."""
        return sum(self._sweep(_objective_row, W))

    def objective_and_phi(self, W):
        """J(W) and Phi(W) of shape (d, d) in one pass. Claims: eq-5.1, eq-5.2."""
        value, degrees = 0.0, np.zeros(self.n, self.X.dtype)
        products = {part.pairs: np.zeros_like(self.X) for _, part in self.kernel.terms()}
        for rows, row in zip(self._blocks, self._sweep(_phi_row, W), strict=True):
            part, product, sums = row
            value, degrees = value + part, degrees + sums
            for pairs in product:
                products[pairs][rows] = product[pairs]
        half = np.zeros((self.d, self.d), self.X.dtype)  # Phi = half + half'
        for pairs, product in products.items():
            data = self._data[pairs]
            if pairs == "difference":  # X'(D - Psi)X, Psi = upper + upper'
                product = degrees[:, None] * data - 2 * product
            half += data.T @ product
        if not (np.isfinite(value) and np.isfinite(half).all()):
            raise ValueError(
                f"{self.kernel!r} gives a non-finite value or derivative on this data: f and f' "
                "must be finite wherever beta falls, beta = 0 included (scale the data, or "
                "choose a formula that is smooth at 0)"
            )
        return value, half + half.T

    def phi(self, W):
        """Phi(W) of shape (d, d); the gradient of J is 2 Phi(W) W. Claim: eq-5.2."""
        return self.objective_and_phi(W)[1]

    def phi_0(self):
        """Phi at W = 0, the start that knows nothing of W. Claim: thm-5.3."""
        return self.phi(np.zeros((self.d, 1), self.X.dtype))

    def phi_derivative(self, W, Z):
        """``(d/dt Phi(W + t Z)) W`` at t = 0, for each of m directions Z of shape (m, d, q).

        The part of the Hessian that comes from f''. One pass for all directions.
        """
        Z = np.asarray(Z, self.X.dtype)
        if Z.ndim != 3 or Z.shape[1:] != np.shape(W):
            raise ValueError(f"Z must have shape (m, *W.shape) = (m, {np.shape(W)}), got {Z.shape}")
        found = sum(self._sweep(_curvature_row, W, Z))
        if not np.isfinite(found).all():
            raise ValueError(f"{self.kernel!r} has a non-finite second derivative on this data")
        return found

    def operator(self, W, cache_bytes=2**28):
        """Phi(W) as a LinearOperator on blocks of vectors: the d x d matrix is never formed.

        The tiles of Psi are kept if they fit in `cache_bytes`, else recomputed for each
        product. For d much larger than q.
        """
        tiles = {} if self.n**2 * self.X.dtype.itemsize <= cache_bytes else None

        def product(V):
            V = np.asarray(V, self.X.dtype).reshape(self.d, -1)
            self.count.passes -= bool(tiles)  # tiles at hand: the pairs are not visited again
            return sum(self._sweep(_product_row, W, V, tiles))

        shape, dtype = (self.d, self.d), self.X.dtype
        return LinearOperator(shape, matvec=product, matmat=product, rmatvec=product, dtype=dtype)

    # ------------------------------------------------------------ the sweep over tiles

    def _sweep(self, row_function, W, *extra):
        """Results of ``row_function(problem, r, Z, *extra)`` for every block row r, in order."""
        W = np.asarray(W, self.X.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        self.count.passes += 1
        Z = {part.pairs: self._data[part.pairs] @ W for _, part in self.kernel.terms()}
        parallel = self.n_jobs not in (None, 1)
        with threadpool_limits(1) if parallel else nullcontext():
            workers = Parallel(self.n_jobs, prefer="threads", return_as="generator")
            rows = range(len(self._blocks))
            yield from workers(delayed(row_function)(self, r, Z, *extra) for r in rows)

    def _tiles(self, r, Z, *orders):
        """Tiles (rows, columns, pairs, values) of block row r with columns >= rows.

        `values` holds weight * Gamma * (derivative of f of each asked order). Tiles on the
        diagonal come halved, so that every unordered pair counts once.
        """
        rows = self._blocks[r]
        for c in range(r, len(self._blocks)):
            columns = self._blocks[c]
            gamma = self.gamma.tile(rows, columns)
            if c == r:
                gamma = 0.5 * gamma
            for (weight, part), u in zip(self.kernel.terms(), self._scales, strict=True):
                beta = betas(part.pairs, Z[part.pairs][rows], Z[part.pairs][columns])
                if c == r and part.pairs == "difference":
                    np.fill_diagonal(beta, 0)
                scale = None if u is None else np.outer(u[rows], u[columns])
                if scale is not None:
                    beta *= scale
                values = []
                for order in orders:
                    value = np.multiply(gamma, (part.f, part.df, part.d2f)[order](beta))
                    value = value.astype(self.X.dtype, copy=False)
                    if weight != 1:
                        value *= weight
                    if scale is not None and order:
                        value *= scale**order
                    values.append(value)
                yield rows, columns, part.pairs, values


def _objective_row(problem, r, Z):
    tiles = problem._tiles(r, Z, 0)
    return sum(2 * float(values.sum(dtype=np.float64)) for _, _, _, (values,) in tiles)


def _phi_row(problem, r, Z):
    """J of block row r, its rows of (upper Psi) X, and its share of the degrees of Psi."""
    value, product, degrees = 0.0, {}, np.zeros(problem.n, problem.X.dtype)
    for rows, columns, pairs, (weighted, psi) in problem._tiles(r, Z, 0, 1):
        value += 2 * float(weighted.sum(dtype=np.float64))
        product[pairs] = product.get(pairs, 0) + psi @ problem._data[pairs][columns]
        if pairs == "difference":
            degrees[rows] += psi.sum(1)
            degrees[columns] += psi.sum(0)
    return value, product, degrees


def _product_row(problem, r, Z, V, tiles):
    """Block row r of Phi(W) V, from fresh or kept tiles of Psi."""
    if tiles is None or r not in tiles:
        psi_tiles = [(a, b, pairs, psi) for a, b, pairs, (psi,) in problem._tiles(r, Z, 1)]
        if tiles is not None:
            tiles[r] = psi_tiles
    else:
        psi_tiles = tiles[r]
    return sum(_times(problem, tile, problem._data[tile[2]] @ V) for tile in psi_tiles)


def _curvature_row(problem, r, Z, directions):
    """Block row r of (d/dt Phi) W for each direction: Gamma f'' times the derivative of beta."""
    total = np.zeros_like(directions)
    for rows, columns, pairs, (second,) in problem._tiles(r, Z, 2):
        z = Z[pairs]
        for m, direction in enumerate(directions):
            u = problem._data[pairs] @ direction
            slope = z[rows] @ u[columns].T + u[rows] @ z[columns].T
            if pairs == "difference":
                own = 2 * np.einsum("ij,ij->i", z, u)
                slope = own[rows][:, None] + own[columns] - 2 * slope
            total[m] += _times(problem, (rows, columns, pairs, second * slope), z)
    return total


def _times(problem, tile, P):
    """The share of one tile of Psi in ``sum_ij Psi_ij A_ij V / 2``, given P = X V."""
    rows, columns, pairs, psi = tile
    X, forth, back = problem._data[pairs], psi @ P[columns], psi.T @ P[rows]
    if pairs == "inner":
        return X[rows].T @ forth + X[columns].T @ back
    forth = psi.sum(1)[:, None] * P[rows] - forth
    back = psi.sum(0)[:, None] * P[columns] - back
    return 2 * (X[rows].T @ forth + X[columns].T @ back)
