"""The parts of the paper: what each computes, and the files it writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hesitant.studies._estimators import Row
from hesitant.studies._output import write_table
from hesitant.studies._result import Part
from hesitant.studies._summary import findings, summarise
from hesitant.studies._workshop import Workshop

__all__ = ["PARTS", "make_part"]


def make_part(name: str, workshop: Workshop) -> Part:
    """Make one part; whatever goes wrong is said in the part and stops nothing else."""
    begun = time.perf_counter()
    part = Part(name)
    try:
        PARTS[name](workshop, part)
    except Exception as error:
        _note(part, error)
    taken = time.perf_counter() - begun
    return Part(name, taken, part.files, part.problems, part.tables, part.errors)


def _note(part: Part, *errors: Exception) -> None:
    for error in errors:
        # Messages of the package stand for themselves; others need the kind of error.
        known = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
        words = str(error) if known else f"{type(error).__name__}: {error}"
        if words not in part.problems:  # a file that is missing is missed more than once
            part.errors.append(error)
            part.problems.append(words)


def _keep(part: Part, workshop: Workshop, name: str, rows: list[Row]) -> None:
    """Keep a table in the part and on disk, unless there is nothing in it."""
    part.tables[name] = rows
    if rows:
        part.files.append(write_table(workshop.folder / f"{name}.csv", rows))


def _table1(workshop: Workshop, part: Part) -> None:
    from hesitant.studies._real import table1

    _readings(workshop, part, table1)


def _table2(workshop: Workshop, part: Part) -> None:
    from hesitant.studies._real import table2

    _readings(workshop, part, table2)


def _readings(workshop: Workshop, part: Part, arrange: Callable[[list[Row]], list[Row]]) -> None:
    done, errors = workshop.each_dataset(workshop.compared)
    _note(part, *errors)
    _keep(part, workshop, part.name, arrange([row for rows in done.values() for row in rows]))


def _full(workshop: Workshop, part: Part) -> None:
    done, errors = workshop.each_dataset(workshop.full)
    _note(part, *errors)
    tables = {"full": "summary", "full_parameters": "parameters", "full_moved": "moved"}
    for name, attribute in tables.items():
        rows = [row for made in done.values() for row in getattr(made, attribute)]
        _keep(part, workshop, name, rows)


def _simulation(workshop: Workshop, part: Part) -> None:
    rows = workshop.simulation()
    part.files.append(write_table(workshop.folder / "simulation.csv", rows))
    _keep(part, workshop, "simulation_summary", summarise(rows))
    part.tables["findings"] = findings(rows)


def _figures(workshop: Workshop, part: Part) -> None:
    from hesitant.studies._figures import figures

    for name, draw in figures(workshop):
        try:
            part.files.extend(draw(workshop.folder / name))
        except Exception as error:
            _note(part, error)


PARTS: dict[str, Callable[[Workshop, Part], Any]] = {
    "table1": _table1,
    "table2": _table2,
    "full": _full,
    "simulation": _simulation,
    "figures": _figures,
}
"""In the order in which they are made: the figures draw what the others have computed."""
