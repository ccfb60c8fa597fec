"""A data frame that knows its columns by name and can say where in the file a row stands."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import TableError, close_names, quote, quote_all
from .shape import check_names, looks_like_data

__all__ = ["Sheet"]


class Sheet:
    """A view of a data frame for `select_columns`, with errors that name the place.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, best from `read_table`, which notes the file's name, first line and decimal
        mark.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        note = frame.attrs.get("hesitant", {})
        self.source: str = note.get("source", "the table")
        self.decimal: str = note.get("decimal", ".")
        self._is_numbered = bool(note) and frame.index.dtype.kind in "iu"
        self._first_line: int | None = note.get("first_line") if self._is_numbered else None
        self._frame = frame
        self.names = [str(name) for name in frame.columns]
        check_names(self.names, self.source, min_columns=1)
        self._position = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self._frame)

    def column(self, name: str) -> "pd.Series[Any]":
        """Return a column that is known to exist."""
        return self._frame.iloc[:, self._position[name]]

    def require(self, names: Iterable[str], asked: str) -> None:
        """Refuse names that the table lacks, and suggest what may be meant.

        Parameters
        ----------
        names : iterable of str
            The columns.
        asked : str
            Who asks for them, as the end of "the table lacks columns ...".
        """
        absent = [name for name in names if name not in self._position]
        if not absent:
            return
        close = close_names(absent[0], self.names)
        if close:
            remedy = f"Did you mean {quote_all(close)}?"
        else:
            remedy = f"The columns are {quote_all(self.names, limit=12)}."
        if looks_like_data(self.names):
            remedy += " They look like data: the header line may be missing."
        what = "a column" if len(absent) == 1 else "columns"
        raise self.error(f"The table lacks {what} {asked}: {quote_all(absent)}.", remedy)

    def error(
        self, problem: str, remedy: str, *, position: int | None = None, column: str | None = None
    ) -> TableError:
        """Make an error about the table, or about one row by its position in the frame."""
        row = None if position is None else self.row(position)
        line = self._first_line + row - 1 if self._first_line and row else None
        return TableError(self.source, problem, remedy, row=row, line=line, column=column)

    def row(self, position: int) -> int:
        """Return the number of a row in the file, counted from 1 without the header."""
        # a selection of the rows that were read keeps the numbers they had
        return int(self._frame.index[position] if self._is_numbered else position) + 1

    def rows(self, mask: npt.NDArray[np.bool_], *, limit: int = 5) -> str:
        """Name the first rows of a mask."""
        found = np.flatnonzero(mask)
        shown = ", ".join(str(self.row(int(i))) for i in found[:limit])
        more = ", …" if len(found) > limit else ""
        return f"{'row' if len(found) == 1 else 'rows'} {shown}{more}"

    def blank(self, name: str) -> npt.NDArray[np.bool_]:
        """Tell which cells of a column hold nothing: absent values and white space."""
        column = self.column(name)
        blank = column.isna().to_numpy(dtype=bool)
        if column.dtype.kind in "biufcmM":
            return blank
        return blank | np.fromiter(
            (isinstance(cell, str) and not cell.strip() for cell in column), bool, len(column)
        )

    def describe(self, name: str, position: int) -> str:
        """Quote one cell."""
        return quote(self.column(name).iloc[position])
