"""Classes that take their shape from the rows: kernels at each, or features by their ranks."""

import dataclasses
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.checks import check_number
from hesitant.families._base import Family, Params, Statistics
from hesitant.families._gaussian import Gaussian

_SHARED = 1.0  # rows' worth of all classes in each: no row is ever certain
_LEARNING = 400  # rows that widths are learnt from
_STEPS = 12
_FIRM = 2.0  # precision of the prior on log widths
_WIDTHS = 2.0 ** np.arange(-4, 4.1)  # tried at first, for all features at once
_LOWEST = 1e-300
_TOGETHER = 64  # rows whose distances stay in the processor's cache
_KNOTS = 130  # of the line from values to scores
_DRAWN = 2000  # rows that moments are taken from


@dataclasses.dataclass(frozen=True)
class KernelParams:
    means: FloatArray
    covariances: FloatArray
    order: IntArray  # which of the family's classes each of them is


class KernelDensity(Family):
    """Classes of any shape: the sum of Laplace kernels at a class's labelled rows.

    A feature's width, the same in all classes, is that with which labelled rows predict each
    other's classes best: one that says nothing of the class stops counting. Blank rows tell how
    frequent the classes are, and nothing else. There are no standard errors. ``most`` is how many
    rows have a kernel at most.

    >>> from sklearn.datasets import make_moons
    >>> from hesitant import MixtureClassifier, families
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = MixtureClassifier(families.KernelDensity(), mechanism=None, alpha=1.0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.98)
    True
    """

    in_words = "free-form"
    adaptive_prior = True  # widths are as large as the rows ask for

    def __init__(self, most: int = 2000) -> None:
        self.most = most

    def describe(self) -> str:
        return "of any shape (a kernel at every labelled row)"

    def prepare(self, sample: Callable[[], Sequence[AnyArray]], classes: AnyArray) -> Self:
        """Return a copy that has the kernels: their places, classes, masses and rates."""
        check_number("most", self.most, Integral, 1)
        X, codes, weight = sample()
        out, rows = self.moved(), np.flatnonzero((codes >= 0) & (weight > 0))
        rows = rows[:: -(-len(rows) // self.most) or 1]
        out.rows_, out.masses_ = np.array(X[rows], dtype=np.float64), weight[rows].astype(float)
        out.codes_, out.n_classes_ = codes[rows].astype(np.int64), len(classes)
        out.rates_ = out._learn()
        return out

    def _learn(self) -> FloatArray:
        """Return the kernels' rates (1 / width) by the probability of each row's own class."""
        every = -(-len(self.rows_) // _LEARNING) or 1
        Z, codes, mass = self.rows_[::every], self.codes_[::every], self.masses_[::every]
        mass = mass / max(mass.mean(), _LOWEST)
        (n, p), g = Z.shape, self.n_classes_
        own = np.eye(g)[codes]
        middle = {h: np.median(Z[codes == h], axis=0) for h in np.unique(codes).tolist()}
        spread = np.abs(Z - [middle[h] for h in codes.tolist()]).mean(axis=0)
        whole = np.abs(Z - np.median(Z, axis=0)).mean(axis=0)
        spread = np.maximum(spread, np.where(whole > 0, 0.02 * whole, 1.0))
        if n <= g:
            return 1.0 / (spread * p)
        Z = Z / spread  # single precision would not hold any unit of measurement
        apart = np.abs(Z.T[:, :, None] - Z.T[:, None, :]).astype(np.float32).reshape(p, -1)
        left = (own * mass[:, None]).sum(axis=0) - own * mass[:, None] + _SHARED
        factor, shared = (own.sum(axis=0) + 1.0) / left, _SHARED / mass.sum()

        def objective(logs: FloatArray, start: FloatArray) -> tuple[float, FloatArray]:
            rates, move = np.exp(logs), logs - start
            nearness = -(rates.astype(np.float32) @ apart).reshape(n, n)
            np.fill_diagonal(nearness, -np.inf)
            nearness -= nearness.max(axis=1, keepdims=True)
            kernel = np.exp(nearness) * mass.astype(np.float32)
            sums = (kernel @ own).astype(float)
            chance = factor * (sums + shared * sums.sum(axis=1, keepdims=True))
            mine, total = (chance * own).sum(axis=1), chance.sum(axis=1)
            pull = factor * (own / mine[:, None] - 1.0 / total[:, None]) * mass[:, None]
            pull = pull[:, codes] + shared * pull.sum(axis=1, keepdims=True)
            slope = -(apart @ (kernel * pull).astype(np.float32).ravel()).astype(float)
            value = float(0.5 * _FIRM * move @ move - mass @ np.log(mine / total))
            return value, _FIRM * move - slope * rates

        starts = [np.full(p, np.log(c / np.sqrt(p))) for c in _WIDTHS]
        start = min(starts, key=lambda logs: objective(logs, logs)[0])
        options: Any = {"maxiter": _STEPS, "maxls": 4}
        found = minimize(objective, start, (start,), "L-BFGS-B", jac=True, options=options)
        return np.exp(found.x) / spread

    def initial(self, X: AnyArray, weights: FloatArray) -> KernelParams:
        g, p = self.n_classes_, self.rows_.shape[1]
        means, covariances = np.zeros((g, p)), np.zeros((g, p, p))
        for h in range(g):
            mass = self.masses_ * (self.codes_ == h)
            mass = mass if mass.any() else self.masses_
            means[h] = np.average(self.rows_, axis=0, weights=mass)
            covariances[h] = np.cov(self.rows_.T, ddof=0, aweights=mass)
        # a Laplace kernel has the variance 2 / rate**2
        return KernelParams(means, covariances + np.diag(2 * (1 / self.rates_) ** 2), np.arange(g))

    def log_density(self, params: KernelParams, X: AnyArray) -> FloatArray:
        own = np.eye(self.n_classes_)[self.codes_] * self.masses_[:, None]
        count = own.sum(axis=0)
        X, kept, out = X * self.rates_, self.rows_ * self.rates_, np.empty((len(X), len(count)))
        for start in range(0, len(X), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            apart = cdist(X[part], kept, "cityblock")
            nearest = apart.min(axis=1, keepdims=True)
            sums = np.exp(np.subtract(nearest, apart, out=apart), out=apart) @ own
            sums += _SHARED / count.sum() * sums.sum(axis=1, keepdims=True)
            out[part] = np.log(np.maximum(sums / (count + _SHARED), _LOWEST)) - nearest
        return (out + np.log(self.rates_ / 2.0).sum())[:, params.order]

    def statistics(self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None) -> Any:
        return (weights.sum(axis=0),)  # kernels stay where they are

    def maximise(self, params: KernelParams, statistics: Statistics) -> KernelParams:
        return params

    def blend(self, params: KernelParams, proposal: KernelParams, share: float) -> KernelParams:
        return params

    def sample(self, params: KernelParams, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        chance = self.masses_ * (self.codes_ == params.order[h])
        chance = chance + _SHARED * self.masses_ / self.masses_.sum()
        Z = self.rows_[rng.choice(len(chance), n, p=chance / chance.sum())]
        return Z + rng.laplace(size=Z.shape) / self.rates_

    def moments(self, params: KernelParams) -> tuple[FloatArray, FloatArray]:
        return params.means, params.covariances

    def n_parameters(self, params: KernelParams) -> int:
        return int(self.rows_.size + self.rates_.size)


def _forward(name: str) -> Any:
    """Return a method that the family of the spread features answers."""
    return lambda self, *arguments: getattr(self._own, name)(*arguments)


class Ranked(Family):
    """Another family, by default Gaussian, of features spread like a normal sample by their ranks.

    For skewed features and far outliers: only the order of a feature's values counts, in all rows
    together. There are no standard errors, and empty cells are not allowed.

    >>> from hesitant import MixtureClassifier, families
    >>> MixtureClassifier(families.Ranked(), covariance="tied", mechanism=None)
    MixtureClassifier(covariance='tied', family=Ranked(), mechanism=None)
    """

    def __init__(self, family: Family | None = None) -> None:
        self.family = family
        self._base = Gaussian() if family is None else family

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        base = self._base.specialise(covariance, reg_covar)
        return self.moved(_base=base, adaptive_prior=base.adaptive_prior)

    def prepare(self, sample: Callable[[], Sequence[AnyArray]], classes: AnyArray) -> Self:
        out = self.moved()
        X, codes, weight = sample()
        out.knots_ = _knots(np.asarray(X[weight > 0], dtype=np.float64))
        base = out._base.prepare(lambda: (out._spread(X)[0], codes, weight), classes)
        if base is not out._base:  # it has learnt something
            out.base_ = base
        return out

    @property
    def _own(self) -> Any:
        """The family of the spread features, as it was prepared."""
        return getattr(self, "base_", self._base)

    def describe(self) -> str:
        return f"{self._own.describe()}, once every feature is spread by its ranks"

    def _spread(self, X: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return normal scores, and the log of how much they stretch each row's features."""
        return _follow(np.asarray(X, dtype=np.float64), self.knots_)

    def initial(self, X: AnyArray, weights: FloatArray) -> Params:
        return self._own.initial(self._spread(X)[0], weights)

    def log_density(self, params: Params, X: AnyArray) -> FloatArray:
        Z, log_slope = self._spread(X)
        return self._own.log_density(params, Z) + log_slope[:, None]

    def statistics(self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None) -> Any:
        return self._own.statistics(params, self._spread(X)[0], weights)

    maximise = _forward("maximise")
    update_prior = _forward("update_prior")
    log_prior = _forward("log_prior")
    blend = _forward("blend")
    permute = _forward("permute")
    n_parameters = _forward("n_parameters")

    def sample(self, params: Params, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        return _follow(self._own.sample(params, h, n, rng), self.knots_[:, ::-1])[0]

    def moments(self, params: Params) -> tuple[FloatArray, FloatArray]:
        rng, g = np.random.default_rng(0), len(self._own.moments(params)[0])
        drawn = [self.sample(params, h, _DRAWN, rng) for h in range(g)]
        covariances = [np.atleast_2d(np.cov(X.T)) for X in drawn]
        return np.array([X.mean(axis=0) for X in drawn]), np.array(covariances)


def _knots(X: FloatArray) -> FloatArray:
    """Return values of each feature and their scores (k, 2, p), a piece added at either end."""
    out = np.empty((_KNOTS, 2, X.shape[1]))
    for j, x in enumerate(X.T):
        value, count = np.unique(x, return_counts=True)
        score = ndtri((np.cumsum(count) - 0.5 * count) / len(x))
        # A few rows to a piece, or neighbours by chance would make peaks of the density.
        pieces = np.clip(len(value) // 8, 16, _KNOTS - 2)
        keep = np.unique(np.linspace(0, len(value) - 1, pieces).round().astype(int))
        value, score = value[keep], score[keep]
        step = (value[-1] - value[0]) / 6 or max(abs(value[0]), 1.0)
        value = np.r_[value[0] - step, value, value[-1] + step]
        score = np.r_[score[0] - 1, score, score[-1] + 1]
        out[:, :, j] = np.pad([value, score], ((0, 0), (0, _KNOTS - len(value))), "edge").T
    return out


def _follow(X: FloatArray, knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each feature's place on the other side of its knots, and the log of the stretch."""
    out, log_slope = np.empty_like(X), np.zeros(len(X))
    for j, (x, y) in enumerate(zip(knots[:, 0].T, knots[:, 1].T, strict=True)):
        n = int(np.searchsorted(x, x[-1])) + 1
        piece = np.clip(np.searchsorted(x[:n], X[:, j]) - 1, 0, n - 2)
        slope = (np.diff(y[:n]) / np.diff(x[:n]))[piece]
        out[:, j] = y[piece] + slope * (X[:, j] - x[piece])
        log_slope += np.log(slope)
    return out, log_slope
