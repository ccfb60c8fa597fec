"""Class families: Gaussian, Student-t and skew-t."""

from hesitant.families._base import Coordinates, Family, StepError
from hesitant.families._gaussian import Gaussian

FAMILIES: dict[str, type[Family]] = {"gaussian": Gaussian}

__all__ = ["FAMILIES", "Coordinates", "Family", "Gaussian", "StepError"]
