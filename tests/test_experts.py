"""Readers as they are: gradients, optima, recovery, and what hostile panels are told."""

import warnings

import dask.array as da
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

import hesitant
from hesitant import FitWarning, MixtureClassifier, Statements
from hesitant.experts import Certain, Confusion, Grades, Panel, Probabilities, Readers
from hesitant.families import KernelDensity
from hesitant.likelihood import normalise
from hesitant.mechanisms import EntropyClassMechanism, EntropyMechanism, Ignorable

SLOPES, ACCURACIES = np.array([-7.0, -3.0, -5.0, 0.0]), np.array([0.97, 0.9, 0.8, 0.7])


def draw(seed=0, n=600, slopes=SLOPES, accuracies=ACCURACIES):
    """Return features, classes and labels of readers who hesitate and err."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) + truth[:, None] * [2.0, 1.7]
    odds = X @ [2.0, 1.7] - (2.0**2 + 1.7**2) / 2
    u = -sum(p * np.log(np.maximum(p, 1e-300)) for p in (expit(odds), expit(-odds)))
    Y = np.full((n, len(slopes)), -1)
    for j, (slope, accuracy) in enumerate(zip(slopes, accuracies, strict=True)):
        spoke = rng.random(n) < expit(1.0 - 0.3 * slope + slope * u)
        right = rng.random(n) < accuracy
        Y[spoke, j] = np.where(right, truth, 1 - truth)[spoke]
    return X, truth, Y


@pytest.fixture(scope="module")
def four():
    """Four readers, and the fit to them."""
    X, truth, Y = draw()
    said = Statements.from_labels(Y, ["a", "b", "c", "d"])
    return X, truth, said, MixtureClassifier(experts="fallible").fit(X, said)


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


# -- what goes with a fit -------------------------------------------------------------------------


def test_a_saved_panel_resolves_the_same(four, tmp_path):
    X, _, said, clf = four
    hesitant.save(clf, tmp_path / "panel.hesitant")
    loaded = hesitant.load(tmp_path / "panel.hesitant")
    np.testing.assert_array_equal(loaded.resolve(X, said), clf.resolve(X, said))
    assert loaded.readers_.accuracy_se.isna().all()
    np.testing.assert_allclose(loaded.readers_.accuracy, clf.readers_.accuracy)


def test_some_of_the_readers_in_any_order_are_enough_to_resolve(four):
    X, _, said, clf = four
    some = Statements.from_labels(np.asarray(said.said)[:, [2, 0]], ["c", "a"])
    hidden = np.where(np.isin(range(4), [0, 2]), said.said, -1)
    shown = np.tile(np.isin(range(4), [0, 2]), (len(X), 1))
    same = Statements.from_labels(hidden, said.readers, shown=shown)
    np.testing.assert_allclose(clf.resolve(X, some), clf.resolve(X, same))
    with pytest.raises(ValueError, match="'z' was not in the fit"):
        clf.resolve(X, Statements.from_labels(np.zeros((len(X), 1)), ["z"]))


def test_dask_rows_give_the_same_fit(four):
    X, _, said, clf = four
    chunked = MixtureClassifier(experts="fallible").fit(da.from_array(X, chunks=(250, 2)), said)
    np.testing.assert_allclose(chunked.state_.theta, clf.state_.theta, atol=1e-4)


def test_triage_names_the_reader_who_should_look():
    X, _, Y = draw(1, 300)
    shown = np.ones(Y.shape, dtype=bool)
    shown[:100, 0] = shown[:100, 3] = False  # the best and the worst have not seen these
    said = Statements.from_labels(np.where(shown, Y, -1), ["a", "b", "c", "d"], shown=shown)
    clf = MixtureClassifier(experts="fallible").fit(X, said)
    table = clf.triage(X, said, top=30)
    easy = table[(table.row < 100) & (table.entropy < 0.3)]
    assert set(table.reader.dropna()) <= {"a", "b", "c", "d"}
    assert (easy.reader == "a").all()


def test_a_diagnosis_tells_readers_who_hesitate_from_one_who_does_not(four):
    X, _, said, clf = four
    found = clf.diagnose(X, said)
    assert [line["finding"] for line in found.readers] == ["hard", "hard", "hard", "random"]
    np.testing.assert_allclose(found.to_frame().slope, clf.readers_.slope)
    assert "d leaves rows blank without regard to difficulty" in str(found)
    assert len(found.plot().ax_.lines) == 4
    again = hesitant.diagnose(X, np.asarray(said.said))  # the shorthand, and a fit of its own
    np.testing.assert_allclose(again.to_frame().slope, clf.readers_.slope, atol=1e-3)


def test_models_of_a_panel_are_compared_as_likelihoods_of_the_same_data(four):
    X, _, said, clf = four
    found = hesitant.compare(X, said, {"mechanism": [None, "entropy"]}, cv=0)
    silent, full = sorted(found.candidates, key=lambda c: c.log_likelihood)
    assert found.best == full.name
    assert full.log_likelihood == pytest.approx(clf.log_likelihood_, abs=0.1)
    assert full.n_parameters == silent.n_parameters + 4  # a slope for each reader
    X, _, Y = draw(1, 300, (0.0,) * 4)
    assert hesitant.compare(X, Y, {"mechanism": [None, "entropy"]}, cv=0).best.endswith("none")


def test_a_tilt_of_a_panel_is_that_of_all_readers(four):
    X, _, said, clf = four
    found = clf.sensitivity(X, said, tilts=[-1, 1])
    assert found.log_likelihood[1] == pytest.approx(clf.log_likelihood_, abs=1e-3)
    assert found.shares[0, 0] > found.shares[1, 0] > found.shares[2, 0]
    assert found.models[0].mechanism_.hesitation.tilt == [-1.0, 0.0]


def test_a_fit_can_be_drawn_from_and_bootstrapped(four):
    X, _, said, clf = four
    drawn = clf.sample(300, random_state=0)
    assert isinstance(drawn[2], Statements)
    again = MixtureClassifier(experts="fallible").fit(drawn[0], drawn[2])
    np.testing.assert_allclose(again.readers_.accuracy, clf.readers_.accuracy, atol=0.12)
    for kind in ("parametric", "nonparametric"):
        result = clf.bootstrap(X, said, n_boot=3, kind=kind, random_state=0)
        assert any(name.startswith("P(") for name in result.parameters)


def test_readers_who_withhold_by_class_are_drawn_so():
    X, truth, Y = draw(3, 500, (0.0, 0.0), (0.95, 0.95))
    rng = np.random.default_rng(0)
    shown = rng.random(Y.shape) < np.array([0.9, 0.3])[truth][:, None]
    said = Statements.from_labels(np.where(shown, Y, -1))
    clf = MixtureClassifier(mechanism="class", experts="fallible").fit(1.5 * X, said)
    _, drawn, again = clf.sample(4000, random_state=0)
    spoke = [again.given[drawn == c].mean() for c in (0, 1)]
    chance = [expit(clf.readers_[f"intercept[{c}]"]).mean() for c in (0, 1)]
    np.testing.assert_allclose(spoke, chance, atol=0.03)
    assert spoke[0] > spoke[1] + 0.3


# -- hostile panels -------------------------------------------------------------------------------


def test_contradictions_need_fallible_readers():
    X, _, Y = draw(0, 60)
    with pytest.raises(ValueError, match=r"row \d+ .* contradict each other.*fallible"):
        MixtureClassifier().fit(X, Y)
    said = Statements.from_labels(np.ones_like(Y), truth=[0] + [-1] * 59)
    with pytest.raises(ValueError, match="row 0 contradict"):
        MixtureClassifier().fit(X, said)


def test_readers_who_are_all_wrong_are_seen_through_by_the_truth():
    X, truth, Y = draw(0, 400)
    said = Statements.from_labels(
        np.where(Y >= 0, 1 - Y, -1), truth=np.where(np.arange(400) < 60, truth, -1)
    )
    with pytest.warns(FitWarning, match="exchanged names"):
        clf = MixtureClassifier(experts="fallible").fit(X, said)
    assert np.mean(clf.predict(X) == truth) > 0.85
    assert clf.readers_.accuracy.max() < 0.5


def test_a_reader_of_few_words_is_pointed_out():
    X, _, Y = draw(0, 200)
    Y[:, 3] = -1
    Y[0, 3] = 1
    with pytest.warns(FitWarning, match=r"fewer than 10 rows, 'reader 4' \(1\)"):
        clf = MixtureClassifier(experts="fallible").fit(X, Y)
    assert np.isfinite(clf.state_.theta).all()
    assert 0.6 < clf.readers_.accuracy[3] < 0.97  # the prior, and one label


def test_readers_who_never_meet_are_learnt_from_the_features_alone():
    X, truth, Y = draw(8, 500, (-2.0, -2.0), (0.95, 0.75))
    shown = (np.arange(500) % 2)[:, None] == np.arange(2)
    said = Statements.from_labels(np.where(shown, Y, -1), shown=shown)
    with pytest.warns(FitWarning, match="No row was labelled by two readers"):
        clf = MixtureClassifier(experts="fallible").fit(X, said)
    assert clf.readers_.accuracy[0] > clf.readers_.accuracy[1] + 0.05
    assert np.mean(clf.predict(X) == truth) > 0.85


def test_a_class_that_no_reader_says_does_not_break_the_fit():
    X, _, Y = draw(0, 300)
    far = np.arange(300) < 40
    X[far] += 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(experts="fallible", classes=[0, 1, 2], random_state=0)
        clf.fit(X, np.where(far[:, None], -1, Y))
    assert np.isfinite(clf.predict_proba(X)).all()
    assert (clf.predict(X[far]) == 2).mean() > 0.9


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X, Y: ({"classes": [0, 1]}, np.full_like(Y, -1), {}), "no reader said anything"),
        (lambda X, Y: ({"alpha": 0.8}, Y, {}), "alpha=0.8 with experts"),
        (lambda X, Y: ({}, Y, {"reviewed": np.ones(len(X), bool)}), "reviewed is for one label"),
        (lambda X, Y: ({"experts": "falible"}, Y, {}), "Did you mean 'fallible'"),
        (lambda X, Y: ({"experts": Readers(pooling="some")}, Y, {}), "pooling='some'"),
        (lambda X, Y: ({"experts": Readers(right=2)}, Y, {}), "right=2"),
        (lambda X, Y: ({}, Y[:-1], {}), "give one label"),
    ],
)
def test_mistakes_are_named(make, words):
    X, _, Y = draw(0, 50)
    options, said, more = make(X, Y)
    with pytest.raises(ValueError, match=words):
        MixtureClassifier(**{"experts": "fallible", **options}).fit(X, said, **more)


def test_questions_about_one_reader_say_how_to_ask_them(four):
    X, _, said, clf = four
    with pytest.raises(TypeError, match=r"statements\.of\(reader\)"):
        clf.score(X, said)
    y, shown = said.of("a")
    assert hesitant.diagnose(X, y, reviewed=shown).mean_blank > 0
    plain = MixtureClassifier().fit(X, y)
    for name in ("readers_", "confusion_"):
        assert not hasattr(plain, name)
    assert isinstance(MixtureClassifier(mechanism=None).fit(X, y).mechanism_, Ignorable)


def test_what_can_be_said_may_be_listed_in_another_way(three_classes):
    X, y = three_classes
    sets = [None if v is None else {"a", "b"} if k % 3 else {v} for k, v in enumerate(y)]
    sets = [cell if cell is None or y[k] in cell else {y[k]} for k, cell in enumerate(sets)]
    clf = MixtureClassifier(experts="fallible").fit(X, Statements.from_sets(sets))
    part = [k for k, cell in enumerate(sets) if cell == {"c"}][
        :5
    ]  # one set where the fit had four
    few = Statements.from_sets([sets[k] for k in part], classes=["c", "a", "b"])
    whole = clf.resolve(X, Statements.from_sets(sets))
    np.testing.assert_allclose(clf.resolve(X[part], few), whole[part])
    same = Statements.from_labels(["c"] * 5, classes=["a", "b", "c"])
    np.testing.assert_allclose(clf.resolve(X[part], same), whole[part])
    graded = Statements.from_grades([1, 2, 3, 1] * 25, [1, 2, 3], ["a", "b"])
    clf = MixtureClassifier().fit(X[:100], graded)
    with pytest.raises(ValueError, match="the fit was to grades with 3"):
        clf.resolve(X[:100], Statements.from_labels(["a", "b"] * 50))


def test_readers_who_withhold_by_named_class_are_listed():
    X, _, Y = draw(n=200)
    said = Statements.from_labels(np.array(["a", "b", None], dtype=object)[Y])
    clf = MixtureClassifier(mechanism="class", experts="fallible").fit(X, said)
    assert {"intercept[a]", "intercept[b]", "accuracy"} <= set(clf.readers_.columns)


def test_a_loaded_panel_is_diagnosed_as_it_was(tmp_path):
    X, _, Y = draw(seed=4, n=200)
    clf = MixtureClassifier(experts="fallible", mechanism="entropy+class").fit(X, Y)
    hesitant.save(clf, tmp_path / "panel.model")
    before = clf.diagnose(X, Y).readers
    after = hesitant.load(tmp_path / "panel.model").diagnose(X, Y).readers
    assert all(line["slope_se"] > 0 for line in before)
    for one, other in zip(before, after, strict=True):
        assert one["finding"] == other["finding"]
        assert one["wald"] == pytest.approx(other["wald"], rel=1e-6)


def test_readers_of_classes_without_a_chart_have_no_standard_errors():
    X, _, Y = draw(seed=4, n=200)
    clf = MixtureClassifier(KernelDensity(), experts="fallible").fit(X, Y)
    assert clf.readers_["slope_se"].isna().all()
    assert len(clf.diagnose(X, Y).readers) == 4
