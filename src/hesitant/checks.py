"""What is wrong with data and options: said in words, with the remedy."""

import math
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.labels import describe
from hesitant.mechanisms import Ignorable, Mechanism
from hesitant.rows import Tally

__all__ = [
    "check_blanks",
    "check_jobs",
    "check_number",
    "check_reviewed",
    "check_supply",
    "check_weight",
]


def check_number(name: str, value: Any, kind: type, low: float, high: float = math.inf) -> None:
    """Raise unless ``value`` is a number of this kind in [low, high]."""
    right = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if right and low <= value <= high and math.isfinite(value):
        return
    what = "a whole number" if kind is Integral else "a number"
    bounds = f">= {low}" if high == math.inf else f"from {low} to {high}"
    error = ValueError if right else TypeError
    raise error(f"{name}={value!r}: give {what} {bounds}.")


def check_jobs(name: str, value: Any) -> None:
    """Raise unless ``value`` says how many workers to use, as joblib understands it."""
    if value is None:
        return
    right = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not right or value == 0:
        error = ValueError if right else TypeError
        raise error(f"{name}={value!r}: give a whole number >= 1, −1 for all cores, or None.")


def check_reviewed(reviewed: Any, n: int) -> BoolArray:
    """Return the reviewed column as booleans, all True by default."""
    if reviewed is None:
        return np.ones(n, dtype=bool)
    values = np.asarray(reviewed)
    if values.shape != (n,):
        raise ValueError(
            f"reviewed has shape {values.shape}: give one boolean for each of {n} rows."
        )
    if values.dtype != bool:
        plain = [
            isinstance(v, bool | int | float | np.bool_ | np.number) and v in (0, 1)
            for v in values.tolist()
        ]
        if not all(plain):
            row = plain.index(False)
            raise ValueError(
                f"reviewed[{row}] is {values.tolist()[row]!r}: give True (somebody saw the case) "
                "or False."
            )
        values = values.astype(bool)
    return values


def check_weight(sample_weight: Any, X: AnyArray) -> FloatArray:
    """Return sample weights as floats, ones by default."""
    if sample_weight is None:
        return np.ones(len(X))
    values = np.asarray(sample_weight)
    if values.size > 1 and not values.any():
        raise ValueError("sample_weight is zero for every row: give some row a weight.")
    weight: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weight


def check_supply(alpha: float, classes: AnyArray, tally: Tally) -> None:
    """Raise if the rows that alpha leaves cannot tell every class."""
    if alpha == 0 and not tally.blank > 0:
        raise ValueError(
            f"alpha={alpha!r} uses blank rows only, and there are none: use alpha=0.5."
        )
    if alpha == 1 and not tally.labelled.any():
        raise ValueError(
            f"alpha={alpha!r} uses labelled rows only, and there are none: use alpha=0.5."
        )
    if alpha == 1 and not tally.labelled.all():
        missing = describe(classes[int(np.argmin(tally.labelled))])
        raise ValueError(
            f"class {missing} has no labelled row, and alpha={alpha!r} uses labelled rows only: "
            "use a smaller alpha, or leave the class out."
        )
    sides = (0 if alpha == 0 else 1, 0 if alpha == 1 else 1)
    counting = int(sides[0] * tally.counting[:-1].sum() + sides[1] * tally.counting[-1])
    if counting < len(classes):
        raise ValueError(
            f"{counting} of {tally.n:,.0f} rows have a positive weight, for {len(classes)} "
            "classes: give more rows a weight in sample_weight."
        )


def check_blanks(mechanism: Mechanism, tally: Tally) -> tuple[Mechanism, list[str]]:
    """Return the mechanism, or none where the blanks cannot tell one, with the reason."""
    labelled, blank = tally.reviewed_labelled > 0, tally.reviewed_blank > 0
    if not mechanism.informative or (labelled and blank):
        return mechanism, []
    seen = (
        f"{'every' if labelled else 'no'} reviewed row is labelled"
        if labelled or blank
        else "no row was reviewed"
    )
    return Ignorable(), [
        f"The mechanism cannot be estimated: {seen}, so blanks have no pattern. The classes "
        "were fitted by the ignorance likelihood (labels assumed missing at random)."
    ]
