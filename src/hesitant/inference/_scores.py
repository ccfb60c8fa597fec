"""Scores of single rows in a chart: what each row, with each class, says of every parameter.

The complete-data score is ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ``. Where the family's chart has no
formula for it, it is a central difference of log densities along the chart's axes. Most axes
belong to one class (its location, its scale matrix, its tails) and leave the others' densities
alone, so one evaluation can move an axis of every class, and scores of a class have as many
entries as axes that move it.
"""

import dataclasses

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.chart import Chart
from hesitant.families import Family
from hesitant.likelihood import State

# In units of one complete-data standard error: far from rounding, and from curvature too.
STEP = 1e-3
PROBES = 3  # rows of each class


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a chart that move classes (those of the mechanism are left out)."""

    chart: Chart
    moves: BoolArray  # (k, g)
    of_class: list[IntArray]  # the axes that move each class
    together: list[IntArray]  # axes that no class has two of: moved at once

    @property
    def size(self) -> int:
        """How many axes there are."""
        return len(self.moves)

    def step(self, axes: IntArray, sign: int) -> FloatArray:
        """Return the point of the chart one step along some axes."""
        vector = np.zeros(self.chart.size)
        vector[axes] = sign * STEP
        return vector


def find_axes(family: Family, chart: Chart) -> Axes:
    """Look which densities change along which axis, at a few rows of each class."""
    state = chart.reference
    g, k = state.weights.size, int(chart.splits[-1])
    rng = np.random.default_rng(0)
    X = np.concatenate([family.sample(state.params, h, PROBES, rng) for h in range(g)])
    X = np.ascontiguousarray(X)
    still = family.log_density(state.params, X)
    moves = np.ones((k, g), dtype=bool)
    first = int(chart.splits[0])  # weights concern every class
    for h in range(g):
        own = chart.family.movers(h)
        if own is not None:
            moves[first:, h] = False
            moves[first + own, h] = True
    vector = np.zeros(chart.size)
    for axis in first + np.flatnonzero(moves[first:].all(axis=1)):
        vector[axis] = STEP
        moved = family.log_density(chart.decode(vector).params, X)
        vector[axis] = 0.0
        changed = (np.abs(moved - still) > 1e-12 * (1.0 + np.abs(still))).any(axis=0)
        # Where nothing seems to move, nothing is known.
        moves[axis] = changed if changed.any() else True
    return Axes(chart, moves, [np.flatnonzero(moves[:, h]) for h in range(g)], _together(moves))


def _together(moves: BoolArray) -> list[IntArray]:
    """Return axes in groups: one of each class, or a single one that moves several classes."""
    own: list[list[int]] = [[] for _ in range(moves.shape[1])]
    out = []
    for axis, moved in enumerate(moves):
        if moved.sum() > 1:
            out.append(np.array([axis]))
        else:
            own[int(np.argmax(moved))].append(axis)
    for position in range(max(map(len, own))):
        out.append(np.array([axes[position] for axes in own if position < len(axes)]))
    return out


def log_joint(family: Family, state: State, X: AnyArray) -> FloatArray:
    """Return ``log π_h + log f_h(x_i)`` as (n, g)."""
    return family.log_density(state.params, X) + np.log(np.maximum(state.weights, 1e-300))


def class_scores(family: Family, axes: Axes, X: AnyArray) -> list[FloatArray]:
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
        ahead = log_joint(family, chart.decode(axes.step(moved, 1)), X)
        behind = log_joint(family, chart.decode(axes.step(moved, -1)), X)
        slope = (ahead - behind) / (2 * STEP)
        for axis in moved.tolist():
            for moving in np.flatnonzero(axes.moves[axis]).tolist():
                place = np.searchsorted(axes.of_class[moving], axis)
                out[moving][place] = slope[:, moving]
    return out


def mix(axes: Axes, scores: list[FloatArray], weights: FloatArray) -> FloatArray:
    """Return ``Σ_h weights_ih s_ih`` as (n, k)."""
    out = np.zeros((len(weights), axes.size))
    for h, (own, s) in enumerate(zip(axes.of_class, scores, strict=True)):
        out[:, own] += (weights[:, h] * s).T
    return out


def spread_out(axes: Axes, scores: list[FloatArray]) -> FloatArray:
    """Return all scores in one array (n, g, k), zeros included."""
    out = np.zeros((scores[0].shape[1], len(scores), axes.size))
    for h, (own, s) in enumerate(zip(axes.of_class, scores, strict=True)):
        out[:, h, own] = s.T
    return out
