"""How sure we are: observed information, standard errors and intervals in natural units."""

import dataclasses
import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm

from hesitant._cores import one_blas_thread
from hesitant._typing import BoolArray, FloatArray
from hesitant.base import likelihood_of
from hesitant.chart import chart_at
from hesitant.checks import check_number
from hesitant.exceptions import FitWarning
from hesitant.inference._curvature import curvature, invert, scatter
from hesitant.inference._estimates import Estimates, NaturalUnits, natural_units
from hesitant.inference._scores import Axes, find_axes
from hesitant.likelihood import Likelihood
from hesitant.model import FittedModel

UPHILL = 1e-3  # in units of complete labels' information: more than rounding, the wrong way

RISES = (
    "The likelihood of these data still rises at these parameters: was the model fitted to other "
    "rows, with other weights or another `reviewed`, or stopped early? Standard errors are only "
    "right at a maximum."
)
_REMARKS = (
    "The likelihood is not at a smooth maximum: it has a kink, or curves upwards, along {kink}. A "
    "mechanism whose basis has a kink (logit, log) can end there; standard errors do not exist. "
    "Try another basis, more starts (n_init), or bootstrap().",
    "At the edge of what is possible: {edge}. Standard errors do not exist there; bootstrap() "
    "gives intervals.",
    "The information is singular: the data do not determine {flat}. Standard errors of these are "
    "infinite; the others hold whatever these are. More labels, a simpler covariance or "
    "mechanism, or fewer classes would help.",
    RISES,
    "alpha={alpha} weighs labelled and blank rows differently, so this is no likelihood of the "
    "data: errors come from the sandwich estimator.",
)


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
    covariance: FloatArray = dataclasses.field(repr=False)
    chart_information: FloatArray = dataclasses.field(repr=False)
    chart_covariance: FloatArray = dataclasses.field(repr=False)
    axes: Axes = dataclasses.field(repr=False)

    def _introduction(self) -> str:
        kind = "sandwich" if self.robust else "observed information"
        return f"{self.n_rows:,} rows; standard errors from the {kind}."


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
    plain scale otherwise.

    Parameters
    ----------
    clf : fitted MixtureClassifier
    X, y, sample_weight, reviewed : array-likes, optional
        As they were given to ``fit``, Dask collections included. By default the rows of the fit,
        which a classifier remembers unless it was loaded or came from another process.
    level : float, default=0.95
        Confidence of the intervals.
    robust : bool, default=False
        Use the sandwich estimator, which stays right when the classes' family or the mechanism
        is wrong. A fractional likelihood (``alpha != 0.5``) always does.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> info = MixtureClassifier().fit(data.features, data.labels).information()
    >>> info.parameters[-1], bool(info.upper[-1] < 0)
    ('coef[u]', True)
    """
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    likelihood = likelihood_of(clf, X, y, sample_weight, reviewed)
    return information_of(clf.fitted_, likelihood, level, bool(robust))


@one_blas_thread()  # its matrices are small, and threads on a busy machine wait for each other
def information_of(
    model: FittedModel, likelihood: Likelihood, level: float = 0.95, robust: bool = False
) -> ObservedInformation:
    """Return the same for rows that have been joined to the model already."""
    state, units = model.state, natural_units(model)
    robust = robust or model.alpha != 0.5
    chart, evaluation = chart_at(likelihood, state)
    axes = find_axes(likelihood.family, chart)
    total, from_data, gradient = curvature(likelihood, axes, evaluation)
    filling = scatter(likelihood, axes) if robust else None
    jacobian = units.jacobian(axes)
    units, kept = units.reduce(jacobian, state)
    jacobian = jacobian[kept]
    V, flat, sharp = invert(total, from_data)
    V = V if filling is None else V @ filling @ V
    # In units of each parameter's own slope: the square of a large variance may have no number.
    slope = np.abs(jacobian).max(axis=1)
    jacobian = jacobian / slope[:, None]
    uphill = np.einsum("kd,kl,ld->d", flat, from_data, flat) < -UPHILL
    directions = [_in_words(v, units.names, jacobian) for v in flat[:, ~uphill].T]
    kinks = [_in_words(v, units.names, jacobian) for v in (*flat[:, uphill].T, *sharp.T)]
    few = csr_array(jacobian)  # entries of many: a class's numbers depend on its own axes
    covariance = few @ (few @ V).T
    std_error = slope * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    lost = np.linalg.norm(jacobian @ flat, axis=1) > 1e-3 * np.linalg.norm(jacobian, axis=1)
    std_error[lost] = np.inf
    with np.errstate(over="ignore", under="ignore"):
        covariance = slope[:, None] * covariance * slope
    edge = _at_the_edge(units, axes, V, std_error)
    std_error[edge] = np.nan
    estimate, z = units.values(state), norm.ppf(0.5 + level / 2)
    ends = [
        scale.interval(x, scale.slope(x) * (z * error)) if not np.isnan(error) else (np.nan,) * 2
        for x, error, scale in zip(estimate, std_error, units.scales, strict=True)
    ]
    lower, upper = np.array(ends, dtype=float).T
    at_edge = [units.names[k] for k in np.flatnonzero(edge)]
    more = f" and {len(kinks) - 1} more directions" if kinks[1:] else ""
    others = f"; and {len(directions) - 5} more" if directions[5:] else ""
    said = {"kink": f"{''.join(kinks[:1])}{more}", "edge": ", ".join(at_edge)}
    said |= {"flat": f"{'; '.join(directions[:5])}{others}", "alpha": f"{model.alpha:g}"}
    rises = float(gradient @ V @ gradient) > 0.1
    when = (kinks, at_edge, directions, rises, model.alpha != 0.5)
    return ObservedInformation(
        parameters=units.names,
        estimate=estimate,
        std_error=std_error,
        lower=lower,
        upper=upper,
        level=float(level),
        n_rows=int(likelihood.rows.tally.n),
        robust=robust,
        flat_directions=directions,
        remarks=[
            words.format(**said) for words, there in zip(_REMARKS, when, strict=True) if there
        ],
        covariance=covariance,
        chart_information=total,
        chart_covariance=V,
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


def _at_the_edge(
    units: NaturalUnits, axes: Axes, V: FloatArray, std_error: FloatArray
) -> BoolArray:
    """Whether each estimate sits where its range ends, so that no slope tells its error.

    A chart folds there: a small step either way, here a tenth of a standard error, moves the
    parameter the same way and further than the slope would.
    """
    chart, bend = axes.chart, np.zeros(len(units.names))
    value, vector = np.linalg.eigh(V) if chart.family.folds else (np.zeros(0), V[:, :0])
    middle = units.values(chart.reference)
    for step in (0.1 * np.sqrt(np.maximum(value, 0.0)) * vector).T:
        ahead, behind = units.values(chart.decode(step)), units.values(chart.decode(-step))
        bend = np.maximum(bend, 0.5 * np.abs(ahead + behind - 2 * middle))
    return np.isfinite(std_error) & (bend > 0.1 * std_error)


def _in_words(direction: FloatArray, names: list[str], jacobian: FloatArray) -> str:
    """Name the parameters that move most, in standard errors, along a direction of the chart."""
    moved = jacobian @ direction / np.maximum(np.linalg.norm(jacobian, axis=1), 1e-300)
    order = np.argsort(-np.abs(moved))
    lead = [names[k] for k in order[:4] if np.abs(moved[k]) > 0.3 * np.abs(moved[order[0]])]
    return lead[0] if len(lead) == 1 else f"{', '.join(lead[:-1])} together with {lead[-1]}"
