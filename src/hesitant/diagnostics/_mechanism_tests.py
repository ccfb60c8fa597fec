"""Tests of a mechanism: does difficulty matter, and is the fitted shape right.

All tests concern the full likelihood: classes and mechanism are fitted together, so the p-values
allow for the classes being estimated.
"""

import dataclasses
import math
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.diagnostics._test import Test, skipped
from hesitant.inference._attached import Attached, attach, open_chart
from hesitant.inference._information import ObservedInformation, information
from hesitant.inference._pattern import chance_log_likelihood
from hesitant.inference._replicates import Replicates, refit, replicate
from hesitant.inference._scores import class_scores, entropy_scores
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import Basis, EntropyMechanism, Spline
from hesitant.rows import Block
from hesitant.solvers._chart import Chart

__all__ = [
    "Fits",
    "bootstrap_likelihood_ratio",
    "likelihood_ratio",
    "score_test",
    "shape_test",
    "wald_test",
]

SMALLEST_GROUP = 5
MOST_PARAMETERS = 1000  # minutes of work beyond, and two tests of several
_LR = "likelihood ratio"
_WALD = "Wald"
_SCORE = "score"
_BOOT = "likelihood ratio, bootstrap"
_SHAPE = "shape of the mechanism"


@dataclasses.dataclass(frozen=True)
class Fits:
    """The two fits that are compared, and their data.

    Attributes
    ----------
    ignorance, full : fitted MixtureClassifier
        Without and with the mechanism.
    X, y : arrays
    labelled, reviewed : boolean arrays
    """

    ignorance: Any
    full: Any
    X: AnyArray
    y: AnyArray
    labelled: BoolArray
    reviewed: BoolArray

    @property
    def seen(self) -> BoolArray:
        """Whether each reviewed row is labelled."""
        return self.labelled[self.reviewed]

    @cached_property
    def information(self) -> ObservedInformation:
        """Standard errors of the full fit."""
        return information(self.full, self.X, self.y, reviewed=self.reviewed)

    def too_few(self, name: str, least: int = SMALLEST_GROUP) -> Test | None:
        """Return a skipped test if a group is too small for an asymptotic p-value."""
        counts = {"labelled": int(self.seen.sum()), "blank": int((~self.seen).sum())}
        for what, count in counts.items():
            if count < least:
                rows = f"{count} {what} row{'s' * (count != 1)}"
                return skipped(name, f"{rows}, needs {least}")
        return None

    def too_many(self, name: str) -> Test | None:
        """Return a skipped test if there are too many parameters for an information matrix."""
        count = self.full.n_parameters_
        if count <= MOST_PARAMETERS:
            return None
        return skipped(name, f"{count:,} parameters, computed up to {MOST_PARAMETERS:,}")


def likelihood_ratio(fits: Fits) -> Test:
    """Compare the full likelihood with labels missing completely at random."""
    few = fits.too_few(_LR)
    if few is not None:
        return few
    statistic = _ratio(fits.ignorance, fits.full, fits)
    df = fits.full.mechanism_.coef_.size
    return Test(_LR, statistic, float(chi2.sf(statistic, df)), df, "chi-squared")


def _ratio(ignorance: Any, full: Any, fits: Fits) -> float:
    # Under the null the pattern's factor is that of coins, which the ignorance likelihood omits.
    null = ignorance.log_likelihood_ + chance_log_likelihood(fits.seen)
    return max(2 * (full.log_likelihood_ - null), 0.0)


def wald_test(fits: Fits) -> Test:
    """Compare the fitted coefficients with zero, by their standard errors."""
    unfit = fits.too_few(_WALD) or fits.too_many(_WALD)
    if unfit is not None:
        return unfit
    info = fits.information
    places = [k for k, name in enumerate(info.parameters) if name.startswith("coef[")]
    if not np.isfinite(info.std_error[places]).all():
        return skipped(_WALD, "the coefficients have no finite standard error")
    coef, V = info.estimate[places], info.covariance[np.ix_(places, places)]
    statistic = float(coef @ np.linalg.solve(V, coef))
    return Test(_WALD, statistic, float(chi2.sf(statistic, coef.size)), coef.size, "chi-squared")


def score_test(fits: Fits) -> Test:
    """Ask whether the coefficients want to leave zero, at the ignorance fit.

    Where the coefficients are zero the pattern does not move with the classes, so the classes'
    and the coefficients' scores are uncorrelated and the statistic is that of the logistic
    regression of "labelled" on the basis of the ignorance fit's entropies.
    """
    few = fits.too_few(_SCORE)
    if few is not None:
        return few
    mechanism = fits.full.mechanism_
    u = fits.ignorance.entropy(fits.X, mechanism.uncertainty)[fits.reviewed]
    _, _, design = mechanism.predictor(u, mechanism.parameters_)
    centred = design[:, 1:] - design[:, 1:].mean(axis=0)
    residual = fits.seen - fits.seen.mean()
    # n times the squared multiple correlation: what least squares explains of the residuals.
    coef, _, rank, _ = np.linalg.lstsq(centred, residual, rcond=1e-10)
    statistic = float(np.sum((centred @ coef) ** 2) / np.mean(residual**2))
    return Test(_SCORE, statistic, float(chi2.sf(statistic, rank)), int(rank), "chi-squared")


def bootstrap_likelihood_ratio(
    fits: Fits, n: int, *, random_state: Any, n_jobs: int | None, progress: bool
) -> tuple[Test, Replicates | None]:
    """Compare the likelihood ratio with those of data made without any mechanism.

    Rows are drawn from the ignorance fit and given the labels at the places where the data have
    them, so the classes are as hard to fit as in the data and the pattern is pure chance.
    """
    few = fits.too_few(_BOOT)
    if few is not None:
        return few, None
    observed = _ratio(fits.ignorance, fits.full, fits)
    parts = replicate(
        _NullReplicate(fits),
        n,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        description="bootstrap under chance",
    )
    if not parts.values:
        return skipped(_BOOT, parts.in_words()), parts
    beyond = int(np.sum(np.array(parts.values) >= observed))
    p = (1 + beyond) / (1 + len(parts.values))
    test = Test(_BOOT, observed, p, None, f"{len(parts.values)} replicates", parts.in_words())
    return test, parts


class _NullReplicate:
    """One data set under the null, fitted both ways; a class so that workers can receive it."""

    def __init__(self, fits: Fits) -> None:
        self.fits = dataclasses.replace(fits, X=np.empty((0, fits.X.shape[1])))

    def __call__(self, rng: np.random.Generator) -> float:
        fits = self.fits
        X, truth, _ = fits.ignorance.sample(len(fits.labelled), int(rng.integers(2**31 - 1)))
        y = truth.astype(object)
        y[~fits.labelled] = None
        start = fits.ignorance.parameters_
        null = refit(fits.ignorance, X, y, start=start, n_jobs=1)
        full = refit(fits.full, X, y, start=null.parameters_, reviewed=fits.reviewed, n_jobs=1)
        return _ratio(null, full, fits)


def shape_test(fits: Fits) -> Test:
    """Ask whether a more flexible curve would fit better than the mechanism's own basis.

    A score test, at the full fit, of whatever cubic splines of the uncertainty can do that the
    basis cannot; classes and coefficients count as estimated. (Refitting with the splines, for a
    likelihood ratio, would let the classes bend to the wiggles: at n = 150 such a test rejects a
    true mechanism four times in ten.) A basis that is flexible already, with few rows, makes
    this test too reject more often than it should: 0.09 to 0.16 for a spline at n = 150.
    """
    unfit = fits.too_few(_SHAPE, 2 * SMALLEST_GROUP) or fits.too_many(_SHAPE)
    if unfit is not None:
        return unfit
    mechanism = fits.full.mechanism_
    if not math.isfinite(mechanism._maximum):
        return skipped(_SHAPE, "the uncertainty has no largest value to place knots by")
    added = _added(mechanism)
    data = attach(fits.full, fits.X, fits.y, reviewed=fits.reviewed)
    with open_chart(data.likelihood, data.state) as (chart, _):
        rows = data.likelihood.rows
        score, spread, cross, known = rows.sum(partial(_shape_sums, data, chart, added))
    spread = spread - cross @ np.linalg.lstsq(known, cross.T, rcond=1e-12)[0]
    value, vector = np.linalg.eigh(spread)
    keep = value > 1e-8 * max(float(value[-1]), 1e-300)
    part = vector[:, keep].T @ score
    statistic, df = float(np.sum(part**2 / value[keep])), int(keep.sum())
    return Test(_SHAPE, statistic, float(chi2.sf(statistic, df)), df, "chi-squared")


def _shape_sums(
    data: Attached, chart: Chart, added: "_Added", block: Block
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the added functions' score, its spread, its bond with the rest, and the rest's."""
    mechanism, theta = data.clf.mechanism_, data.state.theta
    log_tau, tau, _ = log_posterior(data.clf.family_, data.state, block.X)
    u, du = mechanism.uncertainty.evaluate(log_tau, tau)
    eta, slope, design = mechanism.predictor(u, theta)
    p = expit(eta)
    s = class_scores(data.clf.family_, chart, block.X)
    given = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    from_labels = np.einsum("ig,igk->ik", given, s)
    known = np.hstack((slope[:, None] * entropy_scores(s, du), design @ chart.theta_axes))
    z = added.evaluate(u)
    weight = (block.review * p * (1 - p))[:, None]
    # Features and labels inform the classes as well; with their scores' outer products the
    # whole stays a variance, whatever the data.
    rest = known.T @ (weight * known)
    k = from_labels.shape[1]
    rest[:k, :k] += from_labels.T @ from_labels
    score = z.T @ (block.review * (block.labelled - p))
    return score, z.T @ (weight * z), z.T @ (weight * known), rest


def _added(mechanism: EntropyMechanism) -> "_Added":
    """Return spline functions that the basis lacks, finer ones if the first add too few."""
    assert isinstance(mechanism.basis, Basis)  # the mechanism was prepared for a fit
    for df in (4, 6, 10, 18):
        added = _Added(mechanism.basis, df, mechanism._maximum)
        if added.mix.shape[1] >= 2:
            break
    return added


class _Added:
    """The directions of a spline space that a basis does not span."""

    def __init__(self, basis: Basis, df: int, maximum: float) -> None:
        self.df, self.maximum = df, maximum
        u = np.linspace(0, maximum, 513)[1:-1]
        own = np.column_stack((np.ones(u.size), basis.evaluate(u, maximum)[0]))
        splines = self._splines(u)
        span, _ = np.linalg.qr(own)
        _, value, vector = np.linalg.svd(splines - span @ (span.T @ splines), full_matrices=False)
        self.mix: FloatArray = vector[value > 1e-6 * np.linalg.norm(splines)].T

    def _splines(self, u: FloatArray) -> FloatArray:
        return Spline(self.df).evaluate(u, self.maximum)[0]

    def evaluate(self, u: FloatArray) -> FloatArray:
        """Return the added functions (n, extra)."""
        return self._splines(u) @ self.mix
