"""The few array types that signatures speak of, and what is copied at every step."""

from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]


class Movable:
    """Base of what is copied often."""

    def moved(self, **changed: Any) -> Self:
        """Return a copy with other values: sooner than ``copy`` and ``dataclasses.replace``."""
        out = object.__new__(type(self))
        vars(out).update(vars(self), **changed)
        return out
