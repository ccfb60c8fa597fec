"""Rows on a Dask cluster: parameters go out, sums come back, features never move.

Every evaluation of the likelihood is one Dask graph: a task for each chunk, then a tree of
additions. Chunks are read where they are; only codes and weights, a few bytes a row, are kept on
the workers beside them. A lost worker's chunks are computed again by Dask itself.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.utils.validation import validate_data

from hesitant._typing import AnyArray, IntArray
from hesitant.checks import check_reviewed
from hesitant.intake import check_number_of_classes, refuse_not_finite, takes_gaps
from hesitant.labels import combine, encode
from hesitant.model import FittedModel
from hesitant.rows import (
    Block,
    ManyRows,
    Sample,
    Tally,
    add,
    make_block,
    sample_positions,
    sided,
    tally_block,
)

_task = partial(delayed, pure=False)


class DaskRows(ManyRows):
    """Rows in chunks of a Dask collection, arrays or data frames.

    ``notes`` are the codes, weights or None, and reviewed or None of each chunk; ``said`` is what
    was said of its rows, where that is more than their labels.
    """

    def __init__(
        self,
        features: list[Delayed],
        notes: Sequence[Delayed],
        n_features: int,
        n_classes: int,
        said: list[Any] | None = None,
    ) -> None:
        self.features, self.notes, self.n_features = features, list(notes), n_features
        self.said = [None] * len(features) if said is None else said
        self.tally = Tally(*self.sum(partial(tally_block, n_classes=n_classes)))
        if not self.tally.counting.any():
            raise ValueError("sample_weight is zero for every row: give some row a weight.")

    def _tasks(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Delayed]:
        chunks = zip(self.features, self.notes, self.said, *extra, strict=True)
        return [_task(_on_chunk)(function, *parts) for parts in chunks]

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        return list(dask.persist(*self._tasks(function, *extra)))

    def collect(self, function: Callable[..., Any]) -> list[Any]:
        return [r for r in dask.compute(*self._tasks(function)) if r is not None]

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        level = self._tasks(function, *extra)
        while len(level) > 1:
            pairs = [_task(_add_known)(*level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
            level = pairs + level[len(level) - len(level) % 2 :]
        (total,) = dask.compute(*level)
        if total is None:
            raise ValueError("X has no rows: every chunk is empty.")
        return total

    def relabelled(self, codes: IntArray) -> "DaskRows":
        parts = _column_chunks("y", codes, self.features, None)
        both = zip(self.notes, parts, strict=True)
        notes = dask.persist(*(_task(_recode)(note, part) for note, part in both))
        return DaskRows(self.features, notes, self.n_features, len(self.tally.labelled))

    def sample(self, size: int, alpha: float = 0.5) -> Sample:
        strides = self.tally.strides(size)
        parts = self.collect(partial(_sample_chunk, strides=strides, alpha=alpha))
        X, codes, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return X, codes, weight


def _on_chunk(
    function: Callable[..., Any], features: Any, notes: Any, said: Any, *extra: Any
) -> Any:
    if not len(notes[0]):
        return None  # an empty chunk adds nothing
    codes, weight, reviewed = notes
    block = make_block(_numbers(features), codes, weight, reviewed, said)
    with np.errstate(all="ignore"):
        return function(block, *extra)


def _numbers(chunk: Any) -> AnyArray:
    """Return a chunk as an array, a data frame's empty cells as NaN."""
    if hasattr(chunk, "to_numpy"):
        return np.asarray(chunk.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(chunk)


def _recode(notes: Any, codes: IntArray) -> Any:
    return codes, notes[1], None


def _add_known(a: Any, b: Any = None) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return add(a, b)


def _sample_chunk(block: Block, strides: IntArray, alpha: float) -> Sample:
    keep = sample_positions(block.codes, block.weight, strides, alpha)
    return block.X[keep], block.codes[keep], sided(block, alpha)[keep]


def take_dask(
    estimator: Any,
    X: Any,
    given: dict[str, Any],
    classes: Any,
    reset: bool,
    said: Any = None,
    sizes: list[int] | None = None,
) -> tuple[DaskRows, AnyArray]:
    """Check Dask data for an estimator; return rows and classes.

    What is given beside X (y, sample_weight, reviewed) may be Dask collections with the same
    chunks, or anything in memory.
    """
    features, known = _chunks("X", X)
    sizes = known if sizes is None else sizes
    _remember_features(estimator, X, reset)
    parts = {k: _column_chunks(k, v, features, sizes) for k, v in given.items()}
    names = getattr(estimator, "feature_names_in_", None)
    first = _first_rows(sizes, len(features))
    gaps, blank = takes_gaps(estimator), estimator.missing_label
    checked = [
        _task(_check_chunk)(
            chunk, dict(zip(parts, columns, strict=True)), names, gaps, k, first[k]
        )
        for k, (chunk, *columns) in enumerate(zip(features, *parts.values(), strict=True))
    ]
    if classes is None:
        seen = dask.compute(*(_task(_seen_in_chunk)(part, blank) for part in parts["y"]))
        classes = combine(seen)
    check_number_of_classes(np.asarray(classes), blank)
    ordered = encode([], blank, list(classes)).classes
    try:
        notes = dask.persist(*(_task(_note_chunk)(c, blank, list(classes)) for c in checked))
        told = None if said is None else _column_chunks("y", said, features, sizes)
        rows = DaskRows(features, notes, estimator.n_features_in_, len(ordered), told)
    except _InChunkError:  # now it pays to count the rows: the message can name one
        counted = _count_rows(features)
        return take_dask(estimator, X, given, classes, reset, said, counted)
    return rows, ordered


def map_lazily(
    estimator: Any, X: Any, pick: Callable[..., AnyArray], rest: tuple[int, ...], dtype: Any
) -> Any:
    """Return a lazy Dask array of what ``pick`` makes of each chunk's posteriors."""
    features, sizes = _chunks("X", X)
    _remember_features(estimator, X, reset=False)
    first = _first_rows(sizes, len(features))
    known: Sequence[float] = [np.nan] * len(features) if sizes is None else sizes
    model = delayed(estimator.fitted_)
    arrays = [
        da.from_delayed(
            _task(_pick_chunk)(chunk, model, pick, rest, dtype, k, first[k]),
            shape=(size, *rest),
            dtype=np.dtype(dtype),
        )
        for k, (chunk, size) in enumerate(zip(features, known, strict=True))
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _pick_chunk(
    chunk: Any,
    model: FittedModel,
    pick: Any,
    rest: tuple[int, ...],
    dtype: Any,
    k: int,
    first_row: int | None,
) -> AnyArray:
    X = np.array(_numbers(chunk), dtype=np.float64, order="C")
    if not len(X):
        return np.zeros((0, *rest), dtype=dtype)
    _refuse_in_chunk(X, model.named_features, model.family.takes_gaps, k, first_row)
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


def _count_rows(features: list[Delayed]) -> list[int]:
    return list(dask.compute(*(delayed(len)(chunk) for chunk in features)))


def _first_rows(sizes: list[int] | None, n_chunks: int) -> list[int | None]:
    """Return the number of each chunk's first row, where sizes are known."""
    if sizes is None:
        return [None] * n_chunks
    return [int(edge) for edge in np.cumsum([0, *sizes[:-1]])]


def _column_chunks(
    name: str, column: Any, features: list[Delayed], sizes: list[int] | None
) -> list[Any]:
    """Return a column cut like the features."""
    if column is None:
        return [None] * len(features)
    lazy = hasattr(column, "to_delayed")
    if sizes is None and not lazy:
        sizes = _count_rows(features)
    if not hasattr(column, "__getitem__"):
        column = list(column)
    countable = not lazy or (isinstance(column, da.Array) and not np.isnan(column.shape[0]))
    if sizes is not None and countable and len(column) != sum(sizes):
        raise ValueError(
            f"X has {sum(sizes)} rows and {name} has {len(column)}: give one for each row."
        )
    if not lazy:
        cut = column.iloc if hasattr(column, "iloc") else column
        return [cut[a:b] for a, b in pairwise(np.cumsum([0, *(sizes or [])]))]
    if sizes is not None and countable:
        column = column.rechunk((tuple(sizes),))
    parts, _ = _chunks(name, column)
    if len(parts) != len(features):
        raise ValueError(
            f"X has {len(features)} chunks and {name} has {len(parts)}: cut them alike, for "
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


def _refuse_in_chunk(X: AnyArray, names: Any, gaps: bool, k: int, first_row: int | None) -> None:
    try:
        refuse_not_finite(X, names, lambda: gaps, first_row or 0)
    except ValueError as error:
        if first_row is not None:
            raise
        raise _InChunkError(f"in chunk {k}, rows counted from its first: {error}") from None


class _InChunkError(ValueError):
    """Something is wrong in a chunk, and where in the whole is not known."""


def _check_chunk(
    features: Any, columns: dict[str, Any], names: Any, gaps: bool, k: int, first_row: int | None
) -> Any:
    X = _numbers(features)
    _refuse_in_chunk(X, names, gaps, k, first_row)
    for name, column in columns.items():
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"chunk {k} of X has {len(X)} rows and that of {name} {len(column)}: cut them "
                "alike, for example by taking both from one data frame."
            )
    weight, reviewed = columns["sample_weight"], columns["reviewed"]
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"sample_weight has a negative or infinite value in chunk {k}.")
    return columns["y"], weight, None if reviewed is None else check_reviewed(reviewed, len(X))


def _seen_in_chunk(y: Any, missing_label: Any) -> AnyArray:
    return encode(y, missing_label).classes if len(y) else np.zeros(0, dtype=int)


def _note_chunk(checked: Any, missing_label: Any, classes: list[Any]) -> Any:
    y, weight, reviewed = checked
    return encode(y, missing_label, classes).codes, weight, reviewed
