"""The classical tests: scipy's answers, R's answers, and brute force over all arrangements."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from hesitant.diagnostics import kolmogorov_smirnov, mann_whitney

RNG = np.random.default_rng(0)
SMALL = [
    (RNG.normal(size=m), RNG.normal(0.5, size=n))
    for m, n in [(3, 4), (10, 7), (30, 41), (49, 12), (2, 2)]
]


@pytest.mark.parametrize(("labelled", "blank"), SMALL)
def test_small_samples_without_ties_agree_with_scipy(labelled, blank):
    pooled = np.concatenate((labelled, blank))
    assert np.unique(pooled).size == pooled.size
    ks = kolmogorov_smirnov(labelled, blank)
    known = stats.ks_2samp(labelled, blank, alternative="greater", method="exact")
    assert ks.statistic == pytest.approx(known.statistic)
    assert ks.p_value == pytest.approx(known.pvalue, rel=1e-9)
    mw = mann_whitney(labelled, blank)
    known = stats.mannwhitneyu(labelled, blank, alternative="less", method="exact")
    assert mw.statistic == known.statistic
    assert mw.p_value == pytest.approx(known.pvalue, rel=1e-9)
    assert ks.method == mw.method == "exact"


def test_large_samples_agree_with_scipy():
    labelled, blank = RNG.normal(size=700).round(1), RNG.normal(0.3, size=300).round(1)
    ks, mw = kolmogorov_smirnov(labelled, blank), mann_whitney(labelled, blank)
    known = stats.ks_2samp(labelled, blank, alternative="greater", method="asymp")
    assert (ks.statistic, ks.p_value) == pytest.approx((known.statistic, known.pvalue))
    known = stats.mannwhitneyu(blank, labelled, alternative="greater", method="asymptotic")
    assert mw.p_value == pytest.approx(known.pvalue)
    assert mw.statistic == 700 * 300 - known.statistic  # counted from the labelled side
    assert ks.method == mw.method == "asymptotic"


def test_mann_whitney_agrees_with_r():
    # R's example(wilcox.test): W = 35 of x against y, alternative "greater", p-value = 0.1272.
    x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    y = [1.15, 0.88, 0.90, 0.74, 1.21]
    found = mann_whitney(y, x)
    assert found.statistic == 10 * 5 - 35
    assert found.p_value == pytest.approx(0.1272, abs=5e-5)


def brute_force(labelled, blank, statistic):
    """Share of all ways to deal the pooled values out that look at least so extreme."""
    pooled, m = np.concatenate((labelled, blank)), len(labelled)
    observed = statistic(np.array(labelled), np.array(blank))
    values = []
    for chosen in itertools.combinations(range(len(pooled)), m):
        rest = np.delete(pooled, chosen)
        values.append(statistic(pooled[list(chosen)], rest))
    return np.mean(np.array(values) >= observed - 1e-9)


def d_plus(a, b):
    at = np.concatenate((a, b))
    gap = (a[:, None] <= at).mean(axis=0) - (b[:, None] <= at).mean(axis=0)
    return max(gap.max(), 0)


def pairs_won_by_blank(a, b):
    return (a[:, None] < b).sum() + 0.5 * (a[:, None] == b).sum()


@pytest.mark.parametrize("seed", range(6))
def test_ties_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    labelled, blank = rng.integers(0, 4, 5), rng.integers(0, 5, 6)
    exact = brute_force(labelled, blank, d_plus)
    assert kolmogorov_smirnov(labelled, blank).p_value >= exact - 1e-12
    exact = brute_force(labelled, blank, pairs_won_by_blank)
    assert mann_whitney(labelled, blank).p_value == pytest.approx(exact, abs=0.05)
    assert mann_whitney(labelled, blank).method == "asymptotic"


def test_the_papers_own_p_values():
    """Table 2's statistics for the gastrointestinal data imply its p-values."""
    m, n = 128, 24
    assert math.exp(-2 * 0.336**2 * m * n / (m + n)) == pytest.approx(0.0105, abs=1e-4)
    z = (1014 + 0.5 - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12)
    assert stats.norm.cdf(z) == pytest.approx(0.0042, abs=1e-4)  # W counted as here


@pytest.mark.parametrize("test", [kolmogorov_smirnov, mann_whitney])
def test_too_few_rows_are_said_to_be_too_few(test):
    found = test(np.arange(10.0), [3.0])
    assert found.was_skipped
    assert found.note == "1 blank row, needs 2"
    assert test([], [1.0, 2.0]).note == "0 labelled rows, needs 2"


@pytest.mark.parametrize("test", [kolmogorov_smirnov, mann_whitney])
def test_direction(test):
    easy, hard = np.arange(20.0), np.arange(20.0) + 12
    assert test(easy, hard).p_value < 0.001
    assert test(hard, easy).p_value > 0.9
    assert test(np.zeros(20), np.zeros(20)).p_value == pytest.approx(1)


@pytest.mark.parametrize(("few", "many"), [(2, 49), (2, 50), (3, 200), (5, 400)])
@pytest.mark.parametrize("blank_is_few", [True, False])
def test_few_rows_beside_many_are_counted_exactly(few, many, blank_is_few):
    """The few at the far end: one of all the ways to choose them."""
    low, high = np.arange(many, dtype=float), many + np.arange(few, dtype=float)
    test = mann_whitney(low, high) if blank_is_few else mann_whitney(-high, -low)
    assert test.method == "exact"
    assert test.statistic == 0
    assert test.p_value == pytest.approx(1 / math.comb(few + many, few), rel=1e-9)


def test_both_ends_agree_with_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(60), rng.standard_normal(6) + 0.8
    expected = stats.mannwhitneyu(a, b, alternative="less", method="exact")
    assert mann_whitney(a, b).p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert mann_whitney(b, a).p_value == pytest.approx(
        stats.mannwhitneyu(b, a, alternative="less", method="exact").pvalue, rel=1e-9
    )
