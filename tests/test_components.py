"""Classes of several components: a family like any other, and what it is for."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

import hesitant
from helpers_families import Exponential
from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.diagnostics import RegionsDisplay
from hesitant.families import Components, Gaussian, Ranked, Shrunk, SkewNormal, StudentT
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism

CENTERS = np.array([[[0.0, 0.0], [6.4, 0.0]], [[3.2, 0.0], [9.6, 0.0]]])


def clumps(n, seed, blanks="random"):
    """Return two classes of two clumps each in a row, and the best rule's answers."""
    rng = np.random.default_rng(seed)
    truth, clump = rng.integers(2, size=(2, n))
    X = CENTERS[truth, clump] + rng.standard_normal((n, 2))
    joint = logsumexp(norm.logpdf(X[:, None, None] - CENTERS).sum(axis=3), axis=2)
    chance = 1 / (1 + np.exp(joint[:, 0] - joint[:, 1]))
    entropy = -np.log(np.maximum(chance, 1 - chance))
    seen = rng.random(n) < (0.6 if blanks == "random" else 1 / (1 + np.exp(6 * entropy - 1.5)))
    return X, np.where(seen, truth, -1), truth, (chance > 0.5).astype(int)


@pytest.mark.parametrize("blanks", ["random", "difficulty"])
def test_clumps_are_found(blanks):
    X_test, _, truth, best = clumps(20_000, 99)
    lowest = np.mean(best != truth)
    excess, single = [], []
    for seed in range(2):
        X, y, _, _ = clumps(600, seed, blanks)
        mechanism = None if blanks == "random" else "entropy"
        clf = MixtureClassifier(components="auto", mechanism=mechanism).fit(X, y)
        assert clf.family_.components == [2, 2]
        excess.append(np.mean(clf.predict(X_test) != truth) - lowest)
        one = MixtureClassifier(mechanism=mechanism).fit(X, y)
        single.append(np.mean(one.predict(X_test) != truth) - lowest)
    assert np.mean(excess) < 0.005
    assert np.mean(single) > 0.1


@pytest.mark.parametrize("covariance", ["full", "tied", "shrunk"])
@pytest.mark.parametrize("family", [Gaussian(), StudentT(), SkewNormal()], ids=str)
def test_gradient(build, family, covariance):
    X, y, _, _ = clumps(150, 0)
    likelihood, state = build(
        X,
        encode(y).codes,
        EntropyMechanism(),
        family=Components(family, [3, 2]),
        covariance=covariance,
    )
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    there = 0.3 * np.random.default_rng(0).standard_normal(chart.size)
    at = chart.decode(there)
    analytic = chart.gradient(at, likelihood.evaluate(at))
    numeric = [
        likelihood.evaluate(chart.decode(there + e)).objective
        - likelihood.evaluate(chart.decode(there - e)).objective
        for e in 1e-4 * np.eye(chart.size)
    ]
    size = np.abs(analytic).max()
    np.testing.assert_allclose(analytic, np.array(numeric) / 2e-4, rtol=1e-5, atol=1e-6 * size)


def test_em_climbs_to_where_gradients_lead():
    X, y, _, _ = clumps(300, 1)
    em = MixtureClassifier(components=2, mechanism=None, solver="em", max_iter=5000).fit(X, y)
    newton = MixtureClassifier(components=2, mechanism=None).fit(X, y)
    late = MixtureClassifier(components=2, mechanism=None, solver="one_step_late").fit(X, y)
    assert np.diff(em.history_).min() > -1e-9 * abs(em.history_[-1])
    assert em.log_likelihood_ == pytest.approx(newton.log_likelihood_, abs=1e-3)
    assert late.log_likelihood_ == pytest.approx(newton.log_likelihood_, abs=1e-3)


def test_optimum_against_another_optimiser():
    X, y, _, _ = clumps(150, 2)
    clf = MixtureClassifier(components=2, covariance="spherical", mechanism=None, reg_covar=0)
    clf.fit(X, y)

    def negative(v):
        means, scales = v[:8].reshape(4, 2), np.exp(v[8:12])
        logits = np.stack((v[12:14], np.zeros(2)))
        shares = (logits - logsumexp(logits, axis=0)).T  # of components, in each class
        pi = -np.logaddexp(0, [-v[14], v[14]])
        parts = norm.logpdf(X[:, None], means, scales[:, None]).sum(axis=2).reshape(-1, 2, 2)
        joint = logsumexp(parts + shares, axis=2) + pi
        known = joint[np.arange(len(y)), y]
        rows = np.where(y >= 0, known, logsumexp(joint, axis=1))
        return -rows.sum() - 0.5 * (shares + np.log(2)).sum()

    rough = np.concatenate((CENTERS.ravel(), np.zeros(7)))
    found = minimize(negative, rough, method="BFGS")
    assert clf.history_[-1] == pytest.approx(-found.fun, abs=1e-4)


# Log-likelihoods of the two classes by mclust 6.0.0: MclustDA(X, truth, G=2, modelNames="VVI")
# and "VVV", with emControl(tol=c(1e-14, 1e-14)).
MCLUST_DA = {"diag": [-958.690432013, -1144.471044803], "full": [-956.821205716, -1143.698400785]}


@pytest.mark.parametrize("covariance", MCLUST_DA)
def test_with_all_labels_each_class_is_a_mixture_of_its_own(covariance):
    # Mixture discriminant analysis: scikit-learn's mixture of each class has the same likelihood.
    X, _, truth, _ = clumps(600, 0)
    expected = 0.0
    for h in range(2):
        own = X[truth == h]
        mixture = GaussianMixture(
            2, covariance_type=covariance, n_init=3, tol=1e-10, max_iter=2000, reg_covar=1e-9
        )
        expected += len(own) * (mixture.fit(own).score(own) + np.log(len(own) / len(X)))
    free = Shrunk(0.0, 0.0, 0.0) if covariance == "full" else covariance
    clf = MixtureClassifier(covariance=free, components=2, mechanism=None, tol=1e-9)
    found = clf.fit(X, truth).log_likelihood_
    assert found == pytest.approx(expected, abs=1e-4)
    shares = np.bincount(truth) * np.log(np.bincount(truth) / len(X))
    assert found == pytest.approx(sum(MCLUST_DA[covariance]) + shares.sum(), abs=1e-4)


def test_pictures_outline_every_component():
    X, y, _, _ = clumps(300, 0)
    clf = MixtureClassifier(components={0: 2}, mechanism=None).fit(X, y)
    display = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=20)
    assert [h for h, _ in display.outlines] == [0, 0, 1]
    for (_, line), k in zip(display.outlines, range(3), strict=True):
        apart = line - clf.component_means_[k]
        far = np.linalg.solve(clf.component_covariances_[k], apart.T).T
        # Half of a plane's normal rows are within this distance.
        np.testing.assert_allclose((apart * far).sum(axis=1), 2 * np.log(2), rtol=1e-6)
    drawn = [line.get_xydata() for line in display.ax_.get_lines()]
    assert all(any(np.array_equal(line, d) for d in drawn) for _, line in display.outlines)


def test_command_line(run):
    X, y, _, _ = clumps(200, 0)
    rows = "".join(f"{a},{b},{k}\n" for (a, b), k in zip(X, y, strict=True))
    Path("a.csv").write_text(f"a,b,label\n{rows}")
    code, _, _ = run("analyse", "a.csv", "--label", "label", "--components", "2", "--quiet")
    assert code == 0
    assert hesitant.load("a.model").component_weights_.shape == (4,)
    code, _, error = run("analyse", "a.csv", "--label", "label", "--components", "two", "--force")
    assert code == 1
    assert "--components two: give a whole number" in error


def test_one_component_is_the_family_itself():
    X, y, _, _ = clumps(200, 3)
    one = MixtureClassifier(components={0: 1}).fit(X, y)
    plain = MixtureClassifier().fit(X, y)
    # But for a prior of one row's worth, which keeps components from shrinking onto few rows.
    assert one.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=0.02)
    assert one.n_parameters_ == plain.n_parameters_
    np.testing.assert_allclose(one.covariances_, plain.covariances_, rtol=0.05, atol=0.05)


def test_attributes_summary_and_draws():
    X, y, _, _ = clumps(400, 4)
    names = (
        np.array(["a", "b"])[y]
        if (y >= 0).all()
        else np.where(y < 0, None, np.take(["a", "b"], y))
    )
    clf = MixtureClassifier(components={"b": 2, "a": 3}, mechanism=None).fit(X, names)
    assert clf.family_.components == [3, 2]
    assert clf.component_classes_.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(np.bincount(clf.component_classes_, clf.component_weights_), 1)
    assert clf.component_means_.shape == (5, 2)
    assert clf.n_parameters_ == 1 + 5 * 5 + 3
    drawn, truth, _ = clf.sample(40_000, random_state=0)
    for h, name in enumerate(["a", "b"]):
        mine = drawn[truth == name]
        np.testing.assert_allclose(mine.mean(axis=0), clf.means_[h], atol=0.1)
        np.testing.assert_allclose(np.cov(mine.T), clf.covariances_[h], atol=0.4)
    table = MixtureClassifier(components=2, mechanism=None).fit(X, y).summary()
    errors = table.set_index("parameter")["std_error"]
    assert np.isfinite(errors).all()
    assert any(name.startswith("component_weight") for name in errors.index)


def test_saved_cloned_and_started_from(tmp_path):
    X, y, _, _ = clumps(300, 5)
    clf = MixtureClassifier(components="auto", covariance="shrunk").fit(X, y)
    hesitant.save(clf, tmp_path / "model.json")
    again = hesitant.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert clone(clf).components == "auto"
    started = clone(clf).set_params(init=clf).fit(X, y)
    assert started.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=0.05)
    single = MixtureClassifier(mechanism=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a component that shrank onto a few rows, say
        split = MixtureClassifier(components=2, mechanism=None, init=single).fit(X, y)
    joined = MixtureClassifier(mechanism=None, init=clf).fit(X, y)
    assert joined.log_likelihood_ == pytest.approx(single.log_likelihood_, abs=1e-3)
    assert split.log_likelihood_ > single.log_likelihood_ + 10


def test_a_family_of_ones_own():
    class Plain(Gaussian):
        def specialise(self, covariance, reg_covar):
            assert covariance in ("full", Shrunk(1.0, 0.0, 0.0))
            return super().specialise("diag", reg_covar)

    X, y, _, _ = clumps(200, 9)
    clf = MixtureClassifier(Plain(), components=2, mechanism=None).fit(X, y)
    assert np.abs(clf.component_covariances_[:, 0, 1]).max() == 0
    with pytest.raises(ValueError, match="component_classes"):
        MixtureClassifier(components=2, init={"component_weights": [1, 1]}).fit(X, y)


def test_names_follow_the_labels_after_clustering():
    X, y, truth, _ = clumps(600, 6)
    X = X + np.where(truth == 1, 30.0, 0.0)[:, None]  # far apart: a cluster each
    clf = MixtureClassifier(
        components=[2, 1], alpha=0, mechanism=None, random_state=0, n_init=3
    ).fit(X, y)
    assert np.mean(clf.predict(X) == truth) > 0.99


def test_empty_cells():
    X, y, _, _ = clumps(300, 7)
    torn = X.copy()
    torn[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    clf = MixtureClassifier(components=2, mechanism=None).fit(torn, y)
    row = np.array([[np.nan, 1.0]])
    expected = [
        np.log(
            sum(
                clf.component_weights_[k]
                * multivariate_normal(
                    clf.component_means_[k, 1], clf.component_covariances_[k, 1, 1]
                ).pdf(1.0)
                for k in np.flatnonzero(clf.component_classes_ == h)
            )
        )
        for h in range(2)
    ]
    np.testing.assert_allclose(
        clf.family_.log_density(clf.state_.params, row)[0], expected, rtol=1e-9
    )
    assert np.mean(clf.predict(X) == MixtureClassifier(components=2).fit(X, y).predict(X)) > 0.97


def test_too_many_components_are_said():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((40, 1)), 8 + rng.standard_normal((40, 1))]
    y = np.repeat([0, 1], 40)
    with pytest.warns(hesitant.FitWarning) as seen:
        MixtureClassifier(components=20, mechanism=None, max_iter=100).fit(X, y)
    assert "free parameters" in " ".join(str(w.message) for w in seen)


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True, {"a": 0}, [2], None])
def test_wrong_numbers_are_named(value):
    X, y, _, _ = clumps(60, 8)
    with pytest.raises(ValueError, match="components"):
        MixtureClassifier(components=value).fit(X, y)
    with pytest.raises(ValueError, match="components names the class 'c'"):
        MixtureClassifier(components={"c": 2}).fit(X, y)


def test_families_that_are_no_components():
    X, y, _, _ = clumps(100, 0)
    with pytest.raises(ValueError, match="components=2 cannot be combined with Ranked"):
        MixtureClassifier(Ranked(), components=2).fit(X, y)
    clf = MixtureClassifier(Ranked(Components(Gaussian(), 2)), mechanism=None).fit(X, y)
    assert clf.score(X[y >= 0], y[y >= 0]) > 0.8


def test_components_have_the_methods_of_their_family():
    X, y, _, _ = clumps(100, 0)
    clf = MixtureClassifier(Exponential(), components=2, mechanism=None).fit(np.abs(X), y)
    assert not clf.family_.has_from_attributes
    assert clf.bootstrap(np.abs(X), y, n_boot=2, random_state=0).n_failed == 0
