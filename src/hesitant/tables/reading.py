"""`read_table`: any supported table, as a data frame."""

import re
from collections.abc import Collection
from pathlib import PurePath

import pandas as pd

from .errors import EMPTY, TOO_LARGE, TableError, check_names, option, quote, quote_all
from .sources import Source, TableSource, load, unpack

# What R, pandas, SQL and spreadsheets write for an absent value. "None" is not among them: it is
# also what an expert may write for "none of these", and no common tool writes it for a blank.
BLANK_CELLS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
_SUFFIXES = {f".{kind}": kind for kind in FORMATS} | {
    ".txt": "csv",
    ".tab": "tsv",
    ".pq": "parquet",
    ".arrow": "feather",
    ".ndjson": "jsonl",
}
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
    packed = load(source)
    try:
        frame = _read(packed, format, encoding, delimiter, decimal, na, text, min_columns)
    except MemoryError as error:
        raise TableError(packed.name, *TOO_LARGE) from error
    frame.attrs["hesitant"] = {"source": packed.name, **frame.attrs.get("hesitant", {})}
    return frame


def _read(
    packed: Source,
    kind: str | None,
    encoding: str | None,
    delimiter: str | None,
    decimal: str | None,
    na: Collection[str],
    text: Collection[str],
    min_columns: int,
) -> pd.DataFrame:
    from . import formats
    from .text import decode, read_delimited

    content = unpack(packed) if packed.data else packed
    if not content.data or content.data.isspace():
        raise TableError(packed.name, *EMPTY)
    kind = kind or recognise(content)
    given = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    if kind not in ("csv", "tsv"):
        wrong = [name for name, value in given.items() if value is not None]
        if kind in ("json", "jsonl"):
            wrong = [name for name in wrong if name != "encoding"]
        if wrong:
            raise TableError(
                packed.name,
                f"{quote_all(wrong)} only apply to text tables, and this is {quote(kind)}.",
                f"Leave out {option(wrong[0])}.",
            )
    if kind in ("parquet", "feather"):
        return formats.read_arrow(content, kind, min_columns)
    if kind == "fcs":
        return formats.read_fcs(content, min_columns)
    if kind == "xlsx":
        return formats.read_xlsx(content, min_columns)
    words = decode(content, encoding)
    if kind in ("json", "jsonl"):
        return formats.read_json(formats.parse_json(words, content), content, na, min_columns)
    frame = read_delimited(
        words,
        packed.name,
        delimiter=delimiter or ("\t" if kind == "tsv" else None),
        decimal=decimal,
        na=na,
        as_text=text,
    )
    check_names(list(frame.columns), packed.name, min_columns)
    return frame


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
