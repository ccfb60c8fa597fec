"""Past the paper: the same real data by the full likelihood, and what that changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.inference import information
from hesitant.inference._pattern import chance_log_likelihood
from hesitant.mechanisms import EntropyMechanism
from hesitant.studies._estimators import Row
from hesitant.studies._readings import Reading
from hesitant.studies._real import fit_reading

__all__ = ["Comparison", "compare_full"]

_SAMPLE = 100_000
_SHAPES = {"linear": "entropy", "log": "log entropy"}


@dataclass(frozen=True)
class Comparison:
    """The two likelihoods on one data set.

    Attributes
    ----------
    data : PartlyLabelled
    ignorance, full : fitted MixtureClassifier
        The second with the paper's mechanism, linear in the entropy.
    summary : list of dict
        One row for each mechanism.
    parameters : list of dict
        Both estimates and standard errors of each parameter.
    moved : list of dict
        The unlabelled rows that change class.
    """

    data: Any
    ignorance: Any
    full: Any
    summary: list[Row]
    parameters: list[Row]
    moved: list[Row]


def compare_full(reading: Reading, data: Any, ignorance: Any) -> Comparison:
    """Fit the full likelihood beside an ignorance fit.

    Parameters
    ----------
    reading : Reading
        What was fitted.
    data : PartlyLabelled
    ignorance : fitted MixtureClassifier

    Notes
    -----
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
        tables[basis] = _parameters(reading.dataset, before, after)
        summary.append(
            {
                "dataset": reading.dataset,
                "mechanism": _SHAPES[basis],
                **_mechanism(full, after),
                **_likelihood_ratio(ignorance, full, data),
                **_moves(ignorance, full, data),
                "median_se_ratio": _median([row["se_ratio"] for row in tables[basis]]),
                "largest_shift": _largest([row["shift"] for row in tables[basis]]),
                "converged": bool(full.converged_),
                "remarks": " ".join(full.remarks_),
            }
        )
    full = fits["linear"]
    moved = _moved(reading.dataset, ignorance, full, data)
    return Comparison(data, ignorance, full, summary, tables["linear"], moved)


def _mechanism(full: Any, after: Any) -> Row:
    errors = dict(zip(after.parameters, after.std_error, strict=True))
    slope = next(name for name in after.parameters if name.startswith("coef["))
    return {
        "intercept": float(full.mechanism_.intercept_),
        "intercept_se": float(errors["intercept"]),
        "slope": float(full.mechanism_.coef_[0]),
        "slope_se": float(errors[slope]),
    }


def _likelihood_ratio(ignorance: Any, full: Any, data: Any) -> Row:
    """Compare with labels that go missing by a coin, which need one parameter less."""
    null = float(ignorance.log_likelihood_) + chance_log_likelihood(data.labelled)
    return {
        "log_likelihood": float(full.log_likelihood_),
        "likelihood_ratio": 2 * (float(full.log_likelihood_) - null),
    }


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
    late = dict(zip(after.parameters, range(len(after.parameters)), strict=True))
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
    rows = np.flatnonzero((before != after) & ~data.labelled)
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
        for i in rows
    ]


def _median(values: list[float]) -> float:
    known = _finite(values)
    return float(np.median(known)) if known.size else math.nan


def _largest(values: list[float]) -> float:
    known = np.abs(_finite(values))
    return float(known.max()) if known.size else math.nan


def _finite(values: list[float]) -> FloatArray:
    array = np.array(values, dtype=float)
    return array[np.isfinite(array)]
