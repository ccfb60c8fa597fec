"""Models to compare, named so that a table can be read."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from hesitant.families import FAMILIES
from hesitant.mechanisms import EntropyMechanism, as_mechanism

__all__ = ["as_candidates", "describe_model"]


def default_grid() -> dict[str, list[Any]]:
    """Return every family with free and tied matrices, and four mechanisms."""
    return {
        "family": list(FAMILIES),
        "covariance": ["full", "tied"],
        "mechanism": [
            None,
            EntropyMechanism(),
            EntropyMechanism(order=2),
            EntropyMechanism(basis="spline"),
        ],
    }


def as_candidates(given: Any, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return classifiers by name.

    Parameters
    ----------
    given : None, mapping or sequence
        A mapping of names to classifiers, a mapping of parameters to lists of values (all
        combinations), or a sequence of classifiers or of dicts of parameters.
    shared : mapping
        Parameters of every candidate that is not a classifier already.
    """
    from hesitant.classifier import MixtureClassifier

    given = default_grid() if given is None else given
    if isinstance(given, Mapping):
        if given and all(isinstance(v, MixtureClassifier) for v in given.values()):
            return {str(name): clf for name, clf in given.items()}
        given = [
            dict(zip(given, values, strict=True))
            for values in itertools.product(*(_listed(k, v) for k, v in given.items()))
        ]
    out: dict[str, Any] = {}
    for item in given:
        if isinstance(item, Mapping):
            item = MixtureClassifier(**{**shared, **item})
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
    family = clf.family if isinstance(clf.family, str) else repr(clf.family)
    parts = [family, str(clf.covariance), _in_words(clf.mechanism)]
    if clf.alpha != 0.5:
        parts.append(f"alpha={clf.alpha:g}")
    return ", ".join(parts)


def _in_words(mechanism: Any) -> str:
    try:
        return as_mechanism(mechanism).in_words
    except (TypeError, ValueError):  # its fit will say what is wrong
        return str(mechanism)
