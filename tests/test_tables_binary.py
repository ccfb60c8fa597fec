"""Parquet, Feather and FCS: what is read, and what happens to damaged files."""

import importlib
import io
import sys
from array import array

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hesitant.tables
from hesitant.tables import TableError, errors, read_table, select_columns

HOSTILE = ["<b>&amp;", 'say "hi"', "two\nlines", "🧬", "=1+1", "x" * 10_000]


def as_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    buffer = io.BytesIO()
    getattr(frame, f"to_{kind}")(buffer)
    return buffer.getvalue()


def refused(data: bytes, *words: str, **options: object) -> None:
    with pytest.raises(TableError) as caught:
        read_table(io.BytesIO(data), **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columnar_tables(kind: str) -> None:
    frame = pd.DataFrame({name: [1.5, -2.0] for name in HOSTILE} | {"label": ["=a", None]})
    pd.testing.assert_frame_equal(
        read_table(io.BytesIO(as_bytes(frame, kind))), frame, check_dtype=False
    )
    indexed = frame.set_index("label").rename(index={None: "b"})
    if kind == "parquet":  # an index that was written is a column again
        assert "label" in read_table(io.BytesIO(as_bytes(indexed, kind))).columns
    unnamed = frame.set_index(pd.Index(["r1", "r2"]))
    if kind == "parquet":
        assert list(read_table(io.BytesIO(as_bytes(unnamed, kind))).columns) == list(frame)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columnar_refusals(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    good = as_bytes(pd.DataFrame({"a": [1.0], "b": ["x"]}), kind)
    refused(good[:-20], f"not a readable {kind.title()} file", format=kind)
    refused(good[:10] + b"\xff" * (len(good) - 10), "not a readable", format=kind)
    refused(b"a,b\n1,2\n", "not a readable", "Copy or export", format=kind)
    refused(as_bytes(pd.DataFrame({"a": [1.0]}), kind), "only one column")
    refused(as_bytes(pd.DataFrame({"a": [], "b": []}), kind), "no rows")
    refused(good, "'delimiter' does not apply", kind, delimiter=",")
    monkeypatch.setattr(errors, "MAX_COLUMNS", 50)  # pyarrow takes its time to write 20,001
    wide = pd.DataFrame(np.zeros((1, 51)), columns=[f"c{i}" for i in range(51)])
    refused(as_bytes(wide, kind), "51 columns", "limit is 50")


def test_duplicate_names_in_parquet() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), buffer)
    refused(buffer.getvalue(), "more than once", "'a'")


def test_columnar_types_reach_the_arrays() -> None:
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2, 3], dtype=np.float32),
            "flag": pd.array([True, False, True], dtype="boolean"),
            "count": pd.array([1, 2, 5], dtype="Int64"),
            "when": pd.to_datetime(["2020-01-01"] * 3),
            "cell": pd.Categorical(["T", "B", None]),
        }
    )
    columns = select_columns(read_table(io.BytesIO(as_bytes(frame, "parquet"))), label="cell")
    assert columns.feature_names == ("small", "flag", "count")
    assert columns.ignored == ("when",)
    assert columns.X.tolist() == [[1, 1, 1], [2, 0, 2], [3, 1, 5]]
    assert columns.y is not None
    assert columns.y.tolist() == ["T", "B", None]


# ---------------------------------------------------------------- FCS

EVENTS = np.array([[1.5, -2.0, 1.0], [3.0, 4.25, 2.0], [5.0, 6.0, np.nan]])


def fcs(events: np.ndarray = EVENTS, names: tuple[str, ...] = ("FSC-A", "CD3", "label")) -> bytes:
    flowio = pytest.importorskip("flowio")
    file = io.BytesIO()
    flowio.create_fcs(file, array("f", events.ravel().tolist()), list(names))
    return file.getvalue()


def test_fcs() -> None:
    frame = read_table(io.BytesIO(fcs()))
    assert list(frame.columns) == ["FSC-A", "CD3", "label"]
    np.testing.assert_array_equal(frame.to_numpy(), EVENTS)
    columns = select_columns(frame, label="label")
    assert columns.y is not None
    assert columns.y.tolist() == [1, 2, None]


CHANNELS = ("FSC-A", "FL1-A", "FL2-A", "Time")
MARKERS = ("", "CD3", "CD19", "")


def stained(**metadata: str) -> bytes:
    flowio = pytest.importorskip("flowio")
    file = io.BytesIO()
    events = np.array([[5e4, 1000, 300, 1], [6e4, -50, 2e5, 2], [7e4, 0, 10, 3]])
    values = array("f", events.ravel().tolist())
    flowio.create_fcs(file, values, list(CHANNELS), list(MARKERS), metadata or None)
    return file.getvalue()


def test_fcs_names_markers_beside_channels() -> None:
    frame = read_table(io.BytesIO(stained()))
    assert list(frame.columns) == ["FSC-A", "CD3 (FL1-A)", "CD19 (FL2-A)", "Time"]
    aliases = frame.attrs["hesitant"]["aliases"]
    assert aliases["CD3"] == aliases["FL1-A"] == "CD3 (FL1-A)"


def test_fcs_compensation_and_scales() -> None:
    pytest.importorskip("flowutils")
    plain = read_table(io.BytesIO(stained())).to_numpy()
    spill = stained(spillover="2,FL1-A,FL2-A,1,0.2,0.1,1")
    undone = read_table(io.BytesIO(spill), compensate=True).to_numpy()
    mixing = np.array([[1, 0.2], [0.1, 1]])
    np.testing.assert_allclose(undone[:, 1:3] @ mixing, plain[:, 1:3], atol=1e-2)
    np.testing.assert_array_equal(undone[:, [0, 3]], plain[:, [0, 3]])
    for scale in ("logicle", "asinh"):
        scaled = read_table(io.BytesIO(stained()), transform=scale).to_numpy()
        np.testing.assert_array_equal(scaled[:, [0, 3]], plain[:, [0, 3]])
        assert np.abs(scaled[:, 1:3]).max() < 1.5  # of the 262144 that a cytometer counts
        assert (np.argsort(scaled[:, 1]) == np.argsort(plain[:, 1])).all()
    for name in ("FL2-A", "CD19", "CD19 (FL2-A)"):  # a channel of labels has no scale
        gated = read_table(io.BytesIO(stained()), transform="asinh", text=[name]).to_numpy()
        np.testing.assert_array_equal(gated[:, 2], plain[:, 2])
        np.testing.assert_array_equal(gated[:, 1], scaled[:, 1])
    refused(stained(), "no compensation matrix", compensate=True)
    refused(stained(spillover="2,FL1-A,FL9-A,1,0,0,1"), "$SPILLOVER", compensate=True)
    refused(b"a,b\n1,2\n", "'transform' does not apply", "csv", transform="asinh")


def test_fcs_refusals() -> None:
    good = fcs()
    refused(good[:-8], "not a readable FCS file", "export it again")
    refused(good[:300], "not a readable FCS file")
    refused(b"FCS3.1    " + b"?" * 200, "not a readable FCS file")
    refused(b"a,b\n1,2\n", "not a readable FCS file", format="fcs")
    refused(fcs(names=("CD3", "CD3", "label")), "more than once", "'CD3'")
    refused(fcs(EVENTS[:, :1], ("CD3",)), "only one column")
    refused(good.replace(b"$NEXTDATA/0", b"$NEXTDATA/9"), "several data sets")
    refused(good.replace(b"$TOT/3", b"$TOT/4"), "announces 4 events")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flowio", None)
    refused(b"FCS3.1    ", "hesitant[fcs]")


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_pandas_is_needed_only_for_tables(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    names = [name for name in sys.modules if name.startswith("hesitant.tables")]
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(hesitant, "tables", hesitant.tables)  # put back afterwards
    monkeypatch.setitem(sys.modules, package, None)
    tables = importlib.import_module("hesitant.tables")
    assert callable(tables.write_atomically)
    with pytest.raises(ImportError, match=r"hesitant\[data\]"):
        _ = tables.read_table
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tables.nonsense
