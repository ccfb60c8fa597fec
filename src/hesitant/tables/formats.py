"""Tables that are not text: Parquet and Feather, FCS, workbooks; and JSON, which is half text."""

import io
import json
import re
import warnings
import zipfile
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from .annotations import refuse_alone, tool_of
from .errors import TableError, check_names, check_rows, option, quote_all, reason
from .sources import Source, check_size

_ROW_LABELS = re.compile(r"__index_level_\d+__")  # an index that pandas saved without a name
# A compressed buffer of an Arrow file: its length when unpacked, and a frame of LZ4 or Zstandard.
_FRAME = re.compile(rb"(?s)(.{6})\0\0(?:\x04\x22\x4d\x18|\x28\xb5\x2f\xfd)")
_MAX_CELLS = 20_000_000
_CELL = re.compile(rb'<c [^>]*?\br="([A-Z]{1,3})(\d{1,7})"')


def _library(name: str, what: str, extra: str, source: Source) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise TableError(
            source.name,
            f"Reading {what} needs {name.partition('.')[0]}, which is not installed.",
            f"Install it with pip install 'hesitant[{extra}]', or give the table as CSV.",
        ) from error


def _unreadable(source: Source, what: str, why: str) -> TableError:
    return TableError(
        source.name,
        f"This is not a readable {what} file: {why}.",
        "Copy or export it again; if it is in another format, name it with its usual suffix.",
    )


# -- Parquet and Feather --------------------------------------------------------------------------


def read_arrow(source: Source, kind: str, min_columns: int) -> pd.DataFrame:
    """Read a Parquet or Feather (Arrow) file, checked in full before anything is converted."""
    arrow = _library("pyarrow", kind.title(), "cli", source)
    try:
        data = arrow.BufferReader(source.data)
        if kind == "parquet":
            file = import_module("pyarrow.parquet").ParquetFile(data)
            schema, rows = file.schema_arrow, file.metadata.num_rows
        else:
            check_size(
                sum(int.from_bytes(n, "little") for n in _FRAME.findall(source.data)), source
            )
            file = import_module("pyarrow.ipc").open_file(data)
            schema, rows = file.schema, 0
        # the names come with the file's footer: judge them before loading anything
        names = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
        check_names(names, source.name, min_columns)
        check_size(8 * rows * len(names), source)
        table = (file.read() if kind == "parquet" else file.read_all()).select(names)
        check_size(8 * table.num_rows * len(names), source)
        table.validate(full=True)  # a damaged offset would otherwise end the whole process
        # the index that pandas wrote becomes a column again: it may be the label
        frame = table.to_pandas(ignore_metadata=True)
    except (MemoryError, TableError):
        raise
    except Exception as error:  # whatever Arrow thinks of it, the file is at fault
        raise _unreadable(source, kind.title(), reason(error)) from error
    check_rows(len(frame), names, source.name)
    frame.attrs = {}
    return frame


# -- cytometry ------------------------------------------------------------------------------------


def read_fcs(
    source: Source, min_columns: int, transform: str | None, compensate: bool
) -> pd.DataFrame:
    """Read an FCS 2.0, 3.0 or 3.1 file.

    Columns are named by the marker (``$PnS``) with the detector (``$PnN``) beside it. Gains,
    logarithmic amplification and the time step are applied; compensation and a transformation of
    the fluorescence channels if asked for.
    """
    flowio = _library("flowio", "FCS", "fcs", source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of oddities that the checks below decide on
            file = flowio.FlowData(io.BytesIO(source.data))
            detectors = [str(name).strip() for name in file.pnn_labels]
            check_names(detectors, source.name, min_columns)
            check_size(8 * int(file.event_count) * len(detectors), source)
            events = file.as_array()
            markers = [str(name).strip() for name in file.pns_labels]
            fluorescence = list(file.fluoro_indices)
        if events.shape != (file.event_count, len(detectors)):
            raise ValueError(
                f"it announces {file.event_count} events of {len(detectors)} channels "
                f"and holds {events.shape[0]} of {events.shape[1]}"
            )
    except (MemoryError, TableError):
        raise
    except flowio.exceptions.MultipleDataSetsError as error:
        remedy = "Export the one you want to a file of its own."
        raise TableError(source.name, "The file holds several data sets.", remedy) from error
    except Exception as error:  # FlowIO lets through whatever a damaged file provokes
        raise _unreadable(source, "FCS", reason(error)) from error
    check_rows(len(events), detectors, source.name)
    if compensate:
        events = _compensated(events, file.text, detectors, source)
    if transform is not None:
        scales = _library("flowutils.transforms", f"--transform {transform}", "fcs", source)
        parameters = {"t": 262144, "m": 4.5, "a": 0}  # as most cytometers have them
        events = getattr(scales, transform)(events, fluorescence, **parameters)
    pairs = list(zip(markers, detectors, strict=True))
    names = [f"{m} ({d})" if m and m != d else d for m, d in pairs]
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
        raise TableError(
            source.name,
            "The file holds no compensation matrix ($SPILLOVER).",
            f"Leave out {option('compensate', True)}, or compensate where it was recorded.",
        )
    try:
        matrix, channels = library.get_spill(text)
        return library.compensate(events, matrix, [detectors.index(c) for c in channels])
    except (ValueError, IndexError, np.linalg.LinAlgError) as error:
        raise _unreadable(source, "FCS", f"$SPILLOVER makes no sense ({reason(error)})") from error


# -- workbooks ------------------------------------------------------------------------------------


def read_xlsx(source: Source, na: Collection[str], min_columns: int) -> pd.DataFrame:
    """Read the first sheet of a workbook that has any cells."""
    calamine = _library("python_calamine", ".xlsx", "cli", source)
    try:
        _check_extent(source)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = ((name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names)
        name, rows = next(((n, rows) for n, rows in sheets if rows), ("", []))
        others = [other for other in book.sheet_names if other != name]
    except TableError:
        raise
    except BaseException as error:  # a panic of the library is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise _unreadable(source, ".xlsx", reason(error)) from error
    if not rows:
        raise TableError(source.name, "The workbook is empty.", "Check that it was saved.")
    header = [str(cell).strip() or f"Unnamed: {i}" for i, cell in enumerate(rows[0])]
    check_names(header, source.name, min_columns)
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    check_rows(len(filled), header, source.name)
    plain = [[_cell(cell, {"", *na}) for cell in row] for row in filled]
    frame = pd.DataFrame(dict(zip(header, map(_series, zip(*plain, strict=True)), strict=True)))
    frame.attrs["hesitant"] = {}
    if len(filled) == len(rows) - 1:
        frame.attrs["hesitant"]["first_line"] = 2
    if others:
        frame.attrs["hesitant"]["notes"] = [
            f"The sheet {quote_all([name])} was read; the workbook also has {quote_all(others)}."
        ]
    return frame


def _check_extent(source: Source) -> None:
    """Refuse cells so far apart that the table between them would not fit in memory."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for name in archive.namelist():
            if not name.startswith("xl/worksheets/"):
                continue
            width = depth = 0
            for letters, row in _CELL.findall(archive.read(name)):
                column = 0
                for letter in letters:
                    column = 26 * column + letter - 64
                width, depth = max(width, column), max(depth, int(row))
            if width * depth > _MAX_CELLS:
                raise TableError(
                    source.name,
                    f"A sheet reaches over {depth:,} rows and {width:,} columns.",
                    "Delete the cells that lie far from the table, or save it as CSV.",
                )


# -- JSON -----------------------------------------------------------------------------------------


def parse_json(text: str, source: Source) -> Any:
    """Return the one document of a JSON file, or the list of those of a JSONL file."""
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
            if len(lines) < 2 or error.lineno != lines[1][0]:
                raise
        documents = []
        for number, line in lines:
            try:
                documents.append(json.loads(line))
            except json.JSONDecodeError as error:
                error.lineno = number
                raise
        return documents
    except json.JSONDecodeError as error:
        raise TableError(
            source.name,
            f"This is not valid JSON: {error.msg.lower()}.",
            "Export it again, as a list of objects or one object a line.",
            line=error.lineno,
        ) from error
    except (RecursionError, ValueError) as error:  # deeper, or with more digits, than any table
        raise _unreadable(source, "JSON", reason(error)) from error


def read_json(
    document: Any, source: Source, na: Collection[str], min_columns: int
) -> pd.DataFrame:
    """Make a table of records, of columns, or of rows beside their columns' names."""
    if isinstance(document, dict):
        if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
            document = [
                dict(zip(document["columns"], row, strict=False)) for row in document["data"]
            ]
        elif isinstance(document.get("data"), list):
            document = document["data"]
        elif document and all(isinstance(v, list) for v in document.values()):
            lengths = {len(v) for v in document.values()}
            if len(lengths) > 1:
                raise _unreadable(source, "JSON", "its columns are not of one length")
            document = [
                dict(zip(document, row, strict=True))
                for row in zip(*document.values(), strict=True)
            ]
    tool = tool_of(document)
    if tool is not None:
        raise refuse_alone(tool, source.name)
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise TableError(
            source.name,
            "The JSON holds no table.",
            'Write a list of objects, such as [{"x": 1.5, "label": "a"}], or one object a line.',
        )
    names = list(dict.fromkeys(str(name).strip() for row in document for name in row))
    check_names(names, source.name, min_columns)
    check_rows(len(document), names, source.name)
    columns: dict[str, list[Any]] = {name: [None] * len(document) for name in names}
    for i, row in enumerate(document):
        for name, cell in row.items():
            columns[str(name).strip()][i] = _cell(cell, {"", *na})
    return pd.DataFrame({name: _series(cells) for name, cells in columns.items()})


def _cell(cell: Any, blank: Collection[str]) -> Any:
    return None if isinstance(cell, str) and cell.strip() in blank else cell


def _series(cells: Sequence[Any]) -> Any:
    """Return numbers as floats only where none is lost, since a label may be a huge integer."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    large = any(isinstance(c, int) and abs(c) > 2**53 for c in cells)
    if kinds <= {int, float} and not large:
        return pd.Series(cells, dtype="float64" if float in kinds or None in cells else None)
    return pd.Series(cells, dtype=object)
