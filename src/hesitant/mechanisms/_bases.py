"""Bases: the functions of uncertainty that enter a mechanism's linear predictor."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

from hesitant._typing import FloatArray


class Basis(BaseEstimator):
    """Base of the bases: functions b_1..b_T of the uncertainty, and their derivatives."""

    @abstractmethod
    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return (b, db), each (n, T), at uncertainties ``u`` in [0, maximum]."""

    @property
    @abstractmethod
    def size(self) -> int:
        """T, the number of functions."""

    @property
    def names(self) -> list[str]:
        """A name for each function, as tables print it."""
        return [f"b{t + 1}(u)" for t in range(self.size)]

    def check(self, maximum: float) -> None:
        """Raise ValueError if the basis does not fit an uncertainty with this maximum."""


class Linear(Basis):
    """The uncertainty itself: ``b(u) = u``.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import Linear
    >>> b, db = Linear().evaluate(np.array([0.1, 0.5]), 0.693)
    >>> b.ravel()
    array([0.1, 0.5])
    """

    size = 1
    names = ["u"]  # noqa: RUF012 (fixed, never changed)

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return u and ones."""
        return u[:, None], np.ones((u.size, 1))


class NoBasis(Basis):
    """No function of the uncertainty at all: difficulty plays no part."""

    size = 0
    names: list[str] = []  # noqa: RUF012

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return columns of nothing."""
        return np.zeros((u.size, 0)), np.zeros((u.size, 0))


class Polynomial(Basis):
    """Powers ``u, u², …`` up to a degree.

    Parameters
    ----------
    degree : int, default=2

    Examples
    --------
    >>> from hesitant.mechanisms import EntropyMechanism, Polynomial
    >>> EntropyMechanism(basis=Polynomial(3)).parameter_names
    ['intercept', 'u', 'u^2', 'u^3']
    """

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree

    @property
    def size(self) -> int:
        """The degree."""
        return self.degree

    @property
    def names(self) -> list[str]:
        """The powers of u."""
        return ["u" if k == 1 else f"u^{k}" for k in range(1, self.degree + 1)]

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return the powers and their derivatives."""
        k = np.arange(1, self.degree + 1)
        lower = u[:, None] ** (k - 1)
        return lower * u[:, None], k * lower

    def check(self, maximum: float) -> None:
        """Refuse a degree below one."""
        if not (isinstance(self.degree, int | np.integer) and self.degree >= 1):
            raise ValueError(f"degree={self.degree!r}: give a whole number >= 1.")


class Spline(Basis):
    """Cubic B-splines with equally spaced knots over the range of the uncertainty.

    Parameters
    ----------
    df : int, default=4
        Number of functions (at least 3, a plain cubic); the constant is left to the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import Spline
    >>> b, _ = Spline(5).evaluate(np.linspace(0, 1, 3), 1.0)
    >>> b.shape
    (3, 5)
    """

    def __init__(self, df: int = 4) -> None:
        self.df = df

    @property
    def size(self) -> int:
        """The degrees of freedom."""
        return self.df

    def _spline(self, maximum: float) -> BSpline:
        inner = np.linspace(0.0, maximum, self.df - 1)
        knots = np.concatenate(([0.0] * 3, inner, [maximum] * 3))
        # The functions sum to one, so the first would repeat the intercept.
        return BSpline(knots, np.eye(self.df + 1)[:, 1:], 3)

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return the splines and their derivatives."""
        spline = self._spline(maximum)
        u = np.clip(u, 0.0, maximum)  # rounding may step over an end
        return spline(u), spline.derivative()(u)

    def check(self, maximum: float) -> None:
        """Refuse too few functions, or a measure without an upper end."""
        if not (isinstance(self.df, int | np.integer) and self.df >= 3):
            raise ValueError(f"df={self.df!r}: a cubic spline needs a whole number >= 3.")
        if not np.isfinite(maximum):
            raise ValueError(
                "Spline needs an uncertainty with a largest value (an entropy), to place its "
                "knots: use Polynomial, Log or Functions with this measure."
            )


class Log(Basis):
    """The logarithm of the uncertainty.

    Parameters
    ----------
    floor : float, default=1e-300
        An uncertainty below this counts as this, so that certainty itself stays finite. The
        curve is flat there: such rows do not pull on the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import Log
    >>> Log(floor=1e-3).evaluate(np.array([0.0, 1.0]), 1.0)[0].ravel().round(3)
    array([-6.908,  0.   ])
    """

    size = 1
    names = ["log u"]  # noqa: RUF012

    def __init__(self, floor: float = 1e-300) -> None:
        self.floor = floor

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return log u and 1/u, flat below the floor."""
        above = u > self.floor
        safe = np.where(above, u, self.floor)
        return np.log(safe)[:, None], np.where(above, 1.0 / safe, 0.0)[:, None]

    def check(self, maximum: float) -> None:
        """Refuse a floor that is not a small positive number."""
        if not (isinstance(self.floor, Real) and 1e-300 <= self.floor < 1e-2):
            raise ValueError(f"floor={self.floor!r}: give a number from 1e-300 to 1e-2.")


class Logit(Log):
    """The logit of the uncertainty as a share of its maximum: ``logit(u / log g)``.

    Parameters
    ----------
    floor : float, default=1e-300
        A share below this counts as this; a share above ``1 − 1e-9`` counts as that.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import Logit
    >>> Logit().evaluate(np.array([0.1, 0.35]), 0.7)[0].ravel().round(3)
    array([-1.792,  0.   ])
    """

    names = ["logit u"]  # noqa: RUF012

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Return the logit and its derivative, flat beyond floor and ceiling."""
        ceiling = 1.0 - 1e-9
        share = u / maximum
        inside = (share > self.floor) & (share < ceiling)
        share = np.clip(share, self.floor, ceiling)
        slope = np.where(inside, 1.0 / (share * (1.0 - share) * maximum), 0.0)
        return (np.log(share) - np.log1p(-share))[:, None], slope[:, None]

    def check(self, maximum: float) -> None:
        """Refuse a measure without an upper end."""
        super().check(maximum)
        if not np.isfinite(maximum):
            raise ValueError(
                "Logit needs an uncertainty with a largest value (an entropy): "
                "use Log with this measure."
            )


class Functions(Basis):
    """The user's own functions of uncertainty.

    Parameters
    ----------
    functions : sequence of callables
        Each takes an array of uncertainties and returns an array of the same shape.
    derivatives : sequence of callables
        The derivative of each.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.mechanisms import EntropyMechanism, Functions
    >>> step = Functions([np.tanh], [lambda u: 1 / np.cosh(u) ** 2])
    >>> EntropyMechanism(basis=step).n_parameters
    2
    """

    def __init__(
        self,
        functions: Sequence[Callable[[FloatArray], FloatArray]],
        derivatives: Sequence[Callable[[FloatArray], FloatArray]],
    ) -> None:
        self.functions = functions
        self.derivatives = derivatives

    @property
    def size(self) -> int:
        """The number of functions."""
        return len(self.functions)

    def evaluate(self, u: FloatArray, maximum: float) -> tuple[FloatArray, FloatArray]:
        """Call each function."""
        columns = [np.asarray(f(u), dtype=float) for f in self.functions]
        slopes = [np.asarray(f(u), dtype=float) for f in self.derivatives]
        return np.stack(columns, axis=1), np.stack(slopes, axis=1)

    def check(self, maximum: float) -> None:
        """Compare each derivative with a finite difference of its function."""
        for name in ("functions", "derivatives"):
            if not isinstance(getattr(self, name), Sequence):
                raise TypeError(f"{name} must be a list of functions, such as [np.tanh].")
        if len(self.functions) != len(self.derivatives) or not self.functions:
            raise ValueError(
                f"Functions got {len(self.functions)} functions and {len(self.derivatives)} "
                "derivatives: give at least one function, and one derivative for each."
            )
        top = maximum if np.isfinite(maximum) else 1.0
        u, step = top * np.array([0.2, 0.4, 0.6, 0.8]), 1e-5 * top
        for f in (*self.functions, *self.derivatives):
            if np.shape(f(u)) != u.shape or not np.isfinite(f(u)).all():
                raise ValueError(
                    "Functions and derivatives must return one finite number for each uncertainty "
                    f"in the range; one returned {f(u)!r} for {u}."
                )
        _, slopes = self.evaluate(u, maximum)
        ends = np.array([0.0, top])
        with np.errstate(all="ignore"):
            bad = ~np.isfinite(np.hstack(self.evaluate(ends, maximum)))
        if bad.any():
            end, k = np.argwhere(bad)[0]
            raise ValueError(
                f"functions[{k % self.size}] or its derivative is not finite at u = "
                f"{ends[end]:.3g}, where rows may lie: bound it, for example by "
                "np.maximum(u, 1e-12)."
            )
        rise = self.evaluate(u + step, maximum)[0] - self.evaluate(u - step, maximum)[0]
        numeric = rise / (2 * step)
        wrong = np.abs(numeric - slopes).max(axis=0) > 1e-3 * (1 + np.abs(numeric).max(axis=0))
        if wrong.any():
            raise ValueError(
                f"derivatives[{int(np.argmax(wrong))}] does not agree with a finite difference "
                "of its function: correct it, or the fit would stop in the wrong place."
            )


BASES: dict[str, type[Basis]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "spline": Spline,
    "log": Log,
    "logit": Logit,
}
