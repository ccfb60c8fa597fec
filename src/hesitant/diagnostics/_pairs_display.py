"""The data, two features at a time, with blanks as black squares."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hesitant._drawing import (
    BLANK,
    Drawing,
    as_text,
    class_color,
    drawing,
    legend_handles,
    scatter,
)
from hesitant._typing import FloatArray, IntArray
from hesitant.attached import attach, class_names, feature_names
from hesitant.labels import encode, names_of

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

        ``features`` are names or positions; the first eight by default.
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

        ``features`` are names or positions, the first eight by default; ``feature_names`` by
        default a data frame's columns, or x0, x1, …
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
            size = (side * p + 0.4, side * p + 0.2)
            self._use(None, size, p, p, squeeze=False, sharex="col")
            for (i, j), ax in np.ndenumerate(self.axes_):
                if j > i:
                    ax.remove()
                    self.axes_[i, j] = None
                else:
                    self._panel(ax, i, j)
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
            ax.set_xlabel(as_text(self.features[j]))
        else:
            ax.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            ax.set_ylabel(as_text(self.features[i]))
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
