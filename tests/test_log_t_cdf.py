"""The log t cdf inside the skew-t kernel, against 40-digit arithmetic and against itself."""

import json
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from helpers import reference
from hesitant.families._skew_t_chart import CELLS, C, skew_t_rows

REFERENCE = json.loads((Path(__file__).parent / "data" / "log_t_cdf.json").read_text())

DOFS = [0.55, 0.8, 2.5, 20.0, 1e3, 1e5, 1e7, 1e12]
# In units of t, where the function turns from flat to steep, then in r, out to both tails.
STEPS = [1e-9, 0.01, 0.4, 1.1, 3.0, 11.0, 37.0]
RADII = [0.03, 1.0, 40.0, 1e4, 1e8]

halves = st.floats(math.log(0.55), math.log(1e12)).map(math.exp)


def log_t_cdf(r: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log F, D and the ratio from the kernel: those of a row at distance zero, one feature."""
    nu = np.array([2.0 * a - 1.0])
    along = np.asarray(r, dtype=float)[:, None] * math.sqrt(nu[0])
    rows = skew_t_rows(np.zeros_like(along), along, nu, 1)
    log_f, _, d, drive = (v[:, 0] for v in rows)
    return log_f, d, drive * math.sqrt(nu[0] / (2 * a))


def test_reference_agrees_with_the_incomplete_beta_function() -> None:
    with mp.workdps(40):
        for r, a in [(-0.01, 0.7), (-0.5, 3.0), (-3.0, 0.5), (0.4, 20.0)]:
            tail = mp.betainc(a, 0.5, 0, 1 / (1 + mp.mpf(r) ** 2), regularized=True) / 2
            expected = mp.log(tail if r < 0 else 1 - tail)
            assert abs(reference(r, a)[0] / expected - 1) < mp.mpf(10) ** -30


def test_reference_slope_agrees_with_finite_differences() -> None:
    with mp.workdps(40):
        for r, a in [(-30.0, 0.5), (-0.3, 5.0), (0.1, 40.0), (-1e-3, 1e6), (2.0, 0.8)]:
            step = mp.mpf(a) / 10**10
            difference = (reference(r, a + step)[0] - reference(r, a - step)[0]) / (2 * step)
            assert abs(difference / reference(r, a)[1] - 1) < mp.mpf(10) ** -15


@pytest.mark.parametrize("a", DOFS)
def test_matches_40_digits(a: float) -> None:
    s = np.array(sorted({*(np.array(STEPS) / math.sqrt(2 * a)), *RADII}))
    r = np.concatenate([-s, s])
    expected = np.array([[float(v) for v in reference(x, a)] for x in r]).T
    log_f, d, ratio = log_t_cdf(r, a)
    # The absolute terms: on the right F is 1 less a power whose exponent is rounded, and D
    # vanishes at r = 0 as a difference of terms of order 1/a.
    assert_allclose(log_f, expected[0], rtol=1e-12, atol=1e-300)
    assert_allclose(ratio, expected[2], rtol=1e-12, atol=1e-300)
    assert_allclose(d, expected[1], rtol=1e-12, atol=1e-13 / a)


def test_matches_the_stored_values() -> None:
    for a in {row["a"] for row in REFERENCE}:
        rows = [row for row in REFERENCE if row["a"] == a]
        log_f, d, _ = log_t_cdf(np.array([float(row["r"]) for row in rows]), a)
        assert_allclose(log_f, [float(row["log_T"]) for row in rows], rtol=1e-12, atol=1e-19)
        assert_allclose(d, [float(row["D"]) for row in rows], rtol=1e-12, atol=1e-14)


def test_closed_form_of_two_degrees_of_freedom() -> None:
    # T_2(-t) = (1 - t / sqrt(2 + t²)) / 2, with t = s sqrt(2)
    s = np.geomspace(1e-8, 1e12, 300)
    log_f, _, ratio = log_t_cdf(-s, 1.0)
    e = np.hypot(1, s)
    tail = 0.5 / (e * (e + s))
    assert_allclose(log_f, np.log(tail), rtol=1e-14)
    assert_allclose(ratio, e**-3 / math.sqrt(8) / tail, rtol=1e-14)


def test_gaussian_limit() -> None:
    t = np.linspace(-40.0, 8.0, 200)
    for a in (1e14, 1e100):
        log_f, _, ratio = log_t_cdf(t / math.sqrt(2 * a), a)
        assert_allclose(log_f, special.log_ndtr(t), rtol=1e-11)
        density = np.exp(-t * t / 2 - special.log_ndtr(t)) / math.sqrt(2 * math.pi)
        assert_allclose(ratio, density, rtol=1e-11)
    # And on the way there the distance falls as 1/a, with no jump: it is A/a + O(1/a^2).
    t = t[t < 3]
    error = [
        a * (log_t_cdf(t / math.sqrt(2 * a), a)[0] - special.log_ndtr(t))
        for a in (0.99e5, 1.01e5, 0.99e6, 1.01e6)
    ]
    assert_allclose(error[0], error[1], rtol=0.02, atol=1e-3)
    assert_allclose(error[2], error[3], rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("a", [0.55, 3.0, 1e6])
def test_continuous_at_every_switch(a: float) -> None:
    # Zero, and the borders of the table's cells.
    z = np.arange(1, CELLS) / CELLS
    for border in [0.0, *(C * z / (1 - z) / math.sqrt(2 * a))]:
        for r in (-border, border):
            pair = r + np.array([-1, 1]) * max(abs(r), 1e-30) * 2e-15
            for values, floor in zip(log_t_cdf(pair, a), (1e-300, 1e-13 / a, 1e-300), strict=True):
                assert_allclose(values[0], values[1], rtol=1e-12, atol=floor)


@given(a=halves, logs=st.floats(-30, 30), sign=st.sampled_from([-1, 1]), step=st.floats(1e-6, 1e3))
def test_increasing_in_r(a: float, logs: float, sign: int, step: float) -> None:
    r = sign * math.exp(logs)
    low, high = log_t_cdf(np.array([r, r + step * abs(r)]), a)[0]
    # Slack: rounding, in proportion to the exponent -a log(1 + r^2) on the right.
    assert high >= low - 1e-13 * abs(low)


@given(a=halves, t=st.floats(-1e3, 1e3))
def test_ratio_and_slope_are_derivatives_of_log_f(a: float, t: float) -> None:
    r = t / math.sqrt(2 * a)
    log_f, d, ratio = (float(v[0]) for v in log_t_cdf(np.array([r]), a))
    noise = 1e-12 * max(1.0, abs(log_f))
    step = 1e-5 * max(1.0, abs(t))
    low, high = log_t_cdf((t + np.array([-step, step])) / math.sqrt(2 * a), a)[0]
    assert_allclose(high - low, 2 * step * ratio, rtol=1e-6, atol=noise)
    step = 1e-5 * a
    low, high = (float(log_t_cdf(np.array([r]), a + h)[0][0]) for h in (-step, step))
    assert_allclose(high - low, 2 * step * d, rtol=1e-6, atol=noise)


@given(
    a=st.floats(0.55, 1e100),
    r=st.lists(st.floats(-1e100, 1e100, allow_nan=False), min_size=1, max_size=8),
)
def test_finite_for_every_finite_argument(a: float, r: list[float]) -> None:
    log_f, d, ratio = log_t_cdf(np.array(r), a)
    assert np.isfinite([log_f, d, ratio]).all()
    assert (log_f <= 0).all()
    assert (ratio >= 0).all()


def test_at_zero() -> None:
    for a in (0.55, 4.0, 1e8):
        log_f, d, ratio = log_t_cdf(np.array([0.0, -0.0, 5e-324]), a)
        twice_the_density = special.poch(a, 0.5) * math.sqrt(2 / (math.pi * a))
        assert_allclose(log_f, -math.log(2), rtol=1e-14)
        assert_allclose(d, 0, atol=1e-13 / a)
        assert_allclose(ratio, twice_the_density, rtol=1e-13)
