"""One record of how a fit went."""

import math
from itertools import pairwise
from typing import TypeAlias

from hesitant.families import StepError
from hesitant.likelihood import Evaluation, State

__all__ = ["Climb", "Progress", "refuse_not_finite"]

Climb: TypeAlias = tuple[State, Evaluation]
"""Where a solver ended, and the likelihood there."""


def refuse_not_finite(evaluation: Evaluation) -> None:
    """Raise if a solver finds itself where there is nothing to climb by."""
    if not math.isfinite(evaluation.objective):
        raise StepError(f"the likelihood is {evaluation.objective} there")


class Progress:
    """History of the objective, and the reason for stopping.

    Parameters
    ----------
    tol : float
        Stop when no more than this is still to be gained, in units of log-likelihood.
    max_iter : int
        Iterations at most, over all stages.
    verbose : int
        0 is silent, 1 prints a line a stage, 2 a line an iteration.
    """

    def __init__(self, tol: float, max_iter: int, verbose: int = 0) -> None:
        self.tol, self.max_iter, self.verbose = tol, max_iter, verbose
        self.history: list[float] = []
        self.converged = False
        self.reason = "not started"
        self._stage = ""
        self._first = 0

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
        """Estimate what is still to be gained, if gains keep shrinking at their rate (Aitken).

        The slowest of the last few rates counts: early gains of EM shrink fast and mislead.
        """
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
