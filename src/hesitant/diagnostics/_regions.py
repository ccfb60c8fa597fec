"""Class regions on a plane through the data, with the rows on top."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import KDTree

from hesitant._drawing import INK, Drawing, as_text, class_color, drawing, legend_handles, scatter
from hesitant._optional import need
from hesitant._typing import FloatArray, IntArray
from hesitant.diagnostics._displays import find_features
from hesitant.labels import encode, names_of
from hesitant.model_data import class_names, feature_names, model_data

DRAWS, NEIGHBOURS = 20_000, 80
# Log odds against the next best class, and how strongly the class's colour shows beyond: even,
# 80 and 95 in a hundred.
_SHADES = ((0.0, 0.10), (1.386, 0.18), (2.944, 0.28))


@dataclasses.dataclass(repr=False, eq=False)
class RegionsDisplay(Drawing):
    """Where each class is the most probable, and where the labels are missing.

    Colour is the most probable class, paler where it is less certain; lines are the boundaries.
    With more than two features the picture shows a plane, of two chosen features or of the first
    two principal components, and the probability of each class given a point's two coordinates:
    everything else is averaged out over rows that the model itself would draw there. A slice of
    the plane through the mean (``others="mean"``) has crisp borders, but a row off the plane may
    belong to another region than the one it is drawn in.

    Parameters
    ----------
    grid_x, grid_y : arrays of shape (m,)
        Coordinates of the grid.
    proba : array of shape (m_y, m_x, g)
        Class probabilities there.
    points : array of shape (n, 2)
        The rows on the plane.
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    classes : list of str
    names : tuple of str
        Of the two axes.
    reference : array of shape (m_y, m_x, g), optional
        Class probabilities under another model, whose boundaries are dashed.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import RegionsDisplay
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> display = RegionsDisplay.from_estimator(clf, data.features, data.labels)
    >>> display.proba.shape
    (200, 200, 2)
    """

    grid_x: FloatArray
    grid_y: FloatArray
    proba: FloatArray
    points: FloatArray
    codes: IntArray
    classes: list[str]
    names: tuple[str, str]
    reference: FloatArray | None = None

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

        Parameters
        ----------
        features : pair of names or positions, optional
            The features that span the plane. By default the only two, or else the first two
            principal components.
        others : {"average", "mean"}, default="average"
            With more than two features: average the rest out, or hold it at its mean.
        compare_with : fitted MixtureClassifier, optional
            Another model with the same classes; its boundaries are dashed.
        """
        data = model_data(estimator, X, y)
        rows = np.asarray(data.X, dtype=float)
        names = feature_names(estimator)
        plane = choose_plane(rows, features, names)
        points = plane.place(rows)
        grid_x, grid_y = (reach(points[:, k], grid_resolution) for k in range(2))
        mesh = np.stack(np.meshgrid(grid_x, grid_y), axis=-1)
        surface = surface_on(plane, mesh, others)
        reference = None
        if compare_with is not None:
            if compare_with.classes_.tolist() != estimator.classes_.tolist():
                raise ValueError(
                    f"compare_with has the classes {compare_with.classes_.tolist()}, the "
                    f"estimator {estimator.classes_.tolist()}: both must have the same."
                )
            reference = surface(compare_with)
        shown = points, data.labels.codes, class_names(estimator), plane.names
        return cls(grid_x, grid_y, surface(estimator), *shown, reference).plot(ax)

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
        grid_x, grid_y = np.asarray(grid_x, float), np.asarray(grid_y, float)
        proba = np.asarray(proba, dtype=float)
        labels = encode(y, missing_label, classes)
        wanted = (grid_y.size, grid_x.size, len(labels.classes))
        if proba.shape != wanted:
            raise ValueError(
                f"proba has shape {proba.shape}: the grid and the classes ask for {wanted}, rows "
                "of y first."
            )
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X has shape {points.shape}: give the two features of the grid.")
        listed = names_of(labels.classes)
        return cls(grid_x, grid_y, proba, points, labels.codes, listed, names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        with drawing():
            self._use(ax, (5.6, 4.4))
            ax = self.ax_
            self._shade(ax)
            self._boundaries(ax, self.proba, "-")
            if self.reference is not None:
                self._boundaries(ax, self.reference, (0, (4, 3)))
            scatter(ax, self.points, self.codes)
            ends = (self.grid_x[0], self.grid_x[-1]), (self.grid_y[0], self.grid_y[-1])
            x, y = map(as_text, self.names)
            ax.set(xlabel=x, ylabel=y, xlim=ends[0], ylim=ends[1])
            handles = legend_handles(self.classes, self.codes)
            if self.reference is not None:
                from matplotlib.lines import Line2D

                for style, label in (("-", "this model"), ((0, (4, 3)), "the other")):
                    line = Line2D([], [], color=INK, linewidth=0.9, linestyle=style, label=label)
                    handles.append(line)
            ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self

    def _shade(self, ax: Any) -> None:
        """Fill where each class is the most probable, more strongly where it is surer."""
        from matplotlib.colors import to_rgba

        logs = np.log(np.maximum(self.proba, 1e-300))
        levels = [*(level for level, _ in _SHADES), 1e4]
        for h in range(len(self.classes)):
            odds = logs[..., h] - np.delete(logs, h, axis=2).max(axis=2)
            if (odds > 0).any():
                fill = [to_rgba(class_color(h), strength) for _, strength in _SHADES]
                ax.contourf(self.grid_x, self.grid_y, odds, levels, colors=fill, zorder=0)

    def _boundaries(self, ax: Any, proba: FloatArray, style: Any) -> None:
        """Draw where two classes tie, each pair once so that dashes stay dashes."""
        logs = np.log(np.maximum(proba, 1e-300))
        winner = proba.argmax(axis=2)
        for h, k in itertools.combinations(range(len(self.classes)), 2):
            between = (winner == h) | (winner == k)
            if not ((winner == h).any() and (winner == k).any()):
                continue
            odds = np.clip(logs[..., h] - logs[..., k], -50, 50)
            line = {"colors": [INK], "linewidths": 0.9, "linestyles": [style], "zorder": 2}
            shown = np.ma.array(odds, mask=~between)
            ax.contour(self.grid_x, self.grid_y, shown, levels=[0.0], **line)


# -- planes through feature space -----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Plane:
    """A plane in feature space: ``origin + a · axes[0] + b · axes[1]``.

    Rows less the origin, times ``inverse`` (p, 2), are the rows' places on the plane.
    """

    origin: FloatArray
    axes: FloatArray
    inverse: FloatArray
    names: tuple[str, str]

    @classmethod
    def of_features(cls, X: FloatArray, i: int, j: int, names: list[str]) -> Self:
        """Two features vary; all others stay at their means."""
        axes = np.eye(X.shape[1])[[i, j]]
        origin = np.nanmean(X, axis=0)
        origin[[i, j]] = 0.0
        return cls(origin, axes, axes.T, (names[i], names[j]))

    @classmethod
    def of_components(cls, X: FloatArray) -> Self:
        """The first two principal components on the correlation scale, through the mean."""
        origin, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-300)
        _, value, vector = np.linalg.svd((X - origin) / spread, full_matrices=False)
        share = value**2 / np.sum(value**2)
        names = tuple(f"component {k + 1} ({100 * share[k]:.0f} %)" for k in range(2))
        return cls(origin, vector[:2] * spread, (vector[:2] / spread).T, names)  # type: ignore[arg-type]

    def place(self, X: FloatArray) -> FloatArray:
        """Return the rows' coordinates on the plane (n, 2); NaN if a feature that counts is."""
        needed = (self.inverse != 0).any(axis=1)
        return (X - self.origin)[:, needed] @ self.inverse[needed]

    def lift(self, points: FloatArray) -> FloatArray:
        """Return points of the plane as rows of features."""
        return self.origin + points @ self.axes


def choose_plane(rows: FloatArray, features: Sequence[Any] | None, names: list[str]) -> Plane:
    """Return the plane of the features asked for, the only two, or the main components."""
    p = rows.shape[1]
    if p < 2:
        raise ValueError("Regions need at least two features: use EntropyDisplay, or a histogram.")
    if features is None:
        return Plane.of_features(rows, 0, 1, names) if p == 2 else Plane.of_components(rows)
    places = find_features(features, names)
    if len(places) != 2 or places[0] == places[1]:
        raise ValueError(f"features={features!r}: give two different features.")
    return Plane.of_features(rows, places[0], places[1], names)


def reach(values: FloatArray, m: int) -> FloatArray:
    """Return a grid over nearly all values: a far outlier or two would leave no room for them."""
    values = values[np.isfinite(values)]  # rows may lack a feature
    low, high = np.quantile(values, [0.002, 0.998])
    first, third = np.quantile(values, [0.25, 0.75])
    if third > first:
        far = 4 * (third - first)
        low, high = max(low, first - far), min(high, third + far)
    margin = 0.06 * (high - low) or 0.05 * abs(low) or 0.5
    return np.linspace(low - margin, high + margin, m)


def surface_on(plane: Plane, mesh: FloatArray, others: str) -> Callable[[Any], FloatArray]:
    """Return a function from a classifier to its class probabilities on the mesh."""
    shape = (*mesh.shape[:2], -1)
    points = mesh.reshape(-1, 2)
    if others not in ("average", "mean"):
        raise ValueError(f"others={others!r}: choose 'average' or 'mean'.")
    if others == "mean" or plane.origin.size == 2:
        return lambda clf: _proba(clf, plane.lift(points)).reshape(shape)

    def averaged(clf: Any) -> FloatArray:
        # a combination of models draws from its main one
        rows, _, _ = getattr(clf, "model_", clf).sample(DRAWS, random_state=0)
        places, proba = plane.place(rows), _proba(clf, rows)
        spread = places.std(axis=0)
        found = KDTree(places / spread).query(points / spread, k=NEIGHBOURS)
        away, near = np.asarray(found[0]), np.asarray(found[1])
        weight = np.exp(-2 * (away / away[:, -1:]) ** 2)
        mean = np.einsum("ik,ikg->ig", weight, proba[near]) / weight.sum(axis=1)[:, None]
        # What is left is the noise of the draws.
        return gaussian_filter(mean.reshape(shape), (2, 2, 0))

    return averaged


def _proba(clf: Any, rows: FloatArray) -> FloatArray:
    names = getattr(clf, "feature_names_in_", None)
    if names is None:
        return np.asarray(clf.predict_proba(rows))
    # A model fitted to a data frame wants its names back.
    return np.asarray(clf.predict_proba(need("pandas", "data").DataFrame(rows, columns=names)))
