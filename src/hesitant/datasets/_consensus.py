"""A panel's opinions turned into labels, blank where the panel does not agree."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from hesitant._optional import is_null, need


def consensus(
    opinions: Any, at_least: int | float = 6, missing: Any = None, *, ties: str = "raise"
) -> Any:
    """Label each case that enough experts judge alike, and leave the others blank.

    Parameters
    ----------
    opinions : array-like or DataFrame of shape (n_cases, n_experts)
        None, NaN and NA mean that the expert gave no opinion on the case.
    at_least : int or float, default=6
        How many experts must agree: an integer counts them, a float in (0, 1] is a share of the
        whole panel, those without an opinion included.
    missing : scalar, optional
        Another value that marks "no opinion", -1 or "?" for instance.
    ties : {"raise", "blank"}, default="raise"
        What to do with a case on which two classes reach `at_least` with equally many experts;
        only possible where `at_least` asks for half the panel or less.

    Returns
    -------
    Series or ndarray of shape (n_cases,)
        The class that enough experts chose, otherwise None. A DataFrame gives a Series with its
        index, anything else an array; both of objects, so that classes keep their values.

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
    threshold = _threshold(at_least, n_experts=values.shape[1])
    # A dictionary rather than np.unique: classes need not be of one sortable type.
    known: dict[Any, int] = {}
    coded = np.full(values.shape, -1)
    for place, value in np.ndenumerate(values):
        if not is_null(value) and (missing is None or value != missing):
            coded[place] = known.setdefault(value, len(known))
    classes = np.array([*known, None], dtype=object)  # the last one is found by code -1
    counts = (coded[:, :, None] == np.arange(max(len(known), 1))).sum(axis=1)
    most = counts.max(axis=1)
    tied = (most >= threshold) & ((counts == most[:, None]).sum(axis=1) > 1)
    index = opinions.index if hasattr(opinions, "iloc") else None  # of a pandas frame
    if ties == "raise" and tied.any():
        first = int(tied.argmax())
        row = first if index is None else index[first]
        rivals = " and ".join(repr(c) for c in classes[:-1][counts[first] == most[first]])
        raise ValueError(
            f"at_least={at_least!r} leaves {int(tied.sum())} cases tied; on row {row!r} "
            f"{most[first]} experts each say {rivals}. Ask for more than half the panel "
            f"(at_least={values.shape[1] // 2 + 1}), or pass ties='blank' to leave tied cases "
            "blank"
        )
    labels = classes[np.where((most >= threshold) & ~tied, counts.argmax(axis=1), -1)]
    return labels if index is None else need("pandas").Series(labels, index=index, dtype=object)


def _threshold(at_least: int | float, n_experts: int) -> int:
    if isinstance(at_least, Integral) and not isinstance(at_least, bool):
        if at_least > n_experts:
            raise ValueError(
                f"at_least={at_least} can never be reached: opinions has {n_experts} experts "
                f"(columns); use at most {n_experts}, or a share such as 0.8"
            )
        if at_least >= 1:
            return int(at_least)
    elif isinstance(at_least, Real) and 0 < at_least <= 1 and at_least is not True:
        # 0.7 of 10 experts are 7, although 0.7 * 10 may come out above it.
        return max(1, math.ceil(float(at_least) * n_experts - 1e-9))
    raise ValueError(
        f"at_least={at_least!r} must be a number of experts from 1 to {n_experts} (an integer) or "
        "a share of the panel above 0 and up to 1 (a float)"
    )
