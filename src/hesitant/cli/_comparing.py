"""``hesitant compare``: which family, covariance and mechanism explain a table best."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hesitant.cli import _options as o
from hesitant.cli._analysis import prepare
from hesitant.cli._data import learn, table_notes
from hesitant.cli._mistakes import in_options
from hesitant.cli._predictions import check_target
from hesitant.cli._terminal import Terminal

_Names = list[str] | None


def _known(option: str, given: Sequence[str], known: Sequence[str]) -> list[str]:
    # a comma-separated list does as well as a repeated option
    names = [part.strip() for value in given for part in value.split(",") if part.strip()]
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"{option}: {name[:60]!r} is not one of {', '.join(known)}.")
    return list(dict.fromkeys(names))


def compare(
    table: o.TableOptions,
    *,
    family: Annotated[_Names, o.model("families", "all", metavar="NAME")] = None,
    covariance: Annotated[_Names, o.model("covariances", "full and tied", metavar="NAME")] = None,
    mechanism: Annotated[_Names, o.model("mechanisms", "entropy and none", metavar="NAME")] = None,
    folds: Annotated[int, o.model("folds", True, **o.within(2))] = 5,
    standardise: o.Standardise = False,
    pca: o.Pca = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    terminal: Terminal,
    out: Annotated[str | None, o.output("ranking", metavar="FILE")] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Rank families, covariances and mechanisms by how well they explain a table."""
    mechanisms = _known("--mechanism", mechanism or ["entropy", "none"], o.MECHANISMS)
    grid: dict[str, list[Any]] = {
        "family": _known("--family", family or o.FAMILIES, o.FAMILIES),
        "covariance": _known("--covariance", covariance or ["full", "tied"], o.COVARIANCES),
        "mechanism": [None if m == "none" else m for m in mechanisms],
        "random_state": [seed],
    }
    from hesitant.inference import compare as rank
    from hesitant.tables import write_table

    if out is not None:
        check_target(out, force=force, keep=table.inputs)
    with terminal.stage("Reading"):
        _, columns, notes = learn(table, gaps=False)  # not every candidate can do with them
    notes += table_notes(columns)
    for note in notes:
        terminal.note(note)
    X, _ = prepare(columns, standardise, pca)
    total = len(grid["family"]) * len(grid["covariance"]) * len(grid["mechanism"])
    with terminal.stage(f"Fitting {total} models, {folds + 1} times each"):
        result = rank(
            X,
            columns.said,
            grid,
            cv=folds,
            sample_weight=columns.weight,
            reviewed=columns.reviewed if columns.opinions is None else None,
            missing_label=None,
            random_state=seed,
            n_jobs=-1 if jobs is None else jobs,
        )
    if out is not None:
        write_table(result.to_frame(), out, force=force)
    terminal.answer({"out": out, "notes": notes, **result.to_dict()})
    terminal.say(in_options(str(result)), wrap=False)
    if out is not None:
        terminal.path("ranking", out)
