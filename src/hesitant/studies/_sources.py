"""Where the real data are found, how they are read, and whether they are the published ones."""

import hashlib
import io
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hesitant._optional import is_null, need

VARIABLE = "HESITANT_DATA"
Frame = Any  # of pandas, which is optional


class DataContentWarning(UserWarning):
    """A file says something else than the published data of that name."""


def read_csv(path: Path) -> Frame:
    """Read a CSV file with a header."""
    return need("pandas").read_csv(path)


def read_sheet(
    path: Path, sheet: str | int, columns: Iterable[str], rename: Callable[[str], str] = str
) -> Frame:
    """Read one sheet of an Excel file: below the header that has these columns, whole rows."""
    try:
        need("python_calamine")  # one engine for .xls and .xlsx; pandas deprecates xlrd
        table = need("pandas").read_excel(path, sheet_name=sheet, header=None, engine="calamine")
    except ImportError as error:
        raise ImportError(f"reading {path.name}: {error}") from error
    except Exception as error:  # the engine has errors of its own for a file that is none
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from error
    wanted = list(columns)
    for number, cells in enumerate(table.to_numpy(dtype=str)):
        names = [rename(cell.strip()) for cell in cells]
        if set(wanted) <= set(names):
            body = table[number + 1 :].set_axis(names, axis=1)
            return body[wanted].dropna().reset_index(drop=True)
    raise ValueError(f"{path} has no header with {', '.join(wanted)}; is it another file?")


def keep_columns(table: Frame, columns: Iterable[str], path: Path) -> Frame:
    """Keep `columns` in that order, or name those that are missing."""
    wanted = list(columns)
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ValueError(
            f"{path} lacks the columns {', '.join(absent)}; it has "
            f"{', '.join(map(str, table.columns[:12]))}{', ...' if table.shape[1] > 12 else ''}"
        )
    return table[wanted]


def numeric(table: Frame, path: Path) -> Frame:
    """Return a table of floats, or name the first column with a cell that is no number."""
    numbers = table.apply(need("pandas").to_numeric, errors="coerce").astype(float)
    holes = numbers.isna()
    if holes.any(axis=None):
        column = holes.any().idxmax()
        row = int(holes[column].argmax()) + 1
        raise ValueError(f"{path}: column {column!r} has no number in data row {row}")
    return numbers


def fingerprint(table: Frame) -> str:
    """Return the SHA-256 of what a table says, whatever the order and form of its cells."""
    # Mirrors of the same data differ in file type, line ends, orders and trailing digits.
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


@dataclass(frozen=True)
class Source:
    """One table: the files that may hold it, where it is published and what it says."""

    what: str
    readers: Mapping[str, Callable[[Path], Frame]]  # by file name, the preferred first
    page: str
    sha256: str  # the `fingerprint` of the columns (all, if empty) made tidy
    columns: Sequence[str] = ()
    tidy: Callable[[Frame, Path], Frame] = numeric
    urls: Sequence[str] = ()  # tried in order: an accepted file, or an archive that holds one
    note: str = ""  # for people who fetch the file by hand

    def find(self, directory: Path) -> Path | None:
        """Return the preferred one of the accepted files in a directory."""
        return next((directory / n for n in self.readers if (directory / n).exists()), None)

    def read(self, path: Path, trusted: bool = False) -> Frame:
        """Return a file's table; one that is not the published one must be the user's own."""
        table = self.readers[path.name](path)
        table = self.tidy(keep_columns(table, self.columns or table.columns, path), path)
        if fingerprint(table) != self.sha256:
            words = f"{path} is not the published {self.what} ({self.page}): some values differ."
            if not trusted:
                raise ValueError(
                    f"{words} Delete it and try again, or fetch the file and set {VARIABLE} to "
                    "its directory to use it as it is."
                )
            told = f"{words} It is used as it is; expect other results than the paper's."
            warnings.warn(told, DataContentWarning, stacklevel=4)
        return table


def load_table(source: Source, data_dir: str | os.PathLike[str] | None = None) -> Frame:
    """Find a table where the user points, else in the cache, else on the network."""
    need("pandas")
    named, cache = os.environ.get(VARIABLE) if data_dir is None else os.fspath(data_dir), _cache()
    looked = f"{VARIABLE if data_dir is None else 'data_dir'}={named!r}"
    if named:
        directory = Path(named).expanduser()
        if not directory.is_dir():
            raise NotADirectoryError(f"{looked} is not a directory that could hold the files")
        if (path := source.find(directory)) is not None:
            return source.read(path, trusted=True)
    advice = (
        f"{source.what}: no {' or '.join(source.readers)} in {looked}.\n"
        f"Fetch it from {source.page} and put it in a directory named by data_dir or {VARIABLE}"
        f"{'' if cache is None else f', or in {cache}'}.\n{source.note}"
    ).rstrip()
    if data_dir is not None:  # somebody who names one expects no data from anywhere else
        raise FileNotFoundError(advice)
    if cache is None:
        raise ImportError(f"{advice}\nTo download it: pip install 'hesitant[data]'")
    path = source.find(cache)
    return _download(source, cache, advice) if path is None else source.read(path)


def _cache() -> Path | None:
    return Path(need("pooch").os_cache("hesitant")) if find_spec("pooch") else None


def _download(source: Source, cache: Path, advice: str) -> Frame:
    """Return the table of a download, which stays in the cache if it is the published one."""
    cache.mkdir(parents=True, exist_ok=True)
    # No checksum of the file: archives are rebuilt by their hosts, so content is compared.
    get = need("pooch").HTTPDownloader(progressbar=bool(find_spec("tqdm")))
    for url in source.urls:
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            fetched = Path(folder, url.rpartition("/")[2])
            try:
                get(url, str(fetched), None)
                files = dict(_unpack(fetched.name, fetched.read_bytes()))
                name = next((name for name in source.readers if name in files), None)
                if name is None:
                    raise ValueError(f"{url} holds none of {', '.join(source.readers)}")
                path = Path(folder, name)
                path.write_bytes(files[name])
                table = source.read(path)
                path.replace(cache / name)
                return table
            except (OSError, ValueError, zipfile.BadZipFile) as error:
                failure = f"\nThe download failed: {error}"
    raise FileNotFoundError(advice + (failure if source.urls else ""))


def _unpack(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a file, or those of an archive and of archives within it."""
    if not name.lower().endswith(".zip"):
        yield name, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            yield from _unpack(Path(member).name, archive.read(member))
