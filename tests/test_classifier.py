"""The estimator: what it shows, what it predicts, and how it fits into scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from hesitant import MixtureClassifier
from hesitant.mechanisms import EntropyMechanism, Ignorable
from hesitant.uncertainty import Renyi


@pytest.fixture(scope="module")
def fitted(three_classes):
    X, y = three_classes
    return MixtureClassifier().fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing_label", [-1, None])
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_scikit_learn_checks(missing_label, covariance):
    expected = {}
    if missing_label == -1:
        expected = {"check_classifiers_classes": "trains on labels [-1, 1], and -1 marks a blank"}
    results = check_estimator(
        MixtureClassifier(missing_label=missing_label, covariance=covariance),
        expected_failed_checks=expected,
        on_skip=None,
    )
    passed = [r for r in results if r["status"] == "passed"]
    assert len(passed) >= 55


def test_fitted_attributes(fitted):
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert fitted.weights_.shape == (3,)
    assert fitted.weights_.sum() == pytest.approx(1)
    assert fitted.means_.shape == (3, 3)
    assert fitted.covariances_.shape == (3, 3, 3)
    assert np.linalg.eigvalsh(fitted.covariances_).min() > 0
    assert fitted.n_parameters_ == 2 + 9 + 18 + 2
    assert fitted.n_iter_ > len(fitted.history_) > 1  # warm-up steps climb another objective
    assert np.diff(fitted.history_).min() > -1e-9
    assert fitted.converged_
    assert "less than 1e-06" in fitted.termination_
    assert fitted.n_features_in_ == 3
    assert fitted.mechanism_.coef_.shape == (1,)
    assert fitted.mechanism_.coef_[0] < 0
    assert fitted.log_likelihood_ < 0


@pytest.mark.parametrize(
    ("covariance", "free"), [("full", 18), ("tied", 6), ("diag", 9), ("spherical", 3)]
)
def test_structures(three_classes, covariance, free):
    X, y = three_classes
    clf = MixtureClassifier(covariance=covariance, mechanism=None).fit(X, y)
    assert clf.n_parameters_ == 2 + 9 + free
    S = clf.covariances_
    if covariance == "tied":
        np.testing.assert_allclose(S[0], S[1])
    if covariance in ("diag", "spherical"):
        np.testing.assert_allclose(S * (1 - np.eye(3)), 0, atol=1e-14)
    if covariance == "spherical":
        np.testing.assert_allclose(S[0], S[0, 0, 0] * np.eye(3), rtol=1e-12)


def test_predictions_agree_with_each_other(fitted, three_classes):
    X, y = three_classes
    tau = fitted.predict_proba(X)
    np.testing.assert_allclose(np.log(tau), fitted.predict_log_proba(X), atol=1e-10)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[tau.argmax(axis=1)])
    e = fitted.entropy(X)
    np.testing.assert_allclose(e, -(tau * np.log(tau)).sum(axis=1), atol=1e-12)
    collision = fitted.entropy(X, Renyi(2))
    np.testing.assert_allclose(collision, -np.log((tau**2).sum(axis=1)), atol=1e-12)
    eta = fitted.mechanism_.intercept_ + fitted.mechanism_.coef_[0] * e
    np.testing.assert_allclose(fitted.labelling_probability(X), 1 / (1 + np.exp(-eta)))
    labelled = np.array([v is not None for v in y])
    accuracy = (fitted.predict(X[labelled]) == y[labelled]).mean()
    assert fitted.score(X[labelled], y[labelled]) == pytest.approx(accuracy)
    assert accuracy > 0.85


def test_score_samples_is_a_density(fitted):
    """The density integrates to one (importance sampling from a wide normal)."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200_000, 3)) * 4 + 1
    log_q = -0.5 * (((Z - 1) / 4) ** 2).sum(axis=1) - 3 * np.log(4 * np.sqrt(2 * np.pi))
    ratio = np.exp(fitted.score_samples(Z) - log_q)
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / np.sqrt(len(Z)))


def test_criteria(fitted, three_classes):
    X, y = three_classes
    value = fitted.log_likelihood(X, y)
    assert value == pytest.approx(fitted.log_likelihood_, rel=1e-12)
    assert fitted.aic(X, y) == pytest.approx(2 * fitted.n_parameters_ - 2 * value)
    assert fitted.bic(X, y) == pytest.approx(fitted.n_parameters_ * np.log(len(X)) - 2 * value)


def test_sample_comes_from_the_model(fitted):
    X, truth, y = fitted.sample(60_000, random_state=0)
    share = np.array([(truth == c).mean() for c in fitted.classes_])
    np.testing.assert_allclose(share, fitted.weights_, atol=0.01)
    for h, c in enumerate(fitted.classes_):
        np.testing.assert_allclose(X[truth == c].mean(axis=0), fitted.means_[h], atol=0.03)
        np.testing.assert_allclose(np.cov(X[truth == c].T), fitted.covariances_[h], atol=0.06)
    blank = np.array([v is None for v in y])
    assert (y[~blank] == truth[~blank]).all()
    assert (~blank).mean() == pytest.approx(fitted.labelling_probability(X).mean(), abs=0.01)
    again = fitted.sample(10, random_state=0)[0]
    np.testing.assert_array_equal(again, fitted.sample(10, random_state=0)[0])


def test_sample_marks_blanks_as_the_user_does(paper):
    X, y, _ = paper
    drawn = MixtureClassifier().fit(X, y).sample(500, random_state=1)[2]
    assert drawn.dtype.kind == "i"
    assert set(drawn) == {-1, 1, 2}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(three_classes, frame):
    X, y = three_classes
    names = ["x", "y", "z"]
    table = frame(dict(zip(names, X.T, strict=True)))
    clf = MixtureClassifier().fit(table, list(y))
    assert clf.feature_names_in_.tolist() == names
    np.testing.assert_allclose(clf.predict_proba(table), clf.fit(X, y).predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        MixtureClassifier().fit(table, list(y)).predict(table[["y", "x", "z"]])


def test_one_feature(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(X[:, 1:], y)
    assert clf.covariances_.shape == (2, 1, 1)
    assert clf.score(X[:, 1:], np.where(y < 0, clf.predict(X[:, 1:]), y)) > 0.9


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_pipeline_and_grid_search(paper):
    X, _, truth = paper
    pipe = make_pipeline(StandardScaler(), MixtureClassifier(missing_label=None))
    grid = GridSearchCV(
        pipe,
        {
            "mixtureclassifier__mechanism": [None, "entropy", EntropyMechanism(order=2)],
            "mixtureclassifier__covariance": ["full", "tied"],
        },
        cv=3,
        scoring="neg_log_loss",
    ).fit(X, truth)
    assert len(grid.cv_results_["params"]) == 6
    assert grid.best_score_ > -0.5
    grid = GridSearchCV(
        MixtureClassifier(mechanism=EntropyMechanism()), {"mechanism__order": [0.5, 1, 2]}, cv=3
    ).fit(X, truth)
    assert set(grid.cv_results_["param_mechanism__order"]) == {0.5, 1, 2}


def test_metadata_routing(three_classes):
    X, y = three_classes
    shown = np.arange(len(X)) % 3 > 0
    weight = np.linspace(0.5, 1.5, len(X))
    direct = MixtureClassifier().fit(X, y, sample_weight=weight, reviewed=shown)
    with sklearn.config_context(enable_metadata_routing=True):
        step = MixtureClassifier().set_fit_request(sample_weight=True, reviewed=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), step)
        pipe.fit(X, y, sample_weight=weight, reviewed=shown)
    routed = pipe[-1].labelling_probability(pipe[:-1].transform(X))
    np.testing.assert_allclose(routed, direct.labelling_probability(X), atol=1e-3)
    assert not np.allclose(
        routed, MixtureClassifier().fit(X, y).labelling_probability(X), atol=1e-3
    )


def test_clone_and_pickle(fitted, three_classes):
    X, _ = three_classes
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    model = MixtureClassifier(mechanism=EntropyMechanism(order=2, basis="spline"), n_init=3)
    copy = clone(model)
    assert copy.mechanism is not model.mechanism
    assert repr(copy) == repr(model)


def test_fit_changes_no_parameter(three_classes):
    X, y = three_classes
    mechanism = EntropyMechanism(order=2.0)
    clf = MixtureClassifier(mechanism=mechanism)
    before = repr(clf)
    clf.fit(X, y)
    assert repr(clf) == before
    assert clf.mechanism is mechanism
    assert not hasattr(mechanism, "coef_")


def test_ignorable_is_no_mechanism(three_classes):
    X, y = three_classes
    none = MixtureClassifier(mechanism=None).fit(X, y)
    ignorable = MixtureClassifier(mechanism=Ignorable()).fit(X, y)
    assert none.log_likelihood_ == ignorable.log_likelihood_
    rate = np.mean([v is not None for v in y])
    np.testing.assert_allclose(none.labelling_probability(X), rate)
    assert none.mechanism_.coef_.size == 0
    assert none.mechanism_.intercept_ == pytest.approx(np.log(rate / (1 - rate)))


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_seed_makes_restarts_repeatable(three_classes):
    X, y = three_classes
    options = {"classes": ["a", "b", "c", "d"], "mechanism": None, "n_init": 3}
    one, two = (MixtureClassifier(random_state=4, **options).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.means_, two.means_)


def test_verbose_prints_stages(three_classes, capsys):
    X, y = three_classes
    MixtureClassifier(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "EM" in lines[0]
    assert "quasi-Newton" in lines[1]
    MixtureClassifier(verbose=2).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) > 8


def test_max_iter_is_said(three_classes):
    X, y = three_classes
    with pytest.warns(UserWarning, match="did not converge.*max_iter=4"):
        clf = MixtureClassifier(max_iter=4).fit(X, y)
    assert not clf.converged_
    assert clf.n_iter_ == 4
    assert "max_iter=4" in clf.termination_


def test_evidence_methods_are_the_functions(paper):
    """The thin methods answer as the functions behind them do."""
    from hesitant import diagnostics, inference

    X, y, _ = paper
    clf = MixtureClassifier().fit(X, y)
    assert clf.summary(X, y).equals(inference.summary(clf, X, y))
    assert clf.triage(X, y).equals(diagnostics.triage(clf, X, y))
    assert clf.information(X, y).to_dict() == inference.information(clf, X, y).to_dict()
    assert clf.diagnose(X, y).to_dict() == diagnostics.diagnose(X, y, estimator=clf).to_dict()
    assert (
        clf.bootstrap(X, y, n_boot=3, random_state=0).to_frame().shape[0] == clf.n_parameters_ + 1
    )
    assert clf.efficiency(n_draws=2000, random_state=0).to_frame().shape[0] > 0
    assert len(clf.report(X, y).to_dict()) > 5


def test_score_is_of_labelled_rows(paper):
    X, y, truth = paper
    clf = MixtureClassifier().fit(X, y)
    seen = np.asarray(y) != -1
    expected = (clf.predict(X)[seen] == truth[seen]).mean()
    assert clf.score(X, y) == pytest.approx(expected)
    assert clf.score(X, truth) == pytest.approx((clf.predict(X) == truth).mean())
    weight = np.random.default_rng(0).uniform(size=len(X))
    assert clf.score(X, y, weight) == pytest.approx(
        np.average((clf.predict(X) == truth)[seen], weights=weight[seen])
    )
    blanks = np.where(seen, y, None)
    assert clf.score(X, blanks) == clf.score(X, y)
    assert np.isfinite(cross_val_score(MixtureClassifier(), X, blanks, cv=3)).all()
    with pytest.raises(ValueError, match="no label"):
        clf.score(X, np.full(len(X), -1))


def test_criteria_do_not_follow_data_that_changed(paper):
    X, y, _ = paper
    X = np.array(X)
    clf = MixtureClassifier().fit(X, y)
    before = clf.aic(), clf.bic()
    assert before == pytest.approx((clf.aic(X, y), clf.bic(X, y)))
    X *= 3
    assert (clf.aic(), clf.bic()) == before
    reviewed = np.arange(len(X)) % 2 == 0
    some = MixtureClassifier().fit(X, y, reviewed=reviewed)
    assert some.bic(X, y, reviewed=reviewed) == pytest.approx(some.bic())


def test_sparse_features_are_refused_in_words(paper):
    X, y, _ = paper
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        MixtureClassifier().fit(csr_array(np.asarray(X)), y)
