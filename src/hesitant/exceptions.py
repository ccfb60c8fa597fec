"""Warnings of the package."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class FitWarning(UserWarning):
    """Something about the data or the fit that a careful user should know."""


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect fit warnings as words, each once; let all other warnings pass."""
    warned: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FitWarning)
            yield warned
    finally:
        for w in caught:
            if not issubclass(w.category, FitWarning):
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
            elif str(w.message) not in warned:
                warned.append(str(w.message))
