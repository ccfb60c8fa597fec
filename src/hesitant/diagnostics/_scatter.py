"""Rows as points: classes in colour, blanks as black squares."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hesitant._drawing import BLANK, class_color, class_marker
from hesitant._typing import FloatArray, IntArray

__all__ = ["as_matrix", "find_features", "legend_handles", "scatter"]


def as_matrix(X: Any, names: Any = None) -> tuple[FloatArray, list[str]]:
    """Return features as an array with a name for each column."""
    if names is None and hasattr(X, "columns"):
        names = [str(c) for c in X.columns]
    values = np.asarray(X, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"X has shape {values.shape}: give one row a case, one column a feature.")
    names = [f"x{j}" for j in range(values.shape[1])] if names is None else list(map(str, names))
    if len(names) != values.shape[1]:
        raise ValueError(f"{len(names)} feature names for {values.shape[1]} features.")
    return values, names


def scatter(ax: Any, points: FloatArray, codes: IntArray) -> None:
    """Draw labelled rows by class, then blanks on top of them."""
    n = len(codes)
    size = float(np.clip(8000 / max(n, 1), 1.5, 16.0))
    many = n > 3000  # thousands of vector shapes would make a file nobody can open
    for h in np.unique(codes[codes >= 0]):
        mine = codes == h
        ax.scatter(
            points[mine, 0],
            points[mine, 1],
            s=size,
            marker=class_marker(h),
            color=class_color(h),
            alpha=0.6 if n < 2000 else 0.4 if n < 6000 else 0.25,
            linewidths=0,
            rasterized=many,
            zorder=3,
        )
    blank = codes < 0
    ax.scatter(
        points[blank, 0],
        points[blank, 1],
        s=max(0.9 * size, 4.0),
        marker="s",
        color=BLANK,
        alpha=0.85 if blank.sum() < 2000 else 0.5,
        linewidths=0,
        rasterized=many,
        zorder=4,
    )


def legend_handles(classes: list[str], codes: IntArray) -> list[Any]:
    """Return a legend entry for each class and for the blanks, with counts."""
    from matplotlib.lines import Line2D

    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    entries = [
        (f"{name} ({counts[h]:,})", class_marker(h), class_color(h))
        for h, name in enumerate(classes)
    ]
    if (codes < 0).any():
        entries.append((f"blank ({int((codes < 0).sum()):,})", "s", BLANK))
    return [
        Line2D([], [], linestyle="", marker=m, color=c, markersize=5, label=label)
        for label, m, c in entries
    ]


def find_features(
    wanted: Sequence[Any] | None, names: list[str], most: int | None = None
) -> list[int]:
    """Return the positions of features given by name or position."""
    if wanted is None:
        return list(range(len(names)))[:most]
    places = []
    for f in wanted:
        if isinstance(f, str) and f in names:
            places.append(names.index(f))
        elif isinstance(f, int | np.integer) and -len(names) <= f < len(names):
            places.append(int(f) % len(names))
        else:
            raise ValueError(f"features contains {f!r}: give names or positions among {names}.")
    return places
