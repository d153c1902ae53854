"""The kernel of all pairs of samples, one tile at a time: sums over pairs, and products with K."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ismlit.geometry.frames import as_frame, fixed_signs
from ismlit.grams import (
    ConstantKernelError,
    beta_factors,
    beta_slope_factors,
    column_means,
    float_array,
)
from ismlit.kernels import Kernel
from ismlit.parallel import in_parallel


@dataclass
class Count:
    """The number of passes over the pairs, shared by all calls of one solve.

    Parameters
    ----------
    passes : int, default=0
        How many have been made.
    """

    passes: int = 0


class Samples:
    """What every objective knows of its samples: a base of frozen dataclasses.

    A subclass has the fields X (n, d) and kernel, and is an `Objective` if it has a Gamma.
    """

    X: Any
    kernel: Kernel
    gamma: Any
    phi_0: Any
    n = property(lambda self: self.X.shape[0])
    d = property(lambda self: self.X.shape[1])
    dtype = property(lambda self: self.X.dtype)

    def scatter(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return how the samples spread along some directions.

        Parameters
        ----------
        V : array of shape (d, k), optional
            The directions; the features themselves when None.

        Returns
        -------
        array of shape (k, k)
            The matrix ``V'X'HXV``, n times their covariance.
        """
        seen = self.X - column_means(self.X).astype(self.dtype)
        seen = seen if V is None else seen @ V
        return seen.T @ seen

    def restrict(self, V: np.ndarray) -> Self:
        """Return the same objective of B in W = VB, which sees the samples through V.

        Parameters
        ----------
        V : array of shape (d, k)
            Orthonormal columns.

        Returns
        -------
        Samples
            The objective for the samples XV.
        """
        return replace(self, X=self.X @ V)  # type: ignore[type-var]

    def span(self, more: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of the rows of X and of more directions.

        Parameters
        ----------
        more : array of shape (d, m)
            Columns that the basis is to hold too.

        Returns
        -------
        array of shape (d, k)
            Orthonormal columns.
        """
        return np.linalg.qr(np.hstack([self.X.T, more]).astype(self.dtype))[0]

    def in_its_span(self, q: int, W: np.ndarray | None = None) -> tuple[Self, np.ndarray | None]:
        """Return the same objective in the span of its samples, where that is smaller.

        J sees a frame only through XW. So a solution, and every curvature at W, lies in a space
        that is spanned by the rows of X, the columns of W, and q more directions in which nothing
        varies. There Phi is ``V Phi_V V'``.

        Parameters
        ----------
        q : int
            The number of columns that a solution has.
        W : array of shape (d, k), optional
            Columns that the space is to hold.

        Returns
        -------
        objective : Samples
            The objective of B in W = VB.
        V : array of shape (d, r), or None
            The basis; None where the space is everything, and the objective is this one.
        """
        more = np.random.default_rng(0).standard_normal((self.d, q))
        more = more if W is None else np.hstack([more, W])
        if self.d <= self.n + more.shape[1]:
            return self, None
        V = self.span(more)
        return self.restrict(V), V

    def solved_by(self, solve: Callable[..., Any], q: int, init: str | ArrayLike) -> Any:
        """Solve for W in the span of the samples, where that is smaller, and carry W back.

        Parameters
        ----------
        solve : callable ``solve(objective, init)``
            The solver; it returns an `ISMResult`.
        q : int
            The number of columns of W.
        init : str or array of shape (d, q)
            Where W starts.

        Returns
        -------
        ISMResult
            Its W is one for all features.
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

    def check_start(self, W: np.ndarray, J: float, phi: np.ndarray) -> None:
        """Refuse a start from which nothing can be learnt.

        Parameters
        ----------
        W : array of shape (d, q)
            The start.
        J : float
            The objective there.
        phi : array of shape (d, d)
            Phi there.

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
                "nothing can be learnt at the start, where Phi is zero: either Gamma is 0, since "
                f"all rows have the same target, or {self.kernel!r} is constant on this data (a "
                "bandwidth far below the distances underflows; median_distance(X) is a usual one)"
            )

    def sample(self, rows: np.ndarray) -> Self:
        """Return the same objective for some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Samples
            The objective, with a count of passes of its own.
        """
        parts = dict(X=self.X[rows], kernel=self.kernel.sample(rows), count=Count())
        for name in ("gamma", "fixed"):
            if getattr(self, name, None) is not None:
                parts[name] = getattr(self, name).sample(rows)
        return replace(self, **parts)  # type: ignore[type-var]


class Part(NamedTuple):
    """One formula of a kernel, and the samples as it sees them.

    Attributes
    ----------
    weight : float
        The formula's weight in the sum.
    kernel : Kernel
        The formula.
    X : array of shape (n, d)
        The samples, centred for differences.
    u : array of shape (n, 1), or None
        A factor for each sample: f sees ``u_i u_j beta_ij``.
    """

    weight: float
    kernel: Kernel
    X: np.ndarray
    u: np.ndarray | None

    def scaled(self, V: np.ndarray, order: int) -> np.ndarray:
        """Multiply an array by a power of the factors u.

        Parameters
        ----------
        V : array of shape (n, m)
            One row for each sample.
        order : int
            The exponent.

        Returns
        -------
        array of shape (n, m)
            The product, V itself where there are no factors.
        """
        return V if self.u is None or not order else V * self.u**order


class View(NamedTuple):
    """The samples of one part seen through W, and two factors of all its betas.

    Attributes
    ----------
    z : array of shape (n, q)
        Projected samples XW.
    left : array of shape (n, k)
        The left factor of the betas.
    right : array of shape (k, n)
        The right factor.
    """

    z: np.ndarray
    left: np.ndarray
    right: np.ndarray


@dataclass(frozen=True, eq=False)
class Pairs(Samples):
    """The kernel matrix K_XW as an operator on vectors, without an n x n array.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows. Single precision (float32) is kept.
    kernel : Kernel
        The kernel.
    n_jobs : int, optional
        Workers of joblib, threads unless another backend is active. None takes as many threads as
        BLAS would.
    tile : int, default=256
        The side of a tile of pairs. Memory is a few tile x tile arrays for each worker.
    count : Count, optional
        Where passes are counted.

    Raises
    ------
    TypeError
        If `kernel` is not a Kernel.
    ValueError
        If X holds NaN or infinity, or has fewer than two rows.

    See Also
    --------
    ismlit.gram : The matrix as an array, for small n.

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
    def parts(self) -> list[Part]:
        """The formulas of the kernel; differences see X less its mean, which rounds less."""
        centred = self.X - self.X.mean(axis=0)
        data = {"inner": self.X, "difference": centred}
        found = []
        for weight, part in self.kernel.terms():
            u = part.scale(self.n)
            u = None if u is None else u.astype(self.dtype)[:, None]
            found.append(Part(float(weight), part, data[part.pairs], u))
        return found

    @cached_property
    def blocks(self) -> list[slice]:
        """The slices of samples that tiles are made of."""
        return [slice(a, min(a + self.tile, self.n)) for a in range(0, self.n, self.tile)]

    def project(self, directions: np.ndarray) -> list[np.ndarray]:
        """Return the samples seen along directions, as every part sees them.

        Parameters
        ----------
        directions : array of shape (..., d, q)
            One set of directions or several.

        Returns
        -------
        list of arrays of shape (..., n, q)
            One for each part.
        """
        products = {id(part.X): part.X @ directions for part in self.parts}
        return [products[id(part.X)] for part in self.parts]

    def slopes(self, views: list[View], directions: Sequence[np.ndarray]) -> list[tuple]:
        """Return two factors of the derivatives of all betas, for every part.

        Parameters
        ----------
        views : list of View
            The samples seen through W.
        directions : list of arrays of shape (n, q)
            For every part XZ, where W moves along Z.

        Returns
        -------
        list of (left, right)
            Arrays of shape (n, k) and (k, n).
        """
        found = []
        for part, view, U in zip(self.parts, views, directions, strict=True):
            left, right = beta_slope_factors(part.kernel.pairs, view.z, U)
            found.append((left, np.ascontiguousarray(right.T)))
        return found

    # ------------------------------------------------------------ the sweep over tiles

    def views(self, W: ArrayLike) -> list[View]:
        """Return the samples seen through W, for every part of the kernel.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        list of View
            One for each part.

        Raises
        ------
        ValueError
            If W is not of shape (d, q).
        """
        W = np.asarray(W, self.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        return [_view(part, z) for part, z in zip(self.parts, self.project(W), strict=True)]

    def sweep(self, row: Callable[..., Any], views: list[View], *arguments: Any) -> Iterator[Any]:
        """Visit all pairs once, one row of tiles after the other, in parallel.

        Parameters
        ----------
        row : callable ``row(r, views, *arguments)``
            What is done with the r-th row of tiles.
        views : list of View
            The samples seen through W.
        *arguments : tuple
            Passed on.

        Yields
        ------
        object
            What `row` returns, in order.
        """
        self.count.passes += 1
        calls = [delayed(row)(r, views, *arguments) for r in range(len(self.blocks))]
        yield from in_parallel(self.n_jobs, calls)

    def tiles(self, r: int, views: list[View], *orders: int, keep: bool = False) -> Iterator[tuple]:
        """Compute the kernel and its derivatives on the tiles of one row of tiles.

        Only tiles with columns >= rows are visited, since the matrix is symmetric.

        Parameters
        ----------
        r : int
            Which row of tiles.
        views : list of View
            The samples seen through W.
        *orders : {0, 1, 2}
            Which derivatives of f are wanted.
        keep : bool, default=False
            Whether each tile gets arrays of its own. Otherwise the arrays are scratch memory: they
            may be overwritten, and the next tile overwrites them.

        Yields
        ------
        rows : slice
            The samples of the tile's rows.
        columns : slice
            Those of its columns.
        values : list
            ``values[k][m] = (c, A)``: c times the array A is the derivative of order ``orders[m]``
            of the k-th part of the kernel on this tile, except for the factors u. The number c
            holds the part's weight, and 1/2 on the diagonal so that each pair of samples counts
            once.
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

    def operator(self, size: int, product: Callable, W: ArrayLike, cache_bytes) -> LinearOperator:
        """Make a symmetric linear operator of products that take one pass over the pairs.

        Parameters
        ----------
        size : int
            The number of its rows.
        product : callable ``product(views, V, kept)``
            The product with V; `kept` is a dict for tiles, or None.
        W : array of shape (d, q)
            The projection.
        cache_bytes : float
            The tiles are kept if half of n^2 numbers fit in so many bytes. Otherwise each product
            computes them anew.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            The operator.
        """
        views = self.views(W)
        kept: dict | None = {} if self.n**2 * self.dtype.itemsize / 2 <= cache_bytes else None

        def times(V):
            self.count.passes -= bool(kept)  # tiles at hand: the pairs are not visited again
            return product(views, np.asarray(V, self.dtype).reshape(size, -1), kept)

        same = dict(matvec=times, matmat=times, rmatvec=times)
        return LinearOperator((size, size), **same, dtype=self.dtype)

    def kept_tiles(self, kept: dict | None, r: int, tiles: Iterator) -> Iterable:
        """Return the tiles of one row of tiles, from memory once they are there.

        Parameters
        ----------
        kept : dict or None
            The tiles by row. None keeps none.
        r : int
            Which row of tiles.
        tiles : iterator
            What computes them.

        Returns
        -------
        iterable
            The tiles, as `tiles` gives them.
        """
        if kept is None:
            return tiles
        if r not in kept:
            kept[r] = list(tiles)
        return kept[r]

    def spread(self, shares: Iterable[Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Add up what the rows of tiles contribute.

        Parameters
        ----------
        shares : iterable of lists of arrays
            For each row of tiles its arrays, whose rows are the samples from its first one on.

        Returns
        -------
        list of arrays of shape (n, m)
            The sums.
        """
        shares = iter(shares)
        total = [1 * array for array in next(shares)]
        for block, share in zip(self.blocks[1:], shares, strict=True):
            for array, part in zip(total, share, strict=True):
                array[block.start :, :] += part
        return total

    def shares(self, r: int, *columns: int) -> list[np.ndarray]:
        """Return zeros for what a row of tiles will contribute.

        Parameters
        ----------
        r : int
            Which row of tiles.
        *columns : int
            The columns of each array.

        Returns
        -------
        list of arrays
            Their rows are the samples from the first one of row r on.
        """
        n = self.n - self.blocks[r].start
        return [np.zeros((n, m), self.dtype) for m in columns]

    # ------------------------------------------------------------ K as an operator

    def gram_operator(self, W: ArrayLike, cache_bytes: float = 2**30) -> LinearOperator:
        """Return K_XW as an operator on blocks of vectors.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        cache_bytes : float, default=2**30
            Memory that may be used to keep K.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            Of shape (n, n).
        """

        def product(views, V, kept):
            return self.spread(self.sweep(self._gram_row, views, V, kept))[0]

        return self.operator(self.n, product, W, cache_bytes)

    def gram_derivative(self, W: ArrayLike, Z: ArrayLike, V: ArrayLike) -> np.ndarray:
        """Return the derivative of K V as W moves, in one pass.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        Z : array of shape (d, q)
            The direction in which it moves.
        V : array of shape (n, m)
            Vectors.

        Returns
        -------
        array of shape (n, m)
            The derivative of ``K_X(W + t Z) V`` at t = 0.
        """
        views = self.views(W)
        slopes = self.slopes(views, self.project(np.asarray(Z, self.dtype)))
        V = np.asarray(V, self.dtype)
        sides = [part.scaled(V, 1) for part in self.parts]
        found = self.spread(self.sweep(self._gram_slope_row, views, slopes, sides))
        pairs = zip(self.parts, found, strict=True)
        return sum(part.scaled(total, 1) for part, total in pairs)  # type: ignore[return-value]

    def row_sums(self, K: LinearOperator) -> np.ndarray:
        """Return the row sums of K, its degrees.

        Parameters
        ----------
        K : LinearOperator
            The kernel matrix.

        Returns
        -------
        array of shape (n,)
            The sums.

        Raises
        ------
        ValueError
            Unless all are positive, as a normalisation by degrees needs them.
        """
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


def slope_tile(factors: tuple[np.ndarray, np.ndarray], rows: slice, columns: slice) -> np.ndarray:
    """Return one tile of the derivatives of beta.

    Parameters
    ----------
    factors : tuple of two arrays
        Of shape (n, k) and (k, n), whose product holds all derivatives.
    rows, columns : slice
        Which tile.

    Returns
    -------
    array
        The tile.
    """
    left, right = factors
    return left[rows, :] @ right[:, columns]


def add_both_ways(total, rows: slice, columns: slice, number: float, values, V) -> None:
    """Add the product of a symmetric matrix with V to a total, as far as one tile contributes.

    Parameters
    ----------
    total : array
        Changed in place. Its first row is the first of `rows`.
    rows, columns : slice
        The samples of the tile.
    number : float
        A factor of the tile.
    values : array
        The tile A. What is added is ``number (A + A') V``.
    V : array of shape (n, m)
        Vectors.
    """
    start = rows.start
    if start == columns.start:  # on the diagonal, where A is symmetric
        total[: rows.stop - start, :] += 2 * number * (values @ V[rows, :])
        return
    total[: rows.stop - start, :] += number * (values @ V[columns, :])
    total[columns.start - start : columns.stop - start, :] += number * (values.T @ V[rows, :])
