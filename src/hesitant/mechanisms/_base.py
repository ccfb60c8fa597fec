"""The one row term, and what every missing-label mechanism is.

What an expert says of row i enters every likelihood through ``a_ih = log p(said_i | class h, τ_i;
θ)``, τ the class posterior given the features. The row's log-likelihood gains ``a_iy`` where the
class y is known, ``log Σ_h τ_ih exp(a_ih)`` elsewhere. Its derivative in the log joint densities
``ℓ_ih = log π_h f_h(x_i)`` is ``ρ_ih − τ_ih + Σ_k ρ_ik ∂a_ik/∂ℓ_ih``, with ρ the class given
features and what was said: a pull on the row's class weights that sums to zero.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator

from hesitant._typing import BoolArray, FloatArray, IntArray, Movable
from hesitant.rows import Tally
from hesitant.uncertainty import Shannon, Uncertainty

Terms: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Value: TypeAlias = tuple[float, FloatArray]  # with its gradient


@dataclass
class Evidence:
    """What was said of rows, were their classes known: a_ih and its derivatives.

    ``log_p`` is a_ih (n, g), or (n, 1) if it is the same for all classes. With a last axis more,
    ``in_theta`` are its derivatives in the parameters; or in those that matter to a class, which
    are ``embed`` (g, k, q) times all of them. ``in_joint`` times ``toward`` are those in the log
    joint densities (None if they vanish, or nobody will ask). Outer products of ``in_theta`` stand
    in for the information about the parameters; with ``odds``, times those of what was said.
    """

    log_p: FloatArray
    in_theta: FloatArray
    in_joint: FloatArray | None = None
    toward: FloatArray | None = None
    odds: bool = False
    embed: FloatArray | None = None

    def _by_class(self, weight: FloatArray) -> FloatArray:
        return np.einsum("ih->i", weight)[:, None] if self.log_p.shape[1] == 1 else weight

    def pull(self, rho: FloatArray) -> FloatArray:
        """Return ``Σ_k ρ_ik ∂a_ik/∂ℓ_ih`` (n, g)."""
        if self.in_joint is None:
            return np.zeros_like(rho)
        moved = np.einsum("ih,ihk->ik", self._by_class(rho), self.in_joint)
        return moved if self.toward is None else moved * self.toward

    def scores(self, rho: FloatArray) -> FloatArray:
        """Return ``Σ_k ρ_ik ∂a_ik/∂θ`` (n, q)."""
        each = self._by_class(rho)[:, :, None] * self.in_theta
        if self.embed is None:
            return np.einsum("ihq->iq", each)
        return each.reshape(len(each), -1) @ self.embed.reshape(-1, self.embed.shape[2])

    def sums(self, weight: FloatArray, edges: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return sums of scores (1, q) and information (1, q, q), or of rows between edges."""
        by_class, scores, spreads = self._by_class(weight), [], []
        factor = by_class * odds(self.log_p) if self.odds else by_class
        for part in (slice(*ends) for ends in pairwise(edges or (0, len(weight)))):
            each = self.in_theta[part].transpose(1, 0, 2)
            scores.append(np.einsum("ih,hik->hk", by_class[part], each))
            spreads.append((factor[part].T[:, :, None] * each).transpose(0, 2, 1) @ each)
        score, spread = np.stack(scores), np.stack(spreads)
        if self.embed is None:
            return np.einsum("jhq->jq", score), np.einsum("jhqr->jqr", spread)
        across = spread @ self.embed
        return np.tensordot(score, self.embed, 2), np.einsum("hkq,jhkr->jqr", self.embed, across)


@dataclass(frozen=True)
class RowTerm:
    """The row term of a block: log probabilities of what was said, and what follows."""

    log_p: FloatArray  # (n,)
    resolved: FloatArray  # classes given features and what was said (n, g)
    prior: FloatArray  # classes given features, or known (n, g)
    evidence: Evidence

    @property
    def pull(self) -> FloatArray:
        """Derivatives of ``log_p`` in the log joint densities (n, g)."""
        return self.evidence.pull(self.resolved) + (self.resolved - self.prior)

    @property
    def gradient(self) -> FloatArray:
        """Derivatives of ``log_p`` in the parameters (n, q)."""
        return self.evidence.scores(self.resolved)


def row_term(evidence: Evidence, log_tau: FloatArray, tau: FloatArray, codes: IntArray) -> RowTerm:
    """Return the row term of a block; ``codes`` holds the class where it is known, else −1."""
    known = codes >= 0
    prior = np.where(known[:, None], codes[:, None] == np.arange(tau.shape[1]), tau)
    if evidence.log_p.shape[1] == 1:
        return RowTerm(evidence.log_p[:, 0], prior, prior, evidence)
    joint = log_tau + evidence.log_p
    # Over a few classes NumPy's own max and sum take many times as long as these.
    top = reduce(np.maximum, joint.T)
    share = np.exp(joint - top[:, None])
    total = np.einsum("ih->i", share)
    given = np.take_along_axis(evidence.log_p, np.maximum(codes, 0)[:, None], axis=1)[:, 0]
    log_p = np.where(known, given, top + np.log(total))
    return RowTerm(log_p, np.where(known[:, None], prior, share / total[:, None]), prior, evidence)


class Difficulty(NamedTuple):
    """What a mechanism wants to know of rows' posteriors, apart from its own parameters."""

    log_tau: FloatArray  # (n, g)
    tau: FloatArray
    u: FloatArray  # the uncertainty (n,)
    du: FloatArray | None  # its slopes in the log joint densities (n, g), if anybody will ask
    design: tuple[FloatArray, ...] = ()  # what else follows from u: a basis, say
    who: IntArray | None = None  # if several readers hesitate: whose row of theta counts, sorted

    def at(self, rows: IntArray, who: IntArray) -> "Difficulty":
        """Return that of some rows, each as one reader sees it."""
        whole = self.log_tau, self.tau, self.u, *self.design
        log_tau, tau, u, *design = (part.take(rows, axis=0) for part in whole)
        du = None if self.du is None else self.du.take(rows, axis=0)
        return Difficulty(log_tau, tau, u, du, tuple(design), who)


class Pattern(NamedTuple):
    """What was said of a block of rows: sums of its log probability and of its derivatives."""

    value: float
    pull: FloatArray  # of each row on its classes (n, g); (0, g) if there is none
    gradient: FloatArray  # in the mechanism's parameters
    curvature: FloatArray  # a negative Hessian, or a stand-in; of readers a block each


class Mechanism(Movable, BaseEstimator):
    """Base of the mechanisms.

    To add one, subclass it, set ``uncertainty`` and ``n_parameters``, and write
    :meth:`log_probability`: everything else follows from it. ``by_class`` says whether it depends
    on the class too, ``informative`` whether the pattern of blanks enters the likelihood at all.
    The weak prior ``−½ ridge |theta|²`` keeps theta finite when uncertainty separates labelled
    rows from blanks, and is far below the noise of any data otherwise.
    """

    probabilities: ClassVar[tuple[str, ...]] = ()  # which of the natural parameters are such
    required: ClassVar[tuple[str, ...]] = ("uncertainty", "n_parameters")
    uncertainty: Uncertainty
    n_parameters: int
    n_classes: int = 2
    class_names: list[str] | None = None
    readers: Any = None  # names of a panel's
    by_class: bool = False
    informative: bool = True
    in_one_pass: bool = False  # whether hesitant.one_pass knows it
    ridge: float = 1e-6
    leverage_: Any = None  # how far classes could be bent to follow it, along their directions
    steepness_: FloatArray  # how much each parameter, and each two together, would bend them
    parameters_: FloatArray

    @abstractmethod
    def log_probability(self, u: FloatArray, labelled: BoolArray, theta: FloatArray) -> Terms:
        """Return the log probability of what was seen of each row (a label, or none), given u.

        Of shape (n,), or (n, g) with ``by_class``; then its derivative in u; and, with a last axis
        more, its derivatives in theta.
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

    def confusion(self) -> FloatArray:
        raise AttributeError("confusion_ belongs to labels of experts='fallible'.")

    def testable(self) -> "Mechanism | None":
        """Return the part that is nothing but chance if its slopes are zero, None if none is."""
        return None

    @property
    def parameter_names(self) -> list[str]:
        return [f"theta[{k}]" for k in range(self.n_parameters)]

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return the parameters in the units people think in, by the names that tables print."""
        return dict(zip(self.parameter_names, map(float, theta), strict=True))

    def prepare(self, n_classes: int) -> Self:
        """Return a copy checked and made ready for this many classes."""
        self.uncertainty.check(n_classes)
        return self.moved(n_classes=n_classes)

    def estimable(self, tally: Tally) -> tuple["Mechanism", list[str]]:
        """Return itself, or what to use instead, and why, where blanks have no pattern."""
        labelled, blank = tally.reviewed_labelled > 0, tally.reviewed_blank > 0
        if labelled and blank:
            return self, []
        seen = f"{'every' if labelled else 'no'} reviewed row is labelled"
        if not (labelled or blank):
            seen = "no row was reviewed"
        why = f"The mechanism cannot be estimated: {seen}. The classes were fitted by the"
        return Ignorable(), [f"{why} ignorance likelihood (labels assumed missing at random)."]

    def initial(self) -> FloatArray:
        return np.zeros(self.n_parameters)

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        u, du = self.uncertainty.evaluate(log_tau, tau)
        return Difficulty(log_tau, tau, u, du if slopes else None)

    def evidence(self, seen: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return what was said of rows as evidence about their classes.

        Of several readers theta has a row each, and ``seen.who`` says whose rows these are.
        """
        u, who, theta = seen.u, seen.who, np.atleast_2d(theta)
        edges = [0, len(u)] if who is None else np.searchsorted(who, np.arange(len(theta) + 1))
        parts = zip((slice(*ends) for ends in pairwise(edges)), theta, strict=True)
        each = [self.log_probability(u[p], said[p], own) for p, own in parts]
        log_p, slope, gradient = map(np.concatenate, zip(*each, strict=True))
        if log_p.ndim == 1:
            log_p, slope, gradient = log_p[:, None], slope[:, None], gradient[:, None]
        pull = None if seen.du is None else slope[:, :, None]
        return Evidence(log_p, gradient, pull, seen.du, odds=True)

    def pattern(
        self, seen: Difficulty, codes: IntArray, said: Any, weight: FloatArray, theta: FloatArray
    ) -> Pattern:
        """Sum the row term over a block of rows, each with its weight."""
        evidence = self.evidence(seen, said, theta)
        rows = row_term(evidence, seen.log_tau, seen.tau, codes)
        gradient, curvature = evidence.sums(weight[:, None] * rows.resolved)
        pull = np.zeros((0, seen.tau.shape[1])) if seen.du is None else weight[:, None] * rows.pull
        return Pattern(float(weight @ rows.log_p), pull, gradient[0], curvature[0])

    def strength(self, theta: FloatArray) -> FloatArray | float:
        """Return the precision of the weak normal prior about zero, or of each parameter's."""
        return self.ridge

    def add_prior(self, theta: FloatArray, value: float, gradient: FloatArray) -> Value:
        """Add what the weak prior and :mod:`hesitant.leverage` say to sums over rows."""
        inward = self.strength(theta) * theta
        value, gradient = value - 0.5 * float(inward.dot(theta)), gradient - inward
        if self.leverage_ is not None:
            toward = self.steepness_ @ theta
            factor = 1.0 + self.leverage_ * float(theta @ toward)
            value -= 0.5 * float(np.log(factor).sum())
            gradient -= float((self.leverage_ / factor).sum()) * toward
        return value, gradient

    def information(self, theta: FloatArray, curvature: FloatArray | float) -> FloatArray:
        """Return the curvature (q, q) of rows and prior, from its sums over rows."""
        out = curvature + self.strength(theta) * np.eye(theta.size)
        if self.leverage_ is not None:
            toward = self.steepness_ @ theta
            size = float(theta @ toward)
            part = self.leverage_ / (1.0 + self.leverage_ * size)
            # Along theta itself it flattens; where it would bend upwards it counts as flat.
            flatter = min(2.0 * float((part**2).sum()), float(part.sum()) / max(size, 1e-300))
            out += part.sum() * self.steepness_ - flatter * np.multiply.outer(toward, toward)
        return out

    def retune(self, theta: FloatArray, curvature: FloatArray) -> Self | None:
        """Return the mechanism with settings learned from a fit that ended here, None if none."""
        return None

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy that knows its parameters, and the share of rows labelled."""
        return self.moved(parameters_=np.asarray(theta, dtype=float))

    def probability(self, log_tau: FloatArray, tau: FloatArray, classes: Any = None) -> FloatArray:
        """Return Pr(labelled) of each row, a mean over posteriors (or better known classes)."""
        seen = np.ones(len(tau), dtype=bool)
        difficulty = self.difficulty(log_tau, tau, slopes=False)
        p = np.exp(self.evidence(difficulty, seen, self.parameters_).log_p)
        if p.shape[1] == 1:
            return p[:, 0]
        return np.minimum(np.einsum("ih,ih->i", tau if classes is None else classes, p), 1.0)

    def draw(
        self, codes: IntArray, log_tau: FloatArray, tau: FloatArray, classes: Any, rng: Any
    ) -> Any:
        """Draw which rows of these classes would be labelled."""
        return rng.random(len(codes)) < self.probability(log_tau, tau, np.eye(tau.shape[1])[codes])


def odds(log_p: FloatArray) -> FloatArray:
    """Return the odds of what was seen, of two things that may be."""
    # Their scores, times their chances, add up to nothing. So the mean of the outer products
    # (Fisher's information) is that of either score times the odds of its outcome.
    # Of an outcome that is certain but for rounding, the score is rounding too.
    return np.exp(log_p) / np.maximum(-np.expm1(log_p), 1e-16)


class Ignorable(Mechanism):
    """Labels are missing without regard to difficulty: the ignorance likelihood.

    Its labelling probability is the share of reviewed rows that carry a label; ``intercept_`` is
    the logit of that share, and ``coef_`` is empty.

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
    in_one_pass = True
    ridge = 0.0  # parameters of another mechanism may stand by, for later
    in_words = "none"
    intercept_: float
    coef_: FloatArray
    rate_: float = 0.5

    def describe(self) -> str:
        return (
            "Labelled rows inform the classes through their label and blank rows through where "
            "they lie; the pattern of blanks was ignored (the ignorance likelihood)."
        )

    def estimable(self, tally: Tally) -> tuple[Mechanism, list[str]]:
        return self, []

    def log_probability(self, u: FloatArray, labelled: BoolArray, theta: FloatArray) -> Terms:
        with np.errstate(divide="ignore"):  # a rate of 0 or 1 is a fact, not a mistake
            log_p = np.log(np.where(labelled, self.rate_, 1.0 - self.rate_))
        return log_p, np.zeros(u.size), np.zeros((u.size, 0))

    def evidence(self, seen: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return no evidence: what was said is the same for all classes, and has no parameters."""
        n = seen.u.size
        return Evidence(np.zeros((n, 1)), np.zeros((n, 1, theta.shape[-1])))

    def pattern(self, seen: Difficulty, *rest: Any) -> Pattern:
        q = rest[-1].size
        return Pattern(0.0, np.zeros((0, seen.tau.shape[1])), np.zeros(q), np.zeros((q, q)))

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        return Difficulty(log_tau, tau, tau[:, 0], tau if slopes else None)

    def probability(self, log_tau: FloatArray, tau: FloatArray, classes: Any = None) -> FloatArray:
        return np.full(len(tau), self.rate_)

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        out = super().fitted(theta, rate)
        out.rate_, out.coef_ = float(rate), np.zeros(0)
        out.intercept_ = float(logit(np.clip(rate, 1e-15, 1 - 1e-15)))
        return out
