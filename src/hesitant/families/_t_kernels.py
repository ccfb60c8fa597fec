"""Logarithms for the tails of the Student-t and skew-t families, compiled."""

import numpy as np

from hesitant._compile import njit
from hesitant._typing import FloatArray
from hesitant._vector_math import STRIP

# Bits of sqrt(1/2), of 1.5 * 2**52 (adding it turns small whole numbers into floats), and ln 2 as
# a sum of two numbers of which the first has trailing zeros.
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
_MAGIC_BITS = np.uint64(0x4338000000000000)
_MAGIC = 6755399441055744.0
_MANTISSA = np.uint64(52)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


# Nothing may be reordered here: the conversions rely on exact rounding.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def log1p_wide(y: FloatArray, m: int, out: FloatArray, work: FloatArray) -> None:
    """Write ``log1p(y[:m])``, y not negative and of any size, to ``out``.

    All arrays have the size of a strip; ``work`` is scratch. Relative error below 5e-16, and
    infinity counts as about 1e308. (``log1p_strip`` of :mod:`hesitant._vector_math` is for y that
    seldom exceed one.)
    """
    bits = work.view(np.uint64)
    power = out.view(np.uint64)
    for b in range(m):
        work[b] = 1.0 + y[b]
    for b in range(m):
        # 1 + y = 2^k f with f between sqrt(1/2) and sqrt(2)
        k = (bits[b] - _ROOT_HALF) >> _MANTISSA
        bits[b] -= k << _MANTISSA
        power[b] = k + _MAGIC_BITS
    for b in range(m):
        k = out[b] - _MAGIC
        v = work[b] - 1.0 if k > 0.0 else y[b]
        # log(1 + v) = 2 atanh(s), s = v / (2 + v), by its series: s² is below 0.03 here.
        s = v / (2.0 + v)
        q = s * s
        a = 1.0 / 23.0
        a = a * q + 1.0 / 21.0
        a = a * q + 1.0 / 19.0
        a = a * q + 1.0 / 17.0
        a = a * q + 1.0 / 15.0
        a = a * q + 1.0 / 13.0
        a = a * q + 1.0 / 11.0
        a = a * q + 1.0 / 9.0
        a = a * q + 1.0 / 7.0
        a = a * q + 1.0 / 5.0
        a = a * q + 1.0 / 3.0
        out[b] = k * _LN2_HIGH + (k * _LN2_LOW + 2.0 * (s + s * q * a))


def _log_rise_plainly(q: FloatArray, nu: FloatArray) -> FloatArray:
    return np.log1p(np.minimum(q / nu, np.finfo(float).max))


@njit(plain=_log_rise_plainly, cache=True, nogil=True, error_model="numpy")
def log_rise(q: FloatArray, nu: FloatArray) -> FloatArray:
    """Return ``log(1 + q/ν)`` of squared distances (n, g)."""
    n, g = q.shape
    out = np.empty((n, g))
    y, rise, work = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for h in range(g):
            for b in range(m):
                y[b] = q[start + b, h] / nu[h]
            log1p_wide(y, m, rise, work)
            for b in range(m):
                out[start + b, h] = rise[b]
    return out
