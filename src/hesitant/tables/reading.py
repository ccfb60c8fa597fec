"""`read_table`: any supported table, as a data frame."""

import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from itertools import islice
from pathlib import PurePath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from hesitant._optional import need

from .annotations import tool_of
from .cells import BLANK_CELLS
from .errors import TableError, check_shape, is_number, option, quote, quote_all, ways
from .output import UNGUARD
from .sources import EMPTY, Source, TableSource, blaming, check_size, decode, open_source

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
_SUFFIXES = {"txt": "csv", "tab": "tsv", "pq": "parquet", "arrow": "feather", "ndjson": "jsonl"}
_SUFFIXES |= {kind: kind for kind in FORMATS}
_STARTS = {
    rb"FCS\d\.\d {4}": "fcs",
    rb"(?s)PAR1.*?\0": "parquet",  # a CSV may have a column called PAR1, but no zero bytes
    rb"ARROW1\0": "feather",
    rb"PK\x03\x04": "xlsx",
    rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*[\[{\]]|\{\s*[\"}])": "json",
}
_SPACE: Any = re.compile(r"\s*")
_ROW_LABELS = re.compile(r"__index_level_\d+__")  # an index that pandas saved without a name
# A compressed buffer of an Arrow file: its length when unpacked, and a frame of LZ4 or Zstandard.
_FRAME = re.compile(rb"(?s)(.{6})\0\0(?:\x04\x22\x4d\x18|\x28\xb5\x2f\xfd)")
_SAMPLE = 1 << 16
_BOOLEANS = ["True", "TRUE", "true", "False", "FALSE", "false"]


def read_table(
    source: TableSource,
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    na: Collection[str] = BLANK_CELLS,
    text: Collection[str] = (),
    min_columns: int = 2,
    transform: str | None = None,
    compensate: bool = False,
) -> pd.DataFrame:
    r"""Read a table from a file, a stream or standard input (``"-"``).

    CSV, TSV, Excel's ``.xlsx``, JSON, JSONL, Parquet, Feather and FCS (with the extra ``fcs``) are
    read, also packed with gzip, bzip2, xz or zip; what cannot be is a `TableError`.

    ``format`` is one of these in lower case; None tells it from the content, then the suffix. Of
    a text table, ``encoding`` is UTF-8 unless a byte-order mark says otherwise, ``delimiter`` the
    one of comma, semicolon, tab and bar that fits, and ``decimal`` a comma where all numbers have
    one. Cells in ``na``, blanks around them or not, are absent values, as empty ones always are.
    Columns in ``text`` stay text, so that ``007`` is not 7, and in an FCS file are on no other
    scale. ``transform`` ("logicle" or "asinh") is the scale of its fluorescence channels, and
    ``compensate`` undoes spillover by the matrix that it holds.

    >>> import io
    >>> read_table(io.BytesIO(b"CD3;population\n0,5;T\n0,1;B\n"))
       CD3 population
    0  0.5          T
    1  0.1          B
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or None, got {format!r}")
    if isinstance(text, str) or isinstance(na, str):
        raise TypeError("text and na must be collections of str, not a str")
    if transform not in (None, "logicle", "asinh"):
        raise ValueError(f"transform must be 'logicle', 'asinh' or None, got {transform!r}")
    content = open_source(source)
    kind = format or recognise(content)
    given: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    given |= {"transform": transform, "compensate": compensate}
    reader = _READERS[kind]
    useful = signature(reader).parameters.keys()
    for useless in (name for name, value in given.items() if value and name not in useful):
        problem = f"{useless!r} does not apply to a table in the format {quote(kind)}."
        raise content.error(problem, f"Leave out {option(useless)}.")
    given |= {"na": na, "text": text, "delimiter": delimiter or ("\t" if kind == "tsv" else None)}
    try:
        frame = reader(content, **{name: given[name] for name in given.keys() & useful})
    except ImportError as error:
        raise content.error(ways(str(error)), "Or give the table as CSV.") from error
    check_shape(list(frame.columns), content.name, min_columns, len(frame))
    frame.attrs["hesitant"] = {"source": content.name, **frame.attrs.get("hesitant", {})}
    return frame


def recognise(source: Source) -> str:
    """Tell the format from the content where that is certain, else from the suffix."""
    kinds = (kind for start, kind in _STARTS.items() if re.match(start, source.data))
    return next(kinds, _SUFFIXES.get(PurePath(source.filename).suffix.lower()[1:], "csv"))


def _read_arrow(source: Source, kind: str) -> pd.DataFrame:
    """Read a Parquet or Feather (Arrow) file, checked in full before anything is converted."""
    with blaming(source, f"This is not a readable {kind.title()} file"):
        data = pa.BufferReader(source.data)
        if kind == "parquet":
            file = need("pyarrow.parquet").ParquetFile(data)
            schema, read = file.schema_arrow, file.read
            packed = 8 * file.metadata.num_rows * len(schema.names)
        else:
            file = need("pyarrow.ipc").open_file(data)
            schema, read = file.schema, file.read_all
            packed = sum(int.from_bytes(n, "little") for n in _FRAME.findall(source.data))
        # the names come with the file's footer: judge them before loading anything
        names = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
        check_shape(names, source.name, min_columns=0)
        check_size(packed, source)
        table = read().select(names)
        check_size(8 * table.num_rows * len(names), source)
        table.validate(full=True)  # a damaged offset would otherwise end the whole process
        # the index that pandas wrote becomes a column again: it may be the label, and so may
        # whole numbers, which blanks beside them would round
        return table.to_pandas(ignore_metadata=True, integer_object_nulls=True)


def _read_fcs(
    source: Source, *, text: Collection[str], transform: str | None, compensate: bool
) -> pd.DataFrame:
    """Read an FCS 2.0, 3.0 or 3.1 file: its gains, amplification and time step applied.

    Columns are named by the marker (``$PnS``) with the detector (``$PnN``) beside it.
    """
    flowio = need("flowio", "fcs")
    with blaming(source, "This is not a readable FCS file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oddities that the checks below decide on
        try:
            file = flowio.FlowData(io.BytesIO(source.data))
        except flowio.exceptions.MultipleDataSetsError as error:
            raise source.error("It holds several data sets.", "Export one of them.") from error
        both = file.pns_labels, file.pnn_labels
        markers, detectors = ([str(name).strip() for name in names] for names in both)
        check_shape(detectors, source.name)
        check_size(8 * int(file.event_count) * len(detectors), source)
        events = file.as_array()
        if events.shape != (int(file.event_count), len(detectors)):
            announced = f"{file.event_count} events of {len(detectors)} channels"
            raise ValueError(f"it announces {announced} and holds {events.shape}")
        pairs = list(zip(markers, detectors, strict=True))
        names = [f"{m} ({d})" if m and m != d else d for m, d in pairs]
        if compensate:
            keys = [k for k in ("spillover", "spill", "$spillover") if k in file.text]
            if not keys:
                remedy = f"Leave out {option('compensate', True)}."
                raise source.error("The file has no compensation matrix ($SPILLOVER).", remedy)
            undo = need("flowutils.compensate", "fcs")
            with blaming(source, "Its $SPILLOVER makes no sense"):
                matrix, channels = undo.get_spill(file.text[keys[0]])
                events = undo.compensate(events, matrix, [detectors.index(c) for c in channels])
        if transform is not None:
            scale = getattr(need("flowutils.transforms", "fcs"), transform)
            # the usual parameters of cytometers
            measured = [k for k in file.fluoro_indices if not {*pairs[k], names[k]} & {*text}]
            events = scale(events, measured, t=262144, m=4.5, a=0)
    frame, aliases = pd.DataFrame(events, columns=names), dict(zip(detectors, names, strict=True))
    aliases |= {m: name for m, name in zip(markers, names, strict=True) if markers.count(m) == 1}
    frame.attrs["hesitant"] = {"aliases": aliases}
    return frame


def _read_xlsx(source: Source, *, na: Collection[str]) -> pd.DataFrame:
    with blaming(source, "This is not a readable .xlsx file"):
        book = need("python_calamine").CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = ((name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names)
        name, rows = next(((n, rows) for n, rows in sheets if rows), ("", []))
    if not rows:
        raise source.error("The workbook is empty.", "Check that it was saved.")
    header = [str(cell).strip() or f"Unnamed: {i}" for i, cell in enumerate(rows[0])]
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    check_shape(header, source.name, rows=len(filled))
    frame = _typed(header, zip(*filled, strict=True), na)
    note = frame.attrs["hesitant"] = {} if len(filled) < len(rows) - 1 else {"first_line": 2}
    others = [other for other in book.sheet_names if other != name]
    if others:
        note["notes"] = [f"The sheet {quote(name)} was read, and not {quote_all(others)}."]
    return frame


def parse_json(source: Source, encoding: str | None) -> Any:
    """Return the one document of a JSON file, or the list of those of a JSONL file."""
    text = decode(source, encoding).rstrip()
    decoder, documents, end = json.JSONDecoder(), [], 0
    with blaming(source, "This is not a readable JSON file"):  # nested too deeply, perhaps
        try:
            while end < len(text):
                document, end = decoder.raw_decode(text, _SPACE.match(text, end).end())
                documents.append(document)
        except json.JSONDecodeError as error:
            problem = f"This is not valid JSON: {error.msg.lower()}."
            remedy = "Export it again, as a list of objects or one object a line."
            raise source.error(problem, remedy, line=error.lineno) from error
    return documents[0] if len(documents) == 1 else documents


def _read_json(source: Source, *, encoding: str | None, na: Collection[str]) -> pd.DataFrame:
    document = parse_json(source, encoding)
    if isinstance(document, dict) and isinstance(document.get("data"), list):  # as pandas may do
        names, document = document.get("columns"), document["data"]
        if isinstance(names, list) and all(isinstance(row, list) for row in document):
            document = [dict(zip(names, row, strict=False)) for row in document]
    tool = tool_of(document)
    if tool is not None:
        remedy = "Name the table of features with --features-from, and what both have with --id."
        raise source.error(f"This is an export of {tool}: it has labels, but no features.", remedy)
    by_column = isinstance(document, dict)
    parts = list(document.values()) if by_column else document
    kinds = {type(part) for part in parts} if isinstance(parts, list) else set()
    # as pandas writes columns: cells by the names of the rows
    alike = kinds == {dict} and len(parts) > 1 == len({tuple(part) for part in parts})
    if not (kinds == {list} or alike if by_column else kinds == {dict}):
        remedy = 'Write a list of objects, such as [{"x": 1.5, "label": "a"}], or one a line.'
        raise source.error("The JSON holds no table.", remedy)
    with blaming(source, "This is not a readable JSON file"):  # columns of unequal length
        frame = pd.DataFrame(document, dtype=object)
    names = [str(name).strip() for name in frame.columns]
    check_shape(names, source.name, min_columns=0)
    return _typed(names, frame.to_numpy().T, na)


def _typed(names: Sequence[str], columns: Iterable[Any], na: Collection[str]) -> pd.DataFrame:
    """Return numbers as floats only where none is lost, since a label may be a huge integer."""
    frame, blank = dict[str, Any](), {"", *na}
    for name, column in zip(names, columns, strict=True):
        cells = [None if isinstance(c, str) and c.strip() in blank else c for c in column]
        kinds = {type(cell) for cell in cells} - {type(None)}
        large = any(isinstance(c, int) and abs(c) > 2**53 for c in cells)
        whole = None if None not in cells and float not in kinds else "float64"
        exact = kinds <= {int, float} and not large
        frame[name] = pd.Series(cells, dtype=whole if exact else object)
    return pd.DataFrame(frame)


def _read_delimited(
    source: Source,
    *,
    encoding: str | None,
    delimiter: str | None,
    decimal: str | None,
    na: Collection[str],
    text: Collection[str],
) -> pd.DataFrame:
    """Read a text table: the csv module finds the cells and their lines, Arrow their types."""
    content = decode(source, encoding)
    if delimiter is None:  # the one that cuts most evenly, then most finely
        delimiter = max(",;\t|", key=lambda d: _evenness(content, d))
    delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)  # which any shell lets type
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in ' "\r\n\0':
        remedy = f"Give {option('delimiter')} one character, neither space nor quote, or 'tab'."
        raise source.error(f"{quote(delimiter)} cannot separate cells.", remedy)
    decimal = decimal or _sniff_decimal(content, delimiter)
    if decimal not in (".", ",") or decimal == delimiter:
        both = f"{quote(decimal)} cannot be the decimal mark if {quote(delimiter)} cuts cells."
        raise source.error(both, f"Give {option('decimal')} '.' or ',', unlike the delimiter.")
    data, content = content.encode(), ""  # a large table is in memory often enough
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    rows = records(lines, delimiter, source)
    header_line, header = next(rows, (0, []))
    if not header:
        raise source.error(*EMPTY)
    names = [re.sub(*UNGUARD, c.strip()) or f"Unnamed: {i}" for i, c in enumerate(header)]
    check_shape(names, source.name)
    last, columns = _cut(data, delimiter, rows, header_line, len(names))
    check_shape(names, source.name, rows=len(columns))
    # columns with neither a name nor a cell come from a delimiter at the end of every line
    kept = {
        name: _column(cells, na, decimal, as_text=name in text)
        for name, title, cells in zip(names, header, columns, strict=True)
        if title.strip() or pc.any(pc.not_equal(pc.utf8_trim_whitespace(cells), "")).as_py()
    }
    frame = pd.DataFrame(kept)
    frame.attrs["hesitant"] = {"decimal": decimal, "as_text": tuple(text)}
    if last == header_line + len(frame):  # one line for each row: a row tells its line
        frame.attrs["hesitant"]["first_line"] = header_line + 1
    return frame


def _cut(data: bytes, delimiter: str, rows: Iterator[Any], header_line: int, width: int) -> Any:
    """Return the last line and the columns below the header.

    Arrow cuts cells many times as fast as the csv module, where there are neither quotes nor
    blank lines, and says less of what is wrong.
    """
    names = [str(k) for k in range(width)]
    if width > 1 and b'"' not in data and b"\r" not in data:
        with suppress(pa.ArrowInvalid):  # of rows of different lengths, or none
            table = pyarrow.csv.read_csv(
                pa.BufferReader(data),
                pyarrow.csv.ReadOptions(column_names=names, skip_rows=header_line),
                pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
            )
            last = header_line + table.num_rows
            if last == data.count(b"\n") + (not data.endswith(b"\n")):  # no blank line
                columns = table.columns  # the csv module skips blanks that come first, too
                return last, [pc.utf8_ltrim(c, " ") for c in columns] if b" " in data else columns
    last, batches = 0, []
    for batch in iter(lambda: list(islice(rows, 1 << 16)), []):
        last, cells = batch[-1][0], zip(*(row for _, row in batch), strict=True)
        batches.append([pa.array(column, pa.large_string()) for column in cells])
    return last, [pa.chunked_array(parts) for parts in zip(*batches, strict=True)]


def _column(cells: Any, na: Collection[str], decimal: str, *, as_text: bool) -> "pd.Series[Any]":
    """Return cells of text as numbers or True and False if they all are, else as text."""
    kinds = () if as_text else (pa.int64(), pa.float64())  # whole numbers stay whole
    # Most columns are numbers and nothing else: no cell of theirs needs a look for blanks.
    for kind in () if decimal == "," or any(map(is_number, {*na} - {"NaN", "nan"})) else kinds:
        with suppress(pa.ArrowInvalid):
            return pc.cast(cells, kind).to_pandas()
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
        for kind in kinds:
            with suppress(pa.ArrowInvalid):
                return pc.cast(values, kind).to_pandas()
    return pc.replace_substring_regex(pc.if_else(blank, None, cells), *UNGUARD).to_pandas()


def records(
    lines: Iterable[str], delimiter: str, source: Source, *, even: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with its first line; ``even`` ones are equally long."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line, count, width = 1, 0, 0
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip(" \t"):
                width = width or len(row)
                if even and len(row) != width:
                    problem = f"The row has {len(row)} cell(s) where the header has {width}."
                    remedy = "Complete the row, or put cells with a delimiter in double quotes."
                    if len(row) == width + 1:
                        remedy += " If R wrote it, use row.names = FALSE there."
                    raise source.error(problem, remedy, row=count, line=line)
                yield line, row
                count += 1
            line = reader.line_num + 1
    except csv.Error as error:
        remedy = "Close every double quote, and write a quote inside a quoted cell as two."
        raise source.error(f"Its cells are not clear: {error}.", remedy, line=line) from error


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    lines = list(io.StringIO(text[:_SAMPLE], newline=""))
    if len(text) > _SAMPLE and len(lines) > 1:
        lines.pop()  # cut in the middle
    rows: list[list[str]] = []
    with suppress(TableError):  # told with its line by the pass over the whole text
        cut = records(lines[:500], delimiter, Source("", "", b""), even=False)
        rows.extend(row for _, row in cut)
    return rows


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
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


# each names, as its keywords, the options that it has a use for
_READERS: dict[str, Callable[..., pd.DataFrame]] = {
    **dict.fromkeys(("csv", "tsv"), _read_delimited),
    **dict.fromkeys(("json", "jsonl"), _read_json),
    **{kind: partial(_read_arrow, kind=kind) for kind in ("parquet", "feather")},
    **{"xlsx": _read_xlsx, "fcs": _read_fcs},
}
