"""A panel's opinions turned into labels, blank where the panel does not agree."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hesitant._optional import is_null


def consensus(
    opinions: Any,
    at_least: int | float = 6,
    missing: Any = None,
    *,
    ties: Literal["raise", "blank"] = "raise",
) -> Any:
    """Label each case that enough experts judge alike, and leave the others blank.

    Parameters
    ----------
    opinions : array-like or DataFrame of shape (n_cases, n_experts)
        One row per case, one column per expert. None, NaN and NA mean that the expert gave no
        opinion on the case.
    at_least : int or float, default=6
        How many experts must agree: an integer counts them, a float in (0, 1] is a share of the
        whole panel. An expert without an opinion on a case belongs to the panel but agrees with
        nobody.
    missing : scalar, optional
        Another value that marks "no opinion", -1 or "?" for instance.
    ties : {"raise", "blank"}, default="raise"
        What to do with a case on which two classes reach `at_least` with equally many experts;
        only possible where `at_least` asks for half the panel or less.

    Returns
    -------
    Series or ndarray of shape (n_cases,)
        For each case the class most experts chose if at least `at_least` did, otherwise None. A
        DataFrame gives a Series with its index, anything else an array; both of objects, so that
        classes keep their values.

    Examples
    --------
    >>> from hesitant.datasets import consensus
    >>> consensus([["benign", "benign", "benign"],
    ...            ["benign", "malign", "malign"],
    ...            ["malign", None, "malign"]], at_least=3)
    array(['benign', None, None], dtype=object)

    Two thirds of the panel:

    >>> consensus([[1, 1, 1], [1, 2, 2], [2, -1, 2]], at_least=2/3, missing=-1)
    array([1, 2, 2], dtype=object)
    """
    if ties not in ("raise", "blank"):
        raise ValueError(f"ties={ties!r} is not known; use 'raise' or 'blank'")
    values, given = _cells(opinions, missing)
    threshold = _threshold(at_least, n_experts=values.shape[1])

    # A dictionary rather than np.unique: classes need not be of one sortable type.
    codes: dict[Any, int] = {}
    coded = np.full(values.shape, -1)
    coded[given] = [codes.setdefault(value, len(codes)) for value in values[given]]
    classes = np.array([*codes, None], dtype=object)  # the last one is found by code -1
    counts = (
        np.stack([(coded == code).sum(axis=1) for code in range(len(codes))], axis=1)
        if codes
        else np.zeros((len(values), 1), dtype=int)
    )

    most = counts.max(axis=1)
    tied = (most >= threshold) & ((counts == most[:, None]).sum(axis=1) > 1)
    if ties == "raise" and tied.any():
        first = int(tied.argmax())
        row = opinions.index[first] if _is_pandas(opinions) else first
        rivals = " and ".join(repr(c) for c in classes[:-1][counts[first] == most[first]])
        raise ValueError(
            f"at_least={at_least!r} leaves {int(tied.sum())} cases tied; on row {row!r} "
            f"{most[first]} experts each say {rivals}. Ask for more than half the panel "
            f"(at_least={values.shape[1] // 2 + 1}), or pass ties='blank' to leave tied cases "
            "blank"
        )
    labels = classes[np.where((most >= threshold) & ~tied, counts.argmax(axis=1), -1)]
    if _is_pandas(opinions):
        return sys.modules["pandas"].Series(labels, index=opinions.index, dtype=object)
    return labels


def _is_pandas(table: Any) -> bool:
    # A DataFrame can only exist where pandas has been imported already.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _cells(opinions: Any, missing: Any) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """Return the opinions as objects, and where there is one."""
    if _is_pandas(opinions):
        values = opinions.to_numpy(dtype=object)
    elif isinstance(opinions, (list, tuple)):
        # Without dtype NumPy would write [1, "a"] and [1, None] as it sees fit.
        values = np.array(opinions, dtype=object)
    else:
        values = np.asarray(opinions).astype(object)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"opinions has shape {values.shape}; give one row per case and one column per expert"
        )
    blank = [
        is_null(value) or (missing is not None and bool(value == missing))
        for value in values.ravel()
    ]
    return values, ~np.array(blank, dtype=bool).reshape(values.shape)


def _threshold(at_least: int | float, n_experts: int) -> int:
    if isinstance(at_least, numbers.Integral) and not isinstance(at_least, bool):
        if at_least > n_experts:
            raise ValueError(
                f"at_least={at_least} can never be reached: opinions has {n_experts} experts "
                f"(columns); use at most {n_experts}, or a share such as 0.8"
            )
        if at_least >= 1:
            return int(at_least)
    elif isinstance(at_least, numbers.Real) and 0 < at_least <= 1 and at_least is not True:
        # 0.7 of 10 experts are 7, although 0.7 * 10 may come out above it.
        return max(1, math.ceil(float(at_least) * n_experts - 1e-9))
    raise ValueError(
        f"at_least={at_least!r} must be a number of experts from 1 to {n_experts} (an integer) or "
        "a share of the panel above 0 and up to 1 (a float)"
    )
