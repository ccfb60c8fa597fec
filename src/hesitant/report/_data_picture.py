"""The data with blanks on top, over the regions where the model would choose each class."""

from typing import Any

import numpy as np

from hesitant._typing import FloatArray, IntArray
from hesitant._words import noun, percent, short
from hesitant.report._case import Case, top_two
from hesitant.report._chart import Chart
from hesitant.report._projection import Plane, drawn_rows, leading_features, planes, shown_ends

__all__ = ["change_pictures", "class_css", "data_pictures"]

MOST_LABELLED, MOST_BLANK, MOST_FAINT = 1500, 500, 800
COLORS = 8


def class_css(h: int) -> str:
    """Return the CSS class that colours class h."""
    return f"c{h % COLORS}"


def data_pictures(case: Case) -> list[dict[str, str]]:
    """Return one picture for each pair of leading features, or one for a single feature."""
    X = np.asarray(case.X, dtype=float)
    labelled = drawn_rows(MOST_LABELLED, case.labels.labelled)
    blank = drawn_rows(MOST_BLANK, case.blank)
    if X.shape[1] == 1:
        return [_strip(case, X, labelled, blank)]
    found = planes(case)
    names = _names(case, blank)
    return [
        _scatter(case, X, plane, labelled, blank, names, wide=len(found) == 1) for plane in found
    ]


def _scatter(
    case: Case,
    X: FloatArray,
    plane: Plane,
    labelled: IntArray,
    blank: IntArray,
    names: list[str],
    *,
    wide: bool,
) -> dict[str, str]:
    i, j = plane.features
    chart = _frame(case, plane.features, plane.x, plane.y, wide)
    for h in range(len(case.classes)):
        chart.polygons(_rings(plane, h), class_css(h))
    _dots(chart, case, X, plane.features, labelled)
    chart.named_dots(X[blank, i], X[blank, j], names, "blank")
    return {"svg": chart.svg(), "caption": ""}


def _frame(
    case: Case,
    pair: tuple[int, int],
    x_ends: tuple[float, float],
    y_ends: tuple[float, float],
    wide: bool,
) -> Chart:
    x, y = (short(case.features[k], 28) for k in pair)
    return Chart(
        x_ends,
        y_ends,
        x_label=x,
        y_label=y,
        title=(
            f"Scatter plot of {y} against {x}: labelled rows coloured by class, "
            f"{noun(int(case.blank.sum()), 'blank row')} as squares."
        ),
        width=600 if wide else 300,
        height=460 if wide else 280,
    )


def _dots(chart: Chart, case: Case, X: FloatArray, pair: tuple[int, int], rows: IntArray) -> None:
    for h in range(len(case.classes)):
        mine = rows[case.labels.codes[rows] == h]
        chart.dots(X[mine, pair[0]], X[mine, pair[1]], f"labelled {class_css(h)}")


def _rings(plane: Plane, h: int) -> list[FloatArray]:
    """Return the outlines of where class h wins."""
    import contourpy

    made = contourpy.contour_generator(
        plane.grid_x, plane.grid_y, plane.margin[h], fill_type="OuterCode"
    ).filled(0.0, 1e3)
    # specks are noise of the drawing, or too small to see
    least = 0.012 * (plane.x[1] - plane.x[0]) * (plane.y[1] - plane.y[0])
    rings = []
    for points, codes in zip(*made, strict=True):
        starts = np.flatnonzero(codes == 1)
        rings += [part for part in np.split(points, starts[1:]) if _area(part) > least]
    return rings


def _area(ring: FloatArray) -> float:
    x, y = ring.T
    return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)


def _names(case: Case, rows: IntArray) -> list[str]:
    first, second = top_two(case.posterior)
    out = []
    for i in rows:
        a, b = first[i], second[i]
        out.append(
            f"{_row(case, i)}: {short(case.classes[a])} {percent(case.posterior[i, a])}, "
            f"{short(case.classes[b])} {percent(case.posterior[i, b])}"
        )
    return out


def _row(case: Case, i: int) -> str:
    name = case.name_of(i)
    return f"row {name}" if case.ids is None else short(name, 30)


def _strip(case: Case, X: FloatArray, labelled: IntArray, blank: IntArray) -> dict[str, str]:
    """Return a picture of a single feature: one lane for each class, one for the blanks."""
    rng = np.random.default_rng(0)
    lanes = len(case.classes) + 1
    chart = Chart(
        shown_ends(X[:, 0]),
        (0, lanes),
        x_label=short(case.features[0], 40),
        y_label="classes, blanks on top",
        title=f"Rows along {short(case.features[0])}: one lane for each class, blanks on top.",
        width=600,
        height=90 + 34 * lanes,
    )
    for h in range(len(case.classes)):
        mine = labelled[case.labels.codes[labelled] == h]
        chart.dots(X[mine, 0], h + rng.uniform(0.2, 0.8, mine.size), f"labelled {class_css(h)}")
    heights = lanes - 1 + rng.uniform(0.2, 0.8, blank.size)
    chart.named_dots(X[blank, 0], heights, _names(case, blank), "blank")
    return {"svg": chart.svg(), "caption": ""}


# -- what changes -------------------------------------------------------------------------------


def change_pictures(case: Case) -> list[dict[str, str]]:
    """Return the classes' outlines under both fits, on the two leading features."""
    X = np.asarray(case.X, dtype=float)
    if case.informed is None or X.shape[1] < 2:
        return []
    i, j = sorted(leading_features(X, case.posterior)[:2])
    chart = _frame(case, (i, j), shown_ends(X[:, i]), shown_ends(X[:, j]), wide=True)
    chart.title = (
        f"Classes along {short(case.features[i], 28)} and {short(case.features[j], 28)}: about "
        "half of each class lies inside its outline, dashed when the blanks are ignored, solid "
        "when they are used."
    )
    shown = drawn_rows(MOST_FAINT, np.ones(case.n, dtype=bool))
    chart.dots(X[shown, i], X[shown, j], "faint")
    drawn = False
    for h in range(len(case.classes)):
        for fit, style in ((case.diagnosis.ignorance, "without"), (case.informed, "with")):
            ring = _ellipse(fit, h, (i, j))
            if ring is not None:
                chart.line(ring[:, 0], ring[:, 1], f"{style} {class_css(h)}")
                drawn = True
    if not drawn:
        return []
    old, new = case.ignorant_posterior.argmax(axis=1), case.informed_posterior.argmax(axis=1)
    moved = drawn_rows(MOST_BLANK, old != new)
    names = [
        f"{_row(case, k)}: {short(case.classes[old[k]])} → {short(case.classes[new[k]])}"
        for k in moved
    ]
    chart.rings(X[moved, i], X[moved, j], names)
    return [
        {
            "svg": chart.svg(),
            "caption": "About half of each class lies inside its outline.",
        }
    ]


def _ellipse(fit: Any, h: int, pair: tuple[int, int]) -> FloatArray | None:
    """Return the outline that holds half of a Gaussian class of these moments."""
    center = fit.means_[h][list(pair)]
    spread = fit.covariances_[h][np.ix_(pair, pair)]
    if not (np.isfinite(center).all() and np.isfinite(spread).all()):
        center = getattr(fit, "locations_", fit.means_)[h][list(pair)]
        spread = getattr(fit, "scales_", fit.covariances_)[h][np.ix_(pair, pair)]
    try:
        root = np.linalg.cholesky(spread)
    except np.linalg.LinAlgError:
        return None
    angle = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack((np.cos(angle), np.sin(angle))) * np.sqrt(2 * np.log(2))
    return np.asarray(center + (root @ circle).T)
