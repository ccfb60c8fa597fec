"""From what the user named (a path, ``-`` or an open stream) to unpacked bytes and text."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from hesitant._words import did_you_mean

from .errors import TableError, option, quote, quote_all, reason

TableSource: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

# A table that shrinks this well and is this large is a decompression bomb, not a table.
MAX_RATIO = 200
SAFE_BYTES = 1 << 25
_MAX_CELLS = 20_000_000  # of a workbook
_CELL = re.compile(rb'<c [^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
EMPTY = "The file is empty.", "Check that it was written, and that this is the right one."
_CHUNK = 1 << 20
# with the number that follows, so that a CSV may start with the letters BZh
_PACKINGS: dict[str, tuple[str, bytes, Any]] = {
    "gzip": (".gz", rb"\x1f\x8b\x08", gzip.open),
    "bzip2": (".bz2", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", bz2.open),
    "xz": (".xz", rb"\xfd7zXZ\x00", lzma.open),
}
# the four-byte marks first: the mark of UTF-32-LE starts with the mark of UTF-16-LE
_MARKS = {rb"\xff\xfe\0\0|\0\0\xfe\xff": "utf-32", rb"\xff\xfe|\xfe\xff": "utf-16"}
# what people give by mistake, by its first bytes
_FOREIGN = {
    rb"\xd0\xcf\x11\xe0": "an Excel 97-2003 workbook",
    rb"(?i)\s*<(!doctype )?html": "a web page",
    rb"%PDF": "a PDF document",
    rb"RDX|RDA|X\n\x00|\x89HDF|\x93NUMPY|\$FL2|SQLite format 3|FEA1": "a file of another program",
}


@dataclass(frozen=True)
class Source:
    """The content of a table, what messages call it, and the name that tells its format."""

    name: str
    filename: str
    data: bytes  # all of it, so that every later check sees the same and pipes work like files

    def error(self, problem: str, remedy: str, **place: Any) -> TableError:
        return TableError(self.name, problem, remedy, **place)


def open_source(source: TableSource) -> Source:
    """Read and unpack a path, standard input (``-``) or an open stream; refuse an empty one."""
    name, stream = getattr(source, "name", None), cast("Any", source)
    is_path = isinstance(source, str | os.PathLike) and source != "-"
    if is_path:
        name = os.fspath(stream)
        refuse_folder(name)
    elif source == "-":  # which may be closed
        name, stream = "standard input", getattr(sys.stdin, "buffer", sys.stdin) or io.BytesIO()
    elif not hasattr(source, "read"):
        raise TypeError(f"source must be a path, '-' or an open file, got {type(source).__name__}")
    name = name if isinstance(name, str) else "the stream"  # a descriptor is called by a number
    try:
        data = Path(name).read_bytes() if is_path else stream.read()
        if isinstance(data, str):  # decoded already; surrogates are bytes that could not be
            data = data.encode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:  # of a NUL character in a path, of bytes in a text
        why, remedy = getattr(error, "strerror", None) or reason(error), "Check the path."
        folder, filename = os.path.split(name)
        with suppress(OSError, ValueError):
            remedy = did_you_mean(filename, os.listdir(folder or "."), most=3).strip() or remedy
        if not is_path:
            remedy = "Open it again, in binary mode, or name a file."
        raise TableError(name, f"It cannot be read: {why}.", remedy) from error
    content = _unpack(Source(name, name, data))
    if not content.data or content.data.isspace():
        raise content.error(*EMPTY)
    return content


def refuse_folder(path: str) -> None:
    if not path or os.path.isdir(path):
        problem = "This is a folder, not a table." if path else "The name of the table is empty."
        raise TableError(path or quote(path), problem, "Name a file.")


@contextmanager
def blaming(source: Source, what: str) -> Iterator[None]:
    """Whatever a library makes of it, the file is at fault."""
    try:
        yield
    except (TableError, ImportError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of calamine is no Exception
        why = "it ends too early" if isinstance(error, EOFError) else reason(error)
        remedy = "Copy or export it again, or give it the suffix of the format that it is in."
        raise source.error(f"{what}: {why}.", remedy) from error


def check_size(total: int, source: Source) -> None:
    if total > max(SAFE_BYTES, MAX_RATIO * len(source.data)):
        remedy = "If you trust it, unpack it first, or save it again as CSV, and name that file."
        raise source.error(f"It unpacks to more than {MAX_RATIO} times its size.", remedy)


def _unpack(source: Source) -> Source:
    if source.data.startswith(b"PK\x03\x04"):
        return _unzip(source)
    for name, (suffix, magic, opener) in _PACKINGS.items():
        if re.match(magic, source.data):
            with blaming(source, f"The {name} data is damaged"):
                data = _read_all(opener(io.BytesIO(source.data)), source)
            return replace(source, data=data, filename=source.filename.removesuffix(suffix))
    return source


def _read_all(file: Any, source: Source) -> bytes:
    data = bytearray()
    while chunk := file.read(_CHUNK):
        data += chunk
        check_size(len(data), source)
    return bytes(data)


def _unzip(source: Source) -> Source:
    """Unpack the one table of a zip file; a workbook is checked and left as it is."""
    with blaming(source, "The zip data is damaged"):
        archive = zipfile.ZipFile(io.BytesIO(source.data))
        names = archive.namelist()
        tables = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
        if "xl/workbook.xml" in names:
            total = 0
            for part in set(tables):
                # read rather than believed: what the directory says of a size need not be true
                data = _read_all(archive.open(part), source)
                total += len(data)
                check_size(total, source)
                found = _CELL.findall(data) if part.startswith("xl/worksheets/") else []
                depth = max((int(row) for _, row in found), default=0)
                letters = {letters for letters, _ in found}  # as digits of base 26
                widths = [reduce(lambda n, c: 26 * n + c - 64, name, 0) for name in letters]
                if max(widths, default=0) * depth > _MAX_CELLS:  # more than fits in memory
                    size = f"A sheet reaches over {depth:,} rows and {max(widths):,} columns."
                    raise source.error(size, "Delete cells far from the table, or save it as CSV.")
            return source
        if "[Content_Types].xml" in names or "mimetype" in names:
            remedy = "Save the sheet as .xlsx or 'CSV UTF-8' and use that file."
            raise source.error("This is a document of an office program, not a table.", remedy)
        if len(tables) != 1:
            problem = f"The zip holds {len(tables)} files: {quote_all(tables) or 'none'}."
            raise source.error(problem, "Unpack it and name the table you want.")
        data = _read_all(archive.open(tables[0]), source)
    return replace(source, data=data, filename=tables[0])


def decode(source: Source, encoding: str | None) -> str:
    """Return the content as text without NUL, or say which byte is in the way."""
    data, line, known = source.data, None, encoding
    if encoding is None:
        for magic, what in _FOREIGN.items():
            if re.match(magic, data):
                remedy = "Save or export the table itself as .xlsx, Parquet or 'CSV UTF-8'."
                raise source.error(f"This is {what}, not a table in text form.", remedy)
        known = next((name for mark, name in _MARKS.items() if re.match(mark, data)), None)
    remedy = f"Save the file as UTF-8, or name its encoding with {option('encoding')}."
    try:
        # NUL says more than the first byte that is not UTF-8
        text = "\0" if not known and b"\0" in data else data.decode(known or "utf-8")
        if "\0" not in text:
            return text.removeprefix("\ufeff")
        problem = f"This is binary data, not text: byte 0x00 at offset {data.find(0):,}."
        remedy = "Use CSV, .xlsx, JSON, Parquet, Feather or FCS; if it is text in UTF-16, give"
        remedy += f" utf-16-le or utf-16-be to {option('encoding')}."
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        valid = f"is not valid {error.encoding.upper()}"
        problem = f"Byte 0x{byte:02X} at offset {error.start:,} {valid}."
        western = bytes([byte]).decode("cp1252", "replace")
        if error.encoding == "utf-8" and byte >= 0x80 and western.isprintable():
            meant = f"if this is {western!r}, give cp1252 to {option('encoding')}"
            remedy = f"Save it as UTF-8; {meant}."
    except (LookupError, UnicodeError) as error:
        problem = f"It cannot be decoded as {quote(encoding)}: {reason(error)}."
        remedy = f"Give {option('encoding')} a name such as utf-8, cp1252 or utf-16."
    raise source.error(problem, remedy, line=line)
