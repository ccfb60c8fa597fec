"""How sure we are, what the pattern buys, and which model to take."""

from hesitant.inference._bootstrap import bootstrap
from hesitant.inference._bootstrap_result import BootstrapResult
from hesitant.inference._compare import compare
from hesitant.inference._comparison import Candidate, Comparison
from hesitant.inference._efficiency import efficiency
from hesitant.inference._efficiency_result import Efficiency
from hesitant.inference._information import ObservedInformation, information, summary
from hesitant.inference._sensitivity import Sensitivity, SensitivityDisplay, sensitivity

__all__ = [
    "BootstrapResult",
    "Candidate",
    "Comparison",
    "Efficiency",
    "ObservedInformation",
    "Sensitivity",
    "SensitivityDisplay",
    "bootstrap",
    "compare",
    "efficiency",
    "information",
    "sensitivity",
    "summary",
]
