"""Parameters of classes that have a location and a scale matrix."""

import dataclasses
from functools import partial
from typing import Self

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._kernels import Place, inverse

NOTHING, _NO_MATRIX = partial(np.zeros, 0), partial(np.zeros, (0, 0))


@dataclasses.dataclass(frozen=True)
class LocationScaleParams:
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

    def moved(self, **changed: FloatArray) -> Self:
        """Return a copy with other values: a third of the time of ``dataclasses.replace``."""
        out = object.__new__(type(self))
        vars(out).update(vars(self), **changed)
        return out

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
