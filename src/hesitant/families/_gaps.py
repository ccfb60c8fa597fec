"""Rows with empty cells: the likelihood of what was observed, and what it says of the rest.

Rows that lack the same features go together. For each such pattern and class the observed part of
the scale matrix is factored once; then a row's density is that of its observed features, and its
share of the statistics what is expected of the whole row given those. Moments so completed have
the observed likelihood's gradient, and EM's steps climb it.
"""

import dataclasses
from typing import Any

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.families._kernels import FARTHEST


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Which rows of a block lack what.

    Attributes
    ----------
    whole, torn : arrays of int
        Places of rows without empty cells, and of the others, by pattern.
    X : array of shape (len(torn), p)
        The latter.
    starts : array of shape (patterns + 1,)
        Where among them each pattern begins.
    seen : boolean array of shape (patterns, p)
        Which features a pattern has.
    pattern : array of shape (len(torn),)
    """

    whole: IntArray
    torn: IntArray
    X: FloatArray
    starts: IntArray
    seen: BoolArray
    pattern: IntArray

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
    >>> gaps.whole, gaps.torn, gaps.starts
    (array([0]), array([2, 1, 3]), array([0, 1, 3]))
    """
    if not _any_empty(X):
        return None
    empty = np.isnan(X)
    torn = np.flatnonzero(empty.any(axis=1))
    if not torn.size:  # infinity, where a solver tries absurd points
        return None
    # Sixty-four features a number: far quicker to sort than rows.
    packed = np.packbits(empty[torn], axis=1)
    words = np.zeros((len(torn), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    order = np.lexsort(words.view(np.uint64).T)
    torn = torn[order]
    words = words[order]
    new = np.flatnonzero((words[1:] != words[:-1]).any(axis=1)) + 1
    starts = np.concatenate(([0], new, [len(torn)]))
    return Gaps(
        np.flatnonzero(~empty.any(axis=1)),
        torn,
        np.ascontiguousarray(X[torn], dtype=np.float64),
        starts,
        ~empty[torn[starts[:-1]]],
        np.repeat(np.arange(len(starts) - 1), np.diff(starts)),
    )


def filled(X: AnyArray, with_what: FloatArray) -> AnyArray:
    """Return rows without empty cells, for a first guess."""
    return np.where(np.isnan(X), with_what, X) if _any_empty(X) else X


_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


def _any_empty_plainly(X: AnyArray) -> bool:
    return bool(np.isnan(X).any())


@njit(
    plain=_any_empty_plainly,
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
)
def _any_empty(X: AnyArray) -> bool:
    # One sum: not a number if any cell is none, and quicker than to look at each.
    n, p = X.shape
    for i in range(n):
        total = 0.0
        for j in range(p):
            total += X[i, j] * 0.0
        if np.isnan(total):
            return True
    return False


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
