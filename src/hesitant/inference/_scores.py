"""Scores of single rows in a chart, and weighted sums of their products.

The complete-data score is ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ``. Where the chart has no formula for
it, it is a central difference of log densities; most axes belong to one class, so one evaluation
can move an axis of every class. Observed and expected information, the sandwich's filling and what
a label adds all are sums ``Σ_i Σ_hj c_ihj s_ih s_ijᵀ``: :func:`products`. Gaussian scores are
polynomials of the second degree, so theirs are moments of the rows, whatever the class.
"""

import dataclasses
from collections.abc import Callable
from itertools import combinations_with_replacement, zip_longest
from typing import Any, TypeAlias

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.chart import Chart, chart_at
from hesitant.families import Family
from hesitant.likelihood import Evaluation, State
from hesitant.model import FittedModel
from hesitant.rows import Block, ManyRows

Weights: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Of products of rows' scores (n, g, g), symmetric; of those with the mechanism's parameters
(n, g, q); and the sum of products among these (q, q)."""

# In units of one complete-data standard error: far from rounding, and from curvature too.
STEP = 1e-3
PROBES = 3  # rows of each class
NEGLIGIBLE = 1e-17  # beside the largest weight
ENTRIES = 2_000_000  # numbers that are kept at a time


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a chart that move classes (those of the mechanism are left out)."""

    family: Family
    chart: Chart
    moves: BoolArray  # (k, g)
    of_class: list[IntArray]  # the axes that move each class
    together: list[IntArray]  # axes that no class has two of: moved at once
    origin: FloatArray  # units in which scores may be quadratic
    unit: FloatArray
    quadratic: list[FloatArray] | None  # each class's coefficients, (its axes, monomials)

    @property
    def size(self) -> int:
        return len(self.moves)

    def in_chart(self, sums: FloatArray) -> FloatArray:
        """Return sums that end with the mechanism's own parameters in the chart's coordinates."""
        k, turn = self.size, self.chart.theta_axes
        edges, inner = sums[:k, k:] @ turn, turn.T @ sums[k:, k:] @ turn
        return np.block([[sums[:k, :k], edges], [edges.T, inner]])


def axes_at(model: FittedModel, rows: ManyRows) -> tuple[Axes, Evaluation]:
    """Return the axes of a chart about a fitted model, scaled to rows, and their likelihood."""
    chart, evaluation = chart_at(model.likelihood(rows), model.state)
    return find_axes(model.family, chart), evaluation


def nudged(chart: Chart, axes: Any, sign: int = 1) -> State:
    """Return the state one step along some axes."""
    vector = np.zeros(chart.size)
    vector[axes] = sign * STEP
    return chart.decode(vector)


def find_axes(family: Family, chart: Chart) -> Axes:
    """Look which densities change along which axis, at a few rows of each class."""
    state = chart.reference
    g, k = state.weights.size, int(chart.splits[-1])
    rng = np.random.default_rng(0)
    X = np.concatenate([family.sample(state.params, h, PROBES, rng) for h in range(g)])
    still = family.log_density(state.params, X)
    moves = np.ones((k, g), dtype=bool)
    first = int(chart.splits[0])  # weights concern every class
    for h in range(g):
        own = chart.family.movers(h)
        if own is not None:
            moves[first:, h] = False
            moves[first + own, h] = True
    for axis in first + np.flatnonzero(moves[first:].all(axis=1)):
        moved = family.log_density(nudged(chart, axis).params, X)
        changed = (np.abs(moved - still) > 1e-12 * (1.0 + np.abs(still))).any(axis=0)
        # Where nothing seems to move, nothing is known.
        moves[axis] = changed if changed.any() else True
    own_axes = [np.flatnonzero(moves[:, h]) for h in range(g)]
    unit = np.maximum(X.std(axis=0), 1e-300)
    axes = Axes(family, chart, moves, own_axes, _together(moves), X.mean(axis=0), unit, None)
    return dataclasses.replace(axes, quadratic=_coefficients(axes, X))


def _together(moves: BoolArray) -> list[IntArray]:
    """Return axes in groups: one of each class, or a single one that moves several classes."""
    alone = moves.sum(axis=1) == 1
    own = [np.flatnonzero(alone & moved).tolist() for moved in moves.T]
    groups = [[axis] for axis in np.flatnonzero(~alone).tolist()]
    for several in zip_longest(*own):
        groups.append([axis for axis in several if axis is not None])
    return [np.array(group) for group in groups]


def log_joint(family: Family, state: State, X: AnyArray) -> FloatArray:
    """Return ``log π_h + log f_h(x_i)`` as (n, g)."""
    return family.log_density(state.params, X) + np.log(np.maximum(state.weights, 1e-300))


def class_scores(axes: Axes, X: AnyArray) -> list[FloatArray]:
    """Return each class's complete-data scores of rows (its axes, n) at the chart's reference."""
    chart = axes.chart
    first = int(chart.splits[0])
    turn = chart.weight_axes - chart.reference.weights @ chart.weight_axes
    out, left = [], np.zeros(axes.size, dtype=bool)
    for h, own in enumerate(axes.of_class):
        scores = np.empty((own.size, len(X)))
        scores[:first] = turn[h][:, None]
        places, known = chart.family.row_scores(X, h)
        scores[np.searchsorted(own, first + places)] = known
        left[np.setdiff1d(own[first:], first + places)] = True
        out.append(scores)
    for group in axes.together:
        moved = group[left[group]]
        if not moved.size:
            continue
        ahead, behind = (log_joint(axes.family, nudged(chart, moved, s), X) for s in (1, -1))
        slope = (ahead - behind) / (2 * STEP)
        for axis in moved:
            for h in np.flatnonzero(axes.moves[axis]).tolist():
                out[h][np.searchsorted(axes.of_class[h], axis)] = slope[:, h]
    return out


def outer(chance: FloatArray, pull: FloatArray, gradient: FloatArray) -> Weights:
    """Return the weights of the outer products of rows' scores, each counted by a chance (n,)."""
    each = chance[:, None] * pull
    return (
        each[:, :, None] * pull[:, None],
        each[:, :, None] * gradient[:, None],
        (chance[:, None] * gradient).T @ gradient,
    )


def products(
    rows: ManyRows,
    axes: Axes,
    weigh: Callable[[Block], Weights],
    *,
    balanced: bool = False,
    stride: int = 1,
) -> FloatArray:
    """Return ``Σ_i Σ_hj c_ihj s_ih s_ijᵀ``, the mechanism's parameters last.

    ``weigh`` gives the weights of a block's rows, of which ``balanced`` says whether those of a
    row's classes sum to zero; with a ``stride`` some rows stand for all.
    """

    def work(block: Block) -> tuple[FloatArray]:
        block, total = block[::stride], np.zeros(())
        size = max(256, ENTRIES // sum(own.size for own in axes.of_class))
        for start in range(0, max(len(block.X), 1), size):
            part = block[start : start + size]
            total = total + Scores(axes, part.X).total(*weigh(part), balanced)
        return (total,)

    with one_blas_thread():
        total: FloatArray = rows.sum(work)[0]
    return stride * total


class Scores:
    """Scores of some rows: each class's own, or powers of the features that make them up."""

    def __init__(self, axes: Axes, X: AnyArray) -> None:
        self.axes, self.turn = axes, axes.quadratic
        z = (X - axes.origin) / axes.unit
        # Not where cells are empty, or so far out that sums of powers would cancel; and of few
        # rows scores are quicker.
        if len(X) <= 2 * axes.unit.size**2 or not np.abs(z).max() < 1e3:
            self.turn = None
        g = len(axes.of_class)
        self.parts = class_scores(axes, X) if self.turn is None else [_powers(z)] * g

    def total(
        self,
        weights: FloatArray,
        edges: FloatArray | None = None,
        inner: Any = 0.0,
        balanced: bool = False,
    ) -> FloatArray:
        """Return the sum of weighted products, the mechanism's parameters last."""
        own, k, parts, turn = self.axes.of_class, self.axes.size, self.parts, self.turn
        q = 0 if edges is None else edges.shape[2]
        out = np.zeros((k + q, k + q))
        out[k:, k:] = inner
        short = balanced and turn is not None  # products of a class with itself follow
        sums = {
            (h, j): _product(parts[h], weights[:, h, j], parts[j])
            for h, j in combinations_with_replacement(range(len(own)), 2)
            if h < j or not short
        }
        if short:
            for h in range(len(own)):
                sums[h, h] = -np.sum([s for pair, s in sums.items() if h in pair], axis=0)
        for (h, j), part in sums.items():
            part = turn[h] @ part @ turn[j].T if turn else part
            out[np.ix_(own[h], own[j])] += part
            if h < j:
                out[np.ix_(own[j], own[h])] += part.T
        if edges is not None:
            for h, scores in enumerate(parts):
                edge = scores @ edges[:, h]
                out[own[h], k:] += turn[h] @ edge if turn else edge
        out[k:, :k] = out[:k, k:].T
        return out


def _product(a: FloatArray, weight: FloatArray, b: FloatArray) -> FloatArray:
    """Return ``a diag(weight) bᵀ``; rows that are sure of their class weigh nothing."""
    counts = np.abs(weight) > NEGLIGIBLE * np.abs(weight).max(initial=0.0)
    if np.count_nonzero(counts) < 0.7 * len(counts):
        a, weight, b = a[:, counts], weight[counts], b[:, counts]
    return np.asarray((weight * a) @ b.T)


def _powers(z: FloatArray) -> FloatArray:
    """Return one, the features of rows z (n, p), and their products, as (m, n)."""
    x = np.ascontiguousarray(z.T)
    first, second = np.tril_indices(len(x))
    return np.concatenate((np.ones((1, len(z))), x, x[first] * x[second]))


def _coefficients(axes: Axes, X: FloatArray) -> list[FloatArray] | None:
    """Return the classes' scores as polynomials of the second degree; None unless they are."""
    p = X.shape[1]
    if len(axes.chart.family.row_scores(X, 0)[0]) == 0:  # no formula
        return None
    first, second = np.tril_indices(p)
    ends = np.eye(p)[first] + np.eye(p)[second]
    nodes = np.concatenate((np.zeros((1, p)), np.eye(p), np.where(ends == 2, -1.0, ends)))
    solve = np.linalg.inv(_powers(nodes))
    found = [s @ solve for s in class_scores(axes, axes.origin + axes.unit * nodes)]
    values = _powers((X - axes.origin) / axes.unit)
    for A, s in zip(found, class_scores(axes, X), strict=True):
        # Classes that are far apart beside their size would cancel in the moments.
        size = np.abs(A) @ np.abs(values).mean(axis=1)
        near = np.abs(A @ values - s).max(axis=1) <= 1e-11 * size + 1e-300
        if not (near & (size <= 100 * np.abs(s).mean(axis=1) + 1e-300)).all():
            return None
    return found
