"""Data and timing that the benchmarks share."""

import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal

MEANS = np.array([[0.0, 0.0], [0.0, 3.0]])
COVARIANCES = np.array([[[1.0, 0.7], [0.7, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])


def paper_data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels with blanks (−1) of the paper's simulation."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2))
    X = np.einsum("nij,nj->ni", np.linalg.cholesky(COVARIANCES)[truth], X) + MEANS[truth]
    log_tau = log_posterior(X)
    entropy = -(np.exp(log_tau) * log_tau).sum(axis=1)
    return X, np.where(rng.random(n) < expit(1 - 5 * entropy), truth, -1)


def log_posterior(X: np.ndarray) -> np.ndarray:
    """Return the true log posteriors of rows of the paper's simulation."""
    joint = np.column_stack(
        [multivariate_normal(m, s).logpdf(X) for m, s in zip(MEANS, COVARIANCES, strict=True)]
    )
    return joint - logsumexp(joint, axis=1, keepdims=True)


def blobs(n: int, p: int, g: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping Gaussian blobs, a tenth of the labels given."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, g, n)
    X = rng.standard_normal((n, p)) + 2.0 * rng.standard_normal((g, p))[truth]
    return X, np.where(rng.random(n) < 0.1, truth, -1)


def best_of(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest time of several calls, in seconds: the machine is noisy."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)
