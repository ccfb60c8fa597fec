"""Class regions on a plane through the data, with the rows on top."""

import itertools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import Drawing, class_color, drawing, new_figure
from hesitant._typing import FloatArray, IntArray
from hesitant.attached import attach, class_names, feature_names
from hesitant.diagnostics._plane import choose_plane, reach, surface_on
from hesitant.diagnostics._scatter import legend_handles, scatter
from hesitant.labels import encode, names_of

__all__ = ["RegionsDisplay"]

_LINE = "#222222"


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

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn on.

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

    def __init__(
        self,
        grid_x: FloatArray,
        grid_y: FloatArray,
        proba: FloatArray,
        points: FloatArray,
        codes: IntArray,
        classes: list[str],
        names: tuple[str, str],
        reference: FloatArray | None = None,
    ) -> None:
        self.grid_x, self.grid_y, self.proba = grid_x, grid_y, proba
        self.points, self.codes, self.classes, self.names = points, codes, classes, names
        self.reference = reference

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
        estimator : fitted MixtureClassifier
        X, y : array-likes
            Rows to draw on top.
        features : pair of names or positions, optional
            The features that span the plane. By default the only two, or else the first two
            principal components.
        others : {"average", "mean"}, default="average"
            With more than two features: average the rest out, or hold it at its mean.
        compare_with : fitted MixtureClassifier, optional
            Another model with the same classes; its boundaries are dashed.
        grid_resolution : int, default=200
        ax : Axes, optional
        """
        data = attach(estimator, X, y)
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
        return cls(
            grid_x,
            grid_y,
            surface(estimator),
            points,
            data.labels.codes,
            class_names(estimator),
            plane.names,
            reference,
        ).plot(ax)

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
        """Draw any classifier's probabilities on a grid of two features.

        Parameters
        ----------
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
        grid_x, grid_y : array-likes of shapes (m_x,) and (m_y,)
        proba : array-like of shape (m_y, m_x, g)
        classes : sequence, optional
            The class of each of the g columns; sorted labels by default.
        names : pair of str
        missing_label : scalar, default=-1
        ax : Axes, optional
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
            if ax is None:
                self.figure_ = new_figure(5.6, 4.4)
                ax = self.figure_.subplots()
            self.ax_, self.axes_, self.figure_ = ax, np.array([ax]), ax.figure
            box = (self.grid_x[0], self.grid_x[-1], self.grid_y[0], self.grid_y[-1])
            ax.imshow(
                self._colours(),
                extent=box,
                origin="lower",
                aspect="auto",
                interpolation="bilinear",
                zorder=0,
            )
            self._boundaries(ax, self.proba, "-")
            if self.reference is not None:
                self._boundaries(ax, self.reference, (0, (4, 3)))
            scatter(ax, self.points, self.codes)
            ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=box[:2], ylim=box[2:])
            handles = legend_handles(self.classes, self.codes)
            if self.reference is not None:
                handles += self._line_handles()
            ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self

    def _colours(self) -> FloatArray:
        """Return each point's colour: its class's, mixed with white by its uncertainty."""
        from matplotlib.colors import to_rgb

        g = self.proba.shape[2]
        palette = np.array([to_rgb(class_color(h)) for h in range(g)])
        best = self.proba.max(axis=2)
        sure = np.clip((best - 1 / g) / (1 - 1 / g), 0, 1)[..., None]
        strength = 0.08 + 0.27 * sure
        return 1 - strength * (1 - palette[self.proba.argmax(axis=2)])

    def _boundaries(self, ax: Any, proba: FloatArray, style: Any) -> None:
        """Draw where two classes tie, each pair once so that dashes stay dashes."""
        logs = np.log(np.maximum(proba, 1e-300))
        winner = proba.argmax(axis=2)
        for h, k in itertools.combinations(range(len(self.classes)), 2):
            between = (winner == h) | (winner == k)
            if not ((winner == h).any() and (winner == k).any()):
                continue
            odds = np.clip(logs[..., h] - logs[..., k], -50, 50)
            ax.contour(
                self.grid_x,
                self.grid_y,
                np.ma.array(odds, mask=~between),
                levels=[0.0],
                colors=[_LINE],
                linewidths=0.9,
                linestyles=[style],
                zorder=2,
            )

    def _line_handles(self) -> list[Any]:
        from matplotlib.lines import Line2D

        return [
            Line2D([], [], color=_LINE, linewidth=0.9, label="this model"),
            Line2D([], [], color=_LINE, linewidth=0.9, linestyle=(0, (4, 3)), label="the other"),
        ]
