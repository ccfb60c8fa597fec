"""How often a model is right, by labels that it had not seen: of labelled and of blank rows."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import softmax
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import StandardScaler

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.diagnostics._smoother import wilson
from hesitant.label_rates import FLOOR, as_sure_as
from hesitant.report._case import FEWEST, Case

Section = dict[str, Any]
TOO_SURE = 0.05  # how far claimed confidence may exceed the share that is right
EDGES = (0.0, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
NEAREST, MOST_NEAR = 10, 2000  # rows like another; labelled rows, and blank ones, to look among


def judged_by_labels(case: Case) -> Section:
    """Return how right the model is on labels that it had not seen, and is expected to be."""
    every, why_not = case.held_out
    rows = np.flatnonzero(np.isfinite(every[:, 0]))
    if not rows.size:
        return {"available": False, "why_not": why_not, "contradicted": False}
    proba, codes = every[rows], case.labels.codes[rows]
    confidence, said = proba.max(axis=1), proba.argmax(axis=1)
    expected, agrees = confidence, said == codes
    accuracy, right = agrees.mean(), agrees
    if case.confusion is not None:  # readers who err are agreed with less often than one is right
        labels = case.said.said[rows]
        chance = np.einsum("ih,jhi->ij", proba, case.confusion[:, :, said])
        expected, agrees = chance[labels >= 0], (labels == said[:, None])[labels >= 0]
    claimed, agreed = expected.mean(), agrees.mean()
    lower, upper = wilson(accuracy, right.size)
    blank_rows, blank = _of_blank_rows(case, rows), case.blank.mean()
    found: Section = {"available": True, "why_not": "", "rows": right.size}
    found |= {"accuracy": accuracy, "lower": lower, "upper": upper}
    found |= {"claimed": claimed, "agreed": agreed, "blank_rows": blank_rows}
    # printed probabilities would be certainties that the data refute
    found["contradicted"] = bool(claimed > max(agreed + TOO_SURE, wilson(agreed, agrees.size)[1]))
    found["all_rows"] = None if blank_rows is None else (1 - blank) * accuracy + blank * blank_rows
    found["guess"] = np.bincount(codes).max() / codes.size
    found["confusion"] = confusion_matrix(codes, said, labels=range(len(case.classes)))
    return found | {"reliability": _reliability(expected, agrees)}


def _of_blank_rows(case: Case, rows: IntArray) -> float | None:
    """Return the share of blank rows that is expected to be right.

    The model's claim, made less sure until labels of held-out ``rows`` bear it out. A label counts
    by the odds of a blank among the rows nearest to it: that a wrong model is sure of a row does
    not make it an easy one.
    """
    few = case.diagnosis.finding in ("crowded", "few")
    if few or case.confusion is not None or not case.blank.any():
        return None
    rng = np.random.default_rng(0)
    held, left = (rng.permutation(of)[:MOST_NEAR] for of in (rows, np.flatnonzero(case.blank)))
    Z = np.nan_to_num(StandardScaler().fit_transform(case.values[np.r_[held, left]]))
    k = min(NEAREST, len(Z) - 1)
    near = cKDTree(Z).query(Z[: held.size], k + 1)[1]
    itself = near == np.arange(held.size)[:, None]
    itself[:, -1] |= ~itself.any(axis=1)  # of many rows alike, it need not be among the nearest
    blanks = ((near >= held.size) & ~itself).sum(axis=1) + left.size / len(Z)
    odds = blanks / (k + 1 - blanks)
    pair = case.held_out[0][held], case.posterior[case.blank]
    log_p, log_tau = (np.log(np.clip(p, FLOOR, 1.0)) for p in pair)
    power = as_sure_as(log_p, case.labels.codes[held], odds, 1.0)
    return float(softmax(power * log_tau, axis=1).max(axis=1).mean())


def _reliability(confidence: FloatArray, right: BoolArray) -> list[Section]:
    """Return what was claimed and what was right, in bands of confidence of ten rows or more."""
    out, low = [], EDGES[0]
    for high in EDGES[1:]:
        inside = (confidence >= low) & ((confidence < high) | (high == 1))
        rows = int(inside.sum())
        if rows and (rows >= FEWEST or high == 1):
            claimed, found = confidence[inside].mean(), right[inside].mean()
            lower, upper = wilson(found, rows)
            band = {"from": low, "to": high, "rows": rows, "claimed": claimed, "right": found}
            out.append({**band, "lower": lower, "upper": upper})
            low = high
    return out
