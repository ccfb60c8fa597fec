"""Compiled loops of the location-scale families.

Rows are taken in strips of a few hundred and transposed, so that each inner loop runs over
contiguous rows: the compiler turns those into vector instructions, and a strip stays in the
innermost cache. Features arrive in the user's units and type and are standardised on the way in,
which costs nothing and saves a copy of X.
"""

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, FloatArray
from hesitant._vector_math import STRIP

FARTHEST = 1e120

# Sums may be reordered (that is what vectorises them); infinities and NaN keep their meaning.
_OPTIONS = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}


def _distances_plainly(
    X: AnyArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    whitener: FloatArray,
) -> FloatArray:
    x = np.clip((X - center) / spread, -FARTHEST, FARTHEST)
    z = (x - location[:, None]) @ whitener.transpose(0, 2, 1)
    return np.ascontiguousarray(np.einsum("hij,hij->ih", z, z))


def _moments_plainly(
    X: AnyArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    u = (X - center) / spread - location[:, None]
    v = weights.T[:, :, None] * u
    second = v.transpose(0, 2, 1) @ u
    return weights.sum(axis=0), v.sum(axis=1), (second + second.transpose(0, 2, 1)) / 2


@njit(plain=_distances_plainly, **_OPTIONS)
def squared_distances(
    X: AnyArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    whitener: FloatArray,
) -> FloatArray:
    """Squared Mahalanobis distance of every row to every class, as (n, g)."""
    n, p = X.shape
    g = location.shape[0]
    out = np.empty((n, g))
    per_unit = np.empty(p)
    for j in range(p):
        per_unit[j] = 1.0 / spread[j]
    x = np.empty((p, STRIP))
    u = np.empty((p, STRIP))
    z = np.empty(STRIP)
    q = np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for b in range(m):
            for j in range(p):
                # Beyond FARTHEST all is equally absurd; without it the square would overflow.
                v = (X[start + b, j] - center[j]) * per_unit[j]
                x[j, b] = min(max(v, -FARTHEST), FARTHEST)
        for h in range(g):
            for j in range(p):
                shift = location[h, j]
                for b in range(m):
                    u[j, b] = x[j, b] - shift
            for b in range(m):
                q[b] = 0.0
            for j in range(p):
                f = whitener[h, j, j]
                for b in range(m):
                    z[b] = f * u[j, b]
                # Four terms a sweep: z is loaded and stored a quarter as often.
                k = 0
                while k + 4 <= j:
                    f0 = whitener[h, j, k]
                    f1 = whitener[h, j, k + 1]
                    f2 = whitener[h, j, k + 2]
                    f3 = whitener[h, j, k + 3]
                    for b in range(m):
                        z[b] += (
                            f0 * u[k, b] + f1 * u[k + 1, b] + f2 * u[k + 2, b] + f3 * u[k + 3, b]
                        )
                    k += 4
                while k < j:
                    f = whitener[h, j, k]
                    for b in range(m):
                        z[b] += f * u[k, b]
                    k += 1
                for b in range(m):
                    q[b] += z[b] * z[b]
            for b in range(m):
                out[start + b, h] = q[b]
    return out


@njit(plain=_moments_plainly, **_OPTIONS)
def weighted_moments(
    X: AnyArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted count, sum and scatter of the rows about each class's location."""
    n, p = X.shape
    g = location.shape[0]
    count = np.zeros(g)
    first = np.zeros((g, p))
    second = np.zeros((g, p, p))
    per_unit = np.empty(p)
    for j in range(p):
        per_unit[j] = 1.0 / spread[j]
    x = np.empty((p, STRIP))
    u = np.empty((p, STRIP))
    w = np.empty(STRIP)
    v = np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for b in range(m):
            for j in range(p):
                x[j, b] = (X[start + b, j] - center[j]) * per_unit[j]
        for h in range(g):
            total = 0.0
            for b in range(m):
                w[b] = weights[start + b, h]
                total += w[b]
            count[h] += total
            for j in range(p):
                shift = location[h, j]
                for b in range(m):
                    u[j, b] = x[j, b] - shift
            for j in range(p):
                total = 0.0
                for b in range(m):
                    v[b] = w[b] * u[j, b]
                    total += v[b]
                first[h, j] += total
                k = 0
                while k + 4 <= j + 1:
                    t0 = 0.0
                    t1 = 0.0
                    t2 = 0.0
                    t3 = 0.0
                    for b in range(m):
                        t0 += v[b] * u[k, b]
                        t1 += v[b] * u[k + 1, b]
                        t2 += v[b] * u[k + 2, b]
                        t3 += v[b] * u[k + 3, b]
                    second[h, j, k] += t0
                    second[h, j, k + 1] += t1
                    second[h, j, k + 2] += t2
                    second[h, j, k + 3] += t3
                    k += 4
                while k <= j:
                    t0 = 0.0
                    for b in range(m):
                        t0 += v[b] * u[k, b]
                    second[h, j, k] += t0
                    k += 1
    for h in range(g):
        for j in range(p):
            for k in range(j):
                second[h, k, j] = second[h, j, k]
    return count, first, second


@njit(plain=True, cache=True, nogil=True, error_model="numpy")
def whiteners(scales: FloatArray) -> tuple[FloatArray, bool]:
    """Lower triangular W with ``W Ω Wᵀ = I`` for each class, and whether all Ω are positive."""
    g, p, _ = scales.shape
    out = np.zeros((g, p, p))
    c = np.zeros((p, p))
    for h in range(g):
        for j in range(p):
            for k in range(j + 1):
                s = scales[h, j, k]
                for i in range(k):
                    s -= c[j, i] * c[k, i]
                if j == k:
                    # What is zero but for rounding (an outlier at 1e12 leaves the rest no digits)
                    # is given a correlation just short of one; what is negative is refused.
                    size = scales[h, j, j]
                    if not (s > -1e-8 * size and np.isfinite(s) and size > 0.0):
                        return out, False
                    c[j, j] = np.sqrt(max(s, 1e-14 * size))
                else:
                    c[j, k] = s / c[k, k]
        for k in range(p):
            out[h, k, k] = 1.0 / c[k, k]
            for j in range(k + 1, p):
                s = 0.0
                for i in range(k, j):
                    s += c[j, i] * out[h, i, k]
                out[h, j, k] = -s / c[j, j]
    return out, True


@njit(plain=True, cache=True, nogil=True, error_model="numpy")
def log_volumes(whitener: FloatArray, spread: FloatArray) -> FloatArray:
    """Log determinant of each whitener, in units of ``spread``."""
    g, p, _ = whitener.shape
    out = np.empty(g)
    for h in range(g):
        total = 0.0
        for j in range(p):
            total += np.log(whitener[h, j, j]) - np.log(spread[j])
        out[h] = total
    return out


# -- tails --------------------------------------------------------------------------------

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
