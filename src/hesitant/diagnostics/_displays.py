"""Pictures of rows: their entropies in three panels, and their features two at a time."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.stats import gaussian_kde

from hesitant._drawing import (
    BLANK,
    GREY,
    Drawing,
    as_text,
    class_color,
    drawing,
    legend_handles,
    scatter,
)
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._words import percent
from hesitant.diagnostics._smoother import LabellingCurve, labelling_curve, shown_range
from hesitant.labels import encode, names_of
from hesitant.model_data import class_names, feature_names, model_data
from hesitant.uncertainty import Shannon, transformed_entropy

_LABEL = "transformed entropy, logit(e / log g)"
_SEEN = class_color(0)


class EntropyDisplay(Drawing):
    """Are blank rows harder? Three views of their entropies beside those of labelled rows.

    Densities (kernel estimates, Scott's bandwidth), empirical distribution functions with the
    largest gap marked (the one-sided Kolmogorov-Smirnov statistic), and the probability of a
    label against entropy with a pointwise band, beside the fitted mechanism.

    Parameters
    ----------
    labelled, blank : arrays
        Transformed entropies.
    curve : LabellingCurve, optional
        The third panel; left empty without.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import EntropyDisplay
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> display = EntropyDisplay.from_estimator(clf, data.features, data.labels)
    >>> len(display.axes_)
    3
    """

    def __init__(
        self, labelled: FloatArray, blank: FloatArray, curve: LabellingCurve | None = None
    ) -> None:
        self.labelled, self.blank, self.curve = np.sort(labelled), np.sort(blank), curve

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, reviewed: Any = None, axes: Any = None
    ) -> Self:
        """Draw a fitted classifier's entropies and mechanism; rows not reviewed are left out."""
        data = model_data(estimator, X, y, reviewed=reviewed)
        shown = data.reviewed
        t = transformed_entropy(estimator.entropy(X, Shannon()), len(estimator.classes_))[shown]
        seen = data.labels.labelled[shown]
        fitted = (
            estimator.labelling_probability(X)[shown] if estimator.mechanism_.informative else None
        )
        return cls._from_rows(t, seen, fitted, axes)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        proba: Any,
        *,
        labelling_probability: Any = None,
        missing_label: Any = -1,
        axes: Any = None,
    ) -> Self:
        """Draw entropies of any classifier's probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, with blanks.
        proba : array-like of shape (n, g)
            Class probabilities. Those rounded to 0 and 1 have an entropy of exactly zero, drawn
            at the far left.
        labelling_probability : array-like of shape (n,), optional
            Of a fitted mechanism.
        """
        tau = np.ascontiguousarray(proba, dtype=float)
        seen = encode(y, missing_label).labelled
        if tau.ndim != 2 or len(tau) != seen.size:
            raise ValueError(
                f"proba has shape {tau.shape} and y has {seen.size} rows: give one row of class "
                "probabilities for each label."
            )
        entropy, _ = Shannon().evaluate(np.log(np.maximum(tau, 1e-300)), tau)
        fitted = None if labelling_probability is None else np.asarray(labelling_probability)
        return cls._from_rows(transformed_entropy(entropy, tau.shape[1]), seen, fitted, axes)

    @classmethod
    def _from_rows(
        cls, t: FloatArray, seen: BoolArray, fitted: FloatArray | None, axes: Any
    ) -> Self:
        both = seen.any() and not seen.all()
        curve = labelling_curve(t, seen, fitted=fitted) if both else None
        return cls(t[seen], t[~seen], curve).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on three axes, or on a new figure."""
        with drawing():
            if self._use(axes, (10.2, 3.6), 1, 3):
                self.figure_.get_layout_engine().set(w_pad=0.12)  # between a label and a panel
            if self.axes_.size != 3:
                raise ValueError(f"axes has {self.axes_.size} panels: give three.")
            self.densities(self.axes_.flat[0])
            self.distributions(self.axes_.flat[1])
            self.probability(self.axes_.flat[2])
            self._ticks(self.axes_.flat[2])
            for ax, letter in zip(self.axes_.flat, "abc", strict=True):
                ax.set_xlim(*self.limits_)
                ax.set_xlabel(_LABEL)
                ax.set_title(f"({letter}) {ax.get_title(loc='left')}")
        return self

    def _groups(self) -> list[tuple[str, FloatArray, str, str]]:
        both = (
            (f"labelled ({self.labelled.size:,})", self.labelled, _SEEN, "-"),
            (f"blank ({self.blank.size:,})", self.blank, BLANK, "--"),
        )
        return [group for group in both if group[1].size]

    @cached_property
    def limits_(self) -> tuple[float, float]:
        """The range to show; the far left, where rows are certain, is cut off."""
        low, high = shown_range(np.concatenate((self.labelled, self.blank)))
        margin = 0.05 * (high - low) + 1e-9
        return low - margin, high + 2 * margin

    def densities(self, ax: Any) -> None:
        """Draw how labelled and blank rows are spread over entropy."""
        grid = np.linspace(*self.limits_, 300)
        for name, t, color, style in self._groups():
            near = t[t >= self.limits_[0]]
            if near.size > 2 and np.ptp(near) > 0:
                # The share of rows cut off at the left is not part of the area.
                density = gaussian_kde(near)(grid) * near.size / t.size
                ax.plot(grid, density, color=color, linestyle=style, label=name)
                ax.fill_between(grid, density, color=color, alpha=0.12, linewidth=0)
            else:
                ax.plot(near, np.zeros_like(near), "|", color=color, markersize=12, label=name)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("density")
        ax.set_title("Densities")
        _legend_below(ax)

    def distributions(self, ax: Any) -> None:
        """Draw the share of rows below each entropy."""
        for _, t, color, style in self._groups():
            x = np.concatenate(([self.limits_[0]], t, [self.limits_[1]]))
            share = np.concatenate(([0.0], np.arange(1, t.size + 1) / t.size, [1.0]))
            # the first panel's legend names the lines
            ax.step(x, share, where="post", color=color, linestyle=style)
        if self.labelled.size and self.blank.size:
            where = np.concatenate((self.labelled, self.blank))
            high = np.searchsorted(self.labelled, where, "right") / self.labelled.size
            low = np.searchsorted(self.blank, where, "right") / self.blank.size
            k = int(np.argmax(high - low))
            if self.limits_[0] < where[k] and high[k] > low[k]:
                gap = f"largest gap, D⁺ = {high[k] - low[k]:.2f}"
                ax.vlines(where[k], low[k], high[k], color=GREY, linewidth=1, label=gap)
        ax.set_ylim(-0.02, 1.04)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_ylabel("share of rows below")
        ax.set_title("Distribution functions")
        _legend_below(ax)

    def probability(self, ax: Any) -> None:
        """Draw the chance of a label against entropy."""
        ax.set_ylim(-0.06, 1.06)
        ax.set_ylabel("probability of a label")
        ax.set_title("Labelling probability")
        c = self.curve
        if c is None:
            ax.text(0.5, 0.5, "too few rows", transform=ax.transAxes, ha="center", color=GREY)
            return
        name = f"kernel estimate, {percent(c.level, whole=True)} band"
        ax.fill_between(c.grid, c.lower, c.upper, color=_SEEN, alpha=0.18, linewidth=0)
        ax.plot(c.grid, c.probability, color=_SEEN, label=name)
        if c.fitted is not None:
            color = class_color(4)
            ax.plot(c.grid, c.fitted, color=color, linestyle="-.", label="fitted mechanism")
        _legend_below(ax, columns=1)

    def _ticks(self, ax: Any) -> None:
        """Draw every row as a tick: labelled ones along the top, blanks along the bottom."""
        for t, height, color in ((self.labelled, 1.045, _SEEN), (self.blank, -0.045, BLANK)):
            faint = float(np.clip(120 / max(t.size, 1), 0.06, 0.6))
            ax.plot(t, np.full(t.size, height), "|", color=color, alpha=faint, markersize=5)


def _legend_below(ax: Any, columns: int = 2) -> None:
    """Put the legend under the axis's label: inside, some curve or other would run through it."""
    from matplotlib.transforms import ScaledTranslation

    if not ax.get_legend_handles_labels()[0]:
        return
    down = ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)  # points, past the label
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=ax.transAxes + down,
        borderaxespad=0,
        ncols=columns,
        columnspacing=1.2,
    )


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
        data = model_data(estimator, X, y)
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
        if i == j:
            self._histogram(ax, i)
        else:
            scatter(ax, self.X[:, [j, i]], self.codes)
        if i == len(self.features) - 1:
            ax.set_xlabel(as_text(self.features[j]))
        else:
            ax.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            ax.set_ylabel(as_text(self.features[i]))
        elif j != i:
            ax.tick_params(labelleft=False)

    def _histogram(self, ax: Any, k: int) -> None:
        edges = np.histogram_bin_edges(self.X[:, k], bins=30)
        for h in np.unique(self.codes[self.codes >= 0]):
            mine = self.X[self.codes == h, k]
            ax.hist(mine, edges, density=True, color=class_color(h), alpha=0.45)
        blank = self.codes < 0
        if blank.any():
            outline = {"color": BLANK, "histtype": "step", "linewidth": 1.1}
            ax.hist(self.X[blank, k], edges, density=True, **outline)
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
