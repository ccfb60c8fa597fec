"""``paper.html``: our numbers beside the printed ones, on one page that needs nothing else."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from hesitant._optional import need
from hesitant.studies._estimators import Row
from hesitant.studies._figures import CAPTIONS
from hesitant.studies._printed import PRINTED
from hesitant.studies._words import OPEN, about_full, about_readings
from hesitant.tables import write_atomically

__all__ = ["write_page"]

_MEASURES = {"adjusted_rand": "adjusted Rand index", "log_loss": "total log loss"}
_FAMILIES = {"skew_t": "skew-t", "t": "Student-t"}


def write_page(folder: Path, content: dict[str, Any]) -> Path:
    """Write the page.

    Parameters
    ----------
    folder : Path
        Where the figures are and the page goes.
    content : dict
        What `Reproduction.to_dict` returns.
    """
    jinja2 = need("jinja2", "cli")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hesitant.studies"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "p": _p, "whole": _whole}
    parts = content["parts"]
    page = environment.get_template("paper.html.j2").render(
        parts=parts,
        problems=_problems(parts),
        settings=content["settings"],
        datasets=[_dataset(name, parts) for name in PRINTED],
        simulation=_tables(parts, "simulation"),
        figures=_figures(folder, parts),
        measures=_MEASURES,
    )
    return write_atomically(folder / "paper.html", page, force=True)


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

    readings = _joined(rows("table1", "table1"), rows("table2", "table2"))
    full = rows("full", "full")
    return {
        "name": name,
        "family": _FAMILIES[PRINTED[name].family],
        "printed": PRINTED[name],
        "readings": readings,
        "main": next((r for r in readings if r["main"]), None),
        "nearest": next((r for r in readings if r["nearest"]), None),
        "words": about_readings(readings) if readings else [],
        "open": OPEN[name],
        "full": full,
        "full_words": about_full(full) if full else [],
        "parameters": rows("full", "full_parameters"),
        "moved": rows("full", "full_moved"),
    }


def _joined(first: list[Row], second: list[Row]) -> list[Row]:
    """Return rows of both tables, those of the same reading as one."""
    by_reading = {row["reading"]: dict(row) for row in first}
    for row in second:
        by_reading.setdefault(row["reading"], {}).update(row)
    return list(by_reading.values())


def _figures(folder: Path, parts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the figures that are there, as data that can stand in the page."""
    out = {}
    for file in parts.get("figures", {}).get("files", []):
        path = folder / file
        if path.suffix == ".png" and path.exists():
            data = base64.b64encode(path.read_bytes()).decode()
            out[path.stem] = {
                "source": f"data:image/png;base64,{data}",
                "caption": CAPTIONS[path.stem],
            }
    return out


def _number(value: Any, digits: int = 2) -> str:
    """Return a number with so many decimals, an en dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def _whole(value: Any) -> str:
    return _number(value, 0)


def _p(value: Any) -> str:
    """Return a p-value in words that do not pretend to more than is known."""
    if value is None:
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"
