"""Results of inference as dots and bars: intervals, models side by side, what the pattern buys."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import GREY, Drawing, as_text, class_color, drawing
from hesitant._typing import FloatArray

MOST = 40  # parameters; more dots than this make a figure that fits no page

_STYLE = {
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
    ax.set_yticks(range(len(names)), [as_text(name, 80) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)


def _zero_line(ax: Any, at: float = 0) -> None:
    ax.axvline(at, color=GREY, linewidth=0.7, linestyle=":")


def draw_intervals(
    names: list[str], *values: FloatArray, caption: str = "", ax: Any = None
) -> Drawing:
    """Draw estimates, lower and upper bounds, one panel for each kind of parameter.

    An infinite bound is a bar to the edge; where a bound is NaN there is no bar.
    """
    kinds: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        kinds.setdefault("" if ax is not None else name.split("[")[0], []).append(k)
    with drawing():
        sizes, out = [len(places) for places in kinds.values()], Drawing()
        height = 0.9 + 0.19 * sum(sizes) + 0.32 * len(sizes)
        out.use(ax, (5.2, height), len(sizes), 1, height_ratios=[s + 0.6 for s in sizes])
        for panel, places in zip(out.axes_, kinds.values(), strict=True):
            middle, lower, upper = (v[places] for v in values)
            known = ~(np.isnan(lower) | np.isnan(upper))
            ends = np.concatenate((middle, lower[known], upper[known]))
            ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.zeros(1)
            low, high = ends.min(), ends.max()
            reach = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
            if low < 0 < high:
                _zero_line(panel)
            bars = np.clip((lower[known], upper[known]), low - reach, high + reach)
            panel.hlines(np.flatnonzero(known), *bars, color=class_color(0), linewidth=1.5)
            panel.plot(middle, range(len(middle)), "o", color=class_color(0), markersize=4)
            panel.set_xlim(low - reach, high + reach)
            _one_a_line(panel, [names[k] for k in places])
        out.axes_[-1].set_xlabel(caption)
    return out


def draw_comparison(candidates: list[Any], sort_by: str, axes: Any = None) -> Drawing:
    """Draw the ranking criterion, as distance from the best, and the cross-validated log loss."""
    candidates = [c for c in candidates if not math.isnan(getattr(c, sort_by))]
    criterion = "bic" if sort_by == "cv_log_loss" else sort_by
    y, out = np.arange(len(candidates)), Drawing()
    values, loss, error = (
        np.array([getattr(c, name) for c in candidates])
        for name in (criterion, "cv_gap", "cv_gap_error")
    )
    with drawing():
        out.use(axes, (8.2, 1.0 + 0.24 * max(len(y), 2)), 1, 2, sharey=True)
        left, right = out.axes_.flat
        best = np.nanmax(values) if criterion == "log_likelihood" else np.nanmin(values)
        away = np.abs(values - best)
        left.hlines(y, 0, away, color=GREY, linewidth=0.8)
        left.plot(away, y, "o", color=class_color(0), markersize=5)
        _one_a_line(left, [c.name for c in candidates])
        left.set_xlabel(f"{criterion.replace('_', '-').upper()}, distance from the best")
        style = {"fmt": "o", "color": class_color(4), "markersize": 5, "linewidth": 1}
        right.errorbar(loss, y, xerr=error, **style)
        _zero_line(right)
        right.set_xlabel("held-out log loss,\ndistance from the best ± s.e.")
        if np.isnan(loss).all():
            right.text(0.5, 0.5, "not cross-validated", transform=right.transAxes, ha="center")
    return out


@dataclasses.dataclass(repr=False, eq=False)
class SensitivityDisplay(Drawing):
    """A class's share against the tilt with its band, and how many rows change class."""

    result: Any

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        r, color, h = self.result, class_color(0), self.result.classes.index(self.result.of)
        share, reach = r.shares[:, h], 2 * r.errors[:, h]
        with drawing():
            self.use(axes, (7.0, 2.8), 1, 2)
            left, right = self.axes_.flat
            left.fill_between(r.tilts, share - reach, share + reach, color=color, alpha=0.15, lw=0)
            left.plot(r.tilts, share, "o-", color=color, markersize=4)
            left.set_ylabel(f"share of {as_text(r.of)}")
            self._across(left)
            self.changes(right)
        return self

    def changes(self, ax: Any) -> None:
        """Draw how many rows change class."""
        changed = 100 * self.result.changed
        ax.plot(self.result.tilts, changed, "o-", color=class_color(4), markersize=4)
        ax.set(ylabel="rows that change class, %", ylim=(0, max(2.0, 1.15 * changed.max())))
        self._across(ax)

    def _across(self, ax: Any) -> None:
        tilts = self.result.tilts[:: 1 + self.result.tilts.size // 12]
        ax.set_xticks(tilts, [f"{odds:.2g}" for odds in np.exp(tilts)])
        ax.set_xlabel(f"odds of a label of {as_text(self.result.of, 20)}, against others")
        _zero_line(ax)


def draw_efficiency(r: Any, axes: Any = None, parameters: str | None = None) -> Drawing:
    """Draw standard errors relative to complete labels, and expected error rates."""
    ratio = {way: r.std_errors[way] / r.std_errors["complete"] for way in _STYLE}
    keep = np.array(chosen(r.parameters, parameters), dtype=int)
    shown = np.sort(keep[np.argsort(-ratio["ignorance"][keep], kind="stable")[:MOST]])
    with drawing():
        out, size = Drawing(), (9.2, max(2.9, 1.4 + 0.2 * shown.size))
        own = out.use(axes, size, 1, 2, width_ratios=[3, 2])
        left, right = out.axes_.flat
        _zero_line(left, 1)
        for way, each in ratio.items():
            label, marker, color = _STYLE[way]
            look = {"color": color, "markersize": 5, "label": label}
            left.plot(each[shown], range(shown.size), marker, **look)
        _one_a_line(left, [r.parameters[k] for k in shown])
        others = keep.size - shown.size
        more = f"\n(left out: {others:,} with smaller increases)" if others else ""
        left.set_xlabel(f"standard error, relative to complete labels{more}")
        left.set_title("(a) Parameters")
        # Below the axes no name, however long, pushes it into a title; but only a figure of one's
        # own has room there.
        if own:
            handles, labels = left.get_legend_handles_labels()
            out.figure_.legend(handles, labels, loc="outside lower left", ncols=2)
        else:
            left.legend(loc="best")
        right.set(title="(b) Fitted rule", ylabel=f"expected error rate, n = {r.n_rows:,}")
        right.set_xticks(range(3), ["all labels", "labels\ngiven", "labels and\npattern"])
        right.set_xlim(-0.5, 2.5)
        ways = ("complete", *_STYLE)
        rates = r.bayes_error + np.array([r.excess_error[way] for way in ways])
        if np.isfinite(rates).all():
            dashed = {"color": GREY, "linewidth": 0.9, "linestyle": "--"}
            right.axhline(r.bayes_error, **dashed, label="Bayes error")
            error = [r.monte_carlo_error[f"excess {way}"] for way in ways]
            dots = {"fmt": "o", "color": class_color(0), "markersize": 6, "linewidth": 1}
            right.errorbar(range(3), rates, error, **dots)
            right.legend()
        else:
            words = "not known:\nsee the remarks"
            right.text(1, 0.5, words, color=GREY, va="center", ha="center")
            right.set(ylim=(0, 1), yticks=[])
    return out
