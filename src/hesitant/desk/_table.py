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
from hesitant.tables.errors import option
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
    return cells.Sheet(frame).features(names, "leave such columns out")


def guess(frame: pd.DataFrame, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the columns mean, as far as it is known or can be guessed."""
    named = ("id", "show")  # that there is none is an answer too
    known = {k: v for k, v in given.items() if v is not None or k in named}
    out = {"show": None, "audit": 0.1} | {k: None if v == "" else v for k, v in known.items()}
    label = out["label"] = out.get("label") or likeliest_label(frame)
    if "id" not in out:
        named_so = (n for n in frame.columns if n != label and _ID.fullmatch(n))
        filled = (n for n in named_so if frame[n].is_unique and frame[n].notna().all())
        out["id"] = next(filled, None)
    if "features" not in out:
        taken, sheet = (label, out["id"], out["show"]), cells.Sheet(frame)
        free = [n for n in frame.columns if n not in taken and sheet[n].is_numeric()]
        unfit = cells.unfit_features(measured(frame, free), free)
        out["features"] = [n for n in free if n not in unfit]
    found: Counter[Any] = Counter(filter(None, words(frame[label]) if label in frame else ()))
    blank = tuple(map(str, out.get("blank", (name for name, _ in cells.blank_like(found)))))
    also = filter(None, (str(name).strip() for name in out.get("classes", ())))
    classes = tuple(dict.fromkeys([*sorted(set(found) - set(blank)), *also]))
    looked = sum(found[name] for name in classes) >= SHARE_LOOKED_AT * len(frame)
    return {"withheld": looked, **out, "blank": blank, "classes": classes}


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
        told, sheet = guess(frame, given), cells.Sheet(frame)
        taken = {part: told[part] for part in ("label", "id", "show")}
        for part, name in taken.items():
            if name is not None or part == "label":
                sheet.require([name], f"named in {option(part)}")
        told["features"] = tuple(name for name in told["features"] if name not in taken.values())
        sheet.require(told["features"], f"named in {option('features')}")
        empty = [name for name in told["features"] if frame[name].isna().all()]
        if empty:
            raise ValueError(f"features has {empty[0]!r}, which is empty: leave it out.")
        if not told["features"]:
            raise ValueError("features: there is none; choose at least one numeric column.")
        if not 2 <= len(told["classes"]) <= MOST_CLASSES:
            raise ValueError(
                f"label={told['label']!r} has {len(told['classes'])} classes, and the desk takes "
                f"2 to {MOST_CLASSES}: choose another column, or name further classes."
            )
        if not 0 <= float(told["audit"]) <= 1:
            raise ValueError(f"audit={told['audit']}: give a share between 0 and 1.")
        return cls(**{field.name: told[field.name] for field in dataclasses.fields(cls)})


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
