"""Tables in, files out: everything between a user's file and the arrays of a fit.

`sources` gives bytes or text, `reading` makes a data frame of them, `selection` and `cells` take
its columns apart, and `output` writes files, whole sets of them or none. Every mistake in a user's
file is a `TableError`, which says where and what to do.
"""

from typing import TYPE_CHECKING, Any

from hesitant._optional import find_lazily

from .errors import TableError
from .output import sha256_of, write_atomically, write_csv, write_table, write_together

if TYPE_CHECKING:
    from .reading import read_table
    from .selection import Columns, select_columns

__all__ = ["Columns", "TableError", "read_table", "select_columns", "sha256_of"]
__all__ += ["write_atomically", "write_csv", "write_table", "write_together"]


def __getattr__(name: str) -> Any:
    # saving a model or a report needs `write_atomically` but not pandas, which is an extra
    rooms = {"Columns": "selection", "read_table": "reading", "select_columns": "selection"}
    return find_lazily(__name__, name, {k: f"{__name__}.{room}" for k, room in rooms.items()})
