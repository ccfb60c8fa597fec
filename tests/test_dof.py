"""Special functions of degrees of freedom, and their step."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from hesitant._vector_math import STRIP, log1p_strip
from hesitant.families._student_t import (
    HIGHEST,
    LOWEST,
    best_dof,
    log_gamma_ratio,
    trigamma,
)


@pytest.mark.parametrize("s", [0.5, 1.0, 2.5, 15.0])
def test_log_gamma_ratio(s):
    for x in [0.25, 0.5, 3.0, 29.999, 30.0, 1e3, 1e6, 1e15, 1e30]:
        with mp.workdps(60):
            exact = mp.loggamma(mp.mpf(x) + s) - mp.loggamma(x) - s * mp.log(x)
        assert log_gamma_ratio(x, s) == pytest.approx(float(exact), rel=1e-13, abs=3e-14)


def test_polygammas():
    x = np.geomspace(0.2, 1e4, 60)
    np.testing.assert_allclose([trigamma(v) for v in x], special.polygamma(1, x), rtol=1e-12)


@given(st.floats(LOWEST, HIGHEST))
def test_best_dof_solves_its_equation(nu):
    excess = math.log(nu / 2) - special.digamma(nu / 2)
    assert best_dof(excess) == pytest.approx(nu, rel=1e-8)


@pytest.mark.parametrize(
    ("excess", "nu"), [(math.inf, LOWEST), (50.0, LOWEST), (0.0, HIGHEST), (-3.0, HIGHEST)]
)
def test_best_dof_keeps_to_its_bounds(excess, nu):
    assert best_dof(excess) == nu


def test_log1p_strip():
    y = np.concatenate(([0.0, 5e-324, 1e-300, 0.41421356, 1.0], np.geomspace(1e-18, 1e300, 200)))
    strip, out = np.zeros(STRIP), np.empty(STRIP)
    strip[: y.size] = y
    log1p_strip(strip, y.size, out)
    exact = [float(mp.log1p(mp.mpf(v))) for v in y]
    np.testing.assert_allclose(out[: y.size], exact, rtol=5e-16, atol=1e-320)
