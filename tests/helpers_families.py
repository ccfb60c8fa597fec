"""Families that a user might write, shared by tests."""

import dataclasses

import numpy as np

from hesitant.families import Family


@dataclasses.dataclass(frozen=True)
class Rates:
    rate: np.ndarray  # (g, p)


class Exponential(Family):
    """Independent exponential features: a family without covariances or gradients."""

    def initial(self, X, weights):
        total = np.maximum(weights.sum(axis=0), 1e-9)[:, None]
        return Rates((total + 1) / (weights.T @ X + X.mean(axis=0)))

    def log_density(self, params, X):
        return np.log(params.rate).sum(axis=1) - X @ params.rate.T

    def statistics(self, params, X, weights):
        return weights.sum(axis=0), weights.T @ X

    def maximise(self, params, statistics):
        count, total = statistics
        return Rates(count[:, None] / total)

    def sample(self, params, h, n, rng):
        return rng.exponential(1 / params.rate[h], (n, params.rate.shape[1]))

    def moments(self, params):
        means = 1 / params.rate
        return means, np.stack([np.diag(m**2) for m in means])

    def n_parameters(self, params):
        return params.rate.size
