"""The real data: tables 1 and 2 beside the printed ones, and the full likelihood past them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hesitant._replicates import run_tasks
from hesitant._typing import FloatArray
from hesitant.classifier import MixtureClassifier
from hesitant.criteria import chance_log_likelihood
from hesitant.diagnostics import kolmogorov_smirnov, mann_whitney
from hesitant.exceptions import collect_warnings
from hesitant.families import FAMILIES
from hesitant.inference import information
from hesitant.mechanisms import EntropyMechanism
from hesitant.studies._checkpoint import Row
from hesitant.studies._readings import PRINTED, Printed, Reading, RealData
from hesitant.uncertainty import Shannon, transformed_entropy


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
    with collect_warnings() as heard:
        classifier.fit(data.features, data.labels)
    classifier.remarks_ = heard
    return classifier


# ---- tables 1 and 2: the ignorance likelihood ---------------------------------------------------


def compare_readings(
    readings: list[Reading],
    source: RealData,
    n_jobs: int | None = None,
    progress: bool | None = False,
) -> list[Row]:
    """Fit every reading of one data set and compare each with the printed numbers.

    Returns
    -------
    list of dict
        One row for each reading: the numbers of both tables, the log-likelihood, the distance
        from the printed numbers, and which is ``nearest`` and which ``main``.
    """
    tasks = [(reading, reading.load(source)) for reading in readings]
    name = readings[0].dataset
    how: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "description": name}
    rows = list(run_tasks(_compare, tasks, **how))
    # Fits that end at the same maximum differ by less than the tolerance: the first one counts.
    least = min(row["distance"] for row in rows) + 5e-4
    nearest = next(k for k, row in enumerate(rows) if row["distance"] <= least)
    for k, row in enumerate(rows):
        row |= {"main": k == 0, "nearest": k == nearest}
    return rows


def _compare(reading: Reading, data: Any) -> Row:
    classifier = fit_reading(reading, data)
    # Shannon's entropy, whatever the mechanism's own measure.
    entropy = classifier.entropy(data.features, Shannon())
    t, labelled = transformed_entropy(entropy, len(classifier.classes_)), data.labelled
    ks = kolmogorov_smirnov(t[labelled], t[~labelled])
    mw = mann_whitney(t[labelled], t[~labelled])
    row = {
        "n_labelled": int(labelled.sum()),
        "n_unlabelled": int((~labelled).sum()),
        "mean_labelled": float(t[labelled].mean()),
        "mean_unlabelled": float(t[~labelled].mean()),
        "ks": float(ks.statistic),
        "ks_p": float(ks.p_value),
        "mann_whitney": float(mw.statistic),
        "mann_whitney_p": float(mw.p_value),
    }
    return {
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


_COLUMNS = {
    "table1": ("n_labelled", "n_unlabelled", "mean_labelled", "mean_unlabelled"),
    "table2": ("ks", "ks_p", "mann_whitney", "mann_whitney_p"),
}


def beside_printed(table: str, rows: list[Row]) -> list[Row]:
    """Return the columns of table 1 or 2, each beside the printed one."""

    def chosen(row: Row, *keys: str) -> Row:
        return {key: row[key] for key in keys}

    out = []
    for row in rows:
        new = chosen(row, "dataset", "reading", "main", "nearest")
        for column in _COLUMNS[table]:
            new[column] = row[column]
            new[f"{column}_printed"] = getattr(PRINTED[row["dataset"]], column)
        out.append(new | chosen(row, "distance", "log_likelihood", "converged", "remarks"))
    return out


# ---- past the paper: the full likelihood --------------------------------------------------------

_SAMPLE = 100_000
_SHAPES = {"linear": "entropy", "log": "log entropy"}


@dataclass(frozen=True)
class Comparison:
    """The two likelihoods on one data set, the full one linear in the entropy.

    ``summary`` has a row for each mechanism, ``parameters`` one for each parameter with both
    estimates and standard errors, ``moved`` one for each unlabelled row that changes class.
    """

    data: Any
    ignorance: Any
    full: Any
    summary: list[Row]
    parameters: list[Row]
    moved: list[Row]


def compare_full(reading: Reading, data: Any, ignorance: Any) -> Comparison:
    """Fit the full likelihood beside an ignorance fit of a reading.

    The paper's mechanism is linear in the entropy. One linear in its logarithm is fitted too, to
    see how much depends on that: the same number of parameters, so their log-likelihoods can be
    compared.
    """
    fits = {
        basis: fit_reading(reading, data, mechanism=EntropyMechanism(basis=basis), init=ignorance)
        for basis in _SHAPES
    }
    before = information(ignorance, data.features, data.labels)
    summary, tables = [], {}
    for basis, full in fits.items():
        after = information(full, data.features, data.labels)
        table = tables[basis] = _parameters(reading.dataset, before, after)
        errors = dict(zip(after.parameters, after.std_error, strict=True))
        slope = next(name for name in after.parameters if name.startswith("coef["))
        # Labels that go missing by a coin need one parameter less.
        n_labelled = int(np.sum(data.labelled))
        chance = chance_log_likelihood(n_labelled, len(data.labelled) - n_labelled)
        null = float(ignorance.log_likelihood_) + chance
        summary.append(
            {
                "dataset": reading.dataset,
                "mechanism": _SHAPES[basis],
                "intercept": float(full.mechanism_.intercept_),
                "intercept_se": float(errors["intercept"]),
                "slope": float(full.mechanism_.coef_[0]),
                "slope_se": float(errors[slope]),
                "log_likelihood": float(full.log_likelihood_),
                "likelihood_ratio": 2 * (float(full.log_likelihood_) - null),
                **_moves(ignorance, full, data),
                "median_se_ratio": _of_finite(np.median, [row["se_ratio"] for row in table]),
                "largest_shift": _of_finite(np.max, [abs(row["shift"]) for row in table]),
                "converged": bool(full.converged_),
                "remarks": " ".join(full.remarks_),
            }
        )
    full = fits["linear"]
    moved = _moved(reading.dataset, ignorance, full, data)
    return Comparison(data, ignorance, full, summary, tables["linear"], moved)


def _moves(ignorance: Any, full: Any, data: Any) -> Row:
    """Count rows that change class, and the share of the space that does."""
    changed = np.asarray(ignorance.predict(data.features) != full.predict(data.features))
    sample, _, _ = full.sample(_SAMPLE, random_state=0)
    sample = type(data.features)(sample, columns=data.features.columns)
    elsewhere = ignorance.predict(sample) != full.predict(sample)
    shift = np.abs(ignorance.predict_proba(data.features) - full.predict_proba(data.features))
    return {
        "unlabelled_moved": int(changed[~data.labelled].sum()),
        "labelled_moved": int(changed[data.labelled].sum()),
        "space_moved": float(elsewhere.mean()),
        "mean_posterior_change_unlabelled": float(shift.max(axis=1)[~data.labelled].mean()),
    }


def _parameters(dataset: str, before: Any, after: Any) -> list[Row]:
    late = {name: j for j, name in enumerate(after.parameters)}
    rows = []
    for k, name in enumerate(before.parameters):
        if name not in late:
            continue
        j = late[name]
        old, new = float(before.std_error[k]), float(after.std_error[j])
        estimate, changed = float(before.estimate[k]), float(after.estimate[j])
        known = math.isfinite(old) and math.isfinite(new) and old > 0
        rows.append(
            {
                "dataset": dataset,
                "parameter": name,
                "ignorance": estimate,
                "ignorance_se": old,
                "full": changed,
                "full_se": new,
                "se_ratio": new / old if known else math.nan,
                "shift": (changed - estimate) / old if known else math.nan,
            }
        )
    return rows


def _moved(dataset: str, ignorance: Any, full: Any, data: Any) -> list[Row]:
    before, after = ignorance.predict(data.features), full.predict(data.features)
    old, new = ignorance.predict_proba(data.features), full.predict_proba(data.features)
    truth = None if data.truth is None else np.asarray(data.truth)
    return [
        {
            "dataset": dataset,
            "row": str(data.features.index[i]),
            "ignorance_class": str(before[i]),
            "ignorance_posterior": float(old[i].max()),
            "full_class": str(after[i]),
            "full_posterior": float(new[i].max()),
            "truth": None if truth is None else str(truth[i]),
        }
        for i in np.flatnonzero((before != after) & ~data.labelled)
    ]


def _of_finite(function: Any, values: Sequence[float]) -> float:
    known: FloatArray = np.array(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(function(known)) if known.size else math.nan
