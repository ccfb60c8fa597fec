"""What a user's own objects return, tried at a few points before a fit relies on it.

A derivative with the wrong sign does not crash a fit: it ends in the wrong place and says that it
converged. The package's own objects have tests for that; a user's are tried here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax

from hesitant._choices import refuse_incomplete
from hesitant._typing import FloatArray
from hesitant.families import Family
from hesitant.mechanisms import Basis, Functions, Mechanism
from hesitant.uncertainty import Uncertainty

ROWS = 6
STEP = 1e-5
CLOSE = 1e-3


def probe_mechanism(mechanism: Mechanism, n_classes: int) -> None:
    """Raise if a mechanism, its measure or its basis is not what its base class says."""
    measure, basis = mechanism.uncertainty, getattr(mechanism, "basis", None)
    if not _is_ours(measure):
        _probe_measure(measure, n_classes)
    if isinstance(basis, Functions) or (isinstance(basis, Basis) and not _is_ours(basis)):
        _probe_basis(basis, measure.maximum(n_classes))
    if not _is_ours(mechanism):
        _probe_probability(mechanism, measure.evaluate(*_posteriors(n_classes))[0])


def probe_family(
    family: Family, params: Any, sample: Callable[[int], Any], n_classes: int
) -> None:
    """Raise if a family's densities have the wrong shape or are not numbers."""
    if not _is_ours(family):
        X = sample(ROWS)[0]
        name = f"{type(family).__name__}.log_density"
        _check_shape(name, family.log_density(params, X), (len(X), n_classes))


def _is_ours(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]


def _posteriors(n_classes: int, shift: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return log posteriors and posteriors of a few rows, fixed once for all."""
    joint = 1.5 * np.random.default_rng(0).standard_normal((ROWS, n_classes))
    log_tau = log_softmax(joint + shift, axis=1)
    return log_tau, np.exp(log_tau)


def _probe_measure(measure: Uncertainty, g: int) -> None:
    refuse_incomplete("uncertainty", measure, Uncertainty)
    name = f"{type(measure).__name__}.evaluate"
    parts = {"u": (ROWS,), "du": (ROWS, g)}
    _, du = _unpack(name, measure.evaluate(*_posteriors(g)), parts)
    for h, along in enumerate(STEP * np.eye(g)):
        ends = (measure.evaluate(*_posteriors(g, shift))[0] for shift in (along, -along))
        _check_derivative(f"{name}: du[:, {h}]", du[:, h], *ends)


def _probe_basis(basis: Basis, maximum: float) -> None:
    name = f"{type(basis).__name__}.evaluate"
    u = (maximum if np.isfinite(maximum) else 1.0) * np.linspace(0.2, 0.8, ROWS)
    parts = {"b": (ROWS, basis.size), "db": (ROWS, basis.size)}
    _, db = _unpack(name, basis.evaluate(u, maximum), parts)
    ahead, behind = (basis.evaluate(u + step, maximum)[0] for step in (STEP, -STEP))
    for k in range(basis.size):
        column = f"derivatives[{k}]" if isinstance(basis, Functions) else f"{name}: db"
        _check_derivative(column, db[:, k], ahead[:, k], behind[:, k])


def _probe_probability(mechanism: Mechanism, u: FloatArray) -> None:
    name, k = f"{type(mechanism).__name__}.log_probability", mechanism.n_parameters
    labelled = np.arange(ROWS) % 2 == 0
    theta = mechanism.initial() + 0.25  # at zero, a slope may vanish whatever its formula
    parts = {"log_p": (ROWS,), "slope": (ROWS,), "gradient": (ROWS, k)}
    found = mechanism.log_probability(u, labelled, theta)
    log_p, slope, gradient = _unpack(name, found, parts)
    other = mechanism.log_probability(u, ~labelled, theta)[0]
    if np.abs(np.exp(log_p) + np.exp(other) - 1).max() > CLOSE:
        raise ValueError(f"{name}: the chances of a label and of none do not add up to one.")
    ends = (mechanism.log_probability(u + d, labelled, theta)[0] for d in (STEP, -STEP))
    _check_derivative(f"{name}: slope", slope, *ends)
    for j, along in enumerate(STEP * np.eye(k)):
        ends = (mechanism.log_probability(u, labelled, theta + d)[0] for d in (along, -along))
        _check_derivative(f"{name}: gradient[:, {j}]", gradient[:, j], *ends)


def _unpack(name: str, value: Any, parts: Mapping[str, tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Return the parts of an answer, if it has them in these shapes."""
    if not isinstance(value, tuple) or len(value) != len(parts):
        raise TypeError(f"{name} must return ({', '.join(parts)}); got {type(value).__name__}.")
    for part, (key, shape) in zip(value, parts.items(), strict=True):
        _check_shape(f"{name}: {key}", part, shape)
    return value


def _check_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    if np.shape(value) != shape:
        raise ValueError(f"{name} has shape {np.shape(value)}, and must have {shape}.")
    if np.isnan(value).any():
        raise ValueError(f"{name} is NaN where rows may well lie: correct it.")


def _check_derivative(name: str, given: FloatArray, ahead: FloatArray, behind: FloatArray) -> None:
    numeric = (ahead - behind) / (2 * STEP)
    if not (np.abs(given - numeric) <= CLOSE * (1 + np.abs(numeric).max())).all():
        raise ValueError(
            f"{name} does not agree with a finite difference: correct it, or a fit would stop in "
            "the wrong place."
        )
