"""Limited-memory BFGS for the small, well-scaled problems of this package.

A library routine would do, but its calls into threaded linear algebra cost more than a whole
evaluation of the likelihood at n = 500 (and ten times that on a busy machine). The chart is scaled
by complete-data information, so unit steps are nearly always right and the search along a line
is a formality.
"""

import math
from collections.abc import Callable

import numpy as np

from hesitant._compile import njit
from hesitant._typing import FloatArray

__all__ = ["maximise"]

MEMORY = 60


def maximise(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    size: int,
    tol: float,
    keep_going: Callable[[float], bool],
) -> bool:
    """Climb from the origin until the expected gain of a full step is below ``tol``.

    Parameters
    ----------
    function : callable
        Value and gradient at a point; a value that is not finite marks a point out of bounds.
    size : int
        Dimension.
    tol : float
    keep_going : callable
        Called with each iteration's value; returns False to stop.

    Returns
    -------
    bool
        True if the tolerance was met, or if rounding error allows no further climb.
    """
    x = np.zeros(size)
    value, gradient = function(x)
    steps, changes = np.zeros((MEMORY, size)), np.zeros((MEMORY, size))
    stored = 0
    while True:
        direction = _two_loop(steps, changes, stored, gradient)
        slope = _dot(direction, gradient)
        # Half the slope is the gain that a quadratic model promises; half the squared gradient
        # that of complete data, which is no more than there is to gain unless the model is
        # steeper. Both must be small: one bad pair of steps can spoil the first. Until some
        # curvature is known there is only the second, and it promises too little.
        promised = 0.5 * max(slope, _dot(gradient, gradient))
        if promised < (tol if stored > 2 else 1e-3 * tol):
            return True
        t = 1.0
        while True:
            trial = x + t * direction
            after, gradient_after = function(trial)
            climbed = after >= value + 1e-4 * t * slope
            if climbed and math.isfinite(_dot(gradient_after, gradient_after)):
                break
            if t * slope < 1e-14 * (1.0 + abs(value)) or t < 1e-30:
                return True  # what is left is below rounding error
            ahead = value + t * slope - after
            shorter = 0.5 * t * t * slope / ahead if math.isfinite(ahead) else 0.0
            t = min(max(shorter, 0.1 * t), 0.5 * t)
        s, y = trial - x, gradient - gradient_after
        x, value, gradient = trial, after, gradient_after
        if _dot(s, y) > 1e-10 * _dot(y, y):
            steps[stored % MEMORY], changes[stored % MEMORY] = s, y
            stored += 1
        if not keep_going(value):
            return False


def _dot(a: FloatArray, b: FloatArray) -> float:
    # Not a matrix product: threads of linear algebra would wait for each other longer than this.
    return float(np.einsum("j,j->", a, b))


@njit(plain=True, cache=True, nogil=True)
def _two_loop(
    steps: FloatArray, changes: FloatArray, stored: int, gradient: FloatArray
) -> FloatArray:
    memory, size = steps.shape
    oldest = max(0, stored - memory)
    out = np.empty(size)
    for j in range(size):
        out[j] = gradient[j]
    alpha = np.empty(memory)
    scale = 1.0
    for age in range(stored - 1, oldest - 1, -1):
        k = age % memory
        sy = 0.0
        yy = 0.0
        sg = 0.0
        for j in range(size):
            sy += steps[k, j] * changes[k, j]
            yy += changes[k, j] * changes[k, j]
            sg += steps[k, j] * out[j]
        if age == stored - 1:
            # The chart has unit information, so steps of one are right to begin with; after
            # one steep direction sy / yy alone would make all others creep.
            scale = max(sy / yy, 1.0)
        alpha[k] = sg / sy
        for j in range(size):
            out[j] -= alpha[k] * changes[k, j]
    for j in range(size):
        out[j] *= scale
    for age in range(oldest, stored):
        k = age % memory
        sy = 0.0
        yg = 0.0
        for j in range(size):
            sy += steps[k, j] * changes[k, j]
            yg += changes[k, j] * out[j]
        for j in range(size):
            out[j] += (alpha[k] - yg / sy) * steps[k, j]
    return out
