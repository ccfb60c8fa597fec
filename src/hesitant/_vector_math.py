"""Exponentials and logarithms of whole strips, in loops a compiler can vectorise.

Compiled code calls the C library for each ``exp`` and ``log1p``, one number at a time; posteriors
need several for every row. These two take the time of one.
"""

import math

import numpy as np

from hesitant._compile import njit
from hesitant._typing import FloatArray

__all__ = ["STRIP", "exp_strip", "log1p_strip"]

STRIP = 256

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding this rounds to a whole number, and leaves that number in the low bits.
_ROUND = 6755399441055744.0
_SMALLEST = -708.0

# Multiplication and addition may fuse, but nothing may be reordered: the rounding trick needs it.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_OPTIONS)
def exp_strip(x: FloatArray, m: int, work: FloatArray) -> None:
    """Replace ``x[:m]``, all at most zero, by its exponential; below −708 gives zero.

    ``work`` has the size of x. Relative error below 3e-16.
    """
    bits = work.view(np.int64)
    for b in range(m):
        work[b] = max(x[b], _SMALLEST) * _LOG2_E + _ROUND
    for b in range(m):
        k = work[b] - _ROUND
        r = (max(x[b], _SMALLEST) - k * _LN2_HIGH) - k * _LN2_LOW
        e = 1.0 / 6227020800.0
        e = e * r + 1.0 / 479001600.0
        e = e * r + 1.0 / 39916800.0
        e = e * r + 1.0 / 3628800.0
        e = e * r + 1.0 / 362880.0
        e = e * r + 1.0 / 40320.0
        e = e * r + 1.0 / 5040.0
        e = e * r + 1.0 / 720.0
        e = e * r + 1.0 / 120.0
        e = e * r + 1.0 / 24.0
        e = e * r + 1.0 / 6.0
        e = e * r + 0.5
        e = e * r + 1.0
        e = e * r + 1.0
        x[b] = e if x[b] >= _SMALLEST else 0.0
    for b in range(m):
        bits[b] = (bits[b] + 1023) << 52
    for b in range(m):
        x[b] *= work[b]


@njit(**_OPTIONS)
def log1p_strip(y: FloatArray, m: int, out: FloatArray) -> None:
    """Write ``log1p(y[:m])``, y not negative, to ``out``; relative error below 5e-16."""
    large = False
    for b in range(m):
        # log1p(y) = 2 atanh(s), s = y / (2 + y), by its series: s² is at most 1/9 here.
        v = min(y[b], 1.0)
        s = v / (2.0 + v)
        q = s * s
        a = 1.0 / 33.0
        a = a * q + 1.0 / 31.0
        a = a * q + 1.0 / 29.0
        a = a * q + 1.0 / 27.0
        a = a * q + 1.0 / 25.0
        a = a * q + 1.0 / 23.0
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
        out[b] = 2.0 * (s + s * q * a)
        large |= y[b] > 1.0
    if large:  # three or more classes may tie
        for b in range(m):
            if y[b] > 1.0:
                out[b] = math.log1p(y[b])
