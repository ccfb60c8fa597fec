"""The compiled loop of the skew-t family, and the tables it reads.

The density needs, for one class (``a``, half the degrees of freedom) and many ``r``, of
``F(r, a) = T_{2a}(r sqrt(2a))`` the logarithm, ``D = d log F / da`` and the ratio of the t density
to F. SciPy's ``stdtr`` underflows long before the logarithm stops mattering.

With ``s = |r|``, ``t = s sqrt(2a)`` and ``kappa(w) = 2a (1 - exp(-w/a))``, put
``x = sqrt((1 + s²) exp(w/a) - 1)`` in the tail integral of the t density:

    N(t)  = int_0^inf exp(-w) / sqrt(t² + kappa(w)) dw,
    N1(t) = int_0^inf w exp(-w) / sqrt(t² + kappa(w)) dw,

    log F(-s) = -log 2 - (a - 1/2) log(1 + s²) + log(N(t) / N(0)),
    D(-s)     = (N1(0)/N(0) - N1(t)/N(t)) / a - log(1 + s²),
    ratio     = 1 / ((1 + s²) N(t)).

As ``a`` grows ``N`` tends to the Gaussian Mills ratio: no digits are lost and no branch is needed.
N's own integrand is too sharp at w = 0 when t is small. By parts, with ``m = 2a``,

    (1 + s²) N(t) = ((m + 1) P(t) + t) / m,
    P(t) = int_0^inf exp(-w) (sqrt(t² + kappa(w)) - t) dw,

a sum of positive terms. P and N1, times ``t + c``, are smooth in ``t / (t + c)`` all the way to
infinity, for every ``a``, so one short table of polynomials per class serves every ``r``.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebpts1, chebvander
from numpy.polynomial.legendre import leggauss

from hesitant._compile import njit
from hesitant._typing import FloatArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.families._kernels import REORDERED

# z = t / (t + C) in [0, 1] is cut into equal cells, with a polynomial on each.
CELLS, TERMS, C = 6, 13, 1.5

# Gauss-Legendre in w**(1/6): the power packs nodes near w = 0, where small t makes the integrand
# steep. exp(-37) is below the rounding error of the sum.
_QUADRATURE, _POWER, _CUTOFF = 56, 6, 37.0


_NODES, _WEIGHT = 0.5 * _CUTOFF ** (1 / _POWER) * np.array(leggauss(_QUADRATURE))
_NODES += 0.5 * _CUTOFF ** (1 / _POWER)
_W = _NODES**_POWER
_WEIGHT *= _POWER * _NODES ** (_POWER - 1) * np.exp(-_W)

# Cells are sampled at these z, one after another, and samples give Chebyshev series.
_Z = (np.arange(CELLS)[:, None] + (chebpts1(TERMS) + 1) / 2) / CELLS
_T = (C * _Z / (1 - _Z)).reshape(-1, 1)
_TO_SERIES = np.linalg.inv(chebvander(chebpts1(TERMS), TERMS - 1))
# Chebyshev series to powers. A series falls off so fast that the large entries of this matrix
# meet only tiny coefficients, so it must not be multiplied into the other matrix beforehand.
_TO_POWERS = np.array([np.pad(cheb2poly(row), (0, TERMS))[:TERMS] for row in np.eye(TERMS)])


def tables(nu: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Polynomials of ``(t + c) P`` and ``(t + c) N1`` (g, cells, terms, 2); at zero 2N, N1/N."""
    return _tables(nu.tobytes(), p)


@lru_cache(maxsize=8)  # every block of rows asks for the same
def _tables(nu: bytes, p: int) -> tuple[FloatArray, FloatArray]:
    a = 0.5 * (np.frombuffer(nu) + p)[:, None]
    kappa = -2.0 * a * np.expm1(-_W / a)
    q = np.sqrt(_T * _T + kappa[:, None, :])
    values = np.stack(((kappa[:, None, :] / (_T + q)) @ _WEIGHT, (_W / q) @ _WEIGHT), axis=1)
    values *= _T[:, 0] + C
    series = values.reshape(-1, 2, CELLS, TERMS) @ _TO_SERIES.T
    root = np.sqrt(kappa)
    n0 = (1.0 + 0.5 / a[:, 0]) * (root @ _WEIGHT)
    at_zero = np.stack((2.0 * n0, (_W / root) @ _WEIGHT / n0), axis=1)
    powers = (series @ _TO_POWERS).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(powers), at_zero


@njit(fastmath=REORDERED)
def skew_t_rows(
    q: FloatArray, along: FloatArray, nu: FloatArray, p: int, tables: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Give log densities less a class's constants, E[W], E[log W] likewise, and slopes in λ·z."""
    table, at_zero = tables
    n, g = q.shape
    log_density, precision = np.empty((n, g)), np.empty((n, g))
    logs, drive = np.empty((n, g)), np.empty((n, g))
    d, r, y, x = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    rise, tail, work = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    low, high, slope = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for h in range(g):
            dof, df = nu[h], nu[h] + p
            a, root = 0.5 * df, math.sqrt(df)
            for b in range(m):
                d[b] = q[start + b, h]
                r[b] = along[start + b, h]
            for b in range(m):
                y[b] = d[b] / dof
                d[b] = 1.0 / (dof + d[b])
                r[b] *= math.sqrt(d[b])
                t = root * abs(r[b])
                # Between 0 and CELLS; neither the largest t nor NaN may point past the last.
                place = CELLS * (t / (t + C))
                x[b] = place if place < CELLS - 1e-9 else CELLS - 1e-9
            log1p_strip(y, m, rise, work)
            for b in range(m):
                y[b] = r[b] * r[b]
            log1p_strip(y, m, tail, work)
            for b in range(m):
                y[b] = -a * tail[b]
            exp_strip(y, m, work)
            for b in range(m):
                c = int(x[b])
                v = 2.0 * (x[b] - c) - 1.0
                p0, p1 = table[h, c, TERMS - 1, 0], table[h, c, TERMS - 1, 1]
                for i in range(TERMS - 2, -1, -1):
                    p0 = p0 * v + table[h, c, i, 0]
                    p1 = p1 * v + table[h, c, i, 1]
                low[b] = p0
                high[b] = p1
            for b in range(m):
                right = r[b] > 0.0
                t = root * abs(r[b])
                e2 = 1.0 + r[b] * r[b]
                e = math.sqrt(e2)
                per = 1.0 / (t + C)
                p0 = (df + 1.0) * low[b] * per
                ratio = df / (p0 + t)  # density to cdf at −t
                f = 1.0 / (ratio * at_zero[h, 0] * e)  # F(−|r|), but for a power of e2
                odds = f * y[b] / (1.0 - f * y[b])
                bend = (at_zero[h, 1] - high[b] * per * e2 * ratio) / a - tail[b]
                slope[b] = (-odds * bend if right else bend) - rise[b]
                low[b] = d[b] * (df + odds * ratio * t if right else p0 * ratio)
                high[b] = (odds if right else 1.0) * ratio * root * math.sqrt(d[b])
                y[b] = odds if right else ratio * at_zero[h, 0] * e - 1.0
                rise[b] += 0.0 if right else tail[b]
            log1p_strip(y, m, tail, work)
            for b in range(m):
                log_density[start + b, h] = -a * rise[b] - tail[b]
                precision[start + b, h] = low[b]
                logs[start + b, h] = slope[b]
                drive[start + b, h] = high[b]
    return log_density, precision, logs, drive
