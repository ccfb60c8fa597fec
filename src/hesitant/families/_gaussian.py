"""Gaussian classes; those of the t and skew-t families are made of them.

Inside, everything lives in standardised units (robust, so that an outlier at 1e12 does not flatten
the rest), and a scale matrix Ω is kept as its whitener W, lower triangular with ``W Ω Wᵀ = I``.
Statistics begin with Σ w, Σ w E[W], Σ w E[W] u and Σ w E[W] u uᵀ, with w the weights, u residuals
about a class's location and E[W] the expected precision of a row (one, if tails are Gaussian).
"""

import math
from collections.abc import Mapping
from typing import Any, Self, TypeAlias

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.checks import choose
from hesitant.families import _shrinkage
from hesitant.families._base import Coordinates, Defect, Family, Statistics, StepError
from hesitant.families._covariance import STRUCTURES, Full, Shrunk, Structure
from hesitant.families._gaps import Seen, complete, find_gaps
from hesitant.families._gaussian_chart import GaussianChart
from hesitant.families._kernels import (
    Place,
    add_to_columns,
    inverse,
    log_volumes,
    robust_units,
    some_rows,
    squared_distances,
    weighted_moments,
    whiten,
)
from hesitant.families._location_scale import LocationScaleParams, narrow_classes

Given: TypeAlias = Mapping[str, Any]
"""What a start is to have, by name."""

_LOG_2PI = math.log(2 * math.pi)
# In standard errors: a prior this close to what the data say follows them.
_SETTLED = 1e-3


class Gaussian(Family):
    """Multivariate normal classes.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.families import Gaussian
    >>> MixtureClassifier(family=Gaussian(), covariance="tied")
    MixtureClassifier(covariance='tied', family=Gaussian())
    """

    in_words = "Gaussian"
    structure: Structure = Full()
    reg_covar: float = 1e-6
    takes_gaps = True
    _pulls_locations = True  # where the structure pulls at all

    def describe(self) -> str:
        return f"{super().describe()}, {self.structure.in_words}"

    @property
    def in_one_pass(self) -> bool:  # type: ignore[override]
        return type(self) is Gaussian

    @property
    def adaptive_prior(self) -> bool:  # type: ignore[override]
        return self.structure.adaptive

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        structure = choose("covariance", covariance, STRUCTURES, Structure)
        if isinstance(structure, Shrunk):
            structure.given()  # or it says what is wrong
        return self.moved(structure=structure, reg_covar=reg_covar)

    # What classes of other tails do in their own way.

    def _densities(
        self, params: Any, q: FloatArray, volume: FloatArray, seen: Seen
    ) -> tuple[FloatArray, Any]:
        """Return log densities from squared distances, and what ``_precisions`` wants of it."""
        q *= -0.5
        if isinstance(seen, int):
            add_to_columns(q, volume - 0.5 * _LOG_2PI * seen)
        else:
            q += volume - 0.5 * _LOG_2PI * seen[:, None]
        return q, None

    def _precisions(
        self, params: Any, weights: FloatArray, seen: Seen, kept: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return weights times expected precisions, and what follows moments in statistics."""
        # That is the number of rows with empty cells.
        gaps = 0 if isinstance(seen, int) else np.count_nonzero(seen != params.center.size)
        return weights, np.array([float(gaps)])

    def _params(self, place: Place, whitener: FloatArray, given: Given | None = None) -> Any:
        """Complete location and scale to this family's parameters."""
        return LocationScaleParams(*place, whitener)

    def _shape_step(self, params: Any, *sums: FloatArray) -> dict[str, FloatArray]:
        """Return EM's other parameters, from count, mass and what follows the moments."""
        return {}

    def _residual_score(self, params: Any, z: FloatArray, h: int) -> FloatArray | None:
        """Return class h's score in whitened residuals z (n, p), if a formula gives it."""
        return -z

    def _draw(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n whitened residuals of class h."""
        return rng.standard_normal((n, params.center.size))

    def coordinates(self, params: Any, counts: FloatArray) -> Coordinates:
        return GaussianChart(self, params, counts)

    def moments(self, params: Any) -> tuple[FloatArray, FloatArray]:
        return params.locations, params.scales

    # What all of them share.

    def log_density(self, params: Any, X: AnyArray) -> FloatArray:
        return Gaussian.look(self, params, X)[0]

    def look(self, params: Any, X: AnyArray) -> tuple[FloatArray, Any]:
        gaps, filled = find_gaps(X), None
        seen: Seen = X.shape[1]
        volume = log_volumes(params.whitener, params.spread)
        q = squared_distances(X if gaps is None else gaps.rest, params.place, params.whitener)
        if gaps is not None:
            filled, q[gaps.places], own = gaps.fill(params)
            volume, seen = np.repeat(volume[None], len(X), axis=0), np.full(len(X), seen)
            volume[gaps.places], seen[gaps.places] = own, gaps.seen.sum(axis=1)[gaps.pattern]
        density, kept = self._densities(params, q, volume, seen)
        return density, (gaps, filled, seen, kept)

    def statistics(
        self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None
    ) -> Statistics:
        gaps, filled, seen, kept = kept or Gaussian.look(self, params, X)[1]
        precise, last = self._precisions(params, weights, seen, kept)
        if gaps is None:
            sums = weighted_moments(X, params.place, precise)
        else:
            whole = precise.copy()
            whole[gaps.places] = 0.0
            own = gaps.moments(params, filled, precise[gaps.places], weights[gaps.places])
            sums = tuple(map(np.add, weighted_moments(gaps.rest, params.place, whole), own))
        count = sums[0] if precise is weights else np.einsum("ih->h", weights)
        return count, *sums, last

    def initial(self, X: AnyArray, weights: FloatArray) -> Any:
        center, spread = self._units(X)
        X = complete(X, center, spread)
        Z, p = (X - center) / spread, X.shape[1]
        count, first = np.maximum(np.einsum("ih->h", weights), 1e-12), weights.T @ Z
        location = first / count[:, None]
        scatter = np.array([(Z.T * w) @ Z for w in weights.T])
        scatter -= first[:, :, None] * location[:, None, :]
        prior = p + 2.0  # rows' worth of the identity, then of the pooled matrix
        pooled = (scatter.sum(axis=0) + prior * np.eye(p)) / (count.sum() + prior)
        scale = self.structure.pool(scatter + prior * pooled, count + prior)
        params = self._params((center, spread, location), whiten(scale))
        return self._pull_together(params, X, weights)

    def _units(self, X: AnyArray) -> tuple[FloatArray, FloatArray]:
        center, spread = robust_units(X)
        return center, self.structure.units(spread)

    def from_attributes(self, given: Given, X: AnyArray) -> Any:
        center, spread = self._units(X)
        p, location = center.size, given.get("locations", given.get("means"))
        scale = given.get("scales", given.get("covariances"))
        if location is None or scale is None:
            needed = "'weights', and 'means' and 'covariances' or 'locations' and 'scales'"
            raise ValueError(f"init has {sorted(given)}: give {needed}.")
        location, scale = np.asarray(location, dtype=float), np.asarray(scale, dtype=float)
        g = location.shape[0]
        if location.shape != (g, p) or scale.shape != (g, p, p):
            shapes = f"means of shape {location.shape} and covariances of shape {scale.shape}"
            raise ValueError(f"init has {shapes}: give (g, {p}) and (g, {p}, {p}).")
        if not (np.isfinite(location).all() and np.isfinite(scale).all()):
            what = "init has means or covariances that are not finite: give numbers"
            raise ValueError(f"{what} (of a t class without a covariance, 'scales').")
        scale = scale / np.multiply.outer(spread, spread)
        if np.abs(scale - scale.transpose(0, 2, 1)).max() > 1e-6 * np.abs(scale).max():
            raise ValueError("init has a covariance that is not symmetric: give symmetric ones.")
        try:
            whitener = whiten(self.structure.pool(scale, np.ones(g)))
        except StepError:
            what = "init has a covariance that is not positive definite"
            raise ValueError(f"{what}: give positive eigenvalues.") from None
        params = self._params((center, spread, (location - center) / spread), whitener, given)
        if not self.structure.adaptive:
            return params
        rows = some_rows(X)
        nearest = np.eye(g)[self.log_density(params, rows).argmax(axis=1)]
        params = self._pull_together(params, rows, nearest, given.get("shrinkage", np.nan))
        # As a climb would have it, far rows of heavy tails for little: or it starts far below.
        return self._follow(params, self.statistics(params, rows, nearest))

    def _pull_together(
        self, params: Any, X: AnyArray, weights: FloatArray, known: FloatArray | float = np.nan
    ) -> Any:
        """Give a structure that has a prior one that is fitted to rows of known class."""
        if not isinstance(self.structure, Shrunk):
            return params
        given = self.structure.given()
        given = np.where(np.isnan(given), known, given)
        if not self._pulls_locations:
            given[2] = 0.0
        X = complete(X, params.center, params.spread)
        Z, count = (X - params.center) / params.spread, weights.sum(axis=0)
        found = _shrinkage.strengths(Z, weights, given, self._floor(len(count)))
        params = params.moved(shrinkage=found)
        return self._follow(params, (count, *weighted_moments(X, params.place, weights)))

    def _floor(self, g: int) -> float:
        """Return the scatter that keeps a shared matrix positive."""
        return max(self.reg_covar, 1e-9) * g

    def _follow(self, params: Any, sums: Statistics) -> Any:
        """Return parameters whose prior follows these sums."""
        count, mass, first, second, *_ = sums
        count, mass = np.maximum(count, 1e-9), np.maximum(mass, 1e-9)
        shift = first / mass[:, None] if self._pulls_locations else np.zeros_like(first)
        grand_mean = mass @ (params.location + shift) / mass.sum()
        scatter = second - first[:, :, None] * shift[:, None, :]
        towards_diagonal, floor = params.shrinkage[1], self._floor(len(count))
        pooled = _shrinkage.pool(scatter, count.sum(), towards_diagonal, floor)
        return params.moved(grand_mean=grand_mean, pooled=pooled, rows=count)

    def update_prior(self, params: Any, statistics: Statistics) -> Any:
        count, mass = statistics[:2]
        if not self.structure.adaptive or not (count.min() >= 0 and mass.min() >= 0):
            return params  # no pooled matrix follows from signed weights
        moved = self._follow(params, statistics)
        try:
            W, _ = whiten(np.stack((params.pooled, moved.pooled)))
        except StepError:
            return params
        # In standard errors of the pooled matrix and mean, as far as they matter to a class.
        matrix = np.abs(W @ (moved.pooled - params.pooled) @ W.T).max()
        mean = np.abs(W @ (moved.grand_mean - params.grand_mean)).max()
        rows = count.mean()
        to_pooled, _, to_mean = params.shrinkage
        change = max(matrix * to_pooled / (rows + to_pooled), mean * to_mean / (rows + to_mean))
        return moved if change > _SETTLED else params

    def _with_prior(self, params: Any, sums: Statistics) -> Statistics:
        """Return sums to which the prior's made-up rows are added."""
        if not params.shrinkage.size:
            return sums
        count, mass, first, second = sums
        to_pooled, _, to_mean = params.shrinkage
        toward = params.grand_mean - params.location
        return (
            count + to_pooled,
            mass + to_mean,
            first + to_mean * toward,
            second + to_pooled * params.pooled + to_mean * toward[:, :, None] * toward[:, None, :],
        )

    def _prior_scatter(self, g: int) -> float:
        return self.reg_covar / g if self.structure.shared else self.reg_covar

    def log_prior(self, params: Any) -> float:
        # −½ reg_covar Σ tr Ω⁻¹, as if each class had a little extra scatter; then that of made-up
        # rows which pull classes together, relative to what it would be were all classes alike.
        W = params.whitener
        out = -0.5 * self._prior_scatter(len(W)) * float(np.vdot(W, W))
        if not params.shrinkage.size:
            return out
        to_pooled, _, to_mean = params.shrinkage
        far = np.einsum("hjk,hk->hj", W, params.location - params.grand_mean)
        apart = float(np.vdot(W @ params.pooled, W)) - params.location.size
        apart += 2.0 * float((log_volumes(whiten(params.pooled[None])) - log_volumes(W)).sum())
        return out - 0.5 * (to_pooled * apart + to_mean * float(np.vdot(far, far)))

    def maximise(self, params: Any, statistics: Statistics) -> Any:
        count, mass, first, second, *others = statistics
        count, mass = positive_counts(count, mass)
        sums = self._with_prior(params, (count, mass, first, second))
        shift = sums[2] / sums[1][:, None]
        scatter = sums[3] - sums[2][:, :, None] * shift[:, None, :]
        scatter += self._prior_scatter(len(scatter)) * np.eye(scatter.shape[1])
        return params.moved(
            location=params.location + shift,
            whitener=whiten(self.structure.pool(scatter, sums[0])),
            **self._shape_step(params, count, mass, *others),
        )

    def permute(self, params: Any, order: AnyArray) -> Any:
        return params.moved(**{name: value[order] for name, value in params.of_classes.items()})

    def blend(self, params: Any, proposal: Any, share: float) -> Any:
        own, other = params.of_classes, proposal.of_classes
        mixed = {name: (1 - share) * own[name] + share * other[name] for name in own}
        mixed["whitener"] = whiten((1 - share) * params.scale + share * proposal.scale)
        return params.moved(**mixed)

    def n_parameters(self, params: Any) -> int:
        g, p = params.location.shape
        if isinstance(self.structure, Shrunk) and params.shrinkage.size:
            return round(self.structure.effective(params.shrinkage, params.rows, p))
        return g * p + self.structure.layout(g, p).size

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        pulled = {"shrinkage": params.shrinkage} if params.shrinkage.size else {}
        return {**super().attributes(params), **pulled}

    def sample(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        u = self._draw(params, h, n, rng) @ inverse(params.whitener[h : h + 1])[0].T
        return params.center + params.spread * (params.location[h] + u)

    def defects(self, params: Any, weights: FloatArray, total: float) -> list[Defect]:
        g, p = params.location.shape
        prior = self._prior_scatter(g) * np.ones((g, 1, 1)) * np.eye(p)
        alone = self.structure.pool(prior, np.maximum(weights * total, 1e-300))[:, 0, 0]
        return narrow_classes(params, alone, self.reg_covar, weights, total)


def positive_counts(count: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows of each class; an empty class stays where it is, very wide."""
    if np.minimum(count, mass).min() < 0:
        raise StepError("a class has a negative weight")
    return np.maximum(count, 1e-12), np.maximum(mass, 1e-12)
