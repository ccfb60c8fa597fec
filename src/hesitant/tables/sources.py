"""From what the user named (a path, ``-`` or an open stream) to unpacked bytes."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any, TypeAlias

from hesitant._words import close_names

from .errors import TOO_LARGE, TableError, quote, quote_all, reason, show_path

TableSource: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

# A table that shrinks this well and is this large is a decompression bomb, not a table.
MAX_RATIO = 200
SAFE_BYTES = 1 << 25
_CHUNK = 1 << 20

# with the number that follows, so that a CSV may start with the letters BZh
_PACKINGS: tuple[tuple[str, str, re.Pattern[bytes], Any], ...] = (
    ("gzip", ".gz", re.compile(rb"\x1f\x8b\x08"), gzip.GzipFile),
    ("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),
    ("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), lzma.LZMAFile),
)
# What the standard library raises for damaged archives, UnicodeDecodeError and overflows included.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    OverflowError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Source:
    """The content of a table and what to call it.

    ``name`` is what messages call it, ``filename`` tells the format by its suffixes (empty for a
    stream), ``data`` is the whole content: reading it once means that every later check sees the
    same bytes, and that pipes work like files.
    """

    name: str
    filename: str
    data: bytes


def load(source: TableSource) -> Source:
    """Read a path, standard input (``-``) or an open stream to its end."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return _load_path(path) if path != "-" else _load_stdin()
    if not hasattr(source, "read"):
        raise TypeError(f"source must be a path, '-' or an open file, got {type(source).__name__}")
    given = getattr(source, "name", None)  # a number for a descriptor, nothing in memory
    filename = os.path.basename(given) if isinstance(given, str) else ""
    name = show_path(str(given)) if filename else "the stream"
    return Source(name, filename, _drain(source, name))


def _load_stdin() -> Source:
    name = "standard input"
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    if stream is None:
        raise TableError(name, "It is closed.", "Pipe a table into it, or name a file.")
    return Source(name, "", _drain(stream, name))


def _drain(stream: IO[bytes] | IO[str], name: str) -> bytes:
    try:
        content = stream.read()
        if isinstance(content, bytes):
            return content
        # a text stream has been decoded already; surrogates are bytes it could not decode
        return content.encode("utf-8", "surrogateescape")
    except MemoryError as error:
        raise TableError(name, *TOO_LARGE) from error
    except (OSError, ValueError) as error:
        remedy = "Open it anew, in binary mode, or name a file."
        raise TableError(name, f"It cannot be read: {reason(error)}.", remedy) from error


def refuse_folder(path: str) -> None:
    """Refuse a path that is no file's: a folder, or nothing at all."""
    if not path:
        raise TableError(quote(path), "The name of the table is empty.", "Name a file.")
    if os.path.isdir(path):
        remedy = f"Name a file in it{_tables_in(path)}."
        raise TableError(show_path(path), "This is a folder, not a table.", remedy)


def _load_path(path: str) -> Source:
    name = show_path(path)
    refuse_folder(path)
    try:
        return Source(name, os.path.basename(path), Path(path).read_bytes())
    except FileNotFoundError as error:
        raise TableError(name, "There is no such file.", _what_is_there(path)) from error
    except PermissionError as error:
        remedy = "Ask its owner for access, or copy it to a folder of your own."
        raise TableError(name, "You have no permission to read this file.", remedy) from error
    except OSError as error:
        remedy = "Check the path and the disk."
        raise TableError(name, f"It cannot be read: {error.strerror}.", remedy) from error
    except MemoryError as error:
        raise TableError(name, *TOO_LARGE) from error
    except ValueError as error:  # a NUL character in the path
        raise TableError(name, "No file can have this name.", "Check the path.") from error


def _what_is_there(path: str) -> str:
    folder, filename = os.path.split(path)
    if folder and not os.path.isdir(folder):
        return f"The folder {show_path(folder)} does not exist either: check the path."
    close = close_names(filename, _files_in(folder or "."))
    if close:
        return f"Did you mean {quote_all(close)}?"
    return f"Check the name{_tables_in(folder or '.')}."


def _tables_in(folder: str) -> str:
    known = re.compile(r"(?i).+\.(csv|tsv|txt|xlsx|jsonl?|parquet|feather|fcs|gz)")
    tables = sorted(name for name in _files_in(folder) if known.fullmatch(name))
    return f"; the folder holds {quote_all(tables)}" if tables else ""


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:  # a suggestion is not worth listing a huge folder
            return [entry.name for entry in islice(entries, 10_000) if entry.is_file()]
    except OSError:
        return []


# -- unpacking ------------------------------------------------------------------------------------


def check_size(total: int, source: Source) -> None:
    """Refuse content that is out of proportion to the file it comes from."""
    if total > max(SAFE_BYTES, MAX_RATIO * len(source.data)):
        raise TableError(
            source.name,
            f"It unpacks to more than {MAX_RATIO} times its size.",
            "If you trust the file, unpack it first, or write it anew as CSV, and name that.",
        )


def unpack(source: Source) -> Source:
    """Return the source with its content unpacked and the packing's suffix removed."""
    path = PurePath(source.filename)
    if source.data.startswith(b"PK\x03\x04"):
        return _unzip(source)
    for name, suffix, magic, opener in _PACKINGS:
        named = path.suffix.lower() == suffix
        if magic.match(source.data):
            with (
                opener(io.BytesIO(source.data))
                if name != "gzip"
                else opener(fileobj=io.BytesIO(source.data)) as file
            ):
                data = _read_all(file, source, name)
            return replace(source, data=data, filename=path.stem if named else source.filename)
        if named:
            raise TableError(
                source.name,
                f"The name ends in {suffix}, but the content is not {name}.",
                "Rename the file if it is not packed, or fetch it again.",
            )
    return source


def _read_all(file: Any, source: Source, packing: str) -> bytes:
    chunks, total = [], 0
    try:
        while chunk := file.read(_CHUNK):
            chunks.append(chunk)
            total += len(chunk)
            check_size(total, source)
    except TableError:
        raise
    except _DAMAGED as error:
        raise _damaged(source, packing, error) from error
    return b"".join(chunks)


def _damaged(source: Source, packing: str, error: Exception) -> TableError:
    why = "it ends too early" if isinstance(error, EOFError) else reason(error)
    remedy = "Copy or download the file again."
    return TableError(source.name, f"The {packing} data is damaged: {why}.", remedy)


def _unzip(source: Source) -> Source:
    """Unpack the one table of a zip file; a workbook is checked and left as it is."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except (*_DAMAGED, NotImplementedError) as error:
        raise _damaged(source, "zip", error) from error
    with archive:
        names = archive.namelist()
        workbook = "[Content_Types].xml" in names
        tables = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
        if workbook and "xl/workbook.xml" in names:
            check_size(sum(_size(archive, name, source) for name in set(tables)), source)
            return source
        if workbook or "mimetype" in names:
            raise TableError(
                source.name,
                "This is a document (Word, LibreOffice or the like), not a table.",
                "Save the sheet as .xlsx or 'CSV UTF-8' and use that file.",
            )
        if len(tables) != 1:
            holds = f"The zip holds {len(tables)} files"
            raise TableError(
                source.name,
                f"{holds}: {quote_all(tables)}." if tables else f"{holds}.",
                "Unpack it and name the table you want.",
            )
        data = _member(archive, tables[0], source)
    return replace(source, data=data, filename=PurePath(tables[0]).name)


def _member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    try:
        member = archive.open(name)
    except (*_DAMAGED, NotImplementedError, KeyError) as error:  # encrypted, rare methods
        problem = f"The zip cannot be opened: {reason(error)}."
        raise TableError(source.name, problem, "Unpack it and name the table.") from error
    with member:
        return _read_all(member, source, "zip")


def _size(archive: zipfile.ZipFile, name: str, source: Source) -> int:
    # read rather than believed: what the directory says of a size need not be true
    return len(_member(archive, name, source))
