"""Progress bars, where tqdm is installed and somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

__all__ = ["bar"]


@contextmanager
def bar(what: str, total: int, show: bool, done: int = 0) -> Iterator[Callable[[], object]]:
    """Show how much of `total` is done; yields the function that says one more is.

    Parameters
    ----------
    what : str
        What is being counted.
    total : int
        How many there are.
    show : bool
        Whether to show anything.
    done : int, default=0
        How many were done before.
    """
    if not show or not find_spec("tqdm"):
        yield lambda: None
        return
    from tqdm.auto import tqdm

    # disable=None: silent where nobody watches, in a log file for instance.
    with tqdm(total=total, initial=done, desc=what, leave=False, disable=None) as shown:
        yield shown.update
