"""Columns of numbers: the features and the weights."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import option, quote, quote_all
from .sheet import Sheet

__all__ = ["default_features", "numbers", "unusable_rows", "weights"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def default_features(sheet: Sheet, taken: Collection[str]) -> tuple[list[str], list[str]]:
    """Choose the numeric columns that have no other role; return them and the others.

    A column of text in which most cells are numbers is neither: a few bad cells must not remove a
    marker from the analysis in silence.
    """
    chosen, left = [], []
    for name in sheet.names:
        if name in taken:
            continue
        if not _is_numeric(sheet.column(name)):
            _refuse_mostly_numeric(sheet, name)
            left.append(name)
            continue
        if name.startswith("Unnamed: "):
            raise sheet.error(
                "The column has no name: such columns are often row numbers, not a measurement.",
                f"Leave it out with {option('drop')}, use it with {option('id')}, or name it.",
                column=name,
            )
        chosen.append(name)
    if not chosen:
        raise sheet.error(
            "No numeric column is left to use as a feature"
            + (f"; these are text: {quote_all(left)}." if left else "."),
            f"Check the table, or what is given to {option('drop')}.",
        )
    return chosen, left


def numbers(sheet: Sheet, name: str) -> Floats:
    """Return a column as floats, blank cells as NaN; text that is no number is an error."""
    column = sheet.column(name)
    if column.dtype.kind in "cmM":
        raise sheet.error(
            "The column holds dates or complex numbers, which cannot be a feature.",
            f"Leave it out with {option('drop')}, or convert it to numbers.",
            column=name,
        )
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values, bad = _parse(sheet, name)
    if bad.any():
        raise _not_a_number(sheet, name, bad)
    return values


def weights(sheet: Sheet, name: str) -> Floats:
    """Return a column as weights: finite and not negative."""
    values = numbers(sheet, name)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        first = int(bad.argmax())
        raise sheet.error(
            f"The weight {sheet.describe(name, first)} is not a number of at least 0 "
            f"({int(bad.sum())} such cells).",
            "Give every row a weight; 0 leaves a row out.",
            position=first,
            column=name,
        )
    return values


def unusable_rows(
    sheet: Sheet, X: Floats, names: Sequence[str], *, on_missing: str
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
        remedy = f"Leave the columns out with {option('drop')}, or fill the cells in beforehand"
        if not rows.all():
            remedy += f", or leave the rows out by giving 'drop' to {option('on_missing')}"
        raise sheet.error(
            f"{what} {has} a blank or infinite cell in the feature(s) {counts}{more}: "
            f"{sheet.rows(rows)}.",
            f"{remedy}.",
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
    parsed = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce")
    values = np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
    return values, np.isnan(values) & ~blank


def _refuse_mostly_numeric(sheet: Sheet, name: str) -> None:
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
            f"Name it with {option('features')} to use it, or with {option('drop')} to leave "
            "it out.",
            column=name,
        )
    if 2 * int(bad.sum()) < filled or _decimal_commas(sheet, name, bad):
        raise _not_a_number(sheet, name, bad)


def _decimal_commas(sheet: Sheet, name: str, bad: Mask) -> bool:
    cells = sheet.column(name).iloc[np.flatnonzero(bad)[:1000]].astype(str)
    return bool(cells.str.fullmatch(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*").all())


def _not_a_number(sheet: Sheet, name: str, bad: Mask) -> Exception:
    first = int(bad.argmax())
    remedy = f"Correct or empty the cell, or leave the column out with {option('drop')}."
    if _decimal_commas(sheet, name, bad):
        remedy = f"If the comma is the decimal mark, give ',' to {option('decimal')}."
    return sheet.error(
        f"{sheet.describe(name, first)} is not a number ({int(bad.sum()):,} such cell(s) in the "
        "column).",
        remedy,
        position=first,
        column=name,
    )
