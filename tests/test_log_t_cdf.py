"""The log t cdf and its derivatives, against 40-digit arithmetic and against themselves."""

import json
import math
from functools import cache
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from hesitant.families._log_t_cdf import _T, log_t_cdf, log_t_cdf_exact

REFERENCE = json.loads((Path(__file__).parent / "data" / "log_t_cdf.json").read_text())

DOFS = [0.5, 0.501, 0.8, 2.5, 20.0, 1e3, 1e5, 1e7, 1e12]
# In units of t, where the function turns from flat to steep, then in r, out to both tails.
STEPS = [1e-9, 0.01, 0.4, 1.1, 3.0, 11.0, 37.0]
RADII = [0.03, 1.0, 40.0, 1e4, 1e8]

finite = st.floats(allow_nan=False, allow_infinity=False)
halves = st.floats(math.log(0.5), math.log(1e12)).map(math.exp)


@cache
def legendre() -> list[tuple[mp.mpf, mp.mpf]]:
    """Gauss-Legendre on [0, 1] to 40 digits: 192 nodes."""
    with mp.workdps(40):
        rule = mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(7, 160)
        return [((x + 1) / 2, weight / 2) for x, weight in rule]


def reference(r: float, a: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """Log F, D and the ratio, by another integral than the package's.

    F(-s) = C (1 + s^2)^-a J, J = int exp(-2a h(v)) dv, h(v) = log(cosh v + tau sinh v).
    """
    with mp.workdps(40):
        r, a = mp.mpf(r), mp.mpf(a)
        s = abs(r)
        tau = s / mp.sqrt(1 + s * s)
        c = mp.exp(40 / a)
        top = mp.log((c + mp.sqrt(c * c - 1 / (1 + s * s))) / (1 + tau))
        mass = moment = mp.mpf(0)
        for x, weight in legendre():
            e = mp.exp(top * x)
            h = mp.log(((1 + tau) * e + (1 - tau) / e) / 2)
            term = weight * top * mp.exp(-2 * a * h)
            mass += term
            moment += term * h
        log_c = mp.loggamma(a + 0.5) - mp.loggamma(a) - mp.log(mp.pi) / 2
        log_f = log_c - a * mp.log1p(s * s) + mp.log(mass)
        d = mp.psi(0, a + 0.5) - mp.psi(0, a) - mp.log1p(s * s) - 2 * moment / mass
        ratio = 1 / (mp.sqrt(2 * a * (1 + s * s)) * mass)
        if r <= 0:
            return log_f, d, ratio
        f = mp.exp(log_f)
        return mp.log1p(-f), -f / (1 - f) * d, f / (1 - f) * ratio


def tabulated(r: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table's answer for however few points."""
    r = np.asarray(r, dtype=float)
    padded = np.concatenate([r, np.zeros(_T.size + 1)])
    log_f, d, ratio = log_t_cdf(padded, a)
    return log_f[: r.size], d[: r.size], ratio[: r.size]


PATHS = pytest.mark.parametrize("path", [tabulated, log_t_cdf_exact], ids=["table", "quadrature"])


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
def test_both_paths_match_40_digits(a: float) -> None:
    s = np.array(sorted({*(np.array(STEPS) / math.sqrt(2 * a)), *RADII}))
    r = np.concatenate([-s, s])
    expected = np.array([[float(v) for v in reference(x, a)] for x in r]).T
    for path in (tabulated, log_t_cdf_exact):
        log_f, d, ratio = path(r, a)
        # The absolute term admits results below the smallest normal number.
        assert_allclose(log_f, expected[0], rtol=2e-13, atol=1e-300)
        assert_allclose(ratio, expected[2], rtol=2e-13, atol=1e-300)
        # D vanishes at r = 0 as a difference of terms of order 1/a.
        assert_allclose(d, expected[1], rtol=2e-13, atol=2e-14 / a)


@PATHS
def test_matches_the_stored_values(path) -> None:
    for a in {row["a"] for row in REFERENCE}:
        rows = [row for row in REFERENCE if row["a"] == a]
        log_f, d, _ = path(np.array([float(row["r"]) for row in rows]), a)
        assert_allclose(log_f, [float(row["log_T"]) for row in rows], rtol=1e-12, atol=1e-19)
        assert_allclose(d, [float(row["D"]) for row in rows], rtol=1e-12, atol=1e-14)


@PATHS
def test_cauchy_closed_form(path) -> None:
    # a = 1/2 is the Cauchy distribution: F(-s) = arccot(s)/pi, the heaviest tail allowed.
    s = np.geomspace(1e-8, 1e12, 300)
    log_f, _, ratio = path(-s, 0.5)
    expected = np.arctan(1 / s)
    assert_allclose(log_f, np.log(expected / np.pi), rtol=2e-14)
    assert_allclose(ratio, 1 / ((1 + s * s) * expected), rtol=2e-14)


@PATHS
def test_gaussian_limit(path) -> None:
    t = np.linspace(-40.0, 8.0, 200)
    for a in (1e14, 1e100):
        log_f, _, ratio = path(t / math.sqrt(2 * a), a)
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


@given(a=halves, logs=st.lists(st.floats(-12, 25), min_size=1, max_size=40))
def test_table_equals_quadrature(a: float, logs: list[float]) -> None:
    s = np.exp(logs) / math.sqrt(2 * a)
    r = np.concatenate([-s, s])
    table, exact = tabulated(r, a), log_t_cdf_exact(r, a)
    assert_allclose(table[0], exact[0], rtol=2e-14, atol=1e-300)
    assert_allclose(table[1], exact[1], rtol=2e-14, atol=2e-14 / a)
    assert_allclose(table[2], exact[2], rtol=2e-14, atol=1e-300)


@PATHS
@pytest.mark.parametrize("a", [0.5, 3.0, 1e6])
def test_continuous_at_every_switch(path, a: float) -> None:
    # Zero; the table's cell borders z = k/6, t = 1.5 z/(1 - z); and 1e8, where 1 + s^2 is s^2.
    t = np.array([1.5 * k / (6 - k) for k in range(1, 6)])
    for border in [0.0, *(t / math.sqrt(2 * a)), 1e8]:
        for r in (-border, border):
            pair = np.array([np.nextafter(r, -np.inf), np.nextafter(r, np.inf)])
            for values, floor in zip(path(pair, a), (1e-300, 1e-14 / a, 1e-300), strict=True):
                assert_allclose(values[0], values[1], rtol=1e-13, atol=floor)


def test_small_and_large_arrays_agree() -> None:
    r = np.linspace(-4.0, 4.0, _T.size + 1)
    for few, many in zip(log_t_cdf(r[:-1], 3.0), log_t_cdf(r, 3.0), strict=True):
        assert_allclose(few, many[:-1], rtol=1e-13, atol=1e-14)


@given(a=halves, r=finite, step=st.floats(0, 1e3))
def test_increasing_in_r(a: float, r: float, step: float) -> None:
    pair = np.array([r, r + step * abs(r)])
    for path in (tabulated, log_t_cdf_exact):
        low, high = path(pair, a)[0]
        # Slack: rounding, in proportion to the exponent -a log(1 + r^2) on the right.
        assert high >= low - 1e-13 * abs(low)


@given(a=halves, t=st.floats(-1e3, 1e3))
def test_ratio_and_slope_are_derivatives_of_log_f(a: float, t: float) -> None:
    r = t / math.sqrt(2 * a)
    log_f, d, ratio = (float(v) for v in log_t_cdf_exact(np.array(r), a))
    noise = 1e-13 * max(1.0, abs(log_f))
    step = 1e-5 * max(1.0, abs(t))
    low, high = log_t_cdf_exact((t + np.array([-step, step])) / math.sqrt(2 * a), a)[0]
    assert_allclose(high - low, 2 * step * ratio, rtol=1e-6, atol=noise)
    step = 1e-5 * a
    low, high = (float(log_t_cdf_exact(np.array(r), a + h)[0]) for h in (-step, step))
    assert_allclose(high - low, 2 * step * d, rtol=1e-6, atol=noise)


@given(a=st.floats(0.5, 1e100), r=st.lists(finite, min_size=1, max_size=8))
def test_finite_for_every_finite_argument(a: float, r: list[float]) -> None:
    for path in (tabulated, log_t_cdf_exact):
        log_f, d, ratio = path(np.array(r), a)
        assert np.isfinite([log_f, d, ratio]).all()
        assert (log_f <= 0).all()
        assert (ratio >= 0).all()


@PATHS
def test_zero_infinities_and_nan(path) -> None:
    for a in (0.5, 4.0, 1e8):
        log_f, d, ratio = path(np.array([0.0, -0.0, 5e-324, -np.inf, np.inf, np.nan]), a)
        at_zero = special.poch(a, 0.5) * math.sqrt(2 / (math.pi * a))  # twice the density
        assert_allclose(log_f[:3], -math.log(2), rtol=1e-14)
        assert_allclose(d[:3], 0, atol=1e-14 / a)
        assert_allclose(ratio[:3], at_zero, rtol=1e-13)
        assert log_f[3:5].tolist() == [-math.inf, 0.0]
        assert d[3:5].tolist() == [-math.inf, 0.0]
        assert ratio[3:5].tolist() == [0.0, 0.0]
        assert np.isnan([log_f[5], d[5], ratio[5]]).all()


def test_shapes_and_layouts() -> None:
    r = np.linspace(-3.0, 3.0, 240).reshape(12, 20)
    expected = log_t_cdf(r, 2.0)
    for view in (np.asfortranarray(r), r[::-1][::-1], np.repeat(r, 2, axis=1)[:, ::2]):
        for got, want in zip(log_t_cdf(view, 2.0), expected, strict=True):
            assert got.shape == r.shape
            assert_allclose(got, want, rtol=0)
    assert all(v.shape == () for v in log_t_cdf(np.array(0.5), 2.0))
    assert all(v.shape == (0,) for v in log_t_cdf(np.empty(0), 2.0))
