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


# How often a prior that follows the data may move, and the climb be taken up again.
PRIOR_ROUNDS = 20


@dataclasses.dataclass(frozen=True)
class Solver:
    """A way to climb, and what it asks of the likelihood."""

    name: str
    climb: Callable[[Likelihood, State, Progress], Climb]
    needs_scores: bool = False
    ignorable_only: bool = False
    warm_up: bool = True

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

    def run(self, likelihood: Likelihood, state: State, progress: Progress, rough: bool) -> Climb:
        """Climb from a state; from a rough one, first go where the labels alone would lead."""
        if rough and self.warm_up:
            # Of very many parameters quasi-Newton learns too little in the steps it remembers.
            free = likelihood.family.n_parameters(state.params)
            steps = max(likelihood.family.warm_up, free // 100)
            state, _ = em(likelihood.ignoring(), state, progress, tol=0.1, steps=steps)
            if progress.exhausted:
                state = likelihood.refit_mechanism(state)
                return state, likelihood.evaluate(state)
        inside = likelihood.family.off_edges(state.params)
        climb = self.climb(likelihood, dataclasses.replace(state, params=inside), progress)
        for _ in range(PRIOR_ROUNDS):
            state, evaluation = climb
            params = likelihood.family.adapt(state.params, evaluation.statistics)
            if params is state.params or progress.exhausted:
                break
            climb = self.climb(likelihood, dataclasses.replace(state, params=params), progress)
        return climb


def _auto(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """Follow gradients if the family has them."""
    climb = quasi_newton if likelihood.family.has_coordinates else one_step_late
    return climb(likelihood, state, progress)


SOLVERS: dict[str, Solver] = {
    s.name: s
    for s in (
        Solver("auto", _auto),
        Solver("em", em, ignorable_only=True, warm_up=False),
        Solver("one_step_late", one_step_late),
        Solver("quasi_newton", quasi_newton, needs_scores=True),
        Solver("profile", profile, needs_scores=True),
    )
}
