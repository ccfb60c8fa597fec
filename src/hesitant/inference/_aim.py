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

__all__ = ["Aim", "Place", "take_aim"]

# Half-width of the kernel, in log odds, that picks rows at a class boundary: at most this, and
# at most this part of the log odds' own spread about the boundary (classes that hardly differ).
REACH, PART = 1.0, 0.5
# Shares of the rows: from the model, along the boundaries, across them; the rest from far out.
MODEL, ALONG, ACROSS = 0.5, 0.3, 0.15
# Rows and rounds in which proposals are fitted, and how heavy their tails are.
PILOT, ROUNDS, TAIL = 4000, 3, 5.0


@dataclasses.dataclass(frozen=True)
class Aim:
    """Where rows are drawn: from the model, and from places where classes meet.

    Attributes
    ----------
    clf : fitted MixtureClassifier
    places : list of Place
    shares : list of float
        Of the rows, for each place.
    reach : array (g, g)
        Half-width of the boundary's kernel for each pair of classes, in log odds.
    level : float
        A log: the boundary's size, in units of which its sums stay within a computer's range.
    """

    clf: Any
    places: list["Place"]
    shares: list[float]
    reach: FloatArray
    level: float

    def counts(self, n: int) -> list[int]:
        """Return how many of n rows come from each place; the others come from the model."""
        return [int(share * n) for share in self.shares]

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows, the same number from each place every time."""
        counts = self.counts(n)
        model = self.clf.sample(n - sum(counts), int(rng.integers(2**31 - 1)))[0]
        parts = [place.draw(m, rng) for place, m in zip(self.places, counts, strict=True)]
        return np.ascontiguousarray(np.concatenate((model, *parts)))

    def log_weights(self, X: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return log model density less log density of n rows drawn here, ``n = len(X)``."""
        n, counts = len(X), self.counts(len(X))
        terms = [np.full(n, np.log(1 - sum(counts) / n))]
        terms += [
            place.log_density(X) - log_f + np.log(m / n)
            for place, m in zip(self.places, counts, strict=True)
            if m
        ]
        return -np.asarray(logsumexp(terms, axis=0))


class Place:
    """A proposal: kernels with heavy tails about a few centres, of one shape.

    Parameters
    ----------
    centres : array (m, p)
    root : array (p, p)
        Lower triangular root of the kernels' scale matrix.
    units : tuple of arrays (p,)
        Origin and unit of the features in which both are given.
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


def take_aim(clf: Any, rng: np.random.Generator) -> Aim:
    """Fit proposals to the boundaries of a fitted model.

    Rows are drawn roughly between the classes, weighted by how much they matter, and proposals
    fitted to them, a few rounds over. Only the package's own families are known to have a density
    all over the space; for any other all rows come from the model.
    """
    pairs = list(combinations(range(len(clf.classes_)), 2))
    first = _first_places(clf, rng) if isinstance(clf.family_, LocationScaleFamily) else []
    across: list[Place] = []
    for _ in range(ROUNDS if first else 1):
        places = [*first, *across]
        found = _Sketch(clf, places, rng)
        pairs = found.pairs_that_matter(pairs)
        across = [found.place(found.across(*pair), len(pairs)) for pair in pairs if places]
    reach = np.full((len(clf.classes_),) * 2, REACH)
    for a, b in pairs:
        reach[a, b] = reach[b, a] = found.reach(a, b)
    sizes = np.array([found.size(*pair) for pair in pairs])
    level = float(logsumexp(sizes))
    if not first:
        return Aim(clf, [], [], reach, level)
    # Rows in proportion to the root of a boundary's size: small ones need not be known as well.
    part = np.exp(0.5 * (sizes - sizes.max()))
    part /= part.sum()
    along = [found.place(found.along(*pair), len(pairs)) for pair in pairs]
    rest = (1 - MODEL - ALONG - ACROSS) / len(first)
    shares = [*(ALONG * part), *(ACROSS * part), *([rest] * len(first))]
    return Aim(clf, [*along, *across, *first], shares, reach, level)


class _Sketch:
    """Rows drawn to learn where a model's boundaries run, and how much each matters."""

    def __init__(self, clf: Any, places: list[Place], rng: np.random.Generator) -> None:
        aim = Aim(clf, places, [0.75 / len(places) for _ in places], np.empty((0, 0)), 0.0)
        self.rng = rng
        self.X = aim.draw(max(PILOT, 300 * len(places)), rng)
        self.log_tau, _, log_f = log_posterior(clf.family_, clf.state_, self.X)
        self.log_w = aim.log_weights(self.X, log_f)
        self.units = places[0].units if places else (np.empty(0), np.empty(0))
        self._reach: dict[tuple[int, int], float] = {}

    def middle(self, a: int, b: int) -> FloatArray:
        """Log weights for the geometric mean of two classes' joint densities, others absent."""
        one, other = self.log_tau[:, a], self.log_tau[:, b]
        return np.asarray(self.log_w + (one + other) / 2 + np.logaddexp(one, other))

    def across(self, a: int, b: int) -> FloatArray:
        """Log weights for rows of which it is in doubt whether they are a's or b's."""
        return np.asarray(self.log_w + self.log_tau[:, a] + self.log_tau[:, b])

    def along(self, a: int, b: int) -> FloatArray:
        """Log weights for rows within the kernel's reach of the boundary."""
        return np.asarray(self.middle(a, b) - 0.5 * (self._odds(a, b) / self.reach(a, b)) ** 2)

    def reach(self, a: int, b: int) -> float:
        """Return the kernel's half-width: narrow for what changes within a narrow range."""
        if (a, b) not in self._reach:
            w = _flattened(self.middle(a, b), 1)
            spread = float(np.sqrt(w @ self._odds(a, b) ** 2))
            self._reach[a, b] = min(REACH, PART * max(spread, 1e-6))
        return self._reach[a, b]

    def size(self, a: int, b: int) -> float:
        """Return the log of the integral over the boundary."""
        return float(logsumexp(self.along(a, b)) - np.log(len(self.X) * self.reach(a, b)))

    def pairs_that_matter(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the pairs of classes whose boundary is not lost beside the others'."""
        sizes = np.array([self.size(*pair) for pair in pairs])
        return [pair for pair, size in zip(pairs, sizes, strict=True) if size > sizes.max() - 20]

    def place(self, log_w: FloatArray, n_pairs: int) -> Place:
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
        return Place(
            mean + np.sqrt(1 - narrow) * (chosen - mean), _root(narrow * spread), self.units
        )

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


def _first_places(clf: Any, rng: np.random.Generator) -> list[Place]:
    """Return a place between any two classes, and one all about each class."""
    family, params = clf.family_, clf.state_.params
    units = params.center, params.spread
    g = len(clf.classes_)
    means: list[FloatArray] = []
    precisions: list[FloatArray] = []
    out: list[Place] = []
    for h in range(g):
        z = (family.sample(params, h, 2000, rng) - units[0]) / units[1]
        z = np.clip(z, *np.quantile(z, [0.02, 0.98], axis=0))  # heavy tails have no moments
        spread = np.atleast_2d(np.cov(z.T))
        means.append(z.mean(axis=0))
        half = np.asarray(np.linalg.inv(_root(spread)), dtype=np.float64)
        precisions.append(half.T @ half)
        out.append(Place(means[h][None], 2.0 * _root(spread), units))
    for a, b in combinations(range(g), 2):
        out.append(_between(clf, (a, b), means, precisions, units))
    return out


def _between(
    clf: Any,
    pair: tuple[int, int],
    means: list[FloatArray],
    precisions: list[FloatArray],
    units: tuple[FloatArray, FloatArray],
) -> Place:
    """Return a place where two classes are equally likely.

    Powers ``f_a^(1−t) f_b^t`` of two normal densities are normal again; t is chosen so that the
    middle lies on the boundary. That is the likeliest way to be there.
    """
    a, b = pair
    t = np.linspace(0, 1, 33)[:, None, None]
    precision = (1 - t) * precisions[a] + t * precisions[b]
    pull = (1 - t[:, 0]) * (precisions[a] @ means[a]) + t[:, 0] * (precisions[b] @ means[b])
    path = np.linalg.solve(precision, pull[:, :, None])[:, :, 0]
    X = np.ascontiguousarray(units[0] + units[1] * path)
    log_tau, _, _ = log_posterior(clf.family_, clf.state_, X)
    k = int(np.abs(log_tau[:, a] - log_tau[:, b]).argmin())
    return Place(path[k][None], _root(np.linalg.inv(precision[k])), units)
