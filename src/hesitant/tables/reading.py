"""`read_table`: any supported table, as a data frame."""

import re
from collections.abc import Collection
from pathlib import PurePath

import pandas as pd

from .columnar import read_feather, read_parquet
from .compression import unpack
from .cytometry import read_fcs
from .delimited import read_delimited, resolve_delimiter
from .errors import TableError, option, quote, quote_all
from .shape import EMPTY, TOO_LARGE
from .sources import Source, TableSource, load
from .text_encoding import to_utf8

__all__ = ["BLANK_CELLS", "FORMATS", "read_table"]

# What R, pandas, SQL and spreadsheets write for an absent value. "None" is not among them: it is
# also what an expert may write for "none of these", and no common tool writes it for a blank.
BLANK_CELLS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")

FORMATS = ("csv", "tsv", "parquet", "feather", "fcs")
_BINARY = {"parquet": read_parquet, "feather": read_feather, "fcs": read_fcs}
_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".fcs": "fcs",
}
_FCS = re.compile(rb"FCS\d\.\d {4}")


def read_table(
    source: TableSource,
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    na: Collection[str] = BLANK_CELLS,
    text: Collection[str] = (),
    min_columns: int = 2,
) -> pd.DataFrame:
    r"""Read a table from a file, a stream or standard input.

    CSV, TSV, Parquet, Feather and FCS (with the extra ``fcs``) are read, also packed with gzip,
    bzip2, xz or zip.

    Parameters
    ----------
    source : str, path or file object
        A path, an open file, or ``"-"`` for standard input.
    format : {"csv", "tsv", "parquet", "feather", "fcs"} or None, default=None
        The format; None tells it from the content, then from the file's suffix.
    encoding : str or None, default=None
        The encoding of a text table; None is UTF-8 unless a byte-order mark says otherwise.
    delimiter : str or None, default=None
        What separates the cells of a text table; None chooses among comma, semicolon, tab and
        bar (TSV: tab).
    decimal : {".", ","}, default="."
        The decimal mark of a text table.
    na : collection of str, default=BLANK_CELLS
        Cells of a text table that stand for an absent value, blanks around them or not; empty
        cells always do.
    text : collection of str, default=()
        Columns of a text table to keep as text, so that an identifier ``007`` stays ``"007"``.
        Names that the table lacks are left to `select_columns` to report.
    min_columns : int, default=2
        Fewer columns than this are an error: a training table needs a label and a feature.

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
    >>> read_table(io.BytesIO(b"CD3;population\n0.5;T\n0.1;\n"))
       CD3 population
    0  0.5          T
    1  0.1        NaN
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or None, got {format!r}")
    if isinstance(text, str) or isinstance(na, str):
        raise TypeError("text and na must be collections of str, not a str")
    packed = load(source)
    try:
        content = unpack(packed) if packed.data else packed
        if not content.data or content.data.isspace():
            raise TableError(packed.name, *EMPTY)
        kind = format or _recognise(content)
        if kind in _BINARY:
            _refuse_text_options(packed.name, kind, encoding, delimiter, decimal)
            frame = _BINARY[kind](content.data, packed.name, min_columns=min_columns)
        else:
            if delimiter is not None:
                delimiter = resolve_delimiter(delimiter, packed.name)
            frame = read_delimited(
                to_utf8(content, encoding),
                packed.name,
                delimiter=delimiter or ("\t" if kind == "tsv" else None),
                decimal=decimal,
                na=na,
                text=text,
                min_columns=min_columns,
            )
    except MemoryError as error:
        raise TableError(packed.name, *TOO_LARGE) from error
    frame.attrs["hesitant"] = {"source": packed.name, **frame.attrs.get("hesitant", {})}
    return frame


def _recognise(source: Source) -> str:
    """Tell the format from the content where that is certain, else from the suffix."""
    data = source.data
    if _FCS.match(data):
        return "fcs"
    # a CSV may well start with a column called PAR1, but it has no zero bytes
    if data.startswith(b"PAR1") and b"\0" in data:
        return "parquet"
    if data.startswith(b"ARROW1\0"):
        return "feather"
    return _SUFFIXES.get(PurePath(source.filename).suffix.lower(), "csv")


def _refuse_text_options(
    source: str, kind: str, encoding: str | None, delimiter: str | None, decimal: str
) -> None:
    given = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    wrong = [name for name, value in given.items() if value not in (None, ".")]
    if wrong:
        raise TableError(
            source,
            f"{quote_all(wrong)} only apply to text tables, and this is {quote(kind)}.",
            f"Leave out {option(wrong[0])}.",
        )
