"""Rows with empty cells: the likelihood of what was observed, and what it says of the rest.

Rows that lack the same features go together. For each such pattern and class the observed part of
the scale matrix is factored once; then a row's density is that of its observed features, and its
share of the statistics what is expected of the whole row given those. Moments so completed have
the observed likelihood's gradient, and EM's steps climb it.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.families._kernels import FARTHEST, weighted_moments


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Which rows of a block lack what.

    Attributes
    ----------
    torn : array of int
        Places of rows with empty cells, by pattern.
    rest : array of shape (n, p)
        All rows, with zeros in the empty cells: for loops that go over whole rows.
    X : array of shape (len(torn), p)
        The rows with empty cells.
    starts : array of shape (patterns + 1,)
        Where among them each pattern begins.
    seen : boolean array of shape (patterns, p)
        Which features a pattern has.
    pattern : array of shape (len(torn),)
    """

    torn: IntArray
    rest: FloatArray
    X: FloatArray
    starts: IntArray
    seen: BoolArray
    pattern: IntArray

    def by_pattern(self) -> Iterator[FloatArray]:
        """Yield what is observed of the rows of each pattern."""
        for seen, a, b in zip(self.seen, self.starts[:-1], self.starts[1:], strict=True):
            yield np.ascontiguousarray(self.X[a:b, seen])

    def distances(self, params: Any) -> tuple[FloatArray, FloatArray]:
        """Return squared distances of the rows (n, g), and log volumes of patterns (m, g)."""
        units = params.center, params.spread, params.location, params.scale
        return gap_distances(self.X, *units, self.starts, self.seen)

    def moments(
        self, params: Any, weights: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is expected of the rows' mass, sum and scatter about each location.

        ``weights`` are those of what is expected, ``counts`` those of the spread about it.
        """
        units = params.center, params.spread, params.location, params.scale
        return gap_moments(self.X, *units, self.starts, self.seen, weights, counts)


def find_gaps(X: AnyArray) -> Gaps | None:
    """Return how the empty cells of a block lie; None if there are none.

    Examples
    --------
    >>> gaps = find_gaps(np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, np.nan], [np.nan, 0.0]]))
    >>> gaps.torn, gaps.starts
    (array([2, 1, 3]), array([0, 1, 3]))
    """
    torn = _torn_rows(X)
    if not torn.size:
        return None
    empty = np.isnan(X[torn])
    # Sixty-four features a number: far quicker to sort than rows.
    packed = np.packbits(empty, axis=1)
    words = np.zeros((len(torn), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    keys = words.view(np.uint64)
    order = np.lexsort(keys.T)
    keys, torn = keys[order], torn[order]
    new = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    starts = np.concatenate(([0], new, [len(torn)]))
    rest = np.array(X, dtype=np.float64, order="C")
    own = rest[torn]
    rest[torn] = np.nan_to_num(own)
    seen = ~empty[order[starts[:-1]]]
    return Gaps(torn, rest, own, starts, seen, np.repeat(np.arange(len(seen)), np.diff(starts)))


def complete(X: AnyArray, center: FloatArray, spread: FloatArray) -> AnyArray:
    """Return rows with empty cells filled by regression on the others, for a first guess."""
    gaps = find_gaps(X)
    if gaps is None:
        return X
    p = len(center)
    units = center, spread
    location, scale = np.zeros((1, p)), np.eye(p)[None]
    rest = np.ones((len(X), 1))
    rest[gaps.torn] = 0.0
    one = np.ones((len(gaps.torn), 1))
    pattern = gaps.starts, gaps.seen
    for _ in range(_ROUNDS):
        whole = weighted_moments(gaps.rest, *units, location, rest)
        torn = gap_moments(gaps.X, *units, location, scale, *pattern, one, one)
        count, first, second = (a + b for a, b in zip(whole, torn, strict=True))
        shift = first[0] / count[0]
        scatter = second[0] - np.outer(first[0], shift) + (p + 2.0) * 1e-2 * np.eye(p)
        location = location + shift
        scale = scatter[None] / (count[0] + (p + 2.0) * 1e-2)
    out = gaps.rest
    for seen, a, b in zip(gaps.seen, gaps.starts[:-1], gaps.starts[1:], strict=True):
        rows, hidden = gaps.torn[a:b], ~seen
        u = (gaps.X[a:b, seen] - center[seen]) / spread[seen] - location[0, seen]
        slope = np.linalg.solve(scale[0][np.ix_(seen, seen)], scale[0][np.ix_(seen, hidden)])
        expected = location[0, hidden] + u @ slope
        out[np.ix_(rows, np.flatnonzero(hidden))] = center[hidden] + spread[hidden] * expected
    return out


# EM steps of a single Gaussian, from which empty cells are first filled.
_ROUNDS = 15
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


def _torn_rows_plainly(X: AnyArray) -> IntArray:
    return np.flatnonzero(np.isnan(X).any(axis=1))


@njit(
    plain=_torn_rows_plainly,
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
)
def _torn_rows(X: AnyArray) -> IntArray:
    """Return the places of rows with empty cells."""
    n, p = X.shape
    out = np.empty(0, dtype=np.int64)
    found = 0
    for i in range(n):
        # One sum: not a number if any cell is none, and quicker than to look at each.
        total = 0.0
        for j in range(p):
            total += X[i, j] * 0.0
        if np.isnan(total):
            empty = False
            for j in range(p):  # infinity, where a solver tries absurd points, is none
                empty = empty or np.isnan(X[i, j])
            if empty:
                if not found:
                    out = np.empty(n - i, dtype=np.int64)
                out[found] = i
                found += 1
    return out[:found]


@njit(**_OPTIONS)
def _factor(scale: FloatArray, seen: BoolArray, at: IntArray, L: FloatArray) -> int:
    """Write the places of the features seen, then of the others, and the former's root L."""
    p = len(seen)
    d = 0
    for j in range(p):
        if seen[j]:
            at[d] = j
            d += 1
    last = d
    for j in range(p):
        if not seen[j]:
            at[last] = j
            last += 1
    for a in range(d):
        for b in range(a + 1):
            s = scale[at[a], at[b]]
            for i in range(b):
                s -= L[a, i] * L[b, i]
            if a == b:
                L[a, a] = np.sqrt(max(s, 1e-14 * scale[at[a], at[a]]))
            else:
                L[a, b] = s / L[b, b]
    return d


@njit(**_OPTIONS)
def gap_distances(
    X: FloatArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    scale: FloatArray,
    starts: IntArray,
    seen: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Squared distances of rows with gaps (n, g), and log volumes of patterns (m, g)."""
    n, p = X.shape
    g, m = len(location), len(seen)
    q = np.empty((n, g))
    volume = np.zeros((m, g))
    L, at, z = np.zeros((p, p)), np.empty(p, dtype=np.int64), np.empty(p)
    for k in range(m):
        for h in range(g):
            d = _factor(scale[h], seen[k], at, L)
            for a in range(d):
                volume[k, h] -= np.log(L[a, a]) + np.log(spread[at[a]])
            for i in range(starts[k], starts[k + 1]):
                total = 0.0
                for a in range(d):
                    j = at[a]
                    u = (X[i, j] - center[j]) / spread[j]
                    s = min(max(u, -FARTHEST), FARTHEST) - location[h, j]
                    for b in range(a):
                        s -= L[a, b] * z[b]
                    z[a] = s / L[a, a]
                    total += z[a] * z[a]
                q[i, h] = total
    return q, volume


@njit(**_OPTIONS)
def gap_moments(
    X: FloatArray,
    center: FloatArray,
    spread: FloatArray,
    location: FloatArray,
    scale: FloatArray,
    starts: IntArray,
    seen: BoolArray,
    weights: FloatArray,
    counts: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted mass, sum and scatter about each location, rows completed by expectation."""
    _, p = X.shape
    g, m = len(location), len(seen)
    mass, first, second = np.zeros(g), np.zeros((g, p)), np.zeros((g, p, p))
    L, B = np.zeros((p, p)), np.zeros((p, p))
    at, u = np.empty(p, dtype=np.int64), np.empty(p)
    for k in range(m):
        for h in range(g):
            d = _factor(scale[h], seen[k], at, L)
            total = 0.0
            for i in range(starts[k], starts[k + 1]):
                total += counts[i, h]
            for c in range(d, p):  # regressions of what is missing, and what they leave over
                for a in range(d):
                    s = scale[h, at[c], at[a]]
                    for b in range(a):
                        s -= L[a, b] * B[c, b]
                    B[c, a] = s / L[a, a]
                for e in range(d, c + 1):
                    s = scale[h, at[c], at[e]]
                    for a in range(d):
                        s -= B[c, a] * B[e, a]
                    second[h, at[c], at[e]] += total * s
                    if e < c:
                        second[h, at[e], at[c]] += total * s
            for c in range(d, p):
                for a in range(d - 1, -1, -1):
                    s = B[c, a]
                    for b in range(a + 1, d):
                        s -= L[b, a] * B[c, b]
                    B[c, a] = s / L[a, a]
            for i in range(starts[k], starts[k + 1]):
                w = weights[i, h]
                mass[h] += w
                for a in range(d):
                    j = at[a]
                    u[j] = (X[i, j] - center[j]) / spread[j] - location[h, j]
                for c in range(d, p):
                    s = 0.0
                    for a in range(d):
                        s += B[c, a] * u[at[a]]
                    u[at[c]] = s
                for j in range(p):
                    v = w * u[j]
                    first[h, j] += v
                    for c in range(p):
                        second[h, j, c] += v * u[c]
    return mass, first, second
