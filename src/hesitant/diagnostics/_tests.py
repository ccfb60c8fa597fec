"""Tests that blank rows are harder: of ranks, and of the likelihood with and without the pattern.

With few rows for the parameters the likelihood ratio and Wald tests reject pure chance too often:
0.16 to 0.5 where they should 0.05. The score test keeps its size down to two rows a parameter.
Below that none does, the bootstrap included: ``benchmarks/study_tests.py``.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from scipy.special import chdtrc, ndtr
from scipy.stats import ks_2samp, mannwhitneyu

from hesitant._replicates import refit, replicate
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._words import noun
from hesitant.chart import Chart
from hesitant.fitting import generator
from hesitant.inference import _scores
from hesitant.inference._inverses import invert
from hesitant.likelihood import chance_log_likelihood
from hesitant.mechanisms import Basis, EntropyMechanism, Spline, as_mechanism, row_term
from hesitant.model import FittedModel
from hesitant.rows import Block, ManyRows, Rows
from hesitant.uncertainty import Shannon, transformed_entropy

P = ParamSpec("P")
EXACT_KS, EXACT_MW = 10_000, 4_000  # work that is still done exactly
ALPHA = 0.05
FEW = 20  # the test of a handful of rows finds nothing, whatever the truth
SMALLEST_GROUP = 5
ROWS_A_PARAMETER = 2.0  # below, even score test and bootstrap reject chance one time in five
MOST_PARAMETERS = 1000
MOST_WORK = 1e9  # multiplications, for an information matrix that no verdict waits for
SAME = {"rel_tol": 1e-9, "abs_tol": 1e-9}  # of the same rows' log-likelihood
SAMPLE = 20_000  # rows that an average over rows is taken from
# Variance of a score: what a fifth of one row tells of a curve that is at its full height there.
LEAST_SEEN = 0.05


@dataclasses.dataclass(frozen=True)
class Test:
    """A test's statistic and p-value, or why it was skipped."""

    __test__ = False  # not one of pytest's

    name: str
    statistic: float  #: NaN, as the p-value, if the test was skipped
    p_value: float
    df: int | None = None  #: degrees of freedom, where the test has some
    method: str = ""  #: where the p-value comes from: exact, asymptotic, chi-squared, bootstrap
    note: str = ""  #: why the test was skipped, or what else to know
    least_p: float = 0.0  #: the smallest p-value there could have been; that of few replicates

    @property
    def was_skipped(self) -> bool:
        """Whether there is no answer."""
        return math.isnan(self.p_value)


class CannotTest(Exception):
    """Why a test has no answer."""


def named(name: str) -> Callable[[Callable[P, Test]], Callable[P, Test]]:
    """Name the test that a function finds; where it says that it cannot, record why."""

    def decorate(find: Callable[P, Test]) -> Callable[P, Test]:
        @wraps(find)
        def run(*args: P.args, **options: P.kwargs) -> Test:
            try:
                return dataclasses.replace(find(*args, **options), name=name)
            except (CannotTest, np.linalg.LinAlgError) as why:
                return Test(name, math.nan, math.nan, method="skipped", note=str(why))

        return run

    return decorate


def chi_squared(statistic: float, df: int) -> Test:
    p_value = float(chdtrc(df, statistic)) if df else math.nan
    return Test("", statistic, p_value, int(df), "chi-squared")


def chi_squared_of(score: FloatArray, variance: FloatArray, least: float) -> Test:
    """Return the test of a score of mean zero; directions of less variance are left out."""
    value, vector = np.linalg.eigh(variance)
    keep = value > max(least, 1e-300)
    part = vector[:, keep].T @ score
    return chi_squared(float(np.sum(part**2 / value[keep])), int(keep.sum()))


def need_rows(n_labelled: int, n_blank: int, least: int) -> None:
    for what, count in (("labelled", n_labelled), ("blank", n_blank)):
        if count < least:
            raise CannotTest(f"{noun(count, f'{what} row')}, needs {least}")


@named("Kolmogorov-Smirnov, one-sided")
def kolmogorov_smirnov(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values, by ``D⁺ = max_t [F_labelled − F_blank]``.

    Exact if the product of the group sizes is below 10,000 (as in R); ties then make the p-value
    a little too large.

    >>> from hesitant.diagnostics import kolmogorov_smirnov
    >>> test = kolmogorov_smirnov([0.74, 0.88, 0.90, 1.15, 1.21], [0.80, 1.04, 1.38, 1.45, 1.89])
    >>> test.statistic, round(test.p_value, 4)
    (0.6, 0.1786)
    """
    need_rows(len(labelled), len(blank), 2)
    if (m := len(labelled)) * (n := len(blank)) < EXACT_KS:
        found = ks_2samp(labelled, blank, alternative="greater", method="exact")
        return Test("", float(found.statistic), float(found.pvalue), method="exact")
    # SciPy's function takes half a millisecond to look at its arguments.
    below = np.searchsorted(np.sort(blank), np.sort(labelled), side="right")
    d, root = float(np.max(np.arange(1, m + 1) / m - below / n)), math.sqrt(m * n / (m + n))
    more = (m + n + min(m, n)) / (3 * (m + n) * root)  # beside the limit, for finite samples
    return Test("", d, math.exp(-2 * d * root * (d * root + more)), method="asymptotic")


@named("Mann-Whitney, one-sided")
def mann_whitney(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values, by the number of pairs where they have not.

    W counts (labelled, blank) pairs in which the labelled row has the larger value, a tie one
    half. Exact, unless there are ties, if both groups have fewer than 50 rows (as in R) or one of
    them very few; else normal with corrections for ties and continuity.

    >>> from hesitant.diagnostics import mann_whitney
    >>> test = mann_whitney([1.15, 0.88, 0.90, 0.74, 1.21], [0.80, 0.83, 1.89, 1.04, 1.45, 1.38])
    >>> test.statistic, round(test.p_value, 4)
    (10.0, 0.2143)
    """
    m, n = len(labelled), len(blank)
    need_rows(m, n, 2)
    # Beside a few rows of one group the normal curve is far off, however large the other.
    small = max(m, n) < 50 or min(m, n) * (m + n) <= EXACT_MW
    _, count = np.unique(np.concatenate((labelled, blank)), return_counts=True)
    ties, labelled, blank = float(np.sum(count**3.0 - count)), np.sort(labelled), np.sort(blank)
    if small and not ties:
        found = mannwhitneyu(labelled, blank, alternative="less", method="exact")
        return Test("", float(found.statistic), float(found.pvalue), method="exact")
    below, at_most = (np.searchsorted(blank, labelled, side) for side in ("left", "right"))
    won, mean = float(np.sum(below) + np.sum(at_most)) / 2, m * n / 2
    error = math.sqrt(max(mean / 6 * (m + n + 1 - ties / ((m + n) * (m + n - 1))), 1e-300))
    return Test("", won, float(ndtr((won + 0.5 - mean) / error)), method="asymptotic")


class Measured(NamedTuple):
    """What the two fits say of each reviewed row; one of weight zero counts as never reviewed."""

    codes: IntArray
    seen: BoolArray  # whether it is labelled
    weight: FloatArray
    tau: FloatArray  # class probabilities under the ignorance fit
    entropy: FloatArray  # transformed, under the ignorance fit
    uncertainty: FloatArray  # the mechanism's own measure of the same
    probability: FloatArray  # of a label, under the full fit


@dataclasses.dataclass(frozen=True)
class Fits:
    """The fits without and with the mechanism, and their data."""

    ignorance: Any
    full: Any  # None if there is no pattern to fit
    rows: ManyRows

    @property
    def chance(self) -> float:
        """Log-likelihood of the pattern when it is nothing but chance."""
        tally = self.rows.tally
        return chance_log_likelihood(tally.reviewed_labelled, tally.reviewed_blank)

    @property
    def ratio(self) -> float:
        """Likelihood ratio of the pattern, on the log scale and doubled."""
        # Under chance its factor is that of coins, which the ignorance likelihood omits.
        gain = self.full.log_likelihood_ - self.ignorance.log_likelihood_ - self.chance
        return float(max(2 * gain, 0.0))

    @property
    def rows_a_parameter(self) -> float:
        return float(self.rows.tally.n / self.full.n_parameters_) if self.full else math.inf

    @cached_property
    def measured(self) -> Measured:
        full = self.full and self.full.fitted_
        parts = self.rows.collect(partial(_measure, ignorance=self.ignorance.fitted_, full=full))
        return Measured(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many reviewed rows are labelled, and blank."""
        return int(self.measured.seen.sum()), int((~self.measured.seen).sum())


def need_information(model: FittedModel, rows: ManyRows) -> None:
    """Raise if there is no information matrix to be had, or none worth having."""
    count, family, each = model.n_parameters, model.family, rows.tally.n / model.n_parameters
    if count > MOST_PARAMETERS:
        raise CannotTest(f"{count:,} parameters, computed up to {MOST_PARAMETERS:,}")
    if each < ROWS_A_PARAMETER:
        raise CannotTest(f"{each:.2g} rows a parameter, needs {ROWS_A_PARAMETER:g}")
    if not family.has_coordinates:
        raise CannotTest(f"the family {type(family).__name__} has no `coordinates` method")


def _measure(block: Block, ignorance: FittedModel, full: FittedModel | None) -> Measured:
    shown = block.review > 0
    X = block.X[shown]
    log_tau, tau, _ = ignorance.posterior(X)
    u = e = Shannon().evaluate(log_tau, tau)[0]
    t, p = transformed_entropy(e, tau.shape[1]), np.full(len(X), np.nan)
    if full is not None:
        u, _ = full.mechanism.uncertainty.evaluate(log_tau, tau)
        p = full.mechanism.probability(*full.posterior(X)[:2])
    return Measured(block.codes[shown], block.labelled[shown], block.weight[shown], tau, t, u, p)


def fit_both(template: Any, X: Any, y: Any, *given: Any) -> tuple[Fits, list[str]]:
    """Return both fits; what the template already knows of these rows is not fitted again."""
    own = as_mechanism(template.mechanism)
    mechanism, remarks = own.testable() or EntropyMechanism(), []
    explains = own.informative
    if mechanism is not own and explains:
        used = f"Difficulty is tested with mechanism={mechanism.in_words!r}"
        remarks = [f"{used}; the rest of the fit's {own.in_words!r} is not tested."]
    warned: list[str] = []
    how: dict[str, Any] = {"solver": "auto", "warned": warned}
    rows = dict(zip(("sample_weight", "reviewed"), given, strict=False))
    ignorance, full, known = template, None, False
    if hasattr(template, "fitted_"):
        data = template.check(X, y, *given)
        known, X, y, rows, how["start"] = _knows(template.fitted_, data), data, None, {}, template
    if known and explains and not remarks:
        full = template
    if not known or explains:
        ignorance = refit(template, X, y, mechanism=None, alpha=0.5, **how, **rows)
        data = ignorance.check()
    fits, how["start"] = Fits(ignorance, full, data), ignorance
    if not (data.tally.reviewed_labelled and data.tally.reviewed_blank):
        full = None
    # A fit that ended below what no slope at all achieves is not the best there is.
    elif full is None or full.log_likelihood_ < ignorance.log_likelihood_ + fits.chance - 1e-6:
        full = refit(ignorance, data, None, mechanism=mechanism, **how)
    return Fits(ignorance, full, data), remarks + warned


def _knows(model: FittedModel, data: ManyRows) -> bool:
    if model.alpha != 0.5 or not model.converged:
        return False
    value = model.likelihood(data).evaluate(model.state).log_likelihood
    return math.isclose(value, model.log_likelihood, **SAME)


@named("likelihood ratio")
def likelihood_ratio(fits: Fits) -> Test:
    need_rows(*fits.counts, SMALLEST_GROUP)
    return chi_squared(fits.ratio, fits.full.mechanism_.coef_.size)


@named("Wald")
def wald_test(model: FittedModel, rows: ManyRows, counts: tuple[int, int]) -> Test:
    """Test the coefficients of a fit as it was: no verdict waits, so much may have changed."""
    need_rows(*counts, SMALLEST_GROUP)
    need_information(model, rows)
    k, coef = model.n_parameters, model.mechanism.coef_
    if (rows.tally.n + 10 * k) * k**2 > MOST_WORK:
        raise CannotTest("takes longer than the fit, see summary()")
    axes, evaluation = _scores.axes_at(model, rows)
    if not math.isclose(evaluation.log_likelihood, model.log_likelihood, **SAME):
        raise CannotTest("the rows have changed since the diagnosis")
    V, flat, _ = invert(*_scores.curvature(model, rows, axes, evaluation)[:2])
    turn, own = axes.chart.theta_axes[-coef.size :], slice(axes.size, None)
    lost = np.linalg.norm(turn @ flat[own], axis=1) > 1e-3 * np.linalg.norm(turn, axis=1)
    V = turn @ V[own, own] @ turn.T
    if lost.any() or not np.isfinite(V).all():
        raise CannotTest("the coefficients have no finite standard error")
    return chi_squared(float(coef @ np.linalg.solve(V, coef)), coef.size)


@named("score")
def score_test(fits: Fits) -> Test:
    """Ask whether the coefficients want to leave zero, at the ignorance fit.

    There the classes' and the coefficients' scores are uncorrelated, and the statistic is that of
    the logistic regression of "labelled" on the basis of the ignorance fit's entropies.
    """
    need_rows(*fits.counts, SMALLEST_GROUP)
    mechanism, found = fits.full.mechanism_, fits.measured
    design, _ = mechanism.basis.evaluate(found.uncertainty, mechanism.maximum)
    seen, w, root, total = found.seen, found.weight, np.sqrt(found.weight), found.weight.sum()
    centred = root[:, None] * (design - w @ design / total)
    residual = root * (seen - w @ seen / total)
    # n times the squared multiple correlation: what least squares explains of the residuals.
    coef, _, rank, _ = np.linalg.lstsq(centred, residual, rcond=1e-10)
    statistic = float(total * np.sum((centred @ coef) ** 2) / np.sum(residual**2))
    return chi_squared(statistic, int(rank))


@named("likelihood ratio, bootstrap")
def bootstrap_likelihood_ratio(fits: Fits, n_boot: int, **options: Any) -> Test:
    """Compare the likelihood ratio with those of rows drawn from the ignorance fit."""
    need_rows(*fits.counts, SMALLEST_GROUP)
    parts = fits.rows.collect(lambda block: (block.codes, block.weight, block.review > 0))
    given = [np.concatenate(part) for part in zip(*parts, strict=True)]
    task = partial(_null_ratio, fits.ignorance, fits.full, given)
    drawn, _, note = replicate(task, n_boot, description="bootstrap under chance", **options)
    if not drawn:
        raise CannotTest(note)
    beyond, least = int(np.sum(np.array(drawn) >= fits.ratio)), 1 / (1 + len(drawn))
    method = f"{len(drawn)} replicates"
    return Test("", fits.ratio, (1 + beyond) * least, method=method, note=note, least_p=least)


def _null_ratio(ignorance: Any, full: Any, given: Any, rng: np.random.Generator) -> float:
    (codes, weight, reviewed), model = given, ignorance.fitted_
    X, drawn, _ = model.sample(len(codes), generator(int(rng.integers(2**31 - 1))))
    codes = np.where(codes >= 0, drawn, -1)
    rows = Rows(X, codes, weight, reviewed, classes=model.classes)
    null = refit(ignorance, rows, None, start=ignorance)
    return Fits(null, refit(full, rows, None, start=null), rows).ratio


@named("shape of the mechanism")
def shape_test(fits: Fits) -> Test:
    """Ask whether a more flexible curve would fit better than the mechanism's own basis.

    A score test, at the full fit, of what cubic splines of the uncertainty can do that the basis
    cannot. (A likelihood ratio would let the classes bend to the wiggles.)
    """
    need_rows(*fits.counts, 2 * SMALLEST_GROUP)
    model, rows, own = fits.full.fitted_, fits.rows, fits.full.mechanism_
    need_information(model, rows)
    if not math.isfinite(own.maximum):
        raise CannotTest("the uncertainty has no largest value to place knots by")
    chart = Chart(model.likelihood(rows), model.state, None, mechanism=False)  # type: ignore[arg-type]
    axes = _scores.find_axes(model.family, chart)
    if own.leverage_ is not None:
        # a prior that knows the basis's own slopes alone, and keeps them from their maximum
        free = dataclasses.replace(model, mechanism=own.moved(leverage_=None))
        state, _ = free.likelihood(rows).refit_mechanism(model.state)
        model = dataclasses.replace(free, state=state)
    theta, curve = model.state.theta, _splines(own.basis, own.maximum)
    weigh = partial(_information, model=model, curve=curve)
    known = _scores.products(rows, axes, weigh, stride=max(1, int(rows.tally.n) // SAMPLE))

    def pull(some: Block) -> tuple[FloatArray]:
        log_tau, tau, _ = model.posterior(some.X)
        seen = own.difficulty(log_tau, tau, slopes=False)
        term = row_term(own.evidence(seen, some.said, theta), log_tau, tau, some.codes)
        return ((some.review * term.gradient[:, 0]) @ curve(seen.u),)  # all as the intercept

    first = axes.size + theta.size
    cross = known[first:, :first]
    estimated = np.linalg.pinv(known[:first, :first], rcond=1e-12, hermitian=True)
    variance = known[first:, first:] - cross @ estimated @ cross.T
    found = chi_squared_of(rows.sum(pull)[0], variance, LEAST_SEEN)
    if not found.df:
        raise CannotTest("too few rows are in doubt about their class to show a curve")
    return found


def _information(rows: Block, model: FittedModel, curve: Any) -> _scores.Weights:
    """Return weights of the information about all parameters, averaged over chance."""
    posterior, known = model.posterior(rows.X), np.eye(len(model.classes))[rows.codes]
    _, variance, pull, own = _scores.told(model.mechanism, model.state.theta, posterior)
    u, _ = model.mechanism.uncertainty.evaluate(*posterior[:2])
    each = _scores.outer(rows.review * variance, pull, np.hstack((own, curve(u))))
    given = np.where(rows.labelled[:, None], known, posterior[1])
    return each[0] + _scores.outer(rows.weight, given, own[:, :0])[0], *each[1:]


def _splines(own: Basis, maximum: float) -> Callable[[FloatArray], FloatArray]:
    """Return cubic splines that can do at least two things that a basis cannot.

    What both can do has no information of its own, and the test leaves it out.
    """
    u = np.linspace(0, maximum, 129)[1:-1]
    for df in (4, 6, 10, 18):
        curve = Spline(df).curve(maximum)
        b = np.hstack((own.evaluate(u, maximum)[0], curve(u)))
        if np.linalg.matrix_rank(b - b.mean(axis=0), rtol=1e-6) >= own.size + 2:
            break
    return curve
