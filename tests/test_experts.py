"""Readers as they are: gradients, optima, recovery, and special cases that are known."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

from helpers_experts import ACCURACIES, SLOPES, draw
from hesitant import MixtureClassifier, Statements
from hesitant.experts import Certain, Confusion, Grades, Panel, Probabilities, Readers
from hesitant.inference._scores import Axes
from hesitant.likelihood import normalise
from hesitant.mechanisms import EntropyClassMechanism, EntropyMechanism

# -- the mathematics ----------------------------------------------------------------------------

RNG = np.random.default_rng(5)
TRUTH = [0, -1, -1, 1, -1, -1, -1]
LABELS = RNG.integers(-1, 3, (7, 2))
SAID = {
    "labels": Statements.from_labels(
        LABELS, shown=(LABELS >= 0) | (RNG.random((7, 2)) < 0.7), classes=[0, 1, 2], truth=TRUTH
    ),
    "sets": Statements.from_sets(
        {"x": [{0, 1}, 1, None, {0, 2}, 2, 0, {1, 2}], "y": [0, {0, 1}, 1, None, None, {0, 2}, 2]}
    ),
    "probabilities": Statements.from_probabilities(
        np.where(RNG.random((7, 2, 1)) < 0.2, np.nan, RNG.dirichlet([1, 1, 1], (7, 2))),
        [0, 1, 2],
        truth=TRUTH,
    ),
    "grades": Statements.from_grades(
        [[1, 5], [3, -1], [2, 2], [4, 5], [5, 3], [-1, 1], [3, 4]],
        range(1, 6),
        [0, 1],
        truth=TRUTH,
    ),
}
VOICES = {
    "labels": Confusion(np.eye(3, dtype=bool)),
    "sets": Confusion(SAID["sets"].options),
    "certain": Certain(SAID["sets"].options),
    "probabilities": Probabilities(3),
    "grades": Grades(5),
}


@pytest.mark.parametrize("pooling", ["own", "partial", "shared"])
@pytest.mark.parametrize("kind", VOICES)
def test_gradients_are_those_of_finite_differences(kind, pooling):
    said = SAID["sets" if kind == "certain" else kind]
    hesitation = EntropyClassMechanism() if kind == "labels" else EntropyMechanism()
    g = len(said.classes)
    panel = Panel(said.readers, hesitation, VOICES[kind], pooling).prepare(g)
    rng = np.random.default_rng(1)
    if pooling == "partial":
        panel.spread = rng.uniform(0.1, 2, panel._pooled()[0].size).tolist()
    joint, theta = 2 * rng.standard_normal((7, g)), 0.5 * rng.standard_normal(panel.n_parameters)
    weight = rng.uniform(0.5, 2, 7)

    def pattern(joint, theta):
        log_tau, tau, _ = normalise(joint.copy())
        looked = panel.difficulty(log_tau, tau)
        return panel.pattern(looked, said.truth, said, weight, theta)

    def penalised(theta):
        found = pattern(joint, theta)
        return panel.add_prior(theta, found.value, found.gradient)

    _, gradient = penalised(theta)
    curvature = panel.information(theta, pattern(joint, theta).curvature)
    step = 1e-6
    numeric = [
        (penalised(theta + step * e)[0] - penalised(theta - step * e)[0]) / (2 * step)
        for e in np.eye(theta.size)
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    assert np.linalg.eigvalsh(curvature).min() > 0
    pull = pattern(joint, theta).pull
    for i, h in ((0, 0), (1, 1), (4, 0), (6, 1)):
        nudge = np.zeros_like(joint)
        nudge[i, h] = step
        ahead, behind = pattern(joint + nudge, theta).value, pattern(joint - nudge, theta).value
        assert pull[i, h] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
    np.testing.assert_allclose(pull.sum(axis=1), 0, atol=1e-10)


def test_the_optimum_is_that_of_an_independent_optimiser():
    X, _, Y = draw(3, 120, (-4.0, -1.0), (0.9, 0.8))
    x = X[:, :1]
    clf = MixtureClassifier(experts=Readers(pooling="own"), tol=1e-10, reg_covar=0).fit(x, Y)

    def negative(v):
        log_weight = log_expit(np.array([-v[0], v[0]]))
        joint = log_weight + norm(v[1:3], np.exp(v[3:5])).logpdf(x)
        log_tau = joint - logsumexp(joint, axis=1, keepdims=True)
        u = -(np.exp(log_tau) * log_tau).sum(axis=1)
        value = 0.0
        for j, (intercept, slope, a, b) in enumerate(v[5:].reshape(2, 4)):
            eta = (intercept + slope * u)[:, None]
            log_chance = np.array([[log_expit(-a), log_expit(a)], [log_expit(b), log_expit(-b)]])
            spoke = Y[:, [j]] >= 0
            joint = joint + np.where(
                spoke, log_expit(eta) + log_chance[:, Y[:, j]].T, log_expit(-eta)
            )
            value += (log_chance * [[1.8, 0.2], [0.2, 1.8]]).sum()
            value -= 0.5e-6 * (intercept**2 + slope**2)
        return -(value + logsumexp(joint, axis=1).sum())

    start = np.r_[0.0, 0.0, 2.0, 0.0, 0.0, np.tile([2.0, -2.0, -2.0, -2.0], 2)]
    best = minimize(negative, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
    assert clf.history_[-1] == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(clf.state_.theta, best.x[5:], atol=2e-3)
    np.testing.assert_allclose(clf.means_[:, 0], best.x[1:3], atol=1e-3)


def test_readers_are_recovered_and_resolve_beats_the_vote(four):
    X, truth, said, clf = four
    table = clf.readers_
    np.testing.assert_allclose(table.accuracy, ACCURACIES, atol=0.05)
    assert np.abs(table.accuracy - ACCURACIES).mean() < 0.03
    assert np.argsort(table.slope).tolist() == [0, 2, 1, 3]
    assert (np.abs(table.accuracy - ACCURACIES) < 3.5 * table.accuracy_se).all()
    assert (np.abs(table.slope - SLOPES) < 3.5 * table.slope_se).all()
    wrong = np.mean(clf.resolve(X, said).argmax(axis=1) != truth)
    vote = said.vote()
    assert wrong < 0.06
    assert wrong < 0.7 * np.mean(np.where(vote < 0, 0.5, vote != truth))
    assert wrong < 0.7 * np.mean(clf.predict(X) != truth)
    np.testing.assert_allclose(clf.confusion_.sum(axis=2), 1)


def test_readers_of_too_wide_a_model_are_listed_without_standard_errors(four, monkeypatch):
    clf = four[3]
    monkeypatch.setattr(Axes.check_size, "__defaults__", (3,))
    with pytest.raises(np.linalg.LinAlgError, match="too many"):
        clf.information()
    table = clf.readers_
    np.testing.assert_allclose(table.accuracy, ACCURACIES, atol=0.05)
    assert table.accuracy_se.isna().all()


# -- special cases that are something known -------------------------------------------------------


def test_right_readers_who_share_the_rows_are_one_reader(paper):
    X, y, _ = paper
    shown = (np.arange(len(y)) % 3)[:, None] == np.arange(3)
    said = Statements.from_labels(np.where(shown, y[:, None], -1), shown=shown)
    plain = MixtureClassifier(tol=1e-9).fit(X, y)
    panel = MixtureClassifier(experts=Readers(fallible=False, pooling="shared"), tol=1e-9)
    panel.fit(X, said)
    assert panel.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(panel.state_.theta, plain.state_.theta, atol=1e-3)
    np.testing.assert_allclose(panel.predict_proba(X), plain.predict_proba(X), atol=1e-4)


def test_identical_right_readers_without_a_mechanism_are_one_reader(paper):
    X, y, _ = paper
    one = MixtureClassifier(mechanism=None).fit(X, y)
    three = MixtureClassifier(mechanism=None).fit(X, np.column_stack((y, y, y)))
    np.testing.assert_array_equal(one.means_, three.means_)
    assert one.log_likelihood_ == three.log_likelihood_


def test_sets_are_exact(three_classes):
    X, y = three_classes
    sets = [None if v is None else {"a", "b"} if v == "a" else {v} for v in y]
    clf = MixtureClassifier(mechanism=None).fit(X, Statements.from_sets(sets))
    joint = clf.predict_log_proba(X) + clf.score_samples(X)[:, None]
    by_hand = 0.0
    for row, cell in zip(joint, sets, strict=True):
        inside = [h for h, c in enumerate(clf.classes_) if cell is None or c in cell]
        by_hand += logsumexp(row[inside])
    assert clf.log_likelihood_ == pytest.approx(by_hand)
    resolved = clf.resolve(X, Statements.from_sets(sets))
    assert resolved[[k for k, cell in enumerate(sets) if cell == {"a", "b"}], 2].max() == 0


def test_one_fallible_reader_is_caught_at_mistakes():
    X, truth, _ = draw(2, 500)
    X = 1.6 * X
    rng = np.random.default_rng(0)
    wrong = rng.random(500) < 0.08
    y = np.where(wrong, 1 - truth, truth)
    reviewed = np.arange(500) >= 40  # the rest is histology
    y[~reviewed] = truth[~reviewed]
    clf = MixtureClassifier(experts="fallible").fit(X, y, reviewed=reviewed)
    doubted = clf.resolve(X, y, reviewed=reviewed)[np.arange(500), y] < 0.5
    assert not doubted[~reviewed].any()
    assert np.mean((y != truth)[doubted]) > 0.8
    assert clf.readers_.accuracy[0] == pytest.approx(1 - wrong[reviewed].mean(), abs=0.03)


def test_weights_are_rows_given_twice():
    X, _, Y = draw(4, 150)
    twice = np.arange(150) < 60
    clf = MixtureClassifier(experts=Readers(pooling="own"), tol=1e-9)
    by_weight = clf.fit(X, Y, sample_weight=1.0 + twice).log_likelihood_
    by_rows = clf.fit(np.vstack((X, X[twice])), np.vstack((Y, Y[twice]))).log_likelihood_
    assert by_weight == pytest.approx(by_rows, abs=1e-4)


def test_pooling_is_as_strong_as_readers_are_alike(four):
    alike = draw(6, 400, (-4.0,) * 5, (0.9,) * 5)
    found = MixtureClassifier(experts="fallible").fit(alike[0], alike[2])
    own = MixtureClassifier(experts=Readers(pooling="own")).fit(alike[0], alike[2])
    assert found.mechanism_.spread[1] < 1 < four[3].mechanism_.spread[1]
    assert found.readers_.slope.std() < 0.7 * own.readers_.slope.std()


# -- probabilities and grades ---------------------------------------------------------------------


def reports(seed, n, spread, slope=1.0):
    """Return features, classes, posteriors and what a reader with such a spread reports."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) + truth[:, None] * [1.5, 1.0]
    odds = X @ [1.5, 1.0] - (1.5**2 + 1.0) / 2
    q = expit(slope * odds + spread * np.sqrt(2) * rng.standard_normal(n))
    return X, truth, expit(odds), np.column_stack((1 - q, q))


def test_precise_reports_give_the_posteriors_away():
    X, _, tau, Q = reports(0, 80, 0.05)
    said = Statements.from_probabilities(Q, [0, 1])
    clf = MixtureClassifier(mechanism=None).fit(X, said)
    table = clf.readers_.iloc[0]
    assert table.slope == pytest.approx(1, abs=0.1)
    assert table.spread < 0.15
    assert np.abs(clf.predict_proba(X)[:, 1] - tau).max() < 0.05


def test_probabilities_teach_more_than_labels_made_of_them():
    off = []
    for seed in range(8):
        X, _, tau, Q = reports(seed, 60, 0.5)
        y = np.where(Q.max(axis=1) > 0.75, Q.argmax(axis=1), -1)
        q = MixtureClassifier(mechanism=None).fit(X, Statements.from_probabilities(Q, [0, 1]))
        r = MixtureClassifier(classes=[0, 1]).fit(X, y)
        off.append([np.abs(c.predict_proba(X)[:, 1] - tau).mean() for c in (q, r)])
    by_report, by_label = np.mean(off, axis=0)
    assert by_report < 0.8 * by_label


def test_grades_are_recovered():
    X, _, tau, _ = reports(1, 1500, 1.0)
    rng = np.random.default_rng(0)
    cuts = np.array([-2.5, -0.8, 0.8, 2.5])
    odds = np.log(tau / (1 - tau))
    R = 1 + np.searchsorted(cuts, odds[:, None] + rng.logistic(size=(1500, 2)))
    said = Statements.from_grades(R.reshape(1500, 2), range(1, 6), ["no", "yes"])
    clf = MixtureClassifier(experts=Readers(pooling="shared")).fit(X, said)
    table = clf.readers_.iloc[0]
    np.testing.assert_allclose(
        table[[f"cut {k}" for k in range(1, 5)]].astype(float), cuts, atol=0.5
    )
    assert table.slope == pytest.approx(1, abs=0.3)
    assert np.abs(clf.predict_proba(X)[:, 1] - tau).mean() < 0.05
