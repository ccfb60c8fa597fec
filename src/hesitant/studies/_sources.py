"""Where the real data are found, how they are read, and whether they are the published ones.

A directory, the environment, the cache and the official source are tried in this order.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hesitant._optional import is_null, need

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "HESITANT_DATA"


class DataContentWarning(UserWarning):
    """A file says something else than the published data of that name."""


@dataclass(frozen=True)
class Source:
    """One table: the files that may hold it, where it is published and what it says.

    ``readers`` has the accepted file names, the preferred first, and how each is read; all yield
    the same table, whose `fingerprint` is ``sha256``. ``urls`` are tried in order: an accepted
    file, or a zip archive that holds one. ``note`` is for people who fetch the file by hand.
    """

    what: str
    readers: Mapping[str, Callable[[Path], pd.DataFrame]]
    page: str
    sha256: str
    urls: tuple[str, ...] = ()
    note: str = ""

    def find(self, directory: Path) -> Path | None:
        """Return the preferred one of the accepted files in a directory."""
        return next((directory / n for n in self.readers if (directory / n).exists()), None)

    def read(self, path: Path) -> tuple[pd.DataFrame, bool]:
        """Return a file's table, and whether it is the published one."""
        table = self.readers[path.name](path)
        return table, fingerprint(table) == self.sha256


def load_table(source: Source, data_dir: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Find a table, read it and compare its content with the published one.

    A file the user points at is used even if it differs, with a warning; one from the cache or
    the network is refused.
    """
    need("pandas")
    path = _pointed_at(source, data_dir)
    if path is not None:
        table, published = source.read(path)
        if not published:
            warnings.warn(
                f"{path} is not the published {source.what} ({source.page}): some of its values "
                "differ. It is used as it is; expect other results than the paper's.",
                DataContentWarning,
                stacklevel=3,
            )
        return table
    cache = _cache()
    path = None if cache is None else source.find(cache)
    if path is None:
        return _download(source, cache)
    table, published = source.read(path)
    if not published:
        raise ValueError(
            f"{path} is not the published {source.what}: its content has another checksum. "
            f"Delete it and try again, or fetch the file from {source.page} and set {VARIABLE} "
            "to its directory to use it as it is."
        )
    return table


def _pointed_at(source: Source, data_dir: str | os.PathLike[str] | None) -> Path | None:
    named = os.environ.get(VARIABLE) if data_dir is None else os.fspath(data_dir)
    if not named:
        return None
    given = f"{VARIABLE if data_dir is None else 'data_dir'}={named!r}"
    directory = Path(named).expanduser()
    if not directory.is_dir():
        raise NotADirectoryError(f"{given} is not a directory; give the one that holds the files")
    found = source.find(directory)
    if found is None and data_dir is not None:
        # Somebody who names a directory does not expect data from anywhere else.
        raise FileNotFoundError(_advice(source, given))
    return found


def _cache() -> Path | None:
    return Path(need("pooch").os_cache("hesitant")) if find_spec("pooch") else None


def _download(source: Source, cache: Path | None) -> pd.DataFrame:
    if cache is None:
        raise ImportError(f"{_advice(source)}\nTo download it: pip install 'hesitant[data]'")
    failure: Exception | None = None
    for url in source.urls:
        try:
            path = _fetch(url, source, cache)
            try:
                table, published = source.read(path)
                if published:
                    return table
                raise ValueError(f"the content of {path.name} is not the published one")
            except ValueError:
                path.unlink()
                raise
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            failure = error
    reason = "" if failure is None else f"\nThe download failed: {failure}"
    raise FileNotFoundError(_advice(source) + reason) from failure


def _fetch(url: str, source: Source, cache: Path) -> Path:
    """Put the first accepted file of a download into the cache, whole or not at all."""
    pooch = need("pooch")
    # pooch advises callers without a known_hash to add one, which is nothing to tell users:
    # archives are rebuilt by their hosts, so only parsed content is compared.
    logger = pooch.get_logger()
    level, _ = logger.level, logger.setLevel(logging.WARNING)
    try:
        bar = bool(find_spec("tqdm"))
        fetched = Path(pooch.retrieve(url, None, path=cache / "downloads", progressbar=bar))
    finally:
        logger.setLevel(level)
    content = fetched.read_bytes()
    fetched.unlink()
    name = next((name for name in source.readers if fetched.name.endswith(name)), "")
    if not name:
        name, content = _member(content, source)
    if not name:
        raise ValueError(f"{fetched.name} holds none of {', '.join(source.readers)}")
    partial = cache / f".{name}.{os.getpid()}.part"
    partial.write_bytes(content)
    return partial.replace(cache / name)


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
    cache = _cache()
    if not looked:
        variable = os.environ.get(VARIABLE)
        looked = f"{VARIABLE}={variable!r}" if variable else f"{VARIABLE} (not set)"
        looked += "" if cache is None else f", the cache {cache}"
    place = "." if cache is None else f", or in {cache}."
    return (
        f"{source.what}: no {' or '.join(source.readers)} in {looked}.\n"
        f"Fetch it from {source.page} and put it in a directory named by data_dir or {VARIABLE}"
        f"{place}\n{source.note}"
    ).rstrip()


# ---- reading ------------------------------------------------------------------------------------


def read_csv(path: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a CSV file with a header and keep `columns`."""
    return keep_columns(need("pandas").read_csv(path), columns, path)


def read_sheet(path: Path, sheet: str | int, marker: str) -> pd.DataFrame:
    """Read one sheet of an Excel file; its header is the row that has the cell `marker`."""
    try:
        need("python_calamine")  # one engine for .xls and .xlsx; pandas deprecates xlrd
        table = need("pandas").read_excel(path, sheet_name=sheet, header=None, engine="calamine")
    except ImportError as error:
        raise ImportError(f"reading {path.name}: {error}") from error
    except Exception as error:  # the engine has errors of its own for a file that is none
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from error
    cells = table.map(lambda cell: str(cell).strip())
    rows = cells.index[(cells == marker).any(axis=1)]
    if len(rows) == 0:
        raise ValueError(f"{path} has no header with the column {marker!r}; is it another file?")
    body: pd.DataFrame = table.loc[rows[0] + 1 :].reset_index(drop=True)
    body.columns = cells.loc[rows[0]].tolist()
    return body


def keep_columns(table: pd.DataFrame, columns: Iterable[str], path: Path) -> pd.DataFrame:
    """Keep `columns` in that order, or name those that are missing."""
    wanted = list(columns)
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ValueError(
            f"{path} lacks the columns {', '.join(absent)}; it has "
            f"{', '.join(map(str, table.columns[:12]))}{', ...' if table.shape[1] > 12 else ''}"
        )
    return table[wanted]


def numeric(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a table of floats, or name the first column with a cell that is no number."""
    numbers = table.apply(need("pandas").to_numeric, errors="coerce").astype(float)
    holes = numbers.isna()
    if holes.any(axis=None):
        column = holes.any().idxmax()
        row = int(holes[column].argmax()) + 1
        raise ValueError(f"{path}: column {column!r} has no number in data row {row}")
    return numbers


def fingerprint(table: pd.DataFrame) -> str:
    """Return the SHA-256 of what a table says.

    Mirrors of the same data differ in file type, line ends, column order, row order and trailing
    digits, so files cannot be compared byte for byte. Here columns are sorted by name, numbers
    written to twelve significant digits, rows sorted.
    """
    columns = sorted(map(str, table.columns))
    written = [[_written(cell) for cell in table[name].tolist()] for name in columns]
    rows = sorted("\x1f".join(row) for row in zip(*written, strict=True))
    text = "\x1e".join(["\x1f".join(columns), *rows])
    return hashlib.sha256(text.encode()).hexdigest()


def _written(cell: Any) -> str:
    if is_null(cell):
        return ""
    # + 0.0 turns -0.0 into 0.0
    return cell.strip() if isinstance(cell, str) else format(float(cell) + 0.0, ".12g")
