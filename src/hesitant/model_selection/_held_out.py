"""Candidates judged on rows they have not seen, and weights that combine them best."""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import ks_2samp

from hesitant._cores import one_blas_thread
from hesitant._replicates import refit, run_tasks
from hesitant._typing import FloatArray, IntArray
from hesitant.experts import as_readers
from hesitant.families import Shrunk
from hesitant.model import LEAST, FittedModel
from hesitant.model_selection._candidates import shape_of, shapes
from hesitant.rows import Rows

FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError)
FAILED = "failed: "
SCORING = ("log_loss", "seen", "weighted_log_loss")
# Rows that a combination has in advance: those that all candidates share, and those of the
# candidates whose densities look right.
PRIOR, PRIOR_RIGHT = 3.0, 12.0
ABOUT = 12.0  # log-likelihood behind the best that may be chance
PLAINER = 1.0  # log probability that another parameter of the mechanism must bring
HOPELESS = 4.0  # standard errors, and log probability, behind the best after the first fold
ROUGHLY = 0.01  # log-likelihood that a fit to judge by need not reach
MOST_STEPS = 60  # of a fit to judge by that starts where another one ended


@dataclasses.dataclass(frozen=True)
class Data:
    """What every candidate is judged on; ``codes`` are −1 for a blank, of a panel its vote."""

    # One object, and not several arrays: those joblib's Dask backend would put on one worker for
    # all tasks, and with that worker they would be lost.
    checked: Rows
    codes: IntArray
    sample: IntArray  # rows that candidates are judged on

    @classmethod
    def of(cls, checked: Rows, experts: Any) -> "Data":
        said = checked.said
        codes = checked.labels.codes if said is None else as_readers(experts).rough(said)
        return cls(checked, np.asarray(codes, dtype=np.int64), np.arange(len(codes)))

    def answers(self) -> list[tuple[float, float]]:
        """Return the weights of rows labelled and left blank by each reader who did both."""
        said, tally, weight = self.checked.said, self.checked.tally, self.checked.weight
        if said is None:
            counts = [(tally.reviewed_labelled, tally.reviewed_blank)]
        else:
            left = said.shown & ~said.given
            counts = list(zip(weight @ said.given, weight @ left, strict=True))
        return [(float(a), float(b)) for a, b in counts if a > 0 and b > 0]

    def fit(self, clf: Any, rows: IntArray | None = None, **options: Any) -> tuple[Any, str]:
        """Return a fresh fit, to some rows or all, and what it warned of."""
        data = self.checked if rows is None else self.checked[rows]
        warned: list[str] = []
        fit = refit(clf, data, None, classes=list(data.classes), warned=warned, **options)
        return fit, " ".join(warned)


class Trial(NamedTuple):
    """One candidate on rows held out: log probabilities, one a row, unless said otherwise."""

    tau: FloatArray | None = None  # class posteriors (n, g); None if it failed
    given: FloatArray = np.zeros(0)  # those of a row that has a label (n, g)
    label: FloatArray = np.zeros(0)  # of the label, had there to be one
    seen: FloatArray = np.zeros(0)  # of label or blank
    chance: FloatArray = np.zeros(0)  # probability of any label, not its log
    density: FloatArray = np.zeros(0)  # of the rows
    drawn: FloatArray = np.zeros(0)  # of rows drawn from the fit
    n_parameters: int = 0
    parametric: bool = True  # whether it has standard errors
    seconds: float = 0.0
    note: str = ""
    start: Any = None  # the fit itself, where others can start from it


@one_blas_thread()  # matrices are small: threads would wait for each other longer than they work
@np.errstate(all="ignore")  # an infinitely wide class draws rows that are not numbers
def try_fold(
    models: list[Any], data: Data, out: IntArray, starts: Any, strengths: Any, tol: float
) -> list[Trial]:
    """Fit each of some models to all rows but a fold's, and predict those.

    Models that differ in their mechanism alone start from one another. No fit starts from another
    fold's: that has seen the labels to predict, and might remember them.
    """
    keep, starts, done = np.setdiff1d(data.sample, out), dict(starts), []
    for clf in models:
        begin, shape = time.perf_counter(), shape_of(clf)
        options: dict[str, Any] = {"tol": max(clf.tol, tol)}
        if shape in starts and clf.init is None:
            options["init"] = starts[shape]
            if tol:
                options["max_iter"] = min(clf.max_iter, MOST_STEPS)
        if clf.covariance == "shrunk" and strengths:
            # components of a class must be free to lie apart
            together = strengths[2] if clf.components == 1 else 0.0
            options["covariance"] = Shrunk(strengths[0], strengths[1], together)
        try:
            fit, note = data.fit(clf, keep, **options)
            trial = _predict(fit, data, out)
            if fit.fitted_.family.has_from_attributes:
                starts.setdefault(shape, fit)
            strengths = strengths or _strengths(fit)
            trial = trial._replace(note=note, start=starts.get(shape))
        except FAILURES as error:
            trial = Trial(note=f"{FAILED}{error}")
        done.append(trial._replace(seconds=time.perf_counter() - begin))
    return done


def _strengths(fit: Any) -> tuple[float, ...]:
    """Return how strongly a Gaussian fit pulls classes together, if it was asked to find out."""
    asked = fit.covariance == "shrunk" and fit.components == 1 and fit.family == "gaussian"
    return tuple(map(float, fit.shrinkage_)) if asked else ()


def _predict(fit: Any, data: Data, rows: IntArray) -> Trial:
    model: FittedModel = fit.fitted_
    tau, seen, _, chance, density = model.predict(data.checked[rows])
    codes = data.codes[rows]
    given = tau  # unless a label says something of the class already
    if model.mechanism.by_class and not model.readers:
        given = model.by_rows(data.checked.X[rows], model.if_labelled, 1)
    own = np.log(np.maximum(tau[np.arange(len(rows)), codes], LEAST))
    label = own if model.readers else seen - np.log(np.maximum(chance, LEAST))
    label = np.where(codes < 0, 0.0, np.where(data.checked.reviewed[rows], label, own))
    if not (np.isfinite(tau).all() and np.isfinite(label).all()):
        raise ValueError("its probabilities are not finite")
    rng = np.random.default_rng(rows)  # other draws for every fold
    counts = rng.multinomial(max(200, len(rows)), model.state.weights)
    others = [model.family.sample(model.state.params, h, n, rng) for h, n in enumerate(counts)]
    drawn = model.posterior(np.concatenate(others))[2]
    size = model.n_parameters, model.family.has_coordinates
    return Trial(tau, given, label, seen, chance, density, drawn, *size)


def scores(
    trials: Sequence[Trial], data: Data, rows: IntArray, scoring: str
) -> tuple[FloatArray, FloatArray]:
    """Return each row's log score (n, k) and weight (n,): of labels, or "seen" of blanks too."""
    codes, weight = data.codes[rows], data.checked.weight[rows].astype(float)
    if scoring == "seen":
        return np.column_stack([t.seen for t in trials]), weight
    weight[codes < 0] = 0.0
    if scoring in ("auto", "log_loss"):
        return np.column_stack([t.label for t in trials]), weight
    own = np.column_stack([np.asarray(t.tau)[np.arange(len(rows)), codes] for t in trials])
    chance = np.mean([t.chance for t in trials], axis=0)
    # one row must not outweigh twenty
    return np.log(np.maximum(own, LEAST)), weight / np.maximum(chance, 0.05)


def paired_gaps(score: FloatArray, weight: FloatArray, best: int) -> tuple[FloatArray, FloatArray]:
    """Return how far candidates are behind one of them, with the differences' standard errors."""
    total, lost = weight.sum(), score[:, [best]] - score
    gap, effective = weight @ lost / total, total**2 / (weight**2).sum()
    return gap, np.sqrt(weight @ (lost - gap) ** 2 / total / max(effective - 1, 1))


def stack_weights(
    log_score: FloatArray, weight: FloatArray, prior: FloatArray, least: Any = 0.0
) -> FloatArray:
    """Return the convex weights with the largest mean log score, a weak prior included.

    By EM; one after the other, components that come to less than ``least`` are left out.
    """
    p = np.exp(log_score - log_score.max(axis=1, keepdims=True))
    w, prior = np.full(p.shape[1], 1 / p.shape[1]), prior.copy()
    for step in range(2000):
        share = p * w
        new = (weight / share.sum(axis=1)) @ share + prior
        new /= new.sum()
        settled, w = np.abs(new - w).max() < 1e-7, new
        if settled or step % 100 == 99:
            low = np.where((w > 0) & (w < least), w, np.inf)
            if np.isfinite(low).any():
                w[low.argmin()] = prior[low.argmin()] = 0.0
            elif settled:
                break
    return w / w.sum()


def prior_rows(trials: Sequence[Trial], data: Data, rows: IntArray) -> FloatArray:
    """Return how many rows each candidate has in advance.

    Where labels cannot tell candidates apart, all that was seen may. That is to be trusted of a
    model that is right: of the candidates that are about the best by that likelihood, those count
    whose densities are spread like those of rows drawn from them.
    """
    seen, weight = scores(trials, data, rows, "seen")
    total = weight @ (seen + np.column_stack([t.density for t in trials]))
    right = total > total.max() - ABOUT
    for k in np.flatnonzero(right).tolist():
        right[k] = ks_2samp(trials[k].density, trials[k].drawn).pvalue > 0.01
    below = np.minimum(total - total.max(where=right, initial=-1e300), 0.0)
    share = np.where(right, np.exp(below), 0.0)
    share /= max(share.sum(), LEAST)
    return np.asarray((PRIOR * (1 - share.sum()) + 0.1) / len(trials) + PRIOR_RIGHT * share)


@dataclasses.dataclass(eq=False)
class Judge:
    """Candidates tried fold by fold; ``notes`` say why some have no ``trials`` on ``rows``."""

    models: Mapping[str, Any]
    data: Data
    folds: list[IntArray]
    scoring: str = "log_loss"
    n_jobs: int | None = None
    verbose: int = 0
    tol: float = 0.0
    done: dict[str, list[Trial]] = dataclasses.field(default_factory=lambda: defaultdict(list))
    trials: dict[str, Trial] = dataclasses.field(default_factory=dict)
    notes: dict[str, str] = dataclasses.field(default_factory=dict)
    starts: dict[str, Any] = dataclasses.field(default_factory=dict)  # on the first fold
    strengths: tuple[float, ...] = ()

    @property
    def rows(self) -> IntArray:  # in the order of the trials
        return np.concatenate(self.folds)

    def all(self) -> Self:
        """Take every candidate through all folds."""
        return self._end(self._run(list(self.models), self.folds))

    def sift(self) -> Self:
        """Take those through all folds that are not hopeless after the first."""
        # With scoring "auto" the plain candidates go first; mechanisms are tried with those that
        # are left, and the two that predict best what was seen go on.
        self.tol, groups = ROUGHLY, list(shapes(self.models))
        plain = [g[0] for g in groups] if self.scoring == "auto" else list(self.models)
        names = self._promising(self._run(plain, self.folds[:1]))
        if self.scoring == "auto":
            others = [k for g in groups if g[0] in names for k in g[1:]]
            names += self._best_mechanisms(self._run(others, self.folds[:1]))
        return self._end(self._run(names, self.folds[1:]))

    def _run(self, names: list[str], folds: list[IntArray]) -> list[str]:
        """Try models on folds; return the names of those that did not fail."""
        parts: dict[str, list[str]] = {}  # models that share a start or a search are one task
        for group in shapes({k: self.models[k] for k in names}):
            name = "shrunk" if self.models[group[0]].covariance == "shrunk" else group[0]
            parts.setdefault(name, []).extend(group)
        jobs = [(part, fold) for fold in folds for part in parts.values()]
        tasks = [([self.models[k] for k in part], self.data, fold,
                  self.starts if fold is self.folds[0] else {}, self.strengths, self.tol)
                 for part, fold in jobs]  # fmt: skip
        # one worker, unless this or joblib's configuration says more
        how: dict[str, Any] = {"n_jobs": effective_n_jobs(self.n_jobs)}
        work = run_tasks(try_fold, tasks, progress=bool(self.verbose), description="fits", **how)
        for (part, fold), trials in zip(jobs, list(work), strict=True):
            for name, trial in zip(part, trials, strict=True):
                self.done[name].append(trial._replace(start=None))
                if self.tol and fold is self.folds[0] and trial.start is not None:
                    self.starts.setdefault(shape_of(self.models[name]), trial.start)
                    self.strengths = self.strengths or _strengths(trial.start)
                if trial.note and (trial.tau is None or name not in self.notes):
                    self.notes[name] = trial.note
        return [k for k in names if all(t.tau is not None for t in self.done[k])]

    def _promising(self, names: list[str]) -> list[str]:
        """Return the names of those that are not far behind on the first fold."""
        if len(names) < 2 or len(self.folds) < 2:
            return names
        trials, rows = [self.done[k][0] for k in names], self.folds[0]
        score, weight = scores(trials, self.data, rows, self.scoring)
        gap, error = paired_gaps(score, weight, int((weight @ score).argmax()))
        use = stack_weights(score, weight, np.zeros(len(names)))
        far = (gap > HOPELESS * error) & (gap * weight.sum() > HOPELESS) & (use < 1e-3)
        dropped = [names[k] for k in np.flatnonzero(far)]
        self.notes |= dict.fromkeys(dropped, "dropped: far behind on the first fold")
        return [k for k in names if k not in dropped]

    def _best_mechanisms(self, tried: list[str]) -> list[str]:
        """Return the models with one of the two mechanisms that predict best what was seen."""
        weight = self.data.checked.weight[self.folds[0]]
        lead: dict[str, list[float]] = {}
        for name in tried:
            trial = self.done[name][0]
            value = weight @ trial.seen - PLAINER * trial.n_parameters / len(self.folds)
            lead.setdefault(repr(self.models[name].mechanism), []).append(float(value))
        # One expert, whatever the classes' shapes: all of them are asked.
        best = sorted(lead, key=lambda k: -float(np.mean(lead[k])))[:2]
        chosen = [k for k in tried if repr(self.models[k].mechanism) in best]
        why = "dropped: another mechanism predicts more, or is plainer"
        self.notes |= dict.fromkeys(set(tried) - set(chosen), why)
        return chosen

    def _end(self, names: list[str]) -> Self:
        arrays = ("tau", "given", "label", "seen", "chance", "density", "drawn")
        for name in names:
            trials = self.done[name]
            parts: Any = {k: np.concatenate([getattr(t, k) for t in trials]) for k in arrays}
            self.trials[name] = trials[0]._replace(**parts)
        return self

    def choose_mechanisms(self) -> list[str]:
        """Return one name for each shape: what was seen decides between its mechanisms."""
        # The labelled rows are the easy ones and hardly tell mechanisms apart; the blanks do. None
        # is taken that predicts labels worse than the plainest by more than two standard errors.
        chosen = []
        for group in shapes({k: self.models[k] for k in self.trials}):
            trials = [self.trials[k] for k in group]
            lost, error = paired_gaps(*scores(trials, self.data, self.rows, "log_loss"), 0)
            seen, weight = scores(trials, self.data, self.rows, "seen")
            value = weight @ seen - PLAINER * np.array([t.n_parameters for t in trials])
            chosen.append(group[int(np.where(lost <= 2 * error + 1e-12, value, -np.inf).argmax())])
        return chosen
