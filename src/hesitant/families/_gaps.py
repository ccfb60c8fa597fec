"""Rows with empty cells: the likelihood of what was observed, and what it says of the rest.

For each pattern of gaps and class the scale matrix is factored once, observed features first. A
row's share of the statistics is what is expected of the whole row given what it has: moments so
completed have the observed likelihood's gradient, and EM's steps climb it.
"""

import dataclasses
import math
from typing import Any, TypeAlias

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.families._kernels import FARTHEST, Place, cholesky, weighted_moments

Seen: TypeAlias = int | IntArray
"""How many features have been seen: of all rows, or of each."""

# EM steps of a single Gaussian, from which empty cells are first filled.
_ROUNDS = 15


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Which rows of a block lack what."""

    places: IntArray  # of rows with empty cells, by pattern
    rest: FloatArray  # all rows (n, p), zeros in empty cells: for loops over whole rows
    X: FloatArray  # the rows with empty cells
    starts: IntArray  # where among them each pattern begins, and where the last ends
    seen: BoolArray  # which features a pattern has (patterns, p)
    pattern: IntArray  # of each row

    def sums(self, rows: FloatArray, axis: int = 0) -> FloatArray:
        """Return sums over the rows of each pattern."""
        return np.add.reduceat(rows, self.starts[:-1], axis=axis)

    def fill(self, params: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows as classes expect them (g, n, p), distances and log volumes (n, g)."""
        filled, q, volume = _fill(self.X, params.place, params.scale, self.starts, self.seen)
        return filled, q, volume[self.pattern]

    def moments(
        self, params: Any, filled: FloatArray, weights: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows' mass, and what is expected of their sum and scatter."""
        center, spread, location = params.place
        each = zip(filled, location, weights.T.copy(), strict=True)
        own = [weighted_moments(X, (center, spread, at[None]), w[:, None]) for X, at, w in each]
        mass, first, second = (np.concatenate(part) for part in zip(*own, strict=True))
        return mass, first, second + _left_over(params.scale, self.seen, self.sums(counts))

    def left_along(self, params: Any, axis: FloatArray) -> FloatArray:
        """Return what the features seen leave of ``Ω axis``, for each pattern and class."""
        (g, p), m = axis.shape, len(self.seen)
        toward = np.einsum("hjk,hk->hj", params.scale, axis)
        origin = np.zeros(p), np.ones(p), np.zeros((g, p))
        rows, starts = np.tile(toward, (m, 1)), g * np.arange(m + 1)
        found = _fill(rows, origin, params.scale, starts, self.seen)[0].reshape(g, m, g, p)
        return toward - np.einsum("hmhj->mhj", found)


def find_gaps(X: AnyArray) -> Gaps | None:
    """Return how the empty cells of a block lie; None if there are none."""
    # One sum is not a number if any cell is none, and quicker than to look at each.
    if not math.isnan(np.add.reduce(X, axis=None)):
        return None
    places = np.flatnonzero(np.isnan(X).any(axis=1))
    if not places.size:  # infinities cancelled, where a solver tries absurd points
        return None
    empty = np.isnan(X[places])
    # Sixty-four features a number: far quicker to sort than rows.
    packed = np.packbits(empty, axis=1)
    keys = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    order = np.lexsort(keys.T)
    keys, places = keys[order], places[order]
    new = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    starts = np.concatenate(([0], new, [len(places)]))
    rest = np.array(X, dtype=np.float64, order="C")
    own = rest[places]
    rest[places] = np.nan_to_num(own)
    seen = ~empty[order[starts[:-1]]]
    return Gaps(places, rest, own, starts, seen, np.repeat(np.arange(len(seen)), np.diff(starts)))


def complete(X: AnyArray, center: FloatArray, spread: FloatArray) -> AnyArray:
    """Return rows with empty cells filled by regression on the others, for a first guess."""
    gaps = find_gaps(X)
    if gaps is None:
        return X
    p, prior = len(center), (len(center) + 2.0) * 1e-2
    out, location, scale = gaps.rest, np.zeros((1, p)), np.eye(p)[None]
    each = np.diff(gaps.starts)[:, None].astype(float)
    for _ in range(_ROUNDS + 1):
        place = center, spread, location
        out[gaps.places] = _fill(gaps.X, place, scale, gaps.starts, gaps.seen)[0][0]
        _, first, second = weighted_moments(out, place, np.ones((len(X), 1)))
        shift = first / len(X)
        scatter = second + _left_over(scale, gaps.seen, each) + prior * np.eye(p)
        location = location + shift
        scale = (scatter - first[:, :, None] * shift[:, None, :]) / (len(X) + prior)
    return out


@njit(fastmath={"contract"})
def _factor(scale: FloatArray, seen: BoolArray, at: IntArray, C: FloatArray) -> int:
    """Write the places of the features seen, then of the others, and the matrix's root so."""
    d = seen.sum()
    i, k = 0, d
    for j in range(len(seen)):
        if seen[j]:
            at[i] = j
            i += 1
        else:
            at[k] = j
            k += 1
    if not cholesky(scale, at, C):
        C[:] = np.nan
    return d


@njit(fastmath={"contract"})
def _fill(
    X: FloatArray, place: Place, scale: FloatArray, starts: IntArray, seen: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give rows as classes expect them (g, n, p), distances (n, g), log volumes (m, g)."""
    center, spread, location = place
    n, p = X.shape
    g, m = len(scale), len(seen)
    out, q, volume = np.empty((g, n, p)), np.zeros((n, g)), np.zeros((m, g))
    C, at, z = np.zeros((p, p)), np.empty(p, dtype=np.int64), np.empty(p)
    for k in range(m):
        for h in range(g):
            d = _factor(scale[h], seen[k], at, C)
            for a in range(d):
                volume[k, h] -= np.log(C[a, a]) + np.log(spread[at[a]])
            for i in range(starts[k], starts[k + 1]):
                for a in range(p):
                    j = at[a]
                    s = 0.0
                    for b in range(min(a, d)):
                        s += C[a, b] * z[b]
                    if a < d:
                        out[h, i, j] = X[i, j]
                        v = (X[i, j] - center[j]) / spread[j]
                        v = min(max(v, -FARTHEST), FARTHEST) - location[h, j]
                        z[a] = (v - s) / C[a, a]
                        q[i, h] += z[a] * z[a]
                    else:
                        out[h, i, j] = center[j] + spread[j] * (location[h, j] + s)
    return out, q, volume


@njit(fastmath={"contract"})
def _left_over(scale: FloatArray, seen: BoolArray, totals: FloatArray) -> FloatArray:
    """Scatter (g, p, p) that the features seen leave to the others, patterns weighted (m, g)."""
    g, p, _ = scale.shape
    out = np.zeros((g, p, p))
    C, at = np.zeros((p, p)), np.empty(p, dtype=np.int64)
    for k in range(len(seen)):
        for h in range(g):
            d = _factor(scale[h], seen[k], at, C)
            for a in range(d, p):
                for b in range(d, p):
                    for c in range(d, min(a, b) + 1):
                        out[h, at[a], at[b]] += totals[k, h] * C[a, c] * C[b, c]
    return out
