"""A panel's opinions become a label where enough of them agree, and a blank elsewhere."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hesitant.datasets import consensus

OPINIONS = [["a", "a", "a", "b"], ["a", "a", "b", "b"], ["b", "b", None, "b"], [None] * 4]


def panels(classes: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    row = st.integers(1, 7).flatmap(
        lambda m: st.lists(
            st.lists(classes | st.none(), min_size=m, max_size=m), min_size=1, max_size=8
        )
    )
    return row


@given(panels(st.sampled_from(["x", "y", "z"])) | panels(st.integers(0, 2)), st.data())
def test_agrees_with_counting_by_hand(panel: list[list[Any]], data: st.DataObject) -> None:
    at_least = data.draw(st.integers(1, len(panel[0])))
    labels = consensus(panel, at_least=at_least, ties="blank")
    assert labels.dtype == object
    for row, label in zip(panel, labels, strict=True):
        ranked = Counter(v for v in row if v is not None).most_common(2)
        tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        agreed = bool(ranked) and ranked[0][1] >= at_least and not tied
        assert label == (ranked[0][0] if agreed else None)
        assert label is None or label in row


@given(panels(st.sampled_from([1, 2, 3])), st.data())
def test_order_of_experts_and_name_of_classes_do_not_matter(
    panel: list[list[Any]], data: st.DataObject
) -> None:
    m = len(panel[0])
    at_least = data.draw(st.integers(1, m))
    order = data.draw(st.permutations(range(m)))
    labels = consensus(panel, at_least=at_least, ties="blank")
    shuffled = [[row[j] for j in order] for row in panel]
    assert [*consensus(shuffled, at_least=at_least, ties="blank")] == [*labels]
    names = {1: "one", 2: "two", 3: "three", None: None}
    renamed = [[names[v] for v in row] for row in panel]
    assert [*consensus(renamed, at_least=at_least, ties="blank")] == [names[v] for v in labels]


@given(panels(st.sampled_from("ab")), st.data())
def test_asking_for_more_agreement_never_adds_or_changes_a_label(
    panel: list[list[Any]], data: st.DataObject
) -> None:
    low = data.draw(st.integers(1, len(panel[0])))
    high = data.draw(st.integers(low, len(panel[0])))
    fewer = consensus(panel, at_least=high, ties="blank")
    more = consensus(panel, at_least=low, ties="blank")
    assert all(a is None or a == b for a, b in zip(fewer, more, strict=True))


@given(panels(st.sampled_from("abc")))
def test_more_than_half_never_ties(panel: list[list[Any]]) -> None:
    consensus(panel, at_least=len(panel[0]) // 2 + 1)


@pytest.mark.parametrize(
    ("share", "count"), [(0.75, 3), (0.7, 3), (0.5, 2), (1.0, 4), (0.01, 1), (np.float64(0.76), 4)]
)
def test_a_share_is_of_the_whole_panel(share: float, count: int) -> None:
    by_share = consensus(OPINIONS, at_least=share, ties="blank")
    assert [*by_share] == [*consensus(OPINIONS, at_least=count, ties="blank")]


def test_seven_tenths_of_ten_are_seven() -> None:
    panel = [["a"] * 7 + ["b"] * 3]
    assert [*consensus(panel, at_least=0.7)] == ["a"]


@pytest.mark.parametrize(
    "blank", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan")], ids=repr
)
def test_every_kind_of_nothing(blank: object) -> None:
    panel = np.array([["a", "a", blank], [blank, blank, "b"]], dtype=object)
    assert [*consensus(panel, at_least=2)] == ["a", None]


def test_marker_of_missing_opinions() -> None:
    assert [*consensus([[1, 1, -1], [-1, -1, -1]], at_least=2, missing=-1)] == [1, None]
    assert [*consensus([["?", "?", "a"]], at_least=1, missing="?")] == ["a"]


def test_data_frame_gives_a_series_with_its_index() -> None:
    frame = pd.DataFrame(OPINIONS, index=["p", "q", "r", "s"])
    expected = pd.Series(["a", None, "b", None], index=["p", "q", "r", "s"], dtype=object)
    pd.testing.assert_series_equal(consensus(frame, at_least=3), expected)
    pd.testing.assert_series_equal(consensus(frame.astype("category"), at_least=3), expected)


def test_class_values_are_kept() -> None:
    numbers = np.array([[3, 3, 5], [5, 5, 5]])
    assert [*consensus(numbers, at_least=2)] == [3, 5]
    assert [*consensus(np.array([[1.0, np.nan, 1.0]]), at_least=2)] == [1.0]
    assert [*consensus(np.array([[True, True], [False, False]]), at_least=2)] == [True, False]
    frame = pd.DataFrame({"a": [1, None], "b": [1, 2]}, dtype="Int64")
    assert [*consensus(frame, at_least=2)] == [1, None]
    assert [*consensus(pl.DataFrame({"a": ["u", None], "b": ["u", "v"]}), at_least=2)] == [
        "u",
        None,
    ]


def test_a_tie_is_an_error_with_two_remedies() -> None:
    frame = pd.DataFrame(OPINIONS, index=["p", "q", "r", "s"])
    with pytest.raises(
        ValueError, match=r"leaves 1 cases tied, such as row 'q' \(2 experts each for 'a' and"
    ):
        consensus(frame, at_least=2)
    with pytest.raises(ValueError, match="give at_least=3, or ties='blank'"):
        consensus(OPINIONS, at_least=2)
    assert [*consensus(OPINIONS, at_least=2, ties="blank")] == ["a", None, "b", None]


def test_wrong_use_is_named() -> None:
    with pytest.raises(ValueError, match="at_least=6: give a whole number of experts from 1 to 4"):
        consensus(OPINIONS)
    for bad in (0, -1, 0.0, 1.5, 6.0, True, "most", float("nan")):
        with pytest.raises((ValueError, TypeError), match=r"at_least=.*: give a .* to [14]"):
            consensus(OPINIONS, at_least=bad)
    with pytest.raises(ValueError, match=r"at_least=1.5: .* or a share of them"):
        consensus(OPINIONS, at_least=1.5)
    for flat in (["a", "b", "c"], pd.Series(["a", "b"]), np.array([1, 2])):
        with pytest.raises(ValueError, match=r"opinions has shape .*: rows are cases, columns"):
            consensus(flat, at_least=1)
    with pytest.raises(ValueError, match=r"has shape \(2, 0\): rows are cases"):
        consensus(np.empty((2, 0)))
    with pytest.raises(ValueError, match="ties='toss' is unknown; choose one of 'raise', 'blank'"):
        consensus(OPINIONS, at_least=3, ties="toss")


def test_large_panels_are_quick() -> None:
    panel = np.random.default_rng(0).integers(0, 4, (20_000, 7))
    assert len(consensus(panel, at_least=4)) == 20_000
