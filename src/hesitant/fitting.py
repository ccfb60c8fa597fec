"""From checked data to the best state: starts, solver, restarts."""

import copy
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from hesitant._probe import probe_family
from hesitant._typing import AnyArray
from hesitant.likelihood import Evaluation, Likelihood, State
from hesitant.mechanisms import Mechanism
from hesitant.solvers import Progress, Solver
from hesitant.starts import from_given, from_labels

__all__ = ["Fit", "fit_mixture"]

FAILURES = (ArithmeticError, np.linalg.LinAlgError)  # a StepError is one of the former
LARGEST_NOISE = 1e-3  # what rounding may hide of a log-likelihood that is called settled


@dataclasses.dataclass(frozen=True)
class Fit:
    """Where the best of all starts ended, and how it got there."""

    state: State
    final: Evaluation
    progress: Progress
    mechanism: Mechanism | None = None


def fit_mixture(
    likelihood: Likelihood,
    solver: Solver,
    classes: AnyArray,
    *,
    init: Any,
    n_init: int,
    tol: float,
    max_iter: int,
    verbose: int,
    rng: Callable[[], np.random.Generator],
) -> Fit:
    """Climb from every start and keep the highest point reached."""
    theta = likelihood.mechanism.initial()
    solver.check(likelihood)
    if init is not None:
        given = from_given(init, likelihood, classes, theta)
    starts = from_labels(likelihood, len(classes), theta, n_init, rng)
    try:
        states = [
            (given, False) if init is not None and attempt == 0 else (next(starts), True)
            for attempt in range(n_init)
        ]
    except FAILURES as error:
        raise ValueError(_advice(error, None)) from error
    probe_family(likelihood.family, states[0][0].params, likelihood.sample, len(classes))
    jobs = [(likelihood, solver, *s, Progress(tol, max_iter, verbose)) for s in states]
    # Joblib decides where restarts run: here one after the other, or wherever
    # `joblib.parallel_config` says, a cluster included.
    climbs = (
        [_climb(*jobs[0])] if n_init == 1 else Parallel()(delayed(_climb)(*job) for job in jobs)
    )
    fits = [fit for fit in climbs if isinstance(fit, Fit)]
    if not fits:
        raise ValueError(_advice(climbs[0], init))
    best = fits[0] if len(fits) == 1 else max(fits, key=partial(_rank, likelihood))
    lost = best.progress.noise(best.final.objective)
    if best.progress.converged and lost > LARGEST_NOISE:
        best.progress.finish(
            f"rounding hides gains below {lost:.1g} in a log-likelihood of "
            f"{best.final.log_likelihood:.2g}: divide sample_weight by a constant",
            False,
        )
    tuned = likelihood.mechanism.retune(best.state.theta, best.final.theta_curvature)
    if tuned is None:
        return best
    again = copy.copy(likelihood)
    again.mechanism = tuned
    fit = _climb(again, solver, best.state, False, best.progress)
    return dataclasses.replace(fit, mechanism=tuned) if isinstance(fit, Fit) else best


def _advice(reason: object, init: Any) -> str:
    """Return why no start led to a fit, and what to do about it."""
    remedy = (
        "init may be far from the data: look at its values, or leave it out."
        if init is not None
        else "The data may be degenerate (a class of identical rows, more features than rows, or "
        "weights of very different sizes): drop features, look at sample_weight, or use "
        "covariance='shrunk'."
    )
    return f"No start led to a fit: {reason}. {remedy}"


def _rank(likelihood: Likelihood, fit: Fit) -> tuple[bool, float]:
    """Return what makes a fit the best of several."""
    # A class that shrank onto a few rows wins for want of others only, however large that makes
    # the likelihood.
    state, total = fit.state, likelihood.total
    healthy = not likelihood.family.held_up(state.params, state.weights, total)
    return healthy, fit.final.objective


def _climb(
    likelihood: Likelihood, solver: Solver, state: State, rough: bool, progress: Progress
) -> Fit | str:
    """Climb from one start; say why if that is not possible."""
    try:
        with np.errstate(all="ignore"):  # a step too long is noticed, and shortened
            return Fit(*solver.run(likelihood, state, progress, rough), progress)
    except FAILURES as error:
        return str(error)
