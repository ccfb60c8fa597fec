"""Solvers: each takes a likelihood and a state, and returns a better state.

They see values, weighted statistics and the family's steps or scores, and nothing else. What one
needs from a likelihood is said here, and checked before it runs.
"""

import dataclasses
from collections.abc import Callable

from hesitant.likelihood import Likelihood, State
from hesitant.solvers._em import em, one_step_late
from hesitant.solvers._progress import Climb, Progress
from hesitant.solvers._quasi_newton import profile, quasi_newton

__all__ = ["SOLVERS", "Progress", "Solver", "em", "one_step_late", "profile", "quasi_newton"]


@dataclasses.dataclass(frozen=True)
class Solver:
    """A way to climb, and what it asks of the likelihood."""

    name: str
    climb: Callable[[Likelihood, State, Progress], Climb]
    needs_scores: bool = False
    ignorable_only: bool = False

    def check(self, likelihood: Likelihood) -> None:
        """Raise ValueError, naming what is missing, if the solver does not apply."""
        if self.needs_scores and not likelihood.family.has_coordinates:
            raise ValueError(
                f"solver={self.name!r} follows gradients, and the family "
                f"{type(likelihood.family).__name__} has no `coordinates` method: write one, or "
                "use solver='one_step_late' (or 'em' with mechanism=None)."
            )
        if self.ignorable_only and likelihood.mechanism.informative:
            raise ValueError(
                f"solver={self.name!r} maximises the ignorance likelihood only: use "
                "solver='one_step_late' with a mechanism, or mechanism=None."
            )


def _auto(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """A few robust EM steps without the pattern, then quasi-Newton with it."""
    state, _ = em(likelihood.ignoring(), state, progress, tol=0.1)
    finish = quasi_newton if likelihood.family.has_coordinates else one_step_late
    return finish(likelihood, state, progress)


def _from_ignorance(
    climb: Callable[[Likelihood, State, Progress], Climb],
) -> Callable[[Likelihood, State, Progress], Climb]:
    """Start a solver that sees the pattern where the labels alone would lead."""

    def run(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
        state, _ = em(likelihood.ignoring(), state, progress, tol=0.1)
        return climb(likelihood, state, progress)

    return run


SOLVERS: dict[str, Solver] = {
    s.name: s
    for s in (
        Solver("auto", _auto),
        Solver("em", em, ignorable_only=True),
        Solver("one_step_late", _from_ignorance(one_step_late)),
        Solver("quasi_newton", _from_ignorance(quasi_newton), needs_scores=True),
        Solver("profile", _from_ignorance(profile), needs_scores=True),
    )
}
