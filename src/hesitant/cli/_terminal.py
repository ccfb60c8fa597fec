"""What a command says, and to whom: a person at a terminal, a file, or a program."""

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hesitant._words import printable


class Terminal:
    """Standard output for answers, standard error for progress, notes and mistakes.

    Colour, boxes and a spinner appear only where there is a terminal to show them; a file or a
    pipe gets plain text.

    Parameters
    ----------
    json : bool
        Whether a program is listening: the one answer is a JSON document.
    quiet : bool
        Whether to print mistakes only.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self._silent = json or quiet

    # -- answers ----------------------------------------------------------------------------

    def answer(self, document: dict[str, Any]) -> None:
        """Print the document for a program; do nothing for a person."""
        if self.json:
            # ASCII, so that a terminal or pipe of any encoding can carry it
            print(json.dumps(document, indent=2, allow_nan=False))

    def heading(self, text: str) -> None:
        """Print a heading."""
        if not self._silent:
            self._print(f"\n[bold]{_escape(text)}[/bold]" if _is_rich(sys.stdout) else f"\n{text}")

    def say(self, text: str) -> None:
        """Print a paragraph, wrapped."""
        if self._silent:
            return
        if _is_rich(sys.stdout):
            self._print(_escape(text))
        else:
            self._print(_wrap(text))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of ready-made cells; the first column is words, the others numbers."""
        if self._silent:
            return
        cells = [[_one_line(c) for c in row] for row in rows]
        if _is_rich(sys.stdout):
            self._rich_table(header, cells)
        else:
            self._print(_plain_table([list(header), *cells]))

    def path(self, what: str, path: os.PathLike[str] | str) -> None:
        """Print where something was written."""
        if self._silent:
            return
        shown = _one_line(str(path), limit=4000)
        self._print(
            f"  {what:<12} {_escape(shown) if _is_rich(sys.stdout) else shown}", wrap=False
        )

    def _rich_table(self, header: Sequence[str], rows: list[list[str]]) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
        for k, name in enumerate(header):
            table.add_column(Text(name), justify="left" if k == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        _console(sys.stdout).print(table)

    def _print(self, text: str, *, wrap: bool = True) -> None:
        if _is_rich(sys.stdout):
            _console(sys.stdout).print(text, highlight=False, soft_wrap=not wrap)
        else:
            print(_encodable(text, sys.stdout))

    # -- beside the answers -------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Print something a careful user should know, to standard error."""
        if not self._silent:
            _print_error(f"Note: {text}", style="yellow")

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Show that work is going on, where somebody may be watching."""
        if self._silent or not _is_rich(sys.stderr):
            yield
            return
        with _console(sys.stderr).status(f"{what} …", spinner="dots"):
            yield

    def fail(self, message: str, document: dict[str, Any] | None = None) -> None:
        """Print a mistake: for a person to standard error, for a program to standard output."""
        if self.json:
            print(json.dumps({"error": document or {"problem": message}}, indent=2))
        else:
            _print_error(f"Error: {message}", style="red")


def _print_error(text: str, style: str) -> None:
    head, _, rest = text.partition(": ")
    if _is_rich(sys.stderr):
        _console(sys.stderr).print(
            f"[bold {style}]{head}:[/bold {style}] {_escape(rest)}", highlight=False
        )
    else:
        print(_encodable(_wrap(text), sys.stderr), file=sys.stderr)


def _is_rich(stream: Any) -> bool:
    plain = os.environ.get("TERM") == "dumb"
    return not plain and bool(getattr(stream, "isatty", bool)())


def _console(stream: Any) -> Any:
    from rich.console import Console

    return Console(file=stream)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(_encodable(text, sys.stdout))


def _wrap(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        textwrap.fill(line, 88, break_long_words=False, break_on_hyphens=False) for line in lines
    )


_PLAINER = str.maketrans({"−": "-", "–": "-", "…": "...", "→": "->"})


def _encodable(text: str, stream: Any) -> str:
    """Replace what a terminal of another encoding, or of any, cannot show."""
    text = printable(text, keep="\n")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAINER).encode(encoding, "replace").decode(encoding)
    return text


def _one_line(text: str, limit: int = 60) -> str:
    """Return a name of any length and content as a cell of a table can hold it."""
    text = printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plain_table(cells: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:]])
