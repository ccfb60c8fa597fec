"""The report's pictures: the package's displays, as SVG that follows the page's colours.

Matplotlib draws axes, curves and regions. On the way to the page its colours become CSS variables
(so that dark mode works), its text stays text, and rows become one path for each class, with the
rows' numbers beside it: small, and the page's script can say which row a point is.
"""

import html
import io
import re
import warnings
from typing import Any

import numpy as np

from hesitant import _drawing as draw
from hesitant._drawing import GREY, as_text, class_color, drawing
from hesitant._typing import IntArray
from hesitant._words import percent, short
from hesitant.diagnostics import EntropyDisplay, RegionsDisplay
from hesitant.diagnostics._groups import draw_readers
from hesitant.diagnostics._regions import choose_plane, reach
from hesitant.experts import Panel
from hesitant.inference import SensitivityDisplay
from hesitant.report._case import Case

GRID = 110
_VARIABLES = {color.lower(): f"var(--c{h})" for h, color in enumerate(draw.COLORS)}
_VARIABLES |= {draw.BLANK: "var(--blank)", GREY: "var(--soft)", draw.INK: "var(--ink)"}
_LEFT_OUT = ("", "font", "stroke-linejoin", "stroke-miterlimit")


def class_css(h: int) -> str:
    return f"c{h % len(draw.COLORS)}"


def pictures(case: Case, held_out: dict[str, Any]) -> dict[str, str]:
    with warnings.catch_warnings(), drawing(**{"font.size": 8.5, "axes.labelsize": 8.5}):
        warnings.simplefilter("ignore")  # names in scripts that matplotlib's font lacks
        drawn = {"map": (_map if case.values.shape[1] > 1 else _strip)(case)} | _evidence(case)
        if case.tilted is not None:
            figure, ax = panel(2.4)
            SensitivityDisplay(case.tilted).changes(ax)
            title = "Rows that change class if labels depended on it"
            drawn["tilt"] = svg(figure, f"{title}: {100 * case.tilted.changed.max():.1f} %.")
        if isinstance(case.main.mechanism_, Panel):
            drawn["hesitation"] = _hesitation(case)
        if held_out["available"]:
            agrees = "right on held-out rows" if case.confusion is None else "agrees with readers"
            drawn["reliability"] = _reliability(held_out["reliability"], agrees)
    return drawn


def panel(height: float = 2.6, width: float = 3.5) -> tuple[Any, Any]:
    figure = draw.new_figure(width, height)
    return figure, figure.subplots()


def regions(
    clf: Any, other: Any, rows: Any, classes: list[str], features: list[str], pair: Any
) -> str:
    """Draw rows (all, which to show, and codes) over a model's regions and another's borders."""
    X, shown, codes = rows
    plane, (figure, ax) = choose_plane(X, pair, features), panel(3.9, 5.2)
    drawn = RegionsDisplay.on_plane(plane, clf, other, X, codes, classes, m=GRID, shown=shown)
    drawn.plot(ax).ax_.get_legend().remove()
    across, up = (short(name, 28) for name in plane.names)
    return svg(figure, f"Map of the rows on {across} and {up}, blank rows as squares.", shown)


def _map(case: Case) -> str:
    other = case.diagnosis.ignorance if case.informed is case.clf else None
    rows = case.values, case.drawn, case.labels.codes
    return regions(case.whole, other, rows, case.classes, case.features, case.plane)


def _strip(case: Case) -> str:
    shown, name = case.drawn, case.features[0]
    codes, lanes = case.labels.codes[shown], len(case.classes) + 1
    figure, ax = panel(1 + 0.35 * lanes, 5.2)
    heights = codes % lanes + np.random.default_rng(0).uniform(0.2, 0.8, shown.size)
    draw.scatter(ax, np.column_stack((case.values[shown, 0], heights)), codes)
    ax.set_yticks(np.arange(lanes) + 0.5, [*(as_text(name, 20) for name in case.classes), "blank"])
    ax.set(xlim=reach(case.values[:, 0], 2), ylim=(0, lanes), xlabel=as_text(name))
    return svg(figure, f"Rows along {short(name)}: a lane for each class, blanks on top.", shown)


def _evidence(case: Case) -> dict[str, str]:
    found = case.diagnosis
    if min(found.labelled_entropy.size, found.blank_entropy.size) < 2:
        return {}
    display = EntropyDisplay(found.labelled_entropy, found.blank_entropy, found.curve)
    labelled, blank = (f"{np.median(v):.1f}" for v in (display.labelled, display.blank))
    medians = f"Median of labelled rows {labelled}, of blank rows {blank}; larger is harder."
    asked = {"densities": (display.densities, f"Distribution of difficulty. {medians}")}
    asked["chance"] = display.probability, "Chance of a label against difficulty, with a band."
    out = {}
    for name, (show, title) in asked.items():
        figure, ax = panel()
        show(ax)
        ax.set(title="", xlim=display.limits_, xlabel="← easier · difficulty · harder →")
        out[name] = svg(figure, title)
    return out


def _hesitation(case: Case) -> str:
    chance = case.main.mechanism_.speaking(np.log(np.maximum(case.proba, 1e-300)), case.proba)
    figure, ax = panel(2.8)
    draw_readers(case.said.readers, 1 - case.proba.max(axis=1), chance, ax)
    ax.set_xlabel("chance that the likeliest class is wrong")
    names = ", ".join(map(short, case.said.readers))
    return svg(figure, f"Chance of a label against difficulty, for the readers {names}.")


def _reliability(bands: list[dict[str, Any]], agrees: str) -> str:
    names = ("claimed", "right", "lower", "upper")
    claimed, right, lower, upper = (100 * np.array([b[k] for b in bands]) for k in names)
    figure, ax = panel()
    ax.plot([0, 100], [0, 100], color=GREY, linestyle="--", linewidth=1)
    style = {"fmt": "o", "color": class_color(0), "markersize": 5, "linewidth": 1.2}
    ax.errorbar(claimed, right, np.abs([right - lower, upper - right]), **style)
    low = min(50.0, float(np.floor(min(claimed.min(), lower.min()) / 10) * 10))
    ax.set(xlim=(low, 101.5), ylim=(low, 101.5))
    ax.set(xlabel="confidence of the model, %", ylabel=f"{agrees}, %")
    told = zip(claimed / 100, right / 100, strict=True)
    spoken = "; ".join(f"claims {percent(c)}, right {percent(r)}" for c, r in told)
    return svg(figure, f"Reliability on held-out rows: {spoken}.")


def svg(figure: Any, title: str, shown: Any = ()) -> str:
    """Return a figure as an SVG element; ``shown`` has the numbers of the rows drawn on it."""
    groups = [group for ax in figure.axes for group in ax.collections if hasattr(group, "rows")]
    for group in groups:
        group.set_visible(False)
    target = io.StringIO()
    # ids must differ between the pictures of a page, and be the same every time
    with drawing(**{"svg.hashsalt": title}):
        figure.savefig(target, format="svg", transparent=True)
    # a page has its own fonts, and refers to no group by name
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", target.getvalue(), flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text.partition("<svg")[2].partition(">")[2])
    text = re.sub(r'<g id="[^"]*"', "<g", text.strip().removesuffix("</svg>").strip())
    inner = re.sub(r"<[^>]*>", lambda tag: re.sub(r' ([^ "=]+)="([^"]*)"', _plain, tag[0]), text)
    rows = "".join(_points(group, shown) for group in groups)
    width, height = (72 * size for size in figure.get_size_inches())
    return (
        f'<svg class="chart{" rows" if rows else ""}" viewBox="0 0 {width:g} {height:g}" '
        f'role="img" aria-label="{html.escape(title)}">{inner.replace("> <", "><")}{rows}</svg>'
    )


def _plain(attribute: re.Match[str]) -> str:
    """Return an attribute without needless digits; colours become those of the page."""
    key, value = attribute[1].rpartition(":")[2], attribute[2]
    if key == "style":  # attributes instead, because a page may forbid inline styles
        value = re.sub(r"#[0-9a-f]{6}", lambda m: _VARIABLES.get(m[0], m[0]), value)
        told = (map(str.strip, part.partition(":")[::2]) for part in value.split(";"))
        return "".join(f' {name}="{look}"' for name, look in told if name not in _LEFT_OUT)
    if key in ("d", "x", "y", "transform", "width", "height"):
        value = re.sub(r"-?\d+\.\d{2,}", lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), value)
    return f' {key}="{value.strip()}"' if value else ""


def _points(group: Any, shown: IntArray) -> str:
    """Return rows as one path: the caps of a very short stroke make a dot."""
    figure, at = group.axes.figure, np.ma.filled(group.get_offsets(), np.nan)
    low, high = group.axes.viewLim.get_points()
    inside = np.flatnonzero(((at >= low) & (at <= high)).all(axis=1))
    if not inside.size:
        return ""
    scale, height = 72 / figure.dpi, 72 * figure.get_size_inches()[1]
    places = group.axes.transData.transform(at[inside]) * scale
    path = "".join(f"M{x:.1f},{height - y:.1f}h.1" for x, y in places)
    rows = " ".join(map(str, shown[group.rows[inside]]))
    h = int(group.get_gid().removeprefix("rows-"))
    css = "blank" if h < 0 else f"labelled {class_css(h)}"
    return f'<path class="dots {css}" d="{path}" data-rows="{rows}"/>'
