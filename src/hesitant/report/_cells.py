"""What tables of a page are made of."""

import dataclasses
from collections.abc import Sequence

from hesitant._words import count, number, p_value, percent, short

__all__ = [
    "Cell",
    "Column",
    "HtmlTable",
    "count_cell",
    "name_cell",
    "number_cell",
    "p_cell",
    "percent_cell",
]


UNBROKEN = 24  # characters of a name that stay on one line, also on a phone


@dataclasses.dataclass(frozen=True)
class Column:
    """A column's heading, and whether it holds numbers."""

    name: str
    number: bool = True


@dataclasses.dataclass(frozen=True)
class Cell:
    """What a cell shows, what it sorts by, what more it can say, and whether it may break."""

    text: str
    sort: float | None = None
    full: str = ""
    swatch: str = ""
    bar: float | None = None
    tight: bool = False


@dataclasses.dataclass(frozen=True)
class HtmlTable:
    """A table, ready to print."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False
    tall: bool = False
    title: str = ""
    total: str = ""
    folded: bool = False


def name_cell(text: object, css: str = "", limit: int = 40) -> Cell:
    """Show a name, shortened; pointing at it shows more."""
    whole = str(text)
    shown = short(whole, limit)
    full = short(whole, 120) if shown != whole else ""
    return Cell(shown, full=full, swatch=css, tight=len(shown) <= UNBROKEN)


def count_cell(value: int) -> Cell:
    """Show a count."""
    return Cell(count(value), sort=value)


def percent_cell(value: float | None, bar: bool = False) -> Cell:
    """Show a share, with a bar of that length if wanted."""
    share = None if value is None else round(100 * value, 2)
    return Cell(percent(value), sort=value, bar=share if bar else None)


def p_cell(value: float | None) -> Cell:
    """Show a p-value."""
    return Cell(p_value(value).removeprefix("p ").removeprefix("= "), sort=value)


def number_cell(value: float | None, digits: int = 4) -> Cell:
    """Show a number."""
    return Cell(number(value, digits), sort=value)
