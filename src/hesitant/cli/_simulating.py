"""Data to play with, and the demonstration."""

from pathlib import Path
from typing import Any

from hesitant.cli._data import TableOptions
from hesitant.cli._predictions import check_target, write_frame
from hesitant.cli._terminal import Terminal

DEMO_ROWS = 2000


def simulate(
    n: int, kind: str, out: str, terminal: Terminal, *, truth: bool, seed: int, force: bool
) -> None:
    """Draw a table and write it."""
    from hesitant.cli._summary import print_simulation

    check_target(out, force=force)
    data = _draw(kind, n, seed)
    frame = data.to_frame(_label(kind))
    if truth:
        frame["truth"] = data.truth
    write_frame(frame, out, force=force)
    if out != "-":
        print_simulation(data, _label(kind), out, terminal)


def demo(out: str, terminal: Terminal, *, force: bool) -> None:
    """Write invented cells to a folder and analyse them as a user would."""
    from hesitant.cli._analysis import analyse, output_files
    from hesitant.cli._app import ModelOptions
    from hesitant.cli._summary import print_analysis

    table = Path(out) / "cells.csv"
    outputs = output_files(str(table), None)
    outputs.check(force)
    frame = _draw("cytometry", DEMO_ROWS, seed=1).to_frame(_label("cytometry"))
    frame.insert(0, "cell", [f"cell-{i + 1:04d}" for i in range(len(frame))])
    write_frame(frame, str(table), force=force)
    terminal.say(
        f"{DEMO_ROWS:,} invented cells, four populations, three markers; those between the "
        "populations are mostly left ungated."
    )
    model = ModelOptions()
    read = TableOptions(str(table), label=_label("cytometry"), id="cell")
    report = analyse(read, model, outputs, terminal, force=force)
    print_analysis(report, outputs, terminal, also={"data": table})
    terminal.say(f"To answer yourself: hesitant desk {table} --label population --id cell")


def _draw(kind: str, n: int, seed: int) -> Any:
    from hesitant import datasets

    if kind == "cytometry":
        return datasets.make_cytometry_like(n, random_state=seed)
    return datasets.simulate(n, random_state=seed)


def _label(kind: str) -> str:
    return "population" if kind == "cytometry" else "label"
