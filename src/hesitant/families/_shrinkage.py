"""How strongly classes are pulled together, judged by rows that were left out.

The prior of covariance="shrunk" is that of made-up rows: some that spread like the pooled matrix
of all classes, which in turn has some that spread like its diagonal, and some at the classes'
common mean. How many of each is chosen by the probability that fits to most of the labelled rows
give to the labels of the rest: what the classifier is for. Choices that labels can hardly tell
apart are decided by the density of the rest: where only easy rows are labelled, their classes are
too sure of themselves. The density alone misleads where classes are not of the family's shape
(``python -m benchmarks.study_shrinkage``).
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from hesitant._cores import one_blas_thread
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.families._base import StepError
from hesitant.families._kernels import whiten

FOLDS = 5
MOST = 3000  # rows that are looked at
# How much more probable labels must become to be a reason, for one feature. With more features
# classes claim too much for want of rows, which only labels can tell.
CLOSE = 0.02
FARTHEST = 10.0  # robust spreads: an outlier must not decide
# In numbers of made-up rows: towards the pooled matrix, its diagonal, the common mean.
GRID: Any = [10.0 ** np.arange(*ends) for ends in ((-1, 5.1, 0.5), (0, 4.1), (-2, 2.1, 0.5))]


def pool(scatter: FloatArray, total: float, towards_diagonal: float, floor: float) -> FloatArray:
    """Return the matrix that classes have in common; ``floor`` is a little extra scatter."""
    whole = scatter.sum(axis=0) + floor * np.eye(scatter.shape[1])
    own = np.diag(np.diagonal(whole)) / total
    return np.asarray((whole + towards_diagonal * own) / (total + towards_diagonal))


def strengths(Z: FloatArray, weights: FloatArray, given: FloatArray, floor: float) -> FloatArray:
    """Return how many rows' worth classes are pulled together (3,); NaN in ``given`` is sought."""
    if not np.isnan(given).any():
        return given
    grid = [g if np.isnan(v) else np.array([v]) for v, g in zip(given, GRID, strict=True)]
    known = np.flatnonzero(weights.sum(axis=1) > 0)
    known = known[:: -(-len(known) // MOST)]
    Z, weights = Z[known], weights[known]
    close = CLOSE * weights.sum() / Z.shape[1]
    by_label, by_density = held_out(Z, weights, grid, floor)
    return np.where(np.isnan(given), likely(judged(by_label, by_density, close), grid), given)


def judged(by_label: FloatArray, by_density: FloatArray, close: float) -> FloatArray:
    """Return a value for each point; where labels differ less than ``close``, density counts."""
    behind = np.minimum(by_label - by_label.max() + close, 0.0)
    return behind + np.clip(by_density - by_density[behind == 0.0].max(), -close, 0.0)


def held_out(
    Z: FloatArray, weights: FloatArray, grid: Sequence[FloatArray], floor: float
) -> FloatArray:
    """Return the log probability of labels left out, and the log density, over the grid."""
    Z = np.clip(Z, -FARTHEST, FARTHEST)
    fold, value = _folds(Z, weights.argmax(axis=1)), np.zeros((2, *map(len, grid)))
    with one_blas_thread():  # matrices so small would wait for threads longer than they take
        for k in range(FOLDS):
            out = fold == k
            if out.any() and not out.all():
                value += _of_fold(Z, weights, out, grid, floor)
    return value


def likely(value: FloatArray, grid: Sequence[FloatArray]) -> FloatArray:
    """Return a mean of the grid's strengths: a maximum alone jumps from sample to sample."""
    chance, logs = np.exp(value - value.max()), np.log(np.maximum(list(product(*grid)), 1e-300))
    return np.exp(chance.ravel() @ logs / chance.sum())


def _folds(Z: FloatArray, codes: IntArray) -> IntArray:
    """Return a fold for each row: equal rows in one, whatever their order."""
    place = np.unique(Z, axis=0, return_inverse=True)[1].reshape(-1)
    out = np.empty(len(Z), dtype=np.int64)
    for h in np.unique(codes):
        mine = codes == h
        out[mine] = (np.unique(place[mine], return_inverse=True)[1] + h) % FOLDS
    return out


def _of_fold(
    Z: FloatArray, weights: FloatArray, out: BoolArray, grid: Sequence[FloatArray], floor: float
) -> FloatArray:
    codes, weight = weights[out].argmax(axis=1), weights[out].sum(axis=1)
    to_pooled, to_diagonal, to_mean = grid
    weights = weights * ~out[:, None]
    count, g = weights.sum(axis=0), weights.shape[1]
    mean = weights.T @ Z / np.maximum(count, 1e-12)[:, None]
    apart = [(weights[:, h] > 0, Z - mean[h]) for h in range(g)]
    scatter = np.array([(weights[i, h, None] * u[i]).T @ u[i] for h, (i, u) in enumerate(apart)])
    grand_mean, prior = count @ mean / count.sum(), np.log((count + 1.0) / (count + 1.0).sum())
    pull = to_mean[:, None] / np.maximum(count + to_mean[:, None], 1e-12)
    value = np.full((2, *map(len, grid)), -1e300)
    for j, d in enumerate(to_diagonal):
        try:
            W = whiten(pool(scatter, count.sum(), d, floor)[None])[0]
        except StepError:
            continue
        # Where the pooled matrix is the identity and a class's own diagonal, all is a sum.
        joint = np.empty((len(to_pooled), len(to_mean), len(codes), g))
        for h in range(g):
            own, axes = np.linalg.eigh(W @ scatter[h] @ W.T)
            B = W.T @ axes
            z, toward = apart[h][1][out] @ B, (mean[h] - grand_mean) @ B
            moved = z + pull[:, h, None, None] * toward
            for i, c in enumerate(to_pooled):
                spread = (np.maximum(own, 0.0) + c) / (count[h] + c)
                q = moved**2 @ (1.0 / spread)
                joint[i, :, :, h] = prior[h] - 0.5 * (q + np.log(spread).sum())
        own_class = np.take_along_axis(joint, codes[None, None, :, None], axis=3)[..., 0]
        value[0, :, j] = (own_class - logsumexp(joint, axis=3)) @ weight
        value[1, :, j] = (own_class + np.log(np.diagonal(W)).sum()) @ weight
    return value
