"""How far classes could be bent to explain the blanks, and what keeps them from it.

With many features for the rows, classes can be turned until difficulty explains every blank, at
slopes without end. Integrated over the classes' parameters (Laplace's approximation) and not
maximised, the likelihood of the mechanism's parameters β has the factor ``|I + K(β)|^(−½)``: K is
what blanks say about the classes, in units of what rows and prior say; for small β quadratic.
"""

import math

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._typing import FloatArray
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.mechanisms import EntropyMechanism, Mechanism
from hesitant.solvers import Progress, warm_up

_ROWS = 300
_NUDGE = 1e-4
_NOTHING = 1e-24  # of a sum of squares, beside the largest


def steadied(likelihood: Likelihood, state: State) -> Mechanism:
    """Return the mechanism with that factor as a prior, for families that have one themselves."""
    mechanism, family, tally = likelihood.mechanism, likelihood.family, likelihood.rows.tally
    suited = family.adaptive_prior and family.has_coordinates
    if not (suited and isinstance(mechanism, EntropyMechanism)):
        return mechanism
    steps = family.warm_up
    state = warm_up(likelihood.ignoring(), state, Progress(0.1, steps), steps)
    X, codes, _ = likelihood.rough.sample(_ROWS, 0.5)
    whole = ~np.isnan(X).any(axis=1)
    X, codes = np.ascontiguousarray(X[whole], dtype=np.float64), codes[whole]
    chart = family.coordinates(state.params, likelihood.total * state.weights)
    scores = [chart.row_scores(X, h) for h in range(len(state.weights))]
    if not (len(X) and scores[0][0].size):
        return mechanism
    log_tau, tau, _ = log_posterior(family, state, X)
    seen, theta = mechanism.difficulty(log_tau, tau), mechanism.without_slopes(tally.rate)
    weight, nudges = np.full(len(X), math.sqrt(tally.weight / len(X))), _NUDGE * np.eye(theta.size)
    ways = [mechanism.pattern(seen, codes, codes >= 0, weight, theta + d).pull for d in nudges]
    pulls, V = np.array(ways) / _NUDGE, np.zeros((theta.size, chart.size, len(X)))
    for h, (axes, own) in enumerate(scores):
        V[:, axes] += own * pulls[:, None, :, h]
    size: FloatArray = np.einsum("qki,qki->qi", V, V)
    counts = size > _NOTHING * size.max()  # a label settles its row, and an intercept then nothing
    flat = np.ascontiguousarray(V.transpose(1, 0, 2)[:, counts])
    with one_blas_thread():
        products = np.tensordot(V, V, ((1, 2), (1, 2)))
        if not np.isfinite(products).all():
            return mechanism
        values = np.linalg.eigvalsh(flat @ flat.T if len(flat) < flat.shape[1] else flat.T @ flat)
    steepness = products / max(float(np.trace(products)), 1e-300)
    return mechanism.moved(leverage_=np.maximum(values, 0.0), steepness_=steepness)
