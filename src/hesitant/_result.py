"""What every result is: an object that prints, tabulates, plots and turns into plain data.

A result says what it contains once, as paragraphs and tables; text and HTML are two printers of
the same content, and neither needs an optional library.
"""

import dataclasses
import html
import itertools
import math
import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

__all__ = ["Result", "Table", "number", "percent", "plain"]

WIDTH = 88
LONGEST = 30  # rows of a table that is read and not searched


@dataclasses.dataclass(frozen=True)
class Table:
    """A header and rows of values, with a caption above.

    Of many rows the first are printed, and ``rest`` says where to find all of them.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    rest: str = ".to_frame()"

    @property
    def shown(self) -> Sequence[Sequence[Any]]:
        """The rows to print; a few too many are no reason to cut."""
        return self.rows if len(self.rows) <= LONGEST + 2 else self.rows[:LONGEST]

    @property
    def left_out(self) -> str:
        """What to say of the others; empty if there are none."""
        more = len(self.rows) - len(self.shown)
        return f"... and {more:,} more: {self.rest} has them all" if more else ""


class Result:
    """Base of the result objects; each is a frozen dataclass that writes :meth:`_content`."""

    title: ClassVar[str]

    @abstractmethod
    def _content(self) -> Iterator[str | Table]:
        """Yield what there is to say: paragraphs and tables."""

    @abstractmethod
    def to_frame(self) -> Any:
        """Return the numbers as a pandas data frame."""

    @abstractmethod
    def plot(self) -> Any:
        """Draw the result; return a display with its figure and axes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists, numbers and strings, fit for JSON."""
        shown = [f.name for f in dataclasses.fields(self) if f.repr]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in shown}

    def __str__(self) -> str:
        parts = [f"{self.title}\n{'=' * len(self.title)}"]
        for part in self._content():
            parts.append(_text_table(part) if isinstance(part, Table) else _wrap(part))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<h4>{html.escape(self.title)}</h4>"]
        for is_item, group in itertools.groupby(self._content(), _is_item):
            inner = "".join(map(_html_part, group))
            parts.append(f"<ul>{inner}</ul>" if is_item else inner)
        return f'<div class="hesitant-result">{"".join(parts)}</div>'


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: arrays as lists, what is not finite as None."""
    if isinstance(value, Result):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def number(value: Any, digits: int = 4) -> str:
    """Return a value as a table prints it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,d}"
    size = abs(float(value))
    if 1e3 <= size < 1e9:  # one of four digits may be a year
        return f"{value:{',' if size >= 1e4 else ''}.1f}".removesuffix(".0")
    return f"{value:.{digits}g}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.{digits}f} %"


def _wrap(paragraph: str) -> str:
    return textwrap.fill(
        paragraph, WIDTH, subsequent_indent="  " if paragraph.startswith("* ") else ""
    )


def _is_item(part: str | Table) -> bool:
    return isinstance(part, str) and part.startswith("* ")


def _html_part(part: str | Table) -> str:
    if isinstance(part, Table):
        return _html_table(part)
    if _is_item(part):
        return f"<li>{html.escape(part[2:])}</li>"
    return f"<p>{html.escape(part)}</p>"


def _cells(table: Table) -> list[list[str]]:
    return [list(table.header), *([number(v) for v in row] for row in table.shown)]


def _is_text(table: Table) -> list[bool]:
    """Tell columns of words, which align left, from columns of numbers."""
    return [
        all(isinstance(row[k], str) for row in table.shown) if table.rows else True
        for k in range(len(table.header))
    ]


def _text_table(table: Table) -> str:
    cells = _cells(table)
    widths = [max(len(row[k]) for row in cells) for k in range(len(table.header))]
    words = _is_text(table)
    lines = [_line(row, widths, words) for row in cells]
    lines.insert(1, "-" * max(map(len, lines)))
    if table.left_out:
        lines.append(table.left_out)
    if table.caption:
        lines.insert(0, _wrap(table.caption))
    return "\n".join(lines)


def _line(row: Iterable[str], widths: Sequence[int], words: Sequence[bool]) -> str:
    padded = (
        c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, widths, words, strict=True)
    )
    return "  ".join(padded).rstrip()


def _html_table(table: Table) -> str:
    # Inline alignment only: the page around it may have any style.
    aligned = ["left" if left else "right" for left in _is_text(table)]

    def row(values: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="text-align:{a}">{html.escape(v)}</{tag}>'
            for v, a in zip(values, aligned, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    header, *body = _cells(table)
    caption = f"<caption>{html.escape(table.caption)}</caption>" if table.caption else ""
    rows = "".join(row(r, "td") for r in body)
    foot = ""
    if table.left_out:
        cell = f'<td colspan="{len(header)}">{html.escape(table.left_out)}</td>'
        foot = f"<tfoot><tr>{cell}</tr></tfoot>"
    head = f"<thead>{row(header, 'th')}</thead>"
    return f"<table>{caption}{head}<tbody>{rows}</tbody>{foot}</table>"
