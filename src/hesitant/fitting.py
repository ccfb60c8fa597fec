"""From checked data to the best state: starts, solver, restarts."""

import dataclasses
from typing import Any

import numpy as np

from hesitant.families import StepError
from hesitant.likelihood import Evaluation, Likelihood, State
from hesitant.solvers import Progress, Solver
from hesitant.starts import from_given, from_labels

__all__ = ["Fit", "fit_mixture"]


@dataclasses.dataclass(frozen=True)
class Fit:
    """Where the best of all starts ended, and how it got there."""

    state: State
    final: Evaluation
    progress: Progress


def fit_mixture(
    likelihood: Likelihood,
    solver: Solver,
    n_classes: int,
    *,
    init: Any,
    n_init: int,
    tol: float,
    max_iter: int,
    verbose: int,
    rng: np.random.Generator,
) -> Fit:
    """Climb from every start and keep the highest point reached."""
    theta = likelihood.mechanism.initial()
    solver.check(likelihood)
    if init is not None:
        given = from_given(init, likelihood.rows, likelihood.family, n_classes, theta)
    best: Fit | None = None
    failure: StepError | None = None
    starts = from_labels(likelihood.rows, likelihood.family, n_classes, theta, n_init, rng)
    for attempt in range(n_init):
        rough = init is None or attempt > 0
        state = next(starts) if rough else given
        progress = Progress(tol, max_iter, verbose)
        try:
            with np.errstate(all="ignore"):  # a step too long is noticed, and shortened
                climb = solver.run(likelihood, state, progress, rough)
            fit = Fit(*climb, progress)
        except StepError as error:
            failure = error
            continue
        if best is None or fit.final.objective > best.final.objective:
            best = fit
    if best is None:
        raise ValueError(
            f"No start led to a fit: {failure}. The data may be degenerate (a class of identical "
            "rows, or more features than rows): raise reg_covar, drop features, or use "
            "covariance='tied' or 'diag'."
        ) from failure
    return best
