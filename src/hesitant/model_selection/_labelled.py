"""Splits and scores for labels with blanks, which scikit-learn's own would take for a class."""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from hesitant._typing import AnyArray, IntArray
from hesitant.checks import check_number
from hesitant.labels import encode

LEAST = 1e-300  # a probability that rounded to zero must not make a mean infinite


class LabelledKFold(BaseCrossValidator):
    """Folds of the labelled rows, each class dealt out evenly; blank rows stay in training.

    A held-out row leaves training altogether: to turn its label into a blank would fake a
    pattern. scikit-learn's own splitters take blanks for a class, and scores on blank rows mean
    nothing.

    Parameters
    ----------
    n_splits : int, default=5
    hold_out_blanks : bool, default=False
        Deal out the blank rows too, for scores of the blanks themselves (``"seen"``).
    missing_label : scalar, default=-1
        The value of y that marks a blank; None, NaN, NA and null always do.
    random_state : int, RandomState or None
        Rows are shuffled always.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.model_selection import LabelledKFold, labelled_scorer
    >>> data = simulate(n=500, random_state=0)
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
        self.n_splits = n_splits
        self.hold_out_blanks = hold_out_blanks
        self.missing_label = missing_label
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return int(self.n_splits)

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[Any]:
        codes = encode(y, self.missing_label).codes
        folds = deal_out(codes, self.n_splits, self.random_state, self.hold_out_blanks)
        for k in range(self.n_splits):
            yield np.flatnonzero(folds == k)


def deal_out(codes: IntArray, n_splits: int, random_state: Any, blanks: bool) -> IntArray:
    """Return each row's fold, −1 for a row that is never held out: the only one of its class too.

    Classes are dealt out one after the other, so that folds are of one size and every class is
    spread over as many of them as it has rows.
    """
    rng = check_random_state(random_state)
    out = np.full(len(codes), -1)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    several = [np.flatnonzero(codes == h) for h in np.flatnonzero(counts > 1)]
    order = np.concatenate([np.zeros(0, dtype=int), *map(rng.permutation, several)])
    if order.size < n_splits:
        raise ValueError(
            f"{order.size} labelled rows can be held out, for {n_splits} folds: give fewer folds, "
            "or more labels."
        )
    out[order] = np.arange(order.size) % n_splits
    if blanks:
        rest = rng.permutation(np.flatnonzero(codes < 0))
        out[rest] = np.arange(rest.size) % n_splits
    return out


def labelled_scorer(scoring: str | Callable[..., float], *, missing_label: Any = -1) -> Any:
    """Return a scorer ``(estimator, X, y) -> float`` that judges labelled rows only.

    Parameters
    ----------
    scoring : str or callable
        ``"log_probability"`` (mean log probability of the labels; a class that a fold lacks is no
        obstacle, as it is to ``"neg_log_loss"``), ``"seen"`` (mean log probability of what was
        seen of each row, its label or its blank), any scorer of scikit-learn's by name, or a
        callable ``(estimator, X, y) -> float``.
    missing_label : scalar, default=-1

    Notes
    -----
    ``cross_val_score(clf, X, y, scoring="accuracy")`` counts every blank as a mistake, and
    ``CalibratedClassifierCV`` learns a class "−1": give the first one this scorer, and the second
    the labelled rows only, with ``FrozenEstimator`` around a fit to all of them.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.model_selection import labelled_scorer
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> bool(labelled_scorer("accuracy")(clf, data.features, data.labels) > 0.9)
    True
    """
    return _LabelledScorer(scoring, missing_label)


class _LabelledScorer:
    """A class and not a closure, so that it can be pickled for other processes."""

    def __init__(self, scoring: Any, missing_label: Any) -> None:
        self.scoring, self.missing_label = scoring, missing_label
        self.inner = scoring if callable(scoring) or scoring in _OWN else get_scorer(scoring)

    def __repr__(self) -> str:
        return f"labelled_scorer({self.scoring!r}, missing_label={self.missing_label!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, **options: Any) -> float:
        labels = encode(y, self.missing_label)
        if self.inner == "seen":
            codes = _codes(estimator, labels)
            said = seen_probability(estimator, X)[np.arange(len(codes)), codes]
            return float(np.log(np.maximum(said, LEAST)).mean())
        seen = np.flatnonzero(labels.labelled)
        if not seen.size:
            raise ValueError("y has no label: a score needs rows whose class is known.")
        X = _safe_indexing(X, seen)
        if self.inner == "log_probability":
            own = _codes(estimator, labels)[seen]
            tau = np.asarray(estimator.predict_proba(X))[np.arange(seen.size), own]
            return float(np.log(np.maximum(tau, LEAST)).mean())
        return float(self.inner(estimator, X, labels.classes[labels.codes[seen]], **options))


_OWN = ("log_probability", "seen")


def _codes(estimator: Any, labels: Any) -> IntArray:
    """Return labels as positions among an estimator's classes, −1 for a blank."""
    known = np.asarray(estimator.classes_).tolist()
    for value in labels.classes.tolist():
        if value not in known:
            raise ValueError(f"y has the label {value!r}, and the model the classes {known[:5]}.")
    place = np.array([known.index(value) for value in labels.classes.tolist()] + [-1])
    codes: IntArray = place[labels.codes]
    return codes


def seen_probability(clf: Any, X: Any) -> AnyArray:
    """Return the probability of each label, and of a blank in the last column (n, g + 1).

    Classes may be labelled at rates of their own: what a blank says of the class (``resolve``)
    tells how the labels share what is left.
    """
    tau = clf.predict_proba(X)
    blank = (1 - clf.labelling_probability(X))[:, None]
    given_blank = clf.resolve(X, np.full(len(tau), None, dtype=object))
    return np.hstack((np.maximum(tau - blank * given_blank, 0.0), blank))
