"""A panel's opinions turned into labels, blank where the panel does not agree."""

import math
from collections import Counter
from numbers import Integral, Real
from typing import Any

import numpy as np

from hesitant._optional import is_null, need


def consensus(
    opinions: Any, at_least: int | float = 6, missing: Any = None, *, ties: str = "raise"
) -> Any:
    """Label each case that enough experts judge alike, and leave the others blank (None).

    Parameters
    ----------
    opinions : array-like or DataFrame of shape (n_cases, n_experts)
        None, NaN, NA and ``missing`` mean that the expert gave no opinion on the case. A DataFrame
        gives a Series with its index, anything else an array; both of objects.
    at_least : int or float, default=6
        How many experts must agree: an integer counts them, a float in (0, 1] is a share of the
        whole panel, those without an opinion included.
    ties : {"raise", "blank"}, default="raise"
        What to do with a case on which two classes reach `at_least` with equally many experts;
        only possible where `at_least` asks for half the panel or less.

    Examples
    --------
    >>> from hesitant.datasets import consensus
    >>> consensus([["benign", "benign", "benign"],
    ...            ["benign", "malign", "malign"],
    ...            ["malign", None, "malign"]], at_least=2/3)
    array(['benign', 'malign', 'malign'], dtype=object)
    """
    if ties not in ("raise", "blank"):
        raise ValueError(f"ties={ties!r} is not known; use 'raise' or 'blank'")
    values = np.array(opinions, dtype=object)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"opinions has shape {values.shape}; give one row per case and one column per expert"
        )
    threshold = _threshold(at_least, values.shape[1])
    index = (
        opinions.index if hasattr(opinions, "iloc") else range(len(values))
    )  # of a pandas frame
    labels, tied = np.full(len(values), None, dtype=object), []
    for row, said in enumerate(values):
        given = [v for v in said if not is_null(v) and (missing is None or v != missing)]
        (first, most), (_, next_most) = [*Counter(given).most_common(2), (None, 0), (None, 0)][:2]
        if most >= threshold and most == next_most:
            tied.append(f"row {index[row]!r} {most} experts each say {first!r} and another class")
        elif most >= threshold:
            labels[row] = first
    if ties == "raise" and tied:
        raise ValueError(
            f"at_least={at_least!r} leaves {len(tied)} cases tied; on {tied[0]}. Ask for more "
            f"than half the panel (at_least={values.shape[1] // 2 + 1}), or pass ties='blank' to "
            "leave them blank"
        )
    if isinstance(index, range):
        return labels
    return need("pandas").Series(labels, index=index, dtype=object)


def _threshold(at_least: int | float, n_experts: int) -> int:
    if isinstance(at_least, Integral) and at_least is not True and 1 <= at_least <= n_experts:
        return int(at_least)
    if not isinstance(at_least, Integral) and isinstance(at_least, Real) and 0 < at_least <= 1:
        # 0.7 of 10 experts are 7, although 0.7 * 10 may come out above it.
        return max(1, math.ceil(float(at_least) * n_experts - 1e-9))
    raise ValueError(
        f"at_least={at_least!r} must be a number of experts from 1 to {n_experts} (an integer), "
        "for more can never be reached, or a share of the panel above 0 and up to 1 (a float)"
    )
