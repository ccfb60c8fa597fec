"""Which model: families, covariances and mechanisms side by side."""

import dataclasses
import math
import warnings
from collections.abc import Iterator
from numbers import Integral
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone

from hesitant._optional import need
from hesitant._result import Result, Table
from hesitant._typing import IntArray
from hesitant.checks import check_number, check_reviewed
from hesitant.criteria import chance_log_likelihood
from hesitant.exceptions import FitWarning, collect_warnings
from hesitant.families import FAMILIES
from hesitant.intake import check_features
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism
from hesitant.model_data import refuse_dask
from hesitant.model_selection._candidates import as_candidates, informative
from hesitant.model_selection._held_out import FAILURES, Data, Judge, log_scores, paired_gaps
from hesitant.model_selection._labelled import deal_out
from hesitant.uncertainty import Shannon

if TYPE_CHECKING:
    import pandas as pd

CRITERIA = {
    "bic": "BIC",
    "aic": "AIC",
    "icl": "ICL",
    "cv_log_loss": "held-out log loss",
    "log_likelihood": "log-likelihood",
}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One model's criteria; NaN where the model has none, with the reason in ``note``.

    Attributes
    ----------
    name : str
    log_likelihood : float
        Of features, labels and pattern of blanks.
    n_parameters : int
    aic, bic, icl : float
        Smaller is better. ICL is BIC plus twice the entropy of the blank rows' classes.
    cv_log_loss, cv_error : float
        Mean log loss of held-out labelled rows, and its standard error.
    cv_gap, cv_gap_error : float
        How much more that is than the best model's, and the standard error of the difference:
        all models are judged on the same rows, so differences are surer than losses.
    converged : bool
    note : str
    """

    name: str
    log_likelihood: float = math.nan
    n_parameters: int = 0
    aic: float = math.nan
    bic: float = math.nan
    icl: float = math.nan
    cv_log_loss: float = math.nan
    cv_error: float = math.nan
    cv_gap: float = math.nan
    cv_gap_error: float = math.nan
    converged: bool = False
    note: str = ""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models, best first.

    Attributes
    ----------
    candidates : list of Candidate
    sort_by : str
        The criterion that ranks them.
    best : str
        Name of the first.
    remarks : list of str
        What is comparable with what.
    """

    title: ClassVar[str] = "Which model?"

    candidates: list[Candidate]
    sort_by: str
    best: str
    remarks: list[str]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each model, best first."""
        rows = [dataclasses.asdict(c) for c in self.candidates]
        return need("pandas", "data").DataFrame(rows).rename(columns={"name": "model"})

    def plot(self, axes: Any = None) -> Any:
        """Draw the ranking criterion and the cross-validated log loss, model by model."""
        from hesitant.inference._displays import ComparisonDisplay

        return ComparisonDisplay(self.candidates, self.sort_by).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield f"Best by {CRITERIA[self.sort_by]}: {self.best}."
        low = min((c.bic for c in self.candidates if not math.isnan(c.bic)), default=math.nan)
        before = attrgetter("name", "log_likelihood", "n_parameters", "aic", "bic")
        after = attrgetter("icl", "cv_log_loss", "cv_gap", "cv_gap_error")
        yield Table(
            ("model", "log-lik", "params", "AIC", "BIC", "ΔBIC", "ICL", "CV log loss", "gap", "±"),
            [(*before(c), c.bic - low, *after(c)) for c in self.candidates],
        )
        notes: dict[str, list[str]] = {}
        for c in self.candidates:
            if c.note:
                notes.setdefault(c.note, []).append(c.name)
        for note, names in notes.items():
            yield f"* {'; '.join(names)}: {note}"
        yield from (f"* {remark}" for remark in self.remarks)


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
    given = _Given(X, y, data)
    done = Parallel(n_jobs=n_jobs)(delayed(_assess)(k, clf, given) for k, clf in models.items())
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
    place = list(judged.trials)
    out = []
    for c in done:
        if c.name in place:
            k = place.index(c.name)
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


@dataclasses.dataclass(frozen=True)
class _Given:
    """The rows as the user gave them: one object, as :class:`Data` is and for the same reason."""

    X: Any
    y: Any
    data: Data


def _assess(name: str, clf: Any, given: _Given) -> Candidate:
    """Return a model's criteria, from a fit to all rows."""
    data = given.data
    changes = {"n_jobs": 1} if data.together else {}
    try:
        with collect_warnings() as heard:
            fit = clone(clf).set_params(verbose=0, **changes)
            fit.fit(given.X, given.y, data.weight, data.shown)
    except FAILURES as error:
        return Candidate(name, note=f"failed: {error}")
    note = " ".join(heard)
    known: dict[str, Any] = {"converged": bool(fit.converged_)}
    if fit.alpha == 0.5:
        known |= _criteria(fit, given)
    else:
        note += " A fractional likelihood is no likelihood of the data: only the log loss counts."
    return Candidate(name, note=note.strip(), **known)


def _criteria(fit: Any, given: _Given) -> dict[str, Any]:
    value, k, data = fit.log_likelihood_, fit.n_parameters_, given.data
    weight, labelled = np.asarray(data.weight), data.codes >= 0
    if not fit.mechanism_.informative and data.has_pattern:
        shown = weight * data.shown
        value += chance_log_likelihood(shown[labelled].sum(), shown[~labelled].sum())
        k += 1
    doubt = float((weight * fit.entropy(given.X, Shannon()))[~labelled].sum())
    bic = k * math.log(weight.sum()) - 2 * value
    return {
        "log_likelihood": float(value),
        "n_parameters": int(k),
        "aic": float(2 * k - 2 * value),
        "bic": float(bic),
        "icl": float(bic + 2 * doubt),
    }
