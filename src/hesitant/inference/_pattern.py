"""The likelihood of the label pattern when it is nothing but chance."""

import numpy as np
from scipy.special import xlogy

from hesitant._typing import BoolArray

__all__ = ["chance_log_likelihood"]


def chance_log_likelihood(seen: BoolArray) -> float:
    """Return the maximised log-likelihood of labels missing completely at random.

    Added to an ignorance likelihood it makes a likelihood of the same data as the full one: the
    features, the labels, and which rows have them. It has one parameter, the share labelled.

    Parameters
    ----------
    seen : boolean array
        Whether each reviewed row is labelled.
    """
    if not seen.size:
        return 0.0
    rate = float(np.mean(seen))
    return float(seen.size * (xlogy(rate, rate) + xlogy(1 - rate, 1 - rate)))
