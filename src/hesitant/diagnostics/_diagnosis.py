"""Are the blanks about difficulty: both fits, all tests, one answer."""

import dataclasses
import tomllib
import warnings
from collections.abc import Iterator
from functools import cached_property, partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hesitant._cores import one_blas_thread
from hesitant._optional import need
from hesitant._typing import FloatArray
from hesitant._words import Result, Table, noun, number, p_value, percent, plain, short
from hesitant.base import check_classifier
from hesitant.checks import check_number
from hesitant.diagnostics import _groups, _smoother, _tests
from hesitant.diagnostics._smoother import LabellingCurve
from hesitant.diagnostics._tests import ALPHA, FEW, ROWS_A_PARAMETER, Fits, Test
from hesitant.experts import as_readers, is_panel
from hesitant.inference._information import ObservedInformation
from hesitant.rows import ManyRows, Rows

# Of those that allow for estimated classes the score test, at the fit without the pattern, keeps
# its size best; the likelihood ratio rejects true chance too often as parameters grow in number.
_ORDER = ("bootstrap", "score", "lr", "mw")

_SENTENCES = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
_HEADLINES, _EVIDENCE, _MEANING, _CAUTIONS, _CAVEATS = _SENTENCES.values()


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Diagnosis(Result):
    """The evidence on whether blanks are about difficulty."""

    title: ClassVar[str] = "Are the blanks about difficulty?"

    headline: str
    explanation: str  #: what lies behind the headline
    caution: str
    finding: str  #: hard, easy, mixed, random, few, crowded (parameters), all, none or unseen
    decisive: Test | None  #: the one of the tests that the verdict rests on
    n_labelled: int
    n_blank: int
    n_not_reviewed: int  #: rows that inform the classes but no test
    mean_labelled: float  #: transformed entropy, logit(e / log g), under the ignorance fit
    mean_blank: float
    median_labelled: float
    median_blank: float
    harder_share: float  #: chance that a random blank row is harder than a random labelled one
    asked: list[Any] = dataclasses.field(repr=False)  # tests, or what finds them
    coefficients: dict[str, float] = dataclasses.field(default_factory=dict)  #: of the mechanism
    #: For each class its reviewed "rows" (blank ones by their posteriors), the share "labelled",
    #: and the share "expected": that of rows equally difficult, whatever their class.
    by_class: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    missing_by_class: bool  #: whether labels may be missing by class
    mechanisms: dict[str, float] = dataclasses.field(default_factory=dict)  #: BIC of each
    suggested: str  #: the mechanism to use: with the class where labels may be missing by it
    family: str
    caveats: list[str]
    remarks: list[str]
    ignorance: Any = dataclasses.field(repr=False)  #: the two fits
    full: Any = dataclasses.field(repr=False)  #: None if there is no pattern to fit
    labelled_entropy: FloatArray = dataclasses.field(repr=False)
    blank_entropy: FloatArray = dataclasses.field(repr=False)
    smooth: Any = dataclasses.field(repr=False, default=None)  # what finds the curve

    @cached_property
    def tests(self) -> list[Test]:
        """One of each kind; Wald's is found when they are first asked for."""
        with one_blas_thread(), np.errstate(all="ignore"):
            return [test() if callable(test) else test for test in self.asked]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"asked": self.tests}  # the rows to find them do not travel

    @cached_property
    def curve(self) -> LabellingCurve | None:
        """The chance of a label against entropy, found when it is first asked for."""
        return self.smooth and self.smooth()

    @property
    def verdict(self) -> str:
        """The headline, what lies behind it, and a caution if there is one."""
        return " ".join(filter(None, (self.headline, self.explanation, self.caution)))

    @property
    def information(self) -> ObservedInformation | None:
        """Standard errors of the full fit, while it has its rows."""
        return self.full and self.full.information()

    @property
    def tone(self) -> str:
        """Former name of ``finding``."""
        words = "Diagnosis.tone is now Diagnosis.finding; the old name goes in the next release."
        warnings.warn(words, DeprecationWarning, stacklevel=2)
        return self.finding

    def test(self, name: str) -> Test:
        """Return the test whose name starts so, such as ``"Mann-Whitney"`` or ``"Wald"``."""
        for test in self.tests:
            if test.name.startswith(name):
                return test
        known = ", ".join(repr(t.name) for t in self.tests)
        raise KeyError(f"no test is called {name!r}; there are {known}")

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"tests": plain(self.tests), "curve": plain(self.curve)}

    def to_frame(self) -> Any:
        """Return one row for each test."""
        frame = need("pandas", "data").DataFrame([dataclasses.asdict(t) for t in self.tests])
        frame = frame.rename(columns={"name": "test"}).astype({"df": "Int64"})
        return frame[["test", "statistic", "df", "p_value", "method", "note"]]

    def plot(self, axes: Any = None) -> Any:
        """Draw densities, distribution functions and labelling probability, side by side."""
        from hesitant.diagnostics._displays import EntropyDisplay

        return EntropyDisplay(self.labelled_entropy, self.blank_entropy, self.curve).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield self.verdict
        both = ("labelled", "blank")
        rows = [[k, *(getattr(self, f"{n}_{k}") for n in ("n", "mean", "median"))] for k in both]
        words = f"Transformed entropy, logit(e / log g), of {self.family} classes fitted without"
        yield Table(("rows", "count", "mean", "median"), rows, f"{words} the pattern")
        if self.n_not_reviewed:
            yield f"{self.n_not_reviewed:,} rows that were not reviewed are in no test."
        words = "Chance (labels missing at random) against difficulty; whether the fitted curve"
        words += " has the right shape; difficulty and class, each given the other"
        rows = [[t.name, t.statistic, number(t.df), t.p_value, t.method] for t in self.tests]
        yield Table(("test", "statistic", "df", "p-value", "how"), rows, words)
        if self.missing_by_class:
            words = "Share labelled by class, and that of equally difficult rows"
            rows = [list(record.values()) for record in self.by_class]
            yield Table(list(self.by_class[0]), rows, words, rest=".by_class")
        if self.mechanisms:
            least = min(self.mechanisms.values())
            above = [(name, round(bic - least, 1)) for name, bic in self.mechanisms.items()]
            words = f"Which mechanism: use {self.suggested!r}"
            if self.mechanisms[self.suggested] > least:
                words += "; what labelled rows alone tell does not bear out the lowest BIC"
            yield Table(("mechanism", "BIC above the best"), above, words)
        if self.coefficients:
            listed = ", ".join(f"{k} {number(v)}" for k, v in self.coefficients.items())
            yield f"Mechanism under the full likelihood: {listed}."
        notes = [f"{t.name}: {t.note}." for t in self.tests if t.note]
        yield from (f"* {note}" for note in (*notes, *self.caveats))


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
    given the other, and each class's labelled share is compared with that of equally difficult
    rows (Cochran, Mantel and Haenszel's test). Whether labels are missing by class is judged by
    classes that labelled rows alone make, if rows are in memory. If they may be, the mechanism to
    use is what those say, else the better of none and "entropy" by BIC.

    Examples
    --------
    >>> from hesitant import datasets, diagnostics
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> diagnostics.diagnose(data.features, data.labels).headline
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
        return _groups.diagnose_readers(estimator, X, y, said, sample_weight=sample_weight)
    fits, remarks = _tests.fit_both(estimator, X, y, sample_weight, reviewed)
    found: dict[str, Any] = {"suggested": "none", "missing_by_class": False}
    measured, t, seen = fits.measured, fits.measured.entropy, fits.measured.seen
    groups = {"labelled": t[seen], "blank": t[~seen]}
    wald = partial(_tests.wald_test, fits.full and fits.full.fitted_, fits.rows, fits.counts)
    tests: dict[str, Any] = {
        "ks": _tests.kolmogorov_smirnov(*groups.values()),
        "mw": _tests.mann_whitney(*groups.values()),
        "lr": _tests.likelihood_ratio(fits),
        "wald": wald if isinstance(fits.rows, Rows) else wald(),  # a cluster may be gone
        "score": _tests.score_test(fits),
        "shape": _tests.shape_test(fits),
    }
    if n_boot:
        draws = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
        tests["bootstrap"] = _tests.bootstrap_likelihood_ratio(fits, n_boot, **draws)
    if np.unique(measured.weight).size > 1:
        remarks.append(_CAUTIONS["weights"])
    if fits.full is not None:
        shares, _, doubtful = _groups.labelled_shares(fits)
        bic, given, words = _groups.compare_mechanisms(fits)
        ranked = sorted(bic, key=lambda name: bic[name])
        # Classes of the wrong shape bend to explain the blanks, so what labelled rows alone tell
        # comes first; of both at once it is one of three witnesses: benchmarks/real/verdicts.py.
        told = _groups.told_by_labels(fits.rows)
        agreed = doubtful and "class" in ranked[0] and told in ("entropy+class", "")
        found["missing_by_class"] = missing = told == "class" or agreed
        fitting = [name for name in ranked if ("class" in name) == missing]
        found["suggested"] = told if missing and told else fitting[0]
        tests, remarks = tests | given, remarks + words
        own = fits.full.mechanism_
        beta = dict(zip(own.parameter_names, own.parameters_.tolist(), strict=True))
        found |= {"by_class": shares, "mechanisms": bic, "coefficients": beta}
        if t.size >= 10:
            how = {"fitted": measured.probability, "bandwidth": bandwidth, "level": level}
            found["smooth"] = partial(_smoother.labelling_curve, t, seen, **how)
    pairs = groups["labelled"].size * groups["blank"].size
    found["harder_share"] = float(1 - tests["mw"].statistic / pairs) if pairs else np.nan
    for name, group in groups.items():
        found |= {f"n_{name}": group.size, f"{name}_entropy": group}
        for average in (np.mean, np.median):
            found[f"{average.__name__}_{name}"] = float(average(group)) if group.size else np.nan
    found |= {"ignorance": fits.ignorance, "full": fits.full, "asked": list(tests.values())}
    found |= {"family": fits.ignorance.family_.in_words, "remarks": remarks}
    unseen = int(fits.rows.tally.n) - sum(fits.counts)
    return Diagnosis(**_decide(fits, tests, found), **found, n_not_reviewed=unseen)


def of_split_readers(found: Diagnosis, rows: str, statements: str) -> Diagnosis:
    """Return a diagnosis in which rows are not called blank because their readers differ."""
    told = f"{_EVIDENCE['split']} {_MEANING['split']}".format(rows=rows, statements=statements)
    return dataclasses.replace(found, headline=_HEADLINES["split"], explanation=told)


def of_classes(found: Diagnosis) -> Diagnosis:
    """Return a diagnosis that claims no more than it may where labels tell of whole classes."""
    told = found.explanation
    if found.finding in _MEANING:
        told = told.replace(_MEANING[found.finding], _MEANING["by class"])
    return dataclasses.replace(found, headline=_HEADLINES["by class"], explanation=told)


def _decide(fits: Fits, tests: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Decide whether blanks are about difficulty; return those fields of Diagnosis that say it.

    A test that could not have rejected (a bootstrap of a few replicates) has no say.
    """
    share = found["harder_share"]
    able = [tests[k] for k in _ORDER if k in tests and not tests[k].was_skipped]
    test = next((test for test in able if test.least_p < ALPHA), None)
    finding = _finding(fits, test, share)
    shown, bent, cautions = finding, tests["shape"].p_value, []
    usual = "pairs" if all(fits.counts) else "nothing"
    words: dict[str, Any] = {
        "row": "row" if sum(fits.counts) == fits.rows.tally.n else "reviewed row",
        "labelled": noun(fits.counts[0], "labelled row"),
        "blank": noun(fits.counts[1], "blank row"),
        "bootstrap": "The bootstrap" if "bootstrap" in tests else "n_boot=199 adds a test that",
    }
    words |= {"each": fits.rows_a_parameter, "needed": ROWS_A_PARAMETER, "share": percent(share)}
    words |= {"test": test and test.name, "p": test and p_value(test.p_value)}
    words["family"] = fits.ignorance.family_.in_words
    # a skipped test has a p-value of NaN, which is not below anything
    if bent < ALPHA and finding in ("hard", "easy", "mixed"):
        cautions.append(_CAUTIONS["shape"].format(p=p_value(bent)))
    if found["missing_by_class"]:
        told = ("hard", "easy", "mixed", "random", "crowded")
        shown = "by class" if finding in told else finding
        ranked = sorted(found["by_class"], key=lambda r: r["labelled"] - r["expected"])
        share_of = "{} of class {} (of rows as hard, {})".format
        had = [(percent(r["labelled"]), short(r["class"]), percent(r["expected"])) for r in ranked]
        own = {"least": share_of(*had[0]), "most": share_of(*had[-1])}
        own["best"] = found["suggested"]
        cautions.append(_CAUTIONS["shares"].format_map(own))
    evidence = _EVIDENCE.get(finding, _EVIDENCE[usual]).format_map(words)
    out = {"finding": finding, "decisive": test, "caution": " ".join(cautions)}
    out["headline"] = _HEADLINES[shown].format_map(words)
    out["explanation"] = f"{evidence} {_MEANING.get(shown, '')}".strip()
    return out | {"caveats": [caveat.format_map(words) for caveat in _CAVEATS.values()]}


def _finding(fits: Fits, test: Test | None, harder_share: float) -> str:
    n_labelled, n_blank = fits.counts
    if not n_blank or not n_labelled:
        return "all" if n_labelled else "none" if n_blank else "unseen"
    # neither a link nor its absence shows where the model can fit any rows whatever
    if fits.rows_a_parameter < ROWS_A_PARAMETER:
        return "crowded"
    if test is None:
        return "few"
    if test.p_value >= ALPHA:
        return "random" if min(n_labelled, n_blank) >= FEW else "few"
    difficulty = _smoother.ranks(fits.measured.entropy)
    falls = (difficulty - difficulty.mean()) @ fits.measured.probability < 0  # by and large
    if (harder_share > 0.5) != falls:
        return "mixed"
    return "hard" if falls else "easy"
