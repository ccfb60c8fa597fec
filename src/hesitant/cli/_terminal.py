"""What a command says, and to whom: a person at a terminal, a file, or a program."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from hesitant._words import printable

_PLAINER = str.maketrans({"−": "-", "–": "-", "…": "...", "→": "->"})


class Terminal:
    """Standard output for answers, standard error for progress, notes and mistakes.

    Colour and a spinner appear only where there is a terminal to show them. With ``json`` a
    program is listening, and the one answer is a JSON document; ``quiet`` prints mistakes only.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self._silent = json or quiet

    def answer(self, document: dict[str, Any]) -> None:
        """Print the document for a program; do nothing for a person."""
        if self.json:
            # ASCII, so that a terminal or pipe of any encoding can carry it
            print(json.dumps(document, indent=2, allow_nan=False))

    def heading(self, text: str) -> None:
        """Print a heading."""
        self.say(f"\n{text}", bold=True)

    def say(self, text: str, *, wrap: bool = True, bold: bool = False) -> None:
        """Print a paragraph, wrapped unless told otherwise."""
        if not self._silent:
            _say(text, sys.stdout, wrap=wrap, bold=bold or None)

    def path(self, what: str, path: os.PathLike[str] | str) -> None:
        """Print where something was written, in one line."""
        self.say(f"  {what:<12} {printable(str(path))}", wrap=False)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of ready-made cells; the first column is words, the others numbers."""
        cells = [list(header), *([_short(cell) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for row in cells:
            first, *others = zip(row, widths, strict=True)
            line = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
            lines.append("  ".join(line).rstrip())
        lines.insert(1, "-" * max(map(len, lines)))
        self.say("\n".join(lines), wrap=False)

    def note(self, text: str) -> None:
        """Print something a careful user should know, to standard error."""
        if not self._silent:
            _say(f"Note: {text}", sys.stderr, fg="yellow")

    def fail(self, message: str, document: dict[str, Any] | None = None) -> None:
        """Print a mistake: for a person to standard error, for a program to standard output."""
        if self.json:
            print(json.dumps({"error": document or {"problem": message}}, indent=2))
        else:
            _say(f"Error: {message}", sys.stderr, fg="red")

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Show that work is going on, where somebody may be watching."""
        if self._silent or not _is_terminal(sys.stderr):
            yield
            return
        from rich.console import Console

        with Console(file=sys.stderr).status(f"{what} …", spinner="dots"):
            yield


def _is_terminal(stream: Any) -> bool:
    return os.environ.get("TERM") != "dumb" and bool(getattr(stream, "isatty", bool)())


def _say(text: str, stream: Any, *, wrap: bool = True, **style: Any) -> None:
    text = _shown(text, stream)
    if wrap:
        width = shutil.get_terminal_size().columns if _is_terminal(stream) else 88
        how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        text = "\n".join(textwrap.fill(line, max(width, 20), **how) for line in text.split("\n"))
    typer.secho(text, file=stream, color=_is_terminal(stream), **style)


def _shown(text: str, stream: Any) -> str:
    """Replace what a terminal of another encoding, or of any, cannot show."""
    text = printable(text, keep="\n")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAINER).encode(encoding, "replace").decode(encoding)
    return text


def _short(text: str, limit: int = 60) -> str:
    """Return a name of any length and content as a cell of a table can hold it."""
    text = printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
