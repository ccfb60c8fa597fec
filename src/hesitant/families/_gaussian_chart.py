"""Coordinates of locations and scales that gradients are taken in."""

from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics
from hesitant.families._kernels import inverse, standardise


class LocationScaleChart(Coordinates):
    """The chart ``ξ = ξ₀ + W₀⁻¹ a, W = M W₀`` of locations and whiteners.

    Both ``a`` and the free entries of M are divided by the root of the complete-data
    information at the reference, so that all coordinates are of one size.
    """

    folds = False

    def __init__(self, family: Any, reference: Any, counts: FloatArray) -> None:
        self.family, self.reference = family, reference
        self.g, self.p = reference.location.shape
        self.prior = family._prior_scatter(self.g)
        self.half = inverse(reference.whitener)
        to_pooled, _, to_mean = reference.shrinkage if reference.shrinkage.size else np.zeros(3)
        self.layout, self.counts = family.structure.layout(self.g, self.p), counts
        information = self._information(counts + to_mean, counts + to_pooled)
        self.unit = 1.0 / np.sqrt(np.maximum(information, 1.0))
        self.size = self.unit.size

    def _information(self, of_means: FloatArray, of_scales: FloatArray) -> FloatArray:
        return np.concatenate((np.repeat(of_means, self.p), self.layout.information(of_scales)))

    def decode(self, vector: FloatArray) -> Any:
        free = vector[: self.unit.size] * self.unit
        here, split = self.reference, self.g * self.p
        a = free[:split].reshape(self.g, self.p, 1)
        return here.moved(
            location=here.location + (self.half @ a)[:, :, 0],
            whitener=self.layout.unfold(free[split:]) @ here.whitener,
        )

    def gradient(self, params: Any, statistics: Statistics) -> FloatArray:
        # Against the score in whitened residuals z is E[W] z, so its sums are moments.
        count, _, first, second = self.family._with_prior(params, statistics[:4])
        W = params.whitener
        return self.fold(W, count, (W @ first[:, :, None])[:, :, 0], W @ second)

    def fold(
        self, whitener: FloatArray, count: FloatArray, push: FloatArray, outer: FloatArray
    ) -> FloatArray:
        """Turn Σ w g_z and Σ w g_z uᵀ, −g_z the score in z = W u, into the chart's gradient."""
        M = whitener @ self.half
        d_a = (push[:, None, :] @ M).reshape(-1)
        against = (outer + self.prior * whitener) @ self.reference.whitener.transpose(0, 2, 1)
        diagonal = against.reshape(self.g, -1)[:, :: self.p + 1]  # the logarithms are free
        diagonal *= M.diagonal(0, 1, 2)
        diagonal -= count[:, None]
        return np.concatenate((d_a, -self.layout.fold(against))) * self.unit

    def row_scores(self, X: AnyArray, h: int) -> tuple[AnyArray, FloatArray]:
        here = self.reference
        z = (standardise(X, here.center, here.spread) - here.location[h]) @ here.whitener[h].T
        pull = None if np.isnan(z).any() else self.family._residual_score(here, z, h)
        return super().row_scores(X, h) if pull is None else self._rows(h, z, pull, pull)

    def _rows(
        self, h: int, z: FloatArray, pull: FloatArray, turn: FloatArray
    ) -> tuple[AnyArray, FloatArray]:
        """Return axes of class h, and rows' scores from those in z as location, whitener move."""
        own, at, j, k = self._axes(h)
        entries = np.ascontiguousarray(turn.T)[j] * np.ascontiguousarray(z.T)[k]
        entries[j == k] += 1.0
        at, entries = _together(at, entries)
        axes, scores = np.concatenate((own, at)), np.concatenate((-pull.T, entries))
        return axes, np.multiply(scores, self.unit[axes][:, None], out=scores)

    def _axes(self, h: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Return the axes of class h: of its a, and in order of entries (j, k) of M."""
        coordinate, j, k = self.layout.of_class[h]
        return h * self.p + np.arange(self.p), self.g * self.p + coordinate, j, k

    def movers(self, h: int) -> AnyArray:
        own, at, _, _ = self._axes(h)
        return np.concatenate((own, at, np.arange(self.unit.size, self.size)))


class GaussianChart(LocationScaleChart):
    """The same, where all derivatives at the reference are known."""

    @property
    def complete(self) -> FloatArray | None:  # type: ignore[override]
        if not self.family.in_one_pass:  # densities may be others
            return None
        return self._information(self.counts, self.counts) * self.unit**2

    def hessian(self, statistics: Statistics) -> FloatArray | None:
        # With z the whitened residuals, the weighted sum over rows is that of −½ |M (z − a)|².
        here, W = self.reference, self.reference.whitener
        _, mass, first, second = self.family._with_prior(here, statistics[:4])
        if statistics[4].any():  # rows with empty cells
            return None
        whole = second + self.prior * np.eye(self.p)
        z, zz = (W @ first[:, :, None])[:, :, 0], W @ whole @ W.transpose(0, 2, 1)
        parts: list[tuple[AnyArray, AnyArray, FloatArray]] = []
        for h in range(self.g):
            a, at, j, k = self._axes(h)
            parts.append((a, a, np.full(self.p, -0.5 * mass[h])))
            parts += [(a[j], at, z[h, k]), (a[k], at, z[h, j])]
            one, other = np.nonzero(j[:, None] == j)  # entries of a row of M
            parts.append((at[one], at[other], -0.5 * zz[h, k[one], k[other]]))
            log = j == k  # of diagonal entries the logarithms are free
            parts.append((at[log], at[log], -0.5 * zz[h, j[log], k[log]]))
        row, column, value = map(np.concatenate, zip(*parts, strict=True))
        size, value = self.unit.size, value * self.unit[row] * self.unit[column]
        both = np.concatenate((row * size + column, column * size + row))
        return np.bincount(both, np.tile(value, 2), size**2).reshape(size, size)  # type: ignore[return-value]

    def slopes(self) -> dict[str, FloatArray]:
        means = np.zeros((self.unit.size, self.g, self.p))
        covariances = np.zeros((self.unit.size, self.g, self.p, self.p))
        for h in range(self.g):
            a, at, j, k = self._axes(h)
            half = (self.reference.spread[:, None] * self.half[h]).T
            means[a, h] = half * self.unit[a][:, None]
            both = half[j][:, :, None] * (-self.unit[at][:, None] * half[k])[:, None, :]
            both += both.transpose(0, 2, 1)
            at, both = _together(at, both)
            covariances[at, h] = both
        return {"means": means, "covariances": covariances}


def _together(at: AnyArray, moved: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return the axes, in order, and the sums of what each moves: several entries, or one."""
    starts = np.flatnonzero(np.append(True, at[1:] > at[:-1]))
    return at[starts], moved if starts.size == at.size else np.add.reduceat(moved, starts)
