"""The paper's three panels: densities, distribution functions, labelling probability."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.stats import gaussian_kde

from hesitant._drawing import BLANK, GREY, Drawing, class_color, drawing
from hesitant._typing import BoolArray, FloatArray
from hesitant._words import percent
from hesitant.attached import attach
from hesitant.diagnostics._smoother import LabellingCurve, labelling_curve, shown_range
from hesitant.labels import encode
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
        data = attach(estimator, X, y, reviewed=reviewed)
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
