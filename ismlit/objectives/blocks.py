"""Sums over rows by class, block by block: of an array, of a file, or of a Dask collection.

With random features the samples enter J, its gradient and Phi through sums over the rows of each
class. `ArrayRows` takes them from an array, which may be a numpy.memmap, `DaskRows` from the
blocks of Dask collections, where they are, `IterableRows` from blocks that an object gives one
after the other: all read some thousand consecutive rows at once.
"""

from __future__ import annotations

import copy
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from joblib import cpu_count, delayed
from scipy.sparse import csr_array
from sklearn.utils import assert_all_finite, gen_batches
from sklearn.utils.random import sample_without_replacement

from ismlit.gamma import Gamma, one_hot
from ismlit.parallel import ONE_BLAS_THREAD, in_parallel

MOST_CLASSES = 4096  # The table of Gamma (k, k) is kept for at most so many classes.
FEATURE_CHUNK = 8192  # Rows whose features a worker holds at once.
CHUNKS_PER_TASK = 8  # A worker adds the sums of at most this many chunks before it returns.
SAMPLE_ROWS = 5000  # Rows of a collection that the client holds, for bandwidth and starts.
SLICE_VALUES = 100_000  # Values of a response that are drawn to place its slices.
SUMS_PER_TASK = 8  # Partial sums that one task of the tree adds.
TASKS_PER_THREAD = 4  # Tasks of a visit for each thread of the scheduler, of several blocks each.


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
    >>> from ismlit.objectives.blocks import class_gamma
    >>> gamma = class_gamma(np.array(["a", "a", "b"]))
    >>> gamma.codes, gamma.to_dense().round(2)
    (array([0, 0, 1], dtype=uint8), array([[ 0.22,  0.22, -0.44],
           [ 0.22,  0.22, -0.44],
           [-0.44, -0.44,  0.89]]))
    """

    def __init__(self, table, codes, sizes):
        s = np.ones(table.shape[1], table.dtype)
        vars(self).update(table=table, codes=codes, sizes=sizes, s=s)

    n = property(lambda self: len(self.codes))
    norm_bound = property(lambda self: float(np.sum(self.sizes @ self.table.astype(float) ** 2)))

    @cached_property
    def F(self):
        """The factor (n, r)."""
        return self.table[self.codes]

    def sample(self, rows):
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

    def astype(self, dtype):
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


def class_gamma(y, balanced=False):
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


def class_table(classes, sizes, balanced):
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
    return table - sizes @ table / sizes.sum()


def codes_of(y, classes):
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


def sum_over(function, X, codes, k, mean, V, arguments):
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
    given = ((X[rows] - mean, codes[rows]) for rows in chunks)
    found = (function(x if V is None else x @ V, own, k, *arguments) for x, own in given)
    return combined(add, found)


def add(parts):
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


def combined(combine, parts):
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


def class_sums(x, codes, k):
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


def by_class(codes, k):
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


def weighted_scatter(x, codes, k, weights):
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

    def __init__(self, X, codes, k, n_jobs=None):
        self.X, self.codes, self.k, self.n_jobs = X, codes, k, n_jobs
        self.n, self.mean = len(X), X.mean(axis=0)
        self.sizes = sum(np.bincount(codes[rows], minlength=k) for rows in self._batches(1))

    def _batches(self, most):
        return gen_batches(self.n, FEATURE_CHUNK * max(1, min(most, self.n // 2**17)))

    def visit(self, function, *arguments):
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

    def class_sums(self):
        """Return `class_sums` of all rows.

        Returns
        -------
        sums : array of shape (k, d)
            One row a class.
        squares : float
            The sum of all squares.
        """
        return self.visit(class_sums)

    def weighted_scatter(self, weights):
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


# ---------------------------------------------------------------- the blocks of Dask collections


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
    check : callable
        Called with the values of y of every block, to refuse them.
    cuts : array, optional
        Values of y at which a slice begins, where y is a response.
    random_state : int or RandomState
        Draws the sample by row numbers, so that it does not depend on the chunks.
    """

    def __init__(self, X, y, dtype, check, cuts=None, random_state=0):
        self.blocks = _fused_with_reads(zip(X.to_delayed().ravel(), y.to_delayed().ravel()))
        self._first_visit(X.chunks[0], dtype, check, cuts, random_state)

    def _first_visit(self, lengths, dtype, check, cuts, random_state):
        self.dtype, self.cuts, self.V, self.n = dtype, cuts, None, sum(lengths)
        drawn = drawn_rows(lengths, SAMPLE_ROWS, random_state)
        first = self._reduced(first_visit, merge_moments, check, each=drawn)
        self.classes, self.sizes, self.sums, self.scatter, self.X, y = first
        self.codes = codes_of(y, self.classes)[0]
        self.mean = self.sums.sum(axis=0) / self.n
        self.k = len(self.classes)

    def through(self, V):
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

    def _reduced(self, function, combine, *arguments, each=None):
        from dask import delayed

        shared = delayed((self.dtype, self.cuts, *arguments), traverse=False)
        each = [()] * len(self.blocks) if each is None else [(own,) for own in each]
        call, join = delayed(combine_blocks, pure=False), delayed(combine, pure=False)
        # One task takes several fused blocks: the fewer tasks, the fewer sums are sent around.
        is_fused, n = isinstance(self.blocks[0], FusedBlock), len(self.blocks)
        per_task = -(-n // (TASKS_PER_THREAD * threads_of_scheduler())) if is_fused else 1
        groups = (slice(i, i + per_task) for i in range(0, n, per_task))
        tasks = [call(function, combine, self.blocks[at], shared, each[at]) for at in groups]
        while len(tasks) > 1:
            firsts = range(0, len(tasks), SUMS_PER_TASK)
            tasks = [join(tasks[i : i + SUMS_PER_TASK]) for i in firsts]
        with ONE_BLAS_THREAD:
            return tasks[0].compute()

    def visit(self, function, *arguments):
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

    def class_sums(self):
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

    def weighted_scatter(self, weights):
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
        return total if self.V is None else self.V.T @ total @ self.V


class IterableRows(DaskRows):
    """The rows of blocks (X, y) that an object gives anew each time it is iterated over.

    Parameters
    ----------
    blocks : iterable of pairs of arrays
        The blocks.
    lengths : list of int
        Their rows.
    dtype, check, cuts, random_state
        As for `DaskRows`.
    """

    def __init__(self, blocks, lengths, dtype, check, cuts=None, random_state=0):
        self.blocks, self.lengths = blocks, lengths
        self._first_visit(lengths, dtype, check, cuts, random_state)

    def _reduced(self, function, combine, *arguments, each=None):
        shared, total, seen = (self.dtype, self.cuts, *arguments), None, []
        for number, (x, y) in enumerate(self.blocks):
            seen.append(len(x))
            if seen != self.lengths[: len(seen)]:
                break
            own = () if each is None else (each[number],)
            found = function((x, y), shared, *own)
            total = found if total is None else combine([total, found])
        if seen != self.lengths:
            raise ValueError(
                f"the blocks have changed between two visits, at block {len(seen) - 1}: each "
                "iteration must give the same ones"
            )
        return total


class FusedBlock:
    """A block of X and that of y as the tasks that read them, run by the task that uses them.

    Read by tasks of their own, rows would be sent to a worker that takes such a task from another.
    """

    def __init__(self, pair):
        self.keys = [part.key for part in pair]
        self.graph = {}
        for part in pair:
            self.graph |= dict(part.dask.cull({part.key}))

    def __iter__(self):
        from dask import get

        return iter(get(self.graph, self.keys))


def _fused_with_reads(pairs):
    """Pairs as `FusedBlock`; as they are, where workers hold them or blocks share a task."""
    pairs = [list(pair) for pair in pairs]
    blocks = [FusedBlock(pair) for pair in pairs]
    known = {key for block in blocks for key in block.graph}
    is_shared = len(known) < sum(len(block.graph) for block in blocks)
    needed = {key for block in blocks for key in block.keys}
    for block in blocks:
        for task in block.graph.values():
            needed |= set(getattr(task, "dependencies", ()))
    return pairs if is_shared or not needed <= known else blocks  # not known: held by workers


def threads_of_scheduler():
    """Return how many tasks Dask's scheduler in use runs at once.

    Returns
    -------
    int
        The threads of a cluster's workers; of a scheduler on this machine, its processors.
    """
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return sum(client.nthreads().values()) if hasattr(client, "nthreads") else cpu_count()


def combine_blocks(function, combine, blocks, shared, each):
    """What a function gives for some blocks, combined one after the other; on a worker."""
    return combined(combine, (function(block, shared, *own) for block, own in zip(blocks, each)))


def drawn_rows(lengths, most, random_state):
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


def drawn_values(y, random_state):
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


def read_block(block, dtype, cuts, check=None):
    """A block as arrays (n, d) and (n,), y in slices where it is a response."""
    x, y = block
    x, y = np.asarray(x, dtype), np.asarray(y)
    if len(x) != len(y):
        raise ValueError(f"a block of X has {len(x)} rows, and that of y has {len(y)}")
    if check is not None:
        check(np.tile(y, 2))  # no block is so short that its labels look like a response
    return x, y if cuts is None else np.searchsorted(cuts, y, side="right")


def block_sums(block, shared):
    """`sum_over` of a block; on a worker."""
    dtype, cuts, classes, mean, V, function, arguments = shared
    x, y = read_block(block, dtype, cuts)
    return sum_over(function, x, codes_of(y, classes)[0], len(classes), mean, V, arguments)


def first_visit(block, shared, drawn):
    """`Moments` of a block; on a worker."""
    dtype, cuts, check = shared
    x, y = read_block(block, dtype, cuts, check)
    assert_all_finite(x, input_name="X")
    found = []
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
        found.append(Moments(labels, sizes, sums, rows.T @ rows, x[:0], y[:0]))
    return merge_moments(found)._replace(X=x[drawn], y=y[drawn])


def merge_moments(parts):
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
    return Moments(labels, sizes, sums, scatter, X, y)
