"""Files that are written whole, in whole sets, or not at all."""

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
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
_FORMULA = "'*[=+\\-@\t\r\n＝＋－＠]"
GUARD = f"^({_FORMULA})", r"'\1"
UNGUARD = f"^'({_FORMULA})", r"\1"


def write_atomically(path: PathLike, data: Content, *, force: bool = False) -> Path:
    """Write a file so that its name only ever stands for the whole content.

    ``data`` is bytes, text or a function that receives the open binary file. Without ``force``,
    not even a file that appears meanwhile is replaced.
    """
    return write_together({path: data}, force=force)[0]


def write_together(
    files: Mapping[Any, Content], *, force: bool = False, keep: Collection[PathLike] = ()
) -> list[Path]:
    """Write a set of files, as `write_atomically` writes one: all of them, or none.

    Contents go to temporary files beside their targets, and take their names once all are on the
    disk. Whatever interrupts this leaves the files that were there, with a `TableError` if that
    is the file system's doing; killing the process leaves whole files too, and at worst a
    temporary one. Files in ``keep`` are being read, and not replaced even by ``force``.
    """
    targets = [Path(path) for path in files]
    real = [_check_target(target, force, keep) for target in targets]
    tag, at = secrets.token_hex(8), 0
    parts = [path.with_name(f".hesitant-{tag}-{i}.part") for i, path in enumerate(real)]
    spares = [part.with_suffix(".old") for part in parts]
    try:
        with ExitStack() as undo:
            for at, data in enumerate(files.values()):
                _fill(parts[at], data, replaces=real[at] if force else None)
            for at, target in enumerate(real):
                is_new = not os.path.lexists(target)
                if not force:  # take the name, unless somebody has it: no race can be lost
                    try:
                        os.link(parts[at], target)
                    except OSError:  # no hard links here, or it is taken and this fails too
                        open(target, "xb").close()
                elif not is_new and len(real) > 1:
                    shutil.copy2(target, spares[at])
                    undo.callback(os.replace, spares[at], target)
                if is_new:
                    undo.callback(target.unlink, missing_ok=True)
                os.replace(parts[at], target)
            undo.pop_all()
    except OSError as error:
        raise _unwritable(targets[at], error) from error
    finally:
        for path in (*parts, *spares):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    for folder in {path.parent for path in real}:  # new names survive a power cut,
        with suppress(OSError), ExitStack() as close:  # where folders can be flushed
            descriptor = os.open(folder, os.O_RDONLY)
            close.callback(os.close, descriptor)
            os.fsync(descriptor)
    return targets


def prepare_targets(paths: Collection[PathLike], *, force: bool, keep: Collection[Any]) -> None:
    """Refuse, before work is lost, what `write_together` would refuse; make the folders."""
    for target in map(Path, paths):
        try:
            if "\0" not in str(target):
                target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=_check_target(target, force, keep).parent):
                pass  # the sure way to know that it may be written to
        except (FileExistsError, NotADirectoryError) as error:
            problem = f"{show_path(target.parent)} cannot be a folder: a file stands there."
            raise TableError(target, problem, "Write to another folder.") from error
        except OSError as error:
            raise _unwritable(target, error) from error


def _check_target(target: Path, force: bool, keep: Collection[PathLike]) -> Path:
    """Refuse what cannot or must not be written; return the file behind a link."""
    problem, remedy = "", "Choose another."
    inputs = [path for path in keep if os.path.exists(path)]
    try:
        if "\0" in str(target):
            problem = "No file can have this name."
        elif not target.parent.is_dir():
            problem = f"The folder {show_path(target.parent)} does not exist."
            remedy = "Make it first, or write to another folder."
        elif target.is_dir():
            problem, remedy = "This is a folder.", "Add a file name to it."
        elif target.exists() and not target.is_file():
            # replacing a device such as /dev/null would break it for everybody
            problem, remedy = "This is not an ordinary file.", "Write to a file instead."
        elif target.exists() and any(os.path.samefile(path, target) for path in inputs):
            problem = "This file is being read, so it is not overwritten."
        elif os.path.lexists(target) and not force:  # if only a link to nowhere
            raise FileExistsError
    except OSError as error:  # also a name that is too long
        raise _unwritable(target, error) from error
    if problem:
        raise TableError(target, problem, remedy)
    return Path(os.path.realpath(target))


def _unwritable(target: Path, error: OSError) -> TableError:
    problem = f"The file cannot be written: {error.strerror or reason(error)}."
    remedy = "Write to another folder."
    if isinstance(error, FileExistsError):
        problem = "The file exists already."
        remedy = f"Replace it with {option('force', True)}, or choose another."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        problem = "The disk is full; nothing was written."
        remedy = f"Make room in {show_path(target.parent)}, or write to another disk."
    return TableError(target, problem, remedy)


def _fill(part: Path, data: Content, replaces: Path | None) -> None:
    """Write content through to the disk; what replaces a private file is private too."""
    # unlike `tempfile`, "x" grants the permissions that the user's umask allows
    with open(part, "xb") as file:
        if replaces is not None:
            with suppress(OSError):  # there may be nothing to replace
                shutil.copymode(replaces, part)
        if callable(data):
            data(file)
        else:
            file.write(_as_utf8(data) if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())


def _as_utf8(value: object) -> bytes:
    return str(value).encode("utf-8", "replace")  # broken exports have lone surrogates


def write_table(frame: "pd.DataFrame", path: PathLike, force: bool = False) -> Path:
    """Write a data frame, without its index, in the format of the file's suffix.

    That is ``.csv`` or ``.tsv`` (also packed, ``.csv.gz``), ``.parquet`` or ``.feather``; without
    a suffix CSV. The same table always gives the same bytes. Text that a spreadsheet would
    evaluate (it starts with ``=``, ``+``, ``-``, ``@``, a tab or a line break) gets an apostrophe
    in front, which `read_table` takes away again; numbers are written exactly.

    >>> import tempfile
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [-1.5], "label": ["=cmd()"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_table(frame, folder + "/out.csv").read_text().rstrip())
    "x","label"
    -1.5,"'=cmd()"
    """
    return write_atomically(path, table_bytes(frame, path), force=force)


def write_csv(
    frame: "pd.DataFrame", path: PathLike, force: bool = False, delimiter: str = ","
) -> Path:
    """Write a data frame as CSV whatever the file is called; see `write_table`."""
    return write_atomically(path, table_bytes(frame, path, delimiter), force=force)


def check_format(path: PathLike) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACK
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    # packed files are text, whatever they are called; columnar ones pack themselves
    if not packed if suffix in _COLUMNAR else packed or suffix in _TEXT:
        return suffix
    problem = f"Tables are not written as {''.join(suffixes[-1 - packed :])}."
    raise TableError(path, problem, "Let the name end in .csv, .tsv, .parquet or .feather.")


def table_bytes(frame: "pd.DataFrame", path: PathLike = "", delimiter: str = "") -> bytes:
    """Return a table in the format of a file's name; with a delimiter, as text all the same."""
    import pyarrow as pa
    import pyarrow.csv

    suffix = "" if delimiter else check_format(path)
    buffer = io.BytesIO()
    if suffix in _COLUMNAR:
        try:
            getattr(frame.reset_index(drop=True), f"to_{suffix[1:]}")(buffer)
        except (TypeError, ValueError, ImportError) as error:
            problem = f"The table cannot be written as {suffix}: {reason(error)}."
            raise TableError(path, problem, "Name the file .csv instead.") from error
        return buffer.getvalue()
    columns = [_csv_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    names = [re.sub(*GUARD, _as_utf8(name).decode()) for name in frame.columns]
    options = pyarrow.csv.WriteOptions(delimiter=delimiter or ("\t" if suffix == ".tsv" else ","))
    pyarrow.csv.write_csv(pa.Table.from_arrays(columns, names), buffer, options)
    return _PACK.get(Path(path).suffix.lower(), bytes)(buffer.getvalue())


def _csv_column(column: "pd.Series[Any]") -> Any:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = ("integer", "floating", "mixed-integer-float")
    if column.dtype == bool:
        column = column.map({True: "True", False: "False"})
    if pd.api.types.infer_dtype(column, skipna=True) in numbers:
        with suppress(OverflowError, pa.ArrowInvalid):  # of more than 64 bits
            return pa.Array.from_pandas(column)
    try:
        text = pa.array(column, pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, UnicodeError):  # of other things than text
        words = column.map(_as_utf8, na_action="ignore").astype(object)
        text = pa.array(words, pa.large_string(), from_pandas=True)
    return pc.replace_substring_regex(text, *GUARD)


def sha256_of(data: "PathLike | pd.DataFrame") -> str:
    """Return the SHA-256 checksum of a file's bytes, or of a data frame's columns and values.

    The index of a frame or its storage (objects or strings, 32 or 64 bits) do not count.
    """
    if isinstance(data, str | os.PathLike):
        try:
            with open(data, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            why = f"It cannot be read: {error.strerror}."
            raise TableError(data, why, "Check the path.") from error
    wide = data.astype({k: "float64" for k in data.columns if data[k].dtype.kind == "f"})
    return hashlib.sha256(table_bytes(wide)).hexdigest()
