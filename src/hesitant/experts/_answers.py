"""What a reader who answers says, given the class and the model's own posterior."""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import helmert
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.mechanisms import Evidence
from hesitant.mechanisms._base import Sums
from hesitant.statements import Statements

Rng: TypeAlias = np.random.Generator
# Mixed into probabilities before logarithms are taken: people do not tell 1e-9 from 1e-4.
FLOOR = 0.005
NO_PULL = np.zeros((0, 0))
SIDE = np.array([-0.5, 0.5])


class Answers(BaseEstimator):
    """How one reader's statements depend on the class h and on the posterior τ of the features."""

    size: int
    """Number of parameters of a reader."""
    pooled: bool = True
    """Whether readers' parameters may be drawn together."""

    def fitting(self, statements: Statements) -> "Answers":
        """Return the model for statements that may list what can be said in another way."""
        kind, options = self.menu(statements.classes)
        if kind != statements.kind or len(options) != len(statements.options):
            raise ValueError(
                f"the fit was to {kind} with {len(options)} options, and these are "
                f"{statements.kind} with {len(statements.options)}: give statements of one kind."
            )
        return self

    @abstractmethod
    def evidence(self, said: AnyArray, tau: FloatArray, theta: FloatArray) -> Evidence:
        """Return the log chance of what one reader said of rows, for each class."""

    @abstractmethod
    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        """Return what one reader would say of rows of these classes."""

    @abstractmethod
    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        """Return the kind of statements, and what can be said."""

    @abstractmethod
    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        """Return a reader's parameters in natural units, by name."""

    def centre(self) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations of the weak prior."""
        return np.zeros(self.size), np.ones(self.size)

    def initial(self, said: AnyArray, codes: IntArray) -> FloatArray:
        """Return parameters to start from, given rough classes of the rows (−1 unknown)."""
        return self.centre()[0]

    def prior(self, theta: FloatArray) -> Sums:
        """Return the weak prior's log density, its gradient and its curvature."""
        mean, sd = self.centre()
        z = (theta - mean) / sd
        return -0.5 * float(z @ z), -z / sd, np.diag(1 / sd**2)


class Certain(Answers):
    """A reader who is never wrong: a label, or a set of classes, is exactly that.

    ``options`` (m, g) is what can be said, as sets of classes; labels are sets of one.
    """

    size = 0

    def __init__(self, options: Any) -> None:
        self.options = options

    @property
    def _sets(self) -> BoolArray:
        return np.asarray(self.options, dtype=bool)

    def fitting(self, statements: Statements) -> "Answers":
        if statements.sets is None:
            return super().fitting(statements)
        out = copy.copy(self)
        out.options = statements.sets
        return out

    def tables(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log chances of statements by class (m, g), and their derivatives (m, g, size)."""
        return np.where(self._sets, 0.0, -np.inf), np.zeros((*self._sets.shape, 0))

    def evidence(self, said: AnyArray, tau: FloatArray, theta: FloatArray) -> Evidence:
        log_p, slope = self.tables(theta)

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            return NO_PULL, np.einsum("ih,ihv->iv", rho, slope[said])

        return Evidence(log_p[said], pull_back, self._information(theta))

    def _information(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        return None

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        total = np.cumsum(np.exp(self.tables(theta)[0]), axis=0)[:, codes]
        drawn: AnyArray = (rng.random(len(codes)) * total[-1] > total).sum(axis=0)
        return drawn

    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        plain = np.array_equal(self._sets, np.eye(len(classes), dtype=bool))
        return ("labels", classes) if plain else ("sets", self._sets.copy())

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        return {}


class Confusion(Certain):
    """A reader who may be wrong: Θ_hk is the chance of saying k of a row of class h.

    The parameters are the log odds of each mistake against the right label.

    Parameters
    ----------
    options : boolean array of shape (m, g)
        As for :class:`Certain`; the chance of a set is the sum over its classes.
    right, rows : float
        The weak prior: as if each reader had labelled ``rows`` rows of every class before, a share
        ``right`` of them rightly.
    """

    pooled = False

    def __init__(self, options: Any, right: float = 0.9, rows: float = 2.0) -> None:
        super().__init__(options)
        self.right, self.rows = right, rows
        g = np.shape(options)[1]
        self._off = ~np.eye(g, dtype=bool)
        self.size = g * (g - 1)
        self._counts = np.where(self._off, rows * (1 - right) / max(g - 1, 1), rows * right)

    def matrix(self, theta: FloatArray) -> FloatArray:
        """Return log Θ (g, g)."""
        logits = np.zeros(self._off.shape)
        logits[self._off] = theta
        return logits - _log_sum_exp(logits)[:, None]

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        names = [f"P({k} for {h})" for h in classes for k in classes if k != h]
        return dict(zip(names, np.exp(self.matrix(theta))[self._off].tolist(), strict=True))

    def tables(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        m, g = self._sets.shape
        log_chance, inside = self.matrix(theta), self._sets[:, None, :]
        log_p = _log_sum_exp(np.where(inside, log_chance, -np.inf))
        by_entry = np.where(inside, np.exp(log_chance - log_p[:, :, None]), 0) - np.exp(log_chance)
        # A row of the matrix moves with its own parameters alone.
        slope = by_entry[:, :, None, :] * np.eye(g)[:, :, None]
        return log_p, slope.reshape(m, g, g * g)[:, :, self._off.ravel()]

    def initial(self, said: AnyArray, codes: IntArray) -> FloatArray:
        counts, known = self._counts.copy(), codes >= 0
        share = self._sets / self._sets.sum(axis=1, keepdims=True)
        np.add.at(counts, codes[known], share[said[known]])
        return (np.log(counts) - np.log(np.diag(counts))[:, None])[self._off]

    def prior(self, theta: FloatArray) -> Sums:
        log_chance, total = self.matrix(theta), self._counts.sum(axis=1)
        return (
            float((self._counts * log_chance).sum()),
            (self._counts - total[:, None] * np.exp(log_chance))[self._off],
            self._curvature(theta, total),
        )

    def _curvature(self, theta: FloatArray, total: FloatArray) -> FloatArray:
        """Return the information of as many labels of rows of each class."""
        chance, own, g = np.exp(self.matrix(theta)), self._off.ravel(), len(total)
        out = np.zeros((g, g, g, g))
        for h, p in enumerate(chance):
            out[h, :, h] = total[h] * (np.diag(p) - np.outer(p, p))
        return out.reshape(g * g, g * g)[np.ix_(own, own)]

    def _information(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        return lambda weight: self._curvature(theta, np.einsum("ih->h", weight))


class Probabilities(Answers):
    """Reported probabilities: log ratios normal about a linear function of the model's own.

    In orthonormal log-ratio coordinates of report q and posterior τ, both kept off 0 and 1:
    ``q = offset + slope τ + insight e_h + spread ε``. The insight is what a reader sees of the
    class beyond the features; without it a report says nothing of the class that they do not.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.size = n_classes + 2

    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        return "probabilities", classes

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        offsets = {f"offset {k + 1}": float(v) for k, v in enumerate(theta[:-3])}
        slope, insight, spread = np.exp(theta[-3:]).tolist()
        return {**offsets, "slope": slope, "insight": insight, "spread": spread}

    def centre(self) -> tuple[FloatArray, FloatArray]:
        # A slope and offsets of reports that could be anything would leave the scale of the
        # posteriors to the shape of the classes alone.
        k = self.size - 3
        return np.r_[np.zeros(k + 1), -2.0, 0.0], np.r_[np.full(k, 0.5), 0.25, 1.0, 3.0]

    def prior(self, theta: FloatArray) -> Sums:
        """Return the normal prior, and a further report half a unit off its mean."""
        value, gradient, curvature = super().prior(theta)
        d = self.n_classes - 1
        extra = 0.25 * d * np.exp(-2 * theta[-1])
        gradient[-1] += extra - d
        curvature[-1, -1] += 2 * extra
        return value - 0.5 * extra - d * theta[-1], gradient, curvature

    def _mean(self, tau: FloatArray, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return basis, posteriors kept off 0, their coordinates, and the means by class."""
        near = FLOOR + (1 - self.n_classes * FLOOR) * tau
        basis = helmert(self.n_classes).T
        model = np.log(near) @ basis
        slope, insight = np.exp(theta[-3:-1])
        return basis, near, model, (theta[:-3] + slope * model)[:, None] + insight * basis

    def evidence(self, said: AnyArray, tau: FloatArray, theta: FloatArray) -> Evidence:
        d, keep = self.n_classes - 1, 1 - self.n_classes * FLOOR
        basis, near, model, mean = self._mean(tau, theta)
        slope, insight, spread = np.exp(theta[-3:])
        off = (np.log(FLOOR + keep * said) @ basis)[:, None] - mean
        square = (off**2).sum(axis=2) / spread**2

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            weighted = rho[:, :, None] * off / spread**2
            total = weighted.sum(axis=1)
            by_slope = slope * (total * model).sum(axis=1)
            by_insight = insight * np.einsum("ihk,hk->i", weighted, basis)
            by_spread = (rho * (square - d)).sum(axis=1)
            gradient = np.column_stack((total, by_slope, by_insight, by_spread))
            move = (slope * total) @ basis.T * (keep * tau / near)
            return move - tau * move.sum(axis=1, keepdims=True), gradient

        return Evidence(-0.5 * square - d * (theta[-1] + 0.5 * math.log(2 * math.pi)), pull_back)

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        basis, _, _, mean = self._mean(tau, theta)
        mean = mean[np.arange(len(codes)), codes]
        ratios = (mean + math.exp(theta[-1]) * rng.standard_normal(mean.shape)) @ basis.T
        return np.exp(ratios - _log_sum_exp(ratios)[:, None])


class Grades(Answers):
    """Grades between two classes: a cumulative logit in the log odds of the posterior.

    ``logit Pr(grade <= r) = cut_rh − slope · log odds``, with cuts by class: those of the second
    are lower by the insight, and as far apart as the class makes them. Log odds are kept finite,
    and the insight is what it is, as in :class:`Probabilities`.
    """

    def __init__(self, n_grades: int) -> None:
        self.n_grades = n_grades
        self.size = 2 * n_grades - 1

    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        return "grades", np.arange(1, self.n_grades + 1)

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        k = self.n_grades - 1
        cuts = theta[0] + np.cumsum(np.r_[0.0, np.exp(theta[1:k])])
        values = {f"cut {r + 1}": float(v) for r, v in enumerate(cuts)}
        values |= {f"widening {r + 1}": float(v) for r, v in enumerate(theta[k:-2])}
        return values | {"slope": float(np.exp(theta[-2])), "insight": float(np.exp(theta[-1]))}

    def centre(self) -> tuple[FloatArray, FloatArray]:
        k = self.n_grades - 2
        mean = np.r_[-2.0, np.full(k, math.log(4 / k)), np.zeros(k + 2)]
        return mean, np.r_[5.0, np.full(k, 2.0), np.ones(k), 2.0, 2.0]

    def _predictor(self, tau: FloatArray, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return posteriors kept off 0, their log odds, gaps and cuts by class (R + 1, 2)."""
        k = self.n_grades - 1
        near = FLOOR + (1 - 2 * FLOOR) * tau
        gaps = np.exp(theta[1:k, None] + theta[k:-2, None] * SIDE)
        first = theta[0] - math.exp(theta[-1]) * SIDE
        inner = first + np.cumsum(np.vstack((np.zeros(2), gaps)), axis=0)
        ends = np.full((1, 2), np.inf)
        return near, np.log(near[:, 1] / near[:, 0]), gaps, np.vstack((-ends, inner, ends))

    def evidence(self, said: AnyArray, tau: FloatArray, theta: FloatArray) -> Evidence:
        k = self.n_grades - 1
        near, odds, gaps, cuts = self._predictor(tau, theta)
        slope, insight = np.exp(theta[-2:])
        eta = (slope * odds)[:, None]
        upper, lower = cuts[said + 1] - eta, cuts[said] - eta
        gap = cuts[said + 1] - cuts[said]
        log_p = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-gap))
        more = 1 / np.expm1(gap)  # zero at the ends of the scale, where the gap is infinite
        d_upper, d_lower = expit(-upper) + more, -expit(lower) - more

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            up, down = rho * d_upper, rho * d_lower
            along = -(up + down).sum(axis=1)
            rows, moved = np.arange(len(rho)), np.zeros((len(rho), k + 2, 2))
            moved[rows, said + 1] += up
            moved[rows, said] += down
            # A gap moves all cuts above it.
            above = np.cumsum(moved[:, k:0:-1], axis=1)[:, ::-1]
            by_gap = above[:, 1:] * gaps
            first = above[:, 0]
            ends = slope * along * odds, -insight * first @ SIDE
            by_cut = first.sum(axis=1), by_gap.sum(axis=2), by_gap @ SIDE
            gradient = np.column_stack((*by_cut, *ends))
            step = slope * along * (1 - 2 * FLOOR) * tau[:, 0] * tau[:, 1]
            move = step * (1 / near[:, 0] + 1 / near[:, 1])
            return np.column_stack((-move, move)), gradient

        return Evidence(log_p, pull_back)

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        _, odds, _, cuts = self._predictor(tau, theta)
        latent = math.exp(theta[-2]) * odds + rng.logistic(size=len(codes))
        return (latent[:, None] > cuts[1:-1, codes].T).sum(axis=1)


def _log_sum_exp(x: FloatArray) -> FloatArray:
    """Return what SciPy's function does over the last axis, without its checks of small arrays."""
    top = x.max(axis=-1)
    return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))
