"""What the Gaussian, Student-t and skew-t families share: a location and a scale matrix.

Inside, everything lives in standardised units (robust, so that an outlier at 1e12 does not flatten
the rest), and a scale matrix Ω is kept as its whitener W, lower triangular with ``W Ω Wᵀ = I``.
"""

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from hesitant._choices import choose
from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.families._base import Coordinates, Defect, Family, Statistics, StepError
from hesitant.families._covariance import STRUCTURES, Full, Shrunk, Structure
from hesitant.families._gaps import Gaps, complete, find_gaps
from hesitant.families._kernels import (
    FARTHEST,
    log_volumes,
    weighted_moments,
    whiteners,
)
from hesitant.families._shrinkage import share, strengths

_NOTHING = np.zeros(0)
_NO_MATRIX = np.zeros((0, 0))


@dataclasses.dataclass(frozen=True)
class LocationScaleParams:
    """Parameters of all classes, in standardised units.

    Attributes
    ----------
    center, spread : arrays of shape (p,)
        The units: a feature is ``center + spread · (standardised value)``.
    location : array of shape (g, p)
    whitener : array of shape (g, p, p)
    shrinkage : array of shape (3,) or empty
        How many rows' worth classes are pulled to the pooled matrix, that to its diagonal, and
        locations to the common mean. Empty, like the rest, where nothing is pulled.
    grand_mean, pooled, rows : arrays of shape (p,), (p, p) and (g,)
        Where they are pulled to, and how many rows each class had then.
    """

    center: FloatArray
    spread: FloatArray
    location: FloatArray
    whitener: FloatArray
    shrinkage: FloatArray = dataclasses.field(default_factory=lambda: _NOTHING, kw_only=True)
    grand_mean: FloatArray = dataclasses.field(default_factory=lambda: _NOTHING, kw_only=True)
    pooled: FloatArray = dataclasses.field(default_factory=lambda: _NO_MATRIX, kw_only=True)
    rows: FloatArray = dataclasses.field(default_factory=lambda: _NOTHING, kw_only=True)

    common: ClassVar[tuple[str, ...]] = ("shrinkage", "grand_mean", "pooled", "rows")
    units: ClassVar[tuple[str, ...]] = ("center", "spread", *common)

    @property
    def prior(self) -> dict[str, FloatArray]:
        """What a family's prior follows, by name."""
        return {name: getattr(self, name) for name in self.common}

    @property
    def scale(self) -> FloatArray:
        """The scale matrices Ω (g, p, p), standardised."""
        half = np.linalg.inv(self.whitener)
        return half @ half.transpose(0, 2, 1)

    @property
    def log_volume(self) -> FloatArray:
        """Log determinant of each whitener, units included."""
        return log_volumes(self.whitener, self.spread)

    @property
    def locations(self) -> FloatArray:
        """Locations in the user's units."""
        return self.center + self.spread * self.location

    @property
    def scales(self) -> FloatArray:
        """Scale matrices in the user's units."""
        return self.scale * np.multiply.outer(self.spread, self.spread)


class LocationScaleFamily(Family):
    """Base of the location-scale families; carries the covariance structure and its prior."""

    structure: Structure = Full()
    reg_covar: float = 1e-6
    _pulls_locations = True  # where the structure pulls at all

    def describe(self) -> str:
        """Return the classes' shape and what they share, as the end of a sentence."""
        return f"{super().describe()}, {self.structure.in_words}"

    @property
    def adapts(self) -> bool:  # type: ignore[override]
        """Whether a prior follows the data, and pulls classes together where rows are few."""
        return self.structure.adapts

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        """Return a copy with this covariance structure and strength of prior."""
        out = copy.copy(self)
        out.structure = choose("covariance", covariance, STRUCTURES, Structure)
        if isinstance(out.structure, Shrunk):
            out.structure.given()  # or it says what is wrong
        out.reg_covar = reg_covar
        return out

    # -- densities and statistics, with or without empty cells ----------------------------------

    def log_density(self, params: Any, X: AnyArray) -> FloatArray:
        """Return the log densities (n, g) of all that is observed of each row."""
        return LocationScaleFamily.look(self, params, X)[0]

    def look(self, params: Any, X: AnyArray) -> tuple[FloatArray, Any]:
        """Return the log densities; keep where cells are empty, and what the statistics share."""
        gaps = find_gaps(X)
        if gaps is None:
            density, kept = self._look(params, X)
            return density, (None, kept)
        density, kept = self._look(params, gaps.rest)
        density[gaps.torn], kept_torn = self._look_gaps(params, gaps)
        return density, (gaps, kept, kept_torn)

    def statistics(
        self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None
    ) -> Statistics:
        """Return weighted sums; of rows with empty cells what is to be expected of them."""
        gaps, *kept = kept or (find_gaps(X), None, None)
        if gaps is None:
            return self._sum_up(params, X, weights, kept[0])
        torn = self._sum_up_gaps(params, gaps, weights[gaps.torn], kept[1])
        weights = weights.copy()
        weights[gaps.torn] = 0.0
        whole = self._sum_up(params, gaps.rest, weights, kept[0])
        return tuple(a + b for a, b in zip(whole, torn, strict=True))

    def _look(self, params: Any, X: AnyArray) -> tuple[FloatArray, Any]:
        """Return log densities of whole rows, and what ``_sum_up`` may want of it."""
        raise NotImplementedError

    def _sum_up(self, params: Any, X: AnyArray, weights: FloatArray, kept: Any) -> Statistics:
        """Return the statistics of whole rows; ``kept`` may be None."""
        raise NotImplementedError

    def _look_gaps(self, params: Any, gaps: Gaps) -> tuple[FloatArray, Any]:
        """Return the same as ``_look`` of rows with empty cells."""
        raise NotImplementedError

    def _sum_up_gaps(self, params: Any, gaps: Gaps, weights: FloatArray, kept: Any) -> Statistics:
        """Return the same as ``_sum_up`` of rows with empty cells."""
        raise NotImplementedError

    # -- units and starts -----------------------------------------------------------------------

    def initial(self, X: AnyArray, weights: FloatArray) -> LocationScaleParams:
        """Return weighted class moments, shrunk towards the pooled ones where rows are few."""
        center, spread = self._units(X)
        X = complete(X, center, spread)
        g, p = weights.shape[1], X.shape[1]
        origin = np.zeros((g, p))
        count, first, second = weighted_moments(X, center, spread, origin, weights)
        count = np.maximum(count, 1e-12)
        location = first / count[:, None]
        scatter = second - first[:, :, None] * location[:, None, :]
        prior = p + 2.0  # rows' worth of the identity, then of the pooled matrix
        pooled = (scatter.sum(axis=0) + prior * np.eye(p)) / (count.sum() + prior)
        scale = self.structure.pool(scatter + prior * pooled, count + prior)
        params = self._params(center, spread, location, whiten(scale))
        return self._pull_together(params, X, weights)

    def _units(self, X: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return a robust centre and spread of each feature, from at most 10,000 rows.

        Quartiles are those of the distinct values, so that a row of weight two and a row given
        twice lead to the same units, to the last bit.
        """
        rows = np.asarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)
        quantiles = np.transpose([_quantiles(column) for column in rows.T])
        low, center, high, far = quantiles.copy()  # in one piece, as kernels are compiled for
        spread = (high - low) / 1.349
        # Two values have no quartiles, a constant no deviation, a column of zeros no size. Most
        # values must be in reach of the spread; one may be anywhere.
        reach = np.nan_to_num(np.abs(rows - center)).max(axis=0)
        floor = np.maximum(np.maximum(1e-14 * np.abs(center), 1e-15 * far), 1e-100 * reach)
        for instead in (reach, np.abs(center), np.ones(len(center))):
            spread = np.where(spread <= floor + 1e-290, instead, spread)
        return center, self.structure.units(spread)

    @abstractmethod
    def _params(
        self,
        center: FloatArray,
        spread: FloatArray,
        location: FloatArray,
        whitener: FloatArray,
        given: Mapping[str, Any] | None = None,
    ) -> Any:
        """Complete location and scale to this family's parameters."""

    def from_attributes(self, given: Mapping[str, Any], X: AnyArray) -> Any:
        """Return parameters from the values a user (or a fitted model) names."""
        center, spread = self._units(X)
        p = center.size
        location = given.get("locations", given.get("means"))
        scale = given.get("scales", given.get("covariances"))
        if location is None or scale is None:
            raise ValueError(
                f"init has {sorted(given)}: it must have 'means' and 'covariances' "
                "(or 'locations' and 'scales'), with 'weights' beside them."
            )
        location, scale = np.asarray(location, dtype=float), np.asarray(scale, dtype=float)
        g = location.shape[0]
        if location.shape != (g, p) or scale.shape != (g, p, p):
            raise ValueError(
                f"init has means of shape {location.shape} and covariances of shape "
                f"{scale.shape}; with {p} features they must be (g, {p}) and (g, {p}, {p})."
            )
        if not (np.isfinite(location).all() and np.isfinite(scale).all()):
            raise ValueError(
                "init has means or covariances that are not finite: give numbers. (A t class of "
                "two degrees of freedom or fewer has no covariance; give 'scales' instead.)"
            )
        scale = scale / np.multiply.outer(spread, spread)
        if np.abs(scale - scale.transpose(0, 2, 1)).max() > 1e-6 * np.abs(scale).max():
            raise ValueError("init has a covariance that is not symmetric: give symmetric ones.")
        try:
            whitener = whiten(self.structure.pool(scale, np.ones(g)))
        except StepError:
            raise ValueError(
                "init has a covariance that is not positive definite: give symmetric matrices "
                "with positive eigenvalues."
            ) from None
        params = self._params(center, spread, (location - center) / spread, whitener, given)
        if not self.structure.adapts:
            return params
        rows = np.ascontiguousarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)
        nearest = self.log_density(params, rows).argmax(axis=1)
        known = np.asarray(given.get("shrinkage", np.full(3, np.nan)), dtype=float)
        return self._pull_together(params, rows, np.eye(g)[nearest], known)

    # -- a prior that follows the data ----------------------------------------------------------

    def _pull_together(
        self, params: Any, X: AnyArray, weights: FloatArray, known: FloatArray | None = None
    ) -> Any:
        """Return parameters with a prior fitted to rows of known class, if the structure has one.

        ``known`` are strengths that an earlier fit has found.
        """
        if not isinstance(self.structure, Shrunk):
            return params
        given = self.structure.given()
        if known is not None:
            given = np.where(np.isnan(given), known, given)
        if not self._pulls_locations:
            given[2] = 0.0
        X = complete(X, params.center, params.spread)
        Z = (X - params.center) / params.spread
        params = dataclasses.replace(
            params, shrinkage=strengths(Z, weights, given, self._floor(len(params.location)))
        )
        sums = weighted_moments(X, params.center, params.spread, params.location, weights)
        return self._follow(params, (sums[0], *sums))

    def _floor(self, g: int) -> float:
        """Return the scatter that keeps a shared matrix positive."""
        return max(self.reg_covar, 1e-9) * g

    def _follow(self, params: Any, sums: Statistics) -> Any:
        """Return parameters whose prior follows these sums."""
        count, mass, first, second, *_ = sums
        count, mass = np.maximum(count, 1e-9), np.maximum(mass, 1e-9)
        shift = first / mass[:, None] if self._pulls_locations else np.zeros_like(first)
        crossed = first[:, :, None] * shift[:, None, :]
        found = share(
            count,
            mass,
            params.location + shift,
            second - crossed,
            params.shrinkage[1],
            self._floor(len(count)),
        )
        return dataclasses.replace(params, **found._asdict())

    def adapt(self, params: Any, statistics: Statistics) -> Any:
        """Return parameters whose prior follows the data: the very same, if it does already."""
        if not self.structure.adapts:
            return params
        sums = self._sums(statistics)
        count, mass = sums[:2]
        if not (count.min() >= 0 and mass.min() >= 0):
            return params  # signed weights: no pooled matrix follows from them
        moved = self._follow(params, sums)
        W, positive = whiteners(np.stack((params.pooled, moved.pooled)))
        if not positive:
            return params
        # In standard errors of the pooled matrix and mean, as far as they matter to a class.
        matrix = np.abs(W[0] @ (moved.pooled - params.pooled) @ W[0].T).max()
        mean = np.abs(W[0] @ (moved.grand_mean - params.grand_mean)).max()
        rows = count.mean()
        to_pooled, _, to_mean = params.shrinkage
        change = max(matrix * to_pooled / (rows + to_pooled), mean * to_mean / (rows + to_mean))
        return moved if change > _SETTLED else params

    def _sums(self, statistics: Statistics) -> Statistics:
        """Return statistics that begin with count, mass, first and second moments."""
        return statistics

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

    def _n_moments(self, params: Any) -> float:
        """Return the number of free locations and scale entries, as far as the data decide."""
        g, p = params.location.shape
        if isinstance(self.structure, Shrunk) and params.shrinkage.size:
            return self.structure.effective(params.shrinkage, params.rows, p)
        return g * p + self.structure.n_parameters(g, p)

    # -- shared pieces of the M-step and the prior ----------------------------------------------

    def _prior_scatter(self, g: int) -> float:
        return self.reg_covar * self.structure.prior_share(g)

    def log_prior(self, params: LocationScaleParams) -> float:
        """Return ``−½ reg_covar Σ tr Ω⁻¹``: as if each class had a little extra scatter.

        A structure that pulls classes together adds that of its made-up rows, relative to what it
        would be were all classes alike.
        """
        W = params.whitener
        out = -0.5 * self._prior_scatter(len(W)) * float(np.einsum("hjk,hjk->", W, W))
        if not params.shrinkage.size:
            return out
        to_pooled, _, to_mean = params.shrinkage
        whole = log_volumes(whiteners(params.pooled[None])[0], np.ones(len(params.pooled)))
        far = np.einsum("hjk,hk->hj", W, params.location - params.grand_mean)
        apart = float(np.vdot(W @ params.pooled, W)) - params.location.size
        apart += 2.0 * float((whole - log_volumes(W, np.ones(W.shape[1]))).sum())
        return out - 0.5 * (to_pooled * apart + to_mean * float(np.vdot(far, far)))

    def _pool(self, params: Any, scatter: FloatArray, count: FloatArray) -> FloatArray:
        """Return the best scale matrices for these scatters, ``reg_covar`` included."""
        if params.shrinkage.size:
            to_pooled = params.shrinkage[0]
            scatter, count = scatter + to_pooled * params.pooled, count + to_pooled
        return self.structure.pool(scatter, count)

    def _step(self, params: Any, *sums: FloatArray) -> dict[str, FloatArray]:
        """Return the locations and whiteners that maximise a weighted Gaussian likelihood."""
        count, mass, first, second = self._with_prior(params, sums)
        shift = first / mass[:, None]
        scatter = second - first[:, :, None] * shift[:, None, :]
        g, p, _ = scatter.shape
        scatter += self._prior_scatter(g) * np.eye(p)
        whitener = whiten(self.structure.pool(scatter, count))
        return {"location": params.location + shift, "whitener": whitener}

    def held_up(
        self, params: LocationScaleParams, weights: FloatArray, total: float
    ) -> list[Defect]:
        """Find features whose variance, or a combination's, is the prior's and not the data's."""
        g, p = params.location.shape
        prior = np.full((g, 1, 1), self._prior_scatter(g)) * np.eye(p)
        counts = np.maximum(weights * total, 1e-300)
        # Three times what the prior alone would make of each class.
        floor = 3.0 * self.structure.pool(prior, counts)[:, 0, 0] + 1e-13
        # No direction is narrower than the whole of its class, in this sense.
        narrow = 1.0 / (params.whitener**2).sum(axis=(1, 2)) < floor
        if not narrow.any():
            return []
        if 3.0 * g * self.reg_covar > 0.1 * total:
            return [
                Defect(
                    f"reg_covar={self.reg_covar:g} is large for rows of total weight {total:.3g}: "
                    "it sets the variances, and not the data. Lower it."
                )
            ]
        mean = weights @ params.location
        apart = params.location - mean
        spread = np.einsum("h,hjk->jk", weights, params.scale)
        spread += np.einsum("h,hj,hk->jk", weights, apart, apart)
        whole = _narrow_features(spread, 3.0 * g * self.reg_covar / total + 1e-13)
        keeper = "reg_covar" if self.reg_covar else "rounding errors"
        if whole is not None:
            which, constant = whole
            return [Defect((_CONSTANT if constant else _DEPENDENT).format(keeper), which)]
        found: dict[tuple[bytes, bool], list[int]] = {}
        for h in np.flatnonzero(narrow):
            within = _narrow_features(params.scale[h], float(floor[h]))
            if within is not None:
                found.setdefault((within[0].tobytes(), within[1]), []).append(int(h))
        return [
            Defect(
                (_CONSTANT_WITHIN if constant else _DEPENDENT_WITHIN).format(keeper),
                np.frombuffer(which, dtype=bool),
                np.isin(np.arange(g), classes),
            )
            for (which, constant), classes in found.items()
        ]

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        """Return moments, and how strongly classes are pulled together if they are."""
        pulled = {"shrinkage": params.shrinkage} if params.shrinkage.size else {}
        return {**super().attributes(params), **pulled}

    def permute(self, params: Any, order: AnyArray) -> Any:
        """Return parameters with the classes in another order, the units unchanged."""
        moved = {k: v[order] for k, v in vars(params).items() if k not in params.units}
        return dataclasses.replace(params, **moved)

    def blend(self, params: Any, proposal: Any, share: float) -> Any:
        """Return parameters between two points; scale matrices mix as matrices."""
        mixed = {
            k: (1 - share) * v + share * getattr(proposal, k)
            for k, v in vars(params).items()
            if k not in params.units
        }
        mixed["whitener"] = whiten((1 - share) * params.scale + share * proposal.scale)
        return dataclasses.replace(params, **mixed)

    def _standard_sample(self, params: Any, h: int, z: FloatArray) -> FloatArray:
        """Colour standardised draws z (n, p) with class h's location and scale."""
        u = np.linalg.solve(params.whitener[h], z.T).T
        return params.center + params.spread * (params.location[h] + u)


class LocationScale(Coordinates):
    """The chart ``ξ = ξ₀ + W₀⁻¹ a, W = M W₀`` of locations and whiteners.

    Both ``a`` and the free entries of M are divided by the root of the complete-data
    information at the reference, so that all coordinates are of one size.
    """

    def __init__(
        self, family: LocationScaleFamily, reference: LocationScaleParams, counts: FloatArray
    ) -> None:
        self.family, self.reference = family, reference
        self.g, self.p = reference.location.shape
        self.half = np.linalg.inv(reference.whitener)
        to_pooled, _, to_mean = reference.shrinkage if reference.shrinkage.size else np.zeros(3)
        information = np.concatenate(
            (
                np.repeat(counts + to_mean, self.p),
                family.structure.information(counts + to_pooled, self.p),
            )
        )
        self.unit = 1.0 / np.sqrt(np.maximum(information, 1.0))
        self.size = self.unit.size

    def unfold(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return location and whitener at a point of the chart."""
        free = vector * self.unit
        M = self.family.structure.unfold(free[self.g * self.p :], self.g, self.p)
        a = free[: self.g * self.p].reshape(self.g, self.p, 1)
        return (
            self.reference.location + (self.half @ a)[:, :, 0],
            M @ self.reference.whitener,
        )

    def residual_score(self, z: FloatArray, h: int) -> FloatArray | None:
        """Return class h's score in whitened residuals z (n, p), if a formula gives it."""
        return None

    def row_scores(self, X: AnyArray, h: int) -> tuple[AnyArray, FloatArray]:
        """Return scores in location and whitener; see :class:`Coordinates`."""
        here = self.reference
        x = np.clip((X - here.center) / here.spread, -FARTHEST, FARTHEST)
        z = (x - here.location[h]) @ here.whitener[h].T
        pull = None if np.isnan(z).any() else self.residual_score(z, h)
        if pull is None:
            return super().row_scores(X, h)
        coordinate, j, k = self.family.structure.entries(h, self.g, self.p)
        z, pull = np.ascontiguousarray(z.T), np.ascontiguousarray(pull.T)
        entries = pull[j] * z[k]
        entries[j == k] += 1.0
        axes, place = np.unique(coordinate, return_inverse=True)
        if axes.size < coordinate.size:  # several entries move together
            entries = (place == np.arange(axes.size)[:, None]).astype(float) @ entries
        else:
            entries = entries[np.argsort(coordinate)]
        axes = np.concatenate((h * self.p + np.arange(self.p), self.g * self.p + axes))
        out = np.concatenate((-pull, entries))
        out *= self.unit[axes][:, None]
        return axes, out

    def movers(self, h: int) -> AnyArray | None:
        """Return class h's location and entries of its whitener; what follows may move any."""
        coordinate, _, _ = self.family.structure.entries(h, self.g, self.p)
        own = self.g * self.p + np.unique(coordinate)
        return np.concatenate(
            (h * self.p + np.arange(self.p), own, np.arange(self.unit.size, self.size))
        )

    def fold(
        self, whitener: FloatArray, count: FloatArray, pull: FloatArray, outer: FloatArray
    ) -> FloatArray:
        """Turn sums of scores into the chart's gradient.

        Parameters
        ----------
        whitener : array of shape (g, p, p)
            Where the sums were taken.
        count : array of shape (g,)
            Σ w.
        pull : array of shape (g, p)
            Σ w g_z, with g_z the score in whitened residuals z.
        outer : array of shape (g, p, p)
            Σ w g_z uᵀ, with u the residuals before whitening.
        """
        M = whitener @ self.half
        d_a = -(pull[:, None, :] @ M).ravel()
        prior = self.family._prior_scatter(self.g) * whitener
        d_M = (outer - prior) @ self.reference.whitener.transpose(0, 2, 1)
        np.einsum("hjj->hj", d_M)[:] += count[:, None] / np.einsum("hjj->hj", M)
        return np.concatenate((d_a, self.family.structure.fold(d_M, M))) * self.unit


# In standard errors: a prior this close to what the data say follows them.
_SETTLED = 1e-3

_CONSTANT = (
    "constant: every class then has a variance near zero there, kept finite by {}. Drop what does "
    "not vary."
)
_DEPENDENT = (
    "linearly dependent (one is a copy or a combination of the others): covariances are kept "
    "invertible by {} alone. Drop one of them."
)
_CONSTANT_WITHIN = (
    "constant: a variance near zero there is kept finite by {} alone, and the likelihood is as "
    "large as that allows. Drop what does not vary, or use covariance='shrunk'."
)
_DEPENDENT_WITHIN = (
    "linearly dependent: the covariance there is kept invertible by {} alone, and the likelihood "
    "is as large as that allows. Use covariance='shrunk', or fewer features."
)


def _narrow_features(spread: FloatArray, floor: float) -> tuple[BoolArray, bool] | None:
    """Return the features without spread (or those that determine each other), if any."""
    constant = np.diagonal(spread) < floor
    if constant.any():
        return constant, True
    value, vector = np.linalg.eigh(spread)
    if value[0] >= floor:
        return None
    size = np.abs(vector[:, 0])
    return size > 0.05 * size.max(), False


def _quantiles(column: FloatArray) -> tuple[float, float, float, float]:
    """Return quartiles of the distinct values, and how far from the middle nine in ten lie."""
    distinct = np.unique(column[~np.isnan(column)])
    if not distinct.size:
        return 0.0, 0.0, 0.0, 0.0
    low, middle, high = distinct[(distinct.size - 1) * np.array([1, 2, 3]) // 4]
    distance = np.sort(np.abs(distinct - middle))
    return low, middle, high, distance[-(-9 * (distinct.size - 1) // 10)]


def whiten(scale: FloatArray) -> FloatArray:
    """Return whiteners W of scale matrices Ω, lower triangular with ``W Ω Wᵀ = I``."""
    whitener, positive = whiteners(scale)
    if not positive:
        raise StepError("a scale matrix is not positive definite")
    return whitener
