"""What a comparison of models found."""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from hesitant._optional import need
from hesitant._result import Result, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CRITERIA", "Candidate", "Comparison"]

CRITERIA = {
    "bic": "BIC",
    "aic": "AIC",
    "icl": "ICL",
    "cv_log_loss": "held-out log loss",
    "log_likelihood": "log-likelihood",
}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One model's criteria; NaN where the model has none, with the reason in ``note``.

    Attributes
    ----------
    name : str
    log_likelihood : float
        Of features, labels and pattern of blanks.
    n_parameters : int
    aic, bic, icl : float
        Smaller is better. ICL is BIC plus twice the entropy of the blank rows' classes.
    cv_log_loss, cv_error : float
        Mean log loss of held-out labelled rows, and its standard error.
    cv_gap, cv_gap_error : float
        How much more that is than the best model's, and the standard error of the difference:
        all models are judged on the same rows, so differences are surer than losses.
    converged : bool
    note : str
    """

    name: str
    log_likelihood: float = math.nan
    n_parameters: int = 0
    aic: float = math.nan
    bic: float = math.nan
    icl: float = math.nan
    cv_log_loss: float = math.nan
    cv_error: float = math.nan
    cv_gap: float = math.nan
    cv_gap_error: float = math.nan
    converged: bool = False
    note: str = ""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models, best first.

    Attributes
    ----------
    candidates : list of Candidate
    sort_by : str
        The criterion that ranks them.
    best : str
        Name of the first.
    remarks : list of str
        What is comparable with what.
    """

    title: ClassVar[str] = "Which model?"

    candidates: list[Candidate]
    sort_by: str
    best: str
    remarks: list[str]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each model, best first."""
        rows = [dataclasses.asdict(c) for c in self.candidates]
        return need("pandas", "data").DataFrame(rows).rename(columns={"name": "model"})

    def plot(self, axes: Any = None) -> Any:
        """Draw the ranking criterion and the cross-validated log loss, model by model."""
        from hesitant.inference._displays import ComparisonDisplay

        return ComparisonDisplay(self.candidates, self.sort_by).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield f"Best by {CRITERIA[self.sort_by]}: {self.best}."
        low = min((c.bic for c in self.candidates if not math.isnan(c.bic)), default=math.nan)
        yield Table(
            ("model", "log-lik", "params", "AIC", "BIC", "ΔBIC", "ICL", "CV log loss", "gap", "±"),
            [
                (
                    c.name,
                    c.log_likelihood,
                    c.n_parameters,
                    c.aic,
                    c.bic,
                    c.bic - low,
                    c.icl,
                    c.cv_log_loss,
                    c.cv_gap,
                    c.cv_gap_error,
                )
                for c in self.candidates
            ],
        )
        notes: dict[str, list[str]] = {}
        for c in self.candidates:
            if c.note:
                notes.setdefault(c.note, []).append(c.name)
        for note, names in notes.items():
            yield f"* {'; '.join(names)}: {note}"
        yield from (f"* {remark}" for remark in self.remarks)
