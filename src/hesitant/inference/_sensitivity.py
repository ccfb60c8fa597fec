"""What if we are wrong: how conclusions change if blanks also depend on the class."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from hesitant._drawing import Drawing, as_text, class_color, dotted_line, drawing
from hesitant._replicates import refit
from hesitant._typing import BoolArray, FloatArray
from hesitant._words import Result, Table, percent
from hesitant.base import check_in_memory
from hesitant.inference._information import information
from hesitant.mechanisms import ClassMechanism

CLEAR = 2.0  # log-likelihood by which the data prefer a tilt, before it is worth saying


@dataclasses.dataclass(repr=False, eq=False)
class SensitivityDisplay(Drawing):
    """A class's share against the tilt with its band, and how many rows change class."""

    result: Any

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        r, color, h = self.result, class_color(0), self.result.classes.index(self.result.of)
        share, reach = r.shares[:, h], 2 * r.errors[:, h]
        with drawing():
            self.use(axes, (7.0, 2.8), 1, 2)
            left, right = self.axes_.flat
            left.fill_between(r.tilts, share - reach, share + reach, color=color, alpha=0.15, lw=0)
            left.plot(r.tilts, share, "o-", color=color, markersize=4)
            left.set_ylabel(f"share of {as_text(r.of)}")
            self._across(left)
            self.changes(right)
        return self

    def changes(self, ax: Any) -> None:
        """Draw how many rows change class."""
        changed = 100 * self.result.changed
        ax.plot(self.result.tilts, changed, "o-", color=class_color(4), markersize=4)
        ax.set(ylabel="rows that change class, %", ylim=(0, max(2.0, 1.15 * changed.max())))
        self._across(ax)

    def _across(self, ax: Any) -> None:
        tilts = self.result.tilts[:: 1 + self.result.tilts.size // 12]
        ax.set_xticks(tilts, [f"{odds:.2g}" for odds in np.exp(tilts)])
        ax.set_xlabel(f"odds of a label of {as_text(self.result.of, 20)}, against others")
        dotted_line(ax)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(Result):
    """Fits under blanks that depend on the class by a given tilt."""

    title: ClassVar[str] = "What if blanks also depend on the class?"

    of: str  #: the class that the tilt is about
    classes: list[str]
    tilts: FloatArray  #: (k,), log odds of its labels against equally difficult rows of the others
    log_likelihood: FloatArray
    shares: FloatArray  #: of the classes (k, g)
    changed: FloatArray  #: share of rows whose predicted class is not that of tilt 0
    turns: FloatArray = dataclasses.field(repr=False)  #: each row's nearest tilt that changes it
    models: list[Any] = dataclasses.field(repr=False)  #: the fits

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors of the shares (k, g), NaN where there is none."""
        out = np.full(self.shares.shape, np.nan)
        for own, model in zip(out, self.models, strict=True):
            with contextlib.suppress(ValueError):  # a family without coordinates, or LinAlgError
                found = information(model)
                known = dict(zip(found.parameters, found.std_error.tolist(), strict=True))
                own[:] = [known.get(f"weight[{name}]", np.nan) for name in self.classes]
        return out

    def __getstate__(self) -> dict[str, Any]:
        self.errors  # noqa: B018  # the fits do not take their rows elsewhere
        return vars(self)

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

        ``conclusion`` makes True or False of a fitted classifier, or a number whose sign decides.
        """
        said = [conclusion(clf) for clf in self.models]
        value = np.array([2.0 * v - 1 if isinstance(v, bool | np.bool_) else v for v in said])
        turn = np.flatnonzero((value[:-1] > 0) != (value[1:] > 0))
        share = value[turn] / (value[turn] - value[turn + 1])
        found = self.tilts[turn] + share * np.diff(self.tilts)[turn]
        return float(min(found, key=abs, default=math.nan))

    def _content(self) -> Iterator[str | Table]:
        h, n, keep = self.classes.index(self.of), len(self.turns), int(self.stable.sum())
        own, none, band = self.shares[:, h], int(np.abs(self.tilts).argmin()), self.band[h]
        reach = f" (from {percent(band[0])} to {percent(band[1])} with two standard errors)"
        reach = reach if np.isfinite(band).all() else "; there are no standard errors"
        yield (
            f"Suppose that the odds of a label of class {self.of} were "
            f"{math.exp(self.tilts.min()):.2g} to {math.exp(self.tilts.max()):.2g} times those of "
            f"equally difficult rows of other classes. Its share is {percent(own[none])} without "
            f"such a tilt, and from {percent(own.min())} to {percent(own.max())} with it{reach}."
        )
        yield f"{keep:,} of {n:,} rows ({percent(keep / n)}) keep their class whatever the tilt."
        best = int(self.log_likelihood.argmax())
        gain = self.log_likelihood[best] - self.log_likelihood[none]
        if gain > CLEAR:
            about = f"about {self.tilts[best]:.2g} (log-likelihood {gain:.1f} above none)"
            yield f"The data speak for a tilt of {about}: consider mechanism='entropy+class'."
        yield Table.of(self._columns())

    def _columns(self) -> dict[str, Any]:
        shares = {f"share of {name}": self.shares[:, h] for h, name in enumerate(self.classes)}
        odds = {"tilt": self.tilts, "odds": np.exp(self.tilts)}
        return {**odds, "log_likelihood": self.log_likelihood, **shares, "changed": self.changed}

    def plot(self, axes: Any = None) -> SensitivityDisplay:
        """Draw the class's share, with its band, and the share of rows that change."""
        return SensitivityDisplay(self).plot(axes)


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

    Whether blanks depend on the class *beyond* difficulty is hard to learn from the data (those of
    the fit). Here it is assumed, by an amount that is swept over a range; the rest is refitted.
    The ``tilts`` are log odds of a label of the class ``of`` (by default the smallest) against
    equally difficult rows of the others; 0 is always among them. By default they are nine from −2
    to 2: odds from a seventh to sevenfold.

    >>> from hesitant import MixtureClassifier, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> clf.sensitivity(data.features, data.labels, tilts=[-1, 1]).tilts.tolist()
    [-1.0, 0.0, 1.0]
    """
    data = check_in_memory(clf, X, y, sample_weight, reviewed)
    names, known = clf.fitted_.class_names, clf.classes_.tolist()
    if of is not None and of not in known:
        raise ValueError(f"of={of!r}: choose one of the classes {known!r}.")
    h = int(np.argmin(clf.weights_)) if of is None else known.index(of)
    try:
        grid = np.linspace(-2, 2, 9) if tilts is None else np.array([*tilts], dtype=float)
    except (TypeError, ValueError):
        grid = np.array(np.nan)
    if not np.isfinite(grid).all():
        raise ValueError(f"tilts={tilts!r}: give finite numbers, log odds of a label.")
    grid = np.unique(np.append(grid, 0.0))
    fits: dict[float, Any] = {}
    for side in (grid[grid >= 0], grid[grid <= 0][::-1]):
        start = clf
        for tilt in side.tolist():
            if tilt not in fits:
                mechanism = tilted(clf.mechanism_, tilt * np.eye(len(names))[h])
                fits[tilt] = refit(clf, data, None, start, mechanism=mechanism, solver="auto")
            start = fits[tilt]
    models = [fits[tilt] for tilt in grid.tolist()]
    classes = np.stack([model.predict_log_proba(data).argmax(axis=1) for model in models])
    differs = classes != classes[np.searchsorted(grid, 0.0)]
    order = np.argsort(np.abs(grid), kind="stable")
    return Sensitivity(
        of=names[h],
        classes=names,
        tilts=grid,
        log_likelihood=np.array([model.log_likelihood_ for model in models]),
        shares=np.array([model.weights_ for model in models]),
        changed=differs.mean(axis=1),
        turns=np.where(differs.any(axis=0), grid[order[differs[order].argmax(axis=0)]], np.nan),
        models=models,
    )


def tilted(mechanism: Any, tilt: FloatArray) -> Any:
    """Return a mechanism with fixed differences between the classes' intercepts."""
    mechanism = getattr(mechanism, "hesitation", mechanism)  # of all readers, if it is a panel
    if not mechanism.informative:
        return ClassMechanism(tilt=tilt.tolist())
    if "tilt" not in mechanism.get_params(deep=False):
        words = f"sensitivity has no tilt of the mechanism {mechanism.in_words!r}"
        raise TypeError(f"{words}: fit with mechanism='entropy' or None.")
    return clone(mechanism).set_params(tilt=tilt.tolist())
