"""The report: what it says, that it says it safely, and that it copes with anything."""

import doctest
import html.parser
import importlib
import json
import pkgutil
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

import hesitant.cli
import hesitant.persistence
import hesitant.report
from helpers_report import fit, report_on
from hesitant import MixtureClassifier
from hesitant import _words as words
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.report import _case, make_report
from hesitant.tables import TableError

SECTIONS = ["labels", "data", "accuracy", "triage", "evidence", "change", "details"]


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
