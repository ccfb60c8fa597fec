"""What all pictures share: colours anyone can tell apart, plain axes, rows as points."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hesitant._optional import need
from hesitant._typing import FloatArray, IntArray
from hesitant._words import short

# Okabe and Ito's colours, told apart with any kind of colour vision; black is for blanks.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
_MARKERS = ("o", "^", "v", "D", "P", "X", "*")
BLANK, GREY, INK = "#000000", "#6b6b6b", "#333333"


def class_color(h: int) -> str:
    """Return the colour of a class; a blank is −1."""
    return BLANK if h < 0 else COLORS[h % len(COLORS)]


def class_marker(h: int) -> str:
    # with the colour, 49 classes can be told apart
    return "s" if h < 0 else _MARKERS[(h + h // len(COLORS)) % len(_MARKERS)]


def drawing(**style: Any) -> Any:
    """Draw in the package's style, in a ``with``: the user's settings come back afterwards."""
    return need("matplotlib.style", "plot").context(["hesitant.pictures", style])


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches, that pyplot does not know of."""
    return need("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")


def as_text(name: object, limit: int = 40) -> str:
    """Return a user's name as a picture can show it: short, and no dollar starts a formula."""
    return short(name, limit).replace("$", r"\$")


class Drawing:
    """Base of the displays: what has been drawn, and how to keep it."""

    def save(self, path: Any, **options: Any) -> None:
        """Write the picture to a file; the ending (.png, .svg, .pdf) decides the format."""
        self.figure_.savefig(path, **options)

    def use(self, axes: Any, size: tuple[float, float], *shape: int, **options: Any) -> bool:
        """Take the axes given, or those of a new figure; return whether it is new."""
        new = axes is None
        if new:
            figure = need("matplotlib.pyplot", "plot").figure(figsize=size, layout="constrained")
            axes = figure.subplots(*shape, **options)
        self.axes_: Any = np.atleast_1d(np.asarray(axes, dtype=object))
        self.ax_ = self.axes_.flat[0]
        self.figure_ = self.ax_.figure
        return new


def scatter(ax: Any, points: FloatArray, codes: IntArray) -> None:
    """Draw labelled rows by class, then blanks; each group keeps the places of its rows."""
    n = len(codes)
    size = float(np.clip(8000 / max(n, 1), 1.5, 16.0))
    faint = 0.6 if n < 2000 else 0.4 if n < 6000 else 0.25
    many = n > 3000  # thousands of vector shapes would make a file nobody can open
    for h in [*np.unique(codes[codes >= 0]), -1]:
        mine = np.flatnonzero(codes == h)
        look = {"s": size, "marker": class_marker(h), "color": class_color(h), "alpha": faint}
        look |= {"zorder": 3, "gid": f"rows-{h}", "linewidths": 0, "rasterized": many}
        if h < 0:
            look |= {"s": max(0.9 * size, 4.0), "zorder": 4}
            look["alpha"] = 0.85 if mine.size < 2000 else 0.5
        ax.scatter(*points[mine].T[:2], **look).rows = mine


def legend_handles(classes: Sequence[str], codes: IntArray) -> list[Any]:
    """Return a legend entry for each class and for the blanks, with counts."""
    Line2D, handles = need("matplotlib.lines", "plot").Line2D, []
    for h in [*range(len(classes)), *np.unique(codes[codes < 0])]:
        name = "blank" if h < 0 else as_text(classes[h])
        look: Any = {"marker": class_marker(h), "color": class_color(h), "markersize": 5}
        handles.append(Line2D([], [], ls="", **look, label=f"{name} ({(codes == h).sum():,})"))
    return handles


def share_between(X: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the share of each feature's variance that lies between classes of weights tau."""
    weight, Z = np.maximum(tau.sum(axis=0), 1e-9), X - np.nanmedian(X, axis=0)
    with np.errstate(all="ignore"):
        Z = np.nan_to_num(Z / np.nanstd(Z, axis=0))
        means = tau.T @ Z / weight[:, None]
        between = weight @ (means - weight @ means / len(Z)) ** 2
        within = sum(tau[:, h] @ (Z - means[h]) ** 2 for h in range(tau.shape[1]))
        return np.nan_to_num(between / (between + within), nan=0.0, posinf=0.0)


def one_a_line(ax: Any, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), [as_text(name, 80) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)


def dotted_line(ax: Any, at: float = 0) -> None:
    ax.axvline(at, color=GREY, linewidth=0.7, linestyle=":")
