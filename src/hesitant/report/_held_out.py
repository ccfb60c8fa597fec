"""How often the model is right on labelled rows that it did not see."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from hesitant._replicates import refit
from hesitant._typing import FloatArray, IntArray
from hesitant.weights import inverse_probability_weights

if TYPE_CHECKING:
    from hesitant.report._case import Case

FOLDS = 5
FEWEST = 10  # labelled rows; of fewer, a share says nothing
EDGES = (0.0, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
TOO_SURE = 0.05  # how far claimed confidence may exceed the share that is right


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Class probabilities of labelled rows under models that were fitted without them.

    Attributes
    ----------
    proba : array of shape (n, g)
        NaN for rows without.
    why_not : str
        Why there are none; empty if there are.
    """

    proba: FloatArray
    why_not: str = ""

    @property
    def rows(self) -> IntArray:
        """The rows that were held out."""
        return np.flatnonzero(np.isfinite(self.proba[:, 0]))


def hold_out(case: "Case") -> HeldOut:
    """Return held-out probabilities: the model's own where it has them, else of five folds."""
    nothing = np.full((case.n, len(case.classes)), np.nan)
    own = getattr(case.whole, "held_out_proba_", None)
    if own is not None and np.shape(own) == nothing.shape:
        return HeldOut(np.where(case.blank[:, None], np.nan, own))
    codes, counts = case.labels.codes, case.labels.counts
    # the only label of a class cannot be held out: the class would have none
    rows = np.flatnonzero((codes >= 0) & (counts[codes] > 1))
    if rows.size < FEWEST:
        return HeldOut(nothing, "too few rows are labelled to hold some of them out")
    if case.clf.alpha == 0:
        return HeldOut(nothing, "the classes were fitted without the labels")
    try:
        return HeldOut(_five_folds(case, rows, nothing))
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return HeldOut(nothing, f"a model without some of the rows could not be fitted: {error}")


def _five_folds(case: "Case", rows: IntArray, proba: FloatArray) -> FloatArray:
    folds = StratifiedKFold(
        min(FOLDS, int(case.labels.counts[case.labels.codes[rows]].min())),
        shuffle=True,
        random_state=0,
    )
    for _, part in folds.split(rows, case.labels.codes[rows]):
        out = rows[part]
        keep = np.setdiff1d(np.arange(case.n), out)
        clf = refit(
            case.whole,
            _safe_indexing(case.X, keep),
            case.said[keep],
            sample_weight=case.data.weight[keep],
            reviewed=None if case.panel else case.data.reviewed[keep],
            heard=[],
        )
        proba[out] = clf.predict_proba(_safe_indexing(case.X, out))
    return proba


def summarise_held_out(case: "Case") -> dict[str, Any]:
    """Return accuracy, confusion and reliability on held-out rows, or why there is none."""
    found = case.held_out
    rows = found.rows
    if not rows.size:
        return {"available": False, "why_not": found.why_not, "contradicted": False}
    proba, codes = found.proba[rows], case.labels.codes[rows]
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == codes
    lower, upper = wilson(right.sum(), right.size)
    g = len(case.classes)
    table = np.zeros((g, g), dtype=int)
    np.add.at(table, (codes, proba.argmax(axis=1)), 1)
    claimed, accuracy = float(confidence.mean()), float(right.mean())
    return {
        "available": True,
        "why_not": "",
        "rows": int(right.size),
        "accuracy": accuracy,
        "lower": lower,
        "upper": upper,
        "claimed": claimed,
        # printed probabilities would be certainties that the data refute
        "contradicted": claimed - accuracy > TOO_SURE and claimed > upper,
        **_of_all_rows(case, rows, confidence - right),
        "guess": float(np.bincount(codes).max() / codes.size),
        "confusion": table.tolist(),
        "reliability": _reliability(confidence, right),
    }


def _of_all_rows(case: "Case", rows: IntArray, gap: FloatArray) -> dict[str, float | None]:
    """Return the accuracy expected of all rows.

    It is the model's confidence in every row, less the gap between its confidence in held-out rows
    and their being right, those rows weighted by one over their chance of a label. (The weighted
    share of right rows alone hangs on the few hard ones that have a label.)
    """
    if case.informed is None or case.diagnosis.finding in ("crowded", "few"):
        return {"all_rows": None, "all_rows_error": None}
    weight = inverse_probability_weights(
        case.X,
        case.y,
        estimator=case.informed,
        reviewed=case.data.reviewed,
        missing_label=case.clf.missing_label,
    )[rows]
    if not weight.any():
        return {"all_rows": None, "all_rows_error": None}
    confidence = case.posterior.max(axis=1)
    confidence[rows] = case.held_out.proba[rows].max(axis=1)
    short_by = float(weight @ gap / weight.sum())
    error = float(np.sqrt(np.sum((weight * (gap - short_by)) ** 2)) / weight.sum())
    share = float(confidence.mean()) - short_by
    return {"all_rows": min(max(share, 0.0), 1.0), "all_rows_error": error}


def _reliability(confidence: FloatArray, right: Any) -> list[dict[str, Any]]:
    """Return what was claimed and what was right, in bands of confidence of ten rows or more."""
    out, low = [], EDGES[0]
    for high in EDGES[1:]:
        inside = (confidence >= low) & ((confidence < high) | (high == 1))
        rows = int(inside.sum())
        if rows and (rows >= FEWEST or high == 1):
            lower, upper = wilson(right[inside].sum(), rows)
            claimed, found = float(confidence[inside].mean()), float(right[inside].mean())
            band = {"from": low, "to": high, "rows": rows, "claimed": claimed, "right": found}
            out.append({**band, "lower": lower, "upper": upper})
            low = high
    return out


def wilson(successes: Any, n: Any) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    Examples
    --------
    >>> [round(v, 3) for v in wilson(9, 10)]
    [0.596, 0.982]
    """
    z2, n, share = 3.8415, float(n), float(successes) / float(n)
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)
