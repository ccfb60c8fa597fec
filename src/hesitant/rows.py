"""Rows of data in blocks: everything the package computes is a sum over them.

Blocks do not depend on the number of threads and partial sums are added in the order of the
blocks, so a result is the same to the last bit however many cores compute it.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hesitant._cores import in_threads
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.labels import Labels

BLOCK_SIZE = 8192
RARE = 100  # labelled rows that a class keeps in a sample, if it has them

Sample: TypeAlias = tuple[FloatArray, IntArray, FloatArray]  # features, codes and weights


@dataclasses.dataclass(frozen=True)
class Block:
    """Some rows, as the kernels like them."""

    X: FloatArray  # float64 and contiguous
    codes: IntArray  # class of each row, −1 for a blank
    labelled: BoolArray
    said: Any  # whatever the mechanism understands; for plain labels whether there is one
    weight: FloatArray
    review: FloatArray  # weight of what was said; zero where nobody was shown the case

    @property
    def size(self) -> int:
        """How many numbers there are, roughly."""
        return self.X.size + 4 * len(self.X)

    def __getitem__(self, rows: slice) -> "Block":
        return Block(*(part[rows] for part in vars(self).values()))


class Tally(NamedTuple):
    """How much there is of what: sums of the rows' own weights."""

    labelled: FloatArray  # of each class (g,)
    blank: float
    reviewed_labelled: float
    reviewed_blank: float
    n: float  # number of rows
    counting: FloatArray  # numbers of rows of positive weight: of each class, then blank (g + 1,)
    gaps: float = 0.0  # number of blocks with empty cells

    @property
    def weight(self) -> float:
        return float(self.labelled.sum()) + self.blank

    @property
    def rate(self) -> float:
        """Share of the reviewed rows that are labelled; of all rows if none was reviewed."""
        if (shown := self.reviewed_labelled + self.reviewed_blank) > 0:
            return float(self.reviewed_labelled / shown)
        return float(self.labelled.sum() / self.weight)

    def strides(self, size: int) -> IntArray:
        """Return one in how many rows of each class, and of the blanks, to sample."""
        if self.n <= size:
            return np.ones(len(self.counting), dtype=np.int64)
        labelled, blank = self.counting[:-1], self.counting[-1:]
        own = np.minimum(1 + 2 * labelled.sum() // size, np.maximum(labelled // RARE, 1))
        return np.concatenate((own, 1 + 2 * blank // size)).astype(np.int64)


class ManyRows(ABC):
    """Checked data wherever they are: in memory, in a file, on a cluster.

    Given in place of X, they are not checked again.
    """

    n_features: int
    named_features: AnyArray | None  # None if they have no names
    classes: Any  # in the user's own values
    said: Any  # statements, where more was said than labels that are right
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
    def sample(self, size: int, alpha: float = 0.5) -> Sample:
        """Return features, codes and weights of all rows that count, or of about ``size``."""

    @abstractmethod
    def relabelled(self, codes: IntArray) -> "ManyRows":
        """Return the same rows with other codes, all of them reviewed."""


@dataclasses.dataclass(eq=False, repr=False)
class Rows(ManyRows):
    """All rows in memory (or in a memory map), handed out in blocks to threads.

    Without weights every row counts once; without ``reviewed`` all were; without ``said`` what
    was said is whether there is a label.
    """

    X: AnyArray
    codes: IntArray
    weight: Any = None
    reviewed: Any = None
    said: Any = None
    n_classes: int = 0  # by default as many as are listed, or occur among the codes
    threads: int = 1
    block_size: int = BLOCK_SIZE
    classes: Any = None
    named_features: AnyArray | None = None

    def __post_init__(self) -> None:
        n, self.n_features = self.X.shape
        # One value that stands for all rows takes no memory, however many they are.
        if self.weight is None:
            self.weight = np.broadcast_to(1.0, n)
        if self.reviewed is None:
            self.reviewed = np.broadcast_to(True, n)
        # Blocks of one size, so that no thread waits for another's larger share.
        blocks = -(-n // self.block_size)
        edges = [n * k // blocks for k in range(blocks + 1)]
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.threads = min(self.threads, blocks)
        self._only = make_block(**self._part(self.slices[0])) if blocks == 1 else None
        listed = self.codes.max() + 1 if self.classes is None else len(self.classes)
        self.n_classes = self.n_classes or int(listed)

    @cached_property
    def tally(self) -> Tally:  # type: ignore[override]
        return Tally(*self.sum(partial(tally_block, n_classes=self.n_classes)))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "threads": 1}  # rows travel to where there are many processes

    @property
    def labels(self) -> Labels:
        return Labels(self.codes, self.classes)

    def __getitem__(self, which: Any) -> "Rows":
        return dataclasses.replace(self, **self._part(which))

    def _part(self, which: Any) -> dict[str, Any]:
        own = {k: getattr(self, k)[which] for k in ("X", "codes", "weight", "reviewed")}
        return own | {"said": None if self.said is None else self.said[which]}

    def _each(self, function: Callable[..., Any], *extra: Sequence[Any]) -> Iterator[Any]:
        def work(rows: slice, *own: Any) -> Any:
            with np.errstate(all="ignore"):  # solvers try absurd points, and see from the value
                return function(self._only or make_block(**self._part(rows)), *own)

        return in_threads(self.threads, work, self.slices, *extra)

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        return list(self._each(function, *extra))

    collect = map

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        if self._only is not None and not extra:  # a small fit spends a thirtieth on the rest
            with np.errstate(all="ignore"):
                return function(self._only)
        return reduce(add, self._each(function, *extra))

    def relabelled(self, codes: IntArray) -> "Rows":
        return dataclasses.replace(self, codes=codes, reviewed=None, said=None)

    def sample(self, size: int, alpha: float = 0.5) -> Sample:
        if self._only is not None and self.tally.n <= size:
            block, weight = self._only, sided(self._only, alpha)
            if weight.min() > 0:
                return block.X, block.codes, weight
        keep = sample_positions(self.codes, self.weight, self.tally.strides(size), alpha)
        block = make_block(**self._part(keep))
        return block.X, block.codes, sided(block, alpha)


def sample_positions(
    codes: IntArray, weight: FloatArray, strides: IntArray, alpha: float
) -> IntArray:
    """Return which rows, of each class and of the blanks, make a sample."""
    parts = []
    for code, stride in zip([*range(len(strides) - 1), -1], strides.tolist(), strict=True):
        if (alpha if code >= 0 else 1 - alpha) != 0:
            parts.append(np.flatnonzero((codes == code) & (weight > 0))[::stride])
    return np.sort(np.concatenate(parts))


def sided(block: Block, alpha: float) -> FloatArray:
    """Return the rows' weights, labelled ones times ``2 alpha``, blank ones ``2 (1 − alpha)``."""
    if alpha == 0.5:
        return block.weight
    return block.weight * np.where(block.labelled, 2 * alpha, 2 * (1 - alpha))


def make_block(X: AnyArray, codes: AnyArray, weight: Any, reviewed: Any, said: Any) -> Block:
    """Unfold some rows into what the kernels like."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    if not X.flags.writeable:  # read-only arrays would be compiled for a second time
        X = X.copy()
    codes = codes.astype(np.int64)
    labelled, own = codes >= 0, weight.astype(np.float64)
    return Block(X, codes, labelled, labelled if said is None else said, own, own * reviewed)


def tally_block(block: Block, n_classes: int) -> tuple[Any, ...]:
    """Return a block's share of the tally."""
    place = np.where(block.labelled, block.codes, n_classes)  # blanks come last
    total = np.bincount(place, block.weight, n_classes + 1)
    blank, labelled = np.bincount(block.labelled, block.review, 2).tolist()
    counting = np.bincount(place[block.weight > 0], minlength=n_classes + 1)
    gaps = float(math.isnan(np.add.reduce(block.X, axis=None)))
    counts = float(len(place)), counting.astype(float), gaps
    return total[:-1], float(total[-1]), labelled, blank, *counts


def add(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add two tuples, place by place."""
    return tuple(x + y for x, y in zip(a, b, strict=True))
