"""What a user's own objects return, tried at a few points before a fit relies on it.

With a wrong derivative it would end in the wrong place, and say that it converged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax

from hesitant._typing import FloatArray
from hesitant.checks import is_ours, refuse_incomplete
from hesitant.families import Family
from hesitant.mechanisms import Basis, Functions, Mechanism
from hesitant.uncertainty import Uncertainty

ROWS = 6
STEP = 1e-5
CLOSE = 1e-3


def probe_mechanism(mechanism: Mechanism, n_classes: int) -> None:
    """Raise if a mechanism, its measure or its basis is not what its base class says."""
    measure, basis = mechanism.uncertainty, getattr(mechanism, "basis", None)
    if isinstance(basis, Functions) or (isinstance(basis, Basis) and not is_ours(basis)):
        _probe_basis(basis, measure.maximum(n_classes))
    if is_ours(measure) and is_ours(mechanism):
        return
    refuse_incomplete("uncertainty", measure, Uncertainty)
    joint = 1.5 * np.random.default_rng(0).standard_normal((ROWS, n_classes))

    def measured(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_tau = log_softmax(joint, axis=1)
        return measure.evaluate(log_tau, np.exp(log_tau))

    name = f"{type(measure).__name__}.evaluate"
    u, du = _unpack(name, measured(joint), {"u": (ROWS,), "du": (ROWS, n_classes)})
    _compare(f"{name}: du", du, measured, joint, np.eye(n_classes))
    if not is_ours(mechanism):
        _probe_probability(mechanism, u)


def probe_family(family: Family, params: Any, draw: Callable[[int], Any], n_classes: int) -> None:
    """Raise if a family's densities have the wrong shape or are not numbers."""
    if not is_ours(family):
        X, name = draw(ROWS)[0], f"{type(family).__name__}.log_density"
        _check_shape(name, family.log_density(params, X), (len(X), n_classes))


def _probe_basis(basis: Basis, maximum: float) -> None:
    name, most = f"{type(basis).__name__}.evaluate", maximum if np.isfinite(maximum) else 1.0
    shape = (ROWS, basis.size)
    for low in (0.0, 0.2):  # of rows that are certain, too
        u = most * np.linspace(low, 1 - low, ROWS)
        with np.errstate(all="ignore"):
            _, db = _unpack(name, basis.evaluate(u, maximum), {"b": shape, "db": shape})
    column = "derivatives" if isinstance(basis, Functions) else f"{name}: db"
    _compare(column, db, lambda at: basis.evaluate(at, maximum), u)


def _probe_probability(mechanism: Mechanism, u: FloatArray) -> None:
    name, k = f"{type(mechanism).__name__}.log_probability", mechanism.n_parameters
    labelled, chance = np.arange(ROWS) % 2 == 0, mechanism.log_probability
    theta = mechanism.initial() + 0.25  # at zero, a slope may vanish whatever its formula
    shape = (ROWS, mechanism.n_classes) if mechanism.by_class else (ROWS,)
    parts = {"log_p": shape, "slope": shape, "gradient": (*shape, k)}
    log_p, slope, gradient = _unpack(name, chance(u, labelled, theta), parts)
    if np.abs(np.exp(log_p) + np.exp(chance(u, ~labelled, theta)[0]) - 1).max() > CLOSE:
        raise ValueError(f"{name}: the chances of a label and of none do not add up to one.")
    _compare(f"{name}: slope", slope, lambda at: chance(at, labelled, theta), u)
    _compare(f"{name}: gradient", gradient, lambda at: chance(u, labelled, at), theta, np.eye(k))


def _unpack(name: str, value: Any, parts: dict[str, tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Return the parts of an answer, if it has them in these shapes."""
    if not isinstance(value, tuple) or len(value) != len(parts):
        raise TypeError(f"{name} must return ({', '.join(parts)}); got {type(value).__name__}.")
    for part, (key, shape) in zip(value, parts.items(), strict=True):
        _check_shape(f"{name}: {key}", part, shape)
    return value


def _check_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    if np.shape(value) != shape:
        raise ValueError(f"{name} has shape {np.shape(value)}, and must have {shape}.")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} is not finite: bound it, for example by np.maximum(u, 1e-12).")


def _compare(name: str, given: FloatArray, function: Any, at: Any, axes: Any = (1,)) -> None:
    """Compare derivatives, a column for each of several axes, with differences about a point."""
    moved = [function(at + step)[0] - function(at - step)[0] for step in STEP * np.asarray(axes)]
    numeric = np.stack(moved, axis=-1).reshape(given.shape) / (2 * STEP)
    far = ~(np.abs(given - numeric) <= CLOSE * (1 + np.abs(numeric).max(axis=0)))
    for _, *column in np.argwhere(far).tolist():
        where = f"{name}{column or ''}"
        raise ValueError(f"{where} does not agree with a finite difference: correct it.")
