"""Skew-t densities: exact in both tails, and those of Azzalini's definition."""

import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

from helpers import reference
from helpers_skew_t import SCALES, TRUTH, make
from hesitant.families import SkewNormal, SkewT, StudentT
from hesitant.families._skew_t_chart import skew_t_rows
from hesitant.families._student_t import HeavyTailedParams


@pytest.mark.parametrize("dof", [0.5, 3.3, 40.0, 1e3, 1e6])
@pytest.mark.parametrize("sign", [-1, 1])
def test_density_is_exact_in_both_tails(dof, sign):
    # One row at each place, slanted by up to 1e5 times its distance.
    place = np.array([1e-6, 0.3, 3.0, 1e3, 1e6])
    slope = np.array([0.0, 0.5, 40.0, 1e3, 1e5])
    z, lam = (v.ravel() for v in np.meshgrid(place, slope))
    q, along = (z * z)[:, None], (sign * z * lam)[:, None]
    nu = np.array([dof])
    found = skew_t_rows(q, along, nu, 2)[0][:, 0]
    for value, q_i, a_i in zip(found, q[:, 0], along[:, 0], strict=True):
        with mp.workdps(40):
            # The slanted argument as the machine rounds it: its own error is not the cdf's.
            r = a_i * math.sqrt(1.0 / (dof + q_i))
            a = (mp.mpf(dof) + 2) / 2
            exact = reference(r, float(a))[0] - a * mp.log1p(mp.mpf(q_i) / mp.mpf(dof))
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("params", [TRUTH, make([[0.5, 1.0]], SCALES[:1], 0.6, [[-30.0, 2.0]])])
def test_density_is_azzalinis(params):
    X = np.random.default_rng(1).standard_normal((60, 2)) * 3
    value = SkewT().log_density(params, X)
    shapes = params.shapes
    for h in range(len(params.dof)):
        omega, nu, u = params.scales[h], params.dof[h], X - params.locations[h]
        q = np.einsum("ij,jk,ik->i", u, np.linalg.inv(omega), u)
        slant = u @ (shapes[h] / np.sqrt(np.diag(omega))) * np.sqrt((nu + 2) / (nu + q))
        expected = math.log(2) + stats.multivariate_t(params.locations[h], omega, nu).logpdf(X)
        expected += stats.t(nu + 2).logcdf(slant)
        np.testing.assert_allclose(value[:, h], expected, rtol=1e-9)


def test_density_integrates_to_one():
    params = make([[0.3]], [[[2.0]]], 2.5, [[-4.0]])
    total = integrate.quad(
        lambda x: math.exp(SkewT().log_density(params, np.array([[x]]))[0, 0]), -np.inf, np.inf
    )
    assert total[0] == pytest.approx(1, abs=1e-7)


def test_symmetric_limit_is_the_t_family():
    params = make([[0.3, 1.0]], SCALES[:1], 3.0, [[0.0, 0.0]])
    X = np.random.default_rng(2).standard_normal((100, 2)) * 10
    own = ("slant", "steepest")
    plain = HeavyTailedParams(**{k: v for k, v in vars(params).items() if k not in own})
    np.testing.assert_allclose(
        SkewT().log_density(params, X), StudentT().log_density(plain, X), rtol=1e-14
    )


def test_skew_normal_limit_is_reached_and_approached():
    X = np.linspace(-8, 8, 101)[:, None]
    params = make([[0.5]], [[[4.0]]], math.inf, [[-3.0]])
    limit = SkewNormal().log_density(params, X)
    expected = stats.skewnorm(-3.0, 0.5, 2.0).logpdf(X)
    np.testing.assert_allclose(limit, expected, rtol=1e-9)
    gaps = [
        np.abs(SkewT().log_density(dataclasses.replace(params, dof=np.array([v])), X) - limit)
        for v in 10.0 ** np.arange(3, 12, 2)
    ]
    gaps = np.array([gap.max() for gap in gaps])
    np.testing.assert_allclose(gaps[:-1] / gaps[1:], 100, rtol=0.1)  # as 1/ν, with no noise in it


@pytest.mark.parametrize(("q", "along"), [(0.3, 0.2), (2.0, -1.4), (9.0, 5.0), (5.0, -6.0)])
@pytest.mark.parametrize("dof", [0.8, 6.0, 50.0])
def test_expectations_are_those_of_the_latent_precision(q, along, dof):
    p = 3
    nu = np.array([dof])
    rows = skew_t_rows(np.array([[q]]), np.array([[along]]), nu, p)
    _, precision, logs, drive = (float(v[0, 0]) for v in rows)

    def mean(function):
        a, rate = 0.5 * (dof + p), 0.5 * (dof + q)
        constant = a * math.log(rate) - math.lgamma(a)

        def weight(x):  # in x = log w
            w = math.exp(x)
            log_density = constant + a * x - rate * w
            return math.exp(log_density + special.log_ndtr(math.sqrt(w) * along))

        middle = math.log(a / rate)
        span = middle - 60 / a - 6, middle + 6
        options = {"epsabs": 1e-14, "epsrel": 1e-11, "limit": 400, "points": [middle]}
        top = integrate.quad(lambda x: function(math.exp(x)) * weight(x), *span, **options)[0]
        return top / integrate.quad(weight, *span, **options)[0]

    def hazard(w):
        x = math.sqrt(w) * along
        return math.sqrt(w / (2 * math.pi)) * math.exp(-0.5 * x * x - special.log_ndtr(x))

    known = special.digamma(0.5 * (dof + p)) - math.log(0.5 * dof)
    assert precision == pytest.approx(mean(lambda w: w), rel=1e-7)
    assert logs + known == pytest.approx(mean(math.log), rel=1e-6, abs=1e-7)
    assert drive == pytest.approx(mean(hazard), rel=1e-7)


def test_rows_at_infinity_are_merely_improbable():
    X = np.array([[0.0, 0.0], [1e300, -1e300], [-1e300, 1e300]])
    assert np.isfinite(SkewT().log_density(TRUTH, X)).all()
    statistics = SkewT().statistics(TRUTH, X, np.ones((3, 2)))
    assert all(np.isfinite(s).all() for s in statistics)
