"""Classes of several components: each class is a mixture of its family's distributions."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.linalg import block_diag, helmert

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._vector_math import normalise
from hesitant._words import listed
from hesitant.families._base import Coordinates, Defect, Family, Statistics, improved
from hesitant.families._covariance import Shrunk
from hesitant.families._gaps import complete
from hesitant.families._gaussian import Gaussian
from hesitant.families._kernels import robust_units

_PRIOR = 0.5  # rows' worth that each share has, so that none is ever zero
_MOST, _ROWS, _FOLDS = 4, 2000, 5  # components that "auto" considers, and rows of each class
_LEAST = 2.0  # what a component more must gain: by chance alone it gains as much
_STEPS, _TRIAL = 40, 15  # of EM, and from each guess
_PREFIX = "component_"


@dataclasses.dataclass(frozen=True)
class ComponentsParams:
    """Parameters of all components: the family's, to which every component is a class."""

    base: Any
    shares: FloatArray  # of each component in its class
    owner: IntArray  # the class that each component belongs to, in order


class Components(Family):
    """Classes that are mixtures of several components each, of some family.

    ``MixtureClassifier(family, components=...)`` makes one. How many components a class has is one
    number for all, one each, or a number for each class by name (one for those not named). "auto"
    asks rows left out of a fit to each class.
    """

    in_words = "mixture"

    def __init__(self, family: Family, components: Any = 2) -> None:
        self.family, self.components = family, components
        self._base = self._rough = family

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        out = self.moved()
        # A component of few rows would shrink onto them: one row's worth of what all components
        # share keeps it from that, and means nothing to others.
        scaled = isinstance(self.family, Gaussian)
        firm = Shrunk(1.0, 0.0, 0.0) if scaled and covariance == "full" else covariance
        out._base = out._rough = self.family.specialise(firm, reg_covar)
        if isinstance(covariance, Shrunk) or covariance == "shrunk":
            # To search for its strength at every guess would take too long.
            out.adaptive_prior = True
            out._rough = self.family.specialise(Shrunk(10.0, 10.0, 0.1), reg_covar)
        for name in ("takes_gaps", "warm_up", "has_coordinates", "has_from_attributes"):
            setattr(out, name, getattr(out._base, name))
        if type(self.family).prepare is not Family.prepare:
            both = f"components={self.components!r} cannot be combined with {self.family!r}"
            raise ValueError(f"{both}: leave components at 1, or try Ranked(Components(...)).")
        return out

    def describe(self) -> str:
        return f"mixtures of components that are {self._base.describe()}"

    def prepare(self, sample: Callable[[], Sequence[AnyArray]], classes: AnyArray) -> Self:
        out = self.moved()
        if self.components == "auto":
            X, codes, weight = sample()
            out.components = [out._choose(X, weight * (codes == h)) for h in range(len(classes))]
        else:
            out.components = _numbers(self.components, classes.tolist())
        return out

    def _choose(self, X: AnyArray, weight: FloatArray) -> int:
        """Return how many components make rows of a class most probable that were left out."""
        rows = np.flatnonzero(weight > 0)
        rows = rows[:: -(-len(rows) // _ROWS) or 1]
        X, weights = np.ascontiguousarray(X[rows]), weight[rows, None]
        fold = np.arange(len(rows)) % _FOLDS
        best, highest = 1, -np.inf
        for k in range(1, _MOST + 1):
            if len(rows) < 2 * k * (X.shape[1] + 1) + _FOLDS:
                break
            alone, value = self.moved(_base=self._rough, components=[k]), 0.0
            for out in (fold == f for f in range(_FOLDS)):
                inside = X[~out], weights[~out]
                params = improved(alone, alone.initial(*inside), inside, _STEPS)
                value += float(weights[out, 0] @ alone.log_density(params, X[out])[:, 0])
            if value > highest + _LEAST:
                best, highest = k, value
        return best

    def _split(self, X: AnyArray, weight: FloatArray, k: int) -> FloatArray:
        """Return weights (n, k) of a class's rows in its components, the best of a few guesses."""
        rows = np.flatnonzero(weight > 0)
        if k == 1 or len(rows) < 2 * k:
            # Too few to tell apart: all components have all rows, each a little differently.
            tilt = 1.0 + 0.5 * np.cos(np.arange(len(X))[:, None] + np.arange(k) * np.pi)
            return weight[:, None] * (tilt / tilt.sum(axis=1, keepdims=True) if k > 1 else 1.0)
        Z, w = np.ascontiguousarray(X[rows], dtype=np.float64), weight[rows][:, None]
        one, guess = np.zeros(k, dtype=np.int64), self.moved(_base=self._rough, components=[k])
        best, chances = -np.inf, np.full((len(rows), k), 1.0 / k)
        for labels in _guesses(Z, w[:, 0], k):
            params = improved(guess, guess._start(Z, w * np.eye(k)[labels], one), (Z, w), _TRIAL)
            density, kept = guess.look(params, Z)
            value = float(w[:, 0] @ density[:, 0]) + guess.log_prior(params)
            if value > best:
                best, chances = value, kept[0]
        out = np.zeros((len(X), k))
        out[rows] = w * chances
        return out

    def _start(self, X: AnyArray, own: FloatArray, owner: IntArray) -> Any:
        return ComponentsParams(self._base.initial(X, own), _shares(own.sum(axis=0), owner), owner)

    def log_density(self, params: Any, X: AnyArray) -> FloatArray:
        return Components.look(self, params, X)[0]

    def look(self, params: Any, X: AnyArray) -> tuple[FloatArray, Any]:
        joint, kept = self._base.look(params.base, X)
        joint += np.log(np.maximum(params.shares, 1e-300))
        edges = [*_starts(params.owner).tolist(), len(params.owner)]
        density, chances = np.empty((len(X), len(edges) - 1)), np.empty_like(joint)
        for h, (a, b) in enumerate(pairwise(edges)):
            _, chances[:, a:b], density[:, h] = normalise(np.ascontiguousarray(joint[:, a:b]))
        return density, (chances, kept)

    def statistics(self, params: Any, X: AnyArray, weights: FloatArray, kept: Any = None) -> Any:
        chances, kept = kept or Components.look(self, params, X)[1]
        own = chances * weights[:, params.owner]
        given = () if kept is None else (kept,)
        return *self._base.statistics(params.base, X, own, *given), np.einsum("ik->k", own)

    def maximise(self, params: Any, statistics: Statistics) -> Any:
        *own, counts = statistics
        base = self._base.maximise(params.base, tuple(own))
        return ComponentsParams(base, _shares(counts, params.owner), params.owner)

    def update_prior(self, params: Any, statistics: Statistics) -> Any:
        base = self._base.update_prior(params.base, statistics[:-1])
        return params if base is params.base else dataclasses.replace(params, base=base)

    def log_prior(self, params: Any) -> float:
        sizes = np.bincount(params.owner)[params.owner]
        shares = np.log(np.maximum(params.shares * sizes, 1e-300))
        return self._base.log_prior(params.base) + _PRIOR * float(shares.sum())

    def blend(self, params: Any, proposal: Any, share: float) -> Any:
        shares = (1 - share) * params.shares + share * proposal.shares
        base = self._base.blend(params.base, proposal.base, share)
        return ComponentsParams(base, shares, params.owner)

    def permute(self, params: Any, order: AnyArray) -> Any:
        places = [np.flatnonzero(params.owner == h) for h in order]
        moved, owner = np.concatenate(places), np.repeat(range(len(places)), [*map(len, places)])
        base = self._base.permute(params.base, moved)
        return ComponentsParams(base, params.shares[moved], owner)

    def inside_bounds(self, params: Any) -> Any:
        return dataclasses.replace(params, base=self._base.inside_bounds(params.base))

    def coordinates(self, params: Any, counts: FloatArray) -> Coordinates:
        return _ComponentsCoordinates(self, params, counts)

    def initial(self, X: AnyArray, weights: FloatArray) -> Any:
        g = weights.shape[1]
        sizes = _numbers(self.components, list(range(g)))
        own = [self._split(X, weights[:, h], k) for h, k in enumerate(sizes)]
        return self._start(X, np.concatenate(own, axis=1), np.repeat(np.arange(g), sizes))

    def from_attributes(self, given: Mapping[str, Any], X: AnyArray) -> Any:
        if f"{_PREFIX}weights" in given:
            names = [name for name in given if name.startswith(_PREFIX)]
            own = {name.removeprefix(_PREFIX): given[name] for name in names}
            owner = np.asarray(own.pop("classes", []), dtype=np.int64)
            shares = np.asarray(own.pop("weights"), dtype=float)
            if not (owner.shape == shares.shape and (np.diff(owner, prepend=0) >= 0).all()):
                both = f"{_PREFIX}weights {shares.tolist()} and {_PREFIX}classes {owner.tolist()}"
                raise ValueError(f"init has {both}: give one of each a component, in order.")
            return ComponentsParams(self._base.from_attributes(own, X), shares, owner)
        params = self._base.from_attributes(given, X)
        density = self._base.log_density(params, np.ascontiguousarray(X, dtype=np.float64))
        return self.initial(X, np.eye(density.shape[1])[density.argmax(axis=1)])

    def sample(self, params: Any, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        own = np.flatnonzero(params.owner == h)
        counts = rng.multinomial(n, params.shares[own] / params.shares[own].sum())
        parts = zip(own.tolist(), counts.tolist(), strict=True)
        drawn = [self._base.sample(params.base, k, count, rng) for k, count in parts]
        return rng.permutation(np.concatenate(drawn))

    def moments(self, params: Any) -> tuple[FloatArray, FloatArray]:
        means, covariances = self._base.moments(params.base)
        starts, shares = _starts(params.owner), params.shares[:, None]
        whole = np.add.reduceat(shares * means, starts, axis=0)
        apart = means - whole[params.owner]
        spread = covariances + apart[:, :, None] * apart[:, None, :]
        return whole, np.add.reduceat(shares[:, :, None] * spread, starts, axis=0)

    def n_parameters(self, params: Any) -> int:
        return self._base.n_parameters(params.base) + len(params.owner) - params.owner[-1] - 1

    def attributes(self, params: Any) -> dict[str, AnyArray]:
        own = {_PREFIX + k: v for k, v in self._base.attributes(params.base).items()}
        shares = {f"{_PREFIX}weights": params.shares, f"{_PREFIX}classes": params.owner}
        return {**super().attributes(params), **shares, **own}

    def remarks(self, params: Any, names: list[str]) -> list[str]:
        sizes = np.bincount(params.owner)[params.owner]
        place = np.arange(len(params.owner)) - _starts(params.owner)[params.owner]
        each = zip(params.owner, place, sizes, strict=True)
        own = [f"{names[h]} ({k + 1} of {m:g})" if m > 1 else names[h] for h, k, m in each]
        out, gone = self._base.remarks(params.base, own), params.shares < 0.02 / sizes
        if gone.any():
            out.append(
                f"Of the components, {listed(np.compress(gone, own).tolist())} all but vanished "
                f"(share {params.shares[gone].min():.2g} of its class): ask for fewer components."
            )
        return out

    def defects(self, params: Any, weights: FloatArray, total: float) -> list[Defect]:
        found = self._base.defects(params.base, weights[params.owner] * params.shares, total)
        owners = [None if d.classes is None else params.owner[d.classes] for d in found]
        classes = [None if o is None else np.isin(np.arange(len(weights)), o) for o in owners]
        return [d._replace(classes=own) for d, own in zip(found, classes, strict=True)]


class _ComponentsCoordinates(Coordinates):
    """The components' chart, then directions in which shares can move within each class."""

    def __init__(self, family: Any, reference: Any, counts: FloatArray) -> None:
        self.reference, self.counts = reference, counts
        owner, shares = reference.owner, reference.shares
        self.base = family._base.coordinates(reference.base, counts[owner] * shares)
        self.caution = self.base.caution
        # Contrasts of the shares within a class, each about one standard error long.
        pairs = zip(np.bincount(owner).tolist(), counts, strict=True)
        self.axes = block_diag(*(helmert(k).T / np.sqrt(max(n / k, 1.0)) for k, n in pairs))
        self.size = self.base.size + self.axes.shape[1]

    def decode(self, vector: FloatArray) -> Any:
        base, move = vector[: self.base.size], self.axes @ vector[self.base.size :]
        owner = self.reference.owner
        logits = np.log(np.maximum(self.reference.shares, 1e-300)) + move
        part = np.exp(logits - np.maximum.reduceat(logits, _starts(owner))[owner])
        return ComponentsParams(self.base.decode(base), part / _totals(part, owner), owner)

    def gradient(self, params: Any, statistics: Statistics) -> FloatArray:
        *own, counts = statistics
        counts = counts + _PRIOR
        toward = counts - _totals(counts, params.owner) * params.shares
        return np.concatenate((self.base.gradient(params.base, tuple(own)), toward @ self.axes))


def _starts(owner: IntArray) -> IntArray:
    return owner.searchsorted(np.arange(owner[-1] + 1))


def _totals(values: FloatArray, owner: IntArray) -> FloatArray:
    """Return, for each component, the sum over those of its class."""
    return np.asarray(np.bincount(owner, values)[owner])


def _shares(counts: FloatArray, owner: IntArray) -> FloatArray:
    counts = np.maximum(counts, 0.0) + _PRIOR
    return counts / _totals(counts, owner)


def _guesses(X: FloatArray, weight: FloatArray, k: int) -> Iterator[IntArray]:
    """Yield clusters of rows: all over, and along the axis that is least like a single hump."""
    center, spread = robust_units(X)
    Z = np.clip((complete(X, center, spread) - center) / spread, -20, 20)
    share = weight / weight.sum()
    Z -= share @ Z
    value, vector = np.linalg.eigh((share[:, None] * Z).T @ Z)
    white = Z @ vector / np.sqrt(np.maximum(value, 1e-9 * value[-1] + 1e-300))
    # Rows in two clumps are all about equally far from the middle, along the axis between them:
    # the fourth moments are smallest there.
    size = share * (white**2).sum(axis=1)
    fourth = np.linalg.eigh((size[:, None] * white).T @ white)[1]
    for points in (Z @ vector[:, ::-1], white @ fourth[:, :1], white @ fourth, white[:, -1:]):
        yield _cluster(points, weight, k)


def _cluster(Z: FloatArray, weight: FloatArray, k: int) -> IntArray:
    """Return k-means clusters that began as slices along the first axis."""
    # For a few hundred rows many times over scikit-learn's takes longer to start than to run.
    labels = np.argsort(np.argsort(Z[:, 0])) * k // len(Z)
    for _ in range(50):
        own = weight[:, None] * np.eye(k)[labels]
        centers = own.T @ Z / np.maximum(own.sum(axis=0), 1e-12)[:, None]
        # |z − c|² less what all centres have in common
        nearest = ((centers**2).sum(axis=1) - 2.0 * Z @ centers.T).argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
    return labels


def _numbers(given: Any, classes: list[Any]) -> list[int]:
    """Return how many components each class has, if that is what is given."""
    if isinstance(given, Mapping):
        for name in set(given) - set(classes):
            raise ValueError(f"components names the class {name!r}, and there are {classes[:5]}.")
        sizes: Any = [given.get(name, 1) for name in classes]
    else:
        sizes = list(given) if isinstance(given, Sequence) else [given] * len(classes)
    whole = [isinstance(k, int | np.integer) and not isinstance(k, bool) for k in sizes]
    if not all(whole) or len(sizes) != len(classes) or min(sizes) < 1:
        ways = f"one for each of the {len(classes)} classes, a dict of them by class, or 'auto'"
        raise ValueError(f"components={given!r}: give a whole number >= 1, or {ways}.")
    return [int(k) for k in sizes]
