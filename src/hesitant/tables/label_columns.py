"""Columns of words: the label, the identifier and whether an expert has looked."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import close_names, option, quote, quote_all
from .reading import BLANK_CELLS
from .sheet import Sheet

__all__ = ["blank_like", "check_classes", "identifiers", "labels", "truths"]

Objects = npt.NDArray[np.object_]

_TRUE = frozenset({"yes", "y", "true", "t", "1"})
_FALSE = frozenset({"no", "n", "false", "f", "0"})
_MANY = 20  # so many classes, each of a single row, are not classes
_COMPARED = 1_000  # more different labels are not compared with a misspelt one, which takes long

# what people and programs write for "no label", and what some mean as a class
_BLANK_LIKE = frozenset(
    {"-1", "?", ".", "-", "none", "null", "nan", "n/a", "na", "unknown", "unlabelled"}
    | {"unlabeled", "ungated", "missing", "undefined"}
)


def labels(
    sheet: Sheet, name: str, missing: Collection[object]
) -> tuple[Objects, tuple[str, ...]]:
    """Return the labels, and the values listed as missing that do not occur.

    Blank cells and values listed as missing are None.
    """
    cells = _cells(sheet, name)
    kinds = {type(cell) for cell in cells if cell is not None}
    if float in kinds and kinds <= {int, float}:
        # whole numbers are often read as 1.0, 2.0 only because a blank stands among them
        whole = all(cell is None or float(cell).is_integer() for cell in cells)
        cells = [None if cell is None else (int if whole else float)(cell) for cell in cells]
    elif len(kinds) > 1 or not kinds <= {str, bool, int}:
        # mixtures and dates can only be compared as words
        cells = [None if cell is None else str(cell) for cell in cells]
    found = set(cells) - {None}
    listed = {_like(value, found) for value in missing}
    absent = sorted(_shown(value) for value in listed - found)
    _refuse_misspelt(sheet, name, absent, found - listed)
    y = np.empty(len(cells), dtype=object)
    y[:] = [None if cell in listed else cell for cell in cells]
    # empty cells and their like were blank before anybody looked for them
    return y, tuple(value for value in absent if value not in BLANK_CELLS)


def blank_like(y: Objects) -> list[tuple[str, int]]:
    """Find the classes that read like "no label", and their numbers of rows.

    Minus one beside one is not among them: that is how two classes are often coded.

    Examples
    --------
    >>> blank_like(np.array(["T", "B", "Unknown", None, "Unknown"], dtype=object))
    [('Unknown', 2)]
    """
    counts = Counter(_shown(cell) for cell in y if cell is not None)
    if set(counts) == {"-1", "1"}:
        return []
    return [(label, n) for label, n in counts.items() if label.casefold() in _BLANK_LIKE]


def check_classes(sheet: Sheet, name: str, y: Objects) -> None:
    """Refuse a label that cannot be learnt: blank, of one class, or different in every row."""
    given = [cell for cell in y if cell is not None]
    classes = set(given)
    if not given:
        raise sheet.error(
            "The label is blank in every row.",
            f"Label some rows of at least two classes, or choose another column with "
            f"{option('label')}.",
            column=name,
        )
    unique = len(classes) == len(given) and (len(given) == len(y) or len(given) > _MANY)
    measured = isinstance(given[0], float) and len(classes) > max(_MANY, len(given) / 2)
    if (unique and len(classes) > 1) or measured:
        what = "a measurement" if measured else "an identifier"
        raise sheet.error(
            f"The label has {len(classes):,} different values in {len(given):,} labelled rows, "
            f"as {what} has ({quote_all(given, limit=3)}).",
            f"Choose the column that holds the classes with {option('label')}.",
            column=name,
        )
    if len(classes) == 1:
        raise sheet.error(
            f"The label has a single class, {quote(given[0])}, in {len(given):,} labelled rows.",
            "Label some rows of a second class; if that value means 'not labelled', list it with "
            f"{option('missing')}.",
            column=name,
        )


def identifiers(sheet: Sheet, name: str) -> Objects:
    """Return the identifiers as they are, with None for blank cells."""
    ids = np.empty(len(sheet), dtype=object)
    ids[:] = _cells(sheet, name)
    return ids


def truths(sheet: Sheet, name: str) -> npt.NDArray[np.bool_]:
    """Return a column of yes and no (true and false, 1 and 0); a blank is an error."""
    answers = np.zeros(len(sheet), dtype=bool)
    for i, cell in enumerate(_cells(sheet, name)):
        is_number = isinstance(cell, bool | int | float) and cell in (0, 1)
        word = str(int(cell)) if is_number else str(cell).casefold()
        answers[i] = word in _TRUE
        if word not in _TRUE | _FALSE:
            what = "The cell is blank." if cell is None else f"{quote(cell)} is not yes or no."
            raise sheet.error(
                what,
                f"Write yes or no (true/false, 1/0) in every row of the {option('reviewed')} "
                "column.",
                position=i,
                column=name,
            )
    return answers


def _cells(sheet: Sheet, name: str) -> list[Any]:
    """Return plain Python values: None for blanks, text stripped, numbers without a dtype."""

    def plain(cell: Any) -> Any:
        if isinstance(cell, str):
            return str(cell).strip()
        if isinstance(cell, np.generic):
            return cell.item()
        return cell if pd.api.types.is_scalar(cell) else str(cell)  # lists, as Parquet has them

    blank = sheet.blank(name)
    return [
        None if gone else plain(cell) for cell, gone in zip(sheet.column(name), blank, strict=True)
    ]


def _like(value: object, found: set[Any]) -> object:
    """Return a listed value as the column would hold it: options arrive as text."""
    text = str(value).strip()
    kind = type(next(iter(found), ""))
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    if kind is str:
        return _shown(value).strip()
    try:
        return float(text)  # equal to, and hashed like, the integer
    except ValueError:
        return text


def _refuse_misspelt(sheet: Sheet, name: str, absent: list[str], found: set[Any]) -> None:
    """Refuse a missing value that the column writes otherwise, and that would stay a class."""
    written = sorted(map(str, found))
    for value in absent:
        near = [other for other in written if other.casefold() == value.casefold()]
        # numbers are alike without being misspelt, and NA is listed to be on the safe side
        if not near and not _is_number(value) and value not in BLANK_CELLS:
            near = close_names(value, written[:_COMPARED])
        if near:
            raise sheet.error(
                f"The value {quote(value)} is listed as missing, but does not occur in the "
                "column.",
                f"Did you mean {quote_all(near)}? List it as the column writes it, or leave it "
                f"out of {option('missing')}.",
                column=name,
            )


def _shown(value: object) -> str:
    """Return a label as the user writes it: a whole number without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
