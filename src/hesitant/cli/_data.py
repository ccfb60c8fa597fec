"""From the options about a table to the columns of a fit."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns

__all__ = ["TableOptions", "stem"]


@dataclass(frozen=True)
class TableOptions:
    """Where a table is and what its columns mean, as the command line has it."""

    source: str
    label: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    id: str | None = None
    reviewed: str | None = None
    weight: str | None = None
    missing: Sequence[str] | None = None
    on_missing: str = "error"
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Pick from all of a command's options those that are about its table."""
        own = [field.name for field in fields(cls) if field.name != "source"]
        return cls(options["table"], **{name: options[name] for name in own})

    def read(self, *, min_columns: int = 2) -> "pd.DataFrame":
        """Read the table; identifiers and labels stay text, so that 007 is not 7."""
        from hesitant.tables import read_table

        return read_table(
            self.source,
            format=self.format,
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            text=[name for name in (self.id, self.label) if name is not None],
            min_columns=min_columns,
        )

    def select(self, frame: "pd.DataFrame", **changes: Any) -> "Columns":
        """Take the columns apart."""
        from hesitant.tables import select_columns

        known = {str(name) for name in frame.columns}
        chosen: dict[str, Any] = {
            "label": self.label,
            "features": None if not self.features else split_names(self.features, known),
            "drop": split_names(self.drop or (), known),
            "id": self.id,
            "reviewed": self.reviewed,
            "weight": self.weight,
            "missing": list(self.missing) if self.missing else None,
            "on_missing": self.on_missing,
        }
        return select_columns(frame, **{**chosen, **changes})


def split_names(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Split names at commas, except where a column has commas in its name.

    Examples
    --------
    >>> split_names(["CD3, CD5", "a,b"], {"CD3", "CD5", "a,b"})
    ['CD3', 'CD5', 'a,b']
    """
    names: list[str] = []
    for value in given:
        if value in known or "," not in value:
            names.append(value)
        else:
            names += [part.strip() for part in value.split(",") if part.strip()]
    return names


_FORMATS = "csv|tsv|txt|tab|xlsx|jsonl?|ndjson|parquet|pq|feather|arrow|fcs"


def stem(source: str) -> str:
    """Return what output files are called after: the table's name without its suffixes.

    Examples
    --------
    >>> stem("data/cells.csv.gz"), stem("-")
    ('cells', 'hesitant')
    """
    if source == "-":
        return "hesitant"
    name = PurePath(source).name
    return re.sub(rf"(?i)(?<=.)(\.({_FORMATS}))?(\.(gz|bz2|xz|zip))?$", "", name)
