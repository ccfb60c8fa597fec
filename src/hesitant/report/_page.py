"""The summary and the pictures as one HTML page that needs nothing else."""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hesitant._drawing import COLORS
from hesitant._optional import need, templates
from hesitant._words import as_written, noun, number, p_value, percent, short, shorten_in, together
from hesitant.report._case import MOST_BLANK, MOST_LABELLED, Case
from hesitant.report._pictures import class_css, pictures

MOST_NAMED, MOST_CLASSES = 16, 12


def render(case: Case, summary: dict[str, Any]) -> str:
    """Return the page."""
    trusted = need("markupsafe", "cli").Markup
    # Everything is escaped unless it says otherwise here: names come from files of strangers.
    environment = templates(
        "hesitant.report", finalize=lambda value: together(value) if type(value) is str else value
    )
    names, printers = [*case.classes, *case.features], _printers(case)
    environment.filters |= {
        "count": "{:,}".format,
        "percent": percent,
        "short": short,
        "option": _option,
        "noun": noun,
        "cut": lambda text, most: text if len(text) <= most else text[:most] + " …",
        "clean": lambda text: short(shorten_in(text, names), 1200),
        "show": lambda value, how: printers[how](value),
    }
    sources = (environment.loader.get_source(environment, k)[0] for k in ("style.css", "page.js"))
    style, script = map(trusted, sources)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    drawn, counts = pictures(case, summary["held_out"]), summary["labels"]
    drawn_rows = (counts["labelled"], MOST_LABELLED), (counts["blank"], MOST_BLANK)
    return environment.get_template("report.html.j2").render(
        **summary,
        across=_across,
        lists=_lists(summary),
        css={name: class_css(h) for h, name in enumerate(case.classes)},
        most_named=MOST_NAMED,
        pictures={name: trusted(svg) for name, svg in drawn.items()},
        drawn=[(min(n, most), n) for n, most in drawn_rows],
        colours=len(COLORS),
        points=trusted(_points(case, summary["held_out"]["contradicted"])),
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
    )


def _points(case: Case, contradicted: bool) -> str:
    """Return what the page can say of the rows it draws, as JSON that ends no script."""
    told = {}
    for i in case.drawn.tolist():
        first, second = np.argsort(-case.posterior[i], kind="stable")[:2]
        words = [("row " if case.ids is None else "") + short(case.name_of(i), 40)]
        if not case.blank[i]:
            words.append(f"label {short(case.classes[case.labels.codes[i]])}")
        if case.unusual[i]:
            words.append("fits no class")
        elif contradicted:
            words.append(f"nearest to {short(case.classes[first])}")
        else:
            sure = ((case.classes[h], _chance(case.posterior[i, h])) for h in (first, second))
            words += [f"{short(name)} {chance}" for name, chance in sure]
        values = ((case.features[j], case.values[i, j]) for j in case.leading[:4])
        words += [f"{short(name, 20)} {as_written(value)}" for name, value in values]
        told[i] = together(" · ".join(words))
    return json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")


def _printers(case: Case) -> dict[str, Callable[[Any], str]]:
    names = [*case.classes, *case.features]
    return {
        "text": str,
        "name": short,
        "row": lambda value: short(value, 30),
        "long": lambda value: short(value, 60),
        "parameter": lambda value: short(shorten_in(value, names), 90),
        "count": lambda value: "–" if value is None else f"{round(value):,}",
        "percent": percent,
        "chance": _chance,
        "bar": percent,
        "only bar": lambda value: "",
        "number": number,
        "rough": lambda value: number(value, 3),
        "value": as_written,
        "p": lambda p: p_value(p).removeprefix("p ").removeprefix("= "),
    }


def _chance(value: float) -> str:
    return percent(min(value, 1 - 1e-9))  # however it is rounded, it is no certainty


def _across(names: Sequence[str], how: str, form: str = "{}") -> list[tuple[str, int, str]]:
    """Return a column for each name, of a record's "values"."""
    return [(form.format(short(name, 20)), k, how) for k, name in enumerate(names)]


def _lists(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what tables show that the summary has in another form."""
    readers, classes, held_out = (summary[k] for k in ("readers", "classes", "held_out"))
    tests, few = summary["evidence"]["tests"], len(classes) <= MOST_CLASSES
    counted = held_out["confusion"] if held_out["available"] and few else ()
    agreement = zip(readers["names"], readers["agreement"], strict=True) if readers else ()
    told = zip(readers["names"], readers["confusion"] or (), strict=False) if readers else ()
    return {
        "tests": [{**t, "how": ": ".join(filter(None, (t["method"], t["note"])))} for t in tests],
        "confusion": [
            {"label": classes[h], "values": n, "right": n[h] / sum(n) if any(n) else None}
            for h, n in enumerate(counted)
        ],
        "agreement": [{"reader": name, "values": line} for name, line in agreement],
        "reader_confusion": [
            {"reader": name, "class": classes[h], "values": line}
            for name, matrix in told
            for h, line in enumerate(matrix)
        ],
    }


def _option(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        value = ", ".join(short(v) for v in value)
    return "–" if value in (None, "") else short(value, 300)
