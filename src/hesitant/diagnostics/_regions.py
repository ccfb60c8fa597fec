"""Class regions on a plane through the data, with the rows on top."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant import _drawing as draw
from hesitant._drawing import INK, as_text, class_color
from hesitant._optional import need
from hesitant._typing import FloatArray, IntArray
from hesitant.base import check_in_memory
from hesitant.checks import look_up
from hesitant.diagnostics._displays import find_features
from hesitant.labels import encode, names_of

DRAWS, NEIGHBOURS = 20_000, 80
# Log odds against the next best class, and how strongly the class's colour shows beyond: even,
# 80 and 95 in a hundred.
_SHADES = ((0.0, 0.10), (1.386, 0.18), (2.944, 0.28))
_DASHES = (0, (4, 3))


@dataclasses.dataclass(repr=False, eq=False)
class RegionsDisplay(draw.Drawing):
    """Where each class is the most probable, and where the labels are missing.

    Colour is the most probable class, paler where it is less certain; lines are the boundaries.
    Ellipses are the components of classes that have several, with about half of their rows each.
    With more than two features the picture shows a plane, of two chosen features or of the first
    two principal components, and the probability of each class given a point's two coordinates:
    everything else is averaged out over rows that the model itself would draw there. A slice
    through the mean (``others="mean"``) has crisp borders, but a row off the plane may belong to
    another region than the one it is drawn in.

    >>> from hesitant import MixtureClassifier, datasets, diagnostics
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> diagnostics.RegionsDisplay.from_estimator(clf, data.features, data.labels).proba.shape
    (200, 200, 2)
    """

    grid_x: FloatArray
    grid_y: FloatArray
    proba: FloatArray  #: (m_y, m_x, g)
    points: FloatArray  #: the rows on the plane (n, 2)
    codes: IntArray  #: the class of each row, −1 for a blank
    classes: list[str]
    names: tuple[str, str]  #: of the two axes
    reference: FloatArray | None = None  #: probabilities under a model whose boundaries are dashed
    outlines: Sequence[tuple[int, FloatArray]] = ()  #: class and outline (m, 2) of each component

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[Any] | None = None,
        others: str = "average",
        compare_with: Any = None,
        grid_resolution: int = 200,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted classifier's regions.

        ``features`` are names or positions of two features; with more than two the default is
        the first two principal components. ``others`` says whether the rest is averaged out
        ("average") or held at its "mean". The boundaries of a model ``compare_with`` of the same
        classes are dashed.
        """
        data, model = check_in_memory(estimator, X, y), estimator.fitted_
        look_up("others", others, dict.fromkeys(("average", "mean")))
        if compare_with is not None:
            own, other = estimator.classes_.tolist(), compare_with.classes_.tolist()
            if own != other:
                raise ValueError(f"compare_with has the classes {other}: give a model of {own}.")
        rows = np.asarray(data.X, dtype=float), data.labels.codes
        plane = choose_plane(rows[0], features, model.feature_names)
        drawn = cls.on_plane(plane, estimator, compare_with, *rows, model.class_names,
                             others=others, m=grid_resolution)  # fmt: skip
        return drawn.plot(ax)

    @classmethod
    def on_plane(
        cls, plane: "Plane", clf: Any, other: Any, X: FloatArray, codes: IntArray,
        classes: list[str], *, others: str = "average", m: int = 200, shown: Any = slice(None)
    ) -> Self:  # fmt: skip
        """Return the regions of a model and the borders of another, if any; draw some rows."""
        points = plane.place(X)
        x, y = (reach(points[:, k], m) for k in range(2))
        mesh = np.stack(np.meshgrid(x, y), axis=-1)
        reference = None if other is None else _surface(plane, other, mesh, others)
        rows = points[shown], codes[shown], classes, plane.names
        own = _surface(plane, clf, mesh, others)
        return cls(x, y, own, *rows, reference, _outlines(clf, plane))

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        y: Any,
        grid_x: Any,
        grid_y: Any,
        proba: Any,
        *,
        classes: Sequence[Any] | None = None,
        names: tuple[str, str] = ("x0", "x1"),
        missing_label: Any = -1,
        ax: Any = None,
    ) -> Self:
        """Draw any classifier's probabilities ``proba`` on a grid of two features.

        Parameters as for the class. X has the two features, and the g columns of ``proba``, of
        shape (m_y, m_x, g), belong to ``classes``: by default the sorted labels.
        """
        grid_x, grid_y, proba, points = (np.asarray(a, float) for a in (grid_x, grid_y, proba, X))
        labels = encode(y, missing_label, classes)
        wanted = (grid_y.size, grid_x.size, len(labels.classes))
        if proba.shape != wanted or points.shape[1:] != (2,):
            asked = f"grid and classes ask for {wanted}, rows of y first, and for two features"
            raise ValueError(f"proba has shape {proba.shape} and X {points.shape}: {asked}.")
        listed = names_of(labels.classes)
        return cls(grid_x, grid_y, proba, points, labels.codes, listed, names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        with draw.drawing():
            self.use(ax, (5.6, 4.4))
            ax, logs = self.ax_, np.log(np.maximum(self.proba, 1e-300))
            levels = [*(level for level, _ in _SHADES), 1e4]
            for h in range(len(self.classes)):
                odds = logs[..., h] - np.delete(logs, h, axis=2).max(axis=2)
                if (odds > 0).any():
                    fill = [(class_color(h), strength) for _, strength in _SHADES]
                    ax.contourf(self.grid_x, self.grid_y, odds, levels, colors=fill, zorder=0)
            draw.scatter(ax, self.points, self.codes)
            handles = draw.legend_handles(self.classes, self.codes)
            self._boundaries(ax, self.proba, "-")
            for h, line in self.outlines:
                ax.plot(*line.T, color=class_color(h), lw=1.2, zorder=2)
            if self.reference is not None:
                self._boundaries(ax, self.reference, _DASHES)
                for style, label in (("-", "this model"), (_DASHES, "the other")):
                    handles += ax.plot([], [], color=INK, lw=0.9, linestyle=style, label=label)
            x, y = map(as_text, self.names)
            ax.set(xlabel=x, ylabel=y, xlim=self.grid_x[[0, -1]], ylim=self.grid_y[[0, -1]])
            ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self

    def _boundaries(self, ax: Any, proba: FloatArray, style: Any) -> None:
        logs, winner = np.log(np.maximum(proba, 1e-300)), proba.argmax(axis=2)
        line = {"colors": [INK], "linewidths": 0.9, "linestyles": [style], "zorder": 2}
        for h, k in itertools.combinations(np.unique(winner), 2):
            odds = np.clip(logs[..., h] - logs[..., k], -50, 50)
            between = np.ma.array(odds, mask=(winner != h) & (winner != k))
            ax.contour(self.grid_x, self.grid_y, between, levels=[0.0], **line)


@dataclasses.dataclass(frozen=True)
class Plane:
    """A plane in feature space, and the matrix that places rows (less the origin) on it."""

    origin: FloatArray
    axes: FloatArray
    inverse: FloatArray
    names: tuple[str, str]

    def place(self, X: FloatArray) -> FloatArray:
        """Return the rows' coordinates on the plane (n, 2), each NaN if a feature it needs is."""
        moved, needed = X - self.origin, self.inverse != 0
        each = [moved[:, use] @ self.inverse[use, k] for k, use in enumerate(needed.T)]
        return np.column_stack(each)


def choose_plane(rows: FloatArray, features: Sequence[Any] | None, names: list[str]) -> Plane:
    """Return the plane of the features asked for, the only two, or the main components."""
    p = rows.shape[1]
    if p < 2:
        raise ValueError("Regions need at least two features: use EntropyDisplay, or a histogram.")
    if features is None and p > 2:  # on the correlation scale, of rows without empty cells
        rows = rows[np.isfinite(rows).all(axis=1)]
        if len(rows) < 2:
            raise ValueError(f"features=None: {len(rows)} rows have all features: name two.")
        origin, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-300)
        _, value, vector = np.linalg.svd((rows - origin) / spread, full_matrices=False)
        share = 100 * value**2 / np.sum(value**2)
        first, second = (f"component {k + 1} ({share[k]:.0f} %)" for k in range(2))
        return Plane(origin, vector[:2] * spread, (vector[:2] / spread).T, (first, second))
    places = find_features((0, 1) if features is None else features, names)
    if len(set(places)) != 2 or len(places) != 2:
        raise ValueError(f"features={features!r}: give two different features.")
    axes, origin = np.eye(p)[places], np.nanmean(rows, axis=0)
    origin[places] = 0.0  # all others stay at their means
    return Plane(origin, axes, axes.T, (names[places[0]], names[places[1]]))


def _outlines(clf: Any, plane: Plane) -> list[tuple[int, FloatArray]]:
    """Return the class of each component and an ellipse that holds about half of its rows."""
    model, around = getattr(clf, "model_", clf), np.linspace(0, 2 * np.pi, 90)
    circle = np.sqrt(2 * np.log(2)) * np.column_stack((np.cos(around), np.sin(around)))
    out = []
    for k, h in enumerate(getattr(model, "component_classes_", ())):
        mean, covariance = model.component_means_[k], model.component_covariances_[k]
        spread = plane.inverse.T @ covariance @ plane.inverse
        if np.isfinite(spread).all():  # a heavy tail may have none
            value, vector = np.linalg.eigh(spread)
            half = vector * np.sqrt(np.maximum(value, 0.0))
            out.append((int(h), plane.place(mean[None]) + circle @ half.T))
    return out


def reach(values: FloatArray, m: int) -> FloatArray:
    """Return a grid over nearly all values: a far outlier or two would leave no room for them."""
    values = values[np.isfinite(values)]  # rows may lack a feature
    low, first, third, high = np.quantile(values, [0.002, 0.25, 0.75, 0.998])
    if third > first:
        far = 4 * (third - first)
        low, high = max(low, first - far), min(high, third + far)
    margin = 0.06 * (high - low) or 0.05 * abs(low) or 0.5
    return np.linspace(low - margin, high + margin, m)


def _surface(plane: Plane, clf: Any, mesh: FloatArray, others: str) -> FloatArray:
    """Return a classifier's probabilities on the mesh (m_y, m_x, g)."""
    shape, points = (*mesh.shape[:2], -1), mesh.reshape(-1, 2)
    if others == "mean" or plane.origin.size == 2:
        return _proba(clf, plane.origin + points @ plane.axes).reshape(shape)
    from scipy.ndimage import gaussian_filter  # slow to import, and seldom needed
    from sklearn.neighbors import KNeighborsRegressor

    # a combination of models draws from its main one
    rows, _, _ = getattr(clf, "model_", clf).sample(DRAWS, random_state=0)
    places = plane.place(rows)
    spread = places.std(axis=0)
    near = KNeighborsRegressor(NEIGHBOURS, weights=lambda d: np.exp(-2 * (d / d[:, -1:]) ** 2))
    mean = near.fit(places / spread, _proba(clf, rows)).predict(points / spread)
    return gaussian_filter(mean.reshape(shape), (2, 2, 0))  # what is left is noise of the draws


def _proba(clf: Any, rows: Any) -> FloatArray:
    if hasattr(clf, "feature_names_in_"):  # a model fitted to a data frame wants its names back
        rows = need("pandas", "data").DataFrame(rows, columns=clf.feature_names_in_)
    return np.asarray(clf.predict_proba(rows))
