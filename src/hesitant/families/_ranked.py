"""Features by their ranks."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._base import Family, Params
from hesitant.families._gaussian import Gaussian

_KNOTS = 130  # of the line from values to scores
_DRAWN = 2000  # rows that moments are taken from


def _forward(name: str) -> Any:
    """Return a method that the family of the spread features answers."""
    return lambda self, *arguments: getattr(self._own, name)(*arguments)


class Ranked(Family):
    """Another family, of features that are first spread like a normal sample, by their ranks.

    For skewed features and far outliers: only the order of a feature's values counts, in all rows
    together. There are no standard errors, and empty cells are not allowed.

    Parameters
    ----------
    family : Family, optional
        Of the features so spread; Gaussian by default.

    Examples
    --------
    >>> from hesitant import MixtureClassifier, families
    >>> MixtureClassifier(families.Ranked(), covariance="tied", mechanism=None)
    MixtureClassifier(covariance='tied', family=Ranked(), mechanism=None)
    """

    def __init__(self, family: Family | None = None) -> None:
        self.family = family
        self._base = Gaussian() if family is None else family

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        out = copy.copy(self)
        out._base = out._base.specialise(covariance, reg_covar)
        out.adaptive_prior = out._base.adaptive_prior
        return out

    def prepare(self, sample: Callable[[], Sequence[AnyArray]], classes: AnyArray) -> Self:
        out = copy.copy(self)
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
