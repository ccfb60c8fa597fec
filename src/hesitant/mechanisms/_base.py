"""The one row term, and what every missing-label mechanism is.

Whatever an expert says of row i enters every likelihood of the package through
``a_ih = log p(said_i | class h, τ_i; θ)``. With τ the class posterior given the features, the row
adds

    log p(said_i | x_i) = a_iy where the class y is known,  log Σ_h τ_ih exp(a_ih) elsewhere,

to the log-likelihood. Its derivative in the log joint densities ``ℓ_ih = log π_h f_h(x_i)`` is

    ρ_ih − τ_ih + Σ_k ρ_ik ∂a_ik/∂ℓ_ih,    ρ_ih = the class given features and what was said,

a pull on the row's class weights that sums to zero. (Where the class is known, ρ and τ are both
that class.) Likelihood, curvature, expected information and ``resolve`` all use this function.
"""

import copy
from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.uncertainty import Shannon, Uncertainty

Terms: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Sums: TypeAlias = tuple[float, FloatArray, FloatArray]
"""Value, gradient and curvature (a negative Hessian, or a stand-in for it), summed over rows."""


class Evidence(NamedTuple):
    """What was said of a block of rows, were their classes known.

    ``log_p`` is a_ih, of shape (n, g), or (n, 1) if it is the same for all classes. ``pull_back``
    takes weights ρ (n, g) of rows summing to one to ``Σ_k ρ_ik ∂a_ik/∂ℓ_ih`` (n, g) and
    ``Σ_k ρ_ik ∂a_ik/∂θ`` (n, q). ``information``, if there is one, takes weights (n, g) to the
    information about θ (q, q) were the classes known.
    """

    log_p: FloatArray
    pull_back: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    information: Callable[[FloatArray], FloatArray] | None = None


class RowTerm(NamedTuple):
    """The row term of a block: log probabilities of what was said (n,), and what follows.

    ``resolved`` (n, g) are the class probabilities given features and what was said, ``pull``
    (n, g) the derivatives of ``log_p`` in the log joint densities, ``gradient`` (n, q) those in
    the parameters.
    """

    log_p: FloatArray
    resolved: FloatArray
    pull: FloatArray
    gradient: FloatArray


def row_term(evidence: Evidence, log_tau: FloatArray, tau: FloatArray, codes: IntArray) -> RowTerm:
    """Return the row term of a block; ``codes`` holds the class where it is known, else −1."""
    known = codes >= 0
    resolved = np.where(known[:, None], codes[:, None] == np.arange(tau.shape[1]), tau)
    if evidence.log_p.shape[1] == 1:
        return RowTerm(evidence.log_p[:, 0], resolved, *evidence.pull_back(resolved))
    joint = log_tau + evidence.log_p
    # Over a few classes NumPy's own max and sum take many times as long as these.
    top = reduce(np.maximum, joint.T)
    share = np.exp(joint - top[:, None])
    total = np.einsum("ih->i", share)
    given = np.take_along_axis(evidence.log_p, np.maximum(codes, 0)[:, None], axis=1)[:, 0]
    log_p = np.where(known, given, top + np.log(total))
    rho = np.where(known[:, None], resolved, share / total[:, None])
    pull, gradient = evidence.pull_back(rho)
    return RowTerm(log_p, rho, pull + (rho - resolved) if len(pull) else pull, gradient)


class Difficulty(NamedTuple):
    """What a mechanism wants to know of rows' posteriors, apart from its own parameters.

    The posteriors (n, g); the uncertainty u (n,), its derivatives in the rows' log joint densities
    (n, g; None where nobody will ask), and what else follows from u: a basis, say.
    """

    log_tau: FloatArray
    tau: FloatArray
    u: FloatArray
    du: FloatArray | None
    design: tuple[FloatArray, ...] = ()


class Pattern(NamedTuple):
    """What was said of a block of rows: sums, and the pull on each row's classes.

    Its log probability; the derivatives of that in the rows' log joint densities (n, g), of shape
    (0, g) if there is no pull; and gradient and curvature in the mechanism's parameters.
    """

    value: float
    pull: FloatArray
    gradient: FloatArray
    curvature: FloatArray


class Mechanism(BaseEstimator):
    """Base of the mechanisms.

    To add one, subclass it, set ``uncertainty`` and ``n_parameters``, and write
    :meth:`log_probability`. Everything else (fitting, the pull on the classes, prediction)
    follows from that one function and its derivatives. ``by_class`` says whether the probability
    depends on the class too, ``informative`` whether the pattern of blanks enters the likelihood
    at all. The weak prior ``−½ ridge |theta|²`` keeps theta finite when uncertainty separates
    labelled rows from blanks, and is far below the noise of any data otherwise.
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
    def log_probability(self, u: FloatArray, labelled: BoolArray, theta: FloatArray) -> Terms:
        """Return log Pr(labelled or not | u) and its derivatives.

        The first is the log probability of what was seen of each row (labelled, or left blank), of
        shape (n,), or (n, g) with ``by_class``; the second its derivative in u; the third, with
        a last axis more, its derivatives in theta.
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
        return Difficulty(log_tau, tau, u, du if slopes else None)

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return what was said of rows as evidence about their classes."""
        log_p, slope, gradient = self.log_probability(difficulty.u, said, theta)
        if log_p.ndim == 1:
            log_p, slope, gradient = log_p[:, None], slope[:, None], gradient[:, None]

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            shared = np.ones((len(rho), 1)) if log_p.shape[1] == 1 else rho
            pull = np.zeros((0, rho.shape[1]))
            if difficulty.du is not None:
                pull = np.einsum("ih,ih->i", shared, slope)[:, None] * difficulty.du
            return pull, np.einsum("ih,ihq->iq", shared, gradient)

        return Evidence(log_p, pull_back)

    def pattern(
        self, seen: Difficulty, codes: IntArray, said: Any, weight: FloatArray, theta: FloatArray
    ) -> Pattern:
        """Sum the row term over a block of rows, each with its weight."""
        evidence = self.evidence(seen, said, theta)
        rows = row_term(evidence, seen.log_tau, seen.tau, codes)
        if evidence.information is not None:
            curvature = evidence.information(weight[:, None] * rows.resolved)
        else:  # the outer product of scores stands in for it: it is never indefinite
            curvature = (weight[:, None] * rows.gradient).T @ rows.gradient
        pull = weight[: len(rows.pull), None] * rows.pull
        gradient = np.einsum("i,iq->q", weight, rows.gradient)
        return Pattern(float(weight @ rows.log_p), pull, gradient, curvature)

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
        """Maximise over theta, the posteriors held fixed, until a step promises less than tol.

        ``total`` gives value, gradient and curvature over all rows at a theta.
        """
        value, gradient, curvature = self.add_prior(theta, total(theta))
        for _ in range(100):
            step = np.linalg.solve(curvature, gradient)
            gain = float(step @ gradient)
            if gain < max(tol, 1e-14 * abs(value)):
                break
            for halving in range(30):
                trial = theta + 0.5**halving * step
                after = self.add_prior(trial, total(trial))
                if after[0] >= value + 1e-4 * 0.5**halving * gain:
                    break
            else:
                break
            theta, (value, gradient, curvature) = trial, after
        return theta

    def retune(self, theta: FloatArray, curvature: FloatArray) -> Self | None:
        """Return the mechanism with settings learned from a fit that ended here, None if none."""
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


class Ignorable(Mechanism):
    """Labels are missing without regard to difficulty: the ignorance likelihood.

    Its labelling probability is the share of reviewed rows that carry a label; ``intercept_`` is
    the logit of that share, kept off 0 and 1 by 1e-15, and ``coef_`` is empty.

    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=200, random_state=0)
    >>> clf = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    >>> bool(clf.labelling_probability(data.features).std() < 1e-12)
    True
    """

    uncertainty = Shannon()
    n_parameters = 0
    informative = False
    in_words = "none"
    intercept_: float
    coef_: FloatArray
    rate_: float = 0.5

    def describe(self) -> str:
        return (
            "Labelled rows inform the classes through their label and blank rows through where "
            "they lie; the pattern of blanks was ignored (the ignorance likelihood)."
        )

    def log_probability(self, u: FloatArray, labelled: BoolArray, theta: FloatArray) -> Terms:
        with np.errstate(divide="ignore"):  # a rate of 0 or 1 is a fact, not a mistake
            log_p = np.log(np.where(labelled, self.rate_, 1.0 - self.rate_))
        return log_p, np.zeros(u.size), np.zeros((u.size, 0))

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return no evidence: what was said is the same for all classes, and has no parameters."""
        n = difficulty.u.size
        return Evidence(
            np.zeros((n, 1)), lambda rho: (np.zeros_like(rho), np.zeros((n, theta.size)))
        )

    def pattern(self, seen: Difficulty, *rest: Any) -> Pattern:
        q = rest[-1].size  # parameters of another mechanism may stand by, for later
        return Pattern(0.0, np.zeros((0, seen.tau.shape[1])), np.zeros(q), np.zeros((q, q)))

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        return Difficulty(log_tau, tau, tau[:, 0], None)

    def probability(
        self, log_tau: FloatArray, tau: FloatArray, classes: FloatArray | None = None
    ) -> FloatArray:
        return np.full(len(tau), self.rate_)

    def add_prior(self, theta: FloatArray, sums: Sums) -> Sums:
        return sums

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        out = super().fitted(theta, rate)
        out.rate_, out.coef_ = float(rate), np.zeros(0)
        out.intercept_ = float(logit(np.clip(rate, 1e-15, 1 - 1e-15)))
        return out
