"""Are the blanks about difficulty: sizes, power, and numbers by hand."""

import dataclasses
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hesitant import MixtureClassifier
from hesitant._words import p_value
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.diagnostics import Diagnosis, diagnose
from hesitant.families import Ranked
from hesitant.mechanisms import EntropyMechanism, Ignorable
from hesitant.uncertainty import Shannon, SquaredLogOdds, transformed_entropy

CHANCE = {"intercept": 0.6, "slope": 0.0}


@pytest.fixture(scope="module")
def data():
    return simulate(n=500, random_state=0)


@pytest.fixture(scope="module")
def result(data):
    return diagnose(data.features, data.labels, n_boot=19, random_state=0)


def test_table_1_by_hand(data, result):
    clf = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    tau = clf.predict_proba(data.features)
    share = -xlogy(tau, tau).sum(axis=1) / np.log(2)
    inner = (share > 1e-12) & (share < 1 - 1e-9)
    t = transformed_entropy(clf.entropy(data.features, Shannon()), 2)
    np.testing.assert_allclose(t[inner], np.log(share / (1 - share))[inner], rtol=1e-3)
    assert result.mean_labelled == pytest.approx(t[data.labelled].mean(), abs=1e-6)
    assert result.mean_blank == pytest.approx(t[~data.labelled].mean(), abs=1e-6)
    assert (result.n_labelled, result.n_blank) == (data.n_labelled, data.n_blank)


def test_likelihood_ratio_by_hand(data, result):
    full = MixtureClassifier().fit(data.features, data.labels)
    none = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    rate = data.labelled.mean()
    chance = 500 * (xlogy(rate, rate) + xlogy(1 - rate, 1 - rate))
    expected = 2 * (full.log_likelihood_ - none.log_likelihood_ - chance)
    assert result.test("likelihood ratio").statistic == pytest.approx(expected, abs=1e-5)
    assert result.test("likelihood ratio").df == 1


def test_score_test_is_that_of_a_logistic_regression(data, result):
    """The score statistic of logit Pr = β0 + β1 u at β1 = 0 is n times a squared correlation."""
    clf = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    u = clf.entropy(data.features)
    expected = 500 * np.corrcoef(u, data.labelled)[0, 1] ** 2
    assert result.test("score").statistic == pytest.approx(expected, rel=1e-5)


def test_wald_is_the_squared_ratio(data, result):
    from hesitant.inference import information

    info = information(result.full, data.features, data.labels)
    assert result.test("Wald").statistic == pytest.approx(
        (info.estimate[-1] / info.std_error[-1]) ** 2, rel=1e-6
    )


def test_bootstrap_is_repeatable_whoever_computes_it(data):
    def run():
        return diagnose(data.features[:150], data.labels[:150], n_boot=12, random_state=3)

    first = run()
    with parallel_config(backend="threading", n_jobs=2):
        second = run()
    name = "likelihood ratio, bootstrap"
    assert first.test(name) == second.test(name)
    assert first.test(name).method == "12 replicates"
    assert 1 / 13 <= first.test(name).p_value <= 1


@pytest.mark.slow
def test_sizes_under_chance():
    names = ["Kolmogorov", "Mann", "likelihood", "Wald", "score", "shape"]
    p = []
    for seed in range(60):
        data = simulate(n=200, **CHANCE, random_state=1000 + seed)
        result = diagnose(data.features, data.labels)
        p.append([result.test(name).p_value for name in names])
    # A size of 0.05 gives 9 or more rejections of 60 with probability 0.003.
    rejections = (np.array(p) < 0.05).sum(axis=0)
    assert (rejections < 9).all(), dict(zip(names, rejections, strict=True))
    assert (np.array(p) < 0.5).mean() == pytest.approx(0.5, abs=0.12)


def test_power_under_the_papers_mechanism():
    names = ["Kolmogorov", "Mann", "likelihood", "Wald", "score"]
    p = []
    for seed in range(15):
        data = simulate(n=500, random_state=seed)
        result = diagnose(data.features, data.labels)
        p.append([result.test(name).p_value for name in names])
        assert result.mean_blank > result.mean_labelled
        assert result.finding == "hard"
    assert np.max(p) < 0.01


def test_shape_test_finds_a_wrong_shape():
    """Labels missing at middling difficulty only: no straight line in entropy says that."""
    rng = np.random.default_rng([0, 1])  # not the stream that drew the classes
    data = simulate(n=2000, intercept=50.0, random_state=0)
    e = data.details["entropy"]
    seen = rng.random(2000) < expit(2 - 30 * e * (np.log(2) - e))
    y = np.where(seen, data.truth, -1)
    result = diagnose(data.features, y)
    assert result.test("shape").p_value < 1e-4
    assert "along quite the curve" in result.verdict
    spline = diagnose(data.features, y, mechanism=EntropyMechanism(basis="spline"))
    assert spline.test("shape").p_value > 1e-3
    assert spline.test("likelihood ratio").df == 4


def test_shape_test_of_many_rows_is_that_of_few(monkeypatch):
    """Of very many rows every few tell the average information."""
    from hesitant.diagnostics._tests import fit_both, shape_test

    data = simulate(n=20_000, random_state=1)
    fits, _ = fit_both(MixtureClassifier(), data.features, data.labels)
    few = shape_test(fits)
    monkeypatch.setattr("hesitant.diagnostics._tests.SAMPLE", 4000)
    many = shape_test(fits)
    assert many.df == few.df
    assert many.statistic == pytest.approx(few.statistic, rel=0.02)
    assert many.statistic != few.statistic


def test_shape_test_is_silent_where_hardly_a_row_is_in_doubt():
    """A curve that next to no row is on once had a variance of rounding, and p-values of zero."""
    known = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 300)
        X = rng.standard_normal((300, 4)) + 2 * rng.standard_normal((2, 4))[truth]
        y = np.where(rng.random(300) < 0.6, truth, -1)
        test = diagnose(X, y, missing_label=-1).test("shape")
        assert test.p_value > 1e-3 or "too few rows are in doubt" in test.note
        known.append(not test.was_skipped)
    assert 0 < sum(known) < 12


def test_a_tilt_has_no_part_in_the_tests(data):
    """Fixed differences between classes are a pattern without slopes: no coin to test against."""
    plain = diagnose(data.features, data.labels)
    tilted = diagnose(data.features, data.labels, mechanism=EntropyMechanism(tilt=[0.0, 3.0]))
    for name in ("likelihood", "Wald", "shape"):
        there, here = (result.test(name).statistic for result in (plain, tilted))
        assert there == pytest.approx(here, rel=1e-3)


def test_verdicts():
    chance = simulate(n=300, **CHANCE, random_state=0)
    assert diagnose(chance.features, chance.labels).finding == "random"
    reverse = simulate(n=500, intercept=-1.0, slope=5.0, random_state=0)
    found = diagnose(reverse.features, reverse.labels)
    assert found.finding == "easy"
    assert found.harder_share < 0.5


def test_p_values_are_neither_zero_nor_one():
    assert p_value(0.997) == "p > 0.99"
    assert p_value(0.99) == "p = 0.99"
    assert p_value(1e-30) == "p < 0.0001"


def test_weights_that_differ_are_told(data):
    weight = np.where(np.arange(500) % 2, 1.0, 2.0)
    found = diagnose(data.features, data.labels, sample_weight=weight)
    assert any("counts every row of positive weight once" in remark for remark in found.remarks)
    for same in (None, np.full(500, 2.0), (np.arange(500) < 300).astype(float)):
        found = diagnose(data.features, data.labels, sample_weight=same)
        assert not any("every row of positive weight" in remark for remark in found.remarks)


@pytest.mark.parametrize("option", [{"bandwidth": "foo"}, {"bandwidth": 2}, {"level": 95}])
def test_options_are_checked_before_any_fit(data, monkeypatch, option):
    from hesitant.diagnostics import _tests as module

    monkeypatch.setattr(module, "fit_both", lambda *a: pytest.fail("fitted first"))
    with pytest.raises(ValueError, match=next(iter(option))):
        diagnose(data.features, data.labels, **option)


def test_a_lazy_frame_is_refused_at_no_cost(data):
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(data.features).lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"lazy frame: give X.collect\(\)"):
            diagnose(lazy, data.labels)


def test_too_few_replicates_to_reject_have_no_say(data):
    """Three replicates cannot give a p-value below 0.25: the chi-squared test decides."""
    found = diagnose(data.features, data.labels, n_boot=3, random_state=0)
    test = found.test("likelihood ratio, bootstrap")
    assert test.p_value == test.least_p == 0.25
    assert found.finding == "hard"
    assert "(score test" in found.verdict
    assert found.decisive is found.test("score")
    edge = diagnose(data.features, data.labels, n_boot=19, random_state=0)
    assert edge.finding == "hard"  # 0.05 at best, which is not below 0.05
    many = diagnose(data.features, data.labels, n_boot=20, random_state=0)
    assert many.decisive is many.test("likelihood ratio, bootstrap")


def test_result_object(data, result):
    assert isinstance(result, Diagnosis)
    text = str(result)
    assert "Mann-Whitney, one-sided" in text
    assert max(map(len, text.splitlines())) < 110
    frame = result.to_frame()
    assert list(frame.columns) == ["test", "statistic", "df", "p_value", "method", "note"]
    assert len(frame) == 9
    assert result.suggested == min(result.mechanisms, key=result.mechanisms.get)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["n_blank"] == data.n_blank
    assert plain["curve"]["bandwidth"] > 0
    again = pickle.loads(pickle.dumps(dataclasses.replace(result)))  # its curve not found yet
    np.testing.assert_array_equal(again.curve.probability, result.curve.probability)
    assert "<table>" in result._repr_html_()
    with pytest.raises(KeyError, match="Anderson"):
        result.test("Anderson")
    assert len(result.caveats) == 3


def test_a_fitted_model_is_not_fitted_again(data):
    exact = MixtureClassifier(tol=1e-10)  # logits of entropies move more than likelihoods do
    full = MixtureClassifier(tol=1e-10).fit(data.features, data.labels)
    assert diagnose(data.features, data.labels, estimator=full).full is full
    none = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    assert diagnose(data.features, data.labels, estimator=none).ignorance is none
    other = simulate(n=500, random_state=1)
    again = diagnose(other.features, other.labels, estimator=full)
    assert again.full is not full
    fresh = diagnose(other.features, other.labels, estimator=exact)
    assert again.mean_blank == pytest.approx(fresh.mean_blank, abs=1e-4)


def test_the_wald_test_is_that_of_the_fit_then(data):
    """It is found when somebody reads the tests, and by then much may have happened."""
    X, y = data.features.copy(), data.labels
    clf = MixtureClassifier().fit(X, y)
    expected = clf.diagnose(X, y).test("Wald")
    assert expected.p_value < 1e-6
    late, changed, sent = (clf.diagnose(X, y) for _ in range(3))
    clf.fit(X[::2], y[::2])
    assert late.test("Wald") == expected
    again = pickle.loads(pickle.dumps(sent))
    X += 1.0
    assert again.test("Wald") == expected
    assert "rows have changed" in changed.test("Wald").note


def test_reviewed_rows_only(data):
    """Blanks that nobody saw say nothing: the tests are those of the others."""
    X = np.vstack((data.features, data.features + 0.01))
    y = np.concatenate((data.labels, np.full(500, None)))
    reviewed = np.arange(1000) < 500
    result = diagnose(X, y, reviewed=reviewed)
    assert result.n_blank == data.n_blank
    assert result.n_not_reviewed == 500
    assert result.test("Mann").p_value < 1e-6
    assert "500 rows that were not reviewed" in str(result)


def test_more_classes_strings_and_frames():
    cells = make_cytometry_like(n=1000, random_state=0)
    X = pd.DataFrame(cells.features, columns=cells.feature_names)
    result = diagnose(X, pd.Series(cells.labels))
    assert result.mean_blank > result.mean_labelled
    assert result.plot().axes_.size == 3


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("mixed", "tested with mechanism='entropy'"),
        (EntropyMechanism(uncertainty=SquaredLogOdds()), None),
        (EntropyMechanism(order=2, basis="polynomial"), None),
    ],
)
def test_other_mechanisms(data, mechanism, words):
    result = diagnose(data.features, data.labels, mechanism=mechanism)
    assert result.test("likelihood ratio").p_value < 1e-2
    if words is not None:
        assert words in result.remarks[0]
    if isinstance(mechanism, EntropyMechanism) and mechanism.uncertainty is not None:
        assert "largest value" in result.test("shape").note


def crowd(n, p, seed):
    """Classes two apart in a few of many features; labels lost by pure chance."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, p))
    X[np.arange(n), truth] += 2
    return X, np.where(rng.random(n) < 0.5, truth, -1)


@pytest.mark.slow
def test_chance_is_seldom_taken_for_difficulty_in_a_crowd():
    """Two rows a parameter: the likelihood ratio rejects one time in five, the verdict not."""
    tones, ratios = [], []
    for seed in range(40):
        found = diagnose(*crowd(300, 10, seed))
        tones.append(found.finding)
        ratios.append(found.test("likelihood ratio").p_value < 0.05)
    assert sum(tone in ("hard", "easy", "mixed") for tone in tones) <= 7  # 0.003 at a size of 0.05
    assert sum(ratios) >= 3


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_too_crowded_to_tell():
    """About one row a parameter: no test is worth its name, and none is believed."""
    for seed in range(4):
        X, y = crowd(200, 14, seed)
        found = diagnose(X, y)
        assert found.finding == "crowded"  # whatever the tests say, for a link or against it
    assert "rows for each parameter" in found.verdict
    assert diagnose(X, y, covariance="diag").finding != "crowded"
    report = MixtureClassifier().fit(X, y).report(X, y)
    assert report.to_dict()["verdict"]["headline"].startswith("There are too many parameters")


def test_a_fit_below_chance_is_fitted_again():
    """From the labels alone this fit ends below what no slope at all achieves."""
    X, y = crowd(500, 20, 2)
    clf = MixtureClassifier().fit(X, y)
    found = clf.diagnose(X, y)
    assert found.full.log_likelihood_ >= clf.log_likelihood_ - 1e-9
    assert found.test("likelihood ratio").statistic > 0


def test_a_pattern_without_direction():
    """Blanks among the very easy and the hard: depends on difficulty, not on more or less."""
    rng = np.random.default_rng([0, 1])
    data = simulate(n=3000, intercept=50.0, random_state=0)
    e = data.details["entropy"]
    seen = rng.random(3000) < np.where(e < 0.02, 0.35, expit(2.5 - 6 * e))
    found = diagnose(data.features, np.where(seen, data.truth, -1))
    assert found.finding == "mixed"
    assert "not in one direction" in found.verdict


def test_weights_are_as_good_as_rows(data):
    X, y = data.features[:250], data.labels[:250]
    twice = np.repeat(np.arange(250), 2)
    heavy = diagnose(X, y, sample_weight=np.full(250, 2.0))
    long = diagnose(X[twice], y[twice])
    for name in ("likelihood ratio", "Wald", "score", "shape"):
        assert heavy.test(name).statistic == pytest.approx(long.test(name).statistic, rel=1e-3)
    some = diagnose(X, y, sample_weight=(np.arange(250) < 200).astype(float))
    plain = diagnose(X[:200], y[:200])
    assert some.n_labelled == plain.n_labelled
    assert some.test("Mann").statistic == pytest.approx(plain.test("Mann").statistic)
    assert some.test("likelihood ratio").statistic == pytest.approx(
        plain.test("likelihood ratio").statistic, abs=1e-3
    )


@pytest.mark.parametrize("mechanism", ["none", "ignorable", Ignorable(), None])
def test_fitted_without_a_mechanism(data, mechanism):
    clf = MixtureClassifier(mechanism=mechanism).fit(data.features, data.labels)
    found = clf.diagnose(data.features, data.labels)
    assert found.ignorance is clf
    assert found.full.mechanism_.informative
    assert found.finding == "hard"


@pytest.mark.parametrize("family", ["gaussian", Ranked()])
def test_fitted_by_a_solver_that_knows_no_mechanism(data, family):
    clf = MixtureClassifier(family, mechanism=None, solver="em").fit(data.features, data.labels)
    other = MixtureClassifier(family, mechanism=None).fit(data.features, data.labels)
    found, same = (model.diagnose(data.features, data.labels) for model in (clf, other))
    assert found.ignorance is clf
    assert found.headline == same.headline
    assert found.mechanisms == pytest.approx(same.mechanisms, abs=0.1)


def test_a_pipeline_is_told_what_to_give(data):
    pipe = make_pipeline(StandardScaler(), MixtureClassifier()).fit(data.features, data.labels)
    with pytest.raises(TypeError, match=r"pipe\[-1\], and pipe\[:-1\]"):
        diagnose(data.features, data.labels, estimator=pipe)
    with pytest.raises(TypeError, match="give a MixtureClassifier"):
        diagnose(data.features, data.labels, estimator=LogisticRegression())


def test_logistic_regression_agrees_on_the_curve(data, result):
    """The fitted mechanism is a logistic regression on the full fit's own entropies."""
    u = result.full.entropy(data.features)[:, None]
    model = LogisticRegression(C=1e6).fit(u, data.labelled)
    assert result.coefficients["u"] == pytest.approx(model.coef_[0, 0], rel=1e-3)


def test_tests_that_no_verdict_needs_are_left_out_where_they_take_long(data, monkeypatch):
    X, y = crowd(600, 32, 0)
    found = diagnose(X, y)
    assert found.test("Wald").note == "1,123 parameters, computed up to 1,000"
    assert not found.test("likelihood ratio").was_skipped
    crowded = diagnose(X[:, :24], y)
    assert crowded.test("Wald").note == "0.92 rows a parameter, needs 2"
    assert crowded.test("shape").was_skipped
    monkeypatch.setattr("hesitant.diagnostics._tests.MOST_WORK", 1000)
    many = diagnose(data.features, data.labels)
    assert "summary()" in many.test("Wald").note
    assert not many.test("shape").was_skipped


def test_mechanisms_are_compared_on_some_of_very_many_rows(data, monkeypatch):
    whole = diagnose(data.features, data.labels)
    monkeypatch.setattr("hesitant.diagnostics._groups.MOST_ROWS", 240)
    some = diagnose(data.features, data.labels)
    half = diagnose(data.features[::2], data.labels[::2])
    assert any("one row in 2" in remark for remark in some.remarks)
    assert some.mechanisms == pytest.approx(half.mechanisms, abs=1e-3)
    assert some.test("score") == whole.test("score")


def test_a_prior_of_the_slopes_has_no_part_in_the_shape_test():
    """Shrunk classes keep the slopes off their maximum; the true curve is not rejected for it."""
    drawn = simulate(500, random_state=0)
    clf = MixtureClassifier(covariance="shrunk", missing_label=None)
    found = clf.fit(drawn.features, drawn.labels).diagnose(drawn.features, drawn.labels)
    assert found.full.mechanism_.leverage_ is not None
    assert found.test("shape").p_value > 0.01
