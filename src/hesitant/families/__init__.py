"""Class families: Gaussian, Student-t, skew-t, and what can be made of them."""

from hesitant.families._base import Coordinates, Defect, Family, StepError
from hesitant.families._components import Components
from hesitant.families._covariance import Shrunk
from hesitant.families._from_rows import KernelDensity, Ranked
from hesitant.families._gaussian import Gaussian
from hesitant.families._skew_t import SkewNormal, SkewT
from hesitant.families._student_t import StudentT

FAMILIES: dict[str, type[Family]] = {
    "gaussian": Gaussian,
    "t": StudentT,
    "skew_t": SkewT,
    "skew_normal": SkewNormal,
}

__all__ = ["FAMILIES", "Components", "Coordinates", "Defect", "Family", "Gaussian"]
__all__ += ["KernelDensity", "Ranked", "Shrunk", "SkewNormal", "SkewT", "StepError", "StudentT"]
