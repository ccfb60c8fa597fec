"""Curvature of a log-likelihood in a chart.

With gradient ``Σ w_ih s_ih`` (see :mod:`hesitant.likelihood`) the second derivative has two parts,

    Σ_ih w_ih ∂²ℓ_ih/∂ψ²     a weighted score at fixed weights, moved a little: classes are apart;
    Σ_ihk s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ     what a row's posterior has to say, from scores of rows.

One pass over the rows gives the second, and the first where no formula gives it.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf

from hesitant._typing import FloatArray
from hesitant.families._base import Params, Statistics
from hesitant.inference._scores import STEP, Axes, Weights, log_joint, nudged, outer, products
from hesitant.likelihood import Evaluation, Posterior, normalise
from hesitant.mechanisms import row_term
from hesitant.model import FittedModel
from hesitant.rows import Block, ManyRows, sided

# A direction about which the data say less than this share of what complete labels would.
FLAT = 1e-6
# More than any smooth likelihood has, in the same units.
SHARP = 1e4
# In log densities, for derivatives of a row's weights.
NUDGE = 1e-6


def curvature(
    model: FittedModel, rows: ManyRows, axes: Axes, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    chart, k, statistics = axes.chart, axes.size, evaluation.statistics
    total = -axes.in_chart(products(rows, axes, partial(_slopes, model=model), balanced=True))
    first = int(chart.splits[0])
    own = slice(first, k)
    prior = np.zeros_like(total)
    nothing = tuple(np.zeros_like(s) for s in statistics)
    prior[own, own] = -_at_fixed_weights(axes, nothing, lambda points: [nothing] * len(points))

    def look(points: list[Params]) -> Iterable[Statistics]:
        moved: Statistics = rows.sum(partial(_moved, model=model, points=points))
        return zip(*moved, strict=True)

    total[own, own] -= _at_fixed_weights(axes, statistics, look)
    total[:first, :first] += np.eye(first)  # so the chart scales class weights, without a prior
    if axes.family.adaptive_prior:  # not weak, but part of the model: its rows count as rows
        prior[own, own] = 0.0
    weak = model.mechanism.information(model.state.theta, 0.0)
    prior[k:, k:] = chart.theta_axes.T @ weak @ chart.theta_axes
    total[k:, k:] += prior[k:, k:]
    return total, total - prior, chart.gradient(chart.reference, evaluation)


def scatter(model: FittedModel, rows: ManyRows, axes: Axes) -> FloatArray:
    """Return the sum of outer products of single rows' scores, the sandwich's filling."""

    def weigh(block: Block) -> Weights:
        return outer(np.ones(len(block.X)), *_weights(block, model))

    return axes.in_chart(products(rows, axes, weigh))


def _moved(block: Block, model: FittedModel, points: list[Params]) -> Statistics:
    """Return statistics at several points, the rows' weights staying the same."""
    w, _ = _weights(block, model)
    found = [model.family.statistics(params, block.X, w) for params in points]
    return tuple(np.stack(part) for part in zip(*found, strict=True))


def _weights(block: Block, model: FittedModel) -> tuple[FloatArray, FloatArray]:
    """Return the rows' weights in the score, and their derivatives in theta."""
    posterior = model.posterior(block.X)
    pull, gradient = _said(block, model, posterior)
    known = np.where(block.labelled[:, None], np.eye(pull.shape[1])[block.codes], posterior[1])
    return sided(block, model.alpha)[:, None] * known + pull, gradient


def _slopes(block: Block, model: FittedModel) -> Weights:
    """Return derivatives of rows' weights in log joint densities, and in theta."""
    joint, theta = log_joint(model.family, model.state, block.X), model.state.theta
    n, g = joint.shape
    edges, steps = np.zeros((n, g, theta.size)), np.zeros((n, g, g))
    log_tau, tau, _ = normalise(joint.copy())
    # diag(τ) − ττᵀ, exact where one class is all but sure
    spread = -tau[:, :, None] * tau[:, None]
    np.einsum("ihh->ih", spread)[:] = 0.0
    np.einsum("ihh->ih", spread)[:] = -spread.sum(axis=2)
    slopes = np.where(block.labelled, 0.0, sided(block, model.alpha))[:, None, None] * spread
    if not theta.size:  # nothing but labels was said
        return slopes, edges, np.zeros((0, 0))
    for h, nudge in enumerate(NUDGE * np.eye(g)[1:], start=1):
        ahead, behind = (_said(block, model, normalise(joint + d)) for d in (nudge, -nudge))
        steps[:, :, h], edges[:, h] = (
            (a - b) / (2 * NUDGE) for a, b in zip(ahead, behind, strict=True)
        )
    # A row's posterior stays where all its densities rise alike.
    steps[:, :, 0], edges[:, 0] = -steps.sum(axis=2), -edges.sum(axis=1)
    seen = model.mechanism.difficulty(log_tau, tau, slopes=False)

    def gradient(theta: FloatArray) -> FloatArray:
        evidence = model.mechanism.evidence(seen, block.said, theta)
        return np.asarray(block.review @ row_term(evidence, log_tau, tau, block.codes).gradient)

    nudges = NUDGE * np.eye(theta.size)
    inner = np.array([gradient(theta + d) - gradient(theta - d) for d in nudges]) / (2 * NUDGE)
    return slopes + (steps + steps.transpose(0, 2, 1)) / 2, edges, (inner + inner.T) / 2


def _said(block: Block, model: FittedModel, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of what was said of each row, in its log densities and in theta."""
    rows, review = model.row_term(posterior, block.said, block.codes), block.review[:, None]
    pull = rows.pull
    return (review * pull if len(pull) else np.zeros_like(posterior[1])), review * rows.gradient


def _at_fixed_weights(
    axes: Axes, statistics: Statistics, look: Callable[[list[Params]], Iterable[Statistics]]
) -> FloatArray:
    """Return derivatives of the family's weighted score; ``look`` gives statistics at points."""
    chart, first = axes.chart, int(axes.chart.splits[0])
    known = chart.family.hessian(statistics)
    if known is not None:
        return known
    groups = [group for group in axes.together if group[0] >= first]
    steps = [(group, sign) for group in groups for sign in (1, -1)]
    moved = look([nudged(chart, *step).params for step in steps])
    # A chart that folds must have decoded the very point at which it gives a gradient.
    scores = [
        chart.family.gradient(nudged(chart, *step).params, each)
        for step, each in zip(steps, moved, strict=True)
    ]
    moves, size = axes.moves[first:], axes.size - first
    out, found = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
    for index, group in enumerate(groups):
        slope = (scores[2 * index] - scores[2 * index + 1]) / (2 * STEP)
        # An entry is due to that axis of the group which has a class in common with its own. If
        # there are several, its own axis moves several classes, and by symmetry says the same.
        common = np.any(axes.moves[group][:, None, :] & moves[None], axis=2)
        alone = common.sum(axis=0) == 1
        for axis, shared in zip(group - first, common, strict=True):
            out[alone & shared, axis] = slope[alone & shared]
            found[alone & shared, axis] = True
    return np.where(found & found.T, (out + out.T) / 2, np.where(found, out, out.T))


def invert(total: FloatArray, from_data: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the inverse along directions the data determine, the others, and those too sharp."""
    eye = np.eye(len(total))
    # nearly always there are none of either, and to see that is a tenth of the work
    if positive(from_data - FLAT * eye) and positive(SHARP * eye - from_data):
        return np.asarray(np.linalg.inv(total), dtype=float), eye[:, :0], eye[:, :0]
    value, vector = np.linalg.eigh(from_data)
    few = value <= FLAT
    flat = vector[:, few]
    # With as much information along the flat directions as complete labels would give, the
    # inverse is regular, and what it has along them is taken out again.
    V = np.linalg.inv(total + (flat * (1 - value[few])) @ flat.T)
    along = V @ flat
    V = V - along @ np.linalg.solve(flat.T @ along, along.T)
    return V, flat, vector[:, value > SHARP]


def positive(matrix: FloatArray) -> bool:
    """Whether a symmetric matrix is positive definite."""
    return bool(dpotrf(matrix, lower=1)[1] == 0)
