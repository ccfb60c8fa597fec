"""Are the blanks about difficulty: both fits, all tests, one answer."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._replicates import refit
from hesitant._typing import FloatArray
from hesitant.checks import check_number
from hesitant.diagnostics._by_class import MechanismChoice, choose_mechanism, labelled_by_class
from hesitant.diagnostics._diagnosis import Diagnosis
from hesitant.diagnostics._rank_tests import kolmogorov_smirnov, mann_whitney
from hesitant.diagnostics._smoother import LabellingCurve, check_bandwidth, labelling_curve
from hesitant.diagnostics._tests import (
    Fits,
    Test,
    bootstrap_likelihood_ratio,
    likelihood_ratio,
    score_test,
    shape_test,
    wald_test,
)
from hesitant.diagnostics._verdict import caveats, decide
from hesitant.intake import check_features, is_dask
from hesitant.mechanisms import as_mechanism
from hesitant.model_data import check_classifier, likelihood_of
from hesitant.statements import refuse_statements


@one_blas_thread()
def diagnose(
    X: Any,
    y: Any,
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

    The ignorance likelihood, which does not use the pattern, is fitted first; the rows' entropies
    under it are compared between labelled and blank rows. Then the full likelihood is fitted and
    compared with labels missing completely at random.

    Parameters
    ----------
    X, y : array-likes
        Features, and labels with blanks. Of a Dask collection only a few numbers a row are
        brought together (entropies, labelling probability), never the features.
    estimator : MixtureClassifier, optional
        A model, fitted or not, whose options to use in place of family, covariance, mechanism and
        missing_label. One already fitted to these rows is not fitted again.
    family, covariance, mechanism, missing_label
        As for :class:`~hesitant.MixtureClassifier`. The tests need a logistic mechanism; of a
        mixed one its logistic part is used.
    sample_weight : array-like, optional
        Weights of whole rows, as given to ``fit``. The likelihood's tests take them for numbers
        of rows; the rank tests and the curve count every row of positive weight once.
    reviewed : boolean array-like, optional
        False for rows that nobody was shown: they inform the classes but no test.
    n_boot : int, default=0
        Replicates of the bootstrap likelihood-ratio test; 199 or more for a useful p-value. Each
        draws as many rows as there are, in memory.
    level : float, default=0.95
        Confidence of the band around the labelling probability.
    bandwidth : "cv", "silverman" or float, default="cv"
        Of the kernel estimate of the labelling probability.
    random_state : int, RandomState, Generator or None
    n_jobs : int, optional
        Workers for the bootstrap, by joblib: any of its backends.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    Diagnosis

    Notes
    -----
    The tests, all of "labels are missing completely at random":

    - Kolmogorov-Smirnov, one-sided: largest excess of the labelled rows' empirical distribution
      function of transformed entropy over that of the blank rows.
    - Mann-Whitney, one-sided: number of (labelled, blank) pairs in which the labelled row has the
      larger entropy; small if blanks are harder.
    - likelihood ratio, Wald and score tests of β_1 = … = β_T = 0 in the full likelihood; the
      first also by parametric bootstrap.

    None of them tells difficulty from class. So the classes are fitted with the mechanisms
    "class" and "entropy+class" too: likelihood ratios give the evidence for difficulty given the
    class and for class given the difficulty, and BIC names the mechanism to use. Each class's
    labelled share is also compared with that of equally difficult rows (Cochran, Mantel and
    Haenszel's test over strata of like entropy).

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import diagnose
    >>> data = simulate(n=500, random_state=0)
    >>> result = diagnose(data.features, data.labels)
    >>> result.mean_blank > result.mean_labelled
    True
    >>> result.headline
    'The blanks mark the hard cases.'
    """
    refuse_statements(y, "diagnose")
    check_number("n_boot", n_boot, Integral, 0)
    check_number("level", level, Real, 1e-6, 1 - 1e-6)
    check_bandwidth(bandwidth)
    template = _template(estimator, family, covariance, mechanism, missing_label)
    rows = {"sample_weight": sample_weight, "reviewed": reviewed}
    fits, remarks = _fit_both(template, X, y, **rows)
    choice = None
    if fits.full is not None:
        choice = choose_mechanism(fits, X, y, **rows)
    with fits.rows:
        tests = _all_tests(fits)
        if n_boot:
            how = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
            tests["bootstrap"] = bootstrap_likelihood_ratio(fits, n_boot, **how)
        return _judge(fits, tests, choice, remarks, _curve(fits, level, bandwidth))


def _all_tests(fits: Fits) -> dict[str, Test]:
    labelled, blank = fits.groups
    return {
        "ks": kolmogorov_smirnov(labelled, blank),
        "mw": mann_whitney(labelled, blank),
        "lr": likelihood_ratio(fits),
        "wald": wald_test(fits),
        "score": score_test(fits),
        "bootstrap": Test("", np.nan, np.nan),  # unless asked for
        "shape": shape_test(fits),
    }


def _judge(
    fits: Fits,
    tests: dict[str, Test],
    choice: MechanismChoice | None,
    remarks: list[str],
    curve: LabellingCurve | None,
) -> Diagnosis:
    """Say what the tests amount to."""
    labelled, blank = fits.groups
    pairs = labelled.size * blank.size
    harder = 1 - tests["mw"].statistic / pairs if pairs else np.nan
    by_class = labelled_by_class(fits)
    # On real classes of the wrong shape the shares alone cry wolf where labels were lost at random
    # (18 % of fits), BIC alone where they were lost by difficulty (55 %); both together in 5 and
    # 23 %, against 68 % where labels are lost by class.
    doubtful = by_class is not None and by_class.doubtful
    doubtful = doubtful and choice is not None and choice.favours_class
    if choice is not None:
        tests |= {"given class": choice.difficulty, "given difficulty": choice.by_class}
    return Diagnosis(
        **decide(fits, tests, harder, doubtful)._asdict(),
        n_labelled=labelled.size,
        n_blank=blank.size,
        n_not_reviewed=int((~fits.measured.reviewed).sum()),
        mean_labelled=_middle(np.mean, labelled),
        mean_blank=_middle(np.mean, blank),
        median_labelled=_middle(np.median, labelled),
        median_blank=_middle(np.median, blank),
        harder_share=float(harder),
        tests=[test for test in tests.values() if test.name],
        curve=curve,
        coefficients=_coefficients(fits.full),
        by_class=[] if by_class is None else by_class.records(),
        missing_by_class=doubtful,
        mechanisms={} if choice is None else choice.bic,
        suggested="none" if choice is None else choice.suggested,
        family=fits.ignorance.family_.in_words,
        caveats=caveats(fits.ignorance.family_.in_words, bool(tests["bootstrap"].name)),
        remarks=remarks
        + _weights_in_words(fits)
        + ([by_class.in_words()] if by_class is not None and doubtful else [])
        + (
            [f"The data favour mechanism={choice.suggested!r} (BIC): use it, and compare."]
            if choice is not None and doubtful
            else []
        ),
        ignorance=fits.ignorance,
        full=fits.full,
        labelled_entropy=labelled,
        blank_entropy=blank,
        information=fits.information_so_far,
    )


def _template(
    estimator: Any, family: Any, covariance: str, mechanism: Any, missing_label: Any
) -> Any:
    if estimator is not None:
        check_classifier(estimator)
        return estimator
    from hesitant.classifier import MixtureClassifier

    return MixtureClassifier(
        family, covariance=covariance, mechanism=mechanism, missing_label=missing_label
    )


def _fit_both(template: Any, X: Any, y: Any, **rows_given: Any) -> tuple[Fits, list[str]]:
    """Return both fits; what the template already knows of these rows is not fitted again."""
    mechanism, remarks = _logistic(template.mechanism)
    heard: list[str] = []
    fitted = hasattr(template, "state_")
    if fitted and not is_dask(X):
        check_features(template, X, reset=False)
    silent = fitted and not template.mechanism_.informative
    if fitted and silent and _knows(template, X, y, **rows_given):
        ignorance = template
    else:
        start = template if fitted else None
        how = {"mechanism": None, "alpha": 0.5, "solver": "auto"}
        ignorance = refit(template, X, y, start=start, heard=heard, **how, **rows_given)
    rows = likelihood_of(ignorance, X, y, **rows_given).rows
    full = None
    if rows.tally.reviewed_labelled and rows.tally.reviewed_blank:
        same = fitted and not remarks and not silent
        if same and _knows(template, X, y, **rows_given):
            full = template
        # A fit that ended below what no slope at all achieves is not the best there is.
        chance = Fits(ignorance, full, rows).chance
        if full is None or full.log_likelihood_ < ignorance.log_likelihood_ + chance - 1e-6:
            how = {"mechanism": mechanism, "solver": "auto"}
            full = refit(ignorance, X, y, start=ignorance, heard=heard, **how, **rows_given)
    return Fits(ignorance, full, rows), remarks + heard


def _logistic(given: Any) -> tuple[Any, list[str]]:
    """Return a mechanism with coefficients that can be tested, and what was changed."""
    mechanism = as_mechanism(given)
    if not mechanism.informative:
        return "entropy", []
    testable = mechanism.testable()
    if testable is mechanism:
        return given, []
    if testable is not None:
        return testable, [
            f"The tests of difficulty use the mechanism {testable.in_words!r} in place of "
            f"{mechanism.in_words!r}: its other parts are not identified where difficulty plays "
            "no part."
        ]
    return "entropy", [
        f"{type(mechanism).__name__} has no coefficients to test: the tests use the logistic "
        "mechanism of Shannon's entropy."
    ]


def _knows(template: Any, X: Any, y: Any, **rows: Any) -> bool:
    """Whether a model was fitted to exactly these rows."""
    if template.alpha != 0.5 or not template.converged_:
        return False
    try:
        value = template.log_likelihood(X, y, **rows)
    except ValueError:  # other classes or features: let the fit itself say so
        return False
    return abs(value - template.log_likelihood_) <= 1e-9 * (1 + abs(value))


def _weights_in_words(fits: Fits) -> list[str]:
    """Return a remark if some rows count more than others, but not everywhere."""
    weight = fits.weight
    if not weight.size or weight.min() == weight.max():
        return []
    return [
        "Likelihood ratio, Wald, score and shape tests and the labelled shares by class count "
        "rows by their weights; the rank tests, means, medians, the share of harder pairs and "
        "the labelling curve count every row of positive weight once."
    ]


def _curve(fits: Fits, level: float, bandwidth: float | str) -> LabellingCurve | None:
    t, fitted = fits.measured.entropy, fits.measured.probability
    if fits.full is None or t.size < 10:
        return None
    return labelling_curve(t, fits.seen, fitted=fitted, bandwidth=bandwidth, level=level)


def _coefficients(full: Any) -> dict[str, float]:
    if full is None:
        return {}
    names = full.mechanism_.parameter_names
    return dict(zip(names, map(float, full.mechanism_.parameters_), strict=True))


def _middle(average: Callable[[FloatArray], Any], values: FloatArray) -> float:
    return float(average(values)) if values.size else float("nan")
