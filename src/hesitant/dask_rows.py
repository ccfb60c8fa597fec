"""Rows on a Dask cluster: parameters go out, sums come back, features never move.

Every evaluation of the likelihood is one Dask graph: a task for each chunk, then a tree of
additions. Only codes and weights, a few bytes a row, are kept on the workers.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.utils.validation import validate_data

from hesitant import rows
from hesitant._optional import need
from hesitant._typing import AnyArray, IntArray
from hesitant.checks import check_shown, check_weight
from hesitant.intake import MOST, check_number_of_classes, is_dask, refuse_not_finite, takes_gaps
from hesitant.labels import combine, encode

ALIKE = "cut them alike (take both from one data frame), or call compute_chunk_sizes() on both"
_task = partial(delayed, pure=False)


@dataclasses.dataclass(eq=False, repr=False)
class DaskRows(rows.ManyRows):
    """Rows in chunks of a Dask collection, arrays or data frames."""

    features: list[Delayed]
    sizes: list[int]
    notes: tuple[Delayed, ...]  # codes, weights, and whether rows were reviewed
    said: Any
    n_features: int
    classes: AnyArray
    named_features: AnyArray | None

    def __post_init__(self) -> None:
        self.tally = rows.Tally(*self.sum(partial(rows.tally_block, n_classes=len(self.classes))))
        if not self.tally.counting.any():
            raise ValueError("sample_weight is zero for every row: give some row a weight.")

    def _tasks(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Delayed]:
        said = _cut("y", self.said, self.sizes)
        chunks = zip(self.features, self.notes, said, *extra, strict=True)
        return [_task(_on_chunk)(function, *parts) for parts in chunks]

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        return list(dask.persist(*self._tasks(function, *extra)))

    def collect(self, function: Callable[..., Any]) -> list[Any]:
        return list(dask.compute(*self._tasks(function)))

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        level = self._tasks(function, *extra)
        while len(level) > 1:
            pairs = [_task(rows.add)(*level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
            level = pairs + level[len(level) - len(level) % 2 :]
        return dask.compute(*level)[0]

    def relabelled(self, codes: IntArray) -> "DaskRows":
        note = _task(lambda old, new: (new, old[1], np.broadcast_to(True, len(new))))
        own = zip(self.notes, _cut("y", codes, self.sizes), strict=True)
        notes = dask.persist(*(note(*pair) for pair in own))
        return dataclasses.replace(self, notes=notes, said=None)

    def sample(self, size: int, alpha: float = 0.5) -> rows.Sample:
        strides = self.tally.strides(size)

        def pick(block: rows.Block) -> rows.Sample:
            keep = rows.sample_positions(block.codes, block.weight, strides, alpha)
            return block.X[keep], block.codes[keep], rows.sided(block, alpha)[keep]

        X, codes, weight = map(np.concatenate, zip(*self.collect(pick), strict=True))
        return X, codes, weight


def _on_chunk(function: Callable[..., Any], X: Any, notes: Any, said: Any, *extra: Any) -> Any:
    codes, weight, reviewed = notes
    with np.errstate(all="ignore"):
        return function(rows.make_block(_numbers(X), codes, weight, reviewed, said), *extra)


def _numbers(chunk: Any) -> AnyArray:
    """Return a chunk as an array, a data frame's empty cells as NaN."""
    if hasattr(chunk, "to_numpy"):
        return np.asarray(chunk.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(chunk)


def take_dask(
    estimator: Any, X: Any, given: dict[str, Any], classes: Any, reset: bool, said: Any = None
) -> DaskRows:
    """Check Dask data for an estimator; what is beside X may be in memory."""
    features, known = _chunks(X)
    sizes = known or list(dask.compute(*(delayed(len)(chunk) for chunk in features)))
    _remember_features(estimator, X, reset)
    columns = [_cut(name, column, sizes) for name, column in given.items()]
    first = np.cumsum([0, *sizes[:-1]]).tolist()
    chunks = [c for c in zip(sizes, first, features, *columns, strict=True) if c[0]]
    if not chunks:
        raise ValueError("X has no rows: every chunk is empty.")
    blank, gaps, coded = estimator.missing_label, takes_gaps(estimator), said is not None
    if classes is None:
        labels = (_task(encode)(y, blank) for _, _, _, y, *_ in chunks)
        classes = combine(dask.compute(*(one.classes for one in labels)))
    listed, names = list(classes), getattr(estimator, "feature_names_in_", None)
    check_number_of_classes(np.asarray(classes), blank)
    ordered = encode([], blank, listed).classes

    def note(first: int, features: Any, y: Any, weight: Any, seen: Any) -> tuple[Any, ...]:
        X = _numbers(features)
        refuse_not_finite(X, names, lambda: gaps, first, MOST)
        for name, column in {"y": y, "sample_weight": weight, "reviewed": seen}.items():
            if column is not None and len(column) != len(X):
                sizes = f"from row {first} on has {len(X)} rows and that of {name} {len(column)}"
                raise ValueError(f"the chunk of X {sizes}: {ALIKE}.")
        weight = check_weight(weight, X, some=False)
        codes = y if coded else encode(y, blank, listed).codes
        return codes, weight, check_shown("reviewed", seen, (len(X),))

    notes = dask.persist(*(_task(note)(*chunk[1:]) for chunk in chunks))
    kept, _, parts, *_ = map(list, zip(*chunks, strict=True))
    return DaskRows(parts, kept, notes, said, estimator.n_features_in_, ordered, names)


def map_lazily(estimator: Any, X: Any, pick: Callable[..., AnyArray]) -> Any:
    """Return a lazy Dask array of what ``pick`` makes of each chunk's posteriors."""
    features, known = _chunks(X)
    _remember_features(estimator, X, reset=False)
    sizes: Sequence[float] = known or [math.nan] * len(features)
    model = estimator.fitted_
    like = np.asarray(pick(*model.posterior(np.zeros((1, model.n_features)))))

    def work(chunk: Any, place: int, first: float) -> AnyArray:
        X, counted = np.array(_numbers(chunk), dtype=np.float64, order="C"), not math.isnan(first)
        try:
            start = int(first) if counted else 0
            refuse_not_finite(X, model.named_features, lambda: model.family.takes_gaps, start)
        except ValueError as error:
            where = "" if counted else f"in chunk {place}, rows counted from its first: "
            raise ValueError(f"{where}{error}") from None
        with np.errstate(all="ignore"):
            return np.asarray(pick(*model.posterior(X)))

    chunks = zip(features, range(len(features)), np.cumsum([0, *sizes[:-1]]), strict=True)
    tasks = zip([_task(work)(*chunk) for chunk in chunks], sizes, strict=True)
    arrays = [da.from_delayed(task, (size, *like.shape[1:]), like.dtype) for task, size in tasks]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _chunks(X: Any) -> tuple[list[Delayed], list[int] | None]:
    """Return the row chunks of a collection, and their sizes where Dask knows them."""
    if not isinstance(X, da.Array):
        return list(X.to_delayed()), None
    if X.ndim > 1 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # a row must be whole
    sizes = None if np.isnan(X.chunks[0]).any() else list(X.chunks[0])
    return list(X.to_delayed().ravel()), sizes


def _cut(name: str, column: Any, sizes: list[int]) -> list[Any]:
    if column is None:
        return [None] * len(sizes)
    lazy, n = is_dask(column), math.nan
    if not lazy or isinstance(column, da.Array):
        n = column.shape[0] if lazy else len(column)
    if not math.isnan(n) and n != sum(sizes):
        raise ValueError(f"X has {sum(sizes)} rows and {name} has {n}: give one for each row.")
    if not lazy:
        column = getattr(column, "iloc", column)
        return [column[a:b] for a, b in pairwise(np.cumsum([0, *sizes]))]
    if not math.isnan(n):
        column = column.rechunk({0: tuple(sizes)})
    parts, _ = _chunks(column)
    if len(parts) != len(sizes):
        raise ValueError(f"X has {len(sizes)} chunks and {name} has {len(parts)}: {ALIKE}.")
    return parts


def _remember_features(estimator: Any, X: Any, reset: bool) -> None:
    """Let scikit-learn note or compare the features, on a stand-in of two rows."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions: give rows and features.")
        stand_in: Any = np.zeros((2, X.shape[1]))
    else:
        stand_in = need("pandas").DataFrame(np.zeros((2, len(X.columns))), columns=list(X.columns))
    validate_data(estimator, stand_in, reset=reset)
