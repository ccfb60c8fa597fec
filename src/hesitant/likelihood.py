"""The one computation: a value, and a weight for every row and class.

For any likelihood of the package the gradient is a weighted complete-data score with weights

    w_ih = c_i (1[h = y_i] if labelled else τ_ih)  +  v_i ∂ log p(said_i | x_i) / ∂ℓ_ih.

The first part is what EM uses; the second, signed and summing to zero over h, is the pull of what
was said of the row. The family turns weights into statistics, for its M-step and its score.
"""

import dataclasses
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.special import xlogy

from hesitant._compile import njit
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._vector_math import Posterior as Posterior
from hesitant._vector_math import normalise as normalise
from hesitant.families import Family
from hesitant.families._base import Params, Statistics
from hesitant.families._kernels import REORDERED
from hesitant.mechanisms import Ignorable, Mechanism
from hesitant.mechanisms._base import Difficulty
from hesitant.one_pass import room, sum_strips
from hesitant.rows import Block, ManyRows, sided


@dataclasses.dataclass(frozen=True)
class State:
    """Everything that is estimated."""

    weights: FloatArray  # of the classes, π (g,)
    params: Params  # the family's
    theta: FloatArray  # the mechanism's, β


class Evaluation(NamedTuple):
    """A likelihood at a state, with all that a solver needs to improve on it."""

    log_likelihood: float
    objective: float
    counts: FloatArray
    theta_gradient: FloatArray
    theta_curvature: FloatArray
    statistics: Statistics


@dataclasses.dataclass(eq=False)
class Likelihood:
    """A mixture family and a missing-label mechanism, joined over rows of data.

    Labelled rows count ``2 alpha``, blank rows' features ``2 (1 − alpha)``, what was said of rows
    once; at 0.5 this is a likelihood of the data. ``rough`` are the same rows with labels that
    are roughly right, to start from.
    """

    rows: ManyRows
    family: Family
    mechanism: Mechanism
    alpha: float = 0.5
    rough: Any = None

    def __post_init__(self) -> None:
        self.rough = self.rows if self.rough is None else self.rough

    @property
    def total(self) -> float:
        """Sum of the rows' weights."""
        tally = self.rows.tally
        return 2 * (self.alpha * sum(tally.labelled.tolist()) + (1 - self.alpha) * tally.blank)

    def sample(self, size: int) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return features, codes and weights of all rows that count, or of about ``size``."""
        return self.rough.sample(size, self.alpha)

    def ignoring(self) -> "Likelihood":
        """Return the same likelihood without the label pattern."""
        return Likelihood(self.rough, self.family, Ignorable(), self.alpha)

    def evaluate(self, state: State, *seen: Any) -> Evaluation:
        """Return value, weighted statistics and the mechanism's derivatives at a state.

        ``seen`` are the blocks' difficulties, if they are known.
        """
        how = self.family, self.mechanism, self.alpha, self.in_one_pass
        work = partial(_evaluate_block, *how, state)
        value, counts, gradient, curvature, *statistics = self.rows.sum(work, *seen)
        objective, gradient = self.mechanism.add_prior(state.theta, value, gradient)
        objective += self.family.log_prior(state.params)
        return Evaluation(value, objective, counts, gradient, curvature, tuple(statistics))

    def maximise(self, state: State, evaluation: Evaluation) -> State:
        """Return the M-step's answer to weighted statistics; theta stays."""
        params = self.family.maximise(state.params, evaluation.statistics)
        counts = np.maximum(evaluation.counts, 0.0)
        return State(counts / counts.sum(), params, state.theta)

    @cached_property
    def in_one_pass(self) -> bool:
        """Whether :mod:`hesitant.one_pass` knows all of it."""
        usual = self.family.in_one_pass and self.mechanism.in_one_pass
        return usual and not self.rows.tally.gaps

    def refit_mechanism(self, state: State, tol: float = 1e-12) -> tuple[State, Evaluation]:
        """Return the state with theta at its best for these classes, and the likelihood there.

        By Newton's method, until a step promises less than ``tol``; if it does not climb, halved.
        If that is no help it leads along what rows hardly tell, and is held back (Marquardt).
        """
        if state.theta.size == 0:
            return state, self.evaluate(state)
        mechanism, kept = self.mechanism, None
        if not self.in_one_pass:
            kept = self.rows.map(partial(_difficulty_block, self.family, mechanism, state))

        def total(theta: FloatArray) -> tuple[float, FloatArray, FloatArray, State, Any]:
            at = State(state.weights, state.params, theta)
            if kept is None:
                found = self.evaluate(at)
                return found.objective, found.theta_gradient, found.theta_curvature, at, found
            *sums, curvature = self.rows.sum(partial(_pattern_block, mechanism, theta), kept)
            return *mechanism.add_prior(theta, *sums), curvature, at, None

        theta, hold = state.theta, 0.0
        value, gradient, curvature, best, evaluation = total(theta)
        for _ in range(100):
            bend = mechanism.information(theta, curvature)
            stiff = bend + hold * np.diag(bend.diagonal()) if hold else bend
            _, step, failed = dposv(stiff, gradient)
            gain = float(step @ gradient)
            if failed or gain < max(tol, 1e-14 * abs(value)):
                break
            for share in (1.0, 0.5, 0.25, 0.125, 0.0625):
                after = total(theta + share * step)
                if after[0] >= value + 1e-4 * share * gain:
                    theta, hold = theta + share * step, 0.1 * hold
                    value, gradient, curvature, best, evaluation = after
                    break
            else:
                hold = max(10 * hold, 1e-3)
                if hold > 1e12:
                    break
        return best, evaluation or self.evaluate(best, kept)


def chance_log_likelihood(labelled: float, blank: float) -> float:
    """Return the maximised log-likelihood of labels missing completely at random."""
    total = max(labelled + blank, 1e-300)
    return float(xlogy(labelled, labelled / total) + xlogy(blank, blank / total))


def log_posterior(family: Family, state: State, X: AnyArray) -> Posterior:
    """Return log posteriors (n, g), posteriors (n, g) and log densities of the rows (n,)."""
    return _posterior(family.look(state.params, X)[0], state)


def _posterior(joint: FloatArray, state: State) -> Posterior:
    # An empty class is improbable, not NaN.
    return normalise(joint, np.log(np.maximum(state.weights, 1e-300)))


def _evaluate_block(
    family: Family,
    mechanism: Mechanism,
    alpha: float,
    in_one_pass: bool,
    state: State,
    block: Block,
    *seen: Difficulty,
) -> tuple[float | FloatArray, ...]:
    sums = _in_one_pass if in_one_pass else _step_by_step
    return sums(family, mechanism, state, block, sided(block, alpha), *seen)


def _step_by_step(
    family: Family, mechanism: Mechanism, state: State, block: Block, weight: Any, *seen: Any
) -> Any:
    log_density, kept = family.look(state.params, block.X)
    posterior = _posterior(log_density, state)
    known = seen[0] if seen else mechanism.difficulty(*posterior[:2])
    known = known._replace(log_tau=posterior[0], tau=posterior[1])
    pattern = mechanism.pattern(known, block.codes, block.said, block.review, state.theta)
    value, counts, w = _weigh(posterior, block.codes, weight, pattern.pull)
    given = () if kept is None else (kept,)  # a family that keeps nothing may not ask for it
    statistics = family.statistics(state.params, block.X, w, *given)
    return value + pattern.value, counts, pattern.gradient, pattern.curvature, *statistics


_in_one_pass = njit(_step_by_step, room, fastmath=REORDERED)(sum_strips)


def _difficulty_block(
    family: Family, mechanism: Mechanism, state: State, block: Block
) -> Difficulty:
    """Return what a mechanism needs of a block's posteriors while its own parameters move."""
    log_tau, tau, _ = _posterior(family.look(state.params, block.X)[0], state)
    seen = mechanism.difficulty(log_tau, tau)
    if mechanism.by_class:
        return seen
    # Which class it is makes no difference: posteriors need not be kept.
    anything = np.broadcast_to(1.0 / tau.shape[1], tau.shape)
    return seen._replace(log_tau=anything, tau=anything)


def _pattern_block(
    mechanism: Mechanism, theta: FloatArray, block: Block, seen: Difficulty
) -> tuple[float, FloatArray, FloatArray]:
    without = seen._replace(du=None)  # nobody asks for a pull
    pattern = mechanism.pattern(without, block.codes, block.said, block.review, theta)
    return pattern.value, pattern.gradient, pattern.curvature


def _weigh_room(posterior: Posterior, *rest: AnyArray) -> tuple[Any, Any]:
    w, counts = np.empty(posterior[1].shape), np.zeros(posterior[1].shape[1])
    return (counts, w), (posterior, *rest, w, counts)


def _weigh_plainly(
    posterior: Posterior, codes: IntArray, weight: FloatArray, pull: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    log_tau, tau, log_f = posterior
    rows, known = np.arange(len(codes)), codes >= 0
    own = np.arange(tau.shape[1]) == codes[:, None]
    w = weight[:, None] * np.where(known[:, None], own, tau)
    value = np.einsum("i,i->", weight, log_f + np.where(known, log_tau[rows, codes], 0.0))
    if len(pull):
        w += pull
    return float(value), np.einsum("ih->h", w), w


@njit(_weigh_plainly, _weigh_room)
def _weigh(posterior, codes, weight, pull, w, counts):  # type: ignore[no-untyped-def]
    log_tau, tau, log_f = posterior
    value, pulled = 0.0, len(pull) > 0
    for i in range(len(codes)):
        a, y = weight[i], codes[i]
        value += a * (log_f[i] + (log_tau[i, y] if y >= 0 else 0.0))
        for h in range(len(counts)):
            own = (1.0 if h == y else 0.0) if y >= 0 else tau[i, h]
            w[i, h] = a * own + (pull[i, h] if pulled else 0.0)
            counts[h] += w[i, h]
    return value
