"""`read_table`: any supported table, as a data frame."""

import os
import re
from collections.abc import Collection
from pathlib import PurePath
from typing import Any

import pandas as pd

from . import formats
from .cells import BLANK_CELLS
from .errors import EMPTY, TOO_LARGE, TableError, check_names, option, quote, quote_all, show_path
from .sources import Source, TableSource, load, unpack
from .text import decode, read_delimited

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
_SUFFIXES = {f".{kind}": kind for kind in FORMATS} | {
    ".txt": "csv",
    ".tab": "tsv",
    ".pq": "parquet",
    ".arrow": "feather",
    ".ndjson": "jsonl",
}
_TEXT_OPTIONS = {"encoding", "delimiter", "decimal"}
_FCS = re.compile(rb"FCS\d\.\d {4}")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*[\[{\]]|\{\s*[\"}])")


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
        A path, an open file, or ``"-"`` for standard input.
    format : str or None, default=None
        "csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather" or "fcs"; None tells the format
        from the content, then from the file's suffix.
    encoding : str or None, default=None
        The encoding of a text table; None is UTF-8 unless a byte-order mark says otherwise.
    delimiter : str or None, default=None
        What separates the cells of a text table; None chooses among comma, semicolon, tab and
        bar (TSV: tab).
    decimal : {".", ","} or None, default=None
        The decimal mark of a text table; None recognises decimal commas where the cells are not
        separated by commas.
    na : collection of str, default=BLANK_CELLS
        Cells of a text table that stand for an absent value, blanks around them or not; empty
        cells always do.
    text : collection of str, default=()
        Columns of a text table to keep as text, so that an identifier ``007`` stays ``"007"``.
        Names that the table lacks are left to `select_columns` to report.
    min_columns : int, default=2
        Fewer columns than this are an error: a training table needs a label and a feature.
    transform : {"logicle", "asinh"} or None, default=None
        The scale of the fluorescence channels of an FCS file.
    compensate : bool, default=False
        Whether to undo spillover by the matrix that an FCS file holds.

    Returns
    -------
    pandas.DataFrame
        The table. `DataFrame.attrs` holds the file's name under ``"hesitant"``, for messages.

    Raises
    ------
    TableError
        Whenever the table cannot be read; the message says where and what to do.

    Notes
    -----
    Surrounding blanks of column names are removed. Text that `write_csv` guarded against
    spreadsheets (an apostrophe before ``=``, ``+``, ``-``, ``@``) is restored.

    Examples
    --------
    >>> import io
    >>> read_table(io.BytesIO(b"CD3;population\n0,5;T\n0,1;\n"))
       CD3 population
    0  0.5          T
    1  0.1        NaN
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
        _refuse_options(content.name, kind, [k for k, value in given.items() if value is not None])
        if kind in ("parquet", "feather"):
            frame = formats.read_arrow(content, kind, min_columns)
        elif kind == "fcs":
            frame = formats.read_fcs(content, min_columns, transform, compensate)
        elif kind == "xlsx":
            frame = formats.read_xlsx(content, na, min_columns)
        elif kind in ("json", "jsonl"):
            document = formats.parse_json(decode(content, encoding), content)
            frame = formats.read_json(document, content, na, min_columns)
        else:
            delimiter = delimiter or ("\t" if kind == "tsv" else None)
            words = decode(content, encoding)
            frame = read_delimited(words, content.name, delimiter, decimal, na, text)
            check_names(list(frame.columns), content.name, min_columns)
    except MemoryError as error:
        raise TableError(show_path(name), *TOO_LARGE) from error
    frame.attrs["hesitant"] = {"source": content.name, **frame.attrs.get("hesitant", {})}
    return frame


def open_source(source: TableSource) -> Source:
    """Read and unpack a file, and refuse an empty one."""
    packed = load(source)
    content = unpack(packed) if packed.data else packed
    if not content.data or content.data.isspace():
        raise TableError(packed.name, *EMPTY)
    return content


def _refuse_options(source: str, kind: str, given: list[str]) -> None:
    """Refuse options that a format has no use for."""
    useful = {"csv": _TEXT_OPTIONS, "tsv": _TEXT_OPTIONS, "fcs": {"transform", "compensate"}}
    useful |= {"json": {"encoding"}, "jsonl": {"encoding"}}
    wrong = [name for name in given if name not in useful.get(kind, ())]
    if wrong:
        only = "FCS files" if wrong[0] in useful["fcs"] else "text tables"
        raise TableError(
            source,
            f"{quote_all(wrong)} only apply to {only}, and this is {quote(kind)}.",
            f"Leave out {option(wrong[0])}.",
        )


def recognise(source: Source) -> str:
    """Tell the format from the content where that is certain, else from the suffix."""
    data = source.data
    if _FCS.match(data):
        return "fcs"
    # a CSV may well start with a column called PAR1, but it has no zero bytes
    if data.startswith(b"PAR1") and b"\0" in data:
        return "parquet"
    if data.startswith(b"ARROW1\0"):
        return "feather"
    if data.startswith(b"PK\x03\x04"):
        return "xlsx"
    if _JSON.match(data):
        return "json"
    return _SUFFIXES.get(PurePath(source.filename).suffix.lower(), "csv")
