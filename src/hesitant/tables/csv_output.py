"""`write_csv`: tables that a spreadsheet may open without harm."""

import bz2
import csv
import gzip
import io
import lzma
import os
from numbers import Number
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from .atomic import write_atomically
from .spreadsheet_guard import guard

__all__ = ["write_csv"]


def write_csv(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    force: bool = False,
    delimiter: str = ",",
) -> Path:
    r"""Write a data frame as CSV in UTF-8, whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its index is not written.
    path : str or path
        The file; the suffixes ``.gz``, ``.bz2`` and ``.xz`` pack it.
    force : bool, default=False
        Whether to replace an existing file.
    delimiter : str, default=","
        What separates the cells.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    TableError
        If the file exists already or cannot be written.

    Notes
    -----
    Text (cells and column names) that a spreadsheet would evaluate, because it starts with ``=``,
    ``+``, ``-``, ``@``, a tab or a line break, gets an apostrophe in front; `read_table` takes it
    away again. Numbers are written exactly and untouched, negative ones too. All text is quoted,
    so that delimiters and line breaks inside a cell stay there. Absent values are empty cells. The
    same table always gives the same bytes, packed or not.

    Examples
    --------
    >>> import tempfile
    >>> frame = pd.DataFrame({"x": [-1.5], "label": ["=cmd()"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_csv(frame, folder + "/out.csv").read_text())
    "x","label"
    -1.5,"'=cmd()"
    <BLANKLINE>
    """
    safe = _guarded(frame)
    suffix = Path(path).suffix.lower()

    def write(file: BinaryIO) -> None:
        with (
            _packed(file, suffix) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            safe.to_csv(
                text,
                index=False,
                sep=delimiter,
                quoting=csv.QUOTE_NONNUMERIC,
                lineterminator="\n",
            )

    return write_atomically(path, write, force=force)


def _guarded(frame: pd.DataFrame) -> pd.DataFrame:
    columns: dict[int, Any] = {}  # by position, because names may repeat
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position].reset_index(drop=True)
        is_number = column.dtype.kind in "biuf"
        # as objects to the end: pandas would make 1.0 of a whole number among blanks
        columns[position] = (
            column
            if is_number
            else pd.Series([_guard_cell(cell) for cell in column.astype(object)], dtype=object)
        )
    safe = pd.DataFrame(columns)
    safe.columns = pd.Index([guard(str(name)) for name in frame.columns], dtype=object)
    return safe


def _guard_cell(cell: Any) -> Any:
    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return None
    if isinstance(cell, Number):
        return cell
    return guard(str(cell))


def _packed(file: BinaryIO, suffix: str) -> Any:
    if suffix == ".gz":
        # neither name nor time: the same table gives the same bytes
        return gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    return _Uncloseable(file)


class _Uncloseable(io.RawIOBase):
    """A file that stays open when the text layer above it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)
