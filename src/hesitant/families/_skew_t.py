"""Skew-t and skew-normal classes."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics, StepError, of_classes
from hesitant.families._dof import log_gamma_ratio
from hesitant.families._gaps import Gaps, complete
from hesitant.families._heavy_tailed import HeavyTailedFamily, HeavyTailedParams, distances
from hesitant.families._kernels import weighted_moments
from hesitant.families._robust_start import improve, keep_best
from hesitant.families._skew_t_chart import SkewTCoordinates
from hesitant.families._skew_t_kernels import projections, skew_t_rows, tables, weigh
from hesitant.families._skew_t_params import (
    SkewTParams,
    Sums,
    free_step,
    leaning,
    marginal,
    skewed_normals,
    slants,
    structured_step,
)
from hesitant.families._student_t import StudentT

# A slant beyond this is a half-distribution for all that data can tell.
_STEEP = 50.0
# Where the prior on the size of slants sets in: far beyond what any data could tell apart.
_WIDE = 250.0


def _ridge(slant: FloatArray) -> FloatArray:
    """Return ρ for which ``−½ ρ |λ|²`` has the slope of the prior at these slants."""
    share = np.einsum("hj,hj->h", slant, slant) / _WIDE**2
    return 2.0 / _WIDE**2 * share / (1.0 + share**2)


class SkewT(HeavyTailedFamily):
    """Multivariate skew-t classes: heavy tails, and one side heavier than the other.

    This is Azzalini's skew-t, also called the restricted skew-t: location ξ, scale matrix Ω, shape
    α and degrees of freedom ν, with α = 0 the Student-t and ν → ∞ the skew-normal.

    Parameters
    ----------
    dof : float, sequence of float or None, default=None
        Degrees of freedom, fixed for all classes or for each; None estimates them, within 0.5
        and 200. Infinity gives skew-normal classes.
    tied_dof : bool, default=False
        Whether all classes share one estimated value.

    Notes
    -----
    The covariance structure is that of Ω (``scales_``); shapes are free in every structure.

    The likelihood often rises for ever as a shape grows. A prior ``−½ log(1 + (|λ|/250)⁴)`` on the
    slant λ of each class, its shape in units in which features are uncorrelated, keeps it finite:
    it is flat where slants can be told apart, and falls as a Cauchy density does where a class
    is half of a symmetric one to all appearances. A warning says where it was felt. The prior
    of ``reg_covar`` is that of the other families, a little extra scatter ``−½ reg_covar tr Ω⁻¹``.

    Means exist for degrees of freedom above 1 and covariances above 2; elsewhere ``means_`` and
    ``covariances_`` hold NaN, and a warning says so. The likelihood has many local maxima: raise
    ``n_init``.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.families import SkewT
    >>> rng = np.random.default_rng(0)
    >>> X = np.abs(rng.standard_normal((400, 1))) * [2, 1] + rng.standard_normal((400, 2)) / 2
    >>> X += np.repeat([[0, 0], [4, 0]], 200, axis=0)
    >>> y = np.where(rng.random(400) < 0.5, np.repeat([0, 1], 200), -1)
    >>> clf = MixtureClassifier(family=SkewT(dof=10), mechanism=None).fit(X, y)
    >>> clf.shapes_.shape, bool((clf.shapes_ > 0).all())
    ((2, 2), True)
    """

    in_words = "skew-t"
    likeness = "lopsided, with heavier tails"

    _limit = "those of a skew-normal"
    _pulls_locations = False  # they are no means

    # -- densities, statistics, steps ---------------------------------------------------------

    takes_gaps = True

    def _look(self, params: SkewTParams, X: AnyArray) -> tuple[FloatArray, Any]:
        nu, p = params.nu, X.shape[1]
        along = projections(X, params.center, params.spread, params.location, params.axis)
        shape, *kept = skew_t_rows(distances(params, X), along, nu, p, *tables(nu, p))
        return shape + (self._constant(params) + math.log(2.0)), kept

    def _sum_up(
        self, params: SkewTParams, X: AnyArray, weights: FloatArray, kept: Any
    ) -> Statistics:
        # Those of the t family; then drive, the sum of derivatives of the log density in the
        # slanted residual η·u, and driven, that of the derivative times u.
        units = params.center, params.spread, params.location
        terms = kept or self._look(params, X)[1]
        precise, count, logs, drive, driven = weigh(X, *units, weights, *terms)
        mass, first, second = weighted_moments(X, *units, precise)
        return count, mass, first, second, logs, drive, driven

    def _look_gaps(self, params: SkewTParams, gaps: Gaps) -> tuple[FloatArray, Any]:
        parts = [marginal(params, seen) for seen in gaps.seen]
        found = [
            self._look(part.params, rows)
            for part, rows in zip(parts, gaps.by_pattern(), strict=True)
        ]
        density = np.concatenate([density for density, _ in found])
        return density, [(part, kept) for part, (_, kept) in zip(parts, found, strict=True)]

    def _sum_up_gaps(
        self, params: SkewTParams, gaps: Gaps, weights: FloatArray, kept: Any
    ) -> Statistics:
        kept = kept or self._look_gaps(params, gaps)[1]
        own = np.split(weights, gaps.starts[1:-1])
        lifted = [
            part.lift(params, self._sum_up(part.params, rows, w, terms))
            for (part, terms), rows, w in zip(kept, gaps.by_pattern(), own, strict=True)
        ]
        return tuple(np.sum(sums, axis=0) for sums in zip(*lifted, strict=True))

    def maximise(self, params: SkewTParams, statistics: Statistics) -> SkewTParams:
        """Return the M-step: location, scale and slant together, then EM's dof."""
        count, mass, first, second, logs, drive, driven = statistics
        if count.min() < 0 or mass.min() < 0:
            raise StepError("a class has a negative weight")
        count, mass = np.maximum(count, 1e-12), np.maximum(mass, 1e-12)
        second = second + self._prior_scatter(len(count)) * np.eye(first.shape[1])
        sums = Sums(params.axis, count, mass, first, second, drive, driven)
        slant, ridge = params.slant, _ridge(params.slant)
        if self.structure.unrestricted:
            shift, whitener, axis = free_step(sums, slant, ridge)
        else:
            shift, whitener, axis = structured_step(
                partial(self._pool, params), sums, slant, ridge, params.scale
            )
        return dataclasses.replace(
            params,
            location=params.location + shift,
            whitener=whitener,
            slant=slants(whitener, axis),
            dof=self._dof_step(params, count, mass, logs),
        )

    def log_prior(self, params: Any) -> float:
        """Return that of the scale matrices, and ``−½ Σ log(1 + (|λ|/250)⁴)`` on slants."""
        share = np.einsum("hj,hj->h", params.slant, params.slant) / _WIDE**2
        return super().log_prior(params) - 0.5 * float(np.log1p(share**2).sum())

    def _slant_pull(self, slant: FloatArray) -> FloatArray:
        """Return the derivative of the prior in the slants."""
        return -_ridge(slant)[:, None] * slant

    def blend(self, params: SkewTParams, proposal: SkewTParams, share: float) -> SkewTParams:
        """Return parameters between two points; scale matrices and axes η mix."""
        mixed = super().blend(params, proposal, share)
        axis = (1 - share) * params.axis + share * proposal.axis
        return dataclasses.replace(mixed, slant=slants(mixed.whitener, axis))

    def survey(self, params: SkewTParams, X: AnyArray, weights: FloatArray) -> Statistics:
        """Return sums of the curvature in the slanted residual η·u: those of 1, u and u uᵀ."""
        whole = ~np.isnan(X).any(axis=1)
        X, weights = np.ascontiguousarray(X[whole]), np.ascontiguousarray(weights[whole])
        nu, p = params.nu, X.shape[1]
        units = params.center, params.spread, params.location
        q, along = distances(params, X), projections(X, *units, params.axis)
        *_, drive = skew_t_rows(q, along, nu, p, *tables(nu, p))
        # In the left tail of a t the curvature is negative: it says nothing then.
        bend = drive * ((nu + p + 1.0) * along / (nu + q + along**2) + drive)
        return weighted_moments(X, *units, weights * np.maximum(bend, 0.0))

    def coordinates(
        self, params: SkewTParams, counts: FloatArray, *edge: FloatArray
    ) -> Coordinates:
        """Return the chart about ``params``."""
        return SkewTCoordinates(self, params, counts, edge or None)

    # -- starts -------------------------------------------------------------------------------

    def initial(self, X: AnyArray, weights: FloatArray) -> SkewTParams:
        """Return the best of a few skewed fits to rows of known class."""
        return self._lean(self._symmetric().initial(X, weights), X, weights)

    def from_attributes(self, given: Mapping[str, Any], X: AnyArray) -> SkewTParams:
        """Return parameters from the values a user (or a fitted model) names."""
        if "shapes" in given:
            if not {"locations", "scales"} <= set(given):
                raise ValueError(
                    f"init has {sorted(given)}: 'shapes' need 'locations' and 'scales' beside "
                    "them."
                )
            return super().from_attributes(given, X)
        symmetric = self._symmetric()
        params = symmetric.from_attributes(given, X)
        rows = np.ascontiguousarray(X[:: max(1, len(X) // 10_000)], dtype=np.float64)
        joint = symmetric.log_density(params, rows)
        weights = np.exp(joint - joint.max(axis=1, keepdims=True))
        return self._lean(params, rows, weights / weights.sum(axis=1, keepdims=True))

    def _symmetric(self) -> StudentT:
        """Return the family without skewness."""
        out = StudentT(self.dof, self.tied_dof)
        out.structure, out.reg_covar = self.structure, self.reg_covar
        out._pulls_locations = False
        return out

    def _lean(self, params: HeavyTailedParams, X: AnyArray, weights: FloatArray) -> SkewTParams:
        whole = complete(X, params.center, params.spread)
        guesses = leaning(self.structure, params, whole, weights)
        better = [improve(self, guess, X, weights) for guess in guesses]
        out: SkewTParams = keep_best(self, better, X, weights, self._separate)
        return out

    def _params(
        self,
        center: FloatArray,
        spread: FloatArray,
        location: FloatArray,
        whitener: FloatArray,
        given: Mapping[str, Any] | None = None,
    ) -> SkewTParams:
        dof = self._dof(len(location), given)
        whitener = self._narrow(whitener, dof, given)
        params = SkewTParams(center, spread, location, whitener, dof, np.zeros_like(location))
        if given is None or "shapes" not in given:
            return params
        shapes = np.asarray(given["shapes"], dtype=float)
        if shapes.shape != location.shape:
            raise ValueError(
                f"init has shapes of shape {shapes.shape}: they must be {location.shape}."
            )
        axis = shapes / np.sqrt(np.einsum("hjj->hj", params.scale))
        return dataclasses.replace(params, slant=slants(whitener, axis))

    # -- what is shown ------------------------------------------------------------------------

    def sample(self, params: SkewTParams, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows from class h."""
        z = skewed_normals(params.slant[h], n, rng)
        return self._standard_sample(params, h, z / np.sqrt(self._precisions(params, h, n, rng)))

    def moments(self, params: SkewTParams) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances, NaN where they do not exist."""
        nu, delta = params.nu[:, None], params.deltas
        # E|V| = sqrt(ν/π) Γ((ν−1)/2) / Γ(ν/2)
        factor = np.full_like(nu, np.nan)
        for h, v in enumerate(nu[:, 0]):
            if v > 1:
                ratio = math.exp(-log_gamma_ratio(0.5 * (v - 1), 0.5))
                factor[h] = math.sqrt(2 / math.pi * v / (v - 1)) * ratio
        offset = factor * delta
        with np.errstate(divide="ignore"):
            widening = np.where(nu > 2, nu / (nu - 2), np.nan)[:, :, None]
        spread = params.scales * widening - offset[:, :, None] * offset[:, None, :]
        return params.locations + offset, spread

    def n_parameters(self, params: SkewTParams) -> int:
        """Count locations, shapes, free scale entries and free degrees of freedom."""
        moments = round(self._n_moments(params)) + params.location.size
        return moments + self._n_dof(len(params.location))

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        """Return moments, locations, scale matrices, shapes and degrees of freedom."""
        return {**super().attributes(params), "shapes": params.shapes}

    def remarks(self, params: Any, names: list[str]) -> list[str]:
        """Say where degrees of freedom or slants ran away, and where moments do not exist."""
        out = super().remarks(params, names)
        size = np.linalg.norm(params.slant, axis=1)
        if (size > _STEEP).any():
            out.append(
                f"{of_classes(names, size > _STEEP, 'is', 'are')} skewed as far as can be "
                f"(|slant| {size.max():.3g}): half of a symmetric distribution, cut off at its "
                "location. Its shape is held finite by a weak prior, and its size means little."
            )
        return out


class SkewNormal(SkewT):
    """Multivariate skew-normal classes: the skew-t's limit of infinite degrees of freedom.

    Examples
    --------
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
