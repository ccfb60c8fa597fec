"""Expected information of one row, by Monte Carlo, under three ways of seeing labels.

With ``s_h`` the score of a row with class h, ``s̄`` its mean over the class posteriors, p(x) the
chance of a label and ``C = Σ_h τ_h (s_h − s̄)(s_h − s̄)ᵀ`` what a label adds to the features:

    complete labels   E[s̄ s̄ᵀ] + E[C]
    ignorance         E[s̄ s̄ᵀ] + E[p C]
    full              the last, and the pattern's own information, mechanism estimated

The averages over labels and over the pattern are exact; only features are drawn, some of them
where classes meet (see :mod:`hesitant.inference._boundary`).
"""

from typing import Any, NamedTuple

import numpy as np

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.inference._boundary import Sampler, fit_sampler
from hesitant.inference._scores import Axes, Scores, find_axes, label_spread
from hesitant.likelihood import Likelihood
from hesitant.mechanisms import row_term
from hesitant.model import FittedModel
from hesitant.rows import Rows


class Moments(NamedTuple):
    """Weighted sums over drawn rows, from which every efficiency follows.

    The pattern's information is in classes and mechanism (k + q); the boundary's matrix Q has
    ``excess error = tr(Q V)`` (see :func:`efficiency`), in units of the sampler's size.
    """

    n: float  # rows drawn, each counted by its weight
    features: FloatArray  # Σ s̄ s̄ᵀ
    label: FloatArray  # Σ C, what all labels add
    seen: FloatArray  # Σ p C, what the labels given add
    pattern: FloatArray
    boundary: FloatArray
    near: float  # sums of the boundary's weights, absolute and squared
    near_squared: float
    bayes: float  # Σ (1 − max τ)
    labelled: float  # Σ p

    def less(self, other: "Moments") -> "Moments":
        """Return the sums without other rows'."""
        pairs: Any = zip(self, other, strict=True)
        return Moments(*(a - b for a, b in pairs))

    def along(self, U: FloatArray) -> "Moments":
        """Return the same for movements along the columns of U only."""
        k, q = len(self.features), len(self.pattern) - len(self.features)
        both = np.zeros((k + q, U.shape[1] + q))
        both[:k, : U.shape[1]], both[k:, U.shape[1] :] = U, np.eye(q)
        return self._replace(
            pattern=both.T @ self.pattern @ both,
            **{f: U.T @ getattr(self, f) @ U for f in ("features", "label", "seen", "boundary")},
        )

    @property
    def complete(self) -> FloatArray:
        """Information of the classes when every row is labelled."""
        return self.features + self.label

    @property
    def ignorance(self) -> FloatArray:
        """Information of the classes from features and the labels given."""
        return self.features + self.seen

    @property
    def full(self) -> FloatArray:
        """Information of the classes from features, labels given and pattern."""
        k = len(self.features)
        A, B, D = self.pattern[:k, :k], self.pattern[:k, k:], self.pattern[k:, k:]
        return self.ignorance + A - _explained(B, D)

    @property
    def rows_at_boundary(self) -> float:
        """How many equally weighted rows the boundary's sum is worth."""
        return self.near**2 / self.near_squared if self.near_squared > 0 else 0.0


def _explained(B: FloatArray, D: FloatArray) -> FloatArray:
    """Return ``B D⁻¹ Bᵀ``; what D says nothing about explains nothing."""
    # Far apart classes leave a slope in entropy next to no information: scale before judging.
    size = np.sqrt(np.diag(D))
    size = np.where(size > 0, size, 1.0)
    value, vector = np.linalg.eigh(D / np.outer(size, size))
    keep = value > 1e-12
    half = (B / size) @ vector[:, keep] / np.sqrt(value[keep])
    return np.asarray(half @ half.T)


def draw_moments(
    model: FittedModel, n_draws: int, n_batches: int, rng: np.random.Generator
) -> tuple[Axes, Sampler, list[Moments]]:
    """Draw features about a fitted model; return the axes, the sampler and each batch's sums."""
    size = -(-n_draws // n_batches)
    X, state = model.sample(max(size, 500), rng, -1)[0], model.state
    rows = Rows(X, np.full(len(X), -1), n_classes=len(model.classes))
    likelihood = Likelihood(rows, model.family, model.mechanism)
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    axes, sampler = find_axes(model.family, chart), fit_sampler(model, rng)
    draws = (sampler.draw(size, rng) for _ in range(n_batches))
    return axes, sampler, [_moments(sampler, axes, X) for X in draws]


def _moments(sampler: Sampler, axes: Axes, X: FloatArray) -> Moments:
    model = sampler.model
    log_tau, tau, log_f = model.posterior(X)
    log_w = sampler.log_weights(X, log_f)
    w = np.exp(log_w)
    each = w[:, None, None]
    features, label = tau[:, :, None] * tau[:, None], label_spread(tau)
    seen, *pattern = _pattern(model, log_tau, tau, features, label, w)
    boundary, near = _boundary(sampler, log_w, log_tau)
    scores = Scores(axes, X)

    def total(weights: FloatArray, *more: FloatArray, balanced: bool = False) -> FloatArray:
        return axes.matrix(*scores.sums(weights, balanced, *more))

    return Moments(
        n=float(w.sum()),
        features=total(each * features),
        label=total(each * label, balanced=True),
        seen=total(each * seen),
        pattern=axes.in_chart(total(*pattern)),
        boundary=total(boundary, balanced=True),
        near=float(np.abs(near).sum()),
        near_squared=float(near @ near),
        bayes=-float(w @ np.expm1(log_tau.max(axis=1))),
        labelled=float(w @ model.mechanism.probability(log_tau, tau)),
    )


def _pattern(
    model: FittedModel,
    log_tau: FloatArray,
    tau: FloatArray,
    features: FloatArray,
    label: FloatArray,
    w: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return weights of what labels given add to the features, and the pattern to both.

    Averages over what may be said of a row are exact.
    """
    mechanism, theta, (n, g) = model.mechanism, model.state.theta, tau.shape
    difficulty = mechanism.difficulty(log_tau, tau)
    by_class = mechanism.by_class
    if by_class:
        given = tau * np.exp(mechanism.evidence(difficulty, np.ones(n, bool), theta).log_p)
        seen = given[:, :, None] * np.eye(g) - given.sum(axis=1)[:, None, None] * features
    else:
        seen = mechanism.probability(log_tau, tau)[:, None, None] * label
    outer, edges = np.zeros((n, g, g)), np.zeros((n, g, theta.size))
    inner = np.zeros((theta.size, theta.size))
    # Where the classes' chances differ, which label it is matters too.
    for code, said in (*((h, True) for h in (range(g) if by_class else [-1])), (-1, False)):
        evidence = mechanism.evidence(difficulty, np.full(n, said), theta)
        rows = row_term(evidence, log_tau, tau, np.full(n, code))
        p = w * np.exp(rows.log_p + (log_tau[:, code] if code >= 0 else 0.0))
        pull = rows.pull if len(rows.pull) else np.zeros_like(tau)
        if by_class:
            pull = pull + (np.eye(g)[code] if code >= 0 else tau)
        outer += p[:, None, None] * pull[:, :, None] * pull[:, None]
        edges += p[:, None, None] * pull[:, :, None] * rows.gradient[:, None]
        inner += (p[:, None] * rows.gradient).T @ rows.gradient
    if by_class:  # what features and labels tell is counted already
        outer -= w[:, None, None] * (features + seen)
    return seen, outer, edges, inner


def _boundary(
    sampler: Sampler, log_w: FloatArray, log_tau: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return weights of ``Σ ½ w τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, row by row and one by one.

    D are the log odds of the two best classes, a and b.
    """
    order = np.argsort(-log_tau, axis=1)
    ranked = np.take_along_axis(log_tau, order, axis=1)
    middle = (ranked[:, :1] + ranked[:, 1:]) / 2
    half_width = sampler.half_width[order[:, :1], order[:, 1:]]
    x = (ranked[:, :1] - ranked[:, 1:]) / half_width
    # A boundary of two classes ends where a third is as likely as both. Off the boundary that is
    # where it is as likely as their middle: sums on both sides then end at the same place.
    row, rank = np.nonzero((x < 1) & (middle >= ranked[:, 1:2]))
    x, half_width, middle = x[row, rank], half_width[row, rank], middle[row, rank]
    # A fourth-order kernel in place of the delta function: its bias is of the order reach⁴. Off
    # the boundary √(τ_a τ_b) stands for τ_a: with the density it changes least from there.
    kernel = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / half_width
    weight = 0.5 * kernel * np.exp(log_w[row] + middle - sampler.log_size)
    out = np.zeros((*log_tau.shape, log_tau.shape[1]))
    best, other = order[row, 0], order[row, rank + 1]
    for a, b, sign in ((best, best, 1), (other, other, 1), (best, other, -1), (other, best, -1)):
        np.add.at(out, (row, a, b), sign * weight)
    return out, weight
