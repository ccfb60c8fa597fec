"""Families, mechanisms, bases and measures by name: the only classes a model file may mention."""

from typing import Any

from sklearn.base import BaseEstimator

from hesitant.families import Family
from hesitant.families._covariance import Structure
from hesitant.mechanisms import Basis, Link, Mechanism
from hesitant.persistence._errors import Damaged
from hesitant.persistence._values import decode, encode
from hesitant.uncertainty import Uncertainty

__all__ = ["decode_option", "encode_option"]

_ROOTS: tuple[type[BaseEstimator], ...] = (
    Family,
    Structure,
    Mechanism,
    Basis,
    Link,
    Uncertainty,
)


def encode_option(name: str, value: Any) -> Any:
    """Return an option as a document, or say why it cannot be saved.

    Parameters
    ----------
    name : str
        The option, for the message.
    value : object
        Plain data, or one of the package's own families, mechanisms, bases or measures.
    """
    if isinstance(value, _ROOTS):
        kind = type(value)
        if _known().get(kind.__name__) is not kind:
            raise ValueError(
                f"{name}={value!r} is of a class of your own, {kind.__name__}: a model file holds "
                "data and no code, so a model with it cannot be saved. Keep the script that makes "
                "it, or use one of the package's own classes."
            )
        options = {k: encode_option(k, v) for k, v in value.get_params(deep=False).items()}
        return {"object": {"class": kind.__name__, "options": options}}
    try:
        return encode(value)
    except TypeError as error:
        hint = (
            " (use one of the built-in bases in place of Functions)"
            if name in ("functions", "derivatives")
            else ""
        )
        raise ValueError(
            f"{name} holds {error}, which a model file cannot carry: it holds numbers, text and "
            f"this package's own classes only{hint}."
        ) from None


def decode_option(document: Any) -> Any:
    """Undo `encode_option`, by the class's own constructor."""
    if not (isinstance(document, dict) and set(document) == {"object"}):
        return decode(document)
    inner = document["object"]
    if not (
        isinstance(inner, dict)
        and set(inner) == {"class", "options"}
        and isinstance(inner["class"], str)
        and isinstance(inner["options"], dict)
    ):
        raise Damaged("an object is incomplete")
    kind = _known().get(inner["class"])
    if kind is None:
        raise Damaged(f"it names a class that this version does not have: {inner['class'][:60]!r}")
    unknown = set(inner["options"]) - set(kind._get_param_names())
    if unknown:
        raise Damaged(f"{kind.__name__} has no option {sorted(unknown)[0][:60]!r} in this version")
    return kind(**{k: decode_option(v) for k, v in inner["options"].items()})


def _known() -> dict[str, Any]:
    """Return every class of the package that an option may hold, by name.

    They are found rather than listed, so that a new family or mechanism can be saved from the day
    it is written.
    """
    found: dict[str, Any] = {}
    waiting: list[type] = list(_ROOTS)
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("hesitant.") and not kind.__name__.startswith("_"):
            found[kind.__name__] = kind
    return {name: kind for name, kind in found.items() if kind not in _ROOTS}
