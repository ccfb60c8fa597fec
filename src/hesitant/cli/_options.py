"""The options that commands share, each said once."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from hesitant.cli._config import read_config

__all__ = [
    "Alpha",
    "Bootstrap",
    "Config",
    "Covariance",
    "Decimal",
    "Delimiter",
    "Drop",
    "Encoding",
    "Family",
    "Features",
    "Force",
    "Format",
    "Id",
    "Jobs",
    "Json",
    "Label",
    "Mechanism",
    "Missing",
    "OnMissing",
    "Pca",
    "Quiet",
    "Reviewed",
    "Seed",
    "Standardise",
    "Starts",
    "Table",
    "Weight",
    "one_of",
    "within",
]

_DATA, _MODEL, _OUTPUT = "The table", "The model", "Output"


def one_of(*names: str) -> dict[str, Any]:
    """Return what makes an option accept these names only, and complete them in the shell."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise typer.BadParameter(f"{value[:60]!r} is not one of {', '.join(names)}.")
        return value

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return {"callback": check, "autocompletion": complete, "metavar": "|".join(names)}


def within(low: float, high: float | None = None) -> dict[str, Any]:
    """Return what makes an option accept numbers of a range only, and repeat any other."""
    remedy = f"give {low} or more" if high is None else f"give a number from {low} to {high}"

    def check(value: float | None) -> float | None:
        # not the other way round: "not a number" is in no range
        if value is not None and not low <= value <= (math.inf if high is None else high):
            raise typer.BadParameter(f"{value} is out of range: {remedy}.")
        return value

    return {"callback": check}


def _check_jobs(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter(
            "0 cores can do nothing: give 1 or more, -1 for all, or leave the option out."
        )
    return value


# -- the table ----------------------------------------------------------------------------------

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, .xlsx, JSON, JSONL, Parquet, Feather or FCS, also packed (.gz); - for "
        "standard input.",
        show_default=False,
    ),
]
Label = Annotated[
    str,
    typer.Option(
        help="Column of labels, blank where the expert gave none.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column to use as a feature; repeat, or separate by commas.",
        rich_help_panel=_DATA,
        show_default="every numeric column",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column to leave out; repeat, or separate by commas.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that names the rows.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Reviewed = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of yes and no: whether an expert saw the row. A blank that nobody saw says "
        "nothing about difficulty.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of row weights.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="Label that means 'not labelled', such as ungated; repeat for several.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
OnMissing = Annotated[
    str,
    typer.Option(
        help="What to do with rows that lack a feature.",
        rich_help_panel=_DATA,
        **one_of("error", "drop"),
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the table, where its content and name do not tell.",
        rich_help_panel=_DATA,
        show_default=False,
        **one_of("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs"),
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of a text table, such as cp1252.",
        rich_help_panel=_DATA,
        show_default="UTF-8",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates the cells of a text table.",
        rich_help_panel=_DATA,
        show_default="found from the content",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal mark of a text table.",
        rich_help_panel=_DATA,
        show_default="found from the content",
        **one_of(".", ","),
    ),
]

# -- the model ----------------------------------------------------------------------------------

Family = Annotated[
    str,
    typer.Option(
        help="Shape of the classes.",
        rich_help_panel=_MODEL,
        **one_of("gaussian", "t", "skew_t", "skew_normal"),
    ),
]
Covariance = Annotated[
    str,
    typer.Option(
        help="What the classes' scale matrices look like.",
        rich_help_panel=_MODEL,
        **one_of("full", "tied", "diag", "spherical"),
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="How the chance of a label depends on difficulty; none ignores the blanks.",
        rich_help_panel=_MODEL,
        **one_of("entropy", "mixed", "none"),
    ),
]
Alpha = Annotated[
    float,
    typer.Option(
        help="Weight of labelled against blank rows, from 0 to 1, with --mechanism none only.",
        rich_help_panel=_MODEL,
        **within(0, 1),
    ),
]
Standardise = Annotated[
    bool,
    typer.Option(
        "--standardise",
        help="Divide every feature by its standard deviation.",
        rich_help_panel=_MODEL,
    ),
]
Pca = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        help="Keep the K leading principal components of the features.",
        rich_help_panel=_MODEL,
        show_default=False,
        **within(1),
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of everything random.", rich_help_panel=_MODEL, **within(0, 2**32 - 1)
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="Cores to use; -1 is all, -2 all but one.",
        rich_help_panel=_MODEL,
        show_default="all",
        callback=_check_jobs,
    ),
]
Starts = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Starts of the fit, of which the best is kept; the first is taken from the labels.",
        rich_help_panel=_MODEL,
        **within(1),
    ),
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Test the blanks by N bootstrap replicates too, each with fits of its own; 199 or "
        "more for a useful p-value.",
        rich_help_panel=_MODEL,
        show_default=False,
        **within(20),  # with fewer, no p-value can be below 0.05
    ),
]

# -- output -------------------------------------------------------------------------------------

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace existing files.", rich_help_panel=_OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document.", rich_help_panel=_OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print mistakes only.", rich_help_panel=_OUTPUT),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Read options from a TOML file, under these same names.",
        callback=read_config,
        is_eager=True,
        show_default=False,
    ),
]
