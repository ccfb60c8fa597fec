"""Skew-t and skew-normal classes: where they start, and how EM moves them.

A skew-t residual has a latent precision W and a latent positive V,

    V | x, W ~ N(η·(x − ξ), α²/W), kept where V > 0,

whose spread α is a parameter the data cannot see. EM that estimates it all the same, and then
scales it away, climbs faster than EM that holds it fixed, and never falls (a parameter expansion).
The scale matrix Ω of x stands alone in it and can have any structure. A prior ``−½ r tr Ω⁻¹`` is
r times the identity added to the scatter of x, one of ``−½ ρ |λ|²`` on slants is a ridge.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from hesitant._typing import AnyArray, FloatArray
from hesitant.families import _skew_t_chart as chart
from hesitant.families import _student_t as tails
from hesitant.families._base import Coordinates, Statistics, StepError, of_classes
from hesitant.families._gaps import Seen, complete
from hesitant.families._gaussian import Gaussian, Given, positive_counts
from hesitant.families._kernels import Place, some_rows, standardise, whiten
from hesitant.families._skew_t_chart import STEEPEST, dot, outer, slants, t_times, times
from hesitant.families._student_t import StudentT

# A slant beyond both, the latter a share of where its prior sets in, is a half-distribution for
# all that so many rows can tell.
_STEEP, _STEEP_SHARE = 15.0, 0.2
# Rows a class with which the prior on slants sets in at STEEPEST; with fewer it does earlier.
_MANY, _FEW = 250.0, 25.0
# A lean below this is too near symmetry to leave it, one above too near the edge to return.
_LEAST, _MOST = 0.6, 0.98
_FAR, _CUT = 0.95, 0.99
_EDGES = 4  # features tried
_ROUNDS = 5  # of EM's step: one is enough to climb, five come close to the best


def _hold(params: Any, X: AnyArray) -> Any:
    """Return parameters with a prior that is right for so many rows."""
    share = np.clip(len(X) / len(params.slant), _FEW, _MANY) / _MANY
    return dataclasses.replace(params, steepest=np.array([STEEPEST * share]))


class SkewT(StudentT):
    """Multivariate skew-t classes: heavy tails, and one side heavier than the other.

    Azzalini's skew-t, also called the restricted one: location ξ, scale matrix Ω, shape α and
    degrees of freedom ν, with α = 0 the Student-t and ν → ∞ the skew-normal. Options, and where
    means and covariances exist, are as for :class:`StudentT`; shapes are free in every covariance
    structure, which is that of Ω (``scales_``).

    The likelihood often rises endlessly as a shape grows. A prior ``−½ log(1 + (|λ|/s)⁴)`` on the
    slant λ of each class, its shape in units in which features are uncorrelated, keeps it finite,
    with s from 25 for few rows to 250: it is flat where slants can be told apart, and falls as a
    Cauchy density does where a class is half of a symmetric one to all appearances. A warning says
    where it was felt. There are many local maxima: raise ``n_init``.

    >>> from hesitant import MixtureClassifier, datasets, families
    >>> data = datasets.simulate(n=300, random_state=0)
    >>> clf = MixtureClassifier(families.SkewT(dof=10)).fit(data.features, data.labels)
    >>> clf.locations_.shape, clf.shapes_.shape
    ((2, 2), (2, 2))
    """

    in_words = "skew-t"
    likeness = "lopsided, with heavier tails"
    _limit = "those of a skew-normal"
    _pulls_locations = False  # they are no means

    def log_density(self, params: Any, X: AnyArray) -> FloatArray:
        return SkewT.look(self, params, X)[0]

    def look(self, params: Any, X: AnyArray) -> tuple[FloatArray, Any]:
        q, (gaps, filled, seen, volume) = Gaussian.look(self, params, X)
        x, left = standardise(X if gaps is None else gaps.rest, *params.place[:2]), None
        along = x @ params.axis.T - dot(params.location, params.axis)
        if gaps is not None:
            # The spread of V grows by ``ratio`` where not all of x is seen.
            toward = gaps.left_along(params, params.axis)
            ratio = np.sqrt(1.0 + np.maximum(np.einsum("mhj,hj->mh", toward, params.axis), 0.0))
            u = standardise(filled, params.center, params.spread) - params.location[:, None]
            along[gaps.places] = np.einsum("hij,hj->ih", u, params.axis) / ratio[gaps.pattern]
            left = u, toward / ratio[:, :, None], ratio
        nu, p, volume = params.nu, X.shape[1], np.broadcast_to(volume, q.shape)
        found = np.empty((4, *q.shape))
        density, *terms = found
        for d in np.unique(seen).tolist():
            own = slice(None) if isinstance(seen, int) else seen == d
            found[:, own] = chart.skew_t_rows(q[own], along[own], nu, d)
            constant = tails.within_bounds(tails.t_constants(nu, d) + volume[own])
            density[own] += constant + math.log(2.0)
            if d < p:  # counted from what whole rows have in common
                terms[1][own] += tails.digamma(0.5 * (nu + d)) - tails.digamma(0.5 * (nu + p))
        return density, (gaps, filled, seen, (left, *terms))

    def _densities(self, params: Any, q: FloatArray, volume: FloatArray, seen: Seen) -> Any:
        q[~(q < tails.FAR)] = np.inf  # too far to pull at a class
        return q, volume  # as they are

    def _precisions(self, params: Any, weights: FloatArray, seen: Seen, kept: Any) -> Any:
        _, precision, logs, _ = kept
        return weights * precision, np.einsum("ih,ih->h", weights, logs)

    # Statistics are those of the t family; then drive, the sum of derivatives d of the log density
    # in the slanted residual η·u, and driven, that of d u.

    def statistics(self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None) -> Any:
        kept = kept or SkewT.look(self, params, X)[1]
        count, mass, first, second, logs = Gaussian.statistics(self, params, X, weights, kept)
        gaps, _, _, (left, _, _, drive) = kept
        each = weights * drive
        if gaps is not None:
            X, own = gaps.rest, each[gaps.places]
            each[gaps.places] = 0.0
        drive = np.einsum("ih->h", each)
        driven = each.T @ standardise(X, *params.place[:2]) - drive[:, None] * params.location
        if gaps is not None:
            # What is not seen follows V along Lη, with L what the features seen leave of Ω.
            u, toward, ratio = left
            d0 = gaps.sums(own)
            d1 = gaps.sums(own.T[:, :, None] * u, axis=1).transpose(1, 0, 2)
            d2 = (np.einsum("mhj,hj->mh", d1, params.axis) / ratio)[:, :, None] * toward
            cross = np.einsum("mhj,mhk->hjk", d1 - 0.5 * d2, toward)
            first = first + np.einsum("mh,mhj->hj", d0, toward)
            second = second + cross + cross.transpose(0, 2, 1)
            drive = drive + (d0 / ratio).sum(axis=0)
            driven += ((d1 - d2) / ratio[:, :, None]).sum(axis=0)
        return count, mass, first, second, logs, drive, driven

    def maximise(self, params: Any, statistics: Statistics) -> Any:
        # Scale and slant are found given the location, then the reverse. Of V the last two sums
        # give all that is needed: E[WV] is E[W] η·u + d, and E[WV²] is 1 + η·u E[WV].
        count, mass, first, second, logs, drive, driven = statistics
        count, mass = positive_counts(count, mass)
        second = second + self._prior_scatter(len(count)) * np.eye(first.shape[1])
        axis, ridge = params.axis, params.ridge[:, None, None]
        v0 = dot(axis, first) + drive
        shift, turned = np.zeros_like(first), axis

        def pool(scatter: FloatArray) -> FloatArray:
            rows, _, _, scatter = self._with_prior(params, (count, mass, first, scatter))
            return self.structure.pool(scatter, rows)

        for _ in range(_ROUNDS):
            cross = outer(shift, first)
            scatter = second - cross - cross.transpose(0, 2, 1)
            scatter += mass[:, None, None] * outer(shift, shift)
            free = pool(scatter)
            scale = _held_back(free, free - pool(scatter - ridge * outer(turned, turned)))
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
        own = self._shape_step(params, count, mass, logs)
        location, whitener = params.location + shift, whiten(scale)
        slant = slants(whitener, turned)
        return params.moved(location=location, whitener=whitener, slant=slant, **own)

    def log_prior(self, params: Any) -> float:
        share, _ = params.slant_share
        return super().log_prior(params) - 0.5 * float(np.log1p(share**2).sum())

    def _residual_score(self, params: Any, z: FloatArray, h: int) -> None:
        return None  # slants have no formula

    def coordinates(self, params: Any, counts: FloatArray) -> Coordinates:
        return chart.SkewTChart(self, params, counts)

    def initial(self, X: AnyArray, weights: FloatArray) -> Any:
        return self._lean(self._symmetric().initial(X, weights), X, weights)

    def from_attributes(self, given: Given, X: AnyArray) -> Any:
        if {"shapes", "locations", "scales"} <= set(given):
            return _hold(super().from_attributes(given, X), X)
        if "shapes" in given:
            raise ValueError(f"init has {sorted(given)}: 'shapes' need 'locations' and 'scales'.")
        symmetric = self._symmetric()
        params, rows = symmetric.from_attributes(given, X), some_rows(X)
        return self._lean(params, rows, softmax(symmetric.log_density(params, rows), axis=1))

    def _symmetric(self) -> StudentT:
        out = StudentT(self.dof, self.tied_dof)
        out.structure, out.reg_covar = self.structure, self.reg_covar
        out._pulls_locations = False
        return out

    def _lean(self, params: Any, X: AnyArray, weights: FloatArray) -> Any:
        return _hold(self._best(self._leaning(params, X, weights), X, weights), X)

    def _leaning(self, params: Any, X: AnyArray, weights: FloatArray) -> Iterator[Any]:
        """Yield guesses that keep the mean and covariance of the rows of each class, and lean.

        Symmetry is a stationary point. They lean along the direction in which rows are most
        skewed, as much as that says, and nearly as much as can be; then as if cut off at a value
        of one of the most skewed features: detection limits do that. ``params`` is symmetric.
        """
        X = complete(X, params.center, params.spread)
        q, _ = Gaussian.look(self, params, X)
        classes = [_skewness(params, X, q[:, h], weights[:, h], h) for h in range(len(params.dof))]
        mean, covariance, lean, along, edges = map(np.array, zip(*classes, strict=True))
        counts = weights.sum(axis=0) + 1.0
        guesses = [(lean, along), (np.full_like(lean, _FAR), along)]
        guesses += [(np.full_like(lean, _CUT), edges[:, k]) for k in range(edges.shape[1])]
        for amount, toward in guesses:
            # Along its direction a skew-normal of scale ω has variance ω² (1 − 2 lean²/π).
            stretch = 1.0 / (1.0 - 2.0 / math.pi * amount**2)
            delta = (np.sqrt(stretch) * amount)[:, None] * toward
            scale = covariance + (stretch - 1.0)[:, None, None] * outer(toward, toward)
            axis = times(np.linalg.inv(scale), delta) / np.sqrt(1.0 - amount**2)[:, None]
            whitener = whiten(self.structure.pool(scale * counts[:, None, None], counts))
            location = params.location + mean - math.sqrt(2.0 / math.pi) * delta
            place, slant = (params.center, params.spread, location), slants(whitener, axis)
            yield chart.SkewTParams(*place, whitener, params.dof, slant, **params.prior)

    def _params(self, place: Place, whitener: FloatArray, given: Given | None = None) -> Any:
        params = super()._params(place, whitener, given)
        shapes = np.asarray((given or {}).get("shapes", 0.0 * place[2]), dtype=float)
        if shapes.shape != place[2].shape:
            raise ValueError(f"init has shapes of shape {shapes.shape}: give {place[2].shape}.")
        slant = slants(params.whitener, shapes / np.sqrt(np.einsum("hjj->hj", params.scale)))
        return chart.SkewTParams(*place, params.whitener, params.dof, slant)

    def _draw(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        return chart.skewed_normals(params.slant[h], n, rng) / self._roots(params, h, n, rng)

    def _offset(self, params: Any) -> FloatArray:
        # E|V| = sqrt(ν/π) Γ((ν−1)/2) / Γ(ν/2)
        nu = np.where(params.nu > 1, params.nu, np.nan)[:, None]
        factor = np.exp(-tails.log_gamma_ratio(0.5 * (nu - 1), 0.5))
        # In the direction δ = Ωη / sqrt(1 + |λ|²)
        lean = params.slant / np.sqrt(1.0 + dot(params.slant, params.slant))[:, None]
        deltas = params.spread * np.linalg.solve(params.whitener, lean[:, :, None])[:, :, 0]
        return np.sqrt(2 / math.pi * nu / (nu - 1)) * factor * deltas

    def n_parameters(self, params: Any) -> int:
        return super().n_parameters(params) + params.location.size

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        return {**super().attributes(params), "shapes": params.shapes}

    def remarks(self, params: Any, names: list[str]) -> list[str]:
        out, size = super().remarks(params, names), np.linalg.norm(params.slant, axis=1)
        steep = (size > _STEEP) & (params.slant_share[0] > _STEEP_SHARE**2)
        if steep.any():
            which = f"{of_classes(names, steep, 'is', 'are')} skewed as far as can be"
            half = "half of a symmetric distribution. A weak prior keeps the shape finite"
            out.append(f"{which} (|slant| {size.max():.3g}): {half}; its size means little.")
        return out


class SkewNormal(SkewT):
    """Multivariate skew-normal classes: the skew-t's limit of infinite degrees of freedom.

    >>> from hesitant import MixtureClassifier
    >>> MixtureClassifier(family="skew_normal")
    MixtureClassifier(family='skew_normal')
    """

    in_words = "skew-normal"
    likeness = "lopsided"
    dof: float | Sequence[float] | None = math.inf
    tied_dof: bool = False

    def __init__(self) -> None:
        pass


def _skewness(params: Any, X: AnyArray, q: FloatArray, weight: FloatArray, h: int) -> Any:
    """Return a class's mean, covariance, how far and where it leans, and where it may be cut."""
    p, nu = params.center.size, params.nu[h]
    rows = np.flatnonzero(weight > 0)
    weight = weight[rows]
    # Rows drawn in by their expected precision: no outlier decides.
    shrink = np.sqrt((nu + p) / (nu + q[rows]))[:, None]
    u = (X[rows] - params.center) / params.spread - params.location[h]
    u, total = np.where(shrink > 0, u * shrink, 0.0), weight.sum() + 1e-12
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
    edges = edges[np.argsort(-np.abs(sides))[:_EDGES]]
    return mean, covariance, np.clip(lean, _LEAST, _MOST), toward, edges


def _held_back(free: FloatArray, pull: FloatArray) -> FloatArray:
    """Return Ω with ``Ω A Ω + Ω = S``: a smaller scale at the same η is a smaller slant."""
    half = np.linalg.inv(whiten(free))
    value, vector = np.linalg.eigh(half.transpose(0, 2, 1) @ pull @ half)
    shrink = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(value, 0.0)))
    root = half @ vector * np.sqrt(shrink)[:, None, :]
    return root @ root.transpose(0, 2, 1)
