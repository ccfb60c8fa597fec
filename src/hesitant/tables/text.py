"""Text tables: comma, semicolon, tab and bar separated values.

pandas turns the text into columns, but it pads short rows in silence and joins lines where a
quote is left open. A first pass therefore checks that every row has as many cells as the header,
and knows the line where one has not.
"""

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import pandas as pd

from .errors import EMPTY, TableError, check_names, check_rows, option, quote, reason
from .output import unguard
from .sources import Source

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1 << 16
_MAX_LINE = 1 << 26

# the four-byte marks first: the mark of UTF-32-LE starts with the mark of UTF-16-LE
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_AS_CSV = "Export the table as CSV from where it was made."
_FROM_R = "Write it from R with write.csv(x, row.names = FALSE)."
# what people give by mistake, by its first bytes: (what it is, how to get a table out of it)
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": ("an Excel 97-2003 workbook", "Save it as .xlsx or 'CSV UTF-8'."),
    b"%PDF": ("a PDF document", _AS_CSV),
    b"\x89HDF": ("an HDF5 file", _AS_CSV),
    b"RDX": ("an R data file", _FROM_R),
    b"RDA": ("an R data file", _FROM_R),
    b"X\n\x00": ("an R data file", _FROM_R),
    b"\x93NUMPY": ("a NumPy array", "Write it with column names as CSV or Parquet."),
    b"SQLite format 3": ("an SQLite database", _AS_CSV),
    b"$FL2": ("an SPSS file", _AS_CSV),
    b"FEA1": ("a Feather file of version 1", "Write it again with a current library."),
}
_RESAVE = f"Save the file as UTF-8, or name its encoding with {option('encoding')}."
# before 3.1, reading numbers exactly as they were written had to be asked for
_OLD = tuple(int(part) for part in re.findall(r"\d+", pd.__version__)[:2]) < (3, 1)
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD else {}


# -- encoding -------------------------------------------------------------------------------------


def decode(source: Source, encoding: str | None) -> str:
    """Return the content as text without NUL, or say which byte is in the way."""
    data = source.data
    if encoding is None:
        encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
        if encoding == "utf-8":
            _refuse_binary(source)
    line = None
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
        if "\0" not in text:
            return text
        raise _binary(source)
    except LookupError:
        problem = f"There is no text encoding called {quote(encoding)}."
        remedy = f"Give {option('encoding')} a name such as utf-8, cp1252 or utf-16."
    except UnicodeDecodeError as error:
        byte, remedy = data[error.start], _RESAVE
        where = f"Byte 0x{byte:02X} at offset {error.start:,}"
        problem = f"{where} is not valid {error.encoding.upper()}."
        line = data.count(b"\n", 0, error.start) + 1
        western = bytes([byte]).decode("cp1252", "replace")
        if error.encoding == "utf-8" and byte >= 0x80 and western.isprintable():
            remedy = (
                "Save the file as UTF-8; or, if this character should read "
                f"{quote(western)}, it is Windows text: give cp1252 to {option('encoding')}."
            )
    except UnicodeError as error:
        problem = f"It cannot be decoded as {quote(encoding)}: {reason(error)}."
        remedy = _RESAVE
    raise TableError(source.name, problem, remedy, line=line)


def _refuse_binary(source: Source) -> None:
    for magic, (what, remedy) in _FOREIGN.items():
        if source.data.startswith(magic):
            raise TableError(source.name, f"This is {what}, not a table in text form.", remedy)
    if source.data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        remedy = "Download the file itself rather than the page that shows it."
        raise TableError(source.name, "This is a web page, not a table.", remedy)
    if b"\0" in source.data:
        raise _binary(source)


def _binary(source: Source) -> TableError:
    start = source.data[:512]
    problem = f"This is binary data, not text: byte 0x00 at offset {source.data.find(0):,}."
    remedy = "Use CSV, .xlsx, JSON, Parquet, Feather or FCS; if it is one of these, copy it again."
    for parity, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        # ASCII text in UTF-16 has a zero in every second byte and nowhere else
        if len(start) > 3 and not any(start[parity::2]) and all(start[1 - parity :: 2]):
            problem = "It looks like UTF-16 text without a byte-order mark."
            remedy = f"Save it as UTF-8, or give {encoding} to {option('encoding')}."
    return TableError(source.name, problem, remedy)


# -- rows and cells -------------------------------------------------------------------------------


def read_delimited(
    text: str,
    source: str,
    delimiter: str | None,
    decimal: str | None,
    na: Collection[str],
    as_text: Collection[str],
) -> pd.DataFrame:
    """Parse text into a data frame, or say which line is in the way."""
    delimiter = sniff_delimiter(text) if delimiter is None else _resolve(delimiter, source)
    data = text.encode()  # text in memory may take four bytes a character
    rows = records(data, delimiter, source)
    header_line, header = next(rows, (0, []))
    if not header:
        raise TableError(source, *EMPTY)
    if decimal is None:
        decimal = _sniff_decimal(text, delimiter)
    if decimal not in (".", ",") or decimal == delimiter:
        what = f"{quote(decimal)} cannot be the decimal mark of cells separated by"
        remedy = f"Give {option('decimal')} '.' or ',', unlike the delimiter."
        raise TableError(source, f"{what} {quote(delimiter)}.", remedy)
    names = [unguard(cell.strip()) or f"Unnamed: {i}" for i, cell in enumerate(header)]
    check_names(names, source, min_columns=1)
    # where nothing is quoted, counting delimiters is much faster than cutting rows
    lone_returns = text.count("\r") != text.count("\r\n")
    if '"' not in text and not lone_returns:
        widths = plain_widths(data, delimiter, header_line)
    else:
        widths = ((line, len(row)) for line, row in rows)
    count, line = 0, header_line
    for line, width in widths:
        if width != len(names):
            raise _ragged(source, count + 1, line, width, len(names), delimiter)
        count += 1
    check_rows(count, names, source)
    if lone_returns:
        data = _with_line_feeds(data, delimiter, source)
    # a cell that stands for an absent value does so with blanks after it too, such as "NA "
    words = "|".join(re.escape(word) for word in na if word)
    padded = set(re.findall(rf"(?:{words}) +", text)) if words else set()
    frame = _parse(data, source, names, delimiter, decimal, {"", *na, *padded}, as_text)
    if re.search("'[=+\\-@\t\r\n＝＋－＠]", text):
        for name in frame.columns[[dtype.kind not in "biufc" for dtype in frame.dtypes]]:
            frame[name] = [unguard(c) if isinstance(c, str) else c for c in frame[name]]
    # columns with neither a name nor a cell come from a delimiter at the end of every line
    unnamed = [name for name, cell in zip(names, header, strict=True) if not cell.strip()]
    frame = frame.drop(columns=[name for name in unnamed if frame[name].isna().all()])
    frame.attrs["hesitant"] = {"decimal": decimal, "as_text": tuple(as_text)}
    if line == header_line + count:  # one line for each row: a row tells its line
        frame.attrs["hesitant"]["first_line"] = header_line + 1
    return frame


def sniff_delimiter(text: str) -> str:
    """Choose the delimiter that cuts the first lines most evenly, then most finely."""
    lines = list(io.StringIO(text[:_SAMPLE], newline=""))
    if len(text) > _SAMPLE and len(lines) > 1:
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


def _sniff_decimal(text: str, delimiter: str) -> str:
    """Recognise decimal commas: some cells have them, and none has a decimal point."""
    if delimiter == ",":
        return "."
    reader = csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    cells: set[str] = set()
    with suppress(csv.Error):
        cells.update(cell.strip() for row in islice(reader, 1, 500) for cell in row)
    commas = [c for c in cells if re.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", c)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", c) for c in cells)
    # 1,001 may be a thousand and one: somewhere there must be another number of decimals
    clear = any(not re.fullmatch(r"[+-]?\d{1,3},\d{3}", c) for c in commas)
    return "," if clear and not points else "."


def _resolve(delimiter: str, source: str) -> str:
    r"""Check a delimiter given by the user; ``tab`` and ``\t`` can be typed in any shell."""
    delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in ' "\r\n\0':
        remedy = f"Give {option('delimiter')} a single character, such as ',' or ';', or 'tab'."
        raise TableError(source, f"{quote(delimiter)} cannot separate cells.", remedy)
    return delimiter


def records(data: bytes, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with the line it starts on."""
    lines = _bounded(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""), source)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
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


def plain_widths(data: bytes, delimiter: str, header_line: int) -> Iterator[tuple[int, int]]:
    """Yield line and number of cells of every row after the header, where nothing is quoted."""
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
            problem = f"There is a line of more than {_MAX_LINE:,} characters."
            remedy = "Check that this is a table, and that its lines end with a line break."
            raise TableError(source, problem, remedy)
        yield line


def _ragged(
    source: str, row: int, line: int, width: int, expected: int, delimiter: str
) -> TableError:
    separator = _DELIMITERS.get(delimiter, quote(delimiter))
    problem = f"The row has {width} cell(s) where the header has {expected}."
    remedy = f"Put cells that contain a {separator} in double quotes, or complete the row."
    if width == expected + 1:
        remedy += " If R wrote the table, the row names have no header: use row.names = FALSE."
    return TableError(source, problem, remedy, row=row, line=line)


def _stray_quote(source: str, line: int, why: str) -> TableError:
    if "field limit" in why:
        problem = f"A cell is longer than {csv.field_size_limit():,} characters."
    elif "end of data" in why:
        problem = "A double quote is opened in this row and never closed."
    else:
        problem = "A quoted cell goes on after its closing double quote."
    remedy = "Close every quote, and write a quote inside a quoted cell as two."
    return TableError(source, problem, remedy, line=line)


def _with_line_feeds(data: bytes, delimiter: str, source: str) -> bytes:
    """Write the rows anew: pandas loses a delimiter that follows a blank line ended by CR."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(row for _, row in records(data, delimiter, source))
    return buffer.getvalue().encode()


def _parse(
    data: bytes,
    source: str,
    names: list[str],
    delimiter: str,
    decimal: str,
    na: Collection[str],
    as_text: Collection[str],
) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=delimiter,
            decimal=decimal,
            header=0,
            names=names,
            index_col=False,
            dtype={name: str for name in as_text if name in names},
            keep_default_na=False,
            na_values=sorted(na),
            skipinitialspace=True,
            low_memory=False,  # a column's type must not depend on how it is cut into pieces
            engine="c",
            **_EXACT,
        )
    except MemoryError:
        raise
    except Exception as error:  # whatever the parser thinks of it, the file is at fault
        problem = f"The text cannot be parsed as a table: {reason(error)}."
        remedy = "Open it in a spreadsheet program and save it as 'CSV UTF-8'."
        raise TableError(source, problem, remedy) from error
