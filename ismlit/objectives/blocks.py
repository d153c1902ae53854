"""Sums over the rows of each class of Dask collections, taken where their blocks are.

`DaskRows` is visited as the rows of an array are (`ismlit.objectives.class_sums`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import cpu_count
from numpy.typing import DTypeLike
from sklearn.utils.random import sample_without_replacement

from ismlit.objectives.class_sums import (
    FEATURE_CHUNK,
    MOST_CLASSES,
    Sums,
    T,
    Visitor,
    add,
    class_sums,
    codes_of,
    combined,
    sum_over,
)
from ismlit.parallel import ONE_BLAS_THREAD
from ismlit.targets import read_labels, read_response

SAMPLE_ROWS = 5000  # Rows of a collection that the client holds, for bandwidth and starts.
SLICE_VALUES = 100_000  # Values of a response that are drawn to place its slices.
SUMS_PER_TASK = 8  # Partial sums that one task of the tree adds.
TASKS_PER_THREAD = 4  # Tasks of a visit for each thread of the scheduler, of several blocks each.
Block = tuple[np.ndarray, np.ndarray]
Seed = int | np.random.RandomState | None


class Moments(NamedTuple):
    """The result of the first visit to some rows: sums by class, their scatter, and a sample."""

    labels: np.ndarray  # (k,), sorted
    sizes: np.ndarray  # (k,)
    sums: np.ndarray  # (k, d)
    scatter: np.ndarray  # (d, d), about their own mean
    X: np.ndarray  # (s, d), the rows of the sample
    y: np.ndarray  # (s,), the labels of these rows


class DaskRows:
    """The rows of a Dask array (n, d) and their labels, visited where they are.

    A visit is one graph: a task for each block, and a tree that adds what they give. Blocks that
    were not persisted are read anew; nothing is kept, so that a worker may be lost.

    Parameters
    ----------
    X, y : dask.array.Array of shape (n, d) and (n,)
        With known chunks of rows, the same in both.
    dtype : numpy.dtype
        Floating-point type in which the rows are seen.
    cuts : array, optional
        Values of y at which a slice begins, where y is a response; without them y holds labels.
    random_state : int or RandomState
        Draws the sample by row numbers, so that it does not depend on the chunks.
    """

    blocks: Any
    V: np.ndarray | None

    def __init__(
        self,
        X: Any,
        y: Any,
        dtype: DTypeLike,
        cuts: np.ndarray | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.blocks = _fused_with_reads(zip(X.to_delayed().ravel(), y.to_delayed().ravel()))
        self.dtype, self.cuts, self.V, self.n = dtype, cuts, None, len(X)
        drawn = drawn_rows(X.chunks[0], SAMPLE_ROWS, random_state)
        first = self._reduced(first_visit, merge_moments, each=drawn)
        self.classes, self.sizes, self.sums, self.scatter, self.X, y = first
        self.codes = codes_of(y, self.classes)[0]
        self.mean = self.sums.sum(axis=0) / self.n
        self.k = len(self.classes)

    def through(self, V: np.ndarray) -> Self:
        """Return the same rows, less their mean, seen through V.

        Parameters
        ----------
        V : array of shape (d, r)
            Orthonormal columns.

        Returns
        -------
        DaskRows
            The rows.
        """
        rows = copy.copy(self)
        rows.V = V if self.V is None else self.V @ V
        return rows

    def _reduced(
        self,
        function: Callable[..., T],
        combine: Callable[[list[T]], T],
        *arguments: object,
        each: list[np.ndarray] | None = None,
    ) -> T:
        from dask import delayed

        shared = delayed((self.dtype, self.cuts, *arguments), traverse=False)
        of_block = [()] * len(self.blocks) if each is None else [(rows,) for rows in each]
        call, join = delayed(combine_blocks, pure=False), delayed(combine, pure=False)
        # One task takes several fused blocks: the fewer tasks, the fewer sums are sent around.
        is_fused, n = isinstance(self.blocks[0], FusedBlock), len(self.blocks)
        per_task = -(-n // (TASKS_PER_THREAD * threads_of_scheduler())) if is_fused else 1
        groups = (slice(i, i + per_task) for i in range(0, n, per_task))
        tasks = [call(function, combine, self.blocks[at], shared, of_block[at]) for at in groups]
        while len(tasks) > 1:
            firsts = range(0, len(tasks), SUMS_PER_TASK)
            tasks = [join(tasks[i : i + SUMS_PER_TASK]) for i in firsts]
        with ONE_BLAS_THREAD:
            total: T = tasks[0].compute()
        return total

    def visit(self, function: Visitor, *arguments: object) -> Sums:
        """Add what a function gives for all blocks.

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
        mean = self.mean.astype(self.dtype)
        return self._reduced(block_sums, add, self.classes, mean, self.V, function, arguments)

    def class_sums(self) -> Sums:
        """Return `class_sums` of all rows, which the first visit has seen.

        Returns
        -------
        sums : array of shape (k, d)
            One row a class.
        squares : float
            The sum of all squares.
        """
        sums = self.sums - self.sizes[:, None] * self.mean
        return (sums if self.V is None else sums @ self.V), np.trace(self.scatter)

    def weighted_scatter(self, weights: np.ndarray) -> np.ndarray:
        """Return `weighted_scatter` of all rows, for a weight that all classes share.

        Parameters
        ----------
        weights : array of shape (k,)
            Equal weights.

        Returns
        -------
        array of shape (d, d)
            The matrix ``sum_i w_i x_i x_i'``.
        """
        total = weights[0] * self.scatter
        return np.asarray(total if self.V is None else self.V.T @ total @ self.V)


class FusedBlock:
    """A block of X and that of y as the tasks that read them, run by the task that uses them.

    Read by tasks of their own, rows would be sent to a worker that takes such a task from another.
    """

    def __init__(self, pair: list[Any]) -> None:
        self.keys = [part.key for part in pair]
        self.graph: dict[Any, Any] = {}
        for part in pair:
            self.graph |= dict(part.dask.cull({part.key}))

    def __iter__(self) -> Iterator[np.ndarray]:
        from dask import get

        return iter(get(self.graph, self.keys))


def _fused_with_reads(pairs: Iterable[Iterable[Any]]) -> list[list[Any]] | list[FusedBlock]:
    """Pairs as `FusedBlock`; as they are, where workers hold them or blocks share a task."""
    lists = [list(pair) for pair in pairs]
    blocks = [FusedBlock(pair) for pair in lists]
    known = {key for block in blocks for key in block.graph}
    is_shared = len(known) < sum(len(block.graph) for block in blocks)
    needed = {key for block in blocks for key in block.keys}
    for block in blocks:
        for task in block.graph.values():
            needed |= set(getattr(task, "dependencies", ()))
    return lists if is_shared or not needed <= known else blocks  # not known: held by workers


def threads_of_scheduler() -> int:
    """Return how many tasks Dask's scheduler in use runs at once.

    Returns
    -------
    int
        The threads of a cluster's workers; of a scheduler on this machine, its processors.
    """
    from dask.base import get_scheduler

    client: Any = getattr(get_scheduler(), "__self__", None)
    return sum(client.nthreads().values()) if hasattr(client, "nthreads") else cpu_count()


def combine_blocks(
    function: Callable[..., T],
    combine: Callable[[list[T]], T],
    blocks: Iterable[Block],
    shared: tuple[Any, ...],
    each: Iterable[tuple[np.ndarray, ...]],
) -> T:
    """What a function gives for some blocks, combined one after the other; on a worker."""
    return combined(combine, (function(block, shared, *row) for block, row in zip(blocks, each)))


def drawn_rows(lengths: Sequence[int], most: int, random_state: Seed) -> list[np.ndarray]:
    """Draw some of the rows of blocks.

    Parameters
    ----------
    lengths : sequence of int
        The rows of each block.
    most : int
        How many are drawn, all if there are fewer.
    random_state : int, RandomState
        Seed of the draw.

    Returns
    -------
    list of arrays of int
        For each block, which of its rows were drawn.
    """
    ends = np.cumsum(lengths)
    n = int(ends[-1])
    drawn = np.sort(sample_without_replacement(n, min(n, most), random_state=random_state))
    parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
    return [part - start for part, start in zip(parts, ends - lengths)]


def drawn_values(y: Any, random_state: Seed) -> np.ndarray:
    """Draw some values of a Dask array, all of them if they are few.

    Parameters
    ----------
    y : dask.array.Array of shape (n,)
        The values.
    random_state : int, RandomState
        Seed of the draw.

    Returns
    -------
    array of shape (m,)
        Those drawn.
    """
    from dask import compute, delayed

    drawn = drawn_rows(y.chunks[0], SLICE_VALUES, random_state)
    blocks = y.to_delayed().ravel()
    take = delayed(lambda values, rows: np.asarray(values)[rows])
    return np.concatenate(compute(*(take(*pair) for pair in zip(blocks, drawn))))


def read_block(block: Block, dtype: DTypeLike, cuts: np.ndarray | None) -> Block:
    """A block as arrays (n, d) and (n,), y in slices where it is a response."""
    x, y = block
    x = np.asarray(x, dtype)
    y = read_labels(y) if cuts is None else np.searchsorted(cuts, read_response(y), side="right")
    if len(x) != len(y):
        raise ValueError(f"a block of X has {len(x)} rows, and that of y has {len(y)}")
    return x, y


def block_sums(block: Block, shared: tuple[Any, ...]) -> Sums:
    """`sum_over` of a block; on a worker."""
    dtype, cuts, classes, mean, V, function, arguments = shared
    x, y = read_block(block, dtype, cuts)
    return sum_over(function, x, codes_of(y, classes)[0], len(classes), mean, V, arguments)


def first_visit(block: Block, shared: tuple[Any, ...], drawn: np.ndarray) -> Moments:
    """`Moments` of a block; on a worker."""
    dtype, cuts = shared
    x, y = read_block(block, dtype, cuts)
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(
            f"Input X contains {'NaN' if np.isnan(x[row, column]) else 'infinity'}, in column "
            f"{column}, row {row} of a block: leave such rows out, or fill the gaps"
        )
    moments = []
    for start in range(0, max(len(x), 1), FEATURE_CHUNK):
        rows = x[start : start + FEATURE_CHUNK].astype(float)
        labels, codes = np.unique(y[start : start + FEATURE_CHUNK], return_inverse=True)
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"y holds more than {MOST_CLASSES} classes, too many for random features: group "
                "them, or use ResponseIKDR if y is a response"
            )
        sums, sizes = class_sums(rows, codes, len(labels))[0], np.bincount(codes)
        rows -= sums.sum(axis=0) / max(len(rows), 1)
        moments.append(Moments(labels, sizes, sums, rows.T @ rows, x[:0], y[:0]))
    return merge_moments(moments)._replace(X=x[drawn], y=y[drawn])


def merge_moments(parts: list[Moments]) -> Moments:
    """Merge what is known of several parts of the rows.

    Parameters
    ----------
    parts : list of Moments
        One for each part.

    Returns
    -------
    Moments
        Of all their rows.
    """
    labels = np.unique(np.concatenate([part.labels for part in parts]))
    sizes, sums = np.zeros(len(labels), int), np.zeros((len(labels), len(parts[0].scatter)))
    for part in parts:
        at = np.searchsorted(labels, part.labels)
        sizes[at] += part.sizes
        sums[at] += part.sums
    mean, scatter = sums.sum(axis=0) / max(sizes.sum(), 1), 0.0
    for part in parts:
        n = max(part.sizes.sum(), 1)
        off = (part.sums.sum(axis=0) / n - mean) * np.sqrt(n)
        scatter = scatter + part.scatter + np.outer(off, off) * (part.sizes.sum() > 0)
    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    return Moments(labels, sizes, sums, np.asarray(scatter), X, y)
