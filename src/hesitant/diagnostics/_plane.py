"""Planes through feature space, and class probabilities on them."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import KDTree

from hesitant._optional import need
from hesitant._typing import FloatArray
from hesitant.diagnostics._scatter import find_features

__all__ = ["Plane", "choose_plane", "reach", "surface_on"]

DRAWS, NEIGHBOURS = 20_000, 80


@dataclasses.dataclass(frozen=True)
class Plane:
    """A plane in feature space: ``origin + a · axes[0] + b · axes[1]``.

    Attributes
    ----------
    origin : array of shape (p,)
    axes : array of shape (2, p)
    inverse : array of shape (p, 2)
        Rows less the origin, times this, are the rows' places on the plane.
    names : tuple of str
    """

    origin: FloatArray
    axes: FloatArray
    inverse: FloatArray
    names: tuple[str, str]

    @classmethod
    def of_features(cls, X: FloatArray, i: int, j: int, names: list[str]) -> Self:
        """Two features vary; all others stay at their means."""
        axes = np.eye(X.shape[1])[[i, j]]
        origin = X.mean(axis=0)
        origin[[i, j]] = 0.0
        return cls(origin, axes, axes.T, (names[i], names[j]))

    @classmethod
    def of_components(cls, X: FloatArray) -> Self:
        """The first two principal components on the correlation scale, through the mean."""
        origin, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-300)
        _, value, vector = np.linalg.svd((X - origin) / spread, full_matrices=False)
        share = value**2 / np.sum(value**2)
        names = tuple(f"component {k + 1} ({100 * share[k]:.0f} %)" for k in range(2))
        return cls(origin, vector[:2] * spread, (vector[:2] / spread).T, names)  # type: ignore[arg-type]

    def place(self, X: FloatArray) -> FloatArray:
        """Return the rows' coordinates on the plane (n, 2)."""
        return (X - self.origin) @ self.inverse

    def lift(self, points: FloatArray) -> FloatArray:
        """Return points of the plane as rows of features."""
        return self.origin + points @ self.axes


def choose_plane(rows: FloatArray, features: Sequence[Any] | None, names: list[str]) -> Plane:
    p = rows.shape[1]
    if p < 2:
        raise ValueError("Regions need at least two features: use EntropyDisplay, or a histogram.")
    if features is None:
        return Plane.of_features(rows, 0, 1, names) if p == 2 else Plane.of_components(rows)
    places = find_features(features, names)
    if len(places) != 2 or places[0] == places[1]:
        raise ValueError(f"features={features!r}: give two different features.")
    return Plane.of_features(rows, places[0], places[1], names)


def reach(values: FloatArray, m: int) -> FloatArray:
    margin = 0.05 * np.ptp(values) + 1e-9
    return np.linspace(values.min() - margin, values.max() + margin, m)


def surface_on(plane: Plane, mesh: FloatArray, others: str) -> Callable[[Any], FloatArray]:
    """Return a function from a classifier to its class probabilities on the mesh."""
    shape = (*mesh.shape[:2], -1)
    points = mesh.reshape(-1, 2)
    if others not in ("average", "mean"):
        raise ValueError(f"others={others!r}: choose 'average' or 'mean'.")
    if others == "mean" or plane.origin.size == 2:
        return lambda clf: _proba(clf, plane.lift(points)).reshape(shape)

    def averaged(clf: Any) -> FloatArray:
        rows, _, _ = clf.sample(DRAWS, random_state=0)
        places, proba = plane.place(rows), _proba(clf, rows)
        spread = places.std(axis=0)
        found = KDTree(places / spread).query(points / spread, k=NEIGHBOURS)
        away, near = np.asarray(found[0]), np.asarray(found[1])
        weight = np.exp(-2 * (away / away[:, -1:]) ** 2)
        mean = np.einsum("ik,ikg->ig", weight, proba[near]) / weight.sum(axis=1)[:, None]
        # What is left is the noise of the draws.
        return gaussian_filter(mean.reshape(shape), (2, 2, 0))

    return averaged


def _proba(clf: Any, rows: FloatArray) -> FloatArray:
    names = getattr(clf, "feature_names_in_", None)
    if names is None:
        return np.asarray(clf.predict_proba(rows))
    # A model fitted to a data frame wants its names back.
    return np.asarray(clf.predict_proba(need("pandas", "data").DataFrame(rows, columns=names)))
