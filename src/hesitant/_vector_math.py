"""Exponentials and logarithms of whole strips, in loops a compiler can vectorise.

Compiled code calls the C library for each ``exp`` and ``log1p``, one number at a time; posteriors
need several for every row. These take a fifth of the time (``python -m benchmarks.vector_math``).
"""

import math
from typing import Any, TypeAlias

import numpy as np

from hesitant._compile import njit
from hesitant._typing import FloatArray

STRIP = 256
# log posteriors (n, g), posteriors (n, g) and log densities of the rows (n,)
Posterior: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

_LOG2_E = 1.0 / math.log(2.0)
# ln 2 as a sum of two numbers, the first with trailing zeros
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this rounds to a whole number, and leaves that number in the low bits.
_ROUND, _ROUND_BITS = 6755399441055744.0, np.uint64(0x4338000000000000)
_ROOT_HALF, _MANTISSA, _BIAS = np.uint64(0x3FE6A09E667F3BCD), np.uint64(52), np.uint64(1023)
_SMALLEST = -708.0

_EXP = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
_ATANH = tuple(1.0 / k for k in range(23, 1, -2))

# Multiplication and addition may fuse, but nothing may be reordered: the rounding trick needs it.
_FUSED = {"contract"}


@njit(fastmath=_FUSED)
def exp_strip(x: FloatArray, m: int) -> None:
    """Replace ``x[:m]``, at most zero, by its exponential (error 3e-16), zero below −708."""
    for b in range(m):
        v = x[b] if x[b] > _SMALLEST else _SMALLEST
        rounded = np.float64(v * _LOG2_E + _ROUND)
        k = rounded - _ROUND
        r = (v - k * _LN2_HIGH) - k * _LN2_LOW
        e = 0.0
        for coefficient in _EXP:
            e = e * r + coefficient
        # The number's own bits serve: a view of the array would take longer to compile than this.
        power = np.uint64((rounded.view(np.uint64) + _BIAS) << _MANTISSA).view(np.float64)
        x[b] = e * power if x[b] >= _SMALLEST else 0.0


@njit(fastmath=_FUSED)
def log1p_strip(y: FloatArray, m: int, out: FloatArray) -> None:
    """Write ``log1p(y[:m])``, y not negative and of any size, to ``out`` (error 5e-16)."""
    for b in range(m):
        # 1 + y = 2^k f with f between sqrt(1/2) and sqrt(2)
        bits = np.float64(1.0 + y[b]).view(np.uint64)
        power = (bits - _ROOT_HALF) >> _MANTISSA
        f = np.uint64(bits - (power << _MANTISSA)).view(np.float64)
        k = np.uint64(power + _ROUND_BITS).view(np.float64) - _ROUND
        v = f - 1.0 if k > 0.0 else y[b]
        # log(1 + v) = 2 atanh(s), s = v / (2 + v), by its series: s² is below 0.03 here.
        s = v / (2.0 + v)
        q = s * s
        a = 0.0
        for coefficient in _ATANH:
            a = a * q + coefficient
        out[b] = k * _LN2_HIGH + (k * _LN2_LOW + 2.0 * (s + s * q * a))


def _normalise_room(joint: FloatArray, shift: Any = None) -> tuple[Posterior, Any]:
    n, g = joint.shape
    out = joint, np.empty((n, g)), np.empty(n)
    shift = np.zeros(g) if shift is None else shift
    return out, (*out, shift, np.empty((g, STRIP)), np.empty((g, STRIP)), np.empty((4, STRIP)))


def _normalise_plainly(joint: FloatArray, shift: Any = None) -> Posterior:
    if shift is not None:
        joint += shift
    rows, top = np.arange(len(joint)), joint.argmax(axis=1)
    peak = joint[rows, top]
    np.maximum(joint - peak[:, None], -1e300, out=joint)
    tau = np.exp(joint)
    tau[rows, top] = 0.0
    rest = np.einsum("ih->i", tau)
    tau[rows, top] = 1.0
    excess = np.log1p(rest)
    joint -= excess[:, None]
    tau /= 1.0 + rest[:, None]
    return joint, tau, peak + excess


@njit(inner=True)
def normalise_strip(d: FloatArray, e: FloatArray, scratch: FloatArray, m: int) -> None:
    """Turn log joint densities d (g, m) into log posteriors, e into posteriors.

    Log densities come to lie in the first row of scratch (4, m).
    """
    # Relative to the largest term: the winner's log posterior is −log1p(rest), exact even where
    # its posterior rounds to one.
    peak, top, rest, excess = scratch[0], scratch[1], scratch[2], scratch[3]
    for b in range(m):
        peak[b] = d[0, b]
        top[b] = rest[b] = 0.0
    for h in range(1, len(d)):
        for b in range(m):
            higher = d[h, b] > peak[b]
            peak[b] = d[h, b] if higher else peak[b]
            top[b] = h if higher else top[b]
    for h in range(len(d)):
        for b in range(m):
            below = d[h, b] - peak[b]
            d[h, b] = e[h, b] = -1e300 if below < -1e300 else below
        exp_strip(e[h], m)
        for b in range(m):
            rest[b] += e[h, b] if h != top[b] else 0.0
    log1p_strip(rest, m, excess)
    for b in range(m):
        rest[b] = 1.0 / (1.0 + rest[b])
        peak[b] += excess[b]
    for h in range(len(d)):
        for b in range(m):
            d[h, b] -= excess[b]
            e[h, b] *= rest[b]


@njit(_normalise_plainly, _normalise_room)
def normalise(joint, tau, log_f, shift, d, e, scratch):  # type: ignore[no-untyped-def]
    """Turn log joint densities into log posteriors (n, g), posteriors and log densities.

    ``shift``, if given, is added to the columns first.
    """
    n, g = joint.shape
    for start in range(0, n, STRIP):
        m = STRIP if n - start > STRIP else n - start
        for h in range(g):
            for b in range(m):
                d[h, b] = joint[start + b, h] + shift[h]
        normalise_strip(d, e, scratch, m)
        for b in range(m):
            log_f[start + b] = scratch[0, b]
        for h in range(g):
            for b in range(m):
                joint[start + b, h] = d[h, b]
                tau[start + b, h] = e[h, b]
