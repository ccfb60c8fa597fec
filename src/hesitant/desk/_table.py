"""From a file to columns, to guesses about their parts, and to the arrays of a fit."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from hesitant._typing import AnyArray, FloatArray, IntArray

Columns = Mapping[str, AnyArray]

MOST_CLASSES = 30
# Fewer labels than this share of the rows: nobody will have looked at all the blank ones.
SHARE_LOOKED_AT = 0.1
SHAPES = ("full", "shrunk", "tied", "diag", "spherical")
_LABEL = re.compile(r"label|class|population|diagnosis|target|species|grade|category", re.I)
_ID = re.compile(r"(.*[\W_])?(id|name|case|cell|sample|patient|key|code)", re.I)
_BLANK = re.compile(r"[?.-]|-1|none|unknown|unlabell?ed|ungated|missing|undefined", re.I)


def read_columns(path: Path, text: Sequence[str] = ()) -> Columns:
    """Read a table as columns; those named in ``text`` keep their cells as they are written."""
    from hesitant.tables import read_table

    frame = read_table(path, text=list(text))
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def words(cells: AnyArray) -> list[str | None]:
    """Return cells as text, None where blank, whole numbers without a decimal point."""
    import pandas

    def word(cell: Any) -> str | None:
        whole = isinstance(cell, float) and cell.is_integer()
        return str(int(cell) if whole else cell).strip() or None

    gone = pandas.isna(cells).tolist()
    return [None if g else word(c) for c, g in zip(cells.tolist(), gone, strict=True)]


def numbers(cells: AnyArray) -> FloatArray | None:
    """Return cells as numbers, NaN where blank, or None if some are words."""
    import pandas

    if cells.dtype.kind not in "biufO":
        return None
    found = pandas.to_numeric(pandas.Series(cells), errors="coerce").to_numpy(float)
    return found if (np.isnan(found) == pandas.isna(cells)).all() else None


def _measures(cells: AnyArray) -> bool:
    """Return whether a column may be a feature: numbers that do more than number the rows."""
    found = numbers(cells)
    told = () if found is None else (found - np.arange(len(found)))[np.isfinite(found)]
    return len(told) > 0 and bool(np.ptp(told) != 0)


def guess(columns: Columns, given: Mapping[str, Any]) -> dict[str, Any]:
    """Add guesses about the parts of the columns that nobody named."""
    out = dict(given)
    # a part of a long column tells as much as all of it
    told = {name: words(cells[:2000]) for name, cells in columns.items()}
    distinct = {name: set(cells) - {None} for name, cells in told.items()}
    if not out.get("label"):
        few = [name for name in columns if 1 < len(distinct[name]) <= MOST_CLASSES]
        likely = sorted(few, key=lambda n: (not _LABEL.search(n), numbers(columns[n]) is not None))
        out["label"] = next(iter(likely), None)
    if "id" not in out:
        single = (n for n in columns if len(distinct[n]) == len(told[n]) and _ID.fullmatch(n))
        out["id"] = next(single, None)
    if out.get("features") is None:
        taken = {out["label"], out["id"], out.get("show")}
        free = [name for name in columns if name not in taken]
        out["features"] = [name for name in free if _measures(columns[name])]
    return out


@dataclasses.dataclass(frozen=True)
class Setup:
    """What the columns mean, and how the sitting goes."""

    label: str
    features: tuple[str, ...]
    classes: tuple[str, ...]  # in the order of the keys
    id: str | None
    show: str | None
    blank: tuple[str, ...]  # words of the label column that mean "no label"
    withheld: bool  # whether somebody looked at what the table leaves blank
    covariance: str
    audit: float  # share of cases drawn at random

    @classmethod
    def of(cls, given: Mapping[str, Any], columns: Columns) -> Self:
        """Check what a page, a journal or a command says, and fill in what it leaves open."""
        given = guess(
            columns,
            {k: v or None for k, v in given.items() if k in ("id", "show")}
            | {k: v for k, v in given.items() if v is not None and k not in ("id", "show")},
        )
        label, features = given["label"], tuple(given["features"])
        parts = [(label, "label"), *((given[k], k) for k in ("id", "show") if given.get(k))]
        for name, part in [*parts, *((name, "features") for name in features)]:
            if name not in columns:
                raise ValueError(
                    f"{part}={name!r} is no column: choose among {', '.join(columns)}."
                )
        for name in features:
            if numbers(columns[name]) is None or name in dict(parts):
                raise ValueError(f"features has {name!r}, which is no measurement: leave it out.")
        if not features:
            raise ValueError("features: there is none; choose at least one numeric column.")
        found = Counter(word for word in words(columns[label]) if word is not None)
        # −1 beside 1 is how two classes are often coded
        likely = () if set(found) == {"-1", "1"} else filter(_BLANK.fullmatch, found)
        blank = tuple(map(str, given.get("blank", likely)))
        also = filter(None, (str(name).strip() for name in given.get("classes", ())))
        classes = tuple(dict.fromkeys([*sorted(set(found) - set(blank)), *also]))
        if not 2 <= len(classes) <= MOST_CLASSES:
            raise ValueError(
                f"label={label!r} has {len(classes)} classes, and the desk takes 2 to "
                f"{MOST_CLASSES}: choose another column, or name further classes."
            )
        audit, shape = float(given.get("audit", 0.1)), given.get("covariance")
        if not 0 <= audit <= 1:
            raise ValueError(f"audit={audit:g}: give a share between 0 and 1.")
        if shape is None:  # a matrix for each class needs labels of each
            enough = min(found[name] for name in classes) >= 2 * len(features)
            shape = "full" if enough else "shrunk"
        if shape not in SHAPES:
            raise ValueError(f"covariance={shape!r}: give one of {', '.join(SHAPES)}.")
        labelled = sum(found[name] for name in classes)
        looked = labelled >= SHARE_LOOKED_AT * len(columns[label])
        withheld = bool(given.get("withheld", looked))
        id, show = given.get("id"), given.get("show")
        return cls(label, features, classes, id, show, blank, withheld, shape, audit)


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """The table as a sitting needs it; arrays have one entry for each row of the file."""

    setup: Setup
    X: FloatArray
    usable: AnyArray  # rows with some feature, and none infinite
    codes: IntArray  # class of each row in the table, −1 where blank
    ids: list[str]
    shown: list[str | None]  # what the expert looks at
    order: IntArray  # the blank rows at random, always the same: the audit goes along it

    @classmethod
    def of(cls, setup: Setup, columns: Columns, seed: int) -> Self:
        """Take the columns apart."""

        def cells(name: str | None) -> list[str | None]:
            return [None] * len(X) if name is None else words(columns[name])

        X = np.column_stack([np.asarray(numbers(columns[name])) for name in setup.features])
        place = {name: h for h, name in enumerate(setup.classes)}
        codes = np.array([place.get(word or "", -1) for word in cells(setup.label)])
        usable = np.isfinite(X).any(axis=1) & ~np.isinf(X).any(axis=1)
        ids = [name or str(i + 1) for i, name in enumerate(cells(setup.id))]
        order = np.random.default_rng(seed).permutation(np.flatnonzero((codes < 0) & usable))
        return cls(setup, X, usable, codes, ids, cells(setup.show), order)
