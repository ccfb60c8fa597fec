"""The kernel estimate of the labelling probability."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, rankdata

from hesitant.diagnostics import labelling_curve
from hesitant.diagnostics._smoother import ranks


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.normal(-3, 3, n)
    p = expit(1 - 0.8 * (t + 2))
    return t, rng.random(n) < p, p


def test_against_the_textbook_formula():
    t, seen, _ = made(400)
    curve = labelling_curve(t, seen, bandwidth=0.05)
    rank = (rankdata(t) - 0.5) / t.size
    order = np.argsort(t)
    for k in (20, 100, 180):
        where = np.interp(curve.grid[k], t[order], rank[order])
        kernel = norm.pdf((rank - where) / 0.05)
        expected = kernel @ seen / kernel.sum()
        assert curve.probability[k] == pytest.approx(expected, abs=3e-3)


def test_band_covers_the_truth_about_as_often_as_it_says():
    inside = []
    for seed in range(60):
        t, seen, p = made(600, seed)
        curve = labelling_curve(t, seen, fitted=p, bandwidth="silverman")
        middle = slice(20, 180)
        # Smoothed likewise, the true probabilities are what the estimate is centred on.
        inside.append(
            (curve.lower[middle] <= curve.fitted[middle])
            & (curve.fitted[middle] <= curve.upper[middle])
        )
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_bandwidth_comes_from_the_data():
    t, steep, _ = made(800)
    flat = np.random.default_rng(1).random(800) < 0.6
    wide, narrow = labelling_curve(t, flat), labelling_curve(t, steep)
    assert wide.bandwidth > 2 * narrow.bandwidth
    assert narrow.bandwidth_rule == "leave-one-out likelihood"
    assert labelling_curve(t, steep, bandwidth="silverman").bandwidth_rule == "Silverman"


def test_leave_one_out_is_what_is_maximised():
    """Leaving rows out one by one, in full, ranks bandwidths as the quick sums do."""
    t, seen, _ = made(120)
    rank = (rankdata(t) - 0.5) / t.size

    def slow(h):
        kernel = norm.pdf((rank[:, None] - rank) / h)
        own = kernel[0, 0]
        np.fill_diagonal(kernel, 0)
        rate = seen.mean()
        p = (kernel @ seen + 0.5 * own * rate) / (kernel.sum(axis=1) + 0.5 * own)
        return np.log(np.where(seen, p, 1 - p)).sum()

    chosen = labelling_curve(t, seen).bandwidth
    tried = np.geomspace(5 / 120, 0.5, 25)
    assert slow(chosen) >= max(map(slow, tried)) - 0.1


def test_awkward_values():
    t = np.concatenate((np.full(50, -690.0), np.linspace(-5, 3, 50), [34.5]))
    seen = np.arange(101) < 60
    curve = labelling_curve(t, seen)
    assert np.isfinite(curve.probability).all()
    assert (curve.lower <= curve.probability + 1e-12).all()
    assert (curve.probability <= curve.upper + 1e-12).all()
    same = labelling_curve(np.zeros(30), np.arange(30) < 10)
    np.testing.assert_allclose(same.probability, 1 / 3)
    all_seen = labelling_curve(np.linspace(0, 1, 40), np.ones(40, bool))
    np.testing.assert_allclose(all_seen.upper, 1)
    assert (all_seen.lower < 1).all()


@pytest.mark.parametrize("ties", [1, 3, 50])
def test_ranks_are_those_of_scipy(ties):
    t = np.random.default_rng(0).normal(size=200).repeat(ties)
    t[:7] = -np.inf
    assert np.array_equal(ranks(t), rankdata(t))
