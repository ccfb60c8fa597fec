"""Options that may be given as a name or as an object."""

import difflib
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
N = TypeVar("N")

__all__ = ["choose", "look_up", "refuse_incomplete"]


def choose(parameter: str, value: object, names: Mapping[str, type[T]], kind: type[T]) -> T:
    """Return the object that ``value`` names or is, or say what would have been right.

    Parameters
    ----------
    parameter : str
        Name of the option, for the message.
    value : object
        What the user gave.
    names : mapping
        The names understood and the class each stands for.
    kind : type
        What an object must be an instance of.
    """
    if isinstance(value, kind):
        refuse_incomplete(parameter, value, kind)
        return value
    return look_up(parameter, value, names, f", or an instance of {kind.__name__}")()


def look_up(parameter: str, value: object, names: Mapping[str, N], otherwise: str = "") -> N:
    """Return what a name stands for, or say which names there are."""
    listed = ", ".join(map(repr, names))
    if not isinstance(value, str):
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        given = f"the class {kind}" if isinstance(value, type) else f"a {kind}"
        raise TypeError(f"{parameter} must be one of {listed}{otherwise}; got {given}.")
    if value not in names:
        near = difflib.get_close_matches(value, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{parameter}={value!r} is unknown; choose one of {listed}.{hint}")
    return names[value]


def refuse_incomplete(parameter: str, value: object, kind: type) -> None:
    """Name what a user's own class has left out, before a fit stumbles over it."""
    cls: Any = type(value)
    missing = [*_abstract(cls), *(k for k in _required(kind) if not _has(value, k))]
    if missing:
        listed = ", ".join(f"`{k}`" for k in missing)
        raise TypeError(
            f"{parameter}: {cls.__name__} lacks {listed}, which every {kind.__name__} must have."
        )


def _has(value: object, name: str) -> bool:
    try:
        return hasattr(value, name)
    except (TypeError, ValueError):  # a property stumbled over an option, which is checked later
        return True


def _required(kind: type) -> tuple[str, ...]:
    return getattr(kind, "required", ())


@cache
def _abstract(cls: Any) -> tuple[str, ...]:
    """Return the names of methods that a class declares and nobody has written."""
    return tuple(
        k for k in dir(cls) if getattr(getattr(cls, k, None), "__isabstractmethod__", False)
    )
