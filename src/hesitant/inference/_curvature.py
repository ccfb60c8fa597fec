"""Curvature of a log-likelihood in a chart, from its analytic gradient and from single rows."""

from functools import partial

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families import Family
from hesitant.inference._natural import NaturalUnits
from hesitant.inference._scores import STEP, class_scores, entropy_scores
from hesitant.likelihood import Evaluation, Likelihood, State, log_posterior
from hesitant.mechanisms import Mechanism
from hesitant.rows import Block
from hesitant.solvers._chart import Chart

__all__ = ["curvature", "invert", "natural_jacobian", "scatter"]

# A direction about which the data say less than this share of what complete labels would.
FLAT = 1e-6


def curvature(
    likelihood: Likelihood, chart: Chart, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    empty = evaluation._replace(
        counts=np.zeros_like(evaluation.counts),
        statistics=tuple(np.zeros_like(s) for s in evaluation.statistics),
    )

    def both(vector: FloatArray) -> FloatArray:
        state = chart.decode(vector)
        after = likelihood.evaluate(state)
        prior = _prior_gradient(likelihood.mechanism, chart, state, empty)
        return np.stack((chart.gradient(state, after), prior))

    total = np.empty((chart.size, chart.size))
    prior = np.empty_like(total)
    for axis in range(chart.size):
        vector = np.zeros(chart.size)
        vector[axis] = STEP
        total[axis], prior[axis] = (both(-vector) - both(vector)) / (2 * STEP)
    total, prior = (total + total.T) / 2, (prior + prior.T) / 2
    return total, total - prior, chart.gradient(chart.reference, evaluation)


def _prior_gradient(
    mechanism: Mechanism, chart: Chart, state: State, empty: Evaluation
) -> FloatArray:
    """Return the weak priors' gradient: that of no rows at all."""
    i, j = chart.splits
    out = np.zeros(chart.size)
    out[i:j] = chart.family.gradient(state.params, empty.statistics)
    k = state.theta.size
    _, theta, _ = mechanism.add_prior(state.theta, (0.0, np.zeros(k), np.zeros((k, k))))
    out[j:] = theta @ chart.theta_axes
    return out


def invert(total: FloatArray, from_data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse along directions the data determine, and an orthonormal rest."""
    value, vector = np.linalg.eigh(from_data)
    flat = vector[:, value <= FLAT]
    kept = vector[:, value > FLAT]
    if not kept.shape[1]:
        return np.zeros_like(total), flat
    inner = np.linalg.inv(kept.T @ total @ kept)
    return kept @ inner @ kept.T, flat


def scatter(likelihood: Likelihood, chart: Chart) -> FloatArray:
    """Return the sum of outer products of single rows' scores, the sandwich's filling."""
    work = partial(
        _scatter_block, family=likelihood.family, mechanism=likelihood.mechanism, chart=chart
    )
    (out,) = likelihood.rows.sum(work)
    return np.asarray(out)


def _scatter_block(
    block: Block, family: Family, mechanism: Mechanism, chart: Chart
) -> tuple[FloatArray]:
    state = chart.reference
    log_tau, tau, _ = log_posterior(family, state, block.X)
    s = class_scores(family, chart, block.X)
    given = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    score = block.weight[:, None] * np.einsum("ig,igk->ik", given, s)
    if mechanism.informative:
        u, du = mechanism.uncertainty.evaluate(log_tau, tau)
        _, slope, gradient = mechanism.log_probability(u, block.labelled, state.theta)
        score += (block.review * slope)[:, None] * entropy_scores(s, du)
        pattern = (block.review[:, None] * gradient) @ chart.theta_axes
        score = np.hstack((score, pattern))
    return (score.T @ score,)


def natural_jacobian(units: NaturalUnits, chart: Chart) -> FloatArray:
    """Return how each natural parameter moves with the chart's coordinates, at its reference."""
    out = np.empty((len(units.names), chart.size))
    for axis in range(chart.size):
        vector = np.zeros(chart.size)
        vector[axis] = STEP
        ahead, behind = units.values(chart.decode(vector)), units.values(chart.decode(-vector))
        with np.errstate(invalid="ignore"):  # infinite all along: NaN, and not listed
            out[:, axis] = (ahead - behind) / (2 * STEP)
    return out
