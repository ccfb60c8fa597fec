"""From the bytes of a text table to UTF-8, or an error that says which byte is in the way."""

import codecs

from .errors import TableError, option, quote
from .sources import Source

__all__ = ["to_utf8"]

# the four-byte marks first: the mark of UTF-32-LE starts with the mark of UTF-16-LE
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# what people give by mistake, by its first bytes: (what it is, how to get a table out of it)
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an Excel 97-2003 workbook", "Save the sheet as 'CSV UTF-8'."),
    (b"%PDF", "a PDF document", "Export the table as CSV from where it was made."),
    (b"\x89HDF", "an HDF5 file", "Export the table as CSV or Parquet."),
    (b"RDX", "an R data file", "Write it from R with write.csv(x, row.names = FALSE)."),
    (b"RDA", "an R data file", "Write it from R with write.csv(x, row.names = FALSE)."),
    (b"X\n\x00", "an R data file", "Write it from R with write.csv(x, row.names = FALSE)."),
    (b"\x93NUMPY", "a NumPy array", "Write it with column names as CSV or Parquet."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
    (b"$FL2", "an SPSS file", "Export the table as CSV from SPSS."),
    (b"FEA1", "a Feather file of version 1", "Write it again with a current library."),
)
_CHUNK = 1 << 24


def to_utf8(source: Source, encoding: str | None) -> bytes:
    """Return the content as valid UTF-8 without a byte-order mark and without NUL.

    Parameters
    ----------
    source : Source
        The content of a text table.
    encoding : str or None
        The encoding, or None for what the byte-order mark says, else UTF-8.
    """
    data = source.data
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
        if encoding == "utf-8":
            _refuse_binary(source)
    try:
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
            _check_utf8(data)
            data = data.removeprefix(codecs.BOM_UTF8)
        else:
            data = data.decode(encoding).encode("utf-8")
    except LookupError as error:
        raise TableError(
            source.name,
            f"There is no text encoding called {quote(encoding)}.",
            f"Give {option('encoding')} a name such as utf-8, cp1252 or utf-16.",
        ) from error
    except UnicodeDecodeError as error:
        raise _wrong_encoding(source, error) from error
    except (UnicodeError, ValueError) as error:
        raise TableError(
            source.name, f"It cannot be decoded as {quote(encoding)}: {error}.", _RESAVE
        ) from error
    if b"\0" in data:
        raise _binary(source, data.index(b"\0"))
    return data


_RESAVE = f"Save the file as UTF-8, or name its encoding with {option('encoding')}."


def _check_utf8(data: bytes) -> None:
    """Decode in pieces and keep none, so that checking a large file takes no memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        carried = len(decoder.getstate()[0])
        last = start + _CHUNK >= len(data)
        try:
            decoder.decode(data[start : start + _CHUNK], final=last)
        except UnicodeDecodeError as error:
            offset = start - carried
            raise UnicodeDecodeError(
                "utf-8", data, offset + error.start, offset + error.end, error.reason
            ) from None


def _wrong_encoding(source: Source, error: UnicodeDecodeError) -> TableError:
    byte = source.data[error.start]
    problem = f"Byte 0x{byte:02X} at offset {error.start:,} is not valid {error.encoding.upper()}."
    remedy = _RESAVE
    western = bytes([byte]).decode("cp1252", "replace")
    if error.encoding == "utf-8" and byte >= 0x80 and western.isprintable():
        remedy = (
            "Save the file as UTF-8; or, if this character should read "
            f"{quote(western)}, it is Windows text: give cp1252 to {option('encoding')}."
        )
    line = source.data.count(b"\n", 0, error.start) + 1
    return TableError(source.name, problem, remedy, line=line)


def _refuse_binary(source: Source) -> None:
    for magic, what, remedy in _FOREIGN:
        if source.data.startswith(magic):
            raise TableError(source.name, f"This is {what}, not a table in text form.", remedy)
    if source.data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise TableError(
            source.name,
            "This is a web page, not a table.",
            "Download the file itself rather than the page that shows it.",
        )
    zero = source.data.find(b"\0")
    if zero >= 0:
        raise _binary(source, zero)


def _binary(source: Source, offset: int) -> TableError:
    start = source.data[:512]
    for parity, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        # ASCII text in UTF-16 has a zero in every second byte and nowhere else
        if len(start) > 3 and not any(start[parity::2]) and all(start[1 - parity :: 2]):
            return TableError(
                source.name,
                "It looks like UTF-16 text without a byte-order mark.",
                f"Save it as UTF-8, or give {encoding} to {option('encoding')}.",
            )
    return TableError(
        source.name,
        f"This is binary data, not text: byte 0x00 at offset {offset:,}.",
        "Use CSV, TSV, Parquet, Feather or FCS; if it is one of these, copy it again.",
    )
