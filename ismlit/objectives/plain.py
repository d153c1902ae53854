"""The objective J(W) = Tr(Gamma K_XW) with its matrix Phi(W) and its Hessian, one tile at a time.

One class serves all kernels. No constant is dropped: the Euclidean gradient of J is exactly ``2
Phi(W) W``. Two more problems have the same methods: `normalized` has kernels that are divided by
their degrees, and `features` takes linear time. `Objective` says what a solver asks of any of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ismlit.gamma import as_gamma
from ismlit.kernels import Kernel
from ismlit.objectives.pairs import (
    Count,
    Factors,
    Pairs,
    Projected,
    Samples,
    Tile,
    add_both_ways,
    slope_tile,
)


@dataclass(frozen=True, eq=False)
class Problem(Samples):
    """The problem that ISM solves: maximise Tr(Gamma K_XW) over W with orthonormal columns.

    It holds the data, and computes the objective, its gradient, its matrix Phi and its Hessian.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows. Single precision (float32) is kept.
    gamma : Gamma, DenseGamma, or symmetric array of shape (n, n)
        Which pairs of samples are to be alike; `label_gamma` makes it of class labels.
    kernel : Kernel
        The kernel, such as ``Gaussian(1.0)``.
    n_jobs : int, optional
        Workers of joblib, threads unless another backend is active. None takes as many threads as
        BLAS would.
    tile : int, default=256
        The side of a tile of pairs. Memory is a few tile x tile arrays for each worker.
    count : Count, optional
        Where passes over the pairs are counted.

    Raises
    ------
    TypeError
        If `kernel` is not a Kernel.
    ValueError
        If X is not finite, or Gamma is not symmetric or is for another number of samples.

    See Also
    --------
    ismlit.ism : Solves it.
    ismlit.certify : Tests whether a W is a maximum of it.

    References
    ----------
    Wu, Miller, Chang, Sznaier and Dy 2019, Solving interpretable kernel dimensionality reduction.

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
    gamma: Any
    kernel: Kernel
    n_jobs: int | None = None
    tile: int = 256
    count: Count = field(default_factory=Count, repr=False)

    def __post_init__(self) -> None:
        pairs = Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)
        gamma = as_gamma(self.gamma)
        if gamma.n != pairs.n:
            raise ValueError(f"Gamma is for {gamma.n} samples but X has {pairs.n}")
        object.__setattr__(self, "X", pairs.X)
        object.__setattr__(self, "gamma", gamma.astype(pairs.dtype))

    @cached_property
    def pairs(self) -> Pairs:
        """The kernel matrix as an operator, without Gamma."""
        return Pairs(self.X, self.kernel, self.n_jobs, self.tile, self.count)

    # ------------------------------------------------------------ first order

    def objective(self, W: ArrayLike) -> float:
        """Return the objective, in one pass over the pairs.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            J(W) = Tr(Gamma K_XW), added up in double precision.
        """
        return sum(self.pairs.sweep(self._objective_row, self.pairs.projected(W)))

    def objective_and_phi(self, W: ArrayLike) -> tuple[float, np.ndarray]:
        """Return the objective and the matrix Phi of its gradient, in one pass over the pairs.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            The symmetric matrix Phi(W). The gradient of J is ``2 Phi(W) W``.

        Raises
        ------
        ValueError
            If the kernel or its derivative is not finite on this data.
        """
        pairs, value = self.pairs, 0.0
        degrees = [np.zeros((self.n, 1), self.dtype) for _ in pairs.parts]
        products = [np.zeros_like(self.X) for _ in pairs.parts]
        rows = zip(pairs.blocks, pairs.sweep(self._phi_row, pairs.projected(W)), strict=True)
        for block, (share, product, sums) in rows:
            value += share
            for k in range(len(pairs.parts)):
                products[k][block] = product[k]
                degrees[k][block.start :] += sums[k]
        half = np.zeros((self.d, self.d), self.dtype)  # Phi = half + half'
        for part, total, degree in zip(pairs.parts, products, degrees, strict=True):
            total = part.scaled(total, 1)
            if part.kernel.pairs == "difference":  # X'(D - Psi)X, Psi = upper + upper'
                total *= -2
                total += part.scaled(degree, 1) * part.X
            half += part.X.T @ total
        self._require_finite(value, half)
        return value, half + half.T

    def objective_and_gradient(self, W: ArrayLike) -> tuple[float, np.ndarray]:
        """Return the objective and half of its gradient, in one pass over the pairs.

        Phi is not formed, which takes time O(n^2 q) in place of O(n^2 d).

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        gradient : array of shape (d, q)
            Half of the Euclidean gradient, Phi(W) W.

        Raises
        ------
        ValueError
            If the kernel or its derivative is not finite on this data.
        """
        pairs = self.pairs
        projected = pairs.projected(W)
        sides = self._sides([one.z for one in projected], 1)
        values, row_sums = zip(*pairs.sweep(self._gradient_row, projected, sides))
        gradient = self._assembled(pairs.spread(row_sums), [one.z for one in projected], 1)
        self._require_finite(sum(values), gradient)
        return sum(values), gradient

    def phi(self, W: ArrayLike) -> np.ndarray:
        """Return the matrix Phi, whose product with W is half of the gradient of J.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix Phi(W).
        """
        return self.objective_and_phi(W)[1]

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0, whose eigenvectors are a start that needs no W.

        All betas are then 0, so that no pass over the pairs is needed: the time is O(n r d) for a
        Gamma of rank r.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix; exactly 0 where only rounding would be left.

        Raises
        ------
        ValueError
            If the kernel has no finite derivative at beta = 0.
        """
        total = np.zeros((self.d, self.d))
        magnitude = 0.0
        for weight, part, X, u in self.pairs.parts:
            U = np.ones((self.n, 1), X.dtype) if u is None else u
            matrix = self.gamma.between(X if u is None else u * X)
            if part.pairs == "difference":
                matrix = 2 * (_weighted_scatter(X, U * (self.gamma @ U)) - matrix)
            slope = weight * float(part.df(np.zeros(1))[0])
            total += slope * matrix
            magnitude += abs(slope) * self.gamma.norm_bound * np.sum((U * X) ** 2)
        self._require_finite(0.0, total)
        if np.linalg.norm(total) <= 10 * np.finfo(self.dtype).eps * magnitude:
            total[:] = 0  # all terms cancel: what is left is rounding, and points nowhere
        return ((total + total.T) / 2).astype(self.dtype)

    # ------------------------------------------------------------ second order

    def phi_derivative(self, W: ArrayLike, Z: ArrayLike) -> np.ndarray:
        """Return how Phi(W) W changes because Phi does, along several directions.

        It is the part of the Hessian that comes from f''. Each direction counts as one pass.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.
        Z : array of shape (m, d, q)
            The directions.

        Returns
        -------
        array of shape (m, d, q)
            The derivative of ``Phi(W + t Z) W`` at t = 0, for each direction.

        Raises
        ------
        ValueError
            If Z has another shape, or the second derivative of the kernel is not finite.
        """
        Z = np.asarray(Z, self.dtype)
        if Z.ndim != 3 or Z.shape[1:] != np.shape(W):
            raise ValueError(f"Z must have shape (m, *W.shape) = (m, {np.shape(W)}), got {Z.shape}")
        projected = self.pairs.projected(W)
        z = [one.z for one in projected]
        slopes = [self.pairs.slopes(projected, images) for images in zip(*self.pairs.project(Z))]
        self.count.passes += len(Z) - 1
        row_sums = self.pairs.sweep(self._curvature_row, projected, slopes, self._sides(z, 2))
        totals = self.pairs.spread(row_sums)
        n_parts = len(z)
        products = np.stack(
            [self._assembled(totals[m * n_parts : (m + 1) * n_parts], z, 2) for m in range(len(Z))]
        )
        if not np.isfinite(products).all():
            raise ValueError(f"{self.kernel!r} has a non-finite second derivative on this data")
        return products

    # ------------------------------------------------------------ Psi times V, part by part

    def _sides(self, images: Sequence[np.ndarray], order: int) -> list[np.ndarray]:
        """What the tiles of Psi are multiplied by, given XV (n, m) of every part.

        For differences with a column of ones, whose product is the degrees of Psi.
        """
        right_factors = []
        for part, V in zip(self.pairs.parts, images, strict=True):
            if part.kernel.pairs == "difference":
                V = np.hstack([V, np.ones((self.n, 1), self.dtype)])
            right_factors.append(part.scaled(V, order))
        return right_factors

    def _assembled(
        self, totals: list[np.ndarray], images: list[np.ndarray], order: int
    ) -> np.ndarray:
        """``1/2 sum_ij Psi_ij A_ij V`` (d, m) from the products of Psi with `_sides`."""
        product: Any = 0.0
        for part, total, V in zip(self.pairs.parts, totals, images, strict=True):
            total = part.scaled(total, order)
            if part.kernel.pairs == "difference":
                total = 2 * (total[:, -1:] * V - total[:, :-1])
            product = product + part.X.T @ total
        return np.asarray(product)

    # ------------------------------------------------------------ block rows of the sweep

    def _off_diagonal(self, k: int, rows: slice, columns: slice, psi: np.ndarray) -> None:
        """Take from Psi of part k the pairs of a sample with itself, which no difference sees."""
        if rows == columns and self.pairs.parts[k].kernel.pairs == "difference":
            diagonal = np.einsum("ii->i", psi)
            diagonal *= 0  # what is not finite stays so, and is refused

    def _tiles(
        self, r: int, projected: list[Projected], *orders: int, keep: bool = False
    ) -> Iterator[Tile]:
        """`Pairs.tiles`, each array times Gamma: scratch, which the next tile overwrites.

        Arrays of one tile may be one and the same (`Kernel.f_and_derivatives`).
        """
        space = np.empty(self.pairs.tile**2, self.dtype)
        for rows, columns, parts in self.pairs.tiles(r, projected, *orders, keep=keep):
            shape = rows.stop - rows.start, columns.stop - columns.start
            gamma = self.gamma.tile(rows, columns, space[: shape[0] * shape[1]].reshape(shape))
            for array in {id(a): a for derivatives in parts for _, a in derivatives}.values():
                array *= gamma
            yield rows, columns, parts

    @staticmethod
    def _double_sum(number: float, values: np.ndarray) -> float:
        """Twice the sum of a tile: an unordered pair stands for two. Rows are added in float64."""
        return 2 * number * float(values.sum(axis=1).sum(dtype=np.float64))

    def _objective_row(self, r: int, projected: list[Projected]) -> float:
        """J of block row r."""
        tiles = self._tiles(r, projected, 0)
        return sum(self._double_sum(*value) for _, _, parts in tiles for (value,) in parts)

    def _phi_row(
        self, r: int, projected: list[Projected]
    ) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
        """J of block row r, its rows of (upper Psi) X, and its share of the degrees of Psi.

        But for the factors u of the rows.
        """
        value, pairs = 0.0, self.pairs
        degrees = pairs.shares(r, *(1 for _ in pairs.parts))
        products: list[Any] = [0.0] * len(degrees)
        sides = [part.scaled(part.X, 1) for part in pairs.parts]
        ones = [part.scaled(np.ones((self.n, 1), self.dtype), 1) for part in pairs.parts]
        start = pairs.blocks[r].start
        for rows, columns, parts in self._tiles(r, projected, 0, 1):
            for k, (of_f, (number, psi)) in enumerate(parts):
                part = pairs.parts[k]
                # before the diagonal of f' goes: f and f' of a Gaussian share one array
                value += self._double_sum(*of_f)
                self._off_diagonal(k, rows, columns, psi)
                products[k] = products[k] + number * (psi @ sides[k][columns, :])
                if part.kernel.pairs == "difference":
                    below = slice(columns.start - start, columns.stop - start)
                    degrees[k][: rows.stop - start, :] += number * (psi @ ones[k][columns, :])
                    degrees[k][below, :] += number * (psi.T @ ones[k][rows, :])
        return value, products, degrees

    def _gradient_row(
        self, r: int, projected: list[Projected], sides: list[np.ndarray]
    ) -> tuple[float, list[np.ndarray]]:
        """J of block row r and its share of Psi times the sides."""
        value, totals = 0.0, self.pairs.shares(r, *(V.shape[1] for V in sides))
        for rows, columns, parts in self._tiles(r, projected, 0, 1):
            for k, (of_f, (number, psi)) in enumerate(parts):
                # before the diagonal of f' goes: f and f' of a Gaussian share one array
                value += self._double_sum(*of_f)
                self._off_diagonal(k, rows, columns, psi)
                add_both_ways(totals[k], rows, columns, number, psi, sides[k])
        return value, totals

    def _curvature_row(
        self,
        r: int,
        projected: list[Projected],
        slopes: list[list[Factors]],
        sides: list[np.ndarray],
    ) -> list[np.ndarray]:
        """For each direction the share of block row r in (d Psi) times the sides."""
        widths = [V.shape[1] for V in sides]
        totals = self.pairs.shares(r, *(widths * len(slopes)))
        for rows, columns, parts in self._tiles(r, projected, 2):
            for m, factors in enumerate(slopes):
                for k, ((number, second),) in enumerate(parts):
                    change = slope_tile(factors[k], rows, columns)
                    change *= second
                    total = totals[m * len(parts) + k]
                    add_both_ways(total, rows, columns, number, change, sides[k])
        return totals

    def _require_finite(self, value: float, array: np.ndarray) -> None:
        if not (np.isfinite(value) and np.isfinite(array).all()):
            raise ValueError(
                f"{self.kernel!r} gives a non-finite value or derivative on this data: f and f' "
                "must be finite wherever beta falls, beta = 0 included (scale the data, or add a "
                "tiny number under a root: xp.sqrt(beta + 1e-12))"
            )


def _weighted_scatter(X: np.ndarray, weights: np.ndarray, rows: int = 4096) -> np.ndarray:
    """X' diag(weights) X for weights (n, 1), without another array of X's size."""
    starts = range(0, len(X), rows)
    chunks = (X[a : a + rows].T @ (weights[a : a + rows] * X[a : a + rows]) for a in starts)
    return np.asarray(sum(chunks))
