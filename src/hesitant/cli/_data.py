"""From the options about a table to the columns of a fit, and what a careful user should know."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import typer

from hesitant._words import noun
from hesitant.cli._options import ReadOptions, TableOptions

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns
    from hesitant.tables.annotations import Joined

_SUFFIXES = r"\.(csv|tsv|txt|tab|xlsx|jsonl?|ndjson|parquet|pq|feather|arrow|fcs)"


def read(options: ReadOptions, *text: str, min_columns: int = 2) -> "pd.DataFrame":
    """Read the table; identifiers and labels stay text, so that 007 is not 7."""
    from hesitant.tables import read_table

    how = ("format", "encoding", "delimiter", "decimal", "transform", "compensate")
    chosen: dict[str, Any] = {name: getattr(options, name) for name in how}
    words = [*text, options.id or ""]
    return read_table(options.table, text=words, min_columns=min_columns, **chosen)


def select(options: ReadOptions, frame: "pd.DataFrame", gaps: bool, **chosen: Any) -> "Columns":
    """Take the columns apart; ``gaps`` tells whether the model can do with empty features."""
    from hesitant.tables import select_columns

    if options.on_missing == "model" and not gaps:
        problem = "this model needs every feature: give drop or error, or use --family gaussian"
        problem += " without --standardise and --pca."
        raise typer.BadParameter(problem, param_hint="'--on-missing'")
    features = split_names(options.features or (), frame) or None
    on_missing = options.on_missing or ("model" if gaps else "error")
    given = {"label": None, "features": features, "id": options.id, "on_missing": on_missing}
    return select_columns(frame, **{**given, **chosen})


def learn(table: TableOptions, gaps: bool) -> tuple["pd.DataFrame", "Columns", list[str]]:
    """Return the table, its columns by their parts, and what was noticed on the way."""
    shown = None
    if table.features_from:
        frame, labels, shown, notes = _join(table)
    else:
        label = table.label or ""
        frame = read(table, label, *map(str.strip, label.split(",")))
        notes = list(frame.attrs["hesitant"].get("notes", ()))
        if table.label is None:
            raise typer.BadParameter(_which_label(frame), param_hint="'--label'")
        labels = split_names([label], frame)
    columns = select(
        table,
        frame,
        gaps,
        label=labels[0] if len(labels) == 1 else labels,
        drop=split_names(table.drop or (), frame),
        reviewed=table.reviewed,
        weight=table.weight,
        missing=table.missing or None,
    )
    if shown is not None and not shown.all() and table.reviewed is None:
        seen = shown[columns.rows]
        several, alone = (seen, None) if len(labels) > 1 else (None, seen[:, 0])
        columns = replace(columns, shown=several, reviewed=alone)
    return frame, columns, notes


def _join(options: TableOptions) -> "Joined":
    from hesitant.tables import annotations, read_table, reading, sources

    if options.id is None:
        problem = "--features-from needs the column of identifiers that both files have."
        raise typer.BadParameter(problem, param_hint="'--id'")
    table = read_table(
        str(options.features_from),
        text=[options.id],
        transform=options.transform,
        compensate=options.compensate,
    )
    content = sources.open_source(options.table)
    if (options.format or reading.recognise(content)) in ("json", "jsonl"):
        export = reading.parse_json(content, options.encoding)
        if isinstance(export, dict) and isinstance(export.get("records"), list):
            export = export["records"]
    else:
        export = read(options, options.label or "label")
    return annotations.join(export, table, content.name, id=options.id, label=options.label)


def _which_label(frame: "pd.DataFrame") -> str:
    from hesitant.tables.errors import quote, quote_all
    from hesitant.tables.selection import likeliest_label

    likely = likeliest_label(frame)
    guess = f" Is it {quote(likely)}? Then add --label {likely!r}." if likely else ""
    names = quote_all(frame.columns, limit=12)
    return f"which column holds the labels?{guess} The columns are {names}."


def split_names(given: Sequence[str], frame: "pd.DataFrame") -> list[str]:
    """Split names at commas, except where a column has commas in its name."""
    # shorter names of columns, such as a marker's or a detector's alone
    aliases = frame.attrs.get("hesitant", {}).get("aliases", {})
    names: list[str] = []
    for value in given:
        whole = value in frame or "," not in value
        names += [value] if whole else [p.strip() for p in value.split(",") if p.strip()]
    return [name if name in frame else aliases.get(name, name) for name in names]


def stem(source: str) -> str:
    """Return what output files are called after: the table's name without its suffixes.

    >>> stem("data/cells.csv.gz"), stem("-")
    ('cells', 'hesitant')
    """
    name = PurePath(source).name
    name = re.sub(rf"(?i)(?<=.)({_SUFFIXES})?(\.(gz|bz2|xz|zip))?$", "", name)
    return "hesitant" if source == "-" else name


def table_notes(columns: "Columns", command: str = "") -> list[str]:
    """Say what was left out of a table, and what may not be what it is taken for.

    ``command`` is what was run, for advice that can be pasted.
    """
    from hesitant.tables.errors import quote, quote_all

    notes = dropped_note(columns)
    if columns.ignored:
        notes.append(f"Columns that are not numeric have no part: {quote_all(columns.ignored)}.")
    seen = columns.reviewed_like
    aside = [f"{quote(name)} {why}" for name, why in columns.set_aside.items() if name != seen]
    if aside:
        told = "Columns set aside, unless you name them with --features"
        notes.append(f"{told}: {'; '.join(aside)}.")
    if seen is not None:
        notes.append(
            f"The column {quote(seen)} reads like whether an expert saw the row and has no part; "
            f"if it is that, add --reviewed {shlex.quote(seen)}."
        )
    notes += [
        f"Are {' and '.join(map(quote, names))} one class? They differ only in case or blanks and "
        "are taken for several; if they are one, write them alike."
        for names in columns.alike
    ]
    if columns.single:
        single = quote_all(columns.single)
        notes.append(f"A single labelled row says little about a class: {single}.")
    if columns.unused_missing:
        values = quote_all(columns.unused_missing)
        notes.append(f"Given to --missing, and not among the labels: {values}.")
    if columns.blank_like:
        listed = ", ".join(f"{quote(v)} ({noun(count, 'row')})" for v, count in columns.blank_like)
        options = [shlex.quote(f"--missing={label}") for label, _ in columns.blank_like]
        repeat = " ".join([command, *options, "--force"] if command else options)
        notes.append(
            f"Taken for {'a class' if len(options) == 1 else 'classes'}: {listed}. If this should "
            f"count as 'not labelled', {'repeat with' if command else 'add'}: {repeat}"
        )
    return notes


def dropped_note(columns: "Columns") -> list[str]:
    """Say which rows were left out, if any."""
    count = len(columns.dropped)
    shown = ", ".join(str(i + 1) for i in columns.dropped[:5]) + (", …" if count > 5 else "")
    rows = noun(count, "row was", "rows were")
    return [f"{rows} left out for a blank or infinite feature: {shown}."] if count else []
