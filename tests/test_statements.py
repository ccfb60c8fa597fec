"""Who said what: every way to make statements, and what is refused."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hesitant import Statements

TABLE = {"Ada": ["a", "b", None, "c"], "Bo": ["a", None, "b", "c"]}
CODES = [[0, 0], [1, -1], [-1, 1], [2, 2]]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_kind_give_the_same_statements(make):
    said = Statements.from_labels(make(TABLE))
    assert said.readers == ("Ada", "Bo")
    assert said.said.tolist() == CODES
    assert said.classes.tolist() == ["a", "b", "c"]


def test_arrays_of_numbers_and_nested_lists_keep_their_values():
    Y = np.array([[1, 2], [-1, 2], [3, -1]])
    by_array, by_list = Statements.from_labels(Y), Statements.from_labels(Y.tolist())
    assert by_array.said.tolist() == by_list.said.tolist() == [[0, 1], [-1, 1], [2, -1]]
    assert by_array.classes.tolist() == [1, 2, 3]
    assert by_array.readers == ("reader 1", "reader 2")
    assert Statements.from_labels(["x", None, "y"]).shape == (3, 1)


def test_a_blank_that_nobody_saw_was_not_withheld():
    said = Statements.from_labels([["a", None], [None, "b"]], shown=[[1, 0], [1, 1]])
    assert said.said.tolist() == [[0, -2], [-1, 1]]
    assert said.counts == {
        "reader": ["reader 1", "reader 2"],
        "labels": [1, 1],
        "withheld": [1, 0],
        "never shown": [0, 1],
    }


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_long_table_says_the_same_as_a_wide_one(make):
    wide = Statements.from_labels([["a", None], [None, "b"]], ["u", "v"], shown=[[1, 0], [1, 1]])
    lines = {"task": [1, 0, 1], "worker": ["u", "u", "v"], "label": [None, "a", "b"]}
    long = Statements.from_long(make(lines), row="task", reader="worker", label="label")
    assert long.said.tolist() == wide.said.tolist()
    assert long.readers == wide.readers
    names = {**lines, "task": ["t2", "t1", "t2"]}
    named = Statements.from_long(
        make(names), row="task", reader="worker", label="label", rows=["t1", "t2", "t3"]
    )
    assert named.said.tolist() == [*wide.said.tolist(), [-2, -2]]


def test_probabilities_are_kept_and_rounded_ones_add_up_again():
    Q = np.array([[0.334, 0.333, 0.333], [np.nan] * 3, [1.0, 0.0, 0.001]])
    said = Statements.from_probabilities(Q, classes=["a", "b", "c"])
    assert said.said.tolist() == [[0], [-1], [0]]
    assert np.nansum(said.chances, axis=2).ravel() == pytest.approx([1, 0, 1])
    frame = pd.DataFrame(Q, columns=["a", "b", "c"])
    assert Statements.from_probabilities(frame).classes.tolist() == ["a", "b", "c"]
    panel = Statements.from_probabilities(np.stack([Q, Q], axis=1), classes=["a", "b", "c"])
    assert panel.shape == (3, 2)
    assert panel.agreement().tolist() == [[1, 1], [1, 1]]


def test_sets_of_one_class_and_of_all_are_a_label_and_a_blank():
    said = Statements.from_sets({"x": [{"a", "b"}, "c", None, ("b", "a"), {"a", "b", "c"}]})
    assert said.said.ravel().tolist() == [1, 0, -1, 1, -1]
    assert said.options.tolist() == [[False, False, True], [True, True, False]]
    assert said.votes()[0].tolist() == [0.5, 0.5, 0.0]


def test_grades_lie_between_two_classes():
    said = Statements.from_grades([[1, 5], [3, None]], range(1, 6), ["no", "yes"])
    assert said.said.tolist() == [[0, 4], [2, -1]]
    assert said.votes().tolist() == [[1.0, 1.0], [0.5, 0.5]]


def test_truth_is_kept_apart_from_what_was_said():
    said = Statements.from_labels(TABLE, truth=["a", None, "b", "d"])
    assert said.classes.tolist() == ["a", "b", "c", "d"]
    assert said.truth.tolist() == [0, -1, 1, 3]
    assert "The class of 3 rows is known" in repr(said)


def test_rows_can_be_picked_and_nothing_can_be_changed():
    said = Statements.from_labels(TABLE, truth=["a", None, "b", "d"])
    for rows in (slice(1, 3), [1, 2], np.array([False, True, True, False])):
        part = said[rows]
        assert part.said.tolist() == CODES[1:3]
        assert part.truth.tolist() == [-1, 1]
    assert said[3].said.tolist() == [[2, 2]] == said[-1].said.tolist()
    assert pickle.loads(pickle.dumps(said)).said.tolist() == CODES
    with pytest.raises(ValueError, match="read-only"):
        said.said[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        said.kind = "grades"


def test_agreement_counts_rows_that_both_spoke_of():
    said = Statements.from_labels([["a", "a", None], ["a", "b", None], ["b", None, "a"]])
    np.testing.assert_allclose(said.agreement()[0], [1.0, 0.5, 0.0])
    assert np.isnan(said.agreement()[1, 2])


def test_many_readers_print_as_a_short_list():
    text = repr(Statements.from_labels(np.ones((3, 50), dtype=int), classes=[0, 1]))
    assert "and 20 more: .counts has them all" in text
    assert len(text.splitlines()) == 34


LONG = {"row": "r", "reader": "w", "label": "l"}
TWO = ["a", "b"]
REFUSED = {
    "shown, but spoke": (lambda: Statements.from_labels([["a"], ["b"]], shown=[1, 0]), "truth="),
    "shown of odd shape": (lambda: Statements.from_labels([["a"]], shown=[1, 0]), "shown has sha"),
    "shown of odd values": (
        lambda: Statements.from_labels([["a"]], shown=["?"]),
        "True if it was",
    ),
    "rows of two lengths": (lambda: Statements.from_labels([["a"], ["a", "b"]]), "equally long"),
    "three dimensions": (lambda: Statements.from_labels(np.ones((2, 2, 2))), "has shape"),
    "nothing": (lambda: Statements.from_labels([]), "has shape"),
    "mixed types": (lambda: Statements.from_labels([["a", 1]]), "different types"),
    "readers of one name": (lambda: Statements.from_labels([["a", "b"]], ["x", "x"]), "different"),
    "truth too short": (lambda: Statements.from_labels([["a"], ["b"]], truth=["a"]), "truth has"),
    "unknown class": (lambda: Statements.from_labels([["z"]], classes=TWO), "'z'"),
    "no such column": (lambda: Statements.from_long({"r": [0]}, **LONG), "no column 'w'"),
    "names without rows": (
        lambda: Statements.from_long({"r": ["t"], "w": ["x"], "l": ["a"]}, **LONG),
        "give rows=",
    ),
    "two labels at once": (
        lambda: Statements.from_long({"r": [0, 0], "w": ["x"] * 2, "l": TWO}, **LONG),
        "two labels",
    ),
    "sum": (lambda: Statements.from_probabilities([[0.5, 0.2]], TWO), "does not add up to 1"),
    "percentages": (lambda: Statements.from_probabilities([[70, 30]], TWO), "percentages"),
    "negative": (lambda: Statements.from_probabilities([[1.2, -0.2]], TWO), "below 0"),
    "half missing": (lambda: Statements.from_probabilities([[1, np.nan]], TWO), "NaN for some"),
    "words": (lambda: Statements.from_probabilities([["x", "y"]], TWO), "not numbers"),
    "no names": (lambda: Statements.from_probabilities([[0.5, 0.5]]), "name the 2 classes"),
    "empty set": (lambda: Statements.from_sets([{"a"}, set()]), "rules out every class"),
    "nested lists": (lambda: Statements.from_sets([[{"a"}, {"b"}], ["a", None]]), "several read"),
    "no class in a set": (lambda: Statements.from_sets([{"a", None}, {"b"}]), "give sets of cla"),
    "labels of sets": (lambda: Statements.from_sets([{"a"}]).of("reader 1"), "these are sets"),
    "grade off the scale": (lambda: Statements.from_grades([9], [1, 2, 3], TWO), "R contains 9"),
    "short scale": (lambda: Statements.from_grades([1], [1, 2], TWO), "from_labels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_statements_are_refused_in_words(case):
    make, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        make()


def test_a_lazy_frame_is_asked_to_be_collected():
    with pytest.raises(TypeError, match="collect"):
        Statements.from_labels(pl.LazyFrame(TABLE))
