"""Parameters of skew-t classes: where they start, and how EM moves them.

A skew-t residual has a latent precision W and a latent positive V,

    V | x, W ~ N(η·(x − ξ), α²/W), kept where V > 0,

whose spread α is a parameter the data cannot see. EM that estimates it all the same, and then
scales it away, climbs faster than EM that holds it fixed, and never falls (a parameter expansion).
The scale matrix Ω of x stands alone in it and can have any structure. A prior ``−½ r tr Ω⁻¹`` is
r times the identity added to the scatter of x, one of ``−½ ρ |λ|²`` on slants is a ridge.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Statistics, StepError
from hesitant.families._covariance import Structure
from hesitant.families._gaussian import NOTHING
from hesitant.families._kernels import whiten
from hesitant.families._student_t import HeavyTailedParams, distances

# A lean below this is too near symmetry to leave it, one above too near the edge to return.
STEEPEST = 250.0  # where the prior on the size of slants sets in, with rows enough
_LEAST, _MOST = 0.6, 0.98
_FAR, _CUT = 0.95, 0.99
_EDGES = 4  # features tried
# Rounds of EM's step: one is enough to climb, five come close to the best.
_ROUNDS = 5


def outer(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a bᵀ of each class."""
    return a[:, :, None] * b[:, None, :]


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a·b of each class."""
    return np.einsum("hj,hj->h", a, b)


def times(matrix: AnyArray, a: FloatArray) -> FloatArray:
    """Return M a of each class."""
    return np.einsum("hjk,hk->hj", matrix, a)


def transposed_times(matrix: AnyArray, a: FloatArray) -> FloatArray:
    """Return Mᵀ a of each class."""
    return np.einsum("hjk,hj->hk", matrix, a)


@dataclasses.dataclass(frozen=True)
class SkewTParams(HeavyTailedParams):
    """Location, scale, degrees of freedom and slant λ (g, p) of whitened residuals."""

    slant: FloatArray
    # |λ| beyond this is held back by a prior (1,); by that of very many rows if this is empty
    steepest: FloatArray = dataclasses.field(default_factory=NOTHING, kw_only=True)
    newer: ClassVar[tuple[str, ...]] = ("steepest",)  # than the first model files

    @property
    def slant_share(self) -> tuple[FloatArray, float]:
        """|λ|² by that at which the prior sets in (g,), and the latter."""
        size = (float(self.steepest[0]) if self.steepest.size else STEEPEST) ** 2
        return dot(self.slant, self.slant) / size, size

    @property
    def ridge(self) -> FloatArray:
        """The ρ (g,) for which ``−½ ρ |λ|²`` has the slope of the prior at these slants."""
        share, size = self.slant_share
        return 2.0 / size * share / (1.0 + share**2)

    @property
    def axis(self) -> FloatArray:
        """The slant η = Wᵀλ of standardised residuals, (g, p)."""
        return transposed_times(self.whitener, self.slant)

    @property
    def shapes(self) -> FloatArray:
        """Azzalini's α (g, p), free of units."""
        return self.axis * np.sqrt(np.einsum("hjj->hj", self.scale))

    @property
    def lean(self) -> FloatArray:
        """λ / sqrt(1 + |λ|²), the skewness of whitened residuals, (g, p)."""
        return self.slant / np.sqrt(1.0 + dot(self.slant, self.slant))[:, None]

    @property
    def deltas(self) -> FloatArray:
        """The skewness δ = Ωη / sqrt(1 + |λ|²), in the user's units, (g, p)."""
        return self.spread * np.linalg.solve(self.whitener, self.lean[:, :, None])[:, :, 0]


def slants(whitener: FloatArray, axis: FloatArray) -> FloatArray:
    """Return λ = W⁻ᵀη."""
    return transposed_times(np.linalg.inv(whitener), axis)


def skewed_normals(slant: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw n standard skew-normal vectors with this slant."""
    z = rng.standard_normal((n, slant.size))
    # Selection: reflect a normal vector through the origin if it lies on the wrong side.
    hidden = rng.standard_normal(n)
    return np.where((hidden <= z @ slant)[:, None], z, -z)


def leaning(
    structure: Structure, params: HeavyTailedParams, X: AnyArray, weights: FloatArray
) -> Iterator[SkewTParams]:
    """Yield guesses that keep the mean and covariance of the rows of each class, and lean.

    Symmetry is a stationary point. They lean along the direction in which rows are most skewed,
    as much as that says, and nearly as much as can be; then as if cut off at a value of one of
    the most skewed features: detection limits do that. ``params`` is a symmetric fit.
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
        scale = covariance + (stretch - 1.0)[:, None, None] * outer(toward, toward)
        axis = times(np.linalg.inv(scale), delta) / np.sqrt(1.0 - amount**2)[:, None]
        whitener = whiten(structure.pool(scale * counts[:, None, None], counts))
        location = params.location + mean - math.sqrt(2.0 / math.pi) * delta
        place = params.center, params.spread, location
        slant = slants(whitener, axis)
        yield SkewTParams(*place, whitener, params.dof, slant, **params.prior)


def _skewness(
    params: HeavyTailedParams, X: AnyArray, q: FloatArray, weight: FloatArray, h: int
) -> tuple[FloatArray, ...]:
    """Return a class's mean, covariance, how far and where it leans, and where it may be cut."""
    p, nu = params.center.size, params.nu[h]
    rows = np.flatnonzero(weight > 0)
    weight = weight[rows]
    # Rows drawn in by their expected precision: no outlier decides.
    shrink = np.sqrt((nu + p) / (nu + q[rows]))[:, None]
    u = (X[rows] - params.center) / params.spread - params.location[h]
    u = np.where(shrink > 0, u * shrink, 0.0)
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
    variance = max(float(weight @ along**2) / total, 1e-6)
    skewness = float(weight @ along**3) / total / variance**1.5
    # The skew-normal with this skewness
    part = abs(skewness) ** (2 / 3)
    lean = math.sqrt(0.5 * math.pi * part / (part + (2 - 0.5 * math.pi) ** (2 / 3)))
    toward = half @ direction * (1.0 if skewness >= 0 else -1.0)
    sides = weight @ u**3 / total / np.diagonal(covariance) ** 1.5
    unit = half / np.linalg.norm(half, axis=1)[:, None]
    edges = np.where(sides[:, None] >= 0, 1.0, -1.0) * (unit @ half.T)
    order = np.argsort(-np.abs(sides))
    lean = np.clip(lean, _LEAST, _MOST)
    return mean, covariance, lean, toward, edges[order]


def skewed_step(
    pool: Callable[[FloatArray, FloatArray], FloatArray],
    params: SkewTParams,
    sums: Statistics,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shifts of location, whiteners and slant axes η, with Ω as ``pool`` says.

    Scale and slant are found given the location, then the reverse. With u the residuals and
    weights w the sums are Σ w, Σ w E[W], Σ w E[W] u, Σ w E[W] u uᵀ, then Σ w d and Σ w d u, d the
    derivative of the log density in η·u. Of V they give all that is needed: E[WV] is
    E[W] η·u + d, and E[WV²] is 1 + η·u E[WV].
    """
    count, mass, first, second, drive, driven = sums
    axis, slant, scale = params.axis, params.slant, params.scale
    v0 = dot(axis, first) + drive
    shift, turned = np.zeros_like(first), axis
    # Rows of less weight than the prior would leave no scale at all.
    ridge = np.minimum(params.ridge, 0.5 * count / np.maximum(dot(slant, slant), 1e-300))[
        :, None, None
    ]
    for _ in range(_ROUNDS):
        cross = outer(shift, first)
        scatter = second - cross - cross.transpose(0, 2, 1)
        scatter += mass[:, None, None] * outer(shift, shift)
        # A smaller scale at the same η is a smaller slant.
        toward = times(scale, turned)
        scale = pool(scatter - ridge * outer(toward, toward), count)
        held = ridge * scale
        root = _whiten(scatter + held, second)
        # Regression of V on x, as a change of η: whole sums would cancel
        aside = dot(axis, shift)[:, None]
        rest = driven - drive[:, None] * shift + aside * (first - mass[:, None] * shift)
        rest -= times(held, axis)
        turned = axis + transposed_times(root, times(root, rest))
        spread = 1.0 + (aside[:, 0] * v0 - dot(rest, turned)) / count
        if not spread.min() > 0:
            raise StepError("the weights of a class leave its skewness undetermined")
        alpha = np.sqrt(spread)
        turned /= alpha[:, None]
        toward = times(scale, turned)
        share = v0 / (alpha * (1.0 + dot(turned, toward)))
        shift = (first - share[:, None] * toward) / mass[:, None]
    return shift, _whiten(scale, scale), turned


def _whiten(matrix: FloatArray, before: FloatArray) -> FloatArray:
    """Return whiteners; what rounding may have taken off moments ``before`` is put back."""
    try:
        return whiten(matrix)
    except StepError:
        return whiten(matrix + 1e-14 * before * np.eye(matrix.shape[1]))
