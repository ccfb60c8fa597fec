"""Solvers: each takes a likelihood and a state, and returns a better state.

They see values, weighted statistics and the family's steps or scores, and nothing else. What one
needs from a likelihood is said here, and checked before it runs.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hesitant.likelihood import Evaluation, Likelihood, State
from hesitant.solvers._em import Climb, Progress, em, one_step_late, warm_up
from hesitant.solvers._quasi_newton import profile, quasi_newton

__all__ = [
    "SOLVERS",
    "Progress",
    "Solver",
    "em",
    "one_step_late",
    "profile",
    "quasi_newton",
    "warm_up",
]

FAILURES = (ArithmeticError, np.linalg.LinAlgError)  # a StepError is one of the former
# How often a prior that follows the data may move, and the climb be taken up again.
PRIOR_ROUNDS = 20


class Fit(NamedTuple):
    """Where a climb ended, and how it got there."""

    state: State
    final: Evaluation
    progress: Progress


@dataclasses.dataclass(frozen=True)
class Solver:
    """A way to climb, what it asks of the likelihood, and what to do without scores."""

    name: str
    climb: Callable[[Likelihood, State, Progress], Climb]
    needs_scores: bool = False
    otherwise: Callable[[Likelihood, State, Progress], Climb] | None = None
    ignorable_only: bool = False

    def check(self, likelihood: Likelihood) -> None:
        """Raise ValueError, naming what is missing, if the solver does not apply."""
        if self.needs_scores and not (self.otherwise or likelihood.family.has_coordinates):
            what = f"the family {type(likelihood.family).__name__} has no `coordinates` method"
            remedy = "write one, or use solver='one_step_late' (or 'em' with mechanism=None)"
            raise ValueError(f"solver={self.name!r} follows gradients, and {what}: {remedy}.")
        if self.ignorable_only and likelihood.mechanism.informative:
            remedy = "solver='one_step_late' with a mechanism or with readers who may be wrong"
            only = "maximises the ignorance likelihood only"
            raise ValueError(f"solver={self.name!r} {only}: use {remedy}.")

    def run(
        self, likelihood: Likelihood, state: State, progress: Progress, rough: bool
    ) -> Fit | str:
        """Climb from a state; from a rough one, first go where the labels alone would lead.

        Returns why, if that is not possible.
        """
        family, climb = likelihood.family, self.climb
        if self.otherwise and not family.has_coordinates:
            climb = self.otherwise
        try:
            with np.errstate(all="ignore"):  # in another process, too
                if rough and not self.ignorable_only:
                    state = _nearer(likelihood, state, progress)
                    if progress.exhausted:
                        return Fit(*likelihood.refit_mechanism(state), progress)
                params = family.inside_bounds(state.params)
                for _ in range(PRIOR_ROUNDS + 1):
                    state = State(state.weights, params, state.theta)
                    state, evaluation = climb(likelihood, state, progress)
                    params = family.update_prior(state.params, evaluation.statistics)
                    if params is state.params or progress.exhausted:
                        break
                return Fit(state, evaluation, progress)
        except FAILURES as error:
            return str(error)


def _nearer(likelihood: Likelihood, state: State, progress: Progress) -> State:
    """Take EM steps from a rough state."""
    family, free = likelihood.family, likelihood.family.n_parameters(state.params)
    known = 2 * likelihood.alpha * sum(likelihood.rough.tally.labelled.tolist())
    if family.adaptive_prior or known < max(0.5 * likelihood.total, 20 * free):
        # Of very many parameters quasi-Newton learns little in steps it remembers.
        return warm_up(likelihood.ignoring(), state, progress, max(family.warm_up, free // 100))
    # So many labels lead near enough by themselves. Without slopes a mechanism pulls at no class:
    # one look at the rows then does for its own first step, too (from zero, Newton's climbs).
    both = likelihood.in_one_pass and not state.theta.any()
    return warm_up(likelihood if both else likelihood.ignoring(), state, progress, 1)


SOLVERS: dict[str, Solver] = {
    s.name: s
    for s in (
        Solver("auto", quasi_newton, needs_scores=True, otherwise=one_step_late),
        Solver("em", em, ignorable_only=True),
        Solver("one_step_late", one_step_late),
        Solver("quasi_newton", quasi_newton, needs_scores=True),
        Solver("profile", profile, needs_scores=True),
    )
}
