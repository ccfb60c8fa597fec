"""What every loader and generator of this room returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from hesitant._optional import need
from hesitant._typing import BoolArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PartlyLabelled:
    """A table of features with labels, some of which were left blank.

    Labels are the class's own value, or None where it was left blank, as ``fit`` takes them.
    ``truth`` is the class of every row, where it is known; ``reviewed`` is False where nobody was
    shown the case, or None if every case was shown; ``details`` has what else is known.

    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=100, random_state=1)
    >>> print(data)
    PartlyLabelled: simulation
      100 rows, 2 features: x0, x1
      labelled  60: 0 (29), 1 (31)
      blank     40 (40.0 %)
      truth    known
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
