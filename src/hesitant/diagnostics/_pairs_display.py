"""The data, two features at a time, with blanks as black squares."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import BLANK, Drawing, class_color, drawing, new_figure
from hesitant._typing import FloatArray, IntArray
from hesitant.attached import attach, class_names, feature_names
from hesitant.diagnostics._scatter import as_matrix, find_features, legend_handles, scatter
from hesitant.labels import encode, names_of

__all__ = ["PairsDisplay"]

MOST = 8


class PairsDisplay(Drawing):
    """Pairs plot of partly labelled data: classes in colour, blanks as black squares.

    The diagonal has each feature's histogram, in all classes and among the blanks, each on a
    density scale of its own group.

    Parameters
    ----------
    X : array of shape (n, p)
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    classes, features : lists of str

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of shape (p, p)
        None above the diagonal.
    ax_ : Axes

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import PairsDisplay
    >>> data = simulate(n=200, random_state=0)
    >>> PairsDisplay.from_predictions(data.features, data.labels).axes_.shape
    (2, 2)
    """

    def __init__(
        self, X: FloatArray, codes: IntArray, classes: list[str], features: list[str]
    ) -> None:
        self.X, self.codes, self.classes, self.features = X, codes, classes, features

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, features: Sequence[Any] | None = None
    ) -> Self:
        """Draw the data with the classes and feature names of a fitted classifier.

        Parameters
        ----------
        estimator : fitted MixtureClassifier
        X, y : array-likes
        features : sequence, optional
            Names or positions of the features to draw; the first eight by default.
        """
        data = attach(estimator, X, y)
        names = feature_names(estimator)
        drawn = cls(np.asarray(data.X, float), data.labels.codes, class_names(estimator), names)
        return drawn._chosen(features).plot()

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        y: Any,
        *,
        features: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        missing_label: Any = -1,
    ) -> Self:
        """Draw data; ``y`` may be labels with blanks, or any classifier's predictions.

        Parameters
        ----------
        X, y : array-likes
        features : sequence, optional
            Names or positions of the features to draw; the first eight by default.
        feature_names : sequence of str, optional
            By default a data frame's columns, or x0, x1, …
        missing_label : scalar, default=-1
        """
        values, names = as_matrix(X, feature_names)
        labels = encode(y, missing_label)
        if len(labels.codes) != len(values):
            raise ValueError(f"X has {len(values)} rows and y has {len(labels.codes)}.")
        classes = names_of(labels.classes)
        return cls(values, labels.codes, classes, names)._chosen(features).plot()

    def _chosen(self, features: Sequence[Any] | None) -> Self:
        places = find_features(features, self.features, MOST)
        self.X, self.features = self.X[:, places], [self.features[k] for k in places]
        return self

    def plot(self) -> Self:
        """Draw on a new figure."""
        p = len(self.features)
        side = max(1.5, 7.2 / p) if p > 1 else 3.4
        with drawing():
            self.figure_ = new_figure(side * p + 0.4, side * p + 0.2)
            grid = self.figure_.subplots(p, p, squeeze=False, sharex="col")
            self.axes_ = np.full((p, p), None, dtype=object)
            for i in range(p):
                for j in range(p):
                    if j > i:
                        grid[i, j].remove()
                        continue
                    self.axes_[i, j] = grid[i, j]
                    self._panel(grid[i, j], i, j)
            self.ax_ = self.axes_[0, 0]
            handles = legend_handles(self.classes, self.codes)
            if p > 1:
                self.figure_.legend(handles=handles, loc="upper right", fontsize=9)
            else:
                self.ax_.legend(handles=handles)
        return self

    def _panel(self, ax: Any, i: int, j: int) -> None:
        p = len(self.features)
        if i == j:
            self._histogram(ax, i)
        else:
            scatter(ax, self.X[:, [j, i]], self.codes)
        if i == p - 1:
            ax.set_xlabel(self.features[j])
        else:
            ax.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            ax.set_ylabel(self.features[i])
        elif j != i:
            ax.tick_params(labelleft=False)

    def _histogram(self, ax: Any, k: int) -> None:
        edges = np.histogram_bin_edges(self.X[:, k], bins=30)
        groups = [(self.codes == h, class_color(h)) for h in range(len(self.classes))]
        for rows, color in groups:
            if rows.any():
                ax.hist(self.X[rows, k], edges, density=True, color=color, alpha=0.45)
        blank = self.codes < 0
        if blank.any():
            ax.hist(
                self.X[blank, k], edges, density=True, color=BLANK, histtype="step", linewidth=1.1
            )
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
