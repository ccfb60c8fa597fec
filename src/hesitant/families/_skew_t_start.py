"""Where slants start: from the skewness of rows about a symmetric fit.

Symmetry is a stationary point of the skew-t likelihood, so a start must lean one way or another.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._covariance import Structure
from hesitant.families._heavy_tailed import HeavyTailedParams, distances
from hesitant.families._location_scale import whiten
from hesitant.families._skew_t_params import SkewTParams, slants

__all__ = ["leaning"]

# A lean below this is too near symmetry to leave it, one above too near the edge to return.
_LEAST, _MOST = 0.6, 0.98
_FAR, _CUT = 0.95, 0.99
_EDGES = 4  # features tried


class _Skewness(NamedTuple):
    """What the rows of one class say: moments, and how far and where they lean.

    ``edges`` has a direction for each of its features, the most skewed ones first, as if rows
    were cut off at a value of it.
    """

    mean: FloatArray
    covariance: FloatArray
    lean: float
    toward: FloatArray
    edges: FloatArray


def leaning(
    structure: Structure, params: HeavyTailedParams, X: AnyArray, weights: FloatArray
) -> Iterator[SkewTParams]:
    """Yield guesses that keep the mean and covariance of the rows of each class, and lean.

    They lean along the direction in which rows are most skewed: as much as their skewness says,
    and nearly as much as can be. Then so that they are cut off at a value of one feature, of the
    few most skewed ones in turn: detection limits do that. ``params`` is a symmetric fit.
    """
    q = distances(params, X)
    classes = [_skewness(params, X, q[:, h], weights[:, h], h) for h in range(len(params.dof))]
    mean, covariance, lean, along, edges = (np.array(part) for part in zip(*classes, strict=True))
    counts = weights.sum(axis=0) + 1.0
    guesses = [(lean, along), (np.full_like(lean, _FAR), along)]
    for k in range(min(_EDGES, edges.shape[1])):
        guesses.append((np.full_like(lean, _CUT), edges[:, k]))
    for amount, toward in guesses:
        # Along its direction a skew-normal of scale ω has variance ω² (1 − 2 lean²/π).
        stretch = 1.0 / (1.0 - 2.0 / math.pi * amount**2)
        delta = (np.sqrt(stretch) * amount)[:, None] * toward
        scale = covariance + (stretch - 1.0)[:, None, None] * _outer(toward)
        precision = np.linalg.inv(scale)
        axis = np.einsum("hjk,hk->hj", precision, delta) / np.sqrt(1.0 - amount**2)[:, None]
        whitener = whiten(structure.pool(scale * counts[:, None, None], counts))
        yield SkewTParams(
            params.center,
            params.spread,
            params.location + mean - math.sqrt(2.0 / math.pi) * delta,
            whitener,
            params.dof,
            slants(whitener, axis),
            **params.prior,
        )


def _skewness(
    params: HeavyTailedParams, X: AnyArray, q: FloatArray, weight: FloatArray, h: int
) -> _Skewness:
    p, nu = params.center.size, params.nu[h]
    rows = np.flatnonzero(weight > 0)
    weight = weight[rows]
    # Rows drawn in by their expected precision: no outlier decides.
    shrink = np.sqrt((nu + p) / (nu + q[rows]))
    u = (X[rows] - params.center) / params.spread - params.location[h]
    u = np.where(shrink[:, None] > 0, u * shrink[:, None], 0.0)
    total = weight.sum() + 1e-12
    mean = weight @ u / total
    u -= mean
    prior = p + 2.0  # rows' worth of the symmetric fit
    covariance = ((weight[:, None] * u).T @ u + prior * params.scale[h]) / (total + prior)
    covariance *= 1.0 + 1e-12 * np.eye(p)  # an outlier may leave all else to rounding
    half = np.linalg.cholesky(covariance)
    z = np.linalg.solve(half, u.T).T
    third = (weight * np.einsum("ij,ij->i", z, z)) @ z / total
    size = float(np.linalg.norm(third))
    direction = third / size if size > 1e-12 else np.full(p, 1.0 / math.sqrt(p))
    along = z @ direction
    skewness = (
        float(weight @ along**3) / total / max(float(weight @ along**2) / total, 1e-6) ** 1.5
    )
    # The skew-normal with this skewness
    part = abs(skewness) ** (2 / 3)
    lean = math.sqrt(0.5 * math.pi * part / (part + (2 - 0.5 * math.pi) ** (2 / 3)))
    toward = half @ direction * (1.0 if skewness >= 0 else -1.0)
    sides = weight @ u**3 / total / np.diagonal(covariance) ** 1.5
    unit = half / np.linalg.norm(half, axis=1)[:, None]
    edges = np.where(sides[:, None] >= 0, 1.0, -1.0) * (unit @ half.T)
    order = np.argsort(-np.abs(sides))
    return _Skewness(mean, covariance, min(max(lean, _LEAST), _MOST), toward, edges[order])


def _outer(a: FloatArray) -> FloatArray:
    return a[:, :, None] * a[:, None, :]
