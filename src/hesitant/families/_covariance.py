"""Covariance structures: what classes share, and which entries are free.

A structure says which scale matrices maximise a weighted Gaussian likelihood given class scatters,
how many parameters are free, how a vector of free coordinates unfolds into one lower triangular
matrix per class, and in which units of the features it means what it says.
"""

from abc import ABC, abstractmethod
from functools import cache

import numpy as np

from hesitant._typing import FloatArray, IntArray

__all__ = ["STRUCTURES", "Diagonal", "Full", "Spherical", "Structure", "Tied"]


class Structure(ABC):
    """Base of the structures. They have no state: two of a kind are the same.

    Attributes
    ----------
    unrestricted : bool
        Whether each class has a whole matrix of its own.
    shared : bool
        Whether the classes have entries in common.
    """

    unrestricted = False
    shared = False
    in_words: str = "of a structure of their own"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Return the scale matrices (g, p, p) from class scatters and weighted counts."""

    @abstractmethod
    def n_parameters(self, g: int, p: int) -> int:
        """Return the number of free entries."""

    @abstractmethod
    def unfold(self, vector: FloatArray, g: int, p: int) -> FloatArray:
        """Return lower triangular M (g, p, p) with positive diagonals; zeros give identities."""

    @abstractmethod
    def fold(self, gradient: FloatArray, M: FloatArray) -> FloatArray:
        """Turn a gradient in M into one in the vector."""

    @abstractmethod
    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Return the complete-data information of the vector at M = I, a diagonal."""

    def prior_share(self, g: int) -> float:
        """Return the share of the prior's scatter that each class carries."""
        return 1.0

    def units(self, spread: FloatArray) -> FloatArray:
        """Return the units of the features, from their spreads."""
        return spread


class Full(Structure):
    """Every class has its own unrestricted matrix."""

    in_words = "each with a scale matrix of its own"

    unrestricted = True

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Divide each class's scatter by its count."""
        return scatter / counts[:, None, None]

    def n_parameters(self, g: int, p: int) -> int:
        """Return g p (p + 1) / 2."""
        return g * p * (p + 1) // 2

    def unfold(self, vector: FloatArray, g: int, p: int) -> FloatArray:
        """Log diagonals first, then the entries below."""
        diagonal, below = _places(g, p)
        M = np.zeros(g * p * p)
        M[diagonal] = np.exp(vector[: g * p])
        M[below] = vector[g * p :]
        return M.reshape(g, p, p)

    def fold(self, gradient: FloatArray, M: FloatArray) -> FloatArray:
        """Chain rule through the log diagonals."""
        diagonal, below = _places(*M.shape[:2])
        flat = gradient.reshape(-1)
        return np.concatenate((flat[diagonal] * M.reshape(-1)[diagonal], flat[below]))

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Return 2 n_h for a log diagonal, n_h for an entry below."""
        return np.concatenate((np.repeat(2.0 * counts, p), np.repeat(counts, p * (p - 1) // 2)))


class Tied(Full):
    """All classes share one unrestricted matrix."""

    in_words = "all sharing one scale matrix"

    unrestricted = False
    shared = True

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Divide the sum of the scatters by the total count."""
        shared = scatter.sum(axis=0) / counts.sum()
        return np.repeat(shared[None], counts.size, axis=0)

    def n_parameters(self, g: int, p: int) -> int:
        """Return p (p + 1) / 2."""
        return super().n_parameters(1, p)

    def unfold(self, vector: FloatArray, g: int, p: int) -> FloatArray:
        """Repeat one matrix for every class."""
        return np.repeat(super().unfold(vector, 1, p), g, axis=0)

    def fold(self, gradient: FloatArray, M: FloatArray) -> FloatArray:
        """Add the classes' gradients."""
        return super().fold(gradient.sum(axis=0, keepdims=True), M[:1])

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Information of the total count."""
        return super().information(counts.sum(keepdims=True), p)

    def prior_share(self, g: int) -> float:
        """Split one matrix's prior over the classes."""
        return 1.0 / g


class Diagonal(Structure):
    """Features are uncorrelated within a class."""

    in_words = "whose features are independent within a class"

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Keep the diagonals."""
        p = scatter.shape[1]
        return scatter * np.eye(p) / counts[:, None, None]

    def n_parameters(self, g: int, p: int) -> int:
        """Return g p."""
        return g * p

    def unfold(self, vector: FloatArray, g: int, p: int) -> FloatArray:
        """Log diagonals."""
        return np.exp(vector).reshape(g, p, 1) * np.eye(p)

    def fold(self, gradient: FloatArray, M: FloatArray) -> FloatArray:
        """Chain rule through the log diagonals."""
        diagonal, _ = _places(*M.shape[:2])
        return gradient.reshape(-1)[diagonal] * M.reshape(-1)[diagonal]

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Return 2 n_h for each log diagonal."""
        return np.repeat(2.0 * counts, p)


class Spherical(Diagonal):
    """Within a class all features share one variance, in the user's units."""

    in_words = "equally wide in all directions"

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Average the diagonals."""
        p = scatter.shape[1]
        variance = np.trace(scatter, axis1=1, axis2=2) / (p * counts)
        return variance[:, None, None] * np.eye(p)

    def n_parameters(self, g: int, p: int) -> int:
        """Return g."""
        return g

    def unfold(self, vector: FloatArray, g: int, p: int) -> FloatArray:
        """One log diagonal for each class."""
        return super().unfold(np.repeat(vector, p), g, p)

    def fold(self, gradient: FloatArray, M: FloatArray) -> FloatArray:
        """Add over features."""
        return super().fold(gradient, M).reshape(M.shape[0], -1).sum(axis=1)

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Return 2 p n_h."""
        return 2.0 * p * counts

    def units(self, spread: FloatArray) -> FloatArray:
        """Give all features one unit, that they keep their sizes beside each other."""
        return np.full_like(spread, spread.max())


@cache
def _places(g: int, p: int) -> tuple[IntArray, IntArray]:
    """Return where the diagonals, and the entries below, lie in a flat (g, p, p) array."""
    flat = np.arange(g * p * p).reshape(g, p, p)
    rows, columns = np.tril_indices(p, -1)
    return flat[:, np.arange(p), np.arange(p)].ravel(), flat[:, rows, columns].ravel()


STRUCTURES: dict[str, type[Structure]] = {
    "full": Full,
    "tied": Tied,
    "diag": Diagonal,
    "spherical": Spherical,
}
