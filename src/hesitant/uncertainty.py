"""How uncertain is a class posterior? The measures that a missing-label mechanism may depend on.

A measure turns log posteriors into one number a row and says how that number moves with the log
joint densities. Both come from logarithms, never from probabilities that may have rounded to 0
or 1, so an entropy of 1e-250 is as accurate as one of 0.5.
"""

import math
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._compile import njit
from hesitant._typing import FloatArray

__all__ = ["Margin", "Renyi", "Shannon", "SquaredLogOdds", "Uncertainty", "transformed_entropy"]


class Uncertainty(BaseEstimator):
    """Base of the measures; subclass it and write :meth:`evaluate` to add one."""

    @abstractmethod
    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the measure of each row and its derivatives.

        Parameters
        ----------
        log_tau : array of shape (n, g)
            Logarithms of the class posteriors, exact even where a posterior rounds to 0 or 1.
        tau : array of shape (n, g)
            The posteriors.

        Returns
        -------
        u : array of shape (n,)
        du : array of shape (n, g)
            Derivatives of ``u`` with respect to the log joint densities
            ``log π_h + log f_h(x)``. A posterior does not change when all of those move
            together, so every row of ``du`` sums to zero.
        """

    def maximum(self, n_classes: int) -> float:
        """Largest possible value with this many classes; infinite if there is none."""
        return math.inf

    def check(self, n_classes: int) -> None:
        """Raise ValueError if the measure does not exist for this many classes."""


class Renyi(Uncertainty):
    r"""Rényi entropy of order γ: ``log(Σ τ^γ) / (1 − γ)``.

    Order 1 is Shannon's entropy (the limit, reached continuously), 2 the collision entropy,
    infinity the min-entropy ``−log max τ``. Order 0 is constant and so says nothing.

    Parameters
    ----------
    order : float, default=1.0
        γ >= 0; larger orders give less weight to improbable classes.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.uncertainty import Renyi
    >>> tau = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> u, du = Renyi(order=2).evaluate(np.log(tau), tau)
    >>> u.round(4)
    array([0.6931, 0.1985])
    """

    def __init__(self, order: float = 1.0) -> None:
        self.order = order

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the entropy of each row and its derivatives."""
        return _renyi(log_tau, tau, float(self.order))

    def maximum(self, n_classes: int) -> float:
        """Return log g, the entropy of g equally probable classes."""
        return math.log(n_classes)

    def check(self, n_classes: int) -> None:
        """Refuse a negative or undefined order."""
        if not (isinstance(self.order, Real) and self.order >= 0):
            raise ValueError(
                f"order={self.order!r} is not a Rényi order: give a number >= 0 "
                "(1 is Shannon's entropy)."
            )


class Shannon(Renyi):
    """Shannon's entropy ``−Σ τ log τ``: Rényi's of order 1.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.uncertainty import Shannon
    >>> tau = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> Shannon().evaluate(np.log(tau), tau)[0].round(4)
    array([0.6931, 0.3251])
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class SquaredLogOdds(Uncertainty):
    """Squared log odds of two classes: ``(log τ_1 − log τ_2)²``.

    Zero where the classes tie and large where one is certain, so it measures ease, not
    difficulty: expect a positive coefficient where hard cases are left blank.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.uncertainty import SquaredLogOdds
    >>> tau = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> SquaredLogOdds().evaluate(np.log(tau), tau)[0].round(2)
    array([0.  , 4.83])
    """

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squared log odds of each row and their derivatives."""
        odds = log_tau[:, 0] - log_tau[:, 1]
        return odds * odds, np.stack((2.0 * odds, -2.0 * odds), axis=1)

    def check(self, n_classes: int) -> None:
        """Refuse any number of classes but two."""
        if n_classes != 2:
            raise ValueError(
                f"SquaredLogOdds is defined for 2 classes, the data have {n_classes}: "
                "use Shannon() or Renyi(order)."
            )


class Margin(Uncertainty):
    """One minus the gap between the two likeliest classes: ``1 − (τ_(1) − τ_(2))``.

    It has a kink where the second and third class tie.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.uncertainty import Margin
    >>> tau = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> Margin().evaluate(np.log(tau), tau)[0].round(2)
    array([1. , 0.2])
    """

    def evaluate(self, log_tau: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the margin's complement of each row and its derivatives."""
        rows = np.arange(len(tau))
        order = np.argsort(-log_tau, axis=1, kind="stable")
        top, second = order[:, 0], order[:, 1]
        one, two = tau[rows, top], tau[rows, second]
        others = tau.copy()
        others[rows, top] = 0.0
        u = others.sum(axis=1) + two  # not 1 − τ, which loses its digits near certainty
        du = tau * (one - two)[:, None]
        du[rows, top] = -one * u
        du[rows, second] = two * (1.0 - two + one)
        return u, du

    def maximum(self, n_classes: int) -> float:
        """Return one, where the two likeliest classes tie."""
        return 1.0


def _shannon_plainly(t: FloatArray, tau: FloatArray, order: float) -> Any:
    if order != 1.0:
        return NotImplemented
    u = -np.einsum("ik,ik->i", tau, t)
    return u, -tau * (t + u[:, None])


@njit(plain=_shannon_plainly, cache=True, nogil=True, error_model="numpy")
def _renyi(t: FloatArray, tau: FloatArray, order: float) -> tuple[FloatArray, FloatArray]:
    # With a = γ − 1 the entropy is −log1p(Σ τ expm1(a t)) / a and its derivative
    # −γ τ expm1(a (t + H)) / a: no cancellation near γ = 1 or near certainty, and the
    # limits a → 0 are Shannon's −Σ τ t and −τ (t + H).
    n, g = t.shape
    u = np.empty(n)
    du = np.empty((n, g))
    a = order - 1.0
    if a == 0.0:
        for i in range(n):
            h = 0.0
            for k in range(g):
                h -= tau[i, k] * t[i, k]
            u[i] = h
            for k in range(g):
                du[i, k] = -tau[i, k] * (t[i, k] + h)
    elif math.isinf(a):
        for i in range(n):
            top = 0
            for k in range(1, g):
                if t[i, k] > t[i, top]:
                    top = k
            u[i] = -t[i, top]
            for k in range(g):
                du[i, k] = tau[i, k] - (1.0 if k == top else 0.0)
    else:
        for i in range(n):
            top = t[i, 0]
            for k in range(1, g):
                top = max(top, t[i, k])
            total = 0.0
            if a * top < -1.0:  # a large order, far from certainty: relative to the largest term
                for k in range(g):
                    total += math.exp(order * (t[i, k] - top))
                h = -(order * top + math.log(total)) / a
            else:
                for k in range(g):
                    total += _tilt(t[i, k], tau[i, k], a * t[i, k])
                h = -math.log1p(total) / a
            u[i] = max(h, 0.0)
            for k in range(g):
                du[i, k] = -order / a * _tilt(t[i, k], tau[i, k], a * (t[i, k] + h))
    return u, du


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _tilt(t: float, tau: float, x: float) -> float:
    """``τ · expm1(x)``, τ = exp(t), without the overflow of a large x against a tiny τ."""
    return tau * math.expm1(x) if x < 1.0 else math.exp(t + x) - tau


def transformed_entropy(entropy: FloatArray, n_classes: int, floor: float = 1e-300) -> FloatArray:
    """Spread entropies over the whole line: ``logit(e / log g)``, for pictures and tests.

    Parameters
    ----------
    entropy : array
        Entropies in [0, log g].
    n_classes : int
        g, the number of classes.
    floor : float, default=1e-300
        Shares of ``log g`` below this count as this; likewise above one minus 1e-15.

    Returns
    -------
    array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.uncertainty import transformed_entropy
    >>> transformed_entropy(np.log(2) * np.array([0.1, 0.5]), 2).round(3)
    array([-2.197,  0.   ])
    """
    share = np.clip(np.asarray(entropy, dtype=float) / math.log(n_classes), floor, 1 - 1e-15)
    return np.log(share) - np.log1p(-share)
