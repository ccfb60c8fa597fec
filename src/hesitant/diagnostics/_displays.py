"""Pictures of rows: their entropies in three panels, and their features two at a time."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.stats import ks_2samp

from hesitant import _drawing as draw
from hesitant._drawing import BLANK, GREY, as_text, class_color
from hesitant._typing import FloatArray, IntArray
from hesitant._words import percent
from hesitant.base import check_in_memory
from hesitant.diagnostics._smoother import LabellingCurve, labelling_curve, shown_range
from hesitant.labels import encode, names_of
from hesitant.uncertainty import Shannon, transformed_entropy

_SEEN = class_color(0)
MOST_SMOOTHED = 20_000  # rows that a density is drawn of


class EntropyDisplay(draw.Drawing):
    """Are blank rows harder? Three views of their entropies beside those of labelled rows.

    Densities (kernel estimates), distribution functions with the largest gap marked (the one-sided
    Kolmogorov-Smirnov statistic), and the probability of a label against entropy beside the fitted
    mechanism. The parameters are transformed entropies, and a curve for the third panel.

    >>> from hesitant import MixtureClassifier, datasets, diagnostics
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> len(diagnostics.EntropyDisplay.from_estimator(clf, data.features, data.labels).axes_)
    3
    """

    def __init__(
        self, labelled: FloatArray, blank: FloatArray, curve: LabellingCurve | None = None
    ) -> None:
        self.labelled, self.blank, self.curve = np.sort(labelled), np.sort(blank), curve
        # The far left, where rows are certain, is cut off.
        low, high = shown_range(np.concatenate((self.labelled, self.blank)))
        margin = 0.05 * (high - low) + 1e-9
        self.limits_ = low - margin, high + 2 * margin

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, reviewed: Any = None, axes: Any = None
    ) -> Self:
        """Draw a fitted classifier's entropies and mechanism; rows not reviewed are left out."""
        data, fitted = check_in_memory(estimator, X, y, reviewed=reviewed), None
        if estimator.mechanism_.informative:
            fitted = estimator.labelling_probability(X)[data.reviewed]
        rows = estimator.entropy(X, Shannon())[data.reviewed], data.labels.labelled[data.reviewed]
        return cls._from_rows(*rows, len(estimator.classes_), fitted, axes)

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
        """Draw entropies of any classifier's probabilities ``proba`` (n, g) for labels ``y``.

        Probabilities rounded to 0 and 1 have an entropy of exactly zero, drawn at the far left.
        """
        tau, seen = np.ascontiguousarray(proba, dtype=float), encode(y, missing_label).labelled
        if tau.ndim != 2 or len(tau) != seen.size:
            shapes = f"proba has shape {tau.shape} and y has {seen.size} rows"
            raise ValueError(f"{shapes}: give one row of class probabilities for each label.")
        entropy, _ = Shannon().evaluate(np.log(np.maximum(tau, 1e-300)), tau)
        fitted = None if labelling_probability is None else np.asarray(labelling_probability)
        return cls._from_rows(entropy, seen, tau.shape[1], fitted, axes)

    @classmethod
    def _from_rows(cls, entropy: Any, seen: Any, g: int, fitted: Any, axes: Any) -> Self:
        t, both = transformed_entropy(entropy, g), 0 < seen.sum() < len(seen)
        curve = labelling_curve(t, seen, fitted=fitted) if both else None
        return cls(t[seen], t[~seen], curve).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on three axes, or on a new figure."""
        with draw.drawing():
            if self.use(axes, (10.2, 3.6), 1, 3):
                self.figure_.get_layout_engine().set(w_pad=0.12)  # between a label and a panel
            if self.axes_.size != 3:
                raise ValueError(f"axes has {self.axes_.size} panels: give three.")
            panels = self.densities, self.distributions, self.probability
            for ax, panel, letter in zip(self.axes_.flat, panels, "abc", strict=True):
                panel(ax)
                ax.set(xlim=self.limits_, xlabel="transformed entropy, logit(e / log g)")
                ax.set_title(f"({letter}) {ax.get_title(loc='left')}")
            # Every row as a tick: labelled ones along the top, blanks along the bottom.
            for t, height, color in ((self.labelled, 1.045, _SEEN), (self.blank, -0.045, BLANK)):
                faint = float(np.clip(120 / max(t.size, 1), 0.06, 0.6))
                ax.plot(t, np.full(t.size, height), "|", color=color, alpha=faint, markersize=5)
        return self

    def _groups(self) -> list[tuple[str, FloatArray, dict[str, str]]]:
        groups = (("labelled", self.labelled, _SEEN, "-"), ("blank", self.blank, BLANK, "--"))
        return [
            (f"{name} ({t.size:,})", t, {"color": color, "linestyle": style})
            for name, t, color, style in groups
            if t.size
        ]

    def densities(self, ax: Any) -> None:
        """Draw how labelled and blank rows are spread over entropy."""
        grid = np.linspace(*self.limits_, 300)
        for name, t, style in self._groups():
            near, color = t[t >= self.limits_[0]], style["color"]
            if near.size > 2 and np.ptp(near) > 0:
                # The share of rows cut off at the left is not part of the area.
                # Of very many rows, in order, a part draws the same curve at the same bandwidth.
                part, scott = near[:: 1 + near.size // MOST_SMOOTHED], near.size**-0.2
                width = scott * part.std(ddof=1)
                each = [np.exp(-0.5 * ((x - part) / width) ** 2).mean() for x in grid]
                density = np.array(each) * (near.size / (np.sqrt(2 * np.pi) * width * t.size))
                ax.plot(grid, density, **style, label=name)
                ax.fill_between(grid, density, color=color, alpha=0.12, linewidth=0)
            else:
                ax.plot(near, np.zeros_like(near), "|", color=color, markersize=12, label=name)
        ax.set_ylim(bottom=0)
        _finish(ax, "Densities", ylabel="density")

    def distributions(self, ax: Any) -> None:
        """Draw the share of rows below each entropy; the first panel's legend names the lines."""
        for _, t, style in self._groups():
            ax.ecdf(t, **style)
        if self.labelled.size and self.blank.size:
            test = ks_2samp(self.labelled, self.blank, "greater", method="asymp")
            where, share = test.statistic_location, np.mean(self.blank <= test.statistic_location)
            if self.limits_[0] < where and test.statistic > 0:
                gap = f"largest gap, D⁺ = {test.statistic:.2f}"
                ends = where, share, share + test.statistic
                ax.vlines(*ends, color=GREY, linewidth=1, label=gap)
        ax.set(ylim=(-0.02, 1.04), yticks=np.linspace(0, 1, 6))
        _finish(ax, "Distribution functions", ylabel="share of rows below")

    def probability(self, ax: Any) -> None:
        """Draw the chance of a label against entropy."""
        c = self.curve
        if c is None:
            ax.text(0.5, 0.5, "too few rows", transform=ax.transAxes, ha="center", color=GREY)
        else:
            name = f"kernel estimate, {percent(c.level, whole=True)} band"
            ax.fill_between(c.grid, c.lower, c.upper, color=_SEEN, alpha=0.18, linewidth=0)
            ax.plot(c.grid, c.probability, color=_SEEN, label=name)
            if c.fitted is not None:
                ax.plot(c.grid, c.fitted, "-.", color=class_color(4), label="fitted mechanism")
        ax.set_ylim(-0.06, 1.06)
        _finish(ax, "Labelling probability", columns=1, ylabel="probability of a label")


def _finish(ax: Any, title: str, columns: int = 2, **names: str) -> None:
    """Name a panel; its legend stands under the axis's label, where no curve runs through it."""
    from matplotlib.transforms import ScaledTranslation

    ax.set(title=title, **names)
    down = ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)  # points, past the label
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": ax.transAxes + down}
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**place, borderaxespad=0, ncols=columns, columnspacing=1.2)


class PairsDisplay(draw.Drawing):
    """Pairs plot of partly labelled data: classes in colour, blanks as black squares.

    The diagonal has each feature's histogram, each on a density scale of its own group. The
    parameters are an (n, p) array, the class of each row (−1 for a blank), names of classes and
    features, and the names or positions of the features to draw, the first eight by default.

    >>> from hesitant import datasets, diagnostics
    >>> data = datasets.simulate(n=200, random_state=0)
    >>> diagnostics.PairsDisplay.from_predictions(data.features, data.labels).axes_.shape
    (2, 2)
    """

    def __init__(
        self, X: FloatArray, codes: IntArray, classes: list[str], features: list[str],
        chosen: Sequence[Any] | None = None
    ) -> None:  # fmt: skip
        places = find_features(range(len(features))[:8] if chosen is None else chosen, features)
        self.X, self.features = X[:, places], [features[k] for k in places]
        self.codes, self.classes = codes, classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, features: Sequence[Any] | None = None
    ) -> Self:
        """Draw the data with the classes and feature names of a fitted classifier."""
        data = check_in_memory(estimator, X, y)
        names = estimator.fitted_.class_names, estimator.fitted_.feature_names
        return cls(np.asarray(data.X, float), data.labels.codes, *names, features).plot()

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

        ``feature_names`` are by default a data frame's columns, or x0, x1, …
        """
        values, labels = np.asarray(X, dtype=float), encode(y, missing_label)
        if values.ndim != 2 or len(labels.codes) != len(values):
            shapes = f"X has shape {values.shape} and y has {len(labels.codes)} rows"
            each = "one row a case, one column a feature, and a label or blank for each row"
            raise ValueError(f"{shapes}: give {each}.")
        p = values.shape[1]
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        names = [f"x{j}" for j in range(p)] if names is None else [str(name) for name in names]
        if len(names) != p:
            raise ValueError(f"{len(names)} feature names for {p} features.")
        return cls(values, labels.codes, names_of(labels.classes), names, features).plot()

    def plot(self) -> Self:
        """Draw on a new figure."""
        p = len(self.features)
        side = p * max(1.5, 7.2 / max(p, 2))
        with draw.drawing():
            self.use(None, (side + 0.4, side + 0.2), p, p, squeeze=False, sharex="col")
            for (i, j), ax in np.ndenumerate(self.axes_):
                if i < j:
                    ax.remove()
                    self.axes_[i, j] = None
                    continue
                if i == j:
                    self._histogram(ax, i)
                else:
                    draw.scatter(ax, self.X[:, [j, i]], self.codes)
                    ax.set_ylabel(as_text(self.features[i]))
                ax.set_xlabel(as_text(self.features[j]))
                ax.label_outer()
            handles = draw.legend_handles(self.classes, self.codes)
            where = "upper right" if p > 1 else "outside right upper"
            self.figure_.legend(handles=handles, loc=where, fontsize=9)
        return self

    def _histogram(self, ax: Any, i: int) -> None:
        edges = np.histogram_bin_edges(self.X[:, i], bins=30)
        for h in np.unique(self.codes)[::-1]:  # blanks, an outline, come last
            style = {"histtype": "step", "linewidth": 1.1} if h < 0 else {"alpha": 0.45}
            style |= {"color": class_color(h), "density": True}
            ax.hist(self.X[self.codes == h, i], edges, **style)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)


def find_features(wanted: Sequence[Any], names: list[str]) -> list[int]:
    p = len(names)
    known = {k: k % p for k in range(-p, p)} | {name: k for k, name in enumerate(names)}
    for f in wanted:
        if f not in known:
            raise ValueError(f"features contains {f!r}: give names or positions among {names}.")
    return [known[f] for f in wanted]
