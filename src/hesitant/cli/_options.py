"""The options that commands share, each said once, and how a command takes groups of them."""

import inspect
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from hesitant.cli._config import read_config
from hesitant.cli._terminal import Terminal

DATA, MODEL, OUTPUT = "The table", "The model", "Output"
FAMILIES = ("gaussian", "t", "skew_t", "skew_normal")
COVARIANCES = ("full", "tied", "diag", "spherical", "shrunk")
MECHANISMS = ("entropy", "class", "entropy+class", "mixed", "none")
ON_MISSING = ("model", "drop", "error")
READ = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs")
FORMATS = ".csv, .tsv, .parquet or .feather"


_HELP = {
    "id": "Column that names the rows.",
    "features": "Column to use as a feature; repeat, or separate by commas.",
    "on_missing": "What to do with rows that lack a feature.",
    "format": "Format of the table, where its content and name do not tell.",
    "encoding": "Encoding of a text table, such as cp1252.",
    "delimiter": "What separates the cells of a text table.",
    "decimal": "Decimal mark of a text table.",
    "transform": "Scale of the fluorescence channels of an FCS file.",
    "compensate": "Undo spillover by the matrix that an FCS file holds.",
    "label": "Column of labels, blank where the expert gave none; several, separated by commas, "
    "are the readers of a panel.",
    "features_from": "Table of features, where TABLE is an export of Label Studio, Argilla, "
    "doccano or Prodigy, or a line for each statement (case, reader, label); --id names what both "
    "have.",
    "drop": "Column to leave out; repeat, or separate by commas.",
    "reviewed": "Column of yes and no: whether an expert saw the row. A blank that nobody saw "
    "says nothing about difficulty.",
    "weight": "Column of row weights.",
    "missing": "Label that means 'not labelled', such as ungated; repeat for several. The number "
    "-1 does if none is given; give none if -1 is a class.",
    "family": "Shape of the classes. Without this, --covariance, --components, --mechanism, "
    "--alpha or --starts, models of several shapes are combined by how well they predict rows "
    "held out.",
    "covariance": "What the classes' scale matrices look like.",
    "components": "Components of every class: a number, or auto to ask rows left out.",
    "mechanism": "How the chance of a label depends on difficulty or class; none ignores the "
    "blanks.",
    "alpha": "Weight of labelled against blank rows, from 0 to 1.",
    "standardise": "Divide every feature by its standard deviation.",
    "pca": "Keep the K leading principal components of the features.",
    "seed": "Seed of everything random.",
    "jobs": "Cores to use; -1 is all, -2 all but one.",
    "starts": "Starts of the fit, of which the best is kept; the first is taken from the labels.",
    "bootstrap": "Test the blanks by N bootstrap replicates too, each with fits of its own; 199 "
    "or more for a useful p-value.",
    "families": "Family to try; repeat.",
    "covariances": "Covariance to try; repeat.",
    "mechanisms": "Mechanism to try; repeat.",
    "folds": "Parts of the cross-validation.",
    "force": "Replace existing files.",
    "json": "Print one JSON document.",
    "quiet": "Print mistakes only.",
    "config": "Read options from a TOML file, under these same names.",
}


def option(panel: str | None, help: str, default: Any = False, *names: str, **more: Any) -> Any:
    """Return the declaration of an option, by its help or the name this has in `_HELP`.

    ``default`` is what the help says of it.
    """
    text = _HELP.get(help, help)
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, **more)


_data, _model, _output = (partial(option, panel) for panel in (DATA, MODEL, OUTPUT))


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
            for f in sorted(fields(groups[name]), key=lambda f: [*first, f.name].index(f.name)):
                default = inspect.Parameter.empty if f.default is MISSING else f.default
                kind = inspect.Parameter.KEYWORD_ONLY
                annotation = hints[f.name]
                parameters.append(
                    inspect.Parameter(f.name, kind, default=default, annotation=annotation)
                )

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
        hint = "give 1 or more, -1 for all, or leave the option out"
        raise typer.BadParameter(f"0 cores can do nothing: {hint}.")
    return value


_COLUMN: dict[str, Any] = {"metavar": "COLUMN"}
_FOUND = "found from the content"
_TABLE = (
    "CSV, TSV, .xlsx, JSON, JSONL, Parquet, Feather or FCS, also packed (.gz); or, with "
    "--features-from, an export of an annotation tool; - for standard input."
)

Table = Annotated[str, typer.Argument(metavar="TABLE", help=_TABLE, show_default=False)]
Id = Annotated[str | None, _data("id", **_COLUMN)]
Features = Annotated[list[str] | None, _data("features", "every numeric column", **_COLUMN)]
Missing = Annotated[list[str] | None, _data("missing", metavar="VALUE")]
Standardise = Annotated[bool, _model("standardise", False, "--standardise")]
Pca = Annotated[int | None, _model("pca", metavar="K", **within(1))]
Seed = Annotated[int, _model("seed", True, **within(0, 2**32 - 1))]
Jobs = Annotated[int | None, _model("jobs", "all", callback=_check_jobs)]
Force = Annotated[bool, _output("force", False, "--force")]
_TOML: dict[str, Any] = {"metavar": "FILE.toml", "callback": read_config, "is_eager": True}
Config = Annotated[Path | None, option(None, "config", **_TOML)]


@dataclass(frozen=True)
class ReadOptions:
    """Where a table is and how it is read."""

    table: Table
    id: Id = None
    features: Features = None
    on_missing: Annotated[
        str | None,
        _data("on_missing", "model where the model can, else error", **one_of(*ON_MISSING)),
    ] = None
    format: Annotated[str | None, _data("format", False, "--format", **one_of(*READ))] = None
    encoding: Annotated[str | None, _data("encoding", "UTF-8")] = None
    delimiter: Annotated[str | None, _data("delimiter", _FOUND)] = None
    decimal: Annotated[str | None, _data("decimal", _FOUND, **one_of(".", ","))] = None
    transform: Annotated[
        str | None, _data("transform", "linear", **one_of("logicle", "asinh"))
    ] = None
    compensate: Annotated[bool, _data("compensate", False, "--compensate")] = False


@dataclass(frozen=True)
class TableOptions(ReadOptions):
    """Where a table to learn from is, and what its columns mean."""

    label: Annotated[str | None, _data("label", **_COLUMN)] = None
    features_from: Annotated[str | None, _data("features_from", metavar="FILE")] = None
    drop: Annotated[list[str] | None, _data("drop", **_COLUMN)] = None
    reviewed: Annotated[str | None, _data("reviewed", **_COLUMN)] = None
    weight: Annotated[str | None, _data("weight", **_COLUMN)] = None
    missing: Missing = None
    first = ("table", "label", "missing", "reviewed", "id", "features")  # in the help

    @property
    def inputs(self) -> list[str]:
        """Return the files that are read, which no output may replace."""
        return [name for name in (self.table, self.features_from) if name not in (None, "-")]


@dataclass(frozen=True)
class ModelOptions:
    """How to fit."""

    family: Annotated[
        str | None, _model("family", "gaussian, if one of those is given", **one_of(*FAMILIES))
    ] = None
    covariance: Annotated[str | None, _model("covariance", "full", **one_of(*COVARIANCES))] = None
    components: Annotated[str | None, _model("components", "1", metavar="N|auto")] = None
    mechanism: Annotated[str | None, _model("mechanism", "entropy", **one_of(*MECHANISMS))] = None
    alpha: Annotated[float | None, _model("alpha", "0.5, both alike", **within(0, 1))] = None
    standardise: Standardise = False
    pca: Pca = None
    seed: Seed = 0
    jobs: Jobs = None
    starts: Annotated[int, _model("starts", True, metavar="N", **within(1))] = 1
    # with fewer than 20 replicates, no p-value can be below 0.05
    bootstrap: Annotated[int | None, _model("bootstrap", metavar="N", **within(20))] = None


_Names = list[str] | None


@dataclass(frozen=True)
class CandidateOptions:
    """Which models to compare."""

    family: Annotated[_Names, _model("families", "all", metavar="NAME")] = None
    covariance: Annotated[_Names, _model("covariances", "full and tied", metavar="NAME")] = None
    mechanism: Annotated[_Names, _model("mechanisms", "entropy and none", metavar="NAME")] = None
    folds: Annotated[int, _model("folds", True, **within(2))] = 5
    standardise: Standardise = False
    pca: Pca = None
    seed: Seed = 0
    jobs: Jobs = None


@dataclass(frozen=True)
class AnswerOptions:
    """How to answer."""

    as_json: Annotated[bool, _output("json", False, "--json")] = False
    quiet: Annotated[bool, _output("quiet", False, "--quiet", "-q")] = False

    @property
    def terminal(self) -> Terminal:
        """Return who is spoken to."""
        return Terminal(json=self.as_json, quiet=self.quiet)
