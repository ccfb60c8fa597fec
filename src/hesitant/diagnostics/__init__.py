"""Are the blanks about difficulty? Tests, a smoother, pictures, and what to label next."""

from hesitant.diagnostics._diagnosis import Diagnosis, diagnose
from hesitant.diagnostics._displays import EntropyDisplay, PairsDisplay
from hesitant.diagnostics._groups import ReadersDiagnosis
from hesitant.diagnostics._regions import RegionsDisplay
from hesitant.diagnostics._smoother import LabellingCurve, labelling_curve
from hesitant.diagnostics._tests import Test, kolmogorov_smirnov, mann_whitney
from hesitant.diagnostics._triage import triage

__all__ = ["Diagnosis", "EntropyDisplay", "LabellingCurve", "PairsDisplay", "ReadersDiagnosis"]
__all__ += ["RegionsDisplay", "Test", "diagnose", "kolmogorov_smirnov", "labelling_curve"]
__all__ += ["mann_whitney", "triage"]
