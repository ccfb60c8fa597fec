"""Quasi-Newton over all parameters, or with the mechanism profiled out."""

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.likelihood import Likelihood, State
from hesitant.solvers._lbfgs import maximise
from hesitant.solvers._progress import Climb, Progress, refuse_not_finite

__all__ = ["profile", "quasi_newton"]

# A chart is scaled at its reference and fits badly far away; a fresh one is cheap.
ITERATIONS_A_CHART = 60


def quasi_newton(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """L-BFGS with analytic gradients over classes and mechanism together."""
    return _climb(likelihood, state, progress, "quasi-Newton", profiled=False)


def profile(likelihood: Likelihood, state: State, progress: Progress) -> Climb:
    """L-BFGS over the classes; the mechanism is refitted at every evaluation.

    At the refitted mechanism its own derivative vanishes, so the gradient over the classes is
    the one with the mechanism held fixed (the envelope theorem).
    """
    return _climb(likelihood, state, progress, "profile quasi-Newton", profiled=True)


def _climb(
    likelihood: Likelihood, state: State, progress: Progress, stage: str, profiled: bool
) -> Climb:
    progress.begin(stage)
    best = likelihood.refit_mechanism(state, tol=1e-12 if profiled else 1.0)
    top = likelihood.evaluate(best)
    refuse_not_finite(top)

    def value_and_gradient(vector: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, top
        if not vector.any():  # the reference itself is known already
            return top.objective, chart.gradient(best, top)
        trial = chart.decode(vector)
        if profiled:
            trial = likelihood.refit_mechanism(trial)
        after = likelihood.evaluate(trial)
        if after.objective > top.objective:
            best, top = trial, after
        return after.objective, chart.gradient(trial, after)

    def keep_going(objective: float) -> bool:
        progress.record(objective)
        used = len(progress.history) - begun
        return used < ITERATIONS_A_CHART and len(progress.history) < progress.max_iter

    while True:
        begun, before = len(progress.history), top.objective
        chart = Chart(likelihood, best, top, mechanism=not profiled)
        done = maximise(value_and_gradient, chart.size, progress.tol, keep_going)
        if not progress.history[begun:]:
            progress.record(top.objective)
        used, gain = len(progress.history) - begun, top.objective - before
        # After a long way the chart's scale is that of another place: look once more.
        done = done and (used < ITERATIONS_A_CHART // 2 or gain <= progress.tol)
        if done or gain <= progress.noise(before):
            progress.finish(
                f"{stage}: less than {progress.tol:g} of log-likelihood still to be gained", True
            )
            return best, top
        if progress.exhausted:
            return best, top
