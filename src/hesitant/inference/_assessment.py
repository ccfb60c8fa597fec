"""One candidate of a comparison: its criteria, and its foresight of held-out labels."""

import dataclasses
import math
from typing import Any

import numpy as np
from sklearn.base import clone

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.exceptions import collect_warnings
from hesitant.inference._comparison import Candidate
from hesitant.inference._pattern import chance_log_likelihood
from hesitant.uncertainty import Shannon

__all__ = ["Shared", "assess"]


@dataclasses.dataclass(frozen=True)
class Shared:
    """What every candidate is assessed on.

    One object, and not several arrays: those joblib's Dask backend would put on one worker for
    all tasks, and with that worker they would be lost.

    Attributes
    ----------
    X, y : array-likes
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    weight : array of shape (n,)
    shown : boolean array of shape (n,)
        Whether each row was reviewed.
    classes : list
    folds : list of arrays
        Positions of labelled rows to hold out together.
    together : bool
        Whether several candidates are fitted at once; each then keeps to one thread.
    """

    X: Any
    y: Any
    codes: IntArray
    weight: FloatArray
    shown: AnyArray
    classes: list[Any]
    folds: list[IntArray]
    together: bool

    @property
    def has_pattern(self) -> bool:
        """Whether some of the reviewed rows are labelled and some are not."""
        return len(np.unique(self.codes[self.shown] >= 0)) == 2


def assess(name: str, clf: Any, data: Shared) -> tuple[Candidate, FloatArray | None]:
    """Return a model's criteria, and the log loss of each held-out row."""
    loss = None
    try:
        fit, note = _fit(clf, data, slice(None))
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
        return Candidate(name, note=f"failed: {error}"), None
    known: dict[str, Any] = {"converged": bool(fit.converged_)}
    if fit.alpha == 0.5:
        known |= _criteria(fit, data)
    else:
        note += " A fractional likelihood is no likelihood of the data: only the log loss counts."
    if data.folds:
        try:
            loss = np.concatenate([_held_out(clf, data, fold) for fold in data.folds])
            known["cv_log_loss"] = float(loss.mean())
            known["cv_error"] = float(loss.std(ddof=1) / math.sqrt(loss.size))
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            note += f" Cross-validation failed: {error}"
    return Candidate(name, note=note.strip(), **known), loss


def _fit(clf: Any, data: Shared, places: IntArray | slice, **changes: Any) -> tuple[Any, str]:
    """Return the fit to some rows and what it warned of."""
    if data.together:
        changes["n_jobs"] = 1
    X, y = _take(data.X, places), _take(data.y, places)
    with collect_warnings() as heard:
        fit = clone(clf).set_params(verbose=0, **changes)
        fit.fit(X, y, data.weight[places], data.shown[places])
    return fit, " ".join(heard)


def _criteria(fit: Any, data: Shared) -> dict[str, Any]:
    labelled = data.codes >= 0
    value, k = fit.log_likelihood_, fit.n_parameters_
    if not fit.mechanism_.informative and data.has_pattern:
        chance = chance_log_likelihood(labelled[data.shown], data.weight[data.shown])
        value, k = value + chance, k + 1
    doubt = float((data.weight * fit.entropy(data.X, Shannon()))[~labelled].sum())
    bic = k * math.log(data.weight.sum()) - 2 * value
    return {
        "log_likelihood": float(value),
        "n_parameters": int(k),
        "aic": float(2 * k - 2 * value),
        "bic": float(bic),
        "icl": float(bic + 2 * doubt),
    }


def _held_out(clf: Any, data: Shared, fold: IntArray) -> AnyArray:
    """Return the log loss of each of a fold's rows under a fit to all the others."""
    keep = np.setdiff1d(np.arange(data.codes.size), fold)
    fit, _ = _fit(clf, data, keep, classes=data.classes)
    place = {c: h for h, c in enumerate(fit.classes_.tolist())}
    own = np.array([place[data.classes[h]] for h in data.codes[fold]])
    log_tau = fit.predict_log_proba(_take(data.X, fold))
    return np.asarray(-log_tau[np.arange(fold.size), own])


def _take(rows: Any, places: IntArray | slice) -> Any:
    """Return some rows of whatever holds them."""
    if isinstance(places, slice):
        return rows
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if hasattr(rows, "take") and not isinstance(rows, np.ndarray):  # Arrow's tables and columns
        return rows.take(places)
    return rows[places] if hasattr(rows, "shape") else [rows[k] for k in places]
