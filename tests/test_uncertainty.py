"""Measures of uncertainty: known values, limits, and accuracy near certainty."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.likelihood import normalise
from hesitant.uncertainty import Renyi, Shannon, SquaredLogOdds, transformed_entropy


def evaluate(measure, joint):
    log_tau, tau, _ = normalise(np.array(joint, dtype=float))
    return measure.evaluate(log_tau, tau)


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 2.0, 7.0, np.inf])
def test_bounds(order):
    g = 5
    u, _ = evaluate(Renyi(order), np.zeros((1, g)))
    assert u[0] == pytest.approx(math.log(g))
    assert Renyi(order).maximum(g) == pytest.approx(math.log(g))
    if order > 0:
        assert evaluate(Renyi(order), [[0.0, -800, -900, -1000, -1e5]])[0][0] < 1e-80


@pytest.mark.parametrize("gap", [1e-3, 1.0, 30.0, 100.0, 400.0, 690.0])
@pytest.mark.parametrize("order", [0.5, 0.999999, 1.0, 1.0000001, 2.0])
def test_accurate_near_certainty(gap, order):
    """An entropy of 1e-290 has as many digits as one of 0.5."""
    with mpmath.workdps(400):
        t = [mpmath.mpf(0), mpmath.mpf(-gap), mpmath.mpf(-gap) - 2]
        norm = mpmath.log(sum(mpmath.exp(v) for v in t))
        t = [v - norm for v in t]
        a = mpmath.mpf(order)
        exact = (
            -sum(mpmath.exp(v) * v for v in t)
            if order == 1.0
            else mpmath.log(sum(mpmath.exp(a * v) for v in t)) / (1 - a)
        )
        exact = float(exact)
    u, _ = evaluate(Renyi(order), [[0.0, -gap, -gap - 2]])
    assert u[0] == pytest.approx(exact, rel=1e-9)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6))
def test_orders_decrease_and_are_continuous_at_one(joint):
    values = [
        evaluate(Renyi(o), [joint])[0][0] for o in (0.2, 1 - 1e-8, 1.0, 1 + 1e-8, 3.0, np.inf)
    ]
    assert all(a >= b - 1e-6 for a, b in pairwise(values))
    assert values[1] == pytest.approx(values[2], abs=1e-5)
    assert values[3] == pytest.approx(values[2], abs=1e-5)


def test_squared_log_odds():
    u, du = evaluate(SquaredLogOdds(), [[1.0, -2.0], [0.0, 0.0]])
    np.testing.assert_allclose(u, [9, 0])
    np.testing.assert_allclose(du, [[6, -6], [0, 0]])
    with pytest.raises(ValueError, match="2 classes"):
        SquaredLogOdds().check(3)


def test_shannon_is_renyi_of_order_one():
    joint = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(evaluate(Shannon(), joint)[0], evaluate(Renyi(1), joint)[0])


def test_transformed_entropy():
    half = 0.5 * math.log(3)
    out = transformed_entropy(np.array([0.0, half, math.log(3)]), 3)
    assert out[1] == pytest.approx(0, abs=1e-12)
    assert np.isfinite(out).all()
    assert out[0] < -600
    assert out[2] > 30


@given(st.lists(st.floats(-1e308, 0), min_size=1, max_size=STRIP))
def test_exp_strip(values):
    x = np.array(values)
    expected = np.where(x >= -708, np.exp(np.maximum(x, -708)), 0.0)
    exp_strip(x, x.size)
    np.testing.assert_allclose(x, expected, rtol=4e-16, atol=0)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=STRIP))
def test_log1p_strip(values):
    y = np.array(values)
    out = np.empty_like(y)
    log1p_strip(y, y.size, out)
    np.testing.assert_allclose(out, np.log1p(y), rtol=6e-16, atol=1e-300)


@given(
    st.lists(st.lists(st.floats(-1e200, 1e200), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_posteriors_are_probabilities(joint):
    log_tau, tau, log_f = normalise(np.array(joint))
    np.testing.assert_allclose(tau.sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(log_tau).all()
    assert np.isfinite(log_f).all()
