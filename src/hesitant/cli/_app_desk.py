"""The command that opens the desk."""

from contextlib import suppress
from typing import Annotated

import typer

from hesitant.cli import _options as o
from hesitant.cli._mistakes import reporting
from hesitant.cli._root import app
from hesitant.cli._terminal import Terminal


@app.command(short_help="Answer cases on a local page; the model learns at once.")
def desk(
    table: o.Table,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of labels, blank where nobody said.",
            rich_help_panel="The table",
            show_default="asked on the page",
        ),
    ] = None,
    id: o.Id = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What to look at: text, a link, or an image or text file beside the table.",
            rich_help_panel="The table",
            show_default=False,
        ),
    ] = None,
    features: o.Features = None,
    missing: o.Missing = None,
    reader: Annotated[
        str, typer.Option(metavar="NAME", help="Who answers, where the page does not say.")
    ] = "reader",
    audit: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of cases drawn at random, unmarked, from 0 to 1.",
            show_default="0.1",
            **o.within(0, 1),
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0 is any free one.", **o.within(0, 65535))
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no window.")
    ] = False,
) -> None:
    """Sit down with a table: a case at a time, a class or "can't tell", and the model learns.

    Only this machine can reach the page. Answers go to TABLE.desk.sqlite beside the table, on disk
    before they are acknowledged; the table is never touched.
    """
    from hesitant._optional import need
    from hesitant.cli._data import split_names

    terminal = Terminal()
    with reporting(terminal):
        for module in ("starlette", "uvicorn"):
            need(module, "desk")
        if table == "-":
            raise ValueError("The desk needs a file, which answers can be kept beside: save it.")
        from hesitant.desk import Desk, serve

        named = None if not features else split_names(features, set())
        open_desk = Desk(
            table,
            reader,
            label=label,
            id=id,
            show=show,
            features=named,
            blank=missing,
            audit=audit,
        )
        with suppress(KeyboardInterrupt):
            serve(open_desk, port=port, browser=not no_browser)
        open_desk.close()
        terminal.say(f"The desk is closed. Every answer is in {open_desk.journal.path}.")
