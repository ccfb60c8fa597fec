"""Tables in, files out: everything between a user's file and the arrays of a fit.

`sources` gives bytes or text, `reading` makes a data frame of them, `selection` and `cells` take
its columns apart, and `output` writes files, whole sets of them or none. Every mistake in a user's
file is a `TableError`, which says where and what to do.
"""

from functools import partial
from typing import TYPE_CHECKING

from hesitant._optional import find_lazily

from .errors import TableError
from .output import sha256_of, write_atomically, write_csv, write_table, write_together

if TYPE_CHECKING:
    from .reading import read_table
    from .selection import Columns, select_columns

__all__ = ["Columns", "TableError", "read_table", "select_columns", "sha256_of"]
__all__ += ["write_atomically", "write_csv", "write_table", "write_together"]

# Saving a model or a report needs `write_atomically` but not pandas, which is an extra.
_LAZY = dict.fromkeys(("Columns", "select_columns"), "tables.selection")
_LAZY["read_table"] = "tables.reading"
__getattr__ = partial(find_lazily, __name__, rooms=_LAZY)
