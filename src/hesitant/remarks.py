"""What is worth knowing about labels and fits: said in words, and never silently."""

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from hesitant._typing import AnyArray
from hesitant._words import listed
from hesitant.exceptions import FitWarning
from hesitant.experts import Panel
from hesitant.families import Defect
from hesitant.families._base import improved, of_classes
from hesitant.labels import describe, look_alike
from hesitant.likelihood import Likelihood, log_posterior
from hesitant.rows import Block, Tally
from hesitant.solvers import FAILURES, Fit

# Rows for each free parameter of a class beyond which no trial is made; its EM steps; the fewest
# rows left out that prove anything.
_PLENTY, _STEPS, _FEWEST = 5, 10, 10
# Labelled rows of a class for each feature below which intercepts by class claimed 10 points of
# certainty too much (three classes, 20 to 60 features, 200 to 800 rows, labels at random).
_TELLING = 2
# What becomes of a blank when an array of labels is turned into text.
_BLANKS_AS_TEXT = {"nan", "NaN", "None", "<NA>", "NaT", "null", ""}


class NotConvergedWarning(FitWarning, ConvergenceWarning):
    """A fit that ran out of iterations; one of scikit-learn's convergence warnings, too."""


def label_remarks(classes: AnyArray, missing_label: Any, tally: Tally) -> list[str]:
    """Return warnings about classes like blanks or each other, and labels that count for none."""
    blanks = _BLANKS_AS_TEXT | {str(missing_label)}
    like = [repr(c) for c in classes.tolist() if isinstance(c, str) and c in blanks]
    text = "looks like a blank that was turned into text. If it is one, give None in its place, or"
    out = [f"Class {name} {text} missing_label={name}." for name in like]
    out += look_alike(classes.tolist())
    weightless = ~(tally.labelled > 0)
    if weightless.any():
        which = of_classes([describe(c) for c in classes], weightless)
        instead = "what is fitted in its place is a cluster of blank rows, named by chance"
        out.append(f"{which} no labelled row of positive weight: {instead}.")
    return out


def fit_remarks(
    fit: Fit, likelihood: Likelihood, classes: AnyArray, features: AnyArray | None
) -> list[str]:
    """Return warnings about how a fit ended."""
    family, mechanism, state = likelihood.family, likelihood.mechanism, fit.state
    names, out = [describe(c) for c in classes], []
    effective = state.weights * likelihood.total
    vanished = state.weights * likelihood.rows.tally.n < 1e-3
    free = family.n_parameters(state.params) / len(classes)
    thin = ~vanished & (effective < free) & (not family.adaptive_prior)
    if vanished.any():
        out.append(
            f"{of_classes(names, vanished)} vanished (weight {state.weights[vanished].max():.2g}):"
            " no row is best explained by it. Give it labelled rows, or leave it out of classes."
        )
    if thin.any():
        least = f"{effective[thin].min():.3g}"
        out.append(
            f"{of_classes(names, thin, 'rests', 'rest')} on the weight of {least} row"
            f"{'s' * (least != '1')} for {free:,.0f} free parameters: the probabilities "
            "will be too confident. Use covariance='shrunk'."
        )
    if effective.min() < _PLENTY * free and not family.adaptive_prior:  # that asks them itself
        out += _held_out_remarks(likelihood, len(classes))
    out += family.remarks(state.params, names)
    for defect in family.defects(state.params, state.weights, likelihood.total):
        if defect.classes is None or (defect.classes & ~vanished & ~thin).any():
            out.append(_in_words(defect, names, features))
    if isinstance(mechanism, Panel):
        out += mechanism.fitted(state.theta, 0.5).remarks()
    elif mechanism.informative:
        out += _mechanism_remarks(fit, likelihood)
    return out


def _held_out_remarks(likelihood: Likelihood, g: int) -> list[str]:
    """Return a warning if labelled rows left out of a fit belie what it claims of them."""
    family = likelihood.family
    X, codes, weight = likelihood.sample(2000)
    known = np.flatnonzero(codes >= 0)
    if len(known) < 4 * _FEWEST:
        return []
    known = known[np.argsort(codes[known], kind="stable")]
    left = known[3::4]  # every fourth of each class
    kept = np.sort(np.setdiff1d(known, left))
    inside = np.ascontiguousarray(X[kept]), weight[kept, None] * np.eye(g)[codes[kept]]
    try:
        with np.errstate(all="ignore"):
            params = improved(family, family.initial(*inside), inside, _STEPS)
            joint = family.log_density(params, np.ascontiguousarray(X[left]))
    except FAILURES:
        return []
    chances = softmax(joint + np.log(inside[1].sum(axis=0) + 1e-9), axis=1)
    claimed, right = chances.max(axis=1).mean(), (chances.argmax(axis=1) == codes[left]).mean()
    if not claimed - right > 0.1 + 2 * np.sqrt(right * (1 - right) / len(left)):
        return []
    return [
        f"Of {len(left)} labelled rows left out of a fit to the others, it is {claimed:.0%} sure "
        f"and right about {right:.0%}: rows are few for its {family.n_parameters(params):,} free "
        "parameters, and probabilities claim more than they hold. Use covariance='shrunk'."
    ]


def _in_words(defect: Defect, names: list[str], features: AnyArray | None) -> str:
    if defect.features is None:
        return defect.what
    places = np.flatnonzero(defect.features)
    shown = listed([str(j) if features is None else repr(str(features[j])) for j in places])
    which = f"feature {shown} is" if places.size == 1 else f"features {shown} are"
    if defect.classes is None:
        return f"F{which[1:]} {defect.what}"
    within = of_classes(names, defect.classes, "", "").strip()
    return f"Within {within[0].lower()}{within[1:]}, {which} {defect.what}"


def _mechanism_remarks(fit: Fit, likelihood: Likelihood) -> list[str]:
    """Return warnings about a mechanism that the blanks do not pin down."""
    mechanism = likelihood.mechanism
    curvature = mechanism.information(fit.state.theta, fit.final.theta_curvature)
    fewest, p = int(likelihood.rows.tally.counting[:-1].min()), likelihood.rows.n_features
    if mechanism.by_class and 0 < fewest < _TELLING * p:
        return [
            f"A class has {fewest} labelled rows for {p} features, too few to place its mean: "
            "with an intercept for every class, blanks then tend to be counted as one class, and "
            "too surely. Use mechanism='entropy', fewer features, or more labels."
        ]
    # Probabilities well inside (0, 1) at different uncertainties: nothing to look for.
    _, loose = dpotrf(curvature - 100 * mechanism.ridge * np.eye(len(curvature)))
    if curvature.trace() > 10 and not loose:
        return []
    value, vector = np.linalg.eigh(curvature)
    if mechanism.by_class and value[0] <= 100 * mechanism.ridge:
        size = np.abs(vector[:, 0])
        names = [mechanism.parameter_names[k] for k in np.flatnonzero(size > 0.5 * size.max())]
        return [
            f"The data hardly determine {listed(names)}: in some class nearly every row is "
            f"labelled, or none. A weak prior (ridge={mechanism.ridge:g}) keeps it finite; its "
            "size means little. mechanism='entropy' has fewer parameters."
        ]
    family, state, fitted = likelihood.family, fit.state, mechanism.fitted(fit.state.theta, 0.5)

    def extremes(block: Block) -> tuple[float, ...]:
        log_tau, tau, _ = log_posterior(family, state, block.X)
        p, shown = fitted.probability(log_tau, tau), block.review > 0
        u = fitted.uncertainty.evaluate(log_tau, tau)[0][shown]
        surest = p[shown & block.labelled].min(initial=1.0)
        unsurest = p[shown & ~block.labelled].max(initial=0.0)
        return surest, -unsurest, u.min(initial=np.inf), -u.max(initial=-np.inf)

    surest, unsurest, lowest, highest = np.min(likelihood.rows.collect(extremes), axis=0)
    if surest > -unsurest:
        return [
            "The uncertainty separates labelled rows from blanks: infinite coefficients are held "
            f"finite by a weak prior (ridge={mechanism.ridge:g}), and their size means little."
        ]
    if -highest - lowest < 1e-6:
        return [
            f"The uncertainty hardly varies (by {-highest - lowest:.3g}), so the blanks say "
            "nothing about difficulty: mechanism=None says the same with fewer parameters."
        ]
    return []
