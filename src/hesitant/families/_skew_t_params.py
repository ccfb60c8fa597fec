"""Parameters of skew-t classes, and draws from them."""

import dataclasses

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._heavy_tailed import HeavyTailedParams

__all__ = ["SkewTParams", "skewed_normals", "slants"]


@dataclasses.dataclass(frozen=True)
class SkewTParams(HeavyTailedParams):
    """Location, scale, degrees of freedom and slant of all classes.

    Attributes
    ----------
    slant : array of shape (g, p)
        λ, the slant of whitened residuals.
    """

    slant: FloatArray

    @property
    def axis(self) -> FloatArray:
        """The slant η = Wᵀλ of standardised residuals, (g, p)."""
        return np.einsum("hjk,hj->hk", self.whitener, self.slant)

    @property
    def shapes(self) -> FloatArray:
        """Azzalini's α (g, p), free of units."""
        return self.axis * np.sqrt(np.einsum("hjj->hj", self.scale))

    @property
    def deltas(self) -> FloatArray:
        """The skewness δ = Ωη / sqrt(1 + |λ|²), in the user's units, (g, p)."""
        size = np.sqrt(1.0 + (self.slant**2).sum(axis=1, keepdims=True))
        delta = np.linalg.solve(self.whitener, (self.slant / size)[:, :, None])[:, :, 0]
        return self.spread * delta


def slants(whitener: FloatArray, axis: FloatArray) -> FloatArray:
    """Return λ = W⁻ᵀη."""
    return np.einsum("hjk,hj->hk", np.linalg.inv(whitener), axis)


def skewed_normals(slant: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw n standard skew-normal vectors with this slant."""
    z = rng.standard_normal((n, slant.size))
    # Selection: reflect a normal vector through the origin if it lies on the wrong side.
    hidden = rng.standard_normal(n)
    return np.where((hidden <= z @ slant)[:, None], z, -z)
