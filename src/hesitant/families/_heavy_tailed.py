"""What the Student-t and skew-t families share: degrees of freedom, and how they are chosen."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import of_classes
from hesitant.families._dof import (
    HIGHEST,
    LOWEST,
    DofChart,
    best_dof,
    digamma,
    finite,
    t_constants,
)
from hesitant.families._gaps import complete
from hesitant.families._kernels import squared_distances
from hesitant.families._location_scale import (
    LocationScale,
    LocationScaleFamily,
    LocationScaleParams,
    whiten,
)
from hesitant.families._robust_start import improve, keep_best, medians

# Where estimated degrees of freedom start, unless a start says better.
_START = 10.0
_SMALLEST_FIXED = 0.1
FAR = 1e200
_NO_MOMENTS = (
    " (too few degrees of freedom): the entries of means_ and covariances_ that do not exist are "
    "NaN. Use locations_ and scales_."
)


@dataclasses.dataclass(frozen=True)
class HeavyTailedParams(LocationScaleParams):
    """Location, scale and degrees of freedom of all classes.

    Attributes
    ----------
    dof : array of shape (g,)
    """

    dof: FloatArray

    @property
    def nu(self) -> FloatArray:
        """Degrees of freedom that formulas can bear: infinity is merely huge."""
        return finite(self.dof)


def distances(params: HeavyTailedParams, X: AnyArray) -> FloatArray:
    """Return squared distances (n, g), infinite where a row is too far to pull at a class."""
    q = squared_distances(X, params.center, params.spread, params.location, params.whitener)
    q[~(q < FAR)] = np.inf  # NaN, too, comes of an overflow
    return q


class HeavyTailedFamily(LocationScaleFamily):
    """Base of the families with degrees of freedom."""

    _limit = "Gaussian"
    warm_up = 10  # EM crawls in the degrees of freedom: quasi-Newton gets there sooner

    def __init__(self, dof: float | Sequence[float] | None = None, tied_dof: bool = False) -> None:
        self.dof = dof
        self.tied_dof = tied_dof

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        """Return a copy with this covariance structure, its options checked."""
        if not isinstance(self.tied_dof, bool | np.bool_):
            raise TypeError(f"tied_dof={self.tied_dof!r}: give True or False.")
        if self.dof is not None:
            for value in np.asarray(self.dof, dtype=object).ravel():
                number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
                if not number or not float(value) >= _SMALLEST_FIXED:
                    raise ValueError(
                        f"dof={self.dof!r}: give degrees of freedom from {_SMALLEST_FIXED} to "
                        "inf, one for all classes or one each, or None to estimate them."
                    )
            if self.tied_dof:
                raise ValueError(
                    f"tied_dof=True with dof={self.dof!r}: fixed degrees of freedom leave nothing "
                    "to share. Leave dof at None to estimate one value for all classes."
                )
        return super().specialise(covariance, reg_covar)

    def _constant(self, params: HeavyTailedParams) -> FloatArray:
        """Return the log densities at the classes' centres, were they not skewed."""
        out = t_constants(params.nu, params.center.size) + params.log_volume
        # An infinite whitener is out of bounds. No row must make a finite value of it.
        return np.where(out < np.inf, out, np.nan)

    # -- starts -----------------------------------------------------------------------------

    def initial(self, X: AnyArray, weights: FloatArray) -> Any:
        """Return the better of two robust fits to rows of known class.

        One starts from moments, the other from medians, which no outlier can move.
        """
        moments = super().initial(X, weights)
        units = moments.center, moments.spread
        middle, deviation = medians(complete(X, *units), weights, *units)
        scatter = deviation[:, :, None] ** 2 * np.eye(X.shape[1])
        whitener = whiten(self.structure.pool(scatter, np.ones(len(scatter))))
        robust = dataclasses.replace(moments, location=middle, whitener=whitener)
        guesses = [improve(self, guess, X, weights) for guess in (moments, robust)]
        return keep_best(self, guesses, X, weights, self._separate)

    @property
    def _separate(self) -> bool:
        """Whether no parameter is shared by classes."""
        return not (self.structure.shared or self.tied_dof)

    # -- degrees of freedom -----------------------------------------------------------------

    def _dof(self, g: int, given: Mapping[str, Any] | None = None) -> FloatArray:
        """Return what dof starts from: fixed values, or those a user names, or a guess."""
        value = self.dof if self.dof is not None else (given or {}).get("dof", _START)
        dof = np.asarray(value, dtype=np.float64)
        if dof.shape not in ((), (g,)):
            raise ValueError(
                f"dof={value!r} has {dof.size} values for {g} classes: give one for all classes, "
                "or one each."
            )
        dof = np.broadcast_to(dof, (g,)).copy()
        if self.dof is None:
            dof = np.clip(np.where(np.isnan(dof), _START, dof), LOWEST, HIGHEST)
            if self.tied_dof:
                dof[:] = np.exp(np.log(dof).mean())
        return dof

    def off_edges(self, params: Any) -> Any:
        """Return parameters with estimated degrees of freedom inside their bounds.

        At a bound the chart's slope is zero: a climb that began there would never leave.
        """
        if self.dof is not None:
            return params
        inside = np.clip(params.dof, 1.02 * LOWEST, 0.98 * HIGHEST)
        return dataclasses.replace(params, dof=inside)

    def _narrow(
        self, whitener: FloatArray, dof: FloatArray, given: Mapping[str, Any] | None
    ) -> FloatArray:
        """Return whiteners of scale matrices, if those given are of covariances."""
        if given is None or "scales" in given:
            return whitener
        nu = np.maximum(finite(dof), 2.5)
        return whitener * np.sqrt(nu / (nu - 2.0))[:, None, None]

    def _dof_groups(self, dof: FloatArray) -> FloatArray:
        """Return which free values the classes share, as a 0/1 matrix (values, g)."""
        g = dof.size
        if self.dof is not None:
            return np.zeros((0, g))
        return np.ones((1, g)) if self.tied_dof else np.eye(g)

    def _dof_step(
        self, params: HeavyTailedParams, count: FloatArray, mass: FloatArray, logs: FloatArray
    ) -> FloatArray:
        """Return EM's degrees of freedom.

        Parameters
        ----------
        params : HeavyTailedParams
            Where the sums were taken.
        count, mass : arrays of shape (g,)
            Σ w and Σ w E[W], with W the latent precision.
        logs : array of shape (g,)
            Σ w ℓ, where E[log W] = ψ((ν+p)/2) − log(ν/2) + ℓ.
        """
        groups = self._dof_groups(params.dof)
        if not len(groups):
            return params.dof
        p = params.center.size
        known = np.array([digamma(0.5 * (v + p)) - math.log(0.5 * v) for v in params.dof])
        excess = (groups @ (mass - logs - count * known)) / (groups @ count) - 1.0
        return groups.T @ np.array([best_dof(e) for e in excess])

    def _n_dof(self, g: int) -> int:
        return len(self._dof_groups(np.zeros(g)))

    def _precisions(
        self, params: HeavyTailedParams, h: int, n: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw latent precisions W of class h, as a column."""
        dof = params.dof[h]
        if math.isinf(dof):
            return np.ones((n, 1))
        # Never zero: a draw may lie far out, but not at infinity.
        return np.maximum(rng.chisquare(dof, (n, 1)) / dof, 1e-280)

    # -- attributes -------------------------------------------------------------------------

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        """Return moments, locations, scale matrices and degrees of freedom."""
        return {
            **super().attributes(params),
            "locations": params.locations,
            "scales": params.scales,
            "dof": params.dof,
        }

    def remarks(self, params: Any, names: list[str]) -> list[str]:
        """Say where degrees of freedom ran to a bound and where moments do not exist."""
        free, dof = self.dof is None, params.dof
        out = []
        if free and (dof > 0.98 * HIGHEST).any():
            out.append(
                f"{of_classes(names, dof > 0.98 * HIGHEST)} degrees of freedom at their upper "
                f"bound ({HIGHEST:g}): tails are effectively {self._limit}."
            )
        if free and (dof < 1.02 * LOWEST).any():
            out.append(
                f"{of_classes(names, dof < 1.02 * LOWEST)} degrees of freedom at their lower "
                f"bound ({LOWEST:g}): tails are heavier than the family allows. Look for outliers "
                "or stray rows."
            )
        if (dof <= 1).any():
            out.append(f"{of_classes(names, dof <= 1)} neither mean nor covariance{_NO_MOMENTS}")
        if ((dof > 1) & (dof <= 2)).any():
            out.append(f"{of_classes(names, (dof > 1) & (dof <= 2))} no covariance{_NO_MOMENTS}")
        return out


class HeavyTailedCoordinates(LocationScale):
    """The chart of locations and whiteners, with degrees of freedom appended."""

    reference: HeavyTailedParams
    family: HeavyTailedFamily

    def __init__(
        self, family: HeavyTailedFamily, reference: HeavyTailedParams, counts: FloatArray
    ) -> None:
        super().__init__(family, reference, counts)
        self.groups = family._dof_groups(reference.dof)
        self.shares = self.groups / np.maximum(self.groups.sum(axis=1, keepdims=True), 1.0)
        self.dof_chart = DofChart(self.shares @ reference.dof, self.p, self.groups @ counts)
        self.base = self.size
        self.size += self.dof_chart.size
        # The chart folds at the bounds of dof, so values alone do not say from which side they
        # were decoded, and the gradient must know.
        self._latest: tuple[FloatArray, FloatArray] = (reference.dof, self.dof_chart.reference)

    def unfold_dof(self, vector: FloatArray) -> FloatArray:
        """Return the degrees of freedom at a point of the chart."""
        if not self.dof_chart.size:
            return self.reference.dof
        values, angles = self.dof_chart.decode(vector)
        dof = self.groups.T @ values
        self._latest = (dof, angles)
        return dof

    def fold_dof(
        self, params: HeavyTailedParams, count: FloatArray, mass: FloatArray, logs: FloatArray
    ) -> FloatArray:
        """Turn the sums that EM's step in dof uses into the chart's gradient."""
        if not self.dof_chart.size:
            return np.zeros(0)
        known = np.array([digamma(0.5 * (v + self.p)) - digamma(0.5 * v) for v in params.dof])
        score = 0.5 * (count * (1.0 + known) + logs - mass)
        latest, angles = self._latest
        if params.dof is not latest:
            angles = self.dof_chart.angles(self.shares @ params.dof)
        return self.dof_chart.fold(angles, self.groups @ score)
