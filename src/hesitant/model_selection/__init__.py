"""Choosing and combining models by rows held out, with blanks among the labels."""

from hesitant.model_selection._candidates import as_candidates, auto_candidates
from hesitant.model_selection._classifier_cv import MixtureClassifierCV
from hesitant.model_selection._labelled import LabelledKFold, labelled_scorer, seen_probability

__all__ = ["LabelledKFold", "MixtureClassifierCV", "as_candidates", "auto_candidates"]
__all__ += ["labelled_scorer", "seen_probability"]
