"""What the pattern buys, as dots."""

from typing import Any, Self

import numpy as np

from hesitant._drawing import BLANK, GREY, Drawing, class_color, drawing, new_figure
from hesitant._typing import IntArray
from hesitant.inference._interval_display import chosen

__all__ = ["EfficiencyDisplay"]

# More dots than this make a figure that fits no page.
MOST = 40

_STYLE = {
    "complete": ("all labels", "D", BLANK),
    "ignorance": ("labels given", "o", class_color(1)),
    "full": ("labels given and pattern", "s", class_color(0)),
}


class EfficiencyDisplay(Drawing):
    """Standard errors relative to complete labels, and expected error rates.

    Parameters
    ----------
    result : Efficiency
    parameters : str, optional
        Only parameters whose name contains this.
    """

    def __init__(self, result: Any, parameters: str | None = None) -> None:
        self.result, self.parameters = result, parameters

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        shown, n_left_out = self._shown()
        with drawing():
            own = axes is None
            if own:
                self.figure_ = self._new_figure(shown)
                axes = self.figure_.subplots(1, 2, width_ratios=[3, 2])
            self.axes_ = np.asarray(axes, dtype=object).ravel()
            self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
            left, right = self.axes_
            self._errors(left, shown, n_left_out)
            # Below the axes no name, however long, pushes it into a title; but only a figure of
            # one's own has room there.
            if own:
                handles, labels = left.get_legend_handles_labels()
                self.figure_.legend(handles, labels, loc="outside lower left", ncols=2)
            else:
                left.legend(loc="best")
            self._error_rates(right)
        return self

    def _shown(self) -> tuple[IntArray, int]:
        """Return which parameters to draw, and how many more there would be."""
        r = self.result
        keep = np.array(chosen(r.parameters, self.parameters), dtype=int)
        cost = (r.std_errors["ignorance"] / r.std_errors["complete"])[keep]
        most = np.sort(keep[np.argsort(-cost, kind="stable")[:MOST]])
        return most, keep.size - most.size

    def _new_figure(self, shown: IntArray) -> Any:
        longest = max(len(self.result.parameters[k]) for k in shown)
        width = 8.6 + 0.06 * np.clip(longest - 24, 0, 60)
        return new_figure(width, max(2.9, 1.4 + 0.2 * shown.size))

    def _errors(self, ax: Any, shown: IntArray, n_left_out: int) -> None:
        r = self.result
        y = np.arange(shown.size)
        ax.axvline(1, color=GREY, linewidth=0.7, linestyle=":")
        for way in ("ignorance", "full"):
            label, marker, color = _STYLE[way]
            ratio = (r.std_errors[way] / r.std_errors["complete"])[shown]
            ax.plot(ratio, y, marker, color=color, markersize=5, label=label)
        ax.set_yticks(y, [r.parameters[k] for k in shown])
        ax.set_ylim(y.size - 0.4, -0.6)
        caption = "standard error, relative to complete labels"
        if n_left_out:
            caption += f"\n(left out: {n_left_out:,} with smaller increases)"
        ax.set_xlabel(caption)
        ax.set_title("(a) Parameters")

    def _error_rates(self, ax: Any) -> None:
        r = self.result
        mc = r.monte_carlo_error
        ax.set_xticks(range(3), ["all labels", "labels\ngiven", "labels and\npattern"])
        ax.set_xlim(-0.5, 2.5)
        ax.set_ylabel(f"expected error rate, n = {r.n_rows:,}")
        ax.set_title("(b) Fitted rule")
        if not np.isfinite([r.bayes_error, *r.excess_error.values()]).all():
            ax.set_yticks([])
            ax.text(1, 0.5, "not known:\nsee the remarks", color=GREY, va="center", ha="center")
            ax.set_ylim(0, 1)
            return
        ax.axhline(r.bayes_error, color=GREY, linewidth=0.9, linestyle="--")
        ax.annotate(
            "Bayes error",
            (2.45, r.bayes_error),
            xytext=(0, -3),
            textcoords="offset points",
            color=GREY,
            va="top",
            ha="right",
        )
        for k, way in enumerate(_STYLE):
            _, marker, color = _STYLE[way]
            rate = r.bayes_error + r.excess_error[way]
            ax.vlines(k, r.bayes_error, rate, color=color, linewidth=1)
            error = mc[f"excess {way}"]
            ax.errorbar(k, rate, yerr=error, fmt=marker, color=color, markersize=6, linewidth=1)
        highest = max(r.excess_error.values())
        if highest > 0:
            ax.set_ylim(r.bayes_error - 0.12 * highest, None)
