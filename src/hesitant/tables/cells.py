"""The columns of a table as a fit needs them: numbers, labels, yes and no."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant._words import did_you_mean, noun
from hesitant.labels import as_shown, object_array

from .errors import TableError, check_shape, looks_like_data, option, quote, quote_all, ways

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
_TRUTHS = dict.fromkeys(("yes", "y", "true", "t", "1", "1.0"), True)
_TRUTHS |= dict.fromkeys(("no", "n", "false", "f", "0", "0.0"), False)
_MANY = 20  # more labels than this, each of a single row, are not classes
_FEW = 10  # fewer rows do not tell counting from measuring
SINGLE = 6e-8  # relative error of a number in single precision
_COUNTING = 0.75  # share of steps by one, among values that are all different

# what people and programs write for "no label", and what some mean as a class
_BLANK_LIKE = (  # noqa: SIM905
    "-1, -99, -999, -9999, ?, ??, ., -, --, none, null, nan, n/a, na, n.a., nd, n.d., tbd, tba, "
    "unknown, unk, unlabelled, unlabeled, not labelled, no label, ungated, missing, undefined, "
    "unassigned, unclassified, unsure, not sure, uncertain, unclear, ambiguous, equivocal, "
    "indeterminate, undetermined, inconclusive, cannot tell, can't tell, don't know, pending, "
    "to do, todo, skip, skipped, blank"
).split(", ")


class Sheet(dict[str, "Column"]):
    """The columns of a data frame, and where in the file its rows stand, for errors to tell."""

    def __init__(self, frame: pd.DataFrame, leave_out: str = "") -> None:
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"frame is a {type(frame).__name__}: give a DataFrame of pandas.")
        self.leave_out = leave_out  # how to do without a column, for remedies
        note = frame.attrs.get("hesitant", {})
        self.notes: list[str] = list(note.get("notes", ()))  # what was found on the way
        self.source: str = note.get("source", "the table")
        self.decimal: str = note.get("decimal", ".")
        self.as_text: Collection[str] = note.get("as_text", ())
        self.empty: list[float] = []  # numbers of features that mean "not measured"
        # a selection of the rows that were read keeps the numbers they had
        numbered = bool(note) and frame.index.dtype.kind in "iu"
        self._numbers = frame.index if numbered else range(len(frame))
        self._first_line: int | None = note.get("first_line") if numbered else None
        names = [str(name) for name in frame.columns]
        check_shape(names, self.source)
        super().__init__({k: Column(self, k, frame.iloc[:, j]) for j, k in enumerate(names)})

    def require(self, names: Iterable[str], asked: str) -> None:
        absent = [name for name in names if name not in self]
        if absent:
            columns = f"The columns are {quote_all(self, limit=12)}."
            remedy = did_you_mean(absent[0], self, most=3).strip() or columns
            if looks_like_data(list(self)):
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
        X = np.empty((len(self._numbers), len(names)))
        mend, code = "correct or empty the cell", f"give its number to {option('empty')}"
        remedy, or_empty = ways(mend, self.leave_out), ways(mend, code, self.leave_out)
        for j, name in enumerate(names):
            X[:, j] = values = self[name].numbers(remedy)
            for number in self.empty:
                X[np.isclose(values, number, SINGLE, 0), j] = np.nan
            huge = np.isfinite(X[:, j]) & (np.abs(X[:, j]) > _LARGEST)
            self[name].refuse(huge, "is too large to compute with", or_empty)
        return X


class Column:
    """A column: its ``cells``, None where blank, and the different ``values`` among them.

    They are of one type: text without blanks around it, True and False, or numbers; whatever else
    there is can only be compared as words.
    """

    def __init__(self, sheet: Sheet, name: str, series: "pd.Series[Any]") -> None:
        self.sheet, self.name, self.series = sheet, name, series

    @cached_property
    def cells(self) -> AnyArray:
        if isinstance(self.series.dtype, pd.StringDtype):  # mostly a few words, often repeated
            codes, words = pd.factorize(self.series)
            return object_array([*map(_word, words), None])[codes]  # a blank's code is −1
        cells = self.series.astype(object).to_numpy(copy=True)
        cells[self.series.isna().to_numpy()] = None
        kinds = set(map(type, cells)) - {type(None)}
        if kinds <= {bool} or kinds <= {int, float}:
            return cells
        return np.array([None if cell is None else _word(cell) for cell in cells], dtype=object)

    @cached_property
    def values(self) -> list[Any]:
        return [value for value in dict.fromkeys(self.cells) if value is not None]

    def error(self, problem: str, remedy: str, position: int | None = None) -> TableError:
        return self.sheet.error(problem, remedy, position, self.name)

    def refuse(self, bad: BoolArray, what: str, remedy: str) -> None:
        if bad.any():
            first, count = int(bad.argmax()), f"{int(bad.sum()):,} such cell(s) in the column"
            raise self.error(f"{quote(self.series.iloc[first])} {what} ({count}).", remedy, first)

    def is_numeric(self) -> bool:
        kinds = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
        return pd.api.types.infer_dtype(self.series, skipna=True) in kinds

    def numbers(self, remedy: str) -> FloatArray:
        """Return the cells as floats, blank ones as NaN; text that is not a number is an error."""
        kind = self.series.dtype.kind
        if kind in "biuf":
            return np.asarray(self.series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in "cmM":
            problem = "The column holds dates or complex numbers, not plain numbers."
            raise self.error(problem, ways("convert it to numbers", self.sheet.leave_out))
        values, bad, marks = self._parse()
        self.refuse(bad, *(marks or ("is not a number", remedy)))
        return values

    def refuse_mostly_numbers(self) -> None:
        """Refuse a text column of numbers: a few bad cells must not remove a marker in silence."""
        if not self.values or self.series.dtype.kind in "cmM":
            return
        values, bad, marks = self._parse()
        if not bad.any():
            remedy = ways(f"to use it, name it with {option('features')}", self.sheet.leave_out)
            raise self.error("The column holds numbers stored as text.", remedy)
        if marks or bad.sum() < np.isfinite(values).sum():
            self.numbers(ways("correct or empty the cell", self.sheet.leave_out))

    def _parse(self) -> tuple[FloatArray, BoolArray, tuple[str, str] | None]:
        """Return text as floats, which cells are not numbers, and what to say of their marks."""
        word, mark = ("point", ".") if self.sheet.decimal == "," else ("comma", ",")
        texts = [str(float(v) if isinstance(v, bool) else v) for v in self.values]
        if mark == ".":  # it then stands between thousands: 1.001 is not about one
            texts = ["no" if "." in text else text.replace(",", ".") for text in texts]
        parsed = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").astype(float)
        number = dict(zip(self.values, parsed, strict=True))
        values = np.array([number.get(cell, np.nan) for cell in self.cells])
        swapped = rf"[+-]?\d*{re.escape(mark)}\d+(?:[eE][+-]?\d+)?"
        # marks between thousands: the same throughout, as a version or an address hardly has it
        grouped = rf"[+-]?\d{{1,3}}(?P<m>[{_GROUPING}])\d{{3}}(?:(?P=m)\d{{3}})*(?:[.,]\d+)?"
        words, marks = (str(value) for value, x in number.items() if x != x), None
        if all(re.fullmatch(f"{swapped}|{grouped}", word) for word in words):
            remedy = f"If the {word} is the decimal mark, give {mark!r} to {option('decimal')};"
            remedy += " if marks stand between thousands, remove them."
            marks = "is not a number, but looks like one with other marks", remedy
        return values, np.isnan(values) & pd.notna(self.cells), marks

    def labels(self) -> dict[Any, Any]:
        """Return the values as whole numbers, numbers or truths if all are such, else as words."""
        values: list[Any] = self.values
        if values and isinstance(values[0], str) and self.name in self.sheet.as_text:
            if set(values) <= {"True", "False"}:
                return {value: value == "True" for value in values}
            # of so few digits none is lost
            if all(re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d*)?", value) for value in values):
                values = [float(value) for value in values]
        if any(isinstance(value, float) for value in values):
            if any(abs(value) >= 2**53 for value in values):
                remedy = "Read the column as text, with text=[...] of read_table."
                raise self.error("The labels are too large to be read exactly as numbers.", remedy)
            # whole numbers are often read as 1.0, 2.0 only because a blank stands among them
            kind = int if all(float(value).is_integer() for value in values) else float
            values = [kind(value) for value in values]
        return dict(zip(self.values, values, strict=True))

    def check_classes(self, counts: Counter[Any], rows: int, coded: bool) -> None:
        """Refuse labels that cannot be learnt: blank, of one class, or different in every row."""
        given, classes = counts.total(), list(counts)
        unique = len(classes) == given > 1 and (given == rows or given > _MANY)
        many = len(classes) > max(_MANY, given / 2)
        measured = many and any(re.fullmatch(r"-?\d+(\.\d+|[\d.]*e-\d+)", str(c)) for c in classes)
        if not given:
            problem = "The label is blank in every row."
            another = f"choose another column with {option('label')}"
            remedy = ways("label some rows of at least two classes", another)
        elif unique or measured:
            kind = "a measurement" if measured else "an identifier"
            problem = f"The label has {len(classes):,} different values in {given:,} labelled rows"
            problem += f", as {kind} has ({quote_all(classes, limit=3)})."
            another = f"choose the column that holds the classes with {option('label')}"
            remedy = ways(another, "label several rows of each class")
        elif len(classes) == 1:
            problem = f"The label has a single class, {quote(classes[0])} ({noun(given, 'row')})."
            meaning = "that value means 'not labelled', list it with"
            if coded and {-1, "-1", "-1.0"} & set(self.values):  # -1 was taken for a blank
                meaning = "-1, which means 'not labelled', is a class here, give none to"
            remedy = f"Label some rows of a second class; if {meaning} {option('missing')}."
        else:
            return
        raise self.error(problem, remedy)

    def truths(self) -> BoolArray:
        """Return yes and no (true and false, 1 and 0); a blank is an error."""
        found = [_TRUTHS.get(str(cell).casefold()) for cell in self.cells]
        if None in found:
            first = found.index(None)
            cell = self.cells[first]
            what = "The cell is blank." if cell is None else f"{quote(cell)} is not yes or no."
            remedy = f"Write yes or no (true/false, 1/0) in every row of the {option('reviewed')}"
            raise self.error(what, f"{remedy} column.", first)
        return np.array(found)

    def reads_like_reviewed(self) -> bool:
        if not _REVIEWED.fullmatch(self.name.strip()) or None in self.cells:
            return False
        words = {str(value).casefold() for value in self.values}
        return len(words) == 2 and words <= _TRUTHS.keys()


def _word(cell: Any) -> str | None:
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    return text.strip() or None


def unfit_features(X: FloatArray, names: Sequence[str]) -> dict[str, str]:
    found, first = dict[str, str](), dict[bytes, str]()
    for name, column in zip(names, X.T, strict=True):
        rows = np.flatnonzero(np.isfinite(column))
        values = column[rows]
        # whole numbers, or those of cases and their parts: 17.01, 17.02, 18.01
        parts = 1000 * np.round(values[:_FEW] % 1, 6)
        counted = len(parts) == _FEW and np.allclose(parts, np.round(parts), 0, 0.02)
        original = first.setdefault(hashlib.sha256((column + 0.0).tobytes()).digest(), name)
        if len(values) == 0:
            found[name] = "is empty"
        elif len(values) > 1 and values.min() == values.max():
            found[name] = "is the same in every row"
        elif original != name:
            found[name] = f"repeats {quote(original)}"
        elif counted and len(np.unique(values)) == len(values):
            parts = np.unique(np.round(values % 1, 6))
            counted = np.allclose(parts, parts[0] * np.arange(1, len(parts) + 1))
            counted &= parts[0] in (0, 0.1, 0.01, 0.001)
            steps = np.isclose(np.diff(values - rows), 0, atol=1e-6).mean()
            parted = len(parts) > 1 and parts[-1] < 0.1  # as nothing measured, in any order
            named = _IDENTIFIER.fullmatch(name.strip()) and not (values % 1).any()
            if named or (counted and (parted or steps > _COUNTING)):
                found[name] = "seems to number the rows"
    return found


def codes_in(X: FloatArray, names: Sequence[str]) -> dict[float, dict[str, int]]:
    """Return numbers that seem to mean "not measured", and how often they stand in which columns.

    Such a code is repeated and lies far outside of all other values, whatever their outliers; less
    far, or as the only one below 0, if it is repeated five times as often as they are on average.
    """
    found: defaultdict[float, dict[str, int]] = defaultdict(dict)
    for name, column in zip(names, X.T, strict=True):
        rest, codes = column[np.isfinite(column)], dict[float, int]()
        while rest.size and len(codes) < _MANY:  # where there are more, they are values
            if not (ends := [v for v in (rest.min(), rest.max()) if _is_code(v)]):
                break
            codes[float(ends[0])] = int((rest == ends[0]).sum())
            rest = rest[rest != ends[0]]
        low, high = (rest.min(), rest.max()) if rest.size else (0, 0)
        different = np.unique(rest).size if codes else 0
        for code, count in codes.items():
            often = count * different >= 5 * rest.size
            far = max(low - code, code - high) > (0.5 if often else 2) * (high - low)
            negative = low >= 0 and code < (0 if often else -360)  # the only one, and no angle
            if low < high and count > 1 and (far or negative):
                found[code][name] = count
    return found


def _is_code(value: float) -> bool:
    """Whether people or programs may write this number for none: 99, -999.9, 8888, 1e20."""
    size = abs(value)
    digits = [set(f"{size:{way}}") - {"."} for way in (".7g", ".15g")]  # of either precision
    alike = size >= 10 and any(d in ({"7"}, {"8"}, {"9"}) for d in digits)
    return alike or size >= 1e20 or size in (2**15 - 1, 2**15, 2**31 - 1, 2**31)


def blank_like(counts: Counter[Any]) -> list[tuple[str, int]]:
    if set(counts) == {-1, 1}:  # how two classes are often coded
        return []
    found = {as_shown(value): count for value, count in counts.items()}
    plain = {label: " ".join(re.split(r"[\s_]+", label.casefold())) for label in found}
    return [(k, n) for k, n in found.items() if plain[k].strip("()[]<>") in _BLANK_LIKE]
