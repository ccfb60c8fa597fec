"""Degrees of freedom: gamma functions that stay exact in the Gaussian limit, steps and a chart."""

import math

import numpy as np
from scipy.special import psi as digamma
from scipy.special import zeta

from hesitant._typing import FloatArray

LOWEST, HIGHEST = 0.5, 200.0
"""Bounds of estimated degrees of freedom: the upper one differs from a Gaussian by less than any
sample can show, and below the lower one tails say nothing that 0.5 does not."""

# Stands in for infinity: large enough that every formula has rounded to its limit.
_INFINITE = 1e30


def finite(dof: FloatArray) -> FloatArray:
    """Return degrees of freedom that formulas can bear; infinity becomes merely huge."""
    return np.minimum(dof, _INFINITE)


def log_gamma_ratio(x: float, s: float) -> float:
    """Return ``log Γ(x + s) − log Γ(x) − s log x``, which vanishes as x grows."""
    if x < 30.0:
        return math.lgamma(x + s) - math.lgamma(x) - s * math.log(x)
    # Stirling's series for both: the large terms cancel on paper instead of in the machine.
    return (x + s - 0.5) * math.log1p(s / x) - s + _stirling(x + s) - _stirling(x)


def _stirling(x: float) -> float:
    y = 1.0 / (x * x)
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x


def trigamma(x: float) -> float:
    """Return ψ'(x), x > 0."""
    return float(zeta(2.0, x))


def t_constants(dof: FloatArray, p: int) -> FloatArray:
    """Log of the p-variate t density at its centre, scale matrix the identity."""
    unit = 0.5 * p * math.log(2.0 * math.pi)
    return np.array([log_gamma_ratio(0.5 * v, 0.5 * p) - unit for v in dof.tolist()])


def best_dof(excess: float) -> float:
    """Return ν within bounds with ``log(ν/2) − ψ(ν/2) = excess``, EM's answer.

    The left side falls from infinity to zero; an excess out of its range (signed weights can do
    that) gets the nearer bound.
    """
    low, high = 0.5 * LOWEST, 0.5 * HIGHEST
    if excess >= math.log(low) - digamma(low):
        return LOWEST
    if excess <= math.log(high) - digamma(high):
        return HIGHEST
    x = (3.0 - excess + math.sqrt((excess - 3.0) ** 2 + 24.0 * excess)) / (12.0 * excess)
    for _ in range(20):
        # Newton in 1/x, in which the left side is nearly a straight line.
        miss = math.log(x) - digamma(x) - excess
        step = miss / (x * x * (trigamma(x) - 1.0 / x))
        x = x / (1.0 - x * step) if x * step < 0.5 else 2.0 * x
        if abs(x * step) < 1e-8:  # the next step would be the square of this
            break
    return min(max(2.0 * x, LOWEST), HIGHEST)


class DofChart:
    """Unconstrained coordinates θ of degrees of freedom within their bounds.

    ``1/ν`` runs between its bounds as ``sin²θ`` runs from 0 to 1. In 1/ν the likelihood is well
    behaved up to the Gaussian limit, and the fold makes a maximum at a bound an ordinary, smooth
    one: a quasi-Newton method settles there instead of running along an infinite slope. θ is zero
    at the reference ``dof`` (k,); ``counts`` are the rows that inform each.
    """

    def __init__(self, dof: FloatArray, p: int, counts: FloatArray) -> None:
        self.low, self.width = 1.0 / HIGHEST, 1.0 / LOWEST - 1.0 / HIGHEST
        self.dof, self.reference = dof, self.angles(dof)
        self.size = dof.size
        # At a bound the fold is flat: take the slope a little inside.
        inside = np.clip(self.reference, 0.1, 0.5 * math.pi - 0.1)
        slope = self._slope(inside)
        each = [_information(v, p) for v in self._unfold(inside).tolist()]
        self.unit = 1.0 / np.sqrt(np.maximum(counts * np.array(each) * slope**2, 1e-3))
        self.slope = slope * self.unit  # about dν/d(vector) at the reference; nowhere zero

    def angles(self, dof: FloatArray) -> FloatArray:
        """Return the angle of each value, on the near side of the fold."""
        share = (1.0 / dof - self.low) / self.width
        return np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))

    def _unfold(self, angles: FloatArray) -> FloatArray:
        return 1.0 / (self.low + self.width * np.sin(angles) ** 2)

    def _slope(self, angles: FloatArray) -> FloatArray:
        return -(self._unfold(angles) ** 2) * self.width * np.sin(2.0 * angles)

    def decode(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        angles = self.reference + self.unit * vector
        return np.where(vector == 0.0, self.dof, self._unfold(angles)), angles

    def fold(self, angles: FloatArray, score: FloatArray) -> FloatArray:
        return score * self._slope(angles) * self.unit


def _information(nu: float, p: int) -> float:
    """Fisher's information on ν in one row of a p-variate t distribution."""
    m = nu + p
    tails = 0.25 * (trigamma(0.5 * nu) - trigamma(0.5 * m))
    return max(tails - 0.5 * p * (m + 4.0) / (nu * m * (m + 2.0)), 1e-12)
