"""The paper's mechanism: a logistic regression of "labelled" on the entropy of the posterior."""

import copy
import math
from numbers import Real
from typing import Self

import numpy as np
from scipy.special import expit, log_expit

from hesitant._choices import choose
from hesitant._compile import njit
from hesitant._typing import BoolArray, FloatArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.mechanisms._base import Mechanism, Terms
from hesitant.mechanisms._bases import BASES, Basis
from hesitant.uncertainty import Renyi, Uncertainty

__all__ = ["EntropyMechanism", "MixedMechanism"]


class EntropyMechanism(Mechanism):
    """``logit Pr(labelled) = β_0 + Σ β_t b_t(u)``, u the uncertainty of the class posterior.

    Parameters
    ----------
    order : float, default=1.0
        Order of the Rényi entropy; 1 is Shannon's.
    basis : {"linear", "polynomial", "spline", "log", "logit"} or Basis, default="linear"
        The functions b_t of the uncertainty. ``Polynomial(degree)``, ``Spline(df)`` and
        ``Functions(...)`` give more control.
    uncertainty : Uncertainty, optional
        A measure to use in place of the Rényi entropy.
    ridge : float, default=1e-6
        Strength of the weak prior ``−½ ridge |β|²`` that keeps β finite when the entropy
        separates labelled rows from blanks.

    Attributes
    ----------
    intercept_ : float
        β_0 of a fitted model.
    coef_ : array of shape (T,)
        β_1..β_T. Negative for an entropy: harder cases are labelled less often.

    Examples
    --------
    >>> from hesitant.mechanisms import EntropyMechanism
    >>> EntropyMechanism(order=2, basis="spline").n_parameters
    5
    """

    intercept_: float
    coef_: FloatArray

    def __init__(
        self,
        order: float = 1.0,
        basis: str | Basis = "linear",
        uncertainty: Uncertainty | None = None,
        ridge: float = 1e-6,
    ) -> None:
        self.order = order
        self.basis = basis
        self.uncertainty = uncertainty  # type: ignore[assignment]  # resolved by prepare
        self.ridge = ridge

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        """The intercept and one coefficient for each basis function."""
        return 1 + choose("basis", self.basis, BASES, Basis).size

    @property
    def parameter_names(self) -> list[str]:
        """Intercept and the basis functions."""
        return ["intercept", *choose("basis", self.basis, BASES, Basis).names]

    _kind = "entropy"

    @property
    def in_words(self) -> str:
        """Kind, measure and basis, as far as they are not the usual ones."""
        words = [self._kind]
        if self.uncertainty is not None:
            words.append(repr(self.uncertainty))
        elif self.order != 1:
            words.append(f"order {self.order:g}")
        if self.basis != "linear":
            words.append(repr(self.basis) if isinstance(self.basis, Basis) else str(self.basis))
        return " ".join(words)

    def testable(self) -> "EntropyMechanism":
        """Return the mechanism itself: without slopes it is a coin."""
        return self

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return the intercept, and the coefficient of each basis function."""
        intercept, *names = self.parameter_names[: theta.size]
        return {
            intercept: float(theta[0]),
            **{f"coef[{name}]": float(b) for name, b in zip(names, theta[1:], strict=True)},
        }

    def prepare(self, n_classes: int) -> Self:
        """Return a copy with measure and basis resolved for this many classes."""
        if self.uncertainty is not None and self.order != 1.0:
            raise ValueError(
                f"order={self.order!r} and uncertainty={self.uncertainty!r} both name the "
                "measure: leave order at 1.0, or give uncertainty=Renyi(order) alone."
            )
        if not (isinstance(self.ridge, Real) and 0 < self.ridge < math.inf):
            raise ValueError(
                f"ridge={self.ridge!r}: give a small positive number (the default is 1e-6); "
                "zero would let β run off to infinity."
            )
        out = copy.copy(self)
        out.uncertainty = Renyi(self.order) if self.uncertainty is None else self.uncertainty
        out.order = 1.0  # it lives in the measure from here on
        if not isinstance(out.uncertainty, Uncertainty):
            raise TypeError(
                f"uncertainty={self.uncertainty!r} is not an Uncertainty: use Shannon(), "
                "Renyi(order), SquaredLogOdds(), or subclass hesitant.uncertainty.Uncertainty."
            )
        out.uncertainty.check(n_classes)
        out.basis = choose("basis", self.basis, BASES, Basis)
        out.maximum = out.uncertainty.maximum(n_classes)
        out.basis.check(out.maximum)
        return out

    maximum: float
    """Largest value of the uncertainty, known once the mechanism is prepared."""

    def _design(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        assert isinstance(self.basis, Basis)  # prepare() has run
        return self.basis.evaluate(u, self.maximum)

    def predictor(
        self, u: FloatArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return η(u), its derivative in u, and the design matrix with its intercept."""
        b, db = self._design(u)
        return theta[0] + b @ theta[1:], db @ theta[1:], np.column_stack((np.ones(u.size), b))

    def log_probability(
        self, u: FloatArray, labelled: BoolArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the Bernoulli log probability of each row and its derivatives."""
        eta, slope, design = self.predictor(u, theta)
        residual = labelled - expit(eta)
        log_p = log_expit(np.where(labelled, eta, -eta))
        return log_p, residual * slope, residual[:, None] * design

    def terms(
        self, u: FloatArray, labelled: BoolArray, weight: FloatArray, theta: FloatArray
    ) -> Terms:
        """Sum over the block in one compiled loop, with the exact curvature."""
        b, db = self._design(u)
        return Terms(*_logistic_terms(b, db, labelled, weight, theta))

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy with ``intercept_`` and ``coef_``."""
        out = super().fitted(theta, rate)
        size = self.basis.size if isinstance(self.basis, Basis) else theta.size - 1
        out.intercept_, out.coef_ = float(theta[0]), np.array(theta[1 : 1 + size])
        return out


class MixedMechanism(EntropyMechanism):
    """Some labels are dropped whatever the case: ``Pr(labelled) = (1 − δ) · expit(η(u))``.

    With probability δ a label is lost for reasons that have nothing to do with difficulty (a
    day off, a lost form); otherwise the paper's mechanism decides. Parameters as for
    :class:`EntropyMechanism`; δ is estimated with the rest.

    Attributes
    ----------
    intercept_, coef_
        As in :class:`EntropyMechanism`, for the part that listens to difficulty.
    dropout_ : float
        δ.

    Examples
    --------
    >>> from hesitant.mechanisms import MixedMechanism
    >>> MixedMechanism().parameter_names
    ['intercept', 'u', 'logit dropout']
    """

    _kind = "mixed"
    probabilities = ("dropout",)
    dropout_: float

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        """Those of the logistic part, and δ."""
        return super().n_parameters + 1

    @property
    def parameter_names(self) -> list[str]:
        """Those of the logistic part, and the logit of δ."""
        return [*super().parameter_names, "logit dropout"]

    def testable(self) -> EntropyMechanism:
        """Return the logistic part: without slopes δ and the intercept say the same."""
        return EntropyMechanism(**self.get_params(deep=False))

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return those of the logistic part, and δ itself."""
        return {**super().natural(theta[:-1]), "dropout": float(expit(theta[-1]))}

    def initial(self) -> FloatArray:
        """Start from a small δ: at δ = 0 its derivative vanishes."""
        theta = np.zeros(self.n_parameters)
        theta[-1] = -3.0
        return theta

    def log_probability(
        self, u: FloatArray, labelled: BoolArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log probability of each row and its derivatives."""
        eta, slope, design = self.predictor(u, theta[:-1])
        log_drop, log_keep = log_expit(theta[-1]), log_expit(-theta[-1])
        drop = math.exp(log_drop)
        p = expit(eta)
        log_blank = np.logaddexp(log_drop, log_keep + log_expit(-eta))
        log_p = np.where(labelled, log_keep + log_expit(eta), log_blank)
        # Posterior share of a blank that random loss explains, and that difficulty explains.
        by_chance = np.exp(log_drop - log_blank)
        d_eta = np.where(labelled, 1.0 - p, -p * (1.0 - by_chance))
        d_drop = np.where(labelled, -drop, by_chance * p * (1.0 - drop))
        return log_p, d_eta * slope, np.column_stack((d_eta[:, None] * design, d_drop))

    terms = Mechanism.terms

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy with ``dropout_`` too."""
        out = super().fitted(theta, rate)
        out.dropout_ = float(expit(theta[-1]))
        return out


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _total(x: FloatArray, m: int) -> float:
    total = 0.0
    for i in range(m):
        total += x[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _logistic_terms(
    b: FloatArray, db: FloatArray, labelled: BoolArray, weight: FloatArray, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    n, t = b.shape
    value = 0.0
    slope = np.empty(n)
    gradient = np.zeros(t + 1)
    curvature = np.zeros((t + 1, t + 1))
    eta = np.empty(STRIP)
    small = np.empty(STRIP)
    soft = np.empty(STRIP)
    residual = np.empty(STRIP)
    v = np.empty(STRIP)
    log_p = np.empty(STRIP)
    column = np.empty(STRIP)
    product = np.empty(STRIP)
    for start in range(0, n, STRIP):
        m = min(STRIP, n - start)
        for i in range(m):
            total = beta[0]
            for k in range(t):
                total += beta[k + 1] * b[start + i, k]
            eta[i] = total
            small[i] = -abs(total)
        exp_strip(small, m, soft)
        log1p_strip(small, m, soft)
        for i in range(m):
            c = weight[start + i]
            seen = labelled[start + i]
            # log p of what was seen is −softplus of the predictor's opposite sign.
            against = -eta[i] if seen else eta[i]
            log_p[i] = -c * (max(against, 0.0) + soft[i])
            high = 1.0 / (1.0 + small[i])
            low = small[i] * high
            missed = high if against >= 0.0 else low  # probability of the other outcome
            residual[i] = c * (missed if seen else -missed)
            v[i] = c * high * low
        for i in range(m):
            deta = 0.0
            for k in range(t):
                deta += beta[k + 1] * db[start + i, k]
            slope[start + i] = residual[i] * deta
        # Sums in loops that store nothing: their order then never depends on where arrays lie.
        value += _total(log_p, m)
        gradient[0] += _total(residual, m)
        curvature[0, 0] += _total(v, m)
        for k in range(t):
            for i in range(m):
                column[i] = b[start + i, k]
                product[i] = residual[i] * column[i]
            gradient[k + 1] += _total(product, m)
            for i in range(m):
                column[i] *= v[i]
            curvature[k + 1, 0] += _total(column, m)
            for j in range(k + 1):
                for i in range(m):
                    product[i] = column[i] * b[start + i, j]
                curvature[k + 1, j + 1] += _total(product, m)
    for k in range(t + 1):
        for j in range(k):
            curvature[j, k] = curvature[k, j]
    return value, slope, gradient, curvature
