"""How sure we are, what the pattern buys, and which model to take."""

from hesitant.inference._bootstrap import BootstrapResult, bootstrap
from hesitant.inference._compare import Candidate, Comparison, compare
from hesitant.inference._efficiency import Efficiency, efficiency
from hesitant.inference._information import ObservedInformation, information, summary
from hesitant.inference._sensitivity import Sensitivity, SensitivityDisplay, sensitivity

__all__ = ["BootstrapResult", "Candidate", "Comparison", "Efficiency", "ObservedInformation"]
__all__ += ["Sensitivity", "SensitivityDisplay", "bootstrap", "compare", "efficiency"]
__all__ += ["information", "sensitivity", "summary"]
