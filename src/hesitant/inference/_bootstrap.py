"""How sure we are, without formulas: refit to rows drawn again."""

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from hesitant._choices import renamed
from hesitant._optional import need
from hesitant._replicates import refit, replicate, workers
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.checks import check_number
from hesitant.inference._estimates import Estimates, Scale, natural_units
from hesitant.likelihood import State, log_posterior
from hesitant.model_data import ModelData, model_data
from hesitant.statements import Statements


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BootstrapResult(Estimates):
    """Estimates from rows drawn again.

    Attributes
    ----------
    kind : str
    parameters : list of str
    estimate : array of shape (k,)
        From the data themselves.
    bias, std_error, lower, upper : arrays of shape (k,)
        Mean of the replicates less the estimate, their standard deviation, and normal
        intervals (see :meth:`interval`).
    level : float
    n_replicates, n_failed, n_not_converged, n_relabelled : int
        Replicates used, those that failed and are not among them, those used although the fit
        had not settled, and those whose classes had to be matched to the original ones.
    failures : dict
        Reasons of the failures, with counts.
    remarks : list of str
    replicates : array of shape (n_replicates, k)
        NaN where a replicate has no finite value of a parameter.
    scales : list of Scale
        Where each parameter's normal interval is symmetric.
    """

    title: ClassVar[str] = "How sure are we? Bootstrap"
    columns: ClassVar[tuple[str, ...]] = ("estimate", "bias", "std_error", "lower", "upper")
    bars: ClassVar[str] = "bootstrap interval"

    kind: str
    bias: FloatArray
    n_replicates: int
    n_failed: int
    n_not_converged: int
    n_relabelled: int
    failures: dict[str, int]
    replicates: FloatArray = dataclasses.field(repr=False)
    scales: list[Scale] = dataclasses.field(repr=False)

    def interval(self, level: float = 0.95, method: str = "normal") -> FloatArray:
        """Return lower and upper bounds (k, 2) at another level, or by another method.

        Parameters
        ----------
        level : float, default=0.95
        method : {"normal", "percentile", "basic"}, default="normal"
            Standard deviations of the replicates to both sides, where estimates are closest to
            normal (logarithms of variances, logits of probabilities): steady with few
            replicates. Or percentiles of the replicates, or those reflected about the estimate.
        """
        check_number("level", level, Real, 1e-6, 1 - 1e-6)
        return interval_of(self.replicates, self.estimate, self.scales, level, method)

    def _introduction(self) -> str:
        return f"{self.n_replicates:,} {self.kind} replicates."


def interval_of(
    drawn: FloatArray, estimate: FloatArray, scales: list[Scale], level: float, method: str
) -> FloatArray:
    """Return lower and upper bounds (k, 2) from replicates (b, k)."""
    if method == "normal":
        z = norm.ppf(0.5 + level / 2)
        out = np.empty((estimate.size, 2))
        for k, scale in enumerate(scales):
            reach = z * np.nanstd(scale.forward(drawn[:, k]), ddof=1)
            middle = scale.forward(estimate[k])
            out[k] = scale.back(middle - reach), scale.back(middle + reach)
        return out
    ends: FloatArray = np.nanquantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0).T
    if method == "percentile":
        return ends
    if method == "basic":
        return 2 * estimate[:, None] - ends[:, ::-1]
    raise ValueError(f"method={method!r}: choose 'normal', 'percentile' or 'basic'.")


KINDS = ("parametric", "nonparametric")
MATCHED_ROWS = 2000


@renamed(n="n_boot")
def bootstrap(
    clf: Any,
    X: Any,
    y: Any,
    *,
    kind: str = "parametric",
    n_boot: int = 200,
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
    n_boot : int, default=200
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
    >>> result = bootstrap(clf, data.features, data.labels, n_boot=20, random_state=0)
    >>> result.n_replicates, result.n_failed
    (20, 0)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: choose one of {', '.join(map(repr, KINDS))}.")
    check_number("n_boot", n_boot, Integral, 1)
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    data = model_data(clf, X, y, sample_weight, reviewed)
    together = effective_n_jobs(workers(n_jobs, n_boot)) > 1
    done = replicate(
        _Replicate(data, kind, stratify, together),
        n_boot,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        description=kind,
    )
    if len(done.values) < 2:
        raise ValueError(f"Too few replicates for a spread: {done.in_words() or n_boot}.")
    units = natural_units(clf)
    states, converged, moved = zip(*done.values, strict=True)
    drawn = np.array([units.values(state) for state in states])
    estimate = units.values(data.state)
    drawn[~np.isfinite(drawn)] = np.nan  # a t of two degrees of freedom has no covariance
    units, kept = units.reduce(np.nan_to_num(drawn - estimate).T, data.state)
    drawn, estimate = drawn[:, kept], estimate[kept]
    n_not_converged, n_relabelled = len(converged) - sum(converged), sum(moved)
    frozen = stratify and kind == "nonparametric" and clf.mechanism_.informative
    remarks = _remarks(done.in_words(), n_not_converged, n_relabelled, frozen)
    remarks += _undefined_in_words(drawn, units.names)
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
        n_not_converged=n_not_converged,
        n_relabelled=n_relabelled,
        failures=done.failures,
        remarks=remarks,
        replicates=drawn,
        scales=units.scales,
    )


def _remarks(failures: str, unsettled: int, relabelled: int, frozen: bool) -> list[str]:
    out = [f"{failures}."] if failures else []
    if unsettled:
        out.append(f"{unsettled} replicates had not converged and are counted as they are.")
    if relabelled:
        out.append(
            f"In {relabelled} replicates classes with few labels changed places and were matched "
            "to the original ones."
        )
    if frozen:
        out.append(
            "The numbers of labelled and blank rows were kept, so the mechanism's intercept "
            "hardly varies: its error is too small. stratify=False judges that one too."
        )
    return out


def _undefined_in_words(drawn: FloatArray, names: list[str]) -> list[str]:
    undefined = np.isnan(drawn)
    listed = [names[k] for k in np.flatnonzero(undefined.any(axis=0))]
    if not listed:
        return []
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    count = int(undefined.any(axis=1).sum())
    return [
        f"{', '.join(listed[:3])}{more} have no finite value in {count} of {len(drawn)} "
        "replicates, which are left out for them: their errors are too small."
    ]


class _Replicate:
    """One draw and its fit; a class so that workers can receive it."""

    def __init__(self, data: ModelData, kind: str, stratify: bool, together: bool = False) -> None:
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
        group = self.stratify * (2 * (self.codes >= 0) + self.reviewed)
        members = [np.flatnonzero(group == k) for k in np.unique(group)]
        drawn = np.concatenate([rng.choice(rows, rows.size) for rows in members])
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
