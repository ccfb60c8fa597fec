"""Tests of whether difficulty matters: of the mechanism's slopes against zero.

All tests concern the full likelihood, in which classes and mechanism are estimated together. With
few rows for the parameters (many features, few labels, a flexible basis) the likelihood ratio and
Wald tests reject pure chance too often: 0.16 to 0.5 where they should 0.05. The score test, which
needs no fit of the mechanism, keeps its size down to two rows a parameter. Below that none does,
the bootstrap included, for the fit it draws from is itself too sure of its classes:
``benchmarks/study_tests.py``.
"""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import chi2

from hesitant._replicates import refit, replicate, workers
from hesitant._typing import BoolArray, FloatArray
from hesitant.diagnostics._fits import Fits
from hesitant.diagnostics._test import Test, skipped
from hesitant.inference._pattern import chance_log_likelihood

__all__ = ["bootstrap_likelihood_ratio", "likelihood_ratio", "score_test", "wald_test"]

_LR = "likelihood ratio"
_WALD = "Wald"
_SCORE = "score"
_BOOT = "likelihood ratio, bootstrap"


def likelihood_ratio(fits: Fits) -> Test:
    """Compare the full likelihood with labels missing completely at random."""
    few = fits.too_few(_LR)
    if few is not None:
        return few
    statistic = _ratio(fits.ignorance, fits.full, fits.seen, fits.weight)
    df = fits.full.mechanism_.coef_.size
    return Test(_LR, statistic, float(chi2.sf(statistic, df)), df, "chi-squared")


def _ratio(ignorance: Any, full: Any, seen: BoolArray, weight: FloatArray) -> float:
    # Under the null the pattern's factor is that of coins, which the ignorance likelihood omits.
    null = ignorance.log_likelihood_ + chance_log_likelihood(seen, weight)
    return max(2 * (full.log_likelihood_ - null), 0.0)


def wald_test(fits: Fits) -> Test:
    """Compare the fitted coefficients with zero, by their standard errors."""
    unfit = fits.too_few(_WALD) or fits.no_information(_WALD)
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
    _, _, design = mechanism.predictor(fits.measured.uncertainty, mechanism.parameters_)
    w = fits.weight
    root = np.sqrt(w)
    centred = root[:, None] * (design[:, 1:] - np.average(design[:, 1:], axis=0, weights=w))
    residual = root * (fits.seen - np.average(fits.seen, weights=w))
    # n times the squared multiple correlation: what least squares explains of the residuals.
    coef, _, rank, _ = np.linalg.lstsq(centred, residual, rcond=1e-10)
    statistic = float(w.sum() * np.sum((centred @ coef) ** 2) / np.sum(residual**2))
    return Test(_SCORE, statistic, float(chi2.sf(statistic, rank)), int(rank), "chi-squared")


def bootstrap_likelihood_ratio(
    fits: Fits, n: int, *, random_state: Any, n_jobs: int | None, progress: bool
) -> Test:
    """Compare the likelihood ratio with those of data made without any mechanism.

    Rows are drawn from the ignorance fit and given the labels at the places where the data have
    them, so the classes are as hard to fit as in the data and the pattern is pure chance.
    """
    few = fits.too_few(_BOOT)
    if few is not None:
        return few
    observed = _ratio(fits.ignorance, fits.full, fits.seen, fits.weight)
    parts = replicate(
        _NullReplicate(fits, together=effective_n_jobs(workers(n_jobs, n)) > 1),
        n,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        description="bootstrap under chance",
    )
    if not parts.values:
        return skipped(_BOOT, parts.in_words())
    beyond = int(np.sum(np.array(parts.values) >= observed))
    done = len(parts.values)
    return Test(
        _BOOT,
        observed,
        (1 + beyond) / (1 + done),
        method=f"{done} replicates",
        note=parts.in_words(),
        least_p=1 / (1 + done),
    )


class _NullReplicate:
    """One data set under the null, fitted both ways; a class so that workers can receive it."""

    def __init__(self, fits: Fits, together: bool) -> None:
        self.ignorance, self.full = fits.ignorance, fits.full
        self.n_jobs = 1 if together else fits.full.n_jobs  # one core each, if there are others
        self.labelled, self.reviewed, self.weight, *_ = fits.measured

    def __call__(self, rng: np.random.Generator) -> float:
        X, truth, _ = self.ignorance.sample(len(self.labelled), int(rng.integers(2**31 - 1)))
        y = truth.astype(object)
        y[~self.labelled] = None
        rows: dict[str, Any] = {"reviewed": self.reviewed, "sample_weight": self.weight}
        null = refit(self.ignorance, X, y, start=self.ignorance, n_jobs=self.n_jobs, **rows)
        full = refit(self.full, X, y, start=null, n_jobs=self.n_jobs, **rows)
        shown = self.reviewed
        return _ratio(null, full, self.labelled[shown], self.weight[shown])
