"""Whatever bytes come in, a data frame or a `TableError` comes out; and tables round-trip."""

import csv
import doctest
import importlib
import io
import pkgutil
import re
from array import array
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hesitant.tables
from hesitant.tables import TableError, read_table, reading, select_columns, write_csv
from hesitant.tables.output import UNGUARD
from hesitant.tables.sources import Source, decode

quick = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])

csv_like = st.text(
    alphabet=st.sampled_from(list("ab01.-+eE,;\t|\"' \r\n=NAé🧬\x0b\x1a\u2028\ufeff")), max_size=80
)
cells = st.sampled_from(["", "1", "2.5", "-3", "x", "NA", '"', '"q"', "a,b", "\n", "'=", " ", "T"])


def read_or_refuse(data: bytes, **options: Any) -> pd.DataFrame | None:
    refusal = None
    try:
        frame = read_table(io.BytesIO(data), **options)
    except TableError as error:
        refusal = error
    if refusal is not None:
        assert str(refusal).startswith("the stream")
        assert refusal.remedy
        return None
    assert frame.shape[0] >= 1
    assert frame.columns.is_unique
    return frame


def select_or_refuse(frame: pd.DataFrame) -> None:
    for label in frame.columns[:2]:
        try:
            columns = select_columns(frame, label=label, on_missing="drop")
        except TableError:
            continue
        assert np.isfinite(columns.X).all()
        assert columns.y is not None
        assert len(columns.y) == len(columns.X) == len(columns.rows)


@quick
@given(st.binary(max_size=300), st.sampled_from([None, "csv", "tsv", "parquet", "feather", "fcs"]))
@example(b"FCS3.1    ", None)
@example(b"PAR1\0\0PAR1", None)
@example(b"\x1f\x8b\x08", None)
@example(b"PK\x03\x04", None)
def test_random_bytes(data: bytes, kind: str | None) -> None:
    read_or_refuse(data, format=kind)


@settings(quick, max_examples=200)
@given(csv_like, st.sampled_from([1, 2]))
@example("a,b\n1,2\r3,4\r\n", 2)
@example('a,b\n"",\n', 2)
@example("a,b\n\x1a,1\n", 2)
@example("\x0b,\ufeff\n1,2\n", 2)
@example("\r|\r|", 1)
def test_text_that_looks_like_csv(words: str, min_columns: int) -> None:
    frame = read_or_refuse(words.encode(), min_columns=min_columns)
    if frame is not None:
        select_or_refuse(frame)


@settings(quick, max_examples=200)
@given(csv_like.map(lambda text: f"a,b{text}"))
@example("a,b\r\r,2\r3,4")  # pandas alone loses the comma before the 2
@example('a,b\r\n"x\ry",2\r')
@example("a,b\n \n\t\n1,2\n")
def test_cells_are_those_of_the_csv_module(words: str) -> None:
    data = words.encode().removeprefix(b"\xef\xbb\xbf")
    options = {"delimiter": ",", "na": ()}
    frame = read_or_refuse(data, **options)
    if frame is None:
        return
    frame = read_table(io.BytesIO(data), text=list(frame.columns), **options)
    lines = io.StringIO(data.decode(), newline="")
    rows = [row for _, row in reading.records(lines, ",", Source("s", "s", data))][1:]
    for position, name in enumerate(frame.columns):
        cells = [row[position] if row[position].strip() else "" for row in rows]
        expected = [re.sub(*UNGUARD, cell) for cell in cells]
        assert ["" if pd.isna(cell) else cell for cell in frame[name]] == expected


@quick
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=2, max_size=8))
def test_quoted_tables_have_the_rows_that_were_written(rows: list[list[str]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    frame = read_or_refuse(buffer.getvalue().encode())
    assert frame is not None
    assert frame.shape == (len(rows), 3)
    select_or_refuse(frame)


@settings(quick, max_examples=150)
@given(csv_like.filter(lambda text: '"' not in text))
@example("a,b\n1,2\n \n3,4\n")
@example("a,b\n1, 2\n")
def test_a_quote_somewhere_changes_no_other_cell(words: str) -> None:
    plain = words.replace("\r", "").replace("\ufeff", "")
    frame = read_or_refuse(plain.encode(), delimiter=",", min_columns=1)
    quoted = read_or_refuse(plain.encode() + b'\n""', delimiter=",", min_columns=1)
    if frame is not None and quoted is not None:
        pd.testing.assert_frame_equal(frame, quoted.iloc[: len(frame)], check_dtype=False)


@quick
@given(
    st.binary(max_size=80), st.sampled_from(["utf-16", "cp1252", "ascii", "utf-7", "shift-jis"])
)
def test_any_encoding_gives_text_or_an_error(data: bytes, encoding: str) -> None:
    with suppress(TableError):
        decode(Source("s", "s", data), encoding)


def damaged(kind: str) -> bytes:
    buffer = io.BytesIO()
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]})
    if kind == "fcs":
        flowio = pytest.importorskip("flowio")
        flowio.create_fcs(buffer, array("f", range(6)), ["x", "y"])
    else:
        getattr(frame, f"to_{kind}")(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "feather", "fcs"])
@settings(quick, max_examples=80)
@given(data=st.data())
def test_damaged_binary_files(kind: str, data: st.DataObject) -> None:
    content = bytearray(damaged(kind))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(content[: data.draw(st.integers(1, len(content)))]), format=kind)


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
blank = {"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"}


@quick
@given(
    st.lists(
        names.map(str.strip).filter(lambda name: name != ""), min_size=2, max_size=4, unique=True
    ),
    st.lists(st.tuples(names, st.floats(allow_nan=False), names), min_size=1, max_size=5),
)
def test_round_trip(tmp_path_factory: Any, header: list[str], rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "t.csv"
    frame = pd.DataFrame([row[: len(header)] for row in rows], columns=header[:3])
    write_csv(frame, path)
    back = read_table(path, text=[header[0], *header[2:3]])
    assert list(back.columns) == list(frame.columns)
    for name in frame.columns:
        for written, read in zip(frame[name], back[name], strict=True):
            assert read == written or (pd.isna(read) and written.strip() in blank)


MODULES = [module.name for module in pkgutil.iter_modules(hesitant.tables.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    module = importlib.import_module(f"hesitant.tables.{name}")
    assert doctest.testmod(module).failed == 0


CELL = st.text(st.sampled_from("ab01.,-' \té🧬#"), max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(CELL, max_size=3), min_size=1, max_size=6), st.booleans())
def test_cells_are_cut_alike_by_arrow_and_by_the_csv_module(rows, ended):
    plain = "\n".join(";".join(row) for row in [["x", "y"], *rows]) + ("\n" if ended else "")
    quoted = plain.replace("x;", '"x";', 1)  # quotes are what the csv module is for
    found = []
    for content in (plain, quoted):
        try:
            frame = read_table(io.BytesIO(content.encode()), delimiter=";")
            found.append((frame.to_dict("list"), frame.dtypes.to_dict(), frame.attrs))
        except TableError as error:
            found.append(str(error))
    assert repr(found[0]) == repr(found[1])
