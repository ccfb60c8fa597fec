"""Text tables: comma, semicolon, tab and bar separated values.

Arrow turns text into columns of text, and `column_of` these into numbers. What Arrow would read
otherwise than the csv module, or pass over in silence, goes through the csv module first, which
knows the line of a row that is wrong.
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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .errors import TableError, check_names, check_rows, empty, option, quote, reason
from .output import UNGUARD
from .sources import Source

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1 << 16
_BOOLEANS = ["True", "TRUE", "true", "False", "FALSE", "false"]
# the four-byte marks first: the mark of UTF-32-LE starts with the mark of UTF-16-LE
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# what people give by mistake, by its first bytes
_FOREIGN = {
    **{b"\xd0\xcf\x11\xe0": "an Excel 97-2003 workbook", b"%PDF": "a PDF document"},
    **{b"\x89HDF": "an HDF5 file", b"RDX": "an R data file", b"RDA": "an R data file"},
    **{b"X\n\x00": "an R data file", b"\x93NUMPY": "a NumPy array", b"$FL2": "an SPSS file"},
    **{b"SQLite format 3": "an SQLite database", b"FEA1": "a Feather file of version 1"},
}


def decode(source: Source, encoding: str | None) -> str:
    """Return the content as text without NUL, or say which byte is in the way."""
    data, line = source.data, None
    remedy = f"Save the file as UTF-8, or name its encoding with {option('encoding')}."
    if encoding is None:
        encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
        foreign = [what for magic, what in _FOREIGN.items() if data.startswith(magic)]
        if data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")):
            foreign = ["a web page"]
        if foreign:
            problem = f"This is {foreign[0]}, not a table in text form."
            remedy = "Save or export the table itself as .xlsx, Parquet or 'CSV UTF-8'."
            raise source.error(problem, remedy)
        if encoding == "utf-8" and b"\0" in data:
            raise _binary(source)
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
        if "\0" not in text:
            return text
        raise _binary(source)
    except LookupError:
        problem = f"There is no text encoding called {quote(encoding)}."
        remedy = f"Give {option('encoding')} a name such as utf-8, cp1252 or utf-16."
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        where = f"Byte 0x{byte:02X} at offset {error.start:,}"
        problem = f"{where} is not valid {error.encoding.upper()}."
        western = bytes([byte]).decode("cp1252", "replace")
        if error.encoding == "utf-8" and byte >= 0x80 and western.isprintable():
            remedy = (
                "Save the file as UTF-8; or, if this character should read "
                f"{quote(western)}, it is Windows text: give cp1252 to {option('encoding')}."
            )
    except UnicodeError as error:
        problem = f"It cannot be decoded as {quote(encoding)}: {reason(error)}."
    raise source.error(problem, remedy, line=line)


def _binary(source: Source) -> TableError:
    problem = f"This is binary data, not text: byte 0x00 at offset {source.data.find(0):,}."
    remedy = (
        "Use CSV, .xlsx, JSON, Parquet, Feather or FCS; if it is text in UTF-16 without a mark,"
    )
    return source.error(problem, f"{remedy} give utf-16-le or utf-16-be to {option('encoding')}.")


def read_delimited(
    text: str,
    source: Source,
    delimiter: str | None,
    decimal: str | None,
    na: Collection[str],
    as_text: Collection[str],
) -> pd.DataFrame:
    """Parse text into a data frame, or say which line is in the way."""
    delimiter = _sniff_delimiter(text) if delimiter is None else _resolve(delimiter, source)
    decimal = _sniff_decimal(text, delimiter) if decimal is None else decimal
    if decimal not in (".", ",") or decimal == delimiter:
        what = f"{quote(decimal)} cannot be the decimal mark of cells separated by"
        remedy = f"Give {option('decimal')} '.' or ',', unlike the delimiter."
        raise source.error(f"{what} {quote(delimiter)}.", remedy)
    data = text.encode()  # text in memory may take four bytes a character
    rows = records(data, delimiter, source)
    header_line, header = next(rows, (0, []))
    if not header:
        raise empty(source.name)
    names = [re.sub(*UNGUARD, c.strip()) or f"Unnamed: {i}" for i, c in enumerate(header)]
    check_names(names, source.name, min_columns=1)
    plain = '"' not in text and f"{delimiter} " not in text and "\n " not in text
    table = None
    if plain and len(names) > 1 and text.count("\r") == text.count("\r\n"):
        table = _parse(data, names, delimiter, header_line)
        end = data[-1000:]  # with blank lines, perhaps
        lines = data.count(b"\n") + 1 - end.count(b"\n") + end.rstrip().count(b"\n")
    if table is None:  # not plain, or a row is not as long as the others: slower, and exact
        clean, lines = _rewritten(rows, header_line, delimiter, len(names), source)
        table = _parse(clean, names, ",", 0)
    check_rows(table.num_rows if table else 0, names, source.name)
    columns = dict(zip(names, table.columns, strict=True))  # type: ignore[union-attr]
    # columns with neither a name nor a cell come from a delimiter at the end of every line
    frame = pd.DataFrame(
        {
            name: column_of(cells, na, decimal, as_text=name in as_text)
            for (name, cells), title in zip(columns.items(), header, strict=True)
            if title.strip() or pc.any(pc.not_equal(pc.utf8_trim_whitespace(cells), "")).as_py()
        }
    )
    frame.attrs["hesitant"] = {"decimal": decimal, "as_text": tuple(as_text)}
    if lines == header_line + len(frame):  # one line for each row: a row tells its line
        frame.attrs["hesitant"]["first_line"] = header_line + 1
    return frame


def column_of(cells: Any, na: Collection[str], decimal: str, *, as_text: bool) -> "pd.Series[Any]":
    """Return cells of text as numbers or True and False if they all are, else as text."""
    trimmed = pc.utf8_trim_whitespace(cells)
    blank = pc.is_in(trimmed, value_set=pa.array(sorted({"", *na}), pa.large_string()))
    values = pc.if_else(blank, None, trimmed)
    # beside decimal commas a point marks thousands: 1.001 must not be read as about one
    pointed = decimal == "," and pc.any(pc.match_substring(values, ".")).as_py()
    if not as_text and not pointed:
        values = pc.replace_substring(values, ",", ".") if decimal == "," else values
        truths = pc.is_in(values.drop_null(), value_set=pa.array(_BOOLEANS, pa.large_string()))
        if len(truths) and pc.all(truths).as_py():
            return pc.equal(pc.utf8_lower(values), "true").to_pandas()
        with suppress(pa.ArrowInvalid):
            numbers = pc.cast(values, pa.float64())
            with suppress(pa.ArrowInvalid):  # whole numbers stay whole, all digits of them
                numbers = pc.cast(values, pa.int64())
            return numbers.to_pandas()
    return pc.replace_substring_regex(pc.if_else(blank, None, cells), *UNGUARD).to_pandas()


def _parse(data: bytes, names: list[str], delimiter: str, skip: int) -> pa.Table | None:
    """Return columns of text, or None if a row has more or fewer cells than there are names."""
    try:
        return pyarrow.csv.read_csv(
            io.BytesIO(data),
            pyarrow.csv.ReadOptions(column_names=names, skip_rows=skip, block_size=1 << 26),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
        )
    except pa.ArrowInvalid:
        return None


def _rewritten(
    rows: Iterator[tuple[int, list[str]]], line: int, delimiter: str, width: int, source: Source
) -> tuple[bytes, int]:
    """Return rows of the right width as text that Arrow reads alike, and the last row's line."""
    buffer = io.StringIO(newline="")
    write = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow
    for count, (line, row) in enumerate(rows, 1):
        if len(row) != width:
            separator = _DELIMITERS.get(delimiter, quote(delimiter))
            problem = f"The row has {len(row)} cell(s) where the header has {width}."
            remedy = f"Put cells that contain a {separator} in double quotes, or complete the row."
            if len(row) == width + 1:
                remedy += (
                    " If R wrote the table, the row names have no header: use row.names = FALSE."
                )
            raise source.error(problem, remedy, row=count, line=line)
        write(row)
    return buffer.getvalue().encode(), line


def records(data: bytes, delimiter: str, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with the line it starts on."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            problem = "A quoted cell goes on after its closing double quote."
            if "field limit" in str(error):
                problem = f"A cell is longer than {csv.field_size_limit():,} characters."
            elif "end of data" in str(error):
                problem = "A double quote is opened in this row and never closed."
            remedy = "Close every quote, and write a quote inside a quoted cell as two."
            raise source.error(problem, remedy, line=line) from error
        if row is None:
            return
        if not _is_blank(row):
            yield line, row
        line = reader.line_num + 1


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip(" \t"))


def _sniff_delimiter(text: str) -> str:
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
    reader = csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    cells: set[str] = set()
    with suppress(csv.Error):
        cells.update(cell.strip() for row in islice(reader, 1, 500) for cell in row)
    commas = [c for c in cells if re.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", c)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", c) for c in cells)
    # 1,001 may be a thousand and one: somewhere there must be another number of decimals
    clear = any(not re.fullmatch(r"[+-]?\d{1,3},\d{3}", c) for c in commas)
    return "," if clear and not points and delimiter != "," else "."


def _resolve(delimiter: str, source: Source) -> str:
    r"""Check a delimiter given by the user; ``tab`` and ``\t`` can be typed in any shell."""
    delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in ' "\r\n\0':
        remedy = f"Give {option('delimiter')} a single character, such as ',' or ';', or 'tab'."
        raise source.error(f"{quote(delimiter)} cannot separate cells.", remedy)
    return delimiter
