"""``paper.html``: our numbers beside the printed ones, on one page that needs nothing else."""

import base64
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hesitant._optional import templates
from hesitant._result import plain
from hesitant._words import decimals
from hesitant.studies._checkpoint import Row
from hesitant.studies._figures import MEASURES
from hesitant.studies._real import PRINTED
from hesitant.tables import write_atomically

_FAMILIES = {"skew_t": "skew-t", "t": "Student-t"}


def write_page(folder: Path, content: dict[str, Any], order: Sequence[str]) -> list[Path]:
    """Write ``results.json`` and the page of it; parts not made are those of earlier runs."""
    record = folder / "results.json"
    try:
        earlier = dict(json.loads(record.read_text(encoding="utf-8"))["parts"])
    except (OSError, ValueError, KeyError, TypeError):
        earlier = {}  # none, or not ours: this run's parts are enough
    known = {**earlier, **content["parts"]}
    parts = {name: known[name] for name in order if name in known}
    text = json.dumps(plain({**content, "parts": parts}), indent=1) + "\n"
    problems: dict[str, list[str]] = {}  # each once, with the parts that have it
    for name, part in parts.items():
        for problem in part["problems"]:
            problems.setdefault(problem, []).append(name)
    environment = templates("hesitant.studies")
    environment.filters |= {
        "number": decimals,
        "signed": partial(decimals, signed=True),
        "whole": partial(decimals, digits=0),
        "p": _p,
    }
    files = [folder / file for file in parts.get("figures", {}).get("files", [])]
    pictures = {
        path.stem: f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        for path in files
        if path.suffix == ".png" and path.exists()
    }
    tables = {k: rows for part in parts.values() for k, rows in part["tables"].items()}
    page = environment.get_template("paper.html.j2").render(
        parts=parts,
        problems={problem: ", ".join(names) for problem, names in problems.items()},
        settings=content["settings"],
        datasets=[_dataset(name, tables) for name in PRINTED],
        simulation=parts.get("simulation", {}).get("tables", {}),
        figures=pictures,
        measures=MEASURES,
    )
    return [
        write_atomically(record, text, force=True),
        write_atomically(folder / "paper.html", page, force=True),
    ]


def _p(value: float | None) -> str:
    """Return a p-value in words that do not pretend to more than is known."""
    return "< 0.0001" if value is not None and value < 1e-4 else decimals(value, 4)


def _dataset(name: str, tables: dict[str, list[Row]]) -> dict[str, Any]:
    """Return all that the page says of a data set; lists are empty where a part was not made."""

    def rows(table: str) -> list[Row]:
        return [row for row in tables.get(table, []) if row["dataset"] == name]

    readings: dict[str, Row] = {}
    for row in (*rows("table1"), *rows("table2")):
        readings.setdefault(row["reading"], {}).update(row)
    main, nearest = (
        next((r for r in readings.values() if r[k]), None) for k in ("main", "nearest")
    )
    higher = 0.0
    if nearest is not None:  # how much more likely the same model becomes from our own start
        ours = nearest["reading"].replace("start: labelled rows", "start: ours")
        higher = readings.get(ours, nearest)["log_likelihood"] - nearest["log_likelihood"]
    return {
        "name": name,
        "family": _FAMILIES[PRINTED[name].family],
        "printed": PRINTED[name],
        "readings": list(readings.values()),
        "main": main,
        "nearest": nearest,
        "higher": higher,
        "full": rows("full"),
        "parameters": rows("full_parameters"),
        "moved": rows("full_moved"),
    }
