"""What a report says of models by labels they had not seen: alone, combined, or of a panel."""

import numpy as np
import pytest

from helpers_report import fit, report_on
from hesitant import MixtureClassifier, MixtureClassifierCV, Statements
from hesitant.datasets import simulate
from hesitant.report import _held_out, make_report


def test_where_no_estimate_covers_blank_rows_the_accuracy_is_not_taken_for_theirs():
    data = simulate(60, random_state=0)
    report = report_on(data.features, np.where(np.arange(60) % 6, data.truth, None))
    assert report.to_dict()["held_out"]["all_rows"] is None  # ten blanks are too few
    assert "rows like the labelled ones; blank rows may well be harder" in report.verdict


def test_a_wrong_model_is_not_believed_where_experts_hesitated():
    """A winding boundary, a straight one fitted to it: sure of rows that were left blank."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) * [2, 1]
    chance = 1 / (1 + np.exp(-3 * (X[:, 1] - 1.2 * np.sin(1.5 * X[:, 0]))))
    truth = (rng.random(2000) < chance).astype(int)
    entropy = -(chance * np.log2(chance) + (1 - chance) * np.log2(1 - chance))
    left = rng.random(2000) < 1 / (1 + np.exp(8 * (0.5 - entropy)))
    report = report_on(X, np.where(left, None, truth), covariance="tied")
    own, said = report._case.posterior[left], report.to_dict()["held_out"]["blank_rows"]
    right = (own.argmax(axis=1) == truth[left]).mean()
    claimed = own.max(axis=1).mean()
    assert claimed - right > 0.2
    assert right < said < right + 0.7 * (claimed - right)  # of seeds 0 to 11 every one; mean 0.4


def test_labels_among_many_blank_rows_like_them_count_by_odds_that_there_can_be(monkeypatch):
    rng, odds = np.random.default_rng(0), []
    truth = rng.integers(0, 2, 1500)
    X = rng.binomial([3, 2], (0.3 + 0.4 * truth)[:, None]).astype(float)  # twelve kinds of rows
    weigh = _held_out.as_sure_as
    monkeypatch.setattr(_held_out, "as_sure_as", lambda *a: odds.append(a[2]) or weigh(*a))
    report_on(X, np.where(rng.random(1500) < 0.08, truth, None), covariance="tied")
    assert (odds[0] > 0).all()


@pytest.mark.parametrize("gaps", [False, True])
def test_a_right_model_is_believed_of_blank_rows(gaps):
    data = simulate(1000, random_state=0)
    X = np.where(np.random.default_rng(0).random((1000, 2)) < 0.05 * gaps, np.nan, data.features)
    report = report_on(X, data.labels)
    own, found = report._case.posterior[~data.labelled], report.to_dict()["held_out"]
    right = (own.argmax(axis=1) == data.truth[~data.labelled]).mean()
    assert found["blank_rows"] <= own.max(axis=1).mean() + 1e-3
    assert found["blank_rows"] == pytest.approx(right, abs=0.03)
    share = np.mean(~data.labelled)
    mean = (1 - share) * found["accuracy"] + share * found["blank_rows"]
    assert found["all_rows"] == pytest.approx(mean)


def test_rows_held_out_speak_for_all_labelled_ones(monkeypatch):
    """Of very many labelled rows some are held out; blank rows weigh no more for that."""
    monkeypatch.setattr("hesitant.report._case.MANY", 100)
    data = simulate(2000, random_state=3)
    clf = fit(data.features, data.labels)
    found = make_report(clf, data.features, data.labels).to_dict()["held_out"]
    assert found["rows"] < 0.3 * data.n_labelled
    truth = (clf.predict(data.features) == data.truth).mean()
    assert found["all_rows"] == pytest.approx(truth, abs=0.02)


def test_a_combination_of_models_is_reported_as_one():
    selection = pytest.importorskip("hesitant.model_selection")
    data = simulate(200, random_state=5)
    models = [MixtureClassifier(covariance=c, max_iter=50) for c in ("full", "tied")]
    clf = selection.MixtureClassifierCV(models, missing_label=None, random_state=0)
    clf.fit(data.features, data.labels)
    report = clf.report(data.features, data.labels)
    found = report.to_dict()
    np.testing.assert_array_equal(
        report._case.held_out[0][data.labelled], clf.held_out_proba_[data.labelled]
    )
    np.testing.assert_allclose(report._case.proba, clf.predict_proba(data.features))
    assert found["candidates"][0]["name"] == clf.name_
    assert "Models tried and combined" in report.to_html()
    clf.label_rates_ = np.array([0.9, 0.3])
    verdict = clf.report(data.features, data.labels).to_dict()["verdict"]
    said = " ".join(verdict["what"])
    assert "about 90.0 % of class 0, 30.0 % of class 1" in said
    # one page, one judgement: not "the hard cases" above and the classes below
    assert verdict["headline"].startswith("The blanks mark whole classes")
    assert "more readily than their difficulty explains" in said
    assert "where the classes overlap, so the pattern" not in said
    plain = selection.MixtureClassifierCV([{"mechanism": None}], missing_label=None)
    apart = data.features + [0, 5] * data.truth[:, None]
    said = plain.fit(apart, data.labels).report(apart, data.labels).verdict
    assert "The model described in this report does without it." in said  # nobody asked for that
    assert "all rows is above 99.9 %, for blank ones above 99.9 %." in said
    assert "and less than 70 % sure of no blank row." in said


def test_what_is_said_of_one_candidate_is_not_said_of_the_combination():
    data = simulate(200, random_state=5)
    X, y = np.vstack((data.features, [[9.0, 9.0]])), [*data.labels, 2]  # a class of one row
    one = MixtureClassifier(alpha=0.75, mechanism=None)
    clf = MixtureClassifierCV([one], missing_label=None).fit(X, y)
    how = {
        "notes": ["Set to alpha=0.75."],
        "wording": lambda text: text.replace("alpha=", "--alpha "),
    }
    told = clf.report(X, y, **how).to_dict()["notes"]
    thin = next(note for note in told if note.startswith("Class 2 rests on"))
    assert thin.endswith("(This is about the model 'gaussian, full, none, alpha=0.75'.)")
    assert "Set to --alpha 0.75." in told


def test_a_panel_has_a_section_of_its_own():
    data = simulate(150, random_state=0)
    rng = np.random.default_rng(0)
    said = [np.where(rng.random(150) < share, data.truth, None) for share in (0.9, 0.7, 0.8)]
    table = np.column_stack(said)
    y = Statements.from_labels(table, readers=["Ann", "Ben", "Cy"])
    report = report_on(data.features, y)
    readers = report.to_dict()["readers"]
    assert readers["names"] == ["Ann", "Ben", "Cy"]
    assert np.diag(readers["agreement"]) == pytest.approx(1)
    given = [row["labelled"] for row in readers["rows"]]
    assert given == [sum(v is not None for v in column) for column in said]
    page = report.to_html()
    # a table of labels is a panel too, and of fallible readers each has a confusion table
    plain = report_on(data.features, table, experts="fallible")
    assert np.shape(plain.to_dict()["readers"]["confusion"]) == (3, 2, 2)
    assert "What each reader says of each class" in plain.to_html()
    assert '<section id="readers"' in page
    assert "How readily each reader labels" in page


def test_readers_who_never_agree_gave_labels_all_the_same():
    data = simulate(60, random_state=0)
    table = np.column_stack([data.truth, 1 - data.truth]).astype(object)
    table[::3] = None
    verdict = report_on(data.features, table, experts="fallible").to_dict()["verdict"]
    assert verdict["headline"] == "On no row do most readers agree on a class."
    told = " ".join(verdict["paragraphs"])
    assert "60 (100.0 %) have no class that most readers named." in told
    assert "Readers gave labels on 40 rows, and on none is one class named more often" in told
    assert "write the classes alike" in told
    assert "no label" not in told
    # grades that lean to neither class are something said, too
    grades = Statements.from_grades(np.full((60, 2), 2), scale=[1, 2, 3], classes=[0, 1])
    verdict = report_on(data.features, grades, experts="fallible").to_dict()["verdict"]
    assert "Readers gave grades on 60 rows" in " ".join(verdict["paragraphs"])


def test_readers_who_err_are_no_proof_against_the_model():
    """One in five of their labels is wrong: agreeing with fewer is what a good model does."""
    data = simulate(300, random_state=1)
    rng = np.random.default_rng(0)
    wrong = rng.random((300, 3)) < 0.2
    table = np.where(wrong, 1 - data.truth[:, None], data.truth[:, None]).astype(object)
    table[rng.random((300, 3)) < 0.3] = None
    report = report_on(data.features, table, experts="fallible")
    held_out = report.to_dict()["held_out"]
    assert held_out["accuracy"] < 0.92  # the vote errs too
    assert held_out["claimed"] == pytest.approx(held_out["agreed"], abs=0.05)
    assert held_out["agreed"] == pytest.approx(0.8, abs=0.06)
    assert not held_out["contradicted"]
    assert held_out["all_rows"] is None
    assert "Readers err too" in report.verdict


def test_a_wrong_label_is_found():
    data = simulate(300, random_state=3, means=((0, 0), (0, 6)))
    y = data.labels.copy()
    wrong = int(np.flatnonzero(data.labelled)[np.argmin(data.details["entropy"][data.labelled])])
    y[wrong] = 1 - y[wrong]
    doubtful = report_on(data.features, y).to_dict()["doubtful_labels"]
    assert wrong in [row["position"] for row in doubtful["rows"]]


def test_labels_that_are_right_are_not_doubted_for_being_many():
    """Many rows have labels improbable and right; as many are listed as were turned."""
    data = simulate(5000, random_state=1)
    total = report_on(data.features, data.labels).to_dict()["doubtful_labels"]["total"]
    assert total < 6
    y, seen = data.labels.copy(), np.flatnonzero(data.labelled)
    turned = np.random.default_rng(0).choice(seen, 100, replace=False)
    y[turned] = 1 - y[turned]
    total = report_on(data.features, y).to_dict()["doubtful_labels"]["total"]
    assert 60 <= total <= 140
