"""What a command says, and to whom: a person at a terminal, a file, or a program."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hesitant._words import printable, short
from hesitant.cli._options import output

_PLAINER = str.maketrans({"−": "-", "–": "-", "…": "...", "→": "->"})


@dataclass(frozen=True)
class Terminal:
    """Standard output for answers, standard error for progress, notes and mistakes.

    Colour and a spinner appear only where there is a terminal to show them. With ``as_json`` a
    program is listening, and the one answer is a JSON document; ``quiet`` prints mistakes only.
    """

    as_json: Annotated[bool, output("json", False, "--json")] = False
    quiet: Annotated[bool, output("quiet", False, "--quiet", "-q")] = False

    def answer(self, document: dict[str, Any]) -> None:
        """Print the document for a program; do nothing for a person."""
        if self.as_json:
            # ASCII, so that a terminal or pipe of any encoding can carry it
            print(json.dumps(document, indent=2, allow_nan=False))

    def heading(self, text: str) -> None:
        self.say(f"\n{text}", bold=True)

    def say(self, text: str, *, wrap: bool = True, bold: bool = False) -> None:
        if not (self.as_json or self.quiet):
            _say(text, sys.stdout, wrap=wrap, bold=bold or None)

    def path(self, what: str, path: str) -> None:
        """Print where something was written, in one line."""
        self.say(f"  {what:<12} {printable(path)}", wrap=False)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of ready-made cells; the first column is words, the others numbers."""
        cells = [header, *([short(cell, 60) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        pad = [f"{{:{'>' if k else '<'}{width}}}" for k, width in enumerate(widths)]
        lines = ["  ".join(pad).format(*row).rstrip() for row in cells]
        lines.insert(1, "-" * max(map(len, lines)))
        self.say("\n".join(lines), wrap=False)

    def note(self, text: str) -> None:
        """Print something a careful user should know, to standard error."""
        if not (self.as_json or self.quiet):
            _say(f"Note: {text}", sys.stderr, fg="yellow")

    def fail(self, message: str, document: dict[str, Any] | None = None) -> None:
        """Print a mistake: for a person to standard error, for a program to standard output."""
        if self.as_json:
            print(json.dumps({"error": document or {"problem": message}}, indent=2))
        else:
            _say(f"Error: {message}", sys.stderr, fg="red")

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Show that work is going on, where somebody may be watching."""
        if self.as_json or self.quiet or not _is_terminal(sys.stderr):
            yield
            return
        from rich.console import Console

        with Console(file=sys.stderr).status(f"{what} …", spinner="dots"):
            yield


def _is_terminal(stream: Any) -> bool:
    return os.environ.get("TERM") != "dumb" and bool(getattr(stream, "isatty", bool)())


def _say(text: str, stream: Any, *, wrap: bool = True, **style: Any) -> None:
    text = printable(text, keep="\n")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # show what the terminal cannot as something that it can
        text = text.translate(_PLAINER).encode(encoding, "replace").decode(encoding)
    if wrap:
        width = shutil.get_terminal_size().columns if _is_terminal(stream) else 88
        how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        text = "\n".join(textwrap.fill(line, max(width, 20), **how) for line in text.split("\n"))
    typer.secho(text, file=stream, color=_is_terminal(stream), **style)
