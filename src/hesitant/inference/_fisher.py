"""Expected information of one row, by Monte Carlo, under three ways of seeing labels.

With ``s_h`` the score of a row with class h, ``s̄`` its mean over the class posteriors, p(x) the
chance of a label and ``C = Σ_h τ_h (s_h − s̄)(s_h − s̄)ᵀ`` what a label adds to the features:

    complete labels   E[s̄ s̄ᵀ] + E[C]
    ignorance         E[s̄ s̄ᵀ] + E[p C]
    full              the last, and the pattern's own information, mechanism estimated

The averages over labels and over the pattern are exact; only features are drawn, some of them
where classes meet (see :mod:`hesitant.inference._boundary`).
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.inference._boundary import Sampler, fit_sampler
from hesitant.inference._scores import Axes, class_scores, find_axes, spread_out
from hesitant.likelihood import Likelihood, log_posterior
from hesitant.mechanisms import row_term
from hesitant.rows import Rows


@dataclasses.dataclass(frozen=True)
class Moments:
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

    def __add__(self, other: "Moments") -> "Moments":
        return self._combine(other, 1.0)

    def __sub__(self, other: "Moments") -> "Moments":
        return self._combine(other, -1.0)

    def _combine(self, other: "Moments", sign: float) -> "Moments":
        fields = [f.name for f in dataclasses.fields(self)]
        return Moments(*(getattr(self, f) + sign * getattr(other, f) for f in fields))

    def along(self, U: FloatArray) -> "Moments":
        """Return the same for movements along the columns of U only."""
        k, q = len(self.features), len(self.pattern) - len(self.features)
        both = np.zeros((k + q, U.shape[1] + q))
        both[:k, : U.shape[1]], both[k:, U.shape[1] :] = U, np.eye(q)
        return dataclasses.replace(
            self,
            features=U.T @ self.features @ U,
            label=U.T @ self.label @ U,
            seen=U.T @ self.seen @ U,
            pattern=both.T @ self.pattern @ both,
            boundary=U.T @ self.boundary @ U,
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

    def with_more_labels(self, share: float) -> FloatArray:
        """Information without the pattern when a random share of the blanks is labelled too."""
        return self.ignorance + share * (self.label - self.seen)


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
    clf: Any, n_draws: int, n_batches: int, rng: np.random.Generator
) -> tuple[Chart, Sampler, list[Moments]]:
    """Draw features about a fitted model; return the chart, the sampler and each batch's sums."""
    size = -(-n_draws // n_batches)
    X = np.ascontiguousarray(clf.sample(max(size, 500), int(rng.integers(2**31 - 1)))[0])
    rows = Rows(X, np.full(len(X), -1), n_classes=len(clf.classes_))
    likelihood = Likelihood(rows, clf.family_, clf.mechanism_)
    chart = Chart(likelihood, clf.state_, likelihood.evaluate(clf.state_), mechanism=True)
    axes, sampler = find_axes(clf.family_, chart), fit_sampler(clf, rng)
    draws = (sampler.draw(size, rng) for _ in range(n_batches))
    return chart, sampler, [_moments(sampler, axes, X) for X in draws]


class _Drawn(NamedTuple):
    """Rows that were drawn."""

    weight: FloatArray
    log_tau: FloatArray
    tau: FloatArray
    scores: FloatArray  # (n, g, k)
    mean: FloatArray  # of the scores over the classes


def _moments(sampler: Sampler, axes: Axes, X: FloatArray) -> Moments:
    clf = sampler.clf
    log_tau, tau, log_f = log_posterior(clf.family_, clf.state_, X)
    log_w = sampler.log_weights(X, log_f)
    w = np.exp(log_w)
    s = spread_out(axes, class_scores(clf.family_, axes, X))
    mean = np.einsum("ig,igk->ik", tau, s)
    drawn = _Drawn(w, log_tau, tau, s, mean)
    features = (w[:, None] * mean).T @ mean
    seen = _seen(clf.mechanism_, drawn)
    return Moments(
        n=float(w.sum()),
        features=features,
        label=_outer(w[:, None] * tau, s - mean[:, None, :]),
        seen=seen,
        pattern=_pattern(clf, axes.chart, drawn, features + seen),
        **_boundary(sampler, log_w, drawn),
        bayes=-float(w @ np.expm1(log_tau.max(axis=1))),
        labelled=float(w @ clf.mechanism_.probability(log_tau, tau)),
    )


def _outer(weight: FloatArray, v: FloatArray) -> FloatArray:
    flat = (np.sqrt(weight)[:, :, None] * v).reshape(-1, v.shape[2])
    return np.asarray(flat.T @ flat)


def _pattern(clf: Any, chart: Chart, drawn: _Drawn, known: FloatArray) -> FloatArray:
    """Return what the pattern adds to what features and labels tell; its average is exact."""
    w, log_tau, tau, s, _ = drawn
    mechanism, theta = clf.mechanism_, clf.state_.theta
    (n, g), k = tau.shape, s.shape[2]
    out = np.zeros((k + theta.size, k + theta.size))
    difficulty = mechanism.difficulty(log_tau, tau)
    # Where the classes' chances differ, which label it is matters too.
    labels = range(g) if mechanism.by_class else [-1]
    for label, said in (*((h, True) for h in labels), (-1, False)):
        evidence = mechanism.evidence(difficulty, np.full(n, said), theta)
        rows = row_term(evidence, log_tau, tau, np.full(n, label))
        log_p = rows.log_p + (log_tau[:, label] if label >= 0 else 0.0)
        weights = rows.pull
        if mechanism.by_class:
            weights = weights + (np.eye(g)[label] if label >= 0 else tau)
        d = (np.sqrt(w) * np.exp(0.5 * log_p))[:, None] * np.hstack(
            (np.einsum("ig,igk->ik", weights, s), rows.gradient @ chart.theta_axes)
        )
        out += d.T @ d
    if mechanism.by_class:
        out[:k, :k] -= known
    return out


def _seen(mechanism: Any, drawn: _Drawn) -> FloatArray:
    """Return what the labels given add to the features."""
    w, log_tau, tau, s, mean = drawn
    if not mechanism.by_class:
        p = mechanism.probability(log_tau, tau)
        return _outer((w * p)[:, None] * tau, s - mean[:, None])
    everybody = np.ones(len(tau), dtype=bool)
    difficulty = mechanism.difficulty(log_tau, tau, slopes=False)
    evidence = mechanism.evidence(difficulty, everybody, mechanism.parameters_)
    given = tau * np.exp(evidence.log_p)
    overall = (w * given.sum(axis=1))[:, None] * mean
    return _outer(w[:, None] * given, s) - overall.T @ mean


def _boundary(sampler: Sampler, log_w: FloatArray, drawn: _Drawn) -> dict[str, Any]:
    """Return ``Σ ½ w τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, D the log odds of the two best classes.

    The size of its weights follows, absolute and squared.
    """
    log_tau, s = drawn.log_tau, drawn.scores
    order = np.argsort(-log_tau, axis=1)
    ranked = np.take_along_axis(log_tau, order, axis=1)
    middle = (ranked[:, :1] + ranked[:, 1:]) / 2
    half_width = sampler.half_width[order[:, :1], order[:, 1:]]
    x = (ranked[:, :1] - ranked[:, 1:]) / half_width
    # A boundary of two classes ends where a third is as likely as both. Off the boundary that is
    # where it is as likely as their middle: sums on both sides then end at the same proposal.
    row, rank = np.nonzero((x < 1) & (middle >= ranked[:, 1:2]))
    x, half_width, middle = x[row, rank], half_width[row, rank], middle[row, rank]
    # A fourth-order kernel in proposal of the delta function: its bias is of the order reach⁴. Off
    # the boundary √(τ_a τ_b) stands for τ_a: with the density it changes least from there.
    kernel = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / half_width
    weight = 0.5 * kernel * np.exp(log_w[row] + middle - sampler.log_size)
    apart = s[row, order[row, 0]] - s[row, order[row, rank + 1]]
    size, squares = np.abs(weight), float(weight @ weight)
    total = (weight[:, None] * apart).T @ apart
    return {"boundary": total, "near": float(size.sum()), "near_squared": squares}
