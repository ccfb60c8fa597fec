"""Candidates judged on rows they have not seen, and weights that combine them best."""

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import ks_2samp
from sklearn.base import clone

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.exceptions import collect_warnings
from hesitant.families import Shrunk
from hesitant.model_selection._candidates import shapes
from hesitant.model_selection._labelled import LEAST, seen_probability

FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError)
SCORING = ("log_loss", "seen", "weighted_log_loss")
# Rows that a combination has in advance: those that all candidates share, those of the class
# shares alone, and those of the candidates whose densities look right.
PRIOR, PRIOR_NO_FEATURES, PRIOR_RIGHT = 3.0, 0.5, 8.0
PLAINER = 1.0  # log probability that another parameter of the mechanism must bring
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
    n_classes : int
    weight : array of shape (n,) or None
    reviewed : boolean array of shape (n,) or None
    together : bool
        Whether several fits run at once; each then keeps to one thread.
    """

    X: AnyArray
    codes: IntArray
    n_classes: int
    weight: FloatArray | None = None
    reviewed: BoolArray | None = None
    together: bool = False

    @property
    def shown(self) -> BoolArray:
        """Whether each row was reviewed."""
        return np.ones(len(self.codes), bool) if self.reviewed is None else self.reviewed

    @property
    def has_pattern(self) -> bool:
        """Whether some of the reviewed rows are labelled and some are not."""
        return len(np.unique(self.codes[self.shown] >= 0)) == 2

    def fit(self, clf: Any, rows: Any = slice(None), **options: Any) -> tuple[Any, str]:
        """Return a fresh fit to some rows, classes by number, and what it warned of."""
        if self.together:
            options.setdefault("n_jobs", 1)
        own = {"classes": range(self.n_classes), "missing_label": -1, "verbose": 0}
        with collect_warnings() as heard:
            fit = clone(clf).set_params(**own, **options)
            fit.fit(
                self.X[rows],
                self.codes[rows],
                None if self.weight is None else self.weight[rows],
                None if self.reviewed is None else self.reviewed[rows],
            )
        return fit, " ".join(heard)


class Trial(NamedTuple):
    """One candidate on rows held out.

    Attributes
    ----------
    tau : array of shape (n, g) or None
        Class posteriors; None if the candidate failed.
    seen : array of shape (n,)
        Probability of what was seen of the row, label or blank.
    chance : array of shape (n,)
        Probability of any label.
    density, drawn : arrays
        Log densities of the features, and of rows drawn from the fit.
    n_parameters : float
    seconds : float
    note : str
        What the fit warned of, or why there is none.
    """

    tau: FloatArray | None
    seen: FloatArray
    chance: FloatArray
    density: FloatArray
    drawn: FloatArray
    n_parameters: float
    seconds: float
    note: str


def try_fold(models: Sequence[Any], data: Data, out: IntArray) -> list[Trial]:
    """Fit each of some models to all rows but a fold's, and foretell those.

    How strongly classes are pulled together is found once for all models that ask for it.
    """
    keep = np.setdiff1d(np.arange(len(data.codes)), out)
    found: tuple[float, ...] | None = None
    done = []
    for clf in models:
        begin = time.perf_counter()
        single = getattr(clf, "components", 1) == 1
        options = {}
        if clf.covariance == "shrunk" and found is not None:
            # components of a class must be free to lie apart
            to_pooled, to_diagonal, to_mean = found
            options["covariance"] = Shrunk(to_pooled, to_diagonal, to_mean if single else 0.0)
        try:
            fit, note = data.fit(clf, keep, **options)
            trial = _foretell(fit, data, out)._replace(note=note)
            if clf.covariance == "shrunk" and clf.family == "gaussian" and single:
                found = found or tuple(map(float, fit.shrinkage_))
        except FAILURES as error:
            none = np.zeros(0)
            trial = Trial(None, none, none, none, none, 0, 0.0, f"failed: {error}")
        done.append(trial._replace(seconds=time.perf_counter() - begin))
    return done


def _foretell(fit: Any, data: Data, rows: IntArray) -> Trial:
    codes, place = data.codes[rows], np.arange(len(rows))
    tau = fit.predict_proba(data.X[rows])
    said = seen_probability(fit, data.X[rows], tau)
    if not np.isfinite(said).all():
        raise ValueError("its probabilities are not finite")
    seen, chance = said[place, codes], 1 - said[:, -1]
    if data.reviewed is not None:  # nobody left these blank, or labelled them by choice
        unseen = ~data.reviewed[rows]
        known = np.where(codes < 0, 1.0, tau[place, codes])
        seen, chance = np.where(unseen, known, seen), np.where(unseen, 1.0, chance)
    density = fit.score_samples(data.X[rows])
    drawn = fit.score_samples(fit.sample(max(200, len(rows)), random_state=0)[0])
    return Trial(tau, seen, chance, density, drawn, fit.n_parameters_, 0.0, "")


# -- scores -------------------------------------------------------------------------------------


def log_scores(trials: Sequence[Trial], codes: IntArray, scoring: str) -> FloatArray:
    """Return the log score (n, k) of each row under each candidate; zero where it has none."""
    place, blank = np.arange(len(codes)), codes < 0
    out = np.zeros((len(codes), len(trials)))
    for k, trial in enumerate(trials):
        assert trial.tau is not None
        if scoring == "seen":
            own = trial.seen
        elif scoring == "log_loss":  # the label, given that there is one
            own = np.where(blank, 1.0, trial.seen / np.maximum(trial.chance, LEAST))
        else:
            own = np.where(blank, 1.0, trial.tau[place, codes])
        out[:, k] = np.log(np.maximum(own, LEAST))
    return out


def row_weights(trials: Sequence[Trial], data: Data, rows: IntArray, scoring: str) -> FloatArray:
    """Return what each row counts in a score; blank rows count in "seen" alone."""
    weight = np.ones(len(rows)) if data.weight is None else data.weight[rows].copy()
    if scoring != "seen":
        weight[data.codes[rows] < 0] = 0.0
    if scoring == "weighted_log_loss":
        chance = np.mean([t.chance for t in trials], axis=0)
        weight /= np.maximum(chance, 0.05)  # one row must not outweigh twenty
    return weight


def paired_gaps(score: FloatArray, weight: FloatArray, best: int) -> tuple[FloatArray, FloatArray]:
    """Return how far candidates are behind one of them, with the differences' standard errors."""
    total = weight.sum()
    lost = score[:, [best]] - score
    gap = weight @ lost / total
    effective = total**2 / (weight**2).sum()
    spread = weight @ (lost - gap) ** 2 / total
    return gap, np.sqrt(spread / max(effective - 1, 1))


def stack_weights(log_score: FloatArray, weight: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the convex weights with the largest mean log score, a weak prior included.

    EM for the proportions of a mixture with known components; the prior counts as some rows for
    each of them.
    """
    p = np.exp(log_score - log_score.max(axis=1, keepdims=True))
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(2000):
        share = p * w
        new = (weight / share.sum(axis=1)) @ share + prior
        new /= new.sum()
        if np.abs(new - w).max() < 1e-7:
            break
        w = new
    return new


def prior_rows(trials: Sequence[Trial], data: Data, rows: IntArray) -> FloatArray:
    """Return how many rows each candidate has in advance.

    Where labels cannot tell candidates apart, all that was seen may: features, labels and blanks
    together. That is to be trusted of a model that is right, and misleads where none is: a
    candidate has its share, by that likelihood of the rows held out, if their densities are
    spread like those of rows drawn from it (a test of Kolmogorov and Smirnov at 5 %).
    """
    seen = log_scores(trials, data.codes[rows], "seen")
    weight = row_weights(trials, data, rows, "seen")
    total = weight @ (seen + np.column_stack([t.density for t in trials]))
    share = np.exp(total - total.max())
    share /= share.sum()
    for k in np.flatnonzero(share > 0.01).tolist():
        share[k] *= ks_2samp(trials[k].density, trials[k].drawn).pvalue > 0.05
    out: FloatArray = PRIOR * (1 - share.sum()) / len(trials) + PRIOR_RIGHT * share
    out += 0.1 / len(trials)
    return out


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


class Judge:
    """Fit candidates to all rows but a fold's, fold by fold.

    Parameters
    ----------
    models : mapping of str to MixtureClassifier
    data : Data
    folds : list of arrays
    scoring : str
    n_jobs, verbose : int
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        data: Data,
        folds: list[IntArray],
        scoring: str,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.models, self.data, self.folds, self.scoring = models, data, folds, scoring
        self.n_jobs, self.verbose = n_jobs, verbose
        self.done: dict[str, list[Trial]] = {name: [] for name in models}
        self.notes: dict[str, str] = {}

    def all(self) -> Judged:
        """Take every candidate through all folds, unless it fails."""
        self._run(list(self.models), self.folds)
        return self._result([k for k in self.models if self._alive(k)])

    def sift(self) -> Judged:
        """Take those through all folds that are not hopeless after the first.

        With scoring "auto" the plain candidates go first; mechanisms are tried with those that
        are left, and the two that foretell best what was seen go on.
        """
        groups = list(shapes(self.models))
        plain = [g[0] for g in groups] if self.scoring == "auto" else list(self.models)
        names = self._promising(self._run(plain, self.folds[:1]))
        if self.scoring == "auto":
            others = [k for g in groups if g[0] in names for k in g[1:]]
            tried = self._run(others, self.folds[:1])
            names += self._best_mechanism(groups, names, tried)
        self._run(names, self.folds[1:])
        return self._result([k for k in names if self._alive(k)])

    def _alive(self, name: str) -> bool:
        return all(t.tau is not None for t in self.done[name])

    def _run(self, names: list[str], folds: list[IntArray]) -> list[str]:
        """Try models on folds; return the names of those that did not fail."""
        parts = list(self._together(names))
        jobs = [(part, fold) for fold in folds for part in parts]
        work = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(try_fold)([self.models[k] for k in part], self.data, fold)
            for part, fold in jobs
        )
        for (part, _), trials in zip(jobs, with_bar(work, len(jobs), self.verbose), strict=True):
            for name, trial in zip(part, trials, strict=True):
                self.done[name].append(trial)
                if trial.note and (trial.tau is None or name not in self.notes):
                    self.notes[name] = trial.note
        return [k for k in names if self._alive(k)]

    def _together(self, names: Iterable[str]) -> Iterable[list[str]]:
        """Part names into tasks: models that share a search are one."""
        groups: dict[str, list[str]] = {}
        for name in names:
            clf = self.models[name]
            shared = isinstance(clf.covariance, str) and clf.covariance == "shrunk"
            groups.setdefault("shrunk" if shared else name, []).append(name)
        return groups.values()

    def _promising(self, names: list[str]) -> list[str]:
        """Return the names of those that are neither slow nor far behind on the first fold."""
        if len(names) < 2 or len(self.folds) < 2:
            return names
        trials, rows = [self.done[k][0] for k in names], self.folds[0]
        kind = "log_loss" if self.scoring == "auto" else self.scoring
        score = log_scores(trials, self.data.codes[rows], kind)
        weight = row_weights(trials, self.data, rows, kind)
        gap, error = paired_gaps(score, weight, int((weight @ score).argmax()))
        use = stack_weights(score, weight, np.zeros(len(names)))
        behind = (gap > HOPELESS * error) & (use < 1e-3)
        slow = np.array([t.seconds > LONGEST for t in trials])
        if slow.all():
            slow[np.argmin([t.seconds for t in trials])] = False
        for k, name in enumerate(names):
            if slow[k]:
                self.notes[name] = f"dropped: a fold took {trials[k].seconds:.0f} s"
            elif behind[k]:
                self.notes[name] = "dropped: far behind on the first fold"
        return [k for k, b in zip(names, behind | slow, strict=True) if not b]

    def _best_mechanism(
        self, groups: list[list[str]], plain: list[str], tried: list[str]
    ) -> list[str]:
        """Return the models with one of the two mechanisms that foretell best what was seen."""
        rows = self.folds[0]
        lead: dict[str, list[float]] = {}
        for group in groups:
            names = [k for k in group if k in tried and group[0] in plain]
            trials = [self.done[k][0] for k in names]
            score = log_scores(trials, self.data.codes[rows], "seen")
            value = row_weights(trials, self.data, rows, "seen") @ score
            for name, trial, v in zip(names, trials, value, strict=True):
                v -= PLAINER * trial.n_parameters / len(self.folds)
                lead.setdefault(repr(self.models[name].mechanism), []).append(float(v))
        if not lead:
            return []
        # One expert, whatever the classes' shapes: all of them are asked.
        best = sorted(lead, key=lambda k: -float(np.mean(lead[k])))[:2]
        for name in tried:
            if repr(self.models[name].mechanism) not in best:
                self.notes[name] = "dropped: another mechanism foretells more, or is plainer"
        return [k for k in tried if repr(self.models[k].mechanism) in best]

    def _result(self, names: list[str]) -> Judged:
        merged = {k: _merge(self.done[k]) for k in names}
        seconds = {k: sum(t.seconds for t in v) for k, v in self.done.items()}
        return Judged(merged, np.concatenate(self.folds), self.notes, seconds)


def choose_mechanisms(
    judged: Judged, models: Mapping[str, Any], data: Data, scoring: str = "log_loss"
) -> list[str]:
    """Return one name for each shape: what was seen decides between its mechanisms.

    The labelled rows are the easy ones and hardly tell mechanisms apart; the blanks do. None is
    taken that foretells the labels worse than the plainest by more than two standard errors.
    """
    chosen = []
    codes = data.codes[judged.rows]
    for group in shapes({k: models[k] for k in judged.trials}):
        trials = [judged.trials[k] for k in group]
        labels = log_scores(trials, codes, scoring)
        lost, error = paired_gaps(labels, row_weights(trials, data, judged.rows, scoring), 0)
        weight = row_weights(trials, data, judged.rows, "seen")
        value = weight @ log_scores(trials, codes, "seen")
        value -= PLAINER * np.array([t.n_parameters for t in trials])
        chosen.append(group[int(np.where(lost <= 2 * error + 1e-12, value, -np.inf).argmax())])
    return chosen


def _merge(trials: list[Trial]) -> Trial:
    return Trial(
        np.concatenate([t.tau for t in trials if t.tau is not None]),
        np.concatenate([t.seen for t in trials]),
        np.concatenate([t.chance for t in trials]),
        np.concatenate([t.density for t in trials]),
        np.concatenate([t.drawn for t in trials]),
        trials[0].n_parameters,
        sum(t.seconds for t in trials),
        trials[0].note,
    )


def with_bar(work: Iterable[Any], total: int, verbose: int) -> Iterable[Any]:
    """Show progress, if that is wanted and possible."""
    if not verbose or not total:
        return work
    try:
        from tqdm.auto import tqdm
    except ImportError:  # a bar is no reason to fail
        return work
    bar: Iterable[Any] = tqdm(work, total=total, desc="fits", leave=False)
    return bar
