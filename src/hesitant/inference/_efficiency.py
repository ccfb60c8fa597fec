"""What the pattern buys: precision and error rate with it, without it, with all labels."""

import dataclasses
import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import one_blas_thread
from hesitant._drawing import GREY, Drawing, class_color, dotted_line, drawing, one_a_line
from hesitant._typing import FloatArray
from hesitant._words import Result, Table, number, percent
from hesitant.checks import check_number
from hesitant.fitting import generator
from hesitant.inference import _fisher
from hesitant.inference._fisher import PAIRS, WAYS, Review
from hesitant.inference._information import named, natural_units
from hesitant.inference._inverses import exceeds, inflation, inverse
from hesitant.model import FittedModel

BATCHES, DRAWS = 10, 10_000
MOST = 40  # parameters; more dots than this make a figure that fits no page
_STYLE = {
    "ignorance": ("labels given", "o", class_color(1)),
    "full": ("labels given and pattern", "s", class_color(0)),
}


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Efficiency(Result):
    """Precision under complete labels, the ignorance likelihood and the full likelihood.

    Where too few of the rows drawn came near a boundary, error rates are NaN and a remark says so.
    """

    title: ClassVar[str] = "What does the pattern buy?"

    n_rows: int
    n_draws: int
    reviewed_share: float
    share_labelled: float
    bayes_error: float  #: of the best rule
    excess_error: dict[str, float]  #: of the fitted rule above that, under each of the three
    #: Rows of the second kind that one of the first is worth ("full / ignorance" and other pairs),
    #: by the geometric mean over all parameters and by the excess error.
    parameter_efficiency: dict[str, float]
    error_efficiency: dict[str, float]
    labels_worth: dict[str, float]  #: of so many random blanks (panel: rows), by "error" and so on
    worth_all: dict[str, bool]  #: whether even labels for all blanks would clearly do less
    parameters: list[str]
    std_errors: dict[str, FloatArray]
    monte_carlo_error: dict[str, float]  #: what the draws leave in each scalar above
    remarks: list[str]
    readers: list[str] | None = None

    def _columns(self) -> dict[str, Any]:
        e = self.std_errors
        ratios = {pair: (e[other] / e[one]) ** 2 for pair, (one, other) in PAIRS.items()}
        return {"parameter": self.parameters, **e, **ratios}

    def plot(self, axes: Any = None, parameters: str | None = None) -> Any:
        """Draw errors of ``parameters`` whose name contains this (at most 40), and error rates."""
        ratio = {way: self.std_errors[way] / self.std_errors["complete"] for way in _STYLE}
        keep = np.array(named(self.parameters, parameters), dtype=int)
        shown = np.sort(keep[np.argsort(-ratio["ignorance"][keep], kind="stable")[:MOST]])
        with drawing():
            out, size = Drawing(), (9.2, max(2.9, 1.4 + 0.2 * shown.size))
            own = out.use(axes, size, 1, 2, width_ratios=[3, 2])
            left, right = out.axes_.flat
            dotted_line(left, 1)
            for way, each in ratio.items():
                label, marker, color = _STYLE[way]
                look = {"color": color, "markersize": 5, "label": label}
                left.plot(each[shown], range(shown.size), marker, **look)
            one_a_line(left, [self.parameters[k] for k in shown])
            others = keep.size - shown.size
            more = f"\n(left out: {others:,} with smaller increases)" if others else ""
            left.set_xlabel(f"standard error, relative to complete labels{more}")
            left.set_title("(a) Parameters")
            # Below the axes no name, however long, pushes it into a title; but only a figure of
            # one's own has room there.
            if own:
                handles, labels = left.get_legend_handles_labels()
                out.figure_.legend(handles, labels, loc="outside lower left", ncols=2)
            else:
                left.legend(loc="best")
            right.set(title="(b) Fitted rule", ylabel=f"expected error rate, n = {self.n_rows:,}")
            right.set_xticks(range(3), ["all labels", "labels\ngiven", "labels and\npattern"])
            right.set_xlim(-0.5, 2.5)
            ways = ("complete", *_STYLE)
            rates = self.bayes_error + np.array([self.excess_error[way] for way in ways])
            if np.isfinite(rates).all():
                dashed = {"color": GREY, "linewidth": 0.9, "linestyle": "--"}
                right.axhline(self.bayes_error, **dashed, label="Bayes error")
                error = [self.monte_carlo_error[f"excess {way}"] for way in ways]
                dots = {"fmt": "o", "color": class_color(0), "markersize": 6, "linewidth": 1}
                right.errorbar(range(3), rates, error, **dots)
                right.legend()
            else:
                words = "not known:\nsee the remarks"
                right.text(1, 0.5, words, color=GREY, va="center", ha="center")
                right.set(ylim=(0, 1), yticks=[])
        return out

    def _content(self) -> Iterator[str | Table]:
        yield self._in_words()
        mc, bayes, excess = self.monte_carlo_error, self.bayes_error, self.excess_error
        by = " by somebody" if self.readers else ""
        shares = f"{percent(self.share_labelled, 0)} of them labelled{by}"
        if self.reviewed_share < 1:
            shares = f"{percent(self.reviewed_share, 0)} of them reviewed and {shares}"
        words = f"Expected error rate of the fitted rule with {self.n_rows:,} rows, {shares}; "
        words += f"Bayes error {number(bayes)} ± {number(mc['bayes_error'], 2)}"
        rows = [[w, bayes + excess[w], excess[w], mc[f"excess {w}"]] for w in WAYS]
        yield Table(("likelihood", "error rate", "excess", "± (draws)"), rows, words)
        means, rates = self.parameter_efficiency, self.error_efficiency
        rows = [[k, means[k], mc[f"parameters {k}"], rates[k], mc[f"error {k}"]] for k in PAIRS]
        words = "One row of the first is worth so many of the second"
        yield Table(("efficiency", "parameters", "±", "error rate", "±"), rows, words)
        columns = {"parameter": self.parameters, **self.std_errors}
        yield Table.of(columns, f"Standard errors with {self.n_rows:,} rows")

    def _in_words(self) -> str:
        worth, mc, n = self.labels_worth["error"], self.monte_carlo_error, self.n_rows
        beside_all, doubt = self.error_efficiency["full / complete"], mc["error full / complete"]
        if math.isnan(worth):
            return "What the pattern of blanks buys for the error rate cannot be told; see below."
        if not worth > 0:
            return "The pattern of blanks adds nothing to the labels and the features."
        if self.error_efficiency["full / ignorance"] - 1 < 2 * mc["error full / ignorance"]:
            return "To the error rate the pattern adds less than the draws can tell from nothing."
        blanks, among, labels = f"about {n * (1 - self.share_labelled):,.0f}", "they", "labels for"
        if self.reviewed_share < 1:
            blanks = f"{percent(self.reviewed_share, 0)} are reviewed, and {blanks} of all"
            among = "the reviewed ones among them"
        start = f"Of {n:,} rows {blanks} are blank. For the error rate, where {among} are is worth"
        if self.readers:
            labels = "the true classes of"
            start = f"For the error rate, who hesitates at which of {n:,} rows is worth"
        if self.worth_all["error"]:
            return f"{start} more than {labels} all of them would be."
        if beside_all - 1 > -2 * doubt:
            figure = f"({beside_all:.2f} ± {doubt:.2g} times as much)"
            about = f"about as much as {labels} all of them; whether less or more"
            return f"{start} {about} the draws cannot tell {figure}."
        by = f"(± {mc['labels_worth error']:.2g} from the draws)"
        return f"{start} {labels} {worth:,.0f} of them, chosen at random {by}."


@one_blas_thread()
def efficiency(
    clf: Any,
    *,
    n_rows: int = 1000,
    n_draws: int | None = None,
    reviewed_share: float | None = None,
    random_state: Any = None,
) -> Efficiency:
    """Ask how much precision the pattern of blanks adds, at a fitted model taken as the truth.

    Variances and excess error are proportional to 1 / ``n_rows``, the rows of the study imagined.
    Averages are over ``n_draws`` rows, and the error this leaves is reported: by default 10,000,
    and fewer for models of more than 250 parameters. (Then what complete labels tell of Gaussian
    classes is exact, unless little of it is left.) Of the rows a ``reviewed_share`` is shown to
    somebody, and only those have a pattern: by default as in the fit; of a loaded model all, or of
    a panel as many for each reader as in the fit. After a fit to several readers' statements
    "ignorance" is what they say, "full" that and who hesitates at what.

    Between the true boundary ``D(x) = 0``, D the log odds of the two best classes a and b, and a
    fitted one, rows are misplaced at a cost of ``|π_a f_a − π_b f_b|``; to second order

        E[excess] ≈ ½ E_x[τ_a(x) δ(D(x)) ∂D(x)ᵀ V ∂D(x)],    ∂D = s_a − s_b,

    with V the covariance of the estimates (inverse information) and δ Dirac's delta, for which a
    narrow kernel stands.

    >>> from hesitant import MixtureClassifier, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> result = clf.efficiency(n_rows=500, n_draws=5000, random_state=0)
    >>> result.error_efficiency["full / ignorance"] > 1
    True
    """
    check_is_fitted(clf, "fitted_")
    model: FittedModel = clf.fitted_
    check_number("n_rows", n_rows, Integral, 1)
    if n_draws is None:
        n_draws = int(np.clip(DRAWS * (250 / model.n_parameters) ** 2, DRAWS // 2, DRAWS))
    check_number("n_draws", n_draws, Integral, 40 * BATCHES)
    if not model.family.has_coordinates:
        name = type(model.family).__name__
        raise ValueError(f"{name} has no `coordinates` method, so no information: write one.")
    review, rng = _review(clf, reviewed_share), generator(random_state).spawn(1)[0]
    axes, log_unit, numbers, parts = _fisher.draw_moments(model, n_draws, BATCHES, review, rng)
    usable, units = "boundary" in parts, natural_units(model)
    jacobian = units.jacobian(axes)[:, : axes.size]
    # A parameter at the edge of its range cannot move to first order: it counts as known.
    whole = parts["complete"].total
    if not exceeds(whole, 1e-9 * np.trace(whole) / len(whole)):
        value, vector = np.linalg.eigh(whole)
        U = vector[:, value > 1e-9 * value.mean()]
        parts = {name: part.on(U) for name, part in parts.items()}
        jacobian = jacobian @ U
    if review.share == 0 or _silent(model):
        parts["full"] = parts["ignorance"]  # nobody's hesitation tells anything
    units = units.reduce(jacobian, model.state)
    worth = n_rows * inflation(parts["complete"].sums)
    slopes, scale = jacobian[units.kept], numbers["n"].sum() / worth
    V, std_errors = dict[str, FloatArray](), dict[str, FloatArray]()
    for way in WAYS:
        if twin := next((w for w in V if parts[w].sums is parts[way].sums), None):
            V[way], std_errors[way] = V[twin], std_errors[twin]
            continue
        known = parts[way].total
        if not exceeds(known, 1e-10 * np.trace(known) / len(known)):
            words = f"The information of the classes is singular under {way} labels"
            raise ValueError(f"{words}: see summary() for what so few labels do not determine.")
        V[way] = inverse(known)
        std_errors[way] = np.sqrt(scale * axes.variances(slopes, V[way]))
    # Of a panel's rows none is quite settled; of one expert's, those with a label are.
    labelled, by = _fisher.ratio(numbers["labelled"], numbers["n"])
    open_rows = n_rows * (1 - labelled), -labelled / max(1 - labelled, 1e-300) * by
    if model.readers:
        open_rows = float(n_rows), np.zeros(BATCHES)
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = _fisher.figures_of(parts, V, log_unit - np.log(worth), open_rows)
    figures["bayes_error"] = _fisher.ratio(numbers["bayes"], numbers["n"])
    found = {k: x for k, (x, _) in figures.items()}
    error = {k: abs(x) * math.sqrt(BATCHES) * by.std(ddof=1) for k, (x, by) in figures.items()}
    bayes, kinds, beside = found["bayes_error"], ("error", "parameters"), "full / complete"
    if error["bayes_error"] > 0.5 * bayes or not (usable or bayes > 0):
        found["bayes_error"] = error["bayes_error"] = np.nan
    margin = {k: max(2 * error[f"{k} {beside}"], _fisher.ROUNDING) for k in kinds}
    most = {k: np.minimum(found[f"labels_worth {k}"], open_rows[0]) for k in kinds}
    return Efficiency(
        n_rows=int(n_rows),
        n_draws=int(-(-n_draws // BATCHES) * BATCHES),
        reviewed_share=review.share,
        share_labelled=labelled,
        bayes_error=found["bayes_error"],
        excess_error={w: found[f"excess {w}"] for w in WAYS},
        parameter_efficiency={pair: found[f"parameters {pair}"] for pair in PAIRS},
        error_efficiency={pair: found[f"error {pair}"] for pair in PAIRS},
        labels_worth={k: float(count) for k, count in most.items()},
        worth_all={k: bool(found[f"{k} {beside}"] - 1 > margin[k]) for k in kinds},
        parameters=units.names,
        std_errors=std_errors,
        monte_carlo_error=error,
        remarks=_remarks(clf, usable, found, error, reviewed_share is not None),
        readers=model.readers,
    )


def _review(clf: Any, given: float | None) -> Review:
    """Return who is shown which rows, by default as in the fit."""
    if given is not None:
        check_number("reviewed_share", given, Real, 0, 1)
        return Review(float(given))
    rows, model = clf.fit_rows, clf.fitted_
    if rows is None and model.readers and model.mechanism.counts and model.n_rows:
        each = np.array([min(shown / model.n_rows, 1.0) for shown, _ in model.mechanism.counts])
        return Review(float(1 - np.prod(1 - each)), each=each)
    if rows is None:
        return Review()
    if model.readers:
        return Review(float(rows.said.shown.any(axis=1).mean()), like=rows.said)
    tally = rows.tally
    hidden = tally.weight - tally.reviewed_labelled - tally.reviewed_blank
    if hidden <= 1e-9 * tally.weight:
        return Review()
    labelled = max(float(tally.labelled.sum()) - tally.reviewed_labelled, 0.0)
    return Review(float(1 - hidden / tally.weight), float(labelled / hidden))


def _silent(model: FittedModel) -> bool:
    mechanism: Any = model.mechanism
    return not getattr(mechanism, "hesitation", mechanism).informative


def _remarks(clf: Any, usable: bool, found: Any, error: Any, told: bool) -> list[str]:
    beside = "error ignorance / complete"
    readers_know = found[beside] > 1 + 2 * error[beside]
    remarks = {
        "All numbers take the fitted model for the truth and many rows for granted (first-order "
        "asymptotics): read them as orders of magnitude.": True,
        "The model has no mechanism, so its pattern says nothing: fit one with "
        "mechanism='entropy' to ask what it would buy.": _silent(clf.fitted_),
    }
    doubts = {
        "Too few of the rows drawn came near a boundary between classes to say anything of error "
        "rates: ask for more with n_draws, unless the classes are so far apart that nothing is "
        "left to gain.": not usable,
        "What the readers report depends on the features too, and tells more than the class of "
        "every row would: there is no number of labels to measure hesitation by.": readers_know,
        "Neither labels for the blanks nor their pattern add anything to the error rate that "
        "could be told from rounding: the classes are far apart, or next to nothing is "
        "blank.": math.isnan(found["labels_worth error"]),
        "The draws leave much doubt in the excess error (the ± beside it): ask for more with "
        "n_draws.": error["excess ignorance"] > 0.2 * found["excess ignorance"],
    }
    out = [words for words, there in remarks.items() if there]
    out += [words for words, there in doubts.items() if there][:1]
    if clf.fit_rows is None and not told:
        shown = "every row counts as reviewed by somebody: give reviewed_share if not all were"
        if clf.fitted_.readers:
            shown = "each reader is shown as many as then, whatever the others are shown"
        out.append(f"The model does not carry the rows of its fit, so {shown}.")
    return out
