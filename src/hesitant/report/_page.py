"""The summary and the pictures as one HTML page that needs nothing else."""

import base64
import hashlib
from functools import cache
from typing import Any

from hesitant._optional import need
from hesitant._words import count, number, percent, short, shorten_in, together
from hesitant.report._case import Case
from hesitant.report._data_picture import (
    COLORS,
    MOST_BLANK,
    MOST_LABELLED,
    change_pictures,
    class_css,
    data_pictures,
)
from hesitant.report._entropy_picture import entropy_pictures
from hesitant.report._tables import SHOWN_TRIAGE, tables

__all__ = ["render"]

CONTENTS = (
    ("labels", "Missing labels"),
    ("evidence", "About difficulty?"),
    ("data", "Data and classes"),
    ("change", "What changes"),
    ("parameters", "Parameters"),
    ("triage", "Triage"),
    ("method", "Method and caveats"),
    ("repeat", "To repeat this"),
)
MOST_NAMED = 16


def render(case: Case, summary: dict[str, Any]) -> str:
    """Return the page."""
    environment, style, script = _environment()
    names = [*case.classes, *case.features]
    table = environment.get_template("table.html.j2")

    def table_html(made: Any) -> Any:
        return environment.filters["trusted"](table.render(table=made))

    environment.filters["clean"] = lambda text: short(shorten_in(text, names), 1200)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pictures = {
        "entropy": entropy_pictures(case.diagnosis),
        "data": data_pictures(case),
        "change": change_pictures(case),
    }
    for group in pictures.values():
        for picture in group:
            picture["svg"] = environment.filters["trusted"](picture["svg"])
    return environment.get_template("report.html.j2").render(
        **summary,
        **tables(summary),
        macro_table=table_html,
        contents=CONTENTS,
        figures=_figures(summary),
        legend=[
            {"name": name, "css": class_css(h)} for h, name in enumerate(case.classes[:MOST_NAMED])
        ],
        more_classes=max(0, len(case.classes) - MOST_NAMED),
        pictures=pictures,
        drawn_note=_drawn_note(case),
        change_words=_change_words(summary["change"]),
        triage_words=_triage_words(summary["triage"]),
        style=environment.filters["trusted"](style),
        script=environment.filters["trusted"](script),
        script_hash=f"sha256-{digest}",
    )


@cache
def _environment() -> tuple[Any, str, str]:
    """Return the templates' environment, the style sheet and the script.

    Everything is escaped unless this module says otherwise: names come from files of strangers.
    """
    jinja2, markupsafe = need("jinja2", "cli"), need("markupsafe", "cli")
    loader = jinja2.PackageLoader("hesitant.report")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: together(value) if type(value) is str else value,
    )
    environment.filters.update(
        count=count,
        number=number,
        percent=percent,
        short=short,
        cut=lambda text, most: text if len(text) <= most else text[:most] + " …",
        clean=short,
        trusted=markupsafe.Markup,
    )
    style, script = (loader.get_source(environment, name)[0] for name in ("style.css", "sort.js"))
    return environment, style, script


def _figures(summary: dict[str, Any]) -> list[dict[str, str]]:
    labels, change = summary["labels"], summary["change"]
    out = [
        {"what": "rows", "value": count(labels["rows"])},
        {"what": "without a label", "value": percent(labels["blank_share"])},
    ]
    harder = summary["evidence"]["harder_share"]
    if harder is not None:
        out.append({"what": "of pairs: the blank row is the harder", "value": percent(harder)})
    if change["available"]:
        out.append(
            {"what": "rows change class when blanks are used", "value": count(change["moved"])}
        )
    return out


def _drawn_note(case: Case) -> str:
    labelled, blank = int(case.labels.labelled.sum()), int(case.blank.sum())
    p = len(case.features)
    text = ""
    if labelled > MOST_LABELLED or blank > MOST_BLANK:
        text = (
            f"Drawn: {min(labelled, MOST_LABELLED):,} of {labelled:,} labelled and "
            f"{min(blank, MOST_BLANK):,} of {blank:,} blank rows, chosen at random. "
        )
    if p > 3:
        text += f"Of {p:,} features, the three that tell the classes apart best. "
    if len(case.classes) > COLORS:
        text += "Colours repeat after the eighth class. "
    if p > 1:
        alone = "" if p == 2 else " from these two features alone"
        text = f"Shading: the class the model would choose{alone}. {text}"
    return text + ("Point at a blank row to see what the model makes of it." if blank else "")


def _change_words(change: dict[str, Any]) -> str:
    if not change["available"]:
        return ""
    text = (
        "The same classes were fitted twice: once ignoring which labels are missing, once using "
        f"it. {_moved_words(change['moved'], change['moved_blank'])}. The model's own estimate of "
        f"how often it errs goes from "
        f"{percent(change['error_without'])} to {percent(change['error_with'])}"
    )
    if change["agreement_with"] is not None:
        text += (
            "; it agrees with the given labels in "
            f"{percent(change['agreement_without'])} of rows before and "
            f"{percent(change['agreement_with'])} after"
        )
    gain = change["precision_gain"]
    if gain is not None:
        more = "more" if gain >= 1 else "fewer"
        text += (
            f". Variances of the class parameters change, in the median, by a factor of "
            f"{number(1 / gain, 3)}: as if there were {percent(abs(gain - 1))} {more} rows"
        )
    return text + "."


def _moved_words(moved: int, blank: int) -> str:
    if not moved:
        return "No row changes class"
    if moved == 1:
        return f"1 row, {'blank' if blank else 'labelled'}, changes class"
    which = {0: "none", moved: "all"}.get(blank, f"{blank:,}")
    return f"{moved:,} rows change class, {which} of them blank"


def _triage_words(triage: dict[str, Any]) -> str:
    shown = min(triage["total"], SHOWN_TRIAGE)
    text = f"{triage['explanation']} "
    if shown < triage["total"]:
        text += f"The first {shown:,} of {triage['total']:,} are listed. "
    return text + "Where the page may run its script, a click on a heading sorts the table."
