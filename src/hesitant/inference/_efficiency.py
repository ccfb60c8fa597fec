"""What the pattern buys: precision and error rate with it, without it, with all labels."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import one_blas_thread
from hesitant._optional import need
from hesitant._replicates import seeds
from hesitant._result import Result, Table, number, percent
from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.checks import check_number
from hesitant.inference._boundary import Sampler
from hesitant.inference._curvature import natural_jacobian
from hesitant.inference._estimates import natural_units
from hesitant.inference._fisher import Moments, draw_moments
from hesitant.inference._scores import find_axes

if TYPE_CHECKING:
    import pandas as pd

WAYS = ("complete", "ignorance", "full")
PAIRS = (("ignorance", "complete"), ("full", "complete"), ("full", "ignorance"))


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Efficiency(Result):
    """Precision under complete labels, the ignorance likelihood and the full likelihood.

    Attributes
    ----------
    n_rows, n_draws : int
        Rows of the study imagined, and rows drawn to compute its information.
    reviewed_share : float
        Share of the rows that somebody is shown: only their blanks make a pattern.
    share_labelled : float
        Expected share of rows with a label.
    bayes_error : float
        Error rate of the best rule.
    excess_error : dict
        Expected error rate of the fitted rule above the Bayes error, for each of "complete",
        "ignorance" and "full", with ``n_rows`` rows. NaN, as all that follows from it, if too
        few of the rows drawn came near a boundary; a remark then says so.
    parameter_efficiency, error_efficiency : dict
        For pairs such as "full / ignorance": how many rows of the second kind one of the first
        is worth, by the geometric mean over all parameters (the ratio of determinants to the
        power 1/k), and by the excess error rate.
    labels_worth : dict
        How many labels of randomly chosen blanks the pattern is worth, judged by "error" and by
        "parameters"; at most all blanks. NaN if neither labels nor the pattern add anything.
    worth_all : dict
        Whether even labels for all blanks would do less, by more than twice the error that the
        draws leave.
    parameters : list of str
    std_errors : dict
        For each of the three, the standard error of every parameter with ``n_rows`` rows.
    monte_carlo_error : dict
        Standard error, from the draws, of each scalar above.
    remarks : list of str
    """

    title: ClassVar[str] = "What does the pattern buy?"

    n_rows: int
    n_draws: int
    reviewed_share: float
    share_labelled: float
    bayes_error: float
    excess_error: dict[str, float]
    parameter_efficiency: dict[str, float]
    error_efficiency: dict[str, float]
    labels_worth: dict[str, float]
    worth_all: dict[str, bool]
    parameters: list[str]
    std_errors: dict[str, FloatArray]
    monte_carlo_error: dict[str, float]
    remarks: list[str]

    def to_frame(self) -> "pd.DataFrame":
        """Return each parameter's standard errors and variance ratios."""
        frame = need("pandas", "data").DataFrame({"parameter": self.parameters, **self.std_errors})
        for one, other in PAIRS:
            frame[f"{one} / {other}"] = (frame[other] / frame[one]) ** 2
        return frame

    def plot(self, axes: Any = None, parameters: str | None = None) -> Any:
        """Draw standard errors of the parameters and expected error rates.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
        parameters : str, optional
            Only parameters whose name contains this, such as ``"mean"``. Of more than 40 those
            are drawn whose errors the blanks increase most.
        """
        from hesitant.inference._displays import EfficiencyDisplay

        return EfficiencyDisplay(self, parameters).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield self._in_words()
        mc = self.monte_carlo_error
        bayes, excess = self.bayes_error, self.excess_error
        yield Table(
            ("likelihood", "error rate", "excess", "± (draws)"),
            [(w, bayes + excess[w], excess[w], mc[f"excess {w}"]) for w in WAYS],
            f"Expected error rate of the fitted rule with {self.n_rows:,} rows, "
            f"{self._shares()}; Bayes error {number(bayes)} ± {number(mc['bayes_error'], 2)}",
        )
        by_parameters, by_error = self.parameter_efficiency, self.error_efficiency
        yield Table(
            ("efficiency", "parameters", "±", "error rate", "±"),
            [
                (k, by_parameters[k], mc[f"parameters {k}"], by_error[k], mc[f"error {k}"])
                for k in by_parameters
            ],
            "One row of the first is worth so many of the second",
        )
        columns = list(zip(*(self.std_errors[w] for w in WAYS), strict=True))
        rows = [(name, *values) for name, values in zip(self.parameters, columns, strict=True)]
        yield Table(("parameter", *WAYS), rows, f"Standard errors with {self.n_rows:,} rows")
        yield from (f"* {remark}" for remark in self.remarks)

    def _shares(self) -> str:
        labelled = f"{percent(self.share_labelled, 0)} of them labelled"
        if self.reviewed_share == 1:
            return labelled
        return f"{percent(self.reviewed_share, 0)} of them reviewed and {labelled}"

    def _in_words(self) -> str:
        blanks = self.n_rows * (1 - self.share_labelled)
        worth, mc = self.labels_worth["error"], self.monte_carlo_error
        gain, beside_all = (
            self.error_efficiency[pair] for pair in ("full / ignorance", "full / complete")
        )
        if math.isnan(worth):
            return "What the pattern of blanks buys for the error rate cannot be told; see below."
        if not worth > 0:
            return "The pattern of blanks adds nothing to the labels and the features."
        if gain - 1 < 2 * mc["error full / ignorance"]:
            return (
                "The pattern of blanks adds little to the error rate, less than the draws can "
                "tell from nothing."
            )
        reviewed, among = "", "they"
        if self.reviewed_share < 1:
            reviewed = f"{percent(self.reviewed_share, 0)} are reviewed, and "
            among = "the reviewed ones among them"
        start = (
            f"Of {self.n_rows:,} rows {reviewed}about {blanks:,.0f} {'of all ' * bool(reviewed)}"
            f"are blank. For the error rate, where {among} are is worth "
        )
        doubt = mc["error full / complete"]
        if self.worth_all["error"]:
            return f"{start}more than labels for all of them would be."
        if beside_all - 1 > -2 * doubt:
            return (
                f"{start}about as much as labels for all of them; whether less or more the draws "
                f"cannot tell ({beside_all:.2f} ± {doubt:.2g} times as much)."
            )
        return (
            f"{start}labels for {worth:,.0f} of them, chosen at random (± "
            f"{mc['labels_worth error']:.2g} from the draws)."
        )


BATCHES = 20
# Rows near the boundary, equally weighted, below which there is no saying what happens there.
ENOUGH = 30
# Differences of log criteria below this are rounding.
ROUNDING = 1e-11


@one_blas_thread()
def efficiency(
    clf: Any,
    *,
    n_rows: int = 1000,
    n_draws: int = 50_000,
    reviewed_share: float | None = None,
    random_state: Any = None,
) -> Efficiency:
    """Ask how much precision the pattern of blanks adds, at a fitted model taken as the truth.

    Parameters
    ----------
    clf : fitted MixtureClassifier
        Its parameters are the truth of the calculation.
    n_rows : int, default=1000
        Rows of the study imagined. Variances and excess error are proportional to 1 / n_rows.
    n_draws : int, default=50000
        Rows drawn to average over; the error this leaves is reported.
    reviewed_share : float, optional
        Share of the rows that somebody is shown; only those have a pattern. By default that of
        the rows of the fit, where the others keep their share of labels too. A model that was
        loaded does not carry its rows: unless told otherwise all of them count as reviewed.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Efficiency

    Notes
    -----
    The excess error rate of the fitted rule follows from the delta method. Between the true
    boundary ``D(x) = 0``, D the log odds of the two best classes a and b, and a fitted one, rows
    are misplaced at a cost of ``|π_a f_a − π_b f_b|``; to second order

        E[excess] ≈ ½ E_x[τ_a(x) δ(D(x)) ∂D(x)ᵀ V ∂D(x)],    ∂D = s_a − s_b,

    with V the covariance of the estimates (inverse information) and δ Dirac's delta, for which a
    narrow kernel stands. For two classes τ_a is one half at the boundary.

    Half of the rows are drawn from the model, the others near the boundaries and weighted
    accordingly, so that well separated classes are no harder than others. Families that are not
    the package's own draw all rows from the model. Where too few of them come near a boundary,
    error rates are NaN and a remark says so.

    "Labels worth" solves for the number of randomly chosen blanks that would have to be labelled
    for the ignorance likelihood to do as well as the full one.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.inference import efficiency
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> result = efficiency(clf, n_rows=500, n_draws=5000, random_state=0)
    >>> result.error_efficiency["full / ignorance"] > 1
    True
    """
    check_is_fitted(clf, "state_")
    if clf.readers is not None:
        raise TypeError(
            "efficiency asks what one expert's blanks buy: fit to one reader's labels."
        )
    check_number("n_rows", n_rows, Integral, 1)
    check_number("n_draws", n_draws, Integral, 20 * BATCHES)
    reviewed, known = _reviewed(clf, reviewed_share)
    if not clf.family_.has_coordinates:
        raise ValueError(
            f"The family {type(clf.family_).__name__} has no `coordinates` method, so its "
            "information cannot be computed: write one."
        )
    rng = np.random.default_rng(seeds(random_state, 1)[0])
    chart, sampler, drawn = draw_moments(clf, n_draws, BATCHES, rng)
    batches = [_as_reviewed(batch, reviewed, known) for batch in drawn]
    total = reduce(add, batches)
    # A parameter at the edge of its range cannot move to first order: it counts as known.
    value, vector = np.linalg.eigh(total.complete)
    U = vector[:, value > 1e-9 * value.mean()]
    if U.shape[1] < value.size:
        total, batches = total.along(U), [batch.along(U) for batch in batches]
    else:
        U = np.eye(value.size)
    usable = total.rows_at_boundary >= ENOUGH

    def function(m: Moments) -> dict[str, float]:
        return _scalars(m, n_rows, sampler, usable)

    scalars = function(total)
    error = _jackknife(total, batches, function)
    if error["bayes_error"] > 0.5 * scalars["bayes_error"] or not (
        usable or scalars["bayes_error"] > 0
    ):
        scalars["bayes_error"] = error["bayes_error"] = np.nan
    names, std_errors = _standard_errors(clf, chart, U, total, n_rows)
    blanks = n_rows * (1 - total.labelled / total.n)
    worth = {k: scalars[f"labels_worth {k}"] for k in ("error", "parameters")}
    pairs = [f"{one} / {other}" for one, other in PAIRS]
    return Efficiency(
        n_rows=int(n_rows),
        n_draws=int(-(-n_draws // BATCHES) * BATCHES),
        reviewed_share=reviewed,
        share_labelled=total.labelled / total.n,
        bayes_error=scalars["bayes_error"],
        excess_error={w: scalars[f"excess {w}"] for w in WAYS},
        parameter_efficiency={pair: scalars[f"parameters {pair}"] for pair in pairs},
        error_efficiency={pair: scalars[f"error {pair}"] for pair in pairs},
        labels_worth={k: float(np.minimum(v, blanks)) for k, v in worth.items()},
        worth_all={k: _exceeds(scalars, error, f"{k} full / complete") for k in worth},
        parameters=names,
        std_errors=std_errors,
        monte_carlo_error=error,
        remarks=_remarks(clf, usable, scalars, error, reviewed_share),
    )


def _reviewed(clf: Any, given: float | None) -> tuple[float, float]:
    """Return the share of rows that are reviewed, and the share labelled of the others."""
    if given is not None:
        check_number("reviewed_share", given, Real, 0, 1)
        return float(given), 0.0
    if not hasattr(clf, "_rows"):
        return 1.0, 0.0
    tally = clf._rows.tally
    total = tally.weight
    hidden = total - tally.reviewed_labelled - tally.reviewed_blank
    if hidden <= 1e-9 * total:
        return 1.0, 0.0
    labelled = float(tally.labelled.sum()) - tally.reviewed_labelled
    return float(1 - hidden / total), float(max(labelled, 0.0) / hidden)


def _as_reviewed(m: Moments, share: float, known: float) -> Moments:
    """Return the sums where the others' labels, if any, are given by chance and tell nothing."""
    other = (1 - share) * known
    return dataclasses.replace(
        m,
        seen=share * m.seen + other * m.label,
        pattern=share * m.pattern,
        labelled=share * m.labelled + other * m.n,
    )


def _scalars(m: Moments, n_rows: int, sampler: Sampler, usable: bool) -> dict[str, float]:
    """Return everything but the single parameters' errors."""
    information = {w: _positive(getattr(m, w), w) for w in WAYS}

    def log_excess(info: FloatArray) -> float:
        # Sums over draws become those over n_rows, and the boundary's mean over draws. A kernel
        # with negative parts may, from very few rows, give a negative sum: then nothing is known.
        trace = float(np.trace(np.linalg.solve(info, m.boundary))) if usable else np.nan
        return float(np.log(trace / n_rows)) + sampler.log_size if trace > 0 else np.nan

    def volume(info: FloatArray) -> float:
        return -float(np.linalg.slogdet(info)[1]) / len(info)

    excess = {w: log_excess(information[w]) for w in WAYS}
    out = {"bayes_error": m.bayes / m.n}
    out |= {f"excess {w}": float(np.exp(excess[w])) for w in WAYS}
    for one, other in PAIRS:
        gain = volume(information[other]) - volume(information[one])
        out[f"parameters {one} / {other}"] = float(np.exp(gain))
        out[f"error {one} / {other}"] = float(np.exp(excess[other] - excess[one]))
    blanks = n_rows * (1 - m.labelled / m.n)
    for name, criterion in (("error", log_excess), ("parameters", volume)):
        out[f"labels_worth {name}"] = blanks * _share_worth(m, criterion)
    return out


def _share_worth(m: Moments, criterion: Callable[[FloatArray], float]) -> float:
    """Return the share of blanks whose labels would do as much as the pattern.

    Above 1 it is no share, but tells how far the pattern exceeds all labels; at most 2. It is
    NaN if neither pattern nor labels make a difference that can be told from rounding.
    """
    if not m.pattern.any():
        return 0.0
    target, now = criterion(m.full), criterion(m.ignorance)

    def short(share: float) -> float:
        return criterion(m.with_more_labels(share)) - target

    if not now - criterion(m.complete) > ROUNDING:
        return np.nan
    if short(0.0) <= ROUNDING:
        return 0.0
    return float(brentq(short, 0.0, 2.0)) if short(2.0) < 0 else 2.0


def _exceeds(scalars: dict[str, float], error: dict[str, float], name: str) -> bool:
    """Whether a ratio exceeds 1 by more than the draws' error explains."""
    return bool(scalars[name] - 1 > max(2 * error[name], ROUNDING))


def _positive(info: FloatArray, way: str) -> FloatArray:
    if np.linalg.eigvalsh(info)[0] <= 1e-10 * np.trace(info) / len(info):
        raise ValueError(
            f"The information of the classes is singular under {way} labels: with so few labels "
            "the model is not identified, so there is no efficiency to compute. summary() names "
            "what the data do not determine."
        )
    return info


def _jackknife(
    total: Moments, batches: list[Moments], function: Callable[[Moments], dict[str, float]]
) -> dict[str, float]:
    """Return the Monte Carlo standard error of every scalar, by leaving out one batch each."""
    parts = [function(total - batch) for batch in batches]
    b = len(batches)
    values = np.array([list(part.values()) for part in parts])
    # In units of each figure's size: the square of a very small one may have no number.
    unit = np.abs(values).max(axis=0)
    unit[~(unit > 0)] = 1.0
    spread = unit * np.sqrt((b - 1) ** 2 / b * (values / unit).var(axis=0, ddof=1))
    return dict(zip(parts[0], spread.tolist(), strict=True))


def _standard_errors(
    clf: Any, chart: Chart, U: FloatArray, total: Moments, n_rows: int
) -> tuple[list[str], dict[str, FloatArray]]:
    units = natural_units(clf)
    jacobian = natural_jacobian(units, find_axes(clf.family_, chart))[:, : chart.splits[-1]] @ U
    units, kept = units.reduce(jacobian, clf.state_)
    jacobian = jacobian[kept]
    scale = total.n / n_rows

    def errors(info: FloatArray) -> FloatArray:
        variance = np.einsum("ik,ki->i", jacobian, np.linalg.solve(info, jacobian.T))
        return np.sqrt(scale * variance)

    return units.names, {w: errors(getattr(total, w)) for w in WAYS}


def _remarks(
    clf: Any,
    usable: bool,
    scalars: dict[str, float],
    error: dict[str, float],
    reviewed_share: float | None,
) -> list[str]:
    out = [
        "All numbers take the fitted model for the truth and many rows for granted (first-order "
        "asymptotics): read them as orders of magnitude."
    ]
    if not clf.mechanism_.informative:
        out.append(
            "The model has no mechanism, so its pattern says nothing: fit one with "
            "mechanism='entropy' to ask what it would buy."
        )
    if not usable:
        out.append(
            "Too few of the rows drawn came near a boundary between classes to say anything of "
            "error rates: ask for more with n_draws, unless the classes are so far apart that "
            "nothing is left to gain."
        )
    elif np.isnan(scalars["labels_worth error"]):
        out.append(
            "Neither labels for the blanks nor their pattern add anything to the error rate that "
            "could be told from rounding: the classes are far apart, or next to nothing is blank."
        )
    elif error["excess ignorance"] > 0.2 * scalars["excess ignorance"]:
        out.append(
            "The draws leave much doubt in the excess error (the ± beside it): ask for more with "
            "n_draws."
        )
    if reviewed_share is None and not hasattr(clf, "_rows"):
        out.append(
            "The model does not carry the rows of its fit, so every row counts as one that "
            "somebody reviewed: give reviewed_share if not all were."
        )
    return out
