"""Classifiers that learn from the labels experts gave and from the ones they withheld."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hesitant._optional import find_lazily
from hesitant.exceptions import FitWarning as FitWarning

if TYPE_CHECKING:
    from hesitant.classifier import MixtureClassifier as MixtureClassifier
    from hesitant.datasets import consensus as consensus
    from hesitant.diagnostics import diagnose as diagnose
    from hesitant.inference import compare as compare
    from hesitant.model_selection import MixtureClassifierCV as MixtureClassifierCV
    from hesitant.persistence import load as load
    from hesitant.persistence import save as save
    from hesitant.statements import Statements as Statements
    from hesitant.weights import inverse_probability_weights as inverse_probability_weights

__version__ = "0.1.0"

# Found on first use, so that the core can be used without the extras, and the command line can
# print its help without waiting for scikit-learn and SciPy.
_ROOMS = {"MixtureClassifier": "classifier", "MixtureClassifierCV": "model_selection"}
_ROOMS |= {"Statements": "statements", "compare": "inference", "consensus": "datasets"}
_ROOMS |= {"diagnose": "diagnostics", "inverse_probability_weights": "weights"}
_ROOMS |= dict.fromkeys(("load", "save"), "persistence")
__all__ = ["FitWarning", "__version__", *_ROOMS]
# `import hesitant` is enough to write `hesitant.families.Gaussian`.
_PACKAGES = {"experts", "families", "mechanisms", "report", "solvers", "studies", "tables"}
_PACKAGES |= {"datasets", "diagnostics", "inference", "model_selection", "persistence"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    return find_lazily(__name__, name, _ROOMS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
