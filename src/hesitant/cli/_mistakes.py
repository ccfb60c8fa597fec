"""Mistakes of a user's, told from failures of ours: the first get a sentence, not a traceback."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from hesitant.cli._terminal import Terminal

_OPTION = {"random_state": "seed", "n_jobs": "jobs", "n_init": "starts", "n_boot": "bootstrap"}
_OPTION |= {"data_dir": "data"}
_PARAMETER = re.compile(
    rf"\b(family|covariance|components|mechanism|alpha|{'|'.join(_OPTION)})=('[^']*'|\w+(?:\.\d+)?)"
)
# What is said in both languages, and what has no option: the prior that bounds the variances.
_REWORDED = (
    (r" \(\w+=\w* in Python\)", ""),
    (r"\b(\w+)(?:=\w+)? \(--\1\)", r"--\1"),
    (r"\bnamed by data_dir\b", "named by --data"),
    (r", ([^,.]*), or raise reg_covar\b", r", or \1"),
    (r",? or raise reg_covar\b", ""),
    (r"\braise reg_covar, ", ""),
    (r"\b(?:the weak prior of )?reg_covar\b", "a weak prior"),
)


def in_options(text: str) -> str:
    """Return a message of the library's in the words of the command line.

    >>> in_options("Use covariance='tied', or mechanism=None.")
    'Use --covariance tied, or --mechanism none.'
    >>> in_options("Replace it with --force (force=True in Python).")
    'Replace it with --force.'
    """
    for words, own in _REWORDED:
        text = re.sub(words, own, text)

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        shown = "none" if value == "None" else value.strip("'")
        return f"--{_OPTION.get(name, name)} {shown}"

    text = _PARAMETER.sub(option, text)
    return re.sub(r"(--\w+ \w+) or '(\w+)'", r"\1 or \2", text)


@contextmanager
def reporting(
    terminal: Terminal, *also: type[Exception], stopped: str = "no file was left half-written"
) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message and exit code 1.

    The environment variable ``HESITANT_TRACEBACK`` brings the traceback back. Words of exceptions
    that are named ``also`` are the message; ``stopped`` is what to say of the files after Ctrl-C.
    """
    known: tuple[type[Exception], ...] = (ValueError, TypeError, ImportError, *also)
    known += (MemoryError, OSError)
    try:
        yield
    except KeyboardInterrupt as error:
        terminal.fail(f"stopped; {stopped}.")
        raise typer.Exit(1) from error
    except known as error:
        broken = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EPIPE)
        if broken and getattr(error, "filename", None) is None:
            raise  # of standard output, where nothing more can be said
        if os.environ.get("HESITANT_TRACEBACK"):
            raise
        document, words = _told(error)
        terminal.fail(words, document)
        raise typer.Exit(1) from error


def _told(error: Exception) -> tuple[dict[str, Any], str]:
    """Return what went wrong as data (what, what to do, and where), and as a sentence."""
    from hesitant.tables import TableError

    if isinstance(error, TableError):
        names = ("source", "problem", "remedy", "row", "line", "column")
        document = {name: getattr(error, name) for name in names}
        document |= {name: in_options(document[name]) for name in ("problem", "remedy")}
        return document, str(TableError(**document))
    # the package's own checks speak to whoever wrote the options: their words are the message
    document = {"problem": in_options(str(error))}
    if isinstance(error, MemoryError):
        document["problem"] = "There is not enough memory for this table."
        document["remedy"] = "Keep the columns you need, or a sample of the rows."
    elif isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        document["problem"] = f"{name}{error.strerror or error}."
        document["remedy"] = "Check the path, your permission and the disk."
    return document, " ".join(document.values())
