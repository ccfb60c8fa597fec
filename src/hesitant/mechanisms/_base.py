"""What every missing-label mechanism is: a probability of a label, given uncertainty."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._compile import njit
from hesitant._typing import BoolArray, FloatArray
from hesitant.uncertainty import Uncertainty

__all__ = ["Mechanism", "Sums", "Terms"]

Sums: TypeAlias = tuple[float, FloatArray, FloatArray]
"""Value, gradient and curvature (a negative Hessian, or a stand-in for it), summed over rows."""


class Terms(NamedTuple):
    """What a block of rows adds to the log-likelihood of the label pattern."""

    value: float
    slope: FloatArray
    gradient: FloatArray
    curvature: FloatArray


class Mechanism(BaseEstimator):
    """Base of the mechanisms.

    To add one, subclass it, set ``uncertainty`` and ``n_parameters``, and write
    :meth:`log_probability`. Everything else (fitting, the pull on the classes, prediction)
    follows from that one function and its derivatives.

    Attributes
    ----------
    uncertainty : Uncertainty
        The measure that the probability of a label depends on.
    n_parameters : int
        Length of ``theta``.
    informative : bool
        Whether the pattern of blanks enters the likelihood at all.
    ridge : float
        The weak prior ``−½ ridge |theta|²`` that keeps theta finite when uncertainty separates
        labelled rows from blanks; far below the noise of any data otherwise.
    """

    probabilities: ClassVar[tuple[str, ...]] = ()
    """Which of the natural parameters are probabilities."""
    required: ClassVar[tuple[str, ...]] = ("uncertainty", "n_parameters")
    uncertainty: Uncertainty
    n_parameters: int
    informative: bool = True
    ridge: float = 1e-6
    parameters_: FloatArray

    # -- what a new mechanism writes ------------------------------------------------------

    @abstractmethod
    def log_probability(
        self, u: FloatArray, labelled: BoolArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log Pr(labelled or not | u) and its derivatives.

        Parameters
        ----------
        u : array of shape (n,)
            Uncertainty of each row.
        labelled : boolean array of shape (n,)
            Whether the row got its label.
        theta : array of shape (n_parameters,)

        Returns
        -------
        log_p : array of shape (n,)
            Log probability of what was seen: labelled, or left blank.
        slope : array of shape (n,)
            Its derivative in u.
        gradient : array of shape (n, n_parameters)
            Its derivatives in theta.
        """

    @property
    def in_words(self) -> str:
        """The mechanism in a few words, as a list of models names it."""
        return repr(self)

    def describe(self) -> str:
        """Return how the pattern of blanks entered the fit, in a sentence."""
        return (
            "Labelled rows inform the classes through their label, blank rows through where they "
            "lie, and every reviewed row through whether it was labelled: the chance of a label "
            "depends on how uncertain the row's class is, and is estimated together with the "
            "classes (the full likelihood)."
        )

    def testable(self) -> "Mechanism | None":
        """Return the part of the mechanism that is nothing but chance if its slopes are zero.

        Tests of whether difficulty matters are tests of those slopes. None, the default, if the
        mechanism has no such part.
        """
        return None

    # -- what follows from it ---------------------------------------------------------------

    @property
    def parameter_names(self) -> list[str]:
        """A name for each parameter."""
        return [f"theta[{k}]" for k in range(self.n_parameters)]

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return the parameters in the units people think in, by the names that tables print."""
        return dict(zip(self.parameter_names, map(float, theta), strict=True))

    def prepare(self, n_classes: int) -> Self:
        """Return a copy checked and made ready for this many classes."""
        self.uncertainty.check(n_classes)
        return copy.copy(self)

    def initial(self) -> FloatArray:
        """Return parameters to start from."""
        return np.zeros(self.n_parameters)

    def terms(
        self, u: FloatArray, labelled: BoolArray, weight: FloatArray, theta: FloatArray
    ) -> Terms:
        """Weight and sum :meth:`log_probability` over a block of rows."""
        log_p, slope, gradient = self.log_probability(u, labelled, theta)
        weighted = weight[:, None] * gradient
        # The outer product of scores stands in for the curvature: never indefinite.
        return Terms(
            float(weight @ log_p), weight * slope, weighted.sum(axis=0), weighted.T @ gradient
        )

    def contribute(
        self,
        log_tau: FloatArray,
        tau: FloatArray,
        labelled: BoolArray,
        weight: FloatArray,
        theta: FloatArray,
        w: FloatArray,
        counts: FloatArray,
    ) -> Sums:
        """Add this block's pull to the weights ``w`` and their sums; return its own sums."""
        u, du = self.uncertainty.evaluate(log_tau, tau)
        terms = self.terms(u, labelled, weight, theta)
        _add_pull(w, counts, terms.slope, du)
        return terms.value, terms.gradient, terms.curvature

    def add_prior(self, theta: FloatArray, sums: Sums) -> Sums:
        """Return the sums with the weak prior's share."""
        value, gradient, curvature = sums
        curvature = curvature.copy()
        curvature.flat[:: theta.size + 1] += self.ridge
        value -= 0.5 * self.ridge * float(theta @ theta)
        return value, gradient - self.ridge * theta, curvature

    def maximise(
        self, total: Callable[[FloatArray], Sums], theta: FloatArray, tol: float = 1e-12
    ) -> FloatArray:
        """Maximise the label pattern's likelihood over theta, uncertainty held fixed.

        Parameters
        ----------
        total : callable
            Value, gradient and curvature over all rows at a theta.
        theta : array
            Where to start.
        tol : float
            Stop when a step promises less gain than this.
        """

        def penalised(theta: FloatArray) -> Sums:
            return self.add_prior(theta, total(theta))

        value, gradient, curvature = penalised(theta)
        for _ in range(100):
            step = np.linalg.solve(curvature, gradient)
            gain = float(step @ gradient)
            if gain < max(tol, 1e-14 * abs(value)):
                break
            for halving in range(30):
                trial = theta + 0.5**halving * step
                after = penalised(trial)
                if after[0] >= value + 1e-4 * 0.5**halving * gain:
                    break
            else:
                break
            theta, (value, gradient, curvature) = trial, after
        return theta

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy that knows its parameters (and the share of rows labelled)."""
        out = copy.copy(self)
        out.parameters_ = np.asarray(theta, dtype=float)
        return out

    def probability(self, log_tau: FloatArray, tau: FloatArray) -> FloatArray:
        """Return Pr(labelled) of each row at the fitted parameters."""
        u, _ = self.uncertainty.evaluate(log_tau, tau)
        seen = np.ones(u.size, dtype=bool)
        return np.exp(self.log_probability(u, seen, self.parameters_)[0])


@njit(cache=True, nogil=True)
def _add_pull(w: FloatArray, counts: FloatArray, slope: FloatArray, du: FloatArray) -> None:
    for i in range(w.shape[0]):
        for h in range(w.shape[1]):
            pull = slope[i] * du[i, h]
            w[i, h] += pull
            counts[h] += pull
