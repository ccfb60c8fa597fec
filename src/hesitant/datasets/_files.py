"""Where the real data are found: a directory, the environment, the cache, the official source."""

from __future__ import annotations

import io
import logging
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hesitant._optional import need
from hesitant.datasets._formats import fingerprint

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "HESITANT_DATA"


class DataContentWarning(UserWarning):
    """A file says something else than the published data of that name."""


@dataclass(frozen=True)
class Source:
    """One table: the files that may hold it, where it is published and what it says.

    Parameters
    ----------
    what : str
        What the table is called in messages.
    readers : mapping of str to callable
        Accepted file names, the preferred first, and how each is read. All yield the same table.
    page : str
        The official page of the data.
    sha256 : str
        `fingerprint` of the published table.
    urls : tuple of str
        Direct downloads, tried in order: an accepted file, or a zip archive that holds one.
    note : str
        A sentence for people who have to fetch the file by hand.
    """

    what: str
    readers: Mapping[str, Callable[[Path], pd.DataFrame]]
    page: str
    sha256: str
    urls: tuple[str, ...] = ()
    note: str = ""


def load_table(source: Source, data_dir: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Find a table, read it and compare its content with the published one.

    A file the user points at is used even if it differs, with a warning; one from the cache or
    the network is refused.
    """
    need("pandas")
    path = _pointed_at(source, data_dir)
    if path is not None:
        table = source.readers[path.name](path)
        if fingerprint(table) != source.sha256:
            warnings.warn(
                f"{path} is not the published {source.what} ({source.page}): some of its values "
                "differ. It is used as it is; expect other results than the paper's.",
                DataContentWarning,
                stacklevel=3,
            )
        return table
    path = _first(source, _cache())
    if path is None:
        return _download(source)
    table = source.readers[path.name](path)
    if fingerprint(table) != source.sha256:
        raise ValueError(
            f"{path} is not the published {source.what}: its content has another checksum. "
            f"Delete it and try again, or fetch the file from {source.page} and set {VARIABLE} "
            "to its directory to use it as it is."
        )
    return table


def _pointed_at(source: Source, data_dir: str | os.PathLike[str] | None) -> Path | None:
    if data_dir is not None:
        found = _first(source, _directory(data_dir, f"data_dir={os.fspath(data_dir)!r}"))
        if found is None:
            # Somebody who names a directory does not expect data from anywhere else.
            raise FileNotFoundError(_advice(source, f"data_dir={os.fspath(data_dir)!r}"))
        return found
    named = os.environ.get(VARIABLE)
    return _first(source, _directory(named, f"{VARIABLE}={named!r}")) if named else None


def _directory(path: str | os.PathLike[str], given: str) -> Path:
    directory = Path(path).expanduser()
    if not directory.is_dir():
        raise NotADirectoryError(f"{given} is not a directory; give the one that holds the files")
    return directory


def _first(source: Source, directory: Path | None) -> Path | None:
    if directory is None:
        return None
    return next((directory / name for name in source.readers if (directory / name).exists()), None)


def _cache() -> Path | None:
    return Path(need("pooch").os_cache("hesitant")) if find_spec("pooch") else None


def _download(source: Source) -> pd.DataFrame:
    cache = _cache()
    if cache is None:
        raise ImportError(f"{_advice(source)}\nTo download it: pip install 'hesitant[data]'")
    failure: Exception | None = None
    for url in source.urls:
        try:
            return _checked(_unpack(_fetch(url, cache), source, cache), source)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            failure = error
    reason = "" if failure is None else f"\nThe download failed: {failure}"
    raise FileNotFoundError(_advice(source) + reason) from failure


def _fetch(url: str, cache: Path) -> Path:
    # No known_hash: archives are rebuilt by their hosts, so only parsed content is compared.
    pooch = need("pooch")
    with _quiet(pooch.get_logger()):
        fetched = pooch.retrieve(
            url, known_hash=None, path=cache / "downloads", progressbar=bool(find_spec("tqdm"))
        )
    return Path(fetched)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    # pooch advises callers who pass no known_hash to add one, which is nothing to tell users.
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _unpack(fetched: Path, source: Source, cache: Path) -> Path:
    """Put the first accepted file of a download into the cache, whole or not at all."""
    content = fetched.read_bytes()
    # An Excel workbook is a zip archive too.
    archive = zipfile.is_zipfile(fetched) and fetched.suffix.lower() != ".xlsx"
    fetched.unlink()
    if archive:
        name, content = _member(content, source)
    else:
        name = next((name for name in source.readers if fetched.name.endswith(name)), "")
    if not name:
        raise ValueError(f"{fetched.name} holds none of {', '.join(source.readers)}")
    partial = cache / f".{name}.{os.getpid()}.part"
    partial.write_bytes(content)
    return partial.replace(cache / name)


def _checked(path: Path, source: Source) -> pd.DataFrame:
    """Read a download, and do not keep one that is not the published table."""
    try:
        table = source.readers[path.name](path)
        if fingerprint(table) != source.sha256:
            raise ValueError(f"the content of {path.name} is not the published {source.what}")
    except ValueError:
        path.unlink()
        raise
    return table


def _member(archive: bytes, source: Source) -> tuple[str, bytes]:
    """Find an accepted file in a zip archive, also in archives within it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        members = {Path(member).name: member for member in opened.namelist()}
        for name in source.readers:
            if name in members:
                return name, opened.read(members[name])
        for name, member in members.items():
            if name.lower().endswith(".zip"):
                return _member(opened.read(member), source)
    return "", b""


def _advice(source: Source, looked: str = "") -> str:
    names = " or ".join(source.readers)
    cache = _cache()
    if not looked:
        variable = os.environ.get(VARIABLE)
        looked = f"{VARIABLE}={variable!r}" if variable else f"{VARIABLE} (not set)"
        looked += "" if cache is None else f", the cache {cache}"
    lines = [
        f"{source.what}: no {names} in {looked}.",
        f"Fetch it from {source.page} and put it in a directory named by data_dir or {VARIABLE}"
        + ("." if cache is None else f", or in {cache}."),
        source.note,
    ]
    return "\n".join(line for line in lines if line)
