"""Options that may be given as a name or as an object."""

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from hesitant._words import did_you_mean

T = TypeVar("T")
N = TypeVar("N")
F = TypeVar("F", bound=Callable[..., Any])


def choose(parameter: str, value: object, names: Mapping[str, type[T]], kind: type[T]) -> T:
    """Return the object that ``value`` names or is, or say what would have been right."""
    if isinstance(value, kind):
        if not is_ours(value):
            refuse_incomplete(parameter, value, kind)
        return value
    return look_up(parameter, value, names, f", or an instance of {kind.__name__}")()


def look_up(parameter: str, value: object, names: Mapping[str, N], otherwise: str = "") -> N:
    """Return what a name stands for, or say which names there are."""
    listed = ", ".join(map(repr, names))
    if not isinstance(value, str):
        got = f"a {type(value).__name__}"
        if isinstance(value, type):
            got = f"the class {value.__name__}"
        raise TypeError(f"{parameter} must be one of {listed}{otherwise}; got {got}.")
    if value not in names:
        hint = did_you_mean(value, names)
        raise ValueError(f"{parameter}={value!r} is unknown; choose one of {listed}.{hint}")
    return names[value]


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function take parameters by their earlier names for one more release, and say so."""

    def decorate(function: F) -> F:
        @wraps(function)
        def accepting(*args: Any, **options: Any) -> Any:
            for old in names.keys() & options.keys():
                name = f"{function.__name__}: {old} is called {names[old]} now"
                words = f"{name}; the next release will not know it."
                warnings.warn(words, DeprecationWarning, stacklevel=2)
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return accepting  # type: ignore[return-value]

    return decorate


def is_ours(thing: object) -> bool:
    """Whether an object or class is one of the package's own, which its tests have tried."""
    kind = thing if isinstance(thing, type) else type(thing)
    return kind.__module__.startswith("hesitant.")


def refuse_incomplete(parameter: str, value: object, kind: type) -> None:
    """Name what a user's own class has left out, before a fit stumbles over it."""
    cls: Any = type(value)
    found = {name: getattr(cls, name, None) for name in dir(cls)}
    missing = [k for k, method in found.items() if getattr(method, "__isabstractmethod__", False)]
    missing += [k for k in getattr(kind, "required", ()) if not _has(value, k)]
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
