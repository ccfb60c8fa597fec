"""Figures of the simulation: an example of its data, and its two panels."""

from __future__ import annotations

from typing import Any

import numpy as np

from hesitant._drawing import BLANK, class_color, class_marker, new_figure
from hesitant.datasets import simulate
from hesitant.studies._estimators import Row, true_log_posterior
from hesitant.studies._style import INK, panel_letter

__all__ = ["draw_example", "draw_panels"]

_NAMES = {"adjusted_rand": "adjusted Rand index", "log_loss": "total log loss"}
_LINES = {
    "full": (class_color(4), "-", "full likelihood"),
    "complete labels": (class_color(2), "--", "complete labels"),
    "true parameters": (INK, ":", "true parameters"),
}


def draw_example(seed: int) -> Any:
    """Draw one data set of the simulation: classes in colour, blanks as black squares.

    The grey shade is the true entropy, which labels avoid; the line is the true boundary.
    """
    data = simulate(500, random_state=np.random.SeedSequence(seed, spawn_key=(0,)).spawn(3)[0])
    X, labelled, truth = data.features, data.labelled, np.asarray(data.truth)
    figure = new_figure(6.6, 3.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    x, y = np.meshgrid(np.linspace(low[0], high[0], 301), np.linspace(low[1], high[1], 301))
    log_tau = true_log_posterior(np.column_stack((x.ravel(), y.ravel())))
    entropy = -(np.exp(log_tau) * log_tau).sum(axis=1).reshape(x.shape)
    odds = (log_tau[:, 0] - log_tau[:, 1]).reshape(x.shape)
    shade = right.imshow(
        entropy,
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        cmap="Greys",
        vmin=0,
        vmax=2 * np.log(2),  # light enough for black squares on top
        zorder=0,
    )
    for ax in (left, right):
        ax.contour(x, y, odds, [0.0], colors=INK, linewidths=0.8)
        ax.set_xlabel("$x_1$")
    for h in range(2):
        look: Any = {"s": 11, "marker": class_marker(h), "color": class_color(h), "alpha": 0.75}
        mine = truth == h
        left.scatter(*X[mine].T, lw=0, label=f"class {h + 1}", **look)
        right.scatter(*X[mine & labelled].T, lw=0, **look)
    blank: Any = {"marker": "s", "color": BLANK, "edgecolor": "white", "lw": 0.25}
    right.scatter(*X[~labelled].T, s=8, label="label missing", **blank)
    left.set_ylabel("$x_2$")
    panel_letter(left, "a", "complete labels")
    panel_letter(right, "b", f"observed labels, {int((~labelled).sum())} of {len(X)} missing")
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    bar = figure.colorbar(shade, ax=right, ticks=[0, 0.2, 0.4, 0.6], pad=0.02)
    bar.ax.set_ylim(0, np.log(2))
    bar.set_label("true entropy")
    return figure


def draw_panels(summary: list[Row]) -> Any:
    """Draw both measures against alpha with their Monte Carlo errors, beside the others."""
    figure = new_figure(7.0, 3.3)
    for k, (ax, measure) in enumerate(zip(figure.subplots(1, 2), _NAMES, strict=True)):
        _measure(ax, summary, measure, label=True)
        ax.set_xlabel("$\\alpha$, weight of the labelled rows")
        ax.set_xlim(-0.02, 1.02)
        panel_letter(ax, "ab"[k], _NAMES[measure])
        # Both ends dwarf what matters, so the middle is shown again, larger.
        low = measure == "adjusted_rand"
        inset = ax.inset_axes((0.36, 0.13, 0.62, 0.5) if low else (0.36, 0.42, 0.62, 0.5))
        _measure(inset, summary, measure, label=False)
        inset.set_xlim(0.24, 1.01)
        inset.set_ylim(*_range(summary, measure, 0.25))
        inset.tick_params(labelsize=6, length=2)
        for spine in inset.spines.values():
            spine.set_visible(True)
            spine.set_color("#999999")
        frame = ax.indicate_inset_zoom(inset, edgecolor="#999999", alpha=0.8)
        for connector in frame.connectors or ():
            connector.set_visible(False)  # it would cross the numbers of the inset
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _measure(ax: Any, summary: list[Row], measure: str, label: bool) -> None:
    grid = [row for row in summary if row["alpha"] is not None]
    alpha = np.array([row["alpha"] for row in grid])
    mean = np.array([row[f"{measure}_mean"] for row in grid])
    error = _errors(grid, measure)
    name = "fractional, $\\pm$ 2 Monte Carlo s.e." if label else None
    ax.fill_between(alpha, mean - 2 * error, mean + 2 * error, color=class_color(0), alpha=0.2)
    ax.plot(alpha, mean, "o-", ms=2.5, color=class_color(0), label=name)
    for estimator, (colour, line, words) in _LINES.items():
        row = next(row for row in summary if row["estimator"] == estimator)
        centre, reach = row[f"{measure}_mean"], 2 * _errors([row], measure)[0]
        ax.axhline(centre, color=colour, ls=line, lw=1.1, label=words if label else None)
        if estimator == "full":
            ax.axhspan(centre - reach, centre + reach, color=colour, alpha=0.15, lw=0)


def _errors(rows: list[Row], measure: str) -> Any:
    """Return standard errors, zero where one replication leaves none."""
    return np.nan_to_num([row[f"{measure}_se"] or 0.0 for row in rows])


def _range(summary: list[Row], measure: str, least: float) -> tuple[float, float]:
    rows = [r for r in summary if r["alpha"] is None or r["alpha"] >= least]
    mean = np.array([row[f"{measure}_mean"] for row in rows])
    reach = 2 * _errors(rows, measure)
    low, high = (mean - reach).min(), (mean + reach).max()
    margin = 0.04 * (high - low) or 0.01
    return float(low - margin), float(high + margin)
