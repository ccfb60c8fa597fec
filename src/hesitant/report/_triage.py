"""Which blank rows an expert should look at again."""

from typing import Any

import numpy as np

from hesitant._typing import FloatArray, IntArray
from hesitant.diagnostics._triage import gains, known_from
from hesitant.report._case import Case, top_two

__all__ = ["summarise_triage"]

KEPT = 1000
_BY_GAIN = (
    "Blank rows, ranked by what their label would be expected to teach about the classes. The "
    "value of a label is that information, in nats; it is large for rows that are uncertain and "
    "lie where the model itself is still uncertain."
)
_BY_ENTROPY = (
    "Blank rows, ranked by how uncertain their class is. (What a label would teach about the "
    "parameters could not be computed for this model.)"
)


def summarise_triage(case: Case) -> dict[str, Any]:
    """Return the blank rows, most instructive first."""
    order, value, explanation = _ranked(case)
    first, second = top_two(case.posterior)
    entropy = case.clf.entropy(case.X)
    chance = case.clf.labelling_probability(case.X)
    tau = case.posterior
    return {
        "total": int(case.blank.sum()),
        "explanation": explanation,
        "rows": [
            {
                "rank": rank,
                "row": int(case.rows[i]),
                "name": case.name_of(int(i)),
                "predicted": case.classes[first[i]],
                "probability": float(tau[i, first[i]]),
                "runner_up": case.classes[second[i]],
                "runner_up_probability": float(tau[i, second[i]]),
                "entropy": float(entropy[i]),
                "labelling_probability": float(chance[i]),
                "value": float(v),
            }
            for rank, (i, v) in enumerate(zip(order[:KEPT], value[:KEPT], strict=True), 1)
        ],
    }


def _ranked(case: Case) -> tuple[IntArray, FloatArray, str]:
    """Return the positions of blank rows, what each is worth, and by which measure."""
    blank = np.flatnonzero(case.blank)
    if blank.size and not isinstance(case.information, str):
        known = known_from(case.data.likelihood, case.clf.state_, case.information)
        ranked = gains(case.clf, case.data.X, blank, *known, np.ones(case.n), KEPT)
        return ranked.row, ranked.gain, _BY_GAIN
    value = case.clf.entropy(case.X)[blank] if blank.size else np.zeros(0)
    order = np.argsort(-value, kind="stable")
    return blank[order], value[order], _BY_ENTROPY
