"""Student-t classes, and all that has to do with degrees of freedom."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, zeta
from scipy.special import psi as digamma

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Coordinates, Statistics, improved, of_classes
from hesitant.families._gaps import Seen, complete
from hesitant.families._gaussian import Gaussian, Given
from hesitant.families._gaussian_chart import LocationScaleChart
from hesitant.families._kernels import Place, whiten
from hesitant.families._location_scale import LocationScaleParams

# Bounds of estimated degrees of freedom: the upper one differs from a Gaussian by less than any
# sample can show, and below the lower one tails say nothing that 0.5 does not.
LOWEST, HIGHEST = 0.5, 200.0
_WIDTH = 1.0 / LOWEST - 1.0 / HIGHEST
_INFINITE = 1e30  # as good as infinity: every formula has rounded to its limit
_START = 10.0  # of estimated degrees of freedom, unless a start says better
_SMALLEST_FIXED = 0.1
FAR = 1e200
trigamma = partial(zeta, 2.0)
_STEPS = 5  # of EM, from each guess
_NO_MOMENTS = " (too few degrees of freedom): the entries of means_ and covariances_ that do not"
_NO_MOMENTS += " exist are NaN. Use locations_ and scales_."


@dataclasses.dataclass(frozen=True)
class HeavyTailedParams(LocationScaleParams):
    """Location, scale and degrees of freedom (g,) of all classes."""

    dof: FloatArray

    @property
    def nu(self) -> FloatArray:
        """Degrees of freedom that formulas can bear: infinity is merely huge."""
        return np.minimum(self.dof, _INFINITE)


class StudentT(Gaussian):
    """Multivariate Student-t classes: Gaussian ones with heavier tails.

    Degrees of freedom ``dof`` are fixed for all classes or for each, or estimated if None, within
    0.5 and 200: one value for all classes if they are ``tied_dof``. Infinity gives Gaussian ones.

    The covariance structure is that of the scale matrix Ω (``scales_``), not of the covariance
    ``Ω ν/(ν − 2)``. Means exist for degrees of freedom above 1 and covariances above 2; elsewhere
    ``means_`` and ``covariances_`` hold NaN, and a warning says so.

    >>> from hesitant import MixtureClassifier, datasets, families
    >>> data = datasets.simulate(n=300, random_state=0)
    >>> clf = MixtureClassifier(families.StudentT(dof=4)).fit(data.features, data.labels)
    >>> clf.dof_, clf.scales_.shape
    (array([4., 4.]), (2, 2, 2))
    """

    in_words = "Student-t"
    likeness = "like Gaussian ones, with heavier tails"
    warm_up = 10  # EM crawls in the degrees of freedom: quasi-Newton gets there sooner
    _limit = "Gaussian"

    def __init__(self, dof: float | Sequence[float] | None = None, tied_dof: bool = False) -> None:
        self.dof, self.tied_dof = dof, tied_dof

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        if not isinstance(self.tied_dof, bool | np.bool_):
            raise TypeError(f"tied_dof={self.tied_dof!r}: give True or False.")
        given = np.asarray(math.inf if self.dof is None else self.dof)
        if given.dtype.kind not in "iuf" or not (given >= _SMALLEST_FIXED).all():
            known = f"one number >= {_SMALLEST_FIXED} for all classes or one each"
            raise ValueError(f"dof={self.dof!r}: give {known}, or None to estimate them.")
        if self.dof is not None and self.tied_dof:
            raise ValueError(f"tied_dof=True and dof={self.dof!r}: give one or the other.")
        return super().specialise(covariance, reg_covar)

    def initial(self, X: AnyArray, weights: FloatArray) -> Any:
        # One guess is from moments, the other from medians, which no outlier can move.
        moments = super().initial(X, weights)
        units = moments.center, moments.spread
        middle, deviation = _medians((complete(X, *units) - units[0]) / units[1], weights)
        scatter = deviation[:, :, None] ** 2 * np.eye(X.shape[1])
        whitener = whiten(self.structure.pool(scatter, np.ones(len(scatter))))
        robust = dataclasses.replace(moments, location=middle, whitener=whitener)
        return self._best((moments, robust), X, weights)

    def _best(self, guesses: Iterable[Any], X: AnyArray, weights: FloatArray) -> Any:
        """Return the guess that, after a few steps, makes rows of known class most probable."""
        tried = [improved(self, g, (X, weights), _STEPS, _with_more_rows) for g in guesses]
        densities = [self.log_density(params, X) for params in tried]
        values = np.einsum("ih,kih->kh", weights, densities)
        if not self._separate:
            return tried[values.sum(axis=1).argmax()]
        # Each class chooses for itself.
        own, choice = [params.of_classes for params in tried], values.argmax(axis=0)
        chosen = {k: np.array([own[i][k][h] for h, i in enumerate(choice)]) for k in own[0]}
        return dataclasses.replace(tried[0], **chosen)

    @property
    def _separate(self) -> bool:
        """Whether no parameter is shared by classes."""
        return not (self.structure.shared or self.tied_dof)

    def _params(self, place: Place, whitener: FloatArray, given: Given | None = None) -> Any:
        g = len(whitener)
        value = self.dof if self.dof is not None else (given or {}).get("dof", _START)
        dof = np.asarray(value, dtype=np.float64)
        if dof.shape not in ((), (g,)):
            raise ValueError(f"dof={value!r}: give one number, or one for each of {g} classes.")
        dof = np.broadcast_to(dof, (g,)).copy()
        if self.dof is None:
            dof = np.clip(np.where(np.isnan(dof), _START, dof), LOWEST, HIGHEST)
            if self.tied_dof:
                dof[:] = np.exp(np.log(dof).mean())
        if given is not None and "scales" not in given:  # given are covariances
            nu = np.clip(dof, 2.5, _INFINITE)
            whitener = whitener * np.sqrt(nu / (nu - 2.0))[:, None, None]
        return HeavyTailedParams(*place, whitener, dof)

    def inside_bounds(self, params: Any) -> Any:
        # At a bound the chart's slope is zero: a climb that began there would never leave.
        if self.dof is not None:
            return params
        return dataclasses.replace(params, dof=np.clip(params.dof, 1.02 * LOWEST, 0.98 * HIGHEST))

    def _dof_groups(self, g: int) -> FloatArray:
        """Return which free values the classes share, as a 0/1 matrix (values, g)."""
        if self.dof is not None:
            return np.zeros((0, g))
        return np.ones((1, g)) if self.tied_dof else np.eye(g)

    def _densities(self, params: Any, q: FloatArray, volume: FloatArray, seen: Seen) -> Any:
        q[~(q < FAR)] = np.inf  # NaN, too, comes of an overflow
        rise = np.minimum(q / params.nu, np.finfo(float).max)
        np.log1p(rise, out=rise)
        constant = within_bounds(volume + _by_number(seen, partial(t_constants, params.nu)))
        return constant - 0.5 * _by_number(seen, params.nu.__add__) * rise, (q, rise)

    def _precisions(self, params: Any, weights: FloatArray, seen: Seen, kept: Any) -> Any:
        # Last in the statistics is the sum of expected logs of precisions, less a constant.
        nu, (q, rise) = params.nu, kept
        precise = weights * _by_number(seen, nu.__add__) / (nu + q)
        if not isinstance(seen, int):  # counted from what whole rows have in common
            whole = digamma(0.5 * (nu + params.center.size))
            rise = rise - _by_number(seen, lambda d: digamma(0.5 * (nu + d)) - whole)
        return precise, -np.einsum("ih,ih->h", weights, rise)

    def _shape_step(self, params: Any, *sums: FloatArray) -> dict[str, FloatArray]:
        # The sums are Σ w, Σ w E[W] and Σ w ℓ, where E[log W] is ψ((ν+p)/2) − log(ν/2) + ℓ.
        groups, (count, mass, logs, *_) = self._dof_groups(len(params.dof)), sums
        if not len(groups):
            return {}
        known = digamma(0.5 * (params.nu + params.center.size)) - np.log(0.5 * params.nu)
        excess = (groups @ (mass - logs - count * known)) / (groups @ count) - 1.0
        return {"dof": groups.T @ np.array([best_dof(e) for e in excess])}

    def _residual_score(self, params: Any, z: FloatArray, h: int) -> FloatArray | None:
        nu = float(params.nu[h])
        return -z * ((nu + z.shape[1]) / (nu + np.einsum("ij,ij->i", z, z)[:, None]))

    def _draw(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        return super()._draw(params, h, n, rng) / self._roots(params, h, n, rng)

    def _roots(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw roots of latent precisions W of class h, as a column."""
        dof = params.dof[h]
        if math.isinf(dof):
            return np.ones((n, 1))
        # Never zero: a draw may lie far out, but not at infinity.
        return np.sqrt(np.maximum(rng.chisquare(dof, (n, 1)) / dof, 1e-280))

    def coordinates(self, params: Any, counts: FloatArray) -> Coordinates:
        return HeavyTailedChart(self, params, counts)

    def n_parameters(self, params: Any) -> int:
        return super().n_parameters(params) + len(self._dof_groups(len(params.dof)))

    def moments(self, params: Any) -> tuple[FloatArray, FloatArray]:
        nu = params.nu[:, None]
        with np.errstate(divide="ignore"):
            widening = np.where(nu > 2, nu / (nu - 2), np.nan)
        offset = np.where(nu > 1, self._offset(params), np.nan)
        crossed = offset[:, :, None] * offset[:, None, :]
        return params.locations + offset, params.scales * widening[:, :, None] - crossed

    def _offset(self, params: Any) -> FloatArray:
        """Return how far means are from locations (g, p)."""
        return np.zeros_like(params.location)

    def attributes(self, params: Any) -> dict[str, FloatArray]:
        own = {"locations": params.locations, "scales": params.scales, "dof": params.dof}
        return {**super().attributes(params), **own}

    def remarks(self, params: Any, names: list[str]) -> list[str]:
        free, dof = self.dof is None, params.dof
        bound = "degrees of freedom at their {} bound ({:g}): tails are"
        high, low = bound.format("upper", HIGHEST), bound.format("lower", LOWEST)
        heavy = "heavier than the family allows. Look for outliers or stray rows."
        said = {
            f"{high} effectively {self._limit}.": free & (dof > 0.98 * HIGHEST),
            f"{low} {heavy}": free & (dof < 1.02 * LOWEST),
            f"neither mean nor covariance{_NO_MOMENTS}": dof <= 1,
            f"no covariance{_NO_MOMENTS}": (dof > 1) & (dof <= 2),
        }
        return [f"{of_classes(names, which)} {k}" for k, which in said.items() if which.any()]


class HeavyTailedChart(LocationScaleChart):
    """The chart of locations and whiteners, with angles θ of degrees of freedom appended.

    ``1/ν`` runs between its bounds as ``sin²θ`` does. In 1/ν the likelihood is well behaved up to
    the Gaussian limit, and the fold makes a maximum at a bound an ordinary, smooth one.
    """

    folds = True

    def __init__(self, family: Any, reference: Any, counts: FloatArray) -> None:
        super().__init__(family, reference, counts)
        self.groups = family._dof_groups(self.g)
        self.shares = self.groups / np.maximum(self.groups.sum(axis=1, keepdims=True), 1.0)
        self.dof = self.shares @ reference.dof
        self.angle = _angles(self.dof)
        # At a bound the fold is flat: take the slope a little inside.
        inside = np.clip(self.angle, 0.1, 0.5 * math.pi - 0.1)
        each = np.array([_information(v, self.p) for v in _unfold(inside).tolist()])
        information = (self.groups @ counts) * each * _slope(inside) ** 2
        self.dof_unit = 1.0 / np.sqrt(np.maximum(information, 1e-3))
        self.dof_slope = _slope(inside) * self.dof_unit  # about the reference; nowhere zero
        self.base = self.size
        self.size += self.dof.size
        # Values alone do not say from which side of a fold they were decoded, and the gradient
        # must know.
        self._latest = reference.dof, self.angle

    def decode(self, vector: FloatArray) -> Any:
        params = super().decode(vector)
        if not self.dof.size:
            return params
        move = vector[self.base : self.base + self.dof.size]
        angle = self.angle + self.dof_unit * move
        dof = self.groups.T @ np.where(move == 0.0, self.dof, _unfold(angle))
        self._latest = dof, angle
        return dataclasses.replace(params, dof=dof)

    def gradient(self, params: Any, statistics: Statistics) -> FloatArray:
        own = super().gradient(params, statistics)
        return np.concatenate((own, self.dof_gradient(params, statistics)))

    def dof_gradient(self, params: Any, statistics: Statistics) -> FloatArray:
        """Turn the sums that EM's step in dof uses into the chart's gradient."""
        if not self.dof.size:
            return np.zeros(0)
        count, mass, _, _, logs, *_ = statistics
        score = dof_score(params.dof, self.p, count, mass, logs)
        latest, angle = self._latest
        if params.dof is not latest:
            angle = _angles(self.shares @ params.dof)
        return (self.groups @ score) * _slope(angle) * self.dof_unit


def _angles(dof: FloatArray) -> FloatArray:
    """Return the angle of each value, on the near side of the fold."""
    return np.arcsin(np.sqrt(np.clip((1.0 / dof - 1.0 / HIGHEST) / _WIDTH, 0.0, 1.0)))


def _unfold(angles: FloatArray) -> FloatArray:
    return 1.0 / (1.0 / HIGHEST + _WIDTH * np.sin(angles) ** 2)


def _slope(angles: FloatArray) -> FloatArray:
    return -(_unfold(angles) ** 2) * _WIDTH * np.sin(2.0 * angles)


def _information(nu: float, p: int) -> float:
    """Fisher's information on ν in one row of a p-variate t distribution."""
    m = nu + p
    tails = 0.25 * (trigamma(0.5 * nu) - trigamma(0.5 * m))
    return max(tails - 0.5 * p * (m + 4.0) / (nu * m * (m + 2.0)), 1e-12)


def log_gamma_ratio(x: FloatArray, s: float) -> FloatArray:
    """Return ``log Γ(x + s) − log Γ(x) − s log x``, which vanishes as x grows."""
    # Stirling's series for both: the large terms cancel on paper instead of in the machine.
    series = (x + s - 0.5) * np.log1p(s / x) - s + _stirling(x + s) - _stirling(x)
    return np.where(x < 30.0, gammaln(x + s) - gammaln(x) - s * np.log(x), series)


def _stirling(x: FloatArray) -> FloatArray:
    y = 1.0 / (x * x)
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x


def t_constants(dof: FloatArray, p: int) -> FloatArray:
    """Log of the p-variate t density at its centre, scale matrix the identity."""
    return log_gamma_ratio(0.5 * dof, 0.5 * p) - 0.5 * p * math.log(2.0 * math.pi)


def dof_score(nu: FloatArray, p: int, count: Any, mass: FloatArray, logs: FloatArray) -> Any:
    """Return derivatives of log densities in ν, from sums of Σ w, Σ w E[W] and Σ w ℓ."""
    known = digamma(0.5 * (nu + p)) - digamma(0.5 * nu)
    return 0.5 * (count * (1.0 + known) + logs - mass)


def best_dof(excess: float) -> float:
    """Return ν within bounds with ``log(ν/2) − ψ(ν/2) = excess``, EM's answer.

    An excess out of range (signed weights can do that) gets the nearer bound.
    """

    def miss(y: float) -> float:  # nearly a straight line in y = 2/ν
        return float(-math.log(y) - digamma(1.0 / y) - excess)

    low, high = 2.0 / HIGHEST, 2.0 / LOWEST
    if miss(high) <= 0:
        return LOWEST
    return HIGHEST if miss(low) >= 0 else 2.0 / float(brentq(miss, low, high, xtol=1e-15))


def within_bounds(constant: FloatArray) -> FloatArray:
    """Return log densities at centres; an infinite whitener must make no row's value finite."""
    return np.where(constant < np.inf, constant, np.nan)


def _by_number(seen: Seen, function: Callable[[int], FloatArray]) -> FloatArray:
    """Return what a function of the number of features is for all rows (g,), or each (n, g)."""
    if isinstance(seen, int):
        return function(seen)
    return np.array([function(d) for d in range(seen.max() + 1)])[seen]


def _medians(Z: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted medians and median absolute deviations (g, p) of standardised rows."""
    g, p = weights.shape[1], Z.shape[1]
    middle, deviation = np.zeros((g, p)), np.ones((g, p))
    for h in np.flatnonzero(weights.any(axis=0)):
        weighted: Any = {"axis": 0, "weights": weights[:, h], "method": "inverted_cdf"}
        middle[h] = np.quantile(Z, 0.5, **weighted)
        deviation[h] = 1.4826 * np.quantile(np.abs(Z - middle[h]), 0.5, **weighted)
    return middle, np.where(deviation > 1e-6, deviation, 1.0)  # or most rows share one value


def _with_more_rows(statistics: Statistics) -> Statistics:
    """Give each class a few rows of all: then one of a single row still has a scale matrix."""
    count, mass, first, second, logs, *others = statistics
    prior, total = first.shape[1] + 2.0, max(count.sum(), 1e-12)
    weight = np.maximum(mass, 1e-12)[:, None, None]
    scatter = (second - first[:, :, None] * first[:, None, :] / weight).sum(axis=0)
    pooled = (scatter + prior * np.eye(len(scatter))) / (total + prior)
    mass, logs = (each + prior * each.sum() / total for each in (mass, logs))
    return count + prior, mass, first, second + prior * pooled, logs, *others
