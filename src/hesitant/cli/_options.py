"""The options that commands share, each said once, and the file they may be read from."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hesitant._words import did_you_mean

Family = StrEnum("Family", ["gaussian", "t", "skew_t", "skew_normal"])
Covariance = StrEnum("Covariance", ["full", "tied", "diag", "spherical", "shrunk"])
Mechanism = StrEnum("Mechanism", ["entropy", "class", "entropy+class", "mixed", "none"])
Format = Literal["csv", "tsv", "xlsx", "json", "jsonl", "parquet", "feather", "fcs"]
FORMATS = ".csv, .tsv, .parquet or .feather"

_HELP = {
    "table": "CSV, TSV, .xlsx, JSON, JSONL, Parquet, Feather or FCS, also packed (.gz); - for "
    "standard input.",
    "features": "Column to use as a feature; repeat, or separate by commas.",
    "empty": "Number that means 'not measured' among the features, such as -999; repeat for "
    "several.",
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
    "starts": "Starts of the fit, of which the best is kept; the first is taken from the labels.",
    "bootstrap": "Test the blanks by N bootstrap replicates too, each with fits of its own; 199 "
    "or more for a useful p-value.",
    "covariances": "Covariance to try; repeat.",
    "mechanisms": "Mechanism to try; repeat.",
    "labels": "Column of labels, blank where nobody said.",
    "parts": "table1, table2, full, simulation or figures; everything by default.",
    "data": "Where the real data are.",
    "resume": "Continue an interrupted simulation.",
    "anew": "Begin an interrupted simulation anew.",
    "show": "What to look at: text, a link, or an image or text file beside the table.",
    "reader": "Who answers, where the page does not say.",
    "audit": "Share of cases drawn at random, unmarked, from 0 to 1.",
    "port": "Port on this machine; 0 is any free one.",
    "no_browser": "Print the address, and open no window.",
    "out": "Where the files go: a folder, or how their names begin.",
    "predictions": f"Where the predictions go: {FORMATS}; - for standard output.",
    "ranking": f"Write the ranking too: {FORMATS}.",
    "simulated": f"Where the table goes: {FORMATS}; - for standard output.",
    "kind": "paper: two Gaussian classes, as in the paper; cytometry: four skewed cell "
    "populations.",
    "truth": "Add a column with the true class of every row.",
    "config": "Read options from a TOML file, under these same names.",
}


def option(panel: str | None, help: str, default: Any = False, *names: str, **more: Any) -> Any:
    """Declare an option by its help, or the name of a long one, and the default that it tells."""
    text = _HELP.get(help, help)
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=default, **more)


_PANELS = (None, "The table", "The model", "Output")  # of the help
plain, data, model, output = (partial(option, panel) for panel in _PANELS)


def argument(name: str, metavar: str) -> Any:
    return typer.Argument(metavar=metavar, help=_HELP.get(name, name), show_default=False)


def read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of this command's options.

    They stand at its top, with those of other commands, or in a table named after the command.
    """
    if path is None or ctx.parent is None:
        return path
    try:
        document = tomllib.loads(path.read_bytes().decode())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise typer.BadParameter(f"{path} cannot be read as TOML: {why}.") from error
    commands = ctx.parent.command.commands  # type: ignore[attr-defined]
    options: dict[str, dict[str, Any]] = {}
    for name, command in commands.items():  # the file itself is no option in it
        found = (p for p in command.params if p.param_type_name == "option")
        options[name] = {p.name: p for p in found if p.name != "config"}
    this = str(ctx.info_name)
    own, section = options[this], document.pop(this, {})
    if not isinstance(section, dict):
        raise typer.BadParameter(f"{path}: [{this}] must be a table.")
    general = {key: value for key, value in document.items() if key not in commands}
    ctx.default_map = {}
    for given, known in ((general, set(commands).union(*options.values())), (section, own)):
        for key, value in given.items():
            name = key.lstrip("-").replace("-", "_")
            if name not in known:
                hint = did_you_mean(name, sorted(known)).replace("_", "-")
                raise typer.BadParameter(f"{path}: there is no option {key[:60]!r}.{hint}")
            # as the command line gives it: text, which the option itself checks
            texts = [str(part) for part in (value if isinstance(value, list) else [value])]
            if name in own:
                one = value if own[name].is_flag else str(value)
                ctx.default_map[name] = texts if own[name].multiple else one
    return path


_COLUMN: dict[str, Any] = {"metavar": "COLUMN"}
_FOUND, _NA = "found from the content", "model where the model can, else error"
_ONE = "gaussian, if one of those is given"

Table = Annotated[str, argument("table", "TABLE")]
Id = Annotated[str | None, data("Column that names the rows.", **_COLUMN)]
Features = Annotated[list[str] | None, data("features", "every numeric column", **_COLUMN)]
Missing = Annotated[list[str] | None, data("missing", metavar="VALUE")]
Standardise = Annotated[bool, model("standardise", False, "--standardise")]
Pca = Annotated[int | None, model("pca", metavar="K", min=1)]
Seed = Annotated[int, model("Seed of everything random.", True, min=0, max=2**32 - 1)]
Jobs = Annotated[int | None, model("Cores to use; -1 is all, -2 all but one.", "all")]
Force = Annotated[bool, output("Replace existing files.", False, "--force")]
_TOML: dict[str, Any] = {"metavar": "FILE.toml", "callback": read_config, "is_eager": True}
Config = Annotated[Path | None, plain("config", **_TOML)]


@dataclass(frozen=True)
class ReadOptions:
    table: Table
    id: Id = None
    features: Features = None
    empty: Annotated[list[float] | None, data("empty", metavar="NUMBER")] = None
    on_missing: Annotated[Literal["model", "drop", "error"] | None, data("on_missing", _NA)] = None
    format: Annotated[Format | None, data("format", False, "--format")] = None
    encoding: Annotated[str | None, data("encoding", "UTF-8")] = None
    delimiter: Annotated[str | None, data("delimiter", _FOUND)] = None
    decimal: Annotated[Literal[".", ","] | None, data("decimal", _FOUND)] = None
    transform: Annotated[Literal["logicle", "asinh"] | None, data("transform", "linear")] = None
    compensate: Annotated[bool, data("compensate", False, "--compensate")] = False


@dataclass(frozen=True)
class TableOptions(ReadOptions):
    label: Annotated[str | None, data("label", **_COLUMN)] = None
    features_from: Annotated[str | None, data("features_from", metavar="FILE")] = None
    drop: Annotated[list[str] | None, data("drop", **_COLUMN)] = None
    reviewed: Annotated[str | None, data("reviewed", **_COLUMN)] = None
    weight: Annotated[str | None, data("Column of row weights.", **_COLUMN)] = None
    missing: Missing = None
    first = ("table", "label", "missing", "reviewed", "id", "features")  # in the help

    @property
    def inputs(self) -> list[str]:
        """Return the files that are read, which no output may replace."""
        return [name for name in (self.table, self.features_from) if name not in (None, "-")]


@dataclass(frozen=True)
class ModelOptions:
    family: Annotated[Family | None, model("family", _ONE)] = None
    covariance: Annotated[Covariance | None, model("covariance", "full")] = None
    components: Annotated[str | None, model("components", "1", metavar="N|auto")] = None
    mechanism: Annotated[Mechanism | None, model("mechanism", "entropy")] = None
    alpha: Annotated[float | None, model("alpha", "0.5, both alike", min=0, max=1)] = None
    standardise: Standardise = False
    pca: Pca = None
    seed: Seed = 0
    jobs: Jobs = None
    starts: Annotated[int, model("starts", True, metavar="N", min=1)] = 1
    # with fewer than 20 replicates, no p-value can be below 0.05
    bootstrap: Annotated[int | None, model("bootstrap", metavar="N", min=20)] = None
