"""Choosing and combining models by rows held out."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from helpers import ring
from hesitant import FitWarning, MixtureClassifier, MixtureClassifierCV, load, save
from hesitant.datasets import simulate
from hesitant.families import KernelDensity, Ranked
from hesitant.model_selection import LabelledKFold, labelled_scorer, seen_probability
from hesitant.model_selection._held_out import paired_gaps, stack_weights

FEW = [
    MixtureClassifier(covariance="tied", mechanism=None),
    MixtureClassifier(mechanism=None),
    MixtureClassifier(),
    MixtureClassifier(mechanism=None, alpha=1.0),
]


@pytest.fixture(scope="module")
def data():
    return simulate(n=300, random_state=3)


@pytest.fixture(scope="module")
def fitted(data):
    return MixtureClassifierCV(FEW, cv=3, random_state=0).fit(data.features, data.labels)


def test_weights_are_the_best_convex_combination():
    rng = np.random.default_rng(0)
    score, weight = np.log(rng.dirichlet([1, 1], (80, 4))[:, :, 0]), rng.random(80) + 0.5
    prior = np.array([0.5, 0.5, 1.0, 0.1])

    def objective(v):
        log_w = log_softmax(v)
        return -(weight @ logsumexp(score + log_w, axis=1) + prior @ log_w)

    w = stack_weights(score, weight, prior)
    best = minimize(objective, np.zeros(4), tol=1e-10)
    assert w.sum() == pytest.approx(1)
    assert objective(np.log(w)) <= best.fun + 1e-6
    assert w == pytest.approx(np.exp(log_softmax(best.x)), abs=1e-3)


def test_paired_gaps_count_weights_as_rows():
    score = np.array([[0.0, -1.0], [0.0, 0.0], [-0.5, 0.0]])
    gap, _ = paired_gaps(score, np.array([2.0, 1.0, 1.0]), 0)
    assert gap == pytest.approx([0.0, (2 * 1.0 - 0.5) / 4])


def test_probabilities_of_what_is_seen_add_up(data):
    for mechanism in (None, "entropy", "class", "entropy+class"):
        clf = MixtureClassifier(mechanism=mechanism).fit(data.features, data.labels)
        said = seen_probability(clf, data.features)
        assert said.sum(axis=1) == pytest.approx(1)
        assert (said >= 0).all()


def test_a_combination_answers(data, fitted):
    X, y = data.features, data.labels
    tau = fitted.predict_proba(X)
    assert tau.sum(axis=1) == pytest.approx(1)
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    assert fitted.score(X, data.truth) > 0.85
    assert fitted.name_ == max(fitted.models_, key=fitted.weights_.get)
    assert fitted.entropy(X).shape == fitted.labelling_probability(X).shape == (300,)
    resolved = fitted.resolve(X, y)
    unseen = fitted.resolve(X, np.full(len(X), -1), np.zeros(len(X), dtype=bool))
    np.testing.assert_allclose(fitted.resolve(X), unseen, atol=1e-12)
    assert resolved[data.labelled].max(axis=1) == pytest.approx(1)
    assert resolved.sum(axis=1) == pytest.approx(1)
    assert fitted.name_ in fitted.triage(X, y, top=3).attrs["model"]
    assert fitted.name_ in fitted.diagnose(X, y).remarks[-1]
    held_out = fitted.held_out_proba_
    assert np.isfinite(held_out).all()
    assert (held_out.argmax(axis=1) == data.truth).mean() > 0.8


def test_the_blanks_decide_between_mechanisms(data):
    """The paper's blanks are about difficulty: what was seen says so, the labels hardly do."""
    pair = [MixtureClassifier(mechanism=None), MixtureClassifier()]
    clf = MixtureClassifierCV(pair, random_state=0).fit(data.features, data.labels)
    assert list(clf.models_) == ["gaussian, full, entropy"]
    blind = np.random.default_rng(0).permutation(300) < 150
    at_random = np.where(blind, -1, data.truth)
    clf = MixtureClassifierCV(pair, random_state=0).fit(data.features, at_random)
    assert list(clf.models_) == ["gaussian, full, none"]


@pytest.mark.parametrize("combine", ["best", "one_se"])
def test_one_is_kept(data, combine):
    clf = MixtureClassifierCV(FEW, cv=3, combine=combine, random_state=0)
    clf.fit(data.features, data.labels)
    assert len(clf.models_) == 1
    assert clf.predict_proba(data.features) == pytest.approx(
        clf.model_.predict_proba(data.features)
    )


@pytest.mark.parametrize("scoring", ["log_loss", "seen", "weighted_log_loss"])
def test_scores(data, scoring):
    clf = MixtureClassifierCV(FEW, cv=3, scoring=scoring, random_state=0)
    clf.fit(data.features, data.labels)
    assert np.isfinite(clf.cv_results_["mean_score"][0])
    assert min(g for g in clf.cv_results_["gap"] if g == g) == 0


def test_auto_names_strings_weights_and_reviewed(three_classes):
    X, y = three_classes
    frame = pd.DataFrame(X[:200], columns=["a", "b", "c"])
    clf = MixtureClassifierCV(cv=2, random_state=0)
    clf.fit(frame, y[:200], sample_weight=np.ones(200), reviewed=np.arange(200) % 5 > 0)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.model_.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(clf.predict(frame)) <= {"a", "b", "c"}
    assert sum(v == 0 for v in clf.weights_.values()) > len(clf.weights_) / 2
    assert len(clf.summary()) > 3


def test_the_same_for_any_number_of_jobs(data, fitted):
    two = MixtureClassifierCV(FEW, cv=3, random_state=0, n_jobs=2)
    two.fit(data.features, data.labels)
    assert two.weights_ == fitted.weights_
    assert np.array_equal(two.predict_proba(data.features), fitted.predict_proba(data.features))


def test_pickles_and_model_files(data, fitted, tmp_path):
    kept = load(save(fitted, tmp_path / "some.model"))
    for again in (pickle.loads(pickle.dumps(fitted)), kept):
        assert again.weights_ == fitted.weights_
        assert np.array_equal(
            again.predict_proba(data.features), fitted.predict_proba(data.features)
        )


def test_what_fails_is_left_out_and_named(data):
    bad = MixtureClassifier(covariance="round")
    clf = MixtureClassifierCV([*FEW, bad], cv=3, random_state=0)
    with pytest.warns(FitWarning, match="1 of 5 candidates.*round"):
        clf.fit(data.features, data.labels)
    assert clf.weights_["gaussian, round, entropy"] == 0
    with pytest.raises(ValueError, match=r"No candidate could be fitted\. .*round"):
        MixtureClassifierCV([bad]).fit(data.features, data.labels)


def test_splits_are_given_as_scikit_learn_takes_them(data):
    X, y = data.features, data.labels
    splits = list(LabelledKFold(3, random_state=0).split(X, y))
    fits = [MixtureClassifierCV(FEW[:1], cv=cv).fit(X, y) for cv in (splits, iter(splits))]
    assert np.array_equal(fits[0].held_out_proba_, fits[1].held_out_proba_, equal_nan=True)
    assert np.isfinite(fits[0].held_out_proba_[data.labelled]).all()
    with pytest.raises(TypeError, match="cv=None: give a whole number >= 2"):
        MixtureClassifierCV(FEW[:1], cv=None).fit(X, y)
    for wrong in ("five", 2.5):
        with pytest.raises(ValueError, match=f"Expected `?cv`? as an integer.*Got {wrong}"):
            MixtureClassifierCV(FEW[:1], cv=wrong).fit(X, y)


def test_blanks_are_no_class_to_splits_and_scores(data):
    X, y = data.features, data.labels
    cv = LabelledKFold(4, random_state=0)
    for train, test in cv.split(X, y):
        assert data.labelled[test].all()
        assert np.isin(np.flatnonzero(~data.labelled), train).all()
    everything = LabelledKFold(4, hold_out_blanks=True, random_state=0)
    held_out = np.concatenate([test for _, test in everything.split(X, y)])
    assert sorted(held_out) == list(range(300))
    clf = MixtureClassifier()
    right = cross_val_score(clf, X, y, cv=cv, scoring=labelled_scorer("accuracy"))
    assert right.mean() > 0.85
    naive = cross_val_score(clf, X, np.where(data.labelled, data.truth, -1), scoring="accuracy")
    assert naive.mean() < 0.75
    for scoring in ("log_probability", "seen", "neg_log_loss"):
        assert (cross_val_score(clf, X, y, cv=cv, scoring=labelled_scorer(scoring)) < 0).all()
    with pytest.raises(ValueError, match="no label"):
        labelled_scorer("accuracy")(clf.fit(X, y), X, np.full(300, -1))


def test_a_pipeline_a_grid_and_routing(data):
    X, y = data.features, data.labels
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), MixtureClassifierCV(FEW, cv=2, random_state=0)),
        {"mixtureclassifiercv__combine": ["stack", "best"]},
        cv=LabelledKFold(2, random_state=0),
        scoring=labelled_scorer("log_probability"),
    )
    assert grid.fit(X, y).best_score_ > np.log(0.5)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = MixtureClassifierCV(FEW[:2], cv=2, random_state=0)
        clf.set_fit_request(sample_weight=True, reviewed=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        pipe.fit(X, y, sample_weight=np.ones(300), reviewed=np.ones(300, dtype=bool))
    assert pipe.score(X, data.truth) > 0.8


def test_empty_cells(data):
    X = data.features.copy()
    X[::9, 0] = np.nan
    clf = MixtureClassifierCV(FEW, cv=2, random_state=0).fit(X, data.labels)
    assert clf.score(X, data.truth) > 0.75


@pytest.mark.slow
def test_classes_that_are_labelled_more_readily_are_allowed_for(tmp_path):
    rng, X, truth = ring(600, 0)
    chance, blank = np.array([0.9, 0.3]), rng.random(600)
    y = np.where(blank < chance[truth], truth, -1)
    clf = MixtureClassifierCV(random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.label_rates_, chance, atol=0.1)
    hidden = y < 0
    reviewed = np.arange(600) % 3 > 0
    resolved, proba = clf.resolve(X, y, reviewed), clf.predict_proba(X)
    np.testing.assert_array_equal(resolved[~hidden], np.eye(2)[truth[~hidden]])
    np.testing.assert_allclose(resolved[hidden & ~reviewed], proba[hidden & ~reviewed])
    assert (resolved[hidden & reviewed, 1] > proba[hidden & reviewed, 1]).all()
    np.testing.assert_array_equal(clf.resolve(X), proba)  # without y nothing was said
    np.testing.assert_array_equal(clf.resolve(clf.check(X, y, None, reviewed)), resolved)
    assert clf.labelling_probability(X).mean() == pytest.approx((~hidden).mean(), abs=0.05)
    save(clf, tmp_path / "ring.model")
    np.testing.assert_array_equal(load(tmp_path / "ring.model").predict_proba(X), proba)
    right = (clf.resolve(X, y).argmax(axis=1) == truth)[hidden].mean()
    clf.label_rates_ = None
    assert right > (clf.resolve(X, y).argmax(axis=1) == truth)[hidden].mean() + 0.02
    by_chance = np.where(blank < 0.6, truth, -1)
    assert MixtureClassifierCV(random_state=0).fit(X, by_chance).label_rates_ is None


@pytest.mark.slow
def test_rates_of_a_rare_label_and_none_where_nothing_is_known(data, monkeypatch):
    """Of very many rows a few are judged, of a rare class more of them."""
    monkeypatch.setattr("hesitant.model_selection._classifier_cv.MOST_JUDGED", 500)
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=20_000)
    X = rng.standard_normal((20_000, 2)) + 3.0 * np.outer(truth, [1, 0])
    y = np.where(rng.random(20_000) < np.array([0.9, 0.01])[truth], truth, -1)
    clf = MixtureClassifierCV(random_state=np.random.default_rng(0)).fit(X, y)
    np.testing.assert_allclose(clf.label_rates_, [0.9, 0.01], rtol=0.5)
    assert (clf.predict(X) == truth).mean() > 0.92
    few = slice(600)
    for options in ({"scoring": "log_loss"}, {"classes": [0, 1, 2]}):  # no blank; no label of 2
        clf = MixtureClassifierCV(random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", FitWarning)
            assert clf.fit(X[few], y[few]).label_rates_ is None


def test_a_panel_is_combined_too(data):
    rng = np.random.default_rng(0)
    said = np.where(rng.random((300, 3)) < 0.9, data.truth[:, None], 1 - data.truth[:, None])
    said[rng.random(said.shape) < 0.3] = -1
    pair = [MixtureClassifier(mechanism=m, experts="fallible") for m in (None, "entropy")]
    clf = MixtureClassifierCV(pair, cv=2, random_state=0).fit(data.features, said)
    resolved = clf.resolve(data.features, said)
    assert (resolved.argmax(axis=1) == data.truth).mean() > 0.95
    only = clf.model_.resolve(data.features, said)
    assert len(clf.models_) > 1 or resolved == pytest.approx(only)


@pytest.mark.parametrize("family", [KernelDensity(), Ranked(), Ranked(KernelDensity())], ids=str)
def test_families_of_any_shape(data, family, tmp_path):
    """Densities add up to one, rows drawn are spread like them, and files keep them."""
    X = np.sign(data.features) * data.features**2
    clf = MixtureClassifier(family, mechanism=None, alpha=1.0).fit(X, data.labels)
    assert clf.score(X, data.truth) > 0.85
    drawn = clf.sample(4000, random_state=0)[0]
    near = (np.abs(drawn - np.median(X, axis=0)) < [4, 4]).all(axis=1)
    grid = [np.linspace(m - 4, m + 4, 401)[:-1] + 0.01 for m in np.median(X, axis=0)]
    points = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    mass = np.exp(clf.score_samples(points)).sum() * 0.02**2
    assert mass == pytest.approx(near.mean(), abs=0.05)
    again = load(save(clf, tmp_path / "some.model"))
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_a_feature_that_says_nothing_stops_counting(data):
    noise = np.random.default_rng(0).standard_normal((300, 1))
    X = np.hstack((data.features, noise))
    clf = MixtureClassifier(KernelDensity(), mechanism=None, alpha=1.0).fit(X, data.truth)
    assert clf.family_.rates_[2] < 0.7 * clf.family_.rates_[:2].min()


def test_kernels_do_not_depend_on_units(data):
    units = np.array([1e90, 1e-90])
    clf = MixtureClassifier(KernelDensity(), mechanism=None, alpha=1.0)
    expected = clf.fit(data.features, data.labels).predict_proba(data.features)
    found = clf.fit(data.features * units, data.labels).predict_proba(data.features * units)
    assert found == pytest.approx(expected, abs=1e-3)


def test_own_folds(data):
    labelled = np.flatnonzero(data.labelled)
    folds = [(None, labelled[::2]), (None, labelled[1::2])]
    clf = MixtureClassifierCV(FEW, cv=folds).fit(data.features, data.labels)
    assert np.isnan(clf.held_out_proba_[~data.labelled]).all()
    splitter = LabelledKFold(3, random_state=0)
    assert MixtureClassifierCV(FEW, cv=splitter).fit(data.features, data.labels).models_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "all"}, "'all'"),
        ({"candidates": []}, "empty"),
        ({"candidates": [3]}, "int"),
        ({"combine": "mean"}, "'mean'"),
        ({"scoring": "accuracy"}, "'accuracy'"),
        ({"cv": 1}, "cv=1"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_bad_options(data, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MixtureClassifierCV(**options).fit(data.features, data.labels)


def test_one_label_a_class_is_too_few_to_choose_by(data):
    y = np.full(300, -1)
    y[[np.flatnonzero(data.truth == h)[0] for h in (0, 1)]] = 0, 1
    with pytest.warns(FitWarning, match="2 rows are labelled, too few"):
        clf = MixtureClassifierCV(FEW).fit(data.features, y)
    assert list(clf.models_) == [clf.cv_results_["name"][0]] == ["gaussian, tied, none"]
    assert np.isnan(clf.held_out_proba_).all()
    assert np.isfinite(clf.predict_proba(data.features)).all()
    report = clf.report(data.features, y).to_dict()
    assert "too few" in report["held_out"]["why_not"]


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_no_fit_remembers_the_labels_it_is_judged_by():
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((100, 60)), np.arange(100) % 3
    y = np.where(rng.random(100) < 0.6, truth, -1)
    models = [MixtureClassifier(covariance=c, mechanism=None, alpha=1.0) for c in ("tied", "diag")]
    clf = MixtureClassifierCV(models, random_state=0).fit(X, y)
    right = clf.held_out_proba_[y >= 0].argmax(axis=1) == y[y >= 0]
    assert right.mean() < 0.6  # features of pure noise


def test_of_very_many_rows_some_are_judged(data, monkeypatch):
    monkeypatch.setattr("hesitant.model_selection._classifier_cv.MOST_JUDGED", 120)
    y = data.labels.copy()
    rare = np.flatnonzero(y == 1)[20:]
    y[rare] = -1
    clf = MixtureClassifierCV(FEW[:2], cv=2, random_state=0).fit(data.features, y)
    judged = np.isfinite(clf.held_out_proba_[:, 0])
    assert 100 < judged.sum() < 200
    assert judged[y == 1].all()  # a rare class is not thinned
    assert clf.model_.fitted_.n_rows == 300


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks():
    results = check_estimator(
        MixtureClassifierCV(FEW[:2], cv=2),
        expected_failed_checks={"check_classifiers_classes": "-1 marks a blank"},
        on_skip=None,
    )
    assert len([r for r in results if r["status"] == "passed"]) >= 55
