"""From what users hand over to rows and classes, or a message that says what is wrong."""

import dataclasses
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import validate_data

from hesitant._typing import AnyArray
from hesitant.checks import check_reviewed, check_weight
from hesitant.labels import encode
from hesitant.rows import BLOCK_SIZE, ManyRows, Rows

__all__ = ["Intake", "check_features", "take"]


@dataclasses.dataclass(frozen=True)
class Intake:
    """Checked data.

    Attributes
    ----------
    rows : ManyRows
    classes : array of shape (g,)
    """

    rows: ManyRows
    classes: AnyArray


def take(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    reviewed: Any,
    *,
    classes: Any,
    threads: int,
    reset: bool = True,
) -> Intake:
    """Check data for an estimator.

    Parameters
    ----------
    estimator : MixtureClassifier
        Whose ``missing_label`` and ``alpha`` apply, and who remembers the features (``reset``).
    X, y, sample_weight, reviewed
        As for ``fit``.
    classes : sequence or None
        All class values, if known.
    threads : int
    reset : bool
        Whether the features may differ from those of an earlier fit.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: give labels, with blanks "
            f"marked {estimator.missing_label!r} or None."
        )
    if is_dask(X):
        from hesitant.dask_rows import take_dask

        return Intake(
            *take_dask(estimator, X, y, sample_weight, reviewed, classes=classes, reset=reset)
        )
    X = check_features(estimator, X, reset=reset, at_least=2 if reset else 1)
    labels = encode(y, estimator.missing_label, classes)
    if len(labels.codes) != len(X):
        raise ValueError(
            f"X has {len(X)} rows and y has {len(labels.codes)}: give one label, or a blank, for "
            "each row."
        )
    check_number_of_classes(labels.classes, estimator.missing_label)
    rows = Rows(
        X,
        labels.codes,
        None if sample_weight is None else check_weight(sample_weight, X),
        None if reviewed is None else check_reviewed(reviewed, len(X)),
        n_classes=len(labels.classes),
        threads=threads,
    )
    return Intake(rows, labels.classes)


def check_features(estimator: Any, X: Any, *, reset: bool, at_least: int = 1) -> AnyArray:
    """Return features as a numeric array without a copy where possible."""
    if not _is_plain(estimator, X, reset, at_least):
        _refuse_words(X)
        X = validate_data(
            estimator,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=at_least,
            ensure_all_finite=False,
        )
    refuse_not_finite(X, getattr(estimator, "feature_names_in_", None))
    checked: AnyArray = X
    return checked


def _is_plain(estimator: Any, X: Any, reset: bool, at_least: int) -> bool:
    """Whether there is nothing to convert or to complain of; then note the number of features.

    A tenth of a small fit would otherwise be spent on finding that out.
    """
    plain = (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and len(X) >= at_least
        and X.shape[1] > 0
        and not hasattr(estimator, "feature_names_in_")
        and (reset or X.shape[1] == estimator.n_features_in_)
    )
    if plain and reset:
        estimator.n_features_in_ = X.shape[1]
    return plain


def _refuse_words(X: Any) -> None:
    """Raise, naming the column, if a table has columns that are no numbers."""
    if isinstance(X, np.ndarray) or is_dask(X):
        return
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
        if dtype in (nw.Object, nw.String):
            try:  # numbers kept as objects, or written as text, are numbers still
                frame[name].to_numpy().astype(float)
                continue
            except (TypeError, ValueError):
                pass
        raise ValueError(
            f"X has the column {name!r} of type {dtype}: features must be numbers. Drop it, or "
            "encode it as numbers first."
        )


def refuse_not_finite(X: AnyArray, names: AnyArray | None, first_row: int = 0) -> None:
    """Raise, naming rows and columns, if a value is NaN or infinite."""
    for start in range(0, len(X), BLOCK_SIZE):
        part = X[start : start + BLOCK_SIZE]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(part.sum()):  # one number tells, unless finite values overflow
                continue
        bad = ~np.isfinite(part)
        if not bad.any():
            continue
        row, column = np.argwhere(bad)[0]
        what = "NaN" if np.isnan(part[row, column]) else "infinity"
        where = f"column {names[column]!r}" if names is not None else f"column {column}"
        more = int(bad.any(axis=1).sum()) - 1
        others = f" (and {more} more of the {len(part)} rows from there on)" if more else ""
        raise ValueError(
            f"X contains {what} in row {first_row + start + int(row)}, {where}{others}: features "
            "must be fully observed. Drop or impute such rows first."
        )


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, found out without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def check_number_of_classes(classes: AnyArray, missing_label: Any) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        found = classes.tolist()
        raise ValueError(
            f"y names {len(found)} class{'es' * (len(found) != 1)} ({found}): at least 2 are "
            "needed. List those without a labelled row in classes=, or check "
            f"missing_label={missing_label!r}."
        )
