"""The curve from uncertainty to the chance of a label: bases of its predictor, and links."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy.interpolate import BSpline, PPoly
from scipy.special import expit, log1p, log_expit
from sklearn.base import BaseEstimator

from hesitant._typing import FloatArray
from hesitant.checks import check_number

Function: TypeAlias = Callable[[FloatArray], FloatArray]


class Basis(BaseEstimator):
    """Base of the bases: functions b_1..b_T of the uncertainty, and their derivatives."""

    endless = ""  # what to use instead where the uncertainty has no end, if this needs one
    _limits: ClassVar[dict[str, tuple[Any, ...]]] = {}  # each with its kind and its bounds

    @abstractmethod
    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return (b, db), each (n, T), at uncertainties ``u`` in [0, maximum]."""

    @property
    @abstractmethod
    def size(self) -> int:
        """T, the number of functions."""

    @property
    def names(self) -> list[str]:
        return [f"b{t + 1}(u)" for t in range(self.size)]

    def check(self, maximum: float) -> None:
        """Raise if an option makes no sense, or not for an uncertainty with this maximum."""
        for name, limits in self._limits.items():
            check_number(name, getattr(self, name), *limits)
        if self.endless and not np.isfinite(maximum):
            raise ValueError(f"{type(self).__name__} needs a bounded measure: use {self.endless}.")


class Linear(Basis):
    """The uncertainty itself: ``b(u) = u``."""

    size = 1
    names = ["u"]  # noqa: RUF012 (fixed, never changed)

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        return u[:, None], np.ones((u.size, 1))


class NoBasis(Basis):
    """No function of the uncertainty at all: difficulty plays no part."""

    size = 0

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        return np.zeros((u.size, 0)), np.zeros((u.size, 0))


class Polynomial(Basis):
    """Powers ``u, u², …`` up to a degree, 2 by default.

    >>> from hesitant.mechanisms import EntropyMechanism, Polynomial
    >>> EntropyMechanism(basis=Polynomial(3)).parameter_names
    ['intercept', 'u', 'u^2', 'u^3']
    """

    size = property(lambda self: self.degree)
    names = property(lambda self: ["u", *(f"u^{k}" for k in range(2, self.degree + 1))])
    _limits: ClassVar = {"degree": (Integral, 1)}

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        k = np.arange(1, self.degree + 1)
        lower = u[:, None] ** (k - 1)
        return lower * u[:, None], k * lower


class Spline(Basis):
    """Cubic B-splines with equally spaced knots; ``df`` is their number, at least 3."""

    size = property(lambda self: self.df)
    endless = "Polynomial, Log or Functions"
    _limits: ClassVar = {"df": (Integral, 3)}

    def __init__(self, df: int = 4) -> None:
        self.df = df

    def curve(self, maximum: float) -> Callable[..., FloatArray]:
        """Return the functions of uncertainty, whose second argument asks for a derivative."""
        knots = maximum * np.clip(np.arange(-3, self.df + 2) / (self.df - 2), 0.0, 1.0)
        # The functions sum to one, so the first would repeat the intercept.
        spline, ends = BSpline.construct_fast(knots, np.eye(self.df + 1)[:, 1:], 3), knots[3:-3]
        # As powers within each piece: these are found in two thirds of the time.
        powers = [spline(ends[:-1], k) / math.factorial(k) for k in (3, 2, 1, 0)]
        return PPoly.construct_fast(np.stack(powers), ends)

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        spline = self.curve(maximum)
        return spline(u), spline(u, 1)


class Log(Basis):
    """The logarithm of the uncertainty, flat below ``floor``: certainty itself stays finite."""

    size = 1
    names = ["log u"]  # noqa: RUF012
    _limits: ClassVar = {"floor": (Real, 1e-300, 1e-2)}

    def __init__(self, floor: float = 1e-300) -> None:
        self.floor = floor

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        above = u > self.floor
        safe = np.where(above, u, self.floor)
        return np.log(safe)[:, None], np.where(above, 1.0 / safe, 0.0)[:, None]


class Logit(Log):
    """The logit of the uncertainty as a share of its maximum: ``logit(u / log g)``.

    A share below ``floor`` counts as that, and a share above ``1 − 1e-9`` as that.
    """

    names = ["logit u"]  # noqa: RUF012
    endless = "Log"

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        share = np.clip(u / maximum, self.floor, 1.0 - 1e-9)
        slope = np.where(share == u / maximum, 1.0 / (share * (1.0 - share) * maximum), 0.0)
        return (np.log(share) - np.log1p(-share))[:, None], slope[:, None]


class Functions(Basis):
    """The user's own functions of uncertainty, from arrays to arrays, and the derivative of each.

    >>> from hesitant.mechanisms import EntropyMechanism, Functions
    >>> step = Functions([np.tanh], [lambda u: 1 / np.cosh(u) ** 2])
    >>> EntropyMechanism(basis=step).n_parameters
    2
    """

    size = property(lambda self: len(self.functions))

    def __init__(self, functions: Sequence[Function], derivatives: Sequence[Function]) -> None:
        self.functions, self.derivatives = functions, derivatives

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        b, db = (np.array([f(u) for f in own]).T for own in (self.functions, self.derivatives))
        return np.ascontiguousarray(b, dtype=float), np.ascontiguousarray(db, dtype=float)

    def check(self, maximum: float) -> None:
        for name, given in vars(self).items():
            if not isinstance(given, Sequence):
                raise TypeError(f"{name} must be a list of functions, such as [np.tanh].")
        if len(self.functions) != len(self.derivatives) or not self.functions:
            counts = f"{len(self.functions)} functions and {len(self.derivatives)} derivatives"
            raise ValueError(f"{counts}: give at least one function, and one derivative for each.")


BASES: dict[str, type[Basis]] = {"linear": Linear, "polynomial": Polynomial, "spline": Spline}
BASES |= {"log": Log, "logit": Logit}


class Chance(NamedTuple):
    """Log chances of a label and of a blank, with their derivatives."""

    log_seen: FloatArray
    log_blank: FloatArray
    d_seen: FloatArray  # in the predictor
    d_blank: FloatArray
    s_seen: Any = None  # in the link's own parameter, if it has one to estimate
    s_blank: Any = None


class Link(BaseEstimator):
    """Base of the links."""

    names: tuple[str, ...] = ()  # of the parameters that a fit estimates: none, or one
    start: float = 0.0  # where a fit begins with that parameter
    prior: float = 0.0  # strength of its weak prior ``−½ prior θ²``

    @abstractmethod
    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        """Return chances at predictors ``eta``; ``own`` holds the link's parameters."""

    def natural(self, own: FloatArray) -> dict[str, float]:
        return dict(zip(self.names, map(float, own), strict=True))

    def check(self) -> None:
        """Raise ValueError if a setting makes no sense."""


class Logistic(Link):
    """``Pr(labelled) = 1 / (1 + exp(−η))``."""

    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        small = np.exp(-np.abs(eta))  # one exponential and one logarithm serve all four
        soft, high = np.log1p(small), 1.0 / (1.0 + small)
        low = small * high
        seen, blank = np.minimum(eta, 0.0) - soft, np.minimum(-eta, 0.0) - soft
        positive = eta >= 0.0
        return Chance(seen, blank, np.where(positive, low, high), -np.where(positive, high, low))


class Dropout(Link):
    """``Pr(labelled) = (1 − δ) / (1 + exp(−η))``: a share δ of labels is lost by chance."""

    names = ("logit dropout",)
    start = -3.0  # at δ = 0 its derivative vanishes

    def natural(self, own: FloatArray) -> dict[str, float]:
        return {"dropout": float(expit(own[0]))}

    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        drop, log_drop, log_keep = expit(own), log_expit(own), log_expit(-own)
        p = expit(eta)
        log_blank = np.logaddexp(log_drop, log_keep + log_expit(-eta))
        by_chance = np.exp(log_drop - log_blank)  # the share of a blank that chance explains
        log_seen, d_seen, d_blank = log_keep + log_expit(eta), expit(-eta), -p * (1.0 - by_chance)
        s_seen, s_blank = np.broadcast_to(-drop, eta.shape), by_chance * p * (1.0 - drop)
        return Chance(log_seen, log_blank, d_seen, d_blank, s_seen, s_blank)


class ArandaOrdaz(Link):
    """``Pr(labelled) = 1 − (1 + ψ exp(η))^(−1/ψ)``: one parameter for the curve's asymmetry.

    A shape ψ of 1 is the logistic link, ψ → 0 the complementary log-log. By default ψ is
    estimated, with a weak prior (a standard deviation of 3 for log ψ about 0).
    """

    prior = 1.0 / 9.0

    def __init__(self, shape: float | None = None) -> None:
        self.shape = shape

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return () if self.shape is not None else ("log link shape",)

    def natural(self, own: FloatArray) -> dict[str, float]:
        return {} if self.shape is not None else {"link shape": float(np.exp(own[0]))}

    def check(self) -> None:
        if self.shape is not None:
            check_number("shape", self.shape, Real, 1e-6, 1e6)

    def evaluate(self, eta: FloatArray, own: FloatArray) -> Chance:
        given = own if self.shape is None else np.log(self.shape)
        # Beyond e^±7 the curve no longer changes to the eye; there the parameter stands still.
        t, inside = np.clip(given, -7.0, 7.0), abs(given) < 7.0
        per = np.exp(-t)
        soft, turn = -log_expit(-(eta + t)), expit(eta + t)
        log_blank = np.minimum(-per * soft, -1e-300)
        # log(1 − e^x) without cancellation, near 0 and far below.
        near, below = np.log(-np.expm1(log_blank)), log1p(-np.exp(log_blank))
        log_seen = np.where(log_blank > -0.693, near, below)
        d_blank, s_blank = -per * turn, per * (soft - turn) * inside
        odds = np.exp(log_blank - log_seen)
        # Far to the left a label's chance is e^η, whose logarithm has the slope one.
        far = eta + t < -30.0
        d_seen, s_seen = np.where(far, 1.0, -odds * d_blank), np.where(far, 0.0, -odds * s_blank)
        return Chance(np.where(far, eta, log_seen), log_blank, d_seen, d_blank, s_seen, s_blank)


LINKS: dict[str, type[Link]] = {"logistic": Logistic, "aranda_ordaz": ArandaOrdaz}
