"""How many threads to use, by the conventions of the field's OpenMP code."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from joblib import cpu_count

# Whether other tasks run beside this one: they would fight for cores, so each keeps to one thread.
BESIDE_OTHERS = ContextVar("BESIDE_OTHERS", default=False)
_LOCK = threading.Lock()
_BEFORE: list[tuple[Any, int]] = []  # libraries that had several threads, and how many
_USERS = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to one thread: BLAS threads and ours would wait for each other."""
    global _USERS
    with _LOCK:  # the limit is the process's: set by whoever comes first, lifted by the last
        if _USERS == 0:
            found = [(library, library.num_threads) for library in _libraries()]
            _BEFORE[:] = [(library, threads) for library, threads in found if threads != 1]
            for library, _ in _BEFORE:
                library.set_num_threads(1)
        _USERS += 1
    try:
        yield
    finally:
        with _LOCK:
            _USERS -= 1
            if _USERS == 0:
                for library, threads in _BEFORE:
                    library.set_num_threads(threads)


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    # to look for them takes most of a millisecond
    return ThreadpoolController().select(user_api="blas").lib_controllers


def threads_allowed(n_jobs: int | None) -> int:
    """Return how many threads to use, within ``OMP_NUM_THREADS`` and threadpoolctl's limits."""
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    try:
        from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
    except ImportError:  # it is private, and may go
        most = cpu_count()
    else:
        most = _openmp_effective_n_threads()
    return max(1, most + 1 + (-1 if n_jobs is None else int(n_jobs)))


def in_threads(threads: int, function: Callable[..., Any], *parts: Iterable[Any]) -> Iterator[Any]:
    """Map a function over parts, in this many threads; answers come in the order of the parts."""
    if threads == 1 or BESIDE_OTHERS.get():
        return map(function, *parts)
    return _pool(threads, os.getpid()).map(function, *parts)


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return threads that are kept: to start them takes as long as a block of rows."""
    return ThreadPoolExecutor(threads, thread_name_prefix="hesitant")
