"""Gaussian classes."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics, StepError
from hesitant.families._gaps import Gaps
from hesitant.families._kernels import squared_distances, weighted_moments
from hesitant.families._location_scale import (
    LocationScale,
    LocationScaleFamily,
    LocationScaleParams,
)

_LOG_2PI = math.log(2 * math.pi)
_NONE = np.zeros(1)


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

    takes_gaps = True

    def _look(self, params: LocationScaleParams, X: AnyArray) -> tuple[FloatArray, Any]:
        q = squared_distances(X, params.center, params.spread, params.location, params.whitener)
        q *= -0.5
        q += params.log_volume - 0.5 * X.shape[1] * _LOG_2PI
        return q, None

    def _look_gaps(self, params: LocationScaleParams, gaps: Gaps) -> tuple[FloatArray, Any]:
        q, volume = gaps.distances(params)
        volume -= 0.5 * _LOG_2PI * gaps.seen.sum(axis=1)[:, None]
        return volume[gaps.pattern] - 0.5 * q, None

    # The last of the statistics is the number of rows with empty cells.

    def _sum_up(
        self, params: LocationScaleParams, X: AnyArray, weights: FloatArray, kept: Any
    ) -> Statistics:
        units = params.center, params.spread, params.location
        return *weighted_moments(X, *units, weights), _NONE

    def _sum_up_gaps(
        self, params: LocationScaleParams, gaps: Gaps, weights: FloatArray, kept: Any
    ) -> Statistics:
        return *gaps.moments(params, weights, weights), _NONE + len(weights)

    def restate(
        self, params: LocationScaleParams, statistics: Statistics, other: LocationScaleParams
    ) -> Statistics | None:
        """Return the same sums about other locations; those of rows with gaps do not follow."""
        count, first, second, torn = statistics
        if torn.any():
            return None
        shift = params.location - other.location
        moved = first + count[:, None] * shift
        cross = shift[:, :, None] * first[:, None, :] + moved[:, :, None] * shift[:, None, :]
        return count, moved, second + cross, torn

    def maximise(self, params: LocationScaleParams, statistics: Statistics) -> LocationScaleParams:
        """Return the weighted means and covariances."""
        count, first, second, _ = statistics
        if count.min() < 0:
            raise StepError("a class has a negative weight")
        count = np.maximum(count, 1e-12)  # an empty class stays where it is, very wide
        return dataclasses.replace(params, **self._step(params, count, count, first, second))

    def _sums(self, statistics: Statistics) -> Statistics:
        return statistics[0], *statistics

    def sample(
        self, params: LocationScaleParams, h: int, n: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw n rows from class h."""
        return self._standard_sample(params, h, rng.standard_normal((n, params.center.size)))

    def moments(self, params: LocationScaleParams) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances."""
        return params.locations, params.scales

    def n_parameters(self, params: LocationScaleParams) -> int:
        """Count means and free covariance entries."""
        return round(self._n_moments(params))

    def coordinates(self, params: LocationScaleParams, counts: FloatArray) -> Coordinates:
        """Return the chart of means and covariances about ``params``."""
        return _GaussianCoordinates(self, params, counts)

    def _params(
        self,
        center: FloatArray,
        spread: FloatArray,
        location: FloatArray,
        whitener: FloatArray,
        given: Mapping[str, Any] | None = None,
    ) -> LocationScaleParams:
        return LocationScaleParams(center, spread, location, whitener)


class _GaussianCoordinates(LocationScale):
    folds = False

    def residual_score(self, z: FloatArray, h: int) -> FloatArray:
        return -z

    def decode(self, vector: FloatArray) -> LocationScaleParams:
        location, whitener = self.unfold(vector)
        return dataclasses.replace(self.reference, location=location, whitener=whitener)

    def gradient(self, params: LocationScaleParams, statistics: Statistics) -> FloatArray:
        # The normal score in whitened residuals is −z, so its sums are moments.
        count, first, second, _ = statistics
        count, _, first, second = self.family._with_prior(params, (count, count, first, second))
        pull = -(params.whitener @ first[:, :, None])[:, :, 0]
        return self.fold(params.whitener, count, pull, -params.whitener @ second)
