"""Which classes are labelled more readily than others, told by labelled rows alone.

A mixture of the wrong shape bends its classes to explain the blanks. Let ``p_h`` be the classes'
posteriors among labelled rows, in which no blank row has a say, and λ_h the chance of a label in
class h. Then the odds of a blank are ``Σ_h p_h (1 − λ_h) / λ_h``: a likelihood of the blanks in λ
alone. Posteriors of all rows are in proportion to ``p_h / λ_h``, of blank ones to
``p_h (1 − λ_h) / λ_h``.
"""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit

from hesitant._typing import BoolArray, FloatArray
from hesitant.uncertainty import Shannon

LEAST = 1e-4  # of a posterior: so sure no rows are
RIDGE = 1e-3  # a class may be labelled throughout


def explain_blanks(p: FloatArray, seen: BoolArray, weight: FloatArray) -> tuple[str, FloatArray]:
    """Return the mechanism that explains the blanks best, by BIC, and its parameters.

    ``p`` (n, g) are posteriors among labelled rows, of labelled rows those of models without
    them. Parameters are logits of the chance of a label: one, or one a class; then the slope.
    """
    p = np.clip(p, LEAST, 1.0)
    n, g = p.shape
    one, own = np.ones((n, g, 1)), np.broadcast_to(np.eye(g), (n, g, g))
    u = np.broadcast_to(Shannon().evaluate(np.log(p), p)[0][:, None, None], one.shape)
    designs = {"none": (one,), "entropy": (one, u), "class": (own,), "entropy+class": (own, u)}
    usual, best = logit(np.average(seen, weights=weight)), ("", np.zeros(0), math.inf)
    for name, columns in designs.items():
        design = np.concatenate(columns, axis=2)
        start = np.full(design.shape[2], usual)
        start[columns[0].shape[2] :] = 0.0
        found = minimize(misfit, start, (design, start, p, seen, weight), "BFGS", jac=True)
        bic = 2 * found.fun + start.size * math.log(weight.sum())
        if bic < best[2]:
            best = name, found.x, bic
    return best[:2]


def misfit(
    theta: FloatArray,
    design: FloatArray,
    start: FloatArray,
    p: FloatArray,
    seen: BoolArray,
    weight: FloatArray,
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood of labels and blanks, and its derivatives."""
    each = p * np.exp(-design @ theta)
    odds = each.sum(axis=1)
    value = weight @ (np.log1p(odds) - np.where(seen, 0.0, np.log(odds)))
    pull = weight * (np.where(seen, 0.0, 1.0 / odds) - 1.0 / (1.0 + odds))
    weak = RIDGE * (theta - start)
    slopes = (pull[:, None] * each).reshape(-1) @ design.reshape(-1, theta.size)
    return value + 0.5 * (theta - start) @ weak, slopes + weak
