"""The kernel of all pairs of samples, one tile at a time: sums over pairs, and products with K."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ismlit.dependence import weighted_centre
from ismlit.grams import (
    ConstantKernelError,
    beta_factors,
    beta_slope_factors,
    float_array,
    gram,
)
from ismlit.kernels import Kernel
from ismlit.parallel import in_parallel

Factors = tuple[np.ndarray, np.ndarray]
Tile = tuple[slice, slice, list[list[tuple[float, np.ndarray]]]]
Kept = dict[int, list[Tile]]
T = TypeVar("T")


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

    X: np.ndarray
    kernel: Kernel
    gamma: Any

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.X)

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype:
        """Single or double precision."""
        return self.X.dtype

    def in_basis(self, V: np.ndarray) -> Self:
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
        return replace(self, **self._through(V))  # type: ignore[type-var]

    def _through(self, V: np.ndarray) -> dict[str, Any]:
        """What changes where the samples are seen through V."""
        return {"X": self.X @ V}

    def near(self, W: np.ndarray) -> Self:
        """Return this objective for a climb from W; it is exact everywhere.

        Parameters
        ----------
        W : array of shape (d, q)
            The start.

        Returns
        -------
        Samples
            Itself.

        Raises
        ------
        ConstantKernelError
            If the kernel is 1 between any two samples seen through W, to rounding.
        """
        if self.kernel.tends_to_one:
            z = self.X @ W
            farthest = 4 * np.max(np.sum((z - z.mean(axis=0)) ** 2, axis=1, dtype=float))
            if farthest and 1 - self.kernel.f(np.array(farthest)) <= 100 * np.finfo(float).eps:
                raise ConstantKernelError(
                    f"{self.kernel!r} is 1 between any two samples to rounding: use a bandwidth "
                    "near the distances (median_distance), or kernel='linear', its limit"
                )
        return self

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what XW is to depend on, as the factors of Gamma = F diag(s) F'.

        Returns
        -------
        F : array of shape (n, r)
            The targets.
        s : array of shape (r,)
            Their weights.
        """
        F, s = self.gamma.factors()
        return F, s

    def score(self, W: np.ndarray) -> float:
        """Return `alignment` at W: a dependence that does not grow with the size of the kernel.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            The normalised HSIC, but for the norm of Gamma.
        """
        return alignment(self, W)

    def on(self, rows: slice | np.ndarray) -> Self | Any:
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
        parts: dict[str, Any] = dict(X=self.X[rows], kernel=self.kernel.on(rows), count=Count())
        for name in ("gamma", "fixed"):
            if getattr(self, name, None) is not None:
                parts[name] = getattr(self, name).on(rows)
        return replace(self, **parts)  # type: ignore[type-var]


def alignment(problem: Any, W: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return how strongly Gamma depends on the samples seen through W.

    Parameters
    ----------
    problem : Samples
        What holds X, the kernel and Gamma.
    W : array of shape (d, q)
        The projection.
    sample_weight : array of shape (n,), optional
        That Gamma was made with; above 0.

    Returns
    -------
    float
        The normalised HSIC, but for the norm of Gamma, which no W changes.
    """
    K = gram(problem.kernel, problem.X, W)
    w = np.ones(len(K)) if sample_weight is None else sample_weight
    centred = weighted_centre(K, w)
    weighed = centred / np.sqrt(np.outer(w, w))  # Gamma has the weight of either row, K its root
    size = np.linalg.norm(centred)
    return float(np.vdot(problem.gamma.to_dense(), weighed) / size) if size else 0.0


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


class Projected(NamedTuple):
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

    def __post_init__(self) -> None:
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
        parts = []
        for weight, part in self.kernel.terms():
            u = part.scale(self.n)
            u = None if u is None else u.astype(self.dtype)[:, None]
            parts.append(Part(float(weight), part, data[part.pairs], u))
        return parts

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

    def slopes(self, projected: list[Projected], directions: Sequence[np.ndarray]) -> list[Factors]:
        """Return two factors of the derivatives of all betas, for every part.

        Parameters
        ----------
        projected : list of Projected
            The samples seen through W.
        directions : list of arrays of shape (n, q)
            For every part XZ, where W moves along Z.

        Returns
        -------
        list of (left, right)
            Arrays of shape (n, k) and (k, n).
        """
        factors = []
        for part, one, U in zip(self.parts, projected, directions, strict=True):
            left, right = beta_slope_factors(part.kernel.pairs, one.z, U)
            factors.append((left, np.ascontiguousarray(right.T)))
        return factors

    # ------------------------------------------------------------ the sweep over tiles

    def projected(self, W: ArrayLike) -> list[Projected]:
        """Return the samples seen through W, for every part of the kernel.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        list of Projected
            One for each part.

        Raises
        ------
        ValueError
            If W is not of shape (d, q).
        """
        W = np.asarray(W, self.dtype)
        if W.ndim != 2 or W.shape[0] != self.d:
            raise ValueError(f"W must have shape ({self.d}, q), got {W.shape}")
        return [_projected(part, z) for part, z in zip(self.parts, self.project(W), strict=True)]

    def sweep(
        self, row: Callable[..., T], projected: list[Projected], *arguments: object
    ) -> Iterator[T]:
        """Visit all pairs once, one row of tiles after the other, in parallel.

        Parameters
        ----------
        row : callable ``row(r, projected, *arguments)``
            What is done with the r-th row of tiles.
        projected : list of Projected
            The samples seen through W.
        *arguments : tuple
            Passed on.

        Yields
        ------
        object
            What `row` returns, in order.
        """
        self.count.passes += 1
        calls = [delayed(row)(r, projected, *arguments) for r in range(len(self.blocks))]
        yield from in_parallel(self.n_jobs, calls)

    def tiles(
        self, r: int, projected: list[Projected], *orders: int, keep: bool = False
    ) -> Iterator[Tile]:
        """Compute the kernel and its derivatives on the tiles of one row of tiles.

        Only tiles with columns >= rows are visited, since the matrix is symmetric.

        Parameters
        ----------
        r : int
            Which row of tiles.
        projected : list of Projected
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
            for part, one, space in zip(self.parts, projected, scratch, strict=True):
                beta = None if keep else space[: shape[0] * shape[1]].reshape(shape)
                beta = np.matmul(one.left[rows], one.right[:, columns], out=beta)
                if part.kernel.pairs == "difference":
                    clip = np.maximum if part.kernel.argument > 0 else np.minimum
                    clip(beta, 0, out=beta)
                    if columns == rows:
                        np.fill_diagonal(beta, 0)
                derivatives = part.kernel.f_and_derivatives(beta, orders)
                number = half * part.weight
                parts.append(
                    [
                        (number * factor, a.astype(self.dtype, copy=False))
                        for factor, a in derivatives
                    ]
                )
            yield rows, columns, parts

    def operator(
        self,
        size: int,
        product: Callable[[list[Projected], np.ndarray, Kept | None], np.ndarray],
        W: ArrayLike,
        cache_bytes: float,
    ) -> LinearOperator:
        """Make a symmetric linear operator of products that take one pass over the pairs.

        Parameters
        ----------
        size : int
            The number of its rows.
        product : callable ``product(projected, V, cache)``
            The product with V; `cache` is a dict for tiles, or None.
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
        projected = self.projected(W)
        cache: Kept | None = {} if self.n**2 * self.dtype.itemsize / 2 <= cache_bytes else None

        def times(V: np.ndarray) -> np.ndarray:
            self.count.passes -= bool(cache)  # tiles at hand: the pairs are not visited again
            return product(projected, np.asarray(V, self.dtype).reshape(size, -1), cache)

        same = dict(matvec=times, matmat=times, rmatvec=times)
        return LinearOperator((size, size), **same, dtype=self.dtype)

    def kept_tiles(self, cache: Kept | None, r: int, tiles: Iterator[Tile]) -> Iterable[Tile]:
        """Return the tiles of one row of tiles, from memory once they are there.

        Parameters
        ----------
        cache : dict or None
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
        if cache is None:
            return tiles
        if r not in cache:
            cache[r] = list(tiles)
        return cache[r]

    def spread(self, row_sums: Iterable[Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Add up what the rows of tiles contribute.

        Parameters
        ----------
        row_sums : iterable of lists of arrays
            For each row of tiles its arrays, whose rows are the samples from its first one on.

        Returns
        -------
        list of arrays of shape (n, m)
            The sums.
        """
        row_sums = iter(row_sums)
        total = [1 * array for array in next(row_sums)]
        for block, row_sum in zip(self.blocks[1:], row_sums, strict=True):
            for array, part in zip(total, row_sum, strict=True):
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

        def product(projected: list[Projected], V: np.ndarray, cache: Kept | None) -> np.ndarray:
            return self.spread(self.sweep(self._gram_row, projected, V, cache))[0]

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
        projected = self.projected(W)
        slopes = self.slopes(projected, self.project(np.asarray(Z, self.dtype)))
        V = np.asarray(V, self.dtype)
        sides = [part.scaled(V, 1) for part in self.parts]
        totals = self.spread(self.sweep(self._gram_slope_row, projected, slopes, sides))
        pairs = zip(self.parts, totals, strict=True)
        return np.asarray(sum(part.scaled(total, 1) for part, total in pairs))

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

    def _gram_row(
        self, r: int, projected: list[Projected], V: np.ndarray, cache: Kept | None
    ) -> list[np.ndarray]:
        """The share of block row r in K V."""
        (total,) = self.shares(r, V.shape[1])
        tiles = self.tiles(r, projected, 0, keep=cache is not None)
        for rows, columns, parts in self.kept_tiles(cache, r, tiles):
            for ((number, values),) in parts:
                add_both_ways(total, rows, columns, number, values, V)
        return [total]

    def _gram_slope_row(
        self, r: int, projected: list[Projected], slopes: list[Factors], sides: list[np.ndarray]
    ) -> list[np.ndarray]:
        """The share of block row r in (dK) V when W moves, by part and but for the factors u."""
        totals = self.shares(r, *(V.shape[1] for V in sides))
        for rows, columns, parts in self.tiles(r, projected, 1):
            for k, ((number, values),) in enumerate(parts):
                values *= slope_tile(slopes[k], rows, columns)
                add_both_ways(totals[k], rows, columns, number, values, sides[k])
        return totals


def _projected(part: Part, z: np.ndarray) -> Projected:
    """The `Projected` of projected samples z: beta comes with the kernel's factor and with u."""
    left, right = beta_factors(part.kernel.pairs, z)
    left, right = part.scaled(left, 1), part.scaled(right, 1)
    if part.kernel.argument != 1:
        left = left * z.dtype.type(part.kernel.argument)
    return Projected(z, left, np.ascontiguousarray(right.T))


def slope_tile(factors: Factors, rows: slice, columns: slice) -> np.ndarray:
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


def add_both_ways(
    total: np.ndarray, rows: slice, columns: slice, number: float, values: np.ndarray, V: np.ndarray
) -> None:
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
