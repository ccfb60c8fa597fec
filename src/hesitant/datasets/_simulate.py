"""Data to play with: the paper's simulation, and cells like those of a cytometer.

Neither needs pandas, so they return arrays; `PartlyLabelled.to_frame` makes a data frame.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from hesitant.datasets._partly_labelled import PartlyLabelled

if TYPE_CHECKING:
    from hesitant.datasets._partly_labelled import LabelledArrays

Seed = int | np.random.Generator | np.random.SeedSequence | None

MEANS = ((0.0, 0.0), (0.0, 3.0))
COVARIANCES = (((1.0, 0.7), (0.7, 1.0)), ((1.0, 0.0), (0.0, 1.0)))

_SIMULATED = """\
{n:,} draws from {g} Gaussian classes in {p} dimensions; the chance of a label is
logit Pr = {intercept:g} {sign} {size:g} x entropy, the Shannon entropy (natural logarithm) of
the true class probabilities given the features. By default the simulation of section 6 of
D. Ahfock and G. J. McLachlan, On missing label patterns in semi-supervised learning. `details` has
the true entropy and labelling probability of each row."""

_CELLS = """\
Invented: {n:,} cells with three markers on the 0 to 1023 scale of a log amplifier, in four skewed
and heavy-tailed populations. Labels are missing mostly between the populations, as after manual
gating. `details` has the entropy and the labelling probability of each cell; entropies come from
an elliptical approximation of the populations. No measurement, no person, no licence."""


def simulate(
    n: int = 500,
    *,
    means: ArrayLike = MEANS,
    covariances: ArrayLike = COVARIANCES,
    weights: ArrayLike | None = None,
    intercept: float = 1.0,
    slope: float = -5.0,
    reviewed_share: float = 1.0,
    random_state: Seed = None,
) -> LabelledArrays:
    """Draw Gaussian classes whose labels go missing where they overlap.

    The defaults are the paper's simulation.

    Parameters
    ----------
    n : int, default=500
        How many rows.
    means : array-like of shape (g, p), default=((0, 0), (0, 3))
        The mean of each class.
    covariances : array-like of shape (g, p, p)
        The covariance matrix of each class; ((1, .7), (.7, 1)) and the identity by default.
    weights : array-like of shape (g,), optional
        The probability of each class; equal by default.
    intercept, slope : float, default=1.0 and -5.0
        Coefficients of the labelling mechanism, logit Pr(labelled) = intercept + slope · entropy.
    reviewed_share : float, default=1.0
        The probability that a row is shown to the expert at all. Rows never shown are blank and
        marked False in `reviewed`.
    random_state : int, Generator, SeedSequence or None
        Anything ``numpy.random.default_rng`` takes; an integer makes the draw repeatable.

    Returns
    -------
    PartlyLabelled
        Arrays: features as floats, truth as integers 0 to g − 1, labels as those or None.

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> data.features.shape, data.labels[:4]
    ((500, 2), array([1, 0, None, 0], dtype=object))
    """
    rng = np.random.default_rng(random_state)
    mu, roots, pi = _classes(means, covariances, weights)
    g, p = mu.shape
    n = _count(n)
    truth = rng.choice(g, size=n, p=pi)
    noise = rng.standard_normal((n, p))
    X = mu[truth] + np.einsum("nij,nj->ni", roots[truth], noise)
    scaled = [np.linalg.solve(roots[h], (X - mu[h]).T) for h in range(g)]
    scores = [
        np.log(pi[h]) - np.log(np.diag(roots[h])).sum() - (scaled[h] ** 2).sum(axis=0) / 2
        for h in range(g)
    ]
    entropy = _entropy(np.stack(scores, axis=1))
    chance = expit(intercept + slope * entropy)
    labelled = rng.random(n) < chance
    if not 0 < reviewed_share <= 1:
        raise ValueError(
            f"reviewed_share={reviewed_share!r} must be above 0 and at most 1, the share of rows "
            "shown to the expert"
        )
    reviewed = None if reviewed_share == 1 else rng.random(n) < reviewed_share
    given = labelled if reviewed is None else labelled & reviewed
    return PartlyLabelled(
        name="simulation",
        features=X,
        labels=_withhold(truth, given),
        truth=truth,
        reviewed=reviewed,
        feature_names=tuple(f"x{j}" for j in range(p)),
        description=_SIMULATED.format(
            n=n, g=g, p=p, intercept=intercept, sign="-" if slope < 0 else "+", size=abs(slope)
        ),
        details={"entropy": entropy, "labelling_probability": chance},
    )


_POPULATIONS = ("T cells", "B cells", "CD5+ B cells", "other")
_SHARES = np.array([0.45, 0.30, 0.10, 0.15])
_CENTRES = np.array([[690, 660, 120], [130, 140, 690], [150, 570, 650], [170, 190, 170]], float)
_SKEWS = np.array([[-95, -85, 70], [85, 110, -100], [60, -75, -80], [100, 90, 110]], float)
_SPREADS = np.array([[40, 45, 40], [40, 40, 45], [40, 40, 45], [50, 50, 45]], float)
_FREEDOM = 6.0
_MEAN_HEAVY = math.sqrt(_FREEDOM / 2) * math.gamma((_FREEDOM - 1) / 2) / math.gamma(_FREEDOM / 2)


def make_cytometry_like(n: int = 2000, random_state: Seed = None) -> LabelledArrays:
    """Invent cells of four populations, most of those between the populations left ungated.

    Each population is a skew-t: a Gaussian pushed one way by the absolute value of another, both
    divided by the root of a common gamma variable.

    Parameters
    ----------
    n : int, default=2000
        How many cells.
    random_state : int, Generator, SeedSequence or None
        Anything ``numpy.random.default_rng`` takes; an integer makes the draw repeatable.

    Returns
    -------
    PartlyLabelled
        Arrays: features CD3, CD5 and CD19; labels "T cells", "B cells", "CD5+ B cells", "other".

    Examples
    --------
    >>> from hesitant.datasets import make_cytometry_like
    >>> data = make_cytometry_like(n=1000, random_state=0)
    >>> data.feature_names
    ('CD3', 'CD5', 'CD19')
    >>> data.n_blank
    135
    """
    rng = np.random.default_rng(random_state)
    n = _count(n)
    truth = rng.choice(len(_SHARES), size=n, p=_SHARES)
    heavy = np.sqrt(_FREEDOM / 2 / rng.gamma(_FREEDOM / 2, size=n))[:, None]
    pushed = _SKEWS[truth] * np.abs(rng.standard_normal(n))[:, None]
    noise = _SPREADS[truth] * rng.standard_normal((n, 3))
    X = np.clip(_CENTRES[truth] + heavy * (pushed + noise), 0, 1023)

    # A t with the mean and covariance of each population stands in for its skew-t, whose density
    # belongs to another room.
    push = np.sqrt(2 / np.pi) * _MEAN_HEAVY
    scores = []
    for h in range(len(_SHARES)):
        scatter = np.diag(_SPREADS[h] ** 2) + (1 - 2 / np.pi) * np.outer(_SKEWS[h], _SKEWS[h])
        away = X - (_CENTRES[h] + push * _SKEWS[h])
        distance = np.einsum("ni,ij,nj->n", away, np.linalg.inv(scatter), away)
        tail = -(_FREEDOM + 3) / 2 * np.log1p(distance / _FREEDOM)
        scores.append(np.log(_SHARES[h]) - np.linalg.slogdet(scatter)[1] / 2 + tail)
    entropy = _entropy(np.stack(scores, axis=1))
    chance = expit(4 - 9 * entropy)
    classes = np.array(_POPULATIONS, dtype=object)[truth]
    return PartlyLabelled(
        name="cytometry-like",
        features=X,
        labels=_withhold(classes, rng.random(n) < chance),
        truth=classes,
        feature_names=("CD3", "CD5", "CD19"),
        description=_CELLS.format(n=n),
        details={"entropy": entropy, "labelling_probability": chance},
    )


def _count(n: int) -> int:
    if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n={n!r} must be a positive integer, the number of rows")
    return int(n)


def _classes(
    means: ArrayLike, covariances: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Check the parameters of the mixture; return means, Cholesky factors and weights."""
    mu = np.asarray(means, dtype=float)
    if mu.ndim != 2:
        raise ValueError(f"means has shape {mu.shape}; give one row per class")
    g, p = mu.shape
    sigma = np.asarray(covariances, dtype=float)
    if sigma.shape != (g, p, p):
        raise ValueError(
            f"covariances has shape {sigma.shape}; {g} classes in {p} dimensions need "
            f"({g}, {p}, {p})"
        )
    if not np.allclose(sigma, sigma.swapaxes(1, 2)):
        raise ValueError("covariances are not symmetric; give covariance matrices")
    try:
        roots = np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError as error:
        raise ValueError("covariances are not all positive definite") from error
    pi = np.full(g, 1 / g) if weights is None else np.asarray(weights, dtype=float)
    if pi.shape != (g,) or not (pi > 0).all() or not np.isclose(pi.sum(), 1):
        raise ValueError(f"weights={weights!r} must be {g} positive numbers that sum to 1")
    return mu, roots, pi / pi.sum()


def _entropy(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Shannon entropy of the probabilities with these logarithms, up to a constant."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    # Where the probability underflows to zero its logarithm is finite, so the product is zero.
    return np.maximum(-(np.exp(logs) * logs).sum(axis=1), 0.0)


def _withhold(classes: NDArray[Any], labelled: NDArray[np.bool_]) -> NDArray[np.object_]:
    labels = classes.astype(object)
    labels[~labelled] = None
    return labels
