"""The first pass over a text table: how it is cut, and whether every row has all its cells."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress

from .errors import TableError, quote

__all__ = ["check_widths", "has_lone_returns", "records", "sniff_delimiter"]

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1 << 16
_MAX_LINE = 1 << 26


def sniff_delimiter(data: bytes) -> str:
    r"""Choose the delimiter that cuts the first lines most evenly, then most finely.

    Examples
    --------
    >>> sniff_delimiter(b"CD3;CD4\n1,5;2,5\n")
    ';'
    """
    sample = data[:_SAMPLE].decode("utf-8", "ignore")
    lines = list(io.StringIO(sample, newline=""))
    if len(data) > _SAMPLE and len(lines) > 1:
        lines.pop()  # cut in the middle

    def quality(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        reader = csv.reader(lines[:100], delimiter=delimiter, skipinitialspace=True)
        with suppress(csv.Error):  # told with its line by the pass over the whole text
            widths.extend(len(row) for row in reader if not _is_blank(row))
        if not widths or widths[0] == 1:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(_DELIMITERS, key=quality)  # the first of equals


def has_lone_returns(data: bytes) -> bool:
    """Tell whether a carriage return stands without a line feed, as on old Macintoshes."""
    return data.count(b"\r") != data.count(b"\r\n")


def records(data: bytes, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with the line it starts on."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(
        _bounded(text, source), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    line = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _stray_quote(source, line, str(error)) from error
        if row is None:
            return
        if not _is_blank(row):
            yield line, row
        line = reader.line_num + 1


def check_widths(
    data: bytes,
    delimiter: str,
    source: str,
    *,
    header_line: int,
    expected: int,
    rest: Iterable[tuple[int, list[str]]],
) -> tuple[int, int]:
    """Refuse a row with more or fewer cells than the header.

    Parameters
    ----------
    data, delimiter, source
        The text, how its cells are separated and what messages call it.
    header_line : int
        The line of the header.
    expected : int
        How many cells the header has.
    rest : iterable of (line, row)
        What `records` yields after the header.

    Returns
    -------
    rows, last_line : int
        How many rows there are, and the line on which the last one starts.
    """
    plain = b'"' not in data and not has_lone_returns(data)
    widths = plain_widths(data, delimiter, header_line) if plain else record_widths(rest)
    rows, line = 0, header_line
    for line, width in widths:
        if width != expected:
            raise _ragged(source, rows + 1, line, width, expected, delimiter)
        rows += 1
    return rows, line


def record_widths(rest: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, int]]:
    """Yield the line and the number of cells of every row."""
    return ((line, len(row)) for line, row in rest)


def plain_widths(data: bytes, delimiter: str, header_line: int) -> Iterator[tuple[int, int]]:
    """Do the same where nothing is quoted, by counting bytes: much faster."""
    mark = delimiter.encode()
    for number, line in enumerate(io.BytesIO(data), 1):
        width = line.count(mark) + 1
        if number > header_line and (width > 1 or line.strip(b" \t\r\n")):
            yield number, width


def _is_blank(row: list[str]) -> bool:
    # as pandas has it: other white space, such as a form feed, is content
    return not row or (len(row) == 1 and not row[0].strip(" \t"))


def _bounded(text: io.TextIOWrapper, source: str) -> Iterator[str]:
    while line := text.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise TableError(
                source,
                f"There is a line of more than {_MAX_LINE:,} characters.",
                "Check that this is a table, and that its lines end with a line break.",
            )
        yield line


def _ragged(
    source: str, row: int, line: int, width: int, expected: int, delimiter: str
) -> TableError:
    separator = _DELIMITERS.get(delimiter, quote(delimiter))
    remedy = f"Put cells that contain a {separator} in double quotes, or complete the row."
    if width == expected + 1:
        remedy += " If R wrote the table, the row names have no header: use row.names = FALSE."
    return TableError(
        source,
        f"The row has {width} cell(s) where the header has {expected}.",
        remedy,
        row=row,
        line=line,
    )


def _stray_quote(source: str, line: int, reason: str) -> TableError:
    if "field limit" in reason:
        problem = f"A cell is longer than {csv.field_size_limit():,} characters."
    elif "end of data" in reason:
        problem = "A double quote is opened in this row and never closed."
    else:
        problem = "A quoted cell goes on after its closing double quote."
    remedy = "Close every quote, and write a quote inside a quoted cell as two."
    return TableError(source, problem, remedy, line=line)
