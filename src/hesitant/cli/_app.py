"""The main commands and their options; the work is done elsewhere."""

from typing import Annotated

import typer

from hesitant.cli import _options as o
from hesitant.cli._data import TableOptions
from hesitant.cli._mistakes import reporting
from hesitant.cli._root import app
from hesitant.cli._terminal import Terminal

__all__ = ["analyse", "app", "demo", "predict", "simulate"]


@app.command(short_help="Fit a model to a table, and report on it.")
def analyse(
    ctx: typer.Context,
    table: o.Table,
    label: o.Label,
    features: o.Features = None,
    drop: o.Drop = None,
    id: o.Id = None,
    reviewed: o.Reviewed = None,
    weight: o.Weight = None,
    missing: o.Missing = None,
    on_missing: o.OnMissing = "error",
    format: o.Format = None,
    encoding: o.Encoding = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    family: o.Family = "gaussian",
    covariance: o.Covariance = "full",
    mechanism: o.Mechanism = "entropy",
    alpha: o.Alpha = 0.5,
    standardise: o.Standardise = False,
    pca: o.Pca = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    starts: o.Starts = 1,
    bootstrap: o.Bootstrap = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Where the files go: a folder, or how their names begin.",
            rich_help_panel="Output",
            show_default="beside the table, named after it",
        ),
    ] = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    config: o.Config = None,
) -> None:
    """Fit a model to a table with blanks; write a report, predictions and the model."""
    from hesitant.cli._analysis import ModelOptions, output_files
    from hesitant.cli._analysis import analyse as run
    from hesitant.cli._summary import print_analysis

    terminal = Terminal(json=as_json, quiet=quiet)
    _check_alpha(alpha, mechanism)
    read = TableOptions.of(ctx.params)
    model = ModelOptions(
        family, covariance, mechanism, alpha, standardise, pca, seed, jobs, starts, bootstrap
    )
    with reporting(terminal):
        outputs = output_files(table, out)
        report = run(read, model, outputs, terminal, force=force)
        print_analysis(report, outputs, terminal)


@app.command()
def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model file from analyse.", show_default=False),
    ],
    table: o.Table,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where the predictions go: .csv, .tsv, .parquet or .feather; - for standard "
            "output.",
            rich_help_panel="Output",
            show_default="beside the table, as TABLE.predictions.csv",
        ),
    ] = None,
    id: o.Id = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Columns to use, where the model's features have no names.",
            rich_help_panel="The table",
            show_default=False,
        ),
    ] = None,
    on_missing: o.OnMissing = "error",
    format: o.Format = None,
    encoding: o.Encoding = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    config: o.Config = None,
) -> None:
    """Classify the rows of a table with a model."""
    from hesitant.cli._predictions import predict as run
    from hesitant.cli._summary import print_predictions

    if out == "-" and as_json:
        raise typer.BadParameter("--out - and --json both ask for standard output: choose one.")
    terminal = Terminal(json=as_json, quiet=quiet)
    read = TableOptions(
        table,
        features=features,
        id=id,
        on_missing=on_missing,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
    )
    with reporting(terminal):
        print_predictions(run(model, read, out, terminal, force=force), terminal)


@app.command(short_help="Draw data to play with.")
def simulate(
    n: Annotated[int, typer.Option("--n", help="How many rows.", **o.within(1))] = 500,
    kind: Annotated[
        str,
        typer.Option(
            help="paper: two Gaussian classes, the paper's simulation; cytometry: four skewed "
            "cell populations.",
            **o.one_of("paper", "cytometry"),
        ),
    ] = "paper",
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Where the table goes: .csv, .tsv, .parquet or .feather; - for standard output.",
        ),
    ] = "-",
    truth: Annotated[
        bool, typer.Option("--truth", help="Add a column with the true class of every row.")
    ] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    config: o.Config = None,
) -> None:
    """Draw data to play with: labels are missing where the classes overlap."""
    from hesitant.cli._simulating import simulate as run

    if out == "-" and as_json:
        raise typer.BadParameter("--json needs a file for the table: name one with --out.")
    terminal = Terminal(json=as_json, quiet=quiet)
    with reporting(terminal):
        run(n, kind, out, terminal, truth=truth, seed=seed, force=force)


@app.command(short_help="Analyse built-in data.")
def demo(
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Where the files go.")] = "demo",
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Analyse built-in data: invented cells of four populations, some left ungated."""
    from hesitant.cli._simulating import demo as run

    terminal = Terminal(json=as_json, quiet=quiet)
    with reporting(terminal):
        run(out, terminal, force=force)


def _check_alpha(alpha: float, mechanism: str) -> None:
    if alpha != 0.5 and mechanism != "none":
        raise typer.BadParameter(
            f"--alpha {alpha:g} weighs labelled against blank rows, which only --mechanism none "
            "allows: add that, or leave --alpha out."
        )
