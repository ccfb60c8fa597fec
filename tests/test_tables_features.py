"""Which columns `select_columns` takes for features, and which of their numbers it asks about."""

import io

import numpy as np
import pandas as pd
import pytest

from helpers_tables import refused, select, table
from hesitant.tables import cells, read_table


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


def test_dates_cannot_be_features() -> None:
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-01-01"] * 3), "y": list("abb")})
    refused(frame.assign(x=1.0), "dates", features=["d"])
    assert select(frame.assign(x=[1.0, 2, 3])).feature_names == ("x",)


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
    assert "a row of weight 0 does not count" in weight
    assert "--drop" not in weight
    both = refused(blank, label=None, id="x", features=["x", "z"])
    assert both.remedy.startswith("Choose another column with --id")
