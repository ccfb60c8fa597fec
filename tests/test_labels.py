"""What users call y."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import get_scorer

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.labels import encode

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, -1, 1], [0, 1]),
        ([0, 1, None, 1], [0, 1]),
        (["a", "b", None, "b"], ["a", "b"]),
        (["a", "b", NAN, "b"], ["a", "b"]),
        ([False, True, None, True], [False, True]),
        ([0.0, 1.0, NAN, 1.0], [0.0, 1.0]),
        (np.array([0, 1, -1, 1]), [0, 1]),
        (np.array([0, 1, -1, 1], dtype=np.int8), [0, 1]),
        (np.array([0.0, 1.0, np.nan, 1.0]), [0.0, 1.0]),
        (np.array(["a", "b", None, "b"], dtype=object), ["a", "b"]),
        (pd.Series([0, 1, -1, 1]), [0, 1]),
        (pd.Series(["a", "b", None, "b"]), ["a", "b"]),
        (pd.Series(["a", "b", pd.NA, "b"], dtype="string"), ["a", "b"]),
        (pd.Series([0, 1, pd.NA, 1], dtype="Int64"), [0, 1]),
        (pd.Series([False, True, pd.NA, True], dtype="boolean"), [False, True]),
        (pd.Categorical(["a", "b", None, "b"]), ["a", "b"]),
        (pd.Series(["a", "b", None, "b"], index=[9, 8, 7, 6], dtype="category"), ["a", "b"]),
        (pl.Series([0, 1, None, 1]), [0, 1]),
        (pl.Series(["a", "b", None, "b"]), ["a", "b"]),
        (pl.Series(["a", "b", None, "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series([False, True, None, True]), [False, True]),
        (pl.Series([0.0, 1.0, NAN, 1.0]), [0.0, 1.0]),
        (np.array(["2020-01-01", "2021-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]"),
         [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_every_kind_of_y(y, classes):
    labels = encode(y)
    assert labels.codes.tolist() == [0, 1, -1, 1]
    assert labels.classes.tolist() == classes
    assert labels.counts.tolist() == [1, 2]


def test_categories_are_sorted_unless_an_order_is_given():
    y = pd.Series(pd.Categorical(["low", "high", None], categories=["low", "mid", "high"]))
    labels = encode(y)
    assert labels.classes.tolist() == ["high", "low"]  # "mid" has no row, and was not asked for
    assert encode(y, classes=["low", "mid", "high"]).codes.tolist() == [0, 2, -1]


@pytest.mark.parametrize("kind", ["strings", "categorical", "polars", "arrow"])
def test_scikit_learns_scorers_take_every_kind_of_labels(kind):
    """They suppose that classes are sorted, and say nothing if not."""
    data = simulate(n=300, random_state=0)
    names = np.array(["neg", "pos"])[data.truth]
    y = {
        "strings": names,
        "categorical": pd.Series(names).astype(pd.CategoricalDtype(["pos", "neg"])),
        "polars": pl.Series(names, dtype=pl.Enum(["pos", "neg"])),
        "arrow": pa.array(names).dictionary_encode(),
    }[kind]
    clf = MixtureClassifier(mechanism=None).fit(data.features, y)
    assert clf.classes_.tolist() == ["neg", "pos"]
    assert get_scorer("roc_auc")(clf, data.features, names) > 0.9


@pytest.mark.parametrize("make", [pd.Series, pd.array, pa.array])
def test_whole_numbers_with_gaps_stay_whole(make):
    y = make([3, None, 7]) if make is pa.array else make([3, None, 7], dtype="Int64")
    labels = encode(y)
    assert labels.codes.tolist() == [0, -1, 1]
    assert labels.classes.dtype.kind == "i"


def test_masked_labels_are_blanks():
    y = np.ma.masked_array([1, 2, 1], mask=[False, False, True])
    assert encode(y).codes.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing_label": [-1, -2]}, r"missing_label=\[-1, -2\]: give one value"),
        ({"classes": 3}, "classes=3: list every class"),
        ({"classes": "ab"}, "classes='ab': list every class"),
        ({"classes": [[0], [1]]}, r"classes=\[\[0\], \[1\]\]: list every class"),
        ({"y": 1}, "y is 1: give a list, an entry for each row"),
        ({"y": "labels"}, "y is 'labels': give a list"),
        ({"y": np.array([[0], None, [1, 2]], dtype=object)}, "a value that is no label.*list"),
    ],
)
def test_arguments_of_the_wrong_kind(options, message):
    with pytest.raises(TypeError, match=message):
        encode(**({"y": [0, 1, -1]} | options))


def test_classes_given_keep_their_order_and_add_empty_ones():
    labels = encode(["b", None, "a"], classes=["b", "c", "a"])
    assert labels.codes.tolist() == [0, -1, 2]
    assert labels.counts.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("y", "marker", "codes"),
    [
        ([1, 2, 0], 0, [0, 1, -1]),
        (["x", "?", "y"], "?", [0, -1, 1]),
        ([False, True, False], 0, [0, 1, 0]),  # False is not the marker 0
        ([False, True, None], False, [-1, 0, -1]),
        ([-1, 1, 0], None, [0, 2, 1]),
        (np.array(["x", "?", "y"]), "?", [0, -1, 1]),
        (np.array([1, 2, 0]), "?", [1, 2, 0]),
    ],
)
def test_marker(y, marker, codes):
    assert encode(y, missing_label=marker).codes.tolist() == codes


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1, "a", None], {}, "mixes labels of different types"),
        ([[0, 1], [1, 0]], {}, "one label for each row"),
        ([0.5, 1.7, 2.3], {}, "continuous"),
        (["a", "z"], {"classes": ["a", "b"]}, "'z', which is not among classes"),
        (["a"], {"classes": ["a", "a"]}, "names a class twice"),
        (["a"], {"classes": []}, "classes is empty"),
        (["a"], {"classes": ["a", None]}, "marks a blank"),
        ([0], {"classes": [0, -1]}, "change missing_label"),
    ],
)
def test_errors(y, options, message):
    with pytest.raises(ValueError, match=message):
        encode(y, **options)


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=40))
def test_codes_and_classes_give_the_labels_back(y):
    labels = encode(y)
    back = [None if c < 0 else labels.classes[c] for c in labels.codes]
    assert back == y
    assert list(labels.classes) == sorted(set(y) - {None})
