"""Limits and checks that every table passes, whatever its format."""

from collections import Counter
from collections.abc import Sequence

from .errors import TableError, option, quote, quote_all

__all__ = ["EMPTY", "MAX_COLUMNS", "TOO_LARGE", "check_names", "check_rows", "looks_like_data"]

# A mixture fit needs a covariance matrix over the features, so nobody fits more than this;
# reading such a table would only use up the memory before the error.
MAX_COLUMNS = 20_000

EMPTY = ("The file is empty.", "Check that it was written, and that this is the right one.")
TOO_LARGE = (
    "The table does not fit in memory.",
    "Keep the columns you need, or a sample of the rows.",
)


def check_names(names: Sequence[str], source: str, min_columns: int) -> None:
    """Refuse tables that are too wide, too narrow or name a column twice."""
    if len(names) > MAX_COLUMNS:
        raise TableError(
            source,
            f"The table has {len(names):,} columns; the limit is {MAX_COLUMNS:,}.",
            "Transpose it if rows and columns are swapped, or keep the columns you need.",
        )
    if len(names) < min_columns:
        found = f"only one column, {quote(names[0])}" if names else "no columns"
        raise TableError(
            source,
            f"The table has {found}, and needs at least {min_columns}.",
            "A label and a feature go in separate columns; if they are separated by another "
            f"character, name it with {option('delimiter')}.",
        )
    counts = Counter(names)
    if len(counts) < len(names):
        repeated = [name for name, count in counts.items() if count > 1]
        where = [str(i) for i, name in enumerate(names, 1) if name == repeated[0]]
        hint = _NO_HEADER if looks_like_data(names) else "Give every column its own name."
        raise TableError(
            source,
            f"{len(repeated)} column name(s) occur more than once: {quote_all(repeated)}; "
            f"the first stands in columns {', '.join(where[:6])}.",
            hint,
        )


def check_rows(rows: int, names: Sequence[str], source: str) -> None:
    """Refuse tables without rows."""
    if rows == 0:
        raise TableError(
            source,
            f"The table has a header ({len(names)} columns: {quote_all(names)}) but no rows.",
            "Check that the export was complete.",
        )


_NO_HEADER = "The first line looks like data: put a line with the columns' names above it."


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether most names are numbers, as when the header line is missing.

    Examples
    --------
    >>> looks_like_data(["5.1", "3.5", "setosa"])
    True
    """

    def is_number(name: str) -> bool:
        try:
            float(name)
        except ValueError:
            return False
        return True

    return 2 * sum(map(is_number, names)) > len(names)
