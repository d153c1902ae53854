"""Sums over the rows of each class, which are all that J needs with random features.

`ArrayRows` takes them from an array, which may be a numpy.memmap: some thousand consecutive rows
at once, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, reduce
from typing import TypeVar

import numpy as np
from joblib import delayed
from numpy.typing import DTypeLike
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

from ismlit.gamma import Gamma, one_hot
from ismlit.grams import column_means
from ismlit.parallel import in_parallel

MOST_CLASSES = 4096  # The table of Gamma (k, k) is kept for at most so many classes.
FEATURE_CHUNK = 8192  # Rows whose features a worker holds at once.
CHUNKS_PER_TASK = 8  # A worker adds the sums of at most this many chunks before it returns.
Sums = tuple[np.ndarray, ...]
Visitor = Callable[..., Sums]
T = TypeVar("T")


class ClassGamma(Gamma):
    """Gamma of samples in k classes: row i of F is row ``codes[i]`` of a table (k, r).

    A sample costs one small integer, in place of r floating-point numbers; F is formed if it is
    asked for.

    Parameters
    ----------
    table : array of shape (k, r)
    codes : array of shape (n,)
        The class of each sample, from 0 to k - 1.
    sizes : array of shape (k,)
        How many samples the classes have: more than there are codes, where these are of a sample.

    See Also
    --------
    ismlit.label_gamma : the same matrix, with F.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.objectives.class_sums import class_gamma
    >>> gamma = class_gamma(np.array(["a", "a", "b"]))
    >>> gamma.codes, gamma.to_dense().round(2)
    (array([0, 0, 1], dtype=uint8), array([[ 0.22,  0.22, -0.44],
           [ 0.22,  0.22, -0.44],
           [-0.44, -0.44,  0.89]]))
    """

    table: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray

    def __init__(self, table: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> None:
        s = np.ones(table.shape[1], table.dtype)
        vars(self).update(table=table, codes=codes, sizes=sizes, s=s)

    n = property(lambda self: len(self.codes))
    norm_bound = property(lambda self: float(np.sum(self.sizes @ self.table.astype(float) ** 2)))

    @cached_property
    def F(self) -> np.ndarray:
        """The factor (n, r)."""
        return np.asarray(self.table[self.codes])

    def on(self, rows: slice | np.ndarray) -> ClassGamma:
        """Return the Gamma of some of the samples.

        Parameters
        ----------
        rows : array of int
            Which samples are kept.

        Returns
        -------
        ClassGamma
            With their classes.
        """
        codes = self.codes[rows]
        return ClassGamma(self.table, codes, np.bincount(codes, minlength=len(self.table)))

    def astype(self, dtype: DTypeLike) -> ClassGamma:
        """Return the same Gamma in another floating-point type.

        Parameters
        ----------
        dtype : dtype
            Single or double precision.

        Returns
        -------
        ClassGamma
            The same numbers.
        """
        return ClassGamma(self.table.astype(dtype), self.codes, self.sizes)


def class_gamma(y: np.ndarray, balanced: bool = False) -> ClassGamma:
    """Return `ismlit.label_gamma` of labels, with one small integer a sample.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of any kind.
    balanced : bool, default=False
        Whether every class has the same weight, whatever its size.

    Returns
    -------
    ClassGamma
        Centred.
    """
    classes = np.unique(y)
    codes, sizes = codes_of(y, classes)
    return ClassGamma(class_table(classes, sizes, balanced), codes, sizes)


def class_table(classes: np.ndarray, sizes: np.ndarray, balanced: bool) -> np.ndarray:
    """Return the rows of F that the classes have: indicators, centred over all samples.

    Parameters
    ----------
    classes : array of shape (k,)
        The classes, sorted.
    sizes : array of shape (k,)
        How many samples they have.
    balanced : bool
        Whether every class has the same weight.

    Returns
    -------
    array of shape (k, k)
        One row a class.
    """
    table = one_hot(classes) / (np.sqrt(sizes) if balanced else 1.0)
    return np.asarray(table - sizes @ table / sizes.sum())


def codes_of(y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the classes each label is, and how many samples they have.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.
    classes : array of shape (k,)
        The classes, sorted.

    Returns
    -------
    codes : array of shape (n,)
        From 0 to k - 1.
    sizes : array of shape (k,)
        How many samples the classes have.
    """
    codes = np.empty(len(y), np.min_scalar_type(len(classes) - 1))
    sizes = np.zeros(len(classes), int)
    for start in range(0, len(y), FEATURE_CHUNK):
        rows = slice(start, start + FEATURE_CHUNK)
        codes[rows] = np.searchsorted(classes, y[rows])
        sizes += np.bincount(codes[rows], minlength=len(classes))
    return codes, sizes


# ---------------------------------------------------------------- sums over consecutive rows


def sum_over(
    function: Visitor,
    X: np.ndarray,
    codes: np.ndarray,
    k: int,
    mean: np.ndarray,
    V: np.ndarray | None,
    arguments: tuple[object, ...],
) -> Sums:
    """Add what a function gives for batches of consecutive rows.

    Parameters
    ----------
    function : callable ``function(rows, codes, k, *arguments)``
        It gets rows less their mean, seen through V, and gives a tuple of arrays.
    X : array of shape (n, d)
        Samples in rows.
    codes : array of shape (n,)
        The class of each.
    k : int
        The number of classes.
    mean : array of shape (d,)
        What is subtracted from each row.
    V : array of shape (d, r), or None
        What the rows are seen through.
    arguments : tuple
        Passed on.

    Returns
    -------
    tuple of arrays
        The sums.
    """
    starts = range(0, max(len(X), 1), FEATURE_CHUNK)  # a block without rows adds zeros
    chunks = (slice(start, start + FEATURE_CHUNK) for start in starts)
    blocks = ((X[rows] - mean, codes[rows]) for rows in chunks)
    sums_by_chunk = (
        function(x if V is None else x @ V, labels, k, *arguments) for x, labels in blocks
    )
    return combined(add, sums_by_chunk)


def add(parts: Iterable[Sums]) -> Sums:
    """Add tuples of arrays, place by place.

    Parameters
    ----------
    parts : list of tuples of arrays
        What is added.

    Returns
    -------
    tuple of arrays
        The sums.
    """
    return tuple(sum(arrays[1:], arrays[0]) for arrays in zip(*parts))


def combined(combine: Callable[[list[T]], T], parts: Iterable[T]) -> T:
    """Combine parts one after the other, so that two are held at a time.

    Parameters
    ----------
    combine : callable
        What makes one part of a list of them, such as `add`.
    parts : iterable
        At least one.

    Returns
    -------
    object
        All of them in one.
    """
    return reduce(lambda total, part: combine([total, part]), parts)


def class_sums(x: np.ndarray, codes: np.ndarray, k: int) -> Sums:
    """Return the sums of the rows of each class, and the sum of all their squares.

    Parameters
    ----------
    x : array of shape (n, d)
        Samples in rows.
    codes : array of shape (n,)
        The class of each.
    k : int
        The number of classes.

    Returns
    -------
    sums : array of shape (k, d)
        One row a class.
    squares : float
        The sum of all squares.
    """
    return by_class(codes, k) @ x, np.sum(x * x, dtype=float)


def by_class(codes: np.ndarray, k: int) -> csr_array:
    """Return the indicators of the classes, whose product with rows adds those of each class.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row.
    k : int
        The number of classes.

    Returns
    -------
    scipy.sparse.csr_array of shape (k, n)
        Ones, in double precision.
    """
    return csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (k, len(codes)))


def weighted_scatter(x: np.ndarray, codes: np.ndarray, k: int, weights: np.ndarray) -> Sums:
    """Return the scatter of rows, with a weight for each class.

    Parameters
    ----------
    x : array of shape (n, d)
        Samples in rows.
    codes : array of shape (n,)
        The class of each.
    k : int
        The number of classes.
    weights : array of shape (k,)
        A weight for each.

    Returns
    -------
    tuple of one array of shape (d, d)
        The matrix ``sum_i w_i x_i x_i'``.
    """
    return (x.T @ (weights[codes][:, None] * x),)


class ArrayRows:
    """The rows of an array with the class of each: an array in memory, or a numpy.memmap.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    codes : array of shape (n,)
        The class of each.
    k : int
        The number of classes.
    n_jobs : int, optional
        Workers of joblib.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, k: int, n_jobs: int | None = None) -> None:
        self.X, self.codes, self.k, self.n_jobs = X, codes, k, n_jobs
        self.n, self.mean = len(X), column_means(X).astype(X.dtype)
        self.sizes = sum(np.bincount(codes[rows], minlength=k) for rows in self._batches(1))

    def _batches(self, most: int) -> Iterator[slice]:
        yield from gen_batches(self.n, FEATURE_CHUNK * max(1, min(most, self.n // 2**17)))

    def through(self, V: np.ndarray) -> ArrayRows:
        """Return the same rows seen through V.

        Parameters
        ----------
        V : array of shape (d, r)
            Orthonormal columns.

        Returns
        -------
        ArrayRows
            The rows.
        """
        return ArrayRows(self.X @ V, self.codes, self.k, self.n_jobs)

    def visit(self, function: Visitor, *arguments: object) -> Sums:
        """Add what a function gives for all rows, each of which is read once and in order.

        Parameters
        ----------
        function : callable ``function(rows, codes, k, *arguments)``
            It gives a tuple of arrays.
        *arguments : tuple
            Passed on.

        Returns
        -------
        tuple of arrays
            The sums.
        """
        calls = (
            delayed(sum_over)(
                function, self.X[rows], self.codes[rows], self.k, self.mean, None, arguments
            )
            for rows in self._batches(CHUNKS_PER_TASK)
        )
        return combined(add, in_parallel(self.n_jobs, calls))

    def class_sums(self) -> Sums:
        """Return `class_sums` of all rows.

        Returns
        -------
        sums : array of shape (k, d)
            One row a class.
        squares : float
            The sum of all squares.
        """
        return self.visit(class_sums)

    def weighted_scatter(self, weights: np.ndarray) -> np.ndarray:
        """Return `weighted_scatter` of all rows.

        Parameters
        ----------
        weights : array of shape (k,)
            A weight for each class.

        Returns
        -------
        array of shape (d, d)
            The matrix ``sum_i w_i x_i x_i'``.
        """
        return self.visit(weighted_scatter, weights)[0]
