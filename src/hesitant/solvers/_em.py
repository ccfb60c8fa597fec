"""EM, EM with the label pattern one step late, and the record of how any fit went."""

import math
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias

from scipy.linalg.lapack import dposv

from hesitant.families import StepError
from hesitant.likelihood import Evaluation, Likelihood, State

Climb: TypeAlias = tuple[State, Evaluation]
"""Where a solver ended, and the likelihood there."""


def refuse_not_finite(evaluation: Evaluation) -> None:
    """Raise if a solver finds itself where there is nothing to climb by."""
    if not math.isfinite(evaluation.objective):
        raise StepError(f"the likelihood is {evaluation.objective} there")


class Progress:
    """History of the objective over all stages, and the reason for stopping.

    ``tol`` is in units of log-likelihood; ``verbose`` prints a line a stage (1), or a step (2).
    """

    def __init__(self, tol: float, max_iter: int, verbose: int = 0) -> None:
        self.tol, self.max_iter, self.verbose = tol, max_iter, verbose
        self.history: list[float] = []
        self.reason = "not started"
        self.begin("")

    def begin(self, stage: str) -> None:
        """Start a stage; a stage has an objective of its own to rise."""
        self._stage, self._first = stage, len(self.history)
        self.converged = False

    @property
    def stage(self) -> list[float]:
        """The objective at each iteration of the last stage."""
        return self.history[self._first :]

    def record(self, objective: float) -> None:
        """Add the objective of an iteration."""
        self.history.append(objective)
        if self.verbose > 1:
            print(f"  {self._stage} {len(self.history):4d}  {objective:.10g}")

    @property
    def exhausted(self) -> bool:
        """Whether all iterations are used up; if so, says why fitting stopped."""
        if len(self.history) < self.max_iter:
            return False
        self.finish(f"{self._stage} reached max_iter={self.max_iter} before it settled", False)
        return True

    def noise(self, objective: float) -> float:
        """Rounding error to expect in an objective of this size."""
        return 1e-13 * (1.0 + abs(objective))

    def last_gain(self) -> float:
        """Return how much the last iteration gained; infinite if it was a stage's first."""
        values = self.stage[-2:]
        return values[1] - values[0] if len(values) == 2 else math.inf

    def gain_to_come(self, gains_at_least: int = 4) -> float:
        """Estimate what is still to be gained, if gains keep shrinking at their rate (Aitken)."""
        # The slowest of the last few rates counts: early gains of EM shrink fast and mislead.
        values = self.stage[-5:]
        gains = [b - a for a, b in pairwise(values)]
        if len(gains) < gains_at_least:
            return math.inf
        if abs(gains[-1]) <= self.noise(values[-1]):
            return 0.0
        if min(gains) <= 0:
            return math.inf
        rate = min(max(b / a for a, b in pairwise(gains)), 0.9999)
        return gains[-1] * rate / (1.0 - rate)

    def settled(self, tol: float | None = None) -> bool:
        """Whether less than the tolerance is still to be gained; if so, says so."""
        # A rough tolerance of its own marks a stage that only prepares the next.
        gain = self.gain_to_come() if tol is None else self.gain_to_come(gains_at_least=2)
        tol = self.tol if tol is None else tol
        if gain > tol:
            return False
        self.finish(f"{self._stage}: less than {tol:g} of log-likelihood still to be gained", True)
        return True

    def finish(self, reason: str, converged: bool) -> None:
        """Note why a stage ended."""
        self.reason, self.converged = reason, converged
        if self.verbose:
            value = f"{self.history[-1]:.10g}" if self.history else "-"
            print(f"{reason}; {len(self.history)} iterations, objective {value}")


def em(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """Alternate expected labels and weighted maximisation; the objective never falls."""
    progress.begin("EM")
    while True:
        evaluation = likelihood.evaluate(state)
        refuse_not_finite(evaluation)
        progress.record(evaluation.objective)
        if progress.settled() or progress.exhausted:
            return state, evaluation
        state = likelihood.maximise(state, evaluation)


def warm_up(likelihood: Likelihood, state: State, progress: Progress, steps: int) -> State:
    """Take EM steps that bring another stage near; a prior that follows the data does so too.

    A mechanism that enters (none that pulls at the classes may) takes a step of Newton's at last.
    """
    progress.begin("EM")
    near = max(0.1, 1e-4 * likelihood.total)  # many rows tell soon where the next does better
    for _ in range(steps):
        evaluation = likelihood.evaluate(state)
        refuse_not_finite(evaluation)
        progress.record(evaluation.objective)
        if progress.settled(near) or progress.exhausted:
            return state
        params = likelihood.family.update_prior(state.params, evaluation.statistics)
        state = likelihood.maximise(State(state.weights, params, state.theta), evaluation)
    # What the last of them gained, the next stage will see.
    progress.finish(f"EM: {steps} step{'s' * (steps != 1)} taken", False)
    if not likelihood.mechanism.informative:
        return state
    bend = likelihood.mechanism.information(state.theta, evaluation.theta_curvature)
    _, step, failed = dposv(bend, evaluation.theta_gradient)
    return state if failed else State(state.weights, state.params, state.theta + step)


def one_step_late(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """EM whose weights include the pattern's pull at the last parameters.

    A step that would lower the objective is shortened: it points uphill, so some part climbs.
    """
    progress.begin("one-step-late EM")
    state, evaluation = likelihood.refit_mechanism(state)
    refuse_not_finite(evaluation)
    while True:
        progress.record(evaluation.objective)
        if progress.settled() or progress.exhausted:
            return state, evaluation
        step = _climb(likelihood, state, evaluation, progress)
        if step is None:
            # At a maximum that is as it should be; after a leap it is a dead end.
            gain = progress.last_gain()
            progress.finish("one-step-late EM: no step climbs any further", gain < progress.tol)
            return state, evaluation
        state, evaluation = step


def _climb(
    likelihood: Likelihood, state: State, evaluation: Evaluation, progress: Progress
) -> Climb | None:
    """Return where a share of a step leads to: the whole, or a half that climbs higher."""
    # The pull at the last parameters may be too strong and lead to the other side of a maximum:
    # half of a step that gains much less than the last is tried.
    proposal = _proposal(likelihood, state, evaluation)
    floor = evaluation.objective - progress.noise(evaluation.objective)
    last = progress.last_gain()
    enough = floor + (0.5 * last if progress.tol < last < math.inf else 0.0)
    share, trial, best = 1.0, proposal, None
    while share > 1e-6:
        trial, after = likelihood.refit_mechanism(trial)
        if best is not None and not after.objective > best[1].objective:
            return best
        if after.objective >= floor:
            best = trial, after
        if after.objective >= enough:
            return best
        share *= 0.5
        params = likelihood.family.blend(state.params, proposal.params, share)
        weights = (1 - share) * state.weights + share * proposal.weights
        trial = State(weights, params, state.theta)
    return best


def _proposal(likelihood: Likelihood, state: State, evaluation: Evaluation) -> State:
    """Return what a whole step leads to."""
    try:
        return likelihood.maximise(state, evaluation)
    except StepError:
        # The signed weights left a scale matrix indefinite: take half the pull, that is, mix the
        # statistics with those of plain EM, which always have an answer.
        plain = likelihood.ignoring().evaluate(state)
    parts = list(zip(plain.statistics, evaluation.statistics, strict=True))
    for share in (0.5**k for k in range(1, 10)):
        counts = (1 - share) * plain.counts + share * evaluation.counts
        statistics = tuple((1 - share) * a + share * b for a, b in parts)
        with suppress(StepError):
            mixed = evaluation._replace(counts=counts, statistics=statistics)
            return likelihood.maximise(state, mixed)
    return likelihood.maximise(state, plain)
