"""A table of predictions, the command that makes one for new rows, and invented tables."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hesitant._words import noun, printable
from hesitant.cli._data import dropped_note, read, select, stem
from hesitant.cli._options import ReadOptions
from hesitant.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns


def prediction_frame(
    model: Any,
    X: Any,
    columns: "Columns",
    table: "pd.DataFrame",
    least: float | None,
    told: Any = None,
) -> "pd.DataFrame":
    """Return what a model says of rows, beside the table's own columns and in its order.

    First ``row`` (counted from 1, without the header), then the table, then ``predicted``, its
    ``probability``, ``entropy``, ``labelling_probability``, whether the row fits no class
    (``unusual``: of a log density below ``least``, if that is known), and one ``P(class)`` for
    each class. A column of the table that has one of these names is called ``... (table)``.
    ``told`` are class probabilities given what was said of the rows: of blank rows, and of a
    panel's, they count.
    """
    import numpy as np
    import pandas as pd

    from hesitant.labels import names_of

    classifier, Z = model, X
    if hasattr(model, "steps"):
        classifier, Z = model.steps[-1][1], model[:-1].transform(X)
    tau = classifier.predict_proba(Z)
    if told is not None and columns.y is not None:
        settled = pd.isna(columns.y) | (columns.opinions is not None)
        tau = np.where(settled[:, None], told, tau)
    said: list[tuple[str, Any]] = [
        # as objects: an array of text would repeat the longest name's length in every row
        ("predicted", classifier.classes_.astype(object)[tau.argmax(axis=1)]),
        ("probability", tau.max(axis=1)),
        ("entropy", classifier.entropy(Z)),
        ("labelling_probability", classifier.labelling_probability(Z)),
    ]
    if least is not None:
        said.append(
            ("unusual", getattr(classifier, "model_", classifier).score_samples(Z) < least)
        )
    said += [(f"P({name})", tau[:, h]) for h, name in enumerate(names_of(classifier.classes_))]
    ours = {"row", *(name for name, _ in said)}
    own = table.iloc[columns.rows].reset_index(drop=True)
    own.columns = pd.Index([f"{name} (table)" if name in ours else name for name in own.columns])
    # by position, because two names may be alike once printed
    frame = pd.DataFrame(dict(enumerate(values for _, values in said)))
    frame.columns = pd.Index([name for name, _ in said], dtype=object)
    frame = pd.concat([pd.Series(columns.rows + 1, name="row"), own, frame], axis=1)
    frame.attrs = {}
    return frame


def predict(
    path: str, table: ReadOptions, out: str | None, terminal: Terminal, *, force: bool
) -> None:
    """Load a model, read a table, write predictions and tell how many rows went where."""
    import pandas as pd

    from hesitant.cli._analysis import allows_gaps
    from hesitant.persistence import load, read_notes
    from hesitant.tables import TableError
    from hesitant.tables.cells import Sheet
    from hesitant.tables.errors import show_path

    target = out or str(Path(table.table).parent / f"{stem(table.table)}.predictions.csv")
    if out is None and table.table == "-":
        target = "-"
    check_target(target, force=force, keep=[table.table, path])
    with terminal.stage("Loading the model"):
        model, notes = load(path), read_notes(path)
        least = float(notes["least_density"]) if "least_density" in notes else None
    with terminal.stage("Reading"):
        frame = read(table, min_columns=1)
        names = getattr(model, "feature_names_in_", None)
        chosen: dict[str, Any] = {}
        if names is not None:
            chosen["features"] = [str(n) for n in names]
            Sheet(frame).require(chosen["features"], "that the model needs")
        columns = select(table, frame, allows_gaps(model), **chosen)
    X: Any = columns.X
    if names is not None:
        X = pd.DataFrame(X, columns=pd.Index(names))
    elif X.shape[1] != model.n_features_in_:
        raise TableError(
            show_path(table.table),
            f"The table has {X.shape[1]} numeric columns; the model, whose features have no "
            f"names, needs {model.n_features_in_}.",
            "Choose them, in the order of the fit, with --features.",
        )
    with terminal.stage("Predicting"):
        result = prediction_frame(model, X, columns, frame, least)
    write_frame(result, target, force=force)
    if names is not None and table.features:
        terminal.note("--features has no effect: the model's features have names.")
    for note in dropped_note(columns):
        terminal.note(note)
    counts = {str(k): int(v) for k, v in result["predicted"].value_counts(sort=False).items()}
    if target != "-":
        left_out = {"rows": len(result), "rows_left_out": len(columns.dropped)}
        terminal.answer({"out": target, **left_out, "predicted": counts})
        terminal.table(("predicted", "rows"), [(k, f"{v:,}") for k, v in counts.items()])
        terminal.path("predictions", target)


def check_target(target: str, *, force: bool, keep: Sequence[str] = ()) -> None:
    """Refuse, before the work, a name that no table can be written to; make its folder."""
    from hesitant.tables.output import check_format, prepare_targets

    if target != "-":
        check_format(target)
        prepare_targets([target], force=force, keep=keep)


def write_frame(frame: "pd.DataFrame", target: str, *, force: bool) -> None:
    """Write a table in the format of its file's name, or as CSV to standard output for ``-``."""
    from hesitant.tables import write_table
    from hesitant.tables.output import table_bytes

    if target != "-":
        write_table(frame, target, force=force)
    elif sys.stdout.isatty():  # names and cells must not steer a terminal
        print(printable(table_bytes(frame).decode(), keep="\n"), end="")
    else:
        sys.stdout.buffer.write(table_bytes(frame))
        sys.stdout.buffer.flush()


def draw(kind: str, n: int, seed: int) -> Any:
    """Draw data of one of the kinds that ``--kind`` knows."""
    from hesitant import datasets

    make = datasets.make_cytometry_like if kind == "cytometry" else datasets.simulate
    return make(n, random_state=seed)


def simulate(
    n: int, kind: str, out: str, terminal: Terminal, *, truth: bool, seed: int, force: bool
) -> None:
    """Draw a table and write it; say what to do with it."""
    check_target(out, force=force)
    data = draw(kind, n, seed)
    label = "population" if kind == "cytometry" else "label"
    frame = data.to_frame(label)
    if truth:
        frame["truth"] = data.truth
    write_frame(frame, out, force=force)
    if out != "-":
        terminal.answer({"out": out, "rows": len(data), "blank": data.n_blank, "label": label})
        terminal.say(f"{noun(len(data), 'row')}, {data.n_blank:,} without a label, in {out}")
        terminal.say(f"Next: hesitant analyse {out} --label {label}")
