"""No mechanism, as a mechanism: the blanks say nothing about the classes."""

import math
from typing import Any, Self

import numpy as np

from hesitant._typing import BoolArray, FloatArray
from hesitant.mechanisms._base import Difficulty, Mechanism, Pattern, Sums
from hesitant.mechanisms._row_term import Evidence
from hesitant.uncertainty import Shannon


class Ignorable(Mechanism):
    """Labels are missing without regard to difficulty: the ignorance likelihood.

    Its labelling probability is the share of reviewed rows that carry a label.

    Attributes
    ----------
    intercept_ : float
        Logit of that share, which is kept off 0 and 1 by 1e-15.
    coef_ : array of shape (0,)

    Examples
    --------
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
    intercept_: float
    coef_: FloatArray

    @property
    def in_words(self) -> str:
        """None."""
        return "none"

    def describe(self) -> str:
        """Say that the pattern had no part in the fit."""
        return (
            "Labelled rows inform the classes through their label and blank rows through where "
            "they lie; the pattern of blanks was ignored (the ignorance likelihood)."
        )

    def log_probability(
        self, u: FloatArray, labelled: BoolArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log of the constant labelling probability."""
        with np.errstate(divide="ignore"):  # a rate of 0 or 1 is a fact, not a mistake
            seen, blank = np.log(self.rate_), np.log1p(-self.rate_)
        log_p = np.full(u.size, blank)
        log_p[labelled] = seen
        return log_p, np.zeros(u.size), np.zeros((u.size, 0))

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return no evidence: what was said is the same for all classes, and has no parameters."""
        n = difficulty.u.size

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            return np.zeros_like(rho), np.zeros((n, theta.size))

        return Evidence(np.zeros((n, 1)), pull_back)

    def pattern(self, log_tau: FloatArray, tau: FloatArray, *rest: Any) -> Pattern:
        """Return nothing to add."""
        q = rest[-1].size  # parameters of another mechanism may stand by, for later
        return Pattern(0.0, np.zeros((0, tau.shape[1])), np.zeros(q), np.zeros((q, q)))

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        """Return nothing: difficulty plays no part."""
        return Difficulty(tau[:, 0], None)

    def probability(
        self, log_tau: FloatArray, tau: FloatArray, classes: FloatArray | None = None
    ) -> FloatArray:
        """Return the share of reviewed rows that are labelled, for every row."""
        return np.full(len(tau), self.rate_)

    def add_prior(self, theta: FloatArray, sums: Sums) -> Sums:
        """Return the sums as they are: there is nothing to estimate."""
        return sums

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy that knows the share of reviewed rows labelled."""
        out = super().fitted(theta, rate)
        out.rate_ = float(rate)
        out.coef_ = np.zeros(0)
        share = min(max(out.rate_, 1e-15), 1 - 1e-15)
        out.intercept_ = math.log(share) - math.log1p(-share)
        return out

    rate_: float = 0.5
