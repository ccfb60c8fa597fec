"""Rows on a Dask cluster: parameters go out, sums come back, features never move.

Every evaluation of the likelihood is one Dask graph: a task for each chunk, then a tree of
additions. Chunks are read where they are; only codes and weights, a few bytes a row, are kept on
the workers beside them. A lost worker's chunks are computed again by Dask itself.
"""

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
from hesitant._typing import AnyArray, IntArray
from hesitant.checks import check_reviewed, check_weight
from hesitant.intake import check_number_of_classes, refuse_not_finite, takes_gaps
from hesitant.labels import combine, encode
from hesitant.model import FittedModel

_task = partial(delayed, pure=False)


class DaskRows(rows.ManyRows):
    """Rows in chunks of a Dask collection, arrays or data frames.

    ``notes`` are the codes, weights or None, and reviewed or None of each chunk; ``said`` is what
    was said of its rows, where that is more than their labels.
    """

    def __init__(
        self,
        features: list[Delayed],
        sizes: list[int],
        notes: Sequence[Delayed],
        n_features: int,
        n_classes: int,
        said: list[Any] | None = None,
    ) -> None:
        self.features, self.sizes, self.notes = features, sizes, list(notes)
        self.n_features, self.said = n_features, said or [None] * len(features)
        self.tally = rows.Tally(*self.sum(partial(rows.tally_block, n_classes=n_classes)))
        if not self.tally.counting.any():
            raise ValueError("sample_weight is zero for every row: give some row a weight.")

    def _tasks(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Delayed]:
        chunks = zip(self.features, self.notes, self.said, *extra, strict=True)
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
        own = zip(self.notes, _cut("y", codes, self.sizes), strict=True)
        notes = dask.persist(*(_task(lambda note, new: (new, note[1], None))(*n) for n in own))
        g = len(self.tally.labelled)
        return DaskRows(self.features, self.sizes, notes, self.n_features, g)

    def sample(self, size: int, alpha: float = 0.5) -> rows.Sample:
        strides = self.tally.strides(size)
        parts = self.collect(partial(_sample_block, strides=strides, alpha=alpha))
        X, codes, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return X, codes, weight


def _on_chunk(
    function: Callable[..., Any], features: Any, notes: Any, said: Any, *extra: Any
) -> Any:
    codes, weight, reviewed = notes
    block = rows.make_block(_numbers(features), codes, weight, reviewed, said)
    with np.errstate(all="ignore"):
        return function(block, *extra)


def _numbers(chunk: Any) -> AnyArray:
    """Return a chunk as an array, a data frame's empty cells as NaN."""
    if hasattr(chunk, "to_numpy"):
        return np.asarray(chunk.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(chunk)


def _sample_block(block: rows.Block, strides: IntArray, alpha: float) -> rows.Sample:
    keep = rows.sample_positions(block.codes, block.weight, strides, alpha)
    return block.X[keep], block.codes[keep], rows.sided(block, alpha)[keep]


def take_dask(
    estimator: Any, X: Any, given: dict[str, Any], classes: Any, reset: bool, said: Any = None
) -> tuple[DaskRows, AnyArray]:
    """Check Dask data for an estimator; return rows and classes.

    What is given beside X (y, sample_weight, reviewed) may be Dask collections with the same
    chunks, or anything in memory.
    """
    features, known = _chunks("X", X)
    sizes = known or list(dask.compute(*(delayed(len)(chunk) for chunk in features)))
    _remember_features(estimator, X, reset)
    columns = [_cut(name, column, sizes) for name, column in given.items()]
    columns.append(_cut("y", said, sizes))
    first = np.cumsum([0, *sizes[:-1]]).tolist()
    chunks = [c for c in zip(sizes, first, features, *columns, strict=True) if c[0]]
    if not chunks:
        raise ValueError("X has no rows: every chunk is empty.")
    blank = estimator.missing_label
    if classes is None:
        labels = (_task(encode)(y, blank) for _, _, _, y, *_ in chunks)
        classes = combine(dask.compute(*(one.classes for one in labels)))
    check_number_of_classes(np.asarray(classes), blank)
    ordered = encode([], blank, list(classes)).classes
    names, gaps = getattr(estimator, "feature_names_in_", None), takes_gaps(estimator)
    note = partial(_note_chunk, names=names, gaps=gaps, blank=blank, classes=list(classes))
    notes = dask.persist(*(_task(note)(*chunk[1:-1]) for chunk in chunks))
    kept, _, parts, *_, told = map(list, zip(*chunks, strict=True))
    n_features = estimator.n_features_in_
    return DaskRows(parts, kept, notes, n_features, len(ordered), told), ordered


def _note_chunk(
    first: int,
    features: Any,
    y: Any,
    sample_weight: Any,
    reviewed: Any,
    *,
    names: Any,
    gaps: bool,
    blank: Any,
    classes: list[Any],
) -> tuple[Any, ...]:
    """Check a chunk, and return its codes, weights and whether rows were reviewed."""
    X = _numbers(features)
    refuse_not_finite(X, names, lambda: gaps, first)
    given = {"y": y, "sample_weight": sample_weight, "reviewed": reviewed}
    for name, column in given.items():
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"the chunk of X from row {first} on has {len(X)} rows and that of {name} "
                f"{len(column)}: cut them alike, for example by taking both from one data frame."
            )
    weight = None if sample_weight is None else check_weight(sample_weight, X, some=False)
    seen = None if reviewed is None else check_reviewed(reviewed, len(X))
    return encode(y, blank, classes).codes, weight, seen


def map_lazily(
    estimator: Any, X: Any, pick: Callable[..., AnyArray], rest: tuple[int, ...], dtype: Any
) -> Any:
    """Return a lazy Dask array of what ``pick`` makes of each chunk's posteriors."""
    features, known = _chunks("X", X)
    _remember_features(estimator, X, reset=False)
    sizes: Sequence[float] = known or [math.nan] * len(features)
    first = np.cumsum([0, *sizes[:-1]])
    work = partial(_pick_chunk, model=estimator.fitted_, pick=pick, rest=rest, dtype=dtype)
    arrays = [
        da.from_delayed(
            _task(work)(chunk, place, start), shape=(size, *rest), dtype=np.dtype(dtype)
        )
        for place, (chunk, size, start) in enumerate(zip(features, sizes, first, strict=True))
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _pick_chunk(
    chunk: Any,
    place: int,
    first: float,
    *,
    model: FittedModel,
    pick: Callable[..., AnyArray],
    rest: tuple[int, ...],
    dtype: Any,
) -> AnyArray:
    X = np.array(_numbers(chunk), dtype=np.float64, order="C")
    if not len(X):
        return np.zeros((0, *rest), dtype=dtype)
    try:
        row = 0 if math.isnan(first) else int(first)
        refuse_not_finite(X, model.named_features, lambda: model.family.takes_gaps, row)
    except ValueError as error:
        if not math.isnan(first):
            raise
        raise ValueError(f"in chunk {place}, rows counted from its first: {error}") from None
    with np.errstate(all="ignore"):
        return np.asarray(pick(*model.posterior(X)), dtype=dtype)


def _chunks(name: str, X: Any) -> tuple[list[Delayed], list[int] | None]:
    """Return the row chunks of a collection, and their sizes where Dask knows them."""
    if hasattr(X, "npartitions") and hasattr(X, "to_delayed") and not isinstance(X, da.Array):
        return list(X.to_delayed()), None
    if not isinstance(X, da.Array):
        raise TypeError(f"{name} is a {type(X).__name__}: give a Dask array or data frame.")
    if X.ndim > 1 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # a row must be whole
    sizes = None if np.isnan(X.chunks[0]).any() else list(X.chunks[0])
    return list(X.to_delayed().ravel()), sizes


def _cut(name: str, column: Any, sizes: list[int]) -> list[Any]:
    """Return a column cut like the features."""
    if column is None:
        return [None] * len(sizes)
    lazy = hasattr(column, "to_delayed")
    if not (lazy or hasattr(column, "__getitem__")):
        column = list(column)
    n = column.shape[0] if isinstance(column, da.Array) else math.nan if lazy else len(column)
    if not math.isnan(n) and n != sum(sizes):
        raise ValueError(f"X has {sum(sizes)} rows and {name} has {n}: give one for each row.")
    if not lazy:
        column = getattr(column, "iloc", column)
        return [column[a:b] for a, b in pairwise(np.cumsum([0, *sizes]))]
    if not math.isnan(n):
        column = column.rechunk({0: tuple(sizes)})
    parts, _ = _chunks(name, column)
    if len(parts) != len(sizes):
        raise ValueError(
            f"X has {len(sizes)} chunks and {name} has {len(parts)}: cut them alike, for "
            "example by taking both from one data frame, or call compute_chunk_sizes() on both."
        )
    return parts


def _remember_features(estimator: Any, X: Any, reset: bool) -> None:
    """Let scikit-learn note or compare the features, on a stand-in of two rows."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions: give rows and features.")
        stand_in: Any = np.zeros((2, X.shape[1]))
    else:
        import pandas as pd

        stand_in = pd.DataFrame(np.zeros((2, len(X.columns))), columns=list(X.columns))
    validate_data(estimator, stand_in, reset=reset)
