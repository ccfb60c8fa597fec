"""Scores of single rows, in a chart: what each row, with each class, says of every parameter.

The complete-data score ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ`` is a central difference of the family's
log densities along the chart's axes. That needs nothing of a family but its densities and its
chart, and all rows move together, so it costs two density evaluations an axis.
"""

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.likelihood import State, log_posterior
from hesitant.solvers._chart import Chart

__all__ = ["class_scores", "entropy_scores", "n_class_axes"]

# In units of one complete-data standard error: far from rounding, and from curvature too.
STEP = 1e-3


def n_class_axes(chart: Chart) -> int:
    """Return how many of the chart's axes move the classes; the rest move the mechanism."""
    return int(chart.splits[-1])


def class_scores(family: object, chart: Chart, X: AnyArray) -> FloatArray:
    """Return complete-data scores (n, g, k) of rows X at the chart's reference.

    Parameters
    ----------
    family : Family
    chart : Chart
    X : array of shape (n, p)
        Contiguous float64.
    """
    k = n_class_axes(chart)
    out = np.empty((len(X), chart.reference.weights.size, k))
    vector = np.zeros(chart.size)
    for axis in range(k):
        vector[axis] = STEP
        ahead = _log_joint(family, chart.decode(vector), X)
        vector[axis] = -STEP
        behind = _log_joint(family, chart.decode(vector), X)
        vector[axis] = 0.0
        out[:, :, axis] = (ahead - behind) / (2 * STEP)
    return out


def entropy_scores(scores: FloatArray, du: FloatArray) -> FloatArray:
    """Return ``∂u_i/∂ψ`` (n, k) from class scores and the measure's derivatives (n, g)."""
    return np.einsum("ig,igk->ik", du, scores)


def _log_joint(family: object, state: State, X: AnyArray) -> FloatArray:
    log_tau, _, log_f = log_posterior(family, state, X)  # type: ignore[arg-type]
    return log_tau + log_f[:, None]
