"""Many independent computations, on whatever backend joblib is told to use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend

__all__ = ["unordered"]

T = TypeVar("T")


def unordered(
    function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], jobs: int | None
) -> Iterator[T]:
    """Yield the function's answers as they come.

    Parameters
    ----------
    function : callable
    tasks : iterable of tuple
        The arguments of each call.
    jobs : int, optional
        Processes. By default as ``joblib.parallel_config`` says, or all cores.
    """
    _, configured = get_active_backend()
    if jobs is None:
        jobs = configured if configured is not None else cpu_count()
    tasks = list(tasks)

    def calls(which: list[tuple[Any, ...]]) -> Iterator[Any]:
        return (delayed(function)(*arguments) for arguments in which)

    try:
        # One at a time: what a worker holds back until a batch is full would be lost with it.
        run = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # joblib's multiprocessing backend returns whole lists only
        run, size = Parallel(n_jobs=jobs), 4 * (jobs if jobs > 0 else cpu_count())
        for first in range(0, len(tasks), size):
            yield from run(calls(tasks[first : first + size]))
    else:
        yield from run(calls(tasks))
