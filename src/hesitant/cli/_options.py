"""The options that commands share, each said once, and how a command takes groups of them."""

import inspect
import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from hesitant.cli._config import read_config

DATA, MODEL, OUTPUT = "The table", "The model", "Output"
FAMILIES = ("gaussian", "t", "skew_t", "skew_normal")
COVARIANCES = ("full", "tied", "diag", "spherical", "shrunk")
MECHANISMS = ("entropy", "class", "entropy+class", "mixed", "none")


def option(panel: str, help: str, *names: str, default: Any = False, **more: Any) -> Any:
    """Return the declaration of an option; ``default`` is what the help says of it."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=default, **more)


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of dataclasses as options, handed over as one object each."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for name, given in inspect.signature(command, eval_str=True).parameters.items():
            if name not in groups:
                parameters.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            hints = get_type_hints(groups[name], include_extras=True)
            first = getattr(groups[name], "first", ())
            ordered = sorted(fields(groups[name]), key=lambda f: [*first, f.name].index(f.name))
            parameters += [
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if field.default is MISSING else field.default,
                    annotation=hints[field.name],
                )
                for field in ordered
            ]

        @wraps(command)
        def call(**given: Any) -> None:
            made = {
                name: group(**{field.name: given.pop(field.name) for field in fields(group)})
                for name, group in groups.items()
            }
            command(**given, **made)

        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        return call

    return decorate


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


# -- the table ------------------------------------------------------------------------------------

_COLUMN: dict[str, Any] = {"metavar": "COLUMN"}

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, .xlsx, JSON, JSONL, Parquet, Feather or FCS, also packed (.gz); or, with "
        "--features-from, an export of an annotation tool; - for standard input.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    option(
        DATA,
        "Column of labels, blank where the expert gave none; several, separated by commas, are "
        "the readers of a panel.",
        **_COLUMN,
    ),
]
FeaturesFrom = Annotated[
    str | None,
    option(
        DATA,
        "Table of features, where TABLE is an export of Label Studio, Argilla, doccano or "
        "Prodigy, or a line for each statement (case, reader, label); --id names what both have.",
        metavar="FILE",
    ),
]
Features = Annotated[
    list[str] | None,
    option(
        DATA,
        "Column to use as a feature; repeat, or separate by commas.",
        default="every numeric column",
        **_COLUMN,
    ),
]
Drop = Annotated[
    list[str] | None,
    option(DATA, "Column to leave out; repeat, or separate by commas.", **_COLUMN),
]
Id = Annotated[str | None, option(DATA, "Column that names the rows.", **_COLUMN)]
Reviewed = Annotated[
    str | None,
    option(
        DATA,
        "Column of yes and no: whether an expert saw the row. A blank that nobody saw says "
        "nothing about difficulty.",
        **_COLUMN,
    ),
]
Weight = Annotated[str | None, option(DATA, "Column of row weights.", **_COLUMN)]
Missing = Annotated[
    list[str] | None,
    option(
        DATA,
        "Label that means 'not labelled', such as ungated; repeat for several. The number -1 does "
        "if none is given; give none if -1 is a class.",
        metavar="VALUE",
    ),
]
OnMissing = Annotated[
    str | None,
    option(
        DATA,
        "What to do with rows that lack a feature.",
        default="model where the model can, else error",
        **one_of("model", "drop", "error"),
    ),
]
Format = Annotated[
    str | None,
    option(
        DATA,
        "Format of the table, where its content and name do not tell.",
        "--format",
        **one_of("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs"),
    ),
]
Encoding = Annotated[
    str | None, option(DATA, "Encoding of a text table, such as cp1252.", default="UTF-8")
]
_FOUND = "found from the content"
Delimiter = Annotated[
    str | None, option(DATA, "What separates the cells of a text table.", default=_FOUND)
]
Decimal = Annotated[
    str | None, option(DATA, "Decimal mark of a text table.", default=_FOUND, **one_of(".", ","))
]
Transform = Annotated[
    str | None,
    option(
        DATA,
        "Scale of the fluorescence channels of an FCS file.",
        default="linear",
        **one_of("logicle", "asinh"),
    ),
]
Compensate = Annotated[
    bool,
    option(DATA, "Undo spillover by the matrix that an FCS file holds.", "--compensate"),
]

# -- the model ------------------------------------------------------------------------------------

Family = Annotated[
    str | None,
    option(
        MODEL,
        "Shape of the classes. Without this, --covariance, --mechanism, --alpha or --starts, "
        "models of several shapes are combined by how well they foretell rows held out.",
        default="gaussian, if one of those is given",
        **one_of(*FAMILIES),
    ),
]
Covariance = Annotated[
    str | None,
    option(
        MODEL,
        "What the classes' scale matrices look like.",
        default="full",
        **one_of(*COVARIANCES),
    ),
]
Mechanism = Annotated[
    str | None,
    option(
        MODEL,
        "How the chance of a label depends on difficulty or class; none ignores the blanks.",
        default="entropy",
        **one_of(*MECHANISMS),
    ),
]
Alpha = Annotated[
    float | None,
    option(
        MODEL,
        "Weight of labelled against blank rows, from 0 to 1.",
        default="0.5, both alike",
        **within(0, 1),
    ),
]
Standardise = Annotated[
    bool, option(MODEL, "Divide every feature by its standard deviation.", "--standardise")
]
Pca = Annotated[
    int | None,
    option(
        MODEL,
        "Keep the K leading principal components of the features.",
        metavar="K",
        **within(1),
    ),
]
Seed = Annotated[
    int, option(MODEL, "Seed of everything random.", default=True, **within(0, 2**32 - 1))
]
Jobs = Annotated[
    int | None,
    option(
        MODEL,
        "Cores to use; -1 is all, -2 all but one.",
        default="all",
        callback=_check_jobs,
    ),
]
Starts = Annotated[
    int,
    option(
        MODEL,
        "Starts of the fit, of which the best is kept; the first is taken from the labels.",
        default=True,
        metavar="N",
        **within(1),
    ),
]
Bootstrap = Annotated[
    int | None,
    option(
        MODEL,
        "Test the blanks by N bootstrap replicates too, each with fits of its own; 199 or more "
        "for a useful p-value.",
        metavar="N",
        **within(20),  # with fewer, no p-value can be below 0.05
    ),
]

# -- output ---------------------------------------------------------------------------------------

Force = Annotated[bool, option(OUTPUT, "Replace existing files.", "--force")]
Json = Annotated[bool, option(OUTPUT, "Print one JSON document.", "--json")]
Quiet = Annotated[bool, option(OUTPUT, "Print mistakes only.", "--quiet", "-q")]
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
