"""What pictures show: a case among the others, the boundary, and curves of hesitation.

A case's own picture is made at once for every case, by templates/pictures.html.j2 from the numbers
below, and shows labels and features alone, nothing that the model thinks. Those of what is learnt
are the package's displays.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hesitant._drawing import BLANK, class_color, drawing, new_figure
from hesitant._typing import FloatArray, IntArray
from hesitant.desk._journal import Answer
from hesitant.desk._table import Data

if TYPE_CHECKING:
    from hesitant.desk._learning import Model

FRAME = (52.0, 288.0), (430.0, 10.0)  # lower left and upper right corner of the picture
MOST_DOTS, MOST_ROWS, FEWEST_FOR_CURVE = 250, 2000, 8


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """Which features tell, where the classes lie, and some rows of each."""

    telling: list[int]  # features by how far apart the classes lie, against the spread within
    ends: FloatArray  # what of each feature to show (2, p)
    ranges: FloatArray  # 5, 50 and 95 % of each class (3, g, p)
    dots: list[IntArray]  # rows without a label, then rows of each class

    @classmethod
    def of(cls, data: Data, codes: IntArray) -> "View":
        """Look at a sample: of many rows a few thousand show as much as all of them."""
        X, g = data.X, len(data.setup.classes)
        order = np.random.default_rng(0).permutation(np.flatnonzero(data.usable))
        groups = [order[codes[order] == h] for h in range(-1, g)]
        low, high = np.nanquantile(X[order[: 10 * MOST_ROWS]], [0.004, 0.996], axis=0)
        margin = np.maximum(0.06 * (high - low), 1e-9 * np.maximum(1.0, np.abs(low)))
        ranges = np.full((3, g, X.shape[1]), np.nan)
        for h, rows in enumerate(groups[1:]):
            some = X[rows[:MOST_ROWS]]
            told = np.isfinite(some).any(axis=0)
            ranges[:, h, told] = np.nanquantile(some[:, told], [0.05, 0.5, 0.95], axis=0)
        # by the table's own labels where they suffice, so that the picture stays the same
        own = [order[data.codes[order] == h] for h in range(g)]
        known = own if sum(len(rows) > 0 for rows in own) > 1 else groups[1:]
        whole = [X[rows][np.isfinite(X[rows]).all(axis=1)] for rows in known]
        telling = list(range(X.shape[1]))
        if sum(len(rows) > 0 for rows in whole) > 1:
            every = np.concatenate(whole)
            within = sum(rows.var(axis=0) * len(rows) for rows in whole if len(rows))
            with np.errstate(all="ignore"):  # a constant feature tells nothing
                ratio = np.nan_to_num(every.var(axis=0) * len(every) / within, nan=0.0)
            telling = np.argsort(-ratio, kind="stable").tolist()
        dots = [rows[:MOST_DOTS] for rows in groups]
        return cls(telling, np.stack([low - margin, high + margin]), ranges, dots)


def ranges(model: "Model", row: int) -> list[dict[str, Any]]:
    """Return each feature of a case against the range of each class, the most telling first."""
    view, setup, x = model.view, model.data.setup, model.data.X[row]
    low, high = np.fmin(view.ends[0], x), np.fmax(view.ends[1], x)
    share, at = np.clip((view.ranges - low) / (high - low), 0, 1), (x - low) / (high - low)
    g = range(len(setup.classes))
    return [
        {
            "name": setup.features[j],
            "value": "–" if np.isnan(x[j]) else f"{x[j]:.4g}",
            "at": at[j],
            "bars": [(h, *share[:, h, j]) for h in g if share[0, h, j] >= 0],
            "usual": [setup.classes[h] for h in g if share[0, h, j] <= at[j] <= share[2, h, j]],
        }
        for j in view.telling
    ]


def place(model: "Model", row: int) -> dict[str, Any] | None:
    """Return a case among the labelled ones and some blank ones, on the two telling features."""
    data, view = model.data, model.view
    pair = view.telling[:2]
    if len(pair) < 2:
        return None
    aim = None if np.isnan(data.X[row, pair]).any() else data.X[row, pair]
    low, high = view.ends[:, pair]
    if aim is not None:
        low, high = np.minimum(low, aim), np.maximum(high, aim)
    axes, within = [], np.subtract(FRAME[1], FRAME[0]) / (high - low)
    for j, a, b in zip(pair, low, high, strict=True):
        size = 10.0 ** np.floor(np.log10((b - a) / 5))
        step = size * next(m for m in (1, 2, 5, 10) if m * size * 5.005 >= b - a)
        ticks = step * np.arange(np.ceil(a / step), np.floor(b / step) + 1) + 0.0
        axes.append((data.setup.features[j], a, b, ticks.tolist()))
    # a thousand points are placed here: a template would take ten times as long
    points = [FRAME[0] + (data.X[rows][:, pair] - low) * within for rows in view.dots]
    dots = [[f"{x:.1f} {y:.1f}" for x, y in some.tolist() if x + y == x + y] for some in points]
    return {"axes": axes, "dots": list(enumerate(dots, -1)), "aim": aim}


# -- what is learnt -------------------------------------------------------------------------------


def boundary(model: "Model", before: "Model | None") -> str | None:
    """Draw where the model changes its mind, now and, dashed, before the sitting."""
    from hesitant.report._pictures import regions

    data, pair = model.data, model.view.telling[:2]
    old = None if before is None else before.clf
    if model.clf is None or len(pair) < 2:
        return None
    same = old is not None and list(old.classes_) == list(model.clf.classes_)
    rows = data.X, np.concatenate(model.view.dots), model.codes
    with drawing():
        named = list(data.setup.classes), list(data.setup.features), pair
        return regions(model.clf, old if same else None, *rows, *named)


def hesitation(answers: Sequence[Answer], model: "Model", reader: str) -> dict[str, Any]:
    """Draw a reader's audit cases by difficulty, labelled above and can't tell below.

    Only audit cases count: the others were chosen because they were hard.
    """
    from hesitant.report._pictures import svg

    own = [a for a in answers if a["reader"] == reader and a["audit"] and model.clf is not None]
    own = [a for a in own if a["answer"] != "not shown"]
    scale = np.log(len(model.data.setup.classes))
    at = model.entropy[[a["row"] for a in own]] / scale if own else np.zeros(0)
    gave = np.array([a["answer"] == "label" for a in own], dtype=bool)
    # side by side where they would hide each other
    height = gave + 0.03 * (np.arange(len(at)) % 3 - 1)
    enough = len(own) >= FEWEST_FOR_CURVE and 0 < gave.sum() < len(own)
    with drawing():
        figure = new_figure(3.5, 2.6)
        ax = figure.subplots()
        ax.plot(at[gave], height[gave], "o", color=class_color(0), markersize=4)
        ax.plot(at[~gave], height[~gave], "s", color=BLANK, markersize=4)
        if enough:
            from sklearn.linear_model import LogisticRegression

            # a weak prior: a few cases must not make a cliff
            fit, grid = LogisticRegression(C=10.0).fit(at[:, None], gave), np.linspace(0, 1, 41)
            ax.plot(grid, fit.predict_proba(grid[:, None])[:, 1], color=class_color(0))
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.08, 1.08))
        ax.set(xlabel="difficulty (entropy, 0 to 1)", ylabel="chance of a label")
        drawn = svg(figure, f"How often {reader} gives a label, by difficulty.")
    return {"reader": reader, "gave": gave.sum(), "n": gave.size, "curve": enough, "svg": drawn}
