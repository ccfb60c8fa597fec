"""The columns of a table as a fit needs them: numbers, weights, labels, yes and no.

What a column holds is decided on its different cells, of which there are few, and not row by row.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hesitant._words import close_names

from .errors import (
    TableError,
    check_names,
    is_number,
    looks_like_data,
    option,
    quote,
    quote_all,
    ways,
)

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Objects = npt.NDArray[np.object_]

# What R, pandas, SQL and spreadsheets write for an absent value. "None" is not among them: it is
# also what an expert may write for "none of these", and no common tool writes it for a blank.
BLANK_CELLS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")

_LARGEST = 1e150  # the square of anything beyond may be infinite
_GROUPING = ".,'’ \u00a0\u202f"  # marks between thousands, in one country or another
_IDENTIFIER = re.compile(r"(?:.*[\W_])?id|index|row|event|time", re.IGNORECASE)
_REVIEWED = re.compile(
    r"(?:(?:is|was|been|expert|reader)[\W_]*)*"
    r"(?:seen|reviewed|shown|viewed|inspected|examined|presented|looked(?:[\W_]*at)?)",
    re.IGNORECASE,
)
_TRUE, _FALSE = {"yes", "y", "true", "t", "1", "1.0"}, {"no", "n", "false", "f", "0", "0.0"}
_MANY = 20  # so many classes, each of a single row, are not classes
_FEW = 10  # fewer rows do not tell counting from measuring
_COMPARED = 1_000  # more different labels are not compared with a misspelt one, which takes long

# what people and programs write for "no label", and what some mean as a class
_BLANK_LIKE = frozenset(
    re.split(
        r",\s*",
        "-1, ?, ??, ., -, --, none, null, nan, n/a, na, n.a., nd, n.d., tbd, tba, unknown, unk, "
        "unlabelled, unlabeled, not labelled, no label, ungated, missing, undefined, unassigned, "
        "unclassified, unsure, not sure, uncertain, unclear, ambiguous, equivocal, indeterminate, "
        "undetermined, inconclusive, cannot tell, can't tell, don't know, pending, to do, todo, "
        "skip, skipped, blank",
    )
)


class Sheet:
    """A data frame that knows where in the file a row stands, for errors that name the place."""

    def __init__(self, frame: pd.DataFrame) -> None:
        note = frame.attrs.get("hesitant", {})
        self.source: str = note.get("source", "the table")
        self.decimal: str = note.get("decimal", ".")
        self.as_text: Collection[str] = note.get("as_text", ())
        self._is_numbered = bool(note) and frame.index.dtype.kind in "iu"
        self._first_line: int | None = note.get("first_line") if self._is_numbered else None
        self._frame = frame
        self.names = [str(name) for name in frame.columns]
        check_names(self.names, self.source, min_columns=1)
        self._distinct: dict[str, tuple[npt.NDArray[np.intp], list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._frame)

    def column(self, name: str) -> "pd.Series[Any]":
        """Return a column that is known to exist."""
        return self._frame.iloc[:, self.names.index(name)]

    def require(self, names: Iterable[str], asked: str) -> None:
        """Refuse names that the table lacks, and suggest what may be meant."""
        absent = [name for name in names if name not in self.names]
        if not absent:
            return
        close = close_names(absent[0], self.names)
        columns = f"The columns are {quote_all(self.names, limit=12)}."
        remedy = f"Did you mean {quote_all(close)}?" if close else columns
        if looks_like_data(self.names):
            remedy += " They look like data: the header line may be missing."
        what = "a column" if len(absent) == 1 else "columns"
        raise self.error(f"The table lacks {what} {asked}: {quote_all(absent)}.", remedy)

    def error(
        self, problem: str, remedy: str, *, position: int | None = None, column: str | None = None
    ) -> TableError:
        """Make an error about the table, or about one row by its position in the frame."""
        row = None if position is None else self.row(position)
        line = self._first_line + row - 1 if self._first_line and row else None
        return TableError(self.source, problem, remedy, row=row, line=line, column=column)

    def row(self, position: int) -> int:
        """Return the number of a row in the file, counted from 1 without the header."""
        # a selection of the rows that were read keeps the numbers they had
        return int(self._frame.index[position] if self._is_numbered else position) + 1

    def distinct(self, name: str) -> tuple[npt.NDArray[np.intp], list[Any]]:
        """Return a column as numbers of its different cells, -1 where blank, and these cells.

        They are of one type: text without blanks around it, True and False, or numbers; whatever
        else there is can only be compared as words.
        """
        if name not in self._distinct:
            column = self.column(name)
            given = column[column.notna()] if column.dtype == object else ()
            kinds = {type(cell) for cell in given}
            if not any(kinds <= allowed for allowed in ({str}, {bool}, {int, float})):
                cells = zip(column, column.isna(), strict=True)
                texts = [None if gone else _plain(cell) for cell, gone in cells]
                column = pd.Series([t if t is None else str(t) for t in texts], dtype=object)
            # as a plain array, lest pandas infer another type
            objects = column.dtype == object
            codes, found = pd.factorize(column.to_numpy() if objects else column)
            plain = np.array([*map(_plain, found), None], dtype=object)
            again, kept = pd.factorize(plain)
            self._distinct[name] = again[codes], list(kept)  # of -1, the None at the end
        return self._distinct[name]

    def cells(self, name: str) -> Objects:
        """Return plain Python values: None for blanks, text stripped, numbers without a dtype."""
        codes, values = self.distinct(name)
        return spread(values, codes)

    def bad_cells(self, name: str, bad: Mask, what: str, remedy: str, end: str = "") -> TableError:
        """Make an error about the first of some cells of a column."""
        first = int(bad.argmax())
        cell = quote(self.column(name).iloc[first])
        number = f"({int(bad.sum()):,} such cell(s) in the column)"
        return self.error(f"{cell} {what} {number}{end}.", remedy, position=first, column=name)


def _plain(cell: Any) -> Any:
    """Return a number or truth without a dtype, anything else as text, None if that is blank."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, bool | int | float):
        return cell
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    return text.strip() or None


def spread(values: Sequence[Any], codes: npt.NDArray[np.intp]) -> Objects:
    """Return the value of each row from its number; -1 is None."""
    table = np.empty(len(values) + 1, dtype=object)
    table[:-1] = values
    return np.asarray(table[codes])


# -- numbers --------------------------------------------------------------------------------------


def features(sheet: Sheet, names: Sequence[str], leave_out: str) -> Floats:
    """Return columns as floats, blank cells as NaN; text that is no number is an error."""
    X = np.empty((len(sheet), len(names)))
    remedy = ways("correct or empty the cell", leave_out)
    for j, name in enumerate(names):
        X[:, j] = _numbers(sheet, name, remedy, leave_out)
        bad = np.isfinite(X[:, j]) & (np.abs(X[:, j]) > _LARGEST)
        if bad.any():
            raise sheet.bad_cells(name, bad, "is too large to compute with", remedy)
    return X


def weights(sheet: Sheet, name: str) -> Floats:
    """Return a column as weights: finite and not negative."""
    remedy = "Give every row a weight; 0 gives a row no say in the fit."
    values = _numbers(sheet, name, remedy)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise sheet.bad_cells(name, bad, "is not a weight, a number of at least 0", remedy)
    return values


def is_numeric(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds numbers, or True and False."""
    if column.dtype != object:
        return column.dtype.kind in "biuf"
    # a column read as objects because of blanks among True and False, or of huge integers
    kinds = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
    return pd.api.types.infer_dtype(column, skipna=True) in kinds


def refuse_mostly_numeric(sheet: Sheet, name: str, leave_out: str) -> None:
    """Refuse a text column of numbers: a few bad cells must not remove a marker in silence."""
    if sheet.column(name).dtype.kind in "cmM":
        return
    _, bad, words = _parse(sheet, name)
    filled = int((sheet.distinct(name)[0] >= 0).sum())
    if filled and not bad.any():
        remedy = ways(f"to use it, name it with {option('features')}", leave_out)
        raise sheet.error("The column holds numbers stored as text.", remedy, column=name)
    if filled and (2 * int(bad.sum()) < filled or _of_another_country(words, sheet.decimal)):
        raise _not_a_number(sheet, name, bad, words, ways("correct or empty the cell", leave_out))


def _numbers(sheet: Sheet, name: str, remedy: str, leave_out: str = "") -> Floats:
    column = sheet.column(name)
    if column.dtype.kind in "cmM":
        problem = "The column holds dates or complex numbers, not plain numbers."
        raise sheet.error(problem, ways("convert it to numbers", leave_out), column=name)
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values, bad, words = _parse(sheet, name)
    if bad.any():
        raise _not_a_number(sheet, name, bad, words, remedy)
    return values


def _parse(sheet: Sheet, name: str) -> tuple[Floats, Mask, list[str]]:
    """Return the cells of a text column as floats, which are no numbers, and some of these."""
    codes, values = sheet.distinct(name)
    texts = [float(v) if isinstance(v, bool) else str(v) for v in values]
    if sheet.decimal == ",":  # a point then marks thousands: 1.001 is not about one
        texts = ["no" if "." in str(t) else str(t).replace(",", ".") for t in texts]
    parsed = pd.to_numeric(pd.Series([*texts, None], dtype=object), errors="coerce")
    numbers = np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
    wrong = np.isnan(numbers)
    words = [str(v) for v, bad in zip(values, wrong, strict=False) if bad][:_COMPARED]
    return numbers[codes], wrong[codes] & (codes >= 0), words


def _not_a_number(sheet: Sheet, name: str, bad: Mask, words: list[str], remedy: str) -> TableError:
    like = ""
    if _of_another_country(words, sheet.decimal):
        like = "; it looks like one with other marks"
        word, mark = ("point", ".") if sheet.decimal == "," else ("comma", ",")
        remedy = (
            f"If the {word} is the decimal mark, give {mark!r} to {option('decimal')}; if marks"
        )
        remedy += " stand between thousands, remove them."
    return sheet.bad_cells(name, bad, "is not a number", remedy, like)


def _of_another_country(words: list[str], decimal: str) -> bool:
    """Tell whether words are numbers with the other decimal mark, or marks between thousands."""
    swapped = rf"[+-]?\d*{re.escape('.' if decimal == ',' else ',')}\d+(?:[eE][+-]?\d+)?"
    # the same mark throughout, as a version or an address hardly has it
    grouped = rf"[+-]?\d{{1,3}}(?P<mark>[{_GROUPING}])\d{{3}}(?:(?P=mark)\d{{3}})*(?:[.,]\d+)?"
    return bool(words) and all(re.fullmatch(f"{swapped}|{grouped}", word) for word in words)


def unfit_features(X: Floats, names: Sequence[str]) -> dict[str, str]:
    """Find the columns that measure nothing of their own, and why."""
    found: dict[str, str] = {}
    first: dict[bytes, str] = {}
    for j, name in enumerate(names):
        rows = np.flatnonzero(np.isfinite(X[:, j]))
        values = X[rows, j]
        original = first.setdefault(hashlib.sha256((X[:, j] + 0.0).tobytes()).digest(), name)
        if len(values) == 0:
            found[name] = "is empty"
        elif len(values) > 1 and values.min() == values.max():
            found[name] = "is the same in every row"
        elif original != name:
            found[name] = f"repeats {quote(original)}"
        elif len(values) >= _FEW and (values == np.floor(values)).all():
            named = _IDENTIFIER.fullmatch(name.strip()) and len(np.unique(values)) == len(values)
            if named or np.ptp(values - rows) == 0:
                found[name] = "seems to number the rows"
    return found


# -- words ----------------------------------------------------------------------------------------


def labels(
    sheet: Sheet, name: str, missing: Collection[object] | None
) -> tuple[Objects, tuple[str, ...]]:
    """Return the labels, None where blank, and the values listed as missing that do not occur.

    Where no value is listed, the number -1 is blank, as it is in Python.
    """
    codes, values = sheet.distinct(name)
    values = _typed(sheet, name, values)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    default = [-1] if numbers else []
    listed = {_like(value, values) for value in (default if missing is None else missing)}
    absent = [] if missing is None else sorted(map(_shown, listed - set(values)))
    written = sorted(str(value) for value in values if value not in listed)
    for value in absent:  # a value that the column writes otherwise would stay a class
        near = [other for other in written if other.casefold() == value.casefold()]
        # numbers are alike without being misspelt, and NA is listed to be on the safe side
        if not near and not is_number(value) and value not in BLANK_CELLS:
            near = close_names(value, written[:_COMPARED])
        if near:
            problem = f"The value {quote(value)} is listed as missing, but is not in the column."
            remedy = f"Did you mean {quote_all(near)}? List it as the column writes it, or leave"
            raise sheet.error(problem, f"{remedy} it out of {option('missing')}.", column=name)
    y = spread([None if value in listed else value for value in values], codes)
    # empty cells and their like were blank before anybody looked for them
    return y, tuple(value for value in absent if value not in BLANK_CELLS)


def _typed(sheet: Sheet, name: str, values: list[Any]) -> list[Any]:
    """Return labels as whole numbers, numbers, True and False if all are such, else as words."""
    whole = r"-?(?:0|[1-9]\d{0,14})"
    if values and isinstance(values[0], str) and name in sheet.as_text:  # no digit was lost
        if set(values) <= {"True", "False"}:
            return [value == "True" for value in values]
        if all(re.fullmatch(rf"{whole}(?:\.0*)?", value) for value in values):
            return [int(float(value)) for value in values]
        if all(re.fullmatch(rf"{whole}(?:\.\d+)?", value) for value in values):
            return [float(value) for value in values]
    if any(isinstance(value, float) for value in values):
        if any(abs(value) >= 2**53 for value in values):
            problem = "The labels are whole numbers so large that they were rounded."
            remedy = "Read the column as text, with text=[...] of read_table."
            raise sheet.error(problem, remedy, column=name)
        # whole numbers are often read as 1.0, 2.0 only because a blank stands among them
        kind = int if all(float(value).is_integer() for value in values) else float
        return [kind(value) for value in values]
    return values


def _like(value: object, found: list[Any]) -> object:
    """Return a listed value as the column would hold it: options arrive as text."""
    text = str(value).strip()
    kind = type(found[0]) if found else str
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    if kind is str:
        return _shown(value).strip()
    return float(text) if is_number(text) else text  # equal to, and hashed like, the integer


def _shown(value: object) -> str:
    """Return a label as the user writes it: a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def blank_like(counts: Counter[Any]) -> list[tuple[str, int]]:
    """Find the classes that read like "no label", and their numbers of rows."""
    if set(counts) == {-1, 1}:  # how two classes are often coded
        return []
    plain = {_shown(v): " ".join(re.split(r"[\s_]+", _shown(v).casefold())) for v in counts}
    found = ((_shown(v), n) for v, n in counts.items())
    return [(label, n) for label, n in found if plain[label].strip("()[]<>") in _BLANK_LIKE]


def alike(counts: Counter[Any]) -> list[tuple[str, ...]]:
    """Find the classes that differ only in case or blanks."""
    groups: dict[str, list[str]] = {}
    for label in sorted(cell for cell in counts if isinstance(cell, str)):
        groups.setdefault("".join(label.casefold().split()), []).append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def check_classes(sheet: Sheet, name: str, counts: Counter[Any], rows: int, code: bool) -> None:
    """Refuse a label that cannot be learnt: blank, of one class, or different in every row.

    ``code`` tells whether -1 was taken for a blank.
    """
    given, classes = counts.total(), list(counts)
    unique = len(classes) == given > 1 and (given == rows or given > _MANY)
    measured = any(isinstance(c, float) for c in classes) and len(classes) > max(_MANY, given / 2)
    if not given:
        problem = "The label is blank in every row."
        remedy = "Label some rows of at least two classes, or choose another column with"
        remedy = f"{remedy} {option('label')}."
    elif unique or measured:
        problem = (
            f"The label has {len(classes):,} different values in {given:,} labelled rows, as "
            f"{'a measurement' if measured else 'an identifier'} has "
            f"({quote_all(classes, limit=3)})."
        )
        remedy = f"Choose the column that holds the classes with {option('label')}."
    elif len(classes) == 1:
        problem = f"The label has a single class, {quote(classes[0])}, in {given:,} rows."
        meaning = "that value means 'not labelled', list it with"
        if code and {-1, "-1", "-1.0"} & set(sheet.distinct(name)[1]):
            meaning = "-1, which means 'not labelled', is a class here, give none to"
        remedy = f"Label some rows of a second class; if {meaning} {option('missing')}."
    else:
        return
    raise sheet.error(problem, remedy, column=name)


def truths(sheet: Sheet, name: str) -> Mask:
    """Return a column of yes and no (true and false, 1 and 0); a blank is an error."""
    codes, values = sheet.distinct(name)
    words = [str(value).casefold() for value in values]
    wrong = np.array([word not in _TRUE | _FALSE for word in words] + [True])[codes]
    if wrong.any():
        first = int(wrong.argmax())
        blank = codes[first] < 0
        what = "The cell is blank." if blank else f"{quote(words[codes[first]])} is not yes or no."
        remedy = f"Write yes or no (true/false, 1/0) in every row of the {option('reviewed')}"
        raise sheet.error(what, f"{remedy} column.", position=first, column=name)
    return np.array([word in _TRUE for word in words])[codes]


def reviewed_like(sheet: Sheet, taken: Collection[str]) -> str | None:
    """Find a column that reads like whether an expert saw the row."""
    for name in sheet.names:
        if name not in taken and _REVIEWED.fullmatch(name.strip()):
            codes, values = sheet.distinct(name)
            words = {str(value).casefold() for value in values}
            if len(words) == 2 and words <= _TRUE | _FALSE and (codes >= 0).all():
                return name
    return None
