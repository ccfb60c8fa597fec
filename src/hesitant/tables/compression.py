"""Unpacking gzip, bzip2, xz and zip, recognised by their first bytes."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import IO, NamedTuple, cast

from .errors import TableError, quote_all
from .sources import Source

__all__ = ["unpack"]

# A table that shrinks this well and is this large is a decompression bomb, not a table.
MAX_RATIO = 400
SAFE_BYTES = 1 << 30
_CHUNK = 1 << 24


class _Packing(NamedTuple):
    name: str
    suffix: str
    magic: re.Pattern[bytes]
    open: Callable[[IO[bytes]], IO[bytes]]


def _open_gzip(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file))


def _open_bzip2(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", bz2.BZ2File(file))


def _open_xz(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", lzma.LZMAFile(file))


_PACKINGS = (
    _Packing("gzip", ".gz", re.compile(rb"\x1f\x8b\x08"), _open_gzip),
    # with the number that follows, so that a CSV may start with the letters BZh
    _Packing("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _open_bzip2),
    _Packing("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), _open_xz),
)
_ZIP_MAGIC = b"PK\x03\x04"
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def unpack(source: Source) -> Source:
    """Return the source with its content unpacked and the packing's suffix removed."""
    path = PurePath(source.filename)
    if source.data.startswith(_ZIP_MAGIC):
        return _unzip(source)
    for packing in _PACKINGS:
        named = path.suffix.lower() == packing.suffix
        if packing.magic.match(source.data):
            data = _read_all(packing.open(io.BytesIO(source.data)), source, packing.name)
            return replace(source, data=data, filename=path.stem if named else source.filename)
        if named:
            raise TableError(
                source.name,
                f"The name ends in {packing.suffix}, but the content is not {packing.name}.",
                "Rename the file if it is not packed, or fetch it again.",
            )
    return source


def _read_all(file: IO[bytes], source: Source, packing: str) -> bytes:
    allowed = max(SAFE_BYTES, MAX_RATIO * len(source.data))
    chunks, total = [], 0
    try:
        while chunk := file.read(_CHUNK):
            chunks.append(chunk)
            total += len(chunk)
            if total > allowed:
                raise TableError(
                    source.name,
                    f"It unpacks to more than {MAX_RATIO} times its size.",
                    "If you trust the file, unpack it first and name the result.",
                )
    except _BROKEN as error:
        reason = "it ends too early" if isinstance(error, EOFError) else str(error)
        raise TableError(
            source.name,
            f"The {packing} data is damaged: {reason}.",
            "Copy or download the file again.",
        ) from error
    return b"".join(chunks)


def _unzip(source: Source) -> Source:
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
        names = archive.namelist()
    except _BROKEN as error:
        raise TableError(
            source.name, f"The zip data is damaged: {error}.", "Copy or download the file again."
        ) from error
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise TableError(
            source.name,
            "This is a workbook (Excel or LibreOffice), not a table.",
            "Save the sheet as 'CSV UTF-8' from the spreadsheet program and use that file.",
        )
    tables = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
    if len(tables) != 1:
        raise TableError(
            source.name,
            f"The zip holds {len(tables)} files" + (f": {quote_all(tables)}." if tables else "."),
            "Unpack it and name the table you want.",
        )
    try:
        member = archive.open(tables[0])
    except (*_BROKEN, RuntimeError, NotImplementedError) as error:  # encrypted, rare methods
        raise TableError(
            source.name, f"The zip cannot be opened: {error}.", "Unpack it and name the table."
        ) from error
    with archive, member:
        data = _read_all(member, source, "zip")
    return replace(source, data=data, filename=PurePath(tables[0]).name)
