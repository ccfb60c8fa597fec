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
from typing import NamedTuple, Self

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.families import Family
from hesitant.inference._estimates import NaturalUnits
from hesitant.inference._scores import STEP, Axes, class_scores, find_axes, log_joint, mix
from hesitant.likelihood import Evaluation, Likelihood, State, normalise
from hesitant.mechanisms import Mechanism, row_term
from hesitant.rows import Block, sided

# A direction about which the data say less than this share of what complete labels would.
FLAT = 1e-6
# In log densities, for derivatives of a row's weights.
NUDGE = 1e-6
# Scores that are kept at a time.
ENTRIES = 2_000_000


class _Model(NamedTuple):
    """What a likelihood is, without its rows."""

    family: Family
    mechanism: Mechanism
    alpha: float

    @classmethod
    def of(cls, likelihood: Likelihood) -> Self:
        return cls(likelihood.family, likelihood.mechanism, likelihood.alpha)


def curvature(
    likelihood: Likelihood, chart: Chart, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    family, mechanism = likelihood.family, likelihood.mechanism
    axes = find_axes(family, chart)
    follows = family.restate(chart.reference.params, evaluation.statistics, chart.reference.params)
    model = _Model.of(likelihood)
    work = partial(_curvature_block, model=model, axes=axes, look=follows is None)
    with one_blas_thread():
        posterior, *moved = likelihood.rows.sum(work)
    total = -posterior
    total[: axes.size, : axes.size] -= _at_fixed_weights(family, axes, evaluation, moved)
    prior = _prior_curvature(family, mechanism, axes, evaluation)
    total[axes.size :, axes.size :] += prior[axes.size :, axes.size :]
    return total, total - prior, chart.gradient(chart.reference, evaluation)


def _curvature_block(
    block: Block, model: _Model, axes: Axes, look: bool
) -> tuple[FloatArray, ...]:
    """Return the posterior's part, and (to ``look`` at) statistics a step along every axis."""
    sums: list[FloatArray] = []
    size = max(256, ENTRIES // sum(own.size for own in axes.of_class))
    for start in range(0, max(len(block.X), 1), size):
        rows = block[start : start + size]
        weights, slopes = _slopes(rows, model, axes.chart.reference)
        scores = class_scores(model.family, axes, rows.X)
        parts = [_posterior_part(axes, scores, slopes)]
        if look:
            points = [axes.step(group, sign) for group in axes.together for sign in (1, -1)]
            moved = [axes.chart.decode(point).params for point in points]
            found = [model.family.statistics(params, rows.X, weights) for params in moved]
            parts += [np.stack(part) for part in zip(*found, strict=True)]
        sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    return tuple(sums)


def _slopes(block: Block, model: _Model, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the rows' weights w (n, g), and how they and the pattern's own scores move.

    The second has the shape (n, g + q, g + q): derivatives in the log joint densities first, then
    in the mechanism's q parameters.
    """
    family, mechanism, alpha = model
    joint, theta = log_joint(family, state, block.X), state.theta
    (n, g), q = joint.shape, theta.size
    weights, tau = _expected(block, alpha, joint.copy())
    slopes = np.zeros((n, g + q, g + q))
    loose = np.where(block.labelled, 0.0, sided(block, alpha))[:, None] * tau
    slopes[:, :g, :g] = -loose[:, :, None] * tau[:, None, :]
    slopes[:, range(g), range(g)] += loose
    if not q:  # nothing but labels was said
        return weights, slopes
    steps = np.empty((n, g + q, g + q))
    for place, nudge in enumerate(NUDGE * np.eye(g + q)):
        ahead = _said(block, mechanism, joint + nudge[:g], theta + nudge[g:])
        behind = _said(block, mechanism, joint - nudge[:g], theta - nudge[g:])
        steps[:, :, place] = (ahead - behind) / (2 * NUDGE)
    slopes += (steps + steps.transpose(0, 2, 1)) / 2
    return weights + _said(block, mechanism, joint.copy(), theta)[:, :g], slopes


def _expected(block: Block, alpha: float, joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows' weights by features and labels alone, and their posteriors."""
    _, tau, _ = normalise(joint)
    known = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    return sided(block, alpha)[:, None] * known, tau


def _said(block: Block, mechanism: Mechanism, joint: FloatArray, theta: FloatArray) -> FloatArray:
    """Return derivatives of what was said of each row, in its ``joint`` and in theta."""
    log_tau, tau, _ = normalise(joint)
    evidence = mechanism.evidence(mechanism.difficulty(log_tau, tau), block.said, theta)
    rows = row_term(evidence, log_tau, tau, block.codes)
    return block.review[:, None] * np.hstack((rows.pull, rows.gradient))


def _posterior_part(axes: Axes, scores: list[FloatArray], slopes: FloatArray) -> FloatArray:
    """Return ``Σ s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ``, with the mechanism's parameters at the end."""
    g, k = len(scores), axes.size
    out = np.zeros((axes.chart.size, axes.chart.size))
    for h, own in enumerate(axes.of_class):
        for j in range(h + 1):
            part = _product(scores[h], slopes[:, h, j], scores[j])
            out[np.ix_(own, axes.of_class[j])] += part
            if j < h:
                out[np.ix_(axes.of_class[j], own)] += part.T
        out[own, k:] += scores[h] @ slopes[:, h, g:] @ axes.chart.theta_axes
    out[k:, :k] = out[:k, k:].T
    theta = axes.chart.theta_axes
    out[k:, k:] = theta.T @ slopes[:, g:, g:].sum(axis=0) @ theta
    return out


def _product(a: FloatArray, weight: FloatArray, b: FloatArray) -> FloatArray:
    """Return ``a diag(weight) bᵀ``; rows that are sure of their class weigh nothing."""
    counts = np.abs(weight) > 1e-17 * np.abs(weight).max(initial=0.0)
    if counts.mean() < 0.7:
        a, weight, b = a[:, counts], weight[counts], b[:, counts]
    return np.asarray(a @ (weight * b).T)


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


def _prior_curvature(
    family: Family, mechanism: Mechanism, axes: Axes, evaluation: Evaluation
) -> FloatArray:
    """Return the information of the weak priors: that of no rows at all."""
    chart, k = axes.chart, axes.size
    empty = evaluation._replace(
        counts=chart.total * chart.reference.weights,
        statistics=tuple(np.zeros_like(s) for s in evaluation.statistics),
    )
    nothing = [np.zeros((2 * len(axes.together), *s.shape)) for s in evaluation.statistics]
    out = np.zeros((chart.size, chart.size))
    first = int(chart.splits[0])
    out[:k, :k] = -_at_fixed_weights(family, axes, empty, nothing)
    out[:first, :first] = 0.0  # class weights have no prior
    theta, q = chart.reference.theta, chart.reference.theta.size
    none = (0.0, np.zeros(q), np.zeros((q, q)))
    out[k:, k:] = chart.theta_axes.T @ mechanism.add_prior(theta, none)[2] @ chart.theta_axes
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
    axes = find_axes(likelihood.family, chart)
    work = partial(_scatter_block, model=_Model.of(likelihood), axes=axes)
    with one_blas_thread():
        (out,) = likelihood.rows.sum(work)
    return np.asarray(out)


def _scatter_block(block: Block, model: _Model, axes: Axes) -> tuple[FloatArray]:
    (family, mechanism, alpha), state = model, axes.chart.reference
    joint, g = log_joint(family, state, block.X), state.weights.size
    said = _said(block, mechanism, joint.copy(), state.theta)
    weights = _expected(block, alpha, joint)[0] + said[:, :g]
    classes = mix(axes, class_scores(family, axes, block.X), weights)
    score = np.hstack((classes, said[:, g:] @ axes.chart.theta_axes))
    return (score.T @ score,)


def natural_jacobian(units: NaturalUnits, axes: Axes) -> FloatArray:
    """Return how each natural parameter moves with the chart's coordinates, at its reference."""
    chart = axes.chart
    out = np.zeros((len(units.names), chart.size))
    own = units.classes >= 0
    # A number that belongs to a class is moved by that one of a group's axes which moves it.
    by_class = [*axes.together, *np.arange(axes.size, chart.size)[:, None]]
    for group in by_class:
        vector = np.zeros(chart.size)
        vector[group] = STEP
        ahead, behind = units.values(chart.decode(vector)), units.values(chart.decode(-vector))
        with np.errstate(invalid="ignore"):  # infinite all along: NaN, and not listed
            slope = (ahead - behind) / (2 * STEP)
        for axis in group.tolist():
            moved = np.ones(own.size, dtype=bool)
            if len(group) > 1:
                moved = own & axes.moves[axis][units.classes]
            out[moved, axis] = slope[moved]
    return out
