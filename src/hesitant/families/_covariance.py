"""Covariance structures: what classes share, and which entries are free.

A structure says which scale matrices maximise a weighted Gaussian likelihood given class scatters,
how many parameters are free, how a vector of free coordinates unfolds into one lower triangular
matrix per class, and in which units of the features it means what it says.
"""

from abc import ABC, abstractmethod
from functools import cache
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._typing import FloatArray, IntArray


class Structure(BaseEstimator, ABC):
    """Base of the structures. They have no state but options: two of a kind are the same.

    Attributes
    ----------
    unrestricted : bool
        Whether each class has a whole matrix of its own.
    shared : bool
        Whether the classes have entries in common.
    adapts : bool
        Whether the prior follows the data.
    """

    unrestricted = False
    shared = False
    in_words: str = "of a structure of their own"
    adapts = False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

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

    @abstractmethod
    def entries(self, h: int, g: int, p: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return which coordinate moves which entry (row, column) of class h's matrix."""

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

    def entries(self, h: int, g: int, p: int) -> tuple[IntArray, IntArray, IntArray]:
        """Diagonals first, then the entries below."""
        rows, columns = np.tril_indices(p, -1)
        own, along = np.arange(p), np.arange(rows.size)
        return (
            np.concatenate((h * p + own, g * p + h * rows.size + along)),
            np.concatenate((own, rows)),
            np.concatenate((own, columns)),
        )

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

    def entries(self, h: int, g: int, p: int) -> tuple[IntArray, IntArray, IntArray]:
        """One matrix's entries, whatever the class."""
        return super().entries(0, 1, p)

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Information of the total count."""
        return super().information(counts.sum(keepdims=True), p)

    def prior_share(self, g: int) -> float:
        """Split one matrix's prior over the classes."""
        return 1.0 / g


class Shrunk(Full):
    """Every class has its own matrix, pulled towards the one all classes share.

    That is pulled towards its diagonal, and the classes' means towards their common mean. The
    strength of each pull is a number of rows: beside many more rows it means nothing, and the fit
    is that of "full"; beside far fewer it decides, and the fit is that of "tied", or of "tied" and
    "diag" at once. What is None is chosen by the labels of rows left out of a first fit.

    Parameters
    ----------
    towards_pooled : float, optional
        Rows' worth of the matrix that all classes share, for each class.
    towards_diagonal : float, optional
        Rows' worth of its own diagonal, for the shared matrix.
    towards_mean : float, optional
        Rows' worth of the common mean, for each class. (Skewed classes keep their locations.)

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.families import Shrunk
    >>> data = simulate(n=100, random_state=0)
    >>> clf = MixtureClassifier(covariance=Shrunk(towards_pooled=20))
    >>> clf = clf.fit(data.features, data.labels)
    >>> float(clf.shrinkage_[0])
    20.0
    """

    in_words = "each pulled towards a scale matrix that all share"
    unrestricted = False
    adapts = True

    def __init__(
        self,
        towards_pooled: float | None = None,
        towards_diagonal: float | None = None,
        towards_mean: float | None = None,
    ) -> None:
        self.towards_pooled = towards_pooled
        self.towards_diagonal = towards_diagonal
        self.towards_mean = towards_mean

    def given(self) -> FloatArray:
        """Return the strengths that are known, NaN where they are to be found."""
        for name, value in vars(self).items():
            number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
            if value is not None and not (number and 0 <= float(value) <= _FIRM):
                raise ValueError(
                    f"{name}={value!r}: give a number of rows from 0 to {_FIRM:g}, or None to "
                    "have it chosen."
                )
        return np.array([np.nan if v is None else float(v) for v in vars(self).values()])

    def effective(self, strengths: FloatArray, rows: FloatArray, p: int) -> float:
        """Return how many entries of matrices and means are left to the data."""
        to_pooled, to_diagonal, to_mean = strengths
        own = rows / np.maximum(rows + to_pooled, 1e-12)
        shared = rows.sum() / (rows.sum() + to_diagonal)
        matrix = p + shared * p * (p - 1) / 2
        matrices = own.sum() * p * (p + 1) / 2 + (1 - own.mean()) * matrix
        apart = rows / np.maximum(rows + to_mean, 1e-12)
        return float(matrices + p * (apart.sum() + 1 - apart.mean()))


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

    def entries(self, h: int, g: int, p: int) -> tuple[IntArray, IntArray, IntArray]:
        """Diagonals only."""
        own = np.arange(p)
        return h * p + own, own, own

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

    def entries(self, h: int, g: int, p: int) -> tuple[IntArray, IntArray, IntArray]:
        """One coordinate for all diagonals."""
        own = np.arange(p)
        return np.full(p, h), own, own

    def information(self, counts: FloatArray, p: int) -> FloatArray:
        """Return 2 p n_h."""
        return 2.0 * p * counts

    def units(self, spread: FloatArray) -> FloatArray:
        """Give all features one unit, that they keep their sizes beside each other."""
        return np.full_like(spread, spread.max())


# A pull beyond this is rigid, and leaves the data no digits.
_FIRM = 1e9


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
    "shrunk": Shrunk,
}
