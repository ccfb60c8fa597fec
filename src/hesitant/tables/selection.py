"""`select_columns`: from a data frame to the arrays that a fit needs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray

from . import cells
from .cells import Column, Sheet
from .errors import option, quote_all, ways


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by their part in the analysis, an entry for each row kept.

    ``X`` (named by ``feature_names``) is finite, or NaN where blank and ``on_missing="model"``;
    ``y``, ``ids``, ``reviewed`` and ``weight`` are None where not asked for, and ``y`` is None
    where a label is blank. ``rows`` and ``dropped`` are the positions in the data frame of the
    rows kept and of those left out. Of several label columns, ``opinions`` has what each of
    ``readers`` said, and ``shown`` which rows each saw, if that is known.
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    y: AnyArray | None
    ids: AnyArray | None
    reviewed: BoolArray | None
    weight: FloatArray | None
    rows: IntArray
    dropped: IntArray
    ignored: tuple[str, ...] = ()  # columns that are not numeric
    set_aside: dict[str, str] = field(default_factory=dict)  # that measure nothing new, and why
    unused_missing: tuple[str, ...] = ()  # values listed as missing that do not occur
    blank_like: tuple[tuple[str, int], ...] = ()  # classes that read like "no label", their rows
    alike: tuple[tuple[str, ...], ...] = ()  # groups of classes that differ in case or blanks
    padded: tuple[str, ...] = ()  # labels written with blanks around them, and without
    single: tuple[str, ...] = ()  # classes of one row
    reviewed_like: str | None = None  # a column that reads like whether an expert saw the row
    opinions: AnyArray | None = None
    readers: tuple[str, ...] = ()
    shown: BoolArray | None = None

    @property
    def said(self) -> Any:
        """The labels; what each reader of a panel said, if there are several."""
        if self.opinions is None:
            return self.y
        from hesitant.statements import Statements

        shown = self.shown
        if shown is None and self.reviewed is not None:
            shown = ~pd.isna(self.opinions) | self.reviewed[:, None]
        return Statements.from_labels(self.opinions, self.readers, shown, None)


def select_columns(
    frame: pd.DataFrame,
    *,
    label: str | Sequence[str] | None,
    features: Sequence[str] | None = None,
    drop: Collection[str] = (),
    id: str | None = None,
    reviewed: str | None = None,
    weight: str | None = None,
    missing: Collection[object] | None = None,
    on_missing: str = "error",
) -> Columns:
    """Take the columns of a table, as `read_table` returns it, apart and check them.

    If they are not what they are taken for, a `TableError` says where and what to do.

    ``label`` is the column of labels, blank where the expert gave none; several are the readers
    of a panel, and ``y`` what most of them said. ``features`` are used in this order, and those
    in ``drop`` left out; by default, every numeric column is used that has no other part and
    measures something of its own. ``id`` names the rows, ``reviewed`` tells (yes/no, true/false,
    1/0) whether an expert has looked at a row, and ``weight`` weighs the rows. Labels in
    ``missing``, such as ``"ungated"``, stand for a blank; None takes the number -1 for one. Rows
    that have a blank or infinite feature are an ``on_missing="error"``, or "drop" leaves them
    out; "model" keeps blanks as NaN.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"CD3": [0.1, 2.0, 0.3], "cell": ["B", "T", None]})
    >>> columns = select_columns(frame, label="cell")
    >>> columns.feature_names, columns.y
    (('CD3',), array(['B', 'T', None], dtype=object))
    """
    for option_name, value in (("features", features), ("drop", drop), ("missing", missing)):
        if isinstance(value, str):
            raise TypeError(f"{option_name} must be a collection, not the str {value!r}")
    if on_missing not in ("error", "drop", "model"):
        raise ValueError(f"on_missing must be 'error', 'drop' or 'model', got {on_missing!r}")
    sheet = Sheet(frame)
    if len(frame) == 0:
        raise sheet.error("The table has no rows.", "Check the file, or the rows selected.")
    readers = [] if label is None else [label] if isinstance(label, str) else list(label)
    parts: dict[str, Any] = {"label": readers, "id": id, "reviewed": reviewed, "weight": weight}
    taken = _roles(sheet, {**parts, "drop": drop, "features": features})
    sheet.leave_out = f"take such columns out of {option('features')}"
    if not readers:  # a fitted model cannot do without, but its features may have no names
        sheet.leave_out = "" if features else f"choose other columns with {option('features')}"
    elif features is None:
        sheet.leave_out = f"leave such columns out with {option('drop')}"
    if features is None:
        names, ignored = _default_features(sheet, taken)
    elif features:
        names, ignored = list(features), []
    else:
        raise sheet.error("No feature is named.", f"Name at least one with {option('features')}.")
    free = (name for name in sheet if name not in taken and readers and not reviewed)
    offered = next((name for name in free if sheet[name].reads_like_reviewed()), None)

    X = sheet.features(names)
    aside: dict[str, str] = {}
    if features is None and readers:  # a model whose features have no names takes them all
        aside = cells.unfit_features(X, names)
        if offered in names:
            aside[str(offered)] = "reads like whether an expert saw the row"
        if len(aside) == len(names):
            aside = {}  # where nothing else is left, it is for the fit to judge
        X = X[:, [name not in aside for name in names]]
        names = [name for name in names if name not in aside]
    dropped = _unusable_rows(sheet, X, names, on_missing)
    kept = np.delete(np.arange(len(frame)), dropped)

    y = opinions = None
    said = [sheet[name].labels(missing) for name in readers]
    unused = [v for v in said[0][1] if all(v in u for _, u in said)] if said else []
    if len(said) > 1:
        from hesitant.datasets import consensus

        opinions = np.stack([told for told, _ in said], axis=1)[kept]
        y = consensus(opinions, 1, ties="blank")
    elif said:
        y = said[0][0][kept]
    counts = Counter[object](() if y is None else y)
    counts.pop(None, None)
    if y is not None:
        sheet[readers[0]].check_classes(counts, len(y), coded=missing is None)
    return Columns(
        X=X if len(kept) == len(X) else X[kept],
        feature_names=tuple(names),
        y=y,
        ids=None if id is None else sheet[id].cells()[kept],
        reviewed=None if reviewed is None else sheet[reviewed].truths()[kept],
        weight=None if weight is None else _weights(sheet[weight], kept),
        rows=kept,
        dropped=dropped,
        ignored=tuple(name for name in ignored if name != offered),
        set_aside=aside,
        unused_missing=tuple(unused),
        blank_like=tuple(cells.blank_like(counts)),
        alike=tuple(cells.alike(counts)),
        padded=tuple(word for name in readers for word in sheet[name].padded()),
        single=tuple(str(label) for label, count in counts.items() if count == 1)[:100],
        reviewed_like=offered,
        opinions=opinions,
        readers=tuple(readers),
    )


def likeliest_label(frame: pd.DataFrame) -> str | None:
    """Return the column that most looks like a label: a few words, some of them blank."""
    frame = frame.head(10_000)
    words = ("label", "class", "population", "diagnos", "category", "type", "target", "gate")
    scores: dict[str, int] = {}
    for name, column in Sheet(frame).items():
        given, classes = int((column.codes >= 0).sum()), column.values
        few = 2 <= len(classes) <= max(2, min(50, given // 2))
        if few and not all(isinstance(c, float) and c % 1 for c in classes):
            named = 4 * any(word in name.casefold() for word in words) + (name == "y")
            scores[name] = named + (given < len(frame)) + 2 * isinstance(classes[0], str)
    return max(scores, key=scores.__getitem__, default=None)


def _roles(sheet: Sheet, parts: dict[str, Any]) -> dict[str, str]:
    taken: dict[str, str] = {}
    for role, given in parts.items():
        names = [given] if isinstance(given, str) else list(given or ())
        sheet.require(names, f"named in {option(role)}")
        for name in names:
            if name in taken:
                problem = f"The column is given both as {taken[name]} and as {role}."
                remedy = f"Choose another column with {option(taken[name])} or {option(role)}."
                raise sheet.error(problem, remedy, column=name)
            taken[name] = role
    return taken


def _default_features(sheet: Sheet, taken: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the numeric columns that have no other part, and those that are not numeric."""
    chosen, left = list[str](), list[str]()
    for name in (name for name in sheet if name not in taken):
        if not sheet[name].is_numeric():
            sheet[name].refuse_mostly_numbers()
            left.append(name)
        elif name.startswith("Unnamed: "):
            problem = "The column has no name: such columns are often row numbers."
            remedy = ways(sheet.leave_out, f"use it with {option('id')}", "name it")
            raise sheet.error(problem, remedy, column=name)
        else:
            chosen.append(name)
    if not chosen:
        text = f"; these are text: {quote_all(left)}" if left else ""
        remedy = "Check the table, or the columns that are given another part or left out."
        raise sheet.error(f"No numeric column is left to use as a feature{text}.", remedy)
    return chosen, left


def _weights(column: Column, kept: IntArray) -> FloatArray:
    remedy = "Give every row a weight; 0 gives a row no say in the fit."
    values = column.numbers(remedy)
    bad = ~(np.isfinite(values) & (values >= 0))
    column.refuse(bad, "is not a weight, a number of at least 0", remedy)
    if not values[kept].any():
        raise column.error("Every weight is 0.", "Give some rows a positive weight.")
    return values[kept]


def _unusable_rows(sheet: Sheet, X: FloatArray, names: list[str], on_missing: str) -> IntArray:
    """Find the rows with an unusable feature, and refuse them unless told what to do."""
    bad = np.isinf(X) if on_missing == "model" else ~np.isfinite(X)
    rows = np.flatnonzero(bad.any(axis=1))
    every = len(rows) == len(X)
    if len(rows) == 0 or (on_missing == "drop" and not every):
        return rows
    counts = bad.sum(axis=0)
    worst = [
        f"{names[j]} ({counts[j]:,})" for j in np.argsort(-counts, kind="stable") if counts[j]
    ]
    kind = "an infinite cell" if on_missing == "model" else "a blank or infinite cell"
    problem = f"{len(rows):,} of {len(X):,} rows have {kind}, by feature: {quote_all(worst)}."
    drop_rows = f"leave the rows out by giving 'drop' to {option('on_missing')}"
    remedy = ways("fill the cells in", sheet.leave_out, "" if every else drop_rows)
    first = int(rows[0])
    raise sheet.error(problem, remedy, first, names[int(bad[first].argmax())])
