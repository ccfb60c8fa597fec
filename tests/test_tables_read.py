"""Every supported table is read; every other file gets an error with its place and a remedy."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hesitant.tables import TableError, read_table, sources, write_table

CSV = b"CD3,CD4,population\n0.5,-1.25,T\n0.25,3,\n1e-3,4,B\n"
HOSTILE = ["<script>alert(1)</script>", 'say "hi"', "two\nlines", "🧬", "=1+1", "x" * 10_000]


def expected() -> pd.DataFrame:
    columns = {"CD3": [0.5, 0.25, 1e-3], "CD4": [-1.25, 3, 4], "population": ["T", None, "B"]}
    return pd.DataFrame(columns)


def same(actual: pd.DataFrame) -> None:
    filled = [frame.fillna({"population": ""}) for frame in (actual, expected())]
    pd.testing.assert_frame_equal(*filled, check_dtype=False)


def refused(data: bytes, *words: str, **options: object) -> TableError:
    with pytest.raises(TableError) as caught:
        read_table(io.BytesIO(data), **options)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zip"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather"])
def test_formats_and_packings(tmp_path: Path, kind: str, suffix: str) -> None:
    buffer = io.BytesIO()
    if kind == "csv":
        buffer.write(CSV)
    elif kind == "tsv":
        buffer.write(CSV.replace(b",", b"\t"))
    else:
        getattr(expected(), f"to_{kind}")(buffer)
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zip": lambda data: zipped(**{f"cells__{kind}": data}),
    }[suffix]
    path = tmp_path / f"cells.{kind}{suffix}"
    path.write_bytes(pack(buffer.getvalue()))
    frame = read_table(path)
    same(frame)
    assert frame.attrs["hesitant"]["source"] == str(path)
    # the content tells the format and the packing as well, where there is no name
    if kind != "tsv":
        same(read_table(io.BytesIO(path.read_bytes())))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, delimiter: str, ending: bytes) -> None:
    data = CSV.replace(b",", delimiter.encode()).replace(b"\n", ending)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    same(read_table("-"))


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="standard input"):
        read_table("-")


def test_text_streams_and_wrong_types() -> None:
    same(read_table(io.StringIO(CSV.decode())))
    with pytest.raises(TableError, match="cannot be read"):
        read_table(io.TextIOWrapper(io.BytesIO(b"a,b\n\xff,1\n"), "utf-8"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path"):
        read_table(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="parquet"):
        read_table("x.csv", format="xml")
    with pytest.raises(TypeError, match="collections"):
        read_table(io.BytesIO(CSV), text="id")


# ---------------------------------------------------------------- text tables


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(encoding: str) -> None:
    frame = read_table(io.BytesIO("é,🧬\n1,ß\n".encode(encoding)))
    assert list(frame.columns) == ["é", "🧬"]
    assert frame.iloc[0, 1] == "ß"


def test_wrong_encoding_names_the_byte_and_the_remedy() -> None:
    data = "a,b\n1,x\n2,né\n".encode("cp1252")
    error = refused(data, "0xE9", "offset 11", "line 3", "'é'", "cp1252", "encoding")
    assert error.line == 3
    assert read_table(io.BytesIO(data), encoding="cp1252").iloc[1, 1] == "né"
    late = b"a,b\n" + b"1,2\n" * (1 << 22) + b"1,\xc3\n"  # beyond the first piece checked
    refused(late, f"offset {len(late) - 2:,}", f"line {(1 << 22) + 2}")
    refused(data, "cannot be decoded as 'klingon'", "such as utf-8", encoding="klingon")
    refused(data, "cannot be decoded", encoding="hex")
    refused(data, "cannot be decoded", encoding="undefined")
    refused(b"\xff\xfea\x00,\x00b", "UTF-16")  # half a character


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["empty"]),
        (b" \r\n\n\t", ["empty"]),
        (b"\xef\xbb\xbf\n", ["empty"]),
        (gzip.compress(b""), ["empty"]),
        (b"a,b,c\n", ["no rows", "3 columns", "'a'"]),
        (b"a,b,c\n\n  \n", ["no rows"]),
        (b"a\n1\n2\n", ["only one column", "'a'", "delimiter"]),
        (b"a,b\n1,2\n\n3\n", ["row 2 (line 4)", "1 cell", "header has 2"]),
        (b"a,b\n1,2\n3,4,5\n", ["row 2 (line 3)", "3 cell", "double quotes"]),
        (b'a,b\n"x\ny",2\n3\n', ["row 2 (line 4)"]),
        (b'a,b\n1,"2\n3,4\n', ["line 2", "end of data", "Close every double quote"]),
        (b'a,b\n1,2\n"x"y,4\n', ["line 3", "expected after", "quote inside a quoted cell as two"]),
        (b'a,b\n"' + b"x" * 200_000 + b'",1\n', ["line 2", "131072"]),
        (b"a,b,a\n1,2,3\n", ["more than once", "'a'", "columns 1, 3"]),
        (b"1.5,1.5,T\n1,2,B\n", ["looks like data"]),
        (bytes(range(256)) * 4, ["binary", "0x00", "offset 0"]),
        (CSV + b"\0", ["binary", f"offset {len(CSV)}"]),
        ("a,b\n1,2\n".encode("utf-16-le"), ["binary", "utf-16-le"]),
        ("a,b\n1,\0\n".encode("utf-16"), ["binary"]),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", ["Excel", "CSV UTF-8"]),
        (b"%PDF-1.7", ["PDF"]),
        (b"\n<!DOCTYPE html><p>", ["web page"]),
        (zipped(word__xml=b"", **{"[Content_Types]__xml": b""}), ["document", "CSV UTF-8"]),
        (zipped(a__csv=CSV, b__csv=CSV), ["2 files", "'a.csv'"]),
        (zipped(), ["binary"]),
        (gzip.compress(CSV)[:-4], ["damaged", "too early"]),
        (gzip.compress(CSV)[:12] + b"????" + gzip.compress(CSV)[16:], ["gzip", "damaged"]),
        (bz2.compress(CSV)[:-4], ["bzip2", "damaged"]),
        (lzma.compress(CSV)[:-4], ["xz", "damaged"]),
        (zipped(a__csv=CSV)[:-30], ["zip", "damaged"]),
        (b"x" * (1 << 26), ["larger than field limit (131072)"]),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value[0][:20],
)
def test_hostile_text(data: bytes, words: list[str]) -> None:
    error = refused(data, "the stream", *words)
    assert error.remedy.endswith((".", "?"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.slow
def test_a_million_columns_are_refused() -> None:
    line = b",".join(b"c%d" % i for i in range(1_000_000)) + b"\n"
    refused(line * 3, "1,000,000 columns", "20,000")


def test_decompression_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SAFE_BYTES", 1 << 20)
    monkeypatch.setattr(sources, "_CHUNK", 1 << 16)
    refused(gzip.compress(b"a,b\n" * (1 << 20)), "200 times", "unpack it first")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("quoting", ["minimal", "write_table"])
def test_hostile_names_and_cells(tmp_path: Path, name: str, quoting: str) -> None:
    frame = pd.DataFrame({name: [name, "b"], "x": [1.5, -2.0]})
    if quoting == "write_table":
        write_table(frame, tmp_path / "t.csv")
    else:
        frame.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv"), frame, check_dtype=False)


def test_cells_of_text_tables() -> None:
    def read(data: bytes, **options: object) -> dict[str, list[object]]:
        return read_table(io.BytesIO(data), **options).to_dict("list")

    assert read(b"id,x\n007,1\n010,2\n", text=["id", "absent"])["id"] == ["007", "010"]
    assert read(b"x;y\n1,5;2\n", decimal=",") == {"x": [1.5], "y": [2]}
    assert read(b"x;y\n1,5;2\n") == {"x": [1.5], "y": [2]}  # recognised
    assert read(b"x;y\n1,5;2.5\n") == {"x": ["1,5"], "y": [2.5]}  # points and commas: left alone
    assert read(b"x;y\n1,500;2\n") == {"x": ["1,500"], "y": [2]}  # may be thousands
    assert read(b' a , b\n1, "x, y"\n') == {"a": [1], "b": ["x, y"]}
    assert read(b"a,b,\n1,2,\n3,4,\n") == {"a": [1, 3], "b": [2, 4]}  # delimiter at the end
    assert read(b",b\n1,2\n") == {"Unnamed: 0": [1], "b": [2]}
    assert read(b"a,b\nNone,1\nx,2\n")["a"] == ["None", "x"]
    assert pd.isna(read(b"a,b\nNA,1\nx,2\n")["a"][0])
    assert read(b"a,b\nNA,1\nx,2\n", na=())["a"] == ["NA", "x"]
    assert read(b"a\n1\n2\n", min_columns=1) == {"a": [1, 2]}
    assert read(b"a b,c d\n1,2\n", delimiter=",") == {"a b": [1], "c d": [2]}
    assert read(b"a,b\tc,d\n1,2\t3,4\n", delimiter="tab", decimal=".") == {
        "a,b": ["1,2"],
        "c,d": ["3,4"],
    }
    refused(CSV, "cannot separate", delimiter="::")
    refused(CSV, "decimal", decimal=",")


def test_numbers_are_read_exactly() -> None:
    values = np.random.default_rng(0).normal(size=2_000) * 10.0 ** np.arange(-250, 250, 0.25)
    text = "x,y\n" + "".join(f"{value!r},1\n" for value in values.tolist())
    assert (read_table(io.BytesIO(text.encode()))["x"] == values).all()


# ---------------------------------------------------------------- paths


def test_missing_files_suggest_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_bytes(CSV)
    for name, words in [
        ("cell.csv", "Did you mean 'cells.csv'"),
        ("CELLS.CSV", "Did you mean 'cells.csv'"),
        ("zzz", "Check the path"),
        ("no/cells.csv", "No such file"),
        ("cells.csv/x", "cannot be read"),
        ("nul\0.csv", "null"),
        ("n" * 10_000, "cannot be read"),
    ]:
        with pytest.raises(TableError, match=r"Check|Did|folder") as caught:
            read_table(tmp_path / name)
        if name == "cells.csv/x":
            continue  # systems differ in what they call this
        assert words in str(caught.value)
        assert len(str(caught.value)) < 1_000


def test_folders_and_forbidden_files(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_bytes(CSV)
    with pytest.raises(TableError, match=r"folder, not a table.*Name a file"):
        read_table(tmp_path)
    (tmp_path / "cells.csv").chmod(0)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(TableError, match="Permission denied"):
            read_table(tmp_path / "cells.csv")
    finally:
        if is_root:
            os.seteuid(0)


def test_the_content_tells_the_packing_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv.gz"
    path.write_bytes(CSV)
    same(read_table(path))
    path.write_bytes(b"")
    with pytest.raises(TableError, match="empty"):
        read_table(path)
    plain = tmp_path / "PAR1.csv"  # looks like the start of a Parquet file, and is none
    plain.write_bytes(b"PAR1,PAR2\n1,2\n")
    assert list(read_table(plain).columns) == ["PAR1", "PAR2"]


def test_file_names_cannot_garble_the_terminal(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        read_table(tmp_path / "\x1b[2Jgone.csv")
    assert "\x1b" not in str(caught.value)


def test_numbers_that_stand_for_nothing_are_blank_in_columns_of_numbers() -> None:
    text = b"x,z,n\n1.5,-999,nan\n-999,2,3\n"
    plain = read_table(io.BytesIO(text))
    assert plain["z"].tolist() == [-999, 2]
    assert plain["n"].isna().tolist() == [True, False]
    frame = read_table(io.BytesIO(text), na=["-999"])
    assert frame["x"].isna().tolist() == [False, True]
    assert frame["z"].isna().tolist() == [True, False]


@pytest.mark.parametrize("blank", ["\n", "  \n", ""])
@pytest.mark.parametrize("end", ["\n", "\n\n", ""])
def test_blank_lines_are_no_rows_and_no_line_is_told(blank: str, end: str) -> None:
    frame = read_table(io.BytesIO(f"x,y\n1,a\n{blank}2, b{end}".encode()))
    assert frame.to_dict("list") == {"x": [1, 2], "y": ["a", "b"]}
    assert ("first_line" in frame.attrs["hesitant"]) == (blank == "")
