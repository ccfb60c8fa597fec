"""Rows drawn where classes meet, each with the weight that makes averages those of the model.

Where classes are far apart the model itself hardly ever draws a row at a boundary. So half of the
rows come from the model, the others from heavy-tailed proposals between any two classes and all
about each (importance sampling with a defensive mixture: no weight exceeds two).
"""

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import multivariate_t

from hesitant._typing import FloatArray
from hesitant.families import Gaussian
from hesitant.model import FittedModel

# Shares of the rows along boundaries, across them, and far out; the rest comes from the model.
ALONG, ACROSS, ABOUT = 0.3, 0.15, 0.05
# Rows and rounds in which proposals are fitted; how heavy their tails are, and how much wider than
# a class those about it.
PILOT, ROUNDS, TAIL, WIDER = 2500, 3, 5, 4.0


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Where rows are drawn: from the model, and from proposals where classes meet."""

    model: FittedModel
    proposals: list[Any]  # distributions of scipy's, in the units of the model
    shares: FloatArray  # of the rows, for each proposal

    @property
    def units(self) -> tuple[FloatArray, FloatArray]:
        """Origin and size of the units in which proposals are."""
        params = self.model.state.params
        return (params.center, params.spread) if self.proposals else (np.zeros(1), np.ones(1))

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows, the same number from each proposal every time, the rest from the model."""
        origin, unit = self.units
        counts = (self.shares * n).astype(int)
        parts = [self.model.draw(n - counts.sum(), rng)[0]]
        for proposal, m in zip(self.proposals, counts, strict=True):
            parts.append(origin + unit * proposal.rvs(m, random_state=rng).reshape(m, origin.size))
        return np.concatenate(parts)

    def log_weights(self, X: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return log model density less log density of n rows drawn here, ``n = len(X)``."""
        origin, unit = self.units
        z, volume = (X - origin) / unit, np.log(unit).sum()
        shares = (self.shares * len(X)).astype(int) / len(X)
        total = np.full(len(X), np.log(1 - shares.sum()))
        for proposal, share in zip(self.proposals, shares, strict=True):
            if share:
                own = np.atleast_1d(proposal.logpdf(z)) - volume - log_f + np.log(share)
                total = np.logaddexp(total, own)
        return -total


def fit_sampler(model: FittedModel, rng: np.random.Generator) -> Sampler:
    """Fit proposals to the boundaries of a fitted model: first guesses, and then a few rounds.

    A family that is not the package's own may have no density in places: it draws all rows itself.
    """
    if not isinstance(model.family, Gaussian):
        return Sampler(model, [], np.zeros(0))
    params, pairs = model.state.params, list(combinations(range(len(model.classes)), 2))
    about, sizes = [], np.zeros(len(pairs))
    for h in range(len(model.classes)):
        z = (model.family.sample(params, h, 2000, rng) - params.center) / params.spread
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        about.append(_shaped_like(z, np.zeros(len(z)), WIDER))
    near = [_between(model, about, pair) for pair in pairs]
    for _ in range(ROUNDS):
        proposals = [*near, *about]
        pilot = Sampler(model, proposals, np.full(len(proposals), 0.75 / len(proposals)))
        X = pilot.draw(max(PILOT, 300 * len(proposals)), rng)
        log_tau, _, log_f = model.posterior(X)
        log_w = pilot.log_weights(X, log_f)
        z, near = (X - params.center) / params.spread, []
        for k, (a, b) in enumerate(pairs):
            odds, both = log_tau[:, a] - log_tau[:, b], log_tau[:, a] + log_tau[:, b]
            # The geometric mean of two classes' joint densities, others absent.
            meet = log_w + both / 2 + np.logaddexp(log_tau[:, a], log_tau[:, b])
            along = meet - 0.5 * odds**2
            sizes[k] = np.logaddexp.reduce(along)
            near += [_shaped_like(z, weights) for weights in (along, log_w + both)]
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    shares = np.outer(part / part.sum(), (ALONG, ACROSS)).ravel()
    shares = np.append(shares, np.full(len(about), ABOUT / len(about)))
    return Sampler(model, [*near, *about], shares)


def _between(model: FittedModel, about: list[Any], pair: tuple[int, int]) -> Any:
    """Return a proposal where two classes meet, were they normal.

    Powers f_a^(1−t) f_b^t of two normal densities are normal again; the t whose middle lies on
    the boundary is the likeliest way to be there.
    """
    t, params = np.linspace(0, 1, 33)[:, None, None], model.state.params
    A, B = (np.linalg.inv(about[h].shape / WIDER) for h in pair)
    precision = (1 - t) * A + t * B
    pull = (1 - t) * (A @ about[pair[0]].loc)[:, None] + t * (B @ about[pair[1]].loc)[:, None]
    path = np.linalg.solve(precision, pull)[:, :, 0]
    log_tau = model.posterior(params.center + params.spread * path)[0][:, pair]
    k = int(np.abs(log_tau[:, 0] - log_tau[:, 1]).argmin())
    return multivariate_t(path[k], np.linalg.inv(precision[k]), df=TAIL)


def _shaped_like(z: FloatArray, log_w: FloatArray, wider: float = 1.0) -> Any:
    """Return a proposal with the mean and spread of weighted rows.

    The weights are evened out until they are worth enough equal ones.
    """
    w, log_w = np.full(len(z), 1.0), log_w - log_w.max()
    while w @ w * (20 + 3 * z.shape[1]) > 1:
        w = np.exp(log_w)
        w /= w.sum()
        log_w = 0.7 * log_w
    spread = wider * np.atleast_2d(np.cov(z.T, aweights=w))
    spread += (1e-9 * np.trace(spread) / len(spread) + 1e-300) * np.eye(len(spread))
    return multivariate_t(w @ z, spread, df=TAIL)
