"""What is wrong, or worth knowing, about data, options and fits: said in words."""

import math
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.families import Family
from hesitant.fitting import Fit
from hesitant.labels import describe
from hesitant.likelihood import State, log_posterior
from hesitant.mechanisms import Ignorable, Mechanism
from hesitant.rows import Block, ManyRows, Tally

__all__ = [
    "check_blanks",
    "check_jobs",
    "check_number",
    "check_reviewed",
    "check_supply",
    "check_weight",
    "fit_remarks",
]


def check_number(name: str, value: Any, kind: type, low: float, high: float = math.inf) -> None:
    """Raise unless ``value`` is a number of this kind in [low, high]."""
    right = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if right and low <= value <= high and math.isfinite(value):
        return
    what = "a whole number" if kind is Integral else "a number"
    bounds = f">= {low}" if high == math.inf else f"from {low} to {high}"
    error = ValueError if right else TypeError
    raise error(f"{name}={value!r}: give {what} {bounds}.")


def check_jobs(name: str, value: Any) -> None:
    """Raise unless ``value`` says how many workers to use, as joblib understands it."""
    if value is None:
        return
    right = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not right or value == 0:
        error = ValueError if right else TypeError
        raise error(f"{name}={value!r}: give a whole number >= 1, −1 for all cores, or None.")


def check_reviewed(reviewed: Any, n: int) -> BoolArray:
    """Return the reviewed column as booleans, all True by default."""
    if reviewed is None:
        return np.ones(n, dtype=bool)
    values = np.asarray(reviewed)
    if values.shape != (n,):
        raise ValueError(
            f"reviewed has shape {values.shape}: give one boolean for each of {n} rows."
        )
    if values.dtype != bool:
        plain = [
            isinstance(v, bool | int | float | np.bool_ | np.number) and v in (0, 1)
            for v in values.tolist()
        ]
        if not all(plain):
            row = plain.index(False)
            raise ValueError(
                f"reviewed[{row}] is {values.tolist()[row]!r}: give True (somebody saw the case) "
                "or False."
            )
        values = values.astype(bool)
    return values


def check_weight(sample_weight: Any, X: AnyArray) -> FloatArray:
    """Return sample weights as floats, ones by default."""
    if sample_weight is None:
        return np.ones(len(X))
    values = np.asarray(sample_weight)
    if values.size > 1 and not values.any():
        raise ValueError("sample_weight is zero for every row: give some row a weight.")
    weight: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weight


def check_supply(alpha: float, classes: AnyArray, tally: Tally) -> None:
    """Raise if the rows that alpha leaves cannot tell every class."""
    if alpha == 0 and not tally.blank > 0:
        raise ValueError(
            f"alpha={alpha!r} uses blank rows only, and there are none: use alpha=0.5."
        )
    if alpha == 1 and not tally.labelled.any():
        raise ValueError(
            f"alpha={alpha!r} uses labelled rows only, and there are none: use alpha=0.5."
        )
    if alpha == 1 and not tally.labelled.all():
        missing = describe(classes[int(np.argmin(tally.labelled))])
        raise ValueError(
            f"class {missing} has no labelled row, and alpha={alpha!r} uses labelled rows only: "
            "use a smaller alpha, or leave the class out."
        )


def check_blanks(mechanism: Mechanism, tally: Tally) -> tuple[Mechanism, list[str]]:
    """Return the mechanism, or none where the blanks cannot tell one, with the reason."""
    labelled, blank = tally.reviewed_labelled > 0, tally.reviewed_blank > 0
    if not mechanism.informative or (labelled and blank):
        return mechanism, []
    seen = (
        f"{'every' if labelled else 'no'} reviewed row is labelled"
        if labelled or blank
        else "no row was reviewed"
    )
    return Ignorable(), [
        f"The mechanism cannot be estimated: {seen}, so blanks have no pattern. The classes "
        "were fitted by the ignorance likelihood (labels assumed missing at random)."
    ]


def _name(which: BoolArray, names: AnyArray | None) -> str:
    places = np.flatnonzero(which)
    listed = [repr(str(names[j])) if names is not None else str(j) for j in places[:5]]
    more = f" and {places.size - 5} more" if places.size > 5 else ""
    return (
        f"Feature {listed[0]} is"
        if places.size == 1
        else f"Features {', '.join(listed)}{more} are"
    )


def fit_remarks(
    fit: Fit,
    family: Family,
    state: State,
    mechanism: Mechanism,
    classes: AnyArray,
    rows: ManyRows,
    features: AnyArray | None,
) -> list[str]:
    """Return warnings about how a fit ended."""
    out = []
    if not fit.progress.converged:
        out.append(
            f"The fit did not converge: {fit.progress.reason}. Raise max_iter, or tol if the "
            "remaining gain does not matter."
        )
    names = [describe(c) for c in classes]
    p = rows.n_features
    effective = state.weights * rows.total
    for h, n_h in enumerate(effective):
        if n_h < 1e-3:
            out.append(
                f"Class {names[h]} has vanished (weight {state.weights[h]:.2g}): no row is best "
                "explained by it. Give it labelled rows, or leave it out of classes."
            )
        elif n_h < p + 1 and family.structure_is_free:
            out.append(
                f"Class {names[h]} rests on the weight of {n_h:.3g} rows for {p} features: its "
                "covariance is held up by reg_covar. Use covariance='tied' or 'diag', or fewer "
                "features."
            )
    out += family.remarks(state.params, names)
    for kind, which in family.held_up(state.params, state.weights, rows.total):
        out.append(f"{_name(which, features)} {kind}")
    if mechanism.informative:
        out += _mechanism_remarks(fit, family, mechanism, rows)
    return out


def _mechanism_remarks(
    fit: Fit, family: Family, mechanism: Mechanism, rows: ManyRows
) -> list[str]:
    """Return warnings about a mechanism that the blanks do not pin down."""
    curvature = fit.final.theta_curvature
    # Probabilities well inside (0, 1) at different uncertainties: nothing to look for.
    if np.trace(curvature) > 10 and np.linalg.eigvalsh(curvature)[0] > 100 * mechanism.ridge:
        return []
    fitted = mechanism.fitted(fit.state.theta, 0.5)

    extremes = partial(_extremes_block, family=family, state=fit.state, fitted=fitted)
    surest, unsurest, lowest, highest = np.min(rows.collect(extremes), axis=0)
    if surest > -unsurest:
        return [
            "The uncertainty separates labelled rows from blanks: the mechanism's coefficients "
            "would be infinite and are held finite by its weak prior (ridge="
            f"{mechanism.ridge:g}). Their size and standard errors mean little."
        ]
    if -highest - lowest < 1e-6:
        return [
            f"The uncertainty hardly varies (from {lowest:.3g} to {-highest:.3g}), so the blanks "
            "cannot speak about difficulty: the mechanism's coefficients rest on its weak prior. "
            "mechanism=None says the same with fewer parameters."
        ]
    return []


def _extremes_block(
    block: Block, family: Family, state: State, fitted: Mechanism
) -> tuple[float, ...]:
    log_tau, tau, _ = log_posterior(family, state, block.X)
    p = fitted.probability(log_tau, tau)
    shown = block.review > 0
    u = fitted.uncertainty.evaluate(log_tau, tau)[0][shown]
    return (
        p[shown & block.labelled].min(initial=1.0),
        -p[shown & ~block.labelled].max(initial=0.0),
        u.min(initial=np.inf),
        -u.max(initial=-np.inf),
    )
