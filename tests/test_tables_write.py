"""Files appear whole or not at all, and a spreadsheet may open them without harm."""

import builtins
import errno
import gzip
import hashlib
import os
import re
import stat
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hesitant.tables import (
    TableError,
    output,
    read_table,
    sha256_of,
    write_atomically,
    write_csv,
    write_table,
    write_together,
)
from hesitant.tables.output import GUARD, UNGUARD


@pytest.fixture(params=["hard links", "no hard links"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write in each of the ways that file systems force on us."""

    def no_link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", no_link)
    return str(request.param)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_writes_and_does_not_overwrite(tmp_path: Path, way: str) -> None:
    path = tmp_path / "out.txt"
    assert write_atomically(path, "é") == path
    assert path.read_bytes() == "é".encode()
    with pytest.raises(
        TableError, match=r"out\.txt: .*exists already.*--force .force=True in Python"
    ):
        write_atomically(path, b"other")
    assert path.read_bytes() == "é".encode()
    write_atomically(str(path), b"other", force=True)
    assert path.read_bytes() == b"other"
    write_atomically(tmp_path / "new", lambda file: file.write(b"called"), force=True)
    assert (tmp_path / "new").read_bytes() == b"called"
    assert names(tmp_path) == ["new", "out.txt"]


def test_loses_no_race(tmp_path: Path, way: str) -> None:
    path = tmp_path / "out"

    def write(file: BinaryIO) -> None:
        file.write(b"ours")
        path.write_bytes(b"theirs")  # appears after the first check

    with pytest.raises(TableError, match="exists already"):
        write_atomically(path, write)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["out"]


def test_one_of_many_writers_wins(tmp_path: Path, way: str) -> None:
    won: list[int] = []
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        barrier.wait()
        try:
            write_atomically(tmp_path / "out", b"%d" % number * 10_000)
        except TableError:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (tmp_path / "out").read_bytes() == b"%d" % won[0] * 10_000
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("force", [False, True])
def test_interruptions_leave_nothing(
    tmp_path: Path, way: str, interruption: type[BaseException], force: bool
) -> None:
    def write(file: BinaryIO) -> None:
        file.write(b"x" * 1_000_000)
        raise interruption

    path = tmp_path / "out"
    with pytest.raises(interruption):
        write_atomically(path, write, force=force)
    assert names(tmp_path) == []
    path.write_bytes(b"old")
    with pytest.raises(interruption):
        write_atomically(path, write, force=True)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_any_step_leaves_nothing(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(TableError, match="disk is full"):
        write_atomically(path, b"new", force=True)
    if step == "fsync" or way == "no hard links":
        with pytest.raises(TableError, match="disk is full"):
            write_atomically(tmp_path / "second", b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path)[0] == "out"
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_names_are_taken_between_flushing_the_file_and_the_folder(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flush(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def rename(source: Path, target: Path) -> None:
        steps.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    for force in (False, True):  # a new file, and one that is replaced
        write_atomically(tmp_path / "out", b"x", force=force)
        assert steps == ["file", "name", "folder"]
        steps.clear()
    write_together({tmp_path / k: k for k in "abc"})
    assert steps == ["file"] * 3 + ["name"] * 3 + ["folder"]


FULL_DISK = """
import errno, sys, resource, signal
from pathlib import Path
from hesitant.tables import TableError, write_together
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # as if the disk had no more room
try:
    write_together({"a": b"new", "b": b"x" * 100_000, "c": b"new"}, force=True)
except TableError as error:
    sys.exit(0 if error.source == "b" else 3)
sys.exit(4)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits as Unix has them")
def test_a_disk_that_fills_leaves_the_old_set(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert names(tmp_path) == ["a", "b"]
    assert {(tmp_path / name).read_text() for name in "ab"} == {"old"}


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("force", [False, True])
def test_a_set_is_replaced_as_a_whole(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch, failing: int, force: bool
) -> None:
    if force:
        for name in ("b", "c"):
            (tmp_path / name).write_text(f"old {name}")
    calls = []
    replace, link = os.replace, os.link

    def fail(move: object) -> object:
        def moved(source: Path, target: Path) -> None:
            if str(source).endswith(".part"):
                calls.append(target)
                if len(calls) == failing:
                    raise OSError(errno.ENOSPC, "No space left on device")
            move(source, target)  # type: ignore[operator]

        return moved

    if force or way == "no hard links":
        monkeypatch.setattr(os, "replace", fail(replace))
    else:
        monkeypatch.setattr(os, "link", fail(link))
        monkeypatch.setattr(builtins, "open", _no_reservation(open))
    with pytest.raises(TableError, match="disk is full"):
        write_together({tmp_path / k: f"new {k}" for k in "abc"}, force=force)
    assert len(calls) == failing
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == (
        {"b": "old b", "c": "old c"} if force else {}
    )
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "link", link)
    write_together({tmp_path / k: f"new {k}" for k in "abc"}, force=force)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {k: f"new {k}" for k in "abc"}


def _no_reservation(real: Any) -> Any:
    def opened(path: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode == "xb" and not str(path).endswith(".part"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, mode, *rest, **options)

    return opened


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "in.csv")
    os.link(tmp_path / "in.csv", tmp_path / "hard")
    for name in ("in.csv", "link", "hard"):
        for call in (output.prepare_targets, lambda p, **o: write_together({p[0]: b""}, **o)):
            with pytest.raises(TableError, match="being read"):
                call([tmp_path / name], force=True, keep=[tmp_path / "in.csv", "-"])
    assert (tmp_path / "in.csv").read_text() == "precious"


def prepare(path: Path, force: bool) -> None:
    output.prepare_targets([path], force=force, keep=[])


def test_folders_are_made_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path / "a" / "b" / "out", force=False)
    assert names(tmp_path / "a" / "b") == []
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="file cannot be a folder: a file stands there"):
        prepare(tmp_path / "file" / "out", force=True)
    with pytest.raises(TableError, match="exists already"):
        prepare(tmp_path / "file", force=False)
    prepare(tmp_path / "file", force=True)
    with pytest.raises(TableError, match="No file can have this name"):
        prepare(tmp_path / "nul\0", force=True)

    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", forbid)
    with pytest.raises(TableError, match=r"new.*Permission denied"):
        prepare(tmp_path / "new" / "out", force=False)


def test_where_no_file_can_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TableError, match=r"The folder .*missing does not exist"):
        write_atomically(tmp_path / "missing" / "out", b"")
    with pytest.raises(TableError, match="This is a folder"):
        write_atomically(tmp_path, b"", force=True)
    with pytest.raises(TableError, match="No file can have this name"):
        write_atomically(tmp_path / "nul\0", b"")
    with pytest.raises(TableError, match="cannot be written"):
        write_atomically(tmp_path / ("n" * 1_000), b"")
    if os.path.exists("/dev/null"):
        with pytest.raises(TableError, match="not an ordinary file"):
            write_atomically("/dev/null", b"", force=True)

    def forbid(*args: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(builtins, "open", forbid)
    with pytest.raises(TableError, match="Permission denied"):
        write_atomically(tmp_path / "out", b"")


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as Unix has them")
def test_permissions_and_links(tmp_path: Path, way: str) -> None:
    old = os.umask(0o027)
    try:
        path = write_atomically(tmp_path / "real", b"1")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomically(link, b"2", force=True)
    assert link.is_symlink()
    assert path.read_bytes() == b"2"
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TableError, match="exists already"):
        write_atomically(tmp_path / "dangling", b"3")


# ---------------------------------------------------------------- CSV


def test_cells_cannot_start_a_formula(tmp_path: Path) -> None:
    bad = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "＝1"]
    frame = pd.DataFrame({"=HYPERLINK()": bad, "-x": np.linspace(-4, 4, 9), "ok": "CD4+"})
    frame["object"] = pd.Series([-1, np.int64(-2), Decimal("-3"), "-4", None, True, "", "+", "b"])
    frame["delta"] = pd.to_timedelta(-1, "D")
    text = write_csv(frame, tmp_path / "t.csv").read_text()
    lines = text.replace("\r", " ").replace("\"'\n", "\"'").splitlines()
    assert lines[0] == '"\'=HYPERLINK()","\'-x","ok","object","delta"'
    assert lines[1].startswith('"\'=1+1",-4,"CD4+","\'-1","\'-1 days')
    assert lines[2].startswith('"\'+1",-3,"CD4+","\'-2",')
    assert lines[4].startswith('"\'@SUM(A1)",-1,"CD4+","\'-4",')
    back = read_table(tmp_path / "t.csv")
    assert back["=HYPERLINK()"].tolist() == bad
    assert back["-x"].tolist() == frame["-x"].tolist()


@given(st.text(alphabet="'=+-@\t\r\n＝a ", max_size=6) | st.text())
def test_the_guard_is_undone_exactly(text: str) -> None:
    guarded = re.sub(*GUARD, text)
    assert re.sub(*UNGUARD, guarded) == text
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_csv_packings_are_repeatable(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, None], "label": ["a\nb", 'q"']}, index=["same", "same"])
    plain = write_csv(frame, tmp_path / "a.csv").read_bytes()
    packed = write_csv(frame, tmp_path / "a.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # where a gzip file holds the time
    assert write_csv(frame, tmp_path / "b.csv.gz").read_bytes() == packed
    assert gzip.decompress(packed) == plain
    for name in ("a.csv.gz", "c.csv.bz2", "c.csv.xz"):
        pd.testing.assert_frame_equal(
            read_table(write_csv(frame, tmp_path / name, force=True)),
            frame.reset_index(drop=True),
            check_dtype=False,
        )
    with pytest.raises(TableError, match="--force"):
        write_csv(frame, tmp_path / "a.csv")


# ---------------------------------------------------------------- checksums


def test_checksums(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,x\n")
    assert sha256_of(path) == sha256_of(str(path)) == hashlib.sha256(b"a,b\n1,x\n").hexdigest()
    with pytest.raises(TableError, match="cannot be read"):
        sha256_of(tmp_path / "absent")
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]})
    digest = sha256_of(frame)
    assert sha256_of(frame.set_index(pd.Index([5, 5]))) == digest
    assert sha256_of(frame.astype({"a": np.float32, "b": object})) == digest
    assert sha256_of(frame.astype({"a": "Float64", "b": "category"})) == digest
    write_csv(frame, tmp_path / "u.csv")
    assert sha256_of(read_table(tmp_path / "u.csv")) == digest
    different = [
        frame.iloc[::-1],
        frame[["b", "a"]],
        frame.rename(columns={"a": "c"}),
        frame.fillna({"a": 0.0}),
        frame.fillna({"b": ""}),
        pd.DataFrame({"a": [1.5, np.nan], "b": ["x", "x"]}),
    ]
    assert digest not in {sha256_of(other) for other in different}
    assert sha256_of(pd.DataFrame({"a": ["xy", "z"]})) != sha256_of(
        pd.DataFrame({"a": ["x", "yz"]})
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "tsv.xz", "parquet", "feather", ""])
def test_tables_come_back_whatever_their_format(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame(
        {
            "x": [0.1, -2.5, 1e300],
            "label": pd.array([1, None, 0], dtype="Int64"),
            "mixed": np.array([1, None, 2], dtype=object),
            "name": ["=a", "b,c\td", "é"],
        }
    )
    path = write_table(frame, tmp_path / f"out.{suffix}".rstrip("."))
    back = read_table(path)
    assert back["x"].tolist() == frame["x"].tolist()
    assert back["name"].tolist() == frame["name"].tolist()
    assert back["label"].dropna().tolist() == [1, 0]
    with pytest.raises(TableError, match="exists already"):
        write_table(frame, path)
    assert write_table(frame, path, force=True) == path


def test_whole_numbers_among_blanks_stay_whole(tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": np.array([1, None, 0], dtype=object), "x": [1.0, 2.0, 3.0]})
    path = write_table(frame, tmp_path / "out.csv")
    assert path.read_text().splitlines()[1:] == ["1,1", ",2", "0,3"]


@pytest.mark.parametrize(
    "name", ["out.xlsx", "out.fcs", "out.v2", "out.parquet.gz", "out.parquet.gz.json"]
)
def test_other_formats_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(TableError, match=r"not written as \..*end in \.csv"):
        write_table(pd.DataFrame({"x": [1]}), tmp_path / name)
    assert names(tmp_path) == []


def test_what_a_format_cannot_hold_is_said(tmp_path: Path) -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match=r"cannot be written as \.parquet: .*Name the file \.csv"):
        write_table(twice, tmp_path / "out.parquet")
    assert names(tmp_path) == []


def test_a_table_of_numbers_truths_and_text() -> None:
    values = np.random.default_rng(0).normal(size=50)
    frame = pd.DataFrame({"x": values, "seen": values > 0, "label": list('ab,"=') * 10})
    whole = output.table_bytes(frame, "t.csv")
    assert whole.count(b"\n") == 51
    assert b'"True"' in whole
    assert output.table_bytes(frame[:0], "t.tsv") == b'"x"\t"seen"\t"label"\n'
