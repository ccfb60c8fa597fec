"""The skew-t family's chart: coordinates in which its information is about the identity."""

import dataclasses
import math
from typing import Any

import numpy as np

from hesitant._typing import FloatArray, IntArray
from hesitant.families._base import Statistics
from hesitant.families._skew_t_kernels import skew_t_rows, tables
from hesitant.families._skew_t_params import (
    SkewTParams,
    dot,
    outer,
    skewed_normals,
    times,
    transposed_times,
)
from hesitant.families._student_t import HeavyTailedChart, digamma

_DRAWS = 1000
_LARGEST = 250  # coordinates
# Skewness and location are all but confounded near symmetry: no direction may be free.
_FLOOR = 1e-2
# Slants of this size put so few rows at the edge that draws may miss it.
_FEW = 10.0


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

    def __init__(
        self, family: Any, reference: SkewTParams, counts: FloatArray, edge: Statistics = ()
    ) -> None:
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
        axis = transposed_times(self.reference.whitener, zeta)
        slant = _solve(params.whitener.transpose(0, 2, 1), axis)
        return dataclasses.replace(params, slant=slant)

    def gradient(self, params: SkewTParams, statistics: Statistics) -> FloatArray:
        count, mass, first, second, _, drive, driven = statistics
        W, slant = params.whitener, params.slant
        pull = drive[:, None] * slant - times(W, first)
        pulled, _, _, second = self.family._with_prior(params, (count, mass, first, second))
        # The prior's pull on the slant, as one on η and on W
        held = _solve(W, -params.ridge[:, None] * slant)
        d_zeta = times(self.reference.whitener, driven + held)
        # Where in the chart is this?
        zeta = transposed_times(self.half, params.axis)
        size = dot(zeta, self.toward)
        root = np.sqrt(1.0 + size**2)
        aside = zeta - size[:, None] * self.toward
        d_along = root * dot(d_zeta, self.toward) + size / root * dot(d_zeta, aside)
        d_aside = d_zeta * (root / np.cosh(self.bend))[:, None]
        d_aside -= dot(d_aside, self.toward)[:, None] * self.toward
        free = np.concatenate(
            (
                self.fold(W, pulled, pull, -outer(slant, held) - W @ second),
                self.dof_gradient(params, statistics),
                (d_along[:, None] * self.toward + d_aside).ravel(),
            )
        )
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
            spots = np.concatenate((np.arange(self.p), np.arange(-self.p, 0)))
            if edge:
                information[np.ix_(spots, spots)] += self._edge(h, *edge)
            own.append((places, information))
        if shared:
            joint = np.zeros((self.size, self.size))
            for places, information in own:
                joint[np.ix_(places, places)] += information
            own = [(np.arange(self.size), joint)]
        found = [(places, _standard_steps(information)) for places, information in own]
        return [(places, axes) for places, axes in found if axes is not None]

    def _scores(self, h: int) -> tuple[IntArray, FloatArray]:
        """Return which unmixed coordinates class h has, and scores of draws from it in them."""
        p, slant, nu = self.p, self.reference.slant[h], self.reference.nu[h : h + 1]
        z = skewed_normals(slant, _DRAWS, np.random.default_rng(0))
        rng = np.random.default_rng(1)
        z /= self.family._roots(self.reference, h, _DRAWS, rng)
        q, along = np.einsum("ij,ij->i", z, z)[:, None], (z @ slant)[:, None]
        _, precision, logs, drive = skew_t_rows(q, along, nu, p, tables(nu, p))
        places, scores = self._rows(h, z, drive * slant - precision * z, -precision * z)
        group = np.flatnonzero(self.groups[:, h])
        known = 1.0 + digamma(0.5 * (nu[0] + p)) - digamma(0.5 * nu[0])
        tails = 0.5 * (known + logs - precision) * self.dof_slope[group]
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


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution of a system for each class; NaN where a step led out of bounds."""
    try:
        return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)


def _standard_steps(information: FloatArray) -> FloatArray | None:
    """Return the matrix whose columns are steps of one standard error, all uncorrelated."""
    size = np.sqrt(np.maximum(np.diagonal(information), 1e-12))
    correlation = information / np.multiply.outer(size, size)
    if not np.isfinite(correlation).all():  # parameters so absurd that draws overflow
        return None
    for floor in (0.0, _FLOOR):
        correlation.flat[:: len(size) + 1] += floor
        try:
            return np.linalg.inv(np.linalg.cholesky(correlation)).T / size[:, None]
        except np.linalg.LinAlgError:
            continue
    value, vector = np.linalg.eigh(correlation)  # weights of very different sizes
    return vector / np.sqrt(np.maximum(value, _FLOOR)) / size[:, None]
