"""Rows drawn from a model, and as many where its classes meet, with weights (none exceeds two)."""

from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families import Gaussian, StudentT
from hesitant.families._kernels import whiten
from hesitant.families._student_t import HeavyTailedParams
from hesitant.likelihood import normalise
from hesitant.model import FittedModel

# Shares of the rows along boundaries, across them, and far out; the rest comes from the model.
ALONG, ACROSS, ABOUT = 0.3, 0.15, 0.05
# Rows a feature (of at most five), and rounds, in which proposals are fitted; how heavy their
# tails are, and how much wider than a class those about it.
PILOT, ROUNDS, TAIL, WIDER = 500, 3, 5.0, 4.0
TAILS = StudentT(dof=TAIL)

Rng: TypeAlias = np.random.Generator
Drawn: TypeAlias = tuple[FloatArray, ...]


def draw_rows(
    model: FittedModel, proposals: Any, shares: FloatArray, n: int, rng: Rng, n_batches: int = 1
) -> Drawn:
    """Draw n rows; return them with posteriors (log, plain) and log weights.

    Proposals are classes of ``TAILS``; each has its share every time, the rest comes from the
    model. Weights make averages those of the model. Batches lie one after the other, and each has
    rows from everywhere.
    """
    counts = (shares * n).astype(int)
    parts = [model.draw(n - counts.sum(), rng)[0]]
    parts += [TAILS.sample(proposals, k, m, rng) for k, m in enumerate(counts.tolist())]
    X = np.concatenate(parts)
    X = np.concatenate([X[k::n_batches] for k in range(n_batches)])
    log_tau, tau, log_f = model.posterior(X)
    ways, part = [log_f], np.log(np.maximum(np.append(n - counts.sum(), counts) / n, 1e-300))
    if proposals is not None:
        ways.append(TAILS.log_density(proposals, X))
    log_w = log_f - normalise(np.column_stack(ways), part)[2]
    # Rows stand last in memory: a loop over two or three classes takes many times as long.
    return X, np.asfortranarray(log_tau), np.asfortranarray(tau), log_w


def fit_proposals(model: FittedModel, rng: Rng) -> tuple[Any, FloatArray]:
    """Fit proposals to the boundaries of a fitted model, in a few rounds; return their shares too.

    A family that is not the package's own may have no density in places: it draws all rows itself.
    """
    if not isinstance(model.family, Gaussian):
        return None, np.zeros(0)
    params, pairs = model.state.params, list(combinations(range(len(model.classes)), 2))
    about, sizes, pilot = [], np.zeros(len(pairs)), min(PILOT * model.n_features, 5 * PILOT)
    near: list[Any] = []
    for h in range(len(model.classes)):
        z = (model.family.sample(params, h, pilot, rng) - params.center) / params.spread
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        about.append(_shaped_like(z, np.zeros(len(z)), WIDER))
    for _ in range(ROUNDS):
        known = [*near, *about]
        shares, n = np.full(len(known), 0.75 / len(known)), max(pilot, 300 * len(known))
        X, log_tau, _, log_w = draw_rows(model, _proposals(params, known), shares, n, rng)
        z, near = (X - params.center) / params.spread, []
        for k, (a, b) in enumerate(pairs):
            odds, middle = meet(log_tau, log_w, a, b)
            along = middle - 0.5 * odds**2
            sizes[k] = np.logaddexp.reduce(along)
            across = log_w + log_tau[:, a] + log_tau[:, b]
            near += [_shaped_like(z, weights) for weights in (along, across)]
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    shares = np.outer(part / part.sum(), (ALONG, ACROSS)).ravel()
    shares = np.append(shares, np.full(len(about), ABOUT / len(about)))
    return _proposals(params, [*near, *about]), shares


def _proposals(params: Any, shapes: list[Any]) -> HeavyTailedParams:
    location, scale = (np.array(part) for part in zip(*shapes, strict=True))
    place, dof = (params.center, params.spread, location), np.full(len(location), TAIL)
    return HeavyTailedParams(*place, whiten(scale), dof)


def _shaped_like(z: FloatArray, log_w: FloatArray, wider: float = 1.0) -> Drawn:
    """Return mean and spread of weighted rows.

    The weights are evened out until they are worth enough equal ones.
    """
    w, log_w = np.full(len(z), 1.0), log_w - log_w.max()
    while w @ w * (20 + 3 * z.shape[1]) > 1:
        w = np.exp(log_w)
        w /= w.sum()
        log_w = 0.7 * log_w
    mean = w @ z
    spread = wider * (w * (z - mean).T) @ (z - mean) / (1 - w @ w)
    spread += (1e-9 * np.trace(spread) / len(spread) + 1e-300) * np.eye(len(spread))
    return mean, spread


def meet(log_tau: FloatArray, log_w: FloatArray, a: int, b: int) -> tuple[FloatArray, FloatArray]:
    """Return two classes' log odds, and the log geometric mean of their joint densities."""
    one, other = log_tau[:, a], log_tau[:, b]
    odds, far = one - other, np.abs(one - other)
    return odds, log_w + one + other + far / 2 + np.log1p(np.exp(-far))
