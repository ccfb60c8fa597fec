"""Estimates with their intervals, as dots and bars."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import GREY, Drawing, class_color, drawing, new_figure
from hesitant._typing import FloatArray

__all__ = ["IntervalDisplay", "chosen"]


def chosen(names: Sequence[str], part: str | None) -> list[int]:
    """Return the places of names that contain a part, all by default."""
    keep = [k for k, name in enumerate(names) if (part or "") in name]
    if not keep:
        raise ValueError(
            f"parameters={part!r} is part of no parameter's name; names are such as "
            f"{', '.join(names[:3])}."
        )
    return keep


class IntervalDisplay(Drawing):
    """Dots with bars, one panel for each kind of parameter since their units differ.

    Parameters
    ----------
    names : list of str
        Such as ``mean[a, x0]``; the part before the bracket is the kind.
    estimate, lower, upper : arrays
        An infinite bound is an arrow to the edge; where a bound is NaN there is no bar.
    caption : str
    """

    def __init__(
        self,
        names: list[str],
        estimate: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        caption: str = "",
    ) -> None:
        if not len(names):
            raise ValueError(
                "There is no parameter to draw: `parameters` is part of none of the names that "
                "the result's own .parameters lists."
            )
        self.names, self.caption = list(names), caption
        self.estimate, self.lower, self.upper = estimate, lower, upper

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure with a panel for each kind of parameter."""
        kinds: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            kinds.setdefault("" if ax is not None else name.split("[")[0], []).append(k)
        with drawing():
            if ax is not None:
                self.figure_, self.axes_ = ax.figure, np.array([ax])
            else:
                sizes = [len(v) for v in kinds.values()]
                self.figure_ = new_figure(5.2, 0.9 + 0.19 * sum(sizes) + 0.32 * len(sizes))
                grid = self.figure_.subplots(
                    len(sizes), 1, height_ratios=[s + 0.6 for s in sizes], squeeze=False
                )
                self.axes_ = grid[:, 0]
            self.ax_ = self.axes_[0]
            for panel, places in zip(self.axes_, kinds.values(), strict=True):
                self._panel(panel, places)
            self.axes_[-1].set_xlabel(self.caption)
        return self

    def _panel(self, ax: Any, places: list[int]) -> None:
        y = np.arange(len(places))
        middle, lower, upper = (v[places] for v in (self.estimate, self.lower, self.upper))
        known = ~(np.isnan(lower) | np.isnan(upper))
        ends = np.concatenate((middle, lower[known], upper[known]))
        ends = ends[np.isfinite(ends)]
        low, high = (ends.min(), ends.max()) if ends.size else (0.0, 0.0)
        reach = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
        if low < 0 < high:
            ax.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
        color = class_color(0)
        left, right = np.clip((lower[known], upper[known]), low - reach, high + reach)
        ax.hlines(y[known], left, right, color=color, linewidth=1.5)
        for marker, edge, endless in (
            ("<", low - reach, known & np.isneginf(lower)),
            (">", high + reach, known & np.isposinf(upper)),
        ):
            for place in y[endless]:  # one by one: without any, the layout would have no size
                ax.plot(edge, place, marker, color=color, markersize=5, clip_on=False)
        ax.plot(middle, y, "o", color=color, markersize=4)
        ax.set_yticks(y, [self.names[k] for k in places])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlim(low - reach, high + reach)
