"""The commands and their own options; the work is done elsewhere."""

import sys
from contextlib import suppress
from typing import Annotated

import typer

from hesitant.cli import _options as o
from hesitant.cli._mistakes import in_options, reporting
from hesitant.cli._options import DATA, FORMATS, OUTPUT, option, takes
from hesitant.cli._terminal import Terminal

_OUT = "Where the files go: a folder, or how their names begin."
_BESIDE = "beside the table, named after it"
_PREDICTIONS = f"Where the predictions go: {FORMATS}; - for standard output."
_KIND = "paper: two Gaussian classes, as in the paper; cytometry: four skewed cell populations."
_TRUTH = "Add a column with the true class of every row."
_FOLDER = "Where the files go."
_PLACES = "HESITANT_DATA, the cache, the sources"
_SHOW = "What to look at: text, a link, or an image or text file beside the table."
_AUDIT = "Share of cases drawn at random, unmarked, from 0 to 1."

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


@app.command(short_help="Fit a model to a table, and report on it.")
@takes(table=o.TableOptions, model=o.ModelOptions, answer=o.AnswerOptions)
def analyse(
    table: o.TableOptions,
    model: o.ModelOptions,
    answer: o.AnswerOptions,
    out: Annotated[str | None, option(OUTPUT, _OUT, _BESIDE, metavar="PREFIX")] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Fit a model to a table with blanks; write a report, predictions and the model."""
    from hesitant.cli._analysis import analyse as run

    with reporting(answer.terminal):
        run(table, model, out, answer.terminal, force=force)


@app.command()
@takes(table=o.ReadOptions, answer=o.AnswerOptions)
def predict(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file from analyse.", show_default=False)
    ],
    table: o.ReadOptions,
    answer: o.AnswerOptions,
    out: Annotated[
        str | None,
        option(OUTPUT, _PREDICTIONS, "beside it, as TABLE.predictions.csv", metavar="FILE"),
    ] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Classify the rows of a table with a model."""
    from hesitant.cli._predictions import predict as run

    if out == "-" and answer.as_json:
        raise typer.BadParameter("--out - and --json both ask for standard output: choose one.")
    with reporting(answer.terminal):
        run(model, table, out, answer.terminal, force=force)


@app.command(short_help="Rank models of a table.")
@takes(table=o.TableOptions, candidates=o.CandidateOptions, answer=o.AnswerOptions)
def compare(
    table: o.TableOptions,
    candidates: o.CandidateOptions,
    answer: o.AnswerOptions,
    out: Annotated[
        str | None, option(OUTPUT, f"Write the ranking too: {FORMATS}.", metavar="FILE")
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
@takes(answer=o.AnswerOptions)
def simulate(
    answer: o.AnswerOptions,
    n: Annotated[int, option(None, "How many rows.", True, "--n", **o.within(1))] = 500,
    kind: Annotated[str, option(None, _KIND, True, **o.one_of("paper", "cytometry"))] = "paper",
    out: Annotated[
        str,
        option(
            None, f"Where the table goes: {FORMATS}; - for standard output.", True, metavar="FILE"
        ),
    ] = "-",
    truth: Annotated[bool, option(None, _TRUTH, False, "--truth")] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Draw data to play with: labels are missing where the classes overlap."""
    from hesitant.cli._predictions import simulate as run

    if out == "-" and answer.as_json:
        raise typer.BadParameter("--json needs a file for the table: name one with --out.")
    with reporting(answer.terminal):
        run(n, kind, out, answer.terminal, truth=truth, seed=seed, force=force)


@app.command(short_help="Analyse built-in data.")
@takes(answer=o.AnswerOptions)
def demo(
    answer: o.AnswerOptions,
    out: Annotated[str, option(None, _FOLDER, True, metavar="FOLDER")] = "demo",
    force: o.Force = False,
) -> None:
    """Analyse built-in data: invented cells of four populations, some left ungated."""
    from hesitant.cli._analysis import demo as run

    with reporting(answer.terminal):
        run(out, answer.terminal, force=force)


@app.command(short_help="Reproduce the paper.")
@takes(answer=o.AnswerOptions)
def reproduce(
    answer: o.AnswerOptions,
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]...",
            help="table1, table2, full, simulation or figures; everything by default.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[int, option(None, "Of the simulation.", True, **o.within(1))] = 100,
    out: Annotated[str, option(None, _FOLDER, True, metavar="FOLDER")] = "hesitant-paper",
    data: Annotated[
        str | None, option(None, "Where the real data are.", _PLACES, metavar="FOLDER")
    ] = None,
    resume: Annotated[
        bool, option(None, "Continue an interrupted simulation.", False, "--resume")
    ] = False,
    force: Annotated[
        bool, option(None, "Begin an interrupted simulation anew.", False, "--force")
    ] = False,
    seed: Annotated[int, option(None, "Of the simulation.", True, **o.within(0))] = 1,
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


@app.command(short_help="Answer cases on a local page; the model learns at once.")
def desk(
    table: o.Table,
    label: Annotated[
        str | None, option(DATA, "Column of labels, blank where nobody said.", "asked on the page")
    ] = None,
    id: o.Id = None,
    show: Annotated[str | None, option(DATA, _SHOW, metavar="COLUMN")] = None,
    features: o.Features = None,
    missing: o.Missing = None,
    reader: Annotated[
        str, option(None, "Who answers, where the page does not say.", True, metavar="NAME")
    ] = "reader",
    audit: Annotated[
        float | None, option(None, _AUDIT, "0.1", metavar="SHARE", **o.within(0, 1))
    ] = None,
    port: Annotated[
        int, option(None, "Port on this machine; 0 is any free one.", True, **o.within(0, 65535))
    ] = 0,
    no_browser: Annotated[
        bool, option(None, "Print the address, and open no window.", False, "--no-browser")
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
        chosen = {"label": label, "id": id, "show": show, "features": named, "blank": missing}
        open_desk = Desk(table, reader, audit=audit, **chosen)
        with suppress(KeyboardInterrupt):
            serve(open_desk, port=port, browser=not no_browser)
        open_desk.close()
        terminal.say(f"The desk is closed. Every answer is in {open_desk.journal.path}.")
