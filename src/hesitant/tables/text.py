"""Text tables: the csv module finds the cells and their lines, Arrow makes numbers of them."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .errors import TableError, check_shape, option, quote, reason
from .output import UNGUARD
from .sources import EMPTY, Source

Rows: TypeAlias = Iterator[tuple[int, list[str]]]  # each with the line it starts on

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1 << 16
_BOOLEANS = ["True", "TRUE", "true", "False", "FALSE", "false"]
# the four-byte marks first: the mark of UTF-32-LE starts with the mark of UTF-16-LE
_MARKS = {rb"\xff\xfe\0\0|\0\0\xfe\xff": "utf-32", rb"\xff\xfe|\xfe\xff": "utf-16"}
# what people give by mistake, by its first bytes
_FOREIGN = {
    rb"\xd0\xcf\x11\xe0": "an Excel 97-2003 workbook",
    rb"(?i)\s*<(!doctype )?html": "a web page",
    rb"%PDF": "a PDF document",
    rb"RDX|RDA|X\n\x00|\x89HDF|\x93NUMPY|\$FL2|SQLite format 3|FEA1": "a file of another program",
}


def decode(source: Source, encoding: str | None) -> str:
    """Return the content as text without NUL, or say which byte is in the way."""
    data, line, known = source.data, None, encoding
    remedy = f"Save the file as UTF-8, or name its encoding with {option('encoding')}."
    if encoding is None:
        for magic, what in _FOREIGN.items():
            if re.match(magic, data):
                remedy = "Save or export the table itself as .xlsx, Parquet or 'CSV UTF-8'."
                raise source.error(f"This is {what}, not a table in text form.", remedy)
        known = next((name for mark, name in _MARKS.items() if re.match(mark, data)), None)
    try:
        # NUL says more than the first byte that is not UTF-8
        text = "\0" if not known and b"\0" in data else data.decode(known or "utf-8")
        if "\0" not in text:
            return text.removeprefix("\ufeff")
        problem = f"This is binary data, not text: byte 0x00 at offset {data.find(0):,}."
        remedy = "Use CSV, .xlsx, JSON, Parquet, Feather or FCS; if it is text in UTF-16, give"
        remedy += f" utf-16-le or utf-16-be to {option('encoding')}."
    except LookupError:
        problem = f"There is no text encoding called {quote(encoding)}."
        remedy = f"Give {option('encoding')} a name such as utf-8, cp1252 or utf-16."
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        valid = f"is not valid {error.encoding.upper()}"
        problem = f"Byte 0x{byte:02X} at offset {error.start:,} {valid}."
        western = bytes([byte]).decode("cp1252", "replace")
        if error.encoding == "utf-8" and byte >= 0x80 and western.isprintable():
            meant = f"if this is {western!r}, give cp1252 to {option('encoding')}"
            remedy = f"Save it as UTF-8; {meant}."
    except UnicodeError as error:
        problem = f"It cannot be decoded as {quote(encoding)}: {reason(error)}."
    raise source.error(problem, remedy, line=line)


def read_delimited(
    source: Source,
    encoding: str | None,
    delimiter: str | None,
    decimal: str | None,
    na: Collection[str],
    as_text: Collection[str],
) -> pd.DataFrame:
    text = decode(source, encoding)
    if delimiter is None:
        delimiter = max(_DELIMITERS, key=lambda d: _evenness(text, d))  # the first of equals
    delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)  # which any shell lets type
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in ' "\r\n\0':
        remedy = f"Give {option('delimiter')} a single character, such as ',' or ';', or 'tab'."
        raise source.error(f"{quote(delimiter)} cannot separate cells.", remedy)
    decimal = decimal or _sniff_decimal(text, delimiter)
    if decimal not in (".", ",") or decimal == delimiter:
        what = f"{quote(decimal)} cannot be the decimal mark of cells separated by"
        remedy = f"Give {option('decimal')} '.' or ',', unlike the delimiter."
        raise source.error(f"{what} {quote(delimiter)}.", remedy)
    rows = records(text.encode(), delimiter, source)
    header_line, header = next(rows, (0, []))
    if not header:
        raise source.error(*EMPTY)
    names = [re.sub(*UNGUARD, c.strip()) or f"Unnamed: {i}" for i, c in enumerate(header)]
    check_shape(names, source.name)
    last, columns = _cut(text, delimiter, rows, header_line, len(names))
    check_shape(names, source.name, rows=len(columns))
    # columns with neither a name nor a cell come from a delimiter at the end of every line
    frame = pd.DataFrame(
        {
            name: _column(cells, na, decimal, as_text=name in as_text)
            for name, title, cells in zip(names, header, columns, strict=True)
            if title.strip() or pc.any(pc.not_equal(pc.utf8_trim_whitespace(cells), "")).as_py()
        }
    )
    frame.attrs["hesitant"] = {"decimal": decimal, "as_text": tuple(as_text)}
    if last == header_line + len(frame):  # one line for each row: a row tells its line
        frame.attrs["hesitant"]["first_line"] = header_line + 1
    return frame


def _cut(text: str, delimiter: str, rows: Rows, header_line: int, width: int) -> Any:
    """Return the last line and the columns below the header.

    Arrow cuts cells many times as fast as the csv module, where there are neither quotes nor
    blank lines, and says less of what is wrong.
    """
    names = [str(k) for k in range(width)]
    if width > 1 and not any(odd in text for odd in ('"', "\r", "\n\n")):
        with suppress(pa.ArrowInvalid):  # of rows of different lengths, or none
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text.encode()),
                pyarrow.csv.ReadOptions(column_names=names, skip_rows=header_line),
                pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
            )
            columns = [pc.utf8_ltrim(column, " ") for column in table.columns]
            return header_line + table.num_rows, columns
    last, batches = 0, []
    for batch in iter(lambda: list(islice(rows, 1 << 16)), []):
        last = batch[-1][0]
        cells = zip(*(row for _, row in batch), strict=True)
        batches.append([pa.array(column, pa.large_string()) for column in cells])
    return last, [pa.chunked_array(parts) for parts in zip(*batches, strict=True)]


def _column(cells: Any, na: Collection[str], decimal: str, *, as_text: bool) -> "pd.Series[Any]":
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


def records(data: bytes, delimiter: str, source: Source) -> Rows:
    """Yield every row that is not blank, with the line it starts on; all must be equally long."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line, count, width = 1, 0, 0
    try:
        for row in reader:
            if not _is_blank(row):
                width = width or len(row)
                if len(row) != width:
                    raise _ragged(len(row), width, delimiter, source, row=count, line=line)
                yield line, row
                count += 1
            line = reader.line_num + 1
    except csv.Error as error:
        problem = "A quoted cell goes on after its closing double quote."
        if "field limit" in str(error):
            problem = f"A cell is longer than {csv.field_size_limit():,} characters."
        elif "end of data" in str(error):
            problem = "A double quote is opened in this row and never closed."
        remedy = "Close every quote, and write a quote inside a quoted cell as two."
        raise source.error(problem, remedy, line=line) from error


def _ragged(found: int, width: int, delimiter: str, source: Source, **place: int) -> TableError:
    separator = _DELIMITERS.get(delimiter, quote(delimiter))
    remedy = f"Put cells that contain a {separator} in double quotes, or complete the row."
    if found == width + 1:
        remedy += " If R wrote the table, the row names have no header: use row.names = FALSE."
    problem = f"The row has {found} cell(s) where the header has {width}."
    return source.error(problem, remedy, **place)


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip(" \t"))


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    lines = list(io.StringIO(text[:_SAMPLE], newline=""))
    if len(text) > _SAMPLE and len(lines) > 1:
        lines.pop()  # cut in the middle
    rows: list[list[str]] = []
    with suppress(csv.Error):  # told with its line by the pass over the whole text
        rows.extend(csv.reader(lines[:500], delimiter=delimiter, skipinitialspace=True))
    return [row for row in rows if not _is_blank(row)]


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
    """Judge how evenly, then how finely, a delimiter cuts the first lines."""
    widths = [len(row) for row in _first_rows(text, delimiter)[:100]] or [1]
    return (0.0, 0) if widths[0] == 1 else (widths.count(widths[0]) / len(widths), widths[0])


def _sniff_decimal(text: str, delimiter: str) -> str:
    """Recognise decimal commas: some cells have them, and none has a decimal point."""
    cells = {cell.strip() for row in _first_rows(text, delimiter)[1:] for cell in row}
    commas = [c for c in cells if re.fullmatch(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", c)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", c) for c in cells)
    # 1,001 may be a thousand and one: somewhere there must be another number of decimals
    clear = any(not re.fullmatch(r"[+-]?\d{1,3},\d{3}", c) for c in commas)
    return "," if clear and not points and delimiter != "," else "."
