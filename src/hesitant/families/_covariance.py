"""Covariance structures: what classes share, and which entries are free.

A structure says which scale matrices maximise a weighted Gaussian likelihood given class scatters,
and which free coordinate moves which entries of a class's lower triangular matrix.
"""

from abc import ABC, abstractmethod
from functools import cache
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.checks import check_number

Entries: TypeAlias = tuple[IntArray, IntArray, IntArray]
_FIRM = 1e9  # a pull beyond this is rigid, and leaves the data no digits


class Structure(BaseEstimator, ABC):
    """Base of the structures. They have no state but options: two of a kind are the same."""

    in_words: str = "of a structure of their own"
    shared = False  # classes have entries in common, and one prior between them
    adaptive = False  # the prior follows the data

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        """Return the scale matrices (g, p, p) from class scatters and weighted counts."""

    @abstractmethod
    def entries(self, h: int, g: int, p: int) -> Entries:
        """Return which coordinate moves which entry (row, column) of class h's matrix."""

    @cache  # noqa: B019  # structures are few and small
    def layout(self, g: int, p: int) -> "Layout":
        """Return where all free entries of g matrices are."""
        of_class = [np.array(self.entries(h, g, p)) for h in range(g)]
        of_class = [own[:, np.argsort(own[0], kind="stable")] for own in of_class]
        coordinate, row, column = np.concatenate(of_class, axis=1)
        place = (np.repeat(np.arange(g), row.size // g) * p + row) * p + column
        size = int(coordinate.max()) + 1
        return Layout(coordinate, place, row == column, (g, p, p), size, of_class)

    def units(self, spread: FloatArray) -> FloatArray:
        """Return the units of the features, from their spreads."""
        return spread


class Layout(NamedTuple):
    """The free entries of lower triangular matrices M, the logarithms of diagonal ones free."""

    coordinate: IntArray  # that moves each entry
    place: IntArray  # of each entry, in M as one long vector
    diagonal: BoolArray
    shape: tuple[int, int, int]  # of M
    size: int  # number of coordinates
    of_class: list[IntArray]  # coordinate, row and column of each class's entries, in order

    def unfold(self, vector: FloatArray) -> FloatArray:
        """Return M; zeros give identities."""
        values, M = vector[self.coordinate], np.zeros(self.shape)
        M.reshape(-1)[self.place] = np.exp(values, out=values, where=self.diagonal)
        return M

    def fold(self, gradient: FloatArray) -> FloatArray:
        """Turn a gradient in M, of its diagonal in the logarithms, into one in the vector."""
        return np.bincount(self.coordinate, gradient.reshape(-1)[self.place])  # type: ignore[return-value]

    def information(self, counts: FloatArray) -> FloatArray:
        """Return the vector's complete-data information at M = I, a diagonal."""
        each = np.repeat(counts, self.coordinate.size // counts.size)
        return np.bincount(self.coordinate, each * (1.0 + self.diagonal))  # type: ignore[return-value]


class Full(Structure):
    """Every class has its own unrestricted matrix."""

    in_words = "each with a scale matrix of its own"

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        return scatter / counts[:, None, None]

    def entries(self, h: int, g: int, p: int) -> Entries:
        own = np.arange(p)
        row, column = np.nonzero(own[:, None] > own)
        coordinate = np.concatenate((h * p + own, g * p + h * row.size + np.arange(row.size)))
        return coordinate, np.concatenate((own, row)), np.concatenate((own, column))


class Tied(Full):
    """All classes share one unrestricted matrix."""

    in_words = "all sharing one scale matrix"
    shared = True

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        return np.repeat(scatter.sum(axis=0)[None] / counts.sum(), counts.size, axis=0)

    def entries(self, h: int, g: int, p: int) -> Entries:
        return super().entries(0, 1, p)


class Diagonal(Structure):
    """Features are uncorrelated within a class."""

    in_words = "whose features are independent within a class"

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        return scatter * np.eye(scatter.shape[1]) / counts[:, None, None]

    def entries(self, h: int, g: int, p: int) -> Entries:
        own = np.arange(p)
        return h * p + own, own, own


class Spherical(Structure):
    """Within a class all features share one variance, in the user's units."""

    in_words = "equally wide in all directions"

    def pool(self, scatter: FloatArray, counts: FloatArray) -> FloatArray:
        p = scatter.shape[1]
        return (np.trace(scatter, axis1=1, axis2=2) / (p * counts))[:, None, None] * np.eye(p)

    def entries(self, h: int, g: int, p: int) -> Entries:
        own = np.arange(p)
        return np.full(p, h), own, own

    def units(self, spread: FloatArray) -> FloatArray:
        return np.full_like(spread, spread.max())


class Shrunk(Full):
    """Every class has its own matrix, pulled towards the one all classes share.

    That is pulled towards its diagonal, and the classes' means towards their common mean. The
    strength of each pull is a number of rows: beside many more it means nothing ("full"), beside
    far fewer it decides ("tied", or "tied" and "diag" at once). What is None is chosen by the
    labels of rows left out of a first fit.

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
    >>> from hesitant.families import Shrunk
    >>> MixtureClassifier(covariance=Shrunk(towards_pooled=20))
    MixtureClassifier(covariance=Shrunk(towards_pooled=20))
    """

    in_words = "each pulled towards a scale matrix that all share"
    adaptive = True

    def __init__(
        self,
        towards_pooled: float | None = None,
        towards_diagonal: float | None = None,
        towards_mean: float | None = None,
    ) -> None:
        self.towards_pooled, self.towards_diagonal = towards_pooled, towards_diagonal
        self.towards_mean = towards_mean

    def given(self) -> FloatArray:
        """Return the strengths that are known, NaN where they are to be found."""
        for name, value in vars(self).items():
            if value is not None:
                check_number(name, value, Real, 0, _FIRM)
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


STRUCTURES: dict[str, type[Structure]] = {
    "full": Full,
    "tied": Tied,
    "diag": Diagonal,
    "spherical": Spherical,
    "shrunk": Shrunk,
}
