"""Workbooks, JSON and JSONL; columns that nobody uses; sizes out of proportion."""

import gzip
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from helpers_tables import MAIN, xlsx
from hesitant.tables import TableError, read_table, select_columns, sources


def refused(data, *words, **options):
    with pytest.raises(TableError) as caught:
        read_table(io.BytesIO(data), **options)
    assert str(caught.value).isprintable()
    for word in words:
        assert word in str(caught.value)
    return caught.value


SHEET = [["CD3", " cell "], [0.5, "T"], [1.5, None], [2.0, "B & <C>"]]


def test_a_workbook_is_read_from_its_first_sheet_with_cells():
    frame = read_table(io.BytesIO(xlsx({"empty": [], "cells": SHEET, "more": SHEET})))
    assert frame["CD3"].tolist() == [0.5, 1.5, 2.0]
    assert select_columns(frame, label="cell").y.tolist() == ["T", None, "B & <C>"]
    (note,) = frame.attrs["hesitant"]["notes"]
    assert "'cells'" in note
    assert "'more'" in note
    gaps = [["x", "y"], [1.5, "a"], ["#N/A", "b"], [2.5, "NA"], [3.0, "b"]]
    frame = read_table(io.BytesIO(xlsx({"s": gaps})))
    assert frame["x"].isna().tolist() == [False, True, False, False]
    assert select_columns(frame, label="y", on_missing="drop").y.tolist() == ["a", None, "b"]
    assert "notes" not in read_table(io.BytesIO(xlsx({"cells": SHEET}))).attrs["hesitant"]


def test_mistakes_in_a_workbook_name_the_row():
    bad = [["x", "y"], [1.0, "a"], ["two", "b"], [3.0, "a"], [4.0, "b"]]
    frame = read_table(io.BytesIO(xlsx({"s": bad})))
    with pytest.raises(TableError) as caught:
        select_columns(frame, label="y")
    assert (caught.value.row, caught.value.line, caught.value.column) == (2, 3, "x")
    refused(xlsx({"s": []}), "empty")
    refused(xlsx({"s": [["x", "x"], [1.0, 2.0]]}), "more than once")
    refused(xlsx({"s": [["x", "y"]]}), "no rows")
    refused(xlsx({"s": SHEET}), "decimal", decimal=",")
    good = bytearray(xlsx({"s": SHEET}))
    refused(bytes(good[: len(good) // 2]), "damaged")


def test_cells_far_apart_do_not_fill_the_memory():
    cells = (
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    )
    refused(xlsx({"s": []}, cells), "1,048,576 rows", "16,384 columns")


ROWS = [{"x": 1.5, "y": "a"}, {"x": 2, "y": None}, {"x": -1, "y": "b"}]
DOCUMENTS = {
    "records": json.dumps(ROWS),
    "lines": "\n".join(map(json.dumps, ROWS)) + "\n\n",
    "columns": json.dumps({"x": [1.5, 2, -1], "y": ["a", None, "b"]}),
    "split": pd.DataFrame(ROWS).to_json(orient="split"),
    "table": pd.DataFrame(ROWS).to_json(orient="table", index=False),
    "pandas": pd.DataFrame(ROWS).to_json(),
    "marked": "\ufeff" + json.dumps(ROWS),
}


@pytest.mark.parametrize("form", DOCUMENTS)
def test_json(form):
    frame = read_table(io.BytesIO(DOCUMENTS[form].encode()))
    columns = select_columns(frame, label="y")
    assert columns.X.tolist() == [[1.5], [2], [-1]]
    assert columns.y.tolist() == ["a", None, "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"x": 1, "y": }]', "line 1"),
        ('{"x": 1, "y": 2}\n{"x": 1,\n', "line 2"),
        ('{"a": {"b": 1}}', "no table"),
        ("[[1, 2], [3, 4]]", "no table"),
        ("[]", "no table"),
        ('[{"x": 1}]', "only one column"),
        ('{"x": [1, 2], "y": [1]}', "same length"),
        ("[" * 100_000 + "{", "JSON"),
    ],
)
def test_json_that_is_no_table(text, words):
    refused(text.encode(), words, format="json")


def test_labels_beyond_the_floats_keep_their_digits():
    big = 2**53
    rows = [{"x": i * 0.5, "y": big + i % 2} for i in range(6)] + [{"x": 9.5, "y": None}]
    y = select_columns(read_table(io.BytesIO(json.dumps(rows).encode())), label="y").y
    assert set(y) == {big, big + 1, None}
    for kind in ("parquet", "feather"):
        buffer = io.BytesIO()
        labels = pd.array([row["y"] for row in rows], dtype="Int64")
        getattr(pd.DataFrame({"x": [row["x"] for row in rows], "y": labels}), f"to_{kind}")(buffer)
        buffer.seek(0)
        assert select_columns(read_table(buffer), label="y").y.tolist() == y.tolist()
    text = "x,y\n" + "".join(f"{r['x']},{r['y'] or ''}\n" for r in rows)
    frame = read_table(io.BytesIO(text.encode()), text=["y"])
    assert set(select_columns(frame, label="y").y) == {str(big), str(big + 1), None}
    with pytest.raises(TableError, match="too large to be read exactly"):
        select_columns(read_table(io.BytesIO(text.encode())), label="y")
    huge = text.replace(str(big), "9" * 30)
    assert "9" * 30 in set(
        select_columns(read_table(io.BytesIO(huge.encode()), text=["y"]), label="y").y
    )


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columns_of_bytes_have_no_part(kind):
    table = pa.table(
        {
            "x": [1.5, 2.5, 0.5],
            "picture": pa.array([b"\xff\xd8\x00", None, b"\x80"], pa.binary()),
            "nested": [[1], [2, 3], None],
            "y": ["a", "b", None],
        }
    )
    buffer = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, buffer)
    else:
        pyarrow.feather.write_feather(table, buffer)
    columns = select_columns(read_table(io.BytesIO(buffer.getvalue())), label="y")
    assert columns.feature_names == ("x",)
    assert columns.ignored == ("picture", "nested")


def bombs():
    many = pa.table({"x": np.zeros(6_000_000), "y": np.zeros(6_000_000)})
    for name, write in {
        "parquet": lambda file: pq.write_table(many, file, compression="zstd"),
        "feather": lambda file: pyarrow.feather.write_feather(many, file, compression="zstd"),
        "null": lambda file: pyarrow.feather.write_feather(
            pa.table({k: pa.nulls(1 << 28) for k in "xy"}), file, compression="uncompressed"
        ),
        "xlsx": lambda file: file.write(xlsx({"s": []}, " " * (1 << 26))),
        "newlines": lambda file: file.write(gzip.compress(b"a,b\n" + b"\n" * (1 << 26))),
    }.items():
        yield pytest.param(write, id=name)


@pytest.mark.parametrize("write", list(bombs()))
def test_what_unpacks_out_of_proportion_is_refused(write):
    buffer = io.BytesIO()
    write(buffer)
    assert len(buffer.getvalue()) < sources.SAFE_BYTES // 50
    refused(buffer.getvalue(), f"{sources.MAX_RATIO} times its size")


def test_messages_hold_no_control_characters():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a\x1b[2J.csv", "x,y\n1,2\n")
        file.writestr("b\x07.csv", "x,y\n1,2\n")
    refused(archive.getvalue(), "2 files")
    refused(b"x\x1b,x\x1b\n1,2\n", "more than once")
    for damage in (b"\xff\xff", b"\x00\x09"):  # the version needed, the method of compression
        data = bytearray(archive.getvalue()[:-1])
        data[8:10] = damage
        refused(bytes(data))
    one = io.BytesIO()
    with zipfile.ZipFile(one, "w") as file:
        file.writestr("a.csv", "x,y\n1,2\n")
    renamed = one.getvalue().replace(b"a.csv", b"b.csv", 1)  # in the header alone
    assert " b'" not in str(refused(renamed, "'b.csv'"))
