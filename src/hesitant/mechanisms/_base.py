"""What every missing-label mechanism is: the chance of a label, given a row's posterior."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.mechanisms._row_term import Evidence, row_term
from hesitant.uncertainty import Uncertainty

Sums: TypeAlias = tuple[float, FloatArray, FloatArray]
"""Value, gradient and curvature (a negative Hessian, or a stand-in for it), summed over rows."""


class Difficulty(NamedTuple):
    """What a mechanism wants to know of rows' posteriors, apart from its own parameters.

    Attributes
    ----------
    u : array of shape (n,)
        Uncertainty.
    du : array of shape (n, g) or None
        Its derivatives in the rows' log joint densities; None where nobody will ask.
    design : tuple
        What else follows from u: a basis, say.
    """

    u: FloatArray
    du: FloatArray | None
    design: tuple[FloatArray, ...] = ()


class Pattern(NamedTuple):
    """What was said of a block of rows: sums, and the pull on each row's classes.

    Attributes
    ----------
    value : float
        Log probability of what was said.
    pull : array of shape (n, g)
        Its derivatives in the rows' log joint densities; of shape (0, g) if there is no pull.
    gradient, curvature : arrays of shape (q,) and (q, q)
        In the mechanism's parameters.
    """

    value: float
    pull: FloatArray
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
    n_classes : int
        Those of the fit, once the mechanism is prepared for one; two until then.
    by_class : bool
        Whether the probability depends on the class too.
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
    n_classes: int = 2
    class_names: list[str] | None = None
    by_class: bool = False
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
        log_p : array of shape (n,), or (n, g) with ``by_class``
            Log probability of what was seen (labelled, or left blank), were the row's class h.
        slope : array of the same shape
            Its derivative in u.
        gradient : array of that shape and (n_parameters,)
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
        out = copy.copy(self)
        out.n_classes = n_classes
        return out

    def initial(self) -> FloatArray:
        """Return parameters to start from."""
        return np.zeros(self.n_parameters)

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        """Return what the mechanism wants to know of posteriors."""
        u, du = self.uncertainty.evaluate(log_tau, tau)
        return Difficulty(u, du if slopes else None)

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return what was said of rows as evidence about their classes."""
        log_p, slope, gradient = self.log_probability(difficulty.u, said, theta)
        if log_p.ndim == 1:
            log_p, slope, gradient = log_p[:, None], slope[:, None], gradient[:, None]

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            shared = np.ones((len(rho), 1)) if log_p.shape[1] == 1 else rho
            along = np.einsum("ih,ih->i", shared, slope)
            pull = np.zeros((0, rho.shape[1]))
            if difficulty.du is not None:
                pull = along[:, None] * difficulty.du
            return pull, np.einsum("ih,ihq->iq", shared, gradient)

        return Evidence(log_p, pull_back)

    def pattern(
        self,
        log_tau: FloatArray,
        tau: FloatArray,
        difficulty: Difficulty,
        codes: IntArray,
        said: Any,
        weight: FloatArray,
        theta: FloatArray,
    ) -> Pattern:
        """Sum the row term over a block of rows, each with its weight."""
        rows = row_term(self.evidence(difficulty, said, theta), log_tau, tau, codes)
        weighted = weight[:, None] * rows.gradient
        # Without a better one, the outer product of scores stands in for the curvature: it is
        # never indefinite.
        curvature = (
            weighted.T @ rows.gradient
            if rows.information is None
            else rows.information(weight[:, None] * rows.resolved)
        )
        pull = weight[: len(rows.pull), None] * rows.pull
        return Pattern(float(weight @ rows.log_p), pull, weighted.sum(axis=0), curvature)

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
        """Maximise the label pattern's likelihood over theta, the posteriors held fixed.

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

    def retune(self, theta: FloatArray, curvature: FloatArray) -> Self | None:
        """Return the mechanism with settings learned from a fit; None if there are none.

        Parameters
        ----------
        theta, curvature : arrays of shape (q,) and (q, q)
            Where the fit ended, and the information there.
        """
        return None

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy that knows its parameters (and the share of rows labelled)."""
        out = copy.copy(self)
        out.parameters_ = np.asarray(theta, dtype=float)
        return out

    def probability(
        self, log_tau: FloatArray, tau: FloatArray, classes: FloatArray | None = None
    ) -> FloatArray:
        """Return Pr(labelled) of each row at the fitted parameters, a mean over its classes.

        The mean is over the posteriors, or over ``classes`` (n, g) if they are better known.
        """
        seen = np.ones(len(tau), dtype=bool)
        difficulty = self.difficulty(log_tau, tau, slopes=False)
        p = np.exp(self.evidence(difficulty, seen, self.parameters_).log_p)
        if p.shape[1] == 1:
            return p[:, 0]
        return np.minimum(np.einsum("ih,ih->i", tau if classes is None else classes, p), 1.0)
