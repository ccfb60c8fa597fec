"""What a study of efficiency found."""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from hesitant._optional import need
from hesitant._result import Result, Table, number, percent
from hesitant._typing import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PAIRS", "WAYS", "Efficiency"]

WAYS = ("complete", "ignorance", "full")
PAIRS = (("ignorance", "complete"), ("full", "complete"), ("full", "ignorance"))


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Efficiency(Result):
    """Precision under complete labels, the ignorance likelihood and the full likelihood.

    Attributes
    ----------
    n_rows, n_draws : int
        Rows of the study imagined, and rows drawn to compute its information.
    reviewed_share : float
        Share of the rows that somebody is shown: only their blanks make a pattern.
    share_labelled : float
        Expected share of rows with a label.
    bayes_error : float
        Error rate of the best rule.
    excess_error : dict
        Expected error rate of the fitted rule above the Bayes error, for each of "complete",
        "ignorance" and "full", with ``n_rows`` rows. NaN, as all that follows from it, if too
        few of the rows drawn came near a boundary; a remark then says so.
    parameter_efficiency, error_efficiency : dict
        For pairs such as "full / ignorance": how many rows of the second kind one of the first
        is worth, by the geometric mean over all parameters (the ratio of determinants to the
        power 1/k), and by the excess error rate.
    labels_worth : dict
        How many labels of randomly chosen blanks the pattern is worth, judged by "error" and by
        "parameters"; at most all blanks. NaN if neither labels nor the pattern add anything.
    worth_all : dict
        Whether even labels for all blanks would do less, by more than twice the error that the
        draws leave.
    parameters : list of str
    std_errors : dict
        For each of the three, the standard error of every parameter with ``n_rows`` rows.
    monte_carlo_error : dict
        Standard error, from the draws, of each scalar above.
    remarks : list of str
    """

    title: ClassVar[str] = "What does the pattern buy?"

    n_rows: int
    n_draws: int
    reviewed_share: float
    share_labelled: float
    bayes_error: float
    excess_error: dict[str, float]
    parameter_efficiency: dict[str, float]
    error_efficiency: dict[str, float]
    labels_worth: dict[str, float]
    worth_all: dict[str, bool]
    parameters: list[str]
    std_errors: dict[str, FloatArray]
    monte_carlo_error: dict[str, float]
    remarks: list[str]

    def to_frame(self) -> "pd.DataFrame":
        """Return each parameter's standard errors and variance ratios."""
        frame = need("pandas", "data").DataFrame({"parameter": self.parameters, **self.std_errors})
        for one, other in PAIRS:
            frame[f"{one} / {other}"] = (frame[other] / frame[one]) ** 2
        return frame

    def plot(self, axes: Any = None, parameters: str | None = None) -> Any:
        """Draw standard errors of the parameters and expected error rates.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
        parameters : str, optional
            Only parameters whose name contains this, such as ``"mean"``. Of more than 40 those
            are drawn whose errors the blanks increase most.
        """
        from hesitant.inference._displays import EfficiencyDisplay

        return EfficiencyDisplay(self, parameters).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield self._in_words()
        mc = self.monte_carlo_error
        yield Table(
            ("likelihood", "error rate", "excess", "± (draws)"),
            [
                (
                    w,
                    self.bayes_error + self.excess_error[w],
                    self.excess_error[w],
                    mc[f"excess {w}"],
                )
                for w in WAYS
            ],
            f"Expected error rate of the fitted rule with {self.n_rows:,} rows, "
            f"{self._shares()}; Bayes error "
            f"{number(self.bayes_error)} ± {number(mc['bayes_error'], 2)}",
        )
        yield Table(
            ("efficiency", "parameters", "±", "error rate", "±"),
            [
                (
                    pair,
                    self.parameter_efficiency[pair],
                    mc[f"parameters {pair}"],
                    self.error_efficiency[pair],
                    mc[f"error {pair}"],
                )
                for pair in self.parameter_efficiency
            ],
            "One row of the first is worth so many of the second",
        )
        columns = list(zip(*(self.std_errors[w] for w in WAYS), strict=True))
        rows = [(name, *values) for name, values in zip(self.parameters, columns, strict=True)]
        yield Table(("parameter", *WAYS), rows, f"Standard errors with {self.n_rows:,} rows")
        yield from (f"* {remark}" for remark in self.remarks)

    def _shares(self) -> str:
        labelled = f"{percent(self.share_labelled, 0)} of them labelled"
        if self.reviewed_share == 1:
            return labelled
        return f"{percent(self.reviewed_share, 0)} of them reviewed and {labelled}"

    def _in_words(self) -> str:
        blanks = self.n_rows * (1 - self.share_labelled)
        worth, mc = self.labels_worth["error"], self.monte_carlo_error
        gain, beside_all = (
            self.error_efficiency[pair] for pair in ("full / ignorance", "full / complete")
        )
        if math.isnan(worth):
            return "What the pattern of blanks buys for the error rate cannot be told; see below."
        if not worth > 0:
            return "The pattern of blanks adds nothing to the labels and the features."
        if gain - 1 < 2 * mc["error full / ignorance"]:
            return (
                "The pattern of blanks adds little to the error rate, less than the draws can "
                "tell from nothing."
            )
        start = (
            f"Of {self.n_rows:,} rows about {blanks:,.0f} are blank. For the error rate, where "
            "they are is worth "
        )
        if self.reviewed_share < 1:
            start = (
                f"Of {self.n_rows:,} rows {percent(self.reviewed_share, 0)} are reviewed, and "
                f"about {blanks:,.0f} of all are blank. For the error rate, where the reviewed "
                "ones among them are is worth "
            )
        doubt = mc["error full / complete"]
        if self.worth_all["error"]:
            return f"{start}more than labels for all of them would be."
        if beside_all - 1 > -2 * doubt:
            return (
                f"{start}about as much as labels for all of them; whether less or more the draws "
                f"cannot tell ({beside_all:.2f} ± {doubt:.2g} times as much)."
            )
        return (
            f"{start}labels for {worth:,.0f} of them, chosen at random (± "
            f"{mc['labels_worth error']:.2g} from the draws)."
        )
