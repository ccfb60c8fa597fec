"""Figures of the real data: the rows, their entropies, and what the full likelihood changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hesitant.diagnostics import EntropyDisplay, PairsDisplay, RegionsDisplay
from hesitant.inference._drawing import GREY, class_color, class_marker, new_figure
from hesitant.studies._style import panel_letter
from hesitant.uncertainty import Shannon

__all__ = ["draw_data", "draw_entropy", "draw_full"]

_MOVED = "#C1121F"


def draw_data(data: Any, ignorance: Any) -> Any:
    """Draw every pair of features, classes in colour and blanks as black squares."""
    return PairsDisplay.from_estimator(ignorance, data.features, data.labels).figure_


def draw_entropy(data: Any, ignorance: Any) -> Any:
    """Draw the paper's three panels."""
    display = EntropyDisplay.from_estimator(ignorance, data.features, data.labels)
    # The curves of the three data sets leave no corner free in common, so the first panel's legend
    # looks for its own place and the second panel's, which says the same, becomes a title.
    densities, distributions, _ = display.axes_
    densities.legend(loc="best")
    gap = [g.rpartition(", ")[2] for g in distributions.get_legend_handles_labels()[1][2:]]
    distributions.get_legend().remove()
    distributions.set_title(", ".join((distributions.get_title(loc="left"), *gap)))
    for line in display.axes_[2].lines:
        line.set_rasterized(len(line.get_xdata()) > 3000)
    return display.figure_


def draw_full(comparison: Any) -> Any:
    """Draw both likelihoods' boundaries, and how sure each is of every unlabelled row."""
    data, ignorance, full = comparison.data, comparison.ignorance, comparison.full
    figure = new_figure(9.6, 3.9)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 0.8))
    RegionsDisplay.from_estimator(
        full, data.features, data.labels, compare_with=ignorance, ax=left
    )
    words = {"this model": "full likelihood", "the other": "ignorance likelihood"}
    for text in left.get_legend().get_texts():
        text.set_text(words.get(text.get_text(), text.get_text()))
    panel_letter(left, "a", "most probable class and boundaries")
    _sureness(right, data, ignorance, full)
    panel_letter(right, "b", "entropy of the unlabelled rows")
    return figure


def _sureness(ax: Any, data: Any, ignorance: Any, full: Any) -> None:
    """Draw each unlabelled row's entropy under both, in the colour of its class under full."""
    rows = data.features[~data.labelled]
    before, after = (clf.entropy(rows, Shannon()) for clf in (ignorance, full))
    old, new = ignorance.predict(rows), full.predict(rows)
    top = math.log(len(full.classes_))
    ax.plot([0, top], [0, top], color=GREY, lw=0.8, zorder=1)
    for h, name in enumerate(full.classes_):
        mine = new == name
        look = {"marker": class_marker(h), "color": class_color(h), "alpha": 0.75}
        ax.scatter(before[mine], after[mine], s=12, lw=0, zorder=2, **look)
    moved = np.asarray(old != new)
    ax.scatter(
        before[moved],
        after[moved],
        s=34,
        facecolor="none",
        edgecolor=_MOVED,
        lw=0.9,
        zorder=3,
        label=f"changes class ({int(moved.sum())} of {len(rows)})",
    )
    ax.set(xlabel="under the ignorance likelihood", ylabel="under the full likelihood")
    ax.set_xlim(-0.03 * top, 1.06 * top)
    ax.set_ylim(-0.03 * top, 1.06 * top)
    ax.set_aspect("equal")
    ax.legend(loc="lower right", handletextpad=0.2)
