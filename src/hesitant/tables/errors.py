"""The one exception for a mistake in a user's file, and the words its messages are made of."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hesitant._words import listed, printable

_SHOWN = 60  # characters of a cell or a name that a message repeats
# A fit needs a covariance matrix over the features: reading more would only use up the memory.
MAX_COLUMNS = 20_000


class TableError(ValueError):
    """A table that cannot be read, used or written, and what to do about it.

    Attributes are the file (``source``), what is wrong and what to do (``problem``, ``remedy``),
    and where: the data ``row``, counted from 1 without the header, the ``line`` and the
    ``column``, or None.

    >>> print(TableError("cells.csv", "The cell is blank.", "Fill it in.", row=3, line=4))
    cells.csv, row 3 (line 4): The cell is blank. Fill it in.
    """

    def __init__(
        self,
        source: object,
        problem: str,
        remedy: str,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        # all arguments are kept in `args`, so that the exception survives pickling
        super().__init__(source, problem, remedy, row, line, column)
        self.problem, self.remedy = printable(problem), printable(remedy)
        self.source, self.row, self.line, self.column = show_path(source), row, line, column

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        row = f"row {self.row}{line and f' ({line})'}" if self.row else line
        column = f"column {quote(self.column)}" if self.column is not None else ""
        place = ", ".join(filter(None, (self.source, row, column)))
        return f"{place}: {self.problem} {self.remedy}"


def quote(value: object) -> str:
    """Show a cell or a name: quoted, shortened, control characters escaped."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def quote_all(values: Iterable[object], *, limit: int = 6) -> str:
    return listed([quote(value) for value in values], limit)


def show_path(path: object) -> str:
    """Show a path as it is, or quoted where it would garble a terminal."""
    return str(path) if str(path).isprintable() and len(str(path)) <= 400 else quote(path)


def reason(error: BaseException) -> str:
    """Return what a library says of a file, as a short part of a sentence."""
    text = str(error).partition("\n")[0].replace(" b'", " '")  # names, not bytes
    text = printable(text).strip(" .") or type(error).__name__
    return text if len(text) <= 2 * _SHOWN else text[: 2 * _SHOWN] + "…"


def option(name: str, value: object = "") -> str:
    """Name an option for both who type commands and who write Python."""
    return f"--{name.replace('_', '-')} ({name}={value} in Python)"


def ways(*out: str) -> str:
    """Make a remedy of the ways out of a problem; empty ones do not count."""
    text = ", or ".join(filter(None, out))
    return f"{text[:1].upper()}{text[1:]}."


def check_shape(names: Sequence[str], source: str, min_columns: int = 1, rows: int = 1) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if len(names) > MAX_COLUMNS:
        problem = f"The table has {len(names):,} columns; the limit is {MAX_COLUMNS:,}."
        remedy = "Transpose it if rows and columns are swapped, or keep the columns you need."
    elif len(names) < min_columns:
        found = f"only one column, {quote(names[0])}" if names else "no columns"
        problem = f"The table has {found}, and needs at least {min_columns}."
        remedy = f"If something else separates columns, name it with {option('delimiter')}."
    elif repeated:
        where = ", ".join([str(i) for i, name in enumerate(names, 1) if name == repeated[0]][:6])
        problem = f"Column names occur more than once: {quote_all(repeated)} (in columns {where})."
        remedy = "Give every column its own name."
        if looks_like_data(names):
            remedy = "The first line looks like data: put a line with the columns' names above it."
    elif not rows:
        problem = f"The table has a header ({len(names)} columns: {quote_all(names)}) but no rows."
        remedy = "Check that the export was complete."
    else:
        return
    raise TableError(source, problem, remedy)


def looks_like_data(names: Sequence[str]) -> bool:
    return 2 * sum(map(is_number, names)) > len(names)


def is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False
