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

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.checks import check_reviewed
from hesitant.intake import check_number_of_classes, refuse_not_finite, takes_gaps
from hesitant.labels import combine, encode, seen_in
from hesitant.likelihood import log_posterior
from hesitant.rows import (
    ManyRows,
    Tally,
    add,
    make_block,
    quietly,
    sample_positions,
    sided,
    tally_block,
)

__all__ = ["DaskRows", "map_lazily", "take_dask"]


class DaskRows(ManyRows):
    """Rows in chunks of a Dask collection.

    Parameters
    ----------
    features : list of Delayed
        The chunks of X, each an array or a data frame.
    notes : list of Delayed
        For each chunk its codes, weights or None, reviewed or None.
    n_features : int
    n_classes : int
    said : list, optional
        What was said of each chunk's rows, where that is more than their labels.
    """

    def __init__(
        self,
        features: list[Delayed],
        notes: list[Delayed],
        n_features: int,
        n_classes: int,
        said: list[Any] | None = None,
    ) -> None:
        self.features, self.notes, self.n_features = features, notes, n_features
        self.said = [None] * len(features) if said is None else said
        self.tally = Tally(*self.sum(partial(tally_block, n_classes=n_classes)))
        if not self.tally.counting.any():
            raise ValueError("sample_weight is zero for every row: give some row a weight.")

    def _tasks(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Delayed]:
        work = delayed(_on_chunk, pure=False)
        return [
            work(function, *parts)
            for parts in zip(self.features, self.notes, self.said, *extra, strict=True)
        ]

    def map(self, function: Callable[..., Any], *extra: Sequence[Any]) -> list[Any]:
        """Apply a function to each chunk; the results stay on the workers."""
        return list(dask.persist(*self._tasks(function, *extra)))

    def collect(self, function: Callable[..., Any]) -> list[Any]:
        """Return what a function makes of each chunk."""
        return [r for r in dask.compute(*self._tasks(function)) if r is not None]

    def sum(self, function: Callable[..., tuple[Any, ...]], *extra: Sequence[Any]) -> Any:
        """Return the sum over chunks, added in a tree of fixed shape."""
        level = self._tasks(function, *extra)
        join = delayed(_add_known, pure=False)
        while len(level) > 1:
            pairs = [join(*level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
            level = pairs + level[len(level) - len(level) % 2 :]
        (total,) = dask.compute(*level)
        if total is None:
            raise ValueError("X has no rows: every chunk is empty.")
        return total

    def sample(self, size: int, alpha: float = 0.5) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return every few of the rows that count, of each class and of the blanks."""
        strides = self.tally.strides(size)
        parts = self.collect(partial(_sample_chunk, strides=strides, alpha=alpha))
        X, codes, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return X, codes, weight


def _on_chunk(
    function: Callable[..., Any], features: Any, notes: Any, said: Any, *extra: Any
) -> Any:
    codes, weight, reviewed = notes
    if not len(codes):
        return None  # an empty chunk adds nothing
    block = make_block(_numbers(features), codes, weight, reviewed, said)
    return quietly(function, block, *extra)


def _numbers(chunk: Any) -> AnyArray:
    """Return a chunk as an array, a data frame's empty cells as NaN."""
    if hasattr(chunk, "to_numpy"):
        return np.asarray(chunk.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(chunk)


def _add_known(a: Any, b: Any = None) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return add(a, b)


def _sample_chunk(
    block: Any, strides: IntArray, alpha: float
) -> tuple[AnyArray, AnyArray, AnyArray]:
    keep = sample_positions(block.codes, block.weight, strides, alpha)
    where = np.sort(np.concatenate(list(keep)))
    return block.X[where], block.codes[where], sided(block, alpha)[where]


def take_dask(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    reviewed: Any,
    *,
    classes: Any,
    reset: bool,
    said: Any = None,
) -> tuple[DaskRows, AnyArray]:
    """Check Dask data for an estimator; return rows and classes.

    ``y``, ``sample_weight`` and ``reviewed`` may be Dask collections with the same chunks as X, or
    anything in memory.
    """
    features, sizes = _chunks("X", X)
    _remember_features(estimator, X, reset)
    columns = {"y": y, "sample_weight": sample_weight, "reviewed": reviewed}
    parts = {k: _column_chunks(k, v, features, sizes) for k, v in columns.items()}
    names = getattr(estimator, "feature_names_in_", None)
    first = _first_rows(sizes, len(features))
    gaps = takes_gaps(estimator)
    checked = [
        delayed(_check_chunk, pure=False)(*chunk, names, gaps, k, first[k])
        for k, chunk in enumerate(
            zip(features, parts["y"], parts["sample_weight"], parts["reviewed"], strict=True)
        )
    ]
    if classes is None:
        seen = delayed(_seen_in_chunk, pure=False)
        found = dask.compute(*(seen(p, estimator.missing_label) for p in parts["y"]))
        classes = combine(found)
    check_number_of_classes(np.asarray(classes), estimator.missing_label)
    codes = delayed(_note_chunk, pure=False)
    ordered = encode([], estimator.missing_label, list(classes)).classes
    try:
        notes = dask.persist(*(codes(c, estimator.missing_label, list(classes)) for c in checked))
        told = None if said is None else _column_chunks("y", said, features, sizes)
        rows = DaskRows(features, list(notes), estimator.n_features_in_, len(ordered), told)
    except _InChunkError as error:
        _refuse_by_row(features, names, gaps, error.chunk)
        raise
    return rows, ordered


def map_lazily(
    estimator: Any, X: Any, pick: Callable[..., AnyArray], width: int | None, dtype: Any
) -> Any:
    """Return a lazy Dask array of what ``pick`` makes of each chunk's posteriors."""
    features, sizes = _chunks("X", X)
    _remember_features(estimator, X, reset=False)
    work = delayed(_pick_chunk, pure=False)
    family, state = delayed(estimator.family_), delayed(estimator.state_)
    names = getattr(estimator, "feature_names_in_", None)
    first = _first_rows(sizes, len(features))
    known: Sequence[int | None] = [None] * len(features) if sizes is None else sizes
    arrays = [
        da.from_delayed(
            work(chunk, family, state, pick, width, dtype, names, k, first[k]),
            shape=(np.nan if size is None else size,) + (() if width is None else (width,)),
            dtype=np.dtype(dtype),
        )
        for k, (chunk, size) in enumerate(zip(features, known, strict=True))
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _pick_chunk(
    chunk: Any,
    family: Any,
    state: Any,
    pick: Any,
    width: int | None,
    dtype: Any,
    names: Any,
    k: int,
    first_row: int | None,
) -> AnyArray:
    X = np.array(_numbers(chunk), dtype=np.float64, order="C")
    if not len(X):
        return np.zeros((0,) if width is None else (0, width), dtype=dtype)
    _refuse_in_chunk(X, names, family.takes_gaps, k, first_row)
    return np.asarray(quietly(pick, *log_posterior(family, state, X)), dtype=dtype)


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
    if hasattr(column, "to_delayed"):
        if isinstance(column, da.Array) and sizes is not None and not np.isnan(column.shape[0]):
            if column.shape[0] != sum(sizes):
                raise ValueError(
                    f"X has {sum(sizes)} rows and {name} has {column.shape[0]}: give one for each."
                )
            column = column.rechunk((tuple(sizes),))
        parts, _ = _chunks(name, column)
        if len(parts) != len(features):
            raise ValueError(
                f"X has {len(features)} chunks and {name} has {len(parts)}: cut them alike, for "
                "example by taking both from one data frame, or call compute_chunk_sizes() on "
                "both."
            )
        return parts
    if sizes is None:
        sizes = list(dask.compute(*(delayed(len)(chunk) for chunk in features)))
    column = column if hasattr(column, "__getitem__") else list(column)
    if len(column) != sum(sizes):
        raise ValueError(
            f"X has {sum(sizes)} rows and {name} has {len(column)}: give one for each row."
        )
    edges = np.concatenate(([0], np.cumsum(sizes)))
    cut = column.iloc if hasattr(column, "iloc") else column
    return [cut[a:b] for a, b in pairwise(edges)]


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
        message = f"in chunk {k}, rows counted from its first: {error}"
        raise _InChunkError(message, k) from None


class _InChunkError(ValueError):
    """Something is wrong in a chunk, and where in the whole is not known."""

    def __init__(self, message: str, chunk: int) -> None:
        super().__init__(message, chunk)  # both, so that it can travel
        self.chunk = chunk

    def __str__(self) -> str:
        return str(self.args[0])


def _refuse_by_row(features: list[Delayed], names: Any, gaps: bool, k: int) -> None:
    """Raise for what is wrong in a chunk, now that it pays to count the rows before it."""
    before = dask.compute(*(delayed(len)(chunk) for chunk in features[:k]))
    again = delayed(_refuse_in_chunk, pure=False)
    dask.compute(again(delayed(_numbers)(features[k]), names, gaps, k, sum(before)))


def _check_chunk(
    features: Any,
    y: Any,
    weight: Any,
    reviewed: Any,
    names: Any,
    gaps: bool,
    k: int,
    first_row: int | None,
) -> Any:
    X = _numbers(features)
    _refuse_in_chunk(X, names, gaps, k, first_row)
    for name, column in (("y", y), ("sample_weight", weight), ("reviewed", reviewed)):
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"chunk {k} of X has {len(X)} rows and that of {name} {len(column)}: cut them "
                "alike, for example by taking both from one data frame."
            )
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"sample_weight has a negative or infinite value in chunk {k}.")
    return y, weight, None if reviewed is None else check_reviewed(reviewed, len(X))


def _seen_in_chunk(y: Any, missing_label: Any) -> AnyArray:
    if not len(y):
        return np.zeros(0, dtype=int)
    labels = encode(y, missing_label)
    return seen_in(labels.classes, missing_label)


def _note_chunk(checked: Any, missing_label: Any, classes: list[Any]) -> Any:
    y, weight, reviewed = checked
    return encode(y, missing_label, classes).codes, weight, reviewed
