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

from ismlit.gamma import Gamma, as_gamma
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

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian
    >>> from ismlit.gamma import supervised
    >>> from ismlit.phi import Problem
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Problem(X, supervised(y), Gaussian(1.0))
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

    has_hessian = True  # whether phi_derivative gives the second order of `objective`
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
        _require_finite(self.kernel, value, half)
        return value, half + half.T

    def objective_and_gradient(self, W):
        """J(W) and half its Euclidean gradient, Phi(W) W of shape (d, q), in one pass.

        Phi is not formed: O(n^2 q) instead of O(n^2 d), all that a first-order method needs.
        """
        found = list(self._sweep(_gradient_row, W))
        value, gradient = sum(v for v, _ in found), sum(g for _, g in found)
        _require_finite(self.kernel, value, gradient)
        return value, gradient

    def phi(self, W):
        """Phi(W) of shape (d, d); the gradient of J is 2 Phi(W) W. Claim: eq-5.2."""
        return self.objective_and_phi(W)[1]

    def phi_0(self):
        """Phi at W = 0, the start that knows nothing of W. Claim: thm-5.3.

        Psi is then f'(0) Gamma, so no pass over the pairs is needed: O(n r d).
        """
        total, magnitude = np.zeros((self.d, self.d)), 0.0
        for (weight, part), u in zip(self.kernel.terms(), self._scales):
            X = self._data[part.pairs]
            U = np.ones((self.n, 1), X.dtype) if u is None else u[:, None]
            product = U * (self.gamma @ (U * X))
            if part.pairs == "difference":
                degrees = U * (self.gamma @ U)
                product = 2 * (degrees * X - product)
            slope = weight * float(part.df(np.zeros(1))[0])
            total += slope * (X.T @ product)
            magnitude += abs(slope) * self.gamma.size * np.sum((U * X) ** 2)
        _require_finite(self.kernel, 0.0, total)
        if np.linalg.norm(total) <= 10 * np.finfo(self.X.dtype).eps * magnitude:
            total[:] = 0  # all terms cancel: what is left is rounding, and points nowhere
        return ((total + total.T) / 2).astype(self.X.dtype)

    def phi_derivative(self, W, Z):
        """``(d/dt Phi(W + t Z)) W`` at t = 0, for each of m directions Z of shape (m, d, q).

        The part of the Hessian that comes from f''. Each direction counts as one pass.
        """
        self._needs_plain("phi_derivative")
        Z = np.asarray(Z, self.X.dtype)
        if Z.ndim != 3 or Z.shape[1:] != np.shape(W):
            raise ValueError(f"Z must have shape (m, *W.shape) = (m, {np.shape(W)}), got {Z.shape}")
        found = sum(self._sweep(_curvature_row, W, Z))
        self.count.passes += len(Z) - 1
        if not np.isfinite(found).all():
            raise ValueError(f"{self.kernel!r} has a non-finite second derivative on this data")
        return found

    def gradient_derivative(self, W, Z):
        """``(d/dt) Phi(W + t Z)(W + t Z)`` at t = 0 for one direction Z (d, q), in one pass.

        Half the Euclidean Hessian of J applied to Z; Phi is not formed.
        """
        self._needs_plain("gradient_derivative")
        return sum(self._sweep(_hessian_row, W, np.asarray(Z, self.X.dtype)))

    def operator(self, W, cache_bytes=2**28):
        """Phi(W) as a LinearOperator on blocks of vectors: the d x d matrix is never formed.

        The tiles of Psi are kept if they fit in `cache_bytes`, else recomputed for each
        product. For d much larger than q.
        """
        self._needs_plain("operator")
        return self._operator(self.d, _product_row, W, cache_bytes)

    def gram_operator(self, W, cache_bytes=2**30):
        """K_XW (n, n) as a LinearOperator on blocks of vectors; Gamma plays no part.

        The tiles are kept if half of n^2 numbers fit in `cache_bytes`, else recomputed.
        """
        return self._without_gamma()._operator(self.n, _gram_row, W, 2 * cache_bytes)

    def gram_derivative(self, W, Z, V):
        """``(d/dt K_X(W + t Z)) V`` at t = 0 for V (n, m); Gamma plays no part. One pass."""
        Z, V = np.asarray(Z, self.X.dtype), np.asarray(V, self.X.dtype)
        return sum(self._without_gamma()._sweep(_gram_slope_row, W, Z, V))

    def _without_gamma(self):
        """The same pairs, each with weight 1."""
        ones = Gamma(np.ones((self.n, 1), self.X.dtype), np.ones(1))
        return Problem(self.X, ones, self.kernel, self.n_jobs, self.tile, self.count)

    def _operator(self, size, row_function, W, cache_bytes):
        """A symmetric LinearOperator of products by tiles at W, kept if n^2 numbers fit."""
        tiles = {} if self.n**2 * self.X.dtype.itemsize <= cache_bytes else None

        def product(V):
            V = np.asarray(V, self.X.dtype).reshape(size, -1)
            self.count.passes -= bool(tiles)  # tiles at hand: the pairs are not visited again
            return sum(self._sweep(row_function, W, V, tiles))

        same = dict(matvec=product, matmat=product, rmatvec=product)
        return LinearOperator((size, size), **same, dtype=self.X.dtype)

    def _needs_plain(self, method):
        """Refuse what a subclass with another objective inherits but does not derive."""
        if not self.has_hessian:
            raise NotImplementedError(f"{type(self).__name__} has no {method}")

    # ------------------------------------------------------------ the sweep over tiles

    def _sweep(self, row_function, W, *extra):
        """Results of ``row_function(problem, r, Z, *extra)`` for every block row r, in order."""
        W = np.asarray(W, self.X.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        self.count.passes += 1
        Z = {part.pairs: self._data[part.pairs] @ W for _, part in self.kernel.terms()}
        rows = range(len(self._blocks))
        yield from self._workers(delayed(row_function)(self, r, Z, *extra) for r in rows)

    def _workers(self, calls):
        """Results of delayed calls, in order, as they come; each worker has one BLAS thread."""
        parallel = self.n_jobs not in (None, 1)
        with threadpool_limits(1) if parallel else nullcontext():
            yield from Parallel(self.n_jobs, prefer="threads", return_as="generator")(calls)

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


def as_problem(X, gamma, kernel, n_jobs=None):
    """A Problem from its parts; X may be one already (then gamma and kernel are None)."""
    if not isinstance(X, Problem):
        return Problem(X, gamma, kernel, n_jobs=n_jobs)
    if gamma is not None or kernel is not None:
        raise ValueError("a Problem brings its own gamma and kernel: pass None for both")
    return X


def _require_finite(kernel, value, array):
    if not (np.isfinite(value) and np.isfinite(array).all()):
        raise ValueError(
            f"{kernel!r} gives a non-finite value or derivative on this data: f and f' "
            "must be finite wherever beta falls, beta = 0 included (scale the data, or "
            "choose a formula that is smooth at 0)"
        )


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


def _gradient_row(problem, r, Z):
    """J of block row r and its share of Phi(W) W."""
    value, gradient = 0.0, 0.0
    for rows, columns, pairs, (weighted, psi) in problem._tiles(r, Z, 0, 1):
        value += 2 * float(weighted.sum(dtype=np.float64))
        gradient = gradient + _times(problem, (rows, columns, pairs, psi), Z[pairs])
    return value, gradient


def _kept(problem, r, Z, order, tiles):
    """Tiles of block row r, from the dict `tiles` once they are there; None keeps nothing."""
    if tiles is not None and r in tiles:
        return tiles[r]
    found = [(a, b, pairs, values) for a, b, pairs, (values,) in problem._tiles(r, Z, order)]
    if tiles is not None:
        tiles[r] = found
    return found


def _product_row(problem, r, Z, V, tiles):
    """The share of block row r in Phi(W) V."""
    kept = _kept(problem, r, Z, 1, tiles)
    return sum(_times(problem, tile, problem._data[tile[2]] @ V) for tile in kept)


def _gram_row(problem, r, Z, V, tiles):
    """The share of block row r in K V."""
    total = np.zeros_like(V)
    for rows, columns, _, values in _kept(problem, r, Z, 0, tiles):
        total[rows] += values @ V[columns]
        total[columns] += values.T @ V[rows]
    return total


def _gram_slope_row(problem, r, Z, direction, V):
    """The share of block row r in (dK) V when W moves along `direction`."""
    total = np.zeros_like(V)
    for rows, columns, pairs, (psi,) in problem._tiles(r, Z, 1):
        u = problem._data[pairs] @ direction
        change = psi * _slope(rows, columns, pairs, Z[pairs], u)
        total[rows] += change @ V[columns]
        total[columns] += change.T @ V[rows]
    return total


def _curvature_row(problem, r, Z, directions):
    """Block row r of (d/dt Phi) W for each direction: Gamma f'' times the derivative of beta."""
    total = np.zeros_like(directions)
    for rows, columns, pairs, (second,) in problem._tiles(r, Z, 2):
        for m, direction in enumerate(directions):
            u = problem._data[pairs] @ direction
            slope = _slope(rows, columns, pairs, Z[pairs], u)
            total[m] += _times(problem, (rows, columns, pairs, second * slope), Z[pairs])
    return total


def _hessian_row(problem, r, Z, direction):
    """Block row r of (d/dt Phi) W + Phi Z for one direction."""
    total = np.zeros_like(direction)
    u = {pairs: problem._data[pairs] @ direction for pairs in Z}
    for rows, columns, pairs, (psi, second) in problem._tiles(r, Z, 1, 2):
        total += _times(problem, (rows, columns, pairs, psi), u[pairs])
        second = second * _slope(rows, columns, pairs, Z[pairs], u[pairs])
        total += _times(problem, (rows, columns, pairs, second), Z[pairs])
    return total


def _slope(rows, columns, pairs, z, u):
    """Derivative of the betas of a tile when the projected samples z (n, q) move along u."""
    slope = z[rows] @ u[columns].T + u[rows] @ z[columns].T
    if pairs == "inner":
        return slope
    own = 2 * np.einsum("ij,ij->i", z, u)
    return own[rows][:, None] + own[columns] - 2 * slope


def _times(problem, tile, P):
    """The share of one tile of Psi in ``sum_ij Psi_ij A_ij V / 2``, given P = X V."""
    rows, columns, pairs, psi = tile
    X, forth, back = problem._data[pairs], psi @ P[columns], psi.T @ P[rows]
    if pairs == "inner":
        return X[rows].T @ forth + X[columns].T @ back
    forth = psi.sum(1)[:, None] * P[rows] - forth
    back = psi.sum(0)[:, None] * P[columns] - back
    return 2 * (X[rows].T @ forth + X[columns].T @ back)
