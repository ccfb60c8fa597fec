"""What users call y, turned into class codes and blanks."""

import dataclasses
import itertools
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from hesitant._typing import AnyArray, BoolArray, IntArray

PART = 1 << 18


@dataclasses.dataclass(frozen=True)
class Labels:
    """Class codes and blanks."""

    codes: IntArray  # place of each row's class in classes, −1 for a blank
    classes: AnyArray  # in the user's own values

    @property
    def labelled(self) -> BoolArray:
        """Whether each row has a label."""
        return self.codes >= 0

    @property
    def counts(self) -> IntArray:
        """Number of labelled rows of each class."""
        return np.bincount(self.codes[self.labelled], minlength=len(self.classes))


def encode(
    y: Any, missing_label: Any = -1, classes: Any = None, names: tuple[str, str] = ("y", "classes")
) -> Labels:
    """Turn labels into codes.

    A blank is ``missing_label``, or any of None, NaN, NA, NaT and null. ``classes`` lists all
    class values in the order wanted; by default they are the labels seen, sorted. ``names`` are
    what messages call both.

    >>> from hesitant.labels import encode
    >>> labels = encode(["benign", None, "tumour", "benign"])
    >>> labels.codes.tolist(), labels.classes.tolist()
    ([0, -1, 1, 0], ['benign', 'tumour'])
    """
    if isinstance(missing_label, list | tuple | set | dict | np.ndarray):
        raise TypeError(f"missing_label={missing_label!r}: give one value; turn others into None.")
    if hasattr(y, "said") and hasattr(y, "readers"):
        raise TypeError("y holds Statements: give y, reviewed = statements.of(reader), of each.")
    values, _ = read(y, names[0])
    if values.ndim == 2 and values.shape[1] == 1:
        words = "A column-vector y was passed when a 1d array was expected: use y.ravel()."
        warnings.warn(words, DataConversionWarning, stacklevel=4)
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y has shape {values.shape}: give one label for each row, in a list.")
    # In parts, so that a hundred million labels need no second array of their size.
    parts = [_factorise(values[a : a + PART], missing_label) for a in range(0, len(values), PART)]
    seen = [part for part, _ in parts]
    ordered = combine(seen) if classes is None else _check_classes(classes, missing_label)
    codes = np.full(len(values), -1, dtype=np.min_scalar_type(-len(ordered) - 1))
    for k, (part, places) in enumerate(parts):
        own = [*_positions(part, ordered, names), -1]
        codes[k * PART : (k + 1) * PART] = np.array(own)[places]
    return Labels(codes, ordered)


def combine(seen: Sequence[AnyArray]) -> AnyArray:
    """Return the classes, sorted, from the distinct labels of several parts."""
    found = [part for part in seen if part.size]
    if not found:
        return np.zeros(0, dtype=int)
    if len({part.dtype.kind for part in found}) > 1:  # let the message show one of each
        found = [_tidy(object_array([v for part in found for v in part.tolist()]))]
    together = np.concatenate(found) if len(found) > 1 else found[0]
    if not (together[1:] > together[:-1]).all():
        together = np.unique(together)
    if together.dtype.kind == "f":  # only floats can be a continuous target by mistake
        check_classification_targets(together)
    return together


def _factorise(values: AnyArray, missing_label: Any) -> tuple[AnyArray, IntArray]:
    if values.dtype != object:
        distinct = np.unique(values)
        inverse = np.searchsorted(distinct, values)  # for its own, `unique` would sort the rows
    else:  # by type as well, if there are several: True and 1 are the same to a dict
        one = len({*map(type, values)} - {type(None)}) < 2
        keys = values.tolist() if one else [*zip(map(type, values), values, strict=True)]
        try:
            place = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        except TypeError as error:
            raise TypeError(f"y has a value that is no label ({error}): give a list.") from None
        distinct = object_array([key if one else key[1] for key in place])
        inverse = np.fromiter(map(place.__getitem__, keys), dtype=np.int64, count=len(keys))
    known = [not is_blank(v, missing_label) for v in distinct.tolist()]
    number, kind = itertools.count(), np.min_scalar_type(-len(known) - 1)
    places = np.array([next(number) if k else -1 for k in known], dtype=kind)
    return _tidy(distinct[np.array(known, dtype=bool)]), places[inverse.reshape(-1)]


def read(values: Any, what: str) -> tuple[AnyArray, list[str] | None]:
    """Return a column or table of any kind as an array, and its columns' names if it has some."""
    if hasattr(values, "collect") and not hasattr(values, "to_dict"):
        raise TypeError(f"{what} is a lazy frame: give {what}.collect().")
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), values.astype(object).data
        values[masked] = None
    if isinstance(values, np.ndarray):
        # NumPy's own strings of any length cannot say which of them are missing
        return (values.astype(object) if values.dtype.kind == "T" else values), None
    native = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        plain = native.dtype == nw.Float64
        return (native.to_numpy() if plain else object_array(native.to_list())), None
    if isinstance(native, nw.DataFrame):
        values = native.to_dict(as_series=False)
    if isinstance(values, Mapping):
        columns = [object_array([*v] if isinstance(v, Iterable) else []) for v in values.values()]
        if len({len(c) for c in columns}) != 1:
            raise ValueError(f"{what} needs columns of equal length, one for each reader.")
        return np.column_stack(columns), [str(k) for k in values]
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        # Whole numbers with gaps, of pandas and pyarrow, are floats to NumPy.
        gaps = array.ndim == 1 and array.dtype.kind == "f" and hasattr(values, "tolist")
        return (object_array(values.tolist()) if gaps else array), None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{what} is {values!r}: give a list, an entry for each row.")
    rows = list(values)
    if not any(isinstance(v, list | tuple | dict | set | np.ndarray) for v in rows):
        return object_array(rows), None
    table = np.array(rows, dtype=object)
    if table.ndim == 1:
        raise ValueError(f"{what} is not a table: give equally long rows, readers as columns.")
    return table, None


def is_table(values: Any) -> bool:
    """Whether values are a table with named columns, or an array of two dimensions."""
    native = nw.from_native(values, eager_only=True, pass_through=True)
    return isinstance(native, Mapping | nw.DataFrame) or getattr(values, "ndim", 0) == 2


def read_table(values: Any, what: str) -> tuple[AnyArray, list[str] | None]:
    """Return values as an array of shape (n, J), and the columns' names if they have some."""
    table, names = read(values, what)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{what} has shape {table.shape}: rows are cases, columns are readers.")
    return table, names


def object_array(values: Sequence[Any]) -> AnyArray:
    """Return an array of any values; those that are sequences stay whole."""
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def is_blank(value: Any, missing_label: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas' NA, or is what marks a missing one."""
    if value is None or type(value).__name__ == "NAType":
        return True
    # False == 0 must not make False a blank
    alike = isinstance(value, bool | np.bool_) == isinstance(missing_label, bool | np.bool_)
    try:  # NaN and NaT differ from themselves
        return bool(value != value) or (alike and bool(value == missing_label))
    except (TypeError, ValueError):  # of arrays
        return False


def _tidy(values: AnyArray) -> AnyArray:
    if values.dtype != object:
        return values
    kinds = {kind_of(v): repr(v) for v in values}
    if len(kinds) > 1:
        examples = ", ".join(kinds[kind] for kind in sorted(kinds))
        raise ValueError(f"y mixes labels of different types ({examples}): turn all into text.")
    return np.array(values.tolist()) if kinds.keys() <= {"number", "bool", "str"} else values


def kind_of(value: Any) -> str:
    """Return the type of a label; whole and other numbers are of one."""
    value = value.item() if isinstance(value, np.generic) else value
    return "number" if type(value) in (int, float) else type(value).__name__


def _check_classes(classes: Sequence[Any], missing_label: Any) -> AnyArray:
    listed = None if isinstance(classes, str) or not isinstance(classes, Iterable) else [*classes]
    if listed is None or not all(isinstance(v, Hashable) for v in listed):
        raise TypeError(f"classes={classes!r}: list every class value, such as ['a', 'b'].")
    if not listed:
        raise ValueError("classes is empty: list every class value, or leave it at None.")
    for value in listed:
        if is_blank(value, missing_label):
            raise ValueError(f"classes has {value!r}, which marks a blank: change missing_label.")
    ordered = _tidy(object_array(listed))
    if len(set(ordered.tolist())) < len(listed):
        raise ValueError(f"classes={listed!r} names a class twice: list each once.")
    return ordered


def _positions(seen: AnyArray, ordered: AnyArray, names: tuple[str, str]) -> list[int]:
    place = {c: k for k, c in enumerate(ordered.tolist())}
    for value in seen.tolist():
        if value not in place:
            known = f"{names[1]}={list(place)!r}: add it, or mark those rows as blank."
            raise ValueError(f"{names[0]} contains {value!r}, which is not among {known}")
    return [place[value] for value in seen.tolist()]


def look_alike(classes: Iterable[Any]) -> list[str]:
    """Ask about classes that differ only in case or blanks."""
    groups: dict[str, list[str]] = {}
    for name in sorted(name for name in classes if isinstance(name, str)):
        groups.setdefault("".join(name.casefold().split()), []).append(repr(name[:60]))
    words = "one class? They differ only in case or blanks and are taken for several"
    alike = [" and ".join(group) for group in groups.values() if len(group) > 1]
    return [f"Are {group} {words}; if they are one, write them alike." for group in alike]


def names_of(classes: AnyArray) -> list[str]:
    """Return the classes as tables and legends print them."""
    return [as_shown(c) for c in classes.tolist()]


def as_shown(value: Any) -> str:
    """Return a label as the user writes it: a whole number without a decimal point."""
    value = value.item() if isinstance(value, np.generic) else value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def describe(value: Any) -> str:
    """Return a class value as a message has it: words in quotes."""
    return repr(str(value)) if isinstance(value, str) else as_shown(value)
