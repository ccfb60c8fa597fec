"""What the pattern buys: precision and error rate with it, without it, with all labels."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import one_blas_thread
from hesitant._replicates import seeds
from hesitant._result import Result, Table, number, percent
from hesitant._typing import AnyArray, FloatArray
from hesitant.checks import check_number
from hesitant.inference._displays import EfficiencyDisplay
from hesitant.inference._estimates import natural_units
from hesitant.inference._fisher import Moments, draw_moments
from hesitant.model import FittedModel

WAYS = ("complete", "ignorance", "full")
PAIRS = {
    f"{one} / {other}": (one, other)
    for one, other in (("ignorance", "complete"), ("full", "complete"), ("full", "ignorance"))
}
BATCHES, DRAWS = 20, 50_000
# Rows near the boundary, equally weighted, below which there is no saying what happens there.
ENOUGH = 30
# Differences of log criteria below this are rounding.
ROUNDING = 1e-11


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Efficiency(Result):
    """Precision under complete labels, the ignorance likelihood and the full likelihood.

    Attributes
    ----------
    bayes_error : float
        Error rate of the best rule.
    excess_error : dict
        Expected error rate of the fitted rule above the Bayes error, for each of "complete",
        "ignorance" and "full", with ``n_rows`` rows. NaN, as all that follows from it, if too few
        of the rows drawn came near a boundary; a remark then says so.
    parameter_efficiency, error_efficiency : dict
        For pairs such as "full / ignorance": how many rows of the second kind one of the first
        is worth, by the geometric mean over all parameters and by the excess error rate.
    labels_worth : dict
        How many labels of randomly chosen blanks the pattern is worth, judged by "error" and by
        "parameters"; at most all blanks. NaN if neither labels nor the pattern add anything.
    worth_all : dict
        Whether even labels for all blanks would do less, by more than the draws leave in doubt.
    std_errors, monte_carlo_error : dict
        Standard errors of the ``parameters`` for each of the three, and that which the draws
        leave in each scalar above.
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

    def _columns(self) -> dict[str, Any]:
        e = self.std_errors
        ratios = {pair: (e[other] / e[one]) ** 2 for pair, (one, other) in PAIRS.items()}
        return {"parameter": self.parameters, **e, **ratios}

    def plot(self, axes: Any = None, parameters: str | None = None) -> EfficiencyDisplay:
        """Draw standard errors of the parameters and expected error rates, on two axes.

        Only of ``parameters`` whose name contains this, such as ``"mean"``; of more than 40 those
        are drawn whose errors the blanks increase most.
        """
        return EfficiencyDisplay(self, parameters).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield self._in_words()
        mc, bayes, excess = self.monte_carlo_error, self.bayes_error, self.excess_error
        shares = f"{percent(self.share_labelled, 0)} of them labelled"
        if self.reviewed_share < 1:
            shares = f"{percent(self.reviewed_share, 0)} of them reviewed and {shares}"
        yield Table(
            ("likelihood", "error rate", "excess", "± (draws)"),
            [(w, bayes + excess[w], excess[w], mc[f"excess {w}"]) for w in WAYS],
            f"Expected error rate of the fitted rule with {self.n_rows:,} rows, {shares}; "
            f"Bayes error {number(bayes)} ± {number(mc['bayes_error'], 2)}",
        )
        means, rates = self.parameter_efficiency, self.error_efficiency
        yield Table(
            ("efficiency", "parameters", "±", "error rate", "±"),
            [(k, means[k], mc[f"parameters {k}"], rates[k], mc[f"error {k}"]) for k in PAIRS],
            "One row of the first is worth so many of the second",
        )
        columns = {"parameter": self.parameters, **self.std_errors}
        yield Table.of(columns, f"Standard errors with {self.n_rows:,} rows")

    def _in_words(self) -> str:
        worth, mc = self.labels_worth["error"], self.monte_carlo_error
        if math.isnan(worth):
            return "What the pattern of blanks buys for the error rate cannot be told; see below."
        if not worth > 0:
            return "The pattern of blanks adds nothing to the labels and the features."
        if self.error_efficiency["full / ignorance"] - 1 < 2 * mc["error full / ignorance"]:
            return (
                "The pattern of blanks adds little to the error rate, less than the draws can "
                "tell from nothing."
            )
        blanks = f"about {self.n_rows * (1 - self.share_labelled):,.0f}"
        among = "they"
        if self.reviewed_share < 1:
            blanks = f"{percent(self.reviewed_share, 0)} are reviewed, and {blanks} of all"
            among = "the reviewed ones among them"
        start = (
            f"Of {self.n_rows:,} rows {blanks} are blank. For the error rate, where {among} are "
            "is worth "
        )
        beside_all, doubt = self.error_efficiency["full / complete"], mc["error full / complete"]
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


@one_blas_thread()
def efficiency(
    clf: Any,
    *,
    n_rows: int = 1000,
    n_draws: int | None = None,
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
    n_draws : int, optional
        Rows drawn to average over; the error this leaves is reported. By default 50,000, and
        fewer for models of more than 250 parameters.
    reviewed_share : float, optional
        Share of the rows that somebody is shown; only those have a pattern. By default that of
        the rows of the fit, where the others keep their share of labels too. A model that was
        loaded does not carry its rows: unless told otherwise all of them count as reviewed.
    random_state : int, RandomState, Generator or None

    Notes
    -----
    The excess error rate of the fitted rule follows from the delta method. Between the true
    boundary ``D(x) = 0``, D the log odds of the two best classes a and b, and a fitted one, rows
    are misplaced at a cost of ``|π_a f_a − π_b f_b|``; to second order

        E[excess] ≈ ½ E_x[τ_a(x) δ(D(x)) ∂D(x)ᵀ V ∂D(x)],    ∂D = s_a − s_b,

    with V the covariance of the estimates (inverse information) and δ Dirac's delta, for which a
    narrow kernel stands. Half of the rows are drawn from the model, the others near the
    boundaries and weighted accordingly, so that well separated classes are no harder than others;
    families that are not the package's own draw all rows from the model. "Labels worth" solves
    for the number of randomly chosen blanks whose labels would make up for the pattern.

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
    check_is_fitted(clf, "fitted_")
    model: FittedModel = clf.fitted_
    if model.readers is not None:
        raise TypeError(
            "efficiency asks what one expert's blanks buy: fit to one reader's labels."
        )
    check_number("n_rows", n_rows, Integral, 1)
    if n_draws is None:
        n_draws = int(np.clip(DRAWS * (250 / model.n_parameters) ** 2, DRAWS // 10, DRAWS))
    check_number("n_draws", n_draws, Integral, 20 * BATCHES)
    reviewed, known = _reviewed(clf, reviewed_share)
    if not model.family.has_coordinates:
        raise ValueError(
            f"The family {type(model.family).__name__} has no `coordinates` method, so its "
            "information cannot be computed: write one."
        )
    rng = np.random.default_rng(seeds(random_state, 1)[0])
    n_batches = BATCHES if model.n_parameters <= 500 else BATCHES // 2
    axes, sampler, drawn = draw_moments(model, n_draws, n_batches, rng)
    batches = [_as_reviewed(batch, reviewed, known) for batch in drawn]
    total = Moments(*(sum(parts) for parts in zip(*batches, strict=True)))
    # A parameter at the edge of its range cannot move to first order: it counts as known.
    value, vector = np.linalg.eigh(total.complete)
    U = np.eye(value.size)
    if (value <= 1e-9 * value.mean()).any():
        U = vector[:, value > 1e-9 * value.mean()]
        total, batches = total.along(U), [batch.along(U) for batch in batches]
    for way in WAYS:
        _refuse_singular(getattr(total, way), way)
    usable = total.rows_at_boundary >= ENOUGH
    log_unit = sampler.log_size - np.log(n_rows)  # of sums over draws, per row of the study
    found = _scalars(total, n_rows, log_unit, usable)
    error = _jackknife(total, batches, lambda m: _scalars(m, n_rows, log_unit, usable))
    bayes = found["bayes_error"]
    if error["bayes_error"] > 0.5 * bayes or not (usable or bayes > 0):
        found["bayes_error"] = error["bayes_error"] = np.nan
    units = natural_units(model)
    jacobian = units.jacobian(axes)[:, : axes.size] @ U
    units, kept = units.reduce(jacobian, model.state)
    scale, blanks = total.n / n_rows, n_rows * (1 - total.labelled / total.n)
    kinds, beside = ("error", "parameters"), "full / complete"
    margin = {k: max(2 * error[f"{k} {beside}"], ROUNDING) for k in kinds}
    return Efficiency(
        n_rows=int(n_rows),
        n_draws=int(-(-n_draws // n_batches) * n_batches),
        reviewed_share=reviewed,
        share_labelled=total.labelled / total.n,
        bayes_error=found["bayes_error"],
        excess_error={w: found[f"excess {w}"] for w in WAYS},
        parameter_efficiency={pair: found[f"parameters {pair}"] for pair in PAIRS},
        error_efficiency={pair: found[f"error {pair}"] for pair in PAIRS},
        labels_worth={k: float(np.minimum(found[f"labels_worth {k}"], blanks)) for k in kinds},
        worth_all={k: bool(found[f"{k} {beside}"] - 1 > margin[k]) for k in kinds},
        parameters=units.names,
        std_errors={w: _std_errors(getattr(total, w), jacobian[kept], scale) for w in WAYS},
        monte_carlo_error=error,
        remarks=_remarks(clf, usable, found, error, reviewed_share),
    )


def _reviewed(clf: Any, given: float | None) -> tuple[float, float]:
    """Return the share of rows that are reviewed, and the share labelled of the others."""
    if given is not None:
        check_number("reviewed_share", given, Real, 0, 1)
        return float(given), 0.0
    if clf.fit_rows is None:
        return 1.0, 0.0
    tally = clf.fit_rows.tally
    hidden = tally.weight - tally.reviewed_labelled - tally.reviewed_blank
    if hidden <= 1e-9 * tally.weight:
        return 1.0, 0.0
    labelled = float(tally.labelled.sum()) - tally.reviewed_labelled
    return float(1 - hidden / tally.weight), float(max(labelled, 0.0) / hidden)


def _as_reviewed(m: Moments, share: float, known: float) -> Moments:
    """Return the sums where the others' labels, if any, are given by chance and tell nothing."""
    other = (1 - share) * known
    seen, labelled = share * m.seen + other * m.label, share * m.labelled + other * m.n
    return m._replace(seen=seen, pattern=share * m.pattern, labelled=labelled)


def _refuse_singular(info: FloatArray, way: str) -> None:
    if np.linalg.eigvalsh(info)[0] <= 1e-10 * np.trace(info) / len(info):
        raise ValueError(
            f"The information of the classes is singular under {way} labels: with so few labels "
            "the model is not identified, so there is no efficiency to compute. summary() names "
            "what the data do not determine."
        )


def _scalars(m: Moments, n_rows: int, log_unit: float, usable: bool) -> dict[str, float]:
    """Return everything but the single parameters' errors."""
    # With a share of the blanks labelled the information is I + share D. In coordinates where I
    # is the identity and D diagonal both criteria are sums.
    half = np.asarray(np.linalg.cholesky(m.ignorance))
    gain, vector = np.linalg.eigh(_whitened(half, m.label - m.seen))
    part = np.einsum("jk,jk->k", vector, _whitened(half, m.boundary) @ vector)

    def criteria(trace: float, half: AnyArray, more: Any = 1.0) -> dict[str, float]:
        # A kernel with negative parts may, from very few rows, give a negative sum: then nothing
        # is known of the error.
        log_det = 2 * np.log(np.diag(half)).sum() + np.log(np.abs(more)).sum()
        error = np.log(trace) if usable and trace > 0 else np.nan
        return {"error": float(error), "parameters": -float(log_det) / len(half)}

    def labelled(share: float) -> dict[str, float]:
        more = 1 + share * gain
        return criteria(float(np.sum(part / more)), half, more)

    def criterion(name: str, share: float) -> float:
        return labelled(share)[name]

    log_size = {"complete": labelled(1.0), "ignorance": labelled(0.0), "full": labelled(0.0)}
    if m.pattern.any():
        full = np.linalg.cholesky(m.full)
        log_size["full"] = criteria(float(np.trace(cho_solve((full, True), m.boundary))), full)
    out = {"bayes_error": m.bayes / m.n}
    out |= {f"excess {w}": float(np.exp(log_size[w]["error"] + log_unit)) for w in WAYS}
    for name in ("error", "parameters"):
        for pair, (one, other) in PAIRS.items():
            gained = log_size[other][name] - log_size[one][name]
            out[f"{name} {pair}"] = float(np.exp(gained))
        share = _share_worth(partial(criterion, name), log_size["full"][name])
        share = share if m.pattern.any() else 0.0
        out[f"labels_worth {name}"] = n_rows * (1 - m.labelled / m.n) * share
    return out


def _whitened(half: AnyArray, A: AnyArray) -> FloatArray:
    """Return ``L⁻¹ A L⁻ᵀ``."""
    once = solve_triangular(half, A, lower=True)
    return np.asarray(solve_triangular(half, once.T, lower=True))


def _share_worth(criterion: Callable[[float], float], target: float) -> float:
    """Return the share of blanks whose labels would do as much as the pattern.

    Above 1 it is no share, but tells how far the pattern exceeds all labels; at most 2. It is
    NaN if neither pattern nor labels make a difference that can be told from rounding.
    """
    if not criterion(0.0) - criterion(1.0) > ROUNDING:
        return np.nan
    if criterion(0.0) - target <= ROUNDING:
        return 0.0
    if criterion(2.0) >= target:
        return 2.0
    return float(brentq(lambda share: criterion(share) - target, 0.0, 2.0))


def _std_errors(info: FloatArray, jacobian: FloatArray, scale: float) -> FloatArray:
    return np.sqrt(scale * np.einsum("ik,ki->i", jacobian, np.linalg.solve(info, jacobian.T)))


def _jackknife(
    total: Moments, batches: list[Moments], function: Callable[[Moments], dict[str, float]]
) -> dict[str, float]:
    """Return the Monte Carlo standard error of every scalar, by leaving out one batch each."""
    parts = [function(total.less(batch)) for batch in batches]
    b, values = len(batches), np.array([list(part.values()) for part in parts])
    # In units of each figure's size: the square of a very small one may have no number.
    unit = np.abs(values).max(axis=0)
    unit[~(unit > 0)] = 1.0
    spread = unit * np.sqrt((b - 1) ** 2 / b * (values / unit).var(axis=0, ddof=1))
    return dict(zip(parts[0], spread.tolist(), strict=True))


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
    if not clf.fitted_.mechanism.informative:
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
    if reviewed_share is None and clf.fit_rows is None:
        out.append(
            "The model does not carry the rows of its fit, so every row counts as one that "
            "somebody reviewed: give reviewed_share if not all were."
        )
    return out
