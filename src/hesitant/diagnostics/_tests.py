"""Tests of whether difficulty matters, and of whether the mechanism's shape is right.

All tests concern the full likelihood, in which classes and mechanism are estimated together. With
few rows for the parameters (many features, few labels, a flexible basis) the likelihood ratio and
Wald tests reject pure chance too often: 0.16 to 0.5 where they should 0.05. The score test, which
needs no fit of the mechanism, keeps its size down to two rows a parameter. Below that none does,
the bootstrap included, for the fit it draws from is itself too sure of its classes:
``benchmarks/study_tests.py``.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from scipy.stats import chi2, rankdata

from hesitant._cores import one_blas_thread
from hesitant._replicates import refit, replicate, workers
from hesitant._typing import BoolArray, FloatArray
from hesitant.chart import Chart
from hesitant.criteria import chance_log_likelihood
from hesitant.families import Family
from hesitant.inference._information import ObservedInformation, information_of
from hesitant.inference._scores import Axes, class_scores, find_axes, mix
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.mechanisms import Basis, EntropyMechanism, Spline
from hesitant.model_data import open_chart
from hesitant.rows import Block, ManyRows
from hesitant.uncertainty import Shannon, transformed_entropy

P = ParamSpec("P")
SMALLEST_GROUP = 5


@dataclasses.dataclass(frozen=True)
class Test:
    """A test's statistic and p-value, or why it was skipped.

    Attributes
    ----------
    name : str
    statistic, p_value : float
        NaN if the test was skipped.
    df : int or None
        Degrees of freedom, where the test has some.
    method : str
        Where the p-value comes from: exact, asymptotic, chi-squared, bootstrap.
    note : str
        Why the test was skipped, or what else to know.
    least_p : float
        The smallest p-value the test could have given; that of few replicates is large.
    """

    __test__ = False  # not one of pytest's

    name: str
    statistic: float
    p_value: float
    df: int | None = None
    method: str = ""
    note: str = ""
    least_p: float = 0.0

    @property
    def was_skipped(self) -> bool:
        """Whether there is no answer."""
        return math.isnan(self.p_value)


class CannotTest(Exception):
    """Why a test has no answer."""


def chi_squared(name: str, statistic: float, df: int) -> Test:
    """Return the test of a statistic that is chi-squared under the hypothesis."""
    return Test(name, statistic, float(chi2.sf(statistic, df)), int(df), "chi-squared")


def or_skipped(name: str) -> Callable[[Callable[P, Test]], Callable[P, Test]]:
    """Return the record of a skipped test where a function says that it cannot be done."""

    def decorate(find: Callable[P, Test]) -> Callable[P, Test]:
        @wraps(find)
        def test(*args: P.args, **options: P.kwargs) -> Test:
            try:
                return find(*args, **options)
            except CannotTest as why:
                return Test(name, math.nan, math.nan, method="skipped", note=str(why))

        return test

    return decorate


def need_rows(n_labelled: int, n_blank: int, least: int) -> None:
    """Raise if a group is too small for a test."""
    for what, count in (("labelled", n_labelled), ("blank", n_blank)):
        if count < least:
            raise CannotTest(f"{count} {what} row{'s' * (count != 1)}, needs {least}")


# -- the two fits ---------------------------------------------------------------------------------

MOST_PARAMETERS = 1000  # minutes of work beyond, and two tests of several


@dataclasses.dataclass(frozen=True)
class Fits:
    """The two fits that are compared, without and with the mechanism, and their data."""

    ignorance: Any
    full: Any  # None if there is no pattern to fit
    rows: ManyRows  # in memory or on a cluster

    @cached_property
    def measured(self) -> "Measured":
        """What the fits say of every row, in one pass."""
        work = partial(_measure_block, ignorance=self.ignorance, full=self.full)
        parts = self.rows.collect(work)
        return Measured(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @property
    def seen(self) -> BoolArray:
        """Whether each reviewed row is labelled."""
        return self.measured.labelled[self.measured.reviewed]

    @property
    def groups(self) -> tuple[FloatArray, FloatArray]:
        """Transformed entropies of labelled and of blank rows."""
        t, seen = self.measured.entropy, self.seen
        return t[seen], t[~seen]

    @property
    def weight(self) -> FloatArray:
        """Weight of each reviewed row."""
        return self.measured.weight[self.measured.reviewed]

    @property
    def falls(self) -> bool:
        """Whether the fitted chance of a label falls with difficulty, by and large."""
        if self.full is None:
            return False
        difficulty = rankdata(self.measured.entropy)
        return float((difficulty - difficulty.mean()) @ self.measured.probability) < 0

    @property
    def rows_a_parameter(self) -> float:
        """How many rows there are for each parameter of the full fit."""
        return float(self.rows.tally.n / self.full.n_parameters_) if self.full else math.inf

    @cached_property
    def information(self) -> ObservedInformation:
        """Standard errors of the full fit."""
        return information_of(self.full, self.likelihood)

    @property
    def information_so_far(self) -> ObservedInformation | None:
        """Those standard errors, if a test has asked for them."""
        return vars(self).get("information")

    @property
    def likelihood(self) -> Likelihood:
        """The full likelihood of the rows."""
        return Likelihood(self.rows, self.full.family_, self.full.mechanism_, self.full.alpha)

    @property
    def chance(self) -> float:
        """Log-likelihood of the pattern when it is nothing but chance."""
        tally = self.rows.tally
        return chance_log_likelihood(tally.reviewed_labelled, tally.reviewed_blank)

    def need_rows(self, least: int = SMALLEST_GROUP) -> None:
        """Raise if a group is too small for an asymptotic p-value."""
        need_rows(int(self.seen.sum()), int((~self.seen).sum()), least)

    def need_information(self) -> None:
        """Raise if there is no information matrix to be had."""
        count, family = self.full.n_parameters_, self.full.family_
        if count > MOST_PARAMETERS:
            raise CannotTest(f"{count:,} parameters, computed up to {MOST_PARAMETERS:,}")
        if not family.has_coordinates:
            raise CannotTest(f"the family {type(family).__name__} has no `coordinates` method")


class Measured(NamedTuple):
    """What the two fits say of rows; one of weight zero counts as never reviewed."""

    labelled: BoolArray
    reviewed: BoolArray
    weight: FloatArray
    # of each reviewed row:
    entropy: FloatArray  # transformed, under the ignorance fit
    uncertainty: FloatArray  # the mechanism's own measure of the same
    probability: FloatArray  # of a label, under the full fit


def _measure_block(block: Block, ignorance: Any, full: Any) -> Measured:
    shown = block.review > 0
    log_tau, tau, _ = log_posterior(ignorance.family_, ignorance.state_, block.X[shown])
    e, _ = Shannon().evaluate(log_tau, tau)
    t = transformed_entropy(e, tau.shape[1])
    if full is None:
        return Measured(block.labelled, shown, block.weight, t, e, np.full(len(e), np.nan))
    u, _ = full.mechanism_.uncertainty.evaluate(log_tau, tau)
    log_tau, tau, _ = log_posterior(full.family_, full.state_, block.X[shown])
    p = full.mechanism_.probability(log_tau, tau)
    return Measured(block.labelled, shown, block.weight, t, u, p)


# -- tests of the mechanism's slopes --------------------------------------------------------------

_LR, _WALD, _SCORE, _BOOT = "likelihood ratio", "Wald", "score", "likelihood ratio, bootstrap"


@or_skipped(_LR)
def likelihood_ratio(fits: Fits) -> Test:
    """Compare the full likelihood with labels missing completely at random."""
    fits.need_rows()
    ratio = _ratio(fits.ignorance, fits.full, fits.chance)
    return chi_squared(_LR, ratio, fits.full.mechanism_.coef_.size)


def _ratio(ignorance: Any, full: Any, chance: float) -> float:
    # Under the null the pattern's factor is that of coins, which the ignorance likelihood omits.
    return float(max(2 * (full.log_likelihood_ - ignorance.log_likelihood_ - chance), 0.0))


@or_skipped(_WALD)
def wald_test(fits: Fits) -> Test:
    """Compare the fitted coefficients with zero, by their standard errors."""
    fits.need_rows()
    fits.need_information()
    info = fits.information
    places = [k for k, name in enumerate(info.parameters) if name.startswith("coef[")]
    if not np.isfinite(info.std_error[places]).all():
        raise CannotTest("the coefficients have no finite standard error")
    coef, V = info.estimate[places], info.covariance[np.ix_(places, places)]
    return chi_squared(_WALD, float(coef @ np.linalg.solve(V, coef)), coef.size)


@or_skipped(_SCORE)
def score_test(fits: Fits) -> Test:
    """Ask whether the coefficients want to leave zero, at the ignorance fit.

    Where the coefficients are zero the pattern does not move with the classes, so the classes'
    and the coefficients' scores are uncorrelated and the statistic is that of the logistic
    regression of "labelled" on the basis of the ignorance fit's entropies.
    """
    fits.need_rows()
    mechanism = fits.full.mechanism_
    _, _, design = mechanism.predictor(fits.measured.uncertainty, mechanism.parameters_)
    w = fits.weight
    root = np.sqrt(w)
    centred = root[:, None] * (design[:, 1:] - np.average(design[:, 1:], axis=0, weights=w))
    residual = root * (fits.seen - np.average(fits.seen, weights=w))
    # n times the squared multiple correlation: what least squares explains of the residuals.
    coef, _, rank, _ = np.linalg.lstsq(centred, residual, rcond=1e-10)
    statistic = float(w.sum() * np.sum((centred @ coef) ** 2) / np.sum(residual**2))
    return chi_squared(_SCORE, statistic, int(rank))


@or_skipped(_BOOT)
def bootstrap_likelihood_ratio(
    fits: Fits, n_boot: int, *, random_state: Any, n_jobs: int | None, progress: bool
) -> Test:
    """Compare the likelihood ratio with those of data made without any mechanism.

    Rows are drawn from the ignorance fit and given the labels at the places where the data have
    them, so the classes are as hard to fit as in the data and the pattern is pure chance.
    """
    fits.need_rows()
    observed = _ratio(fits.ignorance, fits.full, fits.chance)
    parts = replicate(
        _NullReplicate(fits, together=effective_n_jobs(workers(n_jobs, n_boot)) > 1),
        n_boot,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        description="bootstrap under chance",
    )
    if not parts.values:
        raise CannotTest(parts.in_words())
    beyond, least = int(np.sum(np.array(parts.values) >= observed)), 1 / (1 + len(parts.values))
    return Test(
        _BOOT,
        observed,
        (1 + beyond) * least,
        method=f"{len(parts.values)} replicates",
        note=parts.in_words(),
        least_p=least,
    )


class _NullReplicate:
    """One data set under the null, fitted both ways; a class so that workers can receive it."""

    def __init__(self, fits: Fits, together: bool) -> None:
        self.ignorance, self.full, self.chance = fits.ignorance, fits.full, fits.chance
        self.n_jobs = 1 if together else fits.full.n_jobs  # one core each, if there are others
        self.labelled, self.reviewed, self.weight, *_ = fits.measured

    def __call__(self, rng: np.random.Generator) -> float:
        X, truth, _ = self.ignorance.sample(len(self.labelled), int(rng.integers(2**31 - 1)))
        y = truth.astype(object)
        y[~self.labelled] = None
        rows: dict[str, Any] = {"reviewed": self.reviewed, "sample_weight": self.weight}
        null = refit(self.ignorance, X, y, start=self.ignorance, n_jobs=self.n_jobs, **rows)
        full = refit(self.full, X, y, start=null, n_jobs=self.n_jobs, **rows)
        return _ratio(null, full, self.chance)


# -- is the mechanism's shape right? --------------------------------------------------------------

_SHAPE = "shape of the mechanism"
MANY_ROWS = 100_000

Added = Callable[[FloatArray], FloatArray]


@or_skipped(_SHAPE)
def shape_test(fits: Fits) -> Test:
    """Ask whether a more flexible curve would fit better than the mechanism's own basis.

    A score test, at the full fit, of whatever cubic splines of the uncertainty can do that the
    basis cannot; classes and coefficients count as estimated. (Refitting with the splines, for a
    likelihood ratio, would let the classes bend to the wiggles: at n = 150 such a test rejects a
    true mechanism four times in ten.) A basis that is flexible already, with few rows, makes
    this test too reject more often than it should: 0.09 to 0.16 for a spline at n = 150.
    """
    fits.need_rows(2 * SMALLEST_GROUP)
    fits.need_information()
    mechanism = fits.full.mechanism_
    if not math.isfinite(mechanism.maximum):
        raise CannotTest("the uncertainty has no largest value to place knots by")
    added = _added(mechanism)
    state, family = fits.full.state_, fits.full.family_
    work = partial(_shape_sums, family=family, mechanism=mechanism, state=state, added=added)
    with open_chart(fits.likelihood, state) as (chart, _):
        score, spread, patterns, *weighted = fits.rows.sum(work)
        cross = _bond(chart, patterns, weighted)
        spread = spread - cross @ _covariance(fits, chart) @ cross.T
    value, vector = np.linalg.eigh(spread)
    keep = value > 1e-8 * max(float(value[-1]), 1e-300)
    part = vector[:, keep].T @ score
    return chi_squared(_SHAPE, float(np.sum(part**2 / value[keep])), int(keep.sum()))


def _shape_sums(
    block: Block, family: Family, mechanism: EntropyMechanism, state: State, added: Added
) -> tuple[FloatArray, ...]:
    """Return the added functions' score, its spread, and its bond with the rest in raw sums.

    The bond with the classes' parameters is a weighted score like any other: function j has
    weights ``z_ij p_i (1 − p_i) ∂η_i/∂ℓ_ih``.
    """
    log_tau, tau, _ = log_posterior(family, state, block.X)
    u, du = mechanism.uncertainty.evaluate(log_tau, tau)
    eta, slope, design = mechanism.predictor(u, state.theta)
    p = expit(eta)
    z = added(u)
    weighted = (block.review * p * (1 - p))[:, None] * z
    score = z.T @ (block.review * (block.labelled - p))
    pulls = [(w * slope)[:, None] * du for w in weighted.T]
    sums = [(w.sum(axis=0), *family.statistics(state.params, block.X, w)) for w in pulls]
    stacked = (np.stack(part) for part in zip(*sums, strict=True))
    return score, z.T @ weighted, weighted.T @ design, *stacked


def _bond(chart: Chart, patterns: FloatArray, weighted: list[FloatArray]) -> FloatArray:
    """Return the covariance (extra, k) of the added functions' score with the chart's."""
    counts, *statistics = weighted
    params = chart.reference.params
    prior = chart.family.gradient(params, tuple(np.zeros_like(s[0]) for s in statistics))
    classes = [chart.family.gradient(params, sums) for sums in zip(*statistics, strict=True)]
    return np.hstack(
        (counts @ chart.weight_axes, np.array(classes) - prior, patterns @ chart.theta_axes)
    )


def _covariance(fits: Fits, chart: Chart) -> FloatArray:
    """Return the covariance of what the full fit has estimated, in the chart.

    Of few rows the inverse of the expected information: with it the test's variance stays one,
    whatever the data. It needs every row's own score, and of many rows the observed information,
    which is at hand, comes to the same.
    """
    if fits.rows.tally.n > MANY_ROWS:
        return fits.information.chart_covariance
    family = fits.full.family_
    axes = find_axes(family, chart)
    work = partial(_known_sums, family=family, mechanism=fits.full.mechanism_, axes=axes)
    with one_blas_thread():
        (known,) = fits.rows.sum(work)
    return np.linalg.pinv(known, rcond=1e-12, hermitian=True)


def _known_sums(
    block: Block, family: Family, mechanism: EntropyMechanism, axes: Axes
) -> tuple[FloatArray]:
    chart = axes.chart
    state = chart.reference
    log_tau, tau, _ = log_posterior(family, state, block.X)
    u, du = mechanism.uncertainty.evaluate(log_tau, tau)
    eta, slope, design = mechanism.predictor(u, state.theta)
    p = expit(eta)
    s = class_scores(family, axes, block.X)
    given = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    from_labels = mix(axes, s, given)
    pattern = np.hstack((mix(axes, s, slope[:, None] * du), design @ chart.theta_axes))
    known = pattern.T @ ((block.review * p * (1 - p))[:, None] * pattern)
    k = from_labels.shape[1]
    # Features and labels inform the classes too.
    known[:k, :k] += from_labels.T @ (block.weight[:, None] * from_labels)
    return (known,)


def _added(mechanism: EntropyMechanism) -> Added:
    """Return the spline functions (n, extra) that the basis does not span.

    Finer splines are taken if the first add too few.
    """
    assert isinstance(mechanism.basis, Basis)  # the mechanism was prepared for a fit
    maximum = mechanism.maximum
    u = np.linspace(0, maximum, 513)[1:-1]
    own = np.column_stack((np.ones(u.size), mechanism.basis.evaluate(u, maximum)[0]))
    span, _ = np.linalg.qr(own)
    for df in (4, 6, 10, 18):
        splines = Spline(df).evaluate(u, maximum)[0]
        _, value, vector = np.linalg.svd(splines - span @ (span.T @ splines), full_matrices=False)
        mix = vector[value > 1e-6 * np.linalg.norm(splines)].T
        if mix.shape[1] >= 2:
            break
    return partial(_evaluate, spline=Spline(df), maximum=maximum, mix=mix)


def _evaluate(u: FloatArray, spline: Spline, maximum: float, mix: FloatArray) -> FloatArray:
    return spline.evaluate(u, maximum)[0] @ mix
