"""Curvature of a log-likelihood in a chart.

Every likelihood of the package is a function of log joint densities ``ℓ_ih = log π_h + log f_h``
and of the mechanism's parameters, with gradient ``Σ w_ih s_ih`` (see :mod:`hesitant.likelihood`).
Its second derivative therefore has two parts,

    Σ_ih w_ih ∂²ℓ_ih/∂ψ²     a weighted score at fixed weights, moved a little: classes are apart;
    Σ_ihk s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ     what a row's posterior has to say, from scores of rows.

One pass over the rows gives both, where differences of the whole gradient would take two passes
for every parameter.
"""

from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._typing import FloatArray
from hesitant.inference._scores import STEP, Axes, Scores, label_spread, log_joint
from hesitant.likelihood import Evaluation, Likelihood, normalise
from hesitant.mechanisms import Mechanism, row_term
from hesitant.mechanisms._base import Difficulty
from hesitant.rows import Block, add, sided

Model: TypeAlias = tuple[Axes, Mechanism, float]

# A direction about which the data say less than this share of what complete labels would.
FLAT = 1e-6
# More than any smooth likelihood has, in the same units.
SHARP = 1e4
# In log densities, for derivatives of a row's weights.
NUDGE = 1e-6


def curvature(
    likelihood: Likelihood, axes: Axes, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    chart, mechanism, k = axes.chart, likelihood.mechanism, axes.size
    here = chart.reference.params
    look = axes.family.restate(here, evaluation.statistics, here) is None
    work = partial(_curvature_block, model=(axes, mechanism, likelihood.alpha), look=look)
    with one_blas_thread():
        found = likelihood.rows.sum(work)
    total = -axes.in_chart(axes.matrix(*found[:3]))
    fixed, prior = np.zeros_like(total), np.zeros_like(total)
    fixed[:k, :k], prior[:k, :k] = -_at_fixed_weights(axes, evaluation, found[3:])
    first, theta = int(chart.splits[0]), chart.reference.theta
    prior[:first, :first] = 0.0  # class weights have no prior
    if axes.family.adaptive_prior:  # not weak, but part of the model: its rows count as rows
        prior[:k, :k] = 0.0
    none = (0.0, np.zeros_like(theta), np.zeros((theta.size, theta.size)))
    fixed[k:, k:] = chart.theta_axes.T @ mechanism.add_prior(theta, none)[2] @ chart.theta_axes
    prior[k:, k:] = fixed[k:, k:]
    total += fixed
    return total, total - prior, chart.gradient(chart.reference, evaluation)


def scatter(likelihood: Likelihood, axes: Axes) -> FloatArray:
    """Return the sum of outer products of single rows' scores, the sandwich's filling."""
    model = (axes, likelihood.mechanism, likelihood.alpha)
    with one_blas_thread():
        found = likelihood.rows.sum(partial(_scatter_block, model=model))
    return axes.in_chart(axes.matrix(*found))


def _scatter_block(block: Block, model: Model) -> tuple[FloatArray, ...]:
    axes, mechanism, alpha = model
    joint = log_joint(axes.family, axes.chart.reference, block.X)
    pull, gradient = _said(block, mechanism, joint.copy(), axes.chart.reference.theta)
    weights = _expected(block, alpha, normalise(joint)[1]) + pull
    sums = []
    for part in axes.chunks(len(block.X)):
        w, d = weights[part, :, None], gradient[part]
        outer, edges = w * weights[part, None], w * d[:, None]
        sums.append(Scores(axes, block.X[part]).sums(outer, False, edges, d.T @ d))
    return reduce(add, sums)


def _curvature_block(block: Block, model: Model, look: bool) -> tuple[FloatArray, ...]:
    """Return the posterior's part, and (to ``look`` at) statistics a step along every axis."""
    axes, mechanism, alpha = model
    theta = axes.chart.reference.theta
    joint = log_joint(axes.family, axes.chart.reference, block.X)
    log_tau, tau, _ = normalise(joint.copy())
    inner = _inner(block, mechanism, mechanism.difficulty(log_tau, tau, slopes=False), theta)
    sums: list[tuple[FloatArray, ...]] = []
    for part in axes.chunks(len(joint)):
        slopes, edges = _slopes(block[part], joint[part], model)
        more = inner if not sums else 0.0
        sums.append(Scores(axes, block.X[part]).sums(slopes, True, edges, more))
    out = reduce(add, sums)
    if look:
        weights = _expected(block, alpha, tau) + _said(block, mechanism, joint, theta)[0]
        points = [axes.step(group, sign) for group in axes.together for sign in (1, -1)]
        moved = [axes.chart.decode(point).params for point in points]
        found = [axes.family.statistics(params, block.X, weights) for params in moved]
        out += tuple(np.stack(part) for part in zip(*found, strict=True))
    return out


def _slopes(block: Block, joint: FloatArray, model: Model) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of rows' weights in log joint densities (n, g, g) and theta (n, g, q)."""
    axes, mechanism, alpha = model
    theta, (n, g) = axes.chart.reference.theta, joint.shape
    edges, steps = np.zeros((n, g, theta.size)), np.zeros((n, g, g))
    loose = np.where(block.labelled, 0.0, sided(block, alpha))[:, None, None]
    slopes = loose * label_spread(normalise(joint.copy())[1])
    if not theta.size:  # nothing but labels was said
        return slopes, edges
    for h, nudge in enumerate(NUDGE * np.eye(g)[1:], start=1):
        ahead, behind = (_said(block, mechanism, joint + d, theta) for d in (nudge, -nudge))
        steps[:, :, h], edges[:, h] = (
            (a - b) / (2 * NUDGE) for a, b in zip(ahead, behind, strict=True)
        )
    # A row's posterior stays where all its densities rise alike.
    steps[:, :, 0], edges[:, 0] = -steps.sum(axis=2), -edges.sum(axis=1)
    return slopes + (steps + steps.transpose(0, 2, 1)) / 2, edges


def _inner(block: Block, mechanism: Mechanism, seen: Difficulty, theta: FloatArray) -> FloatArray:
    """Return the sum over rows of the pattern's second derivatives in theta."""

    def gradient(theta: FloatArray) -> FloatArray:
        evidence = mechanism.evidence(seen, block.said, theta)
        rows = row_term(evidence, seen.log_tau, seen.tau, block.codes)
        return np.asarray(block.review @ rows.gradient)

    nudges = NUDGE * np.eye(theta.size)
    out = [(gradient(theta + d) - gradient(theta - d)) / (2 * NUDGE) for d in nudges]
    each = np.reshape(out, (theta.size, theta.size))
    return (each + each.T) / 2


def _expected(block: Block, alpha: float, tau: FloatArray) -> FloatArray:
    """Return the rows' weights by features and labels alone."""
    known = np.where(block.labelled[:, None], np.eye(tau.shape[1])[block.codes], tau)
    return sided(block, alpha)[:, None] * known


def _said(
    block: Block, mechanism: Mechanism, joint: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of what was said of each row, in its ``joint`` and in theta."""
    log_tau, tau, _ = normalise(joint)
    evidence = mechanism.evidence(mechanism.difficulty(log_tau, tau), block.said, theta)
    rows = row_term(evidence, log_tau, tau, block.codes)
    review = block.review[:, None]
    return (review * rows.pull if len(rows.pull) else np.zeros_like(tau)), review * rows.gradient


def _at_fixed_weights(
    axes: Axes, evaluation: Evaluation, moved: tuple[FloatArray, ...]
) -> FloatArray:
    """Return derivatives (2, k, k) of the weighted score, and of the weak priors in it alone."""
    chart, k, here = axes.chart, axes.size, axes.chart.reference
    data = evaluation._replace(theta_gradient=np.zeros_like(evaluation.theta_gradient))
    nothing = tuple(np.zeros_like(s) for s in evaluation.statistics)
    empty = data._replace(counts=chart.total * here.weights, statistics=nothing)

    def score(index: int, vector: FloatArray) -> FloatArray:
        state = chart.decode(vector)
        known = axes.family.restate(here.params, evaluation.statistics, state.params)
        statistics = tuple(part[index] for part in moved) if known is None else known
        both = (data._replace(statistics=statistics), empty)
        return np.stack([chart.gradient(state, each)[:k] for each in both])

    out, known = np.zeros((2, k, k)), np.zeros((k, k), dtype=bool)
    for index, group in enumerate(axes.together):
        ahead = score(2 * index, axes.step(group, 1))
        behind = score(2 * index + 1, axes.step(group, -1))
        slope = (ahead - behind) / (2 * STEP)
        # An entry is due to that axis of the group which has a class in common with its own. If
        # there are several, its own axis moves several classes, and by symmetry says the same.
        common = np.any(axes.moves[group][:, None, :] & axes.moves[None], axis=2)
        alone = common.sum(axis=0) == 1
        for axis, shared in zip(group, common, strict=True):
            out[:, alone & shared, axis] = slope[:, alone & shared]
            known[alone & shared, axis] = True
    turned = out.transpose(0, 2, 1)
    return np.where(known & known.T, (out + turned) / 2, np.where(known, out, turned))


def invert(total: FloatArray, from_data: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the inverse along directions the data determine, the others, and those too sharp."""
    eye = np.eye(len(total))
    try:  # nearly always there are none of either, and to see that is a tenth of the work
        np.linalg.cholesky(from_data - FLAT * eye)
        np.linalg.cholesky(SHARP * eye - from_data)
    except np.linalg.LinAlgError:
        value, vector = np.linalg.eigh(from_data)
    else:
        return np.asarray(np.linalg.inv(total), dtype=float), eye[:, :0], eye[:, :0]
    flat, kept = vector[:, value <= FLAT], vector[:, value > FLAT]
    V = np.zeros_like(total)
    if kept.shape[1]:
        V[:] = kept @ np.linalg.inv(kept.T @ total @ kept) @ kept.T
    return V, flat, vector[:, value > SHARP]
