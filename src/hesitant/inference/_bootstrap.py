"""How sure we are, without formulas: refit to rows drawn again."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from hesitant._replicates import refit, replicate
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._words import Table, listed
from hesitant.base import check_in_memory
from hesitant.checks import check_number, look_up, renamed
from hesitant.fitting import generator
from hesitant.inference._information import SCALES, Estimates, intervals, natural_units
from hesitant.likelihood import State, log_posterior
from hesitant.rows import Rows
from hesitant.statements import NOT_SHOWN

KINDS = ("parametric", "nonparametric")
MATCHED_ROWS = 2000


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BootstrapResult(Estimates):
    """Estimates from rows drawn again, with normal intervals (see :meth:`interval`)."""

    title: ClassVar[str] = "How sure are we? Bootstrap"
    columns: ClassVar[tuple[str, ...]] = ("estimate", "bias", "std_error", "lower", "upper")
    bars: ClassVar[str] = "bootstrap interval"

    kind: str
    bias: FloatArray
    n_replicates: int
    n_failed: int  #: replicates that are not among them
    n_not_converged: int  #: replicates that are, although the fit had not settled
    n_relabelled: int  #: replicates whose classes had to be matched to the original ones
    failures: dict[str, int]  #: the reasons, and how often
    replicates: FloatArray = dataclasses.field(repr=False)  #: (n_replicates, k), NaN if not finite
    scales: list[str] = dataclasses.field(repr=False)

    def interval(self, level: float = 0.95, method: str = "normal") -> FloatArray:
        """Return lower and upper bounds (k, 2) at another level, or by another method.

        "normal" are standard deviations of the replicates to both sides, on the scale where
        estimates are closest to normal: steady with few replicates. "percentile" are those of the
        replicates, "basic" those reflected about the estimate.
        """
        check_number("level", level, Real, 1e-6, 1 - 1e-6)
        drawn, estimate, scales = self.replicates, self.estimate, self.scales
        if method == "normal":
            each = zip(scales, drawn.T, strict=True)
            with np.errstate(all="ignore"):  # a variance of zero has no logarithm
                errors = [_spread(SCALES[scale][0](d)) for scale, d in each]
            return intervals(scales, estimate, errors, level)
        found: FloatArray = np.nanquantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0).T
        if method == "percentile":
            return found
        if method == "basic":
            return 2 * estimate[:, None] - found[:, ::-1]
        raise ValueError(f"method={method!r}: choose 'normal', 'percentile' or 'basic'.")

    def _content(self) -> Iterator[str | Table]:
        yield f"{self.n_replicates:,} {self.kind} replicates."
        yield from super()._content()


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
    clf, X, y, sample_weight, reviewed
        A fitted MixtureClassifier, from whose parameters every replicate starts, and its data.
        Weights travel with their rows; simulated rows get them by position.
    kind : {"parametric", "nonparametric"}, default="parametric"
        Draw rows from the fitted model (its mechanism decides which get labels), or from the data.
    n_boot, level
        Replicates: 200 are enough for standard errors and normal intervals (of that level),
        percentiles want 1000 or more.
    stratify : bool, default=True
        Keep the numbers of labelled and of blank rows (of the parametric bootstrap if there is no
        mechanism). The error of a mechanism's intercept is then too small: False judges that one.
    random_state, n_jobs, progress
        The seed, on which alone results depend; workers of any joblib backend (None is all cores
        if there are enough replicates); and whether to show a progress bar.

    Examples
    --------
    >>> from hesitant import MixtureClassifier, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> result = clf.bootstrap(data.features, data.labels, n_boot=20, random_state=0)
    >>> result.n_replicates, result.n_failed
    (20, 0)
    """
    look_up("kind", kind, dict.fromkeys(KINDS))
    check_number("n_boot", n_boot, Integral, 1)
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    data = check_in_memory(clf, X, y, sample_weight, reviewed)
    task = partial(_replicate, clf, data, kind, stratify)
    how: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
    done, failures, failed = replicate(task, n_boot, description=kind, **how)
    if len(done) < 2:
        raise ValueError(f"Too few replicates for a spread: {failed or n_boot}.")
    units = natural_units(clf.fitted_)
    states, converged, moved = zip(*done, strict=True)
    drawn, estimate = np.array([units.values(s) for s in states]), units.values(clf.state_)
    drawn[~np.isfinite(drawn)] = np.nan  # a t of two degrees of freedom has no covariance
    units = units.reduce(np.nan_to_num(drawn - estimate).T, clf.state_)
    drawn, estimate = drawn[:, units.kept], estimate[units.kept]
    n_loose, n_relabelled = len(converged) - sum(converged), sum(moved)
    undefined = np.isnan(drawn)
    names = listed([units.names[k] for k in np.flatnonzero(undefined.any(axis=0))], 3)
    kept_counts = stratify and kind == "nonparametric" and clf.mechanism_.informative
    remarks = {
        f"{failed}.": failed,
        f"{n_loose} replicates had not converged and are counted as they are.": n_loose,
        f"In {n_relabelled} replicates classes with few labels changed places and were matched to "
        "the original ones.": n_relabelled,
        "The numbers of labelled and blank rows were kept, so the mechanism's intercept hardly "
        "varies: its error is too small. stratify=False judges that one too.": kept_counts,
        f"{names} have no finite value in {undefined.any(axis=1).sum()} of {len(drawn)} "
        "replicates, which are left out for them: their errors are too small.": undefined.any(),
    }
    said = [words for words, there in remarks.items() if there]
    std_error = np.array([_spread(d) for d in drawn.T])
    result = BootstrapResult(
        *(units.names, estimate, std_error, estimate, estimate, float(level), said),
        kind=kind,
        bias=np.nanmean(drawn, axis=0) - estimate,
        n_replicates=len(drawn),
        n_failed=n_boot - len(done),
        n_not_converged=n_loose,
        n_relabelled=n_relabelled,
        failures=failures,
        replicates=drawn,
        scales=units.scales,
    )
    lower, upper = result.interval(level).T
    return dataclasses.replace(result, lower=lower, upper=upper)


def _spread(values: FloatArray) -> float:
    """Return the standard deviation of the finite values, NaN if they are too few."""
    finite = values[np.isfinite(values)]
    return float(np.std(finite, ddof=1)) if finite.size > 1 else np.nan


def _replicate(
    clf: Any, data: Rows, kind: str, stratify: bool, rng: np.random.Generator
) -> tuple[State, bool, bool]:
    """Return the state of a fit to rows drawn again, whether it converged, and was matched."""
    again = _draw(clf, data, kind, stratify, rng)
    fit = refit(clf, again, None, start=clf)
    if fit.state_.theta.size != clf.state_.theta.size:
        raise ValueError("blanks have no pattern there")
    # Where something else was said than labels, readers name the classes.
    state = fit.state_ if data.said is not None else _matched(fit.state_, clf, data.X, again.codes)
    return state, bool(fit.converged_), state is not fit.state_


def _draw(clf: Any, data: Rows, kind: str, stratify: bool, rng: np.random.Generator) -> Rows:
    """Return rows drawn again; those of a model get weights and ``reviewed`` by position."""
    labelled, shown = data.codes >= 0, data.reviewed
    if kind == "nonparametric":
        group = stratify * (2 * labelled + shown)
        members = [np.flatnonzero(group == k) for k in np.unique(group)]
        return data[np.concatenate([rng.choice(m, m.size) for m in members])]
    X, codes, given = clf.fitted_.sample(len(labelled), generator(int(rng.integers(2**31 - 1))))
    if data.said is not None:
        # as much as was shown, and as much of the truth as was known
        own = {"said": np.where(data.said.shown, given.said, NOT_SHOWN)}
        own["truth"] = np.where(data.said.truth >= 0, codes, -1)
        again = clf.check(X, dataclasses.replace(given, **own))
        return dataclasses.replace(data, X=X, codes=again.codes, said=again.said)
    if stratify and not clf.mechanism_.informative:
        given = labelled
    codes = np.where(np.where(shown, given, labelled), codes, -1)
    return dataclasses.replace(data, X=X, codes=codes)


def _matched(state: State, clf: Any, X: AnyArray, codes: IntArray) -> State:
    """Return a state with classes that few labels name in the order they have in ``clf``."""
    g = state.weights.size
    loose = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=g) <= X.shape[1] + 1)
    if loose.size < 2:
        return state
    some = np.linspace(0, len(X) - 1, min(len(X), MATCHED_ROWS)).astype(int)
    some = np.ascontiguousarray(X[some], dtype=np.float64)
    before, after = (log_posterior(clf.family_, s, some)[1] for s in (clf.state_, state))
    _, best = linear_sum_assignment(before[:, loose].T @ after[:, loose], maximize=True)
    order = np.arange(g)
    order[loose] = loose[best]
    if (order == np.arange(g)).all():
        return state
    return State(state.weights[order], clf.family_.permute(state.params, order), state.theta)
