"""What users call y, turned into class codes and blanks."""

import dataclasses
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from hesitant._optional import is_null
from hesitant._typing import AnyArray, BoolArray, IntArray

__all__ = ["Labels", "combine", "describe", "encode", "names_of", "seen_in"]

PART = 1 << 18


@dataclasses.dataclass(frozen=True)
class Labels:
    """Class codes and blanks.

    Attributes
    ----------
    codes : array of shape (n,)
        Position of each row's class in ``classes``; −1 for a blank.
    classes : array of shape (g,)
        The classes, in the user's own values.
    """

    codes: IntArray
    classes: AnyArray

    @property
    def labelled(self) -> BoolArray:
        """Whether each row has a label."""
        return self.codes >= 0

    @property
    def counts(self) -> IntArray:
        """Number of labelled rows of each class."""
        return np.bincount(self.codes[self.labelled], minlength=len(self.classes))


def encode(y: Any, missing_label: Any = -1, classes: Sequence[Any] | None = None) -> Labels:
    """Turn labels into codes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; a blank is ``missing_label``, or any of None, NaN, NA, NaT and null.
    missing_label : scalar, default=-1
        The value that marks a blank.
    classes : sequence, optional
        All class values, in the order wanted; needed for classes without a labelled row. By
        default the labels seen, sorted, as scikit-learn's scorers take for granted; those of a
        categorical column too.

    Returns
    -------
    Labels

    Examples
    --------
    >>> from hesitant.labels import encode
    >>> labels = encode(["benign", None, "tumour", "benign"])
    >>> labels.codes.tolist(), labels.classes.tolist()
    ([0, -1, 1, 0], ['benign', 'tumour'])
    """
    _check_marker(missing_label)
    values = _as_array(y)
    if classes is not None:
        ordered = _check_classes(classes, missing_label)
    else:
        ordered = combine([seen_in(part, missing_label) for part in _parts(values)])
    codes = np.full(values.shape[0], -1, dtype=np.min_scalar_type(-len(ordered) - 1))
    # In parts, so that a hundred million labels need no second array of their size.
    for k, part in enumerate(_parts(values)):
        blank = _is_blank(part, missing_label)
        codes[k * PART : (k + 1) * PART][~blank] = _positions(_tidy(part[~blank]), ordered)
    return Labels(codes, ordered)


def seen_in(values: AnyArray, missing_label: Any) -> AnyArray:
    """Return the distinct labels of an array, blanks left out."""
    seen = _tidy(values[~_is_blank(values, missing_label)])
    return np.unique(seen)


def combine(seen: Sequence[AnyArray]) -> AnyArray:
    """Return the classes, sorted, from the distinct labels of several parts."""
    found = [part for part in seen if part.size]
    if not found:
        return np.zeros(0, dtype=int)
    kinds = {part.dtype.kind for part in found}
    if len(kinds) > 1:  # let the message show one of each
        found = [_tidy(_object_array([v for part in found for v in part.tolist()]))]
    together = np.unique(np.concatenate(found))
    if together.dtype.kind == "f":  # only floats can be a continuous target by mistake
        check_classification_targets(together)
    return together


def _parts(values: AnyArray) -> Iterator[AnyArray]:
    return (values[a : a + PART] for a in range(0, len(values), PART))


def _as_array(y: Any) -> AnyArray:
    """Return labels as a 1-d array."""
    if hasattr(y, "said") and hasattr(y, "readers"):
        raise TypeError(
            "y holds Statements, and this is about the labels of one reader: give y, reviewed = "
            "statements.of(reader), for each reader in turn."
        )
    if isinstance(y, np.ma.MaskedArray):
        masked, y = np.ma.getmaskarray(y), np.array(y.data, dtype=object)
        y[masked] = None
    if isinstance(y, np.ndarray):
        # NumPy's own strings of any length cannot say which of them are missing
        return _one_column(y.astype(object) if y.dtype.kind == "T" else y)
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        values = _from_list(series.to_list()) if series.dtype != nw.Float64 else series.to_numpy()
    elif hasattr(y, "__array__") and not hasattr(y, "columns"):
        values = np.asarray(y)
    elif hasattr(y, "columns"):
        values = np.asarray(y, dtype=object)
    else:
        values = _from_list(list(y))
    return _one_column(values)


def _one_column(values: AnyArray) -> AnyArray:
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(
            f"y has shape {values.shape}: give one label for each row, as a 1-d array or list."
        )
    return values


def _from_list(values: list[Any]) -> AnyArray:
    if any(isinstance(v, list | tuple | dict | set | np.ndarray) for v in values[:1000]):
        return np.asarray(values)
    return _object_array(values)


def _object_array(values: Sequence[Any]) -> AnyArray:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def _is_blank(values: AnyArray, missing_label: Any) -> BoolArray:
    no_marker = is_null(missing_label)
    if values.dtype == object:
        marks = np.fromiter((is_null(v) for v in values), dtype=bool, count=len(values))
        if not no_marker:
            marks |= np.fromiter((_same(v, missing_label) for v in values), bool, len(values))
        return marks
    marks = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "mM":
        marks = np.isnat(values)
    if not no_marker and _comparable(values.dtype.kind, missing_label):
        marks |= values == missing_label
    return marks


def _comparable(kind: str, value: Any) -> bool:
    """Whether a marker can occur in such an array; False == 0 must not make False a blank."""
    if isinstance(value, bool | np.bool_):
        return kind == "b"
    if isinstance(value, str | bytes):
        return kind == ("U" if isinstance(value, str) else "S")
    return kind in "iuf" and isinstance(value, int | float | np.number)


def _same(value: Any, marker: Any) -> bool:
    if isinstance(value, bool | np.bool_) != isinstance(marker, bool | np.bool_):
        return False
    try:
        return bool(value == marker)
    except (TypeError, ValueError):
        return False


def _tidy(values: AnyArray) -> AnyArray:
    """Return labels in the plainest type that holds them all."""
    if values.dtype != object:
        return values
    kinds = {_kind(v) for v in values}
    if len(kinds) > 1 and kinds != {"int", "float"}:
        examples = ", ".join(repr(next(v for v in values if _kind(v) == k)) for k in sorted(kinds))
        raise ValueError(
            f"y mixes labels of different types ({examples}): give all labels one type, "
            "for example by turning them into strings."
        )
    if kinds == {"str"}:
        return np.array(values.tolist(), dtype=str)
    if kinds <= {"int", "float"} or kinds == {"bool"}:
        return np.array(values.tolist())
    return values


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    return "str" if isinstance(value, str) else type(value).__name__


def _check_marker(missing_label: Any) -> None:
    if isinstance(missing_label, list | tuple | set | dict | np.ndarray):
        raise TypeError(
            f"missing_label={missing_label!r}: give one value. None, NaN and NA mark a blank as "
            "well; turn further markers into one of these."
        )


def _check_classes(classes: Sequence[Any], missing_label: Any) -> AnyArray:
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise TypeError(f"classes={classes!r}: list every class value, such as ['a', 'b'].")
    listed = list(classes)
    if not listed:
        raise ValueError("classes is empty: list every class value, or leave it at None.")
    for value in listed:
        if is_null(value) or _same(value, missing_label):
            raise ValueError(
                f"classes contains {value!r}, which marks a blank: remove it, or choose another "
                f"missing_label than {missing_label!r}."
            )
    ordered = _tidy(_object_array(listed))
    if len(set(ordered.tolist())) < len(listed):
        raise ValueError(f"classes={listed!r} names a class twice: list each once.")
    return ordered


def _positions(seen: AnyArray, ordered: AnyArray) -> IntArray:
    if not seen.size:
        return np.zeros(0, dtype=np.int64)
    if seen.dtype.kind == ordered.dtype.kind:  # sorted classes, as they nearly always are
        places = np.minimum(np.searchsorted(ordered, seen), len(ordered) - 1)
        if (ordered[places] == seen).all():
            return places
    unique, inverse = np.unique(seen, return_inverse=True)
    place = {c: k for k, c in enumerate(ordered.tolist())}
    unknown = [v for v in unique.tolist() if v not in place]
    if unknown:
        raise ValueError(
            f"y contains {unknown[0]!r}, which is not among classes={list(place)!r}: add it to "
            "classes, or mark those rows as blank."
        )
    positions: IntArray = np.array([place[v] for v in unique.tolist()], dtype=np.int64)[
        inverse.reshape(-1)
    ]
    return positions


def names_of(classes: AnyArray) -> list[str]:
    """Return the classes as tables and legends print them."""
    return [c if isinstance(c, str) else describe(c) for c in classes.tolist()]


def describe(value: Any) -> str:
    """Return a class value as a message or a table shows it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value) if not isinstance(value, str) else repr(value)
