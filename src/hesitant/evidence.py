"""What a fitted classifier can be asked; the answers come from diagnostics, inference, report.

Each method imports its room when it is called, so that a plain fit needs neither pandas nor
matplotlib.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hesitant.exceptions import FitWarning, collect_warnings

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.diagnostics import Diagnosis
    from hesitant.inference import BootstrapResult, Efficiency, ObservedInformation, Sensitivity
    from hesitant.report import Report

Answer = TypeVar("Answer")


def _ask(question: Callable[..., Answer], *given: Any, **options: Any) -> Answer:
    """Put a question; what it warns of points at the user's line, not at this one."""
    with collect_warnings() as heard:
        answer = question(*given, **options)
    for words in heard:
        warnings.warn(words, FitWarning, stacklevel=3)
    return answer


def _need_labels(y: Any, method: str) -> None:
    if y is None:
        raise TypeError(
            f"{method}(X) lacks y: give {method}(X, y), with the labels and blanks of the fit."
        )


class Evidence:
    """The questions that follow a fit."""

    def _asked(self) -> Any:
        """Return the one model that answers."""
        return self

    def _remark_on(self, answer: Answer) -> Answer:
        """Return an answer with what else there is to say of it."""
        return answer

    def diagnose(self, X: Any, y: Any = None, **options: Any) -> "Diagnosis":
        """Ask whether the blanks are about difficulty.

        Options as for :func:`hesitant.diagnostics.diagnose`; family, covariance and mechanism are
        those of this estimator.
        """
        from hesitant.diagnostics import diagnose

        _need_labels(y, "diagnose")
        return self._remark_on(_ask(diagnose, X, y, estimator=self._asked(), **options))

    def summary(self, X: Any = None, y: Any = None, **options: Any) -> "pd.DataFrame":
        """Return every parameter with its standard error and confidence interval.

        From the rows of the fit, unless X and y are given. Options as for
        :func:`hesitant.inference.summary`.
        """
        from hesitant.inference import summary

        return self._remark_on(_ask(summary, self._asked(), X, y, **options))

    def information(self, X: Any = None, y: Any = None, **options: Any) -> "ObservedInformation":
        """Return the observed information: what :meth:`summary` shows, with its covariances.

        From the rows of the fit, unless X and y are given. Options as for
        :func:`hesitant.inference.information`.
        """
        from hesitant.inference import information

        return self._remark_on(_ask(information, self._asked(), X, y, **options))

    def bootstrap(self, X: Any, y: Any = None, **options: Any) -> "BootstrapResult":
        """Refit to resampled or simulated data.

        Options as for :func:`hesitant.inference.bootstrap`.
        """
        from hesitant.inference import bootstrap

        _need_labels(y, "bootstrap")
        return self._remark_on(_ask(bootstrap, self._asked(), X, y, **options))

    def efficiency(self, **options: Any) -> "Efficiency":
        """Ask what the pattern of blanks buys.

        Options as for :func:`hesitant.inference.efficiency`.
        """
        from hesitant.inference import efficiency

        return self._remark_on(_ask(efficiency, self._asked(), **options))

    def sensitivity(self, X: Any, y: Any, **options: Any) -> "Sensitivity":
        """Ask what would change if blanks also depended on the class.

        Options as for :func:`hesitant.inference.sensitivity`.
        """
        from hesitant.inference import sensitivity

        return self._remark_on(_ask(sensitivity, self._asked(), X, y, **options))

    def triage(self, X: Any, y: Any = None, **options: Any) -> "pd.DataFrame":
        """Rank blank rows by what a label would teach.

        Options as for :func:`hesitant.diagnostics.triage`.
        """
        from hesitant.diagnostics import triage

        return self._remark_on(_ask(triage, self._asked(), X, y, **options))

    def report(self, X: Any, y: Any = None, **options: Any) -> "Report":
        """Put verdict, pictures, tables and triage list on one page.

        Options as for :func:`hesitant.report.make_report`.
        """
        from hesitant.report import make_report

        _need_labels(y, "report")
        return _ask(make_report, self, X, y, **options)
