"""Mixture classifiers combined by what they foretell of rows held out."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.attached import refuse_dask
from hesitant.checks import check_jobs, check_reviewed, check_weight
from hesitant.intake import check_features, check_number_of_classes
from hesitant.labels import encode
from hesitant.model_selection._candidates import as_candidates, auto_candidates
from hesitant.model_selection._held_out import (
    Data,
    Judged,
    judge,
    log_scores,
    model_of,
    paired_gaps,
    row_weights,
    stack_weights,
)
from hesitant.model_selection._labelled import deal_out, seen_probability
from hesitant.uncertainty import Shannon, Uncertainty

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.diagnostics import Diagnosis
    from hesitant.inference import BootstrapResult, Efficiency, ObservedInformation
    from hesitant.report import Report

COMBINE = ("stack", "best", "one_se")
SCORING = ("log_loss", "seen", "weighted_log_loss")


class MixtureClassifierCV(ClassifierMixin, BaseEstimator):
    """Mixture classifiers combined by what they foretell of rows held out.

    No single family of classes suits all data. Candidates of several shapes, with and without a
    model of the blanks, are fitted to all rows but a fold's; the convex combination of their
    posteriors that foretells the held-out labels best is then fitted to all rows.

    Parameters
    ----------
    candidates : "auto" or list of MixtureClassifier, default="auto"
        "auto" is a set that suits the number of rows, features and labels
        (:func:`hesitant.model_selection.auto_candidates`).
    combine : {"stack", "best", "one_se"}, default="stack"
        A convex combination; the best candidate alone; or the one with the fewest parameters that
        is less than a standard error behind the best.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of the labelled rows, or your own (see
        :class:`hesitant.model_selection.LabelledKFold`).
    scoring : {"auto", "log_loss", "seen", "weighted_log_loss"}, default="auto"
        What is foretold: the label of a labelled row, given that it has one; what was seen of
        every row, label or blank; or the label, rows weighted by one over their estimated chance
        of a label.
    classes : sequence, optional
        All class values, where some have no labelled row.
    n_jobs : int, optional
        Workers of joblib, for candidates and folds. The result does not depend on it.
    random_state : int, RandomState or None
        For the folds.
    missing_label : scalar, default=-1
        The value of y that marks a blank; None, NaN, NA and null always do.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (g,)
    weights_ : dict of str to float
        Each candidate's share in the combination, largest first; most are zero.
    models_ : dict of str to fitted MixtureClassifier
        Those with a weight.
    model_, name_ :
        The one with the largest weight. It answers where a question needs one model: standard
        errors, diagnosis, triage, report; the answers say so.
    cv_results_ : dict of lists
        For each candidate: name, mean_score (log probability a row), gap (behind the best),
        gap_error (its standard error), weight, n_parameters, seconds, note.
    held_out_proba_ : array of shape (n, g)
        The combination's probabilities of every row when it was held out, NaN if it never was:
        for reliability curves (``CalibrationDisplay.from_predictions``).
    scoring_ : str
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from hesitant import MixtureClassifierCV
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=300, random_state=0)
    >>> clf = MixtureClassifierCV(random_state=0).fit(data.features, data.labels)
    >>> bool(clf.score(data.features, data.truth) > 0.9)
    True
    """

    # Fit metadata that scikit-learn may route to this estimator.
    __metadata_request__fit = {"sample_weight": None, "reviewed": None}  # noqa: RUF012

    def __init__(
        self,
        candidates: Any = "auto",
        *,
        combine: str = "stack",
        cv: Any = 5,
        scoring: str = "auto",
        classes: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        missing_label: Any = -1,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.combine = combine
        self.cv = cv
        self.scoring = scoring
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.missing_label = missing_label
        self.verbose = verbose

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, reviewed: Any = None) -> Self:
        """Judge the candidates on rows held out, and fit those that count to all rows.

        Parameters
        ----------
        X, y, sample_weight, reviewed
            As for :meth:`hesitant.MixtureClassifier.fit`.

        Returns
        -------
        self
        """
        self._check_options()
        for name in [k for k in vars(self) if k.endswith("_")]:
            delattr(self, name)
        data = self._take(X, y, sample_weight, reviewed)
        models = (
            auto_candidates(data.X, data.codes, len(self.classes_))
            if isinstance(self.candidates, str)
            else as_candidates(self.candidates, {})
        )
        self.scoring_ = AUTO if self.scoring == "auto" else self.scoring
        folds = self._folds(X, data.codes)
        judged = judge(
            models, data, folds, self.scoring_, n_jobs=self.n_jobs, verbose=self.verbose
        )
        if not judged.trials:
            name, why = next(iter(judged.notes.items()))
            raise ValueError(f"No candidate could be fitted. {name}: {why}")
        weights = self._weigh(judged, data)
        self._refit(models, weights, data, judged)
        return self

    def _check_options(self) -> None:
        if self.combine not in COMBINE:
            raise ValueError(f"combine={self.combine!r}: choose one of {', '.join(COMBINE)}.")
        if self.scoring not in ("auto", *SCORING):
            raise ValueError(f"scoring={self.scoring!r}: choose 'auto' or one of "
                             f"{', '.join(map(repr, SCORING))}.")  # fmt: skip
        if isinstance(self.candidates, str) and self.candidates != "auto":
            raise ValueError(
                f"candidates={self.candidates!r}: give 'auto' or a list of MixtureClassifiers."
            )
        check_jobs("n_jobs", self.n_jobs)

    def _take(self, X: Any, y: Any, sample_weight: Any, reviewed: Any) -> Data:
        refuse_dask(X)
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give labels, with blanks "
                f"marked {self.missing_label!r} or None."
            )
        X = check_features(self, X, reset=True, at_least=2)
        labels = encode(y, self.missing_label, self.classes)
        if len(labels.codes) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(labels.codes)}: give one label, "
                             "or a blank, for each row.")  # fmt: skip
        check_number_of_classes(labels.classes, self.missing_label)
        self.classes_ = labels.classes
        return Data(
            X,
            labels.codes.astype(np.int64),
            len(labels.classes),
            None if sample_weight is None else check_weight(sample_weight, X),
            None if reviewed is None else check_reviewed(reviewed, len(X)),
            together=effective_n_jobs(self.n_jobs) > 1,
        )

    def _folds(self, X: Any, codes: IntArray) -> list[IntArray]:
        """Return the rows to hold out together."""
        y = np.where(codes < 0, -1, codes)
        if hasattr(self.cv, "split"):
            return [np.asarray(test) for _, test in self.cv.split(codes[:, None], y)]
        if not isinstance(self.cv, Integral):
            return [np.asarray(test) for _, test in self.cv]
        check_number("cv", self.cv, Integral, 2)
        fold = deal_out(codes, int(self.cv), self.random_state, blanks=self.scoring_ == "seen")
        return [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]

    def _weigh(self, judged: Judged, data: Data) -> dict[str, float]:
        """Note how the candidates did, and return the weights of those that count."""
        names, trials = list(judged.trials), list(judged.trials.values())
        score = log_scores(trials, data.codes[judged.rows], self.scoring_)
        weight = row_weights(trials, data, judged.rows, self.scoring_)
        mean = weight @ score / weight.sum()
        gap, error = paired_gaps(score, weight, int(mean.argmax()))
        size = np.array([t.n_parameters for t in trials])
        if self.combine == "stack":
            w = stack_weights(score, weight)
            rows = w * (weight.sum() + PRIOR * len(w))
            w = np.where(rows < max(1.0, 0.01 * weight.sum()), 0.0, w)
        else:
            near = gap <= (error if self.combine == "one_se" else 0.0)
            w = np.zeros(len(names))
            w[np.lexsort((gap, np.where(near, size, np.inf)))[0]] = 1.0
        w /= w.sum()
        tau = np.full((len(data.codes), len(self.classes_)), np.nan)
        tau[judged.rows] = sum(v * t.tau for v, t in zip(w, trials, strict=True) if v)
        self.held_out_proba_ = tau
        ...
        return {names[k]: float(w[k]) for k in np.argsort(-w, kind="stable") if w[k] > 0}
