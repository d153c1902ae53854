"""Work shared among joblib's workers, each of which computes with one BLAS thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

from joblib import Parallel, effective_n_jobs
from joblib.parallel import BACKENDS, get_active_backend
from threadpoolctl import ThreadpoolController


def in_parallel(n_jobs: int | None, calls: Iterable[Any]) -> Iterator[Any]:
    """Run joblib's delayed calls in parallel, and give their results in order.

    Each worker has one BLAS thread. Where n_jobs is None and joblib is configured for nothing else,
    there are as many workers as BLAS would use threads, and they take the place of these threads.

    Parameters
    ----------
    n_jobs : int or None
        The number of workers, as scikit-learn counts: -1 is one for each processor.
    calls : iterable of joblib.delayed calls
        What is to be done.

    Yields
    ------
    object
        The result of the next call, as soon as it is there.
    """
    calls = list(calls)
    backend, configured = get_active_backend(prefer="threads")
    here = isinstance(backend, (BACKENDS["threading"], BACKENDS["sequential"]))
    with ONE_BLAS_THREAD as n_threads:
        if not here:  # Dask, processes
            yield from Parallel(n_jobs, return_as="generator")(calls)
            return
        if n_jobs is not None:
            n_workers = effective_n_jobs(n_jobs)
        elif backend.nesting_level:
            n_workers = 1  # those around it are parallel
        else:
            n_workers = max(configured or 1, n_threads)
        if min(n_workers, len(calls) // 2) <= 1:
            for function, arguments, options in calls:
                yield function(*arguments, **options)
        else:
            yield from _threads(n_workers).map(lambda c: c[0](*c[1], **c[2]), calls)


class _OneBlasThread:
    """A context in which BLAS has one thread; it gives how many there were.

    It may be entered from several threads at a time: the last one out restores the number.
    """

    def __init__(self) -> None:
        self.lock, self.depth = Lock(), 0

    def __enter__(self) -> int:
        with self.lock:
            if not self.depth:
                libraries = _blas().lib_controllers
                self.before = max((library.num_threads for library in libraries), default=1)
                self.limit = _blas().limit(limits=1)
            self.depth += 1
            return self.before

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.depth -= 1
            if not self.depth:
                self.limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()


@cache
def _blas():
    return ThreadpoolController().select(user_api="blas")


@cache
def _threads(n_workers):
    return ThreadPoolExecutor(n_workers, thread_name_prefix="ismlit")
