"""Which model: families, covariances and mechanisms side by side."""

import dataclasses
import math
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from hesitant._drawing import GREY, Drawing, class_color, dotted_line, drawing, one_a_line
from hesitant._replicates import run_tasks
from hesitant._words import Result, Table
from hesitant.checks import check_number, look_up
from hesitant.exceptions import FitWarning
from hesitant.experts import is_panel
from hesitant.families import FAMILIES
from hesitant.intake import refuse_dask, take
from hesitant.likelihood import chance_log_likelihood
from hesitant.mechanisms import EntropyMechanism
from hesitant.model_selection._candidates import as_candidates, informative
from hesitant.model_selection._held_out import FAILED, FAILURES, Data, Judge, paired_gaps, scores
from hesitant.model_selection._labelled import deal_out
from hesitant.uncertainty import Shannon

CRITERIA = {"bic": "BIC", "aic": "AIC", "icl": "ICL"}
CRITERIA |= {"cv_log_loss": "held-out log loss", "log_likelihood": "log-likelihood"}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One model's criteria; NaN where the model has none, with the reason in ``note``."""

    name: str
    log_likelihood: float = math.nan
    n_parameters: int = 0
    aic: float = math.nan
    bic: float = math.nan
    icl: float = math.nan  #: BIC plus twice the entropy of the blank rows' classes
    cv_log_loss: float = math.nan  #: mean log loss of held-out labelled rows
    cv_error: float = math.nan
    cv_gap: float = math.nan  #: how much more that is than the best model's, on the same rows
    cv_gap_error: float = math.nan
    converged: bool = False
    note: str = ""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models, best first by the criterion ``sort_by``."""

    title: ClassVar[str] = "Which model?"

    candidates: list[Candidate]
    sort_by: str
    best: str
    remarks: list[str]

    def _columns(self) -> dict[str, Any]:
        names = [f.name for f in dataclasses.fields(Candidate)]
        columns = {name: [getattr(c, name) for c in self.candidates] for name in names}
        return {"model": columns.pop("name"), **columns}

    def plot(self, axes: Any = None) -> Any:
        """Draw the ranking criterion and the cross-validated log loss, model by model."""
        candidates = [c for c in self.candidates if not math.isnan(getattr(c, self.sort_by))]
        criterion = "bic" if self.sort_by == "cv_log_loss" else self.sort_by
        y, out = np.arange(len(candidates)), Drawing()
        names = (criterion, "cv_gap", "cv_gap_error")
        values, loss, error = (np.array([getattr(c, k) for c in candidates]) for k in names)
        with drawing():
            out.use(axes, (8.2, 1.0 + 0.24 * max(len(y), 2)), 1, 2, sharey=True)
            left, right = out.axes_.flat
            best = np.nanmax(values) if criterion == "log_likelihood" else np.nanmin(values)
            away = np.abs(values - best)
            left.hlines(y, 0, away, color=GREY, linewidth=0.8)
            left.plot(away, y, "o", color=class_color(0), markersize=5)
            one_a_line(left, [c.name for c in candidates])
            left.set_xlabel(f"{criterion.replace('_', '-').upper()}, distance from the best")
            style = {"fmt": "o", "color": class_color(4), "markersize": 5, "linewidth": 1}
            right.errorbar(loss, y, xerr=error, **style)
            dotted_line(right)
            right.set_xlabel("held-out log loss,\ndistance from the best ± s.e.")
            if np.isnan(loss).all():
                right.text(0.5, 0.5, "not cross-validated", transform=right.transAxes, ha="center")
        return out

    def _content(self) -> Iterator[str | Table]:
        yield f"Best by {CRITERIA[self.sort_by]}: {self.best}."
        low = min((c.bic for c in self.candidates if not math.isnan(c.bic)), default=math.nan)
        before = attrgetter("name", "log_likelihood", "n_parameters", "aic", "bic")
        after = attrgetter("icl", "cv_log_loss", "cv_gap", "cv_gap_error")
        head = "model", "log-lik", "params", "AIC", "BIC", "ΔBIC", "ICL", "CV log loss", "gap", "±"
        yield Table(head, [(*before(c), c.bic - low, *after(c)) for c in self.candidates])
        for note in dict.fromkeys(c.note for c in self.candidates if c.note):
            yield f"* {'; '.join(c.name for c in self.candidates if c.note == note)}: {note}"


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
    X, y, sample_weight, reviewed, missing_label, classes
        As for :class:`~hesitant.MixtureClassifier`; candidates that are classifiers already bring
        their own last two, and must agree. Held-out rows count alike, whatever their weight.
    candidates : mapping or sequence, optional
        Names with classifiers, parameters with lists of values (all combinations are tried), or a
        sequence of classifiers or dicts of parameters. By default every family, with free and with
        tied matrices, and four mechanisms: none, entropy, entropy of order 2, a spline of entropy;
        and each by labelled rows alone (alpha = 1). One that cannot be fitted is warned of.
    cv : int, default=5
        Folds of the labelled rows; 0 for no cross-validation. Blank rows stay in training always;
        a fold's rows leave it altogether, for turning them into blanks would fake a pattern.
    sort_by : {"cv_log_loss", "bic", "aic", "icl", "log_likelihood"}, optional
        By default the held-out log loss, or BIC if ``cv=0``. BIC chooses well between mechanisms
        and badly between the shapes of classes, none of which is quite right.
    random_state, n_jobs
        Seed of the folds; workers, as for :func:`bootstrap`.

    Examples
    --------
    >>> from hesitant import compare, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> compare(data.features, data.labels, {"mechanism": [None, "entropy"]}, cv=0).best
    'gaussian, full, entropy'
    """
    check_number("cv", cv, Integral, 0)
    if cv == 1:
        raise ValueError("cv=1: give 0 (no cross-validation) or at least 2 folds.")
    if sort_by is not None:
        look_up("sort_by", sort_by, CRITERIA)
    refuse_dask(X)
    shared = {"missing_label": missing_label, "classes": classes}
    if is_panel(y):
        shared["experts"] = "fallible"
    models = as_candidates(default_models() if candidates is None else candidates, shared)
    own = {name: _agreed(name, models) for name in ("missing_label", "classes", "experts")}
    template = type(next(iter(models.values())))(**own)
    data = Data.of(take(template, X, y, sample_weight, reviewed), own["experts"])
    done = list(run_tasks(partial(_assess, data=data), models.items(), n_jobs=n_jobs))
    folds = deal_out(data.codes, cv, random_state, fewer=True) if cv else []
    if folds:
        fitted = {c.name: models[c.name] for c in done if not c.note.startswith(FAILED)}
        done = _with_losses(done, Judge(fitted, data, folds, n_jobs=n_jobs).all())
    sort_by = sort_by or ("cv_log_loss" if folds else "bic")
    sign = -1 if sort_by == "log_likelihood" else 1
    order = np.argsort([sign * getattr(c, sort_by) for c in done], kind="stable")
    ranked = [done[k] for k in order]  # those without the criterion come last
    failed = [c for c in ranked if c.note.startswith(FAILED)]
    if failed:
        reason = f"{failed[0].name}: {failed[0].note.removeprefix(FAILED)}"
        if len(failed) == len(ranked):
            raise ValueError(f"No candidate could be fitted. {reason}")
        words = f"{len(failed)} of {len(ranked)} candidates could not be fitted. {reason}"
        warnings.warn(words, FitWarning, stacklevel=2)
    return Comparison(ranked, sort_by, ranked[0].name, _remarks(models, data, bool(folds)))


def default_models() -> list[dict[str, Any]]:
    """Return every family with free and tied matrices, four mechanisms, and alpha = 1."""
    entropies = EntropyMechanism(), EntropyMechanism(order=2), EntropyMechanism(basis="spline")
    ways = [(None, 0.5), *((mechanism, 0.5) for mechanism in entropies), (None, 1.0)]
    return [
        {"family": family, "covariance": covariance, "mechanism": mechanism, "alpha": alpha}
        for family, covariance, (mechanism, alpha) in product(FAMILIES, ("full", "tied"), ways)
    ]


def _agreed(name: str, models: dict[str, Any]) -> Any:
    """Return an option that all candidates must share, for they are judged on the same rows."""
    values = {repr(getattr(clf, name)): getattr(clf, name) for clf in models.values()}
    if len(values) > 1:
        shown = ", ".join(values)
        raise ValueError(f"candidates disagree about {name} ({shown}): give all of them the same.")
    return next(iter(values.values()))


def _with_losses(done: list[Candidate], judged: Judge) -> list[Candidate]:
    """Return the candidates with their held-out log losses and distances from the best."""
    found: dict[str, dict[str, Any]] = {}
    for c in done:
        if c.name in judged.models:
            why = judged.notes.get(c.name, "").removeprefix(FAILED)
            found[c.name] = {"note": f"{c.note} Cross-validation failed: {why}".strip()}
    if judged.trials:
        score = scores(list(judged.trials.values()), judged.data, judged.rows, "log_loss")[0]
        loss, error = -score.mean(axis=0), score.std(axis=0, ddof=1) / math.sqrt(len(score))
        gaps = paired_gaps(score, np.ones(len(score)), int(loss.argmin()))
        columns = ("cv_log_loss", "cv_error", "cv_gap", "cv_gap_error")
        for name, *values in zip(judged.trials, loss, error, *gaps, strict=True):
            found[name] = dict(zip(columns, map(float, values), strict=True))
    return [dataclasses.replace(c, **found.get(c.name, {})) for c in done]


def _remarks(models: dict[str, Any], data: Data, folded: bool) -> list[str]:
    silent, pattern = [not informative(clf) for clf in models.values()], data.answers()
    some = not all(silent)  # of the models explain the blanks
    remarks = {
        "The reviewed rows are all labelled or all blank, so there is no pattern to explain: "
        "models that differ in nothing but the mechanism are the same fit.": some and not pattern,
        "Models without a mechanism do not explain which labels are missing. So that all "
        "likelihoods are of the same data (features, labels, pattern), theirs include the "
        "likelihood of labels missing by pure chance, "
        "with one more parameter a reader.": some and pattern and any(silent),
        "The log loss is measured on rows that somebody labelled. If those are the easy ones, "
        "it says little about the blanks; "
        "likelihood, AIC, BIC and ICL judge all rows.": folded and (data.codes < 0).any(),
    }
    return [words for words, there in remarks.items() if there]


def _assess(name: str, clf: Any, data: Data) -> Candidate:
    """Return a model's criteria, from a fit to all rows."""
    try:
        fit, note = data.fit(clf)
    except FAILURES as error:
        return Candidate(name, note=f"{FAILED}{error}")
    if fit.alpha != 0.5:
        note += " A fractional likelihood is no likelihood of the data: only the log loss counts."
        return Candidate(name, note=note.strip(), converged=bool(fit.converged_))
    value, k, tally = fit.log_likelihood_, fit.n_parameters_, data.checked.tally
    mechanism = getattr(fit.mechanism_, "hesitation", fit.mechanism_)  # a reader's, of a panel
    for labelled, blank in () if mechanism.informative else data.answers():
        value += chance_log_likelihood(labelled, blank)
        k += 1
    unknown = data.checked.weight * (data.codes < 0)
    # By a sum: of weights that are all one, or have travelled, products are added up differently.
    doubt = float(np.sum(unknown * fit.entropy(data.checked, Shannon())))
    bic = k * math.log(tally.weight) - 2 * value
    criteria = {"aic": 2 * k - 2 * value, "bic": bic, "icl": bic + 2 * doubt}
    found = {"log_likelihood": value, **criteria, "n_parameters": k, "converged": fit.converged_}
    return Candidate(name, **found, note=note)
