"""What every loader and generator of this room returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F")
L = TypeVar("L")

_SHOWN = 8  # names or classes listed before the summary says "and n more"


@dataclass(frozen=True, eq=False, repr=False)
class PartlyLabelled(Generic[F, L]):
    """A table of features with labels, some of which were left blank.

    The loaders fill it with pandas objects, the generators with NumPy arrays; everything else is
    the same. Labels are always objects: the class's own value, or None where it was left blank,
    which is what ``MixtureClassifier.fit`` takes.

    Parameters
    ----------
    name : str
        What the data are called in tables and figures.
    features : DataFrame or ndarray of shape (n, p)
        The measurements.
    labels : Series or ndarray of shape (n,)
        The class of each row, None where blank.
    feature_names : tuple of str
        One name per column of `features`.
    description : str
        Counts, source, licence, and what the paper leaves open.
    truth : Series or ndarray of shape (n,), optional
        The true class of every row, where it is known.
    reviewed : ndarray of bool of shape (n,), optional
        False where nobody was shown the case, so that its blank says nothing. None means that
        every case was shown.
    details : DataFrame or mapping of arrays
        What else is known of each row and is not meant for fitting.

    Examples
    --------
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=100, random_state=1)
    >>> print(data)
    PartlyLabelled: simulation
      100 rows, 2 features: x0, x1
      labelled  60: 0 (29), 1 (31)
      blank     40 (40.0 %)
      truth    known
    >>> data.n_blank
    40
    """

    name: str
    features: F
    labels: L
    feature_names: tuple[str, ...]
    description: str
    truth: L | NDArray[Any] | None = None
    reviewed: NDArray[np.bool_] | None = None
    details: pd.DataFrame | Mapping[str, Any] = field(default_factory=dict)

    @property
    def labelled(self) -> NDArray[np.bool_]:
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
        given = np.asarray(self.labels)[self.labelled]
        values, counts = np.unique(given, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def to_frame(self, label: str = "label") -> pd.DataFrame:
        """Return features and labels side by side, as one would write them to a file.

        Parameters
        ----------
        label : str, default="label"
            Name of the column of labels; blanks are missing there (None or NA).

        Returns
        -------
        DataFrame
        """
        from hesitant._optional import need

        pandas = need("pandas")
        if label in self.feature_names:
            raise ValueError(
                f"label={label!r} is also the name of a feature; choose another name for the "
                "column of labels"
            )
        frame = pandas.DataFrame(self.features, columns=list(self.feature_names))
        labels = pandas.Series(np.asarray(self.labels), index=frame.index, dtype=object)
        if all(isinstance(c, int | np.integer) for c in labels[self.labelled]):
            labels = labels.astype("Int64")  # a file then says 0 and 1, not 0.0 and 1.0
        return frame.assign(**{label: labels})

    def __len__(self) -> int:
        return len(np.asarray(self.labels))

    def __repr__(self) -> str:
        n = len(self)
        width = len(f"{n:,}")
        classes = [f"{value} ({count:,})" for value, count in self.class_counts.items()]
        lines = [
            f"PartlyLabelled: {self.name}",
            f"  {n:,} rows, {len(self.feature_names)} features: {_few(self.feature_names)}",
            f"  labelled {self.n_labelled:{width},}: {_few(classes)}",
            f"  blank    {self.n_blank:{width},} ({self.n_blank / max(n, 1):.1%})".replace(
                "%", " %"
            ),
        ]
        if self.reviewed is not None:
            lines.append(
                f"  shown    {int(self.reviewed.sum()):{width},}: the rest never reviewed"
            )
        lines.append(f"  truth    {'unknown' if self.truth is None else 'known'}")
        return "\n".join(lines)


if TYPE_CHECKING:
    LabelledTable: TypeAlias = PartlyLabelled[pd.DataFrame, "pd.Series[Any]"]
    LabelledArrays: TypeAlias = PartlyLabelled[NDArray[np.float64], NDArray[np.object_]]


def _few(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(map(str, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
