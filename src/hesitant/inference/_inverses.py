"""Inverses of information matrices, in a chart where complete labels would give the identity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri

from hesitant._typing import FloatArray

# A direction about which the data say less than this share of what complete labels would; and one
# about which they say more than of any smooth likelihood.
FLAT, SHARP, ROUNDING = 1e-6, 1e4, 1e-15


def invert(total: FloatArray, from_data: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the inverse along directions the data determine, the others, and those too sharp."""
    if not np.isfinite(total).all():
        lacks = "the information is not finite at this fit"
        raise np.linalg.LinAlgError(f"{lacks}: heed its warnings, or use bootstrap().")
    sharp, idle = total[:, :0], np.abs(from_data).sum(axis=1) < ROUNDING
    if not np.linalg.norm(from_data) < SHARP:
        sharp = eigh(from_data, subset_by_value=(SHARP, np.inf))[1]
    # Nearly always none is flat but an axis of which nothing is known: to see that is little work.
    if exceeds(from_data, FLAT - idle):
        value, flat = from_data.diagonal()[idle], np.eye(len(total))[:, idle]
    else:
        value, flat = eigh(from_data, subset_by_value=(-np.inf, FLAT))
    # With as much information along the flat directions as complete labels would give, the
    # inverse is regular, and what it has along them is taken out again.
    regular = total + (flat * (1 - value)) @ flat.T if flat.size else total
    try:
        V = inverse(regular)
    except np.linalg.LinAlgError:  # uphill along some direction
        V = np.linalg.pinv(regular, hermitian=True)
    along = V @ flat
    V -= along @ np.linalg.pinv(flat.T @ along, hermitian=True) @ along.T if flat.size else 0.0
    return V, flat, sharp


def is_diagonal(matrix: FloatArray) -> bool:
    """Whether no axis has to do with another: those of Gaussians, where no class is in doubt."""
    near = 100 * ROUNDING * matrix.diagonal().min()
    return np.array_equal((matrix > near) | (matrix < -near), np.diag(matrix.diagonal() > near))


def exceeds(matrix: FloatArray, least: Any) -> bool:
    """Whether a symmetric matrix is above another, of which there is the diagonal."""
    if np.all(2 * matrix.diagonal() - np.abs(matrix).sum(axis=1) > least):
        return True  # by Gershgorin's circles
    rest = matrix.T.copy(order="F")  # as LAPACK has it in memory: not turned over
    rest[np.diag_indices(len(rest))] -= least
    return bool(dpotrf(rest, lower=1, overwrite_a=1)[1] == 0)


def inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix, by its Cholesky root."""
    if is_diagonal(matrix):
        return np.diag(1 / matrix.diagonal())
    root, failed = dpotrf(matrix.T, lower=1)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    half: FloatArray = dpotri(root, lower=1, overwrite_c=1)[0]  # zero above its diagonal
    half[np.diag_indices(len(half))] /= 2
    return half + half.T


def inflation(parts: Sequence[FloatArray]) -> float:
    """Return how many times too large the inverse of a sum over draws is on average."""
    if not parts:
        return 1.0
    one, other = (sum(parts[k::2], start=np.zeros(())) for k in range(2))
    try:
        of_half = (np.vdot(one, inverse(other)) + np.vdot(other, inverse(one))) / (2 * len(one))
    except np.linalg.LinAlgError:
        return 2.0  # next to no draws beside the parameters
    # Other draws do not share the errors of an inverse, which are twice as large in a half.
    return float(2 * of_half / (1 + of_half))
