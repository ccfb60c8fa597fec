"""Numbers, names and tables as a reader likes them, and the base of every result."""

import dataclasses
import difflib
import html
import math
import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

from hesitant._optional import need

_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"  # of emoji, and of several scripts
WIDTH = 88
MOST_ROWS = 30  # rows of a table that is read and not searched


def decimals(value: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """Return a number with this many decimals: −1,234.57, or +0.50 if signed."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")


def noun(value: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: 1 row, 1,200 rows."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names in a row; of many, the first few and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(share: float | None, digits: int = 1, *, whole: bool = False) -> str:
    """Return a share as a percentage that claims no certainty; one that was chosen, ``whole``."""
    if share is None or math.isnan(share):
        return "–"
    if 0 < share < 0.0005 or 0.9995 <= share < 1:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    text = f"{100 * share:.{digits}f}"
    return f"{text.removesuffix('.0') if whole else text} %"


def p_value(p: float | None) -> str:
    """Return a p-value as a sentence has it: p = 0.032, p < 0.0001."""
    if p is None or math.isnan(p):
        return "not tested"
    if p < 1e-4:
        return "p < 0.0001"
    return "p > 0.99" if p >= 0.995 else f"p = {p:.2g}"  # rounded, it would be 1


def printable(text: str, keep: str = "", instead: str = "·") -> str:
    """Return text without characters that could steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or c in _JOINERS else instead for c in text)


def short(name: object, limit: int = 40) -> str:
    """Return a name as one line of decent length; the start and the end tell names apart."""
    text = " ".join(str(name).split()) or "(blank)"
    text = printable(text, instead="\N{REPLACEMENT CHARACTER}")
    head, tail = limit // 2, limit - limit // 2 - 1
    return text if len(text) <= limit else f"{text[:head]}…{text[len(text) - tail :]}"


def shorten_in(text: str, names: list[str]) -> str:
    """Return text with every long one of these names shortened."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, short(name))
    return text


def did_you_mean(name: object, known: Iterable[str], most: int = 1) -> str:
    """Return a hint at similar known names, ignoring case and blanks; empty if there are none."""

    def plain(text: object) -> str:  # cut, because the comparison is quadratic in the length
        return str(text).strip().casefold()[:100]

    by_plain = {plain(candidate): candidate for candidate in reversed(list(known))}
    found = difflib.get_close_matches(plain(name), by_plain, n=most)
    near = ", ".join(repr(by_plain[k][:100]) for k in found)
    return f" Did you mean {near}?" if near else ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A header and rows; if there are many, the first are printed and ``rest`` has all."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    rest: str = ".to_frame()"

    @classmethod
    def of(cls, columns: Mapping[str, Any], caption: str = "") -> "Table":
        return cls(list(columns), list(zip(*columns.values(), strict=True)), caption)

    @property
    def cells(self) -> list[list[str]]:
        """Header and rows as they are printed; a table that is hardly too long is not cut."""
        shown = self.rows if len(self.rows) <= MOST_ROWS + 2 else self.rows[:MOST_ROWS]
        return [list(self.header), *([number(v) for v in row] for row in shown)]

    @property
    def left_out(self) -> str:
        """What to say of the other rows; empty if there are none."""
        more = len(self.rows) + 1 - len(self.cells)
        return f"... and {more:,} more: {self.rest} has them all" if more else ""

    @property
    def words(self) -> list[bool]:
        """Which columns are words, and align left; numbers align right."""
        shown = self.rows[: MOST_ROWS + 2]
        return [all(isinstance(row[k], str) for row in shown) for k in range(len(self.header))]

    def as_text(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.cells, strict=True)]
        sides = ["<" if left else ">" for left in self.words]
        pad = [f"{{:{side}{w}}}" for side, w in zip(sides, widths, strict=True)]
        lines = ["  ".join(pad).format(*row).rstrip() for row in self.cells]
        lines.insert(1, "-" * max(map(len, lines)))
        caption = [_wrap(self.caption)] if self.caption else []
        return "\n".join([*caption, *lines, *filter(None, [self.left_out])])

    def as_html(self) -> str:
        # aligned inline: the page around it may have any style
        sides = [f'style="text-align:{"left" if left else "right"}"' for left in self.words]

        def row(values: Sequence[str], tag: str) -> str:
            cells = zip(sides, map(html.escape, values), strict=True)
            return f"<tr>{''.join(f'<{tag} {side}>{v}</{tag}>' for side, v in cells)}</tr>"

        header, *body = self.cells
        caption = self.caption and f"<caption>{html.escape(self.caption)}</caption>"
        rows = f"<tbody>{''.join(row(r, 'td') for r in body)}</tbody>"
        rest = f'<tfoot><tr><td colspan="{len(header)}">{self.left_out}</td></tr></tfoot>'
        foot = self.left_out and rest
        return f"<table>{caption}<thead>{row(header, 'th')}</thead>{rows}{foot}</table>"


class Result:
    """Base of the result objects: dataclasses that say what they contain, ``remarks`` last."""

    title: ClassVar[str]

    @abstractmethod
    def _content(self) -> Iterator[str | Table]:
        """Yield what there is to say: paragraphs (list items start with ``*``) and tables."""

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the numbers as a pandas data frame."""
        return need("pandas", "data").DataFrame(self._columns())

    @abstractmethod
    def plot(self) -> Any:
        """Draw the result; return a display with its figure and axes."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists, numbers and strings, fit for JSON."""
        return cast(dict[str, Any], plain(self))

    def _parts(self) -> list[str | Table]:
        return [*self._content(), *(f"* {remark}" for remark in getattr(self, "remarks", ()))]

    def __str__(self) -> str:
        parts = [p.as_text() if isinstance(p, Table) else _wrap(p) for p in self._parts()]
        text = "\n\n".join([f"{self.title}\n{'=' * len(self.title)}", *parts])
        return printable(text, keep="\n")  # names must not steer a terminal

    __repr__ = __str__

    def _repr_html_(self) -> str:
        page = f"<h4>{html.escape(self.title)}</h4>"
        for part in self._parts():
            if isinstance(part, Table):
                page += part.as_html()
            else:
                text, item = html.escape(part.removeprefix("* ")), part.startswith("* ")
                page += f"<ul><li>{text}</li></ul>" if item else f"<p>{text}</p>"
        return f'<div class="hesitant-result">{page}</div>'


def _wrap(paragraph: str) -> str:
    return textwrap.fill(paragraph, WIDTH, subsequent_indent="  " * paragraph.startswith("* "))


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: arrays as lists, what is not finite as None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def number(value: Any, digits: int = 4) -> str:
    if value is None or value != value:
        return "-"
    value = value.item() if hasattr(value, "item") else value  # of NumPy's types the plain one
    if isinstance(value, str | bool):
        return value if isinstance(value, str) else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,d}"
    size = abs(float(value))
    if 1e3 <= size < 1e9:  # one of four digits may be a year
        return f"{value:{',' if size >= 1e4 else ''}.1f}".removesuffix(".0")
    return f"{value:.{digits}g}"
