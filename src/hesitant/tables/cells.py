"""The columns of a table as a fit needs them: numbers, weights, labels, yes and no."""

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

_WEIGH = "Give every row a weight; 0 gives a row no say in the fit."
_LARGEST = 1e150  # the square of anything beyond may be infinite
_EXACT = 2**53  # larger whole numbers are rounded where numbers are floats
_GROUPING = ".,'’ \u00a0\u202f"  # marks between thousands, in one country or another
_IDENTIFIER = re.compile(r"(?:.*[\W_])?id|index|row|event|time", re.IGNORECASE)
_REVIEWED = re.compile(
    r"(?:(?:is|was|been|expert|reader)[\W_]*)*"
    r"(?:seen|reviewed|shown|viewed|inspected|examined|presented|looked(?:[\W_]*at)?)",
    re.IGNORECASE,
)
_TRUE = frozenset({"yes", "y", "true", "t", "1", "1.0"})
_FALSE = frozenset({"no", "n", "false", "f", "0", "0.0"})
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
        self._position = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self._frame)

    def column(self, name: str) -> "pd.Series[Any]":
        """Return a column that is known to exist."""
        return self._frame.iloc[:, self._position[name]]

    def require(self, names: Iterable[str], asked: str) -> None:
        """Refuse names that the table lacks, and suggest what may be meant."""
        absent = [name for name in names if name not in self._position]
        if not absent:
            return
        close = close_names(absent[0], self.names)
        remedy = f"The columns are {quote_all(self.names, limit=12)}."
        if close:
            remedy = f"Did you mean {quote_all(close)}?"
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

    def blank(self, name: str) -> Mask:
        """Tell which cells of a column hold nothing: absent values and white space."""
        column = self.column(name)
        blank = column.isna().to_numpy(dtype=bool)
        if column.dtype.kind in "biufcmM":
            return blank
        empty = (isinstance(cell, str) and not cell.strip() for cell in column)
        return blank | np.fromiter(empty, bool, len(column))

    def cells(self, name: str) -> list[Any]:
        """Return plain Python values: None for blanks, text stripped, numbers without a dtype."""

        def plain(cell: Any) -> Any:
            if isinstance(cell, str | bytes):
                text = cell if isinstance(cell, str) else cell.decode("utf-8", "replace")
                return str(text).strip()
            if isinstance(cell, np.generic):
                return cell.item()
            return cell if pd.api.types.is_scalar(cell) else str(cell)  # lists, as in Parquet

        pairs = zip(self.column(name), self.blank(name), strict=True)
        return [None if gone else plain(cell) for cell, gone in pairs]

    def bad_cells(self, name: str, bad: Mask, what: str, remedy: str, end: str = "") -> TableError:
        """Make an error about the first of some cells of a column."""
        first = int(bad.argmax())
        cell = quote(self.column(name).iloc[first])
        number = f"({int(bad.sum()):,} such cell(s) in the column)"
        return self.error(f"{cell} {what} {number}{end}.", remedy, position=first, column=name)


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
    values = _numbers(sheet, name, _WEIGH)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise sheet.bad_cells(name, bad, "is not a weight, a number of at least 0", _WEIGH)
    return values


def is_numeric(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds numbers, or True and False."""
    if column.dtype.kind in "biuf":
        return True
    # a column read as objects because of blanks among True and False, or of huge integers
    kinds = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in kinds


def refuse_mostly_numeric(sheet: Sheet, name: str, leave_out: str) -> None:
    """Refuse a text column of numbers: a few bad cells must not remove a marker in silence."""
    if sheet.column(name).dtype.kind in "cmM":
        return
    _, bad = _parse(sheet, name)
    filled = int((~sheet.blank(name)).sum())
    if filled and not bad.any():
        remedy = ways(f"to use it, name it with {option('features')}", leave_out)
        raise sheet.error("The column holds numbers stored as text.", remedy, column=name)
    if filled and (2 * int(bad.sum()) < filled or _marks(sheet, name, bad) != (False, None)):
        raise _not_a_number(sheet, name, bad, ways("correct or empty the cell", leave_out))


def _numbers(sheet: Sheet, name: str, remedy: str, leave_out: str = "") -> Floats:
    column = sheet.column(name)
    if column.dtype.kind in "cmM":
        problem = "The column holds dates or complex numbers, not plain numbers."
        raise sheet.error(problem, ways("convert it to numbers", leave_out), column=name)
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values, bad = _parse(sheet, name)
    if bad.any():
        raise _not_a_number(sheet, name, bad, remedy)
    return values


def _parse(sheet: Sheet, name: str) -> tuple[Floats, Mask]:
    """Return the cells of a text column as floats and which of them are no number."""

    def text(cell: Any) -> Any:
        if cell is None or isinstance(cell, bool):
            return cell if cell is None else float(cell)
        if sheet.decimal == "," and isinstance(cell, str):
            # a point then marks thousands, and 1.001 must not be read as about one
            return "no number" if "." in cell else cell.replace(",", ".")
        return str(cell)

    cells = [text(cell) for cell in sheet.cells(name)]
    parsed = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce")
    values = np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
    return values, np.isnan(values) & ~sheet.blank(name)


def _marks(sheet: Sheet, name: str, bad: Mask) -> tuple[bool, str | None]:
    """Tell numbers of another country by their marks.

    Returns whether the cells have the other decimal mark throughout, and the decimal mark of
    numbers with marks between thousands.
    """
    cells = sheet.cells(name)
    sample = [str(cells[i]) for i in np.flatnonzero(bad)[:1000]]

    def match(pattern: str) -> list[bool]:
        return [re.fullmatch(pattern, cell) is not None for cell in sample]

    other = "." if sheet.decimal == "," else ","
    for decimal in (sheet.decimal, other):
        marks = "|".join(re.escape(mark) for mark in _GROUPING if mark != decimal)
        # the same mark throughout, as a version or an address hardly has it
        grouped = rf"[+-]?\d{{1,3}}(?:(?P<mark>{marks})\d{{3}})(?:(?P=mark)\d{{3}})*"
        fraction = rf"(?:{re.escape(decimal)}\d+)?"
        some = match(grouped + fraction)
        if any(some) and all(map(any, zip(some, match(rf"[+-]?\d*{fraction}"), strict=True))):
            break
    else:
        decimal = ""
    return all(match(rf"[+-]?\d*{re.escape(other)}\d+(?:[eE][+-]?\d+)?")), decimal or None


def _not_a_number(sheet: Sheet, name: str, bad: Mask, remedy: str) -> TableError:
    like = ""
    swapped, decimal = _marks(sheet, name, bad)
    if swapped:
        word, mark = ("point", ".") if sheet.decimal == "," else ("comma", ",")
        remedy = f"If the {word} is the decimal mark, give {mark!r} to {option('decimal')}."
        if decimal == sheet.decimal:
            remedy += " If it stands between thousands, remove it."
    elif decimal is not None:
        like = "; it looks like a number with marks between thousands"
        also = f" and give {decimal!r} to {option('decimal')}" if decimal != sheet.decimal else ""
        remedy = f"Export the table without such marks, or remove them{also}."
    return sheet.bad_cells(name, bad, "is not a number", remedy, like)


def unfit_features(X: Floats, names: Sequence[str]) -> dict[str, str]:
    """Find the columns that measure nothing of their own, and why.

    They rise by one from row to row, are whole numbers that never repeat under an identifier's
    name, are the same in every row, or repeat another column.
    """
    found: dict[str, str] = {}
    first: dict[bytes, str] = {}
    positions = np.arange(len(X))
    for j, name in enumerate(names):
        here = np.isfinite(X[:, j])
        values, rows = X[here, j], positions[here]
        original = first.setdefault(hashlib.sha256((X[:, j] + 0.0).tobytes()).digest(), name)
        whole = bool((values == np.floor(values)).all())
        named = bool(_IDENTIFIER.fullmatch(name.strip())) and len(np.unique(values)) == len(values)
        if len(values) == 0:
            found[name] = "is empty"
        elif len(values) > 1 and values.min() == values.max():
            found[name] = "is the same in every row"
        elif original != name:
            found[name] = f"repeats {quote(original)}"
        elif whole and len(values) >= _FEW and (named or np.ptp(values - rows) == 0):
            found[name] = "seems to number the rows"
    return found


# -- words ----------------------------------------------------------------------------------------


def labels(
    sheet: Sheet, name: str, missing: Collection[object] | None
) -> tuple[Objects, tuple[str, ...]]:
    """Return the labels, None where blank, and the values listed as missing that do not occur.

    Where no value is listed, the number -1 is blank, as it is in Python.
    """
    cells = _typed(sheet, name)
    found = set(cells) - {None}
    numbers = all(isinstance(value, int | float) for value in found)
    default = [-1] if numbers and bool not in map(type, found) else []
    listed = {_like(value, found) for value in (default if missing is None else missing)}
    absent = [] if missing is None else sorted(_shown(value) for value in listed - found)
    _refuse_misspelt(sheet, name, absent, found - listed)
    y = np.empty(len(cells), dtype=object)
    y[:] = [None if cell in listed else cell for cell in cells]
    # empty cells and their like were blank before anybody looked for them
    return y, tuple(value for value in absent if value not in BLANK_CELLS)


def _typed(sheet: Sheet, name: str) -> list[Any]:
    """Return labels of one type: whole numbers, numbers, True and False, else words."""
    cells = sheet.cells(name)
    given = [cell for cell in cells if cell is not None]
    kinds = set(map(type, given))
    if kinds == {str} and name in sheet.as_text:  # read so that no digit is lost
        if set(given) <= {"True", "False"}:
            return [None if cell is None else cell == "True" for cell in cells]
        if all(re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.0*)?", cell) for cell in given):
            return [None if cell is None else int(float(cell)) for cell in cells]
        if all(re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?", cell) for cell in given):
            return [None if cell is None else float(cell) for cell in cells]
        return cells
    if float in kinds and any(isinstance(c, float) and abs(c) >= _EXACT for c in given):
        raise sheet.error(
            "The labels are whole numbers so large that they were rounded.",
            "Read the column as text, with text=[...] of read_table.",
            column=name,
        )
    if float in kinds and kinds <= {int, float}:
        # whole numbers are often read as 1.0, 2.0 only because a blank stands among them
        whole = all(float(cell).is_integer() for cell in given)
        return [None if cell is None else (int if whole else float)(cell) for cell in cells]
    if len(kinds) > 1 or not kinds <= {str, bool, int}:
        # mixtures and dates can only be compared as words
        return [None if cell is None else str(cell) for cell in cells]
    return cells


def blank_like(y: Objects) -> list[tuple[str, int]]:
    """Find the classes that read like "no label", and their numbers of rows."""
    counts = Counter(_shown(cell) for cell in y if cell is not None)
    if set(counts) == {"-1", "1"}:  # how two classes are often coded
        return []
    plain = {
        label: " ".join(re.split(r"[\s_]+", label.casefold())).strip("()[]<>") for label in counts
    }
    return [(label, n) for label, n in counts.items() if plain[label] in _BLANK_LIKE]


def alike(y: Objects) -> list[tuple[str, ...]]:
    """Find the classes that differ only in case or blanks."""
    groups: dict[str, list[str]] = {}
    for label in sorted({cell for cell in y if isinstance(cell, str)}):
        groups.setdefault("".join(label.casefold().split()), []).append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def check_classes(sheet: Sheet, name: str, y: Objects, minus_one: bool) -> None:
    """Refuse a label that cannot be learnt: blank, of one class, or different in every row."""
    given = [cell for cell in y if cell is not None]
    classes = set(given)
    choose = f"with {option('label')}"
    unique = len(classes) == len(given) and (len(given) == len(y) or len(given) > _MANY)
    measured = any(isinstance(cell, float) for cell in given[:1]) and len(classes) > max(
        _MANY, len(given) / 2
    )
    if not given:
        problem = "The label is blank in every row."
        remedy = f"Label some rows of at least two classes, or choose another column {choose}."
    elif (unique and len(classes) > 1) or measured:
        what = "a measurement" if measured else "an identifier"
        problem = (
            f"The label has {len(classes):,} different values in {len(given):,} labelled rows, "
            f"as {what} has ({quote_all(given, limit=3)})."
        )
        remedy = f"Choose the column that holds the classes {choose}."
    elif len(classes) == 1:
        problem = f"The label has a single class, {quote(given[0])}, in {len(given):,} rows."
        meaning = "that value means 'not labelled', list it with"
        if minus_one and any(str(cell) in ("-1", "-1.0") for cell in sheet.cells(name)):
            meaning = "-1, which means 'not labelled', is a class here, give none to"
        remedy = f"Label some rows of a second class; if {meaning} {option('missing')}."
    else:
        return
    raise sheet.error(problem, remedy, column=name)


def truths(sheet: Sheet, name: str) -> Mask:
    """Return a column of yes and no (true and false, 1 and 0); a blank is an error."""
    words = [None if cell is None else str(cell).casefold() for cell in sheet.cells(name)]
    for i, word in enumerate(words):
        if word not in _TRUE | _FALSE:
            what = "The cell is blank." if word is None else f"{quote(word)} is not yes or no."
            column = f"{option('reviewed')} column"
            remedy = f"Write yes or no (true/false, 1/0) in every row of the {column}."
            raise sheet.error(what, remedy, position=i, column=name)
    return np.array([word in _TRUE for word in words])


def reviewed_like(sheet: Sheet, taken: Collection[str]) -> str | None:
    """Find a column that reads like whether an expert saw the row."""
    for name in sheet.names:
        if name not in taken and _REVIEWED.fullmatch(name.strip()):
            words = {str(cell).casefold() for cell in sheet.cells(name)}
            if len(words) == 2 and words <= _TRUE | _FALSE:
                return name
    return None


def _like(value: object, found: set[Any]) -> object:
    """Return a listed value as the column would hold it: options arrive as text."""
    text = str(value).strip()
    kind = type(next(iter(found), ""))
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    if kind is str:
        return _shown(value).strip()
    return float(text) if is_number(text) else text  # equal to, and hashed like, the integer


def _refuse_misspelt(sheet: Sheet, name: str, absent: list[str], found: set[Any]) -> None:
    """Refuse a missing value that the column writes otherwise, and that would stay a class."""
    written = sorted(map(str, found))
    for value in absent:
        near = [other for other in written if other.casefold() == value.casefold()]
        # numbers are alike without being misspelt, and NA is listed to be on the safe side
        if not near and not is_number(value) and value not in BLANK_CELLS:
            near = close_names(value, written[:_COMPARED])
        if near:
            raise sheet.error(
                f"The value {quote(value)} is listed as missing, but is not in the column.",
                f"Did you mean {quote_all(near)}? List it as the column writes it, or leave it "
                f"out of {option('missing')}.",
                column=name,
            )


def _shown(value: object) -> str:
    """Return a label as the user writes it: a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
