"""Rows of data in blocks: everything the package computes is a sum over them.

Blocks do not depend on the number of threads and partial sums are added in the order of the
blocks, so a result is the same to the last bit however many cores compute it.
"""

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, Self

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["BLOCK_SIZE", "Block", "Rows"]

BLOCK_SIZE = 8192


@dataclasses.dataclass(frozen=True)
class Block:
    """Some rows, as the kernels like them.

    Attributes
    ----------
    X : array of shape (n, p)
        Features, float64 and contiguous.
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    labelled : boolean array of shape (n,)
    weight : array of shape (n,)
        Weight of the row in the mixture's likelihood.
    review : array of shape (n,)
        Weight of the row in the mechanism's likelihood; zero where nobody was shown the case.
    """

    X: FloatArray
    codes: IntArray
    labelled: BoolArray
    weight: FloatArray
    review: FloatArray


class Rows:
    """All rows in memory (or in a memory map), handed out in blocks to threads.

    Parameters
    ----------
    X : array of shape (n, p)
    codes, weight, review : arrays of shape (n,)
        As in :class:`Block`.
    threads : int
    block_size : int
    """

    def __init__(
        self,
        X: AnyArray,
        codes: IntArray,
        weight: FloatArray,
        review: FloatArray,
        *,
        threads: int = 1,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        self.X, self.codes, self.weight, self.review = X, codes, weight, review
        self.labelled = codes >= 0
        n = len(codes)
        self.slices = [slice(a, min(a + block_size, n)) for a in range(0, n, block_size)]
        self.threads = min(threads, len(self.slices))
        self._pool: ThreadPoolExecutor | None = None
        self._only = self._block(self.slices[0]) if len(self.slices) == 1 else None

    def __enter__(self) -> Self:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="hesitant")
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _block(self, rows: slice) -> Block:
        X = np.ascontiguousarray(self.X[rows], dtype=np.float64)
        if not X.flags.writeable:  # read-only arrays would be compiled for a second time
            X = X.copy()
        return Block(
            X, self.codes[rows], self.labelled[rows], self.weight[rows], self.review[rows]
        )

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        """Return ``function(block, *its share of extra)`` for each block, in order."""
        if self._only is not None:
            return [_quietly(function, self._only, *(e[0] for e in extra))]
        run = map if self._pool is None else self._pool.map
        return list(
            run(lambda rows, *e: _quietly(function, self._block(rows), *e), self.slices, *extra)
        )

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        """Return the sum over blocks of the tuples that ``function`` returns."""
        return reduce(_add, self.map(function, *extra))

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call without floating-point warnings: solvers try absurd points, and see from the value."""
    with np.errstate(all="ignore"):
        return function(*arguments)


def _add(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))
