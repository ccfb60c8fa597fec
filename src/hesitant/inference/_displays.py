"""Results of inference as dots and bars: intervals, models side by side, what the pattern buys."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import BLANK, GREY, Drawing, as_text, class_color, drawing
from hesitant._typing import FloatArray, IntArray

MOST = 40  # parameters; more dots than this make a figure that fits no page

_STYLE = {
    "complete": ("all labels", "D", BLANK),
    "ignorance": ("labels given", "o", class_color(1)),
    "full": ("labels given and pattern", "s", class_color(0)),
}


def chosen(names: Sequence[str], part: str | None) -> list[int]:
    """Return the places of names that contain a part, all by default."""
    keep = [k for k, name in enumerate(names) if (part or "") in name]
    if not keep:
        raise ValueError(
            f"parameters={part!r} is part of no parameter's name; names are such as "
            f"{', '.join(names[:3])}."
        )
    return keep


def _one_a_line(ax: Any, names: Sequence[str]) -> None:
    """Write a name at each height, the first on top."""
    ax.set_yticks(range(len(names)), [as_text(name, 80) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)


def _zero_line(ax: Any, at: float = 0) -> None:
    ax.axvline(at, color=GREY, linewidth=0.7, linestyle=":")


@dataclasses.dataclass(repr=False, eq=False)
class IntervalDisplay(Drawing):
    """Dots with bars, one panel for each kind of parameter since their units differ.

    The kind is the part of a name before its bracket. An infinite bound is an arrow to the edge;
    where a bound is NaN there is no bar.
    """

    names: list[str]
    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    caption: str = ""

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure with a panel for each kind of parameter."""
        kinds: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            kinds.setdefault("" if ax is not None else name.split("[")[0], []).append(k)
        with drawing():
            sizes = [len(v) for v in kinds.values()]
            height = 0.9 + 0.19 * sum(sizes) + 0.32 * len(sizes)
            self._use(ax, (5.2, height), len(sizes), 1, height_ratios=[s + 0.6 for s in sizes])
            for panel, places in zip(self.axes_, kinds.values(), strict=True):
                self._panel(panel, places)
            self.axes_[-1].set_xlabel(self.caption)
        return self

    def _panel(self, ax: Any, places: list[int]) -> None:
        y, color = np.arange(len(places)), class_color(0)
        middle, lower, upper = (v[places] for v in (self.estimate, self.lower, self.upper))
        known = ~(np.isnan(lower) | np.isnan(upper))
        ends = np.concatenate((middle, lower[known], upper[known]))
        ends = ends[np.isfinite(ends)]
        low, high = (ends.min(), ends.max()) if ends.size else (0.0, 0.0)
        reach = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
        if low < 0 < high:
            _zero_line(ax)
        left, right = np.clip((lower[known], upper[known]), low - reach, high + reach)
        ax.hlines(y[known], left, right, color=color, linewidth=1.5)
        for marker, edge, endless in (
            ("<", low - reach, known & np.isneginf(lower)),
            (">", high + reach, known & np.isposinf(upper)),
        ):
            for place in y[endless]:  # one by one: without any, the layout would have no size
                ax.plot(edge, place, marker, color=color, markersize=5, clip_on=False)
        ax.plot(middle, y, "o", color=color, markersize=4)
        _one_a_line(ax, [self.names[k] for k in places])
        ax.set_xlim(low - reach, high + reach)


class ComparisonDisplay(Drawing):
    """The ranking criterion, as distance from the best, and the cross-validated log loss."""

    def __init__(self, candidates: list[Any], sort_by: str) -> None:
        self.candidates = [c for c in candidates if not math.isnan(getattr(c, sort_by))]
        self.criterion = "bic" if sort_by == "cv_log_loss" else sort_by

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        y = np.arange(len(self.candidates))
        values, loss, error = (
            np.array([getattr(c, name) for c in self.candidates])
            for name in (self.criterion, "cv_gap", "cv_gap_error")
        )
        with drawing():
            self._use(axes, (8.2, 1.0 + 0.24 * max(len(y), 2)), 1, 2, sharey=True)
            left, right = self.axes_.flat
            best = np.nanmax(values) if self.criterion == "log_likelihood" else np.nanmin(values)
            away = np.abs(values - best)
            left.hlines(y, 0, away, color=GREY, linewidth=0.8)
            left.plot(away, y, "o", color=class_color(0), markersize=5)
            _one_a_line(left, [c.name for c in self.candidates])
            left.set_xlabel(f"{self.criterion.replace('_', '-').upper()}, distance from the best")
            style = {"fmt": "o", "color": class_color(4), "markersize": 5, "linewidth": 1}
            right.errorbar(loss, y, xerr=error, **style)
            _zero_line(right)
            right.set_xlabel("held-out log loss,\ndistance from the best ± s.e.")
            if np.isnan(loss).all():
                right.text(0.5, 0.5, "not cross-validated", transform=right.transAxes, ha="center")
        return self


class SensitivityDisplay(Drawing):
    """A class's share against the tilt with its band, and how many predictions change."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        result, color = self.result, class_color(0)
        h = result.classes.index(result.of)
        with drawing():
            self._use(axes, (7.0, 2.8), 1, 2)
            left, right = self.axes_.flat
            share, reach = result.shares[:, h], 2 * result.errors[:, h]
            band = (result.tilts, share - reach, share + reach)
            left.fill_between(*band, color=color, alpha=0.15, lw=0)
            left.plot(result.tilts, share, "o-", color=color, markersize=4)
            left.set_ylabel(f"share of {as_text(result.of)}")
            right.plot(result.tilts, result.changed, "o-", color=class_color(4), markersize=4)
            right.set_ylabel("predictions that change")
            right.set_ylim(bottom=0)
            for ax in (left, right):
                _zero_line(ax)
                ax.set_xlabel("tilt (log odds of a label)")
        return self


class EfficiencyDisplay(Drawing):
    """Standard errors relative to complete labels, and expected error rates."""

    def __init__(self, result: Any, parameters: str | None = None) -> None:
        self.result, self.parameters = result, parameters

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        r = self.result
        keep = np.array(chosen(r.parameters, self.parameters), dtype=int)
        cost = (r.std_errors["ignorance"] / r.std_errors["complete"])[keep]
        shown = np.sort(keep[np.argsort(-cost, kind="stable")[:MOST]])
        longest = max(len(as_text(r.parameters[k], 80)) for k in shown)
        width = 8.6 + 0.06 * float(np.clip(longest - 24, 0, 60))
        with drawing():
            height = max(2.9, 1.4 + 0.2 * shown.size)
            own = self._use(axes, (width, height), 1, 2, width_ratios=[3, 2])
            left, right = self.axes_.flat
            self._errors(left, shown, keep.size - shown.size)
            # Below the axes no name, however long, pushes it into a title; but only a figure of
            # one's own has room there.
            if own:
                handles, labels = left.get_legend_handles_labels()
                self.figure_.legend(handles, labels, loc="outside lower left", ncols=2)
            else:
                left.legend(loc="best")
            self._error_rates(right)
        return self

    def _errors(self, ax: Any, shown: IntArray, n_left_out: int) -> None:
        r = self.result
        _zero_line(ax, 1)
        for way in ("ignorance", "full"):
            label, marker, color = _STYLE[way]
            ratio = (r.std_errors[way] / r.std_errors["complete"])[shown]
            ax.plot(ratio, range(shown.size), marker, color=color, markersize=5, label=label)
        _one_a_line(ax, [r.parameters[k] for k in shown])
        more = f"\n(left out: {n_left_out:,} with smaller increases)" if n_left_out else ""
        ax.set_xlabel(f"standard error, relative to complete labels{more}")
        ax.set_title("(a) Parameters")

    def _error_rates(self, ax: Any) -> None:
        r = self.result
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
        where = {"xytext": (0, -3), "textcoords": "offset points", "va": "top", "ha": "right"}
        ax.annotate("Bayes error", (2.45, r.bayes_error), color=GREY, **where)
        for k, (way, (_, marker, color)) in enumerate(_STYLE.items()):
            rate, error = r.bayes_error + r.excess_error[way], r.monte_carlo_error[f"excess {way}"]
            ax.vlines(k, r.bayes_error, rate, color=color, linewidth=1)
            ax.errorbar(k, rate, yerr=error, fmt=marker, color=color, markersize=6, linewidth=1)
        highest = max(r.excess_error.values())
        if highest > 0:
            ax.set_ylim(r.bayes_error - 0.12 * highest, None)
