"""What pictures show: a case among the others, the boundary, and curves of hesitation.

A case's own picture is made at once for every case, by templates/pictures.html.j2 from the numbers
below, and shows labels and features alone, nothing that the model thinks. Those of what is learnt
are the package's displays.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator
from sklearn.linear_model import LogisticRegression

from hesitant._drawing import BLANK, class_color, drawing, share_between
from hesitant._typing import FloatArray, IntArray
from hesitant.desk._journal import Answer
from hesitant.desk._table import Data
from hesitant.diagnostics._regions import reach
from hesitant.report._pictures import panel, regions, svg

if TYPE_CHECKING:
    from hesitant.desk._learning import Model

CORNER, SIZE = np.array([52, 288]), np.array([378, -278])  # of the picture, from the lower left
MIDDLE = np.array([0.05, 0.5, 0.95])
MOST_DOTS, MOST_ROWS, FEWEST_FOR_CURVE = 250, 2000, 8


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """Which features tell, where the classes lie, and some rows of each."""

    telling: list[int]  # features by how far apart the classes lie, against the spread within
    ends: FloatArray  # what of each feature to show (2, p)
    ranges: FloatArray  # 5, 50 and 95 % of each class (3, g, p)
    dots: list[IntArray]  # rows without a label, then rows of each class

    @classmethod
    def of(cls, data: Data, codes: IntArray) -> Self:
        """Look at a sample: of many rows a few thousand show as much as all of them."""
        X, g = data.X, len(data.setup.classes)
        order = np.random.default_rng(0).permutation(np.flatnonzero(data.usable))
        groups = [order[codes[order] == h] for h in range(-1, g)]
        some = np.concatenate([rows[:MOST_ROWS] for rows in groups[1:]])
        found = pd.DataFrame(X[some]).groupby(codes[some]).quantile(MIDDLE)
        every = pd.MultiIndex.from_product((range(g), MIDDLE))
        ranges = found.reindex(every).to_numpy(float).reshape(g, 3, -1).swapaxes(0, 1)
        # by the table's own labels where they suffice, so that the picture stays the same
        known = data.codes if len(np.unique(data.codes[order])) > 2 else codes
        rows = order[known[order] >= 0]
        share = share_between(X[rows], np.eye(g)[known[rows]]) if rows.size else X[0] * 0
        ends = np.array([reach(x, 2) for x in X[order[: 10 * MOST_ROWS]].T]).T
        telling = np.argsort(-share, kind="stable").tolist()
        return cls(telling, ends, ranges, [rows[:MOST_DOTS] for rows in groups])


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
    data, pair = model.data, model.view.telling[:2]
    if len(pair) < 2:
        return None
    aim, ends = data.X[row, pair], model.view.ends[:, pair]
    low, high = np.fmin(ends[0], aim), np.fmax(ends[1], aim)

    def at(points: Any) -> list[list[float]]:
        found = CORNER + SIZE * (points - low) / (high - low)
        return found[np.isfinite(found).all(axis=1)].tolist()

    across, up = (
        [v for v in MaxNLocator(5).tick_values(*both) if both[0] <= v <= both[1]]
        for both in zip(low, high, strict=True)
    )
    # a thousand points are written here: a template would take ten times as long
    dots = [[f"{x:.1f} {y:.1f}" for x, y in at(data.X[some][:, pair])] for some in model.view.dots]
    return {
        "names": [data.setup.features[j] for j in pair],
        "across": [(x, v) for v in across for x, _ in at([[v, low[1]]])],
        "up": [(y, v) for v in up for _, y in at([[low[0], v]])],
        "dots": list(enumerate(dots, -1)),
        "aim": at(aim[None]),
    }


def boundary(model: "Model", before: "Model | None") -> str | None:
    """Draw where the model changes its mind, now and, dashed, before the sitting."""
    data, pair = model.data, model.view.telling[:2]
    if model.clf is None or len(pair) < 2:
        return None
    old = None if before is None else before.clf
    same = old is not None and list(old.classes_) == list(model.clf.classes_)
    rows = data.X, np.concatenate(model.view.dots), model.codes
    with drawing():
        named = list(data.setup.classes), list(data.setup.features), pair
        return regions(model.clf, old if same else None, *rows, *named)


def hesitation(answers: Sequence[Answer], model: "Model", reader: str) -> dict[str, Any]:
    """Draw a reader's audit cases by difficulty, labelled above and can't tell below.

    Only audit cases count: the others were chosen because they were hard.
    """
    own = [a for a in answers if a["reader"] == reader and a["audit"] and model.clf is not None]
    own = [a for a in own if a["answer"] != "not shown"]
    scale = np.log(len(model.data.setup.classes))
    at = np.array([model.entropy[a["row"]] / scale for a in own])
    gave = np.array([a["answer"] == "label" for a in own], dtype=bool)
    # side by side where they would hide each other
    height = gave + 0.03 * (np.arange(len(at)) % 3 - 1)
    enough = len(own) >= FEWEST_FOR_CURVE and 0 < gave.sum() < len(own)
    with drawing():
        figure, ax = panel()
        ax.plot(at[gave], height[gave], "o", color=class_color(0), markersize=4)
        ax.plot(at[~gave], height[~gave], "s", color=BLANK, markersize=4)
        if enough:  # a weak prior: a few cases must not make a cliff
            fit, grid = LogisticRegression(C=10.0).fit(at[:, None], gave), np.linspace(0, 1, 41)
            ax.plot(grid, fit.predict_proba(grid[:, None])[:, 1], color=class_color(0))
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.08, 1.08))
        ax.set(xlabel="difficulty (entropy, 0 to 1)", ylabel="chance of a label")
        drawn = svg(figure, f"How often {reader} gives a label, by difficulty.")
    return {"reader": reader, "gave": gave.sum(), "n": gave.size, "curve": enough, "svg": drawn}
