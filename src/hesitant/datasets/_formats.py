"""Reading tables, and what their content amounts to whatever file it came in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hesitant._optional import need

if TYPE_CHECKING:
    import pandas as pd


def read_csv(path: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a CSV file with a header and keep `columns`."""
    return keep_columns(need("pandas").read_csv(path), columns, path)


def read_sheet(path: Path, sheet: str | int) -> pd.DataFrame:
    """Read one sheet of an Excel file as it stands, without taking any row for a header."""
    pandas = need("pandas")
    try:
        # One engine for .xls and .xlsx; pandas deprecates xlrd.
        need("python_calamine")
        return pandas.read_excel(path, sheet_name=sheet, header=None, engine="calamine")
    except ImportError as error:
        raise ImportError(f"reading {path.name}: {error}") from error
    except Exception as error:  # the engine has errors of its own for a file that is none
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from error


def with_header(sheet: pd.DataFrame, marker: str, path: Path) -> pd.DataFrame:
    """Find the header row of a sheet by one of its cells and name the columns after it."""
    cells = sheet.map(lambda cell: str(cell).strip())
    rows = cells.index[(cells == marker).any(axis=1)]
    if len(rows) == 0:
        raise ValueError(f"{path} has no header with the column {marker!r}; is it another file?")
    body = sheet.loc[rows[0] + 1 :].reset_index(drop=True)
    body.columns = cells.loc[rows[0]].tolist()
    return body


def keep_columns(table: pd.DataFrame, columns: Iterable[str], path: Path) -> pd.DataFrame:
    """Keep `columns` in that order, or name those that are missing."""
    wanted = list(columns)
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ValueError(
            f"{path} lacks the columns {', '.join(absent)}; it has "
            f"{', '.join(map(str, table.columns[:12]))}{', ...' if table.shape[1] > 12 else ''}"
        )
    return table[wanted]


def numeric(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a table of floats, or name the first column with a cell that is no number."""
    numbers = table.apply(need("pandas").to_numeric, errors="coerce").astype(float)
    holes = numbers.isna()
    if holes.any(axis=None):
        column = holes.any().idxmax()
        row = int(holes[column].argmax()) + 1
        raise ValueError(f"{path}: column {column!r} has no number in data row {row}")
    return numbers


def fingerprint(table: pd.DataFrame) -> str:
    """Return the SHA-256 of what a table says.

    Mirrors of the same data differ in file type, line ends, column order, row order and trailing
    digits, so files cannot be compared byte for byte. Here columns are sorted by name, numbers
    written to twelve significant digits, rows sorted.
    """
    columns = sorted(map(str, table.columns))
    written = [[_written(cell) for cell in table[name].tolist()] for name in columns]
    rows = sorted("\x1f".join(row) for row in zip(*written, strict=True))
    text = "\x1e".join(["\x1f".join(columns), *rows])
    return hashlib.sha256(text.encode()).hexdigest()


def _written(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, str):
        return cell.strip()
    return format(float(cell) + 0.0, ".12g")  # + 0.0 turns -0.0 into 0.0
