"""The few array types that signatures speak of, and what is copied at every step."""

import copy
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
        """Return a copy with other values: sooner than ``copy``, which users' classes may hook."""
        if not type(self).__module__.startswith("hesitant."):
            out = copy.copy(self)
            for name, value in changed.items():
                object.__setattr__(out, name, value)  # if it is frozen, or a property, too
            return out
        out = object.__new__(type(self))
        vars(out).update(vars(self), **changed)
        return out
