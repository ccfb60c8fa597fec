"""From what the user named (a path, ``-`` or an open stream) to bytes."""

import os
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias

from .errors import TableError, close_names, quote, quote_all, show_path
from .shape import TOO_LARGE

__all__ = ["Source", "TableSource", "load", "refuse_folder"]

TableSource: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]


@dataclass(frozen=True)
class Source:
    """The content of a table and what to call it.

    Attributes
    ----------
    name : str
        What messages call it.
    filename : str
        The name whose suffixes tell the format; empty for a stream.
    data : bytes
        The whole content. Reading it once means that every later check sees the same bytes,
        and that pipes work like files.
    """

    name: str
    filename: str
    data: bytes


def load(source: TableSource) -> Source:
    """Read a path, standard input (``-``) or an open stream to its end."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return _load_stdin() if path == "-" else _load_path(path)
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
        raise TableError(
            name, f"It cannot be read: {error}.", "Open it anew, in binary mode, or name a file."
        ) from error


def refuse_folder(path: str) -> None:
    """Refuse a path that is no file's: a folder, or nothing at all."""
    if not path:
        raise TableError(quote(path), "The name of the table is empty.", "Name a file.")
    if os.path.isdir(path):
        raise TableError(
            show_path(path),
            "This is a folder, not a table.",
            f"Name a file in it{_tables_in(path)}.",
        )


def _load_path(path: str) -> Source:
    name = show_path(path)
    refuse_folder(path)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise TableError(name, "There is no such file.", _what_is_there(path)) from error
    except OSError as error:
        if isinstance(error, PermissionError):
            raise TableError(
                name,
                "You have no permission to read this file.",
                "Ask its owner for access, or copy it to a folder of your own.",
            ) from error
        raise TableError(
            name, f"It cannot be read: {error.strerror}.", "Check the path and the disk."
        ) from error
    except MemoryError as error:
        raise TableError(name, *TOO_LARGE) from error
    except ValueError as error:  # a NUL character in the path
        raise TableError(name, "No file can have this name.", "Check the path.") from error
    return Source(name, os.path.basename(path), data)


def _what_is_there(path: str) -> str:
    folder, filename = os.path.split(path)
    if folder and not os.path.isdir(folder):
        return f"The folder {show_path(folder)} does not exist either: check the path."
    close = close_names(filename, _files_in(folder or "."))
    if close:
        return f"Did you mean {quote_all(close)}?"
    return f"Check the name{_tables_in(folder or '.')}."


def _tables_in(folder: str) -> str:
    known = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".fcs", ".gz")
    tables = sorted(name for name in _files_in(folder) if name.lower().endswith(known))
    return f"; the folder holds {quote_all(tables)}" if tables else ""


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:  # a suggestion is not worth listing a huge folder
            return [entry.name for entry in islice(entries, 10_000) if entry.is_file()]
    except OSError:
        return []
