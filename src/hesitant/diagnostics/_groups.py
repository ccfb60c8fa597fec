"""Whether labels are missing by class, and whether each reader leaves the hard rows blank."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from hesitant._drawing import COLORS, Drawing, as_text, class_color, drawing
from hesitant._replicates import like, refit
from hesitant._typing import FloatArray
from hesitant._words import Result, Table
from hesitant.diagnostics import _tests
from hesitant.diagnostics._tests import ALPHA, FEW, Fits, Test, mann_whitney
from hesitant.experts import Panel, reader_records
from hesitant.families import Gaussian
from hesitant.fitting import fit_mixture
from hesitant.label_rates import as_sure_as, explain_blanks
from hesitant.likelihood import Likelihood, normalise
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, Mechanism, as_mechanism
from hesitant.rows import ManyRows, Rows
from hesitant.statements import WITHHELD, Statements
from hesitant.uncertainty import Shannon

STRATA, ROWS_A_STRATUM = 20, 25
SURE = 1e-4  # of the test, which takes difficulty for known and so rejects too often
CLEAR = 3.0  # standard errors
# How far the best and the worst labelled class must stray from what is expected. Gaussians fitted
# to skewed classes (make_cytometry_like) stray by 0.13 on average, by this in one case of ten.
LARGE = 0.2
EXPECTED = 3.0  # labels, of which not one was given
MOST_ROWS = 50_000  # that mechanisms are compared on
FOLDS, TELLING = 5, 5000  # rows, enough to tell what blanks follow
_DASHES = ("-", "--", ":", "-.")
_FINDINGS = {
    "hard": "leaves the hard rows blank",
    "easy": "leaves the easy rows blank",
    "random": "leaves rows blank without regard to difficulty",
    "few": "left too few rows blank, or spoke of too few, to tell",
    "none": "left no row blank",
}


def labelled_shares(fits: Fits) -> tuple[list[dict[str, Any]], float, bool]:
    """Compare each class's labelled share with that of equally difficult rows.

    Return the shares as Diagnosis has them, the p-value of rows equally difficult being labelled
    alike, and whether labels may be missing by class.

    In strata of like entropy under the ignorance fit the labels of a class are compared with
    those expected if all its rows had the same chance: Cochran, Mantel and Haenszel's test, with
    class posteriors where the class is not known.
    """
    found, names = fits.measured, fits.ignorance.fitted_.class_names
    n_strata = max(1, min(STRATA, found.seen.size // ROWS_A_STRATUM))
    edges = np.quantile(found.entropy, np.arange(1, n_strata) / n_strata)
    stratum = np.searchsorted(edges, found.entropy, side="right")
    known = np.where(found.seen[:, None], found.codes[:, None] == np.arange(len(names)), found.tau)
    w, tau, own = found.weight, found.tau.T, known.T

    def each(*values: FloatArray) -> FloatArray:  # summed over the rows of each stratum
        return np.array([np.bincount(stratum, v, n_strata) for v in values]).T

    given, rows, mean = each(*(w * found.seen * own)), each(*(w * own)), each(*(w * tau))
    p = (given.sum(axis=1) / np.maximum(rows.sum(axis=1), 1e-300))[:, None]
    # A row's excess in class h, (1 − p) 1[h = y] or −p τ_h, has mean zero if labels do not depend
    # on the class. How many rows are labelled in all is given.
    V = ((1 - p) * p**2)[:, None] * np.stack([each(*(w * t * tau)) for t in tau], axis=1)
    V += (p * (1 - p) ** 2 * mean)[:, None] * np.eye(len(names))
    v = V.sum(axis=2)
    V -= v[:, :, None] * v[:, None] / np.maximum(v.sum(axis=1), 1e-300)[:, None, None]
    given, total, due, V = (part.sum(axis=0) for part in (given, rows, p * rows, V))
    excess = given - due
    p_value = _tests.chi_squared_of(excess, V, 1e-9 * np.trace(V)).p_value
    labelled, expected = (part / np.where(total > 0, total, 1.0) for part in (given, due))
    told = np.abs(excess) > CLEAR * np.sqrt(np.maximum(np.diag(V), 0)) + 1e-9 * total.sum()
    never = (fits.rows.tally.labelled == 0) & (due >= EXPECTED)
    apart = float(np.ptp(np.append((labelled - expected)[told], 0.0)))
    values = zip(names, total.tolist(), labelled.tolist(), expected.tolist(), strict=True)
    keys = ("class", "rows", "labelled", "expected")
    records = [dict(zip(keys, own, strict=True)) for own in values]
    return records, p_value, bool(never.any() or (p_value < SURE and apart >= LARGE))


def told_by_labels(rows: ManyRows) -> str:
    """Return the mechanism that labelled rows alone tell of; "" where they cannot."""
    if not isinstance(rows, Rows):
        return ""  # on a cluster features stay where they are
    data, some = rows, np.flatnonzero(rows.weight > 0)
    if min(some.size, TELLING) < len(rows.codes):  # to copy them all takes a while
        data = rows[np.sort(np.random.default_rng(0).permutation(some)[:TELLING])]
    shown, seen = data.reviewed, data.codes >= 0
    if data.tally.counting[:-1].min() < 2 or not (shown & seen).any() or not (shown & ~seen).any():
        return ""
    given = _posteriors_without(data), seen, data.weight
    return explain_blanks(*(part[shown] for part in given))[0]


def _posteriors_without(data: Rows) -> FloatArray:
    """Return posteriors by labelled rows, of these by the others, as sure as these allow."""
    family, codes, known = Gaussian(), data.codes, np.flatnonzero(data.codes >= 0)
    X = np.ascontiguousarray(data.X, dtype=float)
    members = np.eye(data.n_classes)[codes] * data.weight[:, None]
    fold = np.full(len(codes), FOLDS)  # of a blank row the last, which leaves nothing out
    fold[known[np.argsort(codes[known], kind="stable")]] = np.arange(known.size) % FOLDS
    log_p = np.empty((len(codes), data.n_classes))
    for k in range(FOLDS + 1):
        kept, told = known[fold[known] != k], fold == k
        params = family.initial(X[kept], members[kept])
        log_p[told] = family.log_density(params, X[told]) + np.log(members[kept].sum(axis=0))
    return normalise(as_sure_as(log_p[known], codes[known], 1.0, 3.0) * log_p)[1]


def compare_mechanisms(fits: Fits) -> tuple[dict[str, float], dict[str, Test], list[str]]:
    """Fit the classes with each mechanism to the same rows, from where the fits at hand ended.

    Return each BIC, tests of difficulty given the class and the reverse, and what else to say.
    """
    ignorance, full, data, remarks = fits.ignorance, fits.full, fits.rows, []
    step = int(data.tally.n) // MOST_ROWS
    if step > 1 and isinstance(data, Rows):
        data = data[::step]
        ignorance, full = (refit(fit, data, None, start=fit) for fit in (ignorance, full))
        fits = Fits(ignorance, full, data)
        remarks = [f"The mechanisms were compared on one row in {step}, enough to choose by."]
    own = as_mechanism(full.mechanism).get_params(deep=False)
    value = {"none": ignorance.log_likelihood_ + fits.chance, "entropy": full.log_likelihood_}
    size = {"none": ignorance.n_parameters_ + 1, "entropy": full.n_parameters_}
    others = (ignorance, ClassMechanism()), (full, EntropyClassMechanism(**own))
    for name, (fit, mechanism) in zip(("class", "entropy+class"), others, strict=True):
        value[name], size[name] = _with_mechanism(fit, data, mechanism)
    # The largest model contains all others, so a lower maximum is one that was not found.
    value["entropy+class"] = max(value.values())

    def ratio(smaller: str) -> Test:
        _tests.need_rows(*fits.counts, _tests.SMALLEST_GROUP)
        df = size["entropy+class"] - size[smaller]
        if df < 1:
            raise _tests.CannotTest("no parameter tells the two apart")
        return _tests.chi_squared(2 * (value["entropy+class"] - value[smaller]), df)

    given = {"difficulty, given the class": "class", "class, given the difficulty": "entropy"}
    tests = {name: _tests.named(name)(ratio)(smaller) for name, smaller in given.items()}
    n = math.log(max(fits.rows.tally.weight, 2.0))
    return {name: size[name] * n - 2 * value[name] for name in value}, tests, remarks


def _with_mechanism(fit: Any, data: ManyRows, mechanism: Mechanism) -> tuple[float, int]:
    """Return log-likelihood and number of parameters with another mechanism, and no remarks."""
    model, known, how = fit.fitted_, fit.mechanism_, like(fit, fit, solver="auto")
    mechanism, _ = mechanism.prepare(len(model.classes)).estimable(data.tally)
    likelihood = Likelihood(data, model.family, mechanism)
    theta = np.append(np.full(len(model.classes), known.intercept_), known.coef_)
    # The other mechanism can say the same; but what pulls classes together is found anew.
    if theta.size == mechanism.n_parameters and not model.family.adaptive_prior:
        how.init = dataclasses.replace(model.state, theta=theta)
    with np.errstate(all="ignore"):
        found, likelihood = fit_mixture(likelihood, model.classes, how)
    own = dataclasses.replace(model, mechanism=likelihood.mechanism, state=found.state)
    return float(found.final.log_likelihood), own.n_parameters


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ReadersDiagnosis(Result):
    """Whether each reader's blanks are about difficulty.

    Each of ``readers`` has a ``harder_share`` (how often a row left blank is the harder of two)
    with its one-sided p-value ``mann_whitney``, the fitted ``slope`` of hesitation with
    ``slope_se`` and ``wald`` (p-value), and a ``finding``: "hard", "easy", "random", "few" or
    "none".
    """

    title: ClassVar[str] = "Are the blanks about difficulty, reader by reader?"

    readers: list[dict[str, Any]]
    remarks: list[str]
    entropy: FloatArray = dataclasses.field(repr=False)  #: (n,), of a fit that ignores hesitation
    speaking: FloatArray = dataclasses.field(repr=False)  #: (n, J), chances that readers speak

    def _content(self) -> Iterator[str | Table]:
        for line in self.readers:
            yield f"* {line['reader']} {_FINDINGS[line['finding']]}."
        found = ("mean_labelled", "mean_withheld", "harder_share", "slope", "wald")
        shown = ("reader", "labelled", "withheld", *found)
        yield Table(shown, [[line[name] for name in shown] for line in self.readers])

    def _columns(self) -> dict[str, Any]:
        return {name: [line[name] for line in self.readers] for name in self.readers[0]}

    def plot(self, axes: Any = None) -> Drawing:
        """Draw each reader's chance of speaking against the entropy of rows."""
        names = [line["reader"] for line in self.readers]
        return draw_readers(names, self.entropy, self.speaking, axes)


def draw_readers(names: Sequence[str], u: FloatArray, speaking: Any, axes: Any = None) -> Drawing:
    """Draw a curve for each reader: entropies u (n,) against chances of a label (n, J)."""
    display, order = Drawing(), np.argsort(u)
    with drawing():
        display.use(axes, (5.0, 3.2))
        for j, name in enumerate(names):
            look = {"color": class_color(j), "linestyle": _DASHES[j // len(COLORS) % 4]}
            display.ax_.plot(u[order], speaking[order, j], **look, label=as_text(name, 20))
        display.ax_.set(xlabel="entropy", ylabel="chance of a label", ylim=(0, 1.02))
        display.ax_.legend()
    return display


def diagnose_readers(estimator: Any, X: Any, y: Any, said: Statements, **given: Any) -> Any:
    """Return what each reader's blanks are about, in classes that all readers' words made."""
    warned: list[str] = []
    silent = refit(estimator, X, y, mechanism=None, warned=warned, **given)
    full, explains = estimator, as_mechanism(estimator.mechanism).informative
    if not isinstance(getattr(full, "mechanism_", None), Panel) or not explains:
        mechanism = estimator.mechanism if explains else "entropy"
        full = refit(estimator, X, y, mechanism=mechanism, warned=warned, **given)
    entropy, log_tau = silent.entropy(X, Shannon()), np.asarray(full.predict_log_proba(X))
    lines, rows = [], (X, y) if full.fit_rows is None else ()
    for j, found in enumerate(reader_records(full, *rows, **(given if rows else {}))):
        groups = {"labelled": said.said[:, j] >= 0, "withheld": said.said[:, j] == WITHHELD}
        line: dict[str, Any] = {"reader": found["reader"]}
        for name, which in groups.items():
            line[name] = int(which.sum())
            line[f"mean_{name}"] = float(entropy[which].mean()) if line[name] else np.nan
        test = mann_whitney(*(entropy[which] for which in groups.values()))
        pairs, fewer = line["labelled"] * line["withheld"], min(line["labelled"], line["withheld"])
        harder = 1 - test.statistic / max(pairs, 1)  # NaN where the test was skipped
        slope, error = found.get("slope", np.nan), found.get("slope_se", np.nan)
        wald = float(2 * norm.sf(abs(slope) / error)) if error > 0 else np.nan
        # The slope's test allows for the other readers and for classes that are estimated.
        p = wald if np.isfinite(wald) else 2 * min(test.p_value, 1 - test.p_value)
        finding = "random"
        if fewer < FEW:
            finding = "few" if line["withheld"] else "none"
        elif p < ALPHA:
            finding = "hard" if harder > 0.5 else "easy"
        line |= {"slope": slope, "slope_se": error, "harder_share": harder}
        lines.append(line | {"mann_whitney": test.p_value, "wald": wald, "finding": finding})
    speaking = full.mechanism_.speaking(log_tau, np.exp(log_tau))
    return ReadersDiagnosis(lines, warned, entropy, speaking)
