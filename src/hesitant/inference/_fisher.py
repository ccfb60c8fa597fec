"""Expected information of one row, by Monte Carlo, under three ways of seeing labels.

With ``s_h`` the score of a row with class h, ``s̄`` its mean over the class posteriors, p(x) the
chance of a label and ``C = Σ_h τ_h (s_h − s̄)(s_h − s̄)ᵀ`` what a label adds to the features:

    complete labels   E[s̄ s̄ᵀ] + E[C]
    ignorance         E[s̄ s̄ᵀ] + E[p C]
    full              the last, and the pattern's own information, mechanism estimated

The averages over labels and over the pattern are exact; only features are drawn.
"""

import dataclasses
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.inference._scores import class_scores, entropy_scores, n_class_axes
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.rows import Rows
from hesitant.solvers._chart import Chart

__all__ = ["Moments", "draw_moments"]

# Half-width of the kernel, in log odds, that picks rows at a class boundary.
REACH = 1.0


@dataclasses.dataclass(frozen=True)
class Moments:
    """Sums over drawn rows, from which every efficiency follows.

    Attributes
    ----------
    n : float
        Rows drawn.
    features : array (k, k)
        Σ s̄ s̄ᵀ.
    label : array (k, k)
        Σ C, what all labels add.
    seen : array (k, k)
        Σ p C, what the labels given add.
    pattern : array (k + q, k + q)
        Information of the pattern in classes and mechanism.
    boundary : array (k, k)
        Q with ``excess error = tr(Q V)`` (see :func:`efficiency`).
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
        return self.ignorance + A - (B @ np.linalg.solve(D, B.T) if len(D) else 0.0)

    def with_more_labels(self, share: float) -> FloatArray:
        """Information without the pattern when a random share of the blanks is labelled too."""
        return self.ignorance + share * (self.label - self.seen)


def draw_moments(
    clf: Any, n_draws: int, n_batches: int, rng: np.random.Generator
) -> tuple[Chart, list[Moments]]:
    """Draw features from a fitted model; return the chart and each batch's sums."""
    size = -(-n_draws // n_batches)
    batches = [
        np.ascontiguousarray(clf.sample(size, int(rng.integers(2**31 - 1)))[0])
        for _ in range(n_batches)
    ]
    X = batches[0]
    rows = Rows(X, np.full(len(X), -1), n_classes=len(clf.classes_))
    likelihood = Likelihood(rows, clf.family_, clf.mechanism_)
    state: State = clf.state_
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    return chart, [_moments(clf, chart, batch) for batch in batches]


def _moments(clf: Any, chart: Chart, X: FloatArray) -> Moments:
    log_tau, tau, _ = log_posterior(clf.family_, clf.state_, X)
    s = class_scores(clf.family_, chart, X)
    mean = np.einsum("ig,igk->ik", tau, s)
    centred = s - mean[:, None, :]
    p = clf.mechanism_.probability(log_tau, tau)
    return Moments(
        n=float(len(X)),
        features=mean.T @ mean,
        label=_outer(tau, centred),
        seen=_outer(p[:, None] * tau, centred),
        pattern=_pattern(clf, chart, s, log_tau, tau),
        boundary=_boundary(log_tau, tau, s),
        bayes=float((1 - tau.max(axis=1)).sum()),
        labelled=float(p.sum()),
    )


def _outer(weight: FloatArray, v: FloatArray) -> FloatArray:
    flat = (np.sqrt(weight)[:, :, None] * v).reshape(-1, v.shape[2])
    return np.asarray(flat.T @ flat)


def _pattern(
    clf: Any, chart: Chart, s: FloatArray, log_tau: FloatArray, tau: FloatArray
) -> FloatArray:
    mechanism, theta = clf.mechanism_, clf.state_.theta
    k = n_class_axes(chart)
    out = np.zeros((k + theta.size, k + theta.size))
    if not mechanism.informative:
        return out
    u, du = mechanism.uncertainty.evaluate(log_tau, tau)
    move = entropy_scores(s, du)
    for outcome in (True, False):  # the average over the two outcomes is exact
        seen = np.full(u.size, outcome)
        log_p, slope, gradient = mechanism.log_probability(u, seen, theta)
        d = np.exp(0.5 * log_p)[:, None] * np.hstack(
            (slope[:, None] * move, gradient @ chart.theta_axes)
        )
        out += d.T @ d
    return out


def _boundary(log_tau: FloatArray, tau: FloatArray, s: FloatArray) -> FloatArray:
    """Return ``Σ ½ τ_a δ(D) (s_a − s_b)(s_a − s_b)ᵀ``, D the log odds of the two best classes."""
    order = np.argsort(-log_tau, axis=1)[:, :2]
    rows = np.arange(len(tau))
    a, b = order.T
    x = (log_tau[rows, a] - log_tau[rows, b]) / REACH
    near = np.flatnonzero(x < 1)
    x, a, b = x[near], a[near], b[near]
    # A fourth-order kernel in place of the delta function: its bias is of the order REACH⁴.
    kernel = 15 / 32 * (3 - 10 * x**2 + 7 * x**4) / REACH
    weight = 0.5 * (tau[near, a] + tau[near, b]) / 2 * kernel
    apart = s[near, a] - s[near, b]
    return np.asarray((weight[:, None] * apart).T @ apart)
