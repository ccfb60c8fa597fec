"""The commands: what each does is a function, whose parameters are its arguments and options."""

import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, cast

import typer

import hesitant
from hesitant._optional import need
from hesitant.cli import _analysis, _tables
from hesitant.cli import _options as o
from hesitant.cli._terminal import Terminal, in_options, reporting

_PLACES = "HESITANT_DATA, the cache, the sources"
Part = StrEnum("Part", ["table1", "table2", "full", "simulation", "figures"])
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
        print(f"hesitant {hesitant.__version__}")
        raise typer.Exit


_VERSION = o.plain("Print the version.", False, "--version", callback=_version, is_eager=True)


@app.callback()
def _root(version: Annotated[bool, _VERSION] = False) -> None:
    pass


def reproduce(
    terminal: Terminal,
    parts: Annotated[list[Part] | None, o.argument("parts", "[PART]...")] = None,
    replications: Annotated[int, o.plain("Of the simulation.", True, min=1)] = 100,
    out: Annotated[str, o.plain("Where the files go.", True, metavar="FOLDER")] = "hesitant-paper",
    data: Annotated[str | None, o.plain("data", _PLACES, metavar="FOLDER")] = None,
    resume: Annotated[bool, o.plain("resume", False, "--resume")] = False,
    force: Annotated[bool, o.plain("anew", False, "--force")] = False,
    seed: Annotated[int, o.plain("Of the simulation.", True, min=0)] = 1,
    jobs: o.Jobs = None,
    config: o.Config = None,
) -> None:
    """Reproduce the paper's tables, simulation and figures."""
    if resume and force:
        raise typer.BadParameter("--resume continues and --force starts again: choose one.")
    kept = f"finished replications of the simulation are kept in {out}, and --resume continues"
    with reporting(terminal, hesitant.studies.StudyError, stopped=kept):
        how: dict[str, Any] = {"data": data, "resume": resume, "force": force}
        how |= {"replications": replications, "n_jobs": -1 if jobs is None else jobs}
        how |= {"random_state": seed, "progress": not (terminal.json or terminal.quiet)}
        names = [str(part) for part in parts or ()] or None
        result = hesitant.studies.reproduce(names, out, **how)
        document = result.to_dict()
        for part in document["parts"].values():
            part["problems"] = [in_options(problem) for problem in part["problems"]]
        terminal.answer(document)
        terminal.say(in_options(str(result)))
        if result.exit_code:
            if terminal.quiet and not terminal.json:  # what went wrong is said all the same
                terminal.fail(in_options("; ".join(result.problems)))
            raise typer.Exit(result.exit_code)


def desk(
    table: Annotated[str, o.argument("A file, of any format that analyse reads.", "TABLE")],
    label: Annotated[str | None, o.data("labels", "asked on the page")] = None,
    id: o.Id = None,
    show: Annotated[str | None, o.data("show", metavar="COLUMN")] = None,
    features: o.Features = None,
    missing: o.Missing = None,
    reader: Annotated[str, o.plain("reader", True, metavar="NAME")] = "reader",
    audit: Annotated[float | None, o.plain("audit", "0.1", metavar="SHARE", min=0, max=1)] = None,
    port: Annotated[int, o.plain("port", True, min=0, max=65535)] = 0,
    no_browser: Annotated[bool, o.plain("no_browser", False, "--no-browser")] = False,
) -> None:
    """Sit down with a table: a case at a time, a class or "can't tell", and the model learns.

    Only this machine can reach the page. Answers go to TABLE.desk.sqlite beside the table, on disk
    before they are acknowledged; the table is never touched.
    """
    for module in ("starlette", "uvicorn"):
        need(module, "desk")
    if table == "-":
        raise ValueError("The desk keeps answers next to a file: save the table as one.")
    from hesitant.desk import Desk, serve

    named = [part.strip() for part in ",".join(features).split(",")] if features else None
    chosen = {"label": label, "id": id, "show": show, "features": named, "blank": missing}
    open_desk = Desk(table, reader, audit=audit, **chosen)
    with closing(open_desk), suppress(KeyboardInterrupt):
        serve(open_desk, port=port, browser=not no_browser)
    Terminal().say(f"The desk is closed. Every answer is in {open_desk.journal.path}.")


def _register(work: Callable[..., None], short_help: str | None) -> None:
    """Make a command of a function; dataclasses among its parameters are groups of options."""
    flat: list[Parameter] = []
    groups: dict[str, Any] = {}
    for given in signature(work, eval_str=True).parameters.values():
        if is_dataclass(given.annotation):
            groups[given.name] = group = cast("Any", given.annotation)
            first, own = getattr(group, "first", ()), signature(group, eval_str=True).parameters
            flat += sorted(own.values(), key=lambda p: [*first, p.name].index(p.name))
        elif given.kind is not Parameter.VAR_KEYWORD:  # which only another function gives
            flat.append(given)

    @wraps(work)
    def command(**given: Any) -> None:
        made = {}
        for name, group in groups.items():
            made[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        with reporting(made.get("terminal") or Terminal()):
            work(**given, **made)

    flat = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in flat]
    command.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in flat}
    app.command(short_help=short_help)(command)


_register(_analysis.analyse, "Fit a model to a table, and report on it.")
_register(_tables.predict, None)
_register(_analysis.compare, "Rank models of a table.")
_register(_tables.simulate, "Draw data to play with.")
_register(_analysis.demo, "Analyse built-in data.")
_register(reproduce, "Reproduce the paper.")
_register(desk, "Answer cases on a local page; the model learns at once.")
