"""Rows of data in blocks: everything the package computes is a sum over them.

Blocks do not depend on the number of threads and partial sums are added in the order of the
blocks, so a result is the same to the last bit however many cores compute it. What a row needs
beyond its features is kept small (a code of one byte, weights only where they differ) and unfolded
block by block.
"""

import dataclasses
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray

BLOCK_SIZE = 8192
RARE = 100  # labelled rows that a class keeps in a sample, if it has them


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
    said : boolean array of shape (n,), or whatever a mechanism understands
        What was said of each row; for plain labels whether there is one.
    weight : array of shape (n,)
        Weight of the row.
    review : array of shape (n,)
        Weight of what was said of it; zero where nobody was shown the case.
    """

    X: FloatArray
    codes: IntArray
    labelled: BoolArray
    said: Any
    weight: FloatArray
    review: FloatArray

    def __getitem__(self, rows: slice) -> "Block":
        return Block(*(part[rows] for part in vars(self).values()))


class Tally(NamedTuple):
    """How much there is of what: sums of the rows' own weights.

    Attributes
    ----------
    labelled : array of shape (g,)
        Labelled rows of each class.
    blank : float
    reviewed_labelled, reviewed_blank : float
        Those that somebody was shown.
    n : float
        Number of rows.
    counting : array of shape (g + 1,)
        Number of rows of positive weight: labelled ones of each class, then blank ones.
    """

    labelled: FloatArray
    blank: float
    reviewed_labelled: float
    reviewed_blank: float
    n: float
    counting: FloatArray

    @property
    def weight(self) -> float:
        """Sum of all weights."""
        return float(self.labelled.sum()) + self.blank

    def strides(self, size: int) -> IntArray:
        """Return which fraction (one in so many) of each class, and of the blanks, to sample.

        About ``size`` rows, half of them labelled; of a class with few labels all that there are.
        """
        if self.n <= size:
            return np.ones(len(self.counting), dtype=np.int64)
        labelled, blank = self.counting[:-1], self.counting[-1:]
        own = np.minimum(1 + 2 * labelled.sum() // size, np.maximum(labelled // RARE, 1))
        return np.concatenate((own, 1 + 2 * blank // size)).astype(np.int64)

    @property
    def rate(self) -> float:
        """Share of the reviewed rows that are labelled; of all rows if none was reviewed."""
        shown = self.reviewed_labelled + self.reviewed_blank
        labelled = self.labelled.sum()
        if shown > 0:
            return float(self.reviewed_labelled / shown)
        return float(labelled / (labelled + self.blank))


class ManyRows(ABC):
    """Rows wherever they are: in memory, in a file, on a cluster.

    Attributes
    ----------
    n_features : int
    tally : Tally
    """

    n_features: int
    tally: Tally

    @abstractmethod
    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        """Apply a function to each block (and its share of extra); results stay with the rows."""

    @abstractmethod
    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        """Return the sum over blocks of the tuples that a function returns."""

    @abstractmethod
    def collect(self, function: Callable[..., Any]) -> list[Any]:
        """Return what a function makes of each block."""

    @abstractmethod
    def sample(self, size: int, alpha: float = 0.5) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return features, codes and weights of all rows that count, or of about ``size``.

        Not at random: the same rows give the same sample, so that a fit repeats itself. With
        ``alpha`` labelled and blank rows count as in :func:`sided`; those that do not count at
        all are left out.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Rows(ManyRows):
    """All rows in memory (or in a memory map), handed out in blocks to threads.

    Parameters
    ----------
    X : array of shape (n, p)
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    weight : array of shape (n,), optional
        The rows' own weights; one by default.
    reviewed : boolean array of shape (n,), optional
        Whether somebody was shown the row; by default all were.
    said : object that can be sliced by rows, optional
        What was said of the rows; by default whether each has a label.
    n_classes : int, optional
    threads, block_size : int
    """

    def __init__(
        self,
        X: AnyArray,
        codes: IntArray,
        weight: FloatArray | None = None,
        reviewed: BoolArray | None = None,
        *,
        said: Any = None,
        n_classes: int | None = None,
        threads: int = 1,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        self.X, self.codes, self.weight, self.reviewed = X, codes, weight, reviewed
        self.n_features, self.said = X.shape[1], said
        n = len(codes)
        # Blocks of one size, so that no thread waits for another's larger share.
        blocks = -(-n // block_size)
        edges = [n * k // blocks for k in range(blocks + 1)]
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.threads = min(threads, len(self.slices))
        self._pool: ThreadPoolExecutor | None = None
        self._users, self._lock = 0, threading.Lock()
        self._only = self._block(self.slices[0]) if len(self.slices) == 1 else None
        n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
        self.tally = Tally(*self.sum(partial(tally_block, n_classes=n_classes)))

    def __enter__(self) -> Self:
        with self._lock:
            self._users += 1
            if self.threads > 1 and self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="hesitant")
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._pool is not None and not self._users:  # others may be at work
                self._pool.shutdown(cancel_futures=True)
                self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        # Threads stay behind when rows travel.
        return {**vars(self), "_pool": None, "_users": 0, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def _block(self, rows: slice) -> Block:
        return make_block(
            self.X[rows],
            self.codes[rows],
            None if self.weight is None else self.weight[rows],
            None if self.reviewed is None else self.reviewed[rows],
            None if self.said is None else self.said[rows],
        )

    def _each(self, function: Callable[..., Any], *extra: Sequence[Any]) -> Iterator[Any]:
        if self._only is not None:
            return iter([quietly(function, self._only, *(e[0] for e in extra))])
        run = map if self._pool is None else self._pool.map
        return iter(
            run(lambda rows, *e: quietly(function, self._block(rows), *e), self.slices, *extra)
        )

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        """Return ``function(block, *its share of extra)`` for each block, in order."""
        return list(self._each(function, *extra))

    collect = map

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        """Return the sum over blocks of the tuples that ``function`` returns."""
        return reduce(add, self._each(function, *extra))

    def sample(self, size: int, alpha: float = 0.5) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return all rows that count, or every few of each class and of the blanks."""
        if self._only is not None and self.tally.n <= size:
            block, weight = self._only, sided(self._only, alpha)
            if weight.min() > 0:
                return block.X, block.codes, weight
        keep = np.sort(
            np.concatenate(
                list(sample_positions(self.codes, self.weight, self.tally.strides(size), alpha))
            )
        )
        own = None if self.weight is None else self.weight[keep]
        block = make_block(self.X[keep], self.codes[keep], own, None)
        return block.X, block.codes, sided(block, alpha)


def sample_positions(
    codes: IntArray, weight: FloatArray | None, strides: IntArray, alpha: float
) -> Iterator[IntArray]:
    """Yield positions of rows of each class, then of blank rows, that make a sample."""
    for code, stride in zip([*range(len(strides) - 1), -1], strides.tolist(), strict=True):
        if (alpha if code >= 0 else 1 - alpha) == 0:
            continue
        counts = codes == code
        if weight is not None:
            counts = counts & (weight > 0)
        yield np.flatnonzero(counts)[::stride]


def sided(block: Block, alpha: float) -> FloatArray:
    """Return the rows' weights, labelled ones times ``2 alpha``, blank ones ``2 (1 − alpha)``."""
    if alpha == 0.5:
        return block.weight
    return block.weight * np.where(block.labelled, 2 * alpha, 2 * (1 - alpha))


def make_block(
    X: AnyArray,
    codes: AnyArray,
    weight: AnyArray | None,
    reviewed: AnyArray | None,
    said: Any = None,
) -> Block:
    """Unfold some rows into what the kernels like."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    if not X.flags.writeable:  # read-only arrays would be compiled for a second time
        X = X.copy()
    codes = codes.astype(np.int64)
    labelled = codes >= 0
    own = np.ones(len(codes)) if weight is None else weight.astype(np.float64)
    review = own if reviewed is None else own * reviewed
    return Block(X, codes, labelled, labelled if said is None else said, own, review)


def tally_block(block: Block, n_classes: int) -> tuple[Any, ...]:
    """Return a block's share of the tally."""
    seen, blank = block.labelled, ~block.labelled
    counts = block.weight > 0
    return (
        np.bincount(block.codes[seen], block.weight[seen], n_classes),
        float(block.weight[blank].sum()),
        float(block.review[seen].sum()),
        float(block.review[blank].sum()),
        float(len(block.codes)),
        np.append(
            np.bincount(block.codes[seen & counts], minlength=n_classes),
            np.count_nonzero(blank & counts),
        ).astype(float),
    )


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call without floating-point warnings: solvers try absurd points, and see from the value."""
    with np.errstate(all="ignore"):
        return function(*arguments)


def add(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add two tuples, place by place."""
    return tuple(x + y for x, y in zip(a, b, strict=True))
