"""The one exception for a mistake in a user's file, and the words its messages are made of."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = ["TableError", "close_names", "option", "quote", "quote_all", "show_path", "ways"]

_SHOWN = 60  # characters of a cell or a name that a message repeats


class TableError(ValueError):
    """A table that cannot be read, used or written, and what to do about it.

    Parameters
    ----------
    source : str
        The file as the user named it.
    problem : str
        What is wrong, as a sentence.
    remedy : str
        What to do, as a sentence.
    row : int or None, default=None
        The data row, counted from 1 without the header.
    line : int or None, default=None
        The line of the file, counted from 1.
    column : str or None, default=None
        The column's name.

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
        self.source = source
        self.problem = problem
        self.remedy = remedy
        self.row = row
        self.line = line
        self.column = column

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
    r"""Show a cell or a name: quoted, shortened, control characters escaped.

    Examples
    --------
    >>> quote("CD3\n")
    "'CD3\\n'"
    """
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def quote_all(values: Iterable[object], *, limit: int = 6) -> str:
    """Show the first few values and count the others.

    Examples
    --------
    >>> quote_all("abcd", limit=2)
    "'a', 'b' and 2 more"
    """
    values = list(values)
    shown = ", ".join(quote(value) for value in values[:limit])
    more = len(values) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def show_path(path: str) -> str:
    """Show a path as it is, or quoted where it would garble a terminal."""
    return path if path.isprintable() and len(path) <= 400 else quote(path)


def option(name: str, value: object = "") -> str:
    """Name an option for both who type commands and who write Python.

    Parameters
    ----------
    name : str
        The parameter.
    value : object, default=""
        What to set it to in Python, for an option that takes no value on the command line.

    Examples
    --------
    >>> option("on_missing"), option("force", True)
    ('--on-missing (on_missing= in Python)', '--force (force=True in Python)')
    """
    return f"--{name.replace('_', '-')} ({name}={value} in Python)"


def ways(*out: str) -> str:
    """Make a remedy of the ways out of a problem; empty ones do not count.

    Examples
    --------
    >>> ways("fill the cell in", "", "leave the row out")
    'Fill the cell in, or leave the row out.'
    """
    text = ", or ".join(way for way in out if way)
    return f"{text[:1].upper()}{text[1:]}."


def close_names(name: str, candidates: Sequence[str], *, limit: int = 3) -> list[str]:
    """Find the candidates most like a name; case and surrounding blanks do not count.

    Examples
    --------
    >>> close_names("populaton", ["id", "Population "])
    ['Population ']
    """

    # long names are cut, because the comparison is quadratic in their length
    def plain(text: str) -> str:
        return text.strip().casefold()[:100]

    by_plain: dict[str, str] = {}
    for candidate in candidates:
        by_plain.setdefault(plain(candidate), candidate)
    return [by_plain[match] for match in get_close_matches(plain(name), by_plain, n=limit)]
