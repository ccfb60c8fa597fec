"""A panel's opinions turned into labels, blank where the panel does not agree."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from hesitant._optional import need
from hesitant.statements import Statements


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

    >>> from hesitant.datasets import consensus
    >>> consensus([["benign", "benign", "benign"],
    ...            ["benign", "malign", "malign"],
    ...            ["malign", None, "malign"]], at_least=2/3)
    array(['benign', 'malign', 'malign'], dtype=object)
    """
    if ties not in ("raise", "blank"):
        raise ValueError(f"ties={ties!r} is not known; use 'raise' or 'blank'")
    said = Statements.from_labels(opinions, missing_label=missing)
    n_experts = said.shape[1]
    votes = np.pad(said.votes(), ((0, 0), (0, 1)))  # the last stands for no class
    most = votes.max(axis=1)
    reached = most >= _threshold(at_least, n_experts)
    tied = reached & ((votes == most[:, None]).sum(axis=1) > 1)
    index = opinions.index if hasattr(opinions, "iloc") else range(len(votes))  # of pandas
    if ties == "raise" and tied.any():
        row = int(tied.argmax())
        first = said.classes.tolist()[votes[row].argmax()]
        raise ValueError(
            f"at_least={at_least!r} leaves {tied.sum()} cases tied; on row {index[row]!r} "
            f"{most[row]:.0f} experts each say {first!r} and another class. Ask for more than "
            f"half the panel (at_least={n_experts // 2 + 1}), or pass ties='blank' to leave them "
            "blank"
        )
    labels = said.labels(np.where(reached & ~tied, votes.argmax(axis=1), -1))
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
