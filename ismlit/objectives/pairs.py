"""The kernel of all pairs of samples, tile by tile: sums over pairs, products with K."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import delayed
from scipy.sparse.linalg import LinearOperator

from ismlit.geometry.frames import as_frame, fixed_signs
from ismlit.grams import ConstantKernelError, beta_factors, beta_slope_factors, float_array
from ismlit.kernels import Kernel
from ismlit.parallel import in_parallel


@dataclass
class Count:
    """How many passes over the pairs were made; shared by all calls of one solve."""

    passes: int = 0


class Samples:
    """What every objective knows of its samples: a base of frozen dataclasses.

    A subclass has the fields X (n, d) and kernel, and is an `Objective` if it has a Gamma.
    """

    n = property(lambda self: self.X.shape[0])
    d = property(lambda self: self.X.shape[1])
    dtype = property(lambda self: self.X.dtype)

    def scatter(self, V=None):
        """How the samples spread along V (d, k), the identity when None: ``V'X'HXV``."""
        seen = self.X - self.X.mean(axis=0)
        seen = seen if V is None else seen @ V
        return seen.T @ seen

    def restrict(self, V):
        """The same for the samples XV, V (d, k): the problem of B in W = VB."""
        return replace(self, X=self.X @ V)

    def span(self, more):
        """An orthonormal basis (d, k) of the rows of X and of the columns of `more` (d, m)."""
        return np.linalg.qr(np.hstack([self.X.T, more]).astype(self.dtype))[0]

    def in_its_span(self, q, W=None):
        """The same objective in the span of its samples, and a basis V (d, r) of that span.

        J sees a frame only through XW. So the rows of X, the columns of W (d, k) if it is given,
        and q more directions in which nothing varies hold a solution, and every curvature at W:
        Phi is ``V Phi_V V'``. Where they fill the space this is the objective itself, and V None.
        """
        more = np.random.default_rng(0).standard_normal((self.d, q))
        more = more if W is None else np.hstack([more, W])
        if self.d <= self.n + more.shape[1]:
            return self, None
        V = self.span(more)
        return self.restrict(V), V

    def solved_by(self, solve, q, init):
        """What ``solve(objective, init)`` returns, for this objective and a W of q columns.

        It is solved in the span of the samples where that is smaller, and W carried back.
        """
        if isinstance(init, str):
            reduced, V = self.in_its_span(q)
        else:
            init = as_frame(init, self.d, self.dtype, "init")
            reduced, V = self.in_its_span(q, init)
        if V is None:
            return solve(self, init)
        result = solve(reduced, init if isinstance(init, str) else V.T @ init)
        return replace(result, W=fixed_signs(V @ result.W), problem=self)

    def check_start(self, W, J, phi):
        """Refuse a start W (d, q) from which nothing can be learnt, by J and Phi there.

        Raises
        ------
        ConstantKernelError
            If the kernel is constant on the samples seen through W, or Gamma is 0.
        """
        size = np.linalg.norm(phi)
        if self.kernel.tends_to_one:  # J is then the sum of Gamma, and its rounding
            rounding = 100 * np.finfo(phi.dtype).eps * self.n * self.gamma.norm_bound
            if max(abs(J), size) <= rounding and np.any(self.phi_0()):
                raise ConstantKernelError(
                    f"{self.kernel!r} is 1 between any two samples to rounding: use a bandwidth "
                    "near the distances (median_distance), or kernel='linear', its limit"
                )
        if size <= 1e-60 * abs(J):  # what an underflow leaves of a kernel
            raise ConstantKernelError(
                "Phi is zero at the start: either Gamma = 0, or the kernel is constant on "
                "this data (a bandwidth far below the distances underflows; try median_distance)"
            )

    def sample(self, rows):
        """The same for some of the samples; passes over them are counted apart."""
        parts = dict(X=self.X[rows], kernel=self.kernel.sample(rows), count=Count())
        for name in ("gamma", "fixed"):
            if getattr(self, name, None) is not None:
                parts[name] = getattr(self, name).sample(rows)
        return replace(self, **parts)


class Part(NamedTuple):
    """One formula of a kernel, and the samples as it sees them.

    Where it has a factor u (n, 1) for each sample, f sees ``u_i u_j beta_ij``.
    """

    weight: float
    kernel: Kernel
    X: np.ndarray
    u: np.ndarray | None

    def scaled(self, V, order):
        """V (n, m) times u to the power `order`."""
        return V if self.u is None or not order else V * self.u**order


class View(NamedTuple):
    """Projected samples z = XW (n, q) of one part, and two factors of all its betas."""

    z: np.ndarray
    left: np.ndarray  # (n, k)
    right: np.ndarray  # (k, n)


@dataclass(frozen=True, eq=False)
class Pairs(Samples):
    """The pairs of samples under a kernel: K_XW as an operator, without an n x n array.

    Parameters
    ----------
    X : array of shape (n, d), float64 or float32 (kept)
    kernel : Kernel
    n_jobs : int, optional
        Workers of joblib (threads unless another backend is active).
    tile : int
        Side of a tile of pairs; memory is a few tile x tile arrays per worker.
    count : Count, optional
        Where passes are counted.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, gram
    >>> from ismlit.objectives.pairs import Pairs
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> K = Pairs(X, Gaussian(1.0)).gram_operator(np.eye(1))
    >>> bool(np.allclose(K @ np.ones(3), gram(Gaussian(1.0), X).sum(axis=1)))
    True
    """

    X: np.ndarray
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 256
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self):
        X = float_array(self.X, least=2)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a Kernel, got {self.kernel!r}; as_kernel(name, X) makes one"
            )
        object.__setattr__(self, "X", X)
        for _, part in self.kernel.terms():
            part.scale(len(X))  # per-sample bandwidths must match X

    @cached_property
    def parts(self):
        """The formulas of the kernel; differences see X minus its mean, which rounds less."""
        centred = self.X - self.X.mean(axis=0)
        data = {"inner": self.X, "difference": centred}
        found = []
        for weight, part in self.kernel.terms():
            u = part.scale(self.n)
            u = None if u is None else u.astype(self.dtype)[:, None]
            found.append(Part(float(weight), part, data[part.pairs], u))
        return found

    @cached_property
    def blocks(self):
        """The slices of samples that tiles are made of."""
        return [slice(a, min(a + self.tile, self.n)) for a in range(0, self.n, self.tile)]

    def project(self, directions):
        """X times the directions as every part sees it, each of shape (..., n, q)."""
        products = {id(part.X): part.X @ directions for part in self.parts}
        return [products[id(part.X)] for part in self.parts]

    def slopes(self, views, directions):
        """For every part two factors of the derivatives of its betas along Z, given XZ."""
        found = []
        for part, view, U in zip(self.parts, views, directions, strict=True):
            left, right = beta_slope_factors(part.kernel.pairs, view.z, U)
            found.append((left, np.ascontiguousarray(right.T)))
        return found

    # ------------------------------------------------------------ the sweep over tiles

    def views(self, W):
        """A `View` of the samples for every part of the kernel.

        Raises
        ------
        ValueError
            If W is not of shape (d, q).
        """
        W = np.asarray(W, self.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        return [_view(part, z) for part, z in zip(self.parts, self.project(W), strict=True)]

    def sweep(self, row, views, *arguments):
        """Results of ``row(r, views, *arguments)`` for every block row r, in order: one pass."""
        self.count.passes += 1
        calls = [delayed(row)(r, views, *arguments) for r in range(len(self.blocks))]
        yield from in_parallel(self.n_jobs, calls)

    def tiles(self, r, views, *orders, keep=False):
        """Tiles (rows, columns, parts) of block row r with columns >= rows.

        `parts` holds for each part of the kernel one pair (number, array) for each order, the
        derivatives of f but for the factors u. The arrays may be overwritten, and are by the next
        tile unless they are to be kept. The numbers hold the weight, and a half on the diagonal,
        so that every unordered pair counts once.
        """
        rows = self.blocks[r]
        scratch = [np.empty(self.tile * self.tile, self.dtype) for _ in self.parts]
        for columns in self.blocks[r:]:
            half = 0.5 if columns == rows else 1.0
            shape = rows.stop - rows.start, columns.stop - columns.start
            parts = []
            for part, view, space in zip(self.parts, views, scratch, strict=True):
                beta = None if keep else space[: shape[0] * shape[1]].reshape(shape)
                beta = np.matmul(view.left[rows], view.right[:, columns], out=beta)
                if part.kernel.pairs == "difference":
                    clip = np.maximum if part.kernel.argument > 0 else np.minimum
                    clip(beta, 0, out=beta)
                    if columns == rows:
                        np.fill_diagonal(beta, 0)
                found = part.kernel.f_and_derivatives(beta, orders)
                number = half * part.weight
                parts.append(
                    [(number * factor, a.astype(self.dtype, copy=False)) for factor, a in found]
                )
            yield rows, columns, parts

    def operator(self, size, product, W, cache_bytes):
        """A symmetric LinearOperator of products by ``product(views, V, kept)`` at W: one pass.

        Tiles are kept if half of n^2 numbers fit in `cache_bytes`, else computed anew for each
        product.
        """
        views = self.views(W)
        kept = {} if self.n**2 * self.dtype.itemsize / 2 <= cache_bytes else None

        def times(V):
            self.count.passes -= bool(kept)  # tiles at hand: the pairs are not visited again
            return product(views, np.asarray(V, self.dtype).reshape(size, -1), kept)

        same = dict(matvec=times, matmat=times, rmatvec=times)
        return LinearOperator((size, size), **same, dtype=self.dtype)

    def kept_tiles(self, kept, r, tiles):
        """The tiles of block row r: from the dict `kept` once they are there, None keeps none."""
        if kept is None:
            return tiles
        if r not in kept:
            kept[r] = list(tiles)
        return kept[r]

    def spread(self, shares):
        """The sum over block rows of their shares, each for the samples from its first row on."""
        shares = iter(shares)
        total = [array.copy() for array in next(shares)]
        for block, share in zip(self.blocks[1:], shares, strict=True):
            for array, part in zip(total, share, strict=True):
                array[block.start :] += part
        return total

    def shares(self, r, *columns):
        """Zeros for the samples from block row r on, one array of so many columns for each part."""
        n = self.n - self.blocks[r].start
        return [np.zeros((n, m), self.dtype) for m in columns]

    # ------------------------------------------------------------ K as an operator

    def gram_operator(self, W, cache_bytes=2**30):
        """K_XW (n, n) as a LinearOperator on blocks of vectors."""

        def product(views, V, kept):
            return self.spread(self.sweep(self._gram_row, views, V, kept))[0]

        return self.operator(self.n, product, W, cache_bytes)

    def gram_derivative(self, W, Z, V):
        """``(d/dt K_X(W + t Z)) V`` at t = 0 for V (n, m), in one pass."""
        views = self.views(W)
        slopes = self.slopes(views, self.project(np.asarray(Z, self.dtype)))
        V = np.asarray(V, self.dtype)
        sides = [part.scaled(V, 1) for part in self.parts]
        found = self.spread(self.sweep(self._gram_slope_row, views, slopes, sides))
        return sum(part.scaled(total, 1) for part, total in zip(self.parts, found, strict=True))

    def row_sums(self, K):
        """K 1 of shape (n,) from K as an operator; a ValueError unless all are positive."""
        sums = np.asarray(K @ np.ones(self.n, self.dtype)).ravel()
        if not (sums > 0).all():
            raise ValueError(
                f"degree normalisation needs positive row sums of K, the smallest of "
                f"{self.kernel!r} is {sums.min():.3g}: use a kernel that is positive, or "
                "normalize='none'"
            )
        return sums

    def _gram_row(self, r, views, V, kept):
        """The share of block row r in K V."""
        (total,) = self.shares(r, V.shape[1])
        tiles = self.tiles(r, views, 0, keep=kept is not None)
        for rows, columns, parts in self.kept_tiles(kept, r, tiles):
            for ((number, values),) in parts:
                add_both_ways(total, rows, columns, number, values, V)
        return [total]

    def _gram_slope_row(self, r, views, slopes, sides):
        """The share of block row r in (dK) V when W moves, by part and but for the factors u."""
        totals = self.shares(r, *(V.shape[1] for V in sides))
        for rows, columns, parts in self.tiles(r, views, 1):
            for k, ((number, values),) in enumerate(parts):
                values *= slope_tile(slopes[k], rows, columns)
                add_both_ways(totals[k], rows, columns, number, values, sides[k])
        return totals


def _view(part, z):
    """The `View` of projected samples z: beta comes with the kernel's factor and with u."""
    left, right = beta_factors(part.kernel.pairs, z)
    left, right = part.scaled(left, 1), part.scaled(right, 1)
    if part.kernel.argument != 1:
        left = left * z.dtype.type(part.kernel.argument)
    return View(z, left, np.ascontiguousarray(right.T))


def slope_tile(factors, rows, columns):
    """One tile of the derivatives of beta from their two factors."""
    left, right = factors
    return left[rows] @ right[:, columns]


def add_both_ways(total, rows, columns, number, values, V):
    """Add ``number (A + A') V`` of a tile A to `total`, which starts at the first of its rows."""
    start = rows.start
    if start == columns.start:  # on the diagonal, where A is symmetric
        total[: rows.stop - start] += 2 * number * (values @ V[rows])
        return
    total[: rows.stop - start] += number * (values @ V[columns])
    total[columns.start - start : columns.stop - start] += number * (values.T @ V[rows])
