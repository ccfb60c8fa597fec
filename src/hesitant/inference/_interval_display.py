"""Estimates with their intervals, as dots and bars."""

from typing import Any, Self

import numpy as np

from hesitant._typing import FloatArray
from hesitant.inference._drawing import GREY, Drawing, class_color, drawing, new_figure

__all__ = ["IntervalDisplay"]


class IntervalDisplay(Drawing):
    """Dots with bars, one panel for each kind of parameter since their units differ.

    Parameters
    ----------
    names : list of str
        Such as ``mean[a, x0]``; the part before the bracket is the kind.
    estimate, lower, upper : arrays
        A bound that is not finite is drawn to the edge.
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
        middle = self.estimate[places]
        finite = np.concatenate((middle, self.lower[places], self.upper[places]))
        finite = finite[np.isfinite(finite)]
        low, high = finite.min(), finite.max()
        reach = 0.06 * (high - low) + 1e-12
        left = np.maximum(np.nan_to_num(self.lower[places], neginf=low - reach), low - reach)
        right = np.minimum(np.nan_to_num(self.upper[places], posinf=high + reach), high + reach)
        if low < 0 < high:
            ax.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
        ax.hlines(y, left, right, color=class_color(0), linewidth=1.5)
        ax.plot(middle, y, "o", color=class_color(0), markersize=4)
        ax.set_yticks(y, [self.names[k] for k in places])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlim(low - reach, high + reach)
