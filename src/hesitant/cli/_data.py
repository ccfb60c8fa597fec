"""From the options about a table to the columns of a fit."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from hesitant.cli import _options as o

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.tables import Columns
    from hesitant.tables.annotations import Joined


@dataclass(frozen=True)
class ReadOptions:
    """Where a table is and how it is read."""

    table: o.Table
    id: o.Id = None
    features: o.Features = None
    on_missing: o.OnMissing = None
    format: o.Format = None
    encoding: o.Encoding = None
    delimiter: o.Delimiter = None
    decimal: o.Decimal = None
    transform: o.Transform = None
    compensate: o.Compensate = False
    first: ClassVar[tuple[str, ...]] = ("table",)  # what the help begins with

    def read(self, *, text: Sequence[str | None] = (), min_columns: int = 2) -> "pd.DataFrame":
        """Read the table; identifiers and labels stay text, so that 007 is not 7."""
        from hesitant.tables import read_table

        return read_table(
            self.table,
            format=self.format,
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            text=[name for name in (self.id, *text) if name is not None],
            min_columns=min_columns,
            transform=self.transform,
            compensate=self.compensate,
        )

    def select(self, frame: "pd.DataFrame", gaps: bool, **chosen: Any) -> "Columns":
        """Take the columns apart; ``gaps`` tells whether the model can do with empty features."""
        from hesitant.tables import select_columns

        if self.on_missing == "model" and not gaps:
            raise typer.BadParameter(
                "this model needs every feature: give drop or error, or use --family gaussian "
                "without --standardise and --pca.",
                param_hint="'--on-missing'",
            )
        aliases = frame.attrs.get("hesitant", {}).get("aliases", {})
        options: dict[str, Any] = {
            "label": None,
            "features": split_names(self.features or (), frame.columns, aliases) or None,
            "id": self.id,
            "on_missing": self.on_missing or ("model" if gaps else "error"),
        }
        return select_columns(frame, **{**options, **chosen})


@dataclass(frozen=True)
class TableOptions(ReadOptions):
    """Where a table to learn from is, and what its columns mean."""

    label: o.Label = None
    features_from: o.FeaturesFrom = None
    drop: o.Drop = None
    reviewed: o.Reviewed = None
    weight: o.Weight = None
    missing: o.Missing = None
    first = ("table", "label", "missing", "reviewed", "id", "features")

    @property
    def inputs(self) -> list[str]:
        """Return the files that are read, which no output may replace."""
        return [name for name in (self.table, self.features_from) if name not in (None, "-")]

    def learn(self, gaps: bool) -> tuple["pd.DataFrame", "Columns", list[str]]:
        """Return the table, its columns by their parts, and what was noticed on the way."""
        joined = self._join() if self.features_from else None
        if joined is not None:
            frame, notes = joined.frame, joined.notes
            labels: list[str] = [joined.label]
        else:
            words = () if self.label is None else (self.label, *self.label.split(","))
            frame = self.read(text=[word.strip() for word in words])
            notes = list(frame.attrs.get("hesitant", {}).get("notes", ()))
            if self.label is None:
                raise typer.BadParameter(_which_label(frame), param_hint="'--label'")
            aliases = frame.attrs["hesitant"].get("aliases", {})
            labels = split_names([self.label], frame.columns, aliases)
        columns = self.select(
            frame,
            gaps,
            label=labels[0] if len(labels) == 1 else labels,
            drop=split_names(self.drop or (), frame.columns),
            reviewed=self.reviewed or (joined.reviewed if joined else None),
            weight=self.weight,
            missing=list(self.missing) if self.missing else None,
        )
        return frame, columns, notes

    def _join(self) -> "Joined":
        from hesitant.tables import read_table
        from hesitant.tables.annotations import join
        from hesitant.tables.formats import parse_json
        from hesitant.tables.reading import open_source, recognise
        from hesitant.tables.text import decode

        if self.id is None:
            raise typer.BadParameter(
                "--features-from needs the column of identifiers that both files have.",
                param_hint="'--id'",
            )
        table = read_table(
            str(self.features_from),
            text=[self.id],
            transform=self.transform,
            compensate=self.compensate,
        )
        content = open_source(self.table)
        export: Any
        if (self.format or recognise(content)) in ("json", "jsonl"):
            export = parse_json(decode(content, self.encoding), content)
            if isinstance(export, dict) and isinstance(export.get("records"), list):
                export = export["records"]
        else:
            export = self.read(text=[self.label or "label"])
        return join(export, table, content.name, id=self.id, label=self.label)


def _which_label(frame: "pd.DataFrame") -> str:
    from hesitant.tables.errors import quote, quote_all
    from hesitant.tables.selection import likeliest_label

    likely = likeliest_label(frame)
    guess = f" Is it {quote(likely)}? Then add --label {likely!r}." if likely else ""
    names = quote_all(frame.columns, limit=12)
    return f"which column holds the labels?{guess} The columns are {names}."


def split_names(
    given: Sequence[str], known: Collection[Any], aliases: Mapping[str, str] | None = None
) -> list[str]:
    """Split names at commas, except where a column has commas in its name.

    Examples
    --------
    >>> split_names(["CD3, CD5", "a,b"], {"CD3", "CD5 (FL1)", "a,b"}, {"CD5": "CD5 (FL1)"})
    ['CD3', 'CD5 (FL1)', 'a,b']
    """
    names: list[str] = []
    for value in given:
        if value in known or "," not in value:
            names.append(value)
        else:
            names += [part.strip() for part in value.split(",") if part.strip()]
    return [name if name in known else (aliases or {}).get(name, name) for name in names]


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
