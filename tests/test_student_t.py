"""Student-t classes: exact densities, right gradients, climbing steps, known maxima."""

import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from helpers import COVARIANCES, climb, two_classes
from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.exceptions import FitWarning
from hesitant.families import Gaussian, StepError, StudentT
from hesitant.families._location_scale import LocationScaleParams
from hesitant.families._student_t import (
    HIGHEST,
    LOWEST,
    HeavyTailedParams,
)
from hesitant.labels import encode
from hesitant.mechanisms import Ignorable


def make(location, scale, dof):
    """Parameters in units that change nothing."""
    location = np.atleast_2d(np.asarray(location, dtype=float))
    p = location.shape[1]
    whitener = np.linalg.inv(np.linalg.cholesky(np.asarray(scale, dtype=float)))
    dof = np.atleast_1d(np.asarray(dof, dtype=float))
    return HeavyTailedParams(np.zeros(p), np.ones(p), location, whitener, dof)


# -- densities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dof", [0.5, 1.0, 2.5, 30.0, 61.0, 1e3, 1e6])
@pytest.mark.parametrize("p", [1, 3])
def test_density_is_exact_far_out(dof, p):
    reach = np.concatenate(([0.0], np.geomspace(1e-8, 1e12, 41)))
    X = np.repeat(reach[:, None], p, axis=1) * np.array([1.0, -1.0, 1.0])[:p]
    value = StudentT().log_density(make(np.zeros(p), np.eye(p)[None], dof), X)[:, 0]
    for r, found in zip(reach, value, strict=True):
        with mp.workdps(40):
            nu, q = mp.mpf(dof), p * mp.mpf(r) ** 2
            a = (nu + p) / 2
            exact = mp.loggamma(a) - mp.loggamma(nu / 2) - mp.mpf(p) / 2 * mp.log(nu * mp.pi)
            exact -= a * mp.log1p(q / nu)
        assert found == pytest.approx(float(exact), rel=1e-13, abs=1e-13)


def test_density_agrees_with_scipy():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3)) * 5
    scale = np.array([[2.0, 0.4, 0.1], [0.4, 1.0, -0.3], [0.1, -0.3, 0.5]])
    params = make([1.0, -2.0, 0.5], scale[None], 3.7)
    expected = stats.multivariate_t(params.location[0], scale, 3.7).logpdf(X)
    np.testing.assert_allclose(StudentT().log_density(params, X)[:, 0], expected, rtol=1e-12)


def test_gaussian_limit_is_reached_and_approached():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 2)) * 3
    params = make([0.3, 0.1], np.array([[[1.0, 0.5], [0.5, 2.0]]]), math.inf)
    fields = {k: v for k, v in vars(params).items() if k != "dof"}
    limit = Gaussian().log_density(LocationScaleParams(**fields), X)
    np.testing.assert_allclose(StudentT().log_density(params, X), limit, rtol=1e-14)
    gaps = [
        np.abs(StudentT().log_density(dataclasses.replace(params, dof=np.array([v])), X) - limit)
        for v in 10.0 ** np.arange(2, 13, 2)
    ]
    gaps = np.array([gap.max() for gap in gaps])
    np.testing.assert_allclose(gaps[:-1] / gaps[1:], 100, rtol=0.4)  # as 1/ν, with no noise in it


def test_a_row_at_infinity_is_merely_improbable():
    X = np.array([[0.0, 0.0], [1e300, -1e300]])
    params = make(np.zeros(2), np.eye(2)[None], 1.0)
    value = StudentT().log_density(params, X)
    assert np.isfinite(value).all()
    assert value[1, 0] < -300
    statistics = StudentT().statistics(params, X, np.ones((2, 1)))
    assert all(np.isfinite(s).all() for s in statistics)


# -- gradients and steps ------------------------------------------------------------------------


def test_gradient_on_both_sides_of_the_fold(three_classes, build):
    X, y = three_classes
    likelihood, state = build(X, encode(y).codes, Ignorable(), family=StudentT())
    dof = np.array([199.0, 0.51, 5.0])
    state = dataclasses.replace(state, params=dataclasses.replace(state.params, dof=dof))
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    at = chart.size - 3
    for step in (-30.0, -1.0, 0.5, 20.0):
        vector = np.zeros(chart.size)
        vector[at : at + 2] = step
        there = chart.decode(vector)
        assert (there.params.dof >= LOWEST).all()
        assert (there.params.dof <= HIGHEST).all()
        gradient = chart.gradient(there, likelihood.evaluate(there))
        for j in (at, at + 1):
            e = np.zeros(chart.size)
            e[j] = 1e-4
            up, down = (likelihood.evaluate(chart.decode(vector + s * e)) for s in (1, -1))
            numeric = (up.objective - down.objective) / 2e-4
            assert gradient[j] == pytest.approx(numeric, rel=1e-4, abs=1e-4)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10_000),
    covariance=st.sampled_from(COVARIANCES),
    tied=st.booleans(),
    p=st.integers(1, 4),
    tail=st.sampled_from([1.0, 2.0, 5.0, 50.0]),
)
def test_em_never_falls(build, seed, covariance, tied, p, tail):
    X, y = two_classes(n=60, seed=seed, p=p, dof=tail)
    y[:2] = [0, 1]
    family = StudentT(tied_dof=tied)
    values = climb(*build(X, y, Ignorable(), covariance=covariance, family=family))
    assert np.diff(values).min() > -1e-10 * np.abs(values).max()


def test_statistics_that_allow_no_step():
    X, _ = two_classes(seed=4)
    family = StudentT().specialise("full", 1e-6)
    params = family.initial(X, np.ones((len(X), 1)))
    weights = np.ones((len(X), 1))
    weights[np.abs(X - params.locations[0]).sum(axis=1) > 1] = -0.3
    with pytest.raises(StepError):
        family.maximise(params, family.statistics(params, X, weights))
    with pytest.raises(StepError, match="negative weight"):
        family.maximise(params, family.statistics(params, X, -np.ones((len(X), 1))))


def test_statistics_add_over_blocks_and_take_what_a_look_kept():
    X, _ = two_classes(n=700, seed=5)
    family = StudentT().specialise("full", 1e-6)
    weights = np.random.default_rng(0).uniform(-0.2, 1, (700, 2))
    params = family.initial(X, np.abs(weights))
    whole = family.statistics(params, X, weights)
    parts = [
        family.statistics(params, X[rows], weights[rows]) for rows in (slice(300), slice(300, 700))
    ]
    for total, a, b in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(a + b, total, rtol=1e-11, atol=1e-11)
    log_density, kept = family.look(params, X)
    np.testing.assert_array_equal(log_density, family.log_density(params, X))
    log_density[:] = np.nan  # the caller's
    for a, b in zip(whole, family.statistics(params, X, weights, kept), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("method", ["log_density", "statistics"])
def test_a_subclass_with_a_method_of_its_own_is_not_looked_past(method):
    calls = []

    def own(self, *arguments):
        calls.append(len(arguments))
        return getattr(StudentT, method)(self, *arguments)

    own_class = type("Own", (StudentT,), {method: own})
    X, y = two_classes(n=200, seed=5)
    fit, plain = (
        MixtureClassifier(family=family, mechanism=None).fit(X, y)
        for family in (own_class(), StudentT())
    )
    assert calls
    assert fit.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)


# -- maxima -------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("tied", [False, True])
def test_solvers_agree(covariance, tied):
    X, y = two_classes(n=400, seed=6, dof=3.0)
    family = StudentT(tied_dof=tied)

    def fit(solver, mechanism):
        return MixtureClassifier(
            family, covariance=covariance, solver=solver, mechanism=mechanism, max_iter=3000
        ).fit(X, y)

    for mechanism, solvers in (
        ("entropy", ["auto", "one_step_late", "quasi_newton", "profile"]),
        (None, ["auto", "em"]),
    ):
        fits = [fit(solver, mechanism) for solver in solvers]
        for clf in fits[1:]:
            assert clf.converged_
            assert clf.log_likelihood_ == pytest.approx(fits[0].log_likelihood_, abs=2e-5)
            np.testing.assert_allclose(clf.dof_, fits[0].dof_, rtol=0.02)


def test_recovery_from_a_large_sample():
    rng = np.random.default_rng(7)
    scales = np.array([[[1.0, 0.6], [0.6, 2.0]], [[1.5, -0.4], [-0.4, 0.5]]])
    truth = make([[0.0, 0.0], [3.0, 1.0]], scales, [3.0, 12.0])
    X = np.concatenate([StudentT().sample(truth, h, 10_000, rng) for h in range(2)])
    y = np.where(rng.random(20_000) < 0.3, np.repeat([0, 1], 10_000), -1)
    clf = MixtureClassifier("t", mechanism=None).fit(X, y)
    np.testing.assert_allclose(clf.locations_, truth.location, atol=0.06)
    np.testing.assert_allclose(clf.scales_, scales, atol=0.12)
    np.testing.assert_allclose(clf.dof_, [3.0, 12.0], rtol=0.12)
    np.testing.assert_allclose(clf.covariances_[0], 3.0 * clf.scales_[0], rtol=0.2)


def test_samples_have_the_right_distribution():
    scale = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    params = make([1.0, -1.0], scale, 4.0)
    X = StudentT().sample(params, 0, 4000, np.random.default_rng(8))
    u = X - params.location[0]
    q = np.einsum("ij,jk,ik->i", u, np.linalg.inv(scale[0]), u)
    assert stats.kstest(q / 2, stats.f(2, 4.0).cdf).pvalue > 1e-3


def test_threads_change_nothing():
    X, y = two_classes(n=9000, seed=9)
    one, two = (MixtureClassifier("t", n_jobs=k, mechanism=None).fit(X, y) for k in (1, 2))
    assert one.log_likelihood_ == two.log_likelihood_


# -- what is said and shown ---------------------------------------------------------------------


def test_attributes_where_moments_do_not_exist():
    rng = np.random.default_rng(10)
    X = np.concatenate((rng.standard_t(0.8, (300, 1)), 40 + rng.standard_t(1.5, (300, 1))))
    y = np.repeat([0, 1], 300)
    clf = MixtureClassifier(StudentT(dof=[0.8, 1.5]), mechanism=None)
    with pytest.warns(FitWarning) as said:
        clf.fit(X, y)
    texts = [str(w.message) for w in said]
    assert any("Class 0 has neither mean nor covariance" in t for t in texts)
    assert any("Class 1 has no covariance" in t for t in texts)
    assert np.isnan(clf.means_[0]).all()
    assert np.isfinite(clf.means_[1]).all()
    assert np.isnan(clf.covariances_).all()
    assert np.isfinite(clf.locations_).all()
    assert np.isfinite(clf.scales_).all()
    np.testing.assert_array_equal(clf.dof_, [0.8, 1.5])


def test_gaussian_rows_are_called_gaussian():
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (400, 2)) + np.repeat([[0, 0], [5, 0]], 200, axis=0)
    with pytest.warns(FitWarning, match="effectively Gaussian"):
        clf = MixtureClassifier("t", mechanism=None).fit(X, np.repeat([0, 1], 200))
    gaussian = MixtureClassifier(mechanism=None).fit(X, np.repeat([0, 1], 200))
    assert (clf.dof_ > 195).all()
    np.testing.assert_allclose(clf.covariances_, gaussian.covariances_, atol=0.005)


@pytest.mark.parametrize(
    ("family", "covariance", "count"),
    [
        (StudentT(), "full", 1 + 4 + 6 + 2),
        (StudentT(tied_dof=True), "tied", 1 + 4 + 3 + 1),
        (StudentT(dof=5), "diag", 1 + 4 + 4),
    ],
)
def test_number_of_parameters(family, covariance, count):
    X, y = two_classes()
    clf = MixtureClassifier(family, covariance=covariance, mechanism=None).fit(X, y)
    assert clf.n_parameters_ == count
    assert clf.dof_[0] == (5 if family.dof else clf.dof_[0])


def test_a_fit_can_start_from_another():
    X, y = two_classes(n=500, seed=12)
    clf = MixtureClassifier("t", mechanism=None, tol=1e-9).fit(X, y)
    again = MixtureClassifier("t", mechanism=None, init=clf, tol=1e-9).fit(X, y)
    assert again.n_iter_ < 8
    assert again.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=1e-7)
    gaussian = MixtureClassifier(mechanism=None).fit(X, y)
    other = MixtureClassifier("t", mechanism=None, init=gaussian, tol=1e-9).fit(X, y)
    assert other.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=1e-6)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (StudentT(dof=0.01), "dof=0.01"),
        (StudentT(dof="four"), "dof='four'"),
        (StudentT(dof=math.nan), "dof=nan"),
        (StudentT(dof=[3.0, 4.0, 5.0]), "give one number, or one for each of 2 classes"),
        (StudentT(dof=3.0, tied_dof=True), "tied_dof=True"),
    ],
)
def test_options_that_make_no_sense(family, message):
    X, y = two_classes()
    with pytest.raises(ValueError, match=message):
        MixtureClassifier(family, mechanism=None).fit(X, y)


def test_outliers_do_not_move_the_classes():
    X, y = two_classes(n=400, seed=14, dof=30.0)
    plain = MixtureClassifier("t", mechanism=None).fit(X, y)
    X = np.concatenate((X, [[1e12, 1e12]]))
    y = np.append(y, 0)
    with pytest.warns(FitWarning):
        spoilt = MixtureClassifier("t", mechanism=None).fit(X, y)
    np.testing.assert_allclose(spoilt.locations_, plain.locations_, atol=0.3)


def test_likelihood_is_that_of_scipy():
    X, y = two_classes(seed=15)
    clf = MixtureClassifier("t", mechanism=None).fit(X, y)
    parts = np.column_stack(
        [
            np.log(w) + stats.multivariate_t(m, s, v).logpdf(X)
            for w, m, s, v in zip(clf.weights_, clf.locations_, clf.scales_, clf.dof_, strict=True)
        ]
    )
    value = parts[y >= 0, y[y >= 0]].sum() + special.logsumexp(parts[y < 0], axis=1).sum()
    assert clf.log_likelihood_ == pytest.approx(value, rel=1e-12)
