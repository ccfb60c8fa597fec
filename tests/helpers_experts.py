"""Readers who hesitate and err, drawn."""

import numpy as np
from scipy.special import expit

SLOPES, ACCURACIES = np.array([-7.0, -3.0, -5.0, 0.0]), np.array([0.97, 0.9, 0.8, 0.7])


def draw(seed=0, n=600, slopes=SLOPES, accuracies=ACCURACIES):
    """Return features, classes and labels of readers who hesitate and err."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) + truth[:, None] * [2.0, 1.7]
    odds = X @ [2.0, 1.7] - (2.0**2 + 1.7**2) / 2
    u = -sum(p * np.log(np.maximum(p, 1e-300)) for p in (expit(odds), expit(-odds)))
    Y = np.full((n, len(slopes)), -1)
    for j, (slope, accuracy) in enumerate(zip(slopes, accuracies, strict=True)):
        spoke = rng.random(n) < expit(1.0 - 0.3 * slope + slope * u)
        right = rng.random(n) < accuracy
        Y[spoke, j] = np.where(right, truth, 1 - truth)[spoke]
    return X, truth, Y
