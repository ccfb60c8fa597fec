"""Models to choose from, named so that a table can be read."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from hesitant._typing import IntArray
from hesitant.classifier import MixtureClassifier
from hesitant.families import FAMILIES
from hesitant.mechanisms import as_mechanism

# What "auto" tries: classes of these shapes, with each alpha and each mechanism. ``rows`` is how
# many labelled rows of every class, times the number of features, a shape is worth trying from;
# ``features`` how many features it is quick enough for, ``labels`` how many labelled rows of every
# class it needs whatever the features; a ``plain`` one is tried without a mechanism only.
SHAPES: tuple[dict[str, Any], ...] = (
    {"covariance": "tied"},
    {"covariance": "shrunk"},
    {"covariance": "diag"},
    {"covariance": "full", "rows": 1.0, "features": 60},
    {"family": "t", "covariance": "tied", "features": 60},
    {"family": "t", "covariance": "shrunk", "features": 60},
    {"family": "skew_t", "covariance": "full", "rows": 40.0, "features": 4},
    {"covariance": "shrunk", "components": 2, "labels": 10, "features": 40, "plain": True},
    {"covariance": "shrunk", "components": 4, "labels": 20, "features": 8, "plain": True},
)
ALPHAS = (0.5, 1.0)
MECHANISMS = (None, "entropy", "class", "entropy+class")
_RULES = ("rows", "features", "labels", "plain")


def auto_candidates(
    X: Any, codes: IntArray, n_classes: int, *, pattern: bool = True
) -> dict[str, MixtureClassifier]:
    """Return the models that ``candidates="auto"`` tries on such data, by name.

    Parameters
    ----------
    X : array of shape (n, p)
    codes : array of shape (n,)
        Class of each row, −1 for a blank.
    n_classes : int
    pattern : bool, default=True
        Whether blanks are worth explaining.
    """
    p, gaps = X.shape[1], bool(np.isnan(X).any())
    fewest = np.bincount(codes[codes >= 0], minlength=n_classes).min()
    blank = bool((codes < 0).any())
    models = []
    for shape, alpha, mechanism in itertools.product(
        SHAPES, ALPHAS if blank and fewest else (0.5,), MECHANISMS if pattern else (None,)
    ):
        if p > shape.get("features", np.inf) or fewest < shape.get("rows", 0.0) * p:
            continue
        if fewest < shape.get("labels", 0) or (mechanism and shape.get("plain")):
            continue
        if gaps and not getattr(FAMILIES[shape.get("family", "gaussian")], "takes_gaps", False):
            continue
        if alpha == 1 and shape.get("family") == "skew_t":
            continue  # slow, and least in need of it
        options = {k: v for k, v in shape.items() if k not in _RULES}
        if "components" in options:
            options["random_state"] = 0  # where a class is split at first
        models.append(MixtureClassifier(alpha=alpha, mechanism=mechanism, max_iter=300, **options))
    return as_candidates(models)


def as_candidates(
    given: Any, shared: Mapping[str, Any] | None = None
) -> dict[str, MixtureClassifier]:
    """Return classifiers by name.

    Parameters
    ----------
    given : mapping or sequence
        A mapping of names to classifiers, a mapping of parameters to lists of values (all
        combinations), or a sequence of classifiers or of dicts of parameters.
    shared : mapping, optional
        Parameters of every candidate that is not a classifier already.
    """
    if isinstance(given, Mapping):
        if given and all(isinstance(v, MixtureClassifier) for v in given.values()):
            return {str(name): clf for name, clf in given.items()}
        given = [
            dict(zip(given, values, strict=True))
            for values in itertools.product(*(_listed(k, v) for k, v in given.items()))
        ]
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"candidates is {given!r}: give a list of MixtureClassifiers.")
    out: dict[str, MixtureClassifier] = {}
    for item in given:
        if isinstance(item, Mapping):
            item = MixtureClassifier(**{**(shared or {}), **item})
        if not isinstance(item, MixtureClassifier):
            raise TypeError(
                f"candidates contains a {type(item).__name__}: give MixtureClassifiers or dicts "
                "of their parameters."
            )
        name = describe_model(item)
        if name in out:
            name = f"{name} ({len(out) + 1})"
        out[name] = item
    if not out:
        raise ValueError("candidates is empty: give at least one model.")
    return out


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"candidates[{name!r}] is {values!r}: give a list of values to try.")
    return list(values)


def describe_model(clf: Any) -> str:
    """Return a model in a few words: family, covariance, mechanism, alpha if not one half."""
    parts = [str(v) if isinstance(v, str) else repr(v) for v in (clf.family, clf.covariance)]
    parts.append(_in_words(clf.mechanism))
    components = getattr(clf, "components", 1)
    if components != 1:
        parts.insert(2, f"{components} components")
    if clf.alpha != 0.5:
        parts.append(f"alpha={clf.alpha:g}")
    return ", ".join(parts)


def _in_words(mechanism: Any) -> str:
    try:
        return as_mechanism(mechanism).in_words
    except (TypeError, ValueError):  # its fit will say what is wrong
        return str(mechanism)


def informative(clf: Any) -> bool:
    """Whether a model explains the blanks."""
    try:
        return as_mechanism(clf.mechanism).informative
    except (TypeError, ValueError):
        return True


def shapes(models: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the names of models that differ in their mechanism alone, the plainest first."""
    groups: dict[str, list[str]] = {}
    for name, clf in models.items():
        options = {k: v for k, v in clf.get_params(deep=False).items() if k != "mechanism"}
        groups.setdefault(repr(sorted(options.items(), key=lambda kv: kv[0])), []).append(name)
    for names in groups.values():
        yield sorted(names, key=lambda name: informative(models[name]))
