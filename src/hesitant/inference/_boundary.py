"""Rows drawn where classes meet, each with the weight that makes averages those of the model.

What labels and pattern teach is decided at the boundaries, and where classes are far apart the
model itself hardly ever draws a row there. So half of the rows come from the model, the others
from heavy-tailed proposals between any two classes and all about each; each row counts by the
ratio of the model's density to that of the mixture it came from, which is never more than two
(importance sampling with a defensive mixture).
"""

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from hesitant._typing import FloatArray
from hesitant.families import Gaussian
from hesitant.model import FittedModel

# Half-width of the kernel, in log odds, that picks rows at a class boundary: at most this, and
# at most this part of the log odds' own spread about the boundary (classes that hardly differ).
WIDEST, PART = 1.0, 0.5
# Shares of the rows along boundaries, across them, and far out; the rest comes from the model.
ALONG, ACROSS, ABOUT = 0.3, 0.15, 0.05
# Rows and rounds in which proposals are fitted, and how heavy their tails are.
PILOT, ROUNDS, TAIL = 4000, 3, 5


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Where rows are drawn: from the model, and from proposals where classes meet."""

    model: FittedModel
    proposals: list[Any]  # distributions of scipy's, in the units of the model
    shares: FloatArray  # of the rows, for each proposal
    half_width: FloatArray  # (g, g), half-width of the kernel at each pair's boundary, in log odds
    log_size: float  # log of the boundary's size, in units of which its sums stay within range

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
            z = proposal.rvs(m, random_state=rng).reshape(m, origin.size)
            parts.append(origin + unit * z)
        return np.ascontiguousarray(np.concatenate(parts))

    def log_weights(self, X: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return log model density less log density of n rows drawn here, ``n = len(X)``."""
        origin, unit = self.units
        z, volume = (X - origin) / unit, np.log(unit).sum()
        shares = (self.shares * len(X)).astype(int) / len(X)
        terms = [np.full(len(X), np.log(1 - shares.sum()))]
        for proposal, share in zip(self.proposals, shares, strict=True):
            if share:
                terms.append(np.atleast_1d(proposal.logpdf(z)) - volume - log_f + np.log(share))
        return -np.asarray(logsumexp(terms, axis=0))


def fit_sampler(model: FittedModel, rng: np.random.Generator) -> Sampler:
    """Fit proposals to the boundaries of a fitted model.

    Rows are drawn roughly between the classes, weighted by how much they matter, and proposals
    fitted to them, a few rounds over. Only the package's own families are known to have a density
    all over the space; for any other all rows come from the model.
    """
    g = len(model.classes)
    pairs, near, about = list(combinations(range(g), 2)), list[Any](), list[Any]()
    if isinstance(model.family, Gaussian):
        near, about = _first_proposals(model, pairs, rng)
    half_width, sizes = np.full((g, g), WIDEST), np.zeros(len(pairs))
    for _ in range(ROUNDS if near else 1):
        count = len(near) + len(about)
        equal = np.full(count, 0.75 / max(count, 1))
        pilot = Sampler(model, [*near, *about], equal, half_width, 0.0)
        X = pilot.draw(max(PILOT, 300 * count), rng)
        log_tau, _, log_f = model.posterior(X)
        log_w = pilot.log_weights(X, log_f)
        origin, unit = pilot.units
        z, near = (X - origin) / unit, []
        for k, (a, b) in enumerate(pairs):
            odds, both = log_tau[:, a] - log_tau[:, b], log_tau[:, a] + log_tau[:, b]
            # The geometric mean of two classes' joint densities, others absent.
            meet = log_w + both / 2 + np.logaddexp(log_tau[:, a], log_tau[:, b])
            spread = float(np.sqrt(_flattened(meet, 1) @ odds**2))
            # Narrow for what changes within a narrow range.
            width = half_width[a, b] = half_width[b, a] = min(WIDEST, PART * max(spread, 1e-6))
            along = meet - 0.5 * (odds / width) ** 2
            sizes[k] = logsumexp(along) - np.log(len(X) * width)
            if about:
                near += [_shaped_like(z, weights) for weights in (along, log_w + both)]
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    shares = np.outer(part / part.sum(), (ALONG, ACROSS)).ravel()
    shares = np.append(shares, np.full(g, ABOUT / g)) if about else np.zeros(0)
    return Sampler(model, [*near, *about], shares, half_width, float(logsumexp(sizes)))


def _first_proposals(
    model: FittedModel, pairs: list[tuple[int, int]], rng: np.random.Generator
) -> tuple[list[Any], list[Any]]:
    """Return a proposal between any two classes, and one all about each class."""
    family, params = model.family, model.state.params
    near, about = [], []
    for h in range(len(model.classes)):
        z = (family.sample(params, h, 2000, rng) - params.center) / params.spread
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        about.append(_shaped_like(z, np.zeros(len(z)), 4.0))
    # Powers f_a^(1−t) f_b^t of two normal densities are normal again; the t whose middle lies on
    # the boundary is the likeliest way to be there.
    t = np.linspace(0, 1, 33)[:, None, None]
    precisions = [np.linalg.inv(proposal.shape / 4.0) for proposal in about]
    for a, b in pairs:
        precision = (1 - t) * precisions[a] + t * precisions[b]
        pulls = [(precisions[h] @ about[h].loc)[:, None] for h in (a, b)]
        path = np.linalg.solve(precision, (1 - t) * pulls[0] + t * pulls[1])[:, :, 0]
        log_tau = model.posterior(params.center + params.spread * path)[0]
        k = int(np.abs(log_tau[:, a] - log_tau[:, b]).argmin())
        near.append(multivariate_t(path[k], np.linalg.inv(precision[k]), df=TAIL))
    return near, about


def _shaped_like(z: FloatArray, log_w: FloatArray, wider: float = 1.0) -> Any:
    """Return a proposal with the mean and spread of weighted rows."""
    w = _flattened(log_w, 20 + 3 * z.shape[1])
    spread = wider * np.atleast_2d(np.cov(z.T, aweights=w))
    spread += (1e-9 * np.trace(spread) / len(spread) + 1e-300) * np.eye(len(spread))
    return multivariate_t(w @ z, spread, df=TAIL)


def _flattened(log_w: FloatArray, enough: float) -> FloatArray:
    """Return weights of sum one, evened out until they are worth enough equal ones."""
    log_w = log_w - log_w.max()
    while True:
        w = np.exp(log_w)
        w /= w.sum()
        if w @ w * enough <= 1:
            return np.asarray(w)
        log_w = 0.7 * log_w
