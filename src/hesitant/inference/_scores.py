"""Scores of single rows, in a chart: what each row, with each class, says of every parameter.

The complete-data score is ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ``. Where the family's chart has no
formula for it, it is a central difference of log densities along the chart's axes: that needs
nothing but densities and chart, and rows and classes move together.
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
