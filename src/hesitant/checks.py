"""What is wrong with data and options: said in words, with the remedy."""

import math
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant._words import did_you_mean
from hesitant.labels import describe
from hesitant.rows import Tally

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def choose(parameter: str, value: object, names: Mapping[str, type[T]], kind: type[T]) -> T:
    """Return the object that ``value`` names or is, or say what would have been right."""
    if isinstance(value, kind):
        if not is_ours(value):
            refuse_incomplete(parameter, value, kind)
        return value
    return look_up(parameter, value, names, f", or an instance of {kind.__name__}")()


def look_up(parameter: str, value: object, names: Mapping[str, T], otherwise: str = "") -> T:
    """Return what a name stands for, or say which names there are."""
    if isinstance(value, str) and value in names:
        return names[value]
    listed = ", ".join(map(repr, names))
    if not isinstance(value, str):
        kind = value if isinstance(value, type) else type(value)
        got = f"{'the class' if kind is value else 'a'} {kind.__name__}"
        raise TypeError(f"{parameter} must be one of {listed}{otherwise}; got {got}.")
    hint = did_you_mean(value, names)
    raise ValueError(f"{parameter}={value!r} is unknown; choose one of {listed}.{hint}")


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function take parameters by their earlier names for one more release, and say so."""

    def decorate(function: F) -> F:
        @wraps(function)
        def accepting(*args: Any, **options: Any) -> Any:
            for old in names.keys() & options.keys():
                words = f"{old} is called {names[old]} now; the next release will not know it."
                warnings.warn(words, DeprecationWarning, stacklevel=2)
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return accepting  # type: ignore[return-value]

    return decorate


def is_ours(thing: object) -> bool:
    """Whether an object or class is one of the package's own, which its tests have tried."""
    return (thing if isinstance(thing, type) else type(thing)).__module__.startswith("hesitant.")


def refuse_incomplete(parameter: str, value: object, kind: type) -> None:
    """Name what a user's own class has left out, before a fit stumbles over it."""
    cls: Any = type(value)
    found = {name: getattr(cls, name, None) for name in dir(cls)}
    missing = [k for k, method in found.items() if getattr(method, "__isabstractmethod__", False)]
    missing += [k for k in getattr(kind, "required", ()) if not hasattr(value, k)]
    if missing:
        lacks = f"{cls.__name__} lacks {', '.join(f'`{k}`' for k in missing)}"
        raise TypeError(f"{parameter}: {lacks}, which every {kind.__name__} must have.")


def check_number(name: str, value: Any, kind: type, low: float, high: float = math.inf) -> None:
    """Raise unless ``value`` is a number of this kind in [low, high]."""
    right = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if right and low <= value <= high and math.isfinite(value):
        return
    what = "a whole number" if kind is Integral else "a number"
    bounds = f">= {low}" if high == math.inf else f"from {low} to {high}"
    raise (ValueError if right else TypeError)(f"{name}={value!r}: give {what} {bounds}.")


def check_jobs(name: str, value: Any) -> None:
    """Raise unless ``value`` says how many workers to use, as joblib understands it."""
    right = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if value is not None and (not right or value == 0):
        error = ValueError if right else TypeError
        raise error(f"{name}={value!r}: give a whole number >= 1, −1 for all cores, or None.")


def check_seed(name: str, value: Any) -> None:
    """Raise unless ``value`` is something that random numbers can start from."""
    kinds = (Integral, np.random.RandomState, np.random.Generator)
    if not (value is None or value is np.random or isinstance(value, kinds)):
        raise TypeError(f"{name}={value!r}: give a whole number, a NumPy generator, or None.")


def check_shown(name: str, given: Any, shape: tuple[int, ...]) -> BoolArray:
    """Return as booleans who was shown which rows, all True by default."""
    if given is None:
        return np.broadcast_to(True, shape)
    values = np.asarray(given)
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}: give {shape}, True where it was seen.")
    for place, v in np.ndenumerate(values.astype(object)) if values.dtype != bool else ():
        if not isinstance(v, bool | int | float | np.bool_ | np.number) or v not in (0, 1):
            where = ", ".join(map(str, place))
            raise ValueError(f"{name}[{where}] is {v!r}: give True if it was seen, else False.")
    return values.astype(bool)


def check_weight(sample_weight: Any, X: AnyArray, some: bool = True) -> FloatArray:
    """Return sample weights as floats, ones by default; of all rows, ``some`` must have one."""
    if sample_weight is None:
        return np.broadcast_to(1.0, len(X))
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, one a row: {error}.") from None
    weight = np.full(len(X), weight) if weight.ndim == 0 else weight
    if weight.shape != (len(X),):
        raise ValueError(f"sample_weight has shape {weight.shape}: give {len(X)} numbers.")
    for row in np.flatnonzero(~((weight >= 0) & (weight < np.inf))).tolist():
        raise ValueError(f"sample_weight[{row}] is {weight[row]}: give finite numbers >= 0.")
    if some and not weight.max(initial=0) > 1e-20:
        raise ValueError("sample_weight is zero for every row, or nearly so: give some rows more.")
    return weight


def check_supply(alpha: float, classes: AnyArray, tally: Tally) -> None:
    """Raise if the rows that alpha leaves cannot tell every class."""
    sides: dict[float, Any] = {0: ("blank", tally.blank), 1: ("labelled", tally.labelled.any())}
    side, there = sides.get(alpha, ("", True))
    if not there:
        raise ValueError(f"alpha={alpha!r} uses {side} rows only, and there are none: use 0.5.")
    if alpha == 1 and not tally.labelled.all():
        missing = f"class {describe(classes[int(np.argmin(tally.labelled))])} has no labelled row"
        raise ValueError(f"{missing}, and alpha={alpha!r} uses no other: give a smaller alpha.")
    counting = int((alpha > 0) * tally.counting[:-1].sum() + (alpha < 1) * tally.counting[-1])
    if counting < len(classes):
        few = f"{counting} of {tally.n:,.0f} rows have a positive weight"
        raise ValueError(f"{few}, for {len(classes)} classes: give more rows a weight.")
