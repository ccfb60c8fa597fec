"""Parquet and Feather tables, through pyarrow."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pandas as pd

from .errors import TableError
from .shape import check_names, check_rows

__all__ = ["read_feather", "read_parquet"]

_ROW_LABELS = re.compile(r"__index_level_\d+__")  # an index that pandas saved without a name


def read_parquet(data: bytes, source: str, *, min_columns: int) -> pd.DataFrame:
    """Read the bytes of a Parquet file."""

    def open_table(arrow: Any) -> tuple[Any, Callable[[], Any]]:
        file = import_module("pyarrow.parquet").ParquetFile(arrow.BufferReader(data))
        return file.schema_arrow, file.read

    return _read("Parquet", open_table, source, min_columns)


def read_feather(data: bytes, source: str, *, min_columns: int) -> pd.DataFrame:
    """Read the bytes of a Feather (Arrow) file."""

    def open_table(arrow: Any) -> tuple[Any, Callable[[], Any]]:
        file = import_module("pyarrow.ipc").open_file(arrow.BufferReader(data))
        return file.schema, file.read_all

    return _read("Feather", open_table, source, min_columns)


def _read(
    kind: str,
    open_table: Callable[[Any], tuple[Any, Callable[[], Any]]],
    source: str,
    min_columns: int,
) -> pd.DataFrame:
    try:
        arrow = import_module("pyarrow")
    except ImportError as error:
        raise TableError(
            source,
            f"Reading {kind} needs pyarrow, which is not installed.",
            "Install it with pip install 'hesitant[cli]', or give the table as CSV.",
        ) from error
    try:
        schema, read = open_table(arrow)
        # the names come with the file's footer: judge them before loading anything
        names = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
        check_names(names, source, min_columns)
        # the index that pandas wrote becomes a column again: it may be the label
        frame = read().select(names).to_pandas(ignore_metadata=True)
    except (MemoryError, TableError):
        raise
    except Exception as error:  # whatever Arrow thinks of it, the file is at fault
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise TableError(
            source,
            f"This is not a readable {kind} file: {reason}.",
            "Copy or export it again; if it is in another format, name it with its usual suffix.",
        ) from error
    check_rows(len(frame), names, source)
    frame.attrs = {}
    return frame
