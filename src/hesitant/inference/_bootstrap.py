"""How sure we are, without formulas: refit to rows drawn again."""

from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import linear_sum_assignment

from hesitant._optional import need
from hesitant._replicates import refit, replicate, workers
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.attached import Attached, attach, class_names, feature_names
from hesitant.checks import check_number
from hesitant.inference._bootstrap_result import BootstrapResult, interval_of
from hesitant.inference._natural import natural_units
from hesitant.likelihood import State, log_posterior
from hesitant.statements import Statements

__all__ = ["bootstrap"]

KINDS = ("parametric", "nonparametric")
MATCHED_ROWS = 2000


def bootstrap(
    clf: Any,
    X: Any,
    y: Any,
    *,
    kind: str = "parametric",
    n: int = 200,
    sample_weight: Any = None,
    reviewed: Any = None,
    stratify: bool = True,
    level: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> BootstrapResult:
    """Refit a classifier to rows drawn again, many times.

    Parameters
    ----------
    clf : fitted MixtureClassifier
        Every replicate starts from its parameters.
    X, y : array-likes
        The data it was fitted to.
    kind : {"parametric", "nonparametric"}, default="parametric"
        Draw rows from the fitted model (its mechanism decides which get labels), or from the data.
    n : int, default=200
        Replicates; 200 are enough for standard errors and normal intervals, percentiles want
        1000 or more.
    sample_weight, reviewed : array-likes, optional
        As given to ``fit``. Weights travel with their rows; simulated rows get them by position.
    stratify : bool, default=True
        Keep the numbers of labelled and of blank rows: the nonparametric bootstrap draws within
        each group, the parametric one keeps which rows are labelled if there is no mechanism.
        Errors of the mechanism's intercept are then too small, for the share of labelled rows
        never changes: use False to judge that one.
    level : float, default=0.95
        Of the intervals.
    random_state : int, RandomState, Generator or None
        Results do not depend on the number of workers.
    n_jobs : int, optional
        Workers, by joblib: any of its backends. None is all cores where there are enough
        replicates to be worth starting them. With more than one, each fit keeps to one thread.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    BootstrapResult

    Notes
    -----
    Where two or more classes have so few labels that nothing else names them (at most one more
    than there are features), their order in a replicate is the one that agrees best with the
    original fit's posteriors. A replicate that cannot be fitted is counted and reported.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.inference import bootstrap
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> result = bootstrap(clf, data.features, data.labels, n=20, random_state=0)
    >>> result.n_replicates, result.n_failed
    (20, 0)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: choose one of {', '.join(map(repr, KINDS))}.")
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    data = attach(clf, X, y, sample_weight, reviewed)
    task = _Replicate(data, kind, stratify, together=effective_n_jobs(workers(n_jobs, n)) > 1)
    done = replicate(
        task, n, random_state=random_state, n_jobs=n_jobs, progress=progress, description=kind
    )
    if len(done.values) < 2:
        raise ValueError(f"Too few replicates for a spread: {done.in_words() or n}.")
    units = natural_units(
        clf.family_, clf.mechanism_, data.state, class_names(clf), feature_names(clf)
    )
    states, converged, moved = zip(*done.values, strict=True)
    drawn = np.array([units.values(state) for state in states])
    estimate = units.values(data.state)
    drawn[~np.isfinite(drawn)] = np.nan  # a t of two degrees of freedom has no covariance
    units, kept = units.reduce(np.nan_to_num(drawn - estimate).T, data.state)
    drawn, estimate = drawn[:, kept], estimate[kept]
    undefined = np.isnan(drawn).any(axis=0)
    remarks = _remarks(done.in_words(), len(converged) - sum(converged), sum(moved))
    if stratify and kind == "nonparametric" and clf.mechanism_.informative:
        remarks.append(_FROZEN)
    if undefined.any():
        remarks.append(_undefined_in_words(drawn[:, undefined], units.names, undefined))
    lower, upper = interval_of(drawn, estimate, units.scales, level, "normal").T
    return BootstrapResult(
        kind=kind,
        parameters=units.names,
        estimate=estimate,
        bias=np.nanmean(drawn, axis=0) - estimate,
        std_error=np.nanstd(drawn, axis=0, ddof=1),
        lower=lower,
        upper=upper,
        level=float(level),
        n_replicates=len(drawn),
        n_failed=done.n_failed,
        n_not_converged=len(converged) - sum(converged),
        n_relabelled=sum(moved),
        failures=done.failures,
        remarks=remarks,
        replicates=drawn,
        scales=units.scales,
    )


_FROZEN = (
    "The numbers of labelled and blank rows were kept, so the mechanism's intercept hardly "
    "varies: its error is too small. stratify=False judges that one too."
)


def _undefined_in_words(drawn: FloatArray, names: list[str], which: BoolArray) -> str:
    listed = [name for name, gone in zip(names, which, strict=True) if gone]
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    count = int(np.isnan(drawn).any(axis=1).sum())
    return (
        f"{', '.join(listed[:3])}{more} have no finite value in {count} of {len(drawn)} "
        "replicates, which are left out for them: their errors are too small."
    )


def _remarks(failures: str, unsettled: int, relabelled: int) -> list[str]:
    out = [f"{failures}."] if failures else []
    if unsettled:
        out.append(f"{unsettled} replicates had not converged and are counted as they are.")
    if relabelled:
        out.append(
            f"In {relabelled} replicates classes with few labels changed places and were matched "
            "to the original ones."
        )
    return out


class _Replicate:
    """One draw and its fit; a class so that workers can receive it."""

    def __init__(self, data: Attached, kind: str, stratify: bool, together: bool = False) -> None:
        self.clf, self.kind, self.stratify = data.clf, kind, stratify
        # Fits side by side would fight for cores; one after the other each has those it wants.
        self.n_jobs = 1 if together else data.clf.n_jobs
        self.X = np.asarray(data.X)
        self.codes, self.reviewed, self.weight = data.labels.codes, data.reviewed, data.weight
        said = getattr(data.likelihood.rows, "said", None)
        self.said = said if isinstance(said, Statements) else None
        self.start = data.state
        some = np.linspace(0, len(self.X) - 1, min(len(self.X), MATCHED_ROWS)).astype(int)
        self.rows = np.ascontiguousarray(self.X[some], dtype=np.float64)

    def __call__(self, rng: np.random.Generator) -> tuple[State, bool, bool]:
        parametric = self.kind == "parametric"
        reviewed: BoolArray | None = self.reviewed
        if self.said is not None and parametric:
            X, truth, drawn = self.clf.sample(len(self.codes), int(rng.integers(2**31 - 1)))
            y, place, reviewed = drawn.as_far_as(self.said, truth), np.arange(len(X)), None
        else:
            X, codes, place = self._from_model(rng) if parametric else self._from_rows(rng)
            y = np.empty(codes.size, dtype=object)
            y[codes >= 0] = self.clf.classes_[codes[codes >= 0]].tolist()
            if self.said is not None:
                y, reviewed = self.said[place], None
        names = getattr(self.clf, "feature_names_in_", None)
        fit = refit(
            self.clf,
            X if names is None else need("pandas", "data").DataFrame(X, columns=names),
            y,
            start=self.clf,
            reviewed=None if reviewed is None else reviewed[place],
            sample_weight=self.weight[place],
            n_jobs=self.n_jobs,
        )
        if self.said is not None:  # readers name the classes
            return fit.state_, bool(fit.converged_), False
        state, moved = self._matched(fit.state_, codes)
        return state, bool(fit.converged_), moved

    def _from_model(self, rng: np.random.Generator) -> tuple[AnyArray, IntArray, IntArray]:
        """Return features, codes, and whose place (weight, reviewed) each row takes."""
        X, truth, y = self.clf.sample(len(self.codes), int(rng.integers(2**31 - 1)))
        place = {c: h for h, c in enumerate(self.clf.classes_.tolist())}
        codes = np.array([place[c] for c in truth.tolist()], dtype=np.int64)
        given = np.array([c in place for c in y.tolist()])
        if self.stratify and not self.clf.mechanism_.informative:
            given = self.codes >= 0
        given = np.where(self.reviewed, given, self.codes >= 0)
        return X, np.where(given, codes, -1), np.arange(codes.size)

    def _from_rows(self, rng: np.random.Generator) -> tuple[AnyArray, IntArray, IntArray]:
        group = (
            2 * (self.codes >= 0) + self.reviewed if self.stratify else np.zeros_like(self.codes)
        )
        drawn = np.concatenate(
            [
                rng.choice(members, members.size)
                for members in (np.flatnonzero(group == k) for k in np.unique(group))
            ]
        )
        return self.X[drawn], self.codes[drawn], drawn

    def _matched(self, state: State, codes: IntArray) -> tuple[State, bool]:
        """Return the state with classes that few labels name put in their original order."""
        g, p = len(self.clf.classes_), self.X.shape[1]
        counts = np.bincount(codes[codes >= 0], minlength=g)
        loose = np.flatnonzero(counts <= p + 1)
        if loose.size < 2:
            return state, False
        before = log_posterior(self.clf.family_, self.start, self.rows)[1]
        after = log_posterior(self.clf.family_, state, self.rows)[1]
        _, best = linear_sum_assignment(before[:, loose].T @ after[:, loose], maximize=True)
        order = np.arange(g)
        order[loose] = loose[best]
        if (order == np.arange(g)).all():
            return state, False
        params = self.clf.family_.permute(state.params, order)
        return State(state.weights[order], params, state.theta), True
