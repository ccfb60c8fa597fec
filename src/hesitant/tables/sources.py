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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any, TypeAlias

from hesitant._words import close_names

from .errors import TableError, empty, quote, quote_all, reason, show_path

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

    def error(self, problem: str, remedy: str, **place: Any) -> TableError:
        """Make an error about the file."""
        return TableError(self.name, problem, remedy, **place)


def open_source(source: TableSource) -> Source:
    """Read and unpack a file, and refuse an empty one."""
    packed = _load(source)
    content = _unpack(packed) if packed.data else packed
    if not content.data or content.data.isspace():
        raise empty(packed.name)
    return content


def _load(source: TableSource) -> Source:
    """Read a path, standard input (``-``) or an open stream to its end."""
    is_path = isinstance(source, str | os.PathLike)
    if is_path and source != "-":
        return _load_path(os.fspath(source))  # type: ignore[arg-type]
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if is_path else source
    if stream is None:
        remedy = "Pipe a table into it, or name a file."
        raise TableError("standard input", "It is closed.", remedy)
    given = getattr(stream, "name", None)  # a number for a descriptor
    filename = os.path.basename(given) if isinstance(given, str) and not is_path else ""
    name = show_path(str(given)) if filename else "the stream"
    name = "standard input" if is_path else name
    if not hasattr(stream, "read"):
        raise TypeError(f"source must be a path, '-' or an open file, got {type(source).__name__}")
    try:
        content: Any = stream.read()
        if isinstance(content, str):  # decoded already; surrogates are bytes that could not be
            content = content.encode("utf-8", "surrogateescape")
        return Source(name, filename, content)
    except (OSError, ValueError) as error:
        remedy = "Open it anew, in binary mode, or name a file."
        raise TableError(name, f"It cannot be read: {reason(error)}.", remedy) from error


def refuse_folder(path: str) -> None:
    """Refuse a path that is no file's: a folder, or nothing at all."""
    if not path or os.path.isdir(path):
        problem = "This is a folder, not a table." if path else "The name of the table is empty."
        raise TableError(show_path(path) or quote(path), problem, "Name a file.")


def _load_path(path: str) -> Source:
    refuse_folder(path)
    folder, filename = os.path.split(path)
    try:
        return Source(show_path(path), filename, Path(path).read_bytes())
    except (OSError, ValueError) as error:  # of a NUL character in the path
        close = []
        with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
            # a suggestion is not worth listing a huge folder
            close = close_names(filename, [entry.name for entry in islice(entries, 10_000)])
        why = getattr(error, "strerror", None) or reason(error)
        remedy = f"Did you mean {quote_all(close)}?" if close else "Check the path."
        raise TableError(show_path(path), f"It cannot be read: {why}.", remedy) from error


# -- unpacking ------------------------------------------------------------------------------------


def check_size(total: int, source: Source) -> None:
    """Refuse content that is out of proportion to the file it comes from."""
    if total > max(SAFE_BYTES, MAX_RATIO * len(source.data)):
        remedy = "If you trust it, unpack it first, or write it anew as CSV, and name that."
        raise source.error(f"It unpacks to more than {MAX_RATIO} times its size.", remedy)


def _unpack(source: Source) -> Source:
    """Return the source with its content unpacked and the packing's suffix removed."""
    path = PurePath(source.filename)
    if source.data.startswith(b"PK\x03\x04"):
        return _unzip(source)
    for name, suffix, magic, opener in _PACKINGS:
        named = path.suffix.lower() == suffix
        if magic.match(source.data):
            data = _read_all(partial(opener, io.BytesIO(source.data)), source, name)
            return replace(source, data=data, filename=path.stem if named else source.filename)
        if named:
            problem = f"The name ends in {suffix}, but the content is not {name}."
            remedy = "Rename the file if it is not packed, or fetch it again."
            raise source.error(problem, remedy)
    return source


def _read_all(opener: Any, source: Source, packing: str) -> bytes:
    chunks, total = [], 0
    try:
        file = opener()
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
    remedy = "Copy or download the file again, or unpack it and name the table."
    return source.error(f"The {packing} data is damaged: {why}.", remedy)


def _unzip(source: Source) -> Source:
    """Unpack the one table of a zip file; a workbook is checked and left as it is."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except _DAMAGED as error:
        raise _damaged(source, "zip", error) from error

    def member(name: str) -> bytes:
        return _read_all(lambda: archive.open(name), source, "zip")

    names = archive.namelist()
    tables = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
    if "xl/workbook.xml" in names:
        # read rather than believed: what the directory says of a size need not be true
        check_size(sum(len(member(name)) for name in set(tables)), source)
        return source
    if "[Content_Types].xml" in names or "mimetype" in names:
        problem = "This is a document (Word, LibreOffice or the like), not a table."
        remedy = "Save the sheet as .xlsx or 'CSV UTF-8' and use that file."
    elif len(tables) == 1:
        return replace(source, data=member(tables[0]), filename=PurePath(tables[0]).name)
    else:
        problem = f"The zip holds {len(tables)} files: {quote_all(tables) or 'none'}."
        remedy = "Unpack it and name the table you want."
    raise source.error(problem, remedy)
