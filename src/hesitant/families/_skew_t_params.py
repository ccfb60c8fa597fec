"""Parameters of skew-t classes: where they start, and how EM moves them.

Symmetry is a stationary point of the likelihood, so a start must lean one way or another.

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

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.families._base import Statistics, StepError
from hesitant.families._covariance import Structure
from hesitant.families._dof import digamma
from hesitant.families._heavy_tailed import HeavyTailedParams, distances
from hesitant.families._location_scale import whiten


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


@dataclasses.dataclass(frozen=True)
class Marginal:
    """Skew-t classes of some features only, and the way back to all.

    The whole residual is ``u = A u_o + k V`` and noise: u_o that of the features seen, V the
    latent variable of their skewness, in units of its own.

    Attributes
    ----------
    params : SkewTParams
    A : array of shape (g, p, features seen)
    k : array of shape (g, p)
    noise : array of shape (g, p, p)
        Scale matrix of the noise.
    ratio : array of shape (g,)
        Units of V, by those of V were all features seen.
    """

    params: SkewTParams
    A: FloatArray
    k: FloatArray
    noise: FloatArray
    ratio: FloatArray

    def lift(self, whole: SkewTParams, statistics: Statistics) -> Statistics:
        """Return what statistics of the features seen let expect of all."""
        count, mass, first, second, logs, drive, driven = statistics
        axis, A, k = self.params.axis, self.A, self.k
        v0 = np.einsum("hj,hj->h", axis, first) + drive
        v1 = np.einsum("hjk,hk->hj", second, axis) + driven
        vv = np.einsum("hj,hj->h", axis, v1) + count
        lifted = np.einsum("hjk,hk->hj", A, v1)
        first = np.einsum("hjk,hk->hj", A, first) + k * v0[:, None]
        cross = lifted[:, :, None] * k[:, None, :]
        second = A @ second @ A.transpose(0, 2, 1) + cross + cross.transpose(0, 2, 1)
        second += vv[:, None, None] * k[:, :, None] * k[:, None, :]
        second += count[:, None, None] * self.noise
        eta = whole.axis
        drive = self.ratio * v0 - np.einsum("hj,hj->h", eta, first)
        along = self.ratio[:, None] * (lifted + k * vv[:, None])
        driven = along - np.einsum("hjk,hk->hj", second, eta)
        p, d = len(whole.center), len(self.params.center)
        less = [digamma(0.5 * (v + d)) - digamma(0.5 * (v + p)) for v in whole.nu]
        return count, mass, first, second, logs + count * less, drive, driven


def marginal(params: SkewTParams, seen: BoolArray) -> Marginal:
    """Return the distribution of some features: skew-t again, with the same latent variables."""
    omega, eta = params.scale, params.axis
    size = np.sqrt(1.0 + (params.slant**2).sum(axis=1))
    delta = np.einsum("hjk,hk->hj", omega, eta) / size[:, None]
    part = np.ascontiguousarray(omega[:, seen][:, :, seen])
    whitener = whiten(part)
    # λ_o = W δ_o / sqrt(1 − |W δ_o|²)
    lean = np.einsum("hjk,hk->hj", whitener, delta[:, seen])
    left = np.sqrt(np.maximum(1.0 - (lean**2).sum(axis=1), 1e-14))
    sub = SkewTParams(
        params.center[seen],
        params.spread[seen],
        np.ascontiguousarray(params.location[:, seen]),
        whitener,
        params.dof,
        lean / left[:, None],
    )
    # Given V, what is left of x is normal with Σ = Ω − δ δᵀ.
    sigma = omega - delta[:, :, None] * delta[:, None, :]
    A = np.linalg.solve(sigma[:, seen][:, :, seen], sigma[:, seen]).transpose(0, 2, 1)
    noise = sigma - A @ sigma[:, seen]
    k = delta - np.einsum("hjk,hk->hj", A, delta[:, seen])
    return Marginal(sub, A, k * left[:, None], noise, left * size)


def skewed_normals(slant: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw n standard skew-normal vectors with this slant."""
    z = rng.standard_normal((n, slant.size))
    # Selection: reflect a normal vector through the origin if it lies on the wrong side.
    hidden = rng.standard_normal(n)
    return np.where((hidden <= z @ slant)[:, None], z, -z)


# A lean below this is too near symmetry to leave it, one above too near the edge to return.
_LEAST, _MOST = 0.6, 0.98
_FAR, _CUT = 0.95, 0.99
_EDGES = 4  # features tried


class _Skewness(NamedTuple):
    """What the rows of one class say: moments, and how far and where they lean.

    ``edges`` has a direction for each of its features, the most skewed ones first, as if rows
    were cut off at a value of it.
    """

    mean: FloatArray
    covariance: FloatArray
    lean: float
    toward: FloatArray
    edges: FloatArray


def leaning(
    structure: Structure, params: HeavyTailedParams, X: AnyArray, weights: FloatArray
) -> Iterator[SkewTParams]:
    """Yield guesses that keep the mean and covariance of the rows of each class, and lean.

    They lean along the direction in which rows are most skewed: as much as their skewness says,
    and nearly as much as can be. Then so that they are cut off at a value of one feature, of the
    few most skewed ones in turn: detection limits do that. ``params`` is a symmetric fit.
    """
    q = distances(params, X)
    classes = [_skewness(params, X, q[:, h], weights[:, h], h) for h in range(len(params.dof))]
    mean, covariance, lean, along, edges = (np.array(part) for part in zip(*classes, strict=True))
    counts = weights.sum(axis=0) + 1.0
    guesses = [(lean, along), (np.full_like(lean, _FAR), along)]
    for k in range(min(_EDGES, edges.shape[1])):
        guesses.append((np.full_like(lean, _CUT), edges[:, k]))
    for amount, toward in guesses:
        # Along its direction a skew-normal of scale ω has variance ω² (1 − 2 lean²/π).
        stretch = 1.0 / (1.0 - 2.0 / math.pi * amount**2)
        delta = (np.sqrt(stretch) * amount)[:, None] * toward
        scale = covariance + (stretch - 1.0)[:, None, None] * _outer(toward, toward)
        precision = np.linalg.inv(scale)
        axis = np.einsum("hjk,hk->hj", precision, delta) / np.sqrt(1.0 - amount**2)[:, None]
        whitener = whiten(structure.pool(scale * counts[:, None, None], counts))
        yield SkewTParams(
            params.center,
            params.spread,
            params.location + mean - math.sqrt(2.0 / math.pi) * delta,
            whitener,
            params.dof,
            slants(whitener, axis),
            **params.prior,
        )


def _skewness(
    params: HeavyTailedParams, X: AnyArray, q: FloatArray, weight: FloatArray, h: int
) -> _Skewness:
    p, nu = params.center.size, params.nu[h]
    rows = np.flatnonzero(weight > 0)
    weight = weight[rows]
    # Rows drawn in by their expected precision: no outlier decides.
    shrink = np.sqrt((nu + p) / (nu + q[rows]))
    u = (X[rows] - params.center) / params.spread - params.location[h]
    u = np.where(shrink[:, None] > 0, u * shrink[:, None], 0.0)
    total = weight.sum() + 1e-12
    mean = weight @ u / total
    u -= mean
    prior = p + 2.0  # rows' worth of the symmetric fit
    covariance = ((weight[:, None] * u).T @ u + prior * params.scale[h]) / (total + prior)
    covariance *= 1.0 + 1e-12 * np.eye(p)  # an outlier may leave all else to rounding
    half = np.linalg.cholesky(covariance)
    z = np.linalg.solve(half, u.T).T
    third = (weight * np.einsum("ij,ij->i", z, z)) @ z / total
    size = float(np.linalg.norm(third))
    direction = third / size if size > 1e-12 else np.full(p, 1.0 / math.sqrt(p))
    along = z @ direction
    skewness = (
        float(weight @ along**3) / total / max(float(weight @ along**2) / total, 1e-6) ** 1.5
    )
    # The skew-normal with this skewness
    part = abs(skewness) ** (2 / 3)
    lean = math.sqrt(0.5 * math.pi * part / (part + (2 - 0.5 * math.pi) ** (2 / 3)))
    toward = half @ direction * (1.0 if skewness >= 0 else -1.0)
    sides = weight @ u**3 / total / np.diagonal(covariance) ** 1.5
    unit = half / np.linalg.norm(half, axis=1)[:, None]
    edges = np.where(sides[:, None] >= 0, 1.0, -1.0) * (unit @ half.T)
    order = np.argsort(-np.abs(sides))
    return _Skewness(mean, covariance, min(max(lean, _LEAST), _MOST), toward, edges[order])


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
