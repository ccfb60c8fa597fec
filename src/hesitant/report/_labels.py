"""How many labels are missing, and where."""

from typing import Any

import numpy as np

from hesitant.report._case import Case

__all__ = ["summarise_labels"]

# Confidence in the most probable class, in bands that anyone can picture.
SURE, UNSURE = 0.95, 0.7
BANDS = ((0.99, 1.0), (0.9, 0.99), (0.7, 0.9), (0.0, 0.7))


def summarise_labels(case: Case) -> dict[str, Any]:
    """Return the counts of labels and blanks, by class and by difficulty.

    Difficulty is judged by the fit that ignores the pattern of blanks, so that the picture cannot
    be an echo of the assumption.
    """
    labelled, blank = case.labels.labelled, case.blank
    predicted = case.posterior.argmax(axis=1)
    given = case.labels.counts
    assigned = np.bincount(predicted[blank], minlength=len(case.classes))
    expected = case.posterior[blank].sum(axis=0)
    confidence = case.ignorant_posterior.max(axis=1)
    assured = case.posterior[blank].max(axis=1)
    return {
        "rows": case.n,
        "labelled": int(labelled.sum()),
        "blank": int(blank.sum()),
        "blank_share": float(blank.mean()),
        "not_reviewed": int((~case.data.reviewed).sum()),
        "blank_sure": int((assured >= SURE).sum()),
        "blank_unsure": int((assured < UNSURE).sum()),
        "classes": [
            {
                "class": name,
                "labelled": int(given[h]),
                "blank_assigned": int(assigned[h]),
                "blank_expected": float(expected[h]),
                "blank_share": _share(assigned[h], given[h] + assigned[h]),
            }
            for h, name in enumerate(case.classes)
        ],
        "by_confidence": [_band(case, confidence, low, high) for low, high in BANDS],
    }


def _band(case: Case, confidence: Any, low: float, high: float) -> dict[str, Any]:
    inside = case.data.reviewed & (confidence >= low)
    if high < 1:
        inside &= confidence < high
    rows, blank = int(inside.sum()), int((inside & case.blank).sum())
    return {
        "from": low,
        "to": high,
        "rows": rows,
        "blank": blank,
        "blank_share": _share(blank, rows),
    }


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
