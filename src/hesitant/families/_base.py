"""What every class family is: densities, weighted statistics, and what maximises them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri
from sklearn.base import BaseEstimator

from hesitant._typing import AnyArray, BoolArray, FloatArray, Movable
from hesitant._words import listed

Params: TypeAlias = Any
"""The parameters of all classes: whatever the family likes, opaque to everyone else."""

Statistics: TypeAlias = tuple[FloatArray, ...]
"""Weighted sums over rows. They add over blocks, so blocks, threads and clusters all work."""


class StepError(ArithmeticError):
    """Statistics from which no valid parameters follow (signed weights can do that)."""


class Defect(NamedTuple):
    """Parameters that a prior, and not the data, keeps finite."""

    what: str  # with a remedy: the rest of a sentence about the features, or a whole one
    features: BoolArray | None = None  # (p,): which features it is about
    classes: BoolArray | None = None  # (g,): within which classes; None if in all together


def of_classes(
    names: Sequence[str], which: BoolArray, one: str = "has", many: str = "have"
) -> str:
    """Return a sentence's subject and verb: the classes it is about, the first few by name."""
    chosen = [name for name, about in zip(names, which, strict=True) if about]
    shown = listed(chosen)
    return f"Class {shown} {one}" if len(chosen) == 1 else f"Classes {shown} {many}"


class Coordinates:
    """An unconstrained chart of a family's parameters, for solvers that follow gradients.

    Its vector is zero at a reference point, where a unit step is about one standard error.
    """

    size: int
    folds: bool = True  #: Whether some coordinate folds at the edge of its parameter's range.
    caution: float = 1.0  #: Share of a tolerance that a promised gain may have when settled.
    #: Diagonal of what rows of known class tell at the reference, if that is known to be all.
    complete: FloatArray | None = None

    @abstractmethod
    def decode(self, vector: FloatArray) -> Params:
        """Return the parameters at a point of the chart."""

    @abstractmethod
    def gradient(self, params: Params, statistics: Statistics) -> FloatArray:
        """Return the weighted score at ``params = decode(vector)``, penalty included."""

    # What follows is optional: what has no formula is differentiated by steps.

    def row_scores(self, X: AnyArray, h: int) -> tuple[AnyArray, FloatArray]:
        """Return coordinates, and scores of rows in class h along them (coordinates, n)."""
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(X)))

    def hessian(self, statistics: Statistics) -> FloatArray | None:
        """Return derivatives of :meth:`gradient` at the reference, rows' weights fixed."""
        return None

    def slopes(self) -> dict[str, FloatArray] | None:
        """Return derivatives (size, ...) of the attributes that move, at the reference."""
        return None

    def movers(self, h: int) -> AnyArray:
        """Return which coordinates may move class h; by default all."""
        return np.arange(self.size)


def standard_steps(information: FloatArray) -> FloatArray:
    """Return the matrix whose columns are steps of one standard error, all uncorrelated."""
    # Triangular: an axis of one class's location moves no other class.
    root, failed = dpotrf(information, lower=1)
    if failed:  # weights of very different sizes have rounded it away
        value, vector = np.linalg.eigh(information)
        return vector / np.sqrt(np.maximum(value, 1e-12 * value.max() + 1e-300))
    return np.asarray(dtrtri(root, lower=1)[0].T)


class Family(Movable, BaseEstimator):
    """Base of the families. A family knows nothing of labels.

    A new one writes the abstract methods: EM and one-step-late EM then work. With
    :meth:`coordinates` the quasi-Newton solvers and standard errors do too, and with
    :meth:`from_attributes` fits can start from one another.
    """

    in_words: ClassVar[str] = ""  #: What the shape is called; by default the class's own name.
    likeness: ClassVar[str] = ""  #: What it is like, for a reader who does not know the name.
    warm_up: int = 50  #: EM steps at most before a solver that follows gradients takes over.
    takes_gaps: bool = False  #: Whether rows may have empty cells (NaN).
    adaptive_prior: bool = False  #: Whether a prior follows the data, and pulls classes together.
    in_one_pass: bool = False  #: Whether :mod:`hesitant.one_pass` knows its densities.
    has_coordinates: bool = False  #: Whether :meth:`coordinates` is written.
    has_from_attributes: bool = False  #: Whether :meth:`from_attributes` is written.

    @abstractmethod
    def initial(self, X: AnyArray, weights: FloatArray) -> Params:
        """Return parameters fitted roughly to rows with class weights (n, g)."""

    @abstractmethod
    def log_density(self, params: Params, X: AnyArray) -> FloatArray:
        """Return log f_h(x_i) as (n, g)."""

    @abstractmethod
    def statistics(
        self, params: Params, X: AnyArray, weights: FloatArray, kept: Any = None
    ) -> Statistics:
        """Return the weighted sums that :meth:`maximise` needs; weights may be negative.

        ``kept`` is what :meth:`look` kept; a family that does not write that can leave it out.
        """

    @abstractmethod
    def maximise(self, params: Params, statistics: Statistics) -> Params:
        """Return better parameters (an M-step), or raise :class:`StepError`."""

    @abstractmethod
    def sample(self, params: Params, h: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n rows from class h."""

    @abstractmethod
    def moments(self, params: Params) -> tuple[FloatArray, FloatArray]:
        """Return the class means (g, p) and covariances (g, p, p); NaN where they do not exist."""

    @abstractmethod
    def n_parameters(self, params: Params) -> int:
        """Return the number of free parameters of all classes."""

    # What follows is optional.

    def look(self, params: Params, X: AnyArray) -> tuple[FloatArray, Any]:
        """Return what :meth:`log_density` does, and what :meth:`statistics` may want of it.

        The log densities are the caller's to overwrite: they must not be among what is kept.
        """
        return self.log_density(params, X), None

    def describe(self) -> str:
        """Return the classes' shape, as the end of a sentence about them."""
        return f"{self.in_words} in shape" + (f" ({self.likeness})" if self.likeness else "")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.in_words = vars(cls).get("in_words", cls.__name__)
        cls.has_coordinates = cls.coordinates is not Family.coordinates
        cls.has_from_attributes = cls.from_attributes is not Family.from_attributes
        # Densities or statistics of one's own have no use for another family's look.
        if {"log_density", "statistics"} & set(vars(cls)) and "look" not in vars(cls):
            cls.look = Family.look  # type: ignore[method-assign]

    def coordinates(self, params: Params, counts: FloatArray) -> Coordinates:
        """Return a chart about ``params``, for the quasi-Newton solvers."""
        raise NotImplementedError

    def from_attributes(self, given: Mapping[str, Any], X: AnyArray) -> Params:
        """Return parameters from named values such as :meth:`attributes` gives, for ``init``."""
        raise NotImplementedError

    def log_prior(self, params: Params) -> float:
        """Return the log of a weak prior that keeps the likelihood bounded."""
        return 0.0

    def prepare(self, sample: Callable[[], Sequence[AnyArray]], classes: AnyArray) -> Self:
        """Return the family as it fits data; ``sample()`` gives features, codes and weights."""
        return self

    def update_prior(self, params: Params, statistics: Statistics) -> Params:
        """Return parameters whose prior follows the data; the same object if it does."""
        return params

    def blend(self, params: Params, proposal: Params, share: float) -> Params:
        """Return parameters between two points, for steps that must be shortened."""
        pairs = {k: (v, getattr(proposal, k)) for k, v in vars(params).items()}
        return type(params)(**{k: (1 - share) * a + share * b for k, (a, b) in pairs.items()})

    def permute(self, params: Params, order: AnyArray) -> Params:
        """Return parameters with the classes in another order."""
        return type(params)(**{k: v[order] for k, v in vars(params).items()})

    def attributes(self, params: Params) -> dict[str, FloatArray]:
        """Return what the fitted estimator should show, by name (without underscore)."""
        means, covariances = self.moments(params)
        return {"means": means, "covariances": covariances}

    def inside_bounds(self, params: Params) -> Params:
        """Return parameters a little inside their range, where gradients do not vanish."""
        return params

    def remarks(self, params: Params, names: list[str]) -> list[str]:
        """Return warnings about fitted parameters, in words; ``names`` are the classes'."""
        return []

    def defects(self, params: Params, weights: FloatArray, total: float) -> list[Defect]:
        """Return where a prior, and not the data, keeps parameters finite."""
        return []

    def specialise(self, covariance: Any, reg_covar: float) -> Self:
        """Return the family with a covariance structure; one without any accepts only "full"."""
        if covariance != "full":
            what = f"covariance={covariance!r} means nothing to the family {type(self).__name__}"
            raise ValueError(f"{what}: leave it at 'full'.")
        return self


def improved(
    family: Family, params: Params, rows: tuple[Any, ...], steps: int, soften: Any = tuple
) -> Params:
    """Return parameters after some EM steps on rows of known class, statistics softened."""
    for _ in range(steps):
        try:
            params = family.maximise(params, soften(family.statistics(params, *rows)))
        except StepError:
            break
    return params
