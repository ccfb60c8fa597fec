"""What `select_columns` takes from a table, and what it refuses, with the row and the remedy."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hesitant.tables import Columns, TableError, cells, read_table, select_columns

HOSTILE = ["<script>alert(1)</script>", 'say "hi"', "two\nlines", "🧬", "=1+1", "x" * 10_000]
CELLS = b"""id,CD3,CD4,population,seen,w,note
c1,0.5,1,T,yes,1,good
c2,0.1,2,,No,2,
c3,0.2,3, B ,TRUE,0,
c4,0.7,4,ungated,0,0.5,bad
c5,0.9,5,T,1,1,
"""


def table(text: str) -> pd.DataFrame:
    return read_table(io.BytesIO(text.encode()))


def select(source: str | bytes | pd.DataFrame, **options: object) -> Columns:
    if isinstance(source, str | bytes):
        data = source.encode() if isinstance(source, str) else source
        source = read_table(io.BytesIO(data))
    return select_columns(source, **({"label": "y"} | options))


def refused(source: str | bytes | pd.DataFrame, *words: str, **options: object) -> TableError:
    with pytest.raises(TableError) as caught:
        select(source, **options)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 1_000
    return caught.value


@pytest.mark.parametrize(
    ("text", "decimal", "mark"),
    [
        ("a;b;y\n1.001,5;0,25;x\n999,5;1;z\n", ",", "."),
        ("a;b;y\n1.001,5;0.25;x\n0,5;1;z\n", ".", ","),
        ("a\tb\ty\n1,001.5\t0.25\tx\n9,000,000\t1\tz\n", ".", ","),
        ("a;b;y\n1 001,5;0,25;x\n9 002,5;1;z\n", ",", "."),
        ("a;b;y\n1.001;0,25;x\n2.002;1;z\n", ",", "."),
        ("a;b;y\n1,001;0.25;x\n2,002;1;z\n", ".", ","),
        ("a;b;y\n1.5;0,25;x\n2.5;1;z\n", ",", "."),
    ],
)
def test_marks_of_other_countries_drop_no_column(text: str, decimal: str, mark: str) -> None:
    frame = read_table(io.BytesIO(text.encode()), decimal=decimal)
    words = ("looks like one with other marks", f"give {mark!r} to --decimal", "thousands, remove")
    error = refused(frame, *words)
    assert (error.column, error.row) == ("a", 1)
    # nor is 1.001 read as about one where a point marks thousands
    refused(frame, *words, features=["a"])


def test_words_with_commas_are_no_numbers() -> None:
    columns = select("a;b;y\n192.168,1;1;x\nroom 1,001;2;z\n3;3;x\n")
    assert columns.ignored == ("a",)


@pytest.mark.parametrize("value", ["1e151", "-2e300"])
def test_enormous_values_are_refused(value: str) -> None:
    error = refused(f"a,y\n1,x\n{value},z\n3,\n", "is too large", "Correct or empty the cell")
    assert (error.row, error.column) == (2, "a")


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


def test_features_by_default() -> None:
    columns = select("x,flag,text,y\n1,True,p,a\n2,False,q,b\n3,True,r,a\n")
    assert columns.feature_names == ("x", "flag")
    assert columns.X.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert columns.ignored == ("text",)
    assert select("x,z,y\n1,5,a\n2,6,b\n3,7,b\n", drop=["z"]).feature_names == ("x",)
    refused("t,y\np,a\nq,b\nr,b\n", "No numeric column", "'t'")
    columns = select(",x,y\n1,5,a\n2,6,b\n3,6,b\n")
    assert columns.feature_names == ("x",)
    assert "no name" in columns.set_aside["Unnamed: 0"]
    assert select(",x,y\n1,5,a\n2,6,b\n3,6,b\n", id="Unnamed: 0").feature_names == ("x",)
    text = pd.DataFrame({"x": ["1", "2", "3"], "y": list("abb")})
    refused(text, "numbers stored as text", "--features")
    assert select(text, features=["x"]).X.tolist() == [[1], [2], [3]]


def test_a_few_bad_cells_do_not_remove_a_marker_in_silence() -> None:
    text = "CD3,y\n" + "1.5,a\n2.5,b\n" * 5 + "<LOD,a\n>9,b\n"
    error = refused(text, "row 11 (line 12)", "'CD3'", "'<LOD'", "2 such cell", "--drop")
    assert (error.row, error.line, error.column) == (11, 12, "CD3")
    refused(text, "'<LOD'", features=["CD3"])
    refused("t,y\np,a\nq,b\nr,a\n", "row 1", "'p'", features=["t"])
    point = read_table(io.BytesIO(b"x;y\n1,5;a\n2,5;b\n3,5;b\n"), decimal=".")
    refused(point, "'1,5'", "decimal mark", "--decimal")
    frame = table(text)
    refused(frame[frame.index >= 6], "row 11 (line 12)")  # rows keep their numbers
    refused(frame.iloc[::-1], "row 12 (line 13)", "'>9'")
    refused(frame.set_axis(list("abcdefghijkl")), "row 11,")  # named rows are counted
    refused(table(text.replace("1.5,a", "1.5,a\n", 1)), "row 11,")  # a blank line: no line known


def test_missing_and_infinite_features() -> None:
    text = "x,z,y\n1,1,a\n,2,b\n3,inf,a\n4,,b\n5,5,b\n6,6,\n"
    error = refused(text, "3 of 6 rows", "'z (2)', 'x (1)'", "--on-missing")
    assert (error.row, error.line, error.column) == (2, 3, "x")
    columns = select(text, on_missing="drop")
    assert columns.X.tolist() == [[1, 1], [5, 5], [6, 6]]
    assert columns.y is not None
    assert columns.y.tolist() == ["a", "b", None]
    assert columns.rows.tolist() == [0, 4, 5]
    assert columns.dropped.tolist() == [1, 2, 3]
    half = "x,z,y\n1,,a\n2,,b\n,3,b\n"
    refused(half, "3 of 3 rows", "'z (2)'", on_missing="drop")
    assert np.isnan(select(half, on_missing="model").X).sum() == 3
    error = refused(text, "1 of 6 rows", "an infinite cell", "'z (1)'", on_missing="model")
    assert (error.row, error.column) == (3, "z")
    refused("x,y\n,a\n1,b\n2,b\n3,b\n", "single class", on_missing="drop")
    huge = pd.DataFrame({"x": pd.Series([10**400, 1, 2], dtype=object), "y": list("abb")})
    refused(huge, "row 1")  # infinite or no number, depending on the version of pandas
    with pytest.raises(ValueError, match="'impute'"):
        select(text, on_missing="impute")


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


def test_dates_cannot_be_features() -> None:
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-01-01"] * 3), "y": list("abb")})
    refused(frame.assign(x=1.0), "dates", features=["d"])
    assert select(frame.assign(x=[1.0, 2, 3])).feature_names == ("x",)


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
    words = f"The labels are such as '{numbers[0]}', those of the reader 'ada' such as 'a'. Write"
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


@pytest.mark.parametrize(
    ("name", "values", "step", "counts"),
    [
        ("n", [1, 2, 3, 4, 5], 5, True),
        ("n", [0, 1, 2, 3, 4], 5, True),
        ("n", [1, 2, None, 4, 5], 5, False),  # fewer than ten
        ("n", [1, 2, 3, 5, 4], 5, False),
        ("n", [1.5, 2.5, 3.5, 4.5, 5.5], 5, False),
        ("n", [2, 3, 4, 6, 7], 6, True),  # with gaps, as where rows were left out
        ("n", [2, 4, 6, 8, 9], 8, False),
        ("Cell_ID", [17, 5, 9, 33, 2], 5, True),
        ("Event", [17, 5, 9, 33, 2], 5, True),
        ("time", [17, 5, 9, 33, 5], 5, False),
        ("time", [1.5, 2, 3, 8, 5], 5, False),
        ("time", [2e-9, 9e-9, 3e-9, 8e-9, 5e-9], 1e-8, False),  # a lifetime in seconds
        ("humid", [17, 5, 9, 33, 2], 5, False),
    ],
)
def test_features_that_number_the_rows(
    name: str, values: list[float | None], step: float, counts: bool
) -> None:
    frame = pd.DataFrame({"x": [0.3, 0.1, 0.2, 0.9, 0.4], name: values, "y": list("ababa")})
    later = frame.assign(**{name: [None if v is None else v + step for v in values]})
    frame = pd.concat([frame, later], ignore_index=True)
    columns = select(frame, on_missing="drop")
    assert columns.feature_names == (("x",) if counts else ("x", name))
    assert list(columns.set_aside) == ([name] if counts else [])
    assert not select(frame, features=["x", name], on_missing="drop").set_aside


@pytest.mark.parametrize(("part", "counts"), [(0.02, True), (0.07, False), (0.5, False)])
def test_cases_and_their_parts_number_the_rows(part: float, counts: bool) -> None:
    cases = np.sort(np.r_[np.arange(20) + 17.01, 30 + part])  # 29.01, 30.01, 30.02, 31.01
    frame = pd.DataFrame({"x": np.sin(cases), "case": cases, "y": list("aba") * 7})
    assert list(select(frame).set_aside) == (["case"] if counts else [])


@pytest.mark.parametrize(
    ("parts", "counts"),
    [
        ((0.01, 0.02), True),
        ((0.001, 0.002, 0.003), True),
        ((0.02, 0.01, 0.01, 0.03, 0.01), True),
        ((0.01,), False),  # counts to which .01 was added
        ((0, 0.01), False),
        ((0.01, 0.03), False),
        ((0.1, 0.2, 0.3), False),  # a decimal that was rounded
        ((0.25, 0.5, 0.75), False),
    ],
)
def test_cases_and_their_parts_number_the_rows_in_any_order(
    parts: tuple[float, ...], counts: bool
) -> None:
    cases = np.array([17, 5, 9, 33, 2, 51, 8, 40, 21, 12, 3, 29]) + np.resize(parts, 12)
    frame = pd.DataFrame({"x": np.sin(cases), "toi": cases, "y": list("aba") * 4})
    assert list(select(frame).set_aside) == (["toi"] if counts else [])


@pytest.mark.parametrize(
    ("code", "others"),
    [
        (-999, [0.2, 1.5, -2.0, 0.7]),
        (-9999, [120, 8000, 3, 4000]),  # the only one below 0
        (9999, [18, 40, 65, 80]),
        (99, [1, 2, 3, 4]),
        (-99.9, [1.5, 20.25, 7, 3]),
        (1e30, [1e3, 5e8, 2, 7]),
        (32767, [100, 900, 30, 80]),
    ],
)
def test_codes_for_not_measured_are_asked_about(code: float, others: list[float]) -> None:
    frame = pd.DataFrame({"x": [*others, code] * 4, "z": range(0, 40, 2), "y": list("abba") * 5})
    shown = f"{code:.0f}" if float(code).is_integer() else str(code)
    words = f"{shown} lies outside of all other values of 'x' (4 rows), and is taken for"
    (note,) = select(frame).notes
    assert note.startswith(words)
    assert f"give {shown} to --empty" in note
    # which makes such cells empty, and is told
    columns = select(frame, empty=[code], on_missing="model")
    assert np.isnan(columns.X[:, 0]).sum() == 4
    assert columns.notes == (f"4 cells with {shown} taken for empty.",)
    # in single precision too, as Parquet and FCS files often have it
    single = frame.astype({"x": "float32"})
    (note,) = select(single).notes
    assert "lies outside of all other values of 'x' (4 rows)" in note
    columns = select(single, empty=[code], on_missing="model")
    assert np.isnan(columns.X[:, 0]).sum() == 4
    assert columns.notes == (f"4 cells with {shown} taken for empty.",)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, -999, 4],  # once
        [99, 98, 40, 12, 99, 99],  # the end of a scale
        [999, 999, 500, 20, 1000],
        [1023, 1023, 100, 5, 80],  # saturated
        [0, 10, 100, 1000, 1000],  # doses
        [0, 99, 0, 99, 0],  # two values
        [99, 99, 99, 88, 88],
        [-99, -99, 2.5, 100, 120],  # degrees
        [1e6, 1e6, 3, 7, 2],  # an outlier, twice
    ],
)
def test_other_numbers_are_no_codes(values: list[float]) -> None:
    frame = pd.DataFrame({"x": values, "y": ["a", "b", "b", "a", None, None][: len(values)]})
    assert select(frame).notes == ()


@pytest.mark.parametrize(
    ("code", "low", "high", "times", "asked"),
    [
        (-999, -270, 320, 5, True),
        (-99, 0, 900, 5, True),  # the only one below 0
        (9999, 0, 6000, 5, True),
        (-999, -270, 320, 4, False),
        (-99, -1, 900, 5, False),
        (999, 0, 998, 20, False),  # cut off at the end of a scale
        (9999, 0, 8000, 20, False),
    ],
)
def test_a_code_that_alone_is_repeated_may_lie_nearer(
    code: float, low: float, high: float, times: int, asked: bool
) -> None:
    values = np.r_[np.linspace(low, high, 95), [code] * times]
    frame = pd.DataFrame({"x": values, "y": np.resize(["a", "b", "b"], len(values))})
    told = [f"{code} lies outside of all other values of 'x' ({times} rows)"] * asked
    assert [note.partition(", and is taken")[0] for note in select(frame).notes] == told
    # where others are repeated as often, nothing tells it from them
    frame["x"] = [*np.resize(values[:95:10], 95), *[code] * times]
    assert select(frame).notes == ()


def test_a_column_of_very_large_numbers_is_looked_through_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []
    monkeypatch.setattr(cells, "_is_code", lambda v: not asked.append(v))
    assert not cells.codes_in(np.linspace(1e40, 1e45, 500)[:, None], ["luminosity"])
    assert len(asked) < 100


def test_only_data_frames_have_columns() -> None:
    with pytest.raises(TypeError, match="frame is a list: give a DataFrame"):
        select_columns([[1, 2]], label="y")  # type: ignore[arg-type]


def test_only_numbers_can_mean_empty() -> None:
    frame = table("x,y\n1,a\n2,b\n3,b\n4,a\n")
    with pytest.raises(ValueError, match="'n/a'"):
        select(frame, empty=["n/a"])
    with pytest.raises(TypeError, match="empty must be a collection, not the int -999"):
        select(frame, empty=-999)
    assert select(frame, empty=[-999]).notes == ("0 cells with -999 taken for empty.",)


def test_a_number_too_large_may_mean_empty() -> None:
    text = "x,y\n1,a\n1e200,b\n3,b\n4,a\n"
    assert "--empty" in refused(text).remedy
    X = select(table(text), empty=[1e200], on_missing="model").X
    assert np.isnan(X[1, 0])
    assert np.isfinite(X[[0, 2, 3]]).all()


def test_columns_that_measure_nothing_of_their_own() -> None:
    frame = table("x,same,copy,empty,z,y\n1,7,1,,1,a\n2,7,2,,5,b\n2,7,2,,3,\n")
    columns = select(frame)
    assert columns.feature_names == ("x", "z")
    assert columns.set_aside == {
        "same": "is the same in every row",
        "copy": "repeats 'x'",
        "empty": "is empty",
    }
    assert select(frame[["same", "y"]]).feature_names == ("same",)  # nothing else is left


def test_remedies_fit_who_chose_the_features() -> None:
    blank, word = "x,z,y\n1,1,a\n,2,b\n3,3,a\n", "x,z,y\n1,1,a\n2,2,b\n3,?,a\n"
    for text in (blank, word):
        assert "--drop" in refused(text).remedy
        named = refused(text, features=["x", "z"]).remedy
        assert "out of --features" in named
        assert "--drop" not in named
        asked = refused(text, label=None, features=["x", "z"]).remedy  # by a fitted model
        assert "--features" not in asked
        assert "--drop" not in asked
    assert "--features" in refused(blank, label=None, drop=["y"]).remedy
    weight = refused("x,y,w\n1,a,1\n2,b,big\n3,b,1\n", weight="w").remedy
    assert "no say" in weight
    assert "--drop" not in weight
    both = refused(blank, label=None, id="x", features=["x", "z"])
    assert both.remedy.startswith("Choose another column with --id")
