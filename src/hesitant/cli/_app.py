"""The commands and their own options; the work is done elsewhere."""

from dataclasses import dataclass
from typing import Annotated

import typer

from hesitant.cli import _options as o
from hesitant.cli._data import ReadOptions, TableOptions
from hesitant.cli._mistakes import in_options, reporting
from hesitant.cli._options import option, takes
from hesitant.cli._root import app
from hesitant.cli._terminal import Terminal

_FORMATS = ".csv, .tsv, .parquet or .feather"
_NAMES = {"metavar": "NAME"}


@dataclass(frozen=True)
class ModelOptions:
    """How to fit."""

    family: o.Family = None
    covariance: o.Covariance = None
    mechanism: o.Mechanism = None
    alpha: o.Alpha = None
    standardise: o.Standardise = False
    pca: o.Pca = None
    seed: o.Seed = 0
    jobs: o.Jobs = None
    starts: o.Starts = 1
    bootstrap: o.Bootstrap = None


@dataclass(frozen=True)
class CandidateOptions:
    """Which models to compare."""

    family: Annotated[
        list[str] | None,
        option("The models", "Family to try; repeat.", default="all", **_NAMES),
    ] = None
    covariance: Annotated[
        list[str] | None,
        option("The models", "Covariance to try; repeat.", default="full and tied", **_NAMES),
    ] = None
    mechanism: Annotated[
        list[str] | None,
        option("The models", "Mechanism to try; repeat.", default="entropy and none", **_NAMES),
    ] = None
    folds: Annotated[
        int, option("The models", "Parts of the cross-validation.", default=True, **o.within(2))
    ] = 5
    standardise: o.Standardise = False
    pca: o.Pca = None
    seed: o.Seed = 0
    jobs: o.Jobs = None


@dataclass(frozen=True)
class AnswerOptions:
    """How to answer."""

    as_json: o.Json = False
    quiet: o.Quiet = False

    @property
    def terminal(self) -> Terminal:
        """Return who is spoken to."""
        return Terminal(json=self.as_json, quiet=self.quiet)


@app.command(short_help="Fit a model to a table, and report on it.")
@takes(table=TableOptions, model=ModelOptions, answer=AnswerOptions)
def analyse(
    table: TableOptions,
    model: ModelOptions,
    answer: AnswerOptions,
    out: Annotated[
        str | None,
        option(
            o.OUTPUT,
            "Where the files go: a folder, or how their names begin.",
            default="beside the table, named after it",
            metavar="PREFIX",
        ),
    ] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Fit a model to a table with blanks; write a report, predictions and the model."""
    from hesitant.cli._analysis import analyse as run
    from hesitant.cli._analysis import output_files
    from hesitant.cli._summary import print_analysis

    with reporting(answer.terminal):
        outputs = output_files(table.table, out)
        report = run(table, model, outputs, answer.terminal, force=force)
        print_analysis(report, outputs, answer.terminal)


@app.command()
@takes(table=ReadOptions, answer=AnswerOptions)
def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model file from analyse.", show_default=False),
    ],
    table: ReadOptions,
    answer: AnswerOptions,
    out: Annotated[
        str | None,
        option(
            o.OUTPUT,
            f"Where the predictions go: {_FORMATS}; - for standard output.",
            default="beside the table, as TABLE.predictions.csv",
            metavar="FILE",
        ),
    ] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Classify the rows of a table with a model."""
    from hesitant.cli._predictions import predict as run
    from hesitant.cli._summary import print_predictions

    if out == "-" and answer.as_json:
        raise typer.BadParameter("--out - and --json both ask for standard output: choose one.")
    with reporting(answer.terminal):
        print_predictions(run(model, table, out, answer.terminal, force=force), answer.terminal)


@app.command(short_help="Rank models of a table.")
@takes(table=TableOptions, candidates=CandidateOptions, answer=AnswerOptions)
def compare(
    table: TableOptions,
    candidates: CandidateOptions,
    answer: AnswerOptions,
    out: Annotated[
        str | None,
        option(o.OUTPUT, f"Write the ranking too: {_FORMATS}.", metavar="FILE"),
    ] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Rank families, covariances and mechanisms by how well they explain a table."""
    from hesitant.cli._comparing import compare as run
    from hesitant.cli._comparing import grid_of

    grid = grid_of(candidates)
    with reporting(answer.terminal):
        run(table, candidates, grid, answer.terminal, out=out, force=force)


@app.command(short_help="Draw data to play with.")
@takes(answer=AnswerOptions)
def simulate(
    answer: AnswerOptions,
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
            metavar="FILE", help=f"Where the table goes: {_FORMATS}; - for standard output."
        ),
    ] = "-",
    truth: Annotated[
        bool, typer.Option("--truth", help="Add a column with the true class of every row.")
    ] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Draw data to play with: labels are missing where the classes overlap."""
    from hesitant.cli._simulating import simulate as run

    if out == "-" and answer.as_json:
        raise typer.BadParameter("--json needs a file for the table: name one with --out.")
    with reporting(answer.terminal):
        run(n, kind, out, answer.terminal, truth=truth, seed=seed, force=force)


@app.command(short_help="Analyse built-in data.")
@takes(answer=AnswerOptions)
def demo(
    answer: AnswerOptions,
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Where the files go.")] = "demo",
    force: o.Force = False,
) -> None:
    """Analyse built-in data: invented cells of four populations, some left ungated."""
    from hesitant.cli._simulating import demo as run

    with reporting(answer.terminal):
        run(out, answer.terminal, force=force)


@app.command(short_help="Reproduce the paper.")
@takes(answer=AnswerOptions)
def reproduce(
    answer: AnswerOptions,
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]...",
            help="table1, table2, full, simulation or figures; everything by default.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="Of the simulation.", **o.within(1))] = 100,
    out: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where the files go.")
    ] = "hesitant-paper",
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the real data are.",
            show_default="HESITANT_DATA, the cache, the sources",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted simulation.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Begin an interrupted simulation anew.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the simulation.", **o.within(0))] = 1,
    jobs: o.Jobs = None,
    config: o.Config = None,
) -> None:
    """Reproduce the paper's tables, simulation and figures."""
    from hesitant.studies import PARTS, StudyError
    from hesitant.studies import reproduce as run

    unknown = [part for part in parts or () if part not in PARTS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0][:60]!r} is not one of {', '.join(PARTS)}.")
    if resume and force:
        raise typer.BadParameter("--resume continues and --force begins anew: choose one.")
    terminal = answer.terminal
    kept = f"finished replications of the simulation are kept in {out}, and --resume continues"
    with reporting(terminal, StudyError, stopped=kept):
        result = run(
            parts or None,
            out,
            replications=replications,
            n_jobs=-1 if jobs is None else jobs,
            data=data,
            resume=resume,
            force=force,
            random_state=seed,
            progress=not (answer.as_json or answer.quiet),
        )
        document = result.to_dict()
        for part in document["parts"].values():
            part["problems"] = [in_options(problem) for problem in part["problems"]]
        terminal.answer(document)
        terminal.say(in_options(str(result)))
        if result.exit_code:
            if answer.quiet and not answer.as_json:  # what went wrong is said all the same
                terminal.fail(in_options("; ".join(result.problems)))
            raise typer.Exit(result.exit_code)
