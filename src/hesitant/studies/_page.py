"""``paper.html``: our numbers beside the printed ones, on one page that needs nothing else."""

from __future__ import annotations

import base64
import json
import math
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
    """Write ``results.json``, what `Reproduction.to_dict` returns, and the page of it.

    Parts that this run did not make are those of earlier runs in the folder.
    """
    record = folder / "results.json"
    known = {**_earlier(record), **content["parts"]}
    parts = {name: known[name] for name in order if name in known}
    text = json.dumps(plain({**content, "parts": parts}), indent=1) + "\n"
    files = [write_atomically(record, text, force=True)]
    environment = templates("hesitant.studies")
    signed = partial(decimals, signed=True)
    environment.filters |= {"number": decimals, "signed": signed, "p": _p}
    environment.filters["whole"] = partial(decimals, digits=0)
    page = environment.get_template("paper.html.j2").render(
        parts=parts,
        problems=_problems(parts),
        settings=content["settings"],
        datasets=[_dataset(name, parts) for name in PRINTED],
        simulation=_tables(parts, "simulation"),
        figures=_figures(folder, parts),
        measures=MEASURES,
    )
    return [*files, write_atomically(folder / "paper.html", page, force=True)]


def _earlier(record: Path) -> dict[str, Any]:
    try:
        parts = json.loads(record.read_text(encoding="utf-8"))["parts"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # none, or not ours: this run's parts are enough
    return parts if isinstance(parts, dict) else {}


def _p(value: float | None) -> str:
    """Return a p-value in words that do not pretend to more than is known."""
    return "< 0.0001" if value is not None and value < 1e-4 else decimals(value, 4)


def _problems(parts: dict[str, Any]) -> dict[str, str]:
    """Return each problem once, with the parts that have it."""
    out: dict[str, str] = {}
    for name, part in parts.items():
        for problem in part["problems"]:
            out[problem] = f"{out[problem]}, {name}" if problem in out else name
    return out


def _tables(parts: dict[str, Any], name: str) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = parts.get(name, {}).get("tables", {})
    return tables


def _dataset(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return all that the page says of a data set; lists are empty where a part was not made."""

    def rows(part: str, table: str) -> list[Row]:
        return [r for r in _tables(parts, part).get(table, []) if r["dataset"] == name]

    readings: dict[str, Row] = {}
    for row in (*rows("table1", "table1"), *rows("table2", "table2")):
        readings.setdefault(row["reading"], {}).update(row)
    nearest = next((r for r in readings.values() if r["nearest"]), None)
    return {
        "name": name,
        "family": _FAMILIES[PRINTED[name].family],
        "printed": PRINTED[name],
        "readings": list(readings.values()),
        "main": next((r for r in readings.values() if r["main"]), None),
        "nearest": nearest,
        "higher": 0.0 if nearest is None else _from_our_start(nearest, readings),
        "full": rows("full", "full"),
        "parameters": rows("full", "full_parameters"),
        "moved": rows("full", "full_moved"),
    }


def _from_our_start(nearest: Row, readings: dict[str, Row]) -> float:
    """Return how much higher a likelihood the same model reaches from our own start."""
    same = readings.get(nearest["reading"].replace("start: labelled rows", "start: ours"))
    return -math.inf if same is None else same["log_likelihood"] - nearest["log_likelihood"]


def _figures(folder: Path, parts: dict[str, Any]) -> dict[str, str]:
    """Return the figures that are there, as data that can stand in the page."""
    files = [folder / file for file in parts.get("figures", {}).get("files", [])]
    return {
        path.stem: f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        for path in files
        if path.suffix == ".png" and path.exists()
    }
