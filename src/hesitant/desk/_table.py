"""The table of a sitting: guesses about its columns, and the arrays of a fit."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.tables import cells
from hesitant.tables.selection import likeliest_label

MOST_CLASSES = 30
# Fewer labels than this share of the rows: nobody will have looked at all the blank ones.
SHARE_LOOKED_AT = 0.1
_ID = re.compile(r"(.*[\W_])?(id|name|case|cell|sample|patient|key|code)", re.I)


def words(column: "pd.Series[Any]") -> list[str | None]:
    """Return cells as text, None where blank, whole numbers without a decimal point."""
    told = [f"{c:.15g}" if isinstance(c, float) else str(c).strip() for c in column.tolist()]
    return [None if gone else word or None for word, gone in zip(told, column.isna(), strict=True)]


def measured(frame: pd.DataFrame, names: Sequence[str]) -> FloatArray:
    """Return columns of numbers, NaN where blank; words among them are an error."""
    return cells.features(cells.Sheet(frame), names, "leave such columns out")


def guess(frame: pd.DataFrame, given: Mapping[str, Any]) -> dict[str, Any]:
    """Add guesses about the parts of the columns that nobody named."""
    out = {**given, "label": given.get("label") or likeliest_label(frame)}
    if "id" not in out:
        named = (n for n in frame.columns if n != out["label"] and _ID.fullmatch(n))
        out["id"] = next((n for n in named if frame[n].is_unique and frame[n].notna().all()), None)
    if out.get("features") is None:
        taken = out["label"], out["id"], out.get("show")
        free = [n for n in frame.columns if n not in taken and cells.is_numeric(frame[n])]
        unfit = cells.unfit_features(measured(frame, free), free)
        out["features"] = [n for n in free if n not in unfit]
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
    audit: float  # share of cases drawn at random

    @property
    def enough(self) -> int:
        """How many labels of each class make a covariance matrix of its own worth fitting."""
        return 2 * len(self.features)

    @classmethod
    def of(cls, given: Mapping[str, Any], frame: pd.DataFrame) -> Self:
        """Check what a page, a journal or a command says, and fill in what it leaves open."""
        named = ("id", "show")  # that there is none is an answer too
        kept = {k: v for k, v in given.items() if v is not None or k in named}
        given = guess(frame, {k: v or None if k in named else v for k, v in kept.items()})
        label, parts = given["label"], {part: given.get(part) for part in ("label", *named)}
        features = tuple(n for n in given["features"] if n not in parts.values())
        for part, names in {
            **{k: [v] for k, v in parts.items() if v},
            "features": features,
        }.items():
            cells.Sheet(frame).require(names, f"named in {part}")
        measured(frame, features)
        if not features:
            raise ValueError("features: there is none; choose at least one numeric column.")
        found: Counter[Any] = Counter(filter(None, words(frame[label])))
        blank = tuple(map(str, given.get("blank", (name for name, _ in cells.blank_like(found)))))
        also = filter(None, (str(name).strip() for name in given.get("classes", ())))
        classes = tuple(dict.fromkeys([*sorted(set(found) - set(blank)), *also]))
        if not 2 <= len(classes) <= MOST_CLASSES:
            raise ValueError(
                f"label={label!r} has {len(classes)} classes, and the desk takes 2 to "
                f"{MOST_CLASSES}: choose another column, or name further classes."
            )
        audit = float(given.get("audit", 0.1))
        if not 0 <= audit <= 1:
            raise ValueError(f"audit={audit:g}: give a share between 0 and 1.")
        looked = sum(found[name] for name in classes) >= SHARE_LOOKED_AT * len(frame)
        rest = given["id"], given.get("show"), blank, bool(given.get("withheld", looked)), audit
        return cls(label, features, classes, *rest)


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """The table as a sitting needs it; arrays have one entry for each row of the file."""

    setup: Setup
    X: FloatArray
    usable: BoolArray  # rows with some feature, and none infinite
    codes: IntArray  # class of each row in the table, −1 where blank
    ids: list[str]
    shown: list[str | None]  # what the expert looks at
    order: IntArray  # the blank rows at random, always the same: the audit goes along it

    @classmethod
    def of(cls, setup: Setup, frame: pd.DataFrame, seed: int) -> Self:
        """Take the columns apart."""
        nothing: list[str | None] = [None] * len(frame)
        label, ids, shown = (
            words(frame[name]) if name else nothing for name in (setup.label, setup.id, setup.show)
        )
        X = measured(frame, setup.features)
        place = {name: h for h, name in enumerate(setup.classes)}
        codes = np.array([place.get(word or "", -1) for word in label])
        usable = np.asarray(np.isfinite(X).any(axis=1) & ~np.isinf(X).any(axis=1))
        order = np.random.default_rng(seed).permutation(np.flatnonzero((codes < 0) & usable))
        named = [name or str(i + 1) for i, name in enumerate(ids)]
        return cls(setup, X, usable, codes, named, shown, order)
