"""From many features to the few planes worth looking at, and what the model says there."""

import dataclasses
import itertools
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from hesitant._typing import FloatArray, IntArray
from hesitant.report._case import Case

__all__ = ["Plane", "planes"]

SHOWN_FEATURES = 3
GRID = 96
DRAWS = 60_000


@dataclasses.dataclass(frozen=True)
class Plane:
    """Two features, where most rows are, and which class the model would choose there.

    Attributes
    ----------
    features : pair of int
    x, y : pairs of float
        The ranges to show.
    grid_x, grid_y : arrays
    margin : array of shape (g, len(grid_y), len(grid_x))
        Log odds of each class against the best of the others; negative where nothing is known.
    """

    features: tuple[int, int]
    x: tuple[float, float]
    y: tuple[float, float]
    grid_x: FloatArray
    grid_y: FloatArray
    margin: FloatArray


def planes(case: Case, seed: int = 0) -> list[Plane]:
    """Return the planes of the features that separate the classes best, at most three of them."""
    X = np.asarray(case.X, dtype=float)
    p = X.shape[1]
    if p < 2:
        return []
    chosen = sorted(leading_features(X, case.posterior)[:SHOWN_FEATURES])
    drawn = None if p == 2 else _draw(case.clf, seed)
    return [_plane(case, X, pair, drawn) for pair in itertools.combinations(chosen, 2)]


def leading_features(X: FloatArray, tau: FloatArray) -> list[int]:
    """Return features by how far apart the classes' means lie, against the spread within."""
    weight = np.maximum(tau.sum(axis=0), 1e-9)
    center = np.median(X, axis=0)
    Z = X - center
    with np.errstate(all="ignore"):
        means = tau.T @ Z / weight[:, None]
        within = sum(tau[:, h] @ (Z - means[h]) ** 2 for h in range(tau.shape[1])) / len(Z)
        overall = weight @ means / len(Z)
        between = weight @ (means - overall) ** 2 / len(Z)
        ratio = np.nan_to_num(between / within, nan=-1.0, posinf=0.0)
    return [int(j) for j in np.argsort(-ratio, kind="stable")]


def _draw(clf: Any, seed: int) -> list[FloatArray]:
    """Return rows drawn from each class, as many as its weight calls for."""
    rng = np.random.default_rng(seed)
    counts = np.rint(clf.weights_ * DRAWS).astype(int)
    return [clf.family_.sample(clf.state_.params, h, int(n), rng) for h, n in enumerate(counts)]


def _plane(
    case: Case, X: FloatArray, pair: tuple[int, int], drawn: list[FloatArray] | None
) -> Plane:
    x, y = shown_ends(X[:, pair[0]]), shown_ends(X[:, pair[1]])
    grid_x, grid_y = np.linspace(*x, GRID), np.linspace(*y, GRID)
    if drawn is None:
        mesh = np.stack(np.meshgrid(grid_x, grid_y), axis=-1).reshape(-1, 2)
        log_tau = case.clf.predict_log_proba(like(case.X, mesh))
        joint = log_tau.T.reshape(-1, GRID, GRID)
    else:
        joint = _marginal(drawn, pair, x, y)
    return Plane(pair, x, y, grid_x, grid_y, _margins(joint))


def _marginal(
    drawn: list[FloatArray],
    pair: tuple[int, int],
    x: tuple[float, float],
    y: tuple[float, float],
) -> FloatArray:
    """Return the log density of each class over two features, by counting draws.

    Drawing works for every family, also where a margin has no formula.
    """
    inside = np.empty((len(drawn), GRID, GRID))
    for h, rows in enumerate(drawn):
        counts, _, _ = np.histogram2d(rows[:, pair[1]], rows[:, pair[0]], bins=GRID, range=(y, x))
        inside[h] = gaussian_filter(counts, 3.0, mode="nearest")
    with np.errstate(divide="ignore"):
        # less than a 25th of a draw in a cell is nothing to judge by
        return np.where(inside > 0.04, np.log(np.maximum(inside, 1e-12)), -np.inf)


def _margins(joint: FloatArray) -> FloatArray:
    out = np.empty_like(joint)
    for h in range(len(joint)):
        others = np.delete(joint, h, axis=0).max(axis=0)
        with np.errstate(invalid="ignore"):
            gap = joint[h] - others
        out[h] = np.where(np.isneginf(joint[h]), -1.0, np.clip(gap, -30.0, 30.0))
    return out


def shown_ends(values: FloatArray) -> tuple[float, float]:
    """Return a range that holds nearly all values, without a far outlier or two."""
    low, high = np.quantile(values, [0.002, 0.998])
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 4 * (third - first)
    if reach > 0:
        low, high = max(low, first - reach), min(high, third + reach)
    margin = 0.06 * (high - low)
    return float(low - margin), float(high + margin)


def like(X: Any, values: FloatArray) -> Any:
    """Return values with the column names that X has, if any."""
    if hasattr(X, "columns"):
        return type(X)(values, columns=X.columns)
    return values


def drawn_rows(most: int, which: Any, seed: int = 0) -> IntArray:
    """Return at most so many of the rows marked, the same ones every time."""
    found = np.flatnonzero(which)
    if found.size <= most:
        return found
    return np.sort(np.random.default_rng(seed).choice(found, most, replace=False))
