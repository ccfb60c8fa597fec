"""One hypothesis test's answer."""

import dataclasses
import math

__all__ = ["Test", "skipped"]


@dataclasses.dataclass(frozen=True)
class Test:
    """A test's statistic and p-value, or why it was skipped.

    Attributes
    ----------
    name : str
    statistic, p_value : float
        NaN if the test was skipped.
    df : int or None
        Degrees of freedom, where the test has some.
    method : str
        Where the p-value comes from: exact, asymptotic, chi-squared, bootstrap.
    note : str
        Why the test was skipped, or what else to know.
    least_p : float
        The smallest p-value the test could have given; that of few replicates is large.
    """

    __test__ = False  # not one of pytest's

    name: str
    statistic: float
    p_value: float
    df: int | None = None
    method: str = ""
    note: str = ""
    least_p: float = 0.0

    @property
    def was_skipped(self) -> bool:
        """Whether there is no answer."""
        return math.isnan(self.p_value)


def skipped(name: str, reason: str) -> Test:
    """Return the record of a test that could not be done."""
    return Test(name, math.nan, math.nan, method="skipped", note=reason)
