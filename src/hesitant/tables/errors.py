"""The one exception for a mistake in a user's file, and the words its messages are made of."""

from collections import Counter
from collections.abc import Iterable, Sequence

from hesitant._words import printable

_SHOWN = 60  # characters of a cell or a name that a message repeats
# A fit needs a covariance matrix over the features: reading more would only use up the memory.
MAX_COLUMNS = 20_000


class TableError(ValueError):
    """A table that cannot be read, used or written, and what to do about it.

    Attributes are the file (``source``), what is wrong and what to do (``problem``, ``remedy``),
    and where: the data ``row``, counted from 1 without the header, the ``line`` and the
    ``column``, or None.

    Examples
    --------
    >>> print(TableError("cells.csv", "The cell is blank.", "Fill it in.", row=3, line=4))
    cells.csv, row 3 (line 4): The cell is blank. Fill it in.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        remedy: str,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        # all arguments are kept in `args`, so that the exception survives pickling
        super().__init__(source, problem, remedy, row, line, column)
        self.source, self.problem, self.remedy = map(printable, (source, problem, remedy))
        self.row, self.line, self.column = row, line, column

    def __str__(self) -> str:
        place = [self.source]
        if self.row is not None:
            place.append(f"row {self.row}" + (f" (line {self.line})" if self.line else ""))
        elif self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {quote(self.column)}")
        return f"{', '.join(place)}: {self.problem} {self.remedy}"


def quote(value: object) -> str:
    """Show a cell or a name: quoted, shortened, control characters escaped."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def quote_all(values: Iterable[object], *, limit: int = 6) -> str:
    """Show the first few values and count the others."""
    values = list(values)
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(map(quote, values[:limit])) + more


def show_path(path: str) -> str:
    """Show a path as it is, or quoted where it would garble a terminal."""
    return path if path.isprintable() and len(path) <= 400 else quote(path)


def reason(error: BaseException) -> str:
    """Return what a library says of a file, as a short part of a sentence."""
    text = printable(str(error).partition("\n")[0]).strip(" .") or type(error).__name__
    return text if len(text) <= 2 * _SHOWN else text[: 2 * _SHOWN] + "…"


def option(name: str, value: object = "") -> str:
    """Name an option for both who type commands and who write Python."""
    return f"--{name.replace('_', '-')} ({name}={value} in Python)"


def ways(*out: str) -> str:
    """Make a remedy of the ways out of a problem; empty ones do not count."""
    text = ", or ".join(filter(None, out))
    return f"{text[:1].upper()}{text[1:]}."


def empty(source: str) -> TableError:
    """Make the error for a file with nothing in it."""
    remedy = "Check that it was written, and that this is the right one."
    return TableError(source, "The file is empty.", remedy)


def check_names(names: Sequence[str], source: str, min_columns: int) -> None:
    """Refuse tables that are too wide, too narrow or name a column twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if len(names) > MAX_COLUMNS:
        problem = f"The table has {len(names):,} columns; the limit is {MAX_COLUMNS:,}."
        remedy = "Transpose it if rows and columns are swapped, or keep the columns you need."
    elif len(names) < min_columns:
        found = f"only one column, {quote(names[0])}" if names else "no columns"
        problem = f"The table has {found}, and needs at least {min_columns}."
        remedy = (
            "A label and a feature go in separate columns; if they are separated by another "
            f"character, name it with {option('delimiter')}."
        )
    elif repeated:
        where = [str(i) for i, name in enumerate(names, 1) if name == repeated[0]]
        problem = (
            f"{len(repeated)} column name(s) occur more than once: {quote_all(repeated)}; "
            f"the first stands in columns {', '.join(where[:6])}."
        )
        remedy = "Give every column its own name."
        if looks_like_data(names):
            remedy = "The first line looks like data: put a line with the columns' names above it."
    else:
        return
    raise TableError(source, problem, remedy)


def check_rows(rows: int, names: Sequence[str], source: str) -> None:
    """Refuse tables without rows."""
    if rows == 0:
        problem = f"The table has a header ({len(names)} columns: {quote_all(names)}) but no rows."
        raise TableError(source, problem, "Check that the export was complete.")


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether most names are numbers, as when the header line is missing."""
    return 2 * sum(map(is_number, names)) > len(names)


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
