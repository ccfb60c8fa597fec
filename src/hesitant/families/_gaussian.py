"""Gaussian classes."""

import math
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._base import Statistics
from hesitant.families._gaps import Seen
from hesitant.families._location_scale import LocationScaleFamily, LocationScaleParams

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

    def restate(
        self, params: LocationScaleParams, statistics: Statistics, other: LocationScaleParams
    ) -> Statistics | None:
        count, _, first, second, incomplete = statistics
        if incomplete.any():
            return None
        shift = params.location - other.location
        moved = first + count[:, None] * shift
        cross = shift[:, :, None] * first[:, None, :] + moved[:, :, None] * shift[:, None, :]
        return count, count, moved, second + cross, incomplete

    def moments(self, params: LocationScaleParams) -> tuple[FloatArray, FloatArray]:
        return params.locations, params.scales

    def _residual_score(self, params: LocationScaleParams, z: FloatArray, h: int) -> FloatArray:
        return -z
