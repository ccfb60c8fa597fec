"""Candidates judged on rows they have not seen, and weights that combine them best."""

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.exceptions import hearing
from hesitant.model_selection._labelled import LEAST, seen_probability

FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError)
PRIOR = 0.5  # pseudo-rows that every candidate has in advance
HOPELESS = 4.0  # standard errors behind the best, after the first fold
LONGEST = 60.0  # seconds of a fold; a candidate that takes more is not waited for again


@dataclasses.dataclass(frozen=True)
class Data:
    """What every candidate is judged on.

    One object, and not several arrays: those joblib's Dask backend would put on one worker for
    all tasks, and with that worker they would be lost.

    Attributes
    ----------
    X : array of shape (n, p)
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    classes : list
    weight : array of shape (n,) or None
    reviewed : boolean array of shape (n,) or None
    together : bool
        Whether several fits run at once; each then keeps to one thread.
    """

    X: AnyArray
    codes: IntArray
    classes: list[Any]
    weight: FloatArray | None
    reviewed: BoolArray | None
    together: bool = False

    def fit(self, clf: Any, rows: Any = slice(None), **options: Any) -> tuple[Any, str]:
        """Return a fresh fit to some rows, and what it warned of."""
        if self.together:
            options["n_jobs"] = 1
        fit = clone(clf)
        model_of(fit).set_params(classes=self.classes, missing_label=None, verbose=0, **options)
        given = {"sample_weight": self.weight, "reviewed": self.reviewed}
        given = {name: None if v is None else v[rows] for name, v in given.items()}
        y = np.array([*self.classes, None], dtype=object)[self.codes[rows]]
        with hearing() as heard:
            if isinstance(fit, Pipeline):
                last = fit.steps[-1][0]
                given = {f"{last}__{name}": v for name, v in given.items()}
            fit.fit(self.X[rows], y, **given)
        return fit, " ".join(heard)


def model_of(candidate: Any) -> Any:
    """Return the mixture of a candidate, which may be a pipeline that ends in one."""
    return candidate[-1] if isinstance(candidate, Pipeline) else candidate


class Trial(NamedTuple):
    """One candidate on the rows of one fold.

    Attributes
    ----------
    tau : array of shape (n, g)
        Class posteriors.
    seen : array of shape (n,)
        Probability of what was seen of the row, label or blank.
    chance : array of shape (n,)
        Probability of any label.
    n_parameters : int
    seconds : float
    note : str
        What the fit warned of, or why there is none (``tau`` is then None).
    """

    tau: FloatArray | None
    seen: FloatArray
    chance: FloatArray
    n_parameters: int
    seconds: float
    note: str


def try_fold(clf: Any, data: Data, out: IntArray) -> Trial:
    """Fit to all rows but some, and foretell those."""
    begin = time.perf_counter()
    keep = np.setdiff1d(np.arange(len(data.codes)), out)
    try:
        fit, note = data.fit(clf, keep)
        said = _said(fit, data.X[out])
        tau = fit.predict_proba(data.X[out])
        if not np.isfinite(said).all():
            raise ValueError("its probabilities are not finite")
    except FAILURES as error:
        seconds = time.perf_counter() - begin
        return Trial(None, np.zeros(0), np.zeros(0), 0, seconds, f"failed: {error}")
    codes, place = data.codes[out], np.arange(len(out))
    seen, chance = said[place, codes], 1 - said[:, -1]
    if data.reviewed is not None:  # nobody left these blank, or labelled them by choice
        unseen = ~data.reviewed[out]
        known = np.where(codes < 0, 1.0, tau[place, codes])
        seen, chance = np.where(unseen, known, seen), np.where(unseen, 1.0, chance)
    size = model_of(fit).n_parameters_
    return Trial(tau, seen, chance, size, time.perf_counter() - begin, note)


def _said(fit: Any, X: AnyArray) -> AnyArray:
    model = model_of(fit)
    return seen_probability(model, X if model is fit else fit[:-1].transform(X))


# -- scores -------------------------------------------------------------------------------------


def log_scores(trials: list[Trial], codes: IntArray, scoring: str) -> FloatArray:
    """Return the log score (n, k) of each row under each candidate; zero where it has none."""
    place, blank = np.arange(len(codes)), codes < 0
    out = np.zeros((len(codes), len(trials)))
    for k, trial in enumerate(trials):
        assert trial.tau is not None
        if scoring == "seen":
            out[:, k] = np.log(np.maximum(trial.seen, LEAST))
            continue
        own = (
            trial.seen / np.maximum(trial.chance, LEAST)  # the label, given that there is one
            if scoring == "log_loss"
            else trial.tau[place, codes]
        )
        out[:, k] = np.where(blank, 0.0, np.log(np.maximum(own, LEAST)))
    return out


def row_weights(trials: list[Trial], data: Data, rows: IntArray, scoring: str) -> FloatArray:
    """Return what each row counts in a score; blank rows count in "seen" alone."""
    weight = np.ones(len(rows)) if data.weight is None else data.weight[rows].copy()
    if scoring != "seen":
        weight[data.codes[rows] < 0] = 0.0
    if scoring == "weighted_log_loss":
        chance = np.mean([t.chance for t in trials], axis=0)
        weight /= np.maximum(chance, 0.05)  # one row must not outweigh twenty
    return weight


def stack_weights(log_score: FloatArray, weight: FloatArray, prior: float = PRIOR) -> FloatArray:
    """Return the convex weights with the largest mean log score, a weak prior included.

    EM for the proportions of a mixture with known components. The prior counts as some rows
    for each candidate; without it a few lucky rows would decide between candidates.
    """
    top = log_score.max(axis=1, keepdims=True)
    p = np.exp(log_score - top)
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(2000):
        share = p * w
        share *= (weight / share.sum(axis=1))[:, None]
        new = share.sum(axis=0) + prior
        new /= new.sum()
        if np.abs(new - w).max() < 1e-7:
            break
        w = new
    return new


# -- all candidates -----------------------------------------------------------------------------


class Judged(NamedTuple):
    """What became of the candidates.

    Attributes
    ----------
    trials : dict of str to Trial
        Those that went through all folds, in the order of ``rows``.
    rows : array of int
        The rows held out, fold after fold.
    notes : dict of str to str
        Why the others did not, and what fits warned of.
    seconds : dict of str to float
        Spent on each.
    """

    trials: dict[str, Trial]
    rows: IntArray
    notes: dict[str, str]
    seconds: dict[str, float]


def judge(
    models: Mapping[str, Any],
    data: Data,
    folds: list[IntArray],
    scoring: str,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    drop: bool = True,
) -> Judged:
    """Fit every candidate to all rows but a fold's, fold by fold; drop hopeless ones early."""
    seconds = dict.fromkeys(models, 0.0)
    notes: dict[str, str] = {}

    def run(names: Iterable[str], folds: list[IntArray]) -> dict[str, list[Trial]]:
        jobs = [(name, fold) for fold in folds for name in names]
        work = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(try_fold)(models[name], data, fold) for name, fold in jobs
        )
        done: dict[str, list[Trial]] = {}
        for (name, _), trial in zip(jobs, _with_bar(work, len(jobs), verbose), strict=True):
            seconds[name] += trial.seconds
            if trial.note and name not in notes:
                notes[name] = trial.note
            if trial.tau is None:
                notes[name] = trial.note
            done.setdefault(name, []).append(trial)
        return {k: v for k, v in done.items() if all(t.tau is not None for t in v)}

    first = run(models, folds[:1])
    alive = list(first)
    if drop and len(first) > 1 and len(folds) > 1:
        slow = [k for k in alive if seconds[k] > LONGEST and len(alive) > 1]
        notes.update({k: f"dropped: a fold took {seconds[k]:.0f} s" for k in slow})
        trials = [first[k][0] for k in alive]
        behind = _hopeless(trials, data, folds[0], scoring)
        notes.update(
            {k: "dropped: far behind on the first fold" for k, b in zip(alive, behind, strict=True) if b}
        )
        alive = [k for k, b in zip(alive, behind, strict=True) if not b and k not in slow]
    rest = run(alive, folds[1:]) if len(folds) > 1 else {k: [] for k in alive}
    rows = np.concatenate(folds)
    return Judged({k: _merge(first[k] + v) for k, v in rest.items()}, rows, notes, seconds)


def _hopeless(trials: list[Trial], data: Data, rows: IntArray, scoring: str) -> BoolArray:
    """Whether candidates are far behind the best alone, and of no use to a combination."""
    score = log_scores(trials, data.codes[rows], scoring)
    weight = row_weights(trials, data, rows, scoring)
    means = weight @ score
    best = int(means.argmax())
    gap, error = paired_gaps(score, weight, best)
    use = stack_weights(score, weight, prior=0.0)
    out: BoolArray = (gap > HOPELESS * error) & (use < 1e-3)
    return out


def paired_gaps(
    score: FloatArray, weight: FloatArray, best: int
) -> tuple[FloatArray, FloatArray]:
    """Return how far candidates are behind one of them, with the differences' standard errors."""
    total = weight.sum()
    lost = score[:, [best]] - score
    gap = weight @ lost / total
    effective = total**2 / (weight**2).sum()
    spread = weight @ (lost - gap) ** 2 / total
    return gap, np.sqrt(spread / max(effective - 1, 1))


def _merge(trials: list[Trial]) -> Trial:
    return Trial(
        np.concatenate([t.tau for t in trials if t.tau is not None]),
        np.concatenate([t.seen for t in trials]),
        np.concatenate([t.chance for t in trials]),
        trials[0].n_parameters,
        math.fsum(t.seconds for t in trials),
        trials[0].note,
    )


def _with_bar(work: Any, total: int, verbose: int) -> Any:
    if not verbose:
        return work
    try:
        from tqdm.auto import tqdm
    except ImportError:  # a bar is no reason to fail
        return work
    return tqdm(work, total=total, desc="fits", leave=False)
