"""What a user's own objects return, tried at a few points before a fit relies on it.

A derivative with the wrong sign does not crash a fit: it ends in the wrong place and says that it
converged. The package's own objects have tests for that; a user's are tried here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax

from hesitant._choices import refuse_incomplete
from hesitant._typing import FloatArray
from hesitant.families import Family
from hesitant.mechanisms import Basis, Mechanism
from hesitant.uncertainty import Uncertainty

ROWS = 6
STEP = 1e-5
CLOSE = 1e-3


def probe_mechanism(mechanism: Mechanism, n_classes: int) -> None:
    """Raise if a mechanism, its measure or its basis is not what its base class says."""
    measure = mechanism.uncertainty
    basis = getattr(mechanism, "basis", None)
    if not _is_ours(measure):
        _probe_measure(measure, n_classes)
    if isinstance(basis, Basis) and not _is_ours(basis):
        _probe_basis(basis, measure.maximum(n_classes))
    if not _is_ours(mechanism):
        _probe_probability(mechanism, measure.evaluate(*_posteriors(n_classes))[0])


def probe_family(
    family: Family, params: Any, sample: Callable[[int], Any], n_classes: int
) -> None:
    """Raise if a family's densities have the wrong shape or are not numbers."""
    if _is_ours(family):
        return
    name = f"{type(family).__name__}.log_density"
    X, _, _ = sample(ROWS)
    value = family.log_density(params, X)
    _check_shape(name, value, (len(X), n_classes))


def _is_ours(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]


def _posteriors(n_classes: int, shift: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return log posteriors and posteriors of a few rows, fixed once for all."""
    joint = 1.5 * np.random.default_rng(0).standard_normal((ROWS, n_classes))
    log_tau = log_softmax(joint if shift is None else joint + shift, axis=1)
    return log_tau, np.exp(log_tau)


def _probe_measure(measure: Uncertainty, n_classes: int) -> None:
    refuse_incomplete("uncertainty", measure, Uncertainty)
    name = f"{type(measure).__name__}.evaluate"
    u, du = _unpack(name, measure.evaluate(*_posteriors(n_classes)), ("u", "du"))
    _check_shape(f"{name}: u", u, (ROWS,))
    _check_shape(f"{name}: du", du, (ROWS, n_classes))

    def value(shift: FloatArray) -> FloatArray:
        return measure.evaluate(*_posteriors(n_classes, shift))[0]

    for h, along in enumerate(np.eye(n_classes)):
        numeric = _difference(value, np.zeros(n_classes), along)
        _check_derivative(f"{name}: du[:, {h}]", du[:, h], numeric)


def _probe_basis(basis: Basis, maximum: float) -> None:
    name = f"{type(basis).__name__}.evaluate"
    u = (maximum if np.isfinite(maximum) else 1.0) * np.linspace(0.2, 0.8, ROWS)
    b, db = _unpack(name, basis.evaluate(u, maximum), ("b", "db"))
    _check_shape(f"{name}: b", b, (ROWS, basis.size))
    _check_shape(f"{name}: db", db, (ROWS, basis.size))

    def value(u: FloatArray) -> FloatArray:
        return basis.evaluate(u, maximum)[0]

    _check_derivative(f"{name}: db", db, _difference(value, u, np.ones(ROWS)))


def _probe_probability(mechanism: Mechanism, u: FloatArray) -> None:
    name, k = f"{type(mechanism).__name__}.log_probability", mechanism.n_parameters
    labelled = np.arange(ROWS) % 2 == 0
    theta = mechanism.initial() + 0.25  # at zero, a slope may vanish whatever its formula
    log_p, slope, gradient = _unpack(
        name, mechanism.log_probability(u, labelled, theta), ("log_p", "slope", "gradient")
    )
    _check_shape(f"{name}: log_p", log_p, (ROWS,))
    _check_shape(f"{name}: slope", slope, (ROWS,))
    _check_shape(f"{name}: gradient", gradient, (ROWS, k))
    other = mechanism.log_probability(u, ~labelled, theta)[0]
    if np.abs(np.exp(log_p) + np.exp(other) - 1).max() > CLOSE:
        raise ValueError(f"{name}: the chances of a label and of none do not add up to one.")

    def of_u(u: FloatArray) -> FloatArray:
        return mechanism.log_probability(u, labelled, theta)[0]

    def of_theta(theta: FloatArray) -> FloatArray:
        return mechanism.log_probability(u, labelled, theta)[0]

    _check_derivative(f"{name}: slope", slope, _difference(of_u, u, np.ones(ROWS)))
    for j, axis in enumerate(np.eye(k)):
        numeric = _difference(of_theta, theta, axis)
        _check_derivative(f"{name}: gradient[:, {j}]", gradient[:, j], numeric)


def _difference(
    function: Callable[[FloatArray], FloatArray], at: FloatArray, along: FloatArray
) -> FloatArray:
    return (function(at + STEP * along) - function(at - STEP * along)) / (2 * STEP)


def _unpack(name: str, value: Any, parts: tuple[str, ...]) -> tuple[FloatArray, ...]:
    if not isinstance(value, tuple) or len(value) != len(parts):
        raise TypeError(f"{name} must return ({', '.join(parts)}); got {type(value).__name__}.")
    return value


def _check_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    found = np.shape(value)
    if found != shape:
        raise ValueError(f"{name} has shape {found}, and must have {shape}.")
    if np.isnan(value).any():
        raise ValueError(f"{name} is NaN where rows may well lie: correct it.")


def _check_derivative(name: str, given: FloatArray, numeric: FloatArray) -> None:
    size = 1 + np.abs(numeric).max()
    if not (np.abs(given - numeric) <= CLOSE * size).all():
        raise ValueError(
            f"{name} does not agree with a finite difference: correct it, or a fit would stop in "
            "the wrong place."
        )
