"""Are the blanks about difficulty: both fits, all tests, one answer."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._replicates import refit
from hesitant.base import check_classifier
from hesitant.checks import check_number
from hesitant.diagnostics import _smoother, _tests
from hesitant.diagnostics._by_class import SURE, compare_mechanisms, labelled_shares
from hesitant.diagnostics._by_reader import diagnose_readers
from hesitant.diagnostics._diagnosis import Diagnosis, decide
from hesitant.diagnostics._tests import Fits
from hesitant.experts import as_readers, is_panel
from hesitant.mechanisms import EntropyMechanism, as_mechanism
from hesitant.model import FittedModel
from hesitant.rows import ManyRows

_WEIGHED = (
    "Likelihood ratio, Wald, score and shape tests and the labelled shares by class count rows by "
    "their weights; all else counts every row of positive weight once."
)


@one_blas_thread()
def diagnose(
    X: Any,
    y: Any = None,
    *,
    estimator: Any = None,
    family: Any = "gaussian",
    covariance: str = "full",
    mechanism: Any = "entropy",
    sample_weight: Any = None,
    reviewed: Any = None,
    n_boot: int = 0,
    level: float = 0.95,
    bandwidth: float | str = "cv",
    missing_label: Any = -1,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Diagnosis:
    """Ask whether labels are missing where the classes are hard to tell apart.

    Parameters
    ----------
    X, y, sample_weight, reviewed
        As for ``fit``, Dask collections included; of what several readers said the answer is a
        :class:`ReadersDiagnosis`. The likelihood's tests take weights for numbers of rows; rank
        tests and curve count every row of positive weight once.
    estimator : MixtureClassifier, optional
        A model, fitted or not, in place of family, covariance, mechanism and missing_label. One
        already fitted to these rows is not fitted again.
    family, covariance, mechanism, missing_label
        As for :class:`~hesitant.MixtureClassifier`; of a mixed mechanism the logistic part is
        used.
    n_boot, random_state, n_jobs, progress
        Replicates of the bootstrap likelihood-ratio test (199 or more for a useful p-value; none
        by default), their seed, workers (by joblib), and whether to show a bar.
    level, bandwidth
        Of the band around the labelling probability and its kernel, see :func:`labelling_curve`.

    Notes
    -----
    Tests of "labels are missing completely at random": Kolmogorov-Smirnov's and Mann-Whitney's,
    one-sided, on transformed entropies under the ignorance likelihood, which does not use the
    pattern; likelihood ratio, Wald and score tests of β_1 = … = β_T = 0 in the full likelihood.
    None tells difficulty from class, so the classes are fitted with the mechanisms "class" and
    "entropy+class" too (to about 50,000 rows, if there are more): likelihood ratios weigh each
    given the other, BIC names the mechanism to use, and each class's labelled share is compared
    with that of equally difficult rows (Cochran, Mantel and Haenszel's test).

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import diagnose
    >>> data = simulate(n=500, random_state=0)
    >>> diagnose(data.features, data.labels).headline
    'The blanks mark the hard cases.'
    """
    check_number("n_boot", n_boot, Integral, 0)
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    _smoother.check_bandwidth(bandwidth)
    if estimator is None:
        from hesitant.classifier import MixtureClassifier

        how = {"covariance": covariance, "mechanism": mechanism, "missing_label": missing_label}
        experts = "fallible" if is_panel(y) else "right"
        estimator = MixtureClassifier(family, experts=experts, **how)
    check_classifier(estimator)
    if isinstance(X, ManyRows):
        said = X.said
    else:
        said = as_readers(estimator.experts).as_statements(y, reviewed, estimator.missing_label)
    if said is not None:
        return diagnose_readers(estimator, X, y, said, sample_weight=sample_weight)
    fits, remarks = _fit_both(estimator, X, y, sample_weight, reviewed)
    found: dict[str, Any] = {"suggested": "none", "missing_by_class": False}
    uneven: list[dict[str, Any]] = []  # labelled shares of the classes, if they tell
    measured, t, seen = fits.measured, fits.measured.entropy, fits.measured.seen
    groups = {"labelled": t[seen], "blank": t[~seen]}
    tests = {
        "ks": _tests.kolmogorov_smirnov(*groups.values()),
        "mw": _tests.mann_whitney(*groups.values()),
        "lr": _tests.likelihood_ratio(fits),
        "wald": _tests.wald_test(fits),
        "score": _tests.score_test(fits),
        "shape": _tests.shape_test(fits),
    }
    if n_boot:
        draws = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
        tests["bootstrap"] = _tests.bootstrap_likelihood_ratio(fits, n_boot, **draws)
    if np.unique(measured.weight).size > 1:
        remarks.append(_WEIGHED)
    if fits.full is not None:
        shares, _, doubtful = labelled_shares(fits)
        bic, given, words = compare_mechanisms(fits)
        found["suggested"] = best = min(bic, key=lambda name: bic[name])
        # On real classes of the wrong shape either witness alone cries wolf too often: see
        # benchmarks/real/verdicts.py. BIC's word counts alone where difficulty adds nothing.
        class_alone = best == "class" and given["class, given the difficulty"].p_value < SURE
        found["missing_by_class"] = "class" in best and (doubtful or class_alone)
        tests, remarks = tests | given, remarks + words
        if found["missing_by_class"]:
            uneven = shares
            remarks.append(f"The data favour mechanism={best!r} (BIC): use it, and compare.")
        own = fits.full.mechanism_
        beta = dict(zip(own.parameter_names, own.parameters_.tolist(), strict=True))
        found |= {"by_class": shares, "mechanisms": bic, "coefficients": beta}
        if t.size >= 10:
            how = {"fitted": measured.probability, "bandwidth": bandwidth, "level": level}
            found["curve"] = _smoother.labelling_curve(t, seen, **how)
    pairs = groups["labelled"].size * groups["blank"].size
    found["harder_share"] = float(1 - tests["mw"].statistic / pairs) if pairs else np.nan
    for name, group in groups.items():
        found |= {f"n_{name}": group.size, f"{name}_entropy": group}
        for average in (np.mean, np.median):
            found[f"{average.__name__}_{name}"] = float(average(group)) if group.size else np.nan
    return Diagnosis(
        **decide(fits, tests, found["harder_share"], uneven),
        **found,
        n_not_reviewed=int(fits.rows.tally.n) - sum(fits.counts),
        tests=list(tests.values()),
        family=fits.ignorance.family_.in_words,
        remarks=remarks,
        ignorance=fits.ignorance,
        full=fits.full,
        information=vars(fits).get("information"),  # if a test has asked for it
    )


def _fit_both(template: Any, X: Any, y: Any, *given: Any) -> tuple[Fits, list[str]]:
    """Return both fits; what the template already knows of these rows is not fitted again."""
    own = as_mechanism(template.mechanism)
    mechanism, remarks = own.testable() or EntropyMechanism(), []
    if mechanism is not own and own.informative:
        remarks = [
            f"The tests of difficulty use the mechanism {mechanism.in_words!r} in place of "
            f"{own.in_words!r}: its other parts are not identified where difficulty plays no part."
        ]
    warned: list[str] = []
    how: dict[str, Any] = {"solver": "auto", "warned": warned}
    rows = dict(zip(("sample_weight", "reviewed"), given, strict=False))
    ignorance, full, known = template, None, False
    if hasattr(template, "fitted_"):
        data = template.check(X, y, *given)
        known, X, y, rows, how["start"] = _knows(template.fitted_, data), data, None, {}, template
    if known and template.mechanism_.informative and not remarks:
        full = template
    if not known or template.mechanism_.informative:
        ignorance = refit(template, X, y, mechanism=None, alpha=0.5, **how, **rows)
        data = ignorance.check()
    fits, how["start"] = Fits(ignorance, full, data), ignorance
    if not (data.tally.reviewed_labelled and data.tally.reviewed_blank):
        full = None
    # A fit that ended below what no slope at all achieves is not the best there is.
    elif full is None or full.log_likelihood_ < ignorance.log_likelihood_ + fits.chance - 1e-6:
        full = refit(ignorance, data, None, mechanism=mechanism, **how)
    return Fits(ignorance, full, data), remarks + warned


def _knows(model: FittedModel, data: ManyRows) -> bool:
    """Whether a model was fitted to exactly these rows."""
    if model.alpha != 0.5 or not model.converged:
        return False
    value = model.likelihood(data).evaluate(model.state).log_likelihood
    return bool(abs(value - model.log_likelihood) <= 1e-9 * (1 + abs(value)))
