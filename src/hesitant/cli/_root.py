"""The root of the command line, which the commands attach themselves to."""

import sys
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Classify partly labelled data, and learn from where labels are missing.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong use.",
    no_args_is_help=True,
    # boxes and colours are for terminals; a pipe or a file gets plain text
    rich_markup_mode="rich" if sys.stderr.isatty() else None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from hesitant import __version__

        print(f"hesitant {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
