"""Parameters of classes that have a location and a scale matrix, and what may be wrong there."""

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from hesitant._typing import FloatArray, Movable
from hesitant.families._base import Defect
from hesitant.families._kernels import Place, inverse

NOTHING, _NO_MATRIX = partial(np.zeros, 0), partial(np.zeros, (0, 0))
# What is wrong with features in all classes together, and within one
_EVERYWHERE = {
    "constant": "constant: every class then has a variance near zero there, kept finite by {}. "
    "Drop what does not vary.",
    "dependent": "linearly dependent (one is a copy or a combination of the others): covariances "
    "are kept invertible by {} alone. Drop one of them.",
}
_HIGH = "by {} alone, and the likelihood is as large as that allows."
_WITHIN = {
    "constant": f"constant: a variance near zero there is kept finite {_HIGH} Drop what does not "
    "vary, or use covariance='shrunk'.",
    "dependent": f"linearly dependent: the covariance there is kept invertible {_HIGH} Use "
    "covariance='shrunk', or fewer features.",
}


@dataclasses.dataclass(frozen=True)
class LocationScaleParams(Movable):
    """Parameters of all classes, in standardised units: ``center + spread · value``.

    The rest is empty unless a prior pulls classes together: strengths, and where to.
    """

    center: FloatArray  # (p,)
    spread: FloatArray  # (p,)
    location: FloatArray  # (g, p)
    whitener: FloatArray  # (g, p, p)
    shrinkage: FloatArray = dataclasses.field(default_factory=NOTHING, kw_only=True)  # (3,)
    grand_mean: FloatArray = dataclasses.field(default_factory=NOTHING, kw_only=True)  # (p,)
    pooled: FloatArray = dataclasses.field(default_factory=_NO_MATRIX, kw_only=True)  # (p, p)
    rows: FloatArray = dataclasses.field(default_factory=NOTHING, kw_only=True)  # (g,)

    @property
    def prior(self) -> dict[str, FloatArray]:
        """What a prior needs to know, by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.kw_only}

    @property
    def of_classes(self) -> dict[str, FloatArray]:
        """The parameters that each class has of its own, by name."""
        shared = ("center", "spread", *self.prior)
        return {name: value for name, value in vars(self).items() if name not in shared}

    @property
    def place(self) -> Place:
        """What rows are standardised by, and the locations."""
        return self.center, self.spread, self.location

    @property
    def scale(self) -> FloatArray:
        """The scale matrices Ω (g, p, p), standardised."""
        half = inverse(self.whitener)
        return half @ half.transpose(0, 2, 1)

    @property
    def locations(self) -> FloatArray:  # in the user's units; so are ``scales``
        return self.center + self.spread * self.location

    @property
    def scales(self) -> FloatArray:
        return self.scale * np.multiply.outer(self.spread, self.spread)


def narrow_classes(
    params: LocationScaleParams,
    alone: FloatArray,
    reg_covar: float,
    weights: FloatArray,
    total: float,
) -> list[Defect]:
    """Return what is wrong with which features of which classes.

    ``alone`` are the variances that the prior alone would make of each class.
    """
    g = len(weights)
    if not params.whitener.diagonal(0, 1, 2).all():
        return [Defect("A class is too wide to compute with, and no row belongs to it.")]
    floor = 3.0 * alone + 1e-13
    # No direction is narrower than the whole of its class, in this sense.
    narrow = 1.0 / (params.whitener**2).sum(axis=(1, 2)) < floor
    if not narrow.any():
        return []
    if 3.0 * g * reg_covar > 0.1 * total:
        return [Defect(f"reg_covar={reg_covar:g} outweighs rows of weight {total:.3g}: lower it.")]
    keeper = "reg_covar" if reg_covar else "rounding errors"
    apart = params.location - weights @ params.location
    spread = np.einsum("h,hjk->jk", weights, params.scale)
    spread += np.einsum("h,hj,hk->jk", weights, apart, apart)
    whole = _narrow_features(spread, 3.0 * g * reg_covar / total + 1e-13)
    if whole is not None:
        return [Defect(_EVERYWHERE[whole[0]].format(keeper), np.array(whole[1]))]
    found: dict[Any, list[int]] = {}
    for h in np.flatnonzero(narrow).tolist():
        found.setdefault(_narrow_features(params.scale[h], floor[h]), []).append(h)
    found.pop(None, None)
    return [
        Defect(_WITHIN[kind].format(keeper), np.array(which), np.isin(np.arange(g), classes))
        for (kind, which), classes in found.items()
    ]


def _narrow_features(spread: FloatArray, floor: float) -> tuple[str, tuple[bool, ...]] | None:
    """Return what is wrong with which features: no spread, or they determine each other."""
    constant = np.diagonal(spread) < floor
    if constant.any():
        return "constant", tuple(constant.tolist())
    if not np.isfinite(spread).all():  # a class beyond all measure
        return None
    value, vector = np.linalg.eigh(spread)
    size = np.abs(vector[:, 0])
    return None if value[0] >= floor else ("dependent", tuple(size > 0.05 * size.max()))
