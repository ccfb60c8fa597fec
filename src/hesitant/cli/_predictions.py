"""A table of predictions, the command that makes one for new rows, and invented tables."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hesitant._words import noun, printable
from hesitant.cli import _options as o
from hesitant.cli._data import dropped_note, read, select, stem
from hesitant.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns


def allows_gaps(model: Any) -> bool:
    """Tell whether a model can do with rows that lack features."""
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def prediction_frame(
    model: Any,
    X: Any,
    columns: "Columns",
    table: "pd.DataFrame",
    least: float,
    told: Any = None,
) -> "pd.DataFrame":
    """Return what a model says of rows, beside the table's own columns and in its order.

    A row is ``unusual`` if its log density is below ``least``, unless that is NaN; a column of the
    table that has one of our names is called ``... (table)``. ``told`` are class probabilities
    given what was said of the rows: of blank rows, and of a panel's, they count.
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
    if not np.isnan(least):
        main = getattr(classifier, "model_", classifier)
        said.append(("unusual", main.score_samples(Z) < least))
    said += [(f"P({name})", tau[:, h]) for h, name in enumerate(names_of(classifier.classes_))]
    ours = {"row", *(name for name, _ in said)}
    own = table.iloc[columns.rows].reset_index(drop=True)
    own.columns = pd.Index([f"{name} (table)" if name in ours else name for name in own.columns])
    # one by one, because two names may be alike once printed
    added = [pd.Series(values, name=name) for name, values in said]
    frame = pd.concat([pd.Series(columns.rows + 1, name="row"), own, *added], axis=1)
    frame.attrs = {}
    return frame


def predict(
    model: Annotated[str, o.argument("A model file from analyse.", "MODEL")],
    table: o.ReadOptions,
    terminal: Terminal,
    out: Annotated[
        str | None,
        o.output("predictions", "beside it, as TABLE.predictions.csv", metavar="FILE"),
    ] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Classify the rows of a table with a model."""
    if out == "-" and terminal.as_json:
        raise typer.BadParameter("--out - and --json both ask for standard output: choose one.")
    import pandas as pd

    from hesitant.persistence import load, read_notes
    from hesitant.tables.cells import Sheet

    beside = str(Path(table.table).parent / f"{stem(table.table)}.predictions.csv")
    target = out or ("-" if table.table == "-" else beside)
    check_target(target, force=force, keep=[table.table, model])
    with terminal.stage("Loading the model"):
        fitted, least = load(model), read_notes(model).get("least_density", "nan")
    with terminal.stage("Reading"):
        frame = read(table, min_columns=1)
        names = getattr(fitted, "feature_names_in_", None)
        chosen: dict[str, Any] = {}
        if names is not None:
            chosen["features"] = [str(n) for n in names]
            Sheet(frame).require(chosen["features"], "that the model needs")
        columns = select(table, frame, allows_gaps(fitted), **chosen)
    X: Any = columns.X
    if names is not None:
        X = pd.DataFrame(X, columns=pd.Index(names))
    elif X.shape[1] != fitted.n_features_in_:
        problem = f"The table has {X.shape[1]} numeric columns; the model, whose features have no"
        problem += f" names, needs {fitted.n_features_in_}."
        remedy = "Choose them, in the order of the fit, with --features."
        raise Sheet(frame).error(problem, remedy)
    with terminal.stage("Predicting"):
        result = prediction_frame(fitted, X, columns, frame, float(least))
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


def simulate(
    terminal: Terminal,
    n: Annotated[int, o.plain("How many rows.", True, "--n", **o.within(1))] = 500,
    kind: Annotated[str, o.plain("kind", True, **o.one_of("paper", "cytometry"))] = "paper",
    out: Annotated[str, o.plain("simulated", True, metavar="FILE")] = "-",
    truth: Annotated[bool, o.plain("truth", False, "--truth")] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Draw data to play with: labels are missing where the classes overlap."""
    if out == "-" and terminal.as_json:
        raise typer.BadParameter("--json needs a file for the table: name one with --out.")
    from hesitant import datasets

    check_target(out, force=force)
    if kind == "cytometry":
        data, label = datasets.make_cytometry_like(n, random_state=seed), "population"
    else:
        data, label = datasets.simulate(n, random_state=seed), "label"
    frame = data.to_frame(label)
    if truth:
        frame["truth"] = data.truth
    write_frame(frame, out, force=force)
    if out != "-":
        terminal.answer({"out": out, "rows": len(data), "blank": data.n_blank, "label": label})
        terminal.say(f"{noun(len(data), 'row')}, {data.n_blank:,} without a label, in {out}")
        terminal.say(f"Next: hesitant analyse {out} --label {label}")
