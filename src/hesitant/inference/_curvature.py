"""Curvature of a log-likelihood in a chart.

Every likelihood of the package is a function of log joint densities ``ℓ_ih = log π_h + log f_h``
and of the mechanism's parameters, with gradient ``Σ w_ih s_ih`` (see :mod:`hesitant.likelihood`).
Its second derivative therefore has two parts,

    Σ_ih w_ih ∂²ℓ_ih/∂ψ²     a weighted score at fixed weights, moved a little: classes are apart;
    Σ_ihk s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ     what a row's posterior has to say, from scores of rows.

One pass over the rows gives both, where differences of the whole gradient would take two passes
for every parameter.
"""

from functools import partial

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.families import Family
from hesitant.inference._axes import STEP, Axes, find_axes
from hesitant.inference._natural import NaturalUnits
from hesitant.inference._scores import class_scores, log_joint, mix
from hesitant.likelihood import Evaluation, Likelihood, State, normalise
from hesitant.mechanisms import Mechanism, row_term
from hesitant.rows import Block, sided

__all__ = ["curvature", "invert", "natural_jacobian", "scatter"]

# A direction about which the data say less than this share of what complete labels would.
FLAT = 1e-6
# In log densities, for derivatives of a row's weights.
NUDGE = 1e-6
# Scores that are kept at a time.
ENTRIES = 2_000_000


def curvature(
    likelihood: Likelihood, chart: Chart, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    family, mechanism = likelihood.family, likelihood.mechanism
    axes = find_axes(family, chart)
    follows = family.restate(chart.reference.params, evaluation.statistics, chart.reference.params)
    work = partial(
        _curvature_block,
        family=family,
        mechanism=mechanism,
        alpha=likelihood.alpha,
        axes=axes,
        look=follows is None,
    )
    with one_blas_thread():
        posterior, *moved = likelihood.rows.sum(work)
    total = -posterior
    total[: axes.size, : axes.size] -= _at_fixed_weights(family, axes, evaluation, moved)
    prior = _prior_curvature(mechanism, chart, evaluation)
    total[axes.size :, axes.size :] += prior[axes.size :, axes.size :]
    return total, total - prior, chart.gradient(chart.reference, evaluation)


def _curvature_block(
    block: Block, family: Family, mechanism: Mechanism, alpha: float, axes: Axes, look: bool
) -> tuple[FloatArray, ...]:
    """Return the posterior's part, and (to ``look`` at) statistics a step along every axis."""
    sums: list[FloatArray] = []
    size = max(256, ENTRIES // sum(own.size for own in axes.of_class))
    for start in range(0, max(len(block.X), 1), size):
        rows = block[start : start + size]
        weights, slopes = _slopes(rows, family, mechanism, alpha, axes.chart.reference)
        scores = class_scores(family, axes, rows.X)
        parts = [_posterior_part(axes, scores, slopes)]
        if look:
            points = [axes.step(group, sign) for group in axes.together for sign in (1, -1)]
            found = [
                family.statistics(axes.chart.decode(v).params, rows.X, weights) for v in points
            ]
            parts += [np.stack(part) for part in zip(*found, strict=True)]
        sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    return tuple(sums)


def _slopes(
    block: Block, family: Family, mechanism: Mechanism, alpha: float, state: State
) -> tuple[FloatArray, FloatArray]:
    """Return the rows' weights w (n, g), and how they and the pattern's own scores move.

    The second has the shape (n, g + q, g + q): derivatives in the log joint densities first, then
    in the mechanism's q parameters.
    """
    joint, theta = log_joint(family, state, block.X), state.theta
    g, q = joint.shape[1], theta.size
    slopes = np.empty((len(joint), g + q, g + q))
    for place, nudge in enumerate(NUDGE * np.eye(g + q)):
        ahead = _row_scores(block, mechanism, alpha, joint + nudge[:g], theta + nudge[g:])
        behind = _row_scores(block, mechanism, alpha, joint - nudge[:g], theta - nudge[g:])
        slopes[:, :, place] = (ahead - behind) / (2 * NUDGE)
    slopes = (slopes + slopes.transpose(0, 2, 1)) / 2
    now = _row_scores(block, mechanism, alpha, joint.copy(), theta)
    return np.ascontiguousarray(now[:, :g]), slopes


def _row_scores(
    block: Block, mechanism: Mechanism, alpha: float, joint: FloatArray, theta: FloatArray
) -> FloatArray:
    """Return the derivatives of each row's log-likelihood in its ``joint`` and in theta."""
    log_tau, tau, _ = normalise(joint)
    known = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    evidence = mechanism.evidence(mechanism.difficulty(log_tau, tau), block.said, theta)
    rows = row_term(evidence, log_tau, tau, block.codes)
    weights = sided(block, alpha)[:, None] * known + block.review[:, None] * rows.pull
    return np.hstack((weights, block.review[:, None] * rows.gradient))


def _posterior_part(axes: Axes, scores: list[FloatArray], slopes: FloatArray) -> FloatArray:
    """Return ``Σ s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ``, with the mechanism's parameters at the end."""
    g, k = len(scores), axes.size
    out = np.zeros((axes.chart.size, axes.chart.size))
    for h, own in enumerate(axes.of_class):
        for j in range(h + 1):
            part = scores[h] @ (slopes[:, h, j] * scores[j]).T
            out[np.ix_(own, axes.of_class[j])] += part
            if j < h:
                out[np.ix_(axes.of_class[j], own)] += part.T
        out[own, k:] += scores[h] @ slopes[:, h, g:] @ axes.chart.theta_axes
    out[k:, :k] = out[:k, k:].T
    theta = axes.chart.theta_axes
    out[k:, k:] = theta.T @ slopes[:, g:, g:].sum(axis=0) @ theta
    return out


def _at_fixed_weights(
    family: Family, axes: Axes, evaluation: Evaluation, moved: list[FloatArray]
) -> FloatArray:
    """Return the derivative of the weighted score, the family's prior included."""
    chart, k = axes.chart, axes.size
    nothing = evaluation._replace(theta_gradient=np.zeros_like(evaluation.theta_gradient))

    def score(index: int, vector: FloatArray) -> FloatArray:
        state = chart.decode(vector)
        known = family.restate(chart.reference.params, evaluation.statistics, state.params)
        statistics = tuple(part[index] for part in moved) if known is None else known
        return chart.gradient(state, nothing._replace(statistics=statistics))[:k]

    out, known = np.zeros((k, k)), np.zeros((k, k), dtype=bool)
    for index, group in enumerate(axes.together):
        ahead = score(2 * index, axes.step(group, 1))
        behind = score(2 * index + 1, axes.step(group, -1))
        slope = (ahead - behind) / (2 * STEP)
        # An entry is due to that axis of the group which has a class in common with its own. If
        # there are several, its own axis moves several classes, and by symmetry says the same.
        common = np.any(axes.moves[group][:, None, :] & axes.moves[None], axis=2)
        alone = common.sum(axis=0) == 1
        for axis, shared in zip(group, common, strict=True):
            out[alone & shared, axis] = slope[alone & shared]
            known[alone & shared, axis] = True
    return np.where(known & known.T, (out + out.T) / 2, np.where(known, out, out.T))


def _prior_curvature(mechanism: Mechanism, chart: Chart, evaluation: Evaluation) -> FloatArray:
    """Return the information of the weak priors: that of no rows at all."""
    empty = evaluation._replace(statistics=tuple(np.zeros_like(s) for s in evaluation.statistics))
    out = np.empty((chart.size, chart.size))
    for axis in range(chart.size):
        vector = np.zeros(chart.size)
        vector[axis] = STEP
        ahead, behind = (
            _prior_gradient(mechanism, chart, chart.decode(v), empty) for v in (vector, -vector)
        )
        out[axis] = (behind - ahead) / (2 * STEP)
    return (out + out.T) / 2


def _prior_gradient(
    mechanism: Mechanism, chart: Chart, state: State, empty: Evaluation
) -> FloatArray:
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
        _scatter_block,
        family=likelihood.family,
        mechanism=likelihood.mechanism,
        alpha=likelihood.alpha,
        axes=find_axes(likelihood.family, chart),
    )
    with one_blas_thread():
        (out,) = likelihood.rows.sum(work)
    return np.asarray(out)


def _scatter_block(
    block: Block, family: Family, mechanism: Mechanism, alpha: float, axes: Axes
) -> tuple[FloatArray]:
    state = axes.chart.reference
    pull = _row_scores(block, mechanism, alpha, log_joint(family, state, block.X), state.theta)
    g = state.weights.size
    classes = mix(axes, class_scores(family, axes, block.X), pull[:, :g])
    score = np.hstack((classes, pull[:, g:] @ axes.chart.theta_axes))
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
