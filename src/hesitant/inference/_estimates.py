"""Parameters with estimates, errors and intervals: what two kinds of results look like."""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from hesitant._optional import need
from hesitant._result import Result, Table, percent
from hesitant._typing import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Estimates"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Estimates(Result):
    """Base of results with one row for each parameter."""

    columns: ClassVar[tuple[str, ...]] = ("estimate", "std_error", "lower", "upper")
    bars: ClassVar[str] = "interval"

    parameters: list[str]
    estimate: FloatArray
    std_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    remarks: list[str]

    def to_frame(self) -> "pd.DataFrame":
        """Return the table: one row for each parameter."""
        values = {c: getattr(self, c) for c in self.columns}
        return need("pandas").DataFrame({"parameter": self.parameters, **values})

    def plot(self, ax: Any = None, parameters: str | None = None) -> Any:
        """Draw estimates with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        parameters : str, optional
            Only parameters whose name contains this, such as ``"mean"``.
        """
        from hesitant.inference._displays import IntervalDisplay, chosen

        keep = chosen(self.parameters, parameters)
        return IntervalDisplay(
            [self.parameters[k] for k in keep],
            self.estimate[keep],
            self.lower[keep],
            self.upper[keep],
            f"estimate and {percent(self.level, 0)} {self.bars}",
        ).plot(ax=ax)

    @abstractmethod
    def _introduction(self) -> str:
        """Return what the errors rest on."""

    def _content(self) -> Iterator[str | Table]:
        yield self._introduction()
        rows = list(zip(self.parameters, *(getattr(self, c) for c in self.columns), strict=True))
        yield Table(("parameter", *self.columns), rows, f"Intervals at {percent(self.level, 0)}")
        for remark in self.remarks:
            yield f"* {remark}"
