"""EM, and EM with the label pattern one step late."""

import dataclasses

from hesitant._typing import FloatArray
from hesitant.families import StepError
from hesitant.likelihood import Evaluation, Likelihood, State
from hesitant.solvers._progress import Climb, Progress, refuse_not_finite

__all__ = ["em", "one_step_late"]


def em(
    likelihood: Likelihood,
    state: State,
    progress: Progress,
    tol: float | None = None,
    steps: int | None = None,
) -> Climb:
    """Alternate expected labels and weighted maximisation; the objective never falls.

    A stage of few ``steps`` only prepares another: a prior that follows the data does so then.
    """
    progress.begin("EM")
    begun = len(progress.history)
    while True:
        evaluation = likelihood.evaluate(state)
        refuse_not_finite(evaluation)
        progress.record(evaluation.objective)
        if progress.settled(tol) or progress.exhausted:
            return state, evaluation
        if steps is not None and len(progress.history) - begun >= steps:
            progress.finish(f"EM: {steps} steps taken", False)
            return state, evaluation
        if steps is not None:
            params = likelihood.family.adapt(state.params, evaluation.statistics)
            state = dataclasses.replace(state, params=params)
        state = likelihood.maximise(state, evaluation)


def one_step_late(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """EM whose weights include the pattern's pull at the last parameters.

    The mechanism is refitted at every step. A step that would lower the objective is shortened:
    it points uphill, so some part of it climbs.
    """
    progress.begin("one-step-late EM")
    state = likelihood.refit_mechanism(state)
    evaluation = likelihood.evaluate(state)
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
    """Return where the longest share of a step that climbs leads to."""
    proposal = _proposal(likelihood, state, evaluation)
    floor = evaluation.objective - progress.noise(evaluation.objective)
    share = 1.0
    while share > 1e-6:
        trial = State(
            (1 - share) * state.weights + share * proposal.weights,
            likelihood.family.blend(state.params, proposal.params, share)
            if share < 1.0
            else proposal.params,
            state.theta,
        )
        trial = likelihood.refit_mechanism(trial)
        after = likelihood.evaluate(trial)
        if after.objective >= floor:
            return trial, after
        share *= 0.5
    return None


def _proposal(likelihood: Likelihood, state: State, evaluation: Evaluation) -> State:
    try:
        return likelihood.maximise(state, evaluation)
    except StepError:
        # The signed weights left a scale matrix indefinite: take half the pull, that is, mix the
        # statistics with those of plain EM, which always have an answer.
        plain = likelihood.ignoring().evaluate(state)
        share = 0.5
        while True:
            mixed = evaluation._replace(
                counts=_mix(plain.counts, evaluation.counts, share),
                statistics=tuple(
                    _mix(a, b, share)
                    for a, b in zip(plain.statistics, evaluation.statistics, strict=True)
                ),
            )
            try:
                return likelihood.maximise(state, mixed)
            except StepError:
                share *= 0.5
                if share < 1e-3:
                    return likelihood.maximise(state, plain)


def _mix(a: FloatArray, b: FloatArray, share: float) -> FloatArray:
    return (1 - share) * a + share * b
