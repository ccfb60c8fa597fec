"""Is the fitted mechanism's shape right? A test against whatever splines could add."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import expit

from hesitant._cores import one_blas_thread
from hesitant._typing import FloatArray
from hesitant.attached import open_chart
from hesitant.chart import Chart
from hesitant.diagnostics._tests import (
    SMALLEST_GROUP,
    CannotTest,
    Fits,
    Test,
    chi_squared,
    or_skipped,
)
from hesitant.families import Family
from hesitant.inference._scores import Axes, class_scores, find_axes, mix
from hesitant.likelihood import State, log_posterior
from hesitant.mechanisms import Basis, EntropyMechanism, Spline
from hesitant.rows import Block

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
