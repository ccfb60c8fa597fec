"""What the hesitation of several readers buys: information observed, loaded panels, limits."""

import math
import pickle

import numpy as np
import pytest
from scipy.special import entr, expit

from hesitant import MixtureClassifier, Statements
from hesitant.experts import Readers


def _panel(n, readers, seed=0):
    """Return features, statements and classes of readers with (slope, accuracy)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) + np.array([[0, 0], [2, 0]])[truth]
    tau = expit(2 * X[:, 0] - 2)
    u = entr(tau) + entr(1 - tau)
    said = np.empty((n, len(readers)), dtype=int)
    for j, (slope, right) in enumerate(readers):
        label = np.where(rng.random(n) < right, truth, 1 - truth)
        said[:, j] = np.where(rng.random(n) < expit(1 + slope * u), label, -1)
    return X, said, truth


def test_a_panel_has_the_information_that_is_observed():
    """Some rows are shown to some readers only, and of some the class is known."""
    X, said, truth = _panel(4000, [(-5, 0.95), (-2, 0.8), (0, 0.7)])
    rng = np.random.default_rng(1)
    shown = rng.random(said.shape) < 0.7
    said = np.where(shown, said, -1)
    known = np.where(rng.random(4000) < 0.2, truth, -1)
    statements = Statements.from_labels(said, shown=shown, truth=known)
    own = Readers(pooling="own")  # a prior that ties readers is not counted
    clf = MixtureClassifier(covariance="tied", experts=own).fit(X, statements)
    found = clf.efficiency(n_rows=4000, random_state=0)
    observed = clf.information().std_error[: len(found.parameters)]
    np.testing.assert_allclose(found.std_errors["full"], observed, rtol=0.08)
    assert found.share_labelled == pytest.approx(
        ((said >= 0).any(axis=1) | (known >= 0)).mean(), abs=0.02
    )
    ignorance = MixtureClassifier(covariance="tied", experts=own, mechanism=None)
    observed = ignorance.fit(X, statements).information().std_error[: len(found.parameters)]
    np.testing.assert_allclose(found.std_errors["ignorance"], observed, rtol=0.08)
    assert "the true classes of" in " ".join(str(found).split())
    assert 0 < found.labels_worth["error"] <= 4000


def test_a_loaded_panel_knows_how_much_its_readers_were_shown():
    X, said, _ = _panel(2000, [(-5, 0.95), (-2, 0.8)])
    shown = np.random.default_rng(1).random(said.shape) < (0.3, 0.8)
    statements = Statements.from_labels(np.where(shown, said, -1), shown=shown)
    clf = MixtureClassifier(covariance="tied", experts="fallible").fit(X, statements)
    loaded = pickle.loads(pickle.dumps(clf))
    here, there = (each.efficiency(random_state=0) for each in (clf, loaded))
    assert there.reviewed_share == pytest.approx(here.reviewed_share, abs=0.02)
    assert there.share_labelled == pytest.approx(here.share_labelled, abs=0.02)
    assert there.excess_error["full"] == pytest.approx(here.excess_error["full"], rel=0.2)
    assert "each reader is shown as many" in there.remarks[-1]


def test_a_panel_of_one_who_is_right_is_the_expert():
    X, said, _ = _panel(1000, [(-4, 1.0)])
    alone = MixtureClassifier(covariance="tied").fit(X, said[:, 0])
    panel = MixtureClassifier(covariance="tied").fit(X, Statements.from_labels(said))
    one, other = (clf.efficiency(n_draws=40_000, random_state=0) for clf in (alone, panel))
    for way, errors in one.std_errors.items():
        np.testing.assert_allclose(other.std_errors[way], errors, rtol=0.03)
        assert other.excess_error[way] == pytest.approx(one.excess_error[way], rel=0.1)


def test_a_panel_that_never_hesitates_has_no_pattern():
    X, said, _ = _panel(300, [(-4, 0.9), (-2, 0.8)])
    clf = MixtureClassifier(covariance="tied", experts="fallible", mechanism=None).fit(X, said)
    result = clf.efficiency(n_draws=2000, random_state=0)
    assert result.labels_worth["error"] == 0
    assert "no mechanism" in result.remarks[-1]


def test_reports_that_tell_more_than_the_class():
    X, _, truth = _panel(400, [])
    rng = np.random.default_rng(0)
    odds = 2 * X[:, :1] - 3 + 2 * truth[:, None] + rng.standard_normal((400, 2))
    Q = np.stack((expit(-odds), expit(odds)), axis=2)
    Q[rng.random((400, 2)) < 0.2] = np.nan
    clf = MixtureClassifier(covariance="tied")
    clf.fit(X, Statements.from_probabilities(Q, classes=[0, 1]))
    result = clf.efficiency(n_draws=4000, random_state=0)
    assert result.error_efficiency["ignorance / complete"] > 1
    assert math.isnan(result.labels_worth["error"])
    assert "tells more than the class of every row" in result.remarks[-1]
