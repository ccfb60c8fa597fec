"""Which model: families, covariances and mechanisms side by side."""

import dataclasses
import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from hesitant._typing import IntArray
from hesitant.attached import refuse_dask
from hesitant.checks import check_number, check_reviewed
from hesitant.exceptions import FitWarning
from hesitant.families import FAMILIES
from hesitant.inference._assessment import Shared, assess
from hesitant.inference._comparison import CRITERIA, Candidate, Comparison
from hesitant.intake import check_features
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism
from hesitant.model_selection._candidates import as_candidates, informative
from hesitant.model_selection._held_out import Data, Judge, log_scores, paired_gaps
from hesitant.model_selection._labelled import deal_out

__all__ = ["compare"]


def compare(
    X: Any,
    y: Any,
    candidates: Any = None,
    *,
    cv: int = 5,
    sample_weight: Any = None,
    reviewed: Any = None,
    sort_by: str | None = None,
    missing_label: Any = -1,
    classes: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Rank models of partly labelled data.

    Parameters
    ----------
    X, y : array-likes
    candidates : mapping or sequence, optional
        Names with classifiers, parameters with lists of values (all combinations are tried), or a
        sequence of classifiers or dicts of parameters. By default every family, with free and with
        tied matrices, and four mechanisms: none, entropy, entropy of order 2, a spline of entropy;
        and each by labelled rows alone (alpha = 1).
    cv : int, default=5
        Folds of the labelled rows; 0 for no cross-validation. Blank rows stay in training always;
        a fold's rows leave it altogether, for turning them into blanks would fake a pattern.
    sample_weight, reviewed : array-likes, optional
        As for ``fit``. Held-out rows count alike in the log loss, whatever their weight.
    sort_by : {"cv_log_loss", "bic", "aic", "icl", "log_likelihood"}, optional
        By default the held-out log loss, or BIC if ``cv=0``. BIC chooses well between mechanisms
        and badly between the shapes of classes, none of which is quite right.
    missing_label, classes
        As for :class:`~hesitant.MixtureClassifier`, for candidates that are not classifiers
        already; those bring their own, and must agree.
    random_state : int, RandomState or None
        For the folds.
    n_jobs : int, optional
        Workers, by joblib. With more than one, each fit keeps to one thread.

    Returns
    -------
    Comparison

    Notes
    -----
    A model without a mechanism says nothing of which labels are missing, so its likelihood is one
    of other data. Here the likelihood of pure chance (one parameter, the share of labelled rows)
    is added to it, after which likelihoods, AIC, BIC and ICL of all models are comparable. A
    candidate that cannot be fitted stays in the table, with the reason, and is warned of.

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> from hesitant.inference import compare
    >>> data = simulate(n=500, random_state=0)
    >>> result = compare(data.features, data.labels, {"mechanism": [None, "entropy"]}, cv=0)
    >>> result.best
    'gaussian, full, entropy'
    """
    check_number("cv", cv, Integral, 0)
    sort_by = ("cv_log_loss" if cv else "bic") if sort_by is None else sort_by
    if sort_by not in CRITERIA:
        raise ValueError(f"sort_by={sort_by!r}: choose one of {', '.join(map(repr, CRITERIA))}.")
    refuse_dask(X)
    shared = {"missing_label": missing_label, "classes": classes}
    models = as_candidates(default_models() if candidates is None else candidates, shared)
    labels = encode(y, _agreed("missing_label", models), _agreed("classes", models))
    n = len(labels.codes)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    data = Data(
        check_features(next(iter(models.values())).__class__(), X, reset=True),
        labels.codes.astype(np.int64),
        len(labels.classes),
        weight,
        check_reviewed(reviewed, n),
        together=effective_n_jobs(n_jobs) > 1,
    )
    given = Shared(X, y, labels.labelled, weight, data.shown, data.has_pattern, data.together)
    done = Parallel(n_jobs=n_jobs)(delayed(assess)(k, clf, given) for k, clf in models.items())
    folds = _folds(data.codes, cv, random_state)
    if folds:
        done = _with_losses(done, models, data, folds, n_jobs)
    sign = -1 if sort_by == "log_likelihood" else 1
    last = math.inf  # candidates without the criterion come last
    ranked = sorted(
        done,
        key=lambda c: last if math.isnan(getattr(c, sort_by)) else sign * getattr(c, sort_by),
    )
    _tell_failures(ranked)
    return Comparison(ranked, sort_by, ranked[0].name, _remarks(models, data, bool(folds)))


def default_models() -> list[dict[str, Any]]:
    """Return every family with free and tied matrices, four mechanisms, and alpha = 1."""
    ways: list[dict[str, Any]] = [
        {"mechanism": None},
        {"mechanism": EntropyMechanism()},
        {"mechanism": EntropyMechanism(order=2)},
        {"mechanism": EntropyMechanism(basis="spline")},
        {"mechanism": None, "alpha": 1.0},
    ]
    return [
        {"family": family, "covariance": covariance, **way}
        for family in FAMILIES
        for covariance in ("full", "tied")
        for way in ways
    ]


def _agreed(name: str, models: dict[str, Any]) -> Any:
    """Return an option that all candidates must share, for they are judged on the same rows."""
    values = {repr(getattr(clf, name)): getattr(clf, name) for clf in models.values()}
    if len(values) > 1:
        raise ValueError(
            f"candidates disagree about {name} ({', '.join(values)}): give all of them the same."
        )
    return next(iter(values.values()))


def _tell_failures(candidates: list[Candidate]) -> None:
    failed = [c for c in candidates if c.note.startswith("failed: ")]
    if not failed:
        return
    reason = f"{failed[0].name}: {failed[0].note.removeprefix('failed: ')}"
    if len(failed) == len(candidates):
        raise ValueError(f"No candidate could be fitted. {reason}")
    warnings.warn(
        f"{len(failed)} of {len(candidates)} candidates could not be fitted. {reason}",
        FitWarning,
        stacklevel=3,
    )


def _folds(codes: IntArray, cv: int, random_state: Any) -> list[IntArray]:
    if not cv or codes.max(initial=-1) < 0:
        return []  # no label to foretell
    if cv == 1:
        raise ValueError("cv=1: give 0 (no cross-validation) or at least 2 folds.")
    counts = np.bincount(codes[codes >= 0])
    most = int(counts[counts > 1].sum())
    if most < 2:
        return []
    fold = deal_out(codes, min(cv, most), random_state, blanks=False)
    return [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]


def _with_losses(
    done: list[Candidate],
    models: dict[str, Any],
    data: Data,
    folds: list[IntArray],
    n_jobs: int | None,
) -> list[Candidate]:
    """Return the candidates with their held-out log losses and distances from the best."""
    fitted = {c.name: models[c.name] for c in done if not c.note.startswith("failed: ")}
    judged = Judge(fitted, data, folds, "log_loss", n_jobs).all()
    if judged.trials:
        score = log_scores(list(judged.trials.values()), data.codes[judged.rows], "log_loss")
        gap, gap_error = paired_gaps(score, np.ones(len(score)), int(score.mean(axis=0).argmax()))
        error = score.std(axis=0, ddof=1) / math.sqrt(len(score))
    place = {name: k for k, name in enumerate(judged.trials)}
    out = []
    for c in done:
        if c.name in place:
            k = place[c.name]
            c = dataclasses.replace(
                c,
                cv_log_loss=float(-score[:, k].mean()),
                cv_error=float(error[k]),
                cv_gap=float(gap[k]),
                cv_gap_error=float(gap_error[k]),
            )
        elif c.name in fitted:
            why = judged.notes[c.name].removeprefix("failed: ")
            c = dataclasses.replace(c, note=f"{c.note} Cross-validation failed: {why}".strip())
        out.append(c)
    return out


def _remarks(models: dict[str, Any], data: Data, folded: bool) -> list[str]:
    silent = [not informative(clf) for clf in models.values()]
    out = []
    if not data.has_pattern and not all(silent):
        out.append(
            "The reviewed rows are all labelled or all blank, so there is no pattern to explain: "
            "models that differ in nothing but the mechanism are the same fit."
        )
    elif any(silent) and not all(silent):
        out.append(
            "Models without a mechanism do not explain which labels are missing. So that all "
            "likelihoods are of the same data (features, labels, pattern), theirs include the "
            "likelihood of labels missing by pure chance, with one more parameter."
        )
    if folded and (data.codes < 0).any():
        out.append(
            "The log loss is measured on rows that somebody labelled. If those are the easy ones, "
            "it says little about the blanks; likelihood, AIC, BIC and ICL judge all rows."
        )
    return out
