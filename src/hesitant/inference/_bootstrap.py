"""How sure we are, without formulas: refit to rows drawn again."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.checks import check_number
from hesitant.inference._attached import Attached, attach, class_names, feature_names
from hesitant.inference._natural import natural_units
from hesitant.inference._replicates import refit, replicate
from hesitant.inference._result import Result, Table, need, percent
from hesitant.likelihood import State, log_posterior

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BootstrapResult", "bootstrap"]

KINDS = ("parametric", "nonparametric")
MATCHED_ROWS = 2000


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BootstrapResult(Result):
    """Estimates from rows drawn again.

    Attributes
    ----------
    kind : str
    parameters : list of str
    estimate : array of shape (k,)
        From the data themselves.
    bias, std_error, lower, upper : arrays of shape (k,)
        Mean of the replicates less the estimate, their standard deviation, and
        bias-corrected percentiles.
    level : float
    n_replicates, n_failed, n_not_converged, n_relabelled : int
        Replicates used, those that failed and are not among them, those used although the fit
        had not settled, and those whose classes had to be matched to the original ones.
    failures : dict
        Reasons of the failures, with counts.
    remarks : list of str
    replicates : array of shape (n_replicates, k)
    """

    title: ClassVar[str] = "How sure are we? Bootstrap"

    kind: str
    parameters: list[str]
    estimate: FloatArray
    bias: FloatArray
    std_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    n_replicates: int
    n_failed: int
    n_not_converged: int
    n_relabelled: int
    failures: dict[str, int]
    remarks: list[str]
    replicates: FloatArray = dataclasses.field(repr=False)

    def interval(self, level: float = 0.95, method: str = "bias-corrected") -> FloatArray:
        """Return lower and upper bounds (k, 2) at another level, or by another method.

        Parameters
        ----------
        level : float, default=0.95
        method : {"bias-corrected", "percentile", "basic"}, default="bias-corrected"
            Percentiles of the replicates, moved by as much as their median is off the estimate;
            the plain percentiles; or those reflected about the estimate.
        """
        check_number("level", level, float, 1e-6, 1 - 1e-6)
        return _interval(self.replicates, self.estimate, level, method)

    def to_frame(self) -> "pd.DataFrame":
        """Return parameter, estimate, bias, std_error, lower and upper."""
        columns = ("estimate", "bias", "std_error", "lower", "upper")
        values = {c: getattr(self, c) for c in columns}
        return need("pandas", "data").DataFrame({"parameter": self.parameters, **values})

    def plot(self, ax: Any = None, parameters: str | None = None) -> Any:
        """Draw estimates with their intervals; only parameters whose name contains this."""
        from hesitant.inference._interval_display import IntervalDisplay

        keep = [k for k, name in enumerate(self.parameters) if (parameters or "") in name]
        caption = f"estimate and {percent(self.level, 0)} bootstrap interval"
        names = [self.parameters[k] for k in keep]
        return IntervalDisplay(
            names, self.estimate[keep], self.lower[keep], self.upper[keep], caption
        ).plot(ax)

    def _content(self) -> Iterator[str | Table]:
        yield f"{self.n_replicates:,} {self.kind} replicates."
        names = ("estimate", "bias", "std_error", "lower", "upper")
        rows = list(zip(self.parameters, *(getattr(self, n) for n in names), strict=True))
        yield Table(
            ("parameter", *names), rows, f"Bias-corrected percentiles at {percent(self.level, 0)}"
        )
        yield from self.remarks


def bootstrap(
    clf: Any,
    X: Any,
    y: Any,
    *,
    kind: str = "parametric",
    n: int = 200,
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
        Replicates; 1000 or more for good intervals.
    reviewed : boolean array-like, optional
        As given to ``fit``.
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
        Workers, by joblib: any of its backends.
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
    check_number("level", level, float, 1e-6, 1 - 1e-6)
    data = attach(clf, X, y, reviewed=reviewed)
    task = _Replicate(data, kind, stratify)
    done = replicate(
        task, n, random_state=random_state, n_jobs=n_jobs, progress=progress, description=kind
    )
    if not done.values:
        raise ValueError(f"No replicate could be fitted: {done.in_words()}.")
    units = natural_units(
        clf.family_, clf.mechanism_, data.state, class_names(clf), feature_names(clf)
    )
    states, converged, moved = zip(*done.values, strict=True)
    drawn = np.array([units.values(state) for state in states])
    estimate = units.values(data.state)
    units, kept = units.reduce((drawn - estimate).T, data.state)
    drawn, estimate = drawn[:, kept], estimate[kept]
    lower, upper = _interval(drawn, estimate, level, "bias-corrected").T
    return BootstrapResult(
        kind=kind,
        parameters=units.names,
        estimate=estimate,
        bias=drawn.mean(axis=0) - estimate,
        std_error=drawn.std(axis=0, ddof=1) if len(drawn) > 1 else np.full(kept.size, np.nan),
        lower=lower,
        upper=upper,
        level=float(level),
        n_replicates=len(drawn),
        n_failed=done.n_failed,
        n_not_converged=len(converged) - sum(converged),
        n_relabelled=sum(moved),
        failures=done.failures,
        remarks=_remarks(done.in_words(), len(converged) - sum(converged), sum(moved)),
        replicates=drawn,
    )


def _interval(drawn: FloatArray, estimate: FloatArray, level: float, method: str) -> FloatArray:
    ends = np.array([0.5 - level / 2, 0.5 + level / 2])
    if method == "bias-corrected":
        # Half of the ties count; at least half a replicate lies on either side.
        below = ((drawn < estimate).sum(axis=0) + (drawn <= estimate).sum(axis=0)) / 2
        share = np.clip(below, 0.5, len(drawn) - 0.5) / len(drawn)
        shifted = norm.cdf(2 * norm.ppf(share)[:, None] + norm.ppf(ends))
        return np.array(
            [np.quantile(column, q) for column, q in zip(drawn.T, shifted, strict=True)]
        )
    percentiles: FloatArray = np.quantile(drawn, ends, axis=0).T
    if method == "percentile":
        return percentiles
    if method == "basic":
        return 2 * estimate[:, None] - percentiles[:, ::-1]
    raise ValueError(f"method={method!r}: choose 'bias-corrected', 'percentile' or 'basic'.")


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

    def __init__(self, data: Attached, kind: str, stratify: bool) -> None:
        self.clf, self.kind, self.stratify = data.clf, kind, stratify
        self.X = np.asarray(data.X)
        self.codes, self.reviewed = data.labels.codes, data.reviewed
        self.start = data.state
        some = np.linspace(0, len(self.X) - 1, min(len(self.X), MATCHED_ROWS)).astype(int)
        self.rows = np.ascontiguousarray(self.X[some], dtype=np.float64)

    def __call__(self, rng: np.random.Generator) -> tuple[State, bool, bool]:
        parametric = self.kind == "parametric"
        X, codes, reviewed = self._from_model(rng) if parametric else self._from_rows(rng)
        y = np.empty(codes.size, dtype=object)
        y[codes >= 0] = self.clf.classes_[codes[codes >= 0]].tolist()
        names = getattr(self.clf, "feature_names_in_", None)
        fit = refit(
            self.clf,
            X if names is None else need("pandas", "data").DataFrame(X, columns=names),
            y,
            start=self.clf.parameters_,
            reviewed=reviewed,
            n_jobs=1,
        )
        state, moved = self._matched(fit.state_, codes)
        return state, bool(fit.converged_), moved

    def _from_model(self, rng: np.random.Generator) -> tuple[AnyArray, IntArray, AnyArray]:
        X, truth, y = self.clf.sample(len(self.codes), int(rng.integers(2**31 - 1)))
        place = {c: h for h, c in enumerate(self.clf.classes_.tolist())}
        codes = np.array([place[c] for c in truth.tolist()], dtype=np.int64)
        given = np.array([c in place for c in y.tolist()])
        if self.stratify and not self.clf.mechanism_.informative:
            given = self.codes >= 0
        given = np.where(self.reviewed, given, self.codes >= 0)
        return X, np.where(given, codes, -1), self.reviewed

    def _from_rows(self, rng: np.random.Generator) -> tuple[AnyArray, IntArray, AnyArray]:
        group = (
            2 * (self.codes >= 0) + self.reviewed if self.stratify else np.zeros_like(self.codes)
        )
        drawn = np.concatenate(
            [
                rng.choice(members, members.size)
                for members in (np.flatnonzero(group == k) for k in np.unique(group))
            ]
        )
        return self.X[drawn], self.codes[drawn], self.reviewed[drawn]

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
