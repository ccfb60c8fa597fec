"""`read_table`: any supported table, as a data frame."""

import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Collection, Sequence
from functools import reduce
from pathlib import PurePath
from typing import Any

import pandas as pd

from hesitant._optional import need

from .annotations import tool_of
from .cells import BLANK_CELLS
from .errors import TableError, check_shape, option, quote, quote_all, ways
from .sources import Source, TableSource, blaming, check_size, open_source

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
_SUFFIXES = {"txt": "csv", "tab": "tsv", "pq": "parquet", "arrow": "feather", "ndjson": "jsonl"}
_SUFFIXES |= {kind: kind for kind in FORMATS}
# options that not every format has a use for
_TEXT = {"encoding", "delimiter", "decimal"}
_USEFUL = {"csv": _TEXT, "tsv": _TEXT, "json": {"encoding"}, "jsonl": {"encoding"}}
_USEFUL |= {"fcs": {"transform", "compensate"}}
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
_MAX_CELLS = 20_000_000  # of a workbook
_CELL = re.compile(rb'<c [^>]*?\br="([A-Z]{1,3})(\d{1,7})"')


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
    read, also packed with gzip, bzip2, xz or zip. What cannot be read is a `TableError`, which
    says where and what to do.

    ``format`` is one of these in lower case; None tells it from the content, then the suffix. Of
    a text table, ``encoding`` is UTF-8 unless a byte-order mark says otherwise, ``delimiter`` the
    one of comma, semicolon, tab and bar that fits, and ``decimal`` a comma where all numbers have
    one. Cells in ``na``, blanks around them or not, are absent values, as empty ones always are.
    Columns in ``text`` are labels or names: kept as text in a text table, so that ``007`` stays
    ``"007"``, and on no other scale in an FCS file. ``transform`` ("logicle" or "asinh") is the
    scale of an FCS file's fluorescence channels, and ``compensate`` undoes spillover by the
    matrix that it holds. Fewer columns than ``min_columns`` are an error.

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
    name = str(source) if isinstance(source, str | os.PathLike) else "the stream"
    try:
        content = open_source(source)
        kind = format or recognise(content)
        given: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
        given |= {"transform": transform, "compensate": compensate}
        for useless in (k for k in given if given[k] and k not in _USEFUL.get(kind, ())):
            only = "FCS files" if useless in _USEFUL["fcs"] else "text tables"
            problem = f"{useless!r} only applies to {only}, and this is {quote(kind)}."
            raise content.error(problem, f"Leave out {option(useless)}.")
        if kind in ("parquet", "feather"):
            frame = _read_arrow(content, kind)
        elif kind == "fcs":
            frame = _read_fcs(content, text, transform, compensate)
        elif kind == "xlsx":
            frame = _read_xlsx(content, na)
        elif kind in ("json", "jsonl"):
            frame = _read_json(content, encoding, na)
        else:
            from .text import read_delimited

            mark = delimiter or ("\t" if kind == "tsv" else None)
            frame = read_delimited(content, encoding, mark, decimal, na, text)
    except MemoryError as error:
        remedy = "Keep the columns you need, or a sample of the rows."
        raise TableError(name, "The table does not fit in memory.", remedy) from error
    except ImportError as error:
        raise TableError(name, ways(str(error)), "Or give the table as CSV.") from error
    check_shape(list(frame.columns), content.name, min_columns, len(frame))
    frame.attrs["hesitant"] = {"source": content.name, **frame.attrs.get("hesitant", {})}
    return frame


def recognise(source: Source) -> str:
    """Tell the format from the content where that is certain, else from the suffix."""
    kinds = (kind for start, kind in _STARTS.items() if re.match(start, source.data))
    suffix = PurePath(source.filename).suffix.lower()[1:]
    return next(kinds, _SUFFIXES.get(suffix, "csv"))


def _read_arrow(source: Source, kind: str) -> pd.DataFrame:
    """Read a Parquet or Feather (Arrow) file, checked in full before anything is converted."""
    arrow = need("pyarrow")
    with blaming(source, f"This is not a readable {kind.title()} file"):
        data, packed = arrow.BufferReader(source.data), 0
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
    source: Source, text: Collection[str], transform: str | None, compensate: bool
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
            raise source.error(
                "It holds several data sets.", "Export the one you want."
            ) from error
        markers, detectors = (
            [str(name).strip() for name in names] for names in (file.pns_labels, file.pnn_labels)
        )
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
                problem = "The file holds no compensation matrix ($SPILLOVER)."
                raise source.error(problem, f"Leave out {option('compensate', True)}.")
            undo = need("flowutils.compensate", "fcs")
            with blaming(source, "Its $SPILLOVER makes no sense"):
                matrix, channels = undo.get_spill(file.text[keys[0]])
                events = undo.compensate(events, matrix, [detectors.index(c) for c in channels])
        if transform is not None:
            scale = getattr(need("flowutils.transforms", "fcs"), transform)
            # the usual parameters of cytometers
            measured = [k for k in file.fluoro_indices if not {*pairs[k], names[k]} & {*text}]
            events = scale(events, measured, t=262144, m=4.5, a=0)
    frame = pd.DataFrame(events, columns=names)
    aliases = dict(zip(detectors, names, strict=True))
    aliases |= {m: name for m, name in zip(markers, names, strict=True) if markers.count(m) == 1}
    frame.attrs["hesitant"] = {"aliases": aliases}
    return frame


def _read_xlsx(source: Source, na: Collection[str]) -> pd.DataFrame:
    calamine = need("python_calamine")
    with blaming(source, "This is not a readable .xlsx file"):
        _check_extent(source)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = ((name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names)
        name, rows = next(((n, rows) for n, rows in sheets if rows), ("", []))
    if not rows:
        raise source.error("The workbook is empty.", "Check that it was saved.")
    header = [str(cell).strip() or f"Unnamed: {i}" for i, cell in enumerate(rows[0])]
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    check_shape(header, source.name, rows=len(filled))
    columns = zip(header, zip(*filled, strict=True), strict=True)
    frame = pd.DataFrame({column: _series(cells, na) for column, cells in columns})
    note = frame.attrs["hesitant"] = {} if len(filled) < len(rows) - 1 else {"first_line": 2}
    others = [other for other in book.sheet_names if other != name]
    if others:
        also = f"the workbook also has {quote_all(others)}"
        note["notes"] = [f"The sheet {quote(name)} was read; {also}."]
    return frame


def _check_extent(source: Source) -> None:
    """Refuse cells so far apart that the table between them would not fit in memory."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for name in archive.namelist():
            found = _CELL.findall(archive.read(name)) if name.startswith("xl/worksheets/") else []
            depth = max((int(row) for _, row in found), default=0)
            letters = {letters for letters, _ in found}  # as digits of base 26
            width = max((reduce(lambda n, c: 26 * n + c - 64, c, 0) for c in letters), default=0)
            if width * depth > _MAX_CELLS:
                problem = f"A sheet reaches over {depth:,} rows and {width:,} columns."
                remedy = "Delete the cells that lie far from the table, or save it as CSV."
                raise source.error(problem, remedy)


def parse_json(source: Source, encoding: str | None) -> Any:
    """Return the one document of a JSON file, or the list of those of a JSONL file."""
    from .text import decode

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


def _read_json(source: Source, encoding: str | None, na: Collection[str]) -> pd.DataFrame:
    document = parse_json(source, encoding)
    if isinstance(document, dict) and isinstance(document.get("data"), list):  # as pandas may do
        names: Any = document.get("columns")
        rows = document["data"]
        named = isinstance(names, list) and all(isinstance(row, list) for row in rows)
        document = [dict(zip(names, row, strict=False)) for row in rows] if named else rows
    document = document if isinstance(document, list | dict) else [document]
    tool = tool_of(document)
    if tool is not None:
        problem = f"This is an export of {tool}: it has labels, but no features."
        remedy = "Name the table of features with --features-from, and what both have with --id."
        raise source.error(problem, remedy)
    parts = list(document.values() if isinstance(document, dict) else document)
    kinds = {type(part) for part in parts}
    # as pandas writes columns: cells by the names of the rows
    alike = kinds == {dict} and len(parts) > 1 and len({tuple(part) for part in parts}) == 1
    if not (kinds <= {dict} if isinstance(document, list) else kinds == {list} or alike):
        remedy = 'Write a list of objects, such as [{"x": 1.5, "label": "a"}], or one a line.'
        raise source.error("The JSON holds no table.", remedy)
    with blaming(source, "This is not a readable JSON file"):  # columns of unequal length
        frame = pd.DataFrame(document, dtype=object)
    names = [str(name).strip() for name in frame.columns]
    check_shape(names, source.name, min_columns=0)
    columns = zip(names, frame.to_numpy().T.tolist(), strict=True)
    return pd.DataFrame({name: _series(cells, na) for name, cells in columns})


def _series(cells: Sequence[Any], na: Collection[str]) -> "pd.Series[Any]":
    """Return numbers as floats only where none is lost, since a label may be a huge integer."""
    blank = {"", *na}
    cells = [None if isinstance(c, str) and c.strip() in blank else c for c in cells]
    kinds = {type(cell) for cell in cells} - {type(None)}
    large = any(isinstance(c, int) and abs(c) > 2**53 for c in cells)
    if kinds <= {int, float} and not large:
        return pd.Series(cells, dtype="float64" if float in kinds or None in cells else None)
    return pd.Series(cells, dtype=object)
