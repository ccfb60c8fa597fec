"""The paper's mechanism and its kin: the chance of a label by difficulty and by class."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.special import logit

from hesitant._compile import njit
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant._vector_math import STRIP, exp_strip, log1p_strip, normalise_strip
from hesitant.checks import choose
from hesitant.mechanisms._base import Difficulty, Evidence, Mechanism, Pattern, Terms
from hesitant.mechanisms._curves import BASES, LINKS, Basis, Dropout, Link, Logistic, NoBasis
from hesitant.uncertainty import Renyi, Shannon, Uncertainty, as_measure

Tilt: TypeAlias = Sequence[float] | None
# Basis, link and measure of the paper
_USUAL = {(BASES["linear"], Logistic, measure) for measure in (Renyi, Shannon)}


class EntropyMechanism(Mechanism):
    """``logit Pr(labelled) = β_0 + Σ β_t b_t(u)``, u the uncertainty of the class posterior.

    Parameters
    ----------
    order : float, default=1.0
        Order of the Rényi entropy; 1 is Shannon's.
    basis : {"linear", "polynomial", "spline", "log", "logit"} or Basis, default="linear"
        The functions b_t of the uncertainty.
    uncertainty : Uncertainty, optional
        A measure to use in place of the Rényi entropy, such as ``Margin()``.
    ridge : float, default=1e-6
        Strength of the weak prior ``−½ ridge |β|²``.
    link : {"logistic", "aranda_ordaz"} or Link, default="logistic"
        What takes the place of the logit.
    tilt : sequence of float, optional
        Differences between the classes' intercepts, known: their common level is estimated.

    Fitted, it has ``intercept_`` and ``coef_`` (T,), negative where harder cases are labelled less
    often.

    >>> from hesitant.mechanisms import EntropyMechanism
    >>> EntropyMechanism(order=2, basis="spline").n_parameters
    5
    """

    _kind = "entropy"
    _each_class = False
    intercept_: float | FloatArray
    coef_: FloatArray
    maximum: float  # largest value of the uncertainty, known once prepared

    def __init__(
        self,
        order: float = 1.0,
        basis: str | Basis = "linear",
        uncertainty: Uncertainty | None = None,
        ridge: float = 1e-6,
        link: str | Link = "logistic",
        tilt: Tilt = None,
    ) -> None:
        self.order, self.basis, self.ridge, self.link, self.tilt = order, basis, ridge, link, tilt
        self.uncertainty = uncertainty  # type: ignore[assignment]  # resolved by prepare

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        return self._each_class or self.tilt is not None

    @property
    def in_one_pass(self) -> bool:  # type: ignore[override]
        if type(self) is not EntropyMechanism or self.tilt is not None:
            return False
        parts = type(self.basis), type(self.link), type(self.uncertainty)
        return parts in _USUAL and self.uncertainty.order == 1.0

    def _basis(self) -> Basis:
        return choose("basis", self.basis, BASES, Basis)

    def _link(self) -> Link:
        return choose("link", self.link, LINKS, Link)

    def _intercepts(self) -> tuple[FloatArray, FloatArray]:
        """Return a matrix and an offset: ``matrix @ own parameters + offset`` are intercepts."""
        if self.tilt is not None:
            return np.ones((self.n_classes, 1)), np.asarray(self.tilt, dtype=float)
        number = self.n_classes if self.by_class else 1
        return np.eye(number), np.zeros(number)

    def _intercept_names(self) -> list[str]:
        if self.tilt is not None or not self.by_class:
            return ["intercept"]
        names = self.class_names or [str(h) for h in range(self.n_classes)]
        return [f"intercept[{name}]" for name in names]

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return len(self.parameter_names)

    @property
    def parameter_names(self) -> list[str]:
        return [*self._intercept_names(), *self._basis().names, *self._link().names]

    @property
    def in_words(self) -> str:
        """Kind, measure, basis and link, as far as they are not the usual ones."""
        measure = Renyi(self.order) if self.uncertainty is None else self.uncertainty
        words = [self._kind]
        if not isinstance(measure, Renyi):
            words.append(repr(measure))
        elif measure.order != 1:
            words.append(f"order {measure.order:g}")
        usual = ("linear", "Linear()", "NoBasis()", "logistic", "Logistic()", "Dropout()")
        return " ".join(words + [s for s in map(str, (self.basis, self.link)) if s not in usual])

    def testable(self) -> "EntropyMechanism":
        """Return it with one intercept and a logistic link: without slopes, a coin."""
        usual = type(self) is EntropyMechanism and self.tilt is None
        if usual and isinstance(self._link(), Logistic):
            return self
        basis = "linear" if isinstance(self.basis, NoBasis) else self.basis
        return EntropyMechanism(self.order, basis, self.uncertainty, self.ridge)

    def natural(self, theta: FloatArray) -> dict[str, float]:
        names = self._intercept_names() + [f"coef[{name}]" for name in self._basis().names]
        own = dict(zip(names, theta.tolist(), strict=False))
        return own | self._link().natural(theta[len(names) :])

    def _split(self, theta: FloatArray) -> Terms:
        """Return parameters of the intercepts, of the basis and of the link."""
        i = len(self._intercept_names())
        j = i + self._basis().size
        return theta[..., :i], theta[..., i:j], theta[..., j:]

    def prepare(self, n_classes: int) -> Self:
        if self.uncertainty is not None and self.order != 1.0:
            both = f"order={self.order!r} and uncertainty={self.uncertainty!r}"
            raise ValueError(f"{both} both name the measure: leave order at 1.0.")
        if not (isinstance(self.ridge, Real) and 0 < self.ridge < math.inf):
            raise ValueError(f"ridge={self.ridge!r}: give a small positive number, such as 1e-6.")
        if self.tilt is not None:
            tilt = np.asarray(self.tilt, dtype=float)
            if tilt.shape != (n_classes,) or not np.isfinite(tilt).all():
                raise ValueError(f"tilt={self.tilt!r}: give {n_classes} finite numbers.")
        measure = as_measure("uncertainty", self.uncertainty, Renyi(self.order), n_classes)
        # where the order lives from here on
        out = self.moved(order=1.0, uncertainty=measure, n_classes=n_classes)
        out.basis, out.link = self._basis(), self._link()
        out.link.check()
        out.maximum = measure.maximum(n_classes)
        out.basis.check(out.maximum)
        return out

    def initial(self) -> FloatArray:
        out, link = np.zeros(self.n_parameters), self._link()
        out[out.size - len(link.names) :] = link.start
        return out

    def without_slopes(self, rate: float) -> FloatArray:
        """Return parameters by which every row has the same chance of a label."""
        out = self.initial()
        out[: len(self._intercept_names())] = logit(np.clip(rate, 1e-3, 1 - 1e-3))
        return out

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        u, du = self.uncertainty.evaluate(log_tau, tau)
        b, db = self.basis.evaluate(u, self.maximum)  # type: ignore[union-attr]  # prepared
        return Difficulty(log_tau, tau, u, du if slopes else None, (b, db))

    def evidence(self, seen: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        b, db = seen.design
        first, coef, own = self._split(theta if seen.who is None else theta[seen.who])
        matrix, offset = self._intercepts()
        coef = np.broadcast_to(coef, b.shape)
        eta = np.einsum("it,it->i", b, coef)[:, None] + (first @ matrix.T + offset)
        chance, given = self._link().evaluate(eta, own), np.asarray(said)[:, None]
        log_p = np.where(given, chance.log_seen, chance.log_blank)
        d = np.where(given, chance.d_seen, chance.d_blank)
        slopes = [d[:, :, None], d[:, :, None] * b[:, None]]
        if own.shape[-1]:
            slopes.append(np.where(given, chance.s_seen, chance.s_blank)[:, :, None])
        pull = embed = None
        if seen.du is not None:
            pull = (d * np.einsum("it,it->i", db, coef)[:, None])[:, :, None]
        gradient = np.concatenate(slopes, axis=2)
        if self.by_class:  # a class has an intercept of its own, and shares the rest
            k, i = gradient.shape[2], matrix.shape[1]
            embed = np.zeros((len(matrix), k, i + k - 1))
            embed[:, 0, :i], embed[:, 1:, i:] = matrix, np.eye(k - 1)
        return Evidence(log_p, gradient, pull, seen.du, True, embed)

    def log_probability(self, u: FloatArray, labelled: BoolArray, theta: FloatArray) -> Terms:
        one = np.ones((u.size, 1))
        seen = Difficulty(one, one, u, one, self._basis().evaluate(u, self.maximum))
        found = self.evidence(seen, labelled, theta)
        assert found.in_joint is not None
        log_p, slope, gradient = found.log_p, found.in_joint[:, :, 0], found.in_theta
        if found.embed is None:
            return log_p[:, 0], slope[:, 0], gradient[:, 0]
        return log_p, slope, np.einsum("ihk,hkq->ihq", gradient, found.embed)

    def pattern(
        self, seen: Difficulty, codes: IntArray, said: Any, weight: FloatArray, theta: FloatArray
    ) -> Pattern:
        """Sum over the block; in one loop where the link is the usual one."""
        if self.tilt is not None or not isinstance(self.link, Logistic):
            return super().pattern(seen, codes, said, weight, theta)
        return Pattern(*_sum_logistic(self, seen, codes, said, weight, theta))

    def strength(self, theta: FloatArray) -> FloatArray | float:
        link: Any = self.link  # prepared, as nobody asks before
        if not link.names:
            return self.ridge
        own = theta.shape[-1] - len(link.names)
        return np.array([self.ridge] * own + [self.ridge + link.prior] * len(link.names))

    def fitted(self, theta: FloatArray, rate: float) -> Self:
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

    For experts who label some classes more readily than others: a blank then says something about
    the class itself (:meth:`hesitant.MixtureClassifier.resolve`). Fitted, ``intercept_`` has shape
    (g,). Options as for :class:`EntropyMechanism`.

    >>> from hesitant.mechanisms import EntropyClassMechanism
    >>> EntropyClassMechanism().prepare(n_classes=3).n_parameters
    4
    """

    _kind = "entropy+class"
    _each_class = True


class ClassMechanism(EntropyClassMechanism):
    """The chance of a label depends on the class alone: ``logit Pr(labelled | class h) = β_0h``.

    Options as for :class:`EntropyClassMechanism`, without those about difficulty.

    >>> from hesitant.mechanisms import ClassMechanism
    >>> ClassMechanism().prepare(n_classes=2).parameter_names
    ['intercept[0]', 'intercept[1]']
    """

    _kind = "class"

    def __init__(
        self, ridge: float = 1e-6, link: str | Link = "logistic", tilt: Tilt = None
    ) -> None:
        super().__init__(1.0, NoBasis(), None, ridge, link, tilt)

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        none = np.zeros(tau.shape)  # it plays no part, and to measure it would take a while
        design = self.basis.evaluate(none[:, 0], 0.0)  # type: ignore[union-attr]
        return Difficulty(log_tau, tau, none[:, 0], none if slopes else None, design)


class MixedMechanism(EntropyMechanism):
    """Some labels are dropped whatever the case: ``Pr(labelled) = (1 − δ) · expit(η(u))``.

    A label is lost with probability δ, whatever the difficulty (a day off, a lost form); otherwise
    the paper's mechanism decides. δ is estimated, as ``dropout_``. Options as for
    :class:`EntropyMechanism`.

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
        super().__init__(order, basis, uncertainty, ridge, Dropout())


def _sum_room(mechanism: Mechanism, seen: Difficulty, *rest: Any) -> tuple[Any, Any]:
    b, db = seen.design
    du = np.zeros((0, seen.tau.shape[1])) if seen.du is None else seen.du
    k = mechanism.n_classes if mechanism.by_class else 1
    q = b.shape[1] + k
    out = np.empty(du.shape), np.zeros(q), np.zeros((q, q))
    # Posteriors matter if the class does; else there may be none, and these are of their type.
    known = (seen.log_tau, seen.tau) if mechanism.by_class else (du, du)
    given = b, db, du, *known, *rest
    return out, (*given, *out, np.empty((3 * k + 5 + q, STRIP)))


# Sums may be reordered: that is what vectorises them.
@njit(Mechanism.pattern, _sum_room, fastmath={"reassoc", "contract", "nsz"})
def _sum_logistic(  # type: ignore[no-untyped-def]
    b, db, du, log_tau, tau, codes, said, weight, theta, pull, gradient, curvature, scratch
):
    # Of the intercepts there are g: one, or one a class. Rho is the class given all that was said.
    g, value = len(theta) - b.shape[1], 0.0
    alike = theta[0] if g == 1 else 0.0
    joint, rho, slope, bend = scratch[:g], scratch[g : 2 * g], scratch[2 * g : 3 * g], scratch[-g:]
    rest, columns = scratch[3 * g : 3 * g + 4], scratch[3 * g + 4 : -g]
    base, excess, residual = rest[0], rest[1], rest[2]
    for start in range(0, len(b), STRIP):
        m = min(STRIP, len(b) - start)
        for r in range(m):
            base[r], columns[0, r] = alike, 1.0
        for t in range(1, len(columns)):
            for r in range(m):
                columns[t, r] = b[start + r, t - 1]
                base[r] += theta[g + t - 1] * columns[t, r]
        for h in range(g):
            for r in range(m):
                against = base[r] + (theta[h] - alike)
                against = -against if said[start + r] else against
                joint[h, r], bend[h, r], rho[h, r] = min(-against, 0.0), -abs(against), 1.0
            exp_strip(bend[h], m)
            log1p_strip(bend[h], m, excess)
            for r in range(m):
                high = 1.0 / (1.0 + bend[h, r])
                low, likely = bend[h, r] * high, joint[h, r] == 0.0  # what was said
                wrong, bend[h, r] = (low, high) if likely else (high, low)
                slope[h, r] = wrong if said[start + r] else -wrong
                joint[h, r] -= excess[r]
            for r in range(m if g > 1 else 0):
                y = codes[start + r]
                joint[h, r] += log_tau[start + r, h] if y < 0 else 0.0 if h == y else -1e300
        if g > 1:
            normalise_strip(joint, rho, rest, m)
        log_p = rest[0] if g > 1 else joint[0]
        for r in range(m):  # without a store: see families' moment_strip
            value += weight[start + r] * log_p[r]
        for r in range(m):
            residual[r] = 0.0
        for h in range(g):
            for r in range(m):
                share = weight[start + r] * rho[h, r]
                slope[h, r] *= share
                bend[h, r] *= abs(slope[h, r])
                residual[r] += slope[h, r]
            for t in range(len(columns)):
                place, total = g + t - 1 if t else h, 0.0
                for r in range(m):
                    total += slope[h, r] * columns[t, r]
                gradient[place] += total
                for k in range(len(columns)):
                    total = 0.0
                    for r in range(m):
                        total += bend[h, r] * columns[t, r] * columns[k, r]
                    curvature[place, g + k - 1 if k else h] += total
        for r in range(m if len(du) else 0):
            rise = 0.0
            for t in range(1, len(columns)):
                rise += theta[g + t - 1] * db[start + r, t - 1]
            for h in range(du.shape[1]):
                pull[start + r, h] = residual[r] * rise * du[start + r, h]
                if g > 1 and codes[start + r] < 0:
                    pull[start + r, h] += weight[start + r] * (rho[h, r] - tau[start + r, h])
    return value
