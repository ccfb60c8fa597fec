"""The three panels: how hard blank rows are, and how the chance of a label falls."""

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from hesitant._typing import FloatArray
from hesitant._words import percent
from hesitant.diagnostics import Diagnosis
from hesitant.diagnostics._smoother import shown_range
from hesitant.report._chart import Chart

__all__ = ["entropy_pictures"]

_X = "← easier · difficulty · harder →"
_BINS = 240


def entropy_pictures(diagnosis: Diagnosis) -> list[dict[str, str]]:
    """Return densities, distribution functions and labelling probability, each with a caption."""
    labelled, blank = diagnosis.labelled_entropy, diagnosis.blank_entropy
    if labelled.size < 2 or blank.size < 2:
        return []
    low, high = shown_range(np.concatenate((labelled, blank)))
    ends = low, high + 0.05 * (high - low)
    out = [_densities(labelled, blank, ends), _distributions(labelled, blank, ends)]
    if diagnosis.curve is not None:
        out.append(_probability(diagnosis, ends))
    return out


def _densities(
    labelled: FloatArray, blank: FloatArray, ends: tuple[float, float]
) -> dict[str, str]:
    grid = np.linspace(*ends, _BINS)
    curves = [_density(values, grid) for values in (labelled, blank)]
    top = max(float(c.max()) for c in curves)
    chart = Chart(
        ends,
        (0, 1.08 * top or 1),
        x_label=_X,
        y_label="density",
        title=(
            "Distribution of difficulty. Median of labelled rows "
            f"{np.median(labelled):.1f}, of blank rows {np.median(blank):.1f}; "
            "larger is harder."
        ),
    )
    for curve, css in zip(curves, ("labelled", "blank"), strict=True):
        chart.area(grid, np.zeros(_BINS), curve, css)
        chart.line(grid, curve, css)
    return {
        "svg": chart.svg(),
        "caption": "How difficulty is spread over labelled and blank rows. If blanks were random, "
        "the two shapes would be alike.",
    }


def _density(values: FloatArray, grid: FloatArray) -> FloatArray:
    """Return a kernel estimate by way of a fine histogram."""
    width = grid[1] - grid[0]
    near = values[values >= grid[0]]
    if not near.size:
        return np.zeros(grid.size)
    place = np.clip(np.rint((near - grid[0]) / width).astype(int), 0, grid.size - 1)
    counts = np.bincount(place, minlength=grid.size).astype(float)
    spread = min(near.std(), float(np.subtract(*np.quantile(near, [0.75, 0.25]))) / 1.349)
    bandwidth = max(0.9 * spread * near.size**-0.2, 1.5 * width)
    out: FloatArray = gaussian_filter1d(counts, bandwidth / width, mode="constant")
    return out / (values.size * width)


def _distributions(
    labelled: FloatArray, blank: FloatArray, ends: tuple[float, float]
) -> dict[str, str]:
    chart = Chart(
        ends,
        (0, 1),
        x_label=_X,
        y_label="share of rows this easy or easier",
        title=(
            "Cumulative share of rows by difficulty. The largest gap between labelled and blank "
            f"rows is {percent(_gap(labelled, blank))}."
        ),
    )
    grid = np.linspace(*ends, 2 * _BINS)
    for values, css in ((labelled, "labelled"), (blank, "blank")):
        share = np.searchsorted(np.sort(values), grid, side="right") / values.size
        chart.line(grid, share, css)
    return {
        "svg": chart.svg(),
        "caption": "The same, added up. The further the line of blank rows lies to the right, "
        "the harder they are.",
    }


def _gap(labelled: FloatArray, blank: FloatArray) -> float:
    at = np.concatenate((labelled, blank))
    below = [np.searchsorted(np.sort(v), at, side="right") / v.size for v in (labelled, blank)]
    return float((below[0] - below[1]).max())


def _probability(diagnosis: Diagnosis, ends: tuple[float, float]) -> dict[str, str]:
    curve: Any = diagnosis.curve
    keep = (curve.grid >= ends[0]) & (curve.grid <= ends[1])
    grid, p = curve.grid[keep], curve.probability[keep]
    seen = p[np.isfinite(p)]
    level = percent(curve.level, whole=True)
    span = f" It goes from {percent(seen[0])} to {percent(seen[-1])}." if seen.size else ""
    chart = Chart(
        ends,
        (0, 1),
        x_label=_X,
        y_label="chance of a label",
        title=f"Chance of a label against difficulty, with a {level} band.{span}",
    )
    chart.area(grid, curve.lower[keep], curve.upper[keep], "band")
    chart.line(grid, p, "seen")
    if curve.fitted is not None:
        chart.line(grid, curve.fitted[keep], "fitted")
    return {
        "svg": chart.svg(),
        "caption": "The chance of a label: as the data show it (solid, with its "
        f"{level} band) and as the model has it (dashed).",
    }
