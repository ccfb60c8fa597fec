"""The report's tables: the same numbers as in the summary, as a page shows them."""

from typing import Any

from hesitant._words import noun, percent, short, shorten_in
from hesitant.report._cells import (
    Cell,
    Column,
    HtmlTable,
    count_cell,
    name_cell,
    number_cell,
    p_cell,
    percent_cell,
)
from hesitant.report._data_picture import class_css

__all__ = ["SHOWN_TRIAGE", "tables"]

MOST_ROWS = 500
MOST_MEANS = 40
SHOWN_TRIAGE = 200


def tables(summary: dict[str, Any]) -> dict[str, Any]:
    """Return every table of the page, by the name the template knows it by."""
    swatch = {name: class_css(h) for h, name in enumerate(summary["classes"])}
    return {
        "label_tables": {
            "classes": _labels(summary["labels"], swatch),
            "confidence": _confidence(summary["labels"]),
        },
        "tests": _tests(summary["evidence"]),
        "change_tables": _change(summary["change"], swatch),
        "parameter_tables": _parameters(summary),
        "triage_table": _triage(summary["triage"], swatch),
        "repeat_table": _repeat(summary["repeat"]),
    }


# -- section by section -------------------------------------------------------------------------


def _labels(labels: dict[str, Any], swatch: dict[str, str]) -> HtmlTable:
    columns = [
        Column("class", False),
        Column("labelled"),
        Column("blank, assigned here"),
        Column("share missing"),
    ]
    rows = [
        [
            name_cell(row["class"], swatch.get(row["class"], "")),
            count_cell(row["labelled"]),
            count_cell(row["blank_assigned"]),
            percent_cell(row["blank_share"], bar=True),
        ]
        for row in labels["classes"][:MOST_ROWS]
    ]
    return HtmlTable("By class", columns, rows)


def _confidence(labels: dict[str, Any]) -> HtmlTable:
    columns = [
        Column("the model is sure of the class", False),
        Column("rows"),
        Column("blank"),
        Column("share missing"),
    ]
    rows = []
    for band in labels["by_confidence"]:
        low, high = (percent(band[end], whole=True) for end in ("from", "to"))
        text = f"{low} or more" if band["to"] == 1 else f"{low} to {high}"
        rows.append(
            [
                Cell(f"less than {high}" if band["from"] == 0 else text),
                count_cell(band["rows"]),
                count_cell(band["blank"]),
                percent_cell(band["blank_share"], bar=True),
            ]
        )
    note = ""
    if labels["not_reviewed"]:
        note = f"Without the {noun(labels['not_reviewed'], 'row')} that nobody reviewed."
    return HtmlTable("By how clear-cut the row is", columns, rows, note)


def _tests(evidence: dict[str, Any]) -> HtmlTable:
    columns = [
        Column("test", False),
        Column("p-value"),
        Column("statistic"),
        Column("degrees of freedom"),
        Column("how", False),
    ]
    rows = [
        [
            Cell(test["name"]),
            p_cell(test["p_value"]),
            number_cell(test["statistic"]),
            Cell("–" if test["df"] is None else str(test["df"])),
            Cell(": ".join(t for t in (test["method"], test["note"]) if t)),
        ]
        for test in evidence["tests"]
    ]
    return HtmlTable("Tests of the pattern of blanks", columns, rows)


def _change(change: dict[str, Any], swatch: dict[str, str]) -> dict[str, HtmlTable]:
    if not change["available"]:
        return {}
    classes = [
        [
            name_cell(row["class"], swatch.get(row["class"], "")),
            percent_cell(row["weight_without"]),
            percent_cell(row["weight_with"]),
            number_cell(row["mean_shift"], 2),
            count_cell(row["blank_without"]),
            count_cell(row["blank_with"]),
        ]
        for row in change["classes"][:MOST_ROWS]
    ]
    rows = [
        [
            name_cell(row["name"], limit=30),
            Cell("given" if row["labelled"] else "blank"),
            name_cell(row["without"], swatch.get(row["without"], "")),
            percent_cell(row["probability_without"]),
            name_cell(row["with"], swatch.get(row["with"], "")),
            percent_cell(row["probability_with"]),
        ]
        for row in change["rows"]
    ]
    more = change["moved"] - len(rows)
    return {
        "classes": HtmlTable(
            "The classes, blanks ignored and used",
            [
                Column("class", False),
                Column("weight, ignored"),
                Column("weight, used"),
                Column("mean moves by (s.d.)"),
                Column("blanks assigned, ignored"),
                Column("used"),
            ],
            classes,
        ),
        "rows": HtmlTable(
            "Rows that change class, those that change most first",
            [
                Column("row", False),
                Column("label", False),
                Column("blanks ignored", False),
                Column("probability"),
                Column("blanks used", False),
                Column("probability"),
            ],
            rows,
            f"And {more:,} more, which change less." if more > 0 else "",
        ),
    }


def _parameters(summary: dict[str, Any]) -> list[HtmlTable]:
    parameters = summary["parameters"]
    level = parameters["level"]
    names = [*summary["classes"], *summary["features"]]
    bounds = f"{percent(level, whole=True)} interval" if level else "interval"
    columns = [
        Column("", False),
        Column("estimate"),
        Column("standard error"),
        Column(f"{bounds}, from"),
        Column("to"),
    ]
    out, left = [], MOST_ROWS
    for group in parameters["groups"]:
        shown = group["rows"][: max(left, 0)]
        left -= len(shown)
        rows = [
            [
                Cell(short(shorten_in(row["of"], names), 90)),
                *(number_cell(row[k]) for k in ("estimate", "std_error", "lower", "upper")),
            ]
            for row in shown
        ]
        rest = len(group["rows"]) - len(rows)
        note = f"And {rest:,} more, left out for length." if rest else ""
        folded = group["title"] in _FOLDED or len(group["rows"]) > MOST_MEANS
        out.append(
            HtmlTable(
                group["title"],
                columns,
                rows,
                note,
                title=group["title"],
                total=f"({noun(len(group['rows']), 'parameter')})",
                folded=folded,
            )
        )
    return out


_FOLDED = ("Class locations", "Class covariances", "Class scale matrices", "Skewness")


def _triage(triage: dict[str, Any], swatch: dict[str, str]) -> HtmlTable:
    columns = [
        Column("rank"),
        Column("row", False),
        Column("most probable class", False),
        Column("probability"),
        Column("next", False),
        Column("probability"),
        Column("entropy"),
        Column("chance of a label"),
        Column("value of a label"),
    ]
    rows = [
        [
            count_cell(row["rank"]),
            name_cell(row["name"], limit=30),
            name_cell(row["predicted"], swatch.get(row["predicted"], "")),
            percent_cell(row["probability"]),
            name_cell(row["runner_up"], swatch.get(row["runner_up"], "")),
            percent_cell(row["runner_up_probability"]),
            number_cell(row["entropy"], 3),
            percent_cell(row["labelling_probability"]),
            number_cell(row["value"], 3),
        ]
        for row in triage["rows"][:SHOWN_TRIAGE]
    ]
    rest = triage["total"] - len(rows)
    note = f"And {rest:,} more, lower in the list: see the table of predictions." if rest else ""
    return HtmlTable(
        "Blank rows, most instructive first", columns, rows, note, sortable=True, tall=True
    )


def _repeat(repeat: dict[str, Any]) -> HtmlTable:
    data = repeat["data"]
    rows = [
        ("hesitant", repeat["version"]),
        ("Python", repeat["python"]),
        ("libraries", ", ".join(f"{k} {v}" for k, v in repeat["libraries"].items())),
        ("data", f"{short(data['name'])}: {data['rows']:,} rows, {data['columns']:,} columns"),
        (f"SHA-256 of {data['sha256_of']}", data["sha256"]),
        ("seed", "none" if repeat["seed"] is None else str(repeat["seed"])),
        *((k.replace("_", "-"), _option(v)) for k, v in repeat["options"].items() if k != "seed"),
    ]
    return HtmlTable(
        "Versions, data and options",
        [Column("", False), Column("", False)],
        [[Cell(k), Cell(v)] for k, v in rows],
    )


def _option(value: Any) -> str:
    if value is None or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return short(", ".join(short(v) for v in value), 300)
    return short(value, 300)
