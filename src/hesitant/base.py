"""What both estimators have in common: a score, and questions that other rooms answer."""

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray
from hesitant.checks import check_weight
from hesitant.exceptions import FitWarning, collect_warnings
from hesitant.intake import refuse_dask
from hesitant.labels import encode
from hesitant.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.diagnostics import Diagnosis
    from hesitant.inference import BootstrapResult, Efficiency, ObservedInformation, Sensitivity
    from hesitant.report import Report


class PatternClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators."""

    combines: ClassVar[bool] = False  # whether several models answer together
    classes_: AnyArray
    missing_label: Any
    predict: Callable[[Any], Any]

    # Fit metadata that scikit-learn may route to the estimator.
    __metadata_request__fit = {"sample_weight": None, "reviewed": None}  # noqa: RUF012

    def _forget(self) -> None:
        # an earlier fit: one that fails on the way must not leave half of each
        for name in [k for k in vars(self) if k == "_data" or k.endswith("_")]:
            delattr(self, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of labelled rows that are put into their class; blanks do not count."""
        check_is_fitted(self, "classes_")
        labels = encode(y, self.missing_label)
        seen = labels.labelled
        if not seen.any():
            raise ValueError("y has no label: a score needs rows whose class is known.")
        found, known = labels.classes.tolist(), self.classes_.tolist()
        if not set(found) & set(known):
            both = f"y has the labels {found[:5]}, and the model the classes {known[:5]}"
            raise ValueError(f"{both}: none is the same. (The text '1' is not the number 1.)")
        predicted = np.asarray(self.predict(X))
        if len(predicted) != len(seen):
            raise ValueError(f"X has {len(predicted)} rows and y has {len(seen)}.")
        weight = check_weight(sample_weight, predicted)[seen]
        if not weight.any():
            raise ValueError("sample_weight is zero for every labelled row: give some a weight.")
        right = predicted[seen] == labels.classes[labels.codes[seen]]
        return float(np.average(right, weights=weight))

    def _answering(self) -> "PatternClassifier":
        return self  # the one model that answers

    def _remark_on(self, answer: Any) -> Any:
        return answer  # with what else there is to say of it

    def _ask(self, question: str, *given: Any, **options: Any) -> Any:
        """Put a question; what it warns of points at the user's line, not at this one."""
        room, name = question.split(":")
        with collect_warnings() as warned, np.errstate(all="ignore"):  # answers say what is lost
            answer = getattr(import_module(f"hesitant.{room}"), name)(*given, **options)
        for words in warned:
            warnings.warn(words, FitWarning, stacklevel=3)
        return self._remark_on(answer)

    def diagnose(self, X: Any, y: Any = None, **options: Any) -> "Diagnosis":
        """Ask whether the blanks are about difficulty: :func:`hesitant.diagnostics.diagnose`."""
        return self._ask("diagnostics:diagnose", X, y, estimator=self._answering(), **options)

    def summary(self, X: Any = None, y: Any = None, **options: Any) -> "pd.DataFrame":
        """Return the table of :meth:`information`, as a data frame."""
        return self._ask("inference:summary", self._answering(), X, y, **options)

    def information(self, X: Any = None, y: Any = None, **options: Any) -> "ObservedInformation":
        """Return parameters with standard errors: :func:`hesitant.inference.information`."""
        return self._ask("inference:information", self._answering(), X, y, **options)

    def bootstrap(self, X: Any, y: Any = None, **options: Any) -> "BootstrapResult":
        """Refit to data drawn again, with options of :func:`hesitant.inference.bootstrap`."""
        return self._ask("inference:bootstrap", self._answering(), X, y, **options)

    def efficiency(self, **options: Any) -> "Efficiency":
        """Ask what the pattern buys, with options of :func:`hesitant.inference.efficiency`."""
        return self._ask("inference:efficiency", self._answering(), **options)

    def sensitivity(self, X: Any, y: Any, **options: Any) -> "Sensitivity":
        """Ask what if the class mattered: :func:`hesitant.inference.sensitivity`."""
        return self._ask("inference:sensitivity", self._answering(), X, y, **options)

    def triage(self, X: Any, y: Any = None, **options: Any) -> "pd.DataFrame":
        """Rank blank rows by what a label would teach: :func:`hesitant.diagnostics.triage`."""
        return self._ask("diagnostics:triage", self._answering(), X, y, **options)

    def report(self, X: Any, y: Any = None, **options: Any) -> "Report":
        """Put all of it on one page, with options of :func:`hesitant.report.make_report`."""
        return self._ask("report:make_report", self, X, y, **options)


def check_classifier(clf: Any) -> None:
    """Raise unless this is one model of the package; a pipeline is told what to give."""
    if isinstance(clf, PatternClassifier) and not clf.combines:
        return
    if hasattr(clf, "steps"):
        raise TypeError("A Pipeline was given: give pipe[-1], and pipe[:-1].transform(X) for X.")
    raise TypeError(f"A {type(clf).__name__} was given: give a MixtureClassifier.")


def check_in_memory(clf: Any, X: Any, *given: Any, **columns: Any) -> Rows:
    """Return data checked against a fitted classifier; Dask collections are refused."""
    check_classifier(clf)
    refuse_dask(X)
    return cast(Rows, clf.check(X, *given, **columns))
