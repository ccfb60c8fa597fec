"""Tables 1 and 2: the ignorance likelihood on real data, our numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.classifier import MixtureClassifier
from hesitant.diagnostics import kolmogorov_smirnov, mann_whitney
from hesitant.exceptions import hearing
from hesitant.families import FAMILIES
from hesitant.studies._estimators import Row
from hesitant.studies._parallel import unordered
from hesitant.studies._printed import PRINTED, Printed
from hesitant.studies._readings import Reading, Source
from hesitant.uncertainty import Shannon, transformed_entropy

__all__ = ["compare_readings", "fit_reading", "measure", "table1", "table2"]


def fit_reading(reading: Reading, data: Any, **changes: Any) -> Any:
    """Fit a reading by the ignorance likelihood; `changes` override the classifier's options.

    Returns
    -------
    MixtureClassifier
        With the warnings of the fit, in words, in its attribute ``remarks_``.
    """
    options = reading.options(FAMILIES[PRINTED[reading.dataset].family])
    options |= {"mechanism": None, "random_state": 0, "max_iter": 5000}
    if reading.start == "labelled rows":
        options["init"] = _fit({**options, "alpha": 1.0}, data)
        # EM, as the paper has it, goes to the nearest maximum; other solvers may leap past it.
        # Some of these have a class that is half a distribution, on a ridge without end.
        options |= {"solver": "em", "tol": 1e-3}
    return _fit({**options, **changes}, data)


def _fit(options: dict[str, Any], data: Any) -> Any:
    classifier: Any = MixtureClassifier(**options)
    with hearing() as heard:
        classifier.fit(data.features, data.labels)
    classifier.remarks_ = heard
    return classifier


def entropies(classifier: Any, features: Any) -> FloatArray:
    """Return transformed entropies, Shannon's whatever the mechanism's own measure."""
    entropy = classifier.entropy(features, Shannon())
    return transformed_entropy(entropy, len(classifier.classes_))


def measure(classifier: Any, data: Any) -> Row:
    """Return what tables 1 and 2 say of a fit."""
    t, labelled = entropies(classifier, data.features), data.labelled
    ks = kolmogorov_smirnov(t[labelled], t[~labelled])
    mw = mann_whitney(t[labelled], t[~labelled])
    return {
        "n_labelled": int(labelled.sum()),
        "n_unlabelled": int((~labelled).sum()),
        "mean_labelled": float(t[labelled].mean()),
        "mean_unlabelled": float(t[~labelled].mean()),
        "ks": float(ks.statistic),
        "ks_p": float(ks.p_value),
        "mann_whitney": float(mw.statistic),
        "mann_whitney_p": float(mw.p_value),
    }


def compare_readings(
    readings: list[Reading],
    source: Source,
    jobs: int | None = 1,
    advance: Callable[[], object] = lambda: None,
) -> list[Row]:
    """Fit every reading of one data set and compare each with the printed numbers.

    Returns
    -------
    list of dict
        One row for each reading: `measure`, the log-likelihood, the distance from the printed
        numbers, and which is ``nearest`` and which ``main``.
    """
    tasks = [(k, reading, reading.load(source)) for k, reading in enumerate(readings)]
    rows: list[Row] = [{}] * len(tasks)
    for k, row in unordered(_numbered, tasks, jobs):
        rows[k] = row
        advance()
    # Fits that end at the same maximum differ by less than the tolerance: the first one counts.
    least = min(row["distance"] for row in rows) + 5e-4
    nearest = next(k for k, row in enumerate(rows) if row["distance"] <= least)
    for k, row in enumerate(rows):
        row |= {"main": k == 0, "nearest": k == nearest}
    return rows


def _numbered(k: int, reading: Reading, data: Any) -> tuple[int, Row]:
    classifier = fit_reading(reading, data)
    row = measure(classifier, data)
    return k, {
        "dataset": reading.dataset,
        "reading": reading.name,
        **row,
        "log_likelihood": float(classifier.log_likelihood_),
        "converged": bool(classifier.converged_),
        "distance": _distance(row, PRINTED[reading.dataset]),
        "remarks": " ".join(classifier.remarks_),
    }


def _distance(row: Row, printed: Printed) -> float:
    """Return how far a reading is from the printed numbers, on a scale where 1 is very far.

    The mean of four absolute differences: of the two mean entropies, in units of the printed gap
    between them, and of the two test statistics, Mann-Whitney's as a share of all pairs.
    """
    gap = printed.mean_unlabelled - printed.mean_labelled
    share = row["mann_whitney"] / (row["n_labelled"] * row["n_unlabelled"])
    differences = [
        (row["mean_labelled"] - printed.mean_labelled) / gap,
        (row["mean_unlabelled"] - printed.mean_unlabelled) / gap,
        row["ks"] - printed.ks,
        share - printed.mann_whitney_share,
    ]
    return float(np.mean(np.abs(differences)))


_FIRST = ("dataset", "reading", "main", "nearest")
_LAST = ("distance", "log_likelihood", "converged", "remarks")
_TABLE_1 = ("n_labelled", "n_unlabelled", "mean_labelled", "mean_unlabelled")
_TABLE_2 = ("ks", "ks_p", "mann_whitney", "mann_whitney_p")


def table1(rows: list[Row]) -> list[Row]:
    """Return counts and mean transformed entropies beside the printed ones."""
    return _beside(rows, _TABLE_1)


def table2(rows: list[Row]) -> list[Row]:
    """Return the Kolmogorov-Smirnov and Mann-Whitney tests beside the printed ones."""
    return _beside(rows, _TABLE_2)


def _beside(rows: list[Row], columns: tuple[str, ...]) -> list[Row]:
    return [
        {key: row[key] for key in _FIRST}
        | {
            key: value
            for column in columns
            for key, value in (
                (column, row[column]),
                (f"{column}_printed", getattr(PRINTED[row["dataset"]], column)),
            )
        }
        | {key: row[key] for key in _LAST}
        for row in rows
    ]
