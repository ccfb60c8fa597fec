"""How far classes could be bent to explain the blanks, and what keeps them from it.

With many features for the rows, classes can be turned until difficulty explains every blank, at
slopes without end. Integrated over the classes' parameters (Laplace's approximation) and not
maximised, the likelihood of the mechanism's parameters β has the factor ``|I + K(β)|^(−½)``: K is
what blanks say about the classes, in units of what rows and prior say; for small β quadratic.
"""

import math
from functools import reduce

import numpy as np

from hesitant._cores import one_blas_thread
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
    # A class's axes are its own, as covariances that are pulled together are not tied.
    scores = [chart.row_scores(X, h)[1] for h in range(len(state.weights))]
    if not (len(X) and len(scores[0])):
        return mechanism
    log_tau, tau, _ = log_posterior(family, state, X)
    seen, theta = mechanism.difficulty(log_tau, tau), mechanism.without_slopes(tally.rate)
    weight, nudges = np.full(len(X), math.sqrt(tally.weight / len(X))), _NUDGE * np.eye(theta.size)
    ways = [mechanism.pattern(seen, codes, codes >= 0, weight, theta + d).pull for d in nudges]
    pulls = np.array(ways).transpose(2, 0, 1) / _NUDGE  # (g, q, n)
    norms = np.array([np.einsum("ki,ki->i", s, s) for s in scores])
    products = np.einsum("hqi,hri,hi->qr", pulls, pulls, norms)
    if not np.isfinite(products).all():
        return mechanism
    size = np.einsum("hqi,hqi,hi->qi", pulls, pulls, norms)
    counts = size > _NOTHING * size.max()  # a label settles its row, and an intercept then nothing
    at, each = np.nonzero(counts)[1], pulls[:, counts]
    with one_blas_thread():
        if at.size < sum(map(len, scores)):
            both = zip(each, scores, strict=True)
            grams = (np.outer(p, p) * (s.T @ s)[np.ix_(at, at)] for p, s in both)
            values = np.linalg.eigvalsh(reduce(np.add, grams))
        else:
            V = np.concatenate([p * s[:, at] for p, s in zip(each, scores, strict=True)])
            values = np.linalg.eigvalsh(V @ V.T)
    steepness = products / max(float(np.trace(products)), 1e-300)
    return mechanism.moved(leverage_=np.maximum(values, 0.0), steepness_=steepness)
