"""What if we are wrong: how conclusions change if blanks also depend on the class."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from hesitant._drawing import GREY, Drawing, as_text, class_color, drawing
from hesitant._optional import need
from hesitant._result import Result, Table, percent
from hesitant._typing import BoolArray, FloatArray
from hesitant.exceptions import FitWarning
from hesitant.inference._information import information
from hesitant.mechanisms import (
    ClassMechanism,
    EntropyClassMechanism,
    EntropyMechanism,
    Mechanism,
    MixedMechanism,
)
from hesitant.model_data import check_classifier, class_names, refuse_dask
from hesitant.statements import refuse_statements

if TYPE_CHECKING:
    import pandas as pd

CLEAR = 2.0  # log-likelihood by which the data prefer a tilt, before it is worth saying


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(Result):
    """Fits under blanks that depend on the class by a given tilt.

    Attributes
    ----------
    of : str
        The class whose labels are given more, or less, readily.
    tilts : array of shape (k,)
        Log odds of a label of that class against equally difficult rows of the others.
    log_likelihood : array of shape (k,)
    shares, errors : arrays of shape (k, g)
        The classes' weights, and their standard errors.
    changed : array of shape (k,)
        Share of the rows whose predicted class is not that of tilt 0.
    turns : array of shape (n,)
        The tilt nearest to 0 at which each row's predicted class changes; NaN if none does.
    classes : list of str
    models : list of MixtureClassifier
        The fits, in the order of ``tilts``.
    """

    title: ClassVar[str] = "What if blanks also depend on the class?"

    of: str
    classes: list[str]
    tilts: FloatArray
    log_likelihood: FloatArray
    shares: FloatArray
    errors: FloatArray
    changed: FloatArray
    turns: FloatArray = dataclasses.field(repr=False)
    models: list[Any] = dataclasses.field(repr=False)

    @property
    def stable(self) -> BoolArray:
        """Whether each row keeps its predicted class whatever the tilt."""
        return np.isnan(self.turns)

    @property
    def band(self) -> FloatArray:
        """Smallest and largest share of each class within two standard errors (g, 2)."""
        low, high = self.shares - 2 * self.errors, self.shares + 2 * self.errors
        return np.clip(np.column_stack((low.min(axis=0), high.max(axis=0))), 0, 1)

    def turning_point(self, conclusion: Callable[[Any], Any]) -> float:
        """Return the tilt nearest to 0 at which a conclusion turns; NaN if it holds throughout.

        ``conclusion`` makes a number of a fitted classifier, whose sign is the conclusion
        (``lambda clf: clf.weights_[1] - 0.5``), or True or False. Between two fits the line
        between their numbers decides.
        """
        said = [conclusion(clf) for clf in self.models]
        value = np.array([2.0 * v - 1 if isinstance(v, bool | np.bool_) else v for v in said])
        turn = np.flatnonzero((value[:-1] > 0) != (value[1:] > 0))
        share = value[turn] / (value[turn] - value[turn + 1])
        found = self.tilts[turn] + share * np.diff(self.tilts)[turn]
        return float(min(found, key=abs, default=math.nan))

    def _content(self) -> Iterator[str | Table]:
        low, high = math.exp(self.tilts.min()), math.exp(self.tilts.max())
        h = self.classes.index(self.of)
        least, most = self.shares[:, h].min(), self.shares[:, h].max()
        now = self.shares[int(np.abs(self.tilts).argmin()), h]
        yield (
            f"Suppose that the odds of a label of class {self.of} were {low:.2g} to {high:.2g} "
            f"times those of equally difficult rows of other classes. Its share is {percent(now)} "
            f"without such a tilt, and from {percent(least)} to {percent(most)} with it (from "
            f"{percent(self.band[h, 0])} to {percent(self.band[h, 1])} with two standard errors)."
        )
        keep = int(self.stable.sum())
        yield (
            f"{keep:,} of {len(self.turns):,} rows ({percent(keep / len(self.turns))}) keep their "
            "predicted class whatever the tilt."
        )
        best = int(self.log_likelihood.argmax())
        gain = self.log_likelihood[best] - self.log_likelihood[int(np.abs(self.tilts).argmin())]
        if gain > CLEAR:
            yield (
                f"The data themselves speak for a tilt of about {self.tilts[best]:.2g} (log-"
                f"likelihood {gain:.1f} above none): consider mechanism='entropy+class'."
            )
        frame = self._columns()
        yield Table(list(frame), list(zip(*frame.values(), strict=True)))

    def _columns(self) -> dict[str, Any]:
        shares = {f"share of {name}": self.shares[:, h] for h, name in enumerate(self.classes)}
        odds = {"tilt": self.tilts, "odds": np.exp(self.tilts)}
        return {**odds, "log_likelihood": self.log_likelihood, **shares, "changed": self.changed}

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a tilt."""
        frame: pd.DataFrame = need("pandas", "data").DataFrame(self._columns())
        return frame

    def plot(self, axes: Any = None) -> "SensitivityDisplay":
        """Draw the class's share, with its band, and the share of rows that change."""
        return SensitivityDisplay(self).plot(axes)


class SensitivityDisplay(Drawing):
    """A class's share against the tilt with its band, and how many predictions change."""

    def __init__(self, result: Sensitivity) -> None:
        self.result = result

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        result, color = self.result, class_color(0)
        h = result.classes.index(result.of)
        with drawing():
            self._use(axes, (7.0, 2.8), 1, 2)
            left, right = self.axes_.flat
            share, error = result.shares[:, h], result.errors[:, h]
            left.fill_between(
                result.tilts, share - 2 * error, share + 2 * error, color=color, alpha=0.15, lw=0
            )
            left.plot(result.tilts, share, "o-", color=color, markersize=4)
            left.set_ylabel(f"share of {as_text(result.of)}")
            right.plot(result.tilts, result.changed, "o-", color=class_color(4), markersize=4)
            right.set_ylabel("predictions that change")
            right.set_ylim(bottom=0)
            for ax in (left, right):
                ax.axvline(0, color=GREY, linewidth=0.7, linestyle=":")
                ax.set_xlabel("tilt (log odds of a label)")
        return self


def sensitivity(
    clf: Any,
    X: Any,
    y: Any,
    *,
    of: Any = None,
    tilts: Sequence[float] | None = None,
    sample_weight: Any = None,
    reviewed: Any = None,
) -> Sensitivity:
    """Refit as if labels of one class were given more, or less, readily than others.

    Whether blanks depend on the class *beyond* difficulty is hard to learn from the data. Here it
    is assumed, by an amount that is swept over a range; the rest is refitted.

    Parameters
    ----------
    clf : fitted MixtureClassifier
    X, y : array-likes
        The data of the fit.
    of : class value, optional
        The class whose labels the tilt is about; by default the smallest.
    tilts : sequence of float, optional
        Log odds of a label of that class against equally difficult rows of the others; 0 is
        always among them. By default nine from −2 to 2: odds from a seventh to sevenfold.
    sample_weight, reviewed : array-likes, optional
        As given to ``fit``.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> result = clf.sensitivity(data.features, data.labels, tilts=[-1, 1])
    >>> result.tilts.tolist(), bool(result.stable.mean() > 0.9)
    ([-1.0, 0.0, 1.0], True)
    """
    check_classifier(clf)
    refuse_dask(X)
    refuse_statements(y, "sensitivity")
    names = class_names(clf)
    known = clf.classes_.tolist()
    if of is not None and of not in known:
        raise ValueError(f"of={of!r}: choose one of the classes {known!r}.")
    h = int(np.argmin(clf.weights_)) if of is None else known.index(of)
    grid = np.linspace(-2, 2, 9) if tilts is None else np.asarray(list(tilts), dtype=float)
    if not np.isfinite(grid).all():
        raise ValueError(f"tilts={tilts!r}: give finite numbers, log odds of a label.")
    grid = np.unique(np.append(grid, 0.0))
    fits: dict[float, Any] = {}
    for side in (grid[grid >= 0], grid[grid <= 0][::-1]):
        start = clf
        for tilt in side.tolist():
            if tilt not in fits:
                mechanism = tilted(clf.mechanism_, tilt * np.eye(len(names))[h])
                model = clone(clf).set_params(mechanism=mechanism, init=start, n_init=1)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FitWarning)
                    fits[tilt] = model.fit(X, y, sample_weight=sample_weight, reviewed=reviewed)
            start = fits[tilt]
    models = [fits[tilt] for tilt in grid.tolist()]
    classes = np.stack([model.predict_log_proba(X).argmax(axis=1) for model in models])
    differs = classes != classes[np.searchsorted(grid, 0.0)]
    order = np.argsort(np.abs(grid), kind="stable")
    first = order[differs[order].argmax(axis=0)]
    return Sensitivity(
        of=names[h],
        classes=names,
        tilts=grid,
        log_likelihood=np.array([model.log_likelihood_ for model in models]),
        shares=np.array([model.weights_ for model in models]),
        errors=np.array([information(model).std_error[: len(names)] for model in models]),
        changed=differs.mean(axis=1),
        turns=np.where(differs.any(axis=0), grid[first], np.nan),
        models=models,
    )


def tilted(mechanism: Mechanism, tilt: FloatArray) -> Mechanism:
    """Return a mechanism with fixed differences between the classes' intercepts."""
    if not mechanism.informative:
        return ClassMechanism(tilt=tilt.tolist())
    if isinstance(mechanism, ClassMechanism):
        return ClassMechanism(mechanism.ridge, mechanism.link, tilt.tolist())
    if not isinstance(mechanism, EntropyMechanism) or isinstance(mechanism, MixedMechanism):
        raise TypeError(
            f"sensitivity knows no tilt of {mechanism!r}: fit with mechanism='entropy' or None."
        )
    basis, measure = mechanism.basis, mechanism.uncertainty
    return EntropyClassMechanism(
        1.0, basis, measure, mechanism.ridge, mechanism.link, tilt.tolist()
    )
