"""Is the fitted mechanism's shape right? A test against whatever splines could add."""

import math
from functools import partial

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from hesitant._typing import FloatArray
from hesitant.diagnostics._fits import SMALLEST_GROUP, Fits
from hesitant.diagnostics._test import Test, skipped
from hesitant.families import Family
from hesitant.inference._attached import open_chart
from hesitant.inference._scores import class_scores, entropy_scores
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import Basis, EntropyMechanism, Spline
from hesitant.rows import Block
from hesitant.solvers._chart import Chart

__all__ = ["shape_test"]

_SHAPE = "shape of the mechanism"


def shape_test(fits: Fits) -> Test:
    """Ask whether a more flexible curve would fit better than the mechanism's own basis.

    A score test, at the full fit, of whatever cubic splines of the uncertainty can do that the
    basis cannot; classes and coefficients count as estimated. (Refitting with the splines, for a
    likelihood ratio, would let the classes bend to the wiggles: at n = 150 such a test rejects a
    true mechanism four times in ten.) A basis that is flexible already, with few rows, makes
    this test too reject more often than it should: 0.09 to 0.16 for a spline at n = 150.
    """
    unfit = fits.too_few(_SHAPE, 2 * SMALLEST_GROUP) or fits.no_information(_SHAPE)
    if unfit is not None:
        return unfit
    mechanism = fits.full.mechanism_
    if not math.isfinite(mechanism._maximum):
        return skipped(_SHAPE, "the uncertainty has no largest value to place knots by")
    added = _added(mechanism)
    with open_chart(fits.likelihood, fits.full.state_) as (chart, _):
        work = partial(
            _shape_sums, family=fits.full.family_, mechanism=mechanism, chart=chart, added=added
        )
        score, spread, cross, known = fits.rows.sum(work)
    spread = spread - cross @ np.linalg.lstsq(known, cross.T, rcond=1e-12)[0]
    value, vector = np.linalg.eigh(spread)
    keep = value > 1e-8 * max(float(value[-1]), 1e-300)
    part = vector[:, keep].T @ score
    statistic, df = float(np.sum(part**2 / value[keep])), int(keep.sum())
    return Test(_SHAPE, statistic, float(chi2.sf(statistic, df)), df, "chi-squared")


def _shape_sums(
    block: Block, family: Family, mechanism: EntropyMechanism, chart: Chart, added: "_Added"
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the added functions' score, its spread, its bond with the rest, and the rest's."""
    state = chart.reference
    log_tau, tau, _ = log_posterior(family, state, block.X)
    u, du = mechanism.uncertainty.evaluate(log_tau, tau)
    eta, slope, design = mechanism.predictor(u, state.theta)
    p = expit(eta)
    s = class_scores(family, chart, block.X)
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
