"""What listening to the blanks changes, against the fit that ignores them."""

from typing import Any

import numpy as np

from hesitant.inference._information import information_of
from hesitant.report._case import Case

__all__ = ["summarise_change"]

MOST_MOVED = 12


def summarise_change(case: Case) -> dict[str, Any]:
    """Return the differences between the two fits, or why there are none to show."""
    if case.informed is None:
        return {"available": False}
    before, after = case.ignorant_posterior, case.informed_posterior
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    blank = case.blank
    moved = np.flatnonzero(old != new)
    # those that change most come first
    order = np.argsort(-np.abs(after - before).max(axis=1)[moved], kind="stable")
    ignorance, informed = case.diagnosis.ignorance, case.informed
    return {
        "available": True,
        "model_uses_pattern": bool(case.clf.mechanism_.informative),
        "moved": len(moved),
        "moved_blank": int(blank[moved].sum()),
        "blank": int(blank.sum()),
        "rows": [_moved_row(case, i, before, after) for i in moved[order][:MOST_MOVED]],
        "classes": [
            {
                "class": name,
                "weight_without": float(ignorance.weights_[h]),
                "weight_with": float(informed.weights_[h]),
                "mean_shift": _shift(ignorance, informed, h),
                "blank_without": int((old[blank] == h).sum()),
                "blank_with": int((new[blank] == h).sum()),
            }
            for h, name in enumerate(case.classes)
        ],
        "error_without": _expected_error(before),
        "error_with": _expected_error(after),
        "agreement_without": _agreement(case, old),
        "agreement_with": _agreement(case, new),
        "precision_gain": _precision_gain(case),
    }


def _moved_row(case: Case, i: int, before: Any, after: Any) -> dict[str, Any]:
    old, new = int(before[i].argmax()), int(after[i].argmax())
    return {
        "row": int(case.rows[i]),
        "name": case.name_of(i),
        "labelled": bool(case.labels.labelled[i]),
        "without": case.classes[old],
        "probability_without": float(before[i, old]),
        "with": case.classes[new],
        "probability_with": float(after[i, new]),
    }


def _shift(old: Any, new: Any, h: int) -> float | None:
    """Return how far a class's mean moved, in its own standard deviations (Mahalanobis)."""
    step = new.means_[h] - old.means_[h]
    covariance = old.covariances_[h]
    if not (np.isfinite(step).all() and np.isfinite(covariance).all()):
        return None  # a t of so few degrees of freedom has no moments
    try:
        return float(np.sqrt(max(step @ np.linalg.solve(covariance, step), 0.0)))
    except np.linalg.LinAlgError:
        return None


def _expected_error(tau: Any) -> float:
    """Return the share of rows that the most probable class is expected to get wrong."""
    return float(1 - tau.max(axis=1).mean())


def _agreement(case: Case, predicted: Any) -> float | None:
    labelled = case.labels.labelled
    if not labelled.any():
        return None
    return float((predicted[labelled] == case.labels.codes[labelled]).mean())


def _precision_gain(case: Case) -> float | None:
    """Return the median ratio of variances, without over with the pattern, of class parameters.

    A ratio of 1.3 means that the pattern is worth about 30 % more rows like these.
    """
    using = case.information
    if isinstance(using, str) or case.informed is not case.clf:
        return None
    try:
        without = information_of(case.diagnosis.ignorance, case.data.likelihood.ignoring())
    except (ValueError, np.linalg.LinAlgError):
        return None
    errors = dict(zip(using.parameters, using.std_error, strict=True))
    ratios = [
        (error / errors[name]) ** 2
        for name, error in zip(without.parameters, without.std_error, strict=True)
        if name in errors and 0 < errors[name] < np.inf and 0 < error < np.inf
    ]
    return float(np.median(ratios)) if ratios else None
