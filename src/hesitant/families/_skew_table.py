"""Tables from which the skew-t kernel reads the logarithm of a t cdf and its derivatives.

The skew-t density needs, for one class (one ``a``, half the degrees of freedom) and many ``r``,

    F(r, a) = T_{2a}(t),  t = r sqrt(2a),

as ``log F``, ``D = d log F / da`` at fixed ``r``, and the ratio ``t_{2a}(t) / T_{2a}(t)``. SciPy's
``stdtr`` underflows long before the logarithm stops mattering, and has no derivative in ``a``.

Everything follows from two integrals over a fixed weight. With ``s = |r|``, ``t = s sqrt(2a)`` and
``kappa(w) = 2a (1 - exp(-w/a))``,

    N(t)  = int_0^inf exp(-w) / sqrt(t² + kappa(w)) dw,
    N1(t) = int_0^inf w exp(-w) / sqrt(t² + kappa(w)) dw,

    log F(-s) = -log 2 - (a - 1/2) log(1 + s²) + log(N(t) / N(0)),
    D(-s)     = (N1(0)/N(0) - N1(t)/N(t)) / a - log(1 + s²),
    ratio     = 1 / ((1 + s²) N(t)).

(Put ``x = sqrt((1 + s²) exp(w/a) - 1)`` in the tail integral of the t density.) The gamma and
digamma functions cancel against the integrals at zero, and as ``a`` grows ``kappa`` tends to
``2w`` and ``N`` to the Gaussian Mills ratio: no digits are lost and no large-``a`` branch is
needed.

N's own integrand is too sharp at w = 0 when t is small. By parts, with ``m = 2a``,

    (1 + s²) N(t) = ((m + 1) P(t) + t) / m,
    P(t) = int_0^inf exp(-w) (sqrt(t² + kappa(w)) - t) dw,

a sum of positive terms. ``(m + 1) P`` times the ratio is ``m`` less the ratio times t, which would
cancel if computed so. P and N1, times ``t + c``, are smooth in ``t / (t + c)`` all the way to
infinity, for every ``a``, so one short table of polynomials per class serves every ``r``.
"""

from functools import lru_cache

import numpy as np

from hesitant._typing import FloatArray

__all__ = ["CELLS", "TERMS", "C", "tables"]

# z = t / (t + C) in [0, 1] is cut into equal cells, with a polynomial on each.
CELLS, TERMS, C = 6, 13, 1.5

# Gauss-Legendre in w**(1/6): the power packs nodes near w = 0, where small t makes the integrand
# steep. exp(-37) is below the rounding error of the sum.
_QUADRATURE, _POWER, _CUTOFF = 56, 6, 37.0


def _rule() -> tuple[FloatArray, FloatArray]:
    """Nodes w and weights of the rule for int_0^inf exp(-w) f(w) dw."""
    x, weight = np.polynomial.legendre.leggauss(_QUADRATURE)
    top = _CUTOFF ** (1 / _POWER)
    u = top * (x + 1) / 2
    w = u**_POWER
    return w, weight * top / 2 * _POWER * u ** (_POWER - 1) * np.exp(-w)


def _chebyshev() -> tuple[FloatArray, FloatArray]:
    """Values of t at which cells are sampled, one after another, and samples to coefficients."""
    angle = np.pi * (np.arange(TERMS) + 0.5) / TERMS
    z = (np.arange(CELLS)[:, None] + (np.cos(angle) + 1) / 2) / CELLS
    matrix = np.cos(np.arange(TERMS)[:, None] * angle) * 2 / TERMS
    matrix[0] /= 2
    return (C * z / (1 - z)).reshape(-1, 1), matrix


_W, _WEIGHT = _rule()
_T, _TO_SERIES = _chebyshev()

# Chebyshev series to powers. A series falls off so fast that the large entries of this matrix
# meet only tiny coefficients, so it must not be multiplied into the other matrix beforehand.
_TO_POWERS = np.array(
    [np.pad(np.polynomial.chebyshev.cheb2poly(row), (0, TERMS))[:TERMS] for row in np.eye(TERMS)]
).T.copy()


def tables(nu: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Return the polynomials of all classes, (g, cells, terms, 2), and values at zero (g, 2).

    The polynomials are of ``(t + c) P`` and ``(t + c) N1``, the values at zero ``2 N(0)`` and
    ``N1(0) / N(0)``, each with ``2a = nu + p``.
    """
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
    powers = (series @ _TO_POWERS.T).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(powers), at_zero
