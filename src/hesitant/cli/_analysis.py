"""The main job: a table in; a model, predictions and a report out."""

import json
import os
import shlex
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hesitant._words import noun
from hesitant.cli._data import TableOptions, stem
from hesitant.cli._mistakes import in_options
from hesitant.cli._notes import table_notes
from hesitant.cli._predictions import prediction_frame
from hesitant.cli._terminal import Terminal

if TYPE_CHECKING:
    from hesitant.cli._app import ModelOptions
    from hesitant.report import Report
    from hesitant.tables import Columns


FEWEST_LABELS = 10  # of fewer, none can be held out to compare models by


def classifier(model: "ModelOptions", y: Any = None) -> Any:
    """Return the classifier that options describe, not yet fitted.

    A combination of models of several shapes, unless a family, covariance, mechanism, alpha or
    starts are asked for, or the labels ``y`` are too few to hold some out.
    """
    from hesitant import MixtureClassifier, MixtureClassifierCV

    # blanks arrive as None, so that no label is taken for one
    common: dict[str, Any] = {
        "random_state": model.seed,
        "n_jobs": model.jobs,
        "missing_label": None,
    }
    own = (model.family, model.covariance, model.mechanism, model.alpha)
    one = model.starts > 1 or any(value is not None for value in own)
    if y is not None and not one:
        counts = Counter(label for label in y if label is not None)
        one = sum(n for n in counts.values() if n > 1) < FEWEST_LABELS
    if not one:
        return MixtureClassifierCV(**common)
    options: dict[str, Any] = {
        "family": model.family or "gaussian",
        "covariance": model.covariance or "full",
        "mechanism": None if model.mechanism == "none" else model.mechanism or "entropy",
        "alpha": 0.5 if model.alpha is None else model.alpha,
        "n_init": model.starts,
    }
    return MixtureClassifier(**common, **options)


def allows_gaps(model: Any) -> bool:
    """Tell whether a model can do with rows that lack features."""
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


@dataclass(frozen=True)
class Outputs:
    """The three files of an analysis."""

    report: Path
    predictions: Path
    model: Path

    def check(self, force: bool, keep: Sequence[str] = ()) -> None:
        """Make the folder and refuse existing files before the work rather than after it."""
        from hesitant.tables.output import prepare_targets

        prepare_targets((self.report, self.predictions, self.model), force=force, keep=keep)


def output_files(source: str, out: str | None) -> Outputs:
    """Return where the files of an analysis go: beside the table, or where ``--out`` says.

    Parameters
    ----------
    source : str
        The table.
    out : str or None
        A folder, or the beginning of the files' names.
    """
    from hesitant.tables.sources import refuse_folder

    if source != "-":
        refuse_folder(source)  # it has no name to call the files after
    if out is None:
        folder = Path(".") if source == "-" else Path(source).parent
        start = folder / stem(source)
    elif os.path.isdir(out) or out.endswith(("/", os.sep)):
        start = Path(out) / stem(source)
    else:
        start = Path(out)
    return Outputs(
        *(
            start.with_name(start.name + end)
            for end in (".report.html", ".predictions.csv", ".model")
        )
    )


def analyse(
    table: TableOptions,
    model: "ModelOptions",
    outputs: Outputs,
    terminal: Terminal,
    *,
    force: bool,
) -> "Report":
    """Read, fit, judge and write; return the report."""
    import pandas as pd

    from hesitant.exceptions import collect_warnings
    from hesitant.persistence import save
    from hesitant.report import make_report
    from hesitant.tables import write_together
    from hesitant.tables.output import table_bytes

    with terminal.stage("Reading"):
        gaps = allows_gaps(classifier(model)) and not (model.standardise or model.pca)
        frame, columns, notes = table.learn(gaps)
    outputs.check(force, keep=table.inputs)
    notes += table_notes(columns, _command(table, model))
    prepared, names, preparation = prepare(columns, model.standardise, model.pca)
    X = pd.DataFrame(prepared, columns=pd.Index(names))
    with terminal.stage("Fitting"), collect_warnings() as heard:
        clf = classifier(model, columns.y).fit(X, columns.y, columns.weight, columns.reviewed)
    notes += heard
    if preparation is not None:
        notes.append(_preparation_note(model, preparation))
    with terminal.stage("Weighing the evidence"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is among the report's notes
        report = make_report(
            clf,
            X,
            columns.y,
            sample_weight=columns.weight,
            reviewed=columns.reviewed,
            ids=None if columns.ids is None else columns.ids.tolist(),
            rows=columns.rows + 1,
            name=_shown_name(table.table),
            n_boot=model.bootstrap or 0,
            notes=notes,
            wording=in_options,
            options=_options(table, model),
            seed=model.seed,
            data=_provenance(table, frame, columns),
            command=_command(table, model),
        )
    with terminal.stage("Drawing and writing"):
        # lone surrogates, as broken exports have them, cannot be written as UTF-8
        page = report.to_html().encode("utf-8", "replace")
        predictions = table_bytes(prediction_frame(clf, X, columns, frame), outputs.predictions)
        with tempfile.TemporaryDirectory() as folder:
            saved = save(_saved(clf, preparation), f"{folder}/model", notes=_model_notes(report))
            model_file = saved.read_bytes()
        write_together(
            {outputs.report: page, outputs.predictions: predictions, outputs.model: model_file},
            force=force,
            keep=table.inputs,
        )
    for note in report.to_dict()["notes"]:
        terminal.note(note)
    return report


def prepare(columns: "Columns", standardise: bool, pca: int | None) -> tuple[Any, list[str], Any]:
    """Standardise and rotate the features, if asked to."""
    if not standardise and pca is None:
        return columns.X, list(columns.feature_names), None
    import pandas as pd

    from hesitant.persistence import Preparation

    preparation = Preparation(standardise=standardise, n_components=pca)
    named = pd.DataFrame(columns.X, columns=pd.Index(columns.feature_names))
    try:
        prepared = preparation.fit_transform(named)
    except ValueError as error:
        raise ValueError(str(error).replace("n_components=", "--pca ")) from error
    return prepared, [str(n) for n in preparation.get_feature_names_out()], preparation


def _saved(clf: Any, preparation: Any) -> Any:
    if preparation is None:
        return clf
    from sklearn.pipeline import Pipeline

    return Pipeline([("prepare", preparation), ("classify", clf)])


def _preparation_note(model: "ModelOptions", preparation: Any) -> str:
    what = "standard deviations from the mean" if model.standardise else "the features' own units"
    if preparation.rotation_ is None:
        return f"Features were standardised: all numbers about them are in {what}."
    kept = noun(preparation.rotation_.shape[1], "principal component")
    share = float(preparation.explained_.sum())
    return (
        f"The features were replaced by {kept}, in {what}, with {100 * share:.1f} % of their "
        "variance."
    )


# -- what it takes to repeat it -----------------------------------------------------------------


def _shown_name(source: str) -> str:
    return "standard input" if source == "-" else Path(source).name


def _options(table: TableOptions, model: "ModelOptions") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for group in (table, model):
        for field in fields(group):
            value = getattr(group, field.name)
            if field.name != "table":
                out[field.name] = list(value) if isinstance(value, tuple | list) else value
    return out


def _command(table: TableOptions, model: "ModelOptions") -> str:
    """Return the command line that repeats the analysis, defaults left out."""
    words = ["hesitant", "analyse", table.table]
    for group in (table, model):
        for field in fields(group):
            value = getattr(group, field.name)
            # a 0 that was asked for is no False
            if field.name == "table" or value == field.default or value in (None, [], ()):
                continue
            option = "--" + field.name.replace("_", "-")
            if value is True:
                words.append(option)
                continue
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [option, str(one)]
    return shlex.join(words)


def _provenance(table: TableOptions, frame: Any, columns: "Columns") -> dict[str, Any]:
    from hesitant.tables import sha256_of

    stdin = table.table == "-"
    other = table.features_from
    beside = (
        {"features_from": _shown_name(other), "features_sha256": sha256_of(other)} if other else {}
    )
    return beside | {
        "name": _shown_name(table.table),
        # standard input is gone once read: its content is summed instead, and that is said
        "sha256": sha256_of(frame if stdin else table.table),
        "sha256_of": "the table's content" if stdin else "the file",
        "rows": len(frame),
        "columns": int(frame.shape[1]),
        "rows_left_out": len(columns.dropped),
        "features": list(columns.feature_names),
        "ignored": list(columns.ignored),
    }


def _model_notes(report: "Report") -> dict[str, str]:
    repeat = report.to_dict()["repeat"]
    return {
        "data": repeat["data"]["name"],
        "data_sha256": repeat["data"]["sha256"],
        "command": repeat["command"],
        "options": json.dumps(repeat["options"]),
    }
