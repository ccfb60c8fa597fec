"""Which model: families, covariances and mechanisms side by side."""

import dataclasses
import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state

from hesitant._typing import FloatArray, IntArray
from hesitant.attached import refuse_dask
from hesitant.checks import check_number, check_reviewed
from hesitant.exceptions import FitWarning
from hesitant.inference._assessment import Shared, assess
from hesitant.inference._candidates import as_candidates
from hesitant.inference._comparison import CRITERIA, Candidate, Comparison
from hesitant.labels import encode
from hesitant.mechanisms import as_mechanism

__all__ = ["compare"]


def compare(
    X: Any,
    y: Any,
    candidates: Any = None,
    *,
    cv: int = 5,
    sample_weight: Any = None,
    reviewed: Any = None,
    sort_by: str = "bic",
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
        tied matrices, and four mechanisms: none, entropy, entropy of order 2, a spline of entropy.
    cv : int, default=5
        Folds of the labelled rows; 0 for no cross-validation. Blank rows stay in training always;
        a fold's rows leave it altogether, for turning them into blanks would fake a pattern.
    sample_weight, reviewed : array-likes, optional
        As for ``fit``. Held-out rows count alike in the log loss, whatever their weight.
    sort_by : {"bic", "aic", "icl", "cv_log_loss", "log_likelihood"}, default="bic"
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
    if sort_by not in CRITERIA:
        raise ValueError(f"sort_by={sort_by!r}: choose one of {', '.join(map(repr, CRITERIA))}.")
    refuse_dask(X)
    models = as_candidates(candidates, {"missing_label": missing_label, "classes": classes})
    known = _agreed("classes", models)
    labels = encode(y, _agreed("missing_label", models), known)
    n = len(labels.codes)
    data = Shared(
        X,
        y,
        labels.codes,
        np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float),
        check_reviewed(reviewed, n),
        labels.classes.tolist(),
        _folds(labels.codes, cv, random_state),
        effective_n_jobs(n_jobs) > 1,
    )
    done = _with_gaps(
        Parallel(n_jobs=n_jobs)(delayed(assess)(name, clf, data) for name, clf in models.items())
    )
    sign = -1 if sort_by == "log_likelihood" else 1
    last = math.inf  # candidates without the criterion come last
    ranked = sorted(
        done,
        key=lambda c: last if math.isnan(getattr(c, sort_by)) else sign * getattr(c, sort_by),
    )
    _tell_failures(ranked)
    return Comparison(ranked, sort_by, ranked[0].name, _remarks(models, data))


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
    """Deal the labelled rows of each class out to the folds in turn."""
    if not cv or codes.max(initial=-1) < 0:
        return []  # no label to foretell
    if cv == 1:
        raise ValueError("cv=1: give 0 (no cross-validation) or at least 2 folds.")
    rng = check_random_state(random_state)
    labelled = np.concatenate(
        [rng.permutation(np.flatnonzero(codes == h)) for h in range(codes.max() + 1)]
    )
    return [np.sort(labelled[k::cv]) for k in range(min(cv, labelled.size))]


def _with_gaps(done: list[tuple[Candidate, FloatArray | None]]) -> list[Candidate]:
    """Return the candidates, each with its distance in log loss from the best."""
    losses = [loss for _, loss in done if loss is not None]
    if not losses:
        return [candidate for candidate, _ in done]
    best = min(losses, key=np.mean)
    out = []
    for candidate, loss in done:
        if loss is not None:
            gap = loss - best
            error = float(gap.std(ddof=1) / math.sqrt(gap.size))
            candidate = dataclasses.replace(
                candidate, cv_gap=float(gap.mean()), cv_gap_error=error
            )
        out.append(candidate)
    return out


def _is_silent(mechanism: Any) -> bool:
    try:
        return not as_mechanism(mechanism).informative
    except (TypeError, ValueError):  # its fit will say what is wrong
        return False


def _remarks(models: dict[str, Any], data: Shared) -> list[str]:
    silent = [_is_silent(clf.mechanism) for clf in models.values()]
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
    if data.folds and (data.codes < 0).any():
        out.append(
            "The log loss is measured on rows that somebody labelled. If those are the easy ones, "
            "it says little about the blanks; likelihood, AIC, BIC and ICL judge all rows."
        )
    return out
