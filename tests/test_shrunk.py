"""Shrunken covariances: a proper prior, strengths from the data, and claims that hold."""

import dataclasses
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import hesitant
from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.families import Gaussian, Shrunk, SkewNormal, SkewT, StudentT
from hesitant.labels import encode
from hesitant.leverage import steadied
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import EntropyMechanism, Ignorable
from hesitant.solvers import Progress, warm_up

FAMILIES = [Gaussian(), StudentT(), SkewT(), SkewNormal(), StudentT(tied_dof=True)]
FIXED = Shrunk(towards_pooled=30, towards_diagonal=20, towards_mean=5)


def wide(seed, n=200, n_test=4000, labelled=0.5):
    """Return 60 features of which four tell three classes apart."""
    rng = np.random.default_rng(seed)
    means = np.zeros((3, 60))
    means[:, :4] = 0.7 * rng.standard_normal((3, 4))
    truth = rng.integers(3, size=n + n_test)
    X = means[truth] + rng.standard_normal((n + n_test, 60))
    y = np.where(rng.random(n) < labelled, truth[:n], -1)
    return X[:n], y, X[n:], truth[n:]


def apart(n, seed=0, p=4):
    """Return three classes with matrices of their own, every third row blank."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    halves = [0.3 * rng.standard_normal((p, p)) + np.eye(p) for _ in range(3)]
    centers = 2.0 * rng.standard_normal((3, p))
    X = np.array([centers[k] + halves[k] @ rng.standard_normal(p) for k in truth])
    return X, np.where(np.arange(n) % 3 == 0, -1, truth)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("mechanism", [Ignorable(), EntropyMechanism()], ids=str)
def test_gradient(three_classes, build, family, mechanism):
    X, y = three_classes
    likelihood, state = build(
        X[:90], encode(y).codes[:90], mechanism, family=family, covariance=FIXED
    )
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    there = 0.3 * np.random.default_rng(0).standard_normal(chart.size)
    at = chart.decode(there)
    analytic = chart.gradient(at, likelihood.evaluate(at))
    steps = 1e-4 * np.eye(chart.size)
    numeric = [
        likelihood.evaluate(chart.decode(there + e)).objective
        - likelihood.evaluate(chart.decode(there - e)).objective
        for e in steps
    ]
    size = np.abs(analytic).max()
    np.testing.assert_allclose(analytic, np.array(numeric) / 2e-4, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_em_climbs_to_where_gradients_lead(family):
    X, y = apart(120, p=3)
    em = MixtureClassifier(
        family, covariance=FIXED, mechanism=None, solver="em", tol=1e-5, max_iter=400
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tails that are Gaussian, and EM that is slow
        em.fit(X, y)
        newton = MixtureClassifier(family, covariance=FIXED, mechanism=None).fit(X, y)
    steps = np.diff(em.history_)
    assert steps.min() > -1e-8 * abs(em.history_[-1])
    assert em.history_[-1] <= newton.history_[-1] + 0.02
    if type(family) is Gaussian:
        assert em.history_[-1] == pytest.approx(newton.history_[-1], abs=0.02)


def test_optimum_against_another_optimiser():
    X, y = apart(60, p=2)
    clf = MixtureClassifier(covariance=FIXED, mechanism=None, reg_covar=0).fit(X, y)
    params = clf.state_.params
    Z = (X - params.center) / params.spread
    g, p = 3, 2

    def objective(v):
        logits, means = np.append(v[:2], 0.0), v[2:8].reshape(g, p)
        L = np.zeros((g, p, p))
        L[:, 0, 0], L[:, 1, 0], L[:, 1, 1] = np.exp(v[8:11]), v[11:14], np.exp(v[14:17])
        omega = L @ L.transpose(0, 2, 1)
        log_pi = logits - np.logaddexp.reduce(logits)
        joint = np.stack(
            [log_pi[h] + multivariate_normal(means[h], omega[h]).logpdf(Z) for h in range(g)],
            axis=1,
        )
        rows = np.where(y >= 0, joint[np.arange(len(y)), y], np.logaddexp.reduce(joint, axis=1))
        prior = 0.0
        for h in range(g):
            inverse = np.linalg.inv(omega[h])
            prior += 30 * (np.linalg.slogdet(omega[h])[1] + np.trace(inverse @ params.pooled))
            far = means[h] - params.grand_mean
            prior += 5 * far @ inverse @ far
        return 0.5 * prior - rows.sum()

    L = np.linalg.cholesky(params.scale)
    log_pi = np.log(clf.weights_)
    start = np.concatenate(
        (
            log_pi[:2] - log_pi[2],
            params.location.ravel(),
            np.log(L[:, 0, 0]),
            L[:, 1, 0],
            np.log(L[:, 1, 1]),
        )
    )
    rough = start + 0.2 * np.random.default_rng(0).standard_normal(start.size)
    found = minimize(objective, rough, method="BFGS", options={"gtol": 1e-6})
    assert objective(start) == pytest.approx(found.fun, abs=1e-5)
    np.testing.assert_allclose(start, found.x, atol=1e-3)


def test_from_full_over_tied_to_diagonal():
    X, y = apart(300)

    def fit(covariance):
        return MixtureClassifier(covariance=covariance, mechanism=None).fit(X, y)

    free, full = fit(Shrunk(0, 0, 0)), fit("full")
    np.testing.assert_allclose(free.covariances_, full.covariances_, rtol=1e-3, atol=1e-4)
    assert free.n_parameters_ == full.n_parameters_
    rigid, tied = fit(Shrunk(1e7, 0, 0)), fit("tied")
    np.testing.assert_allclose(rigid.covariances_, tied.covariances_, rtol=0.01, atol=0.01)
    assert rigid.n_parameters_ == tied.n_parameters_
    straight = fit(Shrunk(1e7, 1e7, 0))
    off = straight.covariances_ * (1 - np.eye(4))
    assert np.abs(off).max() < 1e-3 * straight.covariances_.max()
    between = fit(Shrunk(100, 0, 0))
    assert tied.n_parameters_ < between.n_parameters_ < full.n_parameters_
    assert tied.log_likelihood_ < between.log_likelihood_ < full.log_likelihood_


def test_many_rows_are_fitted_freely():
    X, y = apart(6000)
    shrunk = MixtureClassifier(covariance="shrunk").fit(X, y)
    full = MixtureClassifier().fit(X, y)
    assert np.abs(shrunk.predict_proba(X) - full.predict_proba(X)).mean() < 5e-4
    assert full.log_likelihood_ - shrunk.log_likelihood_ < 2.5
    assert shrunk.n_parameters_ == pytest.approx(full.n_parameters_, abs=1)


@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_so_they_are_where_only_easy_cases_are_labelled(mechanism):
    """Classes of the labelled rows alone are too far apart, which no prior should make up for."""
    data = simulate(n=2000, random_state=4)
    X, y = data.features, data.labels
    shrunk = MixtureClassifier(covariance="shrunk", mechanism=mechanism).fit(X, y)
    full = MixtureClassifier(mechanism=mechanism).fit(X, y)
    assert np.abs(shrunk.predict_proba(X) - full.predict_proba(X)).mean() < 3e-3


@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_claims_hold_in_wide_data(mechanism):
    accuracy, claimed, reference = [], [], []
    for seed in range(4):
        X, y, X_test, truth = wide(seed)
        clf = MixtureClassifier(covariance="shrunk", mechanism=mechanism)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf.fit(X, y)
        chances = clf.predict_proba(X_test)
        accuracy.append(np.mean(chances.argmax(axis=1) == truth))
        claimed.append(chances.max(axis=1).mean())
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        reference.append(lda.fit(X[y >= 0], y[y >= 0]).score(X_test, truth))
    overclaimed = np.array(claimed) - accuracy
    assert overclaimed.max() < 0.15
    assert np.mean(accuracy) > np.mean(reference)


def test_slopes_are_those_of_the_blanks_and_not_of_bent_classes():
    """The maximum of the likelihood is too steep in small samples; slopes here are less so."""
    steep = []
    for seed in range(100):
        data = simulate(n=200, random_state=seed)  # of slope -5
        fits = [
            MixtureClassifier(covariance=c).fit(data.features, data.labels)
            for c in ("full", Shrunk(1e-3, 1e-3, 1e-3))
        ]
        steep.append([clf.mechanism_.coef_[0] for clf in fits])
    free, held = np.transpose(steep)
    assert ((held + 5) ** 2).mean() < ((free + 5) ** 2).mean()
    assert abs(held.mean() + 5) < abs(free.mean() + 5)


def test_the_prior_on_slopes_has_the_right_derivatives():
    data = simulate(n=100, random_state=0)
    clf = MixtureClassifier(covariance="shrunk", mechanism="entropy+class")
    mechanism = clf.fit(data.features, data.labels).mechanism_
    theta, nothing = clf.state_.theta, (0.0, np.zeros(3))
    _, gradient = mechanism.add_prior(theta, *nothing)
    numeric = [
        (mechanism.add_prior(theta + e, *nothing)[0] - mechanism.add_prior(theta - e, *nothing)[0])
        for e in 1e-5 * np.eye(3)
    ]
    np.testing.assert_allclose(gradient, np.array(numeric) / 2e-5, rtol=1e-5, atol=1e-8)
    assert np.linalg.eigvalsh(mechanism.information(theta, 0.0)).min() >= 0
    # a level that all classes share bends nothing
    shift = np.array([1.0, 1.0, 0.0])
    assert shift @ mechanism.steepness_ @ shift == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("n", "p"), [(60, 2), (30, 12)])  # more rows, or more directions
def test_leverage_is_of_directions_in_which_rows_could_bend_classes(n, p):
    """Against a sum over classes, parameters and rows, by the definition."""
    rng = np.random.default_rng(3)
    truth = np.arange(n) % 3
    X = rng.standard_normal((n, p)) + truth[:, None]
    y = np.where(rng.random(n) < 0.6, truth, -1)
    clf = MixtureClassifier(covariance="shrunk").fit(X, y)
    mechanism, rows = clf.mechanism_.moved(leverage_=None), clf.fit_rows
    likelihood = dataclasses.replace(clf.fitted_.likelihood(rows), mechanism=mechanism)
    found = steadied(likelihood, clf.fitted_.state).leverage_

    start, steps = likelihood.ignoring(), likelihood.family.warm_up
    state = warm_up(start, clf.fitted_.state, Progress(0.1, steps), steps)
    chart = likelihood.family.coordinates(state.params, n * state.weights)
    log_tau, tau, _ = log_posterior(likelihood.family, state, X)
    seen, step = mechanism.difficulty(log_tau, tau), 1e-4
    V = np.zeros((chart.size, mechanism.n_parameters * n))
    for q, nudge in enumerate(step * np.eye(mechanism.n_parameters)):
        theta = mechanism.without_slopes(rows.tally.rate) + nudge
        pull = mechanism.pattern(seen, rows.codes, rows.codes >= 0, np.ones(n), theta).pull / step
        for h in range(3):
            axes, scores = chart.row_scores(X, h)
            V[axes, q * n : (q + 1) * n] += scores * pull[:, h]
    expected = np.linalg.svd(V, compute_uv=False) ** 2
    k = min(len(found), len(expected))
    np.testing.assert_allclose(np.sort(found)[::-1][:k], expected[:k], atol=1e-9 * expected[0])


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_claims_are_held_against_rows_left_out(covariance):
    X, y, X_test, truth = wide(0)
    clf = MixtureClassifier(covariance=covariance, mechanism=None, max_iter=30)
    with pytest.warns(hesitant.FitWarning, match="labelled rows left out of a fit") as seen:
        clf.fit(X, y)
    said = next(str(w.message) for w in seen if "left out" in str(w.message))
    claimed, right = (int(figure) for figure in re.findall(r"(\d+)%", said))
    chances = clf.predict_proba(X_test)
    assert claimed / 100 == pytest.approx(chances.max(axis=1).mean(), abs=0.15)
    assert right / 100 == pytest.approx(np.mean(chances.argmax(axis=1) == truth), abs=0.2)
    assert "covariance='shrunk'" in said


@pytest.mark.parametrize("mechanism", ["class", "entropy+class"])
def test_intercepts_by_class_that_few_labels_cannot_place_are_warned_of(mechanism):
    X, y, X_test, truth = wide(0)
    clf = MixtureClassifier(covariance="shrunk", mechanism=mechanism)
    with pytest.warns(hesitant.FitWarning, match=r"labelled rows for 60 features.*'entropy'"):
        clf.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X[:, :10], y)
    chances = clf.predict_proba(X_test[:, :10])
    assert chances.max(axis=1).mean() - np.mean(chances.argmax(axis=1) == truth) < 0.15


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_too_few_rows_are_warned_of(covariance):
    X, y, _, _ = wide(0)
    clf = MixtureClassifier(covariance=covariance, mechanism=None, max_iter=30)
    with pytest.warns(hesitant.FitWarning) as seen:
        clf.fit(X, y)
    said = " ".join(str(w.message) for w in seen)
    assert "free parameters" in said
    assert "covariance='shrunk'" in said


def test_shrunken_classes_are_diagnosed():
    data = simulate(n=137, random_state=0)
    clf = MixtureClassifier(covariance="shrunk").fit(data.features, data.labels)
    shape = clf.diagnose(data.features, data.labels).test("shape")
    assert 0 <= shape.p_value <= 1


def test_order_and_repetition_do_not_matter():
    X, y = apart(90)
    clf = MixtureClassifier(covariance="shrunk", mechanism=None)
    once = clone(clf).fit(X, y, sample_weight=np.full(90, 2.0))
    order = np.random.default_rng(0).permutation(180)
    twice = clone(clf).fit(np.repeat(X, 2, axis=0)[order], np.repeat(y, 2)[order])
    np.testing.assert_allclose(once.shrinkage_, twice.shrinkage_, rtol=1e-6)
    np.testing.assert_allclose(once.covariances_, twice.covariances_, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_saved_cloned_and_started_from(tmp_path):
    X, y = apart(120)
    clf = MixtureClassifier("t", covariance=Shrunk(towards_mean=2.0)).fit(X, y)
    assert clf.shrinkage_[2] == 2.0
    assert clone(clf).covariance == clf.covariance
    hesitant.save(clf, tmp_path / "model.json")
    again = hesitant.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(again.state_.params.pooled, clf.state_.params.pooled)
    started = clone(clf).set_params(init=clf).fit(X, y)
    np.testing.assert_allclose(started.shrinkage_, clf.shrinkage_)
    np.testing.assert_allclose(started.means_, clf.means_, atol=0.02)


@pytest.mark.parametrize("family", ["gaussian", "t", "skew_t"])
def test_a_fit_to_far_rows_is_a_start_too(family):
    """The prior follows a climb, and one that began elsewhere ended at no maximum."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=100)
    X = rng.standard_normal((100, 3)) + 1.5 * truth[:, None]
    X[:, 2] = np.where(rng.random(100) < 0.04, rng.integers(1, 4, 100), 0.0)  # next to constant
    y = np.where(rng.random(100) < 0.6, truth, -1)
    clf = MixtureClassifier(family, covariance="shrunk", mechanism=None).fit(X, y)
    again = clone(clf).set_params(init=clf).fit(X, y)
    assert again.history_[0] == pytest.approx(clf.history_[-1], abs=1.0)
    assert again.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=0.1)
    bic = clf.diagnose(X, y).mechanisms
    assert max(bic.values()) < bic["none"] + 20


def test_standard_errors_are_smaller_than_without():
    X, y = apart(90, p=2)
    tight = MixtureClassifier(covariance=Shrunk(200, 0, 0), mechanism=None).fit(X, y)
    loose = MixtureClassifier(mechanism=None).fit(X, y)
    ours, theirs = tight.summary(), loose.summary()
    name = "covariance[0, x0, x0]"
    error = {
        kind: frame.set_index("parameter").loc[name, "std_error"]
        for kind, frame in (("tight", ours), ("loose", theirs))
    }
    assert 0 < error["tight"] < 0.7 * error["loose"]


@pytest.mark.parametrize("value", [-1, True, "3", np.nan, 1e12])
def test_wrong_strengths_are_named(value):
    X, y = apart(30)
    with pytest.raises((TypeError, ValueError), match=r"towards_pooled=.*give a number from 0"):
        MixtureClassifier(covariance=Shrunk(towards_pooled=value)).fit(X, y)


@pytest.mark.parametrize("family", ["gaussian", "t"])
def test_classes_pulled_together_have_standard_errors(family):
    data = make_cytometry_like(n=600, random_state=0)

    def errors(covariance, mechanism):
        clf = MixtureClassifier(family, covariance=covariance, mechanism=mechanism)
        table = clf.fit(data.features, data.labels).summary().set_index("parameter")
        return table["std_error"].filter(regex="mean|coef|intercept").to_numpy()

    strong = errors(Shrunk(200, 20, 5), "entropy+class")
    assert np.isfinite(strong).all()
    assert (strong > 0).all()
    # made-up rows that hardly count change nothing
    weak, full = errors(Shrunk(1e-3, 1e-3, 1e-3), None), errors("full", None)
    assert weak == pytest.approx(full, rel=0.05)


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_a_class_with_one_label_whose_location_is_not_pulled():
    """Left out of a first fit, the row leaves its class with neither rows nor a pull."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.zeros(40, dtype=int)
    X[0] += 4.0
    y[0] = 1
    clf = MixtureClassifier("skew_t", covariance="shrunk", mechanism=None).fit(X, y)
    assert np.isfinite(clf.shrinkage_).all()
