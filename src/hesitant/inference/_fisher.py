"""Expected information of rows, by Monte Carlo, under three ways of seeing labels.

Whatever is seen of a row, its score is ``Σ_h w_h s_h``, with ``s_h`` that of a row of class h and
weights w that depend on the way: "complete", one for the row's class; "ignorance", the class given
what was said; "full", that and the pull of who hesitated, the mechanism being estimated too. The
information is the mean of the score's outer product, over all answers of one expert or drawn ones
of a panel, and over features that are drawn (:mod:`hesitant.inference._draws`).
"""

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property, partial, reduce
from itertools import combinations, zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dsygvd
from scipy.optimize import brentq

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.experts import Panel
from hesitant.inference._draws import Drawn, Rng, draw_rows, fit_proposals, meet
from hesitant.inference._inverses import exceeds, is_diagonal
from hesitant.inference._scores import Axes, Scores, find_axes, outer, spread, told
from hesitant.likelihood import Likelihood
from hesitant.mechanisms import Ignorable, row_term
from hesitant.model import FittedModel
from hesitant.rows import Rows, add
from hesitant.statements import NOT_SHOWN, Statements

WAYS = ("complete", "ignorance", "full")
PAIRS = {f"{more} / {less}": (more, less) for less, more in combinations(WAYS, 2)}
# Half-width of the kernel, in log odds, that picks rows at a class boundary: at most this, and
# at most this part of the log odds' own spread about the boundary (classes that hardly differ).
WIDEST, PART = 1.0, 0.5
# Differences of log criteria below this are rounding.
ROUNDING = 1e-11
# Rows near the boundary, equally weighted, below which there is no saying what happens there.
ENOUGH = 30
# What complete labels tell may be known. Drawn, it leaves doubt where draws are few (rows for each
# parameter); but the draws that tell what is lost then tell from what: ratios are sharper, and
# where less than a share is left only they keep it positive.
FEW, LEFT = 20, 0.3
LARGEST_DRAWN = 3000  # parameters: each batch of each way has a matrix of its own

Figure: TypeAlias = tuple[float, FloatArray]
"""A number, and the batches' influence on it (to first order, and relative to it)."""
Said: TypeAlias = tuple[FloatArray, Any, Any]
"""How much of each row gets a label, and the weights of information by ignorance and in full, less
those of complete labels: where no class is in doubt that is nothing, to the last digit."""
NONE = (None, 0.0)  # parameters of a mechanism


@dataclasses.dataclass(frozen=True)
class Batches:
    """Information of batches of drawn rows: what each row tells, and what was summed over them."""

    counts: FloatArray  # weights of each batch's rows
    each: FloatArray  # the diagonal (k,) that a row of weight one adds, where that is known
    sums: list[FloatArray]  # each batch's (k, k), besides; none where that is nothing

    @cached_property
    def total(self) -> FloatArray:
        return sum(self.sums, start=np.diag(self.counts.sum() * self.each))

    def along(self, V: FloatArray) -> FloatArray:
        """Return the trace of V times each batch's information."""
        rest = [np.vdot(V, J) for J in self.sums] or 0.0
        return self.counts * (V.diagonal() @ self.each) + rest

    def on(self, U: FloatArray) -> "Batches":
        """Return the information about combinations of the axes, the columns of U."""
        each = np.einsum("dk,d,dk->k", U, self.each, U)
        return Batches(self.counts, each, [U.T @ J @ U for J in self.sums])

    def __add__(self, other: "Batches") -> "Batches":
        pairs = zip_longest(self.sums, other.sums, fillvalue=np.zeros(()))
        return Batches(self.counts, self.each + other.each, [a + b for a, b in pairs])

    def __rmul__(self, share: float) -> "Batches":
        return Batches(self.counts, share * self.each, [share * J for J in self.sums])


class Review(NamedTuple):
    """Who is shown which rows: a share of them is shown to all, or as others were of a panel."""

    share: float = 1.0  # of the rows that anybody is shown
    known: float = 0.0  # share of the other rows that have a label all the same
    each: Any = None  # shares that the readers of a panel are shown, (J,)
    like: Statements | None = None


def draw_moments(
    model: FittedModel, n_draws: int, n_batches: int, review: Review, rng: Rng
) -> tuple[Axes, float, dict[str, FloatArray], dict[str, Batches]]:
    """Draw features about a fitted model; return axes, log unit of Q, and the batches' sums.

    These are numbers by name, and information: of the ways, and near the boundary unless too few
    of the rows are.
    """
    n = -(-n_draws // n_batches) * n_batches
    X, log_tau, tau, log_w = draw_rows(model, *fit_proposals(model, rng), n, rng, n_batches)
    known, panel = [log_tau, tau, np.exp(log_w)], isinstance(model.mechanism, Panel)
    if not (panel or model.mechanism.by_class):
        known += told(model.mechanism, model.state.theta, (log_tau, tau, log_w))
    rows = Rows(X[: n // n_batches], np.full(n // n_batches, -1), n_classes=len(model.classes))
    likelihood = Likelihood(rows, model.family, Ignorable())
    chart = Chart(likelihood, model.state, None, mechanism=False)  # type: ignore[arg-type]
    axes = find_axes(model.family, chart)
    axes.check_size(LARGEST_DRAWN)
    half_width, log_unit = _kernel(log_tau, log_w)
    boundary, near = _boundary(half_width, log_w - log_unit, log_tau)
    ask = partial(_said, rng=rng) if panel else _answers
    labelled, *ways = ask(model, review, n_batches, *known)
    w, wrong = known[2], -np.expm1(reduce(np.maximum, log_tau.T))  # chance that the best is
    sums = {"n": w, "bayes": w * wrong, "labelled": labelled}
    numbers = {k: v.reshape(n_batches, -1).sum(axis=1) for k, v in sums.items()}
    asked: dict[str, tuple[Any, ...]] = {}
    if np.abs(near).sum() ** 2 >= ENOUGH * (near @ near) > 0:
        asked["boundary"] = boundary, *NONE, True
    # Where next to no class is in doubt a label is worth no more than rounding.
    if any(np.abs(c).sum() > 1e-4 * ROUNDING * n for c, *_ in ways):
        # For one expert what is lost follows from differences of two classes' scores.
        asked |= {way: (*seen, not panel) for way, seen in zip(WAYS[1:], ways, strict=True)}
    given = axes, X, numbers["n"], asked
    if chart.family.complete is not None and n < FEW * axes.size:
        each = np.append(np.ones(chart.splits[0]), chart.family.complete) / chart.total
        parts = _sum_up(*given, Batches(numbers["n"], each, []))
        least = LEFT * numbers["n"].sum() * each
        if all(exceeds(parts[way].total, least) for way in WAYS):
            return axes, log_unit, numbers, parts
    asked["complete"] = complete(w, tau), *NONE, False
    return axes, log_unit, numbers, _sum_up(*given)


def _sum_up(
    axes: Axes, X: FloatArray, n: FloatArray, asked: dict[str, Any], whole: Any = None
) -> dict[str, Batches]:
    """Return information by name; ``whole`` is that of complete labels, if it is not asked for."""
    counts: Any = slice(None)
    ends, out = np.arange(1, n.size + 1) * (len(X) // n.size), {}
    if whole is not None:  # a row that is sure of its class tells nothing else
        some = [np.zeros(len(X), dtype=bool), *(_counts(*c[:2]) for c in asked.values())]
        counts = reduce(np.logical_or, some)
        ends = counts.reshape(n.size, -1).sum(axis=1).cumsum()
    scores = Scores(axes, X[counts], ends=ends)
    for name, (c, edges, *rest) in asked.items():
        at = None if edges is None else edges[counts]
        sums = [*scores.totals(c[counts], at, *rest)]
        out[name] = of_classes(Batches(n, np.zeros(axes.size), sums))
    whole = out.pop("complete", whole)
    ways = {way: whole + out[way] if way in out else dataclasses.replace(whole) for way in WAYS}
    return out | ways


def _counts(*weights: FloatArray | None) -> Any:
    """Whether rows have weights that are more than rounding."""
    sizes = [np.abs(w) for w in weights if w is not None]
    return sum((s > 1e-6 * ROUNDING * s.max(initial=0)).any(axis=(1, 2)) for s in sizes) > 0


def _kernel(log_tau: FloatArray, log_w: FloatArray) -> tuple[FloatArray, float]:
    """Return how far from a boundary rows still count, and a unit that keeps sums in range."""
    g = log_tau.shape[1]
    half_width, sizes = np.full((g, g), WIDEST), [-np.inf]
    for a, b in combinations(range(g), 2):
        odds, middle = meet(log_tau, log_w, a, b)
        sizes.append(float(middle.max()))
        near = np.exp(middle - sizes[-1])
        # Narrow for what changes within a narrow range.
        spread = max(float(np.sqrt(near @ odds**2 / near.sum())), 1e-6)
        half_width[a, b] = half_width[b, a] = min(WIDEST, PART * spread)
    return half_width, max(sizes)


def _answers(model: FittedModel, review: Review, batches: int, *drawn: FloatArray) -> Said:
    """Average over all that one expert may say of rows; the last are what :func:`told` says."""
    (log_tau, tau, w, *tells), mechanism, theta = drawn, model.mechanism, model.state.theta
    asked, other = review.share * w, (1 - review.share) * w
    if tells:
        blank, variance, pull, gradient = tells
        if not mechanism.informative:
            blank = 1 - mechanism.probability(log_tau, tau)
        # Of the other rows nobody was asked, but a label may have come some other way.
        left = asked * blank + other * (1 - review.known)
        lost = -left[:, None, None] * spread(tau)
        more, *rest = outer(asked * variance, pull, gradient, batches)
        return w - left, (lost, *NONE), (lost + more, *rest)
    difficulty, n, labelled = mechanism.difficulty(log_tau, tau), len(w), np.zeros(len(w))
    none = np.zeros((n, theta.size))
    evidence = [mechanism.evidence(difficulty, np.full(n, r), theta) for r in (False, True)]
    ignorance = full = -complete(w, tau), np.zeros((n, tau.shape[1], theta.size)), 0.0
    for code in range(-1, tau.shape[1]):  # a blank, and a label of each class
        chance, known = (1.0, 1 - review.known) if code < 0 else (tau[:, code], review.known)
        rows = row_term(evidence[code >= 0], log_tau, tau, np.full(n, code))
        answered, not_asked = asked * chance * np.exp(rows.log_p), other * known * chance
        labelled += answered + not_asked if code >= 0 else 0.0
        ignorance = add(ignorance, outer(answered + not_asked, rows.prior, none, batches))
        full = add(full, outer(answered, rows.prior + rows.pull, rows.gradient, batches))
        if review.share < 1:
            full = add(full, outer(not_asked, rows.prior, none, batches))
    return labelled, (ignorance[0], *NONE), full


def complete(w: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the weights (n, g, g) of the information of complete labels."""
    return (np.eye(tau.shape[1])[:, :, None] * (w * tau.T)).transpose(2, 0, 1)


def _said(model: FittedModel, review: Review, batches: int, *drawn: FloatArray, rng: Rng) -> Said:
    """Draw once what a panel might say, shown as some rows of the fit were."""
    panel, (log_tau, tau, w), n = model.mechanism, drawn, len(drawn[0])
    assert isinstance(panel, Panel)
    codes = (rng.random((n, 1)) > np.cumsum(tau[:, :-1], axis=1)).sum(axis=1)
    shown, settled = rng.random((n, 1)) < review.share, np.zeros(n, dtype=bool)
    if review.each is not None:
        shown = rng.random((n, len(review.each))) < review.each
    if review.like is not None:
        place = rng.integers(len(review.like), size=n)
        shown, settled = review.like.shown[place], review.like.truth[place] >= 0
    said = panel.draw(codes, log_tau, tau, model.classes, rng)
    said = dataclasses.replace(said, said=np.where(shown, said.said, NOT_SHOWN))
    q, theta, ways = panel.hesitation.n_parameters, model.state.theta, []
    ignoring = panel.moved(hesitation=Ignorable())
    for mechanism, own in ((ignoring, panel.own(theta)[:, q:].ravel()), (panel, theta)):
        evidence = mechanism.evidence(mechanism.difficulty(log_tau, tau), said, own)
        rows = row_term(evidence, log_tau, tau, np.where(settled, codes, -1))
        products, *rest = outer(w, rows.prior + rows.pull, rows.gradient, batches)
        ways.append((products - complete(w, tau), *rest))
    return w * (said.given.any(axis=1) | settled), ways[0], ways[1]


def of_classes(batches: Batches) -> Batches:
    """Return each batch's share of the classes' information, all else estimated.

    Of the joint information [[A, B], [Bᵀ, D]] the classes keep ``A − B D⁻¹ Bᵀ``, to first order
    the sum over batches of ``RᵀJR`` with R = (1, −B D⁻¹)ᵀ.
    """
    sums, k = batches.sums, len(batches.each)
    if len(sums[0]) == k:
        return batches
    C = _regression(sum(J[:k, k:] for J in sums), sum(J[k:, k:] for J in sums))
    # with half of the last term in either of two that are each other's transpose
    halves = [(J[:k, k:] - 0.5 * C.T @ J[k:, k:]) @ C for J in sums]
    own = [J[:k, :k] - half - half.T for J, half in zip(sums, halves, strict=True)]
    return dataclasses.replace(batches, sums=own)


def _regression(B: Any, D: Any) -> FloatArray:
    """Return ``D⁻¹ Bᵀ``; what D says nothing about explains nothing."""
    # Far apart classes leave a slope in entropy next to no information: scale before judging.
    size = np.sqrt(np.diag(D))
    size = np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv(D / np.outer(size, size), rcond=1e-12, hermitian=True)
    return np.asarray(inverse / np.outer(size, size) @ B.T)


def _boundary(half_width: FloatArray, log_w: FloatArray, log_tau: FloatArray) -> Drawn:
    """Return weights of ``Σ ½ w τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, D the best two's log odds.

    With that matrix Q, ``excess error = tr(Q V)`` (see :func:`efficiency`).
    """
    top, out = reduce(np.maximum, log_tau.T), np.zeros((*half_width.shape, len(log_w)))
    # Only rows of which another class is nearly as likely as the best: to sort all takes a while.
    close = np.flatnonzero(sum(own > top - WIDEST for own in log_tau.T) > 1)
    order = np.argsort(-log_tau[close], axis=1)
    ranked = np.take_along_axis(log_tau[close], order, axis=1)
    middle = (ranked[:, :1] + ranked[:, 1:]) / 2
    half_width = half_width[order[:, :1], order[:, 1:]]
    x = (ranked[:, :1] - ranked[:, 1:]) / half_width
    # A boundary of two classes ends where a third is as likely as both. Off the boundary that is
    # where it is as likely as their middle: sums on both sides then end at the same place.
    row, rank = np.nonzero((x < 1) & (middle >= ranked[:, 1:2]))
    x, half_width, middle = x[row, rank], half_width[row, rank], middle[row, rank]
    # A fourth-order kernel in place of the delta function: its bias is of the order reach⁴. Off
    # the boundary √(τ_a τ_b) stands for τ_a: with the density it changes least from there.
    heights = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / half_width
    weight = 0.5 * heights * np.exp(log_w[close[row]] + middle)
    best, other = order[row, 0], order[row, rank + 1]
    for a, b, sign in ((best, best, 1), (other, other, 1), (best, other, -1), (other, best, -1)):
        np.add.at(out, (a, b, close[row]), sign * weight)
    return out.transpose(2, 0, 1), weight


def ratio(above: FloatArray, below: FloatArray) -> Figure:
    total, whole = float(above.sum()), float(below.sum())
    return total / whole, above / (total or 1.0) - below / whole


def figures_of(
    parts: dict[str, Batches], V: dict[str, Any], log_unit: float, open_rows: Figure
) -> dict[str, Figure]:
    """Return all that one number tells, but for the Bayes error; V are the ways' covariances."""
    near, ways = parts.get("boundary"), {id(V[way]): way for way in WAYS}
    # Ways that know the same are judged once.
    judged = {k: _criteria(parts[way], V[way], near) for k, way in ways.items()}
    known, out = {way: judged[id(V[way])] for way in WAYS}, {}
    for way in WAYS:
        size, by = known[way]["error"]
        out[f"excess {way}"] = math.exp(size + log_unit), by
    # With a share of the open rows settled the information is I + share D. In coordinates where I
    # is the identity and D diagonal both criteria are sums.
    gain, turn, weight = np.zeros(1), np.zeros((len(V["full"]), 1)), np.ones(1)
    if V["ignorance"] is not V["complete"]:
        most, least = (parts[way].total for way in WAYS[:2])
        if np.linalg.norm(V["ignorance"]) * np.linalg.norm(most - least) > ROUNDING:
            gain, turn, _ = dsygvd(most - least, least)  # the latter is regular: it has an inverse
            weight = np.einsum("jk,jk->k", turn, near.total @ turn) if near else np.nan * gain
    log_size: dict[str, Callable[[float], float]] = {
        "error": lambda share: np.log(np.sum(weight / (1 + share * gain))),
        "parameters": lambda share: -np.log(np.abs(1 + share * gain)).mean(),
    }
    for name, of_share in log_size.items():
        for pair, (one, other) in PAIRS.items():
            a, b = known[other][name], known[one][name]
            out[f"{name} {pair}"] = math.exp(a[0] - b[0]), a[1] - b[1]
        gained = known["full"][name][0] - known["ignorance"][name][0]
        share = _share_worth(of_share, gained) if parts["full"] is not parts["ignorance"] else 0.0
        by = np.zeros(parts["full"].counts.size)
        if 0 < share < 2:
            some = (1 - share) * parts["ignorance"] + share * parts["complete"]
            there = _criteria(some, (turn / (1 + share * gain)) @ turn.T, near)[name][1]
            slope = (of_share(share + 1e-5) - of_share(share - 1e-5)) / 2e-5
            by = (known["full"][name][1] - there) / (slope * share)
        out[f"labels_worth {name}"] = share * open_rows[0], by + open_rows[1]
    return out


def _criteria(info: Batches, V: Any, near: Batches | None) -> dict[str, Figure]:
    """Return logarithms of what estimates with this information are judged by, with influences."""
    shares = info.along(V) / len(V)
    trace = float(np.vdot(V, near.total)) if near else math.nan
    error = math.nan, np.full(shares.size, math.nan)
    # A kernel with negative parts may, from very few rows, give a negative sum: then nothing is
    # known of the error.
    if near and trace > 0:
        by = near.along(V) - info.along(V @ near.total @ V)
        error = math.log(trace), by / trace
    root = np.sqrt(V.diagonal()) if is_diagonal(V) else dpotrf(V.T, lower=1)[0].diagonal()
    size = 2 * float(np.log(root).mean())  # log |V|, for each parameter
    return {"error": error, "parameters": (size, -shares)}


def _share_worth(criterion: Callable[[float], float], gained: float) -> float:
    """Return the share of open rows whose labels would do as much as the pattern gained.

    Above 1 it is no share, but tells how far the pattern exceeds all labels; at most 2. It is
    NaN if neither pattern nor labels make a difference that can be told from rounding.
    """
    target = criterion(0.0) + gained
    if math.isnan(target) or not criterion(0.0) - criterion(1.0) > ROUNDING:
        return math.nan
    if -gained <= ROUNDING:
        return 0.0
    if criterion(2.0) >= target:
        return 2.0
    return float(brentq(lambda share: criterion(share) - target, 0.0, 2.0))
