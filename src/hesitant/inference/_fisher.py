"""Expected information of rows, by Monte Carlo, under three ways of seeing labels.

Whatever is seen of a row, its score is ``Σ_h w_h s_h``, with ``s_h`` that of a row of class h and
weights w that depend on the way: "complete", one for the row's class; "ignorance", the class given
what was said; "full", that and the pull of who hesitated, the mechanism being estimated too. The
information is the mean of the score's outer product, over all answers of one expert or drawn ones
of a panel, and over features that are drawn: half of them from the model, the others where classes
meet, each with the weight that makes averages those of the model (importance sampling with a
defensive mixture: no weight exceeds two).
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import brentq
from scipy.stats import multivariate_t

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.experts import Panel
from hesitant.families import Gaussian
from hesitant.inference._scores import Axes, Scores, find_axes, outer
from hesitant.likelihood import Likelihood
from hesitant.mechanisms import Ignorable, row_term
from hesitant.model import FittedModel
from hesitant.rows import Rows, add
from hesitant.statements import NOT_SHOWN, Statements

WAYS = ("complete", "ignorance", "full")
PAIRS = {
    f"{one} / {other}": (one, other)
    for one, other in (("ignorance", "complete"), ("full", "complete"), ("full", "ignorance"))
}
# Half-width of the kernel, in log odds, that picks rows at a class boundary: at most this, and
# at most this part of the log odds' own spread about the boundary (classes that hardly differ).
WIDEST, PART = 1.0, 0.5
# Shares of the rows along boundaries, across them, and far out; the rest comes from the model.
ALONG, ACROSS, ABOUT = 0.3, 0.15, 0.05
# Rows and rounds in which proposals are fitted; how heavy their tails are, and how much wider than
# a class those about it.
PILOT, ROUNDS, TAIL, WIDER = 2500, 3, 5, 4.0
# Differences of log criteria below this are rounding.
ROUNDING = 1e-11

Batches: TypeAlias = list[FloatArray]
Figure: TypeAlias = tuple[float, FloatArray]
"""A number, and the batches' influence on it (to first order, and relative to it)."""
Rng: TypeAlias = np.random.Generator
Kernel: TypeAlias = tuple[FloatArray, float]
Outcome: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Chance of what is seen of rows (n,), their weights (n, g), derivatives in θ (n, q)."""
Said: TypeAlias = tuple[Any, Outcome, Outcome]
"""Whether something was said of rows, and what is seen of them, ignoring and with hesitation."""


class Review(NamedTuple):
    """Who is shown which rows: a share of them is shown to all, or as others were of a panel."""

    share: float = 1.0
    known: float = 0.0  # share of the other rows that have a label all the same
    like: Statements | None = None


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Where rows are drawn: from the model, and from proposals where classes meet."""

    model: FittedModel
    proposals: list[Any]  # distributions of scipy's, in the units of the model
    shares: FloatArray  # of the rows, for each proposal

    @property
    def units(self) -> tuple[FloatArray, FloatArray]:
        """Origin and size of the units in which proposals are."""
        params = self.model.state.params
        return (params.center, params.spread) if self.proposals else (np.zeros(1), np.ones(1))

    def draw(self, n: int, rng: Rng) -> FloatArray:
        """Draw n rows, the same number from each proposal every time, the rest from the model."""
        origin, unit = self.units
        counts = (self.shares * n).astype(int)
        parts = [self.model.draw(n - counts.sum(), rng)[0]]
        for proposal, m in zip(self.proposals, counts, strict=True):
            parts.append(origin + unit * proposal.rvs(m, random_state=rng).reshape(m, origin.size))
        return np.concatenate(parts)

    def log_weights(self, X: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return log model density less log density of n rows drawn here, ``n = len(X)``."""
        origin, unit = self.units
        z, volume = (X - origin) / unit, np.log(unit).sum()
        shares = (self.shares * len(X)).astype(int) / len(X)
        total = np.full(len(X), np.log(1 - shares.sum()))
        for proposal, share in zip(self.proposals, shares, strict=True):
            if share:
                own = np.atleast_1d(proposal.logpdf(z)) - volume - log_f + np.log(share)
                total = np.logaddexp(total, own)
        return -total


def fit_sampler(model: FittedModel, rng: Rng) -> Sampler:
    """Fit proposals to the boundaries of a fitted model: first guesses, and then a few rounds.

    A family that is not the package's own may have no density in places: it draws all rows itself.
    """
    if not isinstance(model.family, Gaussian):
        return Sampler(model, [], np.zeros(0))
    params, pairs = model.state.params, list(combinations(range(len(model.classes)), 2))
    about, sizes = [], np.zeros(len(pairs))
    for h in range(len(model.classes)):
        z = (model.family.sample(params, h, 2000, rng) - params.center) / params.spread
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        about.append(_shaped_like(z, np.zeros(len(z)), WIDER))
    near = [_between(model, about, pair) for pair in pairs]
    for _ in range(ROUNDS):
        proposals = [*near, *about]
        pilot = Sampler(model, proposals, np.full(len(proposals), 0.75 / len(proposals)))
        X = pilot.draw(max(PILOT, 300 * len(proposals)), rng)
        log_tau, _, log_f = model.posterior(X)
        log_w = pilot.log_weights(X, log_f)
        z, near = (X - params.center) / params.spread, []
        for k, (a, b) in enumerate(pairs):
            odds, both = log_tau[:, a] - log_tau[:, b], log_tau[:, a] + log_tau[:, b]
            # The geometric mean of two classes' joint densities, others absent.
            meet = log_w + both / 2 + np.logaddexp(log_tau[:, a], log_tau[:, b])
            along = meet - 0.5 * odds**2
            sizes[k] = np.logaddexp.reduce(along)
            near += [_shaped_like(z, weights) for weights in (along, log_w + both)]
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    shares = np.outer(part / part.sum(), (ALONG, ACROSS)).ravel()
    shares = np.append(shares, np.full(len(about), ABOUT / len(about)))
    return Sampler(model, [*near, *about], shares)


def _between(model: FittedModel, about: list[Any], pair: tuple[int, int]) -> Any:
    """Return a proposal where two classes meet, were they normal.

    Powers f_a^(1−t) f_b^t of two normal densities are normal again; the t whose middle lies on
    the boundary is the likeliest way to be there.
    """
    t, params = np.linspace(0, 1, 33)[:, None, None], model.state.params
    A, B = (np.linalg.inv(about[h].shape / WIDER) for h in pair)
    precision = (1 - t) * A + t * B
    pull = (1 - t) * (A @ about[pair[0]].loc)[:, None] + t * (B @ about[pair[1]].loc)[:, None]
    path = np.linalg.solve(precision, pull)[:, :, 0]
    log_tau = model.posterior(params.center + params.spread * path)[0][:, pair]
    k = int(np.abs(log_tau[:, 0] - log_tau[:, 1]).argmin())
    return multivariate_t(path[k], np.linalg.inv(precision[k]), df=TAIL)


def _shaped_like(z: FloatArray, log_w: FloatArray, wider: float = 1.0) -> Any:
    """Return a proposal with the mean and spread of weighted rows.

    The weights are evened out until they are worth enough equal ones.
    """
    w, log_w = np.full(len(z), 1.0), log_w - log_w.max()
    while w @ w * (20 + 3 * z.shape[1]) > 1:
        w = np.exp(log_w)
        w /= w.sum()
        log_w = 0.7 * log_w
    spread = wider * np.atleast_2d(np.cov(z.T, aweights=w))
    spread += (1e-9 * np.trace(spread) / len(spread) + 1e-300) * np.eye(len(spread))
    return multivariate_t(w @ z, spread, df=TAIL)


def draw_moments(
    model: FittedModel, n_draws: int, n_batches: int, review: Review, rng: Rng
) -> tuple[Axes, float, dict[str, list[Any]]]:
    """Draw features about a fitted model; return axes, log unit of Q, and the batches' sums."""
    X, state = model.draw(max(n_draws // n_batches, 500), rng)[0], model.state
    rows = Rows(X, np.full(len(X), -1), n_classes=len(model.classes))
    likelihood = Likelihood(rows, model.family, Ignorable())
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=False)
    axes, sampler = find_axes(model.family, chart), fit_sampler(model, rng)
    X = sampler.draw(-(-n_draws // n_batches) * n_batches, rng)
    posterior = model.posterior(X)
    drawn = (X, *posterior[:2], sampler.log_weights(X, posterior[2]))
    kernel = _kernel(drawn[1], drawn[3])
    parts = []
    for k in range(n_batches):  # each has rows from everywhere
        batch = (np.ascontiguousarray(part[k::n_batches]) for part in drawn)
        parts.append(_moments(model, axes, kernel, review, rng, *batch))
    return axes, kernel[1], {name: [part[name] for part in parts] for name in parts[0]}


def _kernel(log_tau: FloatArray, log_w: FloatArray) -> Kernel:
    """Return how far from a boundary rows still count, and a unit that keeps sums in range."""
    g = log_tau.shape[1]
    half_width, sizes = np.full((g, g), WIDEST), [-np.inf]
    for a, b in combinations(range(g), 2):
        odds, both = log_tau[:, a] - log_tau[:, b], np.logaddexp(log_tau[:, a], log_tau[:, b])
        # The geometric mean of two classes' joint densities, others absent.
        meet = log_w + (log_tau[:, a] + log_tau[:, b]) / 2 + both
        sizes.append(float(meet.max()))
        near = np.exp(meet - sizes[-1])
        # Narrow for what changes within a narrow range.
        spread = max(float(np.sqrt(near @ odds**2 / near.sum())), 1e-6)
        half_width[a, b] = half_width[b, a] = min(WIDEST, PART * spread)
    return half_width, max(sizes)


def _moments(
    model: FittedModel,
    axes: Axes,
    kernel: Kernel,
    review: Review,
    rng: Rng,
    X: FloatArray,
    *seen: FloatArray,
) -> dict[str, Any]:
    """Return sums over rows, each counted by its weight.

    Information of the ways is in classes and what else they estimate. The boundary's matrix Q has
    ``excess error = tr(Q V)`` (see :func:`efficiency`), in units of the kernel's.
    """
    log_tau, tau, log_w = seen
    w, labelled = np.exp(log_w), 0.0
    sums: list[Any] = [(), ()]
    one_expert = not isinstance(model.mechanism, Panel)
    answers = (_answers if one_expert else _said)(model, review, rng, log_tau, tau)
    for given, *ways in answers:
        labelled += float(w @ (given * ways[0][0]))
        for k, (chance, weights, gradient) in enumerate(ways):
            part = outer(w * chance, weights, gradient)
            sums[k] = add(sums[k], part) if sums[k] else part
    boundary, near = _boundary(kernel, log_w, log_tau)
    scores, classes = Scores(axes, X), (w[:, None] * tau)[:, :, None] * np.eye(tau.shape[1])
    complete = scores.total(classes)
    # What a way knows less than that: where no class is in doubt it is nothing, to the last digit.
    # For one expert it follows from differences of two classes' scores.
    ignorance, full = (scores.total(c - classes, e, i, one_expert) for c, e, i in sums)
    for each in (ignorance, full):
        each[: axes.size, : axes.size] += complete
    return {
        **{"complete": complete, "ignorance": ignorance, "full": full, "n": w.sum()},
        "boundary": scores.total(boundary, balanced=True),
        "near": np.abs(near).sum(),  # of the boundary's weights
        "near_squared": near @ near,
        "bayes": -w @ np.expm1(log_tau.max(axis=1)),
        "labelled": labelled,
    }


def _answers(
    model: FittedModel, review: Review, rng: Rng, log_tau: FloatArray, tau: FloatArray
) -> Iterator[Said]:
    """Yield all that one expert may say of rows: a label of each class, or none."""
    mechanism, theta, (n, g) = model.mechanism, model.state.theta, tau.shape
    nothing, still = np.zeros((n, 0)), np.zeros((n, theta.size))
    difficulty = mechanism.difficulty(log_tau, tau)
    for code in range(-1, g):
        given = np.full(n, code >= 0)
        if code < 1:
            evidence = mechanism.evidence(difficulty, given, theta)
        rows = row_term(evidence, log_tau, tau, np.full(n, code))
        log_p, weights, log_chance = rows.log_p, tau, np.zeros(n)
        if not mechanism.informative:
            log_p = mechanism.log_probability(difficulty.u, given, theta)[0]
        if code >= 0:
            weights, log_chance = np.broadcast_to(np.eye(g)[code], tau.shape), log_tau[:, code]
        chance = review.share * np.exp(log_p + log_chance)
        pulled = weights + rows.pull if len(rows.pull) else weights
        yield float(code >= 0), (chance, weights, nothing), (chance, pulled, rows.gradient)
        if review.share < 1:  # nobody was asked, but a label may have come some other way
            known = review.known if code >= 0 else 1 - review.known
            other = (1 - review.share) * known * np.exp(log_chance)
            yield float(code >= 0), (other, weights, nothing), (other, weights, still)


def _said(
    model: FittedModel, review: Review, rng: Rng, log_tau: FloatArray, tau: FloatArray
) -> Iterator[Said]:
    """Yield what a panel might say of rows, once, shown as some rows of the fit were."""
    panel, theta, (n, g) = model.mechanism, model.state.theta, tau.shape
    assert isinstance(panel, Panel)
    codes = (rng.random((n, 1)) > np.cumsum(tau[:, :-1], axis=1)).sum(axis=1)
    shown, settled = rng.random((n, 1)) < review.share, np.zeros(n, dtype=bool)
    if review.like is not None:
        place = rng.integers(len(review.like), size=n)
        shown, settled = review.like.shown[place], review.like.truth[place] >= 0
    said = panel.draw(codes, log_tau, tau, model.classes, rng)
    said = dataclasses.replace(said, said=np.where(shown, said.said, NOT_SHOWN))
    ignoring, q = copy.copy(panel), panel.hesitation.n_parameters
    ignoring.hesitation = Ignorable()
    known = np.where(settled[:, None], np.eye(g)[codes], tau)
    ways = []
    for mechanism, own in ((ignoring, panel.own(theta)[:, q:].ravel()), (panel, theta)):
        evidence = mechanism.evidence(mechanism.difficulty(log_tau, tau), said, own)
        rows = row_term(evidence, log_tau, tau, np.where(settled, codes, -1))
        ways.append((np.ones(n), known + rows.pull, rows.gradient))
    yield said.given.any(axis=1) | settled, ways[0], ways[1]


def of_classes(batches: Batches, k: int) -> Batches:
    """Return each batch's share (k, k) of the classes' information, all else estimated.

    Of the joint information [[A, B], [Bᵀ, D]] the classes keep ``A − B D⁻¹ Bᵀ``, to first order
    the sum over batches of ``RᵀJR`` with R = (1, −B D⁻¹)ᵀ.
    """
    if len(batches[0]) == k:
        return batches
    C = _regression(sum(J[:k, k:] for J in batches), sum(J[k:, k:] for J in batches))
    crosses = [J[:k, k:] @ C for J in batches]
    return [
        J[:k, :k] - cross - cross.T + C.T @ J[k:, k:] @ C
        for J, cross in zip(batches, crosses, strict=True)
    ]


def _regression(B: Any, D: Any) -> FloatArray:
    """Return ``D⁻¹ Bᵀ``; what D says nothing about explains nothing."""
    # Far apart classes leave a slope in entropy next to no information: scale before judging.
    size = np.sqrt(np.diag(D))
    size = np.where(size > 0, size, 1.0)
    value, vector = np.linalg.eigh(D / np.outer(size, size))
    keep = value > 1e-12
    half = vector[:, keep] / np.sqrt(value[keep]) / size[:, None]
    return np.asarray(half @ (half.T @ B.T))


def _boundary(
    kernel: Kernel, log_w: FloatArray, log_tau: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return weights of ``Σ ½ w τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, D the best two's log odds."""
    order = np.argsort(-log_tau, axis=1)
    ranked = np.take_along_axis(log_tau, order, axis=1)
    middle = (ranked[:, :1] + ranked[:, 1:]) / 2
    half_width = kernel[0][order[:, :1], order[:, 1:]]
    x = (ranked[:, :1] - ranked[:, 1:]) / half_width
    # A boundary of two classes ends where a third is as likely as both. Off the boundary that is
    # where it is as likely as their middle: sums on both sides then end at the same place.
    row, rank = np.nonzero((x < 1) & (middle >= ranked[:, 1:2]))
    x, half_width, middle = x[row, rank], half_width[row, rank], middle[row, rank]
    # A fourth-order kernel in place of the delta function: its bias is of the order reach⁴. Off
    # the boundary √(τ_a τ_b) stands for τ_a: with the density it changes least from there.
    heights = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / half_width
    weight = 0.5 * heights * np.exp(log_w[row] + middle - kernel[1])
    out = np.zeros((*log_tau.shape, log_tau.shape[1]))
    best, other = order[row, 0], order[row, rank + 1]
    for a, b, sign in ((best, best, 1), (other, other, 1), (best, other, -1), (other, best, -1)):
        np.add.at(out, (row, a, b), sign * weight)
    return out, weight


def ratio(above: list[float], below: list[float]) -> Figure:
    """Return the ratio of two sums over batches."""
    total, whole = float(sum(above)), float(sum(below))
    return total / whole, np.array(above) / (total or 1.0) - np.array(below) / whole


def figures_of(
    parts: dict[str, Batches], V: dict[str, Any], log_unit: float, open_rows: Figure
) -> dict[str, Figure]:
    """Return all that one number tells, but for the Bayes error; V are the ways' covariances."""
    Q = parts["boundary"]
    known = {way: _criteria(parts[way], V[way], Q) for way in WAYS}
    out = {}
    for way in WAYS:
        size, by = known[way]["error"]
        out[f"excess {way}"] = math.exp(size + log_unit), by
    # With a share of the open rows settled the information is I + share D. In coordinates where I
    # is the identity and D diagonal both criteria are sums.
    D = [a - b for a, b in zip(parts["complete"], parts["ignorance"], strict=True)]
    half = np.linalg.cholesky(sum(parts["ignorance"]))
    gain, vector = np.linalg.eigh(np.asarray(_whitened(half, sum(D)), dtype=float))
    weight = np.einsum("jk,jk->k", vector, _whitened(half, sum(Q)) @ vector)
    log_size: dict[str, Callable[[float], float]] = {
        "error": lambda share: np.log(np.sum(weight / (1 + share * gain))),
        "parameters": lambda share: -np.log(np.abs(1 + share * gain)).mean(),
    }
    for name, of_share in log_size.items():
        for pair, (one, other) in PAIRS.items():
            more, less = known[other][name], known[one][name]
            out[f"{name} {pair}"] = math.exp(more[0] - less[0]), more[1] - less[1]
        gained = known["full"][name][0] - known["ignorance"][name][0]
        pattern = parts["full"] is not parts["ignorance"]
        share = _share_worth(of_share, gained) if pattern else 0.0
        by = np.zeros(len(Q))
        if 0 < share < 2:
            some = [a + share * d for a, d in zip(parts["ignorance"], D, strict=True)]
            there = _criteria(some, np.linalg.inv(sum(some)), Q)[name][1]
            slope = (of_share(share + 1e-5) - of_share(share - 1e-5)) / 2e-5
            by = (known["full"][name][1] - there) / (slope * share)
        out[f"labels_worth {name}"] = share * open_rows[0], by + open_rows[1]
    return out


def _criteria(info: Batches, V: Any, boundary: Batches) -> dict[str, Figure]:
    """Return logarithms of what estimates with this information are judged by, with influences."""
    Q, shares = sum(boundary), np.array([np.vdot(V, J) for J in info]) / len(V)
    trace, error = float(np.vdot(V, Q)), (math.nan, np.full(len(info), math.nan))
    # A kernel with negative parts may, from very few rows, give a negative sum: then nothing is
    # known of the error.
    if trace > 0:
        bent = V @ Q @ V
        each = zip(boundary, info, strict=True)
        by = np.array([np.vdot(V, B) - np.vdot(bent, J) for B, J in each])
        error = math.log(trace), by / trace
    return {"error": error, "parameters": (float(np.linalg.slogdet(V)[1]) / len(V), -shares)}


def _whitened(half: Any, A: Any) -> FloatArray:
    """Return ``L⁻¹ A L⁻ᵀ``."""
    once = solve_triangular(half, A, lower=True, check_finite=False)
    return np.asarray(solve_triangular(half, once.T, lower=True, check_finite=False))


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
