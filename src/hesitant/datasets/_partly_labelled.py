"""What every loader and generator of this room returns, and labels that a panel agrees on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from hesitant._optional import need
from hesitant._typing import BoolArray
from hesitant.checks import check_number
from hesitant.statements import Statements

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PartlyLabelled:
    """A table of features with labels, some of which were left blank.

    Labels are the class's own value, or None where it was left blank, as ``fit`` takes them.
    ``truth`` is the class of every row, where it is known; ``reviewed`` is False where nobody was
    shown the case, or None if every case was shown; ``details`` has what else is known.

    >>> from hesitant.datasets import simulate
    >>> simulate(n=100, random_state=1).class_counts
    {0: 29, 1: 31}
    """

    name: str
    features: Any
    labels: Any
    feature_names: tuple[str, ...]
    description: str
    truth: Any = None
    reviewed: BoolArray | None = None
    details: pd.DataFrame | Mapping[str, Any] = field(default_factory=dict)

    @property
    def labelled(self) -> BoolArray:
        """True where a label was given."""
        return np.array([value is not None for value in np.asarray(self.labels)], dtype=bool)

    @property
    def n_labelled(self) -> int:
        """How many rows carry a label."""
        return int(self.labelled.sum())

    @property
    def n_blank(self) -> int:
        """How many rows were left blank."""
        return len(self) - self.n_labelled

    @property
    def class_counts(self) -> dict[Any, int]:
        """How many rows carry each label, in the order of the labels."""
        values, counts = np.unique(np.asarray(self.labels)[self.labelled], return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def to_frame(self, label: str = "label") -> pd.DataFrame:
        """Return features and, in a column named ``label``, labels, as one would write a file."""
        pandas = need("pandas")
        if label in self.feature_names:
            raise ValueError(f"label={label!r} is also the name of a feature; choose another name")
        frame = pandas.DataFrame(self.features, columns=list(self.feature_names))
        labels = pandas.Series(np.asarray(self.labels), index=frame.index, dtype=object)
        if all(isinstance(c, int | np.integer) for c in labels[self.labelled]):
            labels = labels.astype("Int64")  # a file then says 0 and 1, not 0.0 and 1.0
        return frame.assign(**{label: labels})

    def __len__(self) -> int:
        return len(np.asarray(self.labels))

    def __repr__(self) -> str:
        n, blank = len(self), self.n_blank
        width = len(f"{n:,}")
        classes = ", ".join(f"{value} ({count:,})" for value, count in self.class_counts.items())
        names = shorten(", ".join(self.feature_names), 80)
        lines = [
            f"PartlyLabelled: {self.name}",
            f"  {n:,} rows, {len(self.feature_names)} features: {names}",
            f"  labelled {n - blank:{width},}: {shorten(classes, 80)}",
            f"  blank    {blank:{width},} ({100 * blank / max(n, 1):.1f} %)",
        ]
        if self.reviewed is not None:
            lines.append(f"  shown    {self.reviewed.sum():{width},}: the rest never reviewed")
        return "\n".join([*lines, f"  truth    {'unknown' if self.truth is None else 'known'}"])


def consensus(
    opinions: Any, at_least: int | float = 6, missing: Any = None, *, ties: str = "raise"
) -> Any:
    """Label each case that enough experts judge alike, and leave the others blank (None).

    ``opinions`` has a row a case and a column an expert; None, NaN, NA and ``missing`` are no
    opinion. ``at_least`` is the number of experts who must agree, or a share (a float up to 1) of
    the whole panel, those without an opinion included. Where it asks for half the panel or less
    two classes may reach it with equally many: ``ties`` is "raise", or "blank" to leave such cases
    blank. A DataFrame gives a Series with its index, anything else an array; both of objects.

    >>> from hesitant.datasets import consensus
    >>> consensus([["benign", "benign", "benign"],
    ...            ["benign", "malign", "malign"],
    ...            ["malign", None, "malign"]], at_least=2/3)
    array(['benign', 'malign', 'malign'], dtype=object)
    """
    if ties not in ("raise", "blank"):
        raise ValueError(f"ties={ties!r} is not known; use 'raise' or 'blank'")
    said = Statements.from_labels(opinions, missing_label=missing)
    panel = said.shape[1]
    if isinstance(at_least, Integral):
        check_number("at_least", at_least, Integral, 1, panel)
        threshold = at_least
    else:
        check_number("at_least", at_least, Real, 1e-6, 1)
        # 0.7 of 10 experts are 7, although 0.7 * 10 may come out above it.
        threshold = max(1, math.ceil(at_least * panel - 1e-9))
    votes = np.pad(said.votes(), ((0, 0), (0, 1)))  # the last stands for no class
    most = votes.max(axis=1)
    reached = most >= threshold
    tied = reached & ((votes == most[:, None]).sum(axis=1) > 1)
    index = opinions.index if hasattr(opinions, "iloc") else range(len(votes))  # of pandas
    if ties == "raise" and tied.any():
        row = int(tied.argmax())
        first = said.classes.tolist()[votes[row].argmax()]
        raise ValueError(
            f"at_least={at_least!r} leaves {tied.sum()} cases tied; on row {index[row]!r} "
            f"{most[row]:.0f} experts each say {first!r} and another class. Ask for more than "
            f"half the panel (at_least={panel // 2 + 1}), or pass ties='blank' to leave them blank"
        )
    labels = said.labels(np.where(reached & ~tied, votes.argmax(axis=1), -1))
    if isinstance(index, range):
        return labels
    return need("pandas").Series(labels, index=index, dtype=object)
