"""Tables in, files out: everything between a user's file and the arrays of a fit.

The rooms, in the order a table passes through them::

    sources, compression      a path, a stream or ``-``  ->  bytes
    text_encoding, row_scan,
    delimited                 bytes of CSV and TSV       ->  data frame
    columnar, cytometry       Parquet, Feather, FCS      ->  data frame
    reading                   `read_table`, which chooses among the above
    selection                 `select_columns`: data frame -> the arrays a fit needs
    table_output, csv_output  `write_table`, `write_csv`: files a spreadsheet may open
    atomic                    `write_atomically`: whole files or none
    checksum                  `sha256_of`

Every mistake in a user's file is a `TableError`, which says where and what to do.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .atomic import write_atomically
from .checksum import sha256_of
from .errors import TableError

if TYPE_CHECKING:
    from .csv_output import write_csv
    from .reading import read_table
    from .selection import Columns, select_columns
    from .table_output import write_table

__all__ = [
    "Columns",
    "TableError",
    "read_table",
    "select_columns",
    "sha256_of",
    "write_atomically",
    "write_csv",
    "write_table",
]

# Saving a model or a report needs `write_atomically` but not pandas, which is an extra:
# what does need pandas is imported on first use.
_NEED_PANDAS = {
    "Columns": "selection",
    "read_table": "reading",
    "select_columns": "selection",
    "write_csv": "csv_output",
    "write_table": "table_output",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_PANDAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_NEED_PANDAS[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError(
            f"{__name__}.{name} needs pandas: pip install 'hesitant[data]'"
        ) from error


def __dir__() -> list[str]:
    return __all__
