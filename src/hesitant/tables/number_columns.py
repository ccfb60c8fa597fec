"""Columns of numbers: the features and the weights."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import option, quote, quote_all, ways
from .sheet import Sheet

__all__ = ["counting", "default_features", "features", "unusable_rows", "weights"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_WEIGH = "Give every row a weight; 0 gives a row no say in the fit."
_LARGEST = 1e150  # the square of anything beyond may be infinite
_GROUPING = ".,'’ \u00a0\u202f"  # marks between thousands, in one country or another
_IDENTIFIER = re.compile(r"(?:.*[\W_])?id|index|row|event|time", re.IGNORECASE)


def default_features(
    sheet: Sheet, taken: Collection[str], leave_out: str
) -> tuple[list[str], list[str]]:
    """Choose the numeric columns that have no other role; return them and the others.

    A column of text in which most cells are numbers is neither: a few bad cells must not remove a
    marker from the analysis in silence.

    Parameters
    ----------
    sheet : Sheet
        The table.
    taken : collection of str
        Columns that have another role.
    leave_out : str
        How to do without a column, for the remedy.
    """
    chosen, left = [], []
    for name in sheet.names:
        if name in taken:
            continue
        if not _is_numeric(sheet.column(name)):
            _refuse_mostly_numeric(sheet, name, leave_out)
            left.append(name)
            continue
        if name.startswith("Unnamed: "):
            raise sheet.error(
                "The column has no name: such columns are often row numbers, not a measurement.",
                ways(leave_out, f"use it with {option('id')}", "name it"),
                column=name,
            )
        chosen.append(name)
    if not chosen:
        raise sheet.error(
            "No numeric column is left to use as a feature"
            + (f"; these are text: {quote_all(left)}." if left else "."),
            "Check the table, or the columns that are given another part or left out.",
        )
    return chosen, left


def features(sheet: Sheet, names: Sequence[str], leave_out: str) -> Floats:
    """Return columns as floats, blank cells as NaN; text that is no number is an error."""
    X = np.empty((len(sheet), len(names)))
    for j, name in enumerate(names):
        X[:, j] = _numbers(sheet, name, _correct(leave_out), leave_out)
        _refuse_enormous(sheet, name, X[:, j], leave_out)
    return X


def _refuse_enormous(sheet: Sheet, name: str, values: Floats, leave_out: str) -> None:
    bad = np.isfinite(values) & (np.abs(values) > _LARGEST)
    if bad.any():
        first = int(bad.argmax())
        raise sheet.error(
            f"{sheet.describe(name, first)} is too large to compute with "
            f"({int(bad.sum()):,} such cell(s) in the column).",
            _correct(leave_out),
            position=first,
            column=name,
        )


def counting(X: Floats, names: Sequence[str], rows: npt.NDArray[np.intp]) -> list[str]:
    """Find the features that seem to number the rows rather than to measure something.

    They rise by one from row to row, or are whole numbers that never repeat in a column that is
    named like an identifier.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The features, all finite.
    names : sequence of str
        Their columns.
    rows : array of int
        Where in the table the rows stand.
    """

    def counts(values: Floats, name: str) -> bool:
        if len(values) < 2 or (values != np.floor(values)).any():
            return False
        is_named = _IDENTIFIER.fullmatch(name.strip()) is not None
        return bool(np.ptp(values - rows) == 0) or (
            is_named and len(np.unique(values)) == len(values)
        )

    return [name for j, name in enumerate(names) if counts(X[:, j], name)]


def _correct(leave_out: str) -> str:
    return ways("correct or empty the cell", leave_out)


def _numbers(sheet: Sheet, name: str, remedy: str, leave_out: str = "") -> Floats:
    """Return a column as floats; the remedy is for cells that are no number."""
    column = sheet.column(name)
    if column.dtype.kind in "cmM":
        raise sheet.error(
            "The column holds dates or complex numbers, not plain numbers.",
            ways("convert it to numbers", leave_out),
            column=name,
        )
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values, bad = _parse(sheet, name)
    if bad.any():
        raise _not_a_number(sheet, name, bad, remedy)
    return values


def weights(sheet: Sheet, name: str) -> Floats:
    """Return a column as weights: finite and not negative."""
    values = _numbers(sheet, name, _WEIGH)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        first = int(bad.argmax())
        raise sheet.error(
            f"The weight {sheet.describe(name, first)} is not a number of at least 0 "
            f"({int(bad.sum())} such cells).",
            _WEIGH,
            position=first,
            column=name,
        )
    return values


def unusable_rows(
    sheet: Sheet, X: Floats, names: Sequence[str], leave_out: str, *, on_missing: str
) -> npt.NDArray[np.intp]:
    """Find the rows with a blank or infinite feature, and refuse them unless told to drop them."""
    bad = ~np.isfinite(X)
    rows: Mask = np.asarray(bad.any(axis=1))
    if rows.any() and (on_missing == "error" or rows.all()):
        per_column = bad.sum(axis=0)
        worst = [int(i) for i in np.argsort(-per_column, kind="stable") if per_column[i]]
        counts = ", ".join(f"{quote(names[i])} ({per_column[i]:,})" for i in worst[:6])
        more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
        what = "Every row" if rows.all() else f"{int(rows.sum()):,} of {len(rows):,} rows"
        has = "has" if rows.all() or rows.sum() == 1 else "have"
        drop_rows = f"leave the rows out by giving 'drop' to {option('on_missing')}"
        raise sheet.error(
            f"{what} {has} a blank or infinite cell in the feature(s) {counts}{more}: "
            f"{sheet.rows(rows)}.",
            ways("fill the cells in", leave_out, "" if rows.all() else drop_rows),
            column=names[worst[0]] if len(worst) == 1 else None,
        )
    return np.flatnonzero(rows)


def _is_numeric(column: "pd.Series[Any]") -> bool:
    if column.dtype.kind in "biuf":
        return True
    # a column read as objects because of blanks among True and False, or of huge integers
    kinds = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in kinds


def _parse(sheet: Sheet, name: str) -> tuple[Floats, Mask]:
    """Return the cells of a text column as floats and which of them are no number."""
    blank = sheet.blank(name)
    cells = [
        None if gone else float(cell) if isinstance(cell, bool) else str(cell)
        for cell, gone in zip(sheet.column(name), blank, strict=True)
    ]
    if sheet.decimal == ",":
        # a point then marks thousands, and 1.001 must not be read as about one
        cells = [_with_point(cell) if isinstance(cell, str) else cell for cell in cells]
    parsed = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce")
    values = np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
    return values, np.isnan(values) & ~blank


def _with_point(cell: str) -> str:
    return "no number" if "." in cell else cell.replace(",", ".")


def _refuse_mostly_numeric(sheet: Sheet, name: str, leave_out: str) -> None:
    column = sheet.column(name)
    if column.dtype.kind in "cmM":
        return
    _, bad = _parse(sheet, name)
    filled = int((~sheet.blank(name)).sum())
    if filled == 0:
        return
    if not bad.any():
        raise sheet.error(
            "The column holds numbers stored as text.",
            ways(f"to use it, name it with {option('features')}", leave_out),
            column=name,
        )
    marked = _other_decimals(sheet, name, bad) or _grouped(sheet, name, bad) is not None
    if 2 * int(bad.sum()) < filled or marked:
        raise _not_a_number(sheet, name, bad, _correct(leave_out))


def _cells(sheet: Sheet, name: str, bad: Mask) -> "pd.Series[str]":
    return sheet.column(name).iloc[np.flatnonzero(bad)[:1000]].astype(str).str.strip()


def _other_mark(sheet: Sheet) -> str:
    return "." if sheet.decimal == "," else ","


def _other_decimals(sheet: Sheet, name: str, bad: Mask) -> bool:
    """Tell whether the cells are numbers with the other decimal mark."""
    mark = re.escape(_other_mark(sheet))
    cells = _cells(sheet, name, bad)
    return bool(cells.str.fullmatch(rf"[+-]?\d*{mark}\d+(?:[eE][+-]?\d+)?").all())


def _grouped(sheet: Sheet, name: str, bad: Mask) -> str | None:
    """Return the decimal mark of numbers with marks between thousands; None for other cells."""
    cells = _cells(sheet, name, bad)
    for decimal in (sheet.decimal, _other_mark(sheet)):
        marks = "|".join(re.escape(mark) for mark in _GROUPING if mark != decimal)
        # the same mark throughout, as a version or an address hardly has it
        grouped = rf"[+-]?\d{{1,3}}(?:(?P<mark>{marks})\d{{3}})(?:(?P=mark)\d{{3}})*"
        fraction = rf"(?:{re.escape(decimal)}\d+)?"
        some = cells.str.fullmatch(grouped + fraction)
        if some.any() and (some | cells.str.fullmatch(rf"[+-]?\d*{fraction}")).all():
            return decimal
    return None


def _not_a_number(sheet: Sheet, name: str, bad: Mask, remedy: str) -> Exception:
    first = int(bad.argmax())
    like, decimal = "", _grouped(sheet, name, bad)
    if _other_decimals(sheet, name, bad):
        mark = _other_mark(sheet)
        word = {",": "comma", ".": "point"}[mark]
        remedy = f"If the {word} is the decimal mark, give {mark!r} to {option('decimal')}."
        if decimal == sheet.decimal:
            remedy += " If it stands between thousands, remove it."
    elif decimal is not None:
        like = "; it looks like a number with marks between thousands"
        remedy = ways(
            "export the table without such marks, or remove them"
            + (f" and give {decimal!r} to {option('decimal')}" * (decimal != sheet.decimal))
        )
    return sheet.error(
        f"{sheet.describe(name, first)} is not a number ({int(bad.sum()):,} such cell(s) in the "
        f"column){like}.",
        remedy,
        position=first,
        column=name,
    )
