"""Quasi-Newton over all parameters, or with the mechanism profiled out.

The limited-memory BFGS is our own: it stops by the gain in log-likelihood that a step promises,
which is what ``tol`` means, and with SciPy's a fit takes about a fifth longer (``python -m
benchmarks.quasi_newton``). The chart is scaled by complete-data information, so unit steps are
nearly always right and the search along a line is a formality.
"""

import math
from collections.abc import Callable, Generator
from functools import partial

import numpy as np
from scipy.linalg.blas import dtrsv

from hesitant._typing import FloatArray
from hesitant.chart import Chart
from hesitant.likelihood import Likelihood, State
from hesitant.solvers._em import Climb, Progress, refuse_not_finite

# A chart is scaled at its reference and fits badly far away; a fresh one is cheap.
ITERATIONS_A_CHART = 60
MEMORY = 60


def quasi_newton(
    likelihood: Likelihood, state: State, progress: Progress, profiled: bool = False
) -> Climb:
    """L-BFGS with analytic gradients over classes and mechanism together.

    A mechanism that is profiled out is refitted at every evaluation: its own derivative then
    vanishes, and the gradient over the classes is the one with the mechanism held fixed.
    """
    stage = "profile quasi-Newton" if profiled else "quasi-Newton"
    progress.begin(stage)
    # What the steps that follow would gain as soon; but of many parameters they are many, and more
    # by half if they begin where the mechanism is wrong.
    few = max(100, likelihood.family.n_parameters(state.params))
    rough = max(0.1, likelihood.total / few)
    best, top = likelihood.refit_mechanism(state, tol=1e-12 if profiled else rough)
    refuse_not_finite(top)

    def keep_going(objective: float) -> bool:
        progress.record(objective)
        used = len(progress.history) - begun
        return used < ITERATIONS_A_CHART and len(progress.history) < progress.max_iter

    while True:
        begun, before = len(progress.history), top.objective
        chart = Chart(likelihood, best, top, mechanism=not profiled)
        search = maximise(chart.size, progress.tol * chart.family.caution, keep_going)
        next(search)  # the origin is the reference, and known already
        trial, after, done = best, top, False
        try:
            while True:
                found = after.objective, chart.gradient(trial, after)
                trial = chart.decode(search.send(found))
                if profiled:
                    trial, after = likelihood.refit_mechanism(trial)
                else:
                    after = likelihood.evaluate(trial)
                if after.objective > top.objective:
                    best, top = trial, after
        except StopIteration as end:
            done = end.value
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


profile = partial(quasi_newton, profiled=True)


def maximise(
    size: int, tol: float, keep_going: Callable[[float], bool]
) -> Generator[FloatArray, tuple[float, FloatArray], bool]:
    """Climb from the origin until the expected gain of a full step is below ``tol``.

    Yields points, and wants to be sent value and gradient there (not finite if out of bounds).
    ``keep_going`` sees each iteration's value. Returns whether there is no more to gain.
    """
    x = np.zeros(size)
    value, gradient = yield x
    squares = float(gradient.dot(gradient))  # of short vectors, a third of the time of @
    steps, changes = np.zeros((MEMORY, size)), np.zeros((MEMORY, size))
    products, stored, scale = np.zeros((MEMORY, MEMORY), order="F"), 0, 1.0
    while True:
        known = slice(stored)
        past = steps[known], changes[known], products[known, known]
        direction = _direction(*past, scale, gradient) if stored else gradient
        slope = float(direction.dot(gradient))
        # Half the slope is the gain that a quadratic model promises, half the squared gradient
        # that of complete data. Both must be small: one bad pair of steps can spoil the first,
        # and until some curvature is known the second promises too little.
        promised = 0.5 * max(slope, squares)
        if promised < (tol if stored > 2 else 1e-3 * tol):
            return True
        t, s = 1.0, direction
        while True:
            after, gradient_after = yield x + s
            climbed = after >= value + 1e-4 * t * slope
            squares = float(gradient_after.dot(gradient_after))
            if climbed and math.isfinite(squares):
                break
            if t * slope < 1e-14 * (1.0 + abs(value)) or t < 1e-30:
                return True  # what is left is below rounding error
            ahead = value + t * slope - after
            shorter = 0.5 * t * t * slope / ahead if math.isfinite(ahead) else 0.0
            t = min(max(shorter, 0.1 * t), 0.5 * t)
            s = t * direction
        y = gradient - gradient_after
        x, value, gradient = x + s, after, gradient_after
        along, across = float(s.dot(y)), float(y.dot(y))
        if along > 1e-10 * across:
            k = stored % MEMORY  # charts do not live so long that it begins anew
            steps[k], changes[k] = s, y
            products[: k + 1, k] = steps[: k + 1].dot(y)
            # The chart has unit information, so steps of one are right to begin with; after one
            # steep direction s·y / y·y alone would make all others creep.
            stored, scale = k + 1, max(along / across, 1.0)
        if not keep_going(value):
            return False


def _direction(
    steps: FloatArray,
    changes: FloatArray,
    products: FloatArray,
    scale: float,
    gradient: FloatArray,
) -> FloatArray:
    """Turn a gradient into the direction that past steps and changes of gradients suggest.

    The two recursions of L-BFGS are triangular systems in the products of steps and changes.
    """
    along = dtrsv(products, steps.dot(gradient))
    out = scale * (gradient - along.dot(changes))
    rest = products.diagonal() * along - changes.dot(out)
    return np.asarray(out + dtrsv(products, rest, trans=1).dot(steps))
