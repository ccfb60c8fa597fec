"""The method and its caveats, as far as they concern this fit."""

from typing import Any

from hesitant._words import number
from hesitant.report._case import Case

__all__ = ["summarise_method"]

REFERENCE = "D. Ahfock and G. J. McLachlan, On missing label patterns in semi-supervised learning."
_FAMILIES = {
    "Gaussian": "Gaussian",
    "StudentT": "Student-t (like Gaussian ones, with heavier tails)",
    "SkewT": "skew-t (lopsided, with heavier tails)",
    "SkewNormal": "skew-normal (lopsided)",
}
_STRUCTURES = {
    "full": "each with a scale matrix of its own",
    "tied": "all sharing one scale matrix",
    "diag": "whose features are independent within a class",
    "spherical": "equally wide in all directions",
}


def summarise_method(case: Case) -> dict[str, Any]:
    """Return what was fitted and what it takes for granted, in words."""
    return {
        "paragraphs": [_classes(case), _likelihood(case), _difficulty(), _triage()],
        "caveats": [*_caveats(case)],
        "reference": REFERENCE,
    }


def _classes(case: Case) -> str:
    clf = case.clf
    kind = type(clf.family_).__name__
    shape = _FAMILIES.get(kind, kind)
    structure = _STRUCTURES.get(str(clf.covariance), str(clf.covariance))
    return (
        f"The rows are taken to come from {len(case.classes)} classes, {shape} in shape, "
        f"{structure}. The model has {clf.n_parameters_:,} parameters; they were chosen to make "
        f"the data most likely (log-likelihood {number(clf.log_likelihood_, 8)}, "
        f"{clf.n_iter_:,} iterations; {clf.termination_})."
    )


def _likelihood(case: Case) -> str:
    if case.clf.mechanism_.informative:
        return (
            "Labelled rows inform the classes through their label, blank rows through where they "
            "lie, and every reviewed row through whether it was labelled: the chance of a label "
            "is a logistic function of how uncertain the row's class is, estimated together with "
            "the classes (the full likelihood)."
        )
    if case.clf.alpha != 0.5:
        return (
            f"The pattern of blanks was ignored, and labelled rows were given a weight of "
            f"{2 * case.clf.alpha:g} against {2 * (1 - case.clf.alpha):g} for blank ones "
            "(a fractionally supervised fit)."
        )
    return (
        "Labelled rows inform the classes through their label and blank rows through where they "
        "lie; the pattern of blanks was ignored (the ignorance likelihood)."
    )


def _difficulty() -> str:
    return (
        "Difficulty is the entropy of a row's class probabilities: zero where one class is "
        "certain, largest where all are equally probable. Pictures show it as a share of its "
        "maximum on the logit scale. For the evidence it comes from a fit that ignores the "
        "pattern of blanks, so that the pattern cannot prove itself."
    )


def _triage() -> str:
    return (
        "Intervals come from the curvature of the likelihood at its maximum. The triage list "
        "ranks blank rows by what their label would be expected to teach."
    )


def _caveats(case: Case) -> list[str]:
    own = [
        "The evidence uses a model fitted to these same rows. The rank tests treat its entropies "
        "as measured; the likelihood ratio and Wald tests come out too sure when rows are few "
        "for the parameters, the score test least.",
        "A row far from every class may look easy or hard for the wrong reason if the classes "
        "are not shaped as assumed. See whether another family says the same.",
        "That labels are missing where the classes meet does not prove why: anything else that "
        "makes labels rare there looks alike.",
        "Probabilities hold for rows drawn like these. A new instrument, panel or population "
        "calls for a new fit.",
    ]
    if (case.data.weight != 1).any():
        own.append(
            "Row weights enter the fits and the tests of the likelihood as numbers of rows; the "
            "rank tests and the counts take every row once."
        )
    return own
