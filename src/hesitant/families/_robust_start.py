"""Robust starts for the heavy-tailed families: a few guesses, a few steps, the best is kept."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Family, Statistics, StepError

_STEPS = 5


def medians(
    X: AnyArray, weights: FloatArray, center: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return weighted medians and median absolute deviations (g, p), standardised.

    A deviation of zero (most rows share one value) is replaced by one that tells nothing: the
    spread of all rows.
    """
    g, p = weights.shape[1], X.shape[1]
    middle, deviation = np.zeros((g, p)), np.ones((g, p))
    for h in range(g):
        rows = np.flatnonzero(weights[:, h] > 0)
        if not rows.size:
            continue
        Z = (X[rows] - center) / spread
        middle[h] = _weighted_median(Z, weights[rows, h])
        deviation[h] = 1.4826 * _weighted_median(np.abs(Z - middle[h]), weights[rows, h])
    return middle, np.where(deviation > 1e-6, deviation, 1.0)


def _weighted_median(Z: FloatArray, weight: FloatArray) -> FloatArray:
    order = np.argsort(Z, axis=0)
    below = np.cumsum(weight[order], axis=0)
    place = (below < 0.5 * below[-1]).sum(axis=0)
    return np.take_along_axis(Z, np.take_along_axis(order, place[None], axis=0), axis=0)[0]


def improve(
    family: Family, params: Any, X: AnyArray, weights: FloatArray, steps: int = _STEPS
) -> Any:
    """Return parameters after some EM steps on rows of known class.

    The statistics of each class are shrunk towards the pooled ones by a few rows' worth, so that
    a class of one row still gets a scale matrix.
    """
    for _ in range(steps):
        statistics = family.statistics(params, X, weights)
        try:
            params = family.maximise(params, _shrink(statistics))
        except StepError:
            break
    return params


def _shrink(statistics: Statistics) -> Statistics:
    count, mass, first, second, logs, *others = statistics
    p = first.shape[1]
    prior = p + 2.0
    total = max(count.sum(), 1e-12)
    weight = np.maximum(mass, 1e-12)
    scatter = (second - first[:, :, None] * first[:, None, :] / weight[:, None, None]).sum(axis=0)
    pooled = (scatter + prior * np.eye(p)) / (total + prior)
    return (
        count + prior,
        mass + prior * mass.sum() / total,
        first,
        second + prior * pooled,
        logs + prior * logs.sum() / total,
        *others,
    )


def keep_best(
    family: Family, guesses: Iterable[Any], X: AnyArray, weights: FloatArray, separate: bool
) -> Any:
    """Return the guess under which rows of known class are most probable.

    ``separate`` lets each class choose for itself; classes that share parameters cannot.
    """
    tried = list(guesses)
    values = np.array(
        [np.einsum("ih,ih->h", weights, family.log_density(params, X)) for params in tried]
    )
    if not separate:
        return tried[values.sum(axis=1).argmax()]
    best, choice = tried[0], values.argmax(axis=0)
    chosen = {
        name: np.array([vars(tried[k])[name][h] for h, k in enumerate(choice)])
        for name in vars(best)
        if name not in best.units
    }
    return dataclasses.replace(best, **chosen)
