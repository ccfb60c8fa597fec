"""The paper's mechanism and its kin: the chance of a label by difficulty and by class."""

import copy
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit

from hesitant._choices import choose
from hesitant._compile import njit
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip
from hesitant.mechanisms._base import Difficulty, Mechanism, Pattern, Sums
from hesitant.mechanisms._bases import BASES, Basis, NoBasis
from hesitant.mechanisms._links import LINKS, Link, Logistic
from hesitant.mechanisms._row_term import Evidence
from hesitant.uncertainty import Renyi, Uncertainty


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
        A measure to use in place of the Rényi entropy, such as ``Margin()``.
    ridge : float, default=1e-6
        Strength of the weak prior ``−½ ridge |β|²`` that keeps β finite when the entropy
        separates labelled rows from blanks.
    link : {"logistic", "aranda_ordaz"} or Link, default="logistic"
        What takes the place of the logit; ``ArandaOrdaz(shape)`` has a curve of its own.

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

    intercept_: float | FloatArray
    coef_: FloatArray
    maximum: float
    """Largest value of the uncertainty, known once the mechanism is prepared."""

    def __init__(
        self,
        order: float = 1.0,
        basis: str | Basis = "linear",
        uncertainty: Uncertainty | None = None,
        ridge: float = 1e-6,
        link: str | Link = "logistic",
    ) -> None:
        self.order = order
        self.basis = basis
        self.uncertainty = uncertainty  # type: ignore[assignment]  # resolved by prepare
        self.ridge = ridge
        self.link = link

    _kind = "entropy"

    def _basis(self) -> Basis:
        return choose("basis", self.basis, BASES, Basis)

    def _link(self) -> Link:
        return choose("link", self.link, LINKS, Link)

    # -- the intercepts: one for all classes here, one for each in the subclasses ------------

    def _intercepts(self) -> tuple[FloatArray, FloatArray]:
        """Return a matrix and an offset: ``matrix @ own parameters + offset`` are intercepts."""
        return np.ones((1, 1)), np.zeros(1)

    def _intercept_names(self) -> list[str]:
        return ["intercept"]

    # -- names and settings ------------------------------------------------------------------

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        """The intercepts, a coefficient for each basis function, and what the link estimates."""
        return len(self.parameter_names)

    @property
    def parameter_names(self) -> list[str]:
        """Intercepts, the basis functions, and the link's parameter."""
        return [*self._intercept_names(), *self._basis().names, *self._link().names]

    @property
    def in_words(self) -> str:
        """Kind, measure, basis and link, as far as they are not the usual ones."""
        words = [self._kind]
        if self.uncertainty is not None:
            words.append(repr(self.uncertainty))
        elif self.order != 1:
            words.append(f"order {self.order:g}")
        for given, usual in ((self.basis, "linear"), (self.link, "logistic")):
            if isinstance(given, NoBasis):
                continue
            if given != usual:
                words.append(str(given) if isinstance(given, str) else repr(given))
        return " ".join(words)

    def testable(self) -> "EntropyMechanism":
        """Return the mechanism itself, with a logistic link: without slopes it is a coin."""
        if isinstance(self._link(), Logistic):
            return self
        return EntropyMechanism(self.order, self.basis, self.uncertainty, self.ridge)

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return the intercepts, and the coefficient of each basis function."""
        first, middle, last = self._split(theta)
        return {
            **dict(zip(self._intercept_names(), map(float, first), strict=True)),
            **{f"coef[{n}]": float(b) for n, b in zip(self._basis().names, middle, strict=True)},
            **self._link().natural(last),
        }

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the intercepts' parameters, the coefficients, and the link's parameters."""
        i = len(self._intercept_names())
        j = i + self._basis().size
        return theta[:i], theta[i:j], theta[j : j + len(self._link().names)]

    def prepare(self, n_classes: int) -> Self:
        """Return a copy with measure, basis and link resolved for this many classes."""
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
        out.n_classes = n_classes
        out.uncertainty = Renyi(self.order) if self.uncertainty is None else self.uncertainty
        out.order = 1.0  # it lives in the measure from here on
        if not isinstance(out.uncertainty, Uncertainty):
            raise TypeError(
                f"uncertainty={self.uncertainty!r} is not an Uncertainty: use Shannon(), "
                "Renyi(order), Margin(), SquaredLogOdds(), or subclass "
                "hesitant.uncertainty.Uncertainty."
            )
        out.uncertainty.check(n_classes)
        out.basis, out.link = self._basis(), self._link()
        out.link.check()
        out.maximum = out.uncertainty.maximum(n_classes)
        out.basis.check(out.maximum)
        return out

    # -- the mathematics -----------------------------------------------------------------------

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        """Return the uncertainty, and the basis with its derivatives."""
        u, du = self.uncertainty.evaluate(log_tau, tau)
        b, db = self._design(u)
        return Difficulty(u, du, (b, db)) if slopes else Difficulty(u, None, (b,))

    def _design(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        assert isinstance(self.basis, Basis)  # prepare() has run
        return self.basis.evaluate(u, self.maximum)

    def predictor(
        self, u: FloatArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return η(u), its derivative in u, and the design matrix with its intercept."""
        b, db = self._design(u)
        first, coef, _ = self._split(theta)
        return first[0] + b @ coef, db @ coef, np.column_stack((np.ones(u.size), b))

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return the log chance of what was seen, for each class if they differ."""
        b, *more = difficulty.design
        first, coef, own = self._split(theta)
        matrix, offset = self._intercepts()
        link = self._link()
        chance = link.evaluate((b @ coef)[:, None] + (matrix @ first + offset), own)
        seen = np.asarray(said)[:, None]
        d = np.where(seen, chance.d_seen, chance.d_blank)
        s = None
        if own.size and chance.s_seen is not None and chance.s_blank is not None:
            s = np.where(seen, chance.s_seen, chance.s_blank)

        def over_classes(rho: FloatArray, values: FloatArray) -> FloatArray:
            return values if values.shape[1] == 1 else rho * values

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            by_class = over_classes(rho, d)
            total = by_class.sum(axis=1)
            parts = [by_class @ matrix, total[:, None] * b]
            if s is not None:
                parts.append(over_classes(rho, s).sum(axis=1)[:, None])
            pull = np.zeros((0, rho.shape[1]))
            if difficulty.du is not None:
                pull = (total * (more[0] @ coef))[:, None] * difficulty.du
            return pull, np.hstack(parts)

        def information(weight: FloatArray) -> FloatArray:
            v = -chance.d_seen * chance.d_blank
            v = v * (weight if v.shape[1] > 1 else weight.sum(axis=1, keepdims=True))
            cross = matrix.T @ (v.T @ b)
            return np.block(
                [
                    [matrix.T @ (v.sum(axis=0)[:, None] * matrix), cross],
                    [cross.T, b.T @ (v.sum(axis=1)[:, None] * b)],
                ]
            )

        log_p = np.where(seen, chance.log_seen, chance.log_blank)
        return Evidence(log_p, pull_back, None if own.size else information)

    def log_probability(
        self, u: FloatArray, labelled: BoolArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the Bernoulli log probability of each row and its derivatives."""
        b, db = self._design(u)
        evidence = self.evidence(Difficulty(u, np.ones((u.size, 1)), (b, db)), labelled, theta)
        n, g = evidence.log_p.shape
        each = [evidence.pull_back(np.tile(np.eye(g)[h], (n, 1))) for h in range(g)]
        slope = np.column_stack([pull[:, 0] for pull, _ in each])
        gradient = np.stack([gradient for _, gradient in each], axis=1)
        if not self.by_class:
            return evidence.log_p[:, 0], slope[:, 0], gradient[:, 0]
        return evidence.log_p, slope, gradient

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
        """Sum over the block, in one compiled loop where classes and link are the usual ones."""
        if self.by_class or not isinstance(self.link, Logistic):
            return super().pattern(log_tau, tau, difficulty, codes, said, weight, theta)
        b, *more = difficulty.design
        db = more[0] if more else np.zeros_like(b)
        value, slope, gradient, curvature = _logistic_terms(b, db, said, weight, theta)
        pull = np.zeros((0, tau.shape[1]))
        if difficulty.du is not None:
            pull = difficulty.du
            pull *= slope[:, None]
        return Pattern(value, pull, gradient, curvature)

    def add_prior(self, theta: FloatArray, sums: Sums) -> Sums:
        """Return the sums with the weak prior's share; a link's shape has one of its own."""
        value, gradient, curvature = super().add_prior(theta, sums)
        if not isinstance(self.link, Logistic) and self._link().names:
            strength = self._link().prior
            value -= 0.5 * strength * float(theta[-1] ** 2)
            gradient[-1] -= strength * theta[-1]
            curvature[-1, -1] += strength
        return value, gradient, curvature

    def fitted(self, theta: FloatArray, rate: float) -> Self:
        """Return a copy with ``intercept_`` and ``coef_``."""
        out = super().fitted(theta, rate)
        first, coef, own = self._split(out.parameters_)
        matrix, offset = self._intercepts()
        intercepts = matrix @ first + offset
        out.intercept_ = intercepts if self.by_class else float(intercepts[0])
        out.coef_ = np.array(coef)
        for name, value in self._link().natural(own).items():
            setattr(out, f"{name.replace(' ', '_')}_", value)
        return out


class EntropyClassMechanism(EntropyMechanism):
    """An intercept for every class: ``logit Pr(labelled | class h) = β_0h + Σ β_t b_t(u)``.

    Experts who label some classes more readily than others leave blanks that are about class as
    well as difficulty. A blank then says something about the class itself (see
    :meth:`hesitant.MixtureClassifier.resolve`).

    Parameters
    ----------
    order, basis, uncertainty, ridge, link
        As for :class:`EntropyMechanism`.
    tilt : sequence of float, optional
        Differences between the classes' intercepts, fixed: only their common level is estimated.
        Zeros give :class:`EntropyMechanism`.

    Attributes
    ----------
    intercept_ : array of shape (g,)
    coef_ : array of shape (T,)

    Examples
    --------
    >>> from hesitant.mechanisms import EntropyClassMechanism
    >>> EntropyClassMechanism().prepare(n_classes=3).n_parameters
    4
    """

    by_class = True
    _kind = "entropy+class"

    def __init__(
        self,
        order: float = 1.0,
        basis: str | Basis = "linear",
        uncertainty: Uncertainty | None = None,
        ridge: float = 1e-6,
        link: str | Link = "logistic",
        tilt: Sequence[float] | None = None,
    ) -> None:
        super().__init__(order, basis, uncertainty, ridge, link)
        self.tilt = tilt

    def prepare(self, n_classes: int) -> Self:
        """Return a copy with everything resolved, and the tilt checked."""
        if self.tilt is not None:
            tilt = np.asarray(self.tilt, dtype=float)
            if tilt.shape != (n_classes,) or not np.isfinite(tilt).all():
                raise ValueError(
                    f"tilt={self.tilt!r}: give {n_classes} finite numbers, one for each class."
                )
        return super().prepare(n_classes)

    def _intercepts(self) -> tuple[FloatArray, FloatArray]:
        if self.tilt is None:
            return np.eye(self.n_classes), np.zeros(self.n_classes)
        return np.ones((self.n_classes, 1)), np.asarray(self.tilt, dtype=float)

    def _intercept_names(self) -> list[str]:
        if self.tilt is not None:
            return ["intercept"]
        names = self.class_names or [str(h) for h in range(self.n_classes)]
        return [f"intercept[{name}]" for name in names]

    def testable(self) -> EntropyMechanism:
        """Return the mechanism with one intercept: tests of slopes are tests of difficulty."""
        return EntropyMechanism(self.order, self.basis, self.uncertainty, self.ridge)


class ClassMechanism(EntropyClassMechanism):
    """The chance of a label depends on the class alone: ``logit Pr(labelled | class h) = β_0h``.

    Parameters
    ----------
    ridge, link
        As for :class:`EntropyMechanism`.
    tilt : sequence of float, optional
        As for :class:`EntropyClassMechanism`.

    Attributes
    ----------
    intercept_ : array of shape (g,)
    coef_ : array of shape (0,)

    Examples
    --------
    >>> from hesitant.mechanisms import ClassMechanism
    >>> ClassMechanism().prepare(n_classes=2).parameter_names
    ['intercept[0]', 'intercept[1]']
    """

    _kind = "class"

    def __init__(
        self,
        ridge: float = 1e-6,
        link: str | Link = "logistic",
        tilt: Sequence[float] | None = None,
    ) -> None:
        super().__init__(1.0, NoBasis(), None, ridge, link, tilt)

    def testable(self) -> EntropyMechanism:
        """Return the paper's mechanism: there is no slope here to test."""
        return EntropyMechanism(ridge=self.ridge)


class MixedMechanism(EntropyMechanism):
    """Some labels are dropped whatever the case: ``Pr(labelled) = (1 − δ) · expit(η(u))``.

    With probability δ a label is lost for reasons that have nothing to do with difficulty (a
    day off, a lost form); otherwise the paper's mechanism decides. δ is estimated with the rest.

    Parameters
    ----------
    order, basis, uncertainty, ridge
        As for :class:`EntropyMechanism`.

    Attributes
    ----------
    intercept_, coef_
        As in :class:`EntropyMechanism`, for the part that depends on difficulty.
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

    def __init__(
        self,
        order: float = 1.0,
        basis: str | Basis = "linear",
        uncertainty: Uncertainty | None = None,
        ridge: float = 1e-6,
    ) -> None:
        super().__init__(order, basis, uncertainty, ridge)

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

    def evidence(self, difficulty: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        """Return the log chance of what was seen, the same for all classes."""
        b, *more = difficulty.design
        eta = theta[0] + b @ theta[1:-1]
        log_drop, log_keep = log_expit(theta[-1]), log_expit(-theta[-1])
        drop = math.exp(log_drop)
        p = expit(eta)
        log_blank = np.logaddexp(log_drop, log_keep + log_expit(-eta))
        log_p = np.where(said, log_keep + log_expit(eta), log_blank)
        # Posterior share of a blank that random loss explains, and that difficulty explains.
        by_chance = np.exp(log_drop - log_blank)
        d_eta = np.where(said, 1.0 - p, -p * (1.0 - by_chance))
        d_drop = np.where(said, -drop, by_chance * p * (1.0 - drop))

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            pull = np.zeros((0, rho.shape[1]))
            if difficulty.du is not None:
                pull = (d_eta * (more[0] @ theta[1:-1]))[:, None] * difficulty.du
            return pull, np.column_stack((d_eta, d_eta[:, None] * b, d_drop))

        return Evidence(log_p[:, None], pull_back)

    pattern = Mechanism.pattern
    add_prior = Mechanism.add_prior

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


def _logistic_plainly(
    b: FloatArray, db: FloatArray, labelled: BoolArray, weight: FloatArray, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    design = np.column_stack((np.ones(len(b)), b))
    eta = design @ beta
    against = np.where(labelled, -eta, eta)
    missed = expit(against)
    residual = weight * np.where(labelled, missed, -missed)
    bend = weight * missed * expit(-against)
    value = np.einsum("i,i->", weight, log_expit(-against))
    gradient, curvature = residual @ design, (design.T * bend) @ design
    return float(value), residual * (db @ beta[1:]), gradient, curvature


@njit(plain=_logistic_plainly, cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
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
