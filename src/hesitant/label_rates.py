"""Which classes are labelled more readily than others, told by labelled rows alone.

A mixture of the wrong shape bends its classes to explain the blanks. Let ``p_h`` be the classes'
posteriors among labelled rows, by models that were judged by labels, and λ_h the chance of a label
in class h. Then the odds of a blank are ``Σ_h p_h (1 − λ_h) / λ_h``: a likelihood of the blanks in
λ alone. Posteriors of all rows are in proportion to ``p_h / λ_h``, of blank ones to
``p_h (1 − λ_h) / λ_h``.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._vector_math import normalise
from hesitant.uncertainty import Shannon

FLOOR = 1e-4  # of a posterior: no row is surer of its class than this leaves
# Precision of a normal prior on each class's logit about that of all, so that no class is taken to
# be labelled throughout for a few mistakes; and on the slope.
APART, SLOPE = 0.25, 1e-6
TOL = 1e-3  # of log-likelihood: a BIC is not judged by less


def explain_blanks(p: FloatArray, seen: BoolArray, weight: FloatArray) -> tuple[str, FloatArray]:
    """Return the mechanism that explains the blanks best, by BIC, and its parameters.

    ``p`` (n, g) are posteriors among labelled rows, of labelled rows those of models without
    them. Parameters are logits of the chance of a label: one, or one a class; then the slope.
    """
    p = np.clip(p, FLOOR, 1.0)
    u, own = Shannon().evaluate(np.log(p), p)[0][None], np.ascontiguousarray(p.T)
    one, none = own.sum(axis=0, keepdims=True), u[:0]
    designs = {"none": (one, none), "entropy": (one, u), "class": (own, none)}
    designs["entropy+class"] = own, u
    usual, best = float(logit(np.average(seen, weights=weight))), ("", np.zeros(0), math.inf)
    for name, design in designs.items():
        theta, value = _climb(*design, usual, seen, weight)
        bic = theta.size * math.log(weight.sum()) - 2 * value
        if bic < best[2]:
            best = name, theta, bic
    return best[:2]


def as_sure_as(log_p: FloatArray, codes: IntArray, weight: Any, most: float) -> float:
    """Return the power of probabilities, up to ``most``, that suits rows of known classes best."""
    behind = np.maximum(log_p - log_p[np.arange(len(codes)), codes][:, None], -1e300)

    def slope(power: float) -> float:  # of what is lost, which is convex
        tau = normalise(power * behind)[1]
        return float(np.sum(weight * np.einsum("ih,ih->i", tau, behind)))

    if slope(0.0) >= 0:
        return 0.0
    return most if slope(most) <= 0 else float(brentq(slope, 0.0, most))


def _climb(
    p: FloatArray, u: FloatArray, usual: float, seen: BoolArray, weight: FloatArray
) -> tuple[FloatArray, float]:
    """Return the best parameters and their log-likelihood, prior included, by Fisher's scoring.

    ``p`` has a line for each class, or their sum where all share one logit; ``u`` one, or none.
    """
    start, prior = (np.array([v] * len(p) + [w] * len(u)) for v, w in ((usual, 0), (APART, SLOPE)))

    def look(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        each = p * np.exp(-theta[: len(p)])[:, None]
        total = each.sum(axis=0)
        log_odds = np.log(total) - theta[len(p) :] @ u
        slopes = -np.concatenate((each / total, u))
        off, chance = theta - start, expit(log_odds)
        value = weight @ log_expit(np.where(seen, -log_odds, log_odds)) - 0.5 * prior @ off**2
        gradient = slopes @ (weight * (~seen - chance)) - prior * off
        spread = (weight * chance * (1 - chance)) * slopes @ slopes.T
        return value, gradient, spread + np.diag(prior)

    theta, (value, gradient, information) = start, look(start)
    for _ in range(100):
        _, step, _ = dposv(information, gradient)  # positive definite: there is a prior
        while gradient @ step > TOL and (after := look(theta + step))[0] < value:
            step = step / 2
        if gradient @ step <= TOL:
            break
        theta, (value, gradient, information) = theta + step, after
    return theta, value
