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

from .errors import TableError, quote, quote_all, reason, show_path

TableSource: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

# A table that shrinks this well and is this large is a decompression bomb, not a table.
MAX_RATIO = 200
SAFE_BYTES = 1 << 25
_CHUNK = 1 << 20

# with the number that follows, so that a CSV may start with the letters BZh
_PACKINGS: tuple[tuple[str, str, re.Pattern[bytes], Any], ...] = (
    ("gzip", ".gz", re.compile(rb"\x1f\x8b\x08"), lambda f: gzip.GzipFile(fileobj=f)),
    ("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),
    ("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), lzma.LZMAFile),
)
# What the standard library raises for damaged archives, UnicodeDecodeError and overflows included.
_DAMAGED: tuple[type[Exception], ...] = (OSError, EOFError, ValueError, RuntimeError, zlib.error)
_DAMAGED += (OverflowError, NotImplementedError, KeyError, lzma.LZMAError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Source:
    """The content of a table, what messages call it, and the name that tells its format."""

    name: str
    filename: str
    data: bytes  # all of it, so that every later check sees the same and pipes work like files


def load(source: TableSource) -> Source:
    """Read a path, standard input (``-``) or an open stream to its end."""
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != "-":
            return _load_path(os.fspath(source))
        filename, name = "", "standard input"
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        if stream is None:
            raise TableError(name, "It is closed.", "Pipe a table into it, or name a file.")
    else:
        stream, given = source, getattr(source, "name", None)  # a number for a descriptor
        filename = os.path.basename(given) if isinstance(given, str) else ""
        name = show_path(str(given)) if filename else "the stream"
    if not hasattr(stream, "read"):
        raise TypeError(f"source must be a path, '-' or an open file, got {type(source).__name__}")
    try:
        content = stream.read()
        if isinstance(content, str):  # decoded already; surrogates are bytes that could not be
            content = content.encode("utf-8", "surrogateescape")
        return Source(name, filename, content)
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
    except FileNotFoundError:
        problem, remedy = "There is no such file.", _what_is_there(path)
    except PermissionError:
        problem = "You have no permission to read this file."
        remedy = "Ask its owner for access, or copy it to a folder of your own."
    except OSError as error:
        problem = f"It cannot be read: {error.strerror}."
        remedy = "Check the path and the disk."
    except ValueError:  # a NUL character in the path
        problem, remedy = "No file can have this name.", "Check the path."
    raise TableError(name, problem, remedy)


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
            data = _read_all(opener(io.BytesIO(source.data)), source, name)
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
    except _DAMAGED as error:
        raise _damaged(source, "zip", error) from error
    with archive:
        names = archive.namelist()
        tables = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
        if "xl/workbook.xml" in names:
            # read rather than believed: what the directory says of a size need not be true
            check_size(sum(len(_member(archive, name, source)) for name in set(tables)), source)
            return source
        if "[Content_Types].xml" in names or "mimetype" in names:
            problem = "This is a document (Word, LibreOffice or the like), not a table."
            remedy = "Save the sheet as .xlsx or 'CSV UTF-8' and use that file."
        elif len(tables) != 1:
            listed = f": {quote_all(tables)}" if tables else ""
            problem = f"The zip holds {len(tables)} files{listed}."
            remedy = "Unpack it and name the table you want."
        else:
            data = _member(archive, tables[0], source)
            return replace(source, data=data, filename=PurePath(tables[0]).name)
    raise TableError(source.name, problem, remedy)


def _member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    try:
        member = archive.open(name)
    except _DAMAGED as error:  # encrypted, rare methods
        problem = f"The zip cannot be opened: {reason(error)}."
        raise TableError(source.name, problem, "Unpack it and name the table.") from error
    return _read_all(member, source, "zip")
