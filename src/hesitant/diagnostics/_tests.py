"""What a test returns, and two classical tests that blank rows are harder, one-sided."""

import dataclasses
import math
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import numpy as np
from scipy.stats import chi2, ks_2samp, mannwhitneyu, rankdata

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._words import noun

P = ParamSpec("P")
EXACT_KS, EXACT_MW = 10_000, 4_000  # work that is still done exactly


@dataclasses.dataclass(frozen=True)
class Test:
    """A test's statistic and p-value, or why it was skipped."""

    __test__ = False  # not one of pytest's

    name: str
    statistic: float  # NaN, as the p-value, if the test was skipped
    p_value: float
    df: int | None = None  # degrees of freedom, where the test has some
    method: str = ""  # where the p-value comes from: exact, asymptotic, chi-squared, bootstrap
    note: str = ""  # why the test was skipped, or what else to know
    least_p: float = 0.0  # the smallest p-value there could have been; that of few replicates

    @property
    def was_skipped(self) -> bool:
        """Whether there is no answer."""
        return math.isnan(self.p_value)


class CannotTest(Exception):
    """Why a test has no answer."""


def named(name: str) -> Callable[[Callable[P, Test]], Callable[P, Test]]:
    """Name the test that a function finds; where it says that it cannot, record why."""

    def decorate(find: Callable[P, Test]) -> Callable[P, Test]:
        @wraps(find)
        def run(*args: P.args, **options: P.kwargs) -> Test:
            try:
                return dataclasses.replace(find(*args, **options), name=name)
            except CannotTest as why:
                return Test(name, math.nan, math.nan, method="skipped", note=str(why))

        return run

    return decorate


def chi_squared(statistic: float, df: int) -> Test:
    """Return the test of a statistic that is chi-squared under the hypothesis."""
    return Test("", statistic, float(chi2.sf(statistic, df)), int(df), "chi-squared")


def need_rows(n_labelled: int, n_blank: int, least: int) -> None:
    """Raise if a group is too small for a test."""
    for what, count in (("labelled", n_labelled), ("blank", n_blank)):
        if count < least:
            raise CannotTest(f"{noun(count, f'{what} row')}, needs {least}")


@named("Kolmogorov-Smirnov, one-sided")
def kolmogorov_smirnov(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values, by ``D⁺ = max_t [F_labelled − F_blank]``.

    Exact, ties included, if the product of the group sizes is below 10,000 (as in R).

    Examples
    --------
    >>> from hesitant.diagnostics import kolmogorov_smirnov
    >>> test = kolmogorov_smirnov([1, 2, 2, 3, 3], [1, 2, 3, 3, 4, 5, 6])
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (0.4286, 0.178)
    """
    m, n = len(labelled), len(blank)
    need_rows(m, n, 2)
    found = ks_2samp(labelled, blank, alternative="greater", method="asymp")
    statistic = float(found.statistic)
    if m * n >= EXACT_KS:
        return Test("", statistic, float(found.pvalue), method="asymptotic")
    pooled = np.sort(np.concatenate((labelled, blank)))
    ends = np.append(pooled[1:] > pooled[:-1], True)  # the gap is looked at where a value ends
    # Arrangements are counted by the number of labelled rows so far; those that have reached the
    # statistic are kept apart, so that small p-values are sums and not differences.
    below, reached, i = np.zeros(m + 1), np.zeros(m + 1), np.arange(m + 1)
    below[0] = 1.0
    for step, end in enumerate(ends, 1):
        for paths in (below, reached):
            paths[1:] += paths[:-1].copy()
            paths[: max(0, step - n)] = 0.0  # there are no more than n blank rows
        if end:
            over = i / m - (step - i) / n >= statistic - 1e-12
            reached[over] += below[over]
            below[over] = 0.0
    p = float(reached[m] / (reached[m] + below[m]))
    return Test("", statistic, p, method=_exact(ends))


@named("Mann-Whitney, one-sided")
def mann_whitney(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values, by the number of pairs where they have not.

    W counts (labelled, blank) pairs in which the labelled row has the larger value, a tie one
    half. Exact, ties included, if both groups have fewer than 50 rows (as in R) or one of them
    very few, else normal with corrections for ties and continuity.

    Examples
    --------
    >>> from hesitant.diagnostics import mann_whitney
    >>> test = mann_whitney([1.15, 0.88, 0.90, 0.74, 1.21], [0.80, 0.83, 1.89, 1.04, 1.45, 1.38])
    >>> test.statistic, round(test.p_value, 4)
    (10.0, 0.2143)
    """
    m, n = len(labelled), len(blank)
    need_rows(m, n, 2)
    # Beside a few rows of one group the normal curve is far off, however large the other.
    if max(m, n) >= 50 and min(m, n) * (m + n) > EXACT_MW:
        large = mannwhitneyu(labelled, blank, alternative="less", method="asymptotic")
        return Test("", float(large.statistic), float(large.pvalue), method="asymptotic")
    pooled = np.concatenate((labelled, blank))
    doubled = np.rint(2 * rankdata(pooled)).astype(np.int64)  # mid-ranks are halves
    total = int(doubled[:m].sum())
    if m <= n:
        p = _share_of_sums(doubled, m, total)
    else:  # as seen from the other end: few blank rows with ranks as high as these
        reflected = 2 * (m + n + 1) - doubled
        p = _share_of_sums(reflected, n, int(reflected[m:].sum()))
    statistic = total / 2 - m * (m + 1) / 2
    return Test("", statistic, p, method=_exact(np.diff(np.sort(pooled)) > 0))


def _share_of_sums(doubled: IntArray, m: int, total: int) -> float:
    """Return the share of all choices of m ranks whose sum is at most ``total``."""
    counts = np.zeros((m + 1, total + 1))
    counts[0, 0] = 1.0
    for rank in doubled.tolist():
        if rank <= total:
            counts[1:, rank:] += counts[:-1, : total + 1 - rank].copy()
    return float(counts[m].sum() / math.comb(doubled.size, m))


def _exact(apart: BoolArray) -> str:
    return "exact" if np.all(apart) else "exact, given the ties"
