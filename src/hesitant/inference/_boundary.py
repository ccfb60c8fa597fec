"""Rows drawn where classes meet, each with the weight that makes averages those of the model.

What labels and pattern teach is decided at the boundaries, and where classes are far apart the
model itself hardly ever draws a row there. So half of the rows come from the model and half from
proposals fitted to the boundaries; each row counts by the ratio of the model's density to that of
the mixture it came from, which is never more than two (importance sampling with a defensive
mixture).
"""

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from hesitant._typing import AnyArray, FloatArray
from hesitant.families._location_scale import LocationScaleFamily
from hesitant.likelihood import log_posterior

# Half-width of the kernel, in log odds, that picks rows at a class boundary: at most this, and
# at most this part of the log odds' own spread about the boundary (classes that hardly differ).
WIDEST, PART = 1.0, 0.5
# Shares of the rows: from the model, along the boundaries, across them; the rest from far out.
MODEL, ALONG, ACROSS = 0.5, 0.3, 0.15
# Rows and rounds in which proposals are fitted, and how heavy their tails are.
PILOT, ROUNDS, TAIL = 4000, 3, 5.0


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Where rows are drawn: from the model, and from proposals where classes meet."""

    clf: Any
    proposals: list["Proposal"]
    shares: list[float]  # of the rows, for each proposal
    half_width: FloatArray  # (g, g), half-width of the kernel at each pair's boundary, in log odds
    log_size: float  # log of the boundary's size, in units of which its sums stay within range

    def counts(self, n: int) -> list[int]:
        """Return how many of n rows come from each proposal; the others come from the model."""
        return [int(share * n) for share in self.shares]

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows, the same number from each proposal every time."""
        counts = self.counts(n)
        model = self.clf.sample(n - sum(counts), int(rng.integers(2**31 - 1)))[0]
        parts = [proposal.draw(m, rng) for proposal, m in zip(self.proposals, counts, strict=True)]
        return np.ascontiguousarray(np.concatenate((model, *parts)))

    def log_weights(self, X: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return log model density less log density of n rows drawn here, ``n = len(X)``."""
        n, counts = len(X), self.counts(len(X))
        terms = [np.full(n, np.log(1 - sum(counts) / n))]
        terms += [
            proposal.log_density(X) - log_f + np.log(m / n)
            for proposal, m in zip(self.proposals, counts, strict=True)
            if m
        ]
        return -np.asarray(logsumexp(terms, axis=0))


class Proposal:
    """A proposal: kernels with heavy tails about a few centres, of one shape.

    Centres (m, p) and the lower triangular root (p, p) of the kernels' scale matrix are in units
    of the features, given by their origin and size.
    """

    def __init__(
        self, centres: FloatArray, root: FloatArray, units: tuple[FloatArray, FloatArray]
    ) -> None:
        self.centres, self.root, self.units = centres, root, units
        p = len(root)
        self._whitener = np.linalg.inv(root).T / units[1][:, None]
        self._origin = units[0] + units[1] * centres.mean(axis=0)
        self._white = (units[1] * (centres - centres.mean(axis=0))) @ self._whitener
        self._constant = (
            gammaln((TAIL + p) / 2)
            - gammaln(TAIL / 2)
            - p / 2 * np.log(TAIL * np.pi)
            - np.log(np.diag(root)).sum()
            - np.log(units[1]).sum()
        )

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows, in the model's own units."""
        stretch = np.sqrt(TAIL / rng.chisquare(TAIL, n))
        z = rng.standard_normal((n, len(self.root))) * stretch[:, None]
        z = self.centres[rng.integers(len(self.centres), size=n)] + z @ self.root.T
        return np.asarray(self.units[0] + self.units[1] * z)

    def log_density(self, X: FloatArray) -> FloatArray:
        """Return the log density of rows in the model's own units."""
        z = (X - self._origin) @ self._whitener
        square = (z**2).sum(axis=1)[:, None] + (self._white**2).sum(axis=1)
        square -= 2 * z @ self._white.T
        power = -(TAIL + len(self.root)) / 2 * np.log(1 + np.maximum(square, 0.0) / TAIL)
        top = power.max(axis=1)
        rest = np.exp(power - top[:, None]).mean(axis=1)
        return np.asarray(self._constant + top + np.log(rest))


def fit_sampler(clf: Any, rng: np.random.Generator) -> Sampler:
    """Fit proposals to the boundaries of a fitted model.

    Rows are drawn roughly between the classes, weighted by how much they matter, and proposals
    fitted to them, a few rounds over. Only the package's own families are known to have a density
    all over the space; for any other all rows come from the model.
    """
    pairs = list(combinations(range(len(clf.classes_)), 2))
    first = _first_proposals(clf, rng) if isinstance(clf.family_, LocationScaleFamily) else []
    across: list[Proposal] = []
    for _ in range(ROUNDS if first else 1):
        proposals = [*first, *across]
        found = _Pilot(clf, proposals, rng)
        pairs = found.pairs_that_matter(pairs)
        across = [found.proposal(found.across(*pair), len(pairs)) for pair in pairs if proposals]
    half_width = np.full((len(clf.classes_),) * 2, WIDEST)
    for a, b in pairs:
        half_width[a, b] = half_width[b, a] = found.half_width(a, b)
    sizes = np.array([found.size(*pair) for pair in pairs])
    log_size = float(logsumexp(sizes))
    if not first:
        return Sampler(clf, [], [], half_width, log_size)
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    part /= part.sum()
    along = [found.proposal(found.along(*pair), len(pairs)) for pair in pairs]
    rest = (1 - MODEL - ALONG - ACROSS) / len(first)
    shares = [*(ALONG * part), *(ACROSS * part), *([rest] * len(first))]
    return Sampler(clf, [*along, *across, *first], shares, half_width, log_size)


class _Pilot:
    """Rows drawn to learn where a model's boundaries run, and how much each matters."""

    def __init__(self, clf: Any, proposals: list[Proposal], rng: np.random.Generator) -> None:
        shares = [0.75 / len(proposals) for _ in proposals]
        sampler = Sampler(clf, proposals, shares, np.empty((0, 0)), 0.0)
        self.rng = rng
        self.X = sampler.draw(max(PILOT, 300 * len(proposals)), rng)
        self.log_tau, _, log_f = log_posterior(clf.family_, clf.state_, self.X)
        self.log_w = sampler.log_weights(self.X, log_f)
        self.units = proposals[0].units if proposals else (np.empty(0), np.empty(0))
        self._half_width: dict[tuple[int, int], float] = {}

    def middle(self, a: int, b: int) -> FloatArray:
        """Log weights for the geometric mean of two classes' joint densities, others absent."""
        one, other = self.log_tau[:, a], self.log_tau[:, b]
        return np.asarray(self.log_w + (one + other) / 2 + np.logaddexp(one, other))

    def across(self, a: int, b: int) -> FloatArray:
        """Log weights for rows of which it is in doubt whether they are a's or b's."""
        return np.asarray(self.log_w + self.log_tau[:, a] + self.log_tau[:, b])

    def along(self, a: int, b: int) -> FloatArray:
        """Log weights for rows within the kernel's width of the boundary."""
        away = self._odds(a, b) / self.half_width(a, b)
        return np.asarray(self.middle(a, b) - 0.5 * away**2)

    def half_width(self, a: int, b: int) -> float:
        """Return the kernel's half-width: narrow for what changes within a narrow range."""
        if (a, b) not in self._half_width:
            w = _flattened(self.middle(a, b), 1)
            spread = float(np.sqrt(w @ self._odds(a, b) ** 2))
            self._half_width[a, b] = min(WIDEST, PART * max(spread, 1e-6))
        return self._half_width[a, b]

    def size(self, a: int, b: int) -> float:
        """Return the log of the integral over the boundary."""
        return float(logsumexp(self.along(a, b)) - np.log(len(self.X) * self.half_width(a, b)))

    def pairs_that_matter(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the pairs of classes whose boundary is not lost beside the others'."""
        sizes = np.array([self.size(*pair) for pair in pairs])
        return [pair for pair, size in zip(pairs, sizes, strict=True) if size > sizes.max() - 20]

    def proposal(self, log_w: FloatArray, n_pairs: int) -> Proposal:
        """Return a proposal shaped like the weighted rows."""
        origin, unit = self.units
        z = (self.X - origin) / unit
        w = _flattened(log_w, 20 + 3 * z.shape[1])
        mean = w @ z
        spread = (w[:, None] * (z - mean)).T @ (z - mean)
        m = int(np.clip(400 // n_pairs, 10, 40))
        # Kernels about some of the rows, pulled together so that as a whole they keep the rows'
        # mean and spread: they follow a boundary that is curved or in parts (West 1993).
        narrow = m ** (-2 / (z.shape[1] + 4))
        chosen = z[self.rng.choice(len(z), size=m, p=w)]
        centres = mean + np.sqrt(1 - narrow) * (chosen - mean)
        return Proposal(centres, _root(narrow * spread), self.units)

    def _odds(self, a: int, b: int) -> FloatArray:
        return np.asarray(self.log_tau[:, a] - self.log_tau[:, b])


def _flattened(log_w: FloatArray, enough: float) -> FloatArray:
    """Return weights of sum one, evened out until they are worth enough equal ones."""
    log_w = log_w - log_w.max()
    while True:
        w = np.exp(log_w)
        w /= w.sum()
        if w @ w * enough <= 1:
            return np.asarray(w)
        log_w = 0.7 * log_w


def _root(spread: AnyArray) -> FloatArray:
    spread = np.asarray(spread).copy()
    spread.flat[:: len(spread) + 1] += 1e-9 * np.trace(spread) / len(spread) + 1e-300
    return np.linalg.cholesky(spread)


def _first_proposals(clf: Any, rng: np.random.Generator) -> list[Proposal]:
    """Return a proposal between any two classes, and one all about each class."""
    family, params = clf.family_, clf.state_.params
    units = params.center, params.spread
    g = len(clf.classes_)
    means: list[FloatArray] = []
    precisions: list[FloatArray] = []
    out: list[Proposal] = []
    for h in range(g):
        z = (family.sample(params, h, 2000, rng) - units[0]) / units[1]
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        spread = np.atleast_2d(np.cov(z.T))
        means.append(z.mean(axis=0))
        half = np.asarray(np.linalg.inv(_root(spread)), dtype=np.float64)
        precisions.append(half.T @ half)
        out.append(Proposal(means[h][None], 2.0 * _root(spread), units))
    for a, b in combinations(range(g), 2):
        path, precision = _between(means[a], means[b], precisions[a], precisions[b])
        log_tau = log_posterior(family, clf.state_, units[0] + units[1] * path)[0]
        k = int(np.abs(log_tau[:, a] - log_tau[:, b]).argmin())
        out.append(Proposal(path[k][None], _root(np.linalg.inv(precision[k])), units))
    return out


def _between(
    mean_a: FloatArray, mean_b: FloatArray, precision_a: FloatArray, precision_b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the likeliest path from one class to another, and the precisions along it.

    Powers ``f_a^(1−t) f_b^t`` of two normal densities are normal again; the t whose middle lies
    on the boundary is the likeliest way to be there.
    """
    t = np.linspace(0, 1, 33)[:, None, None]
    precision = (1 - t) * precision_a + t * precision_b
    pull = (1 - t[:, 0]) * (precision_a @ mean_a) + t[:, 0] * (precision_b @ mean_b)
    path = np.linalg.solve(precision, pull[:, :, None])[:, :, 0]
    return np.asarray(path, dtype=np.float64), precision
