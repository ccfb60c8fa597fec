"""Choosing features by sparse linear discriminant analysis."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import lars_path_gram
from sklearn.preprocessing import normalize

from hesitant._optional import is_null
from hesitant._typing import AnyArray, FloatArray

_SAME = 1e-10  # columns whose correlation is this close to 1 carry the same information
_MAX_ROUNDS = 100


@dataclass(frozen=True)
class SparseDiscriminant:
    """The chosen columns, by name and by position in X, and each direction's coefficients.

    Without names columns go by position. Coefficients are for columns scaled to unit length; the
    last class in sorted order is on the positive side.
    """

    names: tuple[Any, ...]
    indices: tuple[int, ...]
    directions: tuple[dict[Any, float], ...]


def sparse_discriminant_features(
    X: ArrayLike, y: ArrayLike, n_features: int = 4, *, ridge: float = 1e-6
) -> SparseDiscriminant:
    """Choose the features with which sparse linear discriminants tell classes apart.

    Sparse discriminant analysis by optimal scoring [1]_ minimises, over coefficients β and scores
    θ of the classes, normalised and orthogonal to earlier ones,

        ||Yθ − Xβ||² + ridge·||β||² + λ·||β||₁

    where λ falls until exactly `n_features` coefficients differ from zero, in each of the g − 1
    directions of g classes. p may be larger than n. Constant columns are passed over, and of
    columns that are multiples of one another only the first is considered. Rows whose class is
    None or NaN are left out. A larger ridge lets correlated features enter together.

    References
    ----------
    .. [1] L. Clemmensen, T. Hastie, D. Witten and B. Ersbøll (2011), Sparse discriminant
       analysis, Technometrics 53:406-413.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.datasets import sparse_discriminant_features
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 100))
    >>> X[:, [3, 50]] += 3 * y[:, None]
    >>> sparse_discriminant_features(X, y, n_features=2).names
    (3, 50)
    """
    names = tuple(getattr(X, "columns", ()))
    columns, Y = _regression(np.asarray(X, dtype=float), np.asarray(y, dtype=object))
    varying = np.flatnonzero(columns.any(axis=0))
    alike = np.abs(columns[:, varying].T @ columns[:, varying]) > 1 - _SAME
    usable = varying[~np.triu(alike, k=1).any(axis=0)]
    if type(n_features) is bool or n_features not in range(1, len(usable) + 1):
        raise ValueError(
            f"n_features={n_features!r} must be an integer from 1 to {len(usable)}, the number of "
            "distinct columns that vary among the labelled rows"
        )
    if not ridge >= 0:
        raise ValueError(f"ridge={ridge!r} must be zero or positive")
    earlier, betas = np.ones((Y.shape[1], 1)), []
    for _ in range(Y.shape[1] - 1):
        theta, beta = _direction(columns[:, usable], Y, earlier, n_features, ridge)
        earlier = np.column_stack([earlier, theta])
        betas.append(beta)
    chosen = np.flatnonzero(np.any(betas, axis=0))
    called = [names[j] if names else int(j) for j in usable]
    return SparseDiscriminant(
        names=tuple(called[k] for k in chosen),
        indices=tuple(usable[chosen].tolist()),
        directions=tuple({called[k]: float(b[k]) for k in np.flatnonzero(b)} for b in betas),
    )


def _regression(X: FloatArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the labelled rows' columns, centred and of unit length or zero, and indicators."""
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X has shape {X.shape} and y {y.shape}; one label per row is needed")
    labelled = np.array([not is_null(v) for v in y], dtype=bool)
    X, y = X[labelled], y[labelled]
    if not np.isfinite(X).all():
        raise ValueError("X has missing or infinite values in labelled rows; drop those first")
    classes = sorted(set(y.tolist()))
    if len(classes) < 2:
        raise ValueError(
            f"y has {len(classes)} classes among its labelled rows; a discriminant needs two"
        )
    # Dividing by the largest value first keeps squares of huge or tiny columns finite.
    scaled = X / np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    centred = scaled - scaled.mean(axis=0)
    # Less than this is rounding of a constant, and stays zero.
    centred[:, np.linalg.norm(centred, axis=0) <= 1e-12 * np.sqrt(len(y))] = 0.0
    return normalize(centred, axis=0), np.equal.outer(y, classes).astype(float)


def _direction(
    Z: FloatArray, Y: FloatArray, earlier: FloatArray, n_features: int, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Alternate between scores and coefficients from several starts; keep the closest fit."""
    share = Y.mean(axis=0)

    def admissible(theta: FloatArray) -> FloatArray:
        free = theta - earlier @ (earlier.T @ (share * theta))
        size = np.sqrt((share * free**2).sum())
        # A start within the span of the earlier scores leads nowhere.
        return free / size if size > 1e-8 else np.zeros_like(free)

    best, least = (np.zeros(Y.shape[1]), np.zeros(Z.shape[1])), np.inf
    # For two classes both starts are the same score, so one will do.
    for start in np.eye(Y.shape[1])[Y.shape[1] == 2 :]:
        theta = admissible(start)
        if not theta.any():
            continue
        for _ in range(_MAX_ROUNDS):
            before, beta = theta, _coefficients(Z, Y @ theta, n_features, ridge)
            theta = admissible((Y.T @ (Z @ beta)) / (len(Z) * share))
            if np.abs(theta - before).max() < 1e-8 or not theta.any():
                break
        loss = float(((Y @ theta - Z @ beta) ** 2).sum()) if theta.any() else np.inf
        if loss < least - 1e-9 * len(Z):
            best, least = (theta, beta), loss
    theta, beta = best
    sign = -1.0 if theta[-1] < 0 else 1.0
    return sign * theta, sign * beta


def _coefficients(Z: FloatArray, score: FloatArray, n_features: int, ridge: float) -> FloatArray:
    """Follow the path of coefficients to the first stretch with `n_features` of them."""
    # Adding the ridge to the Gram matrix turns the path of the lasso into the elastic net's.
    gram = Z.T @ Z + ridge * np.eye(Z.shape[1])
    # Coefficients that leave the path again make it longer than their number, seldom by much.
    for steps in (2 * n_features + 5, 20 * n_features + 20):
        _, _, path = lars_path_gram(
            Xy=Z.T @ score, Gram=gram, n_samples=1, method="lasso", max_iter=steps
        )
        # At a knot the entering coefficient is still zero; between knots it is not.
        between = (path[:, :-1] + path[:, 1:]) / 2
        sizes = np.count_nonzero(between, axis=0)
        hits = np.flatnonzero(sizes == n_features)
        if len(hits):
            break
    else:
        raise ValueError(
            f"n_features={n_features}: no penalty leaves exactly that many coefficients (up to "
            f"{sizes.max(initial=0)} on the path); ask for fewer or raise ridge={ridge}"
        )
    middle, end = between[:, hits[0]], path[:, hits[0] + 1]
    return np.where(end != 0, end, middle)  # one that leaves at the end still belongs to it
