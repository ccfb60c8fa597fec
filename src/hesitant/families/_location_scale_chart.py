"""Coordinates of locations and scales that gradients are taken in."""

import dataclasses
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics
from hesitant.families._kernels import standardise


class LocationScaleChart(Coordinates):
    """The chart ``ξ = ξ₀ + W₀⁻¹ a, W = M W₀`` of locations and whiteners.

    Both ``a`` and the free entries of M are divided by the root of the complete-data
    information at the reference, so that all coordinates are of one size.
    """

    folds = False

    def __init__(self, family: Any, reference: Any, counts: FloatArray) -> None:
        self.family, self.reference = family, reference
        self.g, self.p = reference.location.shape
        self.half = np.linalg.inv(reference.whitener)
        to_pooled, _, to_mean = reference.shrinkage if reference.shrinkage.size else np.zeros(3)
        entries = family.structure.information(counts + to_pooled, self.p)
        information = np.concatenate((np.repeat(counts + to_mean, self.p), entries))
        self.unit = 1.0 / np.sqrt(np.maximum(information, 1.0))
        self.size = self.unit.size

    def decode(self, vector: FloatArray) -> Any:
        free = vector[: self.unit.size] * self.unit
        M = self.family.structure.unfold(free[self.g * self.p :], self.g, self.p)
        a = free[: self.g * self.p].reshape(self.g, self.p, 1)
        return dataclasses.replace(
            self.reference,
            location=self.reference.location + (self.half @ a)[:, :, 0],
            whitener=M @ self.reference.whitener,
        )

    def gradient(self, params: Any, statistics: Statistics) -> FloatArray:
        # The score in whitened residuals z is −E[W] z, so its sums are moments.
        count, _, first, second = self.family._with_prior(params, statistics[:4])
        W = params.whitener
        return self.fold(W, count, -(W @ first[:, :, None])[:, :, 0], -W @ second)

    def fold(
        self, whitener: FloatArray, count: FloatArray, pull: FloatArray, outer: FloatArray
    ) -> FloatArray:
        """Turn sums of scores into the chart's gradient.

        With g_z the score in whitened residuals and u those before whitening, ``pull`` is Σ w g_z
        and ``outer`` Σ w g_z uᵀ.
        """
        M = whitener @ self.half
        d_a = -(pull[:, None, :] @ M).ravel()
        prior = self.family._prior_scatter(self.g) * whitener
        d_M = (outer - prior) @ self.reference.whitener.transpose(0, 2, 1)
        np.einsum("hjj->hj", d_M)[:] += count[:, None] / np.einsum("hjj->hj", M)
        return np.concatenate((d_a, self.family.structure.fold(d_M, M))) * self.unit

    def entries(self, h: int) -> tuple[AnyArray, FloatArray]:
        coordinate, row, column = self.family.structure.entries(h, self.g, self.p)
        own, place = np.unique(coordinate, return_inverse=True)
        moved = np.zeros((self.p**2, own.size))
        moved[row * self.p + column, place] = 1.0
        return own, moved

    def row_scores(self, X: AnyArray, h: int) -> tuple[AnyArray, FloatArray]:
        here = self.reference
        x = standardise(X, here.center, here.spread)
        z = (x - here.location[h]) @ here.whitener[h].T
        pull = None if np.isnan(z).any() else self.family._residual_score(here, z, h)
        if pull is None:
            return super().row_scores(X, h)
        coordinate, j, k = self.family.structure.entries(h, self.g, self.p)
        z, pull = np.ascontiguousarray(z.T), np.ascontiguousarray(pull.T)
        order = np.argsort(coordinate, kind="stable")
        coordinate, j, k = coordinate[order], j[order], k[order]
        entries = pull[j] * z[k]
        entries[j == k] += 1.0
        starts = np.flatnonzero(np.diff(coordinate, prepend=-1))
        if starts.size < coordinate.size:  # several entries move together
            entries = np.add.reduceat(entries, starts, axis=0)
        axes = self.g * self.p + coordinate[starts]
        axes = np.concatenate((h * self.p + np.arange(self.p), axes))
        out = np.concatenate((-pull, entries))
        out *= self.unit[axes][:, None]
        return axes, out

    def movers(self, h: int) -> AnyArray | None:
        own = self.g * self.p + self.entries(h)[0]
        others = np.arange(self.unit.size, self.size)
        return np.concatenate((h * self.p + np.arange(self.p), own, others))
