"""Missing-label mechanisms: how the chance of a label depends on the difficulty of a case."""

from hesitant.mechanisms._base import Mechanism
from hesitant.mechanisms._bases import (
    Basis,
    Functions,
    Linear,
    Log,
    Logit,
    Polynomial,
    Spline,
)
from hesitant.mechanisms._ignorable import Ignorable
from hesitant.mechanisms._logistic import EntropyMechanism, MixedMechanism

MECHANISMS: dict[str, type[Mechanism]] = {
    "entropy": EntropyMechanism,
    "mixed": MixedMechanism,
    "ignorable": Ignorable,
}

__all__ = [
    "MECHANISMS",
    "Basis",
    "EntropyMechanism",
    "Functions",
    "Ignorable",
    "Linear",
    "Log",
    "Logit",
    "Mechanism",
    "MixedMechanism",
    "Polynomial",
    "Spline",
]
