"""The main job: a table in; a model, predictions and a report out."""

import json
import os
import shlex
import warnings
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
    from hesitant.report import Report
    from hesitant.tables import Columns

__all__ = ["ModelOptions", "Outputs", "analyse", "output_files", "prepare"]


@dataclass(frozen=True)
class ModelOptions:
    """How to fit, as the command line has it."""

    family: str = "gaussian"
    covariance: str = "full"
    mechanism: str = "entropy"
    alpha: float = 0.5
    standardise: bool = False
    pca: int | None = None
    seed: int = 0
    jobs: int | None = None
    starts: int = 1
    bootstrap: int | None = None

    def classifier(self, **changes: Any) -> Any:
        """Return the classifier these options describe, not yet fitted."""
        from hesitant import MixtureClassifier

        options: dict[str, Any] = {
            "family": self.family,
            "covariance": self.covariance,
            "mechanism": None if self.mechanism == "none" else self.mechanism,
            "alpha": self.alpha,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "n_init": self.starts,
            # blanks arrive as None, so that no label is taken for one
            "missing_label": None,
        }
        return MixtureClassifier(**{**options, **changes})


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
    table: TableOptions, model: ModelOptions, outputs: Outputs, terminal: Terminal, *, force: bool
) -> "Report":
    """Read, fit, judge and write; return the report."""
    import pandas as pd

    from hesitant.exceptions import collect_warnings
    from hesitant.persistence import save
    from hesitant.report import make_report
    from hesitant.tables import write_csv

    outputs.check(force, keep=[table.source])
    with terminal.stage("Reading"):
        frame = table.read()
        columns = table.select(frame)
    notes = table_notes(columns)
    prepared, names, preparation = prepare(columns, model)
    X = pd.DataFrame(prepared, columns=pd.Index(names))
    with terminal.stage("Fitting"), collect_warnings() as heard:
        clf = model.classifier().fit(X, columns.y, columns.weight, columns.reviewed)
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
            name=_shown_name(table.source),
            n_boot=model.bootstrap or 0,
            notes=notes,
            wording=in_options,
            options=_options(table, model),
            seed=model.seed,
            data=_provenance(table, frame, columns),
            command=_command(table, model),
        )
    with terminal.stage("Drawing and writing"):
        page = report.to_html()
        predictions = prediction_frame(clf, X, columns, label=columns.y)
        write_csv(predictions, outputs.predictions, force=force)
        save(_saved(clf, preparation), outputs.model, force=force, notes=_model_notes(report))
        _write(outputs.report, page, force)
    for note in report.to_dict()["notes"]:
        terminal.note(note)
    return report


def _write(path: Path, text: str, force: bool) -> None:
    from hesitant.tables import write_atomically

    # lone surrogates, as broken exports have them, cannot be written as UTF-8
    write_atomically(path, text.encode("utf-8", "replace"), force=force)


def prepare(columns: "Columns", model: ModelOptions) -> tuple[Any, list[str], Any]:
    """Standardise and rotate the features, if asked to."""
    if not model.standardise and model.pca is None:
        return columns.X, list(columns.feature_names), None
    import pandas as pd

    from hesitant.persistence import Preparation

    preparation = Preparation(standardise=model.standardise, n_components=model.pca)
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


def _preparation_note(model: ModelOptions, preparation: Any) -> str:
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


def _options(table: TableOptions, model: ModelOptions) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for group in (table, model):
        for field in fields(group):
            value = getattr(group, field.name)
            if field.name != "source":
                out[field.name] = list(value) if isinstance(value, tuple | list) else value
    return out


def _command(table: TableOptions, model: ModelOptions) -> str:
    """Return the command line that repeats the analysis, defaults left out."""
    words = ["hesitant", "analyse", table.source]
    for group in (table, model):
        for field in fields(group):
            value = getattr(group, field.name)
            # a 0 that was asked for is no False
            if field.name == "source" or value == field.default or value in (None, [], ()):
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

    stdin = table.source == "-"
    return {
        "name": _shown_name(table.source),
        # standard input is gone once read: its content is summed instead, and that is said
        "sha256": sha256_of(frame if stdin else table.source),
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
