"""From what users hand over to rows and classes, or a message that says what is wrong."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import validate_data

from hesitant._typing import AnyArray
from hesitant.checks import check_shown, check_weight
from hesitant.experts import as_readers
from hesitant.labels import Labels, encode
from hesitant.rows import BLOCK_SIZE, ManyRows, Rows

# Sums of squares of features beyond the first may be infinite; no number is beyond the second.
MOST, _MAX = 1e152, np.finfo(float).max


def take(
    estimator: Any, X: Any, y: Any, sample_weight: Any, reviewed: Any, reset: bool = True
) -> Any:
    """Return checked rows; an estimator's features and classes may only change with ``reset``."""
    if isinstance(X, ManyRows):
        if reset:
            estimator.n_features_in_ = X.n_features
            if X.named_features is not None:
                estimator.feature_names_in_ = X.named_features
        return X
    blank = estimator.missing_label
    classes = estimator.classes if reset else list(estimator.classes_)
    experts = as_readers(estimator.experts)
    said = experts.as_statements(y, reviewed, blank)
    if said is not None and classes is not None:
        said = said.align(classes, None if reset else estimator.readers)
    if is_dask(X):
        from hesitant.dask_rows import take_dask

        given = {"y": y, "sample_weight": sample_weight, "reviewed": reviewed}
        if said is not None:
            classes = said.classes.tolist()
            given |= {"y": experts.known(said), "reviewed": None}
        return take_dask(estimator, X, given, classes, reset, said)
    X = check_features(estimator, X, reset=reset)
    if said is None:
        labels = encode(y, blank, classes)
    else:
        labels, reviewed = Labels(experts.known(said), said.classes), None
    codes, ordered = labels.codes, labels.classes
    if len(codes) != len(X):
        raise ValueError(f"X has {len(X)} rows and y has {len(codes)}: give one label for each.")
    check_number_of_classes(ordered, blank)
    weight, seen = check_weight(sample_weight, X), check_shown("reviewed", reviewed, (len(X),))
    named = getattr(estimator, "feature_names_in_", None)
    how = {"threads": estimator._threads(X), "classes": ordered, "named_features": named}
    return Rows(X, codes, weight, seen, said, **how)


def check_features(estimator: Any, X: Any, *, reset: bool) -> AnyArray:
    """Return features as a numeric array; empty cells are NaN, if the family allows for them."""
    if isinstance(X, Rows):
        return X.X
    if not _is_plain(estimator, X, reset):
        _refuse_words(X)
        how: dict[str, Any] = {"ensure_min_samples": 1 + reset, "ensure_all_finite": False}
        try:
            if isinstance(X, np.ma.MaskedArray):  # a masked cell is an empty one
                X = np.ma.filled(X.astype(float), np.nan)
            X = validate_data(estimator, X, dtype=[np.float64, np.float32], reset=reset, **how)
        except (TypeError, ValueError) as error:
            words = f"X holds values that are not numbers ({error}): give rows of numbers."
            raise type(error)(words if "float" in str(error) else str(error)) from None
    names, most = getattr(estimator, "feature_names_in_", None), MOST if reset else _MAX
    if refuse_not_finite(X, names, partial(takes_gaps, estimator), 0, most) and reset:
        for j in np.flatnonzero(np.isnan(X).all(axis=0)).tolist():
            name = j if names is None else names[j]
            raise ValueError(f"X has no value at all in column {name!r}: drop it.")
    return np.asarray(X)


def takes_gaps(estimator: Any) -> bool:
    """Whether the family that an estimator has, or would have, allows for empty cells."""
    family = estimator.family_ if hasattr(estimator, "family_") else estimator._resolve()[0]
    return bool(family.takes_gaps)


def _is_plain(estimator: Any, X: Any, reset: bool) -> bool:
    """Whether there is nothing to convert or to complain of; then note the number of features."""
    # a tenth of a small fit would otherwise be spent on finding that out
    plain = (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and len(X) > reset
        and X.shape[1] > 0
        and not hasattr(estimator, "feature_names_in_")
        and (reset or X.shape[1] == estimator.n_features_in_)
    )
    if plain and reset:
        estimator.n_features_in_ = X.shape[1]
    return plain


def _refuse_words(X: Any) -> None:
    """Raise, naming the column, if a table has columns that are not numeric."""
    if hasattr(X, "collect"):  # before its columns, which would be looked up at a cost
        raise TypeError("X is a lazy frame: give X.collect().")
    if not hasattr(X, "columns"):
        return
    try:
        frame = nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name: rename them. {error}") from None
    except (TypeError, ValueError):
        return  # no table that narwhals knows: scikit-learn will have something to say
    for name, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype == nw.Boolean:
            continue
        with contextlib.suppress(TypeError, ValueError):
            if dtype in (nw.Object, nw.String):  # numbers written as text are numbers still
                frame[name].to_numpy().astype(float)
                continue
        raise ValueError(f"X has the column {name!r} of type {dtype}: give numbers, or drop it.")


def refuse_not_finite(
    X: AnyArray, names: Any, allow_nan: Callable[[], bool], first_row: int = 0, most: float = _MAX
) -> bool:
    """Raise, naming rows and columns, if X exceeds ``most``; return whether it has empty cells."""
    gaps = False
    for start in range(0, len(X), BLOCK_SIZE):
        part = X[start : start + BLOCK_SIZE]
        with np.errstate(all="ignore"):
            if np.abs(part.sum()) <= most:  # one number tells, unless finite values overflow
                continue
        infinite, empty = np.abs(part) > most, np.isnan(part)
        gaps = gaps or (bool(empty.any()) and allow_nan())
        bad = infinite if infinite.any() else empty
        if not bad.any() or (gaps and bad is empty):
            continue
        row, column = map(int, np.argwhere(bad)[0])
        named = column if names is None else names[column]
        where = f"in row {first_row + start + row}, column {named!r}"
        if bad is infinite:
            huge = f"{part[row, column]:.3g}".replace("inf", "infinity")
            raise ValueError(f"X contains {huge} {where}: too large, correct or empty the cell.")
        remedy = "use another family ('gaussian', 't', 'skew_t'), or drop or impute such rows."
        raise ValueError(f"X contains NaN {where}: {remedy}")
    return gaps


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, found out without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_dask(X: Any) -> None:
    """Raise if the rows are not in memory."""
    if is_dask(X):
        raise TypeError("X is a Dask collection, and this needs all rows: give X.compute().")


def check_number_of_classes(classes: AnyArray, missing_label: Any) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        found = f"{len(classes)} class{'es' * (len(classes) != 1)} ({classes.tolist()})"
        remedy = f"list all in classes=, or check missing_label={missing_label!r}"
        raise ValueError(f"y names {found} and at least 2 are needed: {remedy}.")
