"""Tables into a command and out of it: the columns of a fit, predictions, invented rows."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hesitant
from hesitant._words import noun, printable
from hesitant.cli import _options as o
from hesitant.cli._terminal import Terminal, in_options
from hesitant.tables import output
from hesitant.tables.errors import quote, quote_all

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns

_BESIDE = "beside it, as TABLE.predictions.csv"
_SUFFIXES = r"\.(csv|tsv|txt|tab|xlsx|jsonl?|ndjson|parquet|pq|feather|arrow|fcs)"


def read(options: o.ReadOptions, *text: str, min_columns: int = 2) -> "pd.DataFrame":
    """Read the table; identifiers and labels stay text, so that 007 is not 7."""
    how = ("format", "encoding", "delimiter", "decimal", "transform", "compensate")
    chosen: dict[str, Any] = {name: getattr(options, name) for name in how}
    words = [*text, options.id or ""]
    return hesitant.tables.read_table(options.table, text=words, min_columns=min_columns, **chosen)


def select(options: o.ReadOptions, frame: "pd.DataFrame", gaps: bool, **chosen: Any) -> "Columns":
    """Take the columns apart; ``gaps`` tells whether the model can do with empty features."""
    if options.on_missing == "model" and not gaps:
        problem = "this model needs every feature: give drop or error, or use --family gaussian"
        problem += " without --standardise and --pca."
        raise typer.BadParameter(problem, param_hint="'--on-missing'")
    features = split_names(options.features or (), frame) or None
    on_missing = options.on_missing or ("model" if gaps else "error")
    given: dict[str, Any] = {"label": None, "features": features, "id": options.id}
    given |= {"on_missing": on_missing, "empty": options.empty or ()}
    return hesitant.tables.select_columns(frame, **{**given, **chosen})


def learn(table: o.TableOptions, gaps: bool) -> tuple["pd.DataFrame", "Columns"]:
    label, shown = table.label or "", None
    if table.features_from:
        frame, labels, shown = _join(table)
    else:
        frame = read(table, label, *map(str.strip, label.split(",")))
        labels = split_names([label], frame)
    if not (label or table.features_from):
        from hesitant.tables.selection import likeliest_label

        likely = likeliest_label(frame)
        guess = f" Is it {quote(likely)}? Then add --label {likely!r}." if likely else ""
        names = f"The columns are {quote_all(frame.columns, limit=12)}."
        problem = f"which column holds the labels?{guess} {names}"
        raise typer.BadParameter(problem, param_hint="'--label'")
    chosen = {"reviewed": table.reviewed, "weight": table.weight, "missing": table.missing or None}
    drop = split_names(table.drop or (), frame)
    one_or_all = labels[0] if len(labels) == 1 else labels
    columns = select(table, frame, gaps, label=one_or_all, drop=drop, **chosen)
    if shown is not None and not shown.all() and table.reviewed is None:
        seen = shown[columns.rows]
        several, alone = (seen, None) if len(labels) > 1 else (None, seen[:, 0])
        columns = replace(columns, shown=several, reviewed=alone)
    return frame, columns


def _join(options: o.TableOptions) -> tuple["pd.DataFrame", list[str], Any]:
    from hesitant.tables import annotations, read_table, reading, sources

    if options.id is None:
        problem = "--features-from needs the column of identifiers that both files have."
        raise typer.BadParameter(problem, param_hint="'--id'")
    scale: dict[str, Any] = {"transform": options.transform, "compensate": options.compensate}
    table = read_table(str(options.features_from), text=[options.id], **scale)
    content = sources.open_source(options.table)
    if (options.format or reading.recognise(content)) in ("json", "jsonl"):
        export = reading.parse_json(content, options.encoding)
        if isinstance(export, dict) and isinstance(export.get("records"), list):
            export = export["records"]
    else:
        export = read(options, options.label or "label")
    return annotations.join(export, table, content.name, id=options.id, label=options.label)


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
    """Return what output files are called after: ``cells`` of ``data/cells.csv.gz``."""
    if source == "-":
        return "hesitant"
    return re.sub(rf"(?i)(?<=.)({_SUFFIXES})?(\.(gz|bz2|xz|zip))?$", "", PurePath(source).name)


def table_notes(columns: "Columns", command: str = "") -> list[str]:
    """Say what select_columns found, with a command to paste where there is one to repeat."""
    notes = [in_options(note) for note in columns.notes]
    if columns.blank_like:
        listed = ", ".join(f"{quote(v)} ({noun(count, 'row')})" for v, count in columns.blank_like)
        options = [shlex.quote(f"--missing={label}") for label, _ in columns.blank_like]
        repeat = " ".join([command, *options, "--force"] if command else options)
        taken = f"Taken for {'a class' if len(options) == 1 else 'classes'}: {listed}."
        add = "repeat with" if command else "add"
        notes.append(f"{taken} If this should count as 'not labelled', {add}: {repeat}")
    return notes


def prediction_frame(
    model: Any, X: Any, columns: "Columns", table: "pd.DataFrame", known: Any = None
) -> "pd.DataFrame":
    """Return what a model says of rows, beside the table's own columns and in its order.

    A column of the table that has one of our names is called ``... (table)``. ``known`` is what
    has been found of the rows already, such as "tau", class probabilities given what was said.
    """
    import numpy as np
    import pandas as pd

    from hesitant.diagnostics._triage import least_of
    from hesitant.labels import names_of

    classifier, Z = model, X
    if hasattr(model, "steps"):
        classifier = model[-1]
        kind = "pandas" if hasattr(classifier, "feature_names_in_") else "default"
        Z = model[:-1].set_output(transform=kind).transform(X)
    ask = {"tau": classifier.predict_proba, "entropy": classifier.entropy}
    ask["labelling_probability"], found = classifier.labelling_probability, dict(known or {})
    found |= {name: find(Z) for name, find in ask.items() if name not in found}
    if "unusual" not in found and (least := least_of(classifier)) is not None:
        found["unusual"] = getattr(classifier, "model_", classifier).score_samples(Z) < least
    tau = found["tau"]
    said: list[tuple[str, Any]] = [
        # as objects: an array of text would repeat the longest name's length in every row
        ("predicted", classifier.classes_.astype(object)[tau.argmax(axis=1)]),
        ("probability", np.max([*tau.T], axis=0)),
    ]
    names = ("entropy", "labelling_probability", "unusual")
    said += [(name, found[name]) for name in names if name in found]
    said += [(f"P({name})", tau[:, h]) for h, name in enumerate(names_of(classifier.classes_))]
    ours = {"row", *(name for name, _ in said)}
    own = table.iloc[columns.rows].reset_index(drop=True)
    own.columns = pd.Index([f"{name} (table)" if name in ours else name for name in own.columns])
    # one by one, because two names may be alike once printed
    added = [pd.Series(values, name=name) for name, values in said]
    return pd.concat([pd.Series(columns.rows + 1, name="row"), own, *added], axis=1)


def predict(
    model: Annotated[str, o.argument("A model file from analyse.", "MODEL")],
    table: o.ReadOptions,
    terminal: Terminal,
    out: Annotated[str | None, o.output("predictions", _BESIDE, metavar="FILE")] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Classify the rows of a table with a model."""
    import pandas as pd

    from hesitant.tables.cells import Sheet

    beside = str(Path(table.table).parent / f"{stem(table.table)}.predictions.csv")
    target = out or ("-" if table.table == "-" else beside)
    check_target(target, terminal, force=force, keep=[table.table, model])
    with terminal.stage("Loading the model"):
        fitted = hesitant.load(model)
    with terminal.stage("Reading"):
        frame, names = read(table, min_columns=1), getattr(fitted, "feature_names_in_", None)
        chosen: dict[str, Any] = {}
        if names is not None:
            chosen["features"] = [str(n) for n in names]
            Sheet(frame).require(chosen["features"], "that the model needs")
        columns = select(table, frame, fitted.__sklearn_tags__().input_tags.allow_nan, **chosen)
    X: Any = columns.X if names is None else pd.DataFrame(columns.X, columns=pd.Index(names))
    with terminal.stage("Predicting"):
        result = prediction_frame(fitted, X, columns, frame)
    write_frame(result, target, force=force)
    if names is not None and table.features:
        terminal.note("--features has no effect: the model's features have names.")
    terminal.note(*table_notes(columns))
    counts = {str(k): int(v) for k, v in result["predicted"].value_counts(sort=False).items()}
    if target != "-":
        left_out = {"rows": len(result), "rows_left_out": len(columns.dropped)}
        terminal.answer({"out": target, **left_out, "predicted": counts})
        rows = [{"class": name, "rows": n} for name, n in counts.items()]
        terminal.table("Rows by predicted class", rows, "class", "rows")
        terminal.path("predictions", target)


def check_target(target: str, terminal: Terminal, force: bool, keep: Sequence[str] = ()) -> None:
    """Refuse, before the work, a name that no table can be written to; make its folder."""
    if target == "-" and terminal.json:
        raise typer.BadParameter("--json needs a file for the table: name one with --out.")
    if target != "-":
        output.check_format(target)
        output.prepare_targets([target], force=force, keep=keep)


def write_frame(frame: "pd.DataFrame", target: str, *, force: bool) -> None:
    if target != "-":
        output.write_table(frame, target, force=force)
    elif sys.stdout.isatty():  # names and cells must not steer a terminal
        print(printable(output.table_bytes(frame).decode(), keep="\n"), end="")
    else:
        sys.stdout.buffer.write(output.table_bytes(frame))
        sys.stdout.buffer.flush()


def simulate(
    terminal: Terminal,
    n: Annotated[int, o.plain("How many rows.", True, "--n", min=1)] = 500,
    kind: Annotated[Literal["paper", "cytometry"], o.plain("kind", True)] = "paper",
    out: Annotated[str, o.plain("simulated", True, metavar="FILE")] = "-",
    truth: Annotated[bool, o.plain("truth", False, "--truth")] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Draw data to play with: labels are missing where the classes overlap."""
    check_target(out, terminal, force=force)
    if kind == "cytometry":
        data, label = hesitant.datasets.make_cytometry_like(n, random_state=seed), "population"
    else:
        data, label = hesitant.datasets.simulate(n, random_state=seed), "label"
    frame = data.to_frame(label)
    if truth:
        frame["truth"] = data.truth
    write_frame(frame, out, force=force)
    if out != "-":
        terminal.answer({"out": out, "rows": len(data), "blank": data.n_blank, "label": label})
        terminal.say(f"{noun(len(data), 'row')}, {data.n_blank:,} without a label, in {out}")
        terminal.say(f"Next: hesitant analyse {out} --label {label}")
