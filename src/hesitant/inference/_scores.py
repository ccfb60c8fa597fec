"""Scores of single rows, in a chart: what each row, with each class, says of every parameter.

The complete-data score ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ`` is a central difference of the family's
log densities along the chart's axes. That needs nothing of a family but its densities and its
chart, and rows and classes move together.
"""

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families import Family
from hesitant.inference._axes import STEP, Axes
from hesitant.likelihood import State

__all__ = ["class_scores", "log_joint", "mix", "spread_out"]


def log_joint(family: Family, state: State, X: AnyArray) -> FloatArray:
    """Return ``log π_h + log f_h(x_i)`` as (n, g)."""
    return family.log_density(state.params, X) + np.log(np.maximum(state.weights, 1e-300))


def class_scores(family: Family, axes: Axes, X: AnyArray) -> list[FloatArray]:
    """Return complete-data scores of rows X at the chart's reference.

    Parameters
    ----------
    family : Family
    axes : Axes
    X : array of shape (n, p)
        Contiguous float64.

    Returns
    -------
    list of arrays of shape (axes of the class, n)
        One for each class; along all other axes the score is zero.
    """
    out = [np.empty((own.size, len(X))) for own in axes.of_class]
    place = [{int(axis): j for j, axis in enumerate(own)} for own in axes.of_class]
    for group in axes.together:
        ahead = log_joint(family, axes.chart.decode(axes.step(group, 1)), X)
        behind = log_joint(family, axes.chart.decode(axes.step(group, -1)), X)
        slope = (ahead - behind) / (2 * STEP)
        for axis in group.tolist():
            for h in np.flatnonzero(axes.moves[axis]):
                out[h][place[h][axis]] = slope[:, h]
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
