"""Logarithm of the Student-t cdf, with its derivatives, far into both tails.

The skew-t density needs, for one class (one ``a``, half the degrees of freedom) and many ``r``,

    F(r, a) = T_{2a}(t),  t = r sqrt(2a),

as ``log F``, ``D = d log F / da`` at fixed ``r``, and the ratio ``t_{2a}(t) / T_{2a}(t)``. SciPy's
``stdtr`` underflows long before the logarithm stops mattering, and has no derivative in ``a``.

Everything follows from two integrals over a fixed weight. With ``s = |r|``, ``t = s sqrt(2a)`` and
``kappa(w) = 2a (1 - exp(-w/a))``,

    N(t)  = int_0^inf exp(-w) / sqrt(t^2 + kappa(w)) dw,
    N1(t) = int_0^inf w exp(-w) / sqrt(t^2 + kappa(w)) dw,

    log F(-s) = -log 2 - (a - 1/2) log(1 + s^2) + log(N(t) / N(0)),
    D(-s)     = (N1(0)/N(0) - N1(t)/N(t)) / a - log(1 + s^2),
    ratio     = 1 / ((1 + s^2) N(t)).

(Put ``x = sqrt((1 + s^2) exp(w/a) - 1)`` in the tail integral of the t density.) The gamma and
digamma functions cancel against the integrals at zero, and as ``a`` grows ``kappa`` tends to
``2w`` and ``N`` to the Gaussian Mills ratio: no digits are lost and no large-``a`` branch is
needed. ``N`` and ``N1`` are smooth in ``t / (t + c)`` all the way to infinity, for every ``a``, so
one short Chebyshev table per class serves every ``r``.
"""

import math

import numpy as np

from hesitant._compile import njit
from hesitant._typing import FloatArray

__all__ = ["log_t_cdf", "log_t_cdf_exact"]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Sums of positive terms may be reordered, which vectorises them; NaN and inf keep their meaning.
_REORDER = {"reassoc", "contract"}

# Gauss-Legendre in w**(1/6): the power packs nodes near w = 0, where small t makes the integrand
# steep. exp(-37) is below the rounding error of the sum.
_QUADRATURE, _POWER, _CUTOFF = 56, 6, 37.0

# The table: z = t / (t + c) in [0, 1] cut into equal cells, a Chebyshev series on each.
_CELLS, _TERMS, _C = 6, 13, 1.5

# Above this, 1 + s^2 rounds to s^2, whose overflow is then avoidable.
_LARGE = 1e8


def _rule() -> tuple[FloatArray, FloatArray]:
    """Nodes w and weights of the rule for int_0^inf exp(-w) f(w) dw."""
    x, weight = np.polynomial.legendre.leggauss(_QUADRATURE)
    top = _CUTOFF ** (1 / _POWER)
    u = top * (x + 1) / 2
    w = u**_POWER
    return w, weight * top / 2 * _POWER * u ** (_POWER - 1) * np.exp(-w)


def _chebyshev() -> tuple[FloatArray, FloatArray]:
    """Values of t at which the table samples, by cell, and the samples-to-coefficients matrix."""
    angle = np.pi * (np.arange(_TERMS) + 0.5) / _TERMS
    z = (np.arange(_CELLS)[:, None] + (np.cos(angle) + 1) / 2) / _CELLS
    matrix = np.cos(np.arange(_TERMS)[:, None] * angle) * 2 / _TERMS
    matrix[0] /= 2
    return _C * z / (1 - z), matrix


_W, _WEIGHT = _rule()
_T, _TO_SERIES = _chebyshev()


@njit(fastmath=_REORDER, **_OPTIONS)
def _integrals(t: float, a: float, kappa: FloatArray) -> tuple[float, float]:
    """Quadrature for (t + c) N(t) and (t + c) N1(t): both stay near 1 however large t is."""
    t = min(t, 1e18)  # the limit is reached, and t * t must not overflow
    p = 0.0
    n1 = 0.0
    for j in range(_QUADRATURE):
        q = math.sqrt(t * t + kappa[j])
        p += _WEIGHT[j] * (kappa[j] / (t + q))
        n1 += _WEIGHT[j] * (_W[j] / q)
    # N's own integrand is too sharp at w = 0 when t is small. By parts, with every term positive:
    # (1 + s^2) N = (1 + 1/2a) int exp(-w) (sqrt(t^2 + kappa) - t) dw + t/2a.
    b = 0.5 / a
    n = ((1.0 + b) * p + b * t) / (1.0 + b * t * t)
    return (t + _C) * n, (t + _C) * n1


@njit(fastmath={"contract"}, **_OPTIONS)
def _fill(
    r: FloatArray,
    a: float,
    tabulate: bool,
    log_f: FloatArray,
    d: FloatArray,
    ratio: FloatArray,
) -> None:
    """Write log F, D and the ratio for every r, from a table or by quadrature at each."""
    kappa = np.empty(_QUADRATURE)
    for j in range(_QUADRATURE):
        kappa[j] = -2.0 * a * math.expm1(-_W[j] / a)

    table = np.zeros((_CELLS, _TERMS, 2))
    if tabulate:
        for cell in range(_CELLS):
            for i in range(_TERMS):
                n, n1 = _integrals(_T[cell, i], a, kappa)
                for k in range(_TERMS):
                    table[cell, k, 0] += _TO_SERIES[k, i] * n
                    table[cell, k, 1] += _TO_SERIES[k, i] * n1

    n, n1 = _integrals(0.0, a, kappa)
    double_n0 = 2.0 * n / _C
    mean0 = n1 / n
    root = math.sqrt(2.0 * a)

    for i in range(r.size):
        s = abs(r[i])
        if math.isnan(s):
            log_f[i] = d[i] = ratio[i] = math.nan
            continue
        if s < _LARGE:
            e = math.sqrt(1.0 + s * s)
            log_e2 = math.log1p(s * s)
            sine = s / e
        else:
            e = s
            log_e2 = 2.0 * math.log(s)
            sine = 1.0
        t = root * s

        if tabulate:
            z = _CELLS * (1.0 - _C / (t + _C))  # well defined at t = inf
            cell = min(int(z), _CELLS - 1)
            x = 4.0 * (z - cell) - 2.0  # twice the cell's own coordinate in [-1, 1]
            n = n1 = b = b1 = 0.0
            for k in range(_TERMS - 1, 0, -1):
                n, b = table[cell, k, 0] - b + x * n, n
                n1, b1 = table[cell, k, 1] - b1 + x * n1, n1
            n = table[cell, 0, 0] - b + 0.5 * x * n
            n1 = table[cell, 0, 1] - b1 + 0.5 * x * n1
        else:
            n, n1 = _integrals(t, a, kappa)

        g = n / (root * sine + _C / e)  # sqrt(1 + s^2) N(t)
        slope = (mean0 - n1 / n) / a - log_e2
        hazard = 1.0 / (e * g)
        if r[i] <= 0.0:
            log_f[i] = math.log(g / double_n0) - a * log_e2
            d[i] = slope
            ratio[i] = hazard
        else:
            f = g / double_n0 * math.exp(-a * log_e2)  # F(-r)
            odds = f / (1.0 - f)
            log_f[i] = math.log1p(-f)
            d[i] = -odds * slope if odds > 0.0 else 0.0  # 0 * inf at r = inf
            ratio[i] = odds * hazard


def _evaluate(
    r: FloatArray, a: float, tabulate: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r = np.asarray(r, dtype=np.float64)
    log_f, d, ratio = np.empty(r.shape), np.empty(r.shape), np.empty(r.shape)
    flat = np.ascontiguousarray(r).reshape(-1)
    _fill(flat, float(a), tabulate, log_f.reshape(-1), d.reshape(-1), ratio.reshape(-1))
    return log_f, d, ratio


def log_t_cdf(r: FloatArray, a: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log of the Student-t cdf in both tails, its slope in ``a`` and the density-to-cdf ratio.

    Writing ``m = 2a`` and ``t = r sqrt(m)``, with ``t_m`` and ``T_m`` the density and cdf of
    Student's t with ``m`` degrees of freedom.

    Parameters
    ----------
    r : array of float
        Any shape, any sign, any magnitude.
    a : float
        Half the degrees of freedom; finite, at least 0.5. Large values pass smoothly into the
        Gaussian limit ``log Phi(t)``.

    Returns
    -------
    log_f : array, shape of r
        ``log T_m(t)``; ``-inf`` only at ``r = -inf``, 0 where ``1 - T_m(t)`` underflows.
    d : array, shape of r
        Derivative of ``log_f`` in ``a`` at fixed ``r``; ``-inf`` at ``r = -inf`` (it grows as
        ``-2 log |r|``) and 0 at ``r = inf``.
    ratio : array, shape of r
        ``t_m(t) / T_m(t)``, the inverse Mills ratio; 0 at both infinities (as ``m / |t|`` on the
        left). NaN in ``r`` gives NaN in all three.

    Notes
    -----
    Against 34-digit arithmetic for ``|r|`` up to 1e8 and ``a`` from 0.5 to 1e12: at ``r <= 0``,
    ``log_f`` and ``ratio`` are within 1e-14 relative; at ``r > 0`` within 1e-13, the rounding of
    an exponent of up to 745; ``d`` is within 1e-14 of the larger of ``|d|`` and ``1/a``.

    The table takes about as long to build as quadrature takes at as many points as it samples,
    so fewer points than that go through quadrature; the two agree to 5e-15.
    """
    return _evaluate(r, a, np.size(r) > _T.size)


def log_t_cdf_exact(r: FloatArray, a: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what :func:`log_t_cdf` returns, by quadrature at every point."""
    return _evaluate(r, a, False)
