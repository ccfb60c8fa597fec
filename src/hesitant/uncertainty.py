"""How uncertain is a class posterior? The measures that a mechanism may depend on.

All use logarithms, not probabilities that may have rounded: 1e-250 is as accurate as 0.5.
"""

import math
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._typing import FloatArray

__all__ = ["Margin", "Renyi", "Shannon", "SquaredLogOdds", "Uncertainty", "transformed_entropy"]


class Uncertainty(BaseEstimator):
    """Base of the measures; subclass it and write :meth:`evaluate` to add one."""

    @abstractmethod
    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the measure u (n,) of rows with such posteriors, and its derivatives (n, g).

        Those are in the log joint densities ``log π_h + log f_h(x)``; a posterior does not change
        when all of them move together, so every row sums to zero.
        """

    def maximum(self, n_classes: int) -> float:
        """Largest possible value with this many classes; infinite if there is none."""
        return math.inf

    def check(self, n_classes: int) -> None:
        """Raise ValueError if the measure does not exist for this many classes."""


class Renyi(Uncertainty):
    r"""Rényi entropy of order γ: ``log(Σ τ^γ) / (1 − γ)``.

    Order 1 is Shannon's entropy, infinity ``−log max τ``. Larger orders give less weight to
    improbable classes; order 0 is constant and so says nothing.

    >>> import numpy as np
    >>> from hesitant.uncertainty import Renyi
    >>> tau = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> Renyi(order=2).evaluate(np.log(tau), tau)[0].round(4)
    array([0.6931, 0.1985])
    """

    def __init__(self, order: float = 1.0) -> None:
        self.order = order

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.order == 1.0:
            mean = np.einsum("ih,ih->i", tau, log_tau)
            return -mean, tau * (mean[:, None] - log_tau)
        top = log_tau.max(axis=1, keepdims=True)
        if math.isinf(self.order):
            return -top[:, 0], tau - np.eye(tau.shape[1])[log_tau.argmax(axis=1)]
        # With a = γ − 1 the entropy is −log1p(Σ τ expm1(a t)) / a and its derivative
        # −γ τ expm1(a (t + H)) / a: no cancellation near γ = 1 or near certainty.
        a = self.order - 1.0
        spread = np.exp(self.order * (log_tau - top)).sum(axis=1, keepdims=True)
        far = a * top < -1.0  # a large order, far from certainty: relative to the largest term
        near = np.where(far, 0.0, _tilt(log_tau, tau, a * log_tau).sum(axis=1, keepdims=True))
        h = -np.where(far, self.order * top + np.log(spread), np.log1p(near)) / a
        return np.maximum(h[:, 0], 0.0), -self.order / a * _tilt(log_tau, tau, a * (log_tau + h))

    def maximum(self, n_classes: int) -> float:
        return math.log(n_classes)

    def check(self, n_classes: int) -> None:
        if not (isinstance(self.order, Real) and self.order >= 0):
            raise ValueError(f"order={self.order!r} is not a Rényi order: give a number >= 0.")


class Shannon(Renyi):
    """Shannon's entropy ``−Σ τ log τ``: Rényi's of order 1."""

    def __init__(self) -> None:
        super().__init__(1.0)


class SquaredLogOdds(Uncertainty):
    """Squared log odds of two classes: ``(log τ_1 − log τ_2)²``.

    It measures ease, not difficulty: expect a positive coefficient where hard cases are blank.
    """

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        odds = log_tau[:, 0] - log_tau[:, 1]
        return odds * odds, np.stack((2.0 * odds, -2.0 * odds), axis=1)

    def check(self, n_classes: int) -> None:
        if n_classes != 2:
            raise ValueError(f"SquaredLogOdds is for 2 classes, not {n_classes}: use Shannon().")


class Margin(Uncertainty):
    """One minus the gap between the two likeliest classes: ``1 − (τ_(1) − τ_(2))``."""

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows = np.arange(len(tau))
        top, second = np.argsort(-log_tau, axis=1, kind="stable")[:, :2].T
        one, two = tau[rows, top], tau[rows, second]
        others = tau.copy()
        others[rows, top] = 0.0
        u = others.sum(axis=1) + two  # not 1 − τ, which loses its digits near certainty
        du = tau * (one - two)[:, None]
        du[rows, top] = -one * u
        du[rows, second] = two * (1.0 - two + one)
        return u, du

    def maximum(self, n_classes: int) -> float:
        return 1.0


def as_measure(name: str, given: Any, usual: Uncertainty, n_classes: int) -> Uncertainty:
    """Return the measure that was given, or else the usual one."""
    measure = usual if given is None else given
    if not isinstance(measure, Uncertainty):
        raise TypeError(f"{name}={given!r}: give an object such as Margin() or Renyi(2).")
    measure.check(n_classes)
    return measure


def _tilt(t: FloatArray, tau: FloatArray, x: FloatArray) -> FloatArray:
    """``τ · expm1(x)``, τ = exp(t), without the overflow of a large x against a tiny τ."""
    return np.where(x < 1.0, tau * np.expm1(np.minimum(x, 1.0)), np.exp(t + x) - tau)


def transformed_entropy(entropy: FloatArray, n_classes: int, floor: float = 1e-300) -> FloatArray:
    """Spread entropies over the whole line: ``logit(e / log g)``, for pictures and tests.

    >>> import numpy as np
    >>> from hesitant.uncertainty import transformed_entropy
    >>> transformed_entropy(np.log(2) * np.array([0.1, 0.5]), 2).round(3)
    array([-2.197,  0.   ])
    """
    share = np.clip(np.asarray(entropy, dtype=float) / math.log(n_classes), floor, 1 - 1e-15)
    return np.log(share) - np.log1p(-share)
