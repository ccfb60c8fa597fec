"""``paper.html``: our numbers beside the printed ones, on one page that needs nothing else."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from hesitant._optional import need
from hesitant._words import decimals, noun
from hesitant.studies._checkpoint import Row
from hesitant.studies._readings import PRINTED
from hesitant.tables import write_atomically

CAPTIONS = {
    "figure_simulated_example": "One data set of the simulation. (a) All labels. (b) Labels as "
    "observed; black squares have none. Shade: entropy of the true class probabilities. Line: the "
    "true boundary.",
    "figure_simulation": "Adjusted Rand index (a, more is better) and total log loss (b, less is "
    "better) on the test set against alpha, means over replications; the insets enlarge the "
    "framed part. Bands: two Monte Carlo standard errors either way.",
    "figure_data": "The {} data; black squares have no label.",
    "figure_entropy": "Entropies of the {} data under the ignorance likelihood: densities and "
    "distribution functions of labelled and unlabelled rows, and the share labelled against the "
    "transformed entropy.",
    "figure_full": "What the full likelihood changes in the {} data: the boundaries (a), and the "
    "entropies of the unlabelled rows, coloured by their class under it (b).",
}
_MEASURES = {"adjusted_rand": "adjusted Rand index", "log_loss": "total log loss"}
_FAMILIES = {"skew_t": "skew-t", "t": "Student-t"}


def write_page(folder: Path, content: dict[str, Any]) -> Path:
    """Write the page of what `Reproduction.to_dict` returns into the folder of the figures."""
    jinja2 = need("jinja2", "cli")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hesitant.studies"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": decimals, "p": _p, "whole": lambda v: decimals(v, 0)}
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

    by_reading: dict[str, Row] = {}
    for row in (*rows("table1", "table1"), *rows("table2", "table2")):
        by_reading.setdefault(row["reading"], {}).update(row)
    readings = list(by_reading.values())
    full = rows("full", "full")
    return {
        "name": name,
        "family": _FAMILIES[PRINTED[name].family],
        "printed": PRINTED[name],
        "readings": readings,
        "main": next((r for r in readings if r["main"]), None),
        "nearest": next((r for r in readings if r["nearest"]), None),
        "words": about_readings(readings) if readings else [],
        "open": _OPEN[name],
        "full": full,
        "full_words": about_full(full) if full else [],
        "parameters": rows("full", "full_parameters"),
        "moved": rows("full", "full_moved"),
    }


def _figures(folder: Path, parts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the figures that are there, as data that can stand in the page."""
    out = {}
    for file in parts.get("figures", {}).get("files", []):
        path = folder / file
        if path.suffix == ".png" and path.exists():
            kind, _, dataset = path.stem.rpartition("_")
            data = base64.b64encode(path.read_bytes()).decode()
            caption = CAPTIONS.get(path.stem) or CAPTIONS[kind].format(dataset)
            out[path.stem] = {"source": f"data:image/png;base64,{data}", "caption": caption}
    return out


# ---- a word on each difference ------------------------------------------------------------------

_OPEN = {
    "cytometry": "The counts of the published file are those of the paper. Scaling cannot matter: "
    "skew-t classes with scale matrices of their own fit standardised channels equally well. Open "
    "are the degrees of freedom, own or common, and where the climb starts; neither explains what "
    "is left of the difference.",
    "cardiotocography": "The text counts 670 recordings, 402 of them labelled, the table 669 and "
    "401; the published file has 670 and 402, and which one the table left out cannot be told. "
    "“23 features” fit the 23 measurements of the Raw Data sheet, one of them constant and one a "
    "copy of another; the Data sheet has 21. The likelihood has several maxima.",
    "gastrointestinal": "By the rule in the text, at least 6 of 7 doctors, 106 records are "
    "labelled and 46 are not; the printed 128 and 24 appear if the histology counts as an eighth "
    "opinion. The printed p-values confirm 128 and 24: exp(−2D²mn/(m+n)) is 0.0104 for D = 0.336, "
    "and the normal approximation to W = 1014 is 0.0042; with 106 and 46 both would be far "
    "smaller. Our p-values of the first test are exact. The four features are not printed: ours "
    "come from our own sparse discriminant analysis, and those of a later package of the same "
    "group are tried too. The 152 records are 76 lesions seen twice, so no p-value here can be "
    "taken at its word.",
}


def about_readings(rows: list[Row]) -> list[str]:
    """Return sentences on how the readings of one data set differ from the printed numbers."""
    main = next(row for row in rows if row["main"])
    nearest = next(row for row in rows if row["nearest"])
    out = [f"Main reading: {_differences(main)}."]
    if nearest is main:
        return [*out, "No other reading comes nearer."]
    before, now = _choices(main), _choices(nearest)
    changed = "; ".join(f"{k}: {v}" for k, v in now.items() if before.get(k) != v)
    out.append(f"Nearest reading ({changed}): {_differences(nearest)}.")
    # How much higher a likelihood does the same model reach from our own start?
    wanted = {**now, "start": "ours"}
    same = [row["log_likelihood"] for row in rows if _choices(row) == wanted]
    lower = same[0] - nearest["log_likelihood"] if same else 0.0
    if lower > 0.5:
        out.append(
            f"But that is a lower maximum: from our own start the same model reaches a "
            f"log-likelihood {lower:,.1f} higher, with entropies further from the printed ones."
        )
    elif lower > 0:
        out.append(
            "That is the same maximum as from our own start, "
            f"{lower:.2f} short of it in log-likelihood where EM was stopped."
        )
    return out


def _choices(row: Row) -> dict[str, str]:
    """Return what a reading decided, from its name."""
    return dict(part.split(": ", 1) for part in str(row["reading"]).split("; "))


def _differences(row: Row) -> str:
    names = {
        "mean_labelled": ("labelled mean", 2),
        "mean_unlabelled": ("unlabelled mean", 2),
        "ks": ("Kolmogorov-Smirnov", 3),
        "mann_whitney": ("Mann-Whitney", 0),
    }
    parts = [
        f"{words} {decimals(row[key] - row[f'{key}_printed'], digits, signed=True)}"
        for key, (words, digits) in names.items()
        if row.get(key) is not None and row.get(f"{key}_printed") is not None
    ]
    return f"ours less the printed: {', '.join(parts)}"


def about_full(rows: list[Row]) -> list[str]:
    """Return sentences on what the full likelihood changes in one data set."""
    linear, log = rows[0], rows[1]
    seldom = "less" if linear["slope"] < 0 else "more"
    error = linear["slope_se"]
    known = "" if error is None else f" (standard error {error:,.1f})"
    out = [
        f"The slope is {decimals(linear['slope'], 1, signed=True)}{known}: the harder a "
        f"case, the {seldom} often it has a label. Against labels missing by chance the "
        f"likelihood ratio is {linear['likelihood_ratio']:,.1f} on one degree of freedom.",
        f"{_changing(linear['unlabelled_moved'])}, and {100 * linear['space_moved']:.1f} % of new "
        "rows would.",
    ]
    if linear["median_se_ratio"] is not None:
        out.append(
            "The median ratio of standard errors, full to ignorance, is "
            f"{linear['median_se_ratio']:.2f}."
        )
    gain = log["log_likelihood"] - linear["log_likelihood"]
    out.append(
        f"A mechanism linear in the log of the entropy fits {'better' if gain > 0 else 'worse'}, "
        f"by {abs(gain):,.1f} in log-likelihood; with it {_changing(log['unlabelled_moved'])}."
    )
    return out


def _changing(rows: int) -> str:
    return f"{noun(rows, 'unlabelled row')} change{'s' if rows == 1 else ''} class"
