"""Options that may be given as a name or as an object."""

import warnings
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, TypeVar

from hesitant._words import did_you_mean

T = TypeVar("T")
N = TypeVar("N")
F = TypeVar("F", bound=Callable[..., Any])


def choose(parameter: str, value: object, names: Mapping[str, type[T]], kind: type[T]) -> T:
    """Return the object that ``value`` names or is, or say what would have been right."""
    if isinstance(value, kind):
        if not type(value).__module__.startswith("hesitant."):  # ours are complete
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
        hint = did_you_mean(value, names)
        raise ValueError(f"{parameter}={value!r} is unknown; choose one of {listed}.{hint}")
    return names[value]


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function take parameters by their earlier names for one more release, and say so."""

    def decorate(function: F) -> F:
        @wraps(function)
        def accepting(*args: Any, **options: Any) -> Any:
            for old in names.keys() & options.keys():
                new = names[old]
                if new in options:
                    raise TypeError(f"{function.__name__}: {old} is the earlier name of {new}.")
                warnings.warn(
                    f"{function.__name__}: {old} is called {new} now; the earlier name will not "
                    "be understood by the next release.",
                    DeprecationWarning,
                    stacklevel=2,
                )
                options[new] = options.pop(old)
            return function(*args, **options)

        return accepting  # type: ignore[return-value]

    return decorate


def refuse_incomplete(parameter: str, value: object, kind: type) -> None:
    """Name what a user's own class has left out, before a fit stumbles over it."""
    cls: Any = type(value)
    needed = getattr(kind, "required", ())
    missing = [*_abstract(cls), *(k for k in needed if not _has(value, k))]
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


@cache
def _abstract(cls: Any) -> tuple[str, ...]:
    """Return the names of methods that a class declares and nobody has written."""
    return tuple(
        k for k in dir(cls) if getattr(getattr(cls, k, None), "__isabstractmethod__", False)
    )
