"""Links: from a linear predictor to the chance of a label."""

from abc import abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log1p, log_expit
from sklearn.base import BaseEstimator

from hesitant._typing import FloatArray


class Chance(NamedTuple):
    """Log chances of a label and of a blank, with their derivatives.

    Attributes
    ----------
    log_seen, log_blank : arrays
    d_seen, d_blank : arrays
        Derivatives in the predictor.
    s_seen, s_blank : arrays or None
        Derivatives in the link's own parameter, if it has one to estimate.
    """

    log_seen: FloatArray
    log_blank: FloatArray
    d_seen: FloatArray
    d_blank: FloatArray
    s_seen: FloatArray | None = None
    s_blank: FloatArray | None = None


class Link(BaseEstimator):
    """Base of the links."""

    names: tuple[str, ...] = ()
    """Names of the parameters that a fit estimates: none, or one."""
    prior: float = 0.0
    """Strength of the weak prior ``−½ prior θ²`` of that parameter."""

    @abstractmethod
    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        """Return chances at predictors ``eta``; ``own`` holds the link's parameters."""

    def natural(self, own: FloatArray) -> dict[str, float]:
        """Return the link's parameters in the units people think in."""
        return dict(zip(self.names, map(float, own), strict=True))

    def check(self) -> None:
        """Raise ValueError if a setting makes no sense."""


class Logistic(Link):
    """``Pr(labelled) = 1 / (1 + exp(−η))``.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import Logistic
    >>> np.exp(Logistic().evaluate(np.zeros(1), np.zeros(0)).log_seen)
    array([0.5])
    """

    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        """Return logistic chances."""
        p = expit(eta)
        return Chance(log_expit(eta), log_expit(-eta), expit(-eta), -p)


class ArandaOrdaz(Link):
    """``Pr(labelled) = 1 − (1 + ψ exp(η))^(−1/ψ)``: one parameter for the curve's asymmetry.

    A shape ψ of 1 is the logistic link, ψ → 0 the complementary log-log link, under which a
    label is certain sooner than a blank ever gets.

    Parameters
    ----------
    shape : float or None, default=None
        ψ > 0; None estimates it, with a weak prior (a standard deviation of 3 for log ψ about 0).

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import ArandaOrdaz
    >>> np.exp(ArandaOrdaz(shape=1.0).evaluate(np.zeros(1), np.zeros(0)).log_seen)
    array([0.5])
    """

    prior = 1.0 / 9.0

    def __init__(self, shape: float | None = None) -> None:
        self.shape = shape

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The log of ψ, if it is estimated."""
        return () if self.shape is not None else ("log link shape",)

    def natural(self, own: FloatArray) -> dict[str, float]:
        """Return ψ."""
        return {} if self.shape is not None else {"link shape": float(np.exp(own[0]))}

    def check(self) -> None:
        """Refuse a shape that is not a positive number."""
        right = self.shape is None or (isinstance(self.shape, Real) and 0 < self.shape < 1e6)
        if not right:
            raise ValueError(f"shape={self.shape!r}: give a positive number, or None.")

    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        """Return chances, in log space throughout."""
        t = float(own[0]) if self.shape is None else float(np.log(self.shape))
        # Beyond e^±7 the curve no longer changes to the eye; there the parameter stands still.
        inside = abs(t) < 7.0
        t = float(np.clip(t, -7.0, 7.0))
        per = np.exp(-t)
        soft = -log_expit(-(eta + t))
        turn = expit(eta + t)
        log_blank = np.minimum(-per * soft, -1e-300)
        # log(1 − e^x) without cancellation, near 0 and far below.
        log_seen = np.where(
            log_blank > -0.693, np.log(-np.expm1(log_blank)), log1p(-np.exp(log_blank))
        )
        d_blank = -per * turn
        odds = np.exp(log_blank - log_seen)
        s_blank = per * (soft - turn) * inside
        d_seen, s_seen = -odds * d_blank, -odds * s_blank
        # Far to the left a label's chance is e^η, whose logarithm has the slope one.
        far = eta + t < -30.0
        log_seen = np.where(far, eta, log_seen)
        d_seen = np.where(far, 1.0, d_seen)
        s_seen = np.where(far, 0.0, s_seen)
        return Chance(log_seen, log_blank, d_seen, d_blank, s_seen, s_blank)


LINKS: dict[str, type[Link]] = {"logistic": Logistic, "aranda_ordaz": ArandaOrdaz}
