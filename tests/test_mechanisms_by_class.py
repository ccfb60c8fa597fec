"""Mechanisms in which the chance of a label depends on the class: optima, recovery, resolve."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal

from hesitant import MixtureClassifier, load, save
from hesitant.exceptions import FitWarning
from hesitant.labels import encode
from hesitant.mechanisms import (
    ArandaOrdaz,
    ClassMechanism,
    EntropyClassMechanism,
    EntropyMechanism,
)
from hesitant.uncertainty import Margin


@pytest.mark.parametrize("mechanism", ["class", "entropy+class"])
@pytest.mark.parametrize("solver", ["quasi_newton", "one_step_late", "profile"])
@pytest.mark.parametrize("name", ["train_00.csv", "train_01.csv", "train_02.csv", "train_03.csv"])
def test_maximum_is_that_of_automatic_differentiation(
    simulated, class_optima, name, solver, mechanism
):
    X, y, _ = simulated(name)
    clf = MixtureClassifier(mechanism=mechanism, reg_covar=0, solver=solver, tol=1e-9).fit(X, y)
    answer = class_optima[name][mechanism]
    assert clf.log_likelihood_ == pytest.approx(answer["log_likelihood"], abs=1e-6)
    np.testing.assert_allclose(clf.mechanism_.intercept_, answer["intercepts"], atol=1e-4)
    if mechanism == "entropy+class":
        assert clf.mechanism_.coef_[0] == pytest.approx(answer["slope"], abs=1e-3)


def by_class(n=3000, rates=(0.9, 0.3), seed=0, apart=2.0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.5).astype(int)
    X = rng.standard_normal((n, 2)) + apart * truth[:, None] * np.array([1.0, 0.3])
    return X, np.where(rng.random(n) < np.array(rates)[truth], truth, -1), truth


def test_likelihood_is_the_sum_over_the_unknown_class():
    # Written out once more, with SciPy's densities: a blank is a sum over both classes.
    X, y, _ = by_class(200)
    clf = MixtureClassifier(mechanism="entropy+class").fit(X, y)
    joint = np.column_stack(
        [
            np.log(w) + multivariate_normal(m, c).logpdf(X)
            for w, m, c in zip(clf.weights_, clf.means_, clf.covariances_, strict=True)
        ]
    )
    log_tau = joint - logsumexp(joint, axis=1, keepdims=True)
    entropy = -(np.exp(log_tau) * log_tau).sum(axis=1)
    p = expit(clf.mechanism_.intercept_ + clf.mechanism_.coef_[0] * entropy[:, None])
    seen = y >= 0
    value = (joint + np.log(p))[seen, y[seen]].sum()
    value += logsumexp((joint + np.log1p(-p))[~seen], axis=1).sum()
    assert clf.log_likelihood_ == pytest.approx(value, abs=1e-8)
    rho = np.exp(joint + np.log1p(-p))[~seen]
    resolved = clf.resolve(X, y)
    np.testing.assert_allclose(resolved[~seen], rho / rho.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_array_equal(resolved[seen], np.eye(2)[y[seen]])
    np.testing.assert_allclose(clf.labelling_probability(X), (np.exp(log_tau) * p).sum(axis=1))


def test_intercepts_are_recovered_and_covered():
    X, y, _ = by_class(20_000, apart=3.0)
    clf = MixtureClassifier(mechanism="entropy+class").fit(X, y)
    truth = np.log(np.array([0.9, 0.3]) / np.array([0.1, 0.7]))
    table = clf.summary().set_index("parameter")
    for name, value in zip(("intercept[0]", "intercept[1]"), truth, strict=True):
        assert abs(table.estimate[name] - value) < 4 * table.std_error[name] < 1
    assert abs(table.estimate["coef[u]"]) < 4 * table.std_error["coef[u]"]


def test_labels_missing_by_class_do_not_mislead_it():
    errors = {}
    for mechanism in (None, "entropy", "class", "entropy+class"):
        wrong = []
        for seed in range(4):
            X, y, _ = by_class(500, seed=seed)
            new, _, truth = by_class(4000, seed=100 + seed)
            clf = MixtureClassifier(mechanism=mechanism).fit(X, y)
            wrong.append(np.mean(clf.predict(new) != truth))
        errors[mechanism] = np.mean(wrong)
    assert errors["entropy+class"] < errors["entropy"] - 0.01
    assert errors["entropy+class"] < errors[None]
    assert abs(errors["entropy+class"] - errors["class"]) < 0.005


@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_equal_intercepts_are_the_old_mechanism(paper, build, basis):
    X, y, _ = paper
    found = []
    for mechanism in (
        EntropyMechanism(basis=basis),
        EntropyClassMechanism(basis=basis, tilt=[0, 0]),
    ):
        likelihood, state = build(X, encode(y).codes, mechanism)
        found.append(likelihood.evaluate(state))
    old, new = found
    assert new.objective == pytest.approx(old.objective, rel=1e-14)
    np.testing.assert_allclose(new.theta_gradient, old.theta_gradient, rtol=1e-11, atol=1e-10)
    for a, b in zip((new.counts, *new.statistics), (old.counts, *old.statistics), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_a_blank_that_nobody_saw_says_nothing():
    X, y, _ = by_class(400)
    clf = MixtureClassifier(mechanism="class").fit(X, y)
    blank, reviewed = y < 0, np.arange(400) % 2 == 0
    resolved = clf.resolve(X, y, reviewed=reviewed)
    np.testing.assert_allclose(
        resolved[blank & ~reviewed], clf.predict_proba(X)[blank & ~reviewed], atol=1e-15
    )
    # Nor do rows without y; rows checked with theirs keep it.
    unseen = clf.resolve(X, np.full(400, -1), reviewed=np.zeros(400, dtype=bool))
    np.testing.assert_allclose(clf.resolve(X), unseen, atol=1e-15)
    np.testing.assert_array_equal(clf.resolve(clf.check(X, y, None, reviewed)), resolved)
    # The class that is seldom labelled gains from a blank.
    assert (resolved[blank & reviewed, 1] > clf.predict_proba(X)[blank & reviewed, 1]).all()


@pytest.mark.parametrize("family", ["t", "skew_normal"])
@pytest.mark.parametrize("covariance", ["tied", "diag"])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_families_and_covariances(family, covariance):
    X, y, _ = by_class(600)
    clf = MixtureClassifier(family, covariance=covariance, mechanism="entropy+class").fit(X, y)
    assert clf.converged_
    assert clf.mechanism_.intercept_.shape == (2,)
    assert clf.mechanism_.intercept_[0] > clf.mechanism_.intercept_[1] + 1


def test_samples_lose_labels_by_class():
    X, y, _ = by_class(2000, apart=6.0)
    clf = MixtureClassifier(mechanism="class").fit(X, y)
    _, truth, labels = clf.sample(5000, random_state=0)
    shares = [np.mean(labels[truth == h] >= 0) for h in (0, 1)]
    np.testing.assert_allclose(shares, [0.9, 0.3], atol=0.04)


def test_alpha_with_a_mechanism_weighs_features_and_leaves_the_pattern():
    # Maximised over the mechanism's slope and one mean by SciPy, everything else held.
    X, y, _ = by_class(300)
    clf = MixtureClassifier(covariance="spherical", alpha=0.8, tol=1e-10).fit(X, y)
    seen = y >= 0

    def objective(v, base=clf):
        joint = np.column_stack(
            [
                np.log(w) + multivariate_normal(m, c).logpdf(X)
                for w, m, c in zip(base.weights_, v[:4].reshape(2, 2), base.covariances_)  # noqa: B905
            ]
        )
        log_f = logsumexp(joint, axis=1)
        log_tau = joint - log_f[:, None]
        entropy = -(np.exp(log_tau) * log_tau).sum(axis=1)
        eta = v[4] + v[5] * entropy
        value = 1.6 * joint[seen, y[seen]].sum() + 0.4 * log_f[~seen].sum()
        return -(value + np.where(seen, eta, 0).sum() - np.logaddexp(0, eta).sum())

    at = np.concatenate((clf.means_.ravel(), [clf.mechanism_.intercept_], clf.mechanism_.coef_))
    best = minimize(objective, at, method="BFGS", options={"gtol": 1e-6})
    assert objective(at) - best.fun < 1e-5
    with pytest.warns(FitWarning, match="sandwich"):
        clf.summary()


def test_measures_and_links_of_their_own():
    X, y, _ = by_class(1500, rates=(0.7, 0.7))
    by_margin = MixtureClassifier(mechanism=EntropyMechanism(uncertainty=Margin())).fit(X, y)
    assert by_margin.entropy(X).max() <= 1
    plain = MixtureClassifier().fit(X, y)
    fixed = MixtureClassifier(mechanism=EntropyMechanism(link=ArandaOrdaz(1.0))).fit(X, y)
    assert fixed.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-5)
    free = MixtureClassifier(mechanism=EntropyMechanism(link="aranda_ordaz")).fit(X, y)
    assert free.log_likelihood_ > plain.log_likelihood_ - 1e-6
    assert free.mechanism_.link_shape_ > 0
    assert "link shape" in set(free.summary().parameter)


def test_a_class_without_labels_stays_finite():
    X, y, truth = by_class(400, apart=5.0)
    y = np.where(truth == 1, -1, y)
    with pytest.warns(FitWarning, match=r"hardly determine intercept\[1\]"):
        clf = MixtureClassifier(mechanism="entropy+class", classes=[0, 1]).fit(X, y)
    assert np.isfinite(clf.mechanism_.parameters_).all()
    assert np.isfinite(clf.resolve(X, y)).all()


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (EntropyClassMechanism(tilt=[0.0]), r"tilt=\[0.0\]: give 2 finite numbers"),
        (EntropyMechanism(link=ArandaOrdaz(-1)), "shape=-1: give a number from 1e-06"),
        (EntropyMechanism(link="probit"), "link='probit'"),
    ],
)
def test_wrong_settings(mechanism, message):
    X, y, _ = by_class(60)
    with pytest.raises(ValueError, match=message):
        MixtureClassifier(mechanism=mechanism).fit(X, y)


def test_questions_after_the_fit(tmp_path):
    X, y, _ = by_class(300)
    clf = MixtureClassifier(mechanism="entropy+class").fit(X, y)
    assert clf.efficiency(n_draws=2000, random_state=0).error_efficiency["full / ignorance"] > 0
    assert len(clf.triage(X, y, top=5)) == 5
    assert clf.bootstrap(X, y, n_boot=3, random_state=0).parameters[-3] == "intercept[0]"
    assert clf.diagnose(X, y).verdict
    save(clf, tmp_path / "by_class.hesitant")
    again = load(tmp_path / "by_class.hesitant")
    np.testing.assert_array_equal(again.resolve(X, y), clf.resolve(X, y))
    np.testing.assert_array_equal(again.labelling_probability(X), clf.labelling_probability(X))


@pytest.mark.parametrize("mechanism", [ClassMechanism(), EntropyClassMechanism(basis="spline")])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_as_objects_for_any_number_of_classes(three_classes, mechanism):
    X, y = three_classes
    clf = MixtureClassifier(mechanism=mechanism).fit(X, y)
    assert clf.mechanism_.intercept_.shape == (3,)
    assert [n for n in clf.mechanism_.parameter_names if n.startswith("intercept")] == [
        "intercept[a]",
        "intercept[b]",
        "intercept[c]",
    ]
