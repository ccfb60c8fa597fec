"""Small SVG charts that take their colours from the page, in light and in dark.

A chart is text with a handful of CSS classes: it prints sharp, weighs a few kilobytes, and a
screen reader hears its title. Nothing in it runs.
"""

import html
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hesitant._typing import FloatArray

__all__ = ["Chart", "nice_ticks"]

_serial = itertools.count(1)
_DOT = "h.1"  # of no length at all, some printers leave it out


class Chart:
    """One panel: a frame, two linear axes, and marks in data coordinates.

    Parameters
    ----------
    x, y : pair of float
        The ranges of the axes.
    x_label, y_label : str
        What they measure.
    title : str
        What the picture shows, for those who cannot see it.
    width, height : int
        Size in pixels, before the page scales it.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str,
        y_label: str,
        title: str,
        width: int = 300,
        height: int = 230,
    ) -> None:
        self.x, self.y = _widened(x), _widened(y)
        self.x_label, self.y_label, self.title = x_label, y_label, title
        self.width, self.height = width, height
        # a wide chart shrinks on a phone, where its text is set larger: it needs the room
        self.left, self.bottom = (48, 40) if width < 500 else (66, 54)
        self.right, self.top = 8, 8
        self._marks: list[str] = []

    # -- marks ----------------------------------------------------------------------------------

    def line(self, xs: Any, ys: Any, css: str) -> None:
        """Draw a line, broken where it is not finite."""
        px, py = self._px(xs), self._py(ys)
        finite = np.isfinite(px) & np.isfinite(py)
        parts = [
            "M" + "L".join(f"{_n(px[i])},{_n(py[i])}" for i in run)
            for run in _runs(finite)
            if len(run) > 1
        ]
        if parts:
            self._marks.append(f'<path class="line {css}" d="{"".join(parts)}"/>')

    def area(self, xs: Any, low: Any, high: Any, css: str) -> None:
        """Fill between two curves, where both are finite."""
        px, lo, hi = self._px(xs), self._py(low), self._py(high)
        finite = np.isfinite(px) & np.isfinite(lo) & np.isfinite(hi)
        for run in _runs(finite):
            there = [f"{_n(px[i])},{_n(hi[i])}" for i in run]
            back = [f"{_n(px[i])},{_n(lo[i])}" for i in reversed(run)]
            self._marks.append(f'<path class="area {css}" d="M{"L".join(there + back)}Z"/>')

    def polygons(self, rings: Iterable[FloatArray], css: str) -> None:
        """Fill rings of vertices (k, 2); a ring inside another is a hole."""
        parts = []
        for ring in rings:
            px, py = self._px(ring[:, 0]), self._py(ring[:, 1])
            points = "L".join(f"{_n(a)},{_n(b)}" for a, b in zip(px, py, strict=True))
            parts.append(f"M{points}Z")
        if parts:
            self._marks.append(
                f'<path class="region {css}" fill-rule="evenodd" d="{"".join(parts)}"/>'
            )

    def dots(self, xs: Any, ys: Any, css: str) -> None:
        """Draw many points as one path: the caps of a very short stroke make a dot."""
        px, py = self._px(xs), self._py(ys)
        path = "".join(f"M{_n(a)},{_n(b)}{_DOT}" for a, b in zip(px, py, strict=True))
        if path:
            self._marks.append(f'<path class="dots {css}" d="{path}"/>')

    def named_dots(self, xs: Any, ys: Any, names: Sequence[str], css: str) -> None:
        """Draw points that tell their name when the pointer rests on them."""
        px, py = self._px(xs), self._py(ys)
        marks = "".join(
            f'<path d="M{_n(a)},{_n(b)}{_DOT}"><title>{html.escape(name)}</title></path>'
            for a, b, name in zip(px, py, names, strict=True)
        )
        if marks:
            self._marks.append(f'<g class="dots {css}">{marks}</g>')

    def rings(self, xs: Any, ys: Any, names: Sequence[str]) -> None:
        """Draw circles around points, with names as above."""
        px, py = self._px(xs), self._py(ys)
        self._marks += [
            f'<circle class="ring" cx="{_n(a)}" cy="{_n(b)}" r="5">'
            f"<title>{html.escape(name)}</title></circle>"
            for a, b, name in zip(px, py, names, strict=True)
        ]

    # -- the whole ------------------------------------------------------------------------------

    def svg(self) -> str:
        """Return the chart as an SVG element."""
        name = f"chart-{next(_serial)}"
        frame = (self.left, self.top, self._inner_width, self._inner_height)
        x, y, w, h = frame
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-labelledby="{name}"><title id="{name}">{html.escape(self.title)}</title>'
            f'<clipPath id="{name}-clip"><rect x="{x}" y="{y}" width="{w}" height="{h}"/>'
            f"</clipPath>{self._axes()}"
            f'<g clip-path="url(#{name}-clip)">{"".join(self._marks)}</g></svg>'
        )

    @property
    def _inner_width(self) -> int:
        return self.width - self.left - self.right

    @property
    def _inner_height(self) -> int:
        return self.height - self.top - self.bottom

    def _axes(self) -> str:
        base, end = self.height - self.bottom, self.width - self.right
        tick_y, label_x = round(base + 0.38 * self.bottom), round(0.23 * self.left)
        parts = []
        for value in nice_ticks(*self.x):
            at = _n(float(self._px(value)))
            parts.append(f'<path class="grid" d="M{at},{self.top}V{base}"/>')
            parts.append(
                f'<text class="tick" x="{at}" y="{tick_y}" text-anchor="middle">'
                f"{_tick(value)}</text>"
            )
        for value in nice_ticks(*self.y):
            at = _n(float(self._py(value)))
            parts.append(f'<path class="grid" d="M{self.left},{at}H{end}"/>')
            parts.append(
                f'<text class="tick" x="{self.left - 7}" y="{at}" dy="0.32em" text-anchor="end">'
                f"{_tick(value)}</text>"
            )
        middle_x = self.left + self._inner_width / 2
        middle_y = self.top + self._inner_height / 2
        parts.append(
            f'<text class="axis" x="{_n(middle_x)}" y="{self.height - 7}" text-anchor="middle">'
            f"{html.escape(self.x_label)}</text>"
        )
        parts.append(
            f'<text class="axis" transform="translate({label_x},{_n(middle_y)})rotate(-90)" '
            f'text-anchor="middle">{html.escape(self.y_label)}</text>'
        )
        return "".join(parts)

    def _px(self, value: Any) -> Any:
        low, high = self.x
        return self.left + (np.asarray(value, float) - low) / (high - low) * self._inner_width

    def _py(self, value: Any) -> Any:
        low, high = self.y
        share = (np.asarray(value, float) - low) / (high - low)
        return self.height - self.bottom - share * self._inner_height


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two ends.

    Examples
    --------
    >>> nice_ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _tick(value: float) -> str:
    text = f"{value:.6g}"
    if "e" not in text and abs(value) >= 10_000:
        text = f"{value:,.0f}"
    return text.replace("-", "−")


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    """Return a range of some width, whatever was measured."""
    low, high = float(ends[0]), float(ends[1])
    if high - low > 1e-12 * max(abs(low), abs(high), 1e-300):
        return low, high
    reach = abs(low) * 0.05 or 0.5
    return low - reach, low + reach


def _runs(keep: Any) -> list[list[int]]:
    """Return the stretches of positions where a mask holds."""
    out: list[list[int]] = []
    for inside, group in itertools.groupby(range(len(keep)), key=lambda i: bool(keep[i])):
        if inside:
            out.append(list(group))
    return out


def _n(value: float) -> str:
    """Return a coordinate to a tenth of a pixel, in as few characters as possible."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
