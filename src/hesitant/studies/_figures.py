"""The figures of the simulation and of the real data."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hesitant import _drawing as draw
from hesitant import diagnostics
from hesitant.datasets import simulate
from hesitant.studies._simulation import MEASURES, Row, true_log_posterior
from hesitant.tables import write_atomically

_MOVED = "#C1121F"
_LINES = {
    "full": (draw.class_color(4), "-", "full likelihood"),
    "weighted labels": (draw.class_color(3), "-.", "labels, inverse weights"),
    "complete labels": (draw.class_color(2), "--", "complete labels"),
    "true parameters": (draw.INK, ":", "true parameters"),
}


def save(path: Path, make: Callable[..., Any], *given: Any) -> list[Path]:
    """Draw a figure or display and save it as PNG and SVG, the same one as the same bytes."""
    files = []
    with draw.drawing(**{"svg.hashsalt": "hesitant"}):
        made = make(*given)
        figure = getattr(made, "figure_", made)
        for line in [line for ax in figure.axes for line in ax.lines]:
            line.set_rasterized(len(line.get_xdata()) > 3000)
        for kind, unstable in (("png", "Software"), ("svg", "Date")):
            content, about = io.BytesIO(), {unstable: None}
            figure.savefig(content, format=kind, dpi=200, metadata=about, facecolor="white")
            target = path.with_name(f"{path.name}.{kind}")
            files.append(write_atomically(target, content.getvalue(), force=True))
    return files


def draw_example(seed: int) -> Any:
    """Draw one data set of the simulation over the true regions of its classes."""
    data = simulate(500, random_state=np.random.SeedSequence(seed, spawn_key=(0,)).spawn(3)[0])
    X, truth, names = data.features, np.asarray(data.truth), ["class 1", "class 2"]
    x, y = np.linspace(X.min(axis=0) - 0.4, X.max(axis=0) + 0.4, 301).T
    log_tau = true_log_posterior(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    proba, codes = np.exp(log_tau).reshape(301, 301, 2), np.where(data.labelled, truth, -1)
    figure = draw.new_figure(6.6, 3.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, shown in ((left, truth), (right, codes)):
        diagnostics.RegionsDisplay(x, y, proba, X, shown, names, ("x1", "x2")).plot(ax)
        ax.get_legend().remove()
    left.set_title("(a) complete labels")
    right.set(title=f"(b) observed labels, {data.n_blank} of {len(X)} missing", ylabel="")
    handles = draw.legend_handles(names, codes)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def draw_simulation(summary: list[Row]) -> Any:
    """Draw both measures against alpha with their Monte Carlo errors, beside the others."""
    figure = draw.new_figure(7.0, 3.3)
    panels = zip("ab", figure.subplots(1, 2), MEASURES, (0.13, 0.42), strict=True)
    for letter, ax, measure, bottom in panels:
        _draw_measure(ax, summary, measure)
        ax.set(xlabel="$\\alpha$, weight of the labelled rows", xlim=(-0.02, 1.02))
        ax.set_title(f"({letter}) {MEASURES[measure][0]}")
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


def draw_full(data: Any, ignorance: Any, full: Any) -> Any:
    """Draw both likelihoods' boundaries, with rings around unlabelled rows that change class."""
    X, blank = data.features, ~data.labelled
    drawn = diagnostics.RegionsDisplay.from_estimator(full, X, data.labels, compare_with=ignorance)
    moved = np.asarray(ignorance.predict(X) != full.predict(X)) & blank
    label = f"changes class ({moved.sum()} of {blank.sum()})"
    ring: Any = {"s": 34, "facecolor": "none", "edgecolor": _MOVED, "lw": 0.9, "zorder": 5}
    rings = drawn.ax_.scatter(*drawn.points[moved].T, label=label, **ring)
    legend = drawn.ax_.get_legend()
    words = {"this model": "full likelihood", "the other": "ignorance likelihood"}
    names = [words.get(text.get_text(), text.get_text()) for text in legend.get_texts()]
    handles = [*legend.legend_handles, rings]
    drawn.ax_.legend(handles, [*names, label], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return drawn
