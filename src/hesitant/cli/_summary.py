"""What a person reads at the terminal when a command is done."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hesitant._words import noun, number, percent, short
from hesitant.cli._mistakes import in_options
from hesitant.cli._terminal import Terminal

if TYPE_CHECKING:
    from hesitant.cli._analysis import Outputs
    from hesitant.report import Report

_LISTED = 12  # features that are named; the report has them all


def print_analysis(
    report: "Report",
    outputs: "Outputs",
    terminal: Terminal,
    also: Mapping[str, os.PathLike[str]] | None = None,
) -> None:
    """Print the verdict, the counts, the mechanism and where the files are."""
    document = report.to_dict()
    files = {
        **{k: str(v) for k, v in (also or {}).items()},
        "report": str(outputs.report),
        "predictions": str(outputs.predictions),
        "model": str(outputs.model),
    }
    terminal.answer({"files": files, **document})
    verdict, labels = document["verdict"], document["labels"]
    terminal.heading(verdict["headline"])
    for paragraph in verdict["paragraphs"]:
        terminal.say(in_options(paragraph))
    for caution in verdict["cautions"]:
        terminal.say(in_options(f"Caution: {caution}"))
    terminal.say(_features(document))
    terminal.heading("Labels and blanks")
    terminal.table(
        ("class", "labelled", "blank, expected", "missing"),
        [
            (
                row["class"],
                f"{row['labelled']:,}",
                f"{round(row['blank_expected']):,}",
                percent(row["blank_share"]),
            )
            for row in labels["classes"]
        ],
    )
    if not labels["not_reviewed"]:
        terminal.say("All rows were taken as shown to the expert: a blank is a withheld label.")
    mechanism = _mechanism_rows(document)
    if mechanism:
        terminal.heading("Chance of a label (logit scale)")
        terminal.table(("", "estimate", "lower", "upper"), mechanism)
    terminal.heading("Files")
    for what, path in files.items():
        terminal.path(what, path)


def _features(document: dict[str, Any]) -> str:
    """Say which columns were used, because nobody may have named them."""
    used, columns = document["features"], document["repeat"]["data"]["features"]
    shown = ", ".join(short(name) for name in columns[:_LISTED])
    if len(columns) > _LISTED:
        shown += f" and {len(columns) - _LISTED:,} more"
    if used == columns:
        return f"Features: {shown}."
    return f"Features: {noun(len(used), 'principal component')} of {shown}."


def _mechanism_rows(document: dict[str, Any]) -> list[tuple[str, ...]]:
    for group in document["parameters"]["groups"]:
        if group["title"] == "Labelling mechanism":
            return [
                (row["of"], *(number(row[k]) for k in ("estimate", "lower", "upper")))
                for row in group["rows"]
            ]
    return []


def print_predictions(done: dict[str, Any], terminal: Terminal) -> None:
    """Print how many rows went to which class."""
    if done["out"] == "-":
        return
    terminal.answer(done)
    terminal.table(("predicted", "rows"), [(k, f"{v:,}") for k, v in done["predicted"].items()])
    terminal.path("predictions", done["out"])


def print_simulation(data: Any, label: str, out: str, terminal: Terminal) -> None:
    """Print what was drawn, and what to do with it."""
    terminal.answer({"out": out, "rows": len(data), "blank": data.n_blank, "label": label})
    terminal.say(f"{noun(len(data), 'row')}, {data.n_blank:,} without a label, in {out}")
    terminal.say(f"Next: hesitant analyse {out} --label {label}")
