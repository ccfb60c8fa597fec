"""Two classical tests that blank rows are harder: Kolmogorov-Smirnov and Mann-Whitney, one-sided.

Small samples get exact p-values, conditional on the ties: the probability over all ways to deal
the pooled values into groups of these sizes. Ties make no difference to how that is counted.
"""

import math

import numpy as np
from scipy.stats import ks_2samp, mannwhitneyu, rankdata

from hesitant._typing import FloatArray, IntArray
from hesitant.diagnostics._tests import Test, need_rows, or_skipped

SMALLEST_GROUP = 2
EXACT_WORK = 4_000
_KS = "Kolmogorov-Smirnov, one-sided"
_MW = "Mann-Whitney, one-sided"


@or_skipped(_KS)
def kolmogorov_smirnov(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values.

    The statistic is ``D⁺ = max_t [F_labelled(t) − F_blank(t)]``, how far the empirical
    distribution function of the labelled rows rises above that of the blank ones. The p-value is
    exact if the product of the group sizes is below 10,000 (as in R), else asymptotic.

    Parameters
    ----------
    labelled, blank : arrays
        Transformed entropies, or anything else that is larger for harder rows.

    Returns
    -------
    Test

    Examples
    --------
    >>> from hesitant.diagnostics import kolmogorov_smirnov
    >>> test = kolmogorov_smirnov([1, 2, 2, 3, 3], [1, 2, 3, 3, 4, 5, 6])
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (0.4286, 0.178)
    """
    labelled, blank = np.sort(np.asarray(labelled, float)), np.sort(np.asarray(blank, float))
    need_rows(labelled.size, blank.size, SMALLEST_GROUP)
    if labelled.size * blank.size >= 10_000:
        large = ks_2samp(labelled, blank, alternative="greater", method="asymp")
        return Test(_KS, float(large.statistic), float(large.pvalue), method="asymptotic")
    pooled = np.sort(np.concatenate((labelled, blank)))
    last: IntArray = np.flatnonzero(np.append(pooled[1:] > pooled[:-1], True)).astype(np.int64)
    gap = (
        np.searchsorted(labelled, pooled[last], "right") / labelled.size
        - np.searchsorted(blank, pooled[last], "right") / blank.size
    )
    statistic = max(float(gap.max()), 0.0)
    p = _share_of_paths(labelled.size, blank.size, last + 1, statistic)
    return Test(_KS, statistic, p, method=_exact(pooled))


def _share_of_paths(m: int, n: int, checked: IntArray, statistic: float) -> float:
    """Return the share of all lattice paths that reach the statistic where a value ends."""
    # Paths are counted by the number of labelled rows so far; those that have reached the
    # statistic are kept apart, so that small p-values are sums and not differences.
    below, reached = np.zeros(m + 1), np.zeros(m + 1)
    below[0] = 1.0
    i = np.arange(m + 1)
    ends = set(checked.tolist())
    for step in range(1, m + n + 1):
        for paths in (below, reached):
            paths[1:] += paths[:-1].copy()
            paths[: max(0, step - n)] = 0.0  # there are no more than n blank rows
        if step in ends:
            over = i / m - (step - i) / n >= statistic - 1e-12
            reached[over] += below[over]
            below[over] = 0.0
    return float(reached[m] / (reached[m] + below[m]))


@or_skipped(_MW)
def mann_whitney(labelled: FloatArray, blank: FloatArray) -> Test:
    """Test whether blank rows have the larger values.

    The statistic is W, the number of (labelled, blank) pairs in which the labelled row has the
    larger value, a tie counting one half; small where blank rows are harder. Its share of all
    pairs is 0.5 if the groups do not differ. The p-value is exact if both groups have fewer than
    50 rows (as in R) or one of them very few, else normal with corrections for ties and
    continuity.

    Parameters
    ----------
    labelled, blank : arrays
        Transformed entropies, or anything else that is larger for harder rows.

    Returns
    -------
    Test

    Examples
    --------
    >>> from hesitant.diagnostics import mann_whitney
    >>> test = mann_whitney([1.15, 0.88, 0.90, 0.74, 1.21],
    ...     [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
    >>> test.statistic, round(test.p_value, 4)
    (15.0, 0.1272)
    """
    labelled, blank = np.asarray(labelled, float), np.asarray(blank, float)
    m, n = labelled.size, blank.size
    need_rows(m, n, SMALLEST_GROUP)
    # Beside a few rows of one group the normal curve is far off, however large the other.
    if max(m, n) >= 50 and min(m, n) * (m + n) > EXACT_WORK:
        large = mannwhitneyu(labelled, blank, alternative="less", method="asymptotic")
        return Test(_MW, float(large.statistic), float(large.pvalue), method="asymptotic")
    pooled = np.concatenate((labelled, blank))
    doubled = np.rint(2 * rankdata(pooled)).astype(np.int64)  # mid-ranks are halves
    total = int(doubled[:m].sum())
    if m <= n:
        p = _share_of_sums(doubled, m, total)
    else:  # as seen from the other end: few blank rows with ranks as high as these
        reflected = 2 * (m + n + 1) - doubled
        p = _share_of_sums(reflected, n, int(reflected[m:].sum()))
    return Test(_MW, total / 2 - m * (m + 1) / 2, p, method=_exact(pooled))


def _share_of_sums(doubled: IntArray, m: int, total: int) -> float:
    """Return the share of all choices of m ranks whose sum is at most ``total``."""
    counts = np.zeros((m + 1, total + 1))
    counts[0, 0] = 1.0
    for rank in doubled.tolist():
        if rank <= total:
            counts[1:, rank:] += counts[:-1, : total + 1 - rank].copy()
    return float(counts[m].sum() / math.comb(doubled.size, m))


def _exact(pooled: FloatArray) -> str:
    tied = np.unique(pooled).size < pooled.size
    return "exact, given the ties" if tied else "exact"
