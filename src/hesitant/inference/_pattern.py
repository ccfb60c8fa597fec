"""The likelihood of the label pattern when it is nothing but chance."""

import numpy as np
from scipy.special import xlogy

from hesitant._typing import BoolArray, FloatArray

__all__ = ["chance_log_likelihood"]


def chance_log_likelihood(seen: BoolArray, weight: FloatArray | None = None) -> float:
    """Return the maximised log-likelihood of labels missing completely at random.

    Added to an ignorance likelihood it makes a likelihood of the same data as the full one: the
    features, the labels, and which rows have them. It has one parameter, the share labelled.

    Parameters
    ----------
    seen : boolean array
        Whether each reviewed row is labelled.
    weight : array, optional
        The rows' weights; one by default.
    """
    total = float(seen.size if weight is None else weight.sum())
    if not total:
        return 0.0
    rate = float(np.average(seen, weights=weight))
    return total * float(xlogy(rate, rate) + xlogy(1 - rate, 1 - rate))
