"""M-steps of the skew-t family, from weighted sums alone.

A skew-t residual has a latent precision W and a latent positive V. Two ways to write them,

    x | V, W ~ N(μ + c V, Σ/W)   and   V | x, W ~ N(η·(x − ξ), α²/W), kept where V > 0,

describe one joint model, in which the spread of V is a parameter the data cannot see. EM that
estimates it all the same, and then scales it away, climbs faster than EM that holds it fixed, and
never falls (a parameter expansion). The first form gives the answer at once if scale matrices are
free; in the second, the scale matrix Ω of x stands alone and can have any structure.

A prior ``−½ r tr Ω⁻¹`` is r times the identity added to the scatter of x: rows of no weight, but
with residuals, of which V follows as it does of others. One of ``−½ ρ |λ|²`` on slants is a ridge
in both regressions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._base import StepError
from hesitant.families._location_scale import whiten

__all__ = ["Sums", "free_step", "structured_step"]

# Rounds of the structured step: one is enough to climb, three come close to the best.
_ROUNDS = 3


class Sums(NamedTuple):
    """Sums over rows, each class a first index, and the axes η at which they were taken.

    With u the residuals and weights w: Σ w, Σ w E[W], Σ w E[W] u, Σ w E[W] u uᵀ, then Σ w d and
    Σ w d u, d the derivative of the log density in η·u. Of V they give all that is needed:
    E[WV] = E[W] η·u + d and E[WV²] = 1 + η·u E[WV].
    """

    axis: FloatArray
    weight: FloatArray
    mass: FloatArray
    first: FloatArray
    second: FloatArray
    drive: FloatArray
    driven: FloatArray


def free_step(
    sums: Sums, slant: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shifts of location, whiteners and slant axes η, each class with a free matrix."""
    axis, count, mass, first, second, drive, driven = sums
    v0 = _dot(axis, first) + drive
    v1 = _times(second, axis) + driven
    vv = _dot(axis, v1) + count
    # The variance of V, then the regression of x on a constant and V, rows weighted by W
    size = _dot(slant, slant)
    hold = 4.0 * ridge * size / (1.0 + size) * np.maximum(vv, 0.0)
    variance = 2.0 * vv / (count + np.sqrt(count * count + hold))
    vv = vv + ridge * variance
    determinant = mass * vv - v0 * v0
    if not determinant.min() > 0 or not vv.min() > 0:
        raise StepError("the weights of a class leave its skewness undetermined")
    shift = (vv[:, None] * first - v0[:, None] * v1) / determinant[:, None]
    slope = (mass[:, None] * v1 - v0[:, None] * first) / determinant[:, None]
    scatter = second - _outer(shift, first) - _outer(slope, v1)
    scatter = 0.5 * (scatter + scatter.transpose(0, 2, 1))
    sigma, root = _positive(scatter / count[:, None, None], second / count[:, None, None])
    delta = slope * np.sqrt(variance)[:, None]
    d = _times(root, delta)
    axis = _times(root.transpose(0, 2, 1), d) / np.sqrt(1.0 + _dot(d, d))[:, None]
    scale = sigma + _outer(delta, delta)
    return shift, _positive(scale, scale)[1], axis


def structured_step(
    pool: Callable[[FloatArray, FloatArray], FloatArray],
    sums: Sums,
    slant: FloatArray,
    ridge: FloatArray,
    scale: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same, Ω as ``pool`` says: scale and slant given location, then the reverse."""
    axis, count, mass, first, second, drive, driven = sums
    v0 = _dot(axis, first) + drive
    shift, turned = np.zeros_like(first), axis
    # Rows of less weight than the prior would leave no scale at all.
    ridge = np.minimum(ridge, 0.5 * count / np.maximum(_dot(slant, slant), 1e-300))
    for _ in range(_ROUNDS):
        cross = _outer(shift, first)
        scatter = second - cross - cross.transpose(0, 2, 1)
        scatter += mass[:, None, None] * _outer(shift, shift)
        # A smaller scale at the same η is a smaller slant.
        toward = _times(scale, turned)
        scale = pool(scatter - ridge[:, None, None] * _outer(toward, toward), count)
        held = ridge[:, None, None] * scale
        _, root = _positive(scatter + held, second)
        # Regression of V on x, as a change of η: whole sums would cancel
        aside = _dot(axis, shift)[:, None]
        rest = driven - drive[:, None] * shift + aside * (first - mass[:, None] * shift)
        rest -= _times(held, axis)
        turned = axis + _times(root.transpose(0, 2, 1), _times(root, rest))
        spread = 1.0 + (aside[:, 0] * v0 - _dot(rest, turned)) / count
        if not spread.min() > 0:
            raise StepError("the weights of a class leave its skewness undetermined")
        alpha = np.sqrt(spread)
        turned /= alpha[:, None]
        toward = _times(scale, turned)
        share = v0 / (alpha * (1.0 + _dot(turned, toward)))
        shift = (first - share[:, None] * toward) / mass[:, None]
    return shift, _positive(scale, scale)[1], turned


def _positive(matrix: FloatArray, before: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return matrices and their whiteners, allowing for rounding.

    Taking moments off those ``before`` may lose all digits of the smallest variances, where an
    outlier makes the others immense; what rounding may have taken is then put back.
    """
    try:
        return matrix, whiten(matrix)
    except StepError:
        rounding = 1e-14 * before * np.eye(matrix.shape[1])
        return matrix + rounding, whiten(matrix + rounding)


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.einsum("hj,hj->h", a, b)


def _times(matrix: FloatArray, a: FloatArray) -> FloatArray:
    return np.einsum("hjk,hk->hj", matrix, a)
