"""The exact problem with its passes on arrays of another library, such as those of a GPU.

All that grows with the square of the rows is computed there: products of matrices, the kernel's
formula, sums, in functions of the Python array API standard. What has rows or columns alone stays
in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ismlit.gamma import DenseGamma
from ismlit.objectives.pairs import Pairs
from ismlit.objectives.plain import Problem

GPU_TILE = 4096  # The side of a tile of pairs on a GPU; with that of a CPU it would be idle.


class Place(NamedTuple):
    """An array library and a device of it.

    Attributes
    ----------
    xp : module
        The functions of the library, as the array API standard names them.
    device : object
        Where arrays are made; None is the library's default.
    """

    xp: Any
    device: Any = None

    def __str__(self):
        return f"{self.xp.__name__.split('.')[-1]} on {self.device}"

    def put(self, value: Any) -> Any:
        """Copy numpy arrays there.

        Parameters
        ----------
        value : object
            An array, or lists and tuples of arrays; all else stays as it is.

        Returns
        -------
        object
            The same, with arrays of the library.
        """
        if isinstance(value, np.ndarray):
            return self.xp.asarray(value, device=self.device)
        if isinstance(value, list | tuple):
            parts = map(self.put, value)
            return type(value)(*parts) if hasattr(value, "_fields") else [*parts]
        return value


def to_numpy(array: Any) -> np.ndarray:
    """Copy an array of any library to numpy.

    Parameters
    ----------
    array : array
        Of numpy, torch, cupy, or a library whose arrays numpy takes.

    Returns
    -------
    numpy.ndarray
        The same numbers.
    """
    if hasattr(array, "get") and hasattr(array, "__dlpack__"):  # cupy
        return array.get()
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)  # torch


NUMPY = Place(np)


@dataclass(frozen=True, eq=False)
class ArrayPairs(Pairs):
    """`Pairs` whose tiles are arrays of another library, one after the other.

    Parameters
    ----------
    X, kernel, n_jobs, tile, count
        As for `Pairs`.
    place : Place
        Where the tiles are.
    """

    place: Place = NUMPY

    def sweep(self, row, views, *arguments):
        """Visit all pairs once; what `row` gets and returns are arrays of the library.

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
        given = self.place.put([views, *arguments])
        for r in range(len(self.blocks)):
            yield row(r, *given)

    def spread(self, shares):
        """Add up what the rows of tiles contribute.

        Parameters
        ----------
        shares : iterable of lists of arrays
            For each row of tiles its arrays.

        Returns
        -------
        list of numpy arrays of shape (n, m)
            The sums.
        """
        return [*map(to_numpy, super().spread(shares))]

    def shares(self, r, *columns):
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
        return [self._create("zeros", (n, m)) for m in columns]

    def tiles(self, r, views, *orders, keep=False):
        """Compute the kernel and its derivatives on the tiles of one row of tiles.

        Parameters
        ----------
        r : int
            Which row of tiles.
        views : list of View
            The samples seen through W.
        *orders : {0, 1, 2}
            Which derivatives of f are wanted.
        keep : bool, default=False
            Of no effect: each tile has arrays of its own.

        Yields
        ------
        rows, columns, values
            As from `Pairs.tiles`.
        """
        xp, rows = self.place.xp, self.blocks[r]
        for columns in self.blocks[r:]:
            half = 0.5 if columns == rows else 1.0
            parts = []
            for part, view in zip(self.parts, views, strict=True):
                beta = view.left[rows, :] @ view.right[:, columns]
                if part.kernel.pairs == "difference":
                    side = "min" if part.kernel.argument > 0 else "max"
                    beta = xp.clip(beta, **{side: 0})
                    if columns == rows:
                        beta *= self.off_diagonal(rows)
                found = part.kernel.f_and_derivatives(beta, orders, xp)
                number = half * part.weight
                parts.append([(number * factor, values) for factor, values in found])
            yield rows, columns, parts

    def off_diagonal(self, rows):
        """Return ones with zeros on the diagonal.

        Parameters
        ----------
        rows : slice
            The samples of a tile.

        Returns
        -------
        array
            Of the library.
        """
        return 1 - self._create("eye", rows.stop - rows.start)

    def _create(self, name, *sizes):
        """The array of a function of the library ("zeros", "eye"), made where the tiles are."""
        dtype = getattr(self.place.xp, self.dtype.name)
        return getattr(self.place.xp, name)(*sizes, dtype=dtype, device=self.place.device)


@dataclass(frozen=True, eq=False)
class ArrayProblem(Problem):
    """A `Problem` whose passes over the pairs are made by another array library.

    Parameters
    ----------
    X, gamma, kernel, n_jobs, count
        As for `Problem`.
    tile : int, optional
        The side of a tile of pairs; None for 4096, or 256 on a CPU.
    place : Place
        The library, and a device of it.

    See Also
    --------
    ismlit.SupervisedIKDR : makes it of X, with scikit-learn's ``array_api_dispatch``.

    Notes
    -----
    A sample of the rows is a `Problem` again: few pairs are faster in numpy.

    References
    ----------
    Consortium for Python Data API Standards 2024, Python array API standard.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, Problem, label_gamma
    >>> from ismlit.objectives.arrays import ArrayProblem, Place
    >>> X, y = load_iris(return_X_y=True)
    >>> given = X, label_gamma(y), Gaussian(1.0)
    >>> problem = ArrayProblem(*given, place=Place(np))  # or Place(torch, "cuda")
    >>> W = np.eye(4)[:, :2]
    >>> bool(np.isclose(problem.objective(W), Problem(*given).objective(W)))
    True
    """

    tile: int | None = None  # type: ignore[assignment]
    place: Place = NUMPY

    @cached_property
    def pairs(self):
        """The kernel matrix as an operator, without Gamma."""
        is_cpu = self.place.device is None or "cpu" in str(self.place.device).lower()
        tile = self.tile or (Pairs.tile if is_cpu else GPU_TILE)
        return ArrayPairs(self.X, self.kernel, self.n_jobs, tile, self.count, self.place)

    def sample(self, rows):
        """Return the problem of some of the samples, in numpy.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        Problem
            With a count of its own.
        """
        return Problem(self.X, self.gamma, self.kernel, self.n_jobs).sample(rows)

    @cached_property
    def _gamma_sides(self):
        gamma = self.gamma
        if isinstance(gamma, DenseGamma):
            return self.place.put([gamma.array])
        return self.place.put([gamma.F * gamma.s, np.ascontiguousarray(gamma.F.T)])

    def _gamma_tile(self, rows, columns, out):
        left, *right = self._gamma_sides
        return left[rows, :] @ right[0][:, columns] if right else left[rows, columns]

    def _off_diagonal(self, k, rows, columns, psi):
        if rows == columns and self.pairs.parts[k].kernel.pairs == "difference":
            psi *= self.pairs.off_diagonal(rows)

    def _double_sum(self, number, values):
        xp = self.place.xp
        return 2 * number * float(xp.sum(values, dtype=xp.float64))

    def _phi_row(self, r, views):
        value, *arrays = super()._phi_row(r, views)
        return value, *([*map(to_numpy, each)] for each in arrays)

    @cached_property
    def _phi_sides(self):
        return self.place.put([part.scaled(part.X, 1) for part in self.pairs.parts])

    @cached_property
    def _degree_sides(self):
        return self.place.put(super()._degree_sides)
