"""Files that are written whole, in whole sets, or not at all."""

import bz2
import csv
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from .errors import TableError, option, reason, show_path

if TYPE_CHECKING:
    import pandas as pd

PathLike: TypeAlias = str | os.PathLike[str]
Content: TypeAlias = bytes | str | Callable[[BinaryIO], object]

_COLUMNAR = (".parquet", ".feather")
_TEXT = ("", ".csv", ".tsv", ".txt")
_PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),  # the same table gives the same bytes
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
# A spreadsheet evaluates cells that start with these, some of them behind a tab or a line break:
# an apostrophe in front makes them text. Apostrophes may come first, so that guarding can be
# undone; the wide characters are what East Asian input methods type.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")


def write_atomically(path: PathLike, data: Content, *, force: bool = False) -> Path:
    """Write a file so that its name only ever stands for the whole content.

    Parameters
    ----------
    path : str or path
        The file to write.
    data : bytes, str or callable
        The content; text is written as UTF-8. A callable receives the open binary file and writes
        to it; an exception it raises is passed on.
    force : bool, default=False
        Whether to replace an existing file. Without it, not even a file that appears while this
        function is writing is replaced.

    Raises
    ------
    TableError
        If the file exists already or cannot be written.
    """
    return write_together({path: data}, force=force)[0]


def write_together(
    files: Mapping[PathLike, Content], *, force: bool = False, keep: Collection[PathLike] = ()
) -> list[Path]:
    """Write a set of files: all of them, or none.

    Every content goes to a temporary file in the folder of its target and reaches the disk; only
    then do all take their names. Whatever interrupts this (an exception, Ctrl-C, a full disk)
    leaves the files that were there. Killing the process leaves whole files too, and at worst
    a temporary one, ``.hesitant-*.part``.

    Parameters
    ----------
    files : mapping of path to content
        As of `write_atomically`.
    force : bool, default=False
        Whether to replace existing files.
    keep : collection of paths, default=()
        Files that are being read: they are not replaced, whatever ``force`` says.
    """
    targets = [Path(path) for path in files]
    real = [_check_target(target, force, keep) for target in targets]
    tag = secrets.token_hex(8)
    parts = [path.with_name(f".hesitant-{tag}-{i}.part") for i, path in enumerate(real)]
    spares = [part.with_suffix(".old") for part in parts]
    created: list[Path] = []
    at = 0
    try:
        for at, data in enumerate(files.values()):
            _fill(parts[at], data, replaces=real[at] if force else None)
        for at, target in enumerate(real):
            is_new = not os.path.lexists(target)
            if not is_new and force and len(real) > 1:
                _second_name(target, spares[at])
            _take_name(parts[at], target, force)
            if is_new:
                created.append(target)
    except BaseException as error:
        for spare, target in zip(spares, real, strict=True):
            if spare.exists():
                os.replace(spare, target)
        for target in created:
            target.unlink()
        if isinstance(error, FileExistsError):
            raise _exists(show_path(str(targets[at]))) from error
        if isinstance(error, OSError):
            raise _unwritable(targets[at], error) from error
        raise
    finally:
        for path in (*parts, *spares):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    for folder in {target.parent for target in real}:
        _sync_folder(folder)
    return targets


def prepare_targets(paths: Collection[PathLike], *, force: bool, keep: Collection[Any]) -> None:
    """Make the folders of files to come, and refuse what `write_together` would refuse.

    A command calls this before its work, lest the work be lost for a name.
    """
    for target in map(Path, paths):
        name = show_path(str(target))
        try:
            if "\0" not in str(target):
                target.parent.mkdir(parents=True, exist_ok=True)
            real = _check_target(target, force, keep)
            with tempfile.TemporaryFile(dir=real.parent):
                pass  # the sure way to know that it may be written to
        except (FileExistsError, NotADirectoryError) as error:
            folder = show_path(str(target.parent))
            problem = f"{folder} cannot be a folder, because a file stands there."
            raise TableError(name, problem, "Write to another folder.") from error
        except OSError as error:
            raise _unwritable(target, error) from error


def _check_target(target: Path, force: bool, keep: Collection[PathLike]) -> Path:
    """Refuse what cannot or must not be written; return the file behind a link."""
    name, folder = show_path(str(target)), show_path(str(target.parent))
    if "\0" in str(target):
        raise TableError(name, "No file can have this name.", "Choose another.")
    if not target.parent.is_dir():
        remedy = "Make it first, or write to another folder."
        raise TableError(name, f"The folder {folder} does not exist.", remedy)
    try:
        if target.is_dir():
            raise TableError(name, "This is a folder.", "Add a file name to it.")
        if target.exists() and not target.is_file():
            # replacing a device such as /dev/null would break it for everybody
            raise TableError(name, "This is not an ordinary file.", "Write to a file instead.")
        if target.exists() and any(os.path.samefile(r, target) for r in keep if os.path.exists(r)):
            problem = "This file is being read: it is not written over."
            raise TableError(name, problem, "Choose another.")
        if os.path.lexists(target) and not force:  # if only a link to nowhere
            raise _exists(name)
    except OSError as error:  # a name that is too long
        raise _unwritable(target, error) from error
    return Path(os.path.realpath(target)) if target.is_symlink() else target


def _exists(name: str) -> TableError:
    remedy = f"Replace it with {option('force', True)}, or choose another."
    return TableError(name, "The file exists already.", remedy)


def _unwritable(target: Path, error: OSError) -> TableError:
    folder = show_path(str(target.parent))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        problem = "The disk is full; nothing was written."
        remedy = f"Make room in {folder}, or write to another disk."
    elif isinstance(error, PermissionError):
        problem = f"You have no permission to write in {folder}."
        remedy = "Write to a folder of your own."
    else:
        problem = f"The file cannot be written: {error.strerror or reason(error)}."
        remedy = "Write to another folder."
    return TableError(show_path(str(target)), problem, remedy)


def _fill(part: Path, data: Content, replaces: Path | None) -> None:
    """Write content through to the disk; what replaces a private file is private too."""
    # unlike `tempfile`, "x" grants the permissions that the user's umask allows
    with open(part, "xb") as file:
        if replaces is not None and hasattr(os, "fchmod"):
            with suppress(OSError):  # there may be nothing to replace
                os.fchmod(file.fileno(), stat.S_IMODE(replaces.stat().st_mode))
        if callable(data):
            data(file)
        else:
            file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())


def _take_name(part: Path, target: Path, force: bool) -> None:
    if not force:
        try:
            os.link(part, target)  # fails if the name is taken: no race can be lost
            return
        except FileExistsError:
            raise
        except OSError:
            with open(target, "xb"):  # no hard links here: reserve the name
                pass
    try:
        os.replace(part, target)
    except BaseException:
        if not force:
            target.unlink()  # only the reservation
        raise


def _second_name(target: Path, spare: Path) -> None:
    try:
        os.link(target, spare)
    except OSError:
        shutil.copy2(target, spare)


def _sync_folder(folder: Path) -> None:
    """Make new names survive a power failure, where folders can be synchronised."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- tables ---------------------------------------------------------------------------------------


def write_table(frame: "pd.DataFrame", path: PathLike, force: bool = False) -> Path:
    """Write a data frame, whole or not at all, in the format of the file's suffix.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its index is not written.
    path : str or path
        ``.csv`` and ``.tsv`` (also packed, ``.csv.gz``), ``.parquet`` or ``.feather``; without a
        suffix CSV.
    force : bool, default=False
        Whether to replace an existing file.

    Notes
    -----
    In text tables, cells and column names that a spreadsheet would evaluate, because they start
    with ``=``, ``+``, ``-``, ``@``, a tab or a line break, get an apostrophe in front;
    `read_table` takes it away again. Numbers are written exactly and untouched, negative ones
    too. All text is quoted. Absent values are empty cells. The same table always gives the same
    bytes, packed or not.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [-1.5], "label": ["=cmd()"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_table(frame, folder + "/out.csv").read_text())
    "x","label"
    -1.5,"'=cmd()"
    <BLANKLINE>
    """
    return write_atomically(path, table_bytes(frame, path), force=force)


def write_csv(
    frame: "pd.DataFrame", path: PathLike, force: bool = False, delimiter: str = ","
) -> Path:
    """Write a data frame as CSV whatever the file is called; see `write_table`."""
    data = _csv_bytes(frame, Path(path).suffix.lower(), delimiter)
    return write_atomically(path, data, force=force)


def check_format(path: PathLike) -> str:
    """Return the suffix that tells the format of a file to write, or refuse it."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACK
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    # packed files are text, whatever they are called; columnar ones pack themselves
    if not packed if suffix in _COLUMNAR else packed or suffix in _TEXT:
        return suffix
    problem = f"Tables are not written as {''.join(suffixes[-1 - packed :])}."
    remedy = "Let the name end in .csv, .tsv, .parquet or .feather."
    raise TableError(show_path(os.fspath(path)), problem, remedy)


def table_bytes(frame: "pd.DataFrame", path: PathLike = "") -> bytes:
    """Return a data frame as the bytes of a file of this name."""
    suffix = check_format(path)
    if suffix not in _COLUMNAR:
        delimiter = "\t" if suffix == ".tsv" else ","
        return _csv_bytes(frame, Path(path).suffix.lower(), delimiter)
    name, buffer = show_path(os.fspath(path)), io.BytesIO()
    try:
        getattr(frame.reset_index(drop=True), f"to_{suffix[1:]}")(buffer)
    except ImportError as error:
        problem = f"Writing {suffix} needs pyarrow, which is not installed."
        remedy = "Install it with pip install 'hesitant[cli]', or name the file .csv."
        raise TableError(name, problem, remedy) from error
    except (TypeError, ValueError) as error:
        problem = f"The table cannot be written as {suffix}: {reason(error)}."
        raise TableError(name, problem, "Name the file .csv instead.") from error
    return buffer.getvalue()


def _csv_bytes(frame: "pd.DataFrame", suffix: str, delimiter: str) -> bytes:
    import pandas as pd

    def cell(value: Any) -> Any:
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return None
        return value if pd.api.types.is_number(value) else guard(str(value))

    safe = frame.set_axis(range(frame.shape[1]), axis=1)  # by position: names may repeat
    for j in range(frame.shape[1]):
        if safe[j].dtype.kind not in "biuf":
            # as objects to the end: pandas would make 1.0 of a whole number among blanks
            cells = [cell(value) for value in safe[j].astype(object)]
            safe[j] = pd.Series(cells, dtype=object, index=safe.index)
    text = safe.to_csv(
        index=False,
        header=[guard(str(name)) for name in frame.columns],
        sep=delimiter,
        quoting=csv.QUOTE_NONNUMERIC,
        lineterminator="\n",
    )
    data = text.encode("utf-8", "replace")  # lone surrogates, as broken exports have them
    return _PACK[suffix](data) if suffix in _PACK else data


def guard(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguard(text: str) -> str:
    """Undo `guard`; any other text is returned as it is."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def sha256_of(data: "PathLike | pd.DataFrame") -> str:
    """Return the SHA-256 checksum of a file, or of the content of a data frame.

    Of a file the bytes count, as for ``sha256sum``; of a table the column names, values and order,
    and not the index or the storage (text as objects or strings, 32 or 64 bits).
    """
    if isinstance(data, str | os.PathLike):
        try:
            with open(data, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problem = f"It cannot be read: {error.strerror}."
            raise TableError(show_path(os.fspath(data)), problem, "Check the path.") from error
    wide = data.astype({k: "float64" for k in data.columns if data[k].dtype.kind == "f"})
    # an absent cell is a character that no text has, lest it be an empty one
    text = wide.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, na_rep="\uffff")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
