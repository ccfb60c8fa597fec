"""Compiled loops of the location-scale families, and the units they work in.

Rows are taken in strips of a few hundred and transposed, so that each inner loop runs over
contiguous rows: the compiler turns those into vector instructions, and a strip stays in cache.
Features are standardised there, which saves a copy of X. Nothing is allocated in compiled code:
compiling that takes longer than all the rest.
"""

import math
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from hesitant._compile import njit
from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import StepError

Place: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Centre and spread of the features, their units, and the classes' locations in those."""

FARTHEST = 1e120
_SMALLEST = 1e-14  # of a variance, what the features before it must leave
_NOTHING = 1e-30  # of a sum of squares, in standardised units
WIDE = 24  # features from which on it pays to look for rows that count
# Rows at a time. Not a power of two: rows of scratch would be in each other's way in the cache.
LENGTH = 224

# Sums may be reordered (that is what vectorises them); infinities and NaN keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def strips_room(*shape: int) -> FloatArray:
    """Return zeros from where a cache line begins: strips are then read up to a sixth sooner."""
    size = math.prod(shape)
    room = np.zeros(size + 7)
    start = -room.__array_interface__["data"][0] // room.itemsize % 8
    return room[start : start + size].reshape(shape)


def pools_room(p: int, g: int) -> tuple[AnyArray, ...]:
    """Return where :func:`rows_that_count` keeps rows, if it pays to look for those."""
    pools = strips_room(g, 2, p + 1 if p >= WIDE else 0, LENGTH)
    return pools, np.zeros((g, 2), dtype=np.int64), np.zeros(LENGTH, dtype=np.int64)


def standardise(X: AnyArray, center: FloatArray, spread: FloatArray) -> FloatArray:
    """Return rows in standardised units; beyond FARTHEST all is equally absurd."""
    return np.clip((X - center) / spread, -FARTHEST, FARTHEST)


def some_rows(X: AnyArray) -> FloatArray:
    """Return at most about 10,000 rows."""
    return np.ascontiguousarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)


def robust_units(X: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return a robust centre and spread of each feature."""
    # Each in one piece, as kernels are compiled for.
    center, spread = map(np.array, zip(*map(_unit, some_rows(X).T), strict=True))
    return center, spread


def _unit(column: FloatArray) -> tuple[float, float]:
    """Return the median of the distinct values, and their spread by the quartiles."""
    # Distinct, so that a row of weight two and a row given twice lead to the same units.
    ordered = np.sort(column)
    distinct = ordered[np.concatenate(([True], ordered[1:] > ordered[:-1]))]  # without NaN, then
    if math.isnan(distinct[0]):
        return 0.0, 1.0
    last = len(distinct) - 1
    places = [0, last // 10, last // 4, last // 2, last * 3 // 4, -(-9 * last // 10), last]
    least, below, low, middle, high, above, top = distinct[places].tolist()
    # Two values have no quartiles, a constant no deviation, a column of zeros no size. Most
    # values must be in reach of the spread; one may be anywhere. And a variance must be a number.
    far, reach = max(above - middle, middle - below), min(max(top - middle, middle - least), 1e300)
    floor = max(1e-14 * abs(middle), 1e-15 * far, 1e-100 * reach) + 1e-152
    sizes = (high - low) / 1.349, reach, abs(middle)
    return middle, next((size for size in sizes if size > floor), 1.0)


def _distances_room(X: AnyArray, place: Place, whitener: FloatArray) -> tuple[Any, Any]:
    g, p, _ = whitener.shape
    size = p + -p % 4
    padded, out = np.zeros((g, size, size)), np.empty((len(X), g))
    padded[:, :p, :p] = whitener
    return out, (X, *place, padded, out, strips_room(2 * size + 5, LENGTH))


def _distances_plainly(X: AnyArray, place: Place, whitener: FloatArray) -> FloatArray:
    center, spread, location = place
    z = (standardise(X, center, spread) - location[:, None]) @ whitener.transpose(0, 2, 1)
    return np.ascontiguousarray(np.einsum("hij,hij->ih", z, z))


@njit(fastmath=REORDERED, inner=True)
def standard_strip(X, center, spread, x, start, m):  # type: ignore[no-untyped-def]
    """Write m rows, as :func:`standardise` gives them, to the columns of x; sum their squares."""
    total = 0.0
    for b in range(m):  # in the order in which they lie in memory
        for j in range(len(center)):
            x[j, b] = X[start + b, j]
    for j in range(len(center)):
        per_unit, middle = 1.0 / spread[j], center[j]
        for b in range(m):
            at = (x[j, b] - middle) * per_unit  # without a bound its square may overflow
            x[j, b] = -FARTHEST if at < -FARTHEST else FARTHEST if at > FARTHEST else at
        for b in range(m):
            total += x[j, b] * x[j, b]
    return total


@njit(fastmath=REORDERED, inner=True)
def distance_strip(x, shift, whitener, u, z, m):  # type: ignore[no-untyped-def]
    """Give squared lengths of ``whitener @ (x − shift)`` in ``z[4]``; else z is zero again."""
    z0, z1, z2, z3, q = z[0], z[1], z[2], z[3], z[4]
    for j in range(len(shift)):
        at = shift[j]
        for b in range(m):
            u[j, b] = x[j, b] - at
    for b in range(m):
        q[b] = 0.0
    # Four rows of the triangle by four columns: each number loaded serves four times.
    for j in range(0, len(whitener), 4):
        for k in range(0, j + 4, 4):
            w = whitener[j : j + 4, k : k + 4]
            a0, a1, a2, a3 = w[0, 0], w[0, 1], w[0, 2], w[0, 3]
            b0, b1, b2, b3 = w[1, 0], w[1, 1], w[1, 2], w[1, 3]
            c0, c1, c2, c3 = w[2, 0], w[2, 1], w[2, 2], w[2, 3]
            d0, d1, d2, d3 = w[3, 0], w[3, 1], w[3, 2], w[3, 3]
            for b in range(m):
                u0, u1, u2, u3 = u[k, b], u[k + 1, b], u[k + 2, b], u[k + 3, b]
                z0[b] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
                z1[b] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
                z2[b] += c0 * u0 + c1 * u1 + c2 * u2 + c3 * u3
                z3[b] += d0 * u0 + d1 * u1 + d2 * u2 + d3 * u3
        for b in range(m):
            q[b] += z0[b] * z0[b] + z1[b] * z1[b] + z2[b] * z2[b] + z3[b] * z3[b]
            z0[b] = z1[b] = z2[b] = z3[b] = 0.0


@njit(_distances_plainly, _distances_room, fastmath=REORDERED)
def squared_distances(  # type: ignore[no-untyped-def]
    X, center, spread, location, whitener, out, scratch
):
    """Give squared Mahalanobis distances of rows to classes (n, g)."""
    n, size = len(X), whitener.shape[1]
    x, u, z = scratch[:size], scratch[size : 2 * size], scratch[2 * size :]
    for start in range(0, n, LENGTH):
        m = LENGTH if n - start > LENGTH else n - start
        standard_strip(X, center, spread, x, start, m)
        for h in range(len(location)):
            distance_strip(x, location[h], whitener[h], u, z, m)
            for b in range(m):
                out[start + b, h] = z[4, b]


def _moments_room(X: AnyArray, place: Place, weights: FloatArray) -> tuple[Any, Any]:
    g, p = place[2].shape
    size = p + -p % 4
    out = np.zeros(g), np.zeros((g, p)), np.zeros((g, size, size))
    strips = strips_room(3 * size + 1, LENGTH)
    return (*out[:2], out[2][:, :p, :p]), (X, *place, weights, *out, strips, *pools_room(p, g))


def _moments_plainly(X: AnyArray, place: Place, weights: FloatArray) -> tuple[FloatArray, ...]:
    center, spread, location = place
    u = (X - center) / spread - location[:, None]
    w = weights.T[:, None]
    second = (w * u.transpose(0, 2, 1)) @ u
    return np.einsum("ih->h", weights), (w @ u)[:, 0], (second + second.transpose(0, 2, 1)) / 2


@njit(fastmath=REORDERED, inner=True)
def moment_strip(x, shift, w, u, v, first, second, m):  # type: ignore[no-untyped-def]
    """Return the sum of m weights w; add sums of rows x − shift so weighted, and their products.

    Of the products, to the lower triangle, in fours; u gets such rows, v weighted ones.
    """
    # A loop that adds up stores nothing: whether one that does both is vectorised, and so in which
    # order it adds, depends on where in memory its arrays happen to lie.
    mass = 0.0
    if m == 0:
        return mass
    for b in range(m):
        mass += w[b]
    for j in range(len(first)):
        total, at = 0.0, shift[j]
        for b in range(m):
            u[j, b] = x[j, b] - at
        for b in range(m):
            v[j, b] = w[b] * u[j, b]
        for b in range(m):
            total += v[j, b]
        first[j] += total
    for j in range(0, len(second), 4):
        for k in range(0, j + 4, 4):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
            for b in range(m):
                v0, v1, v2, v3 = v[j, b], v[j + 1, b], v[j + 2, b], v[j + 3, b]
                u0, u1, u2, u3 = u[k, b], u[k + 1, b], u[k + 2, b], u[k + 3, b]
                a0, a1, a2, a3 = a0 + v0 * u0, a1 + v0 * u1, a2 + v0 * u2, a3 + v0 * u3
                b0, b1, b2, b3 = b0 + v1 * u0, b1 + v1 * u1, b2 + v1 * u2, b3 + v1 * u3
                c0, c1, c2, c3 = c0 + v2 * u0, c1 + v2 * u1, c2 + v2 * u2, c3 + v2 * u3
                d0, d1, d2, d3 = d0 + v3 * u0, d1 + v3 * u1, d2 + v3 * u2, d3 + v3 * u3
            sums = (a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3)
            for i in range(16):
                second[j + i // 4, k + i % 4] += sums[i]
    return mass


@njit(inner=True)
def rows_that_count(x, squares, shift, w, pool, waiting, places, m):  # type: ignore[no-untyped-def]
    """Return rows to sum up, their weights, and how many they are.

    Where few count they wait in one half of a pool until it is full, or for a strip of no rows.
    """
    if pool.shape[1] == 0:
        return x, w, m
    half, at, count, given = waiting[0], waiting[1], 0, 0
    for j in range(len(shift)):
        squares += shift[j] * shift[j]
    # What a row adds, its weight times a square, may be lost in rounding whatever its sign.
    least = _NOTHING / (1.0 + 2.0 * squares)
    for b in range(m):
        places[count] = b
        count += 0 if abs(w[b]) <= least else 1
    if 4 * count > 3 * m:
        return x, w, m
    full = into = pool[half]
    if at + count > LENGTH or m == 0:
        waiting[0], given, at, into = 1 - half, at, 0, pool[1 - half]
    waiting[1] = at + count
    for j in range(len(shift)):
        for b in range(count):
            into[j, at + b] = x[j, places[b]]
    for b in range(count):
        into[-1, at + b] = w[places[b]]
    return full, full[-1], given


@njit(_moments_plainly, _moments_room, fastmath=REORDERED)
def weighted_moments(  # type: ignore[no-untyped-def]
    X, center, spread, location, weights, mass, first, second, strips, pools, waiting, places
):
    """Give sums of weights (g,), weighted sums (g, p) and scatters (g, p, p) about locations."""
    (n, p), g, size = X.shape, len(location), second.shape[1]
    x, u, v, w = strips[:size], strips[size : 2 * size], strips[2 * size :], strips[3 * size]
    for start in range(0, n + (LENGTH if pools.size else 0), LENGTH):  # the last may be empty
        m = LENGTH if n - start > LENGTH else n - start if n > start else 0
        squares = standard_strip(X, center, spread, x, start, m)
        for h in range(g):
            for b in range(m):
                w[b] = weights[start + b, h]
            pool = pools[h], waiting[h], places
            rows, own, k = rows_that_count(x, squares, location[h], w, *pool, m)
            mass[h] += moment_strip(rows, location[h], own, u, v, first[h], second[h], k)
    for h in range(g):
        for j in range(p):
            for k in range(j):
                second[h, k, j] = second[h, j, k]


@njit(plain=True)
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
                c[j, j] = np.sqrt(max(s, _SMALLEST * size))
            else:
                return False
    return True


def whiten(scales: FloatArray) -> FloatArray:
    """Return whiteners W of scale matrices Ω, lower triangular with ``W Ω Wᵀ = I``."""
    whitener = _whiteners(scales)
    if whitener is None:  # perhaps by rounding alone, between features of very different sizes
        size = np.einsum("...ii->...i", scales)
        whitener = _whiteners(scales + 1e-12 * size[..., None] * np.eye(size.shape[-1]))
    if whitener is None:
        raise StepError("a scale matrix is not positive definite")
    return whitener


def _whiteners(scales: FloatArray) -> FloatArray | None:
    roots = [dpotrf(scale.T, lower=1) for scale in scales]
    out = np.array([dtrtri(root, lower=1)[0] for root, _ in roots])
    # of each variance, how many times as much as the features before it leave
    times = scales.diagonal(0, 1, 2) * out.diagonal(0, 1, 2) ** 2
    if any(failed for _, failed in roots) or not times.max() <= 1 / _SMALLEST:
        for scale, whitener in zip(scales, out, strict=True):
            root = np.zeros_like(scale)
            if not cholesky(scale, np.arange(len(scale)), root):
                return None
            whitener[:] = dtrtri(root, lower=1)[0]
    return out


def inverse(whitener: FloatArray) -> Any:
    """Return inverses, NaN where a step led out of bounds."""
    found = [dtrtri(each, lower=1) for each in whitener]
    return np.array([np.full_like(half, np.nan) if failed else half for half, failed in found])


def add_to_columns(table: FloatArray, values: FloatArray) -> None:
    """Add a number to each column: of a few columns in a fifth of broadcasting's time."""
    for column, value in zip(table.T, values.tolist(), strict=True):
        column += value


def log_volumes(whitener: FloatArray, spread: FloatArray | float = 1.0) -> FloatArray:
    """Log determinant of each whitener, in units of ``spread``."""
    return np.add.reduce(np.log(whitener.diagonal(0, 1, 2) / spread), axis=1)
