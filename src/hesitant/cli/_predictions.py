"""A table of predictions, and the command that makes one for new rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hesitant.cli._data import ReadOptions, stem
from hesitant.cli._notes import dropped_note
from hesitant.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns


def prediction_frame(
    model: Any, X: Any, columns: "Columns", table: "pd.DataFrame"
) -> "pd.DataFrame":
    """Return what a model says of rows, beside the table's own columns and in its order.

    First ``row`` (counted from 1, without the header), then the table, then ``predicted``, its
    ``probability``, ``entropy``, ``labelling_probability``, and one ``P(class)`` for each class. A
    column of the table that has one of these names is called ``... (table)``.
    """
    import pandas as pd

    from hesitant.model_data import class_names

    classifier, Z = model, X
    if hasattr(model, "steps"):
        classifier, Z = model.steps[-1][1], model[:-1].transform(X)
    tau = classifier.predict_proba(Z)
    best = tau.argmax(axis=1)
    said: list[tuple[str, Any]] = [
        # as objects: an array of text would repeat the longest name's length in every row
        ("predicted", classifier.classes_.astype(object)[best]),
        ("probability", tau.max(axis=1)),
        ("entropy", classifier.entropy(Z)),
        ("labelling_probability", classifier.labelling_probability(Z)),
    ]
    said += [(f"P({name})", tau[:, h]) for h, name in enumerate(class_names(classifier))]
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
) -> dict[str, Any]:
    """Load a model, read a table, write predictions; return a summary."""
    import pandas as pd

    from hesitant.cli._analysis import allows_gaps
    from hesitant.persistence import load
    from hesitant.tables import TableError
    from hesitant.tables.cells import Sheet
    from hesitant.tables.errors import show_path

    target = out or str(Path(table.table).parent / f"{stem(table.table)}.predictions.csv")
    if out is None and table.table == "-":
        target = "-"
    check_target(target, force=force, keep=[table.table, path])
    with terminal.stage("Loading the model"):
        model = load(path)
    with terminal.stage("Reading"):
        frame = table.read(min_columns=1)
        gaps = allows_gaps(model)
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            columns = table.select(frame, gaps)
        else:
            needed = [str(n) for n in names]
            Sheet(frame).require(needed, "that the model needs")
            columns = table.select(frame, gaps, features=needed)
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
        result = prediction_frame(model, X, columns, frame)
    write_frame(result, target, force=force)
    if names is not None and table.features:
        terminal.note("--features has no effect: the model's features have names.")
    note = dropped_note(columns)
    if note:
        terminal.note(note)
    counts = result["predicted"].value_counts(sort=False)
    return {
        "out": target,
        "rows": len(result),
        "rows_left_out": len(columns.dropped),
        "predicted": {str(k): int(v) for k, v in counts.items()},
    }


def check_target(target: str, *, force: bool, keep: Sequence[str] = ()) -> None:
    """Refuse, before the work, a name that no table can be written to; make its folder."""
    from hesitant.tables.output import check_format, prepare_targets

    if target != "-":
        check_format(target)
        prepare_targets([target], force=force, keep=keep)


def write_frame(frame: "pd.DataFrame", target: str, *, force: bool) -> None:
    """Write a table in the format of its file's name, or as CSV to standard output for ``-``."""
    from hesitant._words import printable
    from hesitant.tables import write_table
    from hesitant.tables.output import table_bytes

    if target != "-":
        write_table(frame, target, force=force)
    elif sys.stdout.isatty():  # names and cells must not steer a terminal
        print(printable(table_bytes(frame).decode(), keep="\n"), end="")
    else:
        sys.stdout.buffer.write(table_bytes(frame))
        sys.stdout.buffer.flush()
