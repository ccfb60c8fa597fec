"""What parts `select_columns` gives the columns, what it reads as labels, and what it refuses."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from helpers_tables import refused, select
from hesitant.tables import select_columns

HOSTILE = ["<script>alert(1)</script>", 'say "hi"', "two\nlines", "🧬", "=1+1", "x" * 10_000]
CELLS = b"""id,CD3,CD4,population,seen,w,note
c1,0.5,1,T,yes,1,good
c2,0.1,2,,No,2,
c3,0.2,3, B ,TRUE,0,
c4,0.7,4,ungated,0,0.5,bad
c5,0.9,5,T,1,1,
"""


def test_every_role() -> None:
    columns = select(
        CELLS,
        label="population",
        id="id",
        reviewed="seen",
        weight="w",
        missing=["ungated"],
    )
    assert columns.feature_names == ("CD3", "CD4")
    assert columns.X.dtype == np.float64
    assert columns.X.tolist() == [[0.5, 1], [0.1, 2], [0.2, 3], [0.7, 4], [0.9, 5]]
    assert columns.y is not None
    assert columns.y.tolist() == ["T", None, "B", None, "T"]
    assert columns.ids is not None
    assert columns.ids.tolist() == ["c1", "c2", "c3", "c4", "c5"]
    assert columns.reviewed is not None
    assert columns.reviewed.tolist() == [True, False, True, False, True]
    assert columns.weight is not None
    assert columns.weight.tolist() == [1, 2, 0, 0.5, 1]
    assert columns.ignored == ("note",)
    assert columns.rows.tolist() == [0, 1, 2, 3, 4]
    assert columns.dropped.size == 0


def test_prediction_needs_no_label_and_keeps_the_order_asked_for() -> None:
    columns = select(CELLS, label=None, features=["CD4", "CD3"])
    assert columns.y is None
    assert columns.feature_names == ("CD4", "CD3")
    assert columns.X[0].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("cells", "missing", "labels"),
    [
        (["1", "2", ""], [], [1, 2, None]),
        (["1.0", "2.0", "NA"], [], [1, 2, None]),
        (["1.5", "2", ""], [], ["1.5", "2", None]),
        (["1", "2", "-1"], [], [1, 2, -1]),
        (["1", "2", "-1"], [-1], [1, 2, None]),
        (["1", "2", "-1"], ["-1"], [1, 2, None]),
        (["1", "2", "-1"], ["-1.0", "unknown"], [1, 2, None]),
        (["1", "B", "-1"], [-1.0], ["1", "B", None]),
        (["True", "False", ""], [], [True, False, None]),
        (["T", "B", "?"], ["?", ""], ["T", "B", None]),
        (["T ", " B", "  "], [], ["T", "B", None]),
        (["None", "B", "nan"], [], ["None", "B", None]),
        (["1_0", "10", "x"], [10], ["1_0", None, "x"]),
    ],
)
def test_labels(cells: list[str], missing: list[object], labels: list[object]) -> None:
    text = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells * 2))
    y = select(text, missing=missing).y
    assert y is not None
    assert y.tolist() == labels * 2
    assert [type(label) for label in y] == [type(label) for label in labels * 2]


def test_labels_of_mixed_objects_become_words() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6]})
    frame["y"] = pd.Series([1, "a", Decimal("2"), [3], 1, None], dtype=object)
    y = select(frame).y
    assert y is not None
    assert y.tolist() == ["1", "a", "2", "[3]", "1", None]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_labels(name: str) -> None:
    frame = pd.DataFrame({name: [1.0, 2, 3, 4], "y": [name, "b", None, name]})
    columns = select(frame)
    assert columns.feature_names == (name,)
    assert columns.y is not None
    assert columns.y.tolist() == [name, "b", None, name]
    swapped = frame.rename(columns={name: "y", "y": name})
    assert select(swapped, label=name).feature_names == ("y",)
    refused(frame.assign(y=name), "single class")
    refused(pd.DataFrame({name: ["1"] * 9 + [name], "y": ["a", "b"] * 5}), "not a number")


def test_label_mistakes() -> None:
    refused(CELLS, "'populaton'", "Did you mean 'population'?", label="populaton")
    refused(CELLS, "Did you mean 'population'?", label="Population ")
    refused(CELLS, "The columns are 'id', 'CD3'", label="zzz")
    refused("5.1,3.5,setosa\n1,2,a\n", "header line may be missing", label="species")
    refused("x,y\n1,\n2,\n", "blank in every row", "column 'y'")
    refused("x,y\n1,?\n2,?\n", "blank in every row", missing=["?"])
    refused("x,y\n1,a\n2,a\n3,\n", "single class", "'a'", "--missing")
    coded = "x,y\n1,1\n2,-1\n3,1\n4,-1\n"  # -1 is blank unless told otherwise
    refused(coded, "single class", "give none to --missing")
    assert set(select(coded, missing=["none"]).y) == {1, -1}
    refused("x,y\n1,a\n2,b\n3,c\n", "3 different values", "identifier", "--label")
    few = "x,y\n" + "".join(f"{i},c{i if i < 30 else ''}\n" for i in range(30)) + "1,\n" * 99
    refused(few, "identifier")
    measured = "x,y\n" + "".join(f"{i},{i % 40 + 0.5}\n" for i in range(60))
    refused(measured, "measurement", "40 different")
    refused("x,y\n1,Unknown\n2,b\n3,b\n", "'unknown'", "mean 'Unknown'?", missing=["unknown"])
    refused("x,y\n1,unknown\n2,b\n3,b\n", "'unknwn'", "mean 'unknown'?", missing=["unknwn"])
    # two labelled rows of two classes are few, but they are labels
    assert select("x,y\n1,a\n2,b\n3,\n").y is not None


def test_roles_do_not_overlap_and_exist() -> None:
    refused(CELLS, "both as label and as id", label="population", id="population")
    features = {"label": "population", "features": ["CD3", "population"]}
    refused(CELLS, "both as label and as features", **features)
    refused(CELLS, "both as drop and as features", drop=["CD3"], **features)
    refused(CELLS, "both as label and as drop", label="population", drop=["population"])
    refused(CELLS, "names the column twice", label="population", features=["CD3", "CD3"])
    refused(CELLS, "No feature", label="population", features=[])
    refused(CELLS, "--features", "'CD33', 'CD44'", label="population", features=["CD33", "CD44"])
    refused(CELLS, "--weight", "'weight'", label="population", weight="weight")
    refused(CELLS, "--drop", label="population", drop=["nope"])
    refused(pd.DataFrame({"x": [], "y": []}), "no rows")
    refused(pd.DataFrame([[1, 2]], columns=["y", "y"]), "more than once")
    with pytest.raises(TypeError, match="collection"):
        select(CELLS, label="population", drop="CD3")


def test_reviewed_and_weight_mistakes() -> None:
    refused("x,y,r\n1,a,yes\n2,b,\n3,b,no\n", "row 2 (line 3)", "'r'", "blank", reviewed="r")
    refused("x,y,r\n1,a,yes\n2,b,maybe\n3,b,no\n", "row 2", "'maybe'", reviewed="r")
    refused("x,y,r\n1,a,1\n2,b,2\n3,b,0\n", "row 2", "'2'", reviewed="r")
    refused("x,y,w\n1,a,1\n2,b,-1\n3,b,1\n", "row 2", "'-1'", "at least 0", weight="w")
    refused("x,y,w\n1,a,1\n2,b,\n3,b,1\n", "row 2", "'w'", weight="w")
    refused("x,y,w\n1,a,1\n2,b,big\n3,b,1\n", "row 2", "'big'", weight="w")
    refused("x,y,w\n1,a,0\n2,b,0\n3,b,0\n", "Every weight is 0", weight="w")
    columns = select("x,y,r\n1,a,1.0\n2,b,0.0\n3,b,1.0\n", reviewed="r")
    assert columns.reviewed is not None
    assert columns.reviewed.tolist() == [True, False, True]


def test_identifiers_may_be_blank_or_numbers() -> None:
    columns = select("i,x,y\n7,1,a\n,2,b\n9,3,b\n", id="i")
    assert columns.ids is not None
    assert columns.ids.tolist() == [7, None, 9]
    lists = pd.DataFrame({"i": [[1, 2], [3, 4], None], "x": [1.0, 2, 3], "y": list("abb")})
    columns = select(lists, id="i")
    assert columns.ids is not None
    assert columns.ids.tolist() == ["[1, 2]", "[3, 4]", None]


def unused(source: str | pd.DataFrame, missing: list[object]) -> str:
    """Return what is said of values listed as missing."""
    return "".join(n for n in select(source, missing=missing).notes if "--missing" in n)


def test_missing_values_that_do_not_occur_are_told() -> None:
    text = "x,y\n1,T\n2,B\n3,T\n4,ungated\n"
    assert unused(text, ["ungated"]) == ""
    assert unused(text, ["ungated", "nobody"]).endswith(": 'nobody'.")
    # numbers are no misspellings of each other, and blanks are blanks by any of their names
    numbers = "x,y\n1,1\n2,9\n3,9\n4,\n"
    assert "'-1', '99'." in unused(numbers, ["99", -1.0, "", "NA"])
    many = pd.DataFrame({"x": 1.0, "y": [f"c{i // 2}" for i in range(40_000)]})
    assert "'zzz'" in unused(many, ["zzz"])


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["T", "B", "Unknown "], [("Unknown", 2)]),
        (["0", "1", "-1"], []),  # blank already, as in Python
        (["a", "b", "-1"], [("-1", 2)]),
        (["0", "1", "-999"], [("-999", 2)]),
        (["T", "not sure", "N.D."], [("not sure", 2), ("N.D.", 2)]),
        (["T", "?", "-"], [("?", 2), ("-", 2)]),
        (["T", "B", "none"], [("none", 2)]),
        (["T", "B", "unknown T"], []),
        (["T", "B", "NA "], []),
    ],
)
def test_classes_that_read_like_no_label(cells: list[str], found: list[tuple[str, int]]) -> None:
    text = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells * 2))
    assert list(select(text).blank_like) == found


@pytest.mark.parametrize("numbers", ["01", ["True", "False"]])
def test_readers_who_write_classes_otherwise_are_named(numbers: str | list[str]) -> None:
    text = "x,ada,bo\n" + "".join(f"{i},{'ab'[i % 2]},{numbers[i % 2]}\n" for i in range(8))
    words = f"The labels look like '{numbers[0]}', those of the reader 'ada' like 'a'. Write"
    assert refused(text, words, label=["ada", "bo"]).column == "bo"


@pytest.mark.parametrize("missing", [["unsure"], None])
def test_numbers_beside_a_word_are_words_for_all_readers(missing: list[object] | None) -> None:
    text = "x,ada,bo\n" + "".join(f"{i},{i % 2},{i % 2}\n" for i in range(8)) + "9,unsure,1\n"
    columns = select(text, label=["ada", "bo"], missing=missing)
    assert columns.opinions is not None
    assert columns.opinions[:2].tolist() == [["0", "0"], ["1", "1"]]
    assert columns.opinions[8].tolist() == [None if missing else "unsure", "1"]
    assert columns.said.classes.tolist() == ["0", "1"] + ["unsure"] * (missing is None)


def test_columns_of_measurements_are_no_readers() -> None:
    text = "x,ada,bo\n" + "".join(f"{i},{i / 7},{i / 9}\n" for i in range(1, 31))
    refused(text, "column 'ada'", "as a measurement has", label=["ada", "bo"])
    tiny = "".join(f"{i},{max(i, 2) / 1e8:g}\n" for i in range(1, 31))  # 2e-08 and so on
    refused(f"x,y\n{tiny}", "column 'y'", "as a measurement has")
    # few of them are classes
    columns = select("x,y\n1,0.5\n2,1.5\n3,\n4,0.5\n5,1.5\n")
    assert columns.y is not None
    assert columns.y.tolist() == ["0.5", "1.5", None, "0.5", "1.5"]


def test_words_for_no_label_of_one_reader_are_found() -> None:
    text = "x,ada,bo\n" + "".join(f"{i},{'aub'[i % 3]},{'aab'[i % 3]}\n" for i in range(9))
    columns = select(text.replace(",u,", ",unsure,"), label=["ada", "bo"])
    assert columns.blank_like == (("unsure", 3),)


def test_blanks_after_an_absent_value_do_not_make_it_a_value() -> None:
    columns = select("x,z,y\n1,5,T\n2,NA ,NA \n3,7,B\n4,8,N/A  \n5,9,T\n", on_missing="drop")
    assert columns.feature_names == ("x", "z")
    assert columns.y is not None
    assert columns.y.tolist() == ["T", "B", None, "T"]
    assert columns.dropped.tolist() == [1]


def test_only_data_frames_have_columns() -> None:
    with pytest.raises(TypeError, match="frame is a list: give a DataFrame"):
        select_columns([[1, 2]], label="y")  # type: ignore[arg-type]
