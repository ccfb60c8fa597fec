"""The figures of the simulation and of the real data."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hesitant import _drawing as draw
from hesitant import diagnostics
from hesitant.datasets import simulate
from hesitant.studies._checkpoint import Row
from hesitant.studies._simulation import true_log_posterior
from hesitant.tables import write_atomically
from hesitant.uncertainty import Shannon

_INK = "#222222"
_MOVED = "#C1121F"
MEASURES = {"adjusted_rand": "adjusted Rand index", "log_loss": "total log loss"}
_LINES = {
    "full": (draw.class_color(4), "-", "full likelihood"),
    "weighted labels": (draw.class_color(3), "-.", "labels, inverse weights"),
    "complete labels": (draw.class_color(2), "--", "complete labels"),
    "true parameters": (_INK, ":", "true parameters"),
}


def save(path: Path, make: Callable[..., Any], *given: Any) -> list[Path]:
    """Draw a figure and save it as PNG and SVG, the same figure as the same bytes."""
    files = []
    with draw.drawing(**{"svg.hashsalt": "hesitant"}):
        figure = make(*given)
        for line in [line for ax in figure.axes for line in ax.lines]:
            line.set_rasterized(len(line.get_xdata()) > 3000)
        for kind, unstable in (("png", "Software"), ("svg", "Date")):
            content, about = io.BytesIO(), {unstable: None}
            figure.savefig(content, format=kind, dpi=200, metadata=about, facecolor="white")
            target = path.with_name(f"{path.name}.{kind}")
            files.append(write_atomically(target, content.getvalue(), force=True))
    return files


def draw_example(seed: int) -> Any:
    """Draw one data set of the simulation, the true entropy as shade and the true boundary."""
    data = simulate(500, random_state=np.random.SeedSequence(seed, spawn_key=(0,)).spawn(3)[0])
    X, labelled, truth = data.features, data.labelled, np.asarray(data.truth)
    figure = draw.new_figure(6.6, 3.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    x, y = np.meshgrid(*np.linspace(low, high, 301).T)
    log_tau = true_log_posterior(np.column_stack((x.ravel(), y.ravel())))
    entropy = -(np.exp(log_tau) * log_tau).sum(axis=1).reshape(x.shape)
    light: Any = {"cmap": "Greys", "vmin": 0, "vmax": 2 * np.log(2)}  # under black squares
    shade = right.pcolormesh(x, y, entropy, rasterized=True, zorder=0, **light)
    odds = (log_tau[:, 0] - log_tau[:, 1]).reshape(x.shape)
    codes = np.where(labelled, truth, -1)
    for ax, shown in ((left, truth), (right, codes)):
        ax.contour(x, y, odds, [0.0], colors=_INK, linewidths=0.8)
        ax.set_xlabel("$x_1$")
        draw.scatter(ax, X, shown)
    left.set_ylabel("$x_2$")
    left.set_title("(a) complete labels")
    right.set_title(f"(b) observed labels, {int((~labelled).sum())} of {len(X)} missing")
    handles = draw.legend_handles(["class 1", "class 2"], codes)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    bar = figure.colorbar(shade, ax=right, ticks=[0, 0.2, 0.4, 0.6], pad=0.02)
    bar.ax.set_ylim(0, np.log(2))
    bar.set_label("true entropy")
    return figure


def draw_simulation(summary: list[Row]) -> Any:
    """Draw both measures against alpha with their Monte Carlo errors, beside the others."""
    figure = draw.new_figure(7.0, 3.3)
    panels = zip("ab", figure.subplots(1, 2), MEASURES, (0.13, 0.42), strict=True)
    for letter, ax, measure, bottom in panels:
        _draw_measure(ax, summary, measure)
        ax.set(xlabel="$\\alpha$, weight of the labelled rows", xlim=(-0.02, 1.02))
        ax.set_title(f"({letter}) {MEASURES[measure]}")
        # Both ends dwarf what matters, so the middle is shown again, larger.
        inset = ax.inset_axes((0.36, bottom, 0.62, 0.5))
        middle = [r for r in summary if r["alpha"] is None or r["alpha"] >= 0.25]
        _draw_measure(inset, middle, measure)
        inset.set_xlim(0.24, 1.01)
        inset.tick_params(labelsize=6, length=2)
        inset.spines[:].set(visible=True, color="#999999")
        ax.indicate_inset(inset.viewLim.bounds, edgecolor="#999999", alpha=0.8)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_measure(ax: Any, summary: list[Row], measure: str) -> None:
    def means(rows: list[Row]) -> tuple[Any, Any]:
        """Return means and two standard errors, zero where one replication leaves none."""
        errors = np.nan_to_num([row[f"{measure}_se"] or 0.0 for row in rows])
        return np.array([row[f"{measure}_mean"] for row in rows]), 2 * errors

    grid = [row for row in summary if row["alpha"] is not None]
    alpha, (mean, error), blue = [row["alpha"] for row in grid], means(grid), draw.class_color(0)
    ax.fill_between(alpha, mean - error, mean + error, color=blue, alpha=0.2)
    name = "fractional, $\\pm$ 2 Monte Carlo s.e."
    ax.plot(alpha, mean, "o-", ms=2.5, color=blue, label=name)
    for estimator, (colour, line, words) in _LINES.items():
        (centre,), (error,) = means([row for row in summary if row["estimator"] == estimator])
        ax.axhline(centre, color=colour, ls=line, lw=1.1, label=words)
        if estimator == "full":
            ax.axhspan(centre - error, centre + error, color=colour, alpha=0.15, lw=0)


def draw_display(kind: str, data: Any, ignorance: Any) -> Any:
    """Draw every pair of features, or the paper's three panels of entropies."""
    display = getattr(diagnostics, kind)
    return display.from_estimator(ignorance, data.features, data.labels).figure_


def draw_full(data: Any, ignorance: Any, full: Any) -> Any:
    """Draw both likelihoods' boundaries, and how sure each is of every unlabelled row."""
    figure = draw.new_figure(9.2, 4.7)
    figure.get_layout_engine().set(w_pad=0.12)  # between a label and a panel
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    regions = diagnostics.RegionsDisplay.from_estimator
    regions(full, data.features, data.labels, compare_with=ignorance, ax=left)
    left.set_title("(a) most probable class and boundaries")
    _draw_entropies(right, data, ignorance, full)
    right.set_title("(b) entropy of the unlabelled rows")
    # One legend under both panels, which share their colours.
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
    return figure


def _draw_entropies(ax: Any, data: Any, ignorance: Any, full: Any) -> None:
    """Draw each unlabelled row's entropy under both, in the colour of its class under full."""
    rows = data.features[~data.labelled]
    before, after = (clf.entropy(rows, Shannon()) for clf in (ignorance, full))
    old, new = ignorance.predict(rows), full.predict(rows)
    top = math.log(len(full.classes_))
    ax.plot([0, top], [0, top], color=draw.GREY, lw=0.8, zorder=1)
    for h, name in enumerate(full.classes_):
        look: Any = {"marker": draw.class_marker(h), "color": draw.class_color(h), "alpha": 0.75}
        ax.scatter(before[new == name], after[new == name], s=12, lw=0, zorder=2, **look)
    moved = np.asarray(old != new)
    label = f"changes class ({int(moved.sum())} of {len(rows)})"
    ring: Any = {"s": 34, "facecolor": "none", "edgecolor": _MOVED, "lw": 0.9, "zorder": 3}
    ax.scatter(before[moved], after[moved], label=label, **ring)
    ax.set(xlabel="under the ignorance likelihood", ylabel="under the full likelihood")
    ax.set(xlim=(-0.03 * top, 1.06 * top), ylim=(-0.03 * top, 1.06 * top))
    ax.set_aspect("equal", anchor="NW")  # both panels' titles at the same height
