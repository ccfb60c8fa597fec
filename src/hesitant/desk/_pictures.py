"""The numbers of the pictures; templates/pictures.html.j2 makes SVG of them.

Before an answer is given, only labels and features are drawn, nothing that the model thinks.
"""

import functools
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.desk._learning import Model

MOST_DOTS, GRID, DRAWS = 250, 90, 60_000
# A picture: "names" and "title"; "x" and "y", what the axes span; "dots" and "lines", each with
# the CSS class and points; a dot's shape; "aim", the case at hand.
Picture = dict[str, Any]


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two ends."""
    size = 10.0 ** np.floor(np.log10((high - low) / 5))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= (high - low) / 5.005)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(f"{k * step:.9g}") for k in range(int(first), int(last) + 1)]


@functools.lru_cache(maxsize=4)
def telling(model: Model) -> list[int]:
    """Return features by how far apart the labelled classes lie, against the spread within."""
    data = model.data
    # by the table's own labels where they suffice, so that the picture stays the same all sitting
    own = np.unique(data.codes[data.usable & (data.codes >= 0)]).size > 1
    codes = data.codes if own else model.codes
    kept = np.isfinite(data.X).all(axis=1) & (codes >= 0)
    X, codes = data.X[kept], codes[kept]
    if np.unique(codes).size < 2:
        return list(range(data.X.shape[1]))
    within = sum(X[codes == h].var(axis=0) * (codes == h).mean() for h in np.unique(codes))
    with np.errstate(all="ignore"):  # a constant feature tells nothing
        ratio = np.nan_to_num(X.var(axis=0) / within, nan=0.0)
    return [int(j) for j in np.argsort(-ratio, kind="stable")]


@functools.lru_cache(maxsize=4)
def _spread(model: Model) -> tuple[FloatArray, FloatArray]:
    """Return what of each feature to show (2, p), and 5, 50 and 95 % of each class (3, g, p)."""
    data, g = model.data, len(model.data.setup.classes)
    low, high = np.nanquantile(data.X[data.usable], [0.004, 0.996], axis=0)
    margin = np.maximum(0.06 * (high - low), 1e-9 * np.maximum(1.0, np.abs(low)))
    classes = np.full((3, g, data.X.shape[1]), np.nan)
    for h in range(g):
        rows = np.flatnonzero(data.usable & (model.codes == h))[:20_000]
        told = np.isfinite(data.X[rows]).any(axis=0)
        classes[:, h, told] = np.nanquantile(data.X[rows][:, told], [0.05, 0.5, 0.95], axis=0)
    return np.stack([low - margin, high + margin]), classes


def ranges(model: Model, row: int) -> list[dict[str, Any]]:
    """Return each feature of a case against the range of each class, the most telling first."""
    (ends, classes), names = _spread(model), model.data.setup.classes
    x = model.data.X[row]
    low, high = np.fmin(ends[0], x), np.fmax(ends[1], x)
    share, at = np.clip((classes - low) / (high - low), 0, 1), (x - low) / (high - low)
    return [
        {
            "name": model.data.setup.features[j],
            "value": "–" if np.isnan(x[j]) else f"{x[j]:.4g}",
            "at": at[j],
            "bars": [(h, *share[:, h, j]) for h in range(len(names)) if share[0, h, j] >= 0],
            "usual": [n for h, n in enumerate(names) if share[0, h, j] <= at[j] <= share[2, h, j]],
        }
        for j in telling(model)
    ]


def place(model: Model, row: int | None = None) -> Picture | None:
    """Draw the labelled cases and some blank ones, and a case among them."""
    data, rng = model.data, np.random.default_rng(0)
    pair = telling(model)[:2]
    if len(pair) < 2:
        return None
    ends = _spread(model)[0][:, pair]
    aim = None if row is None or np.isnan(data.X[row, pair]).any() else data.X[row, pair]
    low, high = ends if aim is None else (np.minimum(ends[0], aim), np.maximum(ends[1], aim))
    dots = []
    for h in range(-1, len(data.setup.classes)):
        rows = np.flatnonzero(np.isfinite(data.X[:, pair]).all(axis=1) & (model.codes == h))
        some = rng.permutation(rows)[:MOST_DOTS]
        dots.append((f"dot c{h % 8}" if h >= 0 else "dot blank", h, data.X[some][:, pair]))
    return {
        "names": [data.setup.features[j] for j in pair],
        "title": "This case among the others" if row is not None else "The boundary",
        "x": (low[0], high[0]),
        "y": (low[1], high[1]),
        "dots": dots,
        "lines": [],
        "aim": aim,
    }


def boundary(model: Model, before: Model | None) -> Picture | None:
    """Draw where the model changes its mind, now and before the sitting."""
    from contourpy import contour_generator

    picture = place(model)
    if picture is None or model.clf is None:
        return None
    x, y = (np.linspace(low, high, GRID) for low, high in (picture["x"], picture["y"]))
    for shown, css in ((before, "edge before"), (model, "edge")):
        if shown is not None and shown.clf is not None:
            for margin in _margins(shown, tuple(telling(model)[:2]), tuple(x), tuple(y)):
                found = contour_generator(x, y, margin).lines(0.0)
                picture["lines"] += [(css, line) for line in found]
    return picture


@functools.lru_cache(maxsize=4)
def _margins(model: Model, pair: Any, x: Any, y: Any) -> list[FloatArray]:
    """Return by how much each class is ahead of the others, over a grid of two features."""
    from scipy.ndimage import gaussian_filter

    g, shape = len(model.clf.classes_), (GRID, GRID)
    if model.data.X.shape[1] == 2:
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        joint = model.clf.predict_log_proba(grid[:, list(pair)])  # a pair is its own inverse
        joint = np.maximum(joint, -50).T.reshape(g, *shape)
    else:  # the other features are averaged over: draws work for classes of any shape
        drawn, truth, _ = model.clf.sample(DRAWS, random_state=0)
        joint, ends = np.empty((g, *shape)), [(y[0], y[-1]), (x[0], x[-1])]
        for h, name in enumerate(model.clf.classes_):
            rows = drawn[truth == name]
            count, *_ = np.histogramdd(rows[:, list(pair)[::-1]], bins=shape, range=ends)
            joint[h] = gaussian_filter(count, 3.0)
        # less than a 25th of a draw in a cell is nothing to judge by
        joint[:, joint.max(axis=0) < 0.04] = np.nan
        joint = np.log(np.maximum(joint, 1e-3))
    return [joint[h] - np.delete(joint, h, axis=0).max(axis=0) for h in range(g if g > 2 else 1)]


def curve(found: dict[str, Any], assumed: Any) -> Picture:
    """Draw a reader's audit cases by difficulty: labelled above, can't tell below."""
    lines = [("edge before", assumed), ("edge", found["curve"])]
    at, gave = found["at"], found["gave"]
    # side by side where they would hide each other
    points = np.column_stack([at, gave + 0.03 * (np.arange(len(at)) % 3 - 1)])
    return {
        "names": ["difficulty (entropy, 0 to 1)", "chance of a label"],
        "title": f"How often {found['reader']} gives a label, by difficulty",
        "x": (0.0, 1.0),
        "y": (-0.08, 1.08),
        "dots": [("dot gave", 0, points[gave]), ("dot withheld", 1, points[~gave])],
        "lines": [(css, np.column_stack(line)) for css, line in lines if line is not None],
        "aim": None,
    }
