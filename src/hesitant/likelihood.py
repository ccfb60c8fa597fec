"""The one computation: a value, and a weight for every row and class.

For any likelihood of the package the gradient is a weighted complete-data score with weights

    w_ih = a_i (1[h = y_i] if labelled else τ_ih)  +  (∂ log p(r_i | u_i) / ∂u) ∂u_i/∂ℓ_ih.

The first part is what EM uses; the second, signed and summing to zero over h, is the pull of the
label pattern, and belongs to the mechanism. The family turns weights into statistics, from which
follow both its M-step and its score.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import numpy as np

from hesitant._compile import njit
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.families import Family
from hesitant.families._base import Params, Statistics
from hesitant.mechanisms import Ignorable, Mechanism
from hesitant.mechanisms._base import Sums
from hesitant.rows import Block, ManyRows

__all__ = ["Evaluation", "Likelihood", "State", "log_posterior", "normalise"]


@dataclasses.dataclass(frozen=True)
class State:
    """Everything that is estimated.

    Attributes
    ----------
    weights : array of shape (g,)
        Class weights π.
    params : object
        The family's parameters.
    theta : array
        The mechanism's parameters (β).
    """

    weights: FloatArray
    params: Params
    theta: FloatArray


class Evaluation(NamedTuple):
    """A likelihood at a state, with all that a solver needs to improve on it."""

    log_likelihood: float
    objective: float
    counts: FloatArray
    theta_gradient: FloatArray
    theta_curvature: FloatArray
    statistics: Statistics


class Likelihood:
    """A mixture family and a missing-label mechanism, joined over rows of data."""

    def __init__(self, rows: ManyRows, family: Family, mechanism: Mechanism) -> None:
        self.rows, self.family, self.mechanism = rows, family, mechanism

    def ignoring(self) -> "Likelihood":
        """Return the same likelihood without the label pattern."""
        return Likelihood(self.rows, self.family, Ignorable())

    def evaluate(self, state: State) -> Evaluation:
        """Return value, weighted statistics and the mechanism's derivatives at a state."""
        work = partial(_evaluate_block, family=self.family, mechanism=self.mechanism, state=state)
        value, counts, gradient, curvature, *statistics = self.rows.sum(work)
        objective, gradient, curvature = self.mechanism.add_prior(
            state.theta, (value, gradient, curvature)
        )
        objective += self.family.log_prior(state.params)
        return Evaluation(value, objective, counts, gradient, curvature, tuple(statistics))

    def maximise(self, state: State, evaluation: Evaluation) -> State:
        """Return the M-step's answer to weighted statistics; theta stays."""
        params = self.family.maximise(state.params, evaluation.statistics)
        counts = np.maximum(evaluation.counts, 0.0)
        return dataclasses.replace(state, weights=counts / counts.sum(), params=params)

    def refit_mechanism(self, state: State, tol: float = 1e-12) -> State:
        """Return the state with theta at its best for these classes (a logistic regression)."""
        if state.theta.size == 0:
            return state
        measure = partial(
            _uncertainty_block, family=self.family, mechanism=self.mechanism, state=state
        )
        uncertainty = self.rows.map(measure)

        def total(theta: FloatArray) -> Sums:
            terms = partial(_terms_block, mechanism=self.mechanism, theta=theta)
            out: Sums = self.rows.sum(terms, uncertainty)
            return out

        return dataclasses.replace(state, theta=self.mechanism.maximise(total, state.theta, tol))


def log_posterior(
    family: Family, state: State, X: AnyArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log posteriors (n, g), posteriors (n, g) and log densities of the rows (n,)."""
    return _posterior(family.log_density(state.params, X), state)


def _posterior(joint: FloatArray, state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    joint += np.log(np.maximum(state.weights, 1e-300))  # an empty class is improbable, not NaN
    return normalise(joint)


def _evaluate_block(
    block: Block, family: Family, mechanism: Mechanism, state: State
) -> tuple[float | FloatArray, ...]:
    log_density, kept = family.look(state.params, block.X)
    log_tau, tau, log_f = _posterior(log_density, state)
    value, counts, w = _expected_labels(log_tau, tau, log_f, block.codes, block.weight)
    pattern, gradient, curvature = mechanism.contribute(
        log_tau, tau, block.labelled, block.review, state.theta, w, counts
    )
    given = () if kept is None else (kept,)  # a family that keeps nothing may not ask for it
    statistics = family.statistics(state.params, block.X, w, *given)
    return value + pattern, counts, gradient, curvature, *statistics


def _uncertainty_block(
    block: Block, family: Family, mechanism: Mechanism, state: State
) -> FloatArray:
    log_tau, tau, _ = log_posterior(family, state, block.X)
    return mechanism.uncertainty.evaluate(log_tau, tau)[0]


def _terms_block(block: Block, u: FloatArray, mechanism: Mechanism, theta: FloatArray) -> Sums:
    terms = mechanism.terms(u, block.labelled, block.review, theta)
    return terms.value, terms.gradient, terms.curvature


@njit(cache=True, nogil=True, error_model="numpy")
def normalise(joint: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what :func:`log_posterior` does from log joint densities, which it overwrites."""
    # Relative to the largest term: the winner's log posterior is −log1p(rest), exact even where
    # its posterior rounds to one.
    n, g = joint.shape
    tau = np.empty((n, g))
    log_f = np.empty(n)
    d = np.empty((g, STRIP))
    e = np.empty((g, STRIP))
    top = np.empty(STRIP, dtype=np.int64)
    peak = np.empty(STRIP)
    rest = np.empty(STRIP)
    excess = np.empty(STRIP)
    share = np.empty(STRIP)
    work = np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for b in range(m):
            for h in range(g):
                d[h, b] = joint[start + b, h]
        for b in range(m):
            peak[b] = d[0, b]
            top[b] = 0
            rest[b] = 0.0
        for h in range(1, g):
            for b in range(m):
                higher = d[h, b] > peak[b]
                peak[b] = d[h, b] if higher else peak[b]
                top[b] = h if higher else top[b]
        for h in range(g):
            for b in range(m):
                d[h, b] = max(d[h, b] - peak[b], -1e300)
                e[h, b] = d[h, b]
            exp_strip(e[h], m, work)
            for b in range(m):
                rest[b] += e[h, b] if h != top[b] else 0.0
        log1p_strip(rest, m, excess)
        for b in range(m):
            share[b] = 1.0 / (1.0 + rest[b])
            log_f[start + b] = peak[b] + excess[b]
        for b in range(m):
            for h in range(g):
                joint[start + b, h] = d[h, b] - excess[b]
                tau[start + b, h] = e[h, b] * share[b]
    return joint, tau, log_f


@njit(cache=True, nogil=True, error_model="numpy")
def _expected_labels(
    log_tau: FloatArray,
    tau: FloatArray,
    log_f: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    n, g = log_tau.shape
    w = np.empty((n, g))
    counts = np.zeros(g)
    value = 0.0
    for i in range(n):
        a = weight[i]
        y = codes[i]
        value += a * (log_f[i] + (log_tau[i, y] if y >= 0 else 0.0))
        for h in range(g):
            w[i, h] = a * ((1.0 if h == y else 0.0) if y >= 0 else tau[i, h])
            counts[h] += w[i, h]
    return value, counts, w
