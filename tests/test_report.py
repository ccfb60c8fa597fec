"""The report: what it says, that it says it safely, and that it copes with anything."""

import doctest
import html.parser
import importlib
import json
import pkgutil
import re
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

import hesitant.cli
import hesitant.persistence
import hesitant.report
from hesitant import MixtureClassifier, MixtureClassifierCV, Statements
from hesitant import _words as words
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.report import _case, _held_out, make_report
from hesitant.tables import TableError

SECTIONS = ["labels", "data", "accuracy", "triage", "evidence", "change", "details"]


def fit(X, y, reviewed=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MixtureClassifier(missing_label=None, **options).fit(X, y, reviewed=reviewed)


def report_on(X, y, reviewed=None, **options):
    clf = fit(X, y, reviewed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_report(clf, X, y, reviewed=reviewed)


@pytest.fixture(scope="module")
def cells():
    """Return a report on four populations, and its page."""
    data = make_cytometry_like(600, random_state=2)
    X = pd.DataFrame(data.features, columns=data.feature_names)
    clf = fit(X, data.labels, random_state=0)
    report = make_report(clf, X, data.labels, name="cells.csv", ids=[f"c{i}" for i in range(600)])
    return report, report.to_html(), data


# -- what it says -------------------------------------------------------------------------------


def test_sections_stand_in_the_order_of_reading(cells):
    _, page, _ = cells
    found = re.findall(r'<section id="(\w+)"', page)
    assert found == SECTIONS
    assert page.index("<h1>") < page.index('<section id="labels"')


def test_numbers_are_those_of_the_data(cells):
    report, _, data = cells
    summary = report.to_dict()
    assert summary["labels"]["blank"] == data.n_blank
    assert summary["labels"]["labelled"] == data.n_labelled
    given = {row["class"]: row["labelled"] for row in summary["labels"]["classes"]}
    assert given == data.class_counts
    assigned = sum(row["blank_assigned"] for row in summary["labels"]["classes"])
    expected = sum(row["blank_expected"] for row in summary["labels"]["classes"])
    assert assigned == data.n_blank
    assert expected == pytest.approx(data.n_blank)
    assert sum(band["rows"] for band in summary["labels"]["by_confidence"]) == 600
    triage = summary["triage"]
    assert triage["total"] + triage["unusual_total"] == data.n_blank
    assert len(triage["rows"]) == triage["total"]
    values = [row["expected_gain"] for row in triage["rows"]]
    assert values == sorted(values, reverse=True)
    assert summary["repeat"]["data"]["sha256"]


def test_rows_that_change_stand_under_headings(cells):
    report, page, _ = cells
    assert report.to_dict()["change"]["rows"]
    table = page[page.index("Rows that change class, those that change most first") :]
    head = table[: table.index("</thead>")]
    assert "label</th>" in head
    assert "></th>" not in head


def test_the_intervals_are_in_the_table(cells):
    report, page, _ = cells
    groups = {g["title"]: g["rows"] for g in report.to_dict()["parameters"]["groups"]}
    assert len(groups["Class means"]) == 12
    assert [r["of"] for r in groups["Labelling mechanism"]] == ["intercept", "entropy"]
    for row in groups["Class means"]:
        assert row["lower"] < row["estimate"] < row["upper"]
    assert "95 % interval" in page


def test_the_same_data_give_the_same_report(cells):
    report, page, _ = cells
    assert report.to_html() == page


@pytest.mark.parametrize(
    ("finding", "change"),
    [
        ("hard", lambda d, rng: d.labels),
        ("random", lambda d, rng: np.where(rng.random(400) < 0.6, d.truth, None)),
        ("easy", lambda d, rng: np.where(d.details["entropy"] > 0.03, d.truth, None)),
        ("all", lambda d, rng: d.truth.astype(object)),
        ("few", lambda d, rng: np.where(np.arange(400) == 7, None, d.truth)),
    ],
)
def test_the_verdict_follows_the_blanks(finding, change):
    data = simulate(400, random_state=3)
    y = change(data, np.random.default_rng(0))
    verdict = report_on(data.features, y).to_dict()["verdict"]
    assert verdict["finding"] == finding
    assert verdict["headline"].endswith(".")


def test_blanks_that_nobody_saw_prove_nothing():
    data = simulate(300, random_state=3)
    report = report_on(data.features, data.labels, reviewed=np.zeros(300, bool))
    assert report.to_dict()["verdict"]["finding"] == "unseen"
    half = np.arange(300) % 2 == 0
    report = report_on(data.features, data.labels, reviewed=half)
    assert "150 rows count as not reviewed" in report.verdict


@pytest.mark.slow
def test_more_features_than_rows_can_bear():
    """Noise in 40 features: the fit is certain, held-out rows know better, nothing is claimed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 40))
    y = np.where(rng.random(160) < 0.7, rng.integers(0, 2, 160), None)
    report = report_on(X, y, covariance="tied")
    found = report.to_dict()
    held_out = found["held_out"]
    assert held_out["contradicted"]
    assert held_out["lower"] < 0.5 < held_out["upper"] + 0.1
    assert found["verdict"]["finding"] == "crowded"
    assert found["doubtful_labels"]["total"] == 0
    assert found["parameters"]["groups"] == []  # no standard error that would mean nothing
    assert "at least 95 % sure" not in report.verdict
    page = report.to_html()
    assert "probabilities are not shown" in page
    assert "&gt; 99.9" not in page


def test_of_many_parameters_what_labels_teach_needs_no_standard_errors(monkeypatch):
    data = simulate(n=400, random_state=0)
    clf = MixtureClassifier().fit(data.features, data.labels)
    exact = make_report(clf, data.features, data.labels).to_dict()["triage"]
    monkeypatch.setattr(_case, "MOST_PARAMETERS", 3)
    found = make_report(clf, data.features, data.labels).to_dict()["triage"]
    assert "how much their label is expected to tell" in found["explanation"]
    first = [{row["row"] for row in listed["rows"][:20]} for listed in (exact, found)]
    assert len(first[0] & first[1]) > 12


def test_held_out_rows_are_judged_without_their_labels(cells):
    """Each row's probabilities are those of a model fitted without it."""
    report, _, data = cells
    case = report._case
    proba, _ = case.held_out
    assert np.isfinite(proba[data.labelled]).all()
    assert np.isnan(proba[~data.labelled]).all()
    summary = report.to_dict()["held_out"]
    confusion = np.array(summary["confusion"])
    assert confusion.sum() == data.n_labelled
    assert np.trace(confusion) / confusion.sum() == pytest.approx(summary["accuracy"])
    assert summary["lower"] < summary["accuracy"] < summary["upper"]
    # labelled rows are the easier ones
    truth = (case.clf.predict(case.data) == data.truth).mean()
    assert summary["all_rows"] < summary["accuracy"]
    assert summary["all_rows"] == pytest.approx(truth, abs=0.05)
    assert sum(band["rows"] for band in summary["reliability"]) <= data.n_labelled


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
    assert thin.endswith("(Of gaussian, full, none, alpha=0.75, by which blanks are judged.)")
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


def test_checked_data_give_the_same_report():
    clf = fit(BASE.features, BASE.labels)
    assert clf.report(clf.check()).to_dict() == clf.report(BASE.features, BASE.labels).to_dict()


def test_report_without_labels_says_what_is_missing():
    clf = fit(BASE.features, BASE.labels)
    with pytest.raises(ValueError, match="the target y is None: give labels"):
        clf.report(BASE.features)


def test_numbers_and_names_as_a_reader_likes_them():
    assert words.decimals(-1234.567) == "−1,234.57"
    assert words.decimals(0.5, 1, signed=True) == "+0.5"
    assert [words.percent(p) for p in (0.1234, 0.99999, 0.0002, 1.0)] == [
        *("12.3 %", "> 99.9 %", "< 0.1 %", "100.0 %")
    ]
    assert words.percent(0.95, whole=True) == "95 %"
    assert [words.p_value(p) for p in (0.03219, 1e-30, 0.9971)] == [
        *("p = 0.032", "p < 0.0001", "p > 0.99")
    ]
    assert words.noun(1200, "row") == "1,200 rows"
    assert words.short("CD3\nlow") == "CD3 low"
    assert words.short("x" * 100, 9) == "xxxx…xxxx"
    assert words.printable("CD3\x1b[2J") == "CD3·[2J"
    assert words.did_you_mean("populaton", ["id", "Population "]) == " Did you mean 'Population '?"
    near = ["CD4", "CD5", "FSC", "CD8", "CD19"]
    assert words.did_you_mean("CD3", near, most=2).count("'CD") == 2
    assert words.did_you_mean("label", ["x"]) == ""
    assert words.did_you_mean("tabel1", ["table1", "x"]) == " Did you mean 'table1'?"


# -- anything a user may bring ------------------------------------------------------------------


RNG = np.random.default_rng(5)
BASE = simulate(120, random_state=4)
WIDE = RNG.normal(size=(80, 6)) + np.repeat([[0], [2]], 40, axis=0)
MANY = np.arange(300) % 10
GAPS = np.where(RNG.random((120, 2)) < 0.1, np.nan, BASE.features)
WILD = simulate(300, random_state=0)
FAR, FARTHER = (np.vstack(([[size, 0]], WILD.features[1:])) for size in (1e5, 1e9))
HEAVY = {"family": "t", "alpha": 1.0}
SPLIT = {"covariance": "shrunk", "components": 4, "alpha": 1.0, "mechanism": None}
CASES = {
    "empty cells": (GAPS, BASE.labels, {}),
    "one feature": (BASE.features[:, 1:], BASE.labels, {}),
    "ignored pattern": (BASE.features, BASE.labels, {"mechanism": None}),
    "mixed": (BASE.features, BASE.labels, {"mechanism": "mixed"}),
    "clusters": (BASE.features, BASE.labels, {"mechanism": None, "alpha": 0.0}),
    "six rows": (BASE.features[:6], BASE.labels[:6], {}),
    "constant column": (np.column_stack((BASE.features, np.ones(120))), BASE.labels, {}),
    "outlier": (np.vstack((BASE.features[1:], [[1e12, 0]])), BASE.labels, {}),
    "tiny scale": (BASE.features * 1e-150, BASE.labels, {}),
    "a scale whose square is no number": (BASE.features * [1e-200, 1.0], BASE.labels, {}),
    "huge scale": (BASE.features * 1e150, BASE.labels, {}),
    "six features": (WIDE, np.where(RNG.random(80) < 0.7, np.repeat(["a", "b"], 40), None), {}),
    "ten classes": (
        RNG.normal(size=(300, 2)) + np.column_stack((MANY % 4, MANY // 4)) * 9,
        np.where(RNG.random(300) < 0.8, MANY, None),
        {},
    ),
    "heavy tails": (BASE.features, BASE.labels, {"family": "t", "covariance": "tied"}),
    "skewed": (BASE.features, BASE.labels, {"family": "skew_t"}),
    "a wild cell in heavy tails": (FAR, WILD.labels, HEAVY),
    "a wilder cell, shrunk": (FARTHER, WILD.labels, HEAVY | {"covariance": "shrunk"}),
    "components without rows": (FARTHER, WILD.labels, SPLIT),
}
QUICK = ("empty cells", "one feature", "ignored pattern", "six rows", "constant column", "outlier")


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in CASES]
)
def test_every_case_gets_a_whole_page(case):
    X, y, options = CASES[case]
    report = report_on(X, y, **options)
    page = report.to_html()
    json.dumps(report.to_dict(), allow_nan=False)
    assert re.findall(r'<section id="(\w+)"', page) == SECTIONS
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(svg)
    assert not re.search(r'[ ",M]nan[ ",]|"inf', page)


class Audit(html.parser.HTMLParser):
    """Collects what a page is made of, and whether its elements close."""

    VOID = ("meta", "link", "br", "img", "path", "rect", "circle", "input")

    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.attributes, self.headings = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.stack.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        known = dict(attributes)
        if "id" in known:
            self.ids.append(known["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.attributes += [(tag, *pair) for pair in attributes]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.stack.pop() == tag


def test_the_page_is_well_formed_and_accessible(cells):
    audit = Audit()
    audit.feed(cells[1])
    assert not audit.stack
    assert len(audit.ids) == len(set(audit.ids))
    assert audit.headings[0] == 1
    assert audit.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(audit.headings, audit.headings[1:], strict=False))
    targets = [v[1:] for _, k, v in audit.attributes if k == "href" and v.startswith("#")]
    assert set(targets) <= set(audit.ids)
    labelled = [v for _, k, v in audit.attributes if k == "aria-labelledby"]
    assert set(labelled) <= set(audit.ids)
    page = cells[1]
    assert '<html lang="en">' in page
    assert all(f"<{tag}" in page for tag in ("header", "nav", "main", "footer", "caption"))
    pictures = re.findall(r'<svg class="chart[ "].*?>', page)
    assert len(pictures) == 5
    assert all('role="img"' in p for p in pictures)


def test_nothing_is_loaded_and_no_handler_runs(cells):
    audit = Audit()
    audit.feed(cells[1])
    for tag, key, value in audit.attributes:
        assert not key.startswith("on"), (tag, key)
        assert key not in ("src", "action", "formaction")
        if key == "href":
            assert value.startswith(("#", "data:,"))
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", cells[1])
    assert "default-src 'none'" in cells[1]


# -- as an object -------------------------------------------------------------------------------


def test_writing_and_showing(cells, tmp_path):
    report, _, _ = cells
    path = report.write_html(tmp_path / "r.html")
    assert 50_000 < path.stat().st_size < 1_000_000
    with pytest.raises(TableError, match="exists already"):
        report.write_html(path)
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown
    assert repr(report) == "Report: The blanks mark the hard cases."
    copy = report.to_dict()
    copy["name"] = "other"
    assert report.to_dict()["name"] == "cells.csv"


def test_wrong_input_is_refused():
    clf = fit(BASE.features, BASE.labels)
    with pytest.raises(ValueError, match="ids has 3"):
        make_report(clf, BASE.features, BASE.labels, ids=[1, 2, 3])
    with pytest.raises(ValueError, match="rows"):
        make_report(clf, BASE.features, BASE.labels[:5])


@pytest.mark.parametrize("package", [hesitant.report, hesitant.persistence, hesitant.cli])
def test_examples_in_docstrings(package):
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(found.name)
        assert doctest.testmod(module).failed == 0, found.name
