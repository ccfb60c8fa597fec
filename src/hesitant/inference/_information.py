"""How sure we are: parameters in natural units, their standard errors and intervals."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from hesitant._cores import one_blas_thread
from hesitant._drawing import Drawing, class_color, dotted_line, drawing, one_a_line
from hesitant._typing import BoolArray, FloatArray
from hesitant._words import Result, Table, listed, percent
from hesitant.base import check_classifier
from hesitant.chart import Chart
from hesitant.checks import check_number
from hesitant.exceptions import FitWarning
from hesitant.inference._inverses import invert
from hesitant.inference._scores import STEP, Axes, axes_at, curvature, nudged, scatter
from hesitant.likelihood import State
from hesitant.model import FittedModel

UPHILL = 1e-3  # in units of complete labels' information: more than rounding, the wrong way

RISES = (
    "The likelihood of these data still rises at these parameters: was the model fitted to other "
    "rows, with other weights or another `reviewed`, or stopped early? Standard errors are only "
    "right at a maximum."
)


# Where an estimate is closer to normal: the way there, its slope, and the way back. The likelihood
# of degrees of freedom is well behaved in 1/ν, up to the Gaussian limit 1/ν = 0.
SCALES: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "plain": (np.positive, np.ones_like, np.positive),
    "log": (np.log, lambda x: 1 / x, np.exp),
    "logit": (logit, lambda x: 1 / (x * (1 - x)), expit),
    "inverse": (lambda x: -1 / x, lambda x: 1 / x**2, lambda x: np.where(x >= 0, np.inf, -1 / x)),
}
# By attribute; of matrices this goes for the diagonal.
_SCALES = {"covariances": "log", "scales": "log", "dof": "inverse"}


def intervals(scales: list[str], estimate: Any, errors: Any, level: float) -> FloatArray:
    """Return lower and upper bounds (k, 2), equally far away on each number's own scale."""
    reach = np.multiply.outer(errors, ndtri(0.5 + level / 2) * np.array([-1, 1]))
    ends = np.empty((len(scales), 2))
    for scale, (forward, _, back) in SCALES.items():
        own = np.array([s == scale for s in scales], dtype=bool)
        with np.errstate(divide="ignore"):  # a bound may be infinite
            ends[own] = back(forward(estimate[own])[:, None] + reach[own])
    return ends


class Number(NamedTuple):
    """One of the numbers that a state unfolds into."""

    name: str  # such as ``mean[a, x0]``
    scale: str = "plain"  # where its confidence interval is symmetric
    common: str = ""  # the name without its class, where all classes may share it


@dataclasses.dataclass(frozen=True)
class NaturalUnits:
    """How a state unfolds into numbers: weights, what the family shows, the mechanism."""

    numbers: list[Number]
    model: FittedModel
    picks: dict[str, tuple[Any, ...]]  # which entries of the family's attributes are numbers
    kept: Any = ...  # which of them these are

    @property
    def names(self) -> list[str]:
        return [number.name for number in self.numbers]

    @property
    def scales(self) -> list[str]:
        return [number.scale for number in self.numbers]

    def values(self, state: State) -> FloatArray:
        shown = self.model.family.attributes(state.params)
        parts = [np.asarray(shown[a], dtype=float)[index] for a, index in self.picks.items()]
        theta = np.array(list(self.model.mechanism.natural(state.theta).values()))
        return np.concatenate([state.weights, *parts, theta])[self.kept]

    def reduce(self, jacobian: FloatArray, state: State) -> "NaturalUnits":
        """Keep what can move, and name once what the classes share.

        The jacobian (k, d) is how each number moves with the free coordinates: fixed values and
        structural zeros do not, and what the classes share moves alike.
        """
        value, size = self.values(state), np.abs(jacobian).max(axis=1)  # NaN if any of them is
        moves = size > 1e-12 * (1e-300 + np.abs(value))
        exists = np.isfinite(value) & np.isfinite(size)

        def alike(j: int, k: int) -> bool:
            near = abs(value[j] - value[k]) <= 1e-8 + 1e-9 * abs(value[k])
            return bool(near and np.abs(jacobian[j] - jacobian[k]).max() <= 1e-6 * size[j])

        groups: dict[str, list[int]] = {}
        for k in np.flatnonzero(moves & exists).tolist():
            groups.setdefault(self.numbers[k].common or self.numbers[k].name, []).append(k)
        kept: dict[int, Number] = {}
        seen: dict[str, int] = {}
        for name, group in groups.items():
            shared = len(group) > 1 and all(alike(group[0], k) for k in group[1:])
            for k in group[:1] if shared else group:
                shown = name if shared else self.numbers[k].name
                # A location that is also the mean, say, is listed once.
                twin = seen.setdefault(shown[shown.find("[") :], k) if "[" in shown else k
                if twin == k or not alike(twin, k):
                    kept[k] = self.numbers[k]._replace(name=shown) if shared else self.numbers[k]
        places = np.array(sorted(kept), dtype=np.int64)
        return dataclasses.replace(self, numbers=[kept[k] for k in places], kept=places)

    def jacobian(self, axes: Axes) -> FloatArray:
        """Return how each number moves with the chart's coordinates, at its reference."""
        chart, (first, k), weights = axes.chart, axes.chart.splits, self.model.state.weights
        out = np.zeros((len(self.numbers), chart.size))
        out[: weights.size, :first] = weights[:, None] * axes.weight_scores
        known, at = chart.family.slopes(), weights.size
        for attribute, index in self.picks.items():
            if known and attribute in known:
                out[at : at + index[0].size, first:k] = known[attribute][:, *index].T
            at += index[0].size
        for axis in range(first if known is None else k, k):
            ahead, behind = (self.values(nudged(chart, axis, s)) for s in (1, -1))
            with np.errstate(invalid="ignore"):  # infinite all along: NaN, and not listed
                out[:, axis] = (ahead - behind) / (2 * STEP)
        for axis, along in enumerate(STEP * chart.theta_axes.T, start=k):
            natural, theta = self.model.mechanism.natural, self.model.state.theta
            ahead, behind = (np.array([*natural(theta + s * along).values()]) for s in (1, -1))
            out[len(out) - len(ahead) :, axis] = (ahead - behind) / (2 * STEP)
        return out


def natural_units(model: FittedModel) -> NaturalUnits:
    """Lay out a fitted model's weights, whatever its family shows, and its mechanism.

    Attributes are arrays whose first axis is the class, and further axes mostly features.
    """
    mechanism, state = model.mechanism, model.state
    classes, features = model.class_names, model.feature_names
    numbers = [Number(f"weight[{c}]", "logit") for c in classes]
    picks: dict[str, tuple[Any, ...]] = {}
    for attribute, array in model.family.attributes(state.params).items():
        array = np.asarray(array, dtype=float)
        keep, finite = np.ones(array.shape, dtype=bool), np.nan_to_num(array)
        if array.ndim == 3 and array.shape[1] == array.shape[2]:
            keep = np.tril(keep) if np.allclose(finite, finite.transpose(0, 2, 1)) else keep
        picks[attribute] = index = np.nonzero(keep)
        kind = attribute if attribute.endswith("ss") else attribute.removesuffix("s")
        axes = [classes, *([features] * (array.ndim - 1))]
        sizes = zip(axes, array.shape, strict=True)
        named = [names if m == len(names) else [*map(str, range(m))] for names, m in sizes]
        for place in zip(*(part.tolist() for part in index), strict=True):
            labels = [names[k] for names, k in zip(named, place, strict=True)]
            common = f"{kind}[{', '.join(labels[1:])}]" if labels[1:] else kind
            on_diagonal = len(place) < 3 or place[1] == place[2]
            scale = _SCALES.get(attribute, "plain") if on_diagonal else "plain"
            numbers.append(Number(f"{kind}[{', '.join(labels)}]", scale, common))
    for name in mechanism.natural(state.theta):
        numbers.append(Number(name, "logit" if name in mechanism.probabilities else "plain"))
    return NaturalUnits(numbers, model, picks)


def named(names: list[str], part: str | None) -> list[int]:
    keep = [k for k, name in enumerate(names) if (part or "") in name]
    if not keep:
        such = f"names are such as {', '.join(names[:3])}"
        raise ValueError(f"parameters={part!r} is part of no parameter's name; {such}.")
    return keep


def draw_intervals(
    names: list[str], *values: FloatArray, caption: str = "", ax: Any = None
) -> Drawing:
    """Draw estimates, lower and upper bounds, one panel for each kind of parameter.

    An infinite bound is a bar to the edge; where a bound is NaN there is no bar.
    """
    kinds: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        kinds.setdefault("" if ax is not None else name.split("[")[0], []).append(k)
    with drawing():
        sizes, out = [len(places) for places in kinds.values()], Drawing()
        height = 0.9 + 0.19 * sum(sizes) + 0.32 * len(sizes)
        out.use(ax, (5.2, height), len(sizes), 1, height_ratios=[s + 0.6 for s in sizes])
        for panel, places in zip(out.axes_, kinds.values(), strict=True):
            middle, lower, upper = (v[places] for v in values)
            known = ~(np.isnan(lower) | np.isnan(upper))
            ends = np.concatenate((middle, lower[known], upper[known]))
            ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.zeros(1)
            low, high = ends.min(), ends.max()
            reach = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
            if low < 0 < high:
                dotted_line(panel)
            bars = np.clip((lower[known], upper[known]), low - reach, high + reach)
            panel.hlines(np.flatnonzero(known), *bars, color=class_color(0), linewidth=1.5)
            panel.plot(middle, range(len(middle)), "o", color=class_color(0), markersize=4)
            panel.set_xlim(low - reach, high + reach)
            one_a_line(panel, [names[k] for k in places])
        out.axes_[-1].set_xlabel(caption)
    return out


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
        keep = named(self.parameters, parameters)
        shown = (values[keep] for values in (self.estimate, self.lower, self.upper))
        caption = f"estimate and {percent(self.level, 0)} {self.bars}"
        return draw_intervals([self.parameters[k] for k in keep], *shown, caption=caption, ax=ax)

    def _columns(self) -> dict[str, Any]:
        return {"parameter": self.parameters, **{c: getattr(self, c) for c in self.columns}}

    def _content(self) -> Iterator[str | Table]:
        yield Table.of(self._columns(), f"Intervals at {percent(self.level, 0)}")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ObservedInformation(Estimates):
    """Estimates with their standard errors and confidence intervals, in natural units.

    A standard error is infinite where the data do not determine the parameter; the interval is
    then all values it may take, and ``flat_directions`` says in words what is not determined.
    """

    title: ClassVar[str] = "How sure are we? Estimates and standard errors"

    n_rows: int
    robust: bool
    flat_directions: list[str]
    #: In internal coordinates, scaled so that complete labels would give the identity.
    chart_information: FloatArray = dataclasses.field(repr=False)
    chart_covariance: FloatArray = dataclasses.field(repr=False)
    jacobian: FloatArray = dataclasses.field(repr=False)  #: how parameters move with coordinates
    axes: Axes = dataclasses.field(repr=False)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariances (k, k) of the estimates, along what is determined."""
        slope = np.abs(self.jacobian).max(axis=1)[:, None]
        jacobian = self.jacobian / slope
        with np.errstate(over="ignore", under="ignore"):
            return slope * (jacobian @ self.chart_covariance @ jacobian.T) * slope.T

    def _content(self) -> Iterator[str | Table]:
        kind = "sandwich" if self.robust else "observed information"
        yield f"{self.n_rows:,} rows; standard errors from the {kind}."
        yield from super()._content()


@one_blas_thread()  # its matrices are small, and threads on a busy machine wait for each other
def information(
    clf: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    reviewed: Any = None,
    level: float = 0.95,
    robust: bool = False,
) -> ObservedInformation:
    """Return standard errors and intervals for every parameter of a fitted classifier.

    From the observed information, by the delta method. Intervals are symmetric on the log scale
    for variances, in 1/ν for degrees of freedom, on the logit scale for probabilities, and on the
    plain scale otherwise. Data are as given to ``fit``, Dask collections included; by default the
    rows of the fit, which a classifier remembers unless it was loaded or came from another
    process. With ``robust`` errors are the sandwich estimator's, which stay right when the
    classes' family or the mechanism is wrong; a fractional likelihood (``alpha != 0.5``) always
    has those.

    >>> from hesitant import MixtureClassifier, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> info = MixtureClassifier().fit(data.features, data.labels).information()
    >>> info.parameters[-1], bool(info.upper[-1] < 0)
    ('coef[u]', True)
    """
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    check_classifier(clf)
    rows = clf.check(X, y, sample_weight, reviewed)  # which says so if there was no fit
    model: FittedModel = clf.fitted_
    state, units = model.state, natural_units(model)
    robust = bool(robust) or model.alpha != 0.5
    axes, evaluation = axes_at(model, rows)
    total, from_data, gradient = curvature(model, rows, axes, evaluation)
    jacobian = units.jacobian(axes)
    units = units.reduce(jacobian, state)
    whole = jacobian[units.kept]
    # In units of each parameter's own slope: the square of a large variance may have no number.
    slope = np.abs(whole).max(axis=1)
    jacobian = whole / slope[:, None]
    plain, flat, sharp = invert(total, from_data)
    V = plain @ scatter(model, rows, axes) @ plain if robust else plain
    uphill = np.einsum("kd,kd->d", flat, from_data @ flat) < -UPHILL
    directions = [_in_words(v, units.names, jacobian) for v in flat[:, ~uphill].T]
    kinks = [_in_words(v, units.names, jacobian) for v in (*flat[:, uphill].T, *sharp.T)]
    std_error = slope * np.sqrt(np.maximum(axes.variances(jacobian, V), 0.0))
    lost = np.linalg.norm(jacobian @ flat, axis=1) > 1e-3 * np.linalg.norm(jacobian, axis=1)
    std_error[lost] = np.inf
    # By the likelihood's own curvature: at an edge rows' scores are zero, and so is the sandwich.
    edge = _at_the_edge(units, axes.chart, plain, std_error)
    std_error[edge] = np.nan
    estimate, scales, errors = units.values(state), units.scales, np.empty_like(std_error)
    for scale, (_, bend, _) in SCALES.items():
        own = np.array([s == scale for s in scales], dtype=bool)
        errors[own] = bend(estimate[own]) * std_error[own]  # on each number's own scale
    lower, upper = intervals(scales, estimate, errors, level).T
    at_edge = ", ".join(units.names[k] for k in np.flatnonzero(edge))
    more = [f"and {len(directions) - 5} more"] if directions[5:] else []
    undetermined = "; ".join(directions[:5] + more)
    remarks = {
        "The likelihood is not at a smooth maximum: it has a kink, or curves upwards, along "
        f"{listed(kinks, 1)}. A weak prior alone may hold a class there (features that hardly "
        "vary in it, or repeat others), or a basis has a kink (logit, log). There are no standard "
        "errors. Try fewer features, covariance='shrunk', more starts, or bootstrap().": kinks,
        f"At the edge of what is possible: {at_edge}. Standard errors do not exist there; "
        "bootstrap() gives intervals.": at_edge,
        f"The information is singular: the data do not determine {undetermined}. Standard errors "
        "of these are infinite; the others hold whatever these are. More labels, a simpler "
        "covariance or mechanism, or fewer classes would help.": directions,
        RISES: float(gradient @ V @ gradient) > 0.1,
        f"alpha={model.alpha:g} weighs labelled and blank rows differently, so this is no "
        "likelihood of the data: errors come from the sandwich estimator.": model.alpha != 0.5,
    }
    said = [words for words, there in remarks.items() if there]
    return ObservedInformation(
        *(units.names, estimate, std_error, lower, upper, float(level), said),
        n_rows=int(rows.tally.n),
        robust=robust,
        flat_directions=directions,
        chart_information=total,
        chart_covariance=V,
        jacobian=whole,
        axes=axes,
    )


def summary(clf: Any, X: Any = None, y: Any = None, **options: Any) -> Any:
    """Return parameter, estimate, std_error, lower and upper as a data frame.

    Options as for :func:`information`, whose table this is. What the data do not determine is
    said in a warning.
    """
    result = information(clf, X, y, **options)
    for remark in result.remarks:
        warnings.warn(remark, FitWarning, stacklevel=2)
    return result.to_frame()


@np.errstate(over="ignore", invalid="ignore")  # so far a chart may not reach
def _at_the_edge(units: NaturalUnits, chart: Chart, V: FloatArray, error: FloatArray) -> BoolArray:
    """Whether each estimate sits where its range ends, so that no slope tells its error.

    A chart folds there: a small step either way, here a tenth of a standard error, moves the
    parameter the same way and further than the slope would.
    """
    bend = np.zeros(len(units.numbers))
    value, vector = np.linalg.eigh(V) if chart.family.folds else (np.zeros(0), V[:, :0])
    middle = units.values(chart.reference)
    for step in (0.1 * np.sqrt(np.maximum(value, 0.0)) * vector).T:
        ahead, behind = units.values(chart.decode(step)), units.values(chart.decode(-step))
        bend = np.maximum(bend, 0.5 * np.abs(ahead + behind - 2 * middle))
    return np.isfinite(error) & (bend > 0.1 * error)


def _in_words(direction: FloatArray, names: list[str], jacobian: FloatArray) -> str:
    """Name the parameters that move most, in standard errors, along a direction of the chart."""
    moved = jacobian @ direction / np.maximum(np.linalg.norm(jacobian, axis=1), 1e-300)
    order = np.argsort(-np.abs(moved))
    lead = [names[k] for k in order[:4] if np.abs(moved[k]) > 0.3 * np.abs(moved[order[0]])]
    lead = lead or ["what no parameter shows"]
    return lead[0] if len(lead) == 1 else f"{', '.join(lead[:-1])} together with {lead[-1]}"
