"""A likelihood of Gaussian classes and the paper's mechanism, in one pass over each block.

What other families and mechanisms compute step by step, for each strip of rows in turn: nothing
is written that the next step would read from memory again. Fits take two thirds of the time.
"""

import math
import threading
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant._vector_math import exp_strip, log1p_strip, normalise_strip
from hesitant.families._kernels import (
    LENGTH,
    distance_strip,
    moment_strip,
    pools_room,
    rows_that_count,
    standard_strip,
    strips_room,
)

_LOG_2PI = math.log(2 * math.pi)
# Strips stay with a thread: to make them anew takes a small block as long as half of its sums. In
# a forked process threads begin without: their namesakes may have been in the middle of a sum.
_OWN = threading.local()


def room(family: Any, mechanism: Any, state: Any, block: Any, weight: FloatArray) -> Any:
    """Return room for a block's sums, and all that :func:`sum_strips` is called with."""
    params, theta = state.params, state.theta
    (g, p), q = params.location.shape, len(theta)
    size = p + -p % 4
    counts, first, gradient = np.zeros(g), np.zeros((g, p)), np.zeros(q)
    second, curvature = np.zeros((g, size, size)), np.zeros((q, q))
    padded = np.zeros((g, size, size))
    padded[:, :p, :p] = params.whitener
    rows = block.X, block.codes, weight, block.review
    model = state.weights, *params.place, padded, theta, mechanism.informative
    out, here = (counts, first, second, gradient, curvature), _scratch(p, g)
    sums = counts, gradient, curvature, counts, counts, first, second[:, :p, :p], np.zeros(1)
    return sums, (*rows, *model, *out, *here)


def _scratch(p: int, g: int) -> Any:
    """Return the strips of this thread; what no feature fills stays zero."""
    size, strips = getattr(_OWN, "kept", (None, None))
    if size != (p, g):
        shapes = (3, p + -p % 4), (2, g), (11,)
        strips = [*(strips_room(*rows, LENGTH) for rows in shapes), *pools_room(p, g)]
        _OWN.kept = (p, g), strips  # at once, whatever interrupts
    return strips


def sum_strips(  # type: ignore[no-untyped-def]
    X, codes, weight, review, pi, center, spread, location, whitener, theta, informative,
    counts, first, second, gradient, curvature, strips, posterior, scratch,
    pools, waiting, places,
):  # fmt: skip
    """Return a block's log-likelihood, and add up what its derivatives are made of."""
    (n, p), g, toward = X.shape, len(pi), -theta[1] if informative else 0.0
    value = r0 = r1 = c00 = c01 = c11 = 0.0
    x, u, v, log_tau, tau = strips[0], strips[1], strips[2], posterior[0], posterior[1]
    some, z, q, w, entropy = scratch[:4], scratch[4:9], scratch[8], scratch[8], scratch[9]
    residual, against, small, excess, bend = some[0], some[1], some[2], some[3], scratch[10]
    for start in range(0, n + (LENGTH if pools.size else 0), LENGTH):  # the last may be empty
        m = LENGTH if n - start > LENGTH else n - start if n > start else 0
        squares = standard_strip(X, center, spread, x, start, m)
        for h in range(g):
            volume = math.log(pi[h] if pi[h] > 1e-300 else 1e-300) - 0.5 * _LOG_2PI * p
            for j in range(p):
                volume += math.log(whitener[h, j, j] / spread[j])
            distance_strip(x, location[h], whitener[h], u, z, m)
            for b in range(m):
                log_tau[h, b] = volume - 0.5 * q[b]
        normalise_strip(log_tau, tau, some, m)
        for b in range(m):  # without a store: see moment_strip
            y = codes[start + b]
            value += weight[start + b] * (some[0, b] + (log_tau[y, b] if y >= 0 else 0.0))
        for b in range(m):
            residual[b] = entropy[b] = 0.0
        if informative:
            for h in range(g):
                for b in range(m):
                    entropy[b] -= tau[h, b] * log_tau[h, b]
            for b in range(m):
                odds = theta[0] + theta[1] * entropy[b]
                against[b] = -odds if codes[start + b] >= 0 else odds
                small[b] = -abs(odds)
            exp_strip(small, m)
            log1p_strip(small, m, excess)
            for b in range(m):
                high = 1.0 / (1.0 + small[b])
                low = small[b] * high
                wrong = review[start + b] * (high if against[b] > 0.0 else low)
                residual[b] = wrong if codes[start + b] >= 0 else -wrong
                bend[b] = review[start + b] * high * low
                excess[b] += against[b] if against[b] > 0.0 else 0.0
            for b in range(m):  # without a store, too
                value -= review[start + b] * excess[b]
                e, r, c = entropy[b], residual[b], bend[b]
                r0, r1 = r0 + r, r1 + r * e
                c00, c01, c11 = c00 + c, c01 + c * e, c11 + c * e * e
        for h in range(g):
            for b in range(m):
                y = codes[start + b]
                known = (1.0 if h == y else 0.0) if y >= 0 else tau[h, b]
                pull = toward * residual[b] * tau[h, b] * (log_tau[h, b] + entropy[b])
                w[b] = weight[start + b] * known + pull
            pool = pools[h], waiting[h], places
            rows, own, k = rows_that_count(x, squares, location[h], w, *pool, m)
            counts[h] += moment_strip(rows, location[h], own, u, v, first[h], second[h], k)
    for h in range(g):
        for j in range(p):
            for k in range(j):
                second[h, k, j] = second[h, j, k]
    if informative:
        gradient[0], gradient[1], curvature[0, 0], curvature[1, 1] = r0, r1, c00, c11
        curvature[0, 1] = curvature[1, 0] = c01
    return value
