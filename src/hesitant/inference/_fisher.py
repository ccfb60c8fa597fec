"""Expected information of one row, by Monte Carlo, under three ways of seeing labels.

With ``s_h`` the score of a row with class h, ``s̄`` its mean over the class posteriors, p(x) the
chance of a label and ``C = Σ_h τ_h (s_h − s̄)(s_h − s̄)ᵀ`` what a label adds to the features:

    complete labels   E[s̄ s̄ᵀ] + E[C]
    ignorance         E[s̄ s̄ᵀ] + E[p C]
    full              the last, and the pattern's own information, mechanism estimated

The averages over labels and over the pattern are exact; only features are drawn, some of them
where classes meet (see :mod:`hesitant.inference._aim`).
"""

import dataclasses
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.inference._aim import Aim, take_aim
from hesitant.inference._axes import Axes, find_axes
from hesitant.inference._scores import class_scores, spread_out
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.mechanisms import row_term
from hesitant.rows import Rows

__all__ = ["Moments", "draw_moments"]


@dataclasses.dataclass(frozen=True)
class Moments:
    """Weighted sums over drawn rows, from which every efficiency follows.

    Attributes
    ----------
    n : float
        Rows drawn, each counted by its weight.
    features : array (k, k)
        Σ s̄ s̄ᵀ.
    label : array (k, k)
        Σ C, what all labels add.
    seen : array (k, k)
        Σ p C, what the labels given add.
    pattern : array (k + q, k + q)
        Information of the pattern in classes and mechanism.
    boundary : array (k, k)
        Q with ``excess error = tr(Q V)`` (see :func:`efficiency`), in units of the aim's level.
    near, near_squared : float
        Sums of the boundary's weights, absolute and squared.
    bayes : float
        Σ (1 − max τ).
    labelled : float
        Σ p.
    """

    n: float
    features: FloatArray
    label: FloatArray
    seen: FloatArray
    pattern: FloatArray
    boundary: FloatArray
    near: float
    near_squared: float
    bayes: float
    labelled: float

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
) -> tuple[Chart, Aim, list[Moments]]:
    """Draw features about a fitted model; return the chart, the aim and each batch's sums."""
    size = -(-n_draws // n_batches)
    X = np.ascontiguousarray(clf.sample(max(size, 500), int(rng.integers(2**31 - 1)))[0])
    rows = Rows(X, np.full(len(X), -1), n_classes=len(clf.classes_))
    likelihood = Likelihood(rows, clf.family_, clf.mechanism_)
    state: State = clf.state_
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    axes, aim = find_axes(clf.family_, chart), take_aim(clf, rng)
    return chart, aim, [_moments(aim, axes, aim.draw(size, rng)) for _ in range(n_batches)]


def _moments(aim: Aim, axes: Axes, X: FloatArray) -> Moments:
    clf = aim.clf
    log_tau, tau, log_f = log_posterior(clf.family_, clf.state_, X)
    log_w = aim.log_weights(X, log_f)
    w = np.exp(log_w)
    s = spread_out(axes, class_scores(clf.family_, axes, X))
    mean = np.einsum("ig,igk->ik", tau, s)
    centred = s - mean[:, None, :]
    p = clf.mechanism_.probability(log_tau, tau)
    boundary, near, near_squared = _boundary(aim, log_w, log_tau, s)
    return Moments(
        n=float(w.sum()),
        features=(w[:, None] * mean).T @ mean,
        label=_outer(w[:, None] * tau, centred),
        seen=_seen(clf.mechanism_, w, s, log_tau, tau),
        pattern=_pattern(clf, axes.chart, w, s, log_tau, tau),
        boundary=boundary,
        near=near,
        near_squared=near_squared,
        bayes=-float(w @ np.expm1(log_tau.max(axis=1))),
        labelled=float(w @ p),
    )


def _outer(weight: FloatArray, v: FloatArray) -> FloatArray:
    flat = (np.sqrt(weight)[:, :, None] * v).reshape(-1, v.shape[2])
    return np.asarray(flat.T @ flat)


def _pattern(
    clf: Any, chart: Chart, w: FloatArray, s: FloatArray, log_tau: FloatArray, tau: FloatArray
) -> FloatArray:
    """Return what the pattern adds to features and labels given; its average is exact."""
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
        mean = np.einsum("ig,igk->ik", tau, s)
        out[:k, :k] -= (w[:, None] * mean).T @ mean + _seen(mechanism, w, s, log_tau, tau)
    return out


def _seen(
    mechanism: Any, w: FloatArray, s: FloatArray, log_tau: FloatArray, tau: FloatArray
) -> FloatArray:
    """Return what the labels given add to the features."""
    mean = np.einsum("ig,igk->ik", tau, s)
    if not mechanism.by_class:
        p = mechanism.probability(log_tau, tau)
        return _outer((w * p)[:, None] * tau, s - mean[:, None])
    everybody = np.ones(len(tau), dtype=bool)
    difficulty = mechanism.difficulty(log_tau, tau, slopes=False)
    evidence = mechanism.evidence(difficulty, everybody, mechanism.parameters_)
    given = tau * np.exp(evidence.log_p)
    overall = (w * given.sum(axis=1))[:, None] * mean
    return _outer(w[:, None] * given, s) - overall.T @ mean


def _boundary(
    aim: Aim, log_w: FloatArray, log_tau: FloatArray, s: FloatArray
) -> tuple[FloatArray, float, float]:
    """Return ``Σ ½ w τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, D the log odds of the two best classes.

    The size of its weights follows, absolute and squared.
    """
    order = np.argsort(-log_tau, axis=1)
    ranked = np.take_along_axis(log_tau, order, axis=1)
    middle = (ranked[:, :1] + ranked[:, 1:]) / 2
    reach = aim.reach[order[:, :1], order[:, 1:]]
    x = (ranked[:, :1] - ranked[:, 1:]) / reach
    # A boundary of two classes ends where a third is as likely as both. Off the boundary that is
    # where it is as likely as their middle: sums on both sides then end at the same place.
    row, rank = np.nonzero((x < 1) & (middle >= ranked[:, 1:2]))
    x, reach, middle = x[row, rank], reach[row, rank], middle[row, rank]
    # A fourth-order kernel in place of the delta function: its bias is of the order reach⁴. Off
    # the boundary √(τ_a τ_b) stands for τ_a: with the density it changes least from there.
    kernel = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / reach
    weight = 0.5 * kernel * np.exp(log_w[row] + middle - aim.level)
    apart = s[row, order[row, 0]] - s[row, order[row, rank + 1]]
    size = np.abs(weight)
    return np.asarray((weight[:, None] * apart).T @ apart), float(size.sum()), float(size @ size)
