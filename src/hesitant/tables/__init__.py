"""Tables in, files out: everything between a user's file and the arrays of a fit.

The way of a table: `sources` gives bytes, `reading` and `text` make data frames of them,
`selection` and `cells` take the columns apart, and `output` writes files, whole sets of them or
none. Every mistake in a user's file is a `TableError`, which says where and what to do.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import TableError
from .output import sha256_of, write_atomically, write_csv, write_table, write_together

if TYPE_CHECKING:
    from .reading import read_table
    from .selection import Columns, select_columns

__all__ = ["Columns", "TableError", "read_table", "select_columns", "sha256_of"]
__all__ += ["write_atomically", "write_csv", "write_table", "write_together"]

# Saving a model or a report needs `write_atomically` but not pandas, which is an extra:
# what does need pandas is imported on first use.
_NEED_PANDAS = {"Columns": "selection", "read_table": "reading", "select_columns": "selection"}


def __getattr__(name: str) -> Any:
    if name not in _NEED_PANDAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_NEED_PANDAS[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow"):
            raise
        needs = f"{__name__}.{name} needs {error.name}: pip install 'hesitant[data]'"
        raise ImportError(needs) from error
