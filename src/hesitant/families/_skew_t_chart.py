"""The skew-t family's chart: coordinates in which its information is about the identity."""

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hesitant._typing import FloatArray, IntArray
from hesitant.families._base import Statistics
from hesitant.families._covariance import Structure
from hesitant.families._dof import digamma
from hesitant.families._heavy_tailed import HeavyTailedCoordinates
from hesitant.families._skew_t_kernels import skew_t_rows
from hesitant.families._skew_t_params import SkewTParams, skewed_normals
from hesitant.families._skew_table import tables

if TYPE_CHECKING:
    from hesitant.families._skew_t import SkewT

__all__ = ["SkewTCoordinates"]

_DRAWS = 1000
_LARGEST = 250  # coordinates
# Skewness and location are all but confounded near symmetry: no direction may be free.
_FLOOR = 1e-2


class SkewTCoordinates(HeavyTailedCoordinates):
    """Locations, whiteners, degrees of freedom and slants, mixed by their joint information.

    Location, skewness and tails of a skew-t are strongly correlated, so scaling each coordinate
    by itself leaves long valleys. The information in the classes' own scores, estimated from a
    thousand draws of each class, removes them.
    """

    reference: SkewTParams
    family: "SkewT"

    def __init__(self, family: "SkewT", reference: SkewTParams, counts: FloatArray) -> None:
        super().__init__(family, reference, counts)
        self.slants = self.size
        self.size += self.g * self.p
        counts = np.maximum(counts, 1.0)
        # Information on a slant falls as it grows; for symmetric classes it is 2/π a row.
        flatness = np.sqrt(1.0 + (reference.slant**2).sum(axis=1))
        self.slant_unit = np.sqrt(0.5 * np.pi * flatness / counts)[:, None]
        self.blocks = self._blocks(counts)

    # -- the chart --------------------------------------------------------------------------

    def decode(self, vector: FloatArray) -> SkewTParams:
        """Return the parameters at a point of the chart."""
        free = vector.copy()
        for places, axes in self.blocks:
            free[places] = axes @ vector[places]
        location, whitener = self.unfold(free[: self.base])
        dof = self.unfold_dof(free[self.base : self.slants])
        moved = self.slant_unit * free[self.slants :].reshape(self.g, self.p)
        slant = self.reference.slant + moved
        return dataclasses.replace(
            self.reference, location=location, whitener=whitener, dof=dof, slant=slant
        )

    def gradient(self, params: SkewTParams, statistics: Statistics) -> FloatArray:
        """Return the weighted score at ``params = decode(vector)``, penalty included."""
        count, mass, first, second, logs, drive, driven = statistics
        W, slant = params.whitener, params.slant
        # The prior's pull on the axis η = Wᵀλ acts as if on residuals.
        driven = driven - self.family._prior_scatter(self.g) * params.axis
        pull = drive[:, None] * slant - np.einsum("hjk,hk->hj", W, first)
        pulled, _, _, second = self.family._with_prior(params, (count, mass, first, second))
        outer = slant[:, :, None] * driven[:, None, :] - W @ second
        free = np.concatenate(
            (
                self.fold(W, pulled, pull, outer),
                self.fold_dof(params, count, mass, logs),
                (np.einsum("hjk,hk->hj", W, driven) * self.slant_unit).ravel(),
            )
        )
        out = free.copy()
        for places, axes in self.blocks:
            out[places] = free[places] @ axes
        return out

    # -- its metric -------------------------------------------------------------------------

    def _blocks(self, counts: FloatArray) -> list[tuple[IntArray, FloatArray]]:
        """Return coordinates that belong together, with steps of one standard error along them.

        Those of a class do; those of all classes, if they share any. Of very many each keeps its
        own unit: a matrix of their information would cost more than it saves.
        """
        largest = self.size if self._shared else self.size // self.g
        if largest > _LARGEST:
            return []
        own = []
        for h, folding in enumerate(_foldings(self.family.structure, self.g, self.p)):
            places, scores = self._scores(h, *folding)
            # Not a matrix product: so small a one would wait for threads longer than it runs.
            own.append((places, counts[h] * np.einsum("ki,kj->ij", scores, scores) / _DRAWS))
        if self._shared:
            joint = np.zeros((self.size, self.size))
            for places, information in own:
                joint[np.ix_(places, places)] += information
            own = [(np.arange(self.size), joint)]
        found = [(places, _standard_steps(information)) for places, information in own]
        return [(places, axes) for places, axes in found if axes is not None]

    @property
    def _shared(self) -> bool:
        """Whether classes have a coordinate in common."""
        return not self.family._separate

    def _scores(self, h: int, free: IntArray, folding: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return which unmixed coordinates class h has, and scores of draws from it in them."""
        p = self.p
        slant, nu = self.reference.slant[h], self.reference.nu[h : h + 1]
        z = skewed_normals(slant, _DRAWS, np.random.default_rng(0))
        z /= np.sqrt(self.family._precisions(self.reference, h, _DRAWS, np.random.default_rng(1)))
        q, along = np.einsum("ij,ij->i", z, z)[:, None], (z @ slant)[:, None]
        _, precision, logs, drive = skew_t_rows(q, along, nu, p, *tables(nu, p))
        pull = drive * slant - precision * z
        spin = (pull[:, :, None] * z[:, None, :] + np.eye(p)).reshape(_DRAWS, -1)
        group = np.flatnonzero(self.groups[:, h])
        known = 1.0 + digamma(0.5 * (nu[0] + p)) - digamma(0.5 * nu[0])
        own = h * p + np.arange(p)
        scale = self.g * p + free
        scores = (
            -pull * self.unit[own],
            spin @ folding * self.unit[scale],
            0.5 * (known + logs - precision) * self.dof_chart.slope[group],
            drive * z * self.slant_unit[h],
        )
        places = np.concatenate((own, scale, self.base + group, self.slants + own))
        return places, np.concatenate(scores, axis=1)


def _standard_steps(information: FloatArray) -> FloatArray | None:
    """Return the matrix whose columns are steps of one standard error, all uncorrelated."""
    size = np.sqrt(np.maximum(np.diagonal(information), 1e-12))
    correlation = information / np.multiply.outer(size, size)
    correlation.flat[:: len(size) + 1] += _FLOOR
    if not np.isfinite(correlation).all():  # parameters so absurd that draws overflow
        return None
    return np.linalg.inv(np.linalg.cholesky(correlation)).T / size[:, None]


@lru_cache(maxsize=32)
def _foldings(structure: Structure, g: int, p: int) -> list[tuple[IntArray, FloatArray]]:
    """Return, for each class, which coordinates of scale move it and scores in M = I to theirs."""
    identity = np.repeat(np.eye(p)[None], g, axis=0)
    out = []
    for h in range(g):
        score = np.zeros((g, p, p))
        rows = []
        for unit in np.eye(p * p).reshape(-1, p, p):
            score[h] = unit
            rows.append(structure.fold(score, identity))
        folding = np.array(rows)
        free = np.flatnonzero(folding.any(axis=0))
        out.append((free, folding[:, free]))
    return out
