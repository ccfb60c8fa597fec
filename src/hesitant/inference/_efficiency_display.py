"""What the pattern buys, as dots."""

from typing import Any, Self

import numpy as np

from hesitant.inference._drawing import BLANK, GREY, Drawing, class_color, drawing, new_figure

__all__ = ["EfficiencyDisplay"]

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
    """

    def __init__(self, result: Any) -> None:
        self.result = result

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        r = self.result
        y = np.arange(len(r.parameters))
        with drawing():
            if axes is None:
                self.figure_ = new_figure(8.6, max(2.6, 1.1 + 0.2 * y.size))
                axes = self.figure_.subplots(1, 2, width_ratios=[3, 2])
            self.axes_ = np.asarray(axes, dtype=object).ravel()
            self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
            left, right = self.axes_
            left.axvline(1, color=GREY, linewidth=0.7, linestyle=":")
            for way in ("ignorance", "full"):
                label, marker, color = _STYLE[way]
                ratio = r.std_errors[way] / r.std_errors["complete"]
                left.plot(ratio, y, marker, color=color, markersize=5, label=label)
            left.set_yticks(y, r.parameters)
            left.set_ylim(y.size - 0.4, -0.6)
            left.set_xlabel("standard error, relative to complete labels")
            left.set_title("(a) Parameters")
            left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.995), ncols=2, borderpad=0)
            self._error_rates(right)
        return self

    def _error_rates(self, ax: Any) -> None:
        r = self.result
        mc = r.monte_carlo_error
        ax.axhline(r.bayes_error, color=GREY, linewidth=0.9, linestyle="--")
        ax.text(2.45, r.bayes_error, "Bayes error", color=GREY, va="top", ha="right")
        for k, way in enumerate(_STYLE):
            _, marker, color = _STYLE[way]
            rate = r.bayes_error + r.excess_error[way]
            ax.vlines(k, r.bayes_error, rate, color=color, linewidth=1)
            error = mc[f"excess {way}"]
            ax.errorbar(k, rate, yerr=error, fmt=marker, color=color, markersize=6, linewidth=1)
        ax.set_xticks(range(3), ["all labels", "labels\ngiven", "labels and\npattern"])
        highest = max(r.excess_error.values())
        ax.set(xlim=(-0.5, 2.5), ylim=(r.bayes_error - 0.12 * highest, None))
        ax.set_ylabel(f"expected error rate, n = {r.n_rows:,}")
        ax.set_title("(b) Fitted rule")
