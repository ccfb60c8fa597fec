"""What goes with a fit to readers, and what hostile panels are told."""

import warnings

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit

import hesitant
from helpers_experts import draw
from hesitant import FitWarning, MixtureClassifier, Statements
from hesitant.experts import Readers
from hesitant.families import KernelDensity
from hesitant.mechanisms import Ignorable

# -- what goes with a fit -------------------------------------------------------------------------


def test_a_saved_panel_resolves_the_same(four, tmp_path):
    X, _, said, clf = four
    hesitant.save(clf, tmp_path / "panel.hesitant")
    loaded = hesitant.load(tmp_path / "panel.hesitant")
    np.testing.assert_array_equal(loaded.resolve(X, said), clf.resolve(X, said))
    np.testing.assert_array_equal(loaded.resolve(X), clf.predict_proba(X))
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
    with pytest.raises(ValueError, match=r"first \d+.* contradict each other.*fallible"):
        MixtureClassifier().fit(X, Y)
    said = Statements.from_labels(np.ones_like(Y), truth=[0] + [-1] * 59)
    with pytest.raises(ValueError, match=r"1 rows \(first 0\) contradict"):
        MixtureClassifier().fit(X, said)


def test_readers_who_are_all_wrong_are_seen_through_by_the_truth():
    X, truth, Y = draw(0, 400)
    said = Statements.from_labels(
        np.where(Y >= 0, 1 - Y, -1), truth=np.where(np.arange(400) < 60, truth, -1)
    )
    with pytest.warns(FitWarning, match="swapped names"):
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
    X, _, Y = draw(seed=4, n=80)
    clf = MixtureClassifier(KernelDensity(), experts="fallible").fit(X, Y)
    assert clf.readers_["slope_se"].isna().all()
    assert len(clf.diagnose(X, Y).readers) == 4
