"""Mixture classifiers combined by what they foretell of rows held out."""

import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.checks import check_jobs, check_number, check_reviewed, check_weight
from hesitant.criteria import Criteria
from hesitant.evidence import Evidence
from hesitant.exceptions import FitWarning
from hesitant.families import FAMILIES
from hesitant.intake import check_features, check_number_of_classes
from hesitant.labels import encode
from hesitant.model_data import refuse_dask
from hesitant.model_selection._candidates import as_candidates, auto_candidates
from hesitant.model_selection._held_out import (
    FAILURES,
    PRIOR_NO_FEATURES,
    SCORING,
    Data,
    Judge,
    Judged,
    choose_mechanisms,
    log_scores,
    paired_gaps,
    prior_rows,
    row_weights,
    stack_weights,
)
from hesitant.model_selection._labelled import deal_out, seen_probability
from hesitant.uncertainty import Shannon, Uncertainty

COMBINE = ("stack", "best", "one_se")
NO_FEATURES = "class shares alone"
FEWEST = 1.0  # rows' worth that a candidate must explain to be kept


class MixtureClassifierCV(Evidence, ClassifierMixin, BaseEstimator):
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
        What is to be foretold. "log_loss": the label of a labelled row, given that it has one.
        "seen": what was seen of every row, its label or its blank. "weighted_log_loss": the label,
        rows weighted by one over their estimated chance of one. "auto": labels decide between the
        classes' shapes, and what was seen between mechanisms of one shape.
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
    class_shares_ : array of shape (g,)
        Of the labelled rows: what the combination falls back on by the weight of
        "class shares alone".
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # candidates that cannot are left out
        return tags

    def _resolve(self) -> tuple[Any, None]:
        """Return the family by which features are checked: empty cells are let through."""
        return FAMILIES["gaussian"](), None

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
            auto_candidates(data.X, data.codes, data.n_classes, pattern=data.has_pattern)
            if isinstance(self.candidates, str)
            else as_candidates(self.candidates)
        )
        folds = self._folds(data.codes)
        judged = Judge(models, data, folds, self.scoring, self.n_jobs, self.verbose).sift()
        if not judged.trials:
            name, why = next(iter(judged.notes.items()))
            raise ValueError(f"No candidate could be fitted. {name}: {why}")
        weights = self._weigh(judged, models, data)
        self._refit(weights, models, data, judged)
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
        data = Data(
            X,
            labels.codes.astype(np.int64),
            len(labels.classes),
            None if sample_weight is None else check_weight(sample_weight, X),
            None if reviewed is None else check_reviewed(reviewed, len(X)),
            together=effective_n_jobs(self.n_jobs) > 1,
        )
        own = np.ones(len(X)) if data.weight is None else data.weight
        seen = data.codes >= 0
        counts = np.bincount(data.codes[seen], own[seen], data.n_classes) + 1.0
        self.class_shares_ = counts / counts.sum()
        shown = data.shown if data.shown.any() else np.ones(len(X), bool)
        self.label_rate_ = float(np.average(seen[shown], weights=own[shown] + 1e-12))
        return data

    def _folds(self, codes: IntArray) -> list[IntArray]:
        """Return the rows to hold out together."""
        if not isinstance(self.cv, Integral):
            parts = self.cv.split(codes[:, None], codes) if hasattr(self.cv, "split") else self.cv
            folds = [np.asarray(test) for _, test in parts]
            if any((codes[fold] >= 0).sum() == 0 for fold in folds):
                raise ValueError(f"cv={self.cv!r}: a fold has no labelled row to judge by.")
            return folds
        check_number("cv", self.cv, Integral, 2)
        counts = np.bincount(codes[codes >= 0], minlength=1)
        most = int(counts[counts > 1].sum())
        if most < 2:
            raise ValueError(
                f"{int(counts.sum())} rows are labelled, too few to hold any out: fit a "
                "MixtureClassifier, or label more rows."
            )
        blanks = self.scoring in ("auto", "seen")
        fold = deal_out(codes, min(int(self.cv), most), self.random_state, blanks)
        return [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]

    def _weigh(self, judged: Judged, models: dict[str, Any], data: Data) -> dict[str, float]:
        """Return the weights of the candidates that count, and keep the table of all."""
        names, rows = list(judged.trials), judged.rows
        scoring = self.scoring
        if scoring == "auto":
            scoring, names = "log_loss", choose_mechanisms(judged, models, data)
        everyone = list(judged.trials)
        trials = [judged.trials[k] for k in everyone]
        score = log_scores(trials, data.codes[rows], scoring)
        weight = row_weights(trials, data, rows, scoring)
        mean = weight @ score / weight.sum()
        inside = np.array([everyone.index(k) for k in names])
        best = int(inside[mean[inside].argmax()])
        gap, error = paired_gaps(score, weight, best)
        if self.combine == "stack":
            prior = prior_rows([judged.trials[k] for k in names], data, rows)
            found = self._stack(score[:, inside], weight, prior, data, rows, scoring)
        else:
            size = np.array([t.n_parameters for t in trials])
            near = gap[inside] <= (error[inside] if self.combine == "one_se" else 0.0)
            found = np.zeros(len(inside) + 1)
            found[np.lexsort((gap[inside], np.where(near, size[inside], np.inf)))[0]] = 1.0
        w = np.zeros(len(everyone) + 1)
        w[np.append(inside, -1)] = found
        self._tabulate(models, judged, {k: (mean[i], gap[i], error[i], w[i])
                                        for i, k in enumerate(everyone)})  # fmt: skip
        held_out: Any = sum(v * np.asarray(t.tau) for v, t in zip(w, trials, strict=False) if v)
        self.held_out_proba_ = np.full((len(data.codes), data.n_classes), np.nan)
        self.held_out_proba_[rows] = held_out + w[-1] * self.class_shares_
        out = dict(zip([*everyone, NO_FEATURES], w.tolist(), strict=True))
        return {k: v for k, v in sorted(out.items(), key=lambda kv: -kv[1]) if v > 0}

    def _stack(
        self,
        score: FloatArray,
        weight: FloatArray,
        prior: FloatArray,
        data: Data,
        rows: IntArray,
        scoring: str,
    ) -> FloatArray:
        """Return weights that add up to one, that of the class shares last."""
        codes = data.codes[rows]
        alone = np.log(self.class_shares_)[codes]
        if scoring == "seen":
            rate = float(np.clip(self.label_rate_, 1e-6, 1 - 1e-6))
            alone = np.where(codes < 0, np.log1p(-rate), alone + np.log(rate))
            if data.reviewed is not None:
                alone = np.where(data.reviewed[rows], alone, np.where(codes < 0, 0, alone))
        alone = np.where(weight > 0, alone, 0.0)
        prior = np.append(prior, PRIOR_NO_FEATURES)
        total = weight.sum() + prior.sum()
        everything = np.column_stack((score, alone))
        w = stack_weights(everything, weight, prior)
        keep = w * total >= FEWEST
        keep[-1] = True
        if not keep[:-1].any():
            keep[w[:-1].argmax()] = True
        w = np.where(keep, w, 0.0)
        out: FloatArray = w / w.sum()
        return out

    def _tabulate(self, models: dict[str, Any], judged: Judged, found: dict[str, Any]) -> None:
        blank = (np.nan, np.nan, np.nan, 0.0)
        names = sorted(models, key=lambda k: -np.nan_to_num(found.get(k, blank)[0], nan=-np.inf))
        table = [found.get(k, blank) for k in names]
        self.cv_results_ = {
            "name": names,
            "mean_score": [float(row[0]) for row in table],
            "gap": [float(row[1]) for row in table],
            "gap_error": [float(row[2]) for row in table],
            "weight": [float(row[3]) for row in table],
            "n_parameters": [
                judged.trials[k].n_parameters if k in judged.trials else None for k in names
            ],
            "seconds": [judged.seconds[k] for k in names],
            "note": [judged.notes.get(k, "") for k in names],
        }

    def _refit(
        self, weights: dict[str, float], models: dict[str, Any], data: Data, judged: Judged
    ) -> None:
        """Fit the candidates that count to all rows, in the user's own classes."""
        names = getattr(self, "feature_names_in_", None)
        self.models_ = {}
        data = dataclasses.replace(data, together=False)
        for name in [k for k in weights if k != NO_FEATURES]:
            try:
                fit, _ = data.fit(models[name], n_jobs=self.n_jobs)
            except FAILURES as error:
                judged.notes[name] = f"failed: {error}"
                continue
            fit.set_params(classes=list(self.classes_), missing_label=self.missing_label)
            fit.classes_ = self.classes_
            if names is not None:
                fit.feature_names_in_ = names
            self.models_[name] = fit
        if not self.models_:
            name, why = next(iter(judged.notes.items()))
            raise ValueError(f"No candidate could be fitted to all rows. {name}: {why}")
        kept = {k: v for k, v in weights.items() if k in self.models_ or k == NO_FEATURES}
        total = sum(kept.values())
        rest = {k: 0.0 for k in models if k not in kept}
        self.weights_ = {k: v / total for k, v in kept.items()} | rest
        self.name_ = max(self.models_, key=lambda k: self.weights_[k])
        failed = [k for k in models if judged.notes.get(k, "").startswith("failed")]
        if failed:
            warnings.warn(
                f"{len(failed)} of {len(models)} candidates could not be fitted and were left "
                f"out: {failed[0]} {judged.notes[failed[0]]}",
                FitWarning,
                stacklevel=3,
            )

    # -- using a fit ----------------------------------------------------------------------------

    @property
    def model_(self) -> Any:
        """The fitted candidate with the largest weight."""
        check_is_fitted(self, "models_")
        return self.models_[self.name_]

    def _parts(self) -> Iterator[tuple[float, Any]]:
        check_is_fitted(self, "models_")
        for name, clf in self.models_.items():
            yield self.weights_[name], clf

    @property
    def _rest(self) -> float:
        return float(self.weights_.get(NO_FEATURES, 0.0))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities (n, g)."""
        tau: FloatArray = sum(w * clf.predict_proba(X) for w, clf in self._parts())
        return tau + self._rest * self.class_shares_

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log class probabilities (n, g)."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        check_is_fitted(self, "models_")
        predicted: AnyArray = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

    score = Criteria.score

    def entropy(self, X: Any, measure: Uncertainty | None = None) -> FloatArray:
        """Return the uncertainty of each row's class, Shannon's entropy unless told otherwise."""
        tau = self.predict_proba(X)
        measure = Shannon() if measure is None else measure
        measure.check(len(self.classes_))
        u: FloatArray = measure.evaluate(np.log(np.maximum(tau, 1e-300)), tau)[0]
        return u

    def labelling_probability(self, X: Any) -> FloatArray:
        """Return the probability that each row would be given a label, if reviewed."""
        chance: FloatArray = sum(w * clf.labelling_probability(X) for w, clf in self._parts())
        return chance + self._rest * self.label_rate_

    def resolve(self, X: Any, y: Any, reviewed: Any = None) -> FloatArray:
        """Return class probabilities given the features and what was said of each row.

        As :meth:`hesitant.MixtureClassifier.resolve`: a label settles the class, and a blank
        counts for the candidates that expected one.
        """
        tau = self.predict_proba(X)
        codes = encode(y, self.missing_label, list(self.classes_)).codes
        g = len(self.classes_)
        given: FloatArray = np.zeros_like(tau)
        for w, clf in self._parts():
            own = clf.predict_proba(X)
            given += w * (own - seen_probability(clf, X, own)[:, :g])
        given += self._rest * (1 - self.label_rate_) * self.class_shares_
        total = given.sum(axis=1, keepdims=True)
        given = np.where(total > 0, given / np.where(total > 0, total, 1.0), tau)
        if reviewed is not None:
            given = np.where(check_reviewed(reviewed, len(tau))[:, None], given, tau)
        settled = np.eye(g)[codes]
        out: FloatArray = np.where((codes >= 0)[:, None], settled, given)
        return out

    # -- questions that need one model: the candidate of largest weight answers ------------------

    def _asked(self) -> Any:
        return self.model_

    def _remark_on(self, answer: Any) -> Any:
        share = self.weights_[self.name_]
        words = f"Answered by the candidate with the largest weight, {self.name_} ({share:.0%})."
        if hasattr(answer, "attrs"):
            answer.attrs["model"] = words
        elif isinstance(remarks := getattr(answer, "remarks", None), list):
            remarks.append(words)
        return answer
