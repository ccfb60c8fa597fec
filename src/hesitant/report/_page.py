"""The summary and the pictures as one HTML page that needs nothing else."""

import base64
import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from hesitant._optional import need
from hesitant._words import (
    count,
    noun,
    number,
    p_value,
    percent,
    short,
    shorten_in,
    together,
)
from hesitant.report._case import Case
from hesitant.report._pictures import (
    COLORS,
    MOST_BLANK,
    MOST_LABELLED,
    class_css,
    pictures,
)

CONTENTS = {
    "labels": "Missing labels",
    "data": "Rows and classes",
    "accuracy": "How often is it right?",
    "triage": "What to look at again",
    "readers": "The readers",
    "evidence": "About difficulty?",
    "change": "What the blanks change",
    "details": "Details",
}
MOST_NAMED, MOST_ROWS, SHOWN_TRIAGE, PRINTED, MOST_CLASSES = 16, 500, 200, 15, 12
UNBROKEN = 24  # characters of a name that stay on one line, also on a phone


def render(case: Case, summary: dict[str, Any]) -> str:
    """Return the page."""
    environment, style, script = _environment()
    names = [*case.classes, *case.features]
    trusted = environment.filters["trusted"]
    environment.filters["clean"] = lambda text: short(shorten_in(text, names), 1200)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    drawn = pictures(case, summary["held_out"])
    for picture in drawn.values():
        picture["svg"] = trusted(picture["svg"])
    return environment.get_template("report.html.j2").render(
        **summary,
        tables=_tables(summary),
        contents={k: v for k, v in CONTENTS.items() if k != "readers" or summary["readers"]},
        figures=_figures(summary),
        legend=[(name, class_css(h)) for h, name in enumerate(case.classes[:MOST_NAMED])],
        more_classes=max(0, len(case.classes) - MOST_NAMED),
        pictures=drawn,
        drawn_note=_drawn_note(case),
        change_words=_change_words(summary["change"]),
        points=trusted(_points(case, summary)),
        style=trusted(style),
        script=trusted(script),
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
        short=short,
        cut=lambda text, most: text if len(text) <= most else text[:most] + " …",
        clean=short,
        trusted=markupsafe.Markup,
    )
    style, script = (loader.get_source(environment, name)[0] for name in ("style.css", "page.js"))
    return environment, style, script


# -- sentences ------------------------------------------------------------------------------------


def _figures(summary: dict[str, Any]) -> list[tuple[str, str]]:
    labels, held_out = summary["labels"], summary["held_out"]
    out = [
        (count(labels["rows"]), "row" if labels["rows"] == 1 else "rows"),
        (percent(labels["blank_share"]), "without a label"),
    ]
    if held_out["available"]:
        out.append((percent(held_out["accuracy"]), "right on held-out labels"))
        if held_out["all_rows"] is not None and labels["blank"]:
            out.append((percent(held_out["all_rows"]), "right on all rows, estimated"))
    return out


def _drawn_note(case: Case) -> str:
    labelled, blank = int(case.labels.labelled.sum()), int(case.blank.sum())
    text = ""
    if labelled > MOST_LABELLED or blank > MOST_BLANK:
        text = (
            f"Drawn: {min(labelled, MOST_LABELLED):,} of {labelled:,} labelled and "
            f"{min(blank, MOST_BLANK):,} of {blank:,} blank rows, chosen at random. "
        )
    if len(case.classes) > COLORS:
        text += f"Colours repeat after {COLORS} classes. "
    return text


def _change_words(change: dict[str, Any]) -> str:
    if not change["available"]:
        return ""
    text = (
        "The same classes were fitted twice: once ignoring which labels are missing, once using "
        f"it. {moved_words(change['moved'], change['moved_blank'])}."
    )
    gain = change["precision_gain"]
    if gain is not None:
        text += (
            " Variances of the class parameters change, in the median, by a factor of "
            f"{number(1 / gain, 3)}: as if there were {percent(abs(gain - 1))} "
            f"{'more' if gain >= 1 else 'fewer'} rows."
        )
    return text


def moved_words(moved: int, blank: int) -> str:
    """Say how many rows change class, and how many of them are blank."""
    if not moved:
        return "No row changes class"
    if moved == 1:
        return f"1 row, {'blank' if blank else 'labelled'}, changes class"
    which = {0: "none", moved: "all"}.get(blank, f"{blank:,}")
    return f"{moved:,} rows change class, {which} of them blank"


def _points(case: Case, summary: dict[str, Any]) -> str:
    """Return what the page can say of the rows it draws, as JSON that ends no script."""
    from hesitant.report._pictures import _drawn

    shown = _drawn(case)
    first, second = np.argsort(-case.posterior[shown], axis=1, kind="stable")[:, :2].T
    told = {}
    for i, a, b in zip(shown, first, second, strict=True):
        words = [short(case.name_of(int(i)), 40)]
        words[0] = f"row {words[0]}" if case.ids is None else words[0]
        if not case.blank[i]:
            words.append(f"label {short(case.classes[case.labels.codes[i]])}")
        if case.unusual[i]:
            words.append("fits no class")
        elif summary["held_out"]["contradicted"]:
            words.append(f"nearest to {short(case.classes[a])}")
        else:
            tau = case.posterior[i]
            words += [f"{short(case.classes[k])} {percent(min(tau[k], 1 - 1e-9))}" for k in (a, b)]
        words += [
            f"{short(case.features[j], 20)} {value_text(case.values[i, j])}"
            for j in case.leading[:4]
        ]
        told[int(i)] = together(" · ".join(words))
    return json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")


def value_text(value: float | None) -> str:
    """Return a feature's value as its owner wrote it, or nearly: no separators, few digits.

    Examples
    --------
    >>> value_text(2021.0), value_text(0.123456), value_text(-12345678.9)
    ('2021', '0.1235', '−1.235e+07')
    """
    if value is None or not np.isfinite(value):
        return "–"
    whole = float(value).is_integer() and abs(value) < 1e7
    return (f"{value:.0f}" if whole else f"{value:.4g}").replace("-", "−")


# -- tables ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Cell:
    """What a cell shows, what it sorts by, what more it can say, and whether it may break."""

    text: str
    sort: float | None = None
    full: str = ""
    swatch: str = ""
    bar: float | None = None
    tight: bool = False


@dataclasses.dataclass(frozen=True)
class HtmlTable:
    """A table, ready to print; ``tools`` are sorting, a filter and a download."""

    caption: str
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Cell]]
    positions: Sequence[int | None]
    note: str = ""
    tools: bool = False


_Printer = Callable[[Any], Cell]


def _table(
    caption: str,
    records: Sequence[dict[str, Any]],
    columns: Sequence[tuple[str, str, _Printer]],
    *,
    most: int = MOST_ROWS,
    **options: Any,
) -> HtmlTable:
    """Return a table of records; a column is a heading, a key and how to print what is there."""
    shown = records[:most]
    cells = [[print_cell(record[key]) for _, key, print_cell in columns] for record in shown]
    numeric = [
        bool(cells) and all(row[k].sort is not None or row[k].text == "–" for row in cells)
        for k in range(len(columns))
    ]
    rest = len(records) - len(shown)
    if rest and "note" not in options:
        options["note"] = f"And {rest:,} more, left out for length."
    heads = [
        (name, bool(cells) and right) for (name, _, _), right in zip(columns, numeric, strict=True)
    ]
    places = [record.get("position") for record in shown]
    return HtmlTable(caption, heads, cells, places, **options)


def _name(css: dict[str, str] | None = None, limit: int = 40) -> _Printer:
    """Print a name, shortened, with its class's colour; pointing at it shows more."""

    def cell(value: Any) -> Cell:
        shown, whole = short(value, limit), str(value)
        full = short(whole, 120) if shown != whole else ""
        swatch = (css or {}).get(whole, "")
        return Cell(shown, full=full, swatch=swatch, tight=len(shown) <= UNBROKEN)

    return cell


def _text(value: Any) -> Cell:
    return Cell(str(value))


def _count(value: int) -> Cell:
    return Cell(count(value), sort=value)


def _percent(value: float | None) -> Cell:
    return Cell(percent(value), sort=value)


def _bar(value: float | None) -> Cell:
    return Cell(percent(value), sort=value, bar=None if value is None else round(100 * value, 2))


def _only_bar(value: float) -> Cell:
    return Cell("", sort=value, bar=round(100 * value, 2))


def _chance(value: float) -> Cell:
    """Print a probability: however it is rounded, it is no certainty."""
    return Cell(percent(min(value, 1 - 1e-9)), sort=value)


def _number(digits: int = 4) -> _Printer:
    return lambda value: Cell(number(value, digits), sort=value)


def _value(value: float | None) -> Cell:
    return Cell(value_text(value), sort=value)


def _tables(summary: dict[str, Any]) -> dict[str, Any]:
    """Return every table of the page, by the name the template knows it by."""
    css = {name: class_css(h) for h, name in enumerate(summary["classes"])}
    labels, evidence, change = summary["labels"], summary["evidence"], summary["change"]
    name, row = _name(css), _name(limit=30)
    out: dict[str, Any] = {
        "classes": _table(
            "By class",
            labels["classes"],
            [
                ("class", "class", name),
                ("labelled", "labelled", _count),
                ("blank, expected", "blank_expected", lambda v: _count(round(v))),
                ("share missing", "blank_share", _bar),
            ],
        ),
        "confidence": _table(
            "By how clear-cut the row is",
            [{**band, "sure": _band_words(band)} for band in labels["by_confidence"]],
            [
                ("the model is sure of the class", "sure", _text),
                ("rows", "rows", _count),
                ("blank", "blank", _count),
                ("share missing", "blank_share", _bar),
            ],
        ),
        "separation": _table(
            "Features that tell the classes apart",
            [{**r, "pair": " and ".join(map(short, r["classes"]))} for r in summary["separation"]],
            [
                ("feature", "feature", _name()),
                ("variance between classes", "share", _bar),
                ("tells apart best", "pair", _text),
            ],
            note="",
        ),
        "tests": _table(
            "Tests of the pattern of blanks",
            [
                {**t, "how": ": ".join(filter(None, (t["method"], t["note"])))}
                for t in evidence["tests"]
            ],
            [
                ("test", "name", _text),
                ("p-value", "p_value", _p),
                ("statistic", "statistic", _number()),
                ("degrees of freedom", "df", lambda v: Cell("–" if v is None else str(v), sort=v)),
                ("how", "how", _text),
            ],
        ),
        "candidates": _table(
            "Models tried, and how far behind the best they are on held-out rows",
            summary["candidates"],
            [
                ("model", "name", _name(limit=60)),
                ("weight", "weight", _bar),
                ("behind by (nats a row)", "gap", _number(3)),
                ("standard error", "gap_error", _number(2)),
                ("note", "note", _name(limit=60)),
            ],
        ),
        "parameters": _parameters(summary),
        "repeat": _repeat(summary["repeat"]),
        **_rows(summary, name, row),
    }
    if summary["held_out"]["available"] and len(summary["classes"]) <= MOST_CLASSES:
        out["confusion"] = _confusion(summary, name)
    if summary["readers"]:
        out |= _reader_tables(summary, name)
    if change["available"]:
        out["changed_classes"] = _table(
            "The classes, blanks ignored and used",
            change["classes"],
            [
                ("class", "class", name),
                ("weight, ignored", "weight_without", _percent),
                ("weight, used", "weight_with", _percent),
                ("mean moves by (s.d.)", "mean_shift", _number(2)),
                ("blanks assigned, ignored", "blank_without", _count),
                ("used", "blank_with", _count),
            ],
        )
        more = change["moved"] - len(change["rows"])
        out["changed_rows"] = _table(
            "Rows that change class, those that change most first",
            [{**r, "label": "given" if r["labelled"] else "blank"} for r in change["rows"]],
            [
                ("row", "name", row),
                ("label", "label", _text),
                ("blanks ignored", "without", name),
                ("blanks used", "with", name),
            ],
            note=f"And {more:,} more, which change less." if more > 0 else "",
        )
    return out


def _rows(summary: dict[str, Any], name: _Printer, row: _Printer) -> dict[str, HtmlTable]:
    """Return the lists of rows to look at again: triage, those that fit no class, and labels."""
    triage, doubtful = summary["triage"], summary["doubtful_labels"]
    features = triage["features"]

    def listed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**r, **{f"v{k}": v for k, v in enumerate(r["values"])}} for r in records]

    values = [(short(f, 20), f"v{k}", _value) for k, f in enumerate(features)]
    chances = [("probability", "probability", _chance), ("next", "runner_up", name)]
    if summary["held_out"]["contradicted"]:
        chances = []
    rest = triage["total"] - SHOWN_TRIAGE
    return {
        "triage": _table(
            "Blank rows, most instructive first",
            listed(triage["rows"]),
            [
                ("rank", "rank", _count),
                ("row", "name", row),
                ("predicted", "predicted", name),
                *chances,
                ("chance of an answer", "chance", _percent),
                ("worth asking", "worth", _only_bar),
                *values,
            ],
            most=SHOWN_TRIAGE,
            note=f"And {rest:,} more, lower in the list: see the table of predictions."
            if rest > 0
            else "",
            tools=True,
        ),
        "unusual": _table(
            "Blank rows that fit no class, the strangest first",
            listed(triage["unusual"]),
            [("row", "name", row), ("nearest class", "predicted", name), *values],
            most=SHOWN_TRIAGE,
            tools=True,
        ),
        "doubtful": _table(
            "Labels that the model contradicts",
            listed(doubtful["rows"]),
            [
                ("row", "name", row),
                ("label", "label", name),
                ("rather", "predicted", name),
                ("probability", "probability", _chance),
                *values,
            ],
            note=f"And {doubtful['total'] - len(doubtful['rows']):,} more."
            if doubtful["total"] > len(doubtful["rows"])
            else "",
            tools=True,
        ),
    }


def _band_words(band: dict[str, Any]) -> str:
    low, high = (percent(band[end], whole=True) for end in ("from", "to"))
    if band["from"] == 0:
        return f"less than {high}"
    return f"{low} or more" if band["to"] == 1 else f"{low} to {high}"


def _p(value: float | None) -> Cell:
    return Cell(p_value(value).removeprefix("p ").removeprefix("= "), sort=value)


def _confusion(summary: dict[str, Any], name: _Printer) -> HtmlTable:
    classes, counts = summary["classes"], summary["held_out"]["confusion"]
    records = [
        {f"n{k}": n for k, n in enumerate(line)}
        | {"label": label, "right": line[h] / sum(line) if any(line) else None}
        for h, (label, line) in enumerate(zip(classes, counts, strict=True))
    ]
    return _table(
        "Labels given, and what the model says of rows it had not seen",
        records,
        [
            ("label", "label", name),
            *((f"→ {short(c, 20)}", f"n{k}", _count) for k, c in enumerate(classes)),
            ("right", "right", _percent),
        ],
    )


def _reader_tables(summary: dict[str, Any], name: _Printer) -> dict[str, HtmlTable]:
    """Return what was found of each reader, what each makes of the classes, and who agrees."""
    readers, classes = summary["readers"], summary["classes"]
    names = readers["names"]
    rows = [
        r | {"share": r["labelled"] / r["shown"] if r["shown"] else None} for r in readers["rows"]
    ]
    columns = [("reader", "reader", _name()), ("shown", "shown", _count)]
    columns.append(("labelled", "share", _bar))
    if rows and "accuracy" in rows[0]:
        columns.append(("right, estimated", "accuracy", _percent))
    out = {"readers": _table("The readers", rows, columns)}
    out["agreement"] = _table(
        "How often two readers say the same, where both speak",
        [
            {"reader": reader} | {f"r{k}": v for k, v in enumerate(line)}
            for reader, line in zip(names, readers["agreement"], strict=True)
        ],
        [
            ("", "reader", _name()),
            *((short(other, 20), f"r{k}", _percent) for k, other in enumerate(names)),
        ],
    )
    if readers["confusion"] is not None:
        out["reader_confusion"] = _table(
            "What each reader says of rows of each class, estimated",
            [
                {"reader": reader, "class": classes[h]} | {f"c{k}": v for k, v in enumerate(line)}
                for reader, matrix in zip(names, readers["confusion"], strict=True)
                for h, line in enumerate(matrix)
            ],
            [
                ("reader", "reader", _name()),
                ("class", "class", name),
                *((f"says {short(c, 20)}", f"c{k}", _percent) for k, c in enumerate(classes)),
            ],
        )
    return out


def _parameters(summary: dict[str, Any]) -> list[HtmlTable]:
    parameters = summary["parameters"]
    names = [*summary["classes"], *summary["features"]]
    level = parameters["level"]
    bounds = f"{percent(level, whole=True)} interval" if level else "interval"
    return [
        _table(
            group["title"],
            group["rows"],
            [
                ("", "of", lambda of: Cell(short(shorten_in(of, names), 90))),
                ("estimate", "estimate", _number()),
                ("standard error", "std_error", _number()),
                (f"{bounds}, from", "lower", _number()),
                ("to", "upper", _number()),
            ],
            most=100,
        )
        for group in parameters["groups"]
    ]


def _repeat(repeat: dict[str, Any]) -> HtmlTable:
    data = repeat["data"]
    size = f"{noun(data['rows'], 'row')}, {noun(data['columns'], 'column')}"
    pairs = [
        ("hesitant", repeat["version"]),
        ("Python", repeat["python"]),
        ("libraries", ", ".join(f"{k} {v}" for k, v in repeat["libraries"].items())),
        ("data", f"{short(data['name'])}: {size}"),
        (f"SHA-256 of {data['sha256_of']}", data["sha256"]),
        ("seed", "none" if repeat["seed"] is None else str(repeat["seed"])),
        *((k.replace("_", "-"), _option(v)) for k, v in repeat["options"].items() if k != "seed"),
    ]
    return _table(
        "Versions, data and options",
        [{"what": k, "value": v} for k, v in pairs],
        [("", "what", _text), ("", "value", _text)],
    )


def _option(value: Any) -> str:
    if value is None or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return short(", ".join(short(v) for v in value), 300)
    return short(value, 300)
