"""Student-t classes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics, StepError
from hesitant.families._dof import digamma, t_constants
from hesitant.families._gaps import Gaps
from hesitant.families._heavy_tailed import (
    FAR,
    HeavyTailedCoordinates,
    HeavyTailedFamily,
    HeavyTailedParams,
    distances,
)
from hesitant.families._kernels import log_rise, weighted_moments


class StudentT(HeavyTailedFamily):
    """Multivariate Student-t classes: Gaussian ones with heavier tails.

    Parameters
    ----------
    dof : float, sequence of float or None, default=None
        Degrees of freedom, fixed for all classes or for each; None estimates them, within 0.5
        and 200. Infinity gives Gaussian classes.
    tied_dof : bool, default=False
        Whether all classes share one estimated value.

    Notes
    -----
    The covariance structure is that of the scale matrix Ω (``scales_``), not of the covariance
    ``Ω ν/(ν − 2)``. Means exist for degrees of freedom above 1 and covariances above 2; elsewhere
    ``means_`` and ``covariances_`` hold NaN, and a warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.families import StudentT
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_t(4, size=(400, 2)) + np.repeat([[0, 0], [6, 0]], 200, axis=0)
    >>> y = np.where(rng.random(400) < 0.5, np.repeat([0, 1], 200), -1)
    >>> clf = MixtureClassifier(family=StudentT(tied_dof=True), mechanism=None).fit(X, y)
    >>> bool(2 < clf.dof_[0] < 10 and clf.dof_[0] == clf.dof_[1])
    True
    """

    in_words = "Student-t"
    likeness = "like Gaussian ones, with heavier tails"

    takes_gaps = True

    def _look(self, params: HeavyTailedParams, X: AnyArray) -> tuple[FloatArray, Any]:
        q = distances(params, X)
        rise = log_rise(q, params.nu)
        return self._constant(params) - 0.5 * (params.nu + X.shape[1]) * rise, (q, rise)

    def _look_gaps(self, params: HeavyTailedParams, gaps: Gaps) -> tuple[FloatArray, Any]:
        q, volume = gaps.distances(params)
        q[~(q < FAR)] = np.inf
        rise = log_rise(q, params.nu)
        seen = gaps.seen.sum(axis=1)
        constant = {d: t_constants(params.nu, d) for d in set(seen.tolist())}
        volume += np.array([constant[d] for d in seen.tolist()])
        dof = params.nu + seen[:, None]
        return volume[gaps.pattern] - 0.5 * dof[gaps.pattern] * rise, (q, rise)

    # Moments are weighted by expected precisions ``(ν + p)/(ν + q)`` as well, mass is the sum of
    # those weights, and logs is that of the expected logs, less a constant.

    def _sum_up(
        self, params: HeavyTailedParams, X: AnyArray, weights: FloatArray, kept: Any
    ) -> Statistics:
        nu = params.nu
        q, rise = kept or self._look(params, X)[1]
        precise = weights * (nu + X.shape[1]) / (nu + q)
        moments = weighted_moments(X, params.center, params.spread, params.location, precise)
        logs = -np.einsum("ih,ih->h", weights, rise)
        return np.einsum("ih->h", weights), *moments, logs

    def _sum_up_gaps(
        self, params: HeavyTailedParams, gaps: Gaps, weights: FloatArray, kept: Any
    ) -> Statistics:
        nu, p = params.nu, params.center.size
        q, rise = kept or self._look_gaps(params, gaps)[1]
        seen = gaps.seen.sum(axis=1)[gaps.pattern]
        precise = weights * (nu + seen[:, None]) / (nu + q)
        # What varies with the row is counted from what whole rows have in common.
        less = np.array(
            [[digamma(0.5 * (v + d)) - digamma(0.5 * (v + p)) for v in nu] for d in range(p + 1)]
        )
        logs = np.einsum("ih,ih->h", weights, less[seen] - rise)
        return np.einsum("ih->h", weights), *gaps.moments(params, precise, weights), logs

    def maximise(self, params: HeavyTailedParams, statistics: Statistics) -> HeavyTailedParams:
        """Return the M-step: moments weighted by expected precisions, then EM's dof."""
        count, mass, first, second, logs = statistics
        if count.min() < 0 or mass.min() < 0:
            raise StepError("a class has a negative weight")
        count, mass = np.maximum(count, 1e-12), np.maximum(mass, 1e-12)
        return dataclasses.replace(
            params,
            **self._step(params, count, mass, first, second),
            dof=self._dof_step(params, count, mass, logs),
        )

    def sample(
        self, params: HeavyTailedParams, h: int, n: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw n rows from class h."""
        z = rng.standard_normal((n, params.center.size))
        return self._standard_sample(params, h, z / np.sqrt(self._precisions(params, h, n, rng)))

    def moments(self, params: HeavyTailedParams) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances, NaN where they do not exist."""
        nu = params.nu[:, None]
        means = np.where(nu > 1, params.locations, np.nan)
        with np.errstate(divide="ignore"):
            widening = np.where(nu > 2, nu / (nu - 2), np.nan)
        return means, params.scales * widening[:, :, None]

    def n_parameters(self, params: HeavyTailedParams) -> int:
        """Count locations, free scale entries and free degrees of freedom."""
        return round(self._n_moments(params)) + self._n_dof(len(params.location))

    def coordinates(self, params: HeavyTailedParams, counts: FloatArray) -> Coordinates:
        """Return the chart about ``params``."""
        return _StudentTCoordinates(self, params, counts)

    def _params(
        self,
        center: FloatArray,
        spread: FloatArray,
        location: FloatArray,
        whitener: FloatArray,
        given: Mapping[str, Any] | None = None,
    ) -> HeavyTailedParams:
        dof = self._dof(len(location), given)
        whitener = self._narrow(whitener, dof, given)
        return HeavyTailedParams(center, spread, location, whitener, dof)


class _StudentTCoordinates(HeavyTailedCoordinates):
    def residual_score(self, z: FloatArray, h: int) -> FloatArray:
        nu = float(self.reference.nu[h])
        q = np.einsum("ij,ij->i", z, z)[:, None]
        return -z * ((nu + self.p) / (nu + q))

    def decode(self, vector: FloatArray) -> HeavyTailedParams:
        location, whitener = self.unfold(vector[: self.base])
        dof = self.unfold_dof(vector[self.base :])
        return dataclasses.replace(self.reference, location=location, whitener=whitener, dof=dof)

    def gradient(self, params: HeavyTailedParams, statistics: Statistics) -> FloatArray:
        count, mass, first, second, logs = statistics
        sums = self.family._with_prior(params, (count, mass, first, second))
        pull = -(params.whitener @ sums[2][:, :, None])[:, :, 0]
        base = self.fold(params.whitener, sums[0], pull, -params.whitener @ sums[3])
        return np.concatenate((base, self.fold_dof(params, count, mass, logs)))
