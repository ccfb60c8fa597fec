"""What a command says, and to whom: a person at a terminal, a file, or a program."""

import errno
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hesitant._words import Table, printable, short
from hesitant.cli._options import output
from hesitant.tables import TableError

_OPTION = {"random_state": "seed", "n_jobs": "jobs", "n_init": "starts", "n_boot": "bootstrap"}
_OPTION |= {"data_dir": "data", "n_components": "pca"}
_PARAMETER = re.compile(
    rf"\b(family|covariance|components|mechanism|alpha|{'|'.join(_OPTION)})=('[^']*'|\w+(?:\.\d+)?)"
)
# What is said in both languages, and what has no option: the prior that bounds the variances.
_REWORDED = (
    (r" \(\w+=\w* in Python\)", ""),
    (r"\b(\w+)(?:=\w+)? \(--\1\)", r"--\1"),
    (r"\bnamed by data_dir\b", "named by --data"),
    (r", (−1 for all cores), or None\b", r", or \1"),
    (r", or one for each of the \d+ classes, a dict of them by class\b", ""),
    (r"\breg_covar\b", "a weak prior"),
    (r"\bRaise max_iter, or .* does not matter\.", "Give another --family or --covariance."),
    (r": the entries of means_ and covariances_ .* scales_\.", "."),
)


@dataclass(frozen=True)
class Terminal:
    """Standard output for answers, standard error for progress, notes and mistakes.

    Colour and a spinner appear only where there is a terminal to show them.
    """

    json: Annotated[bool, output("Print one JSON document.", False, "--json")] = False
    quiet: Annotated[bool, output("Print mistakes only.", False, "--quiet", "-q")] = False

    def answer(self, document: dict[str, Any]) -> None:
        if self.json:
            # ASCII, so that a terminal or pipe of any encoding can carry it
            print(json.dumps(document, indent=2, allow_nan=False))

    def heading(self, text: str) -> None:
        self.say(f"\n{text}", bold=True)

    def say(self, text: str, *, wrap: bool = True, bold: bool = False) -> None:
        if not (self.json or self.quiet):
            _say(text, sys.stdout, wrap=wrap, bold=bold or None)

    def path(self, what: str, path: str) -> None:
        self.say(f"  {what:<12} {printable(path)}", wrap=False)

    def table(self, title: str, records: Iterable[dict[str, Any]], *columns: str) -> None:
        rows = [[record.get(name) for name in columns] for record in records]
        cells = [[short(v, 60) if isinstance(v, str) else v for v in row] for row in rows]
        header = [name.replace("_", " ") for name in columns]
        self.heading(title)
        self.say(Table(header, cells, rest="what is written").as_text(), wrap=False)

    def note(self, *texts: str) -> None:
        for text in () if self.json or self.quiet else texts:
            _say(f"Note: {text}", sys.stderr, fg="yellow")

    def fail(self, message: str, document: dict[str, Any] | None = None) -> None:
        """Print a mistake: for a person to standard error, for a program to standard output."""
        if self.json:
            print(json.dumps({"error": document or {"problem": message}}, indent=2))
        else:
            _say(f"Error: {message}", sys.stderr, fg="red")

    def stage(self, what: str) -> AbstractContextManager[Any]:
        if self.json or self.quiet or not _is_terminal(sys.stderr):
            return nullcontext()
        from rich.console import Console

        return Console(file=sys.stderr).status(f"{what} …", spinner="dots")


def _is_terminal(stream: Any) -> bool:
    return os.environ.get("TERM") != "dumb" and bool(getattr(stream, "isatty", bool)())


def _say(text: str, stream: Any, *, wrap: bool = True, **style: Any) -> None:
    text = printable(text, keep="\n")
    if wrap:
        width = shutil.get_terminal_size().columns if _is_terminal(stream) else 88
        how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        text = "\n".join(textwrap.fill(line, max(width, 20), **how) for line in text.split("\n"))
    typer.secho(text, file=stream, color=_is_terminal(stream), **style)


def in_options(text: str) -> str:
    """Return a message of the library's in the words of the command line.

    >>> in_options("Replace it (force=True in Python), or use mechanism=None.")
    'Replace it, or use --mechanism none.'
    """
    for words, own in _REWORDED:
        text = re.sub(words, own, text)

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        shown = "none" if value == "None" else value.strip("'")
        return f"--{_OPTION.get(name, name)} {shown}"

    return _PARAMETER.sub(option, text)


@contextmanager
def reporting(
    terminal: Terminal, *also: type[Exception], stopped: str = "no file was left half-written"
) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message and exit code 1.

    Words of exceptions ``also`` are the message; ``stopped`` is said of the files after Ctrl-C.
    """
    known: Any = (*also, ValueError, TypeError, ImportError, MemoryError, OSError)
    try:
        yield
    except KeyboardInterrupt as error:
        terminal.fail(f"stopped; {stopped}.")
        raise typer.Exit(1) from error
    except known as error:
        broken = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EPIPE)
        if broken and getattr(error, "filename", None) is None:
            raise  # of standard output, where nothing more can be said
        document, words = _told(error)
        terminal.fail(words, document)
        raise typer.Exit(1) from error


def _told(error: Exception) -> tuple[dict[str, Any], str]:
    """Return what went wrong as data (what, what to do, and where), and as a sentence."""
    if isinstance(error, TableError):
        source, problem, remedy, *place = error.args
        own = TableError(source, in_options(problem), in_options(remedy), *place)
        return vars(own), str(own)
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
