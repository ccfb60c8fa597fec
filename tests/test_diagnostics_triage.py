"""The triage list: against brute force, and as a table people can use."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import _triage, triage
from hesitant.inference import information
from hesitant.inference._scores import LARGEST, axes_at, curvature
from hesitant.mechanisms import Ignorable
from hesitant.persistence import load, save
from hesitant.rows import Rows


@pytest.fixture(scope="module")
def fitted():
    data = simulate(n=300, random_state=0)
    y = np.where(data.labelled, data.truth, -1)
    return data.features, y, MixtureClassifier().fit(data.features, y)


def test_columns_and_order(fitted):
    X, y, clf = fitted
    frame = triage(clf, X, y)
    assert len(frame) == (y < 0).sum()
    assert set(frame["row"]) == set(np.flatnonzero(y < 0))
    assert frame["unusual"].is_monotonic_increasing  # those that fit no class come last
    usual = frame[~frame["unusual"]]
    assert usual["expected_gain"].is_monotonic_decreasing
    np.testing.assert_allclose(
        frame["expected_gain"], frame["gain"] * frame["labelling_probability"]
    )
    assert (frame["gain"] <= frame["entropy"] + 1e-12).all()
    np.testing.assert_allclose(frame["entropy"], clf.entropy(X)[frame["row"]])
    np.testing.assert_allclose(
        frame["labelling_probability"], clf.labelling_probability(X)[frame["row"]]
    )
    np.testing.assert_allclose(frame[["P(0)", "P(1)"]], clf.predict_proba(X)[frame["row"]])
    assert (frame["predicted"] == clf.predict(X)[frame["row"]]).all()
    assert len(triage(clf, X, y, top=7)) == 7


def test_gain_is_the_rise_of_the_information(fitted):
    """½ log det of the information with the label's expected share over that without it.

    Labelling a row moves the observed information by its missing information; averaged over the
    label with the parameters held, that is what the list promises.
    """
    X, y, _ = fitted
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    frame = triage(clf, X, y)
    before = information(clf, X, y).chart_information
    tau = clf.predict_proba(X)
    for _, row in frame.iloc[[0, 3, 10]].iterrows():
        place = int(row["row"])
        after = np.zeros_like(before)
        for h in (0, 1):
            told = y.copy()
            told[place] = h
            after += tau[place, h] * information(clf, X, told).chart_information
        rise = 0.5 * (np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1])
        assert row["gain"] == pytest.approx(rise, rel=0.02)


def test_the_best_rows_teach_more_than_random_ones(fitted):
    """Labels of the rows on top of the list shrink the errors more than as many at random."""
    X, y, _ = fitted
    truth = simulate(n=300, random_state=0).truth
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    blank = np.flatnonzero(y < 0)
    rng = np.random.default_rng(0)

    def volume(rows):
        told = y.copy()
        told[rows] = truth[rows]
        new = MixtureClassifier(mechanism=None).fit(X, told)
        return np.linalg.slogdet(information(new, X, told).chart_information)[1]

    best = volume(triage(clf, X, y, top=15)["row"].to_numpy())
    others = [volume(rng.choice(blank, 15, replace=False)) for _ in range(20)]
    assert best > np.mean(others)


def test_outliers_are_listed_apart(fitted):
    X, y, _ = fitted
    X = np.vstack((X, [[40.0, -40.0], [-60.0, 3.0]]))
    y = np.append(y, [-1, -1])
    clf = MixtureClassifier().fit(X, y)
    frame = triage(clf, X, y)
    assert set(frame["row"][frame["unusual"]]) >= {len(X) - 2, len(X) - 1}
    assert not frame["unusual"].iloc[0]
    assert frame["unusual"].iloc[-1]
    assert frame["unusual"].mean() < 0.1
    top = triage(clf, X, y, top=4)
    assert top["row"].tolist() == frame["row"].head(4).tolist()


def test_polars_in_polars_out(fitted):
    polars = pytest.importorskip("polars")
    X, y, _ = fitted
    frame = polars.DataFrame(X, schema=["a", "b"])
    listed = triage(MixtureClassifier().fit(frame, y), frame, y, top=3)
    assert isinstance(listed, polars.DataFrame)
    assert listed.columns[:2] == ["row", "expected_gain"]


def test_frames_keep_their_index(fitted):
    X, y, _ = fitted
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"case {i}" for i in range(len(X))])
    clf = MixtureClassifier().fit(frame, y)
    listed = triage(clf, frame, y, top=3)
    assert listed["index"].tolist() == [f"case {i}" for i in listed["row"]]


def test_new_cases_without_labels(fitted):
    X, _, clf = fitted
    frame = triage(clf, X)
    assert len(frame) == len(X)
    assert frame["gain"].iloc[0] > 0


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_nothing_blank_gives_an_empty_list(fitted):
    X, _, clf = fitted
    assert len(triage(clf, X, clf.predict(X))) == 0


def test_classes_that_are_strings_and_t_families(three_classes):
    X, y = three_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier("t", covariance="tied").fit(X, y)
    frame = triage(clf, X, y, top=5)
    assert list(frame.columns[-3:]) == ["P(a)", "P(b)", "P(c)"]
    assert (frame["gain"] > 0).all()


def test_too_few_rows_for_the_parameters_are_ranked_by_entropy():
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((120, 20)), np.arange(120) % 2
    X[:, 0] += truth
    y = np.where(rng.random(120) < 0.5, truth, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(mechanism="class").fit(X, y)
    with pytest.warns(FitWarning, match="fewer than two rows for each parameter"):
        frame = triage(clf, X, y)
    np.testing.assert_array_equal(frame["gain"], frame["entropy"])
    usual = frame[~frame["unusual"]]
    assert usual["expected_gain"].is_monotonic_decreasing
    np.testing.assert_allclose(frame[["P(0)", "P(1)"]], clf.resolve(X, y)[frame["row"]])


@pytest.mark.parametrize("top", [0, -1, 2.5, True])
def test_bad_top(fitted, top):
    X, y, clf = fitted
    with pytest.raises((ValueError, TypeError), match="top"):
        triage(clf, X, y, top=top)


def test_a_row_that_fits_no_class_is_marked_for_a_panel_too(fitted):
    X, y, _ = fitted
    X, said = X.copy(), np.column_stack((y, y))
    X[0], said[0] = 15.0, -1
    clf = MixtureClassifier(experts="fallible").fit(X, said)
    frame = triage(clf, X, said).set_index("row")
    assert frame.loc[0, "unusual"]
    assert frame["unusual"].mean() < 0.05


def test_the_first_rows_are_the_same_however_many_are_asked_for():
    data = simulate(n=30_000, random_state=3)
    clf = MixtureClassifier().fit(data.features, data.labels)
    every = clf.triage(data.features, data.labels)
    for top in (1, 100, len(every) - 1, len(every) + 1):
        first = clf.triage(data.features, data.labels, top=top)
        pd.testing.assert_frame_equal(first, every[:top])


def test_with_many_parameters_complete_labels_stand_for_what_was_seen(three_classes, monkeypatch):
    """The order is nearly that of the observed information, at a fraction of the work."""
    X, y = three_classes[:2]
    clf = MixtureClassifier().fit(X, y)
    exact = triage(clf, X, y).set_index("row")["expected_gain"]
    monkeypatch.setattr(_triage, "MOST_PARAMETERS", 10)
    found = triage(clf, X, y).set_index("row")["expected_gain"]
    assert spearmanr(exact, found[exact.index]).statistic > 0.9
    assert not np.allclose(exact, found[exact.index], rtol=0.01)
    n_first = 20
    assert exact[found.index[:n_first]].sum() > 0.9 * exact.iloc[:n_first].sum()


@pytest.mark.parametrize("covariance", ["full", "tied"])  # classes with axes apart, and in common
def test_a_diagonal_is_a_covariance(three_classes, covariance):
    X, y = three_classes[:2]
    clf = MixtureClassifier(covariance=covariance).fit(X, y)
    axes, _ = axes_at(clf.fitted_, clf.fit_rows)
    _, known = _triage.known_by_labels(axes, clf.n_rows_)
    each = known * np.linspace(0.5, 2.0, known.size)
    tau = clf.predict_proba(X)
    dense, diagonal = (_triage._gains((axes, V), X, tau) for V in (np.diag(each), each))
    np.testing.assert_allclose(diagonal, dense, rtol=1e-9, atol=1e-12)


def test_wide_models_are_ranked_without_a_matrix_of_their_parameters():
    """Of 23,000 parameters a matrix would take 4 GB: questions that need it say so at once."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    X = rng.standard_normal((400, 150)) + 0.3 * truth[:, None]
    y = np.where(rng.random(400) < 0.5, truth, -1)
    clf = MixtureClassifier(covariance="shrunk").fit(X, y)
    assert LARGEST < 2 * 150 * 153 // 2
    for question in (clf.summary, clf.efficiency):
        with pytest.raises(ValueError, match=r"22,951 numbers .* take fewer features"):
            question()
    axes, _ = axes_at(clf.fitted_, clf.fit_rows)
    known = _triage.known_by_labels(axes, clf.n_rows_)
    gains = _triage._gains(known, X, np.full((400, 2), 0.5))
    assert np.isfinite(gains).all()
    assert (gains > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 0.9, 1.0])
def test_what_labels_would_tell_does_not_hang_on_how_blanks_were_weighed(fitted, tmp_path, alpha):
    """A loaded model has no rows: as many with labels as in its fit stand for them."""
    X, y, clf = fitted
    clf = MixtureClassifier(alpha=alpha).fit(X, y)
    save(clf, tmp_path / "model.json")
    known = _triage.known_of(clf.fitted_, Rows(X, np.full(len(X), -1), n_classes=2), None)
    gain = _triage._gains(known, X, clf.predict_proba(X))
    state = dataclasses.replace(clf.state_, theta=np.zeros(0))
    model = dataclasses.replace(clf.fitted_, alpha=0.5, mechanism=Ignorable(), state=state)
    many = Rows(*model.draw(30_000, np.random.default_rng(0)), n_classes=2)
    axes, evaluation = axes_at(model, many)
    V = 100 * np.linalg.inv(curvature(model, many, axes, evaluation)[0])  # of 300 rows
    np.testing.assert_allclose(gain, _triage._gains((axes, V), X, clf.predict_proba(X)), rtol=0.1)
    listed = triage(load(tmp_path / "model.json"), X).set_index("row")["gain"]
    np.testing.assert_allclose(listed.sort_index(), np.fmin(gain, clf.entropy(X)), rtol=1e-6)


def test_other_rows_than_those_of_a_wide_fit_are_noticed(fitted, monkeypatch):
    X, y, clf = fitted
    monkeypatch.setattr(_triage, "MOST_PARAMETERS", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        triage(clf, X, y)
    with pytest.warns(FitWarning, match="likelihood of these data still rises"):
        triage(clf, X[:150], y[:150])


@pytest.mark.parametrize("most", [3, 1000])
def test_new_cases_are_ranked_by_a_fit_on_a_cluster_as_by_one_in_memory(fitted, monkeypatch, most):
    array = pytest.importorskip("dask.array")
    X, y, clf = fitted
    monkeypatch.setattr(_triage, "MOST_PARAMETERS", most)
    far = MixtureClassifier().fit(array.from_array(X, chunks=(100, 2)), y)
    found, expected = (triage(model, X).set_index("row").sort_index() for model in (far, clf))
    np.testing.assert_allclose(found["gain"], expected["gain"], rtol=1e-3)
