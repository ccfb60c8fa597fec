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

_HELP: dict[str, str] = tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


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
