"""The main job: a table in; a model, predictions and a report out."""

import json
import math
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import hesitant
from hesitant._words import listed, noun, percent, short
from hesitant.cli import _options as o
from hesitant.cli import _tables as tables
from hesitant.cli._terminal import Terminal, in_options
from hesitant.exceptions import collect_warnings
from hesitant.tables import output, sources

FEWEST_LABELS = 10  # of fewer, none can be held out to compare models by
LISTED = 12  # features that are named; the report has them all
_BESIDE = "beside the table, named after it"
_NO_STREAM = "--out -: name a file. What was found is printed anyway, with --json as JSON."


def classifier(model: o.ModelOptions, y: Any = None) -> Any:
    """Return the classifier that options describe, not yet fitted.

    A combination of models of several shapes, unless options describe one, or the labels ``y``
    are too few to hold some out. Readers of a panel may be wrong, each in their own way.
    """
    # blanks arrive as None, so that no label is taken for one
    common: dict[str, Any] = {"random_state": model.seed, "n_jobs": model.jobs}
    common["missing_label"] = None
    names = ("family", "covariance", "components", "mechanism", "alpha")
    given = {name: getattr(model, name) for name in names}
    own = {k: getattr(v, "value", v) for k, v in given.items() if v is not None}
    panel, one = hasattr(y, "readers"), bool(own) or model.starts > 1
    if y is not None and not (one or panel):
        counts = Counter(label for label in y if label is not None)
        one = sum(n for n in counts.values() if n > 1) < FEWEST_LABELS
    if not (one or panel):
        return hesitant.MixtureClassifierCV(**common)
    if str(model.components).isdecimal():
        own["components"] = int(own["components"])
    experts = "fallible" if panel else "right"
    return hesitant.MixtureClassifier(**common, **own, n_init=model.starts, experts=experts)


def output_files(source: str, out: str | None) -> dict[str, Path]:
    """Return where the files of an analysis go: beside the table, or where ``--out`` says."""
    if out == "-":
        raise typer.BadParameter(_NO_STREAM)
    if source != "-":
        sources.refuse_folder(source)  # it has no name to call the files after
    start = Path(source).parent if out is None else Path(out)
    if out is None or os.path.isdir(out) or out.endswith(("/", os.sep)):
        start /= tables.stem(source)
    ends = {"report": ".report.html", "predictions": ".predictions.csv", "model": ".model"}
    return {what: start.with_name(start.name + end) for what, end in ends.items()}


def analyse(
    table: o.TableOptions,
    model: o.ModelOptions,
    terminal: Terminal,
    out: Annotated[str | None, o.output("out", _BESIDE, metavar="PREFIX")] = None,
    force: o.Force = False,
    config: o.Config = None,
    **also: Path,  # files to name beside those written
) -> None:
    """Fit a model to a table with blanks; write a report, predictions and the model."""
    from hesitant.persistence._files import to_bytes

    files = output_files(table.table, out)
    with terminal.stage("Reading"):
        gaps = classifier(model).__sklearn_tags__().input_tags.allow_nan
        gaps = gaps and not (model.standardise or model.pca)
        frame, columns = tables.learn(table, gaps)
    output.prepare_targets(files.values(), force=force, keep=table.inputs)
    options = {k: v for k, v in (asdict(table) | asdict(model)).items() if k != "table"}
    command = _command(table.table, options | {"out": out})
    notes = tables.table_notes(columns, command)
    X, preparation = prepare(columns, model.standardise, model.pca)
    with terminal.stage("Fitting"), collect_warnings() as warned:
        said = columns.said  # statements, where there are several readers, say who saw what
        reviewed = columns.reviewed if said is columns.y else None
        clf = classifier(model, said).fit(X, said, columns.weight, reviewed)
        checked = clf.check()  # as the fit has them: nobody looks through them again
    notes += warned
    saved = clf
    if preparation is not None:
        from sklearn.pipeline import Pipeline

        saved = Pipeline([("prepare", preparation), ("classify", clf)])
        units = "standard deviations from the mean" if model.standardise else "their own units"
        done = "Features were standardised"
        if preparation.rotation_ is not None:
            kept = noun(preparation.rotation_.shape[1], "principal component")
            share = percent(float(preparation.explained_.sum()))
            done = f"Features were replaced by {kept} with {share} of their variance"
        notes.append(f"{done}: all numbers about them are in {units}.")
    data = _provenance(table, frame, columns)
    with terminal.stage("Weighing the evidence"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is among the report's notes
        report = hesitant.report.make_report(
            clf,
            checked,
            None,
            ids=None if columns.ids is None else columns.ids.tolist(),
            rows=columns.rows + 1,
            name=data["name"],
            n_boot=model.bootstrap or 0,
            notes=notes,
            wording=in_options,
            options=options,
            random_state=model.seed,
            data=data,
            command=command,
        )
    with terminal.stage("Drawing and writing"):
        origin = {"data": data["name"], "data_sha256": data["sha256"], "command": command}
        origin["options"] = json.dumps(options)
        predictions = tables.prediction_frame(clf, checked, columns, frame, report._case.known())
        targets: dict[Path, str | bytes] = {
            files["report"]: report.to_html(),
            files["predictions"]: output.table_bytes(predictions, files["predictions"]),
            files["model"]: to_bytes(saved, notes=origin),
        }
        output.write_together(targets, force=force, keep=table.inputs)
    _print(report.to_dict(), {what: str(path) for what, path in (also | files).items()}, terminal)


def prepare(columns: Any, standardise: bool, pca: int | None) -> tuple[Any, Any]:
    """Return the features, standardised and rotated if asked to, and what did that."""
    import pandas as pd

    X = pd.DataFrame(columns.X, columns=pd.Index(columns.feature_names))
    if not standardise and pca is None:
        return X, None
    preparation = hesitant.persistence.Preparation(standardise=standardise, n_components=pca)
    return preparation.set_output(transform="pandas").fit_transform(X), preparation


def _command(table: str, options: dict[str, Any]) -> str:
    """Return the command line that repeats the analysis, defaults left out."""
    words = ["hesitant", "analyse", table]
    defaults = asdict(o.TableOptions("")) | asdict(o.ModelOptions())
    for name, value in options.items():
        if value != defaults.get(name):
            option = "--" + name.replace("_", "-")
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [option] if one is True else [option, str(one)]
    return shlex.join(words)


def _provenance(table: o.TableOptions, frame: Any, columns: Any) -> dict[str, Any]:
    stdin, other = table.table == "-", table.features_from
    beside = {}
    if other:
        beside = {"features_from": Path(other).name, "features_sha256": output.sha256_of(other)}
    return beside | {
        "name": "standard input" if stdin else Path(table.table).name,
        # standard input is gone once read: its content is summed instead, and that is said
        "sha256": output.sha256_of(frame if stdin else table.table),
        "sha256_of": "the table's content" if stdin else "the file",
        "rows": len(frame),
        "columns": int(frame.shape[1]),
        "rows_left_out": len(columns.dropped),
        "features": list(columns.feature_names),
        "ignored": list(columns.ignored),
    }


def _print(document: dict[str, Any], files: dict[str, str], terminal: Terminal) -> None:
    terminal.note(*document["notes"])
    terminal.answer({"files": files, **document})
    verdict = document["verdict"]
    terminal.heading(verdict["headline"])
    for text in (*verdict["paragraphs"], *(f"Caution: {c}" for c in verdict["cautions"])):
        terminal.say(text)
    used, columns = document["features"], document["repeat"]["data"]["features"]
    shown = listed([short(name) for name in columns], LISTED)
    rotated = "" if used == columns else f"{noun(len(used), 'principal component')} of "
    terminal.say(f"Features: {rotated}{shown}.")
    counts = ("class", "labelled", "blank_expected", "blank_share")
    terminal.table("Labels and blanks", document["labels"]["classes"], *counts)
    if document["readers"]:
        found = ("reader", "shown", "labelled", "accuracy", "intercept", "slope")
        terminal.table("Readers", document["readers"]["rows"], *found)
    terminal.heading("Files")
    for what, path in files.items():
        terminal.path(what, path)


def demo(
    terminal: Terminal,
    out: Annotated[str, o.plain("Where the files go.", True, metavar="FOLDER")] = "demo",
    force: o.Force = False,
) -> None:
    """Analyse built-in data: invented cells of four populations, some left ungated."""
    table = Path(out) / "cells.csv"
    output.prepare_targets([table, *output_files(str(table), None).values()], force=force, keep=())
    frame = hesitant.datasets.make_cytometry_like(2000, random_state=1).to_frame("population")
    frame.insert(0, "cell", [f"cell-{i + 1:04d}" for i in range(len(frame))])
    tables.write_frame(frame, str(table), force=force)
    terminal.say(f"{len(frame):,} invented cells; those between populations are mostly ungated.")
    read = o.TableOptions(str(table), label="population", id="cell")
    analyse(read, o.ModelOptions(), terminal, force=force, data=table)
    terminal.say(f"To answer yourself: hesitant desk {table} --label population --id cell")


def compare(
    table: o.TableOptions,
    *,
    family: Annotated[list[o.Family] | None, o.model("Family to try; repeat.", "all")] = None,
    covariance: Annotated[list[o.Covariance] | None, o.model("covariances", "full, tied")] = None,
    mechanism: Annotated[list[o.Mechanism] | None, o.model("mechanisms", "entropy, none")] = None,
    folds: Annotated[int, o.model("Parts of the cross-validation.", True, min=2)] = 5,
    standardise: o.Standardise = False,
    pca: o.Pca = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    terminal: Terminal,
    out: Annotated[str | None, o.output("ranking", metavar="FILE")] = None,
    force: o.Force = False,
    config: o.Config = None,
) -> None:
    """Rank families, covariances and mechanisms by how well they explain a table."""
    grid: dict[str, Sequence[Any]] = {
        "family": list(map(str, family or o.Family)),
        "covariance": list(map(str, covariance or ("full", "tied"))),
        "mechanism": list(map(str, mechanism or ("entropy", "none"))),
        "random_state": (seed,),
    }
    if out == "-":
        raise typer.BadParameter(_NO_STREAM)
    if out is not None:
        tables.check_target(out, terminal, force=force, keep=table.inputs)
    with terminal.stage("Reading"):
        _, columns = tables.learn(table, gaps=False)  # not every candidate can do with them
    notes = tables.table_notes(columns)
    terminal.note(*notes)
    X, _ = prepare(columns, standardise, pca)
    total = math.prod(map(len, grid.values()))
    with terminal.stage(f"Fitting {total} models, {folds + 1} times each"):
        result = hesitant.compare(
            X,
            columns.said,
            grid,
            cv=folds,
            sample_weight=columns.weight,
            reviewed=columns.reviewed if columns.opinions is None else None,
            missing_label=None,
            random_state=seed,
            n_jobs=-1 if jobs is None else jobs,
        )
    if out is not None:
        output.write_table(result.to_frame(), out, force=force)
    terminal.answer({"out": out, "notes": notes, **result.to_dict()})
    terminal.say(in_options(str(result)), wrap=False)
    if out is not None:
        terminal.path("ranking", out)
