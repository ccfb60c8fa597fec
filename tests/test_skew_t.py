"""Skew-t fits: right gradients, climbing steps, known maxima."""

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers import COVARIANCES, assert_gradient, climb, finite_difference
from helpers_skew_t import SCALES, TRUTH, make, two_classes
from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.exceptions import FitWarning
from hesitant.families import SkewNormal, SkewT, StepError, StudentT
from hesitant.families import _skew_t as step
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism, Ignorable

OPTIONS = {
    "free": SkewT(),
    "tied": SkewT(tied_dof=True),
    "fixed": SkewT(dof=[3.0, math.inf, 0.7]),
    "normal": SkewNormal(),
}


# -- gradients and steps ------------------------------------------------------------------------


def test_gradient_without_the_metric(three_classes, build, monkeypatch):
    monkeypatch.setattr("hesitant.families._skew_t_chart._LARGEST", 0)
    X, y = three_classes
    assert_gradient(*build(X, encode(y).codes, EntropyMechanism(), family=SkewT()))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_gradient_where_the_prior_on_slants_is_felt(build, covariance, monkeypatch):
    monkeypatch.setattr("hesitant.families._skew_t_chart._LARGEST", 0)  # it would hide the prior
    X, y = two_classes(seed=2)
    likelihood, state = build(
        X[:5], y[:5].clip(0, 1), Ignorable(), covariance=covariance, family=SkewT()
    )
    slant = np.array([[300.0, 20.0], [-150.0, 100.0]])
    state = dataclasses.replace(state, params=dataclasses.replace(state.params, slant=slant))
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    family, (i, j) = likelihood.family, chart.splits
    nothing = tuple(np.zeros_like(s) for s in likelihood.evaluate(state).statistics)
    point = 0.1 * np.random.default_rng(0).standard_normal(chart.size)
    numeric = finite_difference(lambda v: family.log_prior(chart.decode(v).params), point, 1e-4)
    analytic = chart.family.gradient(chart.decode(point).params, nothing)
    assert np.abs(analytic).max() > 1e-2
    np.testing.assert_allclose(analytic, numeric[i:j], rtol=1e-5, atol=1e-7)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10_000),
    covariance=st.sampled_from(COVARIANCES),
    option=st.sampled_from(["free", "tied", "normal"]),
    p=st.integers(1, 4),
    steep=st.floats(0, 1000),
)
def test_em_never_falls(build, seed, covariance, option, p, steep):
    rng = np.random.default_rng(seed)
    y = rng.integers(-1, 2, 60)
    y[:2] = [0, 1]
    X = rng.standard_t(3, (60, p)) ** 2 + 2.0 * np.abs(y)[:, None]
    likelihood, state = build(X, y, Ignorable(), covariance=covariance, family=OPTIONS[option])
    slant = steep * rng.standard_normal((2, p))
    state = dataclasses.replace(state, params=dataclasses.replace(state.params, slant=slant))
    values = climb(likelihood, state)
    assert np.diff(values).min() > -1e-10 * np.abs(values).max()


def test_em_climbs_from_absurd_slants_in_a_shared_matrix(build):
    """The prior on slants would take more off the scale than there is, were its slope fixed."""
    test_em_never_falls.hypothesis.inner_test(build, 5063, "tied", "free", 3, 932.0)


def test_the_step_is_the_regression_on_the_latent_variable(monkeypatch):
    # With free matrices x | V ~ N(μ + c V, Σ/W) gives the same answer, and at once.
    X, _ = two_classes(seed=1)
    weights = np.random.default_rng(0).uniform(0, 1, (len(X), 2))
    sums = count, mass, first, second, _, drive, driven = SkewT().statistics(TRUTH, X, weights)
    monkeypatch.setattr(step, "_ROUNDS", 300)
    free = dataclasses.replace(TRUTH, steepest=np.array([math.inf]))  # no prior on slants
    found = SkewT().specialise("full", 0.0).maximise(free, sums)
    shifts = found.location - TRUTH.location
    classes = zip(shifts, found.whitener, found.axis, strict=True)
    for h, (shift, whitener, axis) in enumerate(classes):
        eta = TRUTH.axis[h]
        v0, v1 = eta @ first[h] + drive[h], second[h] @ eta + driven[h]
        vv = eta @ v1 + count[h]
        design = np.array([[mass[h], v0], [v0, vv]])
        moved, slope = np.linalg.solve(design, np.stack((first[h], v1)))
        scatter = second[h] - np.outer(moved, first[h]) - np.outer(slope, v1)
        sigma, delta = scatter / count[h], slope * np.sqrt(vv / count[h])
        inner = np.linalg.solve(sigma, delta)
        scale = sigma + np.outer(delta, delta)
        np.testing.assert_allclose(shift, moved, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(np.linalg.inv(whitener.T @ whitener), scale, rtol=1e-7)
        np.testing.assert_allclose(axis, inner / np.sqrt(1 + delta @ inner), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_statistics_that_allow_no_step(covariance):
    X, _ = two_classes(seed=4)
    family = SkewT().specialise(covariance, 1e-6)
    weights = np.ones((len(X), 2))
    params = family.initial(X, weights)
    weights[np.abs(X - params.locations[0]).sum(axis=1) > 1] = -0.3
    with pytest.raises(StepError):
        family.maximise(params, family.statistics(params, X, weights))


def test_one_block_or_many():
    X, y = two_classes(n=9000, seed=9)
    one, two = (MixtureClassifier("skew_t", n_jobs=k, mechanism=None).fit(X, y) for k in (1, 2))
    assert one.log_likelihood_ == two.log_likelihood_


# -- maxima -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("option", ["tied", "normal"])
def test_solvers_agree(covariance, option):
    # Classes of this very kind: with others maxima are many, and solvers may part on their way.
    dof = [math.inf] * 2 if option == "normal" else [6.0, 6.0]
    truth = make([[0.0, 0.0], [2.5, 1.5]], np.array([np.eye(2)] * 2), dof, [[2.5, 0], [0, 2]])
    X, y = two_classes(n=500, seed=6, truth=truth)

    def fit(solver, mechanism):
        return MixtureClassifier(
            OPTIONS[option],
            covariance=covariance,
            solver=solver,
            mechanism=mechanism,
            max_iter=3000,
        ).fit(X, y)

    for mechanism, solvers in (
        ("entropy", ["auto", "one_step_late", "quasi_newton", "profile"]),
        (None, ["auto", "em"]),
    ):
        fits = [fit(solver, mechanism) for solver in solvers]
        for clf in fits[1:]:
            assert clf.converged_
            assert clf.log_likelihood_ == pytest.approx(fits[0].log_likelihood_, abs=2e-4)
            np.testing.assert_allclose(clf.locations_, fits[0].locations_, atol=0.02)


@pytest.mark.parametrize("rounds", [1, 3, 12])
def test_solvers_agree_however_exact_a_step_is(monkeypatch, rounds):
    monkeypatch.setattr(step, "_ROUNDS", rounds)
    truth = make(
        [[0.0, 0.0], [2.5, 1.5]], np.array([np.eye(2)] * 2), [6.0] * 2, [[2.5, 0], [0, 2]]
    )
    X, y = two_classes(n=500, seed=6, truth=truth)
    fits = [
        MixtureClassifier(SkewT(tied_dof=True), solver=solver, max_iter=3000).fit(X, y)
        for solver in ("auto", "one_step_late")
    ]
    assert fits[1].converged_
    assert fits[1].history_[-1] == pytest.approx(fits[0].history_[-1], abs=2e-4)


def test_a_tighter_tolerance_gains_nothing():
    """Even where a class is cut off, and its location, slant and tails are nearly confounded."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3)) @ rng.standard_normal((3, 3))
    z = np.arange(1500) % 3
    X[z == 0, 0] = np.abs(X[z == 0, 0])  # cut off at zero
    X[z == 1] = np.round(4 * np.exp(0.5 * X[z == 1])) / 4
    X[z == 2] = X[z == 2] / np.sqrt(rng.chisquare(1, (500, 1))) + 3
    y = np.where(rng.random(1500) < 0.3, -1, z)
    fits = [
        MixtureClassifier("skew_t", mechanism=None, tol=tol, max_iter=5000).fit(X, y)
        for tol in (1e-6, 1e-10)
    ]
    assert fits[0].converged_
    assert fits[1].history_[-1] - fits[0].history_[-1] < 1e-5


def test_richer_models_fit_better():
    X, y = two_classes(n=600, seed=7)

    def value(family, covariance):
        clf = MixtureClassifier(family, covariance=covariance, mechanism=None, tol=1e-8)
        return clf.fit(X, y).log_likelihood_

    for covariance in COVARIANCES:
        free, tied = value(SkewT(), covariance), value(SkewT(tied_dof=True), covariance)
        assert free >= tied - 1e-6
        assert tied >= value(StudentT(tied_dof=True), covariance)
    full, diag, spherical = (value(SkewT(), c) for c in ("full", "diag", "spherical"))
    assert full > diag > spherical


def test_recovery_from_a_large_sample():
    rng = np.random.default_rng(7)
    X = np.concatenate([SkewT().sample(TRUTH, h, 10_000, rng) for h in range(2)])
    y = np.where(rng.random(20_000) < 0.3, np.repeat([0, 1], 10_000), -1)
    clf = MixtureClassifier("skew_t", mechanism=None).fit(X, y)
    np.testing.assert_allclose(clf.locations_, TRUTH.location, atol=0.12)
    np.testing.assert_allclose(clf.scales_, SCALES, atol=0.15)
    np.testing.assert_allclose(clf.dof_, TRUTH.dof, rtol=0.15)
    np.testing.assert_allclose(clf.shapes_, TRUTH.shapes, atol=0.6)
    means, covariances = SkewT().moments(TRUTH)
    np.testing.assert_allclose(clf.means_, means, atol=0.06)
    np.testing.assert_allclose(clf.covariances_, covariances, atol=0.3)


@pytest.mark.parametrize("dof", [6.0, math.inf])
def test_moments_and_samples_agree(dof):
    params = make([[1.0, -2.0]], SCALES[:1], dof, [[2.0, 5.0]])
    X = SkewT().sample(params, 0, 400_000, np.random.default_rng(8))
    (mean,), (covariance,) = SkewT().moments(params)
    np.testing.assert_allclose(X.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(np.cov(X.T), covariance, atol=0.04)


def test_samples_have_the_right_distribution():
    params = make([[1.0, -2.0]], SCALES[:1], 4.0, [[2.0, 5.0]])
    X = SkewT().sample(params, 0, 4000, np.random.default_rng(9))
    z = (X - params.location[0]) @ params.whitener[0].T
    # Distances know nothing of the slant; sides know nothing else.
    q = (z * z).sum(axis=1)
    assert stats.kstest(q / 2, stats.f(2, 4.0).cdf).pvalue > 1e-3
    share = 0.5 + math.atan(np.linalg.norm(params.slant[0])) / math.pi
    assert np.mean(z @ params.slant[0] > 0) == pytest.approx(share, abs=0.015)


def test_units_and_order_of_features_change_nothing():
    X, y = two_classes(n=500, seed=10)
    plain = MixtureClassifier("skew_t", mechanism=None, tol=1e-9).fit(X, y)
    moved = np.column_stack((1e6 - 3e4 * X[:, 1], 1e-5 * X[:, 0]))
    other = MixtureClassifier("skew_t", mechanism=None, tol=1e-9).fit(moved, y)
    jacobian = len(X) * math.log(3e4 * 1e-5)
    assert other.log_likelihood_ + jacobian == pytest.approx(plain.log_likelihood_, abs=1e-4)
    np.testing.assert_allclose(other.shapes_[:, 1], plain.shapes_[:, 0], rtol=0.01)
    np.testing.assert_allclose(other.shapes_[:, 0], -plain.shapes_[:, 1], rtol=0.01)
    np.testing.assert_allclose(other.dof_, plain.dof_, rtol=0.01)


# -- what is said and shown ---------------------------------------------------------------------


def test_half_distributions_are_called_so():
    rng = np.random.default_rng(11)
    X = np.abs(rng.standard_normal((400, 1))) + np.repeat([[0], [6]], 200, axis=0)
    with pytest.warns(FitWarning, match="skewed as far as can be"):
        clf = MixtureClassifier("skew_normal", mechanism=None).fit(X, np.repeat([0, 1], 200))
    assert np.isfinite(clf.shapes_).all()
    assert (clf.shapes_ > 50).any()


@pytest.mark.parametrize("n", [40, 100])
def test_few_rows_do_not_make_half_distributions(n):
    """A free maximum is at an infinite shape for most samples so small."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = np.arange(n) % 2
        X = rng.standard_normal((n, 3)) + 2.5 * truth[:, None]
        clf = MixtureClassifier("skew_t", mechanism=None)
        clf.fit(X, np.where(rng.random(n) < 0.3, -1, truth))
        assert clf.converged_
        assert np.abs(clf.state_.params.slant).max() < 60


def cut_off(n, seed):
    """Two classes with all their rows on one side of zero, some of them at zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 3)) + 2.0 * y[:, None]
    X[:, 1] = np.maximum(np.abs(X[:, 1]) - 0.1, 0.0)
    return X, np.where(rng.random(n) < 0.9, y, -1)


@pytest.mark.parametrize("mechanism", [None, "entropy"])
@pytest.mark.filterwarnings("ignore::hesitant.exceptions.FitWarning")
def test_classes_cut_off_at_a_value_converge(mechanism):
    X, y = cut_off(2000, 1)
    clf = MixtureClassifier("skew_t", mechanism=mechanism).fit(X, y)
    assert clf.converged_
    assert clf.n_iter_ < 200
    # The edge is found: shapes point along the feature that was cut.
    assert (np.abs(clf.shapes_[:, 1]) > 0.99 * np.linalg.norm(clf.shapes_, axis=1)).all()
    again = MixtureClassifier("skew_t", mechanism=mechanism, init=clf, tol=1e-9, max_iter=3000)
    assert again.fit(X, y).history_[-1] == pytest.approx(clf.history_[-1], abs=2e-5)


@pytest.mark.parametrize("n", [24, 60, 120])
@pytest.mark.filterwarnings("ignore::hesitant.exceptions.FitWarning")
def test_few_rows_have_no_shapes_of_several_hundred(n):
    X, y = cut_off(n, 2)
    clf = MixtureClassifier("skew_t", mechanism=None, max_iter=3000).fit(X, y)
    assert clf.converged_
    assert np.abs(clf.shapes_).max() < 300


@pytest.mark.parametrize("family", [SkewT(), SkewT(dof=4.0), SkewNormal()])
def test_a_fit_can_start_from_another(family):
    X, y = two_classes(n=500, seed=12)
    clf = MixtureClassifier(family, mechanism=None, tol=1e-9).fit(X, y)
    again = MixtureClassifier(family, mechanism=None, init=clf, tol=1e-9).fit(X, y)
    assert again.n_iter_ < 10
    assert again.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=1e-6)
    for simple in ("gaussian", "t"):
        start = MixtureClassifier(simple, mechanism=None).fit(X, y)
        other = MixtureClassifier(family, mechanism=None, init=start, tol=1e-9).fit(X, y)
        assert other.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=1e-5)


def test_starts_that_make_no_sense():
    X, y = two_classes()
    clf = MixtureClassifier("skew_t", mechanism=None).fit(X, y)
    for change, message in (
        ({"shapes": clf.shapes_[:, :1]}, "init has shapes of shape"),
        ({"locations": None}, "'shapes' need 'locations' and 'scales'"),
    ):
        init = {k: v for k, v in (clf.parameters_ | change).items() if v is not None}
        with pytest.raises(ValueError, match=message):
            MixtureClassifier("skew_t", mechanism=None, init=init).fit(X, y)


def test_attributes():
    X, y = two_classes()
    clf = MixtureClassifier(SkewT(dof=[1.5, 6.0]), mechanism=None)
    with pytest.warns(FitWarning, match="Class 0 has no covariance"):
        clf.fit(X, y)
    assert clf.n_parameters_ == 1 + 4 + 6 + 4
    assert np.isfinite(clf.means_).all()
    assert np.isnan(clf.covariances_[0]).all()
    assert np.isfinite(clf.covariances_[1]).all()
    assert clf.shapes_.shape == (2, 2)
    X, *_ = clf.sample(50, random_state=0)
    assert X.shape == (50, 2)
    assert MixtureClassifier("skew_normal", mechanism=None).fit(*two_classes()).dof_[0] == np.inf


@pytest.mark.skipif(
    not os.environ.get("HESITANT_DATA"),
    reason="HESITANT_DATA names no directory with the published data",
)
def test_cytometry():
    file = Path(os.environ["HESITANT_DATA"]) / "cytometry_dlbcl030.csv"
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    X, y = table[:, :3], table[:, 3].astype(int)
    clf = MixtureClassifier("skew_t", mechanism=None, missing_label=0).fit(X, y)
    assert clf.converged_
    assert clf.log_likelihood_ > -209199.8443
    np.testing.assert_allclose(clf.dof_, [9.955, 7.986, 32.32, 12.718], rtol=2e-3)
