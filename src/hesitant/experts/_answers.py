"""What readers who answer say, given the class and the model's own posterior."""

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import helmert
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.mechanisms import Evidence
from hesitant.statements import Statements

Rng: TypeAlias = np.random.Generator
Prior: TypeAlias = tuple[float, FloatArray, FloatArray]
"""A log density over all readers, with the gradient (J, q) and the curvature (J, q, q) of each."""
# Mixed into probabilities before logarithms are taken: people do not tell 1e-9 from 1e-4.
FLOOR = 0.005
SIDE = np.array([-0.5, 0.5])


class Answers(BaseEstimator):
    """How readers' statements depend on the class h and on the posterior τ of the features.

    The parameters of readers are the rows of theta, and ``who`` says whose a statement is.
    """

    size: int  # number of parameters of a reader
    pooled: bool = True  # whether readers' parameters may be drawn together

    def fitting(self, statements: Statements) -> "Answers":
        """Return the model for statements that may list what can be said in another way."""
        kind, options = self.menu(statements.classes)
        if kind != statements.kind or len(options) != len(statements.options):
            raise ValueError(f"the fit was to {kind} with {len(options)} options: give the same.")
        return self

    @abstractmethod
    def evidence(self, said: Any, tau: FloatArray, theta: FloatArray, who: IntArray) -> Evidence:
        """Return the log chance of what was said of rows, for each class."""

    @abstractmethod
    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        """Return what one reader would say of rows of these classes."""

    @abstractmethod
    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        """Return the kind of statements, and what can be said."""

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        return {}

    def centre(self) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations of the weak prior."""
        return np.zeros(self.size), np.ones(self.size)

    def initial(self, said: IntArray, codes: IntArray) -> FloatArray:
        """Return parameters to start from (J, q), given rough classes of rows (−1 unknown)."""
        return np.tile(self.centre()[0], (said.shape[1], 1))

    def prior(self, theta: FloatArray) -> Prior:
        mean, sd = self.centre()
        z, curvature = (theta - mean) / sd, np.tile(np.diag(1 / sd**2), (len(theta), 1, 1))
        return -0.5 * float(np.sum(z * z)), -z / sd, curvature


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

    def table(self, theta: FloatArray) -> FloatArray:
        """Return log chances of statements, by reader and class (J, m, g)."""
        return np.tile(np.where(self._sets, 0.0, -np.inf), (len(theta), 1, 1))

    def evidence(self, said: Any, tau: FloatArray, theta: FloatArray, who: IntArray) -> Evidence:
        return Evidence(self.table(theta)[who, said], np.zeros((*tau.shape, 0)))

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        total = np.cumsum(np.exp(self.table(theta[None])[0]), axis=0)[:, codes]
        return np.asarray((rng.random(len(codes)) * total[-1] > total).sum(axis=0))

    def menu(self, classes: AnyArray) -> tuple[str, AnyArray]:
        plain = np.array_equal(self._sets, np.eye(len(classes), dtype=bool))
        return ("labels", classes) if plain else ("sets", self._sets.copy())


class Confusion(Certain):
    """A reader who may be wrong: Θ_hk is the chance of saying k of a row of class h.

    The parameters are the log odds of each mistake against the right label; the chance of a set is
    the sum over its classes. ``right`` and ``rows`` are the weak prior of :class:`Readers`.
    """

    pooled = False

    def __init__(self, options: Any, right: float = 0.9, rows: float = 2.0) -> None:
        super().__init__(options)
        self.right, self.rows = right, rows
        self.free = ~np.eye(np.shape(options)[1], dtype=bool)  # entries that have a parameter
        self.size, wrong = int(self.free.sum()), rows * (1 - right) / max(len(self.free) - 1, 1)
        self._counts = np.where(self.free, wrong, rows * right)

    def matrix(self, theta: FloatArray) -> FloatArray:
        """Return log Θ of each reader (..., g, g)."""
        logits = np.zeros((*theta.shape[:-1], *self.free.shape))
        logits[..., self.free] = theta
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    def natural(self, theta: FloatArray, classes: Sequence[str]) -> dict[str, float]:
        names = [f"P({k} for {h})" for h in classes for k in classes if k != h]
        return dict(zip(names, np.exp(self.matrix(theta))[self.free].tolist(), strict=True))

    def table(self, theta: FloatArray) -> FloatArray:
        inside = np.where(self._sets[:, None], self.matrix(theta)[:, None], -np.inf)
        return np.asarray(np.logaddexp.reduce(inside, axis=-1))

    def evidence(self, said: Any, tau: FloatArray, theta: FloatArray, who: IntArray) -> Evidence:
        return _Spoken(self, said, theta, who)

    def curvature(self, theta: FloatArray, total: FloatArray) -> FloatArray:
        """Return the information (J, q, q) of ``total`` labels of rows of each class (J, g)."""
        chance, own, g = np.exp(self.matrix(theta)), self.free.ravel(), len(self.free)
        spread = chance[..., None] * (np.eye(g) - chance[:, :, None])
        # A row of the matrix moves with its own parameters alone.
        out = np.einsum("jh,jhkl,hm->jhkml", total, spread, np.eye(g))
        return out.reshape(-1, g * g, g * g)[:, own][:, :, own]

    def initial(self, said: IntArray, codes: IntArray) -> FloatArray:
        J, g = said.shape[1], len(self.free)
        rows, who = np.nonzero((said >= 0) & (codes >= 0)[:, None])
        share = (self._sets / self._sets.sum(axis=1, keepdims=True))[said[rows, who]]
        counts = self._counts + gather(share, who * g + codes[rows], J * g).reshape(J, g, g)
        right = np.diagonal(counts, axis1=1, axis2=2)[..., None]
        return (np.log(counts) - np.log(right))[:, self.free]

    def prior(self, theta: FloatArray) -> Prior:
        log_chance, counts = self.matrix(theta), self._counts
        total = np.tile(counts.sum(axis=1), (len(theta), 1))
        gradient = counts - total[..., None] * np.exp(log_chance)
        curvature = self.curvature(theta, total)
        return float((counts * log_chance).sum()), gradient[:, self.free], curvature


class _Spoken(Evidence):
    """Evidence that is the same wherever the same reader said the same."""

    def __init__(self, answers: Confusion, said: Any, theta: FloatArray, who: IntArray) -> None:
        self.answers, self.said, self.theta, self.who = answers, said, theta, who
        table, log_chance = answers.table(theta), answers.matrix(theta)[:, None]
        share = np.where(answers._sets[:, None], np.exp(log_chance - table[..., None]), 0.0)
        self.by_entry = share - np.exp(log_chance)  # slopes in the logits of the class's row
        self.log_p, self.in_joint = table[who, said], None

    def scores(self, rho: FloatArray) -> FloatArray:
        return (rho[:, :, None] * self.by_entry[self.who, self.said])[:, self.answers.free]

    def sums(self, weight: FloatArray, edges: Any = None) -> tuple[FloatArray, FloatArray]:
        J, m, g, _ = self.by_entry.shape
        counts = gather(weight, self.who * m + self.said, J * m).reshape(J, m, g)
        score = np.einsum("jmh,jmhk->jhk", counts, self.by_entry)[:, self.answers.free]
        return score, self.answers.curvature(self.theta, counts.sum(axis=1))


class Probabilities(Answers):
    """Reported probabilities: log ratios normal about a linear function of the model's own.

    In orthonormal log-ratio coordinates of report q and posterior τ, both kept off 0 and 1:
    ``q = offset + slope τ + insight e_h + spread ε``. The insight is what a reader sees of the
    class beyond the features.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes, self.size = n_classes, n_classes + 2

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

    def prior(self, theta: FloatArray) -> Prior:
        # The normal prior, and a further report half a unit off its mean.
        value, gradient, curvature = super().prior(theta)
        d = self.n_classes - 1
        extra = 0.25 * d * np.exp(-2 * theta[:, -1])
        gradient[:, -1] += extra - d
        curvature[:, -1, -1] += 2 * extra
        return value - float(np.sum(0.5 * extra + d * theta[:, -1])), gradient, curvature

    def _mean(self, tau: FloatArray, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return basis, posteriors kept off 0, their coordinates, and the means by class."""
        near, basis = FLOOR + (1 - self.n_classes * FLOOR) * tau, helmert(self.n_classes).T
        model = np.log(near) @ basis
        slope, insight = np.exp(theta[..., -3, None]), np.exp(theta[..., -2, None, None])
        return basis, near, model, (theta[..., :-3] + slope * model)[:, None] + insight * basis

    def evidence(self, said: Any, tau: FloatArray, theta: FloatArray, who: IntArray) -> Evidence:
        d, keep, theta = self.n_classes - 1, 1 - self.n_classes * FLOOR, theta[who]
        basis, near, model, mean = self._mean(tau, theta)
        slope, insight, spread = np.exp(theta[:, -3:, None]).transpose(1, 0, 2)
        off = (np.log(FLOOR + keep * said) @ basis)[:, None] - mean
        square = (off**2).sum(axis=2) / spread**2
        log_p = -0.5 * square - d * (theta[:, -1:] + 0.5 * math.log(2 * math.pi))
        # How log_p moves with the mean; with what moves that; and with the spread.
        moves = off / spread[..., None] ** 2
        by_slope = slope * np.einsum("ihk,ik->ih", moves, model)
        by_insight = insight * np.einsum("ihk,hk->ih", moves, basis)
        gradient = np.concatenate((moves, np.stack((by_slope, by_insight, square - d), 2)), axis=2)
        along = slope[..., None] * (moves @ basis.T) * (keep * tau / near)[:, None]
        return Evidence(log_p, gradient, along - tau[:, None] * along.sum(axis=2, keepdims=True))

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        basis, _, _, mean = self._mean(tau, theta)
        mean = mean[np.arange(len(codes)), codes]
        ratios = (mean + math.exp(theta[-1]) * rng.standard_normal(mean.shape)) @ basis.T
        return np.exp(ratios - np.logaddexp.reduce(ratios, axis=1, keepdims=True))


class Grades(Answers):
    """Grades between two classes: a cumulative logit in the log odds of the posterior.

    ``logit Pr(grade <= r) = cut_rh − slope · log odds``, with cuts by class: those of the second
    are lower by the insight of :class:`Probabilities`, and as far apart as the class makes them.
    """

    def __init__(self, n_grades: int) -> None:
        self.n_grades, self.size = n_grades, 2 * n_grades - 1

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
        """Return posteriors kept off 0, their log odds, gaps and cuts by class (J, 2, R + 1)."""
        k, near = self.n_grades - 1, FLOOR + (1 - 2 * FLOOR) * tau
        gaps = np.exp(theta[:, None, 1:k] + theta[:, None, k:-2] * SIDE[:, None])
        first = (theta[:, :1] - np.exp(theta[:, -1:]) * SIDE)[..., None]
        inner = np.concatenate((first, first + np.cumsum(gaps, axis=2)), axis=2)
        cuts = np.pad(inner, ((0, 0), (0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
        return near, np.log(near[:, 1] / near[:, 0]), gaps, cuts

    def evidence(self, said: Any, tau: FloatArray, theta: FloatArray, who: IntArray) -> Evidence:
        k, rows = self.n_grades - 1, np.arange(len(said))
        near, odds, gaps, cuts = self._predictor(tau, theta)
        slope, insight = np.exp(theta[who, -2:, None]).transpose(1, 0, 2)
        eta = slope * odds[:, None]
        above, below = cuts[who, :, said + 1], cuts[who, :, said]
        upper, lower, gap = above - eta, below - eta, above - below
        log_p = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-gap))
        more = 1 / np.expm1(gap)  # zero at the ends of the scale, where the gap is infinite
        d_upper, d_lower = expit(-upper) + more, -expit(lower) - more
        moved = np.zeros((len(said), 2, k + 2))
        moved[rows, :, said + 1] += d_upper
        moved[rows, :, said] += d_lower
        # A gap moves all cuts above it, the first cut all of them.
        rising = np.cumsum(moved[:, :, k:0:-1], axis=2)[:, :, ::-1]
        first, by_gap, along = rising[:, :, :1], rising[:, :, 1:] * gaps[who], -(d_upper + d_lower)
        by_slope, by_insight = slope * along * odds[:, None], -insight * first[:, :, 0] * SIDE
        parts = first, by_gap, by_gap * SIDE[:, None], np.stack((by_slope, by_insight), axis=2)
        step = (1 - 2 * FLOOR) * tau[:, 0] * tau[:, 1] * (1 / near[:, 0] + 1 / near[:, 1])
        pull = (slope * along * step[:, None])[..., None] * (2 * SIDE)
        return Evidence(log_p, np.concatenate(parts, axis=2), pull)

    def draw(self, codes: IntArray, tau: FloatArray, theta: FloatArray, rng: Rng) -> AnyArray:
        _, odds, _, cuts = self._predictor(tau, theta[None])
        latent = math.exp(theta[-2]) * odds + rng.logistic(size=len(codes))
        return (latent[:, None] > cuts[0, codes, 1:-1]).sum(axis=1)


class Heard(Evidence):
    """What readers said, kept by pairs of row and reader, and added up over readers."""

    def __init__(self, shape: tuple[int, ...], own: tuple[int, ...]) -> None:
        self.log_p, self.own = np.zeros(shape), own  # numbers of readers and parameters
        self.parts: list[tuple[Evidence, IntArray, IntArray, slice]] = []

    def add(self, part: Evidence, rows: IntArray, who: IntArray, place: slice) -> None:
        """Add evidence of pairs, sorted by reader, with the place of its parameters."""
        n, g = self.log_p.shape
        self.log_p += gather(np.broadcast_to(part.log_p, (len(rows), g)), rows, n)
        self.parts.append((part, rows, who, place))

    def pull(self, rho: FloatArray) -> FloatArray:
        out = np.zeros_like(rho)
        for part, rows, *_ in self.parts:
            if part.in_joint is not None:
                out += gather(part.pull(rho.take(rows, axis=0)), rows, len(rho))
        return out

    def scores(self, rho: FloatArray) -> FloatArray:
        n, (J, width) = len(rho), self.own
        out = np.zeros((n * J, width))
        for part, rows, who, place in self.parts:
            out[:, place] = gather(part.scores(rho.take(rows, axis=0)), rows * J + who, n * J)
        return out.reshape(n, J * width)

    def sums(self, weight: FloatArray, edges: Any = None) -> tuple[FloatArray, FloatArray]:
        J, width = self.own
        score, information = np.zeros((J, width)), np.zeros((J, width, width))
        for part, rows, who, place in self.parts:
            edges = np.searchsorted(who, np.arange(J + 1)).tolist()
            sums = part.sums(weight.take(rows, axis=0), edges)
            score[:, place], information[:, place, place] = sums
        return score.reshape(1, -1), information[None]


def gather(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Return sums of values (m, k) over those that have the same of ``size`` places."""
    sums = [np.bincount(places, column, size) for column in values.T]
    return np.stack(sums, axis=1) if sums else np.zeros((size, 0))
