"""The report's pictures: the package's displays, as SVG that follows the page's colours.

Matplotlib draws axes, curves and regions. On the way to the page its colours become CSS variables
(so that dark mode works), its text stays text, and rows become one path for each class, with the
rows' numbers beside it: small, and the page's script can say which row a point is.
"""

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from hesitant._drawing import (
    _COLORS,
    BLANK,
    GREY,
    INK,
    as_text,
    class_color,
    drawing,
    new_figure,
    scatter,
)
from hesitant._typing import IntArray
from hesitant._words import noun, percent, short
from hesitant.diagnostics import EntropyDisplay, RegionsDisplay
from hesitant.diagnostics._regions import choose_plane, reach, surface_on
from hesitant.inference._sensitivity import Sensitivity
from hesitant.report._case import Case

MOST_LABELLED, MOST_BLANK = 1500, 500
COLORS = len(_COLORS)
GRID = 110
_VARIABLES = {class_color(h).lower(): f"var(--c{h})" for h in range(COLORS)}
_VARIABLES |= {BLANK: "var(--blank)", GREY: "var(--soft)", INK: "var(--ink)"}
_NAMES = re.compile(r"#[0-9a-f]{6}")
_LONG = re.compile(r"-?\d+\.\d{2,}")
_FONT = re.compile(r"(font|fill)[-a-z]*: [^;]*;? ?")


def class_css(h: int) -> str:
    """Return the CSS class that colours class h."""
    return f"c{h % COLORS}"


def pictures(case: Case, held_out: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return each picture by name, with the sentence below it."""
    with warnings.catch_warnings(), drawing(**{"font.size": 8.5, "axes.labelsize": 8.5}):
        warnings.simplefilter("ignore")  # names in scripts that matplotlib's font lacks
        drawn = {
            "map": _map(case) if case.values.shape[1] > 1 else _strip(case),
            **_evidence(case),
        }
        if case.tilted is not None:
            drawn["tilt"] = _tilt(case.tilted)
        if case.panel:
            drawn["hesitation"] = _hesitation(case)
        if held_out["available"]:
            drawn["reliability"] = _reliability(held_out)
    return {name: picture for name, picture in drawn.items() if picture}


# -- what is drawn --------------------------------------------------------------------------------


def _map(case: Case) -> dict[str, str]:
    """Draw rows on two features that tell the classes apart, over the regions."""
    plane = choose_plane(case.values, case.plane, case.features)
    shown = _drawn(case)
    points, everywhere = plane.place(case.values[shown]), plane.place(case.values)
    grid_x, grid_y = (reach(everywhere[:, k], GRID) for k in range(2))
    surface = surface_on(plane, np.stack(np.meshgrid(grid_x, grid_y), axis=-1), "average")
    other = case.diagnosis.ignorance if case.informed is case.clf else None
    figure = new_figure(5.2, 3.9)
    display = RegionsDisplay(
        grid_x,
        grid_y,
        surface(case.whole),
        points,
        case.labels.codes[shown],
        case.classes,
        plane.names,
        None if other is None else surface(other),
    ).plot(figure.subplots())
    display.ax_.get_legend().remove()
    alone = "" if case.values.shape[1] == 2 else " from these two features alone"
    x, y = (short(name, 28) for name in plane.names)
    return {
        "svg": svg(figure, f"Map of the rows on {x} and {y}, blank rows as squares.", shown),
        "caption": f"Colour is the class that the model would choose{alone}, paler where it is "
        "less sure"
        + ("; the dashed line is its border if the blanks are ignored." if other else "."),
    }


def _strip(case: Case) -> dict[str, str]:
    """Draw a single feature: one lane for each class, one for the blanks."""
    shown = _drawn(case)
    codes, lanes = case.labels.codes[shown], len(case.classes) + 1
    figure = new_figure(5.2, 1 + 0.35 * lanes)
    ax = figure.subplots()
    heights = codes % lanes + np.random.default_rng(0).uniform(0.2, 0.8, shown.size)
    scatter(ax, np.column_stack((case.values[shown, 0], heights)), codes)
    ax.set_yticks(np.arange(lanes) + 0.5, [*(as_text(name, 20) for name in case.classes), "blank"])
    low, high = reach(case.values[:, 0], 2)
    ax.set(xlim=(low, high), ylim=(0, lanes), xlabel=as_text(case.features[0]))
    title = f"Rows along {short(case.features[0])}: one lane for each class, blanks on top."
    return {"svg": svg(figure, title, shown), "caption": "Each row along the only feature."}


def _drawn(case: Case) -> IntArray:
    """Return which rows to draw: of many a sample, the same one every time."""
    rng = np.random.default_rng(0)
    parts = []
    for which, most in ((case.labels.labelled, MOST_LABELLED), (case.blank, MOST_BLANK)):
        found = np.flatnonzero(which)
        parts.append(found if found.size <= most else rng.choice(found, most, replace=False))
    return np.sort(np.concatenate(parts))


def _evidence(case: Case) -> dict[str, dict[str, str]]:
    diagnosis = case.diagnosis
    display = EntropyDisplay(diagnosis.labelled_entropy, diagnosis.blank_entropy, diagnosis.curve)
    if min(display.labelled.size, display.blank.size) < 2:
        return {}
    medians = (np.median(v) for v in (display.labelled, display.blank))
    out = {
        "densities": _panel(
            display.densities,
            "Distribution of difficulty. Median of labelled rows {:.1f}, of blank rows {:.1f}; "
            "larger is harder.".format(*medians),
            "How difficult labelled and blank rows are: if blanks were random, the two shapes "
            "would be alike.",
            display.limits_,
        )
    }
    if display.curve is not None:
        level = percent(display.curve.level, whole=True)
        out["chance"] = _panel(
            display.probability,
            f"Chance of a label against difficulty, with a {level} band.",
            f"The chance of a label, as the data show it (with its {level} band) and as the model "
            "has it.",
            display.limits_,
        )
    return out


def _tilt(result: Sensitivity) -> dict[str, str]:
    """Draw how many predictions change if one class is labelled more or less readily."""
    figure = new_figure(3.5, 2.4)
    ax = figure.subplots()
    ax.plot(np.exp(result.tilts), 100 * result.changed, "o-", color=class_color(0), markersize=4)
    ax.set(xscale="log", ylim=(0, max(2.0, 115 * result.changed.max())))
    ax.set_xticks(np.exp(result.tilts), [f"{odds:.2g}" for odds in np.exp(result.tilts)])
    ax.minorticks_off()
    ax.set_xlabel(f"odds of a label of {as_text(result.of, 20)}, against others")
    ax.set_ylabel("rows that change class, %")
    most = percent(float(result.changed.max()))
    return {
        "svg": svg(figure, f"If labels depended on the class, at most {most} of rows change."),
        "caption": f"If equally hard rows of class {short(result.of, 20)} were labelled up to "
        f"three times more or less readily than others, at most {most} of rows would change "
        "class.",
    }


def _hesitation(case: Case) -> dict[str, str]:
    """Draw each reader's chance of a label against difficulty."""
    log_tau = np.log(np.maximum(case.proba, 1e-300))
    chance = case.whole.mechanism_.speaking(log_tau, case.proba)
    difficulty = 1 - case.proba.max(axis=1)
    order = np.argsort(difficulty)
    figure = new_figure(3.5, 2.8)
    ax = figure.subplots()
    for j, reader in enumerate(case.said.readers):
        ax.plot(
            100 * difficulty[order],
            100 * chance[order, j],
            color=class_color(j),
            linestyle=("-", "--", ":", "-.")[j // COLORS % 4],
            label=as_text(reader, 20),
        )
    ax.set(xlabel="chance that the likeliest class is wrong, %", ylabel="chance of a label, %")
    ax.set_ylim(0, 102)
    ax.legend(loc="best")
    names = ", ".join(map(short, case.said.readers))
    return {
        "svg": svg(figure, f"Chance of a label against difficulty, for the readers {names}."),
        "caption": "How readily each reader labels rows that are harder to tell.",
    }


def _panel(
    draw: Callable[[Any], None], title: str, caption: str, limits: tuple[float, float]
) -> dict[str, str]:
    figure = new_figure(3.5, 2.6)
    ax = figure.subplots()
    draw(ax)
    ax.set(title="", xlim=limits, xlabel="← easier · difficulty · harder →")
    return {"svg": svg(figure, title), "caption": caption}


def _reliability(held_out: dict[str, Any]) -> dict[str, str]:
    bands = held_out["reliability"]
    claimed, right, lower, upper = (
        100 * np.array([band[k] for band in bands]) for k in ("claimed", "right", "lower", "upper")
    )
    figure = new_figure(3.5, 2.6)
    ax = figure.subplots()
    ax.plot([0, 100], [0, 100], color=GREY, linestyle="--", linewidth=1)
    ax.errorbar(
        claimed,
        right,
        np.abs([right - lower, upper - right]),
        fmt="o",
        color=class_color(0),
        markersize=5,
        linewidth=1.2,
    )
    low = min(50.0, float(np.floor(min(claimed.min(), lower.min()) / 10) * 10))
    ax.set(xlim=(low, 101.5), ylim=(low, 101.5), xlabel="confidence of the model, %")
    ax.set_ylabel("right on held-out rows, %")
    spoken = "; ".join(
        f"claims {percent(band['claimed'])}, right {percent(band['right'])} of "
        f"{noun(band['rows'], 'row')}"
        for band in bands
    )
    return {
        "svg": svg(figure, f"Reliability on held-out rows: {spoken}."),
        "caption": "On the dashed line the model is as often right as it says; below it, it is "
        "too sure.",
    }


# -- from a figure to a page ----------------------------------------------------------------------


def svg(figure: Any, title: str, shown: IntArray | None = None) -> str:
    """Return a figure as an SVG element; ``shown`` has the numbers of the rows drawn on it."""
    groups = [
        (ax, group)
        for ax in figure.axes
        for group in ax.collections
        if (group.get_gid() or "").startswith("rows-")
    ]
    for _, group in groups:
        group.set_visible(False)
    target = io.StringIO()
    # ids must differ between the pictures of a page, and be the same every time
    with drawing(**{"svg.hashsalt": title}):
        figure.savefig(target, format="svg", transparent=True)
    root = ElementTree.fromstring(target.getvalue())
    _clean(root)
    width, height = (72 * size for size in figure.get_size_inches())
    points = "" if shown is None else "".join(_points(ax, group, shown) for ax, group in groups)
    inner = "".join(ElementTree.tostring(part, encoding="unicode") for part in root)
    told = html.escape(title)
    return (
        f'<svg class="chart{" rows" if points else ""}" viewBox="0 0 {width:g} {height:g}" '
        f'role="img" aria-label="{told}">{inner}{points}</svg>'
    )


def _clean(root: ElementTree.Element) -> None:
    """Drop names, fonts and needless digits; colours become those of the page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("}metadata") or child.tag.endswith("}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in list(element.attrib):
            value = element.attrib.pop(key)
            key = key.rpartition("}")[2]
            if key == "id" and element.tag == "g":
                continue  # nothing refers to them
            if key == "style" and element.tag == "text":
                value = _FONT.sub("", value) if "rotate" not in value else value
            if key == "style":
                value = _NAMES.sub(lambda m: _VARIABLES.get(m[0], m[0]), value)
            if key in ("d", "x", "y", "transform", "width", "height"):
                value = _LONG.sub(lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), value)
                value = value.replace(" \n", " ").replace("\n", " ")
            if value:
                element.set(key, value)
        if element.tail and not element.tail.strip():
            element.tail = None
        if element.text and not element.text.strip():
            element.text = None


def _points(ax: Any, group: Any, shown: IntArray) -> str:
    """Return rows as one path: the caps of a very short stroke make a dot."""
    figure = ax.figure
    scale, height = 72 / figure.dpi, 72 * figure.get_size_inches()[1]
    at = ax.transData.transform(group.get_offsets())
    box = ax.get_window_extent()
    inside = np.flatnonzero(
        (at >= [box.x0 - 1, box.y0 - 1]).all(axis=1) & (at <= [box.x1 + 1, box.y1 + 1]).all(axis=1)
    )
    if not inside.size:
        return ""
    path = "".join(f"M{x * scale:.1f},{height - y * scale:.1f}h.1" for x, y in at[inside])
    rows = " ".join(map(str, shown[group.rows[inside]]))
    which = group.get_gid().removeprefix("rows-")
    css = "blank" if which == "blank" else f"labelled {class_css(int(which))}"
    return f'<path class="dots {css}" d="{path}" data-rows="{rows}"/>'
