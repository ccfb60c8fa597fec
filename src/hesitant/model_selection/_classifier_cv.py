"""Mixture classifiers combined by what they predict of rows held out."""

import dataclasses
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.base import PatternClassifier
from hesitant.checks import check_jobs, check_number, check_seed, look_up
from hesitant.classifier import MixtureClassifier
from hesitant.exceptions import FitWarning
from hesitant.intake import refuse_dask, take
from hesitant.label_rates import FLOOR, explain_blanks
from hesitant.model import LEAST
from hesitant.model_selection import _held_out as held_out
from hesitant.model_selection._candidates import as_candidates, auto_candidates, informative
from hesitant.model_selection._labelled import as_random_state, deal_out
from hesitant.remarks import label_remarks
from hesitant.rows import ManyRows
from hesitant.uncertainty import Shannon, Uncertainty, as_measure

COLUMNS = ("name", "mean_score", "gap", "gap_error", "weight", "n_parameters", "seconds", "note")
LEAST_SHARE = 0.05  # of the combination; a candidate that comes to less is left out
KEPT_SHARE = 0.01  # of one that is needed all the same
FEWEST_JUDGED = 50  # of every class
MOST_JUDGED = 5000  # rows that candidates are judged on; more would hardly choose better


class MixtureClassifierCV(PatternClassifier):
    """Mixture classifiers combined by what they predict of rows held out.

    Candidates of several shapes, with and without a model of the blanks, are fitted to all rows
    but a fold's; the convex combination of their posteriors that predicts the held-out labels best
    is then fitted to all rows. With one label a class there is nothing to hold out: the first
    candidate is fitted, with a warning.

    Parameters
    ----------
    candidates : "auto" or list of MixtureClassifier, default="auto"
        "auto" suits the data: :func:`hesitant.model_selection.auto_candidates`.
    combine : {"stack", "best", "one_se"}, default="stack"
        A convex combination; the best candidate alone; or the one with the fewest parameters that
        is less than a standard error behind the best.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as of :class:`hesitant.model_selection.LabelledKFold`.
    scoring : {"auto", "log_loss", "seen", "weighted_log_loss"}, default="auto"
        What is to be predicted. "log_loss": the label of a labelled row, given that it has one.
        "seen": what was seen of every row, its label or its blank. "weighted_log_loss": the label,
        rows weighted by one over their estimated chance of one. "auto": labels decide between the
        classes' shapes, and what was seen between mechanisms of one shape.
    n_jobs, random_state, verbose
        Workers of joblib, for candidates and folds; seed of the folds; 1 shows a progress bar.
    experts, classes, missing_label
        As for :class:`~hesitant.MixtureClassifier`, and for ``candidates="auto"``.

    Attributes
    ----------
    weights_, models_ : dicts of str to float and to fitted MixtureClassifier
        Each candidate's share in the combination, largest first; those that have one.
    model_, name_ :
        The one with the largest weight of those that have standard errors. It answers where a
        question needs one model (standard errors, diagnosis, triage), and the answers say so.
    cv_results_ : dict of lists
        For each candidate: name, mean_score (log probability a row), gap (behind the best),
        gap_error (its standard error), weight, n_parameters, seconds, note.
    label_rates_ : array of shape (g,), or None
        Each class's chance of a label, where "auto" finds, among rows judged, that blanks mark
        classes and not the hard cases. All probabilities then allow for it.
    held_out_proba_ : array of shape (n, g)
        The combination's probabilities of every row when it was held out, NaN if it never was
        (candidates are judged on some 5,000 rows at most, and fitted to all). Files leave it out.

    Examples
    --------
    >>> from hesitant import MixtureClassifierCV, datasets
    >>> data = datasets.simulate(n=300, random_state=0)
    >>> clf = MixtureClassifierCV(random_state=0).fit(data.features, data.labels)
    >>> bool(clf.score(data.features, data.truth) > 0.9)
    True
    """

    combines = True

    def __init__(
        self,
        candidates: Any = "auto",
        *,
        combine: str = "stack",
        cv: Any = 5,
        scoring: str = "auto",
        experts: Any = "right",
        classes: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        missing_label: Any = -1,
        verbose: int = 0,
    ) -> None:
        self.candidates, self.combine, self.cv, self.scoring = candidates, combine, cv, scoring
        self.experts, self.classes, self.missing_label = experts, classes, missing_label
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = getattr(self, "models_", {}).values()  # fitted to gaps, it has those that can
        tags.input_tags.allow_nan = all(clf.family_.takes_gaps for clf in parts)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, reviewed: Any = None) -> Self:
        """Judge the candidates on rows held out, and fit those that count to all rows.

        X, y, sample_weight and reviewed as for :meth:`hesitant.MixtureClassifier.fit`.
        """
        auto = isinstance(self.candidates, str)
        if auto:
            look_up("candidates", self.candidates, {"auto": None})
        look_up("combine", self.combine, dict.fromkeys(("stack", "best", "one_se")))
        look_up("scoring", self.scoring, dict.fromkeys(("auto", *held_out.SCORING)))
        check_jobs("n_jobs", self.n_jobs)
        check_seed("random_state", self.random_state)
        refuse_dask(X)
        self._forget()
        models = {} if auto else as_candidates(self.candidates)
        experts = self.experts if auto else next(iter(models.values())).experts
        common = {"classes": self.classes, "missing_label": self.missing_label}
        template = MixtureClassifier(experts=experts, n_jobs=self.n_jobs, **common)
        checked = take(template, X, y, sample_weight, reviewed)
        self.classes_, self.n_features_in_ = checked.classes, template.n_features_in_
        if checked.named_features is not None:
            self.feature_names_in_ = checked.named_features
        plain = self.classes is None and checked.said is None
        remarks = plain * label_remarks(self.classes_, self.missing_label, checked.tally)
        data = held_out.Data.of(checked, experts)
        if auto:
            about: dict[str, Any] = {"pattern": bool(data.answers()), "experts": experts}
            models = auto_candidates(checked.X, data.codes, len(self.classes_), **about)
        data, folds = self._folds(data)
        judged = held_out.Judge(models, data, folds, self.scoring, self.n_jobs, self.verbose)
        self.held_out_proba_ = np.full((len(data.codes), len(self.classes_)), np.nan)
        first = next(iter(models))
        weights, figures = self._weigh(judged.sift()) if folds else ({first: 1.0}, {})
        if not folds:
            few = f"{(data.codes >= 0).sum()} rows are labelled, too few to judge candidates by"
            remarks.append(f"{few}: the first alone ({first}) was fitted. Label more rows.")
        for remark in remarks:
            warnings.warn(remark, FitWarning, stacklevel=2)
        self._refit(weights, judged)
        self.label_rates_ = self._label_rates(judged) if auto and folds else None
        rows: list[tuple[Any, ...]] = []
        for name in sorted(models, key=lambda k: -figures[k][0] if k in figures else np.inf):
            *score, size = figures.get(name, (np.nan, np.nan, np.nan, None))
            seconds, note = sum(t.seconds for t in judged.done[name]), judged.notes.get(name, "")
            rows.append((name, *score, weights.get(name, 0.0), size, seconds, note))
        self.cv_results_ = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        return self

    def _folds(self, data: held_out.Data) -> tuple[held_out.Data, list[IntArray]]:
        """Return the rows to hold out together, none if labels are too few."""
        codes, cv = data.codes, self.cv
        if not isinstance(cv, (Integral, type(None))):  # of None scikit-learn would not shuffle
            folds = [np.asarray(test) for _, test in check_cv(cv).split(codes[:, None], codes)]
            if any((codes[fold] >= 0).sum() == 0 for fold in folds):
                raise ValueError(f"cv={self.cv!r}: a fold has no labelled row to judge by.")
            return data, folds
        check_number("cv", self.cv, Integral, 2)
        rng = as_random_state(self.random_state)
        if len(codes) > MOST_JUDGED:
            # Classes in proportion, but of none so few that nothing can be said of it.
            share = MOST_JUDGED / len(codes)
            own = [rng.permutation(np.flatnonzero(codes == h)) for h in np.unique(codes)]
            some = [rows[: max(round(share * rows.size), FEWEST_JUDGED)] for rows in own]
            data = dataclasses.replace(data, sample=np.sort(np.concatenate(some)))
        blanks = self.scoring in ("auto", "seen")
        folds = deal_out(codes[data.sample], int(self.cv), rng, blanks, fewer=True)
        return data, [data.sample[fold] for fold in folds]

    def _weigh(self, judged: held_out.Judge) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the weights of the candidates that count, and the figures of all."""
        if not judged.trials:
            return {}, {}
        data, rows, trials = judged.data, judged.rows, list(judged.trials.values())
        everyone = list(judged.trials)
        names = judged.choose_mechanisms() if self.scoring == "auto" else everyone
        score, weight = held_out.scores(trials, data, rows, self.scoring)
        mean, inside = weight @ score / weight.sum(), np.array([everyone.index(k) for k in names])
        gap, error = held_out.paired_gaps(score, weight, int(inside[mean[inside].argmax()]))
        size = [t.n_parameters for t in trials]
        if self.combine == "stack":
            chosen = [trials[k] for k in inside]
            prior = held_out.prior_rows(chosen, data, rows)
            found = held_out.stack_weights(score[:, inside], weight, prior, LEAST_SHARE)
            # Some questions need a model with standard errors, or one that explains the blanks:
            # the best of those stays, however little it adds.
            seen = np.array([data.checked.weight[rows] @ t.seen for t in chosen])
            able = np.array([t.parametric for t in chosen])
            told = able & [informative(judged.models[k]) for k in names]
            for needed, value in ((able, mean[inside]), (told, seen)):
                if needed.any() and not found[needed].any():
                    found *= 1 - KEPT_SHARE
                    found[np.where(needed, value, -np.inf).argmax()] = KEPT_SHARE
        else:
            near = gap[inside] <= (error[inside] if self.combine == "one_se" else 0.0)
            found, small = np.zeros(len(inside)), np.where(near, np.array(size)[inside], np.inf)
            found[np.lexsort((gap[inside], small))[0]] = 1.0
        order = np.argsort(-found, kind="stable")
        weights = {names[k]: float(found[k]) for k in order if found[k] > 0}
        parts = [w * judged.trials[k].given for k, w in weights.items()]
        self.held_out_proba_[rows] = np.sum(parts, axis=0)
        return weights, dict(zip(everyone, zip(mean, gap, error, size, strict=True), strict=True))

    def _refit(self, weights: dict[str, float], judged: held_out.Judge) -> None:
        models, notes, data, self.models_ = judged.models, judged.notes, judged.data, {}
        thinned = len(data.sample) < len(data.codes)
        for name in weights:
            own = init = models[name].init
            if thinned and own is None:  # a fit to some of very many rows is near their own
                init = judged.starts.get(held_out.shape_of(models[name]))
            try:
                fit, _ = data.fit(models[name], n_jobs=self.n_jobs, init=init)
                self.models_[name] = fit.set_params(missing_label=self.missing_label, init=own)
            except held_out.FAILURES as error:
                notes[name] = f"{held_out.FAILED}{error}"
        if not self.models_:
            name, why = next(iter(notes.items()))
            raise ValueError(f"No candidate could be fitted. {name}: {why}")
        kept = {k: weights[k] for k in self.models_}
        rest = {k: 0.0 for k in models if k not in kept}
        self.weights_ = {k: v / sum(kept.values()) for k, v in kept.items()} | rest
        able = [k for k, clf in self.models_.items() if clf.family_.has_coordinates]
        self.name_ = max(able or self.models_, key=lambda k: self.weights_[k])
        failed = [k for k in models if notes.get(k, "").startswith(held_out.FAILED)]
        if failed:
            words = f"{len(failed)} of {len(models)} candidates had to be left out, without a fit"
            warnings.warn(f"{words}. {failed[0]} {notes[failed[0]]}", FitWarning, stacklevel=3)

    @property
    def model_(self) -> Any:
        """The fitted candidate with the largest weight."""
        check_is_fitted(self, "models_")
        return self.models_[self.name_]

    def _parts(self) -> list[tuple[float, Any]]:
        check_is_fitted(self, "models_")
        return [(self.weights_[name], clf) for name, clf in self.models_.items()]

    def _label_rates(self, judged: held_out.Judge) -> FloatArray | None:
        """Return each class's chance of a label, if blanks mark classes and not difficulty."""
        data, g = judged.data.checked, len(self.classes_)
        shown = np.where(data.reviewed, data.weight, 0.0)
        rows, place = judged.rows[shown[judged.rows] > 0], data.codes % (g + 1)  # blanks come last
        # Of every class something must be known, and of blanks.
        if data.said is not None or np.bincount(place[rows], minlength=g + 1).min() < 2:
            return None
        # Of a rare class more of the rows may have been fitted, and judged, than of others.
        every, fitted = np.bincount(place), np.bincount(place[judged.data.sample])
        p = self.held_out_proba_[rows] * (every / fitted)[:g]
        total, part = np.bincount(place, shown), np.bincount(place[rows], shown[rows])
        weight = shown[rows] * (total / part)[place[rows]] * (part.sum() / total.sum())
        p /= p.sum(axis=1, keepdims=True)
        mechanism, logits = explain_blanks(p, place[rows] < g, weight)
        return np.asarray(expit(logits)) if mechanism == "class" else None

    def _if_labelled(self, X: Any) -> FloatArray:
        """Return class probabilities (n, g) of rows that were given a label, whichever."""
        parts = [w * clf._by_rows(X, clf.fitted_.if_labelled) for w, clf in self._parts()]
        return np.clip(np.sum(parts, axis=0), FLOOR, 1.0)  # as the rates were found

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities (n, g)."""
        parts = self._parts()
        if self.label_rates_ is None:
            return np.sum([w * clf.predict_proba(X) for w, clf in parts], axis=0)
        p = self._if_labelled(X) / self.label_rates_
        return p / p.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log class probabilities (n, g)."""
        return np.log(np.maximum(self.predict_proba(X), LEAST))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def entropy(self, X: Any, measure: Uncertainty | None = None) -> FloatArray:
        """Return the uncertainty of each row's class, Shannon's entropy unless told otherwise."""
        log_tau = self.predict_log_proba(X)
        measure = as_measure("measure", measure, Shannon(), len(self.classes_))
        return np.asarray(measure.evaluate(log_tau, np.exp(log_tau))[0])

    def labelling_probability(self, X: Any) -> FloatArray:
        """Return the probability that each row would be given a label, if reviewed."""
        parts = self._parts()
        if self.label_rates_ is not None:
            return np.asarray(1 / (self._if_labelled(X) / self.label_rates_).sum(axis=1))
        # A candidate that does not explain the blanks has only their share to offer.
        parts = [part for part in parts if part[1].mechanism_.informative] or parts
        chances = [clf.labelling_probability(X) for _, clf in parts]
        return np.average(chances, axis=0, weights=[w for w, _ in parts])

    def check(self, *given: Any, **columns: Any) -> Any:
        """Return data checked against the fit: :meth:`hesitant.MixtureClassifier.check`."""
        return self.model_.check(*given, **columns)

    def resolve(self, X: Any, y: Any = None, reviewed: Any = None) -> FloatArray:
        """Return class probabilities given the features and what was said of each row.

        What was said counts for the candidates that expected it; without y nothing was.
        """
        if y is None and reviewed is None and not isinstance(X, ManyRows | None):
            return self.predict_proba(X)
        data = self.check(X, y, None, reviewed)
        if self.label_rates_ is not None:
            rates = self.label_rates_
            p = self._if_labelled(data) * np.where(data.reviewed[:, None], 1 - rates, 1.0) / rates
            p = np.where(data.codes[:, None] >= 0, np.eye(len(rates))[data.codes], p)
            return np.asarray(p / p.sum(axis=1, keepdims=True))
        logs, given = [], []
        for w, clf in self._parts():
            _, seen, resolved, _, _ = clf.fitted_.predict(data)
            logs.append(np.log(w) + seen)
            given.append(resolved)
        share = np.exp(np.array(logs) - np.max(logs, axis=0))
        return np.asarray(np.einsum("kn,knh->nh", share / share.sum(axis=0), np.array(given)))

    def _answering(self) -> Any:
        return self.model_

    def _remark_on(self, answer: Any) -> Any:
        share = self.weights_[self.name_]
        words = f"Answered by the candidate with the largest weight, {self.name_} ({share:.0%})."
        if hasattr(answer, "attrs"):
            answer.attrs["model"] = words
        elif isinstance(remarks := getattr(answer, "remarks", None), list):
            remarks.append(words)
        return answer
