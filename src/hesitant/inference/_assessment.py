"""One candidate of a comparison: its likelihood and criteria."""

import dataclasses
import math
from typing import Any

from sklearn.base import clone

from hesitant._typing import BoolArray, FloatArray
from hesitant.exceptions import collect_warnings
from hesitant.inference._comparison import Candidate
from hesitant.inference._pattern import chance_log_likelihood
from hesitant.model_selection._held_out import FAILURES
from hesitant.uncertainty import Shannon


@dataclasses.dataclass(frozen=True)
class Shared:
    """What every candidate is assessed on.

    One object, and not several arrays: those joblib's Dask backend would put on one worker for
    all tasks, and with that worker they would be lost.
    """

    X: Any
    y: Any
    labelled: BoolArray
    weight: FloatArray
    shown: BoolArray
    has_pattern: bool
    together: bool


def assess(name: str, clf: Any, data: Shared) -> Candidate:
    """Return a model's criteria, from a fit to all rows."""
    changes = {"n_jobs": 1} if data.together else {}
    try:
        with collect_warnings() as heard:
            fit = clone(clf).set_params(verbose=0, **changes)
            fit.fit(data.X, data.y, data.weight, data.shown)
    except FAILURES as error:
        return Candidate(name, note=f"failed: {error}")
    note = " ".join(heard)
    known: dict[str, Any] = {"converged": bool(fit.converged_)}
    if fit.alpha == 0.5:
        known |= _criteria(fit, data)
    else:
        note += " A fractional likelihood is no likelihood of the data: only the log loss counts."
    return Candidate(name, note=note.strip(), **known)


def _criteria(fit: Any, data: Shared) -> dict[str, Any]:
    value, k = fit.log_likelihood_, fit.n_parameters_
    if not fit.mechanism_.informative and data.has_pattern:
        chance = chance_log_likelihood(data.labelled[data.shown], data.weight[data.shown])
        value, k = value + chance, k + 1
    doubt = float((data.weight * fit.entropy(data.X, Shannon()))[~data.labelled].sum())
    bic = k * math.log(data.weight.sum()) - 2 * value
    return {
        "log_likelihood": float(value),
        "n_parameters": int(k),
        "aic": float(2 * k - 2 * value),
        "bic": float(bic),
        "icl": float(bic + 2 * doubt),
    }
