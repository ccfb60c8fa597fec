"""Parameters in the units people think in: names, scales of their intervals, and tables."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from hesitant._result import Result, Table, percent
from hesitant._typing import FloatArray, IntArray
from hesitant.inference import _displays
from hesitant.inference._scores import STEP, Axes
from hesitant.likelihood import State
from hesitant.model import FittedModel


@dataclasses.dataclass(frozen=True)
class Scale:
    """Where an estimate is closer to normal, and how to get there and back."""

    forward: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]

    def interval(self, estimate: Any, reach: Any) -> tuple[Any, Any]:
        """Return the interval that reaches equally far to both sides on this scale."""
        middle = self.forward(estimate)
        return self.back(middle - reach), self.back(middle + reach)


IDENTITY = Scale(lambda x: x, np.ones_like, lambda x: x)
LOG = Scale(np.log, lambda x: 1 / x, np.exp)
LOGIT = Scale(logit, lambda x: 1 / (x * (1 - x)), expit)
# Degrees of freedom: their likelihood is well behaved in 1/ν, up to the Gaussian limit 1/ν = 0.
INVERSE = Scale(
    lambda x: -1 / x, lambda x: 1 / x**2, lambda x: -1 / x if x < 0 else np.asarray(np.inf)
)
# By attribute; of matrices this goes for the diagonal.
_SCALES = {"covariances": LOG, "scales": LOG, "dof": INVERSE}


@dataclasses.dataclass(frozen=True)
class NaturalUnits:
    """How a state unfolds into named numbers: weights, what the family shows, the mechanism."""

    names: list[str]  # such as ``mean[a, x0]``
    scales: list[Scale]  # where each number's confidence interval is symmetric
    common: list[str]  # the name without its class, where all classes may share the number
    classes: IntArray  # the class that each number belongs to, −1 if to none alone
    model: FittedModel
    picks: dict[str, tuple[Any, ...]]  # which entries of the family's attributes are numbers
    kept: Any = ...  # which of them these are

    def values(self, state: State) -> FloatArray:
        """Return the numbers of a state."""
        shown = self.model.family.attributes(state.params)
        parts = [np.asarray(shown[a], dtype=float)[index] for a, index in self.picks.items()]
        theta = np.array(list(self.model.mechanism.natural(state.theta).values()))
        return np.concatenate([state.weights, *parts, theta])[self.kept]

    def reduce(self, jacobian: FloatArray, state: State) -> tuple["NaturalUnits", IntArray]:
        """Keep what can move and name once what the classes share; return the places kept too.

        The jacobian (k, d) is how each number moves with the free coordinates: fixed values and
        structural zeros do not, and what the classes share moves alike.
        """
        value = self.values(state)
        size = np.abs(np.nan_to_num(jacobian)).max(axis=1)
        moves = size > 1e-12 * (1e-300 + np.abs(np.nan_to_num(value)))
        exists = np.isfinite(value) & np.isfinite(jacobian).all(axis=1)

        def alike(j: int, k: int) -> bool:
            near = abs(value[j] - value[k]) <= 1e-8 + 1e-9 * abs(value[k])
            return bool(near and np.abs(jacobian[j] - jacobian[k]).max() <= 1e-6 * size[j])

        groups: dict[str, list[int]] = {}
        for k in np.flatnonzero(moves & exists).tolist():
            groups.setdefault(self.common[k] or self.names[k], []).append(k)
        kept: dict[int, str] = {}
        seen: dict[str, int] = {}
        for name, group in groups.items():
            shared = len(group) > 1 and all(alike(group[0], k) for k in group[1:])
            for k in group[:1] if shared else group:
                shown = name if shared else self.names[k]
                # A location that is also the mean, say, is listed once.
                twin = seen.setdefault(shown[shown.find("[") :], k) if "[" in shown else k
                if twin == k or not alike(twin, k):
                    kept[k] = shown
        places = np.array(sorted(kept), dtype=np.int64)
        names, scales = [kept[k] for k in places.tolist()], [self.scales[k] for k in places]
        return dataclasses.replace(self, names=names, scales=scales, kept=places), places

    def jacobian(self, axes: Axes) -> FloatArray:
        """Return how each number moves with the chart's coordinates, at its reference."""
        chart, weights = axes.chart, axes.chart.reference.weights
        first, k = chart.splits
        out = np.zeros((len(self.names), chart.size))
        spread = np.diag(weights) - np.outer(weights, weights)
        out[: weights.size, :first] = spread @ chart.weight_axes
        known, at = chart.family.slopes(), weights.size
        groups = [np.array([axis]) for axis in range(k, chart.size)]
        if known is None:
            groups += [group for group in axes.together if group[0] >= first]
        for attribute, index in self.picks.items():
            if known and attribute in known:
                out[at : at + index[0].size, first:k] = known[attribute][:, *index].T
            at += index[0].size
        # A number that belongs to a class is moved by that one of a group's axes which moves it.
        for group in groups:
            ahead, behind = (self.values(chart.decode(axes.step(group, s))) for s in (1, -1))
            with np.errstate(invalid="ignore"):  # infinite all along: NaN, and not listed
                slope = (ahead - behind) / (2 * STEP)
            for axis in group.tolist():
                moved = np.ones(len(out), dtype=bool)
                if len(group) > 1:
                    moved = (self.classes >= 0) & axes.moves[axis][self.classes]
                out[moved, axis] = slope[moved]
        return out


def natural_units(model: FittedModel) -> NaturalUnits:
    """Lay out a fitted model's weights, whatever its family shows, and its mechanism.

    Attributes are arrays whose first axis is the class, and further axes mostly features.
    """
    mechanism, state = model.mechanism, model.state
    classes, features = model.class_names, model.feature_names
    # Name, scale, name without its class, and class of each number.
    listed: list[tuple[str, Scale, str, int]] = [(f"weight[{c}]", LOGIT, "", -1) for c in classes]
    picks: dict[str, tuple[Any, ...]] = {}
    shown = model.family.attributes(state.params)
    part_of = np.asarray(shown.get("component_classes", ()), dtype=int)
    for attribute, array in shown.items():
        array = np.asarray(array, dtype=float)
        whose = part_of if len(array) == len(part_of) else np.arange(len(array))
        whose = whose if len(array) in (len(classes), len(part_of)) else np.full(len(array), -1)
        picks[attribute] = index = _free_entries(array)
        plural = attribute.endswith("s") and not attribute.endswith("ss")
        kind = attribute[:-1] if plural else attribute
        axes = [classes, *([features] * (array.ndim - 1))]
        named = [
            names if size == len(names) else list(map(str, range(size)))
            for names, size in zip(axes, array.shape, strict=True)
        ]
        for place in zip(*(part.tolist() for part in index), strict=True):
            labels = [names[k] for names, k in zip(named, place, strict=True)]
            common = f"{kind}[{', '.join(labels[1:])}]" if labels[1:] else kind
            on_diagonal = len(place) < 3 or place[1] == place[2]
            scale = _SCALES.get(attribute, IDENTITY) if on_diagonal else IDENTITY
            listed.append((f"{kind}[{', '.join(labels)}]", scale, common, int(whose[place[0]])))
    for name in mechanism.natural(state.theta):
        listed.append((name, LOGIT if name in mechanism.probabilities else IDENTITY, "", -1))
    names, scales, shared, owners = zip(*listed, strict=True)
    return NaturalUnits([*names], [*scales], [*shared], np.array(owners), model, picks)


def _free_entries(array: FloatArray) -> tuple[Any, ...]:
    """Return the positions of all entries, of symmetric matrices the lower triangles only."""
    index = tuple(np.indices(array.shape).reshape(array.ndim, -1))
    if array.ndim == 3 and array.shape[1] == array.shape[2]:
        finite = np.nan_to_num(array)
        if np.allclose(finite, finite.transpose(0, 2, 1)):
            return tuple(part[index[1] >= index[2]] for part in index)
    return index


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Estimates(Result):
    """Base of results with one row for each parameter."""

    columns: ClassVar[tuple[str, ...]] = ("estimate", "std_error", "lower", "upper")
    bars: ClassVar[str] = "interval"

    parameters: list[str]
    estimate: FloatArray
    std_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    remarks: list[str]

    def plot(self, ax: Any = None, parameters: str | None = None) -> Any:
        """Draw estimates with their intervals, of ``parameters`` whose name contains this."""
        keep = _displays.chosen(self.parameters, parameters)
        shown = (values[keep] for values in (self.estimate, self.lower, self.upper))
        caption = f"estimate and {percent(self.level, 0)} {self.bars}"
        names = [self.parameters[k] for k in keep]
        return _displays.draw_intervals(names, *shown, caption=caption, ax=ax)

    def _columns(self) -> dict[str, Any]:
        return {"parameter": self.parameters, **{c: getattr(self, c) for c in self.columns}}

    @abstractmethod
    def _introduction(self) -> str:
        """Return what the errors rest on."""

    def _content(self) -> Iterator[str | Table]:
        yield self._introduction()
        yield Table.of(self._columns(), f"Intervals at {percent(self.level, 0)}")
