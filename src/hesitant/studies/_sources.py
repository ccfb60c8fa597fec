"""Where the real data are found, how they are read, and whether they are the published ones."""

import hashlib
import os
import re
import shutil
import tempfile
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hesitant._optional import need

VARIABLE = "HESITANT_DATA"
Frame = Any  # of pandas, which is optional


class DataContentWarning(UserWarning):
    """A file says something else than the published data of that name."""


def _read_cells(path: Path, columns: Sequence[str]) -> Frame:
    pandas, beside = need("pandas"), path.with_name("dlbcl030_labels.csv")
    if not beside.exists():
        raise FileNotFoundError(f"{path} needs {beside.name} beside it, the gate of each event")
    events = pandas.read_csv(path)
    # FCS readers write "FL1 LOG", "FL1.LOG" or "FL1 Log" for the same channel.
    events.columns = [re.sub("[ .]", "_", str(c).strip().upper()) for c in events]
    gates = pandas.read_csv(beside, header=None).iloc[:, -1]
    gates = pandas.to_numeric(gates, errors="coerce").dropna()  # a header is no number
    if len(gates) != len(events):
        raise ValueError(f"{beside} has {len(gates)} labels for {len(events)} events of {path}")
    return events.assign(label=gates.to_numpy())


def _read_lesions(path: Path, columns: Sequence[str]) -> Frame:
    # UCI's file lies on its side: a line of names, of classes, of lights, then one per feature.
    table = need("pandas").read_csv(path, header=None, dtype=str).T
    table.columns = [*columns, *(f"f{k}" for k in range(1, table.shape[1] - 2))]
    return table


def _read_sheet(path: Path, columns: Sequence[str], sheet: str | int = 0) -> Frame:
    """Read one sheet of an Excel file: below the header that has these columns, whole rows."""
    need("python_calamine")  # one engine for .xls and .xlsx; pandas deprecates xlrd
    try:
        table = need("pandas").read_excel(path, sheet_name=sheet, header=None, engine="calamine")
    except Exception as error:  # the engine has errors of its own for a file that is none
        raise ValueError(f"{path} cannot be read as an Excel file: {error}") from error
    for number, cells in enumerate(table.to_numpy(dtype=str)):
        titles = [cell.strip() for cell in cells]
        # a title may also be "EXPERT 1" or "GROUND TRUTH"
        tidy = [title.lower().replace(" ", "").replace("ground", "") for title in titles]
        for names in (titles, tidy):
            if set(columns) <= set(names):
                body = table[number + 1 :].set_axis(names, axis=1)
                return body[list(columns)].dropna().reset_index(drop=True)
    raise ValueError(f"{path} has no header with {', '.join(columns)}; is it another file?")


# forms that are no plain CSV, each read for the columns of its table
_READERS: dict[str, Callable[[Path, Sequence[str]], Frame]] = {
    "dlbcl030_events.csv": _read_cells,
    "CTG.xls": partial(_read_sheet, sheet="Raw Data"),
    "data.txt": _read_lesions,
    "HumanEvaluation.xlsx": _read_sheet,
}


def fingerprint(table: Frame) -> str:
    """Return the SHA-256 of what a table says, whatever the order and form of its cells."""
    # Mirrors of the same data differ in file type, line ends, orders and trailing digits.
    columns = sorted(map(str, table.columns))
    written = table[columns].map(
        # + 0.0 turns -0.0 into 0.0
        lambda cell: cell.strip() if isinstance(cell, str) else f"{float(cell) + 0.0:.12g}"
    )
    rows = sorted("\x1f".join(row) for row in written.to_numpy().tolist())
    return hashlib.sha256("\x1e".join(["\x1f".join(columns), *rows]).encode()).hexdigest()


@dataclass(frozen=True)
class Source:
    """One table: the files that may hold it, where it is published and what it says."""

    what: str
    files: Sequence[str]  # accepted names, the preferred first
    page: str
    sha256: str  # the `fingerprint` of the columns
    columns: Sequence[str]
    more: str = ""  # a pattern of the names of further columns
    words: Sequence[str] = ()  # columns that are words; all others are numbers
    urls: Sequence[str] = ()  # tried in order: an accepted file, or an archive that holds one
    note: str = ""  # for people who fetch the file by hand

    def find(self, directory: Path) -> Path | None:
        return next((directory / n for n in self.files if (directory / n).exists()), None)

    def read(self, path: Path, trusted: bool = False) -> Frame:
        """Return a file's table; one that is not the published one must be the user's own."""
        pandas, reader = need("pandas"), _READERS.get(path.name)
        table = pandas.read_csv(path) if reader is None else reader(path, self.columns)
        absent = [name for name in self.columns if name not in table]
        if absent:
            there = f"{', '.join(map(str, table.columns[:12]))}{', ...' * (table.shape[1] > 12)}"
            raise ValueError(f"{path} lacks the columns {', '.join(absent)}; it has {there}")
        table = table[[*self.columns, *(c for c in table if re.fullmatch(self.more, str(c)))]]
        table = table.apply(lambda column: self._tidy(column, path))
        if fingerprint(table) != self.sha256:
            words = f"{path} is not the published {self.what} ({self.page}): some values differ."
            if not trusted:
                own = f"or fetch the file and set {VARIABLE} to its directory to use it as it is"
                raise ValueError(f"{words} Delete it and try again, {own}.")
            told = f"{words} It is used as it is; expect other results than the paper's."
            warnings.warn(told, DataContentWarning, stacklevel=4)
        return table

    def _tidy(self, column: Any, path: Path) -> Any:
        if column.name in self.words:
            # "Adenoma_01" on the web page is "adenoma_1" in the table of features.
            tidy = column.astype(str).str.strip().str.strip("'\"").str.lower()
            return tidy.str.replace(r"_0+(?=\d)", "_", regex=True)
        numbers = need("pandas").to_numeric(column, errors="coerce").astype(float)
        if numbers.isna().any():
            row = int(numbers.isna().argmax()) + 1
            raise ValueError(f"{path}: column {column.name!r} has no number in data row {row}")
        return numbers


FACTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))
SOURCES = {name: Source(**facts) for name, facts in FACTS["tables"].items()}


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
        f"{source.what}: no {' or '.join(source.files)} in {looked}.\n"
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
    get, failure = need("pooch").HTTPDownloader(progressbar=bool(find_spec("tqdm"))), ""
    for url in source.urls:
        with tempfile.TemporaryDirectory(dir=cache) as name:
            folder = Path(name)
            try:
                get(url, str(folder / url.rpartition("/")[2]), None)
                for _ in range(2):  # an archive may hold another
                    for archive in list(folder.rglob("*.zip")):
                        shutil.unpack_archive(archive, folder)
                path = next((p for file in source.files for p in folder.rglob(file)), None)
                if path is None:
                    raise ValueError(f"{url} holds none of {', '.join(source.files)}")
                table = source.read(path)
                path.replace(cache / path.name)
                return table
            except (OSError, ValueError, zipfile.BadZipFile) as error:
                failure = f"\nThe download failed: {error}"
    raise FileNotFoundError(advice + failure)
