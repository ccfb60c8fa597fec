"""`read_table`: any supported table, as a data frame."""

import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from .annotations import tool_of
from .cells import BLANK_CELLS
from .errors import TableError, check_names, check_rows, option, quote, quote_all, reason
from .sources import Source, TableSource, check_size, open_source

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
_SUFFIXES = {"txt": "csv", "tab": "tsv", "pq": "parquet", "arrow": "feather", "ndjson": "jsonl"}
_SUFFIXES |= {kind: kind for kind in FORMATS}
# options that not every format has a use for
_TEXT = {"encoding", "delimiter", "decimal"}
_USEFUL = {"csv": _TEXT, "tsv": _TEXT, "json": {"encoding"}, "jsonl": {"encoding"}}
_USEFUL |= {"fcs": {"transform", "compensate"}}
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*[\[{\]]|\{\s*[\"}])")
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
    r"""Read a table from a file, a stream or standard input.

    CSV, TSV, Excel's ``.xlsx``, JSON, JSONL, Parquet, Feather and FCS (with the extra ``fcs``) are
    read, also packed with gzip, bzip2, xz or zip.

    Parameters
    ----------
    source : str, path or file object
        ``"-"`` is standard input.
    format : str or None, default=None
        One of the above in lower case; None tells it from the content, then from the suffix.
    encoding, delimiter, decimal : str or None, default=None
        Of a text table. None is UTF-8 unless a byte-order mark says otherwise; the one of comma,
        semicolon, tab and bar that fits; and a decimal comma where all numbers have one.
    na : collection of str, default=BLANK_CELLS
        Cells that stand for an absent value, blanks around them or not; empty cells always do.
    text : collection of str, default=()
        Columns of labels or names: kept as text in a text table, so that an identifier ``007``
        stays ``"007"``, and on no other scale in an FCS file.
    min_columns : int, default=2
        Fewer columns than this are an error: a training table needs a label and a feature.
    transform, compensate : {"logicle", "asinh"} or None, and bool
        The scale of an FCS file's fluorescence channels, and whether to undo spillover by the
        matrix that it holds.

    Returns
    -------
    pandas.DataFrame
        `DataFrame.attrs` holds the file's name under ``"hesitant"``, for messages.

    Raises
    ------
    TableError
        Whenever the table cannot be read; the message says where and what to do.

    Examples
    --------
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
        given |= {"transform": transform, "compensate": compensate or None}
        for option_name in (k for k, v in given.items() if v is not None):
            if option_name not in _USEFUL.get(kind, ()):
                only = "FCS files" if option_name in _USEFUL["fcs"] else "text tables"
                problem = f"{option_name!r} only applies to {only}, and this is {quote(kind)}."
                raise content.error(problem, f"Leave out {option(option_name)}.")
        if kind in ("parquet", "feather"):
            frame = _read_arrow(content, kind, min_columns)
        elif kind == "fcs":
            frame = _read_fcs(content, min_columns, text, transform, compensate)
        elif kind == "xlsx":
            frame = _read_xlsx(content, na, min_columns)
        elif kind in ("json", "jsonl"):
            frame = _read_json(parse_json(content, encoding), content, na, min_columns)
        else:
            from .text import decode, read_delimited

            delimiter = delimiter or ("\t" if kind == "tsv" else None)
            words = decode(content, encoding)
            frame = read_delimited(words, content, delimiter, decimal, na, text)
            check_names(list(frame.columns), content.name, min_columns)
    except MemoryError as error:
        remedy = "Keep the columns you need, or a sample of the rows."
        raise TableError(name, "The table does not fit in memory.", remedy) from error
    frame.attrs["hesitant"] = {"source": content.name, **frame.attrs.get("hesitant", {})}
    return frame


def recognise(source: Source) -> str:
    """Tell the format from the content where that is certain, else from the suffix."""
    data = source.data
    if re.match(rb"FCS\d\.\d {4}", data):
        return "fcs"
    # a CSV may well start with a column called PAR1, but it has no zero bytes
    if data.startswith(b"PAR1") and b"\0" in data:
        return "parquet"
    if data.startswith((b"ARROW1\0", b"PK\x03\x04")):
        return "feather" if data.startswith(b"ARROW1") else "xlsx"
    if _JSON.match(data):
        return "json"
    return _SUFFIXES.get(PurePath(source.filename).suffix.lower()[1:], "csv")


def _library(name: str, what: str, extra: str, source: Source) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        problem = f"Reading {what} needs {name.partition('.')[0]}, which is not installed."
        remedy = f"Install it with pip install 'hesitant[{extra}]', or give the table as CSV."
        raise source.error(problem, remedy) from error


def _unreadable(source: Source, what: str, why: object) -> TableError:
    told = reason(why) if isinstance(why, BaseException) else why
    remedy = "Copy or export it again; if it is in another format, name it with its usual suffix."
    return source.error(f"This is not a readable {what} file: {told}.", remedy)


def _read_arrow(source: Source, kind: str, min_columns: int) -> pd.DataFrame:
    """Read a Parquet or Feather (Arrow) file, checked in full before anything is converted."""
    arrow = _library("pyarrow", kind.title(), "data", source)
    try:
        data = arrow.BufferReader(source.data)
        if kind == "parquet":
            file = import_module("pyarrow.parquet").ParquetFile(data)
            schema, rows, read = file.schema_arrow, file.metadata.num_rows, file.read
        else:
            packed = _FRAME.findall(source.data)
            check_size(sum(int.from_bytes(n, "little") for n in packed), source)
            file = import_module("pyarrow.ipc").open_file(data)
            schema, rows, read = file.schema, 0, file.read_all
        # the names come with the file's footer: judge them before loading anything
        names = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
        check_names(names, source.name, min_columns)
        check_size(8 * rows * len(names), source)
        table = read().select(names)
        check_size(8 * table.num_rows * len(names), source)
        table.validate(full=True)  # a damaged offset would otherwise end the whole process
        # the index that pandas wrote becomes a column again: it may be the label, and so may
        # whole numbers, which blanks beside them would round
        frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    except (MemoryError, TableError):
        raise
    except Exception as error:  # whatever Arrow thinks of it, the file is at fault
        raise _unreadable(source, kind.title(), error) from error
    check_rows(len(frame), names, source.name)
    frame.attrs = {}
    return frame


def _read_fcs(
    source: Source, min_columns: int, text: Any, transform: str | None, compensate: bool
) -> pd.DataFrame:
    """Read an FCS 2.0, 3.0 or 3.1 file: its gains, amplification and time step applied.

    Columns are named by the marker (``$PnS``) with the detector (``$PnN``) beside it.
    """
    flowio = _library("flowio", "FCS", "fcs", source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of oddities that the checks below decide on
            file = flowio.FlowData(io.BytesIO(source.data))
            detectors = [str(name).strip() for name in file.pnn_labels]
            check_names(detectors, source.name, min_columns)
            announced = int(file.event_count), len(detectors)
            check_size(8 * announced[0] * announced[1], source)
            events = file.as_array()
            markers = [str(name).strip() for name in file.pns_labels]
        if events.shape != announced:
            counts = "announces {} events of {} channels and holds {} of {}"
            raise ValueError("it " + counts.format(*announced, *events.shape))
    except (MemoryError, TableError):
        raise
    except flowio.exceptions.MultipleDataSetsError as error:
        remedy = "Export the one you want to a file of its own."
        raise source.error("The file holds several data sets.", remedy) from error
    except Exception as error:  # FlowIO lets through whatever a damaged file provokes
        raise _unreadable(source, "FCS", error) from error
    check_rows(len(events), detectors, source.name)
    pairs = list(zip(markers, detectors, strict=True))
    names = [f"{m} ({d})" if m and m != d else d for m, d in pairs]
    if compensate:
        events = _compensated(events, file.text, detectors, source)
    if transform is not None:
        scales = _library("flowutils.transforms", f"--transform {transform}", "fcs", source)
        # the usual parameters of cytometers
        measured = [k for k in file.fluoro_indices if not {*pairs[k], names[k]} & {*text}]
        events = getattr(scales, transform)(events, measured, t=262144, m=4.5, a=0)
    frame = pd.DataFrame(events, columns=names)
    aliases = dict(zip(detectors, names, strict=True))
    aliases |= {m: name for m, name in zip(markers, names, strict=True) if markers.count(m) == 1}
    frame.attrs["hesitant"] = {"aliases": aliases}
    return frame


def _compensated(events: Any, keywords: Any, detectors: list[str], source: Source) -> Any:
    """Undo the spillover between detectors by the matrix that the file holds."""
    library = _library("flowutils.compensate", "--compensate", "fcs", source)
    text = next((keywords[k] for k in ("spillover", "spill", "$spillover") if k in keywords), None)
    if text is None:
        remedy = f"Leave out {option('compensate', True)}, or compensate where it was recorded."
        raise source.error("The file holds no compensation matrix ($SPILLOVER).", remedy)
    try:
        matrix, channels = library.get_spill(text)
        return library.compensate(events, matrix, [detectors.index(c) for c in channels])
    except (ValueError, IndexError, np.linalg.LinAlgError) as error:
        raise _unreadable(source, "FCS", f"$SPILLOVER makes no sense ({reason(error)})") from error


def _read_xlsx(source: Source, na: Collection[str], min_columns: int) -> pd.DataFrame:
    """Read the first sheet of a workbook that has any cells."""
    calamine = _library("python_calamine", ".xlsx", "data", source)
    try:
        _check_extent(source)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = ((name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names)
        name, rows = next(((n, rows) for n, rows in sheets if rows), ("", []))
    except (TableError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise _unreadable(source, ".xlsx", error) from error
    if not rows:
        raise source.error("The workbook is empty.", "Check that it was saved.")
    header = [str(cell).strip() or f"Unnamed: {i}" for i, cell in enumerate(rows[0])]
    check_names(header, source.name, min_columns)
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    check_rows(len(filled), header, source.name)
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
            longest = max(
                (letters for letters, _ in found), key=lambda c: (len(c), c), default=b""
            )
            width = sum((c - 64) * 26**k for k, c in enumerate(reversed(longest)))
            if width * depth > _MAX_CELLS:
                problem = f"A sheet reaches over {depth:,} rows and {width:,} columns."
                remedy = "Delete the cells that lie far from the table, or save it as CSV."
                raise source.error(problem, remedy)


def parse_json(source: Source, encoding: str | None) -> Any:
    """Return the one document of a JSON file, or the list of those of a JSONL file."""
    from .text import decode

    text = decode(source, encoding)
    number = 0
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
            if len(lines) < 2 or error.lineno != lines[1][0]:
                raise
        documents = []
        for number, line in lines:  # noqa: B007 (the last one, should it fail)
            documents.append(json.loads(line))
        return documents
    except json.JSONDecodeError as error:
        remedy = "Export it again, as a list of objects or one object a line."
        problem = f"This is not valid JSON: {error.msg.lower()}."
        raise source.error(problem, remedy, line=number or error.lineno) from error
    except (RecursionError, ValueError) as error:  # deeper, or with more digits, than any table
        raise _unreadable(source, "JSON", error) from error


def _read_json(
    document: Any, source: Source, na: Collection[str], min_columns: int
) -> pd.DataFrame:
    """Make a table of records, of columns, or of rows beside their columns' names."""
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        names: Any = document.get("columns")
        rows = document["data"]
        named = isinstance(names, list) and all(isinstance(row, list) for row in rows)
        document = [dict(zip(names, row, strict=False)) for row in rows] if named else rows
    tool = tool_of(document)
    if tool is not None:
        problem = f"This is an export of {tool}: it has labels, but no features."
        remedy = "Name the table of features with --features-from, and what both have with --id."
        raise source.error(problem, remedy)
    parts, kind = (document, dict) if isinstance(document, list) else ([None], list)
    if isinstance(document, dict) and document:
        parts = list(document.values())
        rows = [list(part) if isinstance(part, dict) else None for part in parts]
        if len(rows) > 1 and rows[0] and rows.count(rows[0]) == len(rows):
            kind = dict  # as pandas writes columns: cells by the names of the rows
    if not all(isinstance(part, kind) for part in parts):
        remedy = 'Write a list of objects, such as [{"x": 1.5, "label": "a"}], or one a line.'
        raise source.error("The JSON holds no table.", remedy)
    try:
        frame = pd.DataFrame(document, dtype=object)
    except ValueError as error:  # columns of unequal length
        raise _unreadable(source, "JSON", error) from error
    frame.columns = pd.Index([str(name).strip() for name in frame.columns])
    check_names(list(frame.columns), source.name, min_columns)
    check_rows(len(frame), list(frame.columns), source.name)
    return pd.DataFrame({name: _series(frame[name].tolist(), na) for name in frame.columns})


def _series(cells: Sequence[Any], na: Collection[str]) -> "pd.Series[Any]":
    """Return numbers as floats only where none is lost, since a label may be a huge integer."""
    blank = {"", *na}
    cells = [None if isinstance(c, str) and c.strip() in blank else c for c in cells]
    kinds = {type(cell) for cell in cells} - {type(None)}
    large = any(isinstance(c, int) and abs(c) > 2**53 for c in cells)
    if kinds <= {int, float} and not large:
        return pd.Series(cells, dtype="float64" if float in kinds or None in cells else None)
    return pd.Series(cells, dtype=object)
