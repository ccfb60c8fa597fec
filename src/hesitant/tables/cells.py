"""The columns of a table as a fit needs them: numbers, labels, yes and no."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant._words import close_names

from . import errors
from .errors import TableError, is_number, option, quote, quote_all, ways

# What R, pandas, SQL and spreadsheets write for an absent value. "None" is not among them: it is
# also what an expert may write for "none of these", and no common tool writes it for a blank.
BLANK_CELLS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")

_LARGEST = 1e150  # the square of anything beyond may be infinite
_GROUPING = ".,'’ \u00a0\u202f"  # marks between thousands, in one country or another
_IDENTIFIER = re.compile(r"(?i)(?:.*[\W_])?id|index|row|event|time")
_REVIEWED = re.compile(
    r"(?i)(?:(?:is|was|been|expert|reader)[\W_]*)*"
    r"(?:seen|reviewed|shown|viewed|inspected|examined|presented|looked(?:[\W_]*at)?)"
)
_TRUE, _FALSE = {"yes", "y", "true", "t", "1", "1.0"}, {"no", "n", "false", "f", "0", "0.0"}
_MANY = 20  # so many classes, each of a single row, are not classes
_FEW = 10  # fewer rows do not tell counting from measuring
_COMPARED = 1_000  # more different labels are not compared with a misspelt one, which takes long

# what people and programs write for "no label", and what some mean as a class
_BLANK_LIKE = (  # noqa: SIM905
    "-1, ?, ??, ., -, --, none, null, nan, n/a, na, n.a., nd, n.d., tbd, tba, unknown, unk, "
    "unlabelled, unlabeled, not labelled, no label, ungated, missing, undefined, unassigned, "
    "unclassified, unsure, not sure, uncertain, unclear, ambiguous, equivocal, indeterminate, "
    "undetermined, inconclusive, cannot tell, can't tell, don't know, pending, to do, todo, "
    "skip, skipped, blank"
).split(", ")


class Sheet(dict[str, "Column"]):
    """The columns of a data frame, and where in the file its rows stand, for errors to tell."""

    def __init__(self, frame: pd.DataFrame, leave_out: str = "") -> None:
        self.leave_out = leave_out  # how to do without a column, for remedies
        note = frame.attrs.get("hesitant", {})
        self.source: str = note.get("source", "the table")
        self.decimal: str = note.get("decimal", ".")
        self.as_text: Collection[str] = note.get("as_text", ())
        # a selection of the rows that were read keeps the numbers they had
        numbered = bool(note) and frame.index.dtype.kind in "iu"
        self._numbers = frame.index if numbered else range(len(frame))
        self._first_line: int | None = note.get("first_line") if numbered else None
        names = [str(name) for name in frame.columns]
        errors.check_shape(names, self.source)
        super().__init__({k: Column(self, k, frame.iloc[:, j]) for j, k in enumerate(names)})

    def require(self, names: Iterable[str], asked: str) -> None:
        """Refuse names that the table lacks, and suggest what may be meant."""
        absent = [name for name in names if name not in self]
        if absent:
            close = close_names(absent[0], self)
            columns = f"The columns are {quote_all(self, limit=12)}."
            remedy = f"Did you mean {quote_all(close)}?" if close else columns
            if errors.looks_like_data(list(self)):
                remedy += " They look like data: the header line may be missing."
            what = "a column" if len(absent) == 1 else "columns"
            raise self.error(f"The table lacks {what} {asked}: {quote_all(absent)}.", remedy)

    def error(
        self, problem: str, remedy: str, position: int | None = None, column: str | None = None
    ) -> TableError:
        """Make an error about the table, or about one row by its position in the frame."""
        row = None if position is None else int(self._numbers[position]) + 1
        line = self._first_line + row - 1 if self._first_line and row else None
        return TableError(self.source, problem, remedy, row, line, column)

    def features(self, names: Sequence[str]) -> FloatArray:
        """Return columns as floats, blank cells as NaN; text that is no number is an error."""
        X = np.empty((len(self._numbers), len(names)))
        remedy = ways("correct or empty the cell", self.leave_out)
        for j, name in enumerate(names):
            X[:, j] = self[name].numbers(remedy)
            huge = np.isfinite(X[:, j]) & (np.abs(X[:, j]) > _LARGEST)
            self[name].refuse(huge, "is too large to compute with", remedy)
        return X


class Column:
    """A column: ``codes`` number its different cells, -1 where blank, and ``values`` are these.

    They are of one type: text without blanks around it, True and False, or numbers; whatever else
    there is can only be compared as words. What a column holds is decided on them, not on rows.
    """

    def __init__(self, sheet: Sheet, name: str, series: "pd.Series[Any]") -> None:
        self.sheet, self.name, self.series = sheet, name, series

    @cached_property
    def _distinct(self) -> tuple[IntArray, list[Any]]:
        column = self.series.astype(object)
        kinds = set(map(type, column[column.notna()]))
        if not (kinds <= {bool} or kinds <= {int, float}):
            column = column.map(_word, na_action="ignore").astype(object)
        # as a plain array, lest pandas infer another type
        codes, values = pd.factorize(column.to_numpy())
        return codes, list(values)

    codes = property(lambda self: self._distinct[0])
    values = property(lambda self: self._distinct[1])

    def error(self, problem: str, remedy: str, position: int | None = None) -> TableError:
        return self.sheet.error(problem, remedy, position, self.name)

    def refuse(self, bad: BoolArray, what: str, remedy: str, end: str = "") -> None:
        """Refuse cells, if there are any; the error names the first."""
        if bad.any():
            first, count = int(bad.argmax()), f"{int(bad.sum()):,} such cell(s) in the column"
            cell = quote(self.series.iloc[first])
            raise self.error(f"{cell} {what} ({count}){end}.", remedy, first)

    def cells(self, values: Sequence[Any] | None = None) -> AnyArray:
        """Return plain Python values, None for blanks; or others in place of ``values``."""
        table = np.empty(len(self.values) + 1, dtype=object)
        table[:-1] = self.values if values is None else values
        return np.asarray(table[self.codes])

    def is_numeric(self) -> bool:
        kinds = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
        return pd.api.types.infer_dtype(self.series, skipna=True) in kinds

    def numbers(self, remedy: str) -> FloatArray:
        """Return the cells as floats, blank ones as NaN; text that is no number is an error."""
        kind = self.series.dtype.kind
        if kind in "biuf":
            return np.asarray(self.series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in "cmM":
            problem = "The column holds dates or complex numbers, not plain numbers."
            raise self.error(problem, ways("convert it to numbers", self.sheet.leave_out))
        values, bad, *advice = self._parse(remedy)
        self.refuse(bad, "is not a number", *advice)
        return values

    def refuse_mostly_numbers(self) -> None:
        """Refuse a text column of numbers: a few bad cells must not remove a marker in silence."""
        leave_out, filled = self.sheet.leave_out, int((self.codes >= 0).sum())
        if not filled or self.series.dtype.kind in "cmM":
            return
        _, bad, remedy, like = self._parse(ways("correct or empty the cell", leave_out))
        if not bad.any():
            remedy = ways(f"to use it, name it with {option('features')}", leave_out)
            raise self.error("The column holds numbers stored as text.", remedy)
        if 2 * int(bad.sum()) < filled or like:
            self.refuse(bad, "is not a number", remedy, like)

    def _parse(self, remedy: str) -> tuple[FloatArray, BoolArray, str, str]:
        """Return text as floats, which cells are no numbers, and what to say of these."""
        word, mark = ("point", ".") if self.sheet.decimal == "," else ("comma", ",")
        texts = [str(float(v) if isinstance(v, bool) else v) for v in self.values]
        if mark == ".":  # it then stands between thousands: 1.001 is not about one
            texts = ["no" if "." in text else text.replace(",", ".") for text in texts]
        parsed = pd.to_numeric(pd.Series([*texts, None], dtype=object), errors="coerce")
        numbers = np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
        values, like = numbers[self.codes], ""
        words = [str(v) for v, x in zip(self.values, numbers, strict=False) if x != x][:_COMPARED]
        swapped = rf"[+-]?\d*{re.escape(mark)}\d+(?:[eE][+-]?\d+)?"
        # marks between thousands: the same throughout, as a version or an address hardly has it
        grouped = rf"[+-]?\d{{1,3}}(?P<m>[{_GROUPING}])\d{{3}}(?:(?P=m)\d{{3}})*(?:[.,]\d+)?"
        if all(re.fullmatch(f"{swapped}|{grouped}", word) for word in words):
            like = "; it looks like one with other marks"
            remedy = f"If the {word} is the decimal mark, give {mark!r} to {option('decimal')};"
            remedy += " if marks stand between thousands, remove them."
        return values, np.isnan(values) & (self.codes >= 0), remedy, like

    def labels(self, missing: Collection[object] | None) -> tuple[AnyArray, tuple[str, ...]]:
        """Return the labels, None where blank, and what is listed as missing but not there."""
        values = self._typed()
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        # where no value is listed, the number -1 is blank, as it is in Python
        given = ([-1] if numbers else []) if missing is None else missing
        texts = [as_shown(value).strip() for value in given]  # options arrive as text
        listed = {as_shown(float(t)) if numbers and is_number(t) else t for t in texts}
        written = {as_shown(value) for value in values}
        absent = [] if missing is None else sorted(listed - written)
        for value in absent:  # a value that the column writes otherwise would stay a class
            others = sorted(written - listed)
            near = [other for other in others if other.casefold() == value.casefold()]
            # numbers are alike without being misspelt, and NA is listed to be on the safe side
            if not near and not is_number(value) and value not in BLANK_CELLS:
                near = close_names(value, others[:_COMPARED])
            if near:
                what = f"{quote(value)} is listed as missing, but is not in the column."
                remedy = f"Did you mean {quote_all(near)}? List it as the column writes it, or"
                raise self.error(what, f"{remedy} leave it out of {option('missing')}.")
        y = self.cells([None if as_shown(value) in listed else value for value in values])
        # empty cells and their like were blank before anybody looked for them
        return y, tuple(value for value in absent if value not in (*BLANK_CELLS, "none"))

    def padded(self) -> list[str]:
        """Return the values that are written with blanks around them in places, not in all."""
        written = {cell for cell in self.series.tolist() if isinstance(cell, str)}
        return sorted({cell.strip() for cell in written if cell != cell.strip()} & written)

    def _typed(self) -> list[Any]:
        """Return whole numbers, numbers, or True and False if all values are such, else words."""
        values = self.values
        if values and isinstance(values[0], str) and self.name in self.sheet.as_text:
            if set(values) <= {"True", "False"}:
                return [value == "True" for value in values]
            # of so few digits none is lost
            if all(re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d*)?", value) for value in values):
                values = [float(value) for value in values]
        if not any(isinstance(value, float) for value in values):
            return values
        if any(abs(value) >= 2**53 for value in values):
            problem = "The labels are whole numbers so large that they were rounded."
            raise self.error(problem, "Read the column as text, with text=[...] of read_table.")
        # whole numbers are often read as 1.0, 2.0 only because a blank stands among them
        kind = int if all(float(value).is_integer() for value in values) else float
        return [kind(value) for value in values]

    def check_classes(self, counts: Counter[Any], rows: int, coded: bool) -> None:
        """Refuse labels that cannot be learnt: blank, of one class, or different in every row."""
        given, classes = counts.total(), list(counts)
        unique = len(classes) == given > 1 and (given == rows or given > _MANY)
        many = len(classes) > max(_MANY, given / 2)
        measured = many and any(isinstance(c, float) for c in classes)
        if not given:
            problem = "The label is blank in every row."
            another = f"choose another column with {option('label')}"
            remedy = ways("label some rows of at least two classes", another)
        elif unique or measured:
            kind = "a measurement" if measured else "an identifier"
            problem = f"The label has {len(classes):,} different values in {given:,} labelled rows"
            problem += f", as {kind} has ({quote_all(classes, limit=3)})."
            remedy = f"Choose the column that holds the classes with {option('label')}."
        elif len(classes) == 1:
            problem = f"The label has a single class, {quote(classes[0])}, in {given:,} rows."
            meaning = "that value means 'not labelled', list it with"
            if coded and {-1, "-1", "-1.0"} & set(self.values):  # -1 was taken for a blank
                meaning = "-1, which means 'not labelled', is a class here, give none to"
            remedy = f"Label some rows of a second class; if {meaning} {option('missing')}."
        else:
            return
        raise self.error(problem, remedy)

    def truths(self) -> BoolArray:
        """Return yes and no (true and false, 1 and 0); a blank is an error."""
        known = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
        found = self.cells([known.get(str(value).casefold()) for value in self.values])
        wrong = pd.isna(found)
        if wrong.any():
            cell = self.cells()[wrong][0]
            what = "The cell is blank." if cell is None else f"{quote(cell)} is not yes or no."
            remedy = f"Write yes or no (true/false, 1/0) in every row of the {option('reviewed')}"
            raise self.error(what, f"{remedy} column.", int(wrong.argmax()))
        return found.astype(bool)

    def reads_like_reviewed(self) -> bool:
        if not _REVIEWED.fullmatch(self.name.strip()) or (self.codes < 0).any():
            return False
        words = {str(value).casefold() for value in self.values}
        return len(words) == 2 and words <= _TRUE | _FALSE


def _word(cell: Any) -> str | None:
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    return text.strip() or None


def as_shown(value: object) -> str:
    """Return a label as the user writes it: a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def unfit_features(X: FloatArray, names: Sequence[str]) -> dict[str, str]:
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


def blank_like(counts: Counter[Any]) -> list[tuple[str, int]]:
    if set(counts) == {-1, 1}:  # how two classes are often coded
        return []
    found = {as_shown(value): count for value, count in counts.items()}
    plain = {label: " ".join(re.split(r"[\s_]+", label.casefold())) for label in found}
    return [(k, n) for k, n in found.items() if plain[k].strip("()[]<>") in _BLANK_LIKE]


def alike(counts: Counter[Any]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for label in sorted(cell for cell in counts if isinstance(cell, str)):
        groups.setdefault("".join(label.casefold().split()), []).append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]
