"""Classifiers that learn from the labels experts gave and from the ones they withheld."""

from hesitant.classifier import MixtureClassifier
from hesitant.exceptions import FitWarning

__version__ = "0.1.0"

__all__ = ["FitWarning", "MixtureClassifier", "__version__"]
