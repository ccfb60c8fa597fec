"""Compiled loops of the location-scale families.

Rows are taken in strips of a few hundred and transposed, so that each inner loop runs over
contiguous rows: the compiler turns those into vector instructions, and a strip stays in the
innermost cache. Features arrive in the user's units and type and are standardised on the way in,
which costs nothing and saves a copy of X. Each has a plain version, for where compiling does not
pay; what takes a ``slant`` or a ``drive`` may be given ``NONE``.
"""

from typing import TypeAlias

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, FloatArray
from hesitant._vector_math import STRIP, log1p_strip

Place: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Centre and spread of the features, their units, and the classes' locations in those."""

FARTHEST = 1e120
NONE = np.zeros((0, 0))

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Sums may be reordered (that is what vectorises them); infinities and NaN keep their meaning.
VECTORS = {**_OPTIONS, "fastmath": {"reassoc", "contract", "nsz", "arcp"}}


def _distances_plainly(
    X: AnyArray, place: Place, whitener: FloatArray, slant: FloatArray
) -> tuple[FloatArray, FloatArray]:
    center, spread, location = place
    x = np.clip((X - center) / spread, -FARTHEST, FARTHEST)
    z = (x - location[:, None]) @ whitener.transpose(0, 2, 1)
    along = np.einsum("hij,hj->ih", z, slant) if len(slant) else np.zeros((len(X), 0))
    return np.ascontiguousarray(np.einsum("hij,hij->ih", z, z)), np.ascontiguousarray(along)


@njit(plain=_distances_plainly, **VECTORS)
def squared_distances(
    X: AnyArray, place: Place, whitener: FloatArray, slant: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Squared Mahalanobis distance of rows to classes, and whitened residuals along slants."""
    center, spread, location = place
    n, p = X.shape
    g, skewed = location.shape[0], len(slant) > 0
    out, along = np.empty((n, g)), np.empty((n, len(slant)))
    per_unit = 1.0 / spread
    x, u = np.empty((p, STRIP)), np.empty((p, STRIP))
    z, q, r = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for b in range(m):
            for j in range(p):
                # Beyond FARTHEST all is equally absurd; without it the square would overflow.
                v = (X[start + b, j] - center[j]) * per_unit[j]
                x[j, b] = min(max(v, -FARTHEST), FARTHEST)
        for h in range(g):
            q[:m] = 0.0
            r[:m] = 0.0
            for j in range(p):
                shift = location[h, j]
                for b in range(m):
                    u[j, b] = x[j, b] - shift
                f = whitener[h, j, j]
                for b in range(m):
                    z[b] = f * u[j, b]
                # Four terms a sweep: z is loaded and stored a quarter as often.
                k = 0
                while k + 4 <= j:
                    f0, f1 = whitener[h, j, k], whitener[h, j, k + 1]
                    f2, f3 = whitener[h, j, k + 2], whitener[h, j, k + 3]
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
                if skewed:
                    f = slant[h, j]
                    for b in range(m):
                        r[b] += f * z[b]
            for b in range(m):
                out[start + b, h] = q[b]
            if skewed:
                for b in range(m):
                    along[start + b, h] = r[b]
    return out, along


def _moments_plainly(
    X: AnyArray, place: Place, weights: FloatArray, drive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    center, spread, location = place
    u = (X - center) / spread - location[:, None]
    v = weights.T[:, :, None] * u
    second = v.transpose(0, 2, 1) @ u
    driven = np.einsum("ih,hij->hj", drive, u) if len(drive) else np.zeros(location.shape)
    second = (second + second.transpose(0, 2, 1)) / 2
    return weights.sum(axis=0), v.sum(axis=1), second, driven


@njit(plain=_moments_plainly, **VECTORS)
def weighted_moments(
    X: AnyArray, place: Place, weights: FloatArray, drive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weighted count, sum and scatter of rows about each location; then their sum by ``drive``."""
    center, spread, location = place
    n, p = X.shape
    g, driving = location.shape[0], len(drive) > 0
    count, first, second = np.zeros(g), np.zeros((g, p)), np.zeros((g, p, p))
    driven = np.zeros((g, p))
    per_unit = 1.0 / spread
    x, u = np.empty((p, STRIP)), np.empty((p, STRIP))
    w, v, d = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
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
            if driving:
                for b in range(m):
                    d[b] = drive[start + b, h]
            for j in range(p):
                shift = location[h, j]
                total = 0.0
                for b in range(m):
                    u[j, b] = x[j, b] - shift
                    v[b] = w[b] * u[j, b]
                    total += v[b]
                first[h, j] += total
                if driving:
                    total = 0.0
                    for b in range(m):
                        total += d[b] * u[j, b]
                    driven[h, j] += total
                k = 0
                while k + 4 <= j + 1:
                    t0 = t1 = t2 = t3 = 0.0
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
                    total = 0.0
                    for b in range(m):
                        total += v[b] * u[k, b]
                    second[h, j, k] += total
                    k += 1
    for h in range(g):
        for j in range(p):
            for k in range(j):
                second[h, k, j] = second[h, j, k]
    return count, first, second, driven


@njit(plain=True, **_OPTIONS)
def cholesky(scale: FloatArray, order: AnyArray, c: FloatArray) -> bool:
    """Write the root of a matrix, its rows in some order, to c; say whether it has one."""
    for j in range(len(order)):
        size = scale[order[j], order[j]]
        for k in range(j + 1):
            s = scale[order[j], order[k]]
            for i in range(k):
                s -= c[j, i] * c[k, i]
            if j > k:
                c[j, k] = s / c[k, k]
            elif s > -1e-8 * size and np.isfinite(s) and size > 0.0:
                # What is zero but for rounding (an outlier at 1e12 leaves the rest no digits)
                # is given a correlation just short of one; what is negative is refused.
                c[j, j] = np.sqrt(max(s, 1e-14 * size))
            else:
                return False
    return True


@njit(plain=True, **_OPTIONS)
def whiteners(scales: FloatArray) -> tuple[FloatArray, bool]:
    """Lower triangular W with ``W Ω Wᵀ = I`` for each class, and whether all Ω are positive."""
    g, p, _ = scales.shape
    out, c, order = np.zeros((g, p, p)), np.zeros((p, p)), np.arange(p)
    for h in range(g):
        if not cholesky(scales[h], order, c):
            return out, False
        for k in range(p):
            out[h, k, k] = 1.0 / c[k, k]
            for j in range(k + 1, p):
                s = 0.0
                for i in range(k, j):
                    s += c[j, i] * out[h, i, k]
                out[h, j, k] = -s / c[j, j]
    return out, True


@njit(plain=True, **_OPTIONS)
def log_volumes(whitener: FloatArray, spread: FloatArray) -> FloatArray:
    """Log determinant of each whitener, in units of ``spread``."""
    out = np.empty(len(whitener))
    for h in range(len(whitener)):
        total = 0.0
        for j in range(len(spread)):
            total += np.log(whitener[h, j, j]) - np.log(spread[j])
        out[h] = total
    return out


def _log_rise_plainly(q: FloatArray, nu: FloatArray) -> FloatArray:
    return np.log1p(np.minimum(q / nu, np.finfo(float).max))


@njit(plain=_log_rise_plainly, **_OPTIONS)
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
            log1p_strip(y, m, rise, work)
            for b in range(m):
                out[start + b, h] = rise[b]
    return out
