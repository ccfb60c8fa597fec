"""Which classes each axis of a chart moves, and which axes can therefore be moved at once.

Most coordinates belong to one class: its location, its scale matrix, its tails. Along them the
densities of the other classes stand still, so one evaluation can move a coordinate of every class,
and scores of a class have as many entries as coordinates that move it, not as there are in all.
"""

import dataclasses

import numpy as np

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.chart import Chart
from hesitant.families import Family

__all__ = ["STEP", "Axes", "find_axes"]

# In units of one complete-data standard error: far from rounding, and from curvature too.
STEP = 1e-3
PROBES = 3  # rows of each class


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a chart that move classes (those of the mechanism are left out).

    Attributes
    ----------
    chart : Chart
    moves : boolean array of shape (k, g)
        Whether each axis moves each class.
    of_class : list of arrays
        The axes that move each class.
    together : list of arrays
        Axes that no class has two of, all of them to be moved at once.
    """

    chart: Chart
    moves: BoolArray
    of_class: list[IntArray]
    together: list[IntArray]

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
