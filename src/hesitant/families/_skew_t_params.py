"""Parameters of skew-t classes: where they start, how EM moves them, and their chart.

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
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.families._base import Statistics, StepError, standard_steps
from hesitant.families._covariance import Structure
from hesitant.families._gaussian import NOTHING, inverse
from hesitant.families._kernels import whiten
from hesitant.families._skew_t_kernels import skew_t_rows, tables
from hesitant.families._student_t import HeavyTailedChart, HeavyTailedParams, distances, dof_score

STEEPEST = 250.0  # where the prior on the size of slants sets in, with rows enough
# A lean below this is too near symmetry to leave it, one above too near the edge to return.
_LEAST, _MOST = 0.6, 0.98
_FAR, _CUT = 0.95, 0.99
_EDGES = 4  # features tried
_ROUNDS = 5  # of EM's step: one is enough to climb, five come close to the best
_DRAWS = 1000
_LARGEST = 250  # coordinates
_FLOOR = 1e-2  # near symmetry skewness and location are all but confounded: no direction is free
_FEW = 10.0  # slants of this size put so few rows at the edge that draws may miss it

# Of each class: a bᵀ, a·b, M a and Mᵀ a
outer, dot = partial(np.einsum, "hj,hk->hjk"), partial(np.einsum, "hj,hj->h")
times, t_times = partial(np.einsum, "hjk,hk->hj"), partial(np.einsum, "hjk,hj->hk")


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
        return t_times(self.whitener, self.slant)

    @property
    def shapes(self) -> FloatArray:
        """Azzalini's α (g, p), free of units."""
        return self.axis * np.sqrt(np.einsum("hjj->hj", self.scale))

    @property
    def deltas(self) -> FloatArray:
        """The skewness δ = Ωη / sqrt(1 + |λ|²), in the user's units, (g, p)."""
        lean = self.slant / np.sqrt(1.0 + dot(self.slant, self.slant))[:, None]
        return self.spread * np.linalg.solve(self.whitener, lean[:, :, None])[:, :, 0]


def slants(whitener: FloatArray, axis: FloatArray) -> FloatArray:
    """Return λ = W⁻ᵀη."""
    return t_times(inverse(whitener), axis)


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
    edges = edges[np.argsort(-np.abs(sides))]
    return mean, covariance, np.clip(lean, _LEAST, _MOST), toward, edges


def skewed_step(
    pool: Callable[..., FloatArray], params: SkewTParams, sums: Statistics
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shifts of location, whiteners and slant axes η, with Ω as ``pool`` says.

    Scale and slant are found given the location, then the reverse. Of V the last two sums, Σ w d
    and Σ w d u with d the derivative of the log density in η·u, give all that is needed: E[WV] is
    E[W] η·u + d, and E[WV²] is 1 + η·u E[WV].
    """
    count, mass, first, second, drive, driven = sums
    axis, ridge = params.axis, params.ridge[:, None, None]
    v0 = dot(axis, first) + drive
    shift, turned = np.zeros_like(first), axis
    for _ in range(_ROUNDS):
        cross = outer(shift, first)
        scatter = second - cross - cross.transpose(0, 2, 1)
        scatter += mass[:, None, None] * outer(shift, shift)
        free = pool(scatter, count)
        scale = _held_back(free, free - pool(scatter - ridge * outer(turned, turned), count))
        held = ridge * scale
        root = whiten(scatter + held)
        # Regression of V on x, as a change of η: whole sums would cancel
        aside = dot(axis, shift)[:, None]
        rest = driven - drive[:, None] * shift + aside * (first - mass[:, None] * shift)
        rest -= times(held, axis)
        turned = axis + t_times(root, times(root, rest))
        spread = 1.0 + (aside[:, 0] * v0 - dot(rest, turned)) / count
        if not spread.min() > 0:
            raise StepError("the weights of a class leave its skewness undetermined")
        alpha = np.sqrt(spread)
        turned /= alpha[:, None]
        toward = times(scale, turned)
        share = v0 / (alpha * (1.0 + dot(turned, toward)))
        shift = (first - share[:, None] * toward) / mass[:, None]
    return shift, whiten(scale), turned


def _held_back(free: FloatArray, pull: FloatArray) -> FloatArray:
    """Return Ω with ``Ω A Ω + Ω = S``: a smaller scale at the same η is a smaller slant."""
    half = np.linalg.inv(whiten(free))
    value, vector = np.linalg.eigh(half.transpose(0, 2, 1) @ pull @ half)
    shrink = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(value, 0.0)))
    root = half @ vector * np.sqrt(shrink)[:, None, :]
    return root @ root.transpose(0, 2, 1)


class SkewTChart(HeavyTailedChart):
    """Locations, whiteners, degrees of freedom and slants, mixed by their joint information.

    The coordinates of a slant are those of ζ = W₀⁻ᵀη, η the slant of residuals: then the edge of
    a class leaning far, the plane η·u = 0, stays in place while the scale matrix changes. The
    size of ζ moves as ``sinh`` does: by amounts if it is small, by factors if it is large.

    Location, skewness and tails are strongly correlated, and would leave long valleys but for the
    information in the scores of a thousand draws of each class. At the edge of a class that leans
    far a few rows know more than all draws: what they say is added. Some directions stay a
    thousand times flatter than the chart is scaled for, and promise too little.
    """

    caution = 1e-3

    def __init__(self, family: Any, reference: Any, counts: FloatArray, edge: Any = ()) -> None:
        super().__init__(family, reference, counts)
        self.slants = self.size
        self.size += self.g * self.p
        size = np.sqrt(dot(reference.slant, reference.slant))
        unit = reference.slant / np.maximum(size, 1e-300)[:, None]
        self.toward = np.where(size[:, None] > 0, unit, np.eye(self.p)[:1])
        self.bend = np.arcsinh(size)
        self.blocks = self._blocks(np.maximum(counts, 1.0), edge)

    def decode(self, vector: FloatArray) -> SkewTParams:
        free = vector.copy()
        for places, axes in self.blocks:
            free[places] = axes @ vector[places]
        params = super().decode(free)
        # How much larger the slants are, (g,), and how they are turned, (g, p)
        y = free[self.slants :].reshape(self.g, self.p)
        along = dot(y, self.toward)
        bend = self.bend + along
        widening = (np.cosh(bend) / np.cosh(self.bend))[:, None]
        aside = y - along[:, None] * self.toward
        zeta = np.sinh(bend)[:, None] * self.toward + widening * aside
        axis = t_times(self.reference.whitener, zeta)
        return dataclasses.replace(params, slant=slants(params.whitener, axis))

    def gradient(self, params: SkewTParams, statistics: Statistics) -> FloatArray:
        count, mass, first, second, _, drive, driven = statistics
        W, slant = params.whitener, params.slant
        pull = drive[:, None] * slant - times(W, first)
        pulled, _, _, second = self.family._with_prior(params, (count, mass, first, second))
        # The prior's pull on the slant, as one on η and on W
        held = times(inverse(W), -params.ridge[:, None] * slant)
        d_zeta = times(self.reference.whitener, driven + held)
        # Where in the chart is this?
        zeta = t_times(self.half, params.axis)
        size = dot(zeta, self.toward)
        root = np.sqrt(1.0 + size**2)
        aside = zeta - size[:, None] * self.toward
        d_along = root * dot(d_zeta, self.toward) + size / root * dot(d_zeta, aside)
        d_aside = d_zeta * (root / np.cosh(self.bend))[:, None]
        d_aside -= dot(d_aside, self.toward)[:, None] * self.toward
        d_slant = (d_along[:, None] * self.toward + d_aside).ravel()
        d_scale = self.fold(W, pulled, pull, -outer(slant, held) - W @ second)
        free = np.concatenate((d_scale, self.dof_gradient(params, statistics), d_slant))
        out = free.copy()
        for places, axes in self.blocks:
            out[places] = free[places] @ axes
        return out

    def _blocks(self, counts: FloatArray, edge: Statistics) -> list[tuple[IntArray, FloatArray]]:
        """Return coordinates that belong together, with steps of one standard error along them.

        Those of a class do; those of all classes, if they share any. A matrix for very many
        would cost more than it saves.
        """
        shared = not self.family._separate
        if (self.size if shared else self.size // self.g) > _LARGEST:
            return []
        own = []
        for h in range(self.g):
            places, scores = self._scores(h)
            # Not a matrix product: so small a one would wait for threads longer than it runs.
            information = counts[h] * np.einsum("ki,kj->ij", scores, scores) / _DRAWS
            information.flat[:: len(places) + 1] *= 1.0 + _FLOOR
            if edge:
                spots = np.r_[: self.p, -self.p : 0]  # of its location and slant
                information[np.ix_(spots, spots)] += self._edge(h, *edge)
            own.append((places, information))
        if shared:
            joint = np.zeros((self.size, self.size))
            for places, information in own:
                joint[np.ix_(places, places)] += information
            own = [(np.arange(self.size), joint)]
        # Draws of absurd parameters may overflow.
        return [(places, standard_steps(each)) for places, each in own if np.isfinite(each).all()]

    def _scores(self, h: int) -> tuple[IntArray, FloatArray]:
        """Return which unmixed coordinates class h has, and scores of draws from it in them."""
        p, slant, nu = self.p, self.reference.slant[h], self.reference.nu[h : h + 1]
        z = skewed_normals(slant, _DRAWS, np.random.default_rng(0))
        z /= self.family._roots(self.reference, h, _DRAWS, np.random.default_rng(1))
        q, along = np.einsum("ij,ij->i", z, z)[:, None], (z @ slant)[:, None]
        _, precision, logs, drive = skew_t_rows(q, along, nu, p, tables(nu, p))
        places, scores = self._rows(h, z, drive * slant - precision * z, -precision * z)
        group = np.flatnonzero(self.groups[:, h])
        tails = dof_score(nu, p, 1.0, precision, logs) * self.dof_slope[group]
        own = self.slants + h * p + np.arange(p)
        scores = np.concatenate((scores.T, tails, drive * z @ self._turn(h)), axis=1)
        return np.concatenate((places, self.base + group, own)), scores

    def _turn(self, h: int) -> FloatArray:
        """Return how the slant ζ of class h moves with its coordinates, at the reference."""
        line = np.multiply.outer(self.toward[h], self.toward[h])
        return np.eye(self.p) + (math.cosh(self.bend[h]) - 1.0) * line

    def _edge(self, h: int, mass: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the information of rows at the edge of class h on its location and slant."""
        p, slant, turn = self.p, self.reference.slant[h], self._turn(h)
        W, unit = turn @ self.reference.whitener[h], slant * self.unit[h * p : (h + 1) * p]
        cross = -np.multiply.outer(unit, W @ first[h])
        own = mass[h] * np.multiply.outer(unit, unit)
        out: FloatArray = np.block([[own, cross], [cross.T, W @ second[h] @ W.T]])
        size = float(slant @ slant)
        return size / (size + _FEW**2) * out
