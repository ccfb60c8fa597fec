"""Gaussian classes."""

import math
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics
from hesitant.families._gaps import Seen
from hesitant.families._location_scale import LocationScaleFamily, LocationScaleParams
from hesitant.families._location_scale_chart import LocationScaleChart

_LOG_2PI = math.log(2 * math.pi)


class Gaussian(LocationScaleFamily):
    """Multivariate normal classes.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.families import Gaussian
    >>> MixtureClassifier(family=Gaussian(), covariance="tied")
    MixtureClassifier(covariance='tied', family=Gaussian())
    """

    in_words = "Gaussian"

    def _densities(
        self, params: Any, q: FloatArray, volume: FloatArray, seen: Seen
    ) -> tuple[FloatArray, Any]:
        q *= -0.5
        q += volume - 0.5 * _LOG_2PI * (seen if isinstance(seen, int) else seen[:, None])
        return q, None

    # The last of the statistics is the number of rows with empty cells.

    def _precisions(
        self, params: Any, weights: FloatArray, seen: Seen, kept: Any
    ) -> tuple[FloatArray, FloatArray]:
        return weights, np.full(1, float(np.count_nonzero(np.not_equal(seen, params.center.size))))

    def coordinates(self, params: LocationScaleParams, counts: FloatArray) -> Coordinates:
        return GaussianChart(self, params, counts)

    def moments(self, params: LocationScaleParams) -> tuple[FloatArray, FloatArray]:
        return params.locations, params.scales

    def _residual_score(self, params: LocationScaleParams, z: FloatArray, h: int) -> FloatArray:
        return -z


class GaussianChart(LocationScaleChart):
    """The chart of locations and whiteners, where all derivatives at the reference are known."""

    def hessian(self, statistics: Statistics) -> FloatArray | None:
        # With z the whitened residuals, the weighted sum over rows is that of −½ |M (z − a)|².
        here, W = self.reference, self.reference.whitener
        _, mass, first, second = self.family._with_prior(here, statistics[:4])
        if statistics[4].any():  # rows with empty cells
            return None
        z = (W @ first[:, :, None])[:, :, 0]
        zz = W @ (second + self.family._prior_scatter(self.g) * np.eye(self.p))
        zz = zz @ W.transpose(0, 2, 1)
        parts: list[tuple[AnyArray, AnyArray, FloatArray]] = []
        for h in range(self.g):
            a, at, j, k = self._moved(h)
            parts.append((a, a, np.full(self.p, -0.5 * mass[h])))
            parts += [(a[j], at, z[h, k]), (a[k], at, z[h, j])]
            one, other = np.nonzero(j[:, None] == j)  # entries of a row of M
            parts.append((at[one], at[other], -0.5 * zz[h, k[one], k[other]]))
            log = j == k  # of diagonal entries the logarithms are free
            parts.append((at[log], at[log], -0.5 * zz[h, j[log], k[log]]))
        row, column, value = map(np.concatenate, zip(*parts, strict=True))
        size = self.unit.size
        half = np.bincount(row * size + column, value, size**2).reshape(size, size)
        return (half + half.T) * self.unit[:, None] * self.unit

    def slopes(self) -> dict[str, FloatArray]:
        means = np.zeros((self.unit.size, self.g, self.p))
        covariances = np.zeros((self.unit.size, self.g, self.p, self.p))
        spread = self.reference.spread
        for h in range(self.g):
            a, at, j, k = self._moved(h)
            half = spread[:, None] * self.half[h]
            means[a, h] = half.T
            both = half.T[j][:, :, None] * half.T[k][:, None, :]
            np.add.at(covariances[:, h], at, -both - both.transpose(0, 2, 1))
        unit = self.unit[:, None, None]
        return {"means": means * unit, "covariances": covariances * unit[..., None]}

    def _moved(self, h: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Return the coordinates of class h: of a, and of the entries (j, k) of M, with those."""
        coordinate, j, k = self.family.structure.entries(h, self.g, self.p)
        return h * self.p + np.arange(self.p), self.g * self.p + coordinate, j, k
