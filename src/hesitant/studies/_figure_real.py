"""Figures of the real data: the rows, their entropies, and what the full likelihood changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hesitant._drawing import GREY, class_color, class_marker, new_figure
from hesitant.diagnostics import EntropyDisplay, PairsDisplay, RegionsDisplay
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
    for line in display.axes_[2].lines:
        line.set_rasterized(len(line.get_xdata()) > 3000)
    return display.figure_


def draw_full(comparison: Any) -> Any:
    """Draw both likelihoods' boundaries, and how sure each is of every unlabelled row."""
    data, ignorance, full = comparison.data, comparison.ignorance, comparison.full
    figure = new_figure(9.2, 4.7)
    figure.get_layout_engine().set(w_pad=0.12)  # between a label and a panel
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    RegionsDisplay.from_estimator(
        full, data.features, data.labels, compare_with=ignorance, ax=left
    )
    panel_letter(left, "a", "most probable class and boundaries")
    _sureness(right, data, ignorance, full)
    panel_letter(right, "b", "entropy of the unlabelled rows")
    _common_legend(figure, left, right)
    return figure


def _common_legend(figure: Any, left: Any, right: Any) -> None:
    """Draw one legend under both panels, which share their colours."""
    own = left.get_legend()
    words = {"this model": "full likelihood", "the other": "ignorance likelihood"}
    names = [words.get(text.get_text(), text.get_text()) for text in own.get_texts()]
    handles, more = right.get_legend_handles_labels()
    figure.legend(
        [*own.legend_handles, *handles],
        [*names, *more],
        loc="outside lower center",
        ncols=4,
        title="Colours: the most probable class, or the label where there is one, in (a); the "
        "class under the full likelihood in (b).",
        title_fontsize=8,
    )
    own.remove()


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
    ax.set_aspect("equal", anchor="NW")  # both panels' titles at the same height
