"""What is worth knowing about labels and fits: said in words, and never silently."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hesitant._typing import AnyArray, BoolArray
from hesitant.exceptions import FitWarning
from hesitant.experts import Panel
from hesitant.families import Defect, Family
from hesitant.families._base import listed, of_classes
from hesitant.fitting import Fit
from hesitant.labels import describe
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.mechanisms import Mechanism
from hesitant.rows import Block, ManyRows, Tally

__all__ = ["NotConvergedWarning", "fit_remarks", "label_remarks"]

# What becomes of a blank when an array of labels is turned into text.
_BLANKS_AS_TEXT = {"nan", "NaN", "None", "<NA>", "NaT", "null", ""}


class NotConvergedWarning(FitWarning, ConvergenceWarning):
    """A fit that ran out of iterations; one of scikit-learn's convergence warnings, too."""


def label_remarks(classes: AnyArray, missing_label: Any, tally: Tally) -> list[str]:
    """Return warnings about classes that look like blanks, and labels that count for nothing."""
    out = []
    for name in classes.tolist():
        if isinstance(name, str) and name in _BLANKS_AS_TEXT | {str(missing_label)}:
            out.append(
                f"Class {name!r} looks like a blank that was turned into text. If it is one, give "
                f"None in its place, or missing_label={name!r}."
            )
    weightless = ~(tally.labelled > 0)
    if weightless.any():
        which = of_classes([describe(c) for c in classes], weightless)
        out.append(
            f"{which} no labelled row of positive weight: what is fitted in its place is a "
            "cluster of blank rows, named by chance."
        )
    return out


def fit_remarks(
    fit: Fit, likelihood: Likelihood, classes: AnyArray, features: AnyArray | None
) -> list[str]:
    """Return warnings about how a fit ended."""
    rows, family, mechanism = likelihood.rows, likelihood.family, likelihood.mechanism
    state = fit.state
    names = [describe(c) for c in classes]
    out = []
    effective = state.weights * likelihood.total
    vanished = state.weights * rows.tally.n < 1e-3
    free = family.n_parameters(state.params) / len(classes)
    thin = ~vanished & (effective < free) & (not family.adapts)
    if vanished.any():
        out.append(
            f"{of_classes(names, vanished)} vanished (weight "
            f"{state.weights[vanished].max():.2g}): no row is best explained by it. Give it "
            "labelled rows, or leave it out of classes."
        )
    if thin.any():
        remedy = "fewer features, or more rows" if family.adapts else "covariance='shrunk'"
        out.append(
            f"{of_classes(names, thin, 'rests', 'rest')} on the weight of "
            f"{effective[thin].min():.3g} rows for {free:,.0f} free parameters: its probabilities "
            f"will claim more than they can hold. Use {remedy}."
        )
    out += family.remarks(state.params, names)
    for defect in family.held_up(state.params, state.weights, likelihood.total):
        known = defect.classes is not None and not (defect.classes & ~vanished & ~thin).any()
        if not known:
            out.append(_in_words(defect, names, features))
    if isinstance(mechanism, Panel):
        out += mechanism.fitted(state.theta, 0.5).remarks()
    elif mechanism.informative:
        out += _mechanism_remarks(fit, family, mechanism, rows)
    return out


def _in_words(defect: Defect, names: list[str], features: AnyArray | None) -> str:
    if defect.features is None:
        return defect.what
    which = _features(defect.features, features)
    if defect.classes is None:
        return f"{which} {defect.what}"
    within = of_classes(names, defect.classes, "", "").strip()
    return f"Within {_lower(within)}, {_lower(which)} {defect.what}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _features(which: BoolArray, names: AnyArray | None) -> str:
    places = np.flatnonzero(which)
    shown = listed([repr(str(names[j])) if names is not None else str(j) for j in places])
    return f"Feature {shown} is" if places.size == 1 else f"Features {shown} are"


def _mechanism_remarks(
    fit: Fit, family: Family, mechanism: Mechanism, rows: ManyRows
) -> list[str]:
    """Return warnings about a mechanism that the blanks do not pin down."""
    curvature = fit.final.theta_curvature
    # Probabilities well inside (0, 1) at different uncertainties: nothing to look for.
    if np.trace(curvature) > 10 and np.linalg.eigvalsh(curvature)[0] > 100 * mechanism.ridge:
        return []
    fitted = mechanism.fitted(fit.state.theta, 0.5)
    value, vector = np.linalg.eigh(curvature)
    if mechanism.by_class and value[0] <= 100 * mechanism.ridge:
        size = np.abs(vector[:, 0])
        loose = [mechanism.parameter_names[k] for k in np.flatnonzero(size > 0.5 * size.max())]
        return [
            f"The data hardly determine {listed(loose)}: nearly all rows of a class are labelled, "
            f"or nearly none. The mechanism's weak prior (ridge={mechanism.ridge:g}) keeps it "
            "finite; its size means little. mechanism='entropy' has fewer parameters."
        ]

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
