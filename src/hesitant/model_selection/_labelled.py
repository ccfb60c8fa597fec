"""Splits and scores for labels with blanks, which scikit-learn's own would take for a class."""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from hesitant._typing import AnyArray, IntArray
from hesitant.checks import check_number
from hesitant.labels import encode
from hesitant.model import LEAST

_OWN = ("log_probability", "seen")  # scores that scikit-learn does not have


class LabelledKFold(BaseCrossValidator):
    """Folds of the labelled rows, each class dealt out evenly; blank rows stay in training.

    A held-out row leaves training altogether: to turn its label into a blank would fake a
    pattern. ``hold_out_blanks`` deals out the blank rows too, for scores of the blanks themselves
    (``"seen"``). ``missing_label`` marks a blank in y; None, NaN, NA and null always do. Rows are
    shuffled always, by ``random_state``.

    >>> from sklearn.model_selection import cross_val_score
    >>> from hesitant import MixtureClassifier, datasets
    >>> from hesitant.model_selection import LabelledKFold, labelled_scorer
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> how = {"cv": LabelledKFold(random_state=0), "scoring": labelled_scorer("accuracy")}
    >>> scores = cross_val_score(MixtureClassifier(), data.features, data.labels, **how)
    >>> bool(scores.mean() > 0.9)
    True
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        hold_out_blanks: bool = False,
        missing_label: Any = -1,
        random_state: Any = None,
    ) -> None:
        check_number("n_splits", n_splits, Integral, 2)
        self.n_splits, self.hold_out_blanks = n_splits, hold_out_blanks
        self.missing_label, self.random_state = missing_label, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return int(self.n_splits)

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Any:
        codes = encode(y, self.missing_label).codes
        yield from deal_out(codes, self.n_splits, self.random_state, self.hold_out_blanks)


def as_random_state(given: Any) -> np.random.RandomState:
    """Return what scikit-learn's functions draw from, from any seed or generator."""
    if isinstance(given, np.random.Generator):
        given = int(given.integers(2**31 - 1))
    return check_random_state(given)


def deal_out(
    codes: IntArray, n_splits: int, random_state: Any, blanks: bool = False, fewer: bool = False
) -> list[IntArray]:
    """Return the rows of each fold; the only row of a class is never held out.

    Classes are dealt out one after the other, so that every fold has its share of each. With
    ``fewer`` there are as many folds as labels allow, and none for a single label.
    """
    rng, counts = as_random_state(random_state), np.bincount(codes[codes >= 0], minlength=1)
    several = [np.flatnonzero(codes == h) for h in np.flatnonzero(counts > 1)]
    order = np.concatenate([np.zeros(0, dtype=int), *map(rng.permutation, several)])
    if fewer:
        n_splits = min(n_splits, order.size)
    if order.size < n_splits:
        raise ValueError(f"{order.size} labelled rows for {n_splits} folds: give fewer folds.")
    rest = rng.permutation(np.flatnonzero(codes < 0)) if blanks else order[:0]
    parts = [(order[k::n_splits], rest[k::n_splits]) for k in range(n_splits)]
    return [np.sort(np.concatenate(part)) for part in parts]


def labelled_scorer(scoring: str | Callable[..., float], *, missing_label: Any = -1) -> Any:
    """Return a scorer ``(estimator, X, y) -> float`` that judges labelled rows only.

    ``scoring`` is ``"log_probability"`` (mean log probability of the labels; a class that a fold
    lacks is no obstacle, as it is to ``"neg_log_loss"``), ``"seen"`` (of what was seen of each
    row, its label or its blank), any scorer of scikit-learn's by name, or a callable
    ``(estimator, X, y) -> float``. There is an example at :class:`LabelledKFold`.

    scikit-learn's own scorers count every blank as a mistake, and its ``CalibratedClassifierCV``
    learns a class "−1": give it labelled rows only, with ``FrozenEstimator`` around a fit to all.
    """
    own = scoring in _OWN
    return partial(_score_labelled, scoring if own else get_scorer(scoring), missing_label)


def _score_labelled(
    scoring: Any, missing_label: Any, estimator: Any, X: Any, y: Any, **options: Any
) -> float:
    labels = encode(y, missing_label)
    rows = np.flatnonzero(labels.labelled)
    if not rows.size and scoring != "seen":
        raise ValueError("y has no label: a score needs rows whose class is known.")
    if scoring in _OWN:
        codes = encode(y, missing_label, estimator.classes_, ("y", "the model's classes")).codes
        if scoring == "seen":
            said = seen_probability(estimator, X)[np.arange(len(codes)), codes]
        else:
            tau = np.asarray(estimator.predict_proba(_safe_indexing(X, rows)))
            said = tau[np.arange(rows.size), codes[rows]]
        return float(np.log(np.maximum(said, LEAST)).mean())
    X = _safe_indexing(X, rows)
    return float(scoring(estimator, X, labels.classes[labels.codes[rows]], **options))


def seen_probability(clf: Any, X: Any) -> AnyArray:
    """Return the probability of each label, and of a blank in the last column (n, g + 1)."""
    # Classes may be labelled at rates of their own: what a blank says of the class tells how the
    # labels share what is left.
    tau, blank = clf.predict_proba(X), (1 - clf.labelling_probability(X))[:, None]
    given_blank = clf.resolve(X, np.full(len(tau), None, dtype=object))
    return np.hstack((np.maximum(tau - blank * given_blank, 0.0), blank))
