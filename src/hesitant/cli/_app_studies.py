"""The commands that fit many models: ``compare`` and ``reproduce``."""

from typing import Annotated

import typer

from hesitant.cli import _options as o
from hesitant.cli._data import TableOptions
from hesitant.cli._mistakes import in_options, reporting
from hesitant.cli._root import app
from hesitant.cli._terminal import Terminal

__all__ = ["compare", "reproduce"]


@app.command(short_help="Rank models of a table.")
def compare(
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
    family: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Family to try; repeat.",
            rich_help_panel="The models",
            show_default="all",
        ),
    ] = None,
    covariance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Covariance to try; repeat.",
            rich_help_panel="The models",
            show_default="full and tied",
        ),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Mechanism to try; repeat.",
            rich_help_panel="The models",
            show_default="entropy and none",
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            help="Parts of the cross-validation.", rich_help_panel="The models", **o.within(2)
        ),
    ] = 5,
    standardise: o.Standardise = False,
    pca: o.Pca = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the ranking too: .csv, .tsv, .parquet or .feather.",
            rich_help_panel="Output",
            show_default=False,
        ),
    ] = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    config: o.Config = None,
) -> None:
    """Rank families, covariances and mechanisms by how well they explain a table."""
    from hesitant.cli._comparing import Candidates
    from hesitant.cli._comparing import compare as run

    terminal = Terminal(json=as_json, quiet=quiet)
    read = TableOptions.of(ctx.params)
    candidates = Candidates(family, covariance, mechanism, folds, standardise, pca, seed, jobs)
    grid = candidates.grid()
    with reporting(terminal):
        run(read, candidates, grid, terminal, out=out, force=force)


@app.command(short_help="Reproduce the paper.")
def reproduce(
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
    as_json: o.Json = False,
    quiet: o.Quiet = False,
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
    terminal = Terminal(json=as_json, quiet=quiet)
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
            progress=not (as_json or quiet),
        )
        document = result.to_dict()
        for part in document["parts"].values():
            part["problems"] = [in_options(problem) for problem in part["problems"]]
        terminal.answer(document)
        terminal.say(in_options(str(result)))
        if result.exit_code:
            if quiet and not as_json:  # what went wrong is said all the same
                terminal.fail(in_options("; ".join(result.problems)))
            raise typer.Exit(result.exit_code)
