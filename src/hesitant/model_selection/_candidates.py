"""Models to choose from, named so that a table can be read."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from hesitant._typing import IntArray
from hesitant.checks import look_up
from hesitant.classifier import MixtureClassifier
from hesitant.experts import as_readers
from hesitant.families import KernelDensity, Ranked
from hesitant.mechanisms import Mechanism, as_mechanism

Models: TypeAlias = dict[str, MixtureClassifier]  # by name

# What "auto" tries: classes of these shapes. ``rows`` is how many labelled rows of every class,
# times the number of features, a shape needs; ``labels`` how many whatever the features;
# ``features`` how many it is quick enough for; ``mechanisms`` are its own.
PLAIN: dict[str, Any] = {"mechanisms": (None,), "alpha": 1.0}
_GAUSSIAN: list[dict[str, Any]] = [{"covariance": kind} for kind in ("tied", "shrunk", "diag")]
_GAUSSIAN += [{"covariance": "full", "rows": 1.0, "features": 60}]
SHAPES: tuple[dict[str, Any], ...] = (
    *_GAUSSIAN,
    *(shape | PLAIN for shape in _GAUSSIAN),
    {"family": "t", "covariance": "shrunk", "features": 12},
    {"covariance": "shrunk", "components": 2, "labels": 10, "features": 40, **PLAIN},
    {"covariance": "shrunk", "components": 4, "labels": 20, "features": 8, **PLAIN},
    {"family": Ranked(), "covariance": "shrunk", "solver": "em", **PLAIN},
    {"family": Ranked(), "covariance": "diag", "solver": "em", **PLAIN},
    {"family": KernelDensity(), "solver": "em", "tol": 1.0, "mechanisms": (None,)},
    {"family": Ranked(KernelDensity()), "solver": "em", "tol": 1.0, "mechanisms": (None,)},
)
MECHANISMS = (None, "entropy", "class", "entropy+class")
WIDE = 10  # entries of a matrix, for each row
_RULES = ("rows", "features", "labels", "mechanisms")


def auto_candidates(
    X: Any, codes: IntArray, n_classes: int, *, pattern: bool = True, experts: Any = "right"
) -> Models:
    """Return the models that ``candidates="auto"`` tries on such data, by name.

    ``codes`` are the rows' classes, −1 for a blank; ``pattern`` says whether blanks are worth
    explaining, ``experts`` is that of :class:`~hesitant.MixtureClassifier`.
    """
    p, gaps = X.shape[1], bool(np.isnan(X).any())
    fewest = np.bincount(codes[codes >= 0], minlength=n_classes).min()
    fallible = as_readers(experts).fallible
    fractions, models = (codes < 0).any() and fewest and not fallible, []
    for shape in SHAPES:
        needed = max(shape.get("labels", 0), shape.get("rows", 0.0) * p)
        if p > shape.get("features", np.inf) or fewest < needed:
            continue
        if fallible and ("components" in shape or "tol" in shape):
            continue  # what follows single labels closely follows their mistakes
        options = {k: v for k, v in shape.items() if k not in _RULES}
        if not fractions:
            options["alpha"] = 0.5
        if fallible and "solver" in options:  # labels that may be wrong are explained, too
            options["solver"] = "one_step_late"
        clf = MixtureClassifier(experts=experts, max_iter=300, **options)
        if gaps and not clf._resolve()[0].takes_gaps:
            continue
        if clf.components != 1:  # where a class is split at first; to the last digit is too dear
            clf.set_params(random_state=0, tol=0.1)
        # a mechanism bends matrices that rows hardly determine, slowly and to no use
        explains = pattern and (clf.covariance != "shrunk" or p * p <= WIDE * len(codes))
        for mechanism in shape.get("mechanisms", MECHANISMS) if explains else (None,):
            models.append(clone(clf).set_params(mechanism=mechanism))
    return as_candidates({repr(clf): clf for clf in models}.values())  # alpha may not matter


def as_candidates(given: Any, shared: Mapping[str, Any] | None = None) -> Models:
    """Return classifiers by name.

    ``given`` maps names to classifiers, or parameters to lists of values (all combinations), or is
    a sequence of classifiers or of dicts of parameters, each with the ``shared`` ones added.
    """
    if isinstance(given, Mapping):
        if given and all(isinstance(v, MixtureClassifier) for v in given.values()):
            return {str(name): clf for name, clf in given.items()}
        given = ParameterGrid(dict(given))
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"candidates is {given!r}: give a list of MixtureClassifiers.")
    out: Models = {}
    for item in given:
        if isinstance(item, Mapping):
            for name in item:
                look_up("candidates: parameter", name, MixtureClassifier().get_params())
            item = MixtureClassifier(**{**(shared or {}), **item})
        if not isinstance(item, MixtureClassifier):
            what = f"candidates contains a {type(item).__name__}"
            raise TypeError(f"{what}: give MixtureClassifiers or dicts of their parameters.")
        name = describe_model(item)
        if name in out:
            name = f"{name} ({len(out) + 1})"
        out[name] = item
    if not out:
        raise ValueError("candidates is empty: give at least one model.")
    return out


def describe_model(clf: Any) -> str:
    """Return a model in a few words: family, covariance, mechanism, alpha if not one half."""
    parts = [_family_name(clf.family)]
    if "kernels" not in parts[0]:
        parts.append(clf.covariance if isinstance(clf.covariance, str) else repr(clf.covariance))
    if clf.components != 1:
        parts.append(f"{clf.components} components")
    parts.append(getattr(_mechanism(clf), "in_words", str(clf.mechanism)))
    if clf.alpha != 0.5:
        parts.append(f"alpha={clf.alpha:g}")
    return ", ".join(parts)


def _family_name(family: Any) -> str:
    if isinstance(family, Ranked):
        return f"{_family_name(family.family or 'gaussian')} on ranks"
    if isinstance(family, KernelDensity):
        return "kernels"
    return family if isinstance(family, str) else repr(family)


def _mechanism(clf: Any) -> Mechanism | None:
    with suppress(TypeError, ValueError):  # its fit will say what is wrong
        return as_mechanism(clf.mechanism)
    return None


def informative(clf: Any) -> bool:
    """Whether a model explains the blanks."""
    return bool(getattr(_mechanism(clf), "informative", True))


def shape_of(clf: Any) -> str:
    """Return what models have in common that differ in their mechanism alone."""
    return repr(sorted({**clf.get_params(deep=False), "mechanism": None}.items()))


def shapes(models: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the names of models that differ in their mechanism alone, the plainest first."""
    groups: dict[str, list[str]] = {}
    for name, clf in models.items():
        groups.setdefault(shape_of(clf), []).append(name)
    for names in groups.values():
        yield sorted(names, key=lambda name: informative(models[name]))
