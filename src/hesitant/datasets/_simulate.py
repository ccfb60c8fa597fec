"""Data to play with, without pandas: the paper's simulation, and cells like a cytometer's."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax
from scipy.stats import multivariate_normal, multivariate_t

from hesitant._typing import AnyArray
from hesitant.checks import check_number
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.uncertainty import Shannon

Seed = int | np.random.Generator | np.random.SeedSequence | None

MEANS = ((0.0, 0.0), (0.0, 3.0))
COVARIANCES = (((1.0, 0.7), (0.7, 1.0)), ((1.0, 0.0), (0.0, 1.0)))

_SIMULATED = """\
{n:,} draws from {g} Gaussian classes in {p} dimensions; the chance of a label is
logit Pr = {line} x entropy, the Shannon entropy (natural logarithm) of
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
) -> PartlyLabelled:
    """Draw Gaussian classes whose labels go missing where they overlap: the paper's simulation.

    ``means`` (g, p), ``covariances`` (g, p, p) and ``weights`` (g,) are those of the classes: by
    default (0, 0) with ((1, .7), (.7, 1)), and (0, 3) with the identity, equally weighted. A row
    is shown to the expert with probability ``reviewed_share``, and then labelled with logit
    Pr(labelled) = intercept + slope · entropy. ``random_state`` is anything that
    ``numpy.random.default_rng`` takes; an integer makes the draw repeatable.

    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> data.features.shape, data.labels[:4]
    ((500, 2), array([1, 0, None, 0], dtype=object))
    """
    check_number("n", n, Integral, 1)
    check_number("reviewed_share", reviewed_share, Real, 1e-6, 1)
    rng = np.random.default_rng(random_state)
    mu, roots, pi = _classes(means, covariances, weights)
    g, p = mu.shape
    truth = rng.choice(g, size=n, p=pi)
    X = mu[truth] + np.einsum("nij,nj->ni", roots[truth], rng.standard_normal((n, p)))
    line = f"{intercept:g} {'-' if slope < 0 else '+'} {abs(slope):g}"
    names, about = tuple(f"x{j}" for j in range(p)), _SIMULATED.format(n=n, g=g, p=p, line=line)
    made = PartlyLabelled("simulation", X, truth, names, about, truth)
    scores = class_scores(X, mu, covariances, pi)
    return _withhold(made, scores, (intercept, slope), rng, reviewed_share)


_POPULATIONS = ("T cells", "B cells", "CD5+ B cells", "other")
_SHARES = np.array([0.45, 0.30, 0.10, 0.15])
_CENTRES = np.array([[690, 660, 120], [130, 140, 690], [150, 570, 650], [170, 190, 170]], float)
_SKEWS = np.array([[-95, -85, 70], [85, 110, -100], [60, -75, -80], [100, 90, 110]], float)
_SPREADS = np.array([[40, 45, 40], [40, 40, 45], [40, 40, 45], [50, 50, 45]], float)
_FREEDOM = 6
_MEAN_HEAVY = math.sqrt(_FREEDOM / 2) * math.gamma((_FREEDOM - 1) / 2) / math.gamma(_FREEDOM / 2)


def make_cytometry_like(n: int = 2000, random_state: Seed = None) -> PartlyLabelled:
    """Invent n cells of four populations, most of those between the populations left ungated.

    Each population is a skew-t: a Gaussian pushed one way by the absolute value of another, both
    divided by the root of a common gamma variable.

    >>> from hesitant.datasets import make_cytometry_like
    >>> make_cytometry_like(n=1000, random_state=0).n_blank
    135
    """
    check_number("n", n, Integral, 1)
    rng = np.random.default_rng(random_state)
    truth = rng.choice(len(_SHARES), size=n, p=_SHARES)
    heavy = np.sqrt(_FREEDOM / 2 / rng.gamma(_FREEDOM / 2, size=n))[:, None]
    pushed = _SKEWS[truth] * np.abs(rng.standard_normal(n))[:, None]
    noise = _SPREADS[truth] * rng.standard_normal((n, 3))
    X = np.clip(_CENTRES[truth] + heavy * (pushed + noise), 0, 1023)
    # A t with the mean and covariance of each population stands in for its skew-t.
    push, scores = np.sqrt(2 / np.pi) * _MEAN_HEAVY, np.empty((n, len(_SHARES)))
    for h, skew in enumerate(_SKEWS):
        scatter = np.diag(_SPREADS[h] ** 2) + (1 - 2 / np.pi) * np.outer(skew, skew)
        population = multivariate_t(_CENTRES[h] + push * skew, scatter, _FREEDOM)
        scores[:, h] = np.log(_SHARES[h]) + population.logpdf(X)
    classes, names = np.array(_POPULATIONS, dtype=object)[truth], ("CD3", "CD5", "CD19")
    made = PartlyLabelled("cytometry-like", X, classes, names, _CELLS.format(n=n), classes)
    return _withhold(made, scores, (4, -9), rng)


def _classes(means: ArrayLike, covariances: ArrayLike, weights: Any) -> tuple[AnyArray, ...]:
    """Check the parameters of the mixture; return means, Cholesky factors and weights."""
    mu, sigma = np.asarray(means, dtype=float), np.asarray(covariances, dtype=float)
    if mu.ndim != 2:
        raise ValueError(f"means has shape {mu.shape}; give one row per class")
    g, p = mu.shape
    if sigma.shape != (g, p, p):
        needed = f"{g} classes in {p} dimensions need ({g}, {p}, {p})"
        raise ValueError(f"covariances has shape {sigma.shape}; {needed}")
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


def class_scores(X: AnyArray, means: Any, covariances: Any, weights: Any) -> AnyArray:
    """Return the log densities (n, g) of rows under weighted Gaussian classes."""
    classes = zip(means, covariances, strict=True)
    scores = np.column_stack([multivariate_normal(*own).logpdf(X) for own in classes])
    return scores + np.log(weights)


def _withhold(
    made: PartlyLabelled, scores: AnyArray, line: tuple[float, float], rng: Any, share: float = 1.0
) -> PartlyLabelled:
    """Leave labels out by a line in the entropy of probabilities with these log weights."""
    logs = log_softmax(scores, axis=1)
    entropy = np.maximum(Shannon().evaluate(logs, np.exp(logs))[0], 0.0)
    chance = expit(line[0] + line[1] * entropy)
    given = rng.random(len(scores)) < chance
    reviewed = None if share == 1 else rng.random(len(scores)) < share
    labels = np.where(given if reviewed is None else given & reviewed, made.truth, None)
    details = {"entropy": entropy, "labelling_probability": chance}
    return dataclasses.replace(made, labels=labels, reviewed=reviewed, details=details)
