"""What all result objects share: text, HTML, plain data."""

import dataclasses
import json
import sys
from typing import ClassVar

import numpy as np
import pytest

from hesitant.inference._result import Result, Table, need, number, percent, plain


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Example(Result):
    title: ClassVar[str] = "An <example>"
    values: np.ndarray
    inner: dict
    hidden: object = dataclasses.field(default=None, repr=False)

    def _content(self):
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


def test_percent():
    assert percent(0.123) == "12.3 %"


def test_missing_extras_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'hesitant\[data\]'"):
        need("pandas", "data")
