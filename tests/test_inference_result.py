"""What all result objects share: text, HTML, plain data."""

import dataclasses
import html.parser
import json
import sys
import warnings
from typing import ClassVar

import numpy as np
import pytest

from hesitant import FitWarning, MixtureClassifier
from hesitant._optional import need
from hesitant._words import Result, Table, number, plain


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Example(Result):
    title: ClassVar[str] = "An <example>"
    values: np.ndarray
    inner: dict
    hidden: object = dataclasses.field(default=None, repr=False)

    def _content(self):
        yield "* first <item>"
        yield "* second"
        yield "A paragraph & more. " * 8
        yield Table(("name", "value"), [("a", 1.5), ("bb", float("nan"))], "caption")


def test_printers():
    example = Example(np.array([1.0, np.inf]), {"k": np.float64(2)})
    lines = str(example).splitlines()
    assert lines[:2] == ["An <example>", "============"]
    assert max(map(len, lines)) <= 88
    assert "name  value" in lines
    assert "bb        -" in lines
    assert repr(example) == str(example)
    page = example._repr_html_()
    assert "An &lt;example&gt;" in page
    assert "paragraph &amp; more" in page
    assert '<td style="text-align:right">1.5</td>' in page


def test_plain_data():
    example = Example(np.array([1.0, np.inf]), {1: (np.int64(2), np.nan)}, hidden=object())
    found = example.to_dict()
    assert found == {"values": [1.0, None], "inner": {"1": [2, None]}}
    assert json.dumps(found, allow_nan=False)
    assert plain(np.bool_(True)) is True
    assert plain(object).startswith("<class")
    assert plain(example) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"), (12345, "12,345"), (0.000123456, "0.0001235"), (12345.6, "12,345.6"),
        (19098.0, "19,098"), (1e-20, "1e-20"), (None, "-"), (float("nan"), "-"), (True, "yes"),
        (np.inf, "inf"), ("word", "word"), (1e12, "1e+12"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_missing_extras_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'hesitant\[data\]'"):
        need("pandas", "data")


class Parents(html.parser.HTMLParser):
    """Notes the element around every list item."""

    def __init__(self, page):
        super().__init__()
        self.open, self.around = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "li":
            self.around.append(self.open[-1])
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_names_cannot_steer_a_terminal(paper):
    X, y, _ = paper
    labels = [None if v < 0 else "a\x1b[2Jb\r"[v:] for v in y]
    clf = MixtureClassifier(missing_label=None).fit(X, labels)
    for result in (clf.efficiency(), clf.diagnose(X, labels)):
        assert str(result).replace("\n", "").isprintable()


def test_items_stand_in_a_list():
    page = Example(np.zeros(1), {})._repr_html_()
    assert Parents(page).around == ["ul", "ul"]
    assert "<ul><li>first &lt;item&gt;</li></ul><ul><li>second</li></ul>" in page


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Long(Result):
    title: ClassVar[str] = "Long"
    n: int

    def _content(self):
        yield Table(("name", "value"), [(f"row{k}", k) for k in range(self.n)])


def test_long_tables_are_cut():
    text, page = str(Long(265)), Long(265)._repr_html_()
    words = "... and 235 more: .to_frame() has them all"
    assert words in text.splitlines()
    assert words in page
    for shown in (text, page):
        assert "row29" in shown
        assert "row30" not in shown
    assert Parents(page).open == []
    assert "row31" in str(Long(32))  # one or two too many are no reason
    assert "more" not in str(Long(32))


def test_the_result_of_a_large_model_fits_a_screen():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 800)
    X = rng.standard_normal((800, 10)) + 4 * np.eye(4, 10)[truth]
    y = np.where(rng.random(800) < 0.7, truth, -1)
    info = MixtureClassifier(mechanism=None).fit(X, y).information()
    assert len(info.to_frame()) > 250
    assert len(str(info).splitlines()) < 45


def test_warnings_point_at_the_line_that_asks():
    """Whether one asks the classifier or the function itself."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 1)) + 2.0 * truth[:, None]
    y = np.where(rng.random(300) < 0.6, truth, -1)
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    state = dataclasses.replace(clf.state_, weights=np.array([0.2, 0.8]))
    clf._publish(dataclasses.replace(clf.fitted_, state=state))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.summary()
        clf.triage(X, y)
    rising = [w for w in caught if issubclass(w.category, FitWarning)]
    assert len(rising) == 2
    assert all(w.filename == __file__ for w in rising)
