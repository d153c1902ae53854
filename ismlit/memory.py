"""Arrays that grow with the square of the rows: whether they fit into memory, or come in parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.utils import gen_batches

CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container has, in its newer and its older form."""
BATCH_VALUES = 2**22  # 32 MiB of numbers.


@cache
def memory_limit() -> int:
    """Return how many bytes this process can have at most.

    Returns
    -------
    int
        The memory of the machine, or of the container where that has less. Where neither is known
        it is the size of the address space, below which Python itself raises a MemoryError.
    """
    limits = [sys.maxsize]
    if sys.platform in ("linux", "darwin"):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in map(Path, CONTAINER_LIMITS):
        text = path.read_text().strip() if path.is_file() else ""
        if text.isdigit():  # without a limit it says "max"
            limits.append(int(text))
    return min(limit for limit in limits if limit > 0)


def require_memory(who: str, advice: str, n: int, copies: int, itemsize: int = 8) -> None:
    """Refuse n x n arrays that this machine cannot hold, before it would end the process.

    Parameters
    ----------
    who : str
        What needs them.
    advice : str
        What the user can do.
    n : int
        The number of rows.
    copies : int
        How many such arrays there are at one time.
    itemsize : int, default=8
        The bytes of a number.

    Raises
    ------
    MemoryError
        If they take more bytes than `memory_limit` gives.

    Examples
    --------
    >>> from ismlit.memory import require_memory
    >>> require_memory("a fit", "fit fewer rows", n=100, copies=4)  # 0.3 MB: nothing to refuse
    """
    needed, limit = copies * itemsize * n**2, memory_limit()
    if needed > limit:
        raise MemoryError(
            f"{who} keeps {copies} array{'s' * (copies > 1)} of n x n numbers, which take "
            f"{needed / 2**30:.3g} GiB for n = {n}, and there are {limit / 2**30:.3g} GiB: {advice}"
        )


def few_rows(n_rows: int, most: int) -> np.ndarray:
    """Draw row numbers without replacement, the same ones each time.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    most : int
        How many are drawn, all if there are fewer.

    Returns
    -------
    array of int
        Sorted.

    Examples
    --------
    >>> from ismlit.memory import few_rows
    >>> len(few_rows(10_000, most=800)), len(few_rows(10, most=800))
    (800, 10)
    """
    return np.sort(np.random.default_rng(0).permutation(n_rows)[:most])


def batches(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows so that arrays with a column for each of some points stay small.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    width : int
        The number of columns that each will have.

    Yields
    ------
    slice
        At most 4096 rows, and at most `BATCH_VALUES` numbers in their columns.

    Examples
    --------
    >>> from ismlit.memory import batches
    >>> [rows.stop for rows in batches(10_000, width=2048)]
    [2048, 4096, 6144, 8192, 10000]
    """
    yield from gen_batches(n_rows, max(1, min(4096, BATCH_VALUES // max(width, 1))))
