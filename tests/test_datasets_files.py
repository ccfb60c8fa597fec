"""Where files are looked for, in which order, and what happens to a bad download."""

import functools
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from hesitant.datasets import DataContentWarning
from hesitant.studies import _sources
from hesitant.studies._sources import Source, fingerprint, load_table

GOOD, BAD = "x\n1\n2\n", "x\n1\n3\n"


def source(**changes: object) -> Source:
    fields: dict[str, object] = {
        "what": "Example",
        "files": ("example.csv", "other.csv"),
        "columns": ("x",),
        "page": "https://example.org/data",
        "sha256": fingerprint(pd.DataFrame({"x": [1, 2]})),
        "note": "Ask nicely.",
    }
    return Source(**(fields | changes))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    directory.mkdir()
    monkeypatch.setattr(_sources, "_cache", lambda: directory)
    monkeypatch.delenv("HESITANT_DATA", raising=False)
    return directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    directory = tmp_path / "mine"
    directory.mkdir()
    return directory


def test_directory_before_variable_before_cache(
    cache: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("HESITANT_DATA", str(named))
    (cache / "example.csv").write_text(GOOD)
    assert [*load_table(source())["x"]] == [1, 2]
    (named / "example.csv").write_text("x\n7\n")
    with pytest.warns(DataContentWarning):
        assert [*load_table(source())["x"]] == [7]
    (folder / "other.csv").write_text("x\n8\n")
    with pytest.warns(DataContentWarning, match=r"other.csv is not the published Example"):
        assert [*load_table(source(), folder)["x"]] == [8]
    (folder / "example.csv").write_text(GOOD)
    assert [*load_table(source(), str(folder))["x"]] == [1, 2]  # preferred name, no warning


def test_named_directory_is_the_only_one_searched(cache: Path, folder: Path) -> None:
    (cache / "example.csv").write_text(GOOD)
    with pytest.raises(FileNotFoundError, match=r"no example.csv or other.csv in data_dir="):
        load_table(source(), folder)
    with pytest.raises(NotADirectoryError, match=r"data_dir='.*nowhere' is not a directory"):
        load_table(source(), folder / "nowhere")


def test_variable_pointing_nowhere_is_a_mistake(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HESITANT_DATA", str(cache / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"HESITANT_DATA='.*nowhere' is not a directory"):
        load_table(source())


def test_altered_cache_is_refused(cache: Path) -> None:
    (cache / "example.csv").write_text(BAD)
    with pytest.raises(ValueError, match=r"(?s)example.org/data.*differ. Delete it and"):
        load_table(source())


def test_without_network_the_error_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> Path:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pytest.importorskip("pooch").HTTPDownloader, "__call__", fetch)
    with pytest.raises(FileNotFoundError) as caught:
        load_table(source(urls=("https://example.org/a.zip",)))
    said = str(caught.value)
    for word in (
        *("https://example.org/data", "example.csv or other.csv", "data_dir", "HESITANT_DATA"),
        *(str(cache), "no route to host", "Ask nicely."),
    ):
        assert word in said


def test_without_pooch_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HESITANT_DATA", raising=False)
    monkeypatch.setattr(_sources, "_cache", lambda: None)
    with pytest.raises(ImportError, match=r"(?s)example.org/data.*hesitant\[data\]"):
        load_table(source(urls=("https://example.org/a.zip",)))


# ---- downloads, from a server of this machine ---------------------------------------------------


def archive(**members: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for name, text in members.items():
            opened.writestr(name.replace("__", "/") + ".csv", text)
    return content.getvalue()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    root = tmp_path / "site"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield root, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_archive_is_downloaded_once(cache: Path, site: tuple[Path, str]) -> None:
    root, url = site
    (root / "a.zip").write_bytes(archive(readme="?", deep__example=GOOD))
    assert [*load_table(source(urls=(f"{url}/a.zip",)))["x"]] == [1, 2]
    (root / "a.zip").unlink()
    assert [*load_table(source(urls=(f"{url}/a.zip",)))["x"]] == [1, 2]
    assert sorted(p.name for p in cache.rglob("*") if p.is_file()) == ["example.csv"]


def test_plain_file_and_nested_archive(cache: Path, site: tuple[Path, str]) -> None:
    root, url = site
    (root / "other.csv").write_text(GOOD)
    assert [*load_table(source(urls=(f"{url}/other.csv",)))["x"]] == [1, 2]
    (cache / "other.csv").unlink()
    with zipfile.ZipFile(root / "outer.zip", "w") as opened:
        opened.writestr("inner.zip", archive(example=GOOD))
    assert [*load_table(source(urls=(f"{url}/outer.zip",)))["x"]] == [1, 2]


BROKEN = {
    "other content": archive(example=BAD),
    "other file": archive(else_=GOOD),
    "no archive": b"<html>sorry",
    "damaged archive": archive(example=GOOD)[40:],
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_bad_download_leaves_nothing_and_the_next_address_is_tried(
    cache: Path, site: tuple[Path, str], content: bytes
) -> None:
    root, url = site
    (root / "a.zip").write_bytes(content)
    with pytest.raises(FileNotFoundError, match="The download failed: "):
        load_table(source(urls=(f"{url}/a.zip",)))
    assert not [p for p in cache.rglob("*") if p.is_file()]
    (root / "b.zip").write_bytes(archive(example=GOOD))
    table = load_table(source(urls=(f"{url}/a.zip", f"{url}/missing.zip", f"{url}/b.zip")))
    assert [*table["x"]] == [1, 2]


def test_cache_is_the_users_own() -> None:
    pooch = pytest.importorskip("pooch")
    assert _sources._cache() == Path(pooch.os_cache("hesitant"))
