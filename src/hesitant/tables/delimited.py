"""Text tables: comma, semicolon, tab and bar separated values.

pandas turns the text into columns, but it pads short rows in silence and joins lines where a
quote is left open. `row_scan` therefore goes over the text first, checks that every row has as
many cells as the header, and knows the line where one has not.
"""

import csv
import io
import re
from collections.abc import Collection
from typing import Any

import pandas as pd

from .errors import TableError, option, quote
from .row_scan import check_widths, has_lone_returns, records, sniff_delimiter
from .shape import EMPTY, check_names, check_rows
from .spreadsheet_guard import GUARDED_BYTES, unguard

__all__ = ["read_delimited", "resolve_delimiter"]

# before 3.1, reading numbers exactly as they were written had to be asked for
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(int(part) for part in re.findall(r"\d+", pd.__version__)[:2]) < (3, 1)
    else {}
)


def resolve_delimiter(delimiter: str, source: str) -> str:
    r"""Check a delimiter given by the user; ``tab`` and ``\t`` can be typed in any shell."""
    delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in ' "\r\n\0':
        raise TableError(
            source,
            f"{quote(delimiter)} cannot separate the cells of a table.",
            f"Give {option('delimiter')} a single character, such as ',' or ';', or 'tab'.",
        )
    return delimiter


def read_delimited(
    data: bytes,
    source: str,
    *,
    delimiter: str | None,
    decimal: str,
    na: Collection[str],
    text: Collection[str],
    min_columns: int,
) -> pd.DataFrame:
    """Parse UTF-8 bytes into a data frame, or say which line is in the way."""
    if delimiter is None:
        delimiter = sniff_delimiter(data)
    if decimal not in (".", ",") or decimal == delimiter:
        raise TableError(
            source,
            f"{quote(decimal)} cannot be the decimal mark of cells separated by "
            f"{quote(delimiter)}.",
            f"Give {option('decimal')} '.' or ',', unlike the delimiter.",
        )
    rest = records(data, delimiter, source)
    header_line, header = next(rest, (0, []))
    if not header:
        raise TableError(source, *EMPTY)
    names = [
        unguard(cell.strip()) or f"Unnamed: {i}"  # as pandas calls them
        for i, cell in enumerate(header)
    ]
    check_names(names, source, min_columns)
    rows, last_line = check_widths(
        data, delimiter, source, header_line=header_line, expected=len(names), rest=rest
    )
    check_rows(rows, names, source)

    if has_lone_returns(data):
        data = _with_line_feeds(data, delimiter, source)
    absent = {"", *na}
    frame = _parse(data, source, names, delimiter, decimal, absent, text)
    padded = _padded(frame, data, absent)
    if padded:  # read again, because such a cell makes text of a column of numbers
        frame = _parse(data, source, names, delimiter, decimal, absent | padded, text)
    if GUARDED_BYTES.search(data):
        _unguard_cells(frame)
    # columns with neither a name nor a cell come from a delimiter at the end of every line
    unnamed = [name for name, cell in zip(names, header, strict=True) if not cell.strip()]
    frame = frame.drop(columns=[name for name in unnamed if frame[name].isna().all()])
    check_names(list(frame.columns), source, min_columns)
    frame.attrs["hesitant"] = {"decimal": decimal}
    if last_line == header_line + rows:  # one line for each row: a row tells its line
        frame.attrs["hesitant"]["first_line"] = header_line + 1
    return frame


def _with_line_feeds(data: bytes, delimiter: str, source: str) -> bytes:
    """Write the rows anew: pandas loses a delimiter that follows a blank line ended by CR."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(row for _, row in records(data, delimiter, source))
    return buffer.getvalue().encode("utf-8")


def _padded(frame: pd.DataFrame, data: bytes, absent: set[str]) -> set[str]:
    """Find cells that stand for an absent value but for the blanks after it, such as "NA "."""
    words = absent - {""}
    # most tables have no such bytes, and looking for them takes less than looking at the cells
    trailing = "|".join(re.escape(f"{word} ") for word in words).encode()
    if not words or b" " not in data or not re.search(trailing, data):
        return set()
    text = [name for name in frame.columns if frame[name].dtype.kind not in "biufc"]
    cells = (cell for name in text for cell in frame[name].unique())
    return {cell for cell in cells if isinstance(cell, str) and cell.strip() in words}


def _unguard_cells(frame: pd.DataFrame) -> None:
    for name in frame.columns:
        if frame[name].dtype.kind not in "biufc":
            frame[name] = frame[name].map(
                lambda cell: unguard(cell) if isinstance(cell, str) else cell
            )


def _parse(
    data: bytes,
    source: str,
    names: list[str],
    delimiter: str,
    decimal: str,
    na: Collection[str],
    text: Collection[str],
) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=delimiter,
            decimal=decimal,
            header=0,
            names=names,
            index_col=False,
            dtype={name: str for name in text if name in names},
            keep_default_na=False,
            na_values=sorted(na),
            skipinitialspace=True,
            low_memory=False,  # a column's type must not depend on how it is cut into pieces
            encoding="utf-8",
            engine="c",
            **_EXACT,
        )
    except MemoryError:
        raise
    except Exception as error:  # whatever the parser thinks of it, the file is at fault
        raise TableError(
            source,
            f"The text cannot be parsed as a table: {error}.",
            "Open it in a spreadsheet program and save it as 'CSV UTF-8'.",
        ) from error
