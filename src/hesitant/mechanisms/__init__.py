"""Missing-label mechanisms: how the chance of a label depends on the difficulty of a case."""

from hesitant.checks import choose
from hesitant.mechanisms._base import Evidence, Ignorable, Mechanism, RowTerm, row_term
from hesitant.mechanisms._curves import (
    ArandaOrdaz,
    Basis,
    Functions,
    Linear,
    Link,
    Log,
    Logistic,
    Logit,
    Polynomial,
    Spline,
)
from hesitant.mechanisms._logistic import (
    ClassMechanism,
    EntropyClassMechanism,
    EntropyMechanism,
    MixedMechanism,
)

__all__ = ["MECHANISMS", "ArandaOrdaz", "Basis", "ClassMechanism", "EntropyClassMechanism"]
__all__ += ["EntropyMechanism", "Evidence", "Functions", "Ignorable", "Linear", "Link", "Log"]
__all__ += ["Logistic", "Logit", "Mechanism", "MixedMechanism", "Polynomial", "RowTerm", "Spline"]
__all__ += ["row_term"]

MECHANISMS: dict[str, type[Mechanism]] = {
    "entropy": EntropyMechanism,
    "class": ClassMechanism,
    "entropy+class": EntropyClassMechanism,
    "mixed": MixedMechanism,
    "none": Ignorable,
    "ignorable": Ignorable,
}


def as_mechanism(value: str | Mechanism | None) -> Mechanism:
    """Return the mechanism that a value names or is; None is "none"."""
    return choose("mechanism", "none" if value is None else value, MECHANISMS, Mechanism)
