"""Skew-t classes to test with: parameters from Azzalini's, and rows drawn from two."""

import numpy as np
from scipy import special

from hesitant.families import SkewT
from hesitant.families._skew_t_chart import SkewTParams, slants

SCALES = np.array([[[1.0, 0.6], [0.6, 2.0]], [[1.5, -0.4], [-0.4, 0.5]]])


def make(location, scale, dof, shapes):
    """Parameters from Azzalini's, in units that change nothing."""
    location, shapes = np.atleast_2d(location).astype(float), np.atleast_2d(shapes).astype(float)
    p = location.shape[1]
    scale = np.asarray(scale, dtype=float)
    whitener = np.linalg.inv(np.linalg.cholesky(scale))
    axis = shapes / np.sqrt(np.einsum("hjj->hj", scale))
    dof = np.atleast_1d(np.asarray(dof, dtype=float))
    return SkewTParams(np.zeros(p), np.ones(p), location, whitener, dof, slants(whitener, axis))


TRUTH = make([[0.0, 0.0], [2.5, 1.0]], SCALES, [4.0, 9.0], [[3.0, -1.0], [-1.0, 4.0]])


def two_classes(n=400, seed=0, truth=TRUTH):
    """Overlapping skew-t classes, hard cases blank."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    both = [SkewT().sample(truth, h, n, rng) for h in (0, 1)]
    X = np.ascontiguousarray(np.where(labels[:, None] == 0, *both))
    joint = SkewT().log_density(truth, X)
    seen = rng.random(n) < special.expit(np.abs(joint[:, 0] - joint[:, 1]) - 1)
    return X, np.where(seen, labels, -1)
