"""Parameters of skew-t classes and their chart, over a compiled loop and the tables it reads.

The density needs, for one class (``a``, half the degrees of freedom) and many ``r``, of
``F(r, a) = T_{2a}(r sqrt(2a))`` the logarithm, ``D = d log F / da`` and the ratio of the t density
to F. SciPy's ``stdtr`` underflows long before the logarithm stops mattering.

With ``s = |r|``, ``t = s sqrt(2a)`` and ``kappa(w) = 2a (1 - exp(-w/a))``, put
``x = sqrt((1 + s²) exp(w/a) - 1)`` in the tail integral of the t density:

    N(t)  = int_0^inf exp(-w) / sqrt(t² + kappa(w)) dw,
    N1(t) = int_0^inf w exp(-w) / sqrt(t² + kappa(w)) dw,

    log F(-s) = -log 2 - (a - 1/2) log(1 + s²) + log(N(t) / N(0)),
    D(-s)     = (N1(0)/N(0) - N1(t)/N(t)) / a - log(1 + s²),
    ratio     = 1 / ((1 + s²) N(t)).

As ``a`` grows ``N`` tends to the Gaussian Mills ratio: no digits are lost and no branch is needed.
N's own integrand is too sharp at w = 0 when t is small. By parts, with ``m = 2a``,

    (1 + s²) N(t) = ((m + 1) P(t) + t) / m,
    P(t) = int_0^inf exp(-w) (sqrt(t² + kappa(w)) - t) dw,

a sum of positive terms. P and N1, times ``t + c``, are smooth in ``t / (t + c)`` all the way to
infinity, for every ``a``, so one short table of polynomials per class serves every ``r``.
"""

import dataclasses
import math
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebpts1, chebvander
from numpy.polynomial.legendre import leggauss

from hesitant._compile import njit
from hesitant._typing import FloatArray, IntArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.families._base import Statistics, standard_steps
from hesitant.families._kernels import REORDERED, inverse
from hesitant.families._location_scale import NOTHING
from hesitant.families._student_t import HeavyTailedChart, HeavyTailedParams, dof_score

STEEPEST = 250.0  # where the prior on the size of slants sets in, with rows enough
_DRAWS = 1000
_LARGEST = 250  # coordinates
_FLOOR = 1e-2  # near symmetry skewness and location are all but confounded: no direction is free

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


def slants(whitener: FloatArray, axis: FloatArray) -> FloatArray:
    """Return λ = W⁻ᵀη."""
    return t_times(inverse(whitener), axis)


def skewed_normals(slant: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw n standard skew-normal vectors with this slant."""
    z = rng.standard_normal((n, slant.size))
    # Selection: reflect a normal vector through the origin if it lies on the wrong side.
    hidden = rng.standard_normal(n)
    return np.where((hidden <= z @ slant)[:, None], z, -z)


# z = t / (t + C) in [0, 1] is cut into equal cells, with a polynomial on each.
CELLS, TERMS, C = 6, 13, 1.5

# Gauss-Legendre in w**(1/6): the power packs nodes near w = 0, where small t makes the integrand
# steep. exp(-37) is below the rounding error of the sum.
_QUADRATURE, _POWER, _CUTOFF = 56, 6, 37.0
_NODES, _WEIGHT = 0.5 * _CUTOFF ** (1 / _POWER) * np.array(leggauss(_QUADRATURE))
_NODES += 0.5 * _CUTOFF ** (1 / _POWER)
_W = _NODES**_POWER
_WEIGHT *= _POWER * _NODES ** (_POWER - 1) * np.exp(-_W)

# Cells are sampled at these z, one after another, and samples give Chebyshev series.
_Z = (np.arange(CELLS)[:, None] + (chebpts1(TERMS) + 1) / 2) / CELLS
_T = (C * _Z / (1 - _Z)).reshape(-1, 1)
_TO_SERIES = np.linalg.inv(chebvander(chebpts1(TERMS), TERMS - 1))
# Chebyshev series to powers. A series falls off so fast that the large entries of this matrix
# meet only tiny coefficients, so it must not be multiplied into the other matrix beforehand.
_TO_POWERS = np.array([np.pad(cheb2poly(row), (0, TERMS))[:TERMS] for row in np.eye(TERMS)])


@lru_cache(maxsize=8)  # every block of rows asks for the same
def _tables(nu: bytes, p: int) -> tuple[FloatArray, FloatArray]:
    """Polynomials of ``(t + c) P`` and ``(t + c) N1`` (g, cells, terms, 2); at zero 2N, N1/N."""
    a = 0.5 * (np.frombuffer(nu) + p)[:, None]
    kappa = -2.0 * a * np.expm1(-_W / a)
    q = np.sqrt(_T * _T + kappa[:, None, :])
    values = np.stack(((kappa[:, None, :] / (_T + q)) @ _WEIGHT, (_W / q) @ _WEIGHT), axis=1)
    values *= _T[:, 0] + C
    series = values.reshape(-1, 2, CELLS, TERMS) @ _TO_SERIES.T
    root = np.sqrt(kappa)
    n0 = (1.0 + 0.5 / a[:, 0]) * (root @ _WEIGHT)
    at_zero = np.stack((2.0 * n0, (_W / root) @ _WEIGHT / n0), axis=1)
    return np.ascontiguousarray((series @ _TO_POWERS).transpose(0, 2, 3, 1)), at_zero


def skew_t_rows(q: FloatArray, along: FloatArray, nu: FloatArray, p: int) -> FloatArray:
    """Give log densities less a class's constants, E[W], E[log W] likewise, and slopes in λ·z."""
    return _rows(q, along, nu, p, *_tables(nu.tobytes(), p))


@njit(fastmath=REORDERED)
def _rows(q: Any, along: Any, nu: Any, p: int, table: Any, at_zero: Any) -> FloatArray:
    n, g = q.shape
    out = np.empty((4, n, g))
    d, r, y, x = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    rise, tail = np.empty(STRIP), np.empty(STRIP)
    low, high, slope = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for h in range(g):
            dof, df = nu[h], nu[h] + p
            a, root = 0.5 * df, math.sqrt(df)
            for b in range(m):
                d[b] = q[start + b, h]
                r[b] = along[start + b, h]
            for b in range(m):
                y[b] = d[b] / dof
                d[b] = 1.0 / (dof + d[b])
                r[b] *= math.sqrt(d[b])
                t = root * abs(r[b])
                # Between 0 and CELLS; neither the largest t nor NaN may point past the last.
                place = CELLS * (t / (t + C))
                x[b] = place if place < CELLS - 1e-9 else CELLS - 1e-9
            log1p_strip(y, m, rise)
            for b in range(m):
                y[b] = r[b] * r[b]
            log1p_strip(y, m, tail)
            for b in range(m):
                y[b] = -a * tail[b]
            exp_strip(y, m)
            for b in range(m):
                c = int(x[b])
                v = 2.0 * (x[b] - c) - 1.0
                p0, p1 = table[h, c, TERMS - 1, 0], table[h, c, TERMS - 1, 1]
                for i in range(TERMS - 2, -1, -1):
                    p0 = p0 * v + table[h, c, i, 0]
                    p1 = p1 * v + table[h, c, i, 1]
                low[b] = p0
                high[b] = p1
            for b in range(m):
                right = r[b] > 0.0
                t = root * abs(r[b])
                e2 = 1.0 + r[b] * r[b]
                e = math.sqrt(e2)
                per = 1.0 / (t + C)
                p0 = (df + 1.0) * low[b] * per
                ratio = df / (p0 + t)  # density to cdf at −t
                f = 1.0 / (ratio * at_zero[h, 0] * e)  # F(−|r|), but for a power of e2
                odds = f * y[b] / (1.0 - f * y[b])
                bend = (at_zero[h, 1] - high[b] * per * e2 * ratio) / a - tail[b]
                slope[b] = (-odds * bend if right else bend) - rise[b]
                low[b] = d[b] * (df + odds * ratio * t if right else p0 * ratio)
                high[b] = (odds if right else 1.0) * ratio * root * math.sqrt(d[b])
                y[b] = odds if right else ratio * at_zero[h, 0] * e - 1.0
                rise[b] += 0.0 if right else tail[b]
            log1p_strip(y, m, tail)
            for b in range(m):
                out[0, start + b, h] = -a * rise[b] - tail[b]
                out[1, start + b, h] = low[b]
                out[2, start + b, h] = slope[b]
                out[3, start + b, h] = high[b]
    return out


class SkewTChart(HeavyTailedChart):
    """Locations, whiteners, degrees of freedom and slants, mixed by their joint information.

    The coordinates of a slant are those of ζ = W₀⁻ᵀη, η the slant of residuals: then the edge of
    a class leaning far, the plane η·u = 0, stays in place while the scale matrix changes. The
    size of ζ moves as ``sinh`` does: by amounts if it is small, by factors if it is large.

    Location, skewness and tails are strongly correlated, and would leave long valleys but for the
    information in the scores of a thousand draws of each class. Some directions stay a thousand
    times flatter than the chart is scaled for, and promise too little.
    """

    caution = 1e-3

    def __init__(self, family: Any, reference: Any, counts: FloatArray) -> None:
        super().__init__(family, reference, counts)
        self.slants = self.size
        self.size += self.g * self.p
        size = np.sqrt(dot(reference.slant, reference.slant))
        unit = reference.slant / np.maximum(size, 1e-300)[:, None]
        self.toward = np.where(size[:, None] > 0, unit, np.eye(self.p)[:1])
        self.bend = np.arcsinh(size)
        self.blocks = self._blocks(np.maximum(counts, 1.0))

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
        push = times(W, first) - drive[:, None] * slant
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
        d_scale = self.fold(W, pulled, push, outer(slant, held) + W @ second)
        free = np.concatenate((d_scale, self.dof_gradient(params, statistics), d_slant))
        out = free.copy()
        for places, axes in self.blocks:
            out[places] = free[places] @ axes
        return out

    def _blocks(self, counts: FloatArray) -> list[tuple[IntArray, FloatArray]]:
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
        _, precision, logs, drive = skew_t_rows(q, along, nu, p)
        places, scores = self._rows(h, z, drive * slant - precision * z, -precision * z)
        group = np.flatnonzero(self.groups[:, h])
        tails = dof_score(nu, p, 1.0, precision, logs) * self.dof_slope[group]
        own = self.slants + h * p + np.arange(p)
        # How the slant ζ moves with its coordinates, at the reference
        line = np.multiply.outer(self.toward[h], self.toward[h])
        turn = np.eye(p) + (math.cosh(self.bend[h]) - 1.0) * line
        scores = np.concatenate((scores.T, tails, drive * z @ turn), axis=1)
        return np.concatenate((places, self.base + group, own)), scores
