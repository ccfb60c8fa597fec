"""Tables from which strips of rows read the logarithm of a t cdf and its derivatives.

The quantities and integrals are those of :mod:`hesitant.families._log_t_cdf`, arranged for whole
strips. With ``s = |r|``, ``t = s sqrt(m)`` and ``m = 2a`` two integrals are tabulated,

    P(t)  = int_0^inf exp(-w) (sqrt(t² + kappa(w)) - t) dw,
    N1(t) = int_0^inf w exp(-w) / sqrt(t² + kappa(w)) dw,

as polynomials on cells of ``t / (t + c)``. All else is a sum or product of positive terms, so no
digits are lost: ``B = ((m + 1) P + t)/m`` is the inverse of the density-to-cdf ratio at −t, and
``(m + 1) P / B`` is ``m`` less that ratio times t, which would cancel if computed so.
"""

from functools import lru_cache

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._log_t_cdf import _C, _CELLS, _T, _TERMS, _TO_SERIES, _W, _WEIGHT

__all__ = ["CELLS", "TERMS", "C", "tables"]

C, CELLS, TERMS = _C, _CELLS, _TERMS

# Chebyshev series to powers. A series falls off so fast that the large entries of this matrix
# meet only tiny coefficients, so it must not be multiplied into the other matrix beforehand.
_TO_POWERS = np.array(
    [np.pad(np.polynomial.chebyshev.cheb2poly(row), (0, TERMS))[:TERMS] for row in np.eye(TERMS)]
).T.copy()


def tables(nu: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Return the polynomials of all classes, (g, cells, terms, 2), and values at zero (g, 2).

    The values at zero are ``2 N(0)`` and ``N1(0) / N(0)``.
    """
    return _tables(nu.tobytes(), p)


@lru_cache(maxsize=8)  # every block of rows asks for the same
def _tables(nu: bytes, p: int) -> tuple[FloatArray, FloatArray]:
    a = 0.5 * (np.frombuffer(nu) + p)[:, None]
    kappa = -2.0 * a * np.expm1(-_W / a)
    t = _T.reshape(-1, 1)
    q = np.sqrt(t * t + kappa[:, None, :])
    values = np.stack(((kappa[:, None, :] / (t + q)) @ _WEIGHT, (_W / q) @ _WEIGHT), axis=1)
    values *= t[:, 0] + C
    series = values.reshape(-1, 2, CELLS, TERMS) @ _TO_SERIES.T
    root = np.sqrt(kappa)
    n0 = (1.0 + 0.5 / a[:, 0]) * (root @ _WEIGHT)
    at_zero = np.stack((2.0 * n0, (_W / root) @ _WEIGHT / n0), axis=1)
    powers = (series @ _TO_POWERS.T).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(powers), at_zero
