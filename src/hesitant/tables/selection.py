"""`select_columns`: from a data frame to the arrays that a fit needs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import cells
from .cells import Floats, Mask, Objects, Sheet
from .errors import option, quote, quote_all, ways


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by their part in the analysis, an entry for each row kept.

    Attributes
    ----------
    X, feature_names : ndarray of float and tuple of str
        The features; finite, or NaN where blank and ``on_missing="model"``.
    y : ndarray of object or None
        The labels, None where blank; None as a whole if no label was asked for.
    ids, reviewed, weight : ndarray or None
        The identifiers, whether an expert has looked at the row, and the weights.
    rows, dropped : ndarray of int
        The positions in the data frame of the rows kept, and of those left out for a blank or
        infinite feature.
    ignored, set_aside : tuple of str and dict of str to str
        Columns that are not numeric; numeric ones that measure nothing of their own, and why.
    unused_missing, blank_like, alike, single : tuple
        Values listed as missing that do not occur; classes that read like "no label" and their
        numbers of rows; groups of classes that differ only in case or blanks; classes of one row.
    reviewed_like : str or None
        A column that reads like whether an expert saw the row, if none was named.
    opinions, shown : ndarray of shape (n_rows, n_readers), or None
        What each reader said, where several label columns were named, and which rows each saw.
    """

    X: Floats
    feature_names: tuple[str, ...]
    y: Objects | None
    ids: Objects | None
    reviewed: Mask | None
    weight: Floats | None
    rows: npt.NDArray[np.intp]
    dropped: npt.NDArray[np.intp]
    ignored: tuple[str, ...] = ()
    set_aside: dict[str, str] = field(default_factory=dict)
    unused_missing: tuple[str, ...] = ()
    blank_like: tuple[tuple[str, int], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    single: tuple[str, ...] = ()
    reviewed_like: str | None = None
    opinions: Objects | None = None
    readers: tuple[str, ...] = ()
    shown: Mask | None = None

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
    """Take the columns of a table apart, and check them.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, as `read_table` returns it.
    label : str, sequence of str or None
        The column of labels, blank where the expert gave none; several are the readers of a
        panel, and ``y`` what most of them said; None where there is no label.
    features, drop : sequence of str
        The columns to use as features, in this order, and those to leave out. By default, every
        numeric column is used that has no other part and measures something of its own.
    id, reviewed, weight : str or None, default=None
        The columns that identify the rows, that tell (yes/no, true/false, 1/0) whether an expert
        has looked at a row, and that weigh the rows.
    missing : collection or None, default=None
        Labels that stand for a blank, such as ``"ungated"``; None takes the number -1 for one.
    on_missing : {"error", "drop", "model"}, default="error"
        What to do with rows that have a blank or infinite feature; "model" keeps blanks as NaN.

    Raises
    ------
    TableError
        If the columns are not what they are taken for; the message says where and what to do.

    Examples
    --------
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
    if len(sheet) == 0:
        raise sheet.error("The table has no rows.", "Check the file, or the rows selected.")
    readers = [] if label is None else [label] if isinstance(label, str) else list(label)
    parts: dict[str, Any] = {
        "id": [id],
        "reviewed": [reviewed],
        "weight": [weight],
        "drop": list(drop),
    }
    taken = _roles(sheet, label=readers, **parts, features=features or ())
    leave_out = f"take such columns out of {option('features')}"
    if not readers:  # a fitted model cannot do without, but its features may have no names
        leave_out = "" if features else f"choose other columns with {option('features')}"
    elif features is None:
        leave_out = f"leave such columns out with {option('drop')}"
    names, ignored = list(features or ()), list[str]()
    if features is None:
        names, ignored = _default_features(sheet, taken, leave_out)
    elif not names:
        raise sheet.error("No feature is named.", f"Name at least one with {option('features')}.")
    offered = None if reviewed or not readers else cells.reviewed_like(sheet, taken)

    X = cells.features(sheet, names, leave_out)
    aside: dict[str, str] = {}
    if features is None and readers:  # a model whose features have no names takes them all
        aside = cells.unfit_features(X, names)
        if offered in names:
            aside[str(offered)] = "reads like whether an expert saw the row"
        if len(aside) == len(names):
            aside = {}  # where nothing else is left, it is for the fit to judge
        X = X[:, [name not in aside for name in names]]
        names = [name for name in names if name not in aside]
    dropped = _unusable_rows(sheet, X, names, leave_out, on_missing)
    kept = np.delete(np.arange(len(sheet)), dropped)

    y, opinions, unused = _labels(sheet, readers, missing)
    y = None if y is None else y[kept]
    counts = Counter[object](() if y is None else y)
    counts.pop(None, None)
    if y is not None:
        cells.check_classes(sheet, readers[0], counts, len(y), code=missing is None)
    weights = None if weight is None else cells.weights(sheet, weight)[kept]
    if weights is not None and not weights.any():
        raise sheet.error("Every weight is 0.", "Give some rows a positive weight.", column=weight)
    return Columns(
        X=X if len(kept) == len(X) else X[kept],
        feature_names=tuple(names),
        y=y,
        ids=None if id is None else sheet.cells(id)[kept],
        reviewed=None if reviewed is None else cells.truths(sheet, reviewed)[kept],
        weight=weights,
        rows=kept,
        dropped=dropped,
        ignored=tuple(name for name in ignored if name != offered),
        set_aside=aside,
        unused_missing=unused,
        blank_like=tuple(cells.blank_like(counts)),
        alike=tuple(cells.alike(counts)),
        single=tuple(str(label) for label, count in counts.items() if count == 1)[:100],
        reviewed_like=offered,
        opinions=None if opinions is None else opinions[kept],
        readers=tuple(readers),
    )


def likeliest_label(frame: pd.DataFrame) -> str | None:
    """Return the column that most looks like a label: a few words, some of them blank."""
    sheet = Sheet(frame.head(10_000))
    best: tuple[float, str | None] = (0.0, None)
    for name in sheet.names:
        codes, classes = sheet.distinct(name)
        given = int((codes >= 0).sum())
        if not 2 <= len(classes) <= max(2, min(50, given // 2)):
            continue
        score = 1.0 + (given < len(sheet)) + 2 * isinstance(classes[0], str)
        words = ("label", "class", "population", "diagnos", "category", "type", "target", "gate")
        score += 4 * any(word in name.casefold() for word in words) + (name == "y")
        if score > best[0] and not all(isinstance(c, float) and c % 1 for c in classes):
            best = (score, name)
    return best[1]


def _labels(
    sheet: Sheet, readers: Sequence[str], missing: Collection[object] | None
) -> tuple[Objects | None, Objects | None, tuple[str, ...]]:
    columns = [cells.labels(sheet, name, missing) for name in readers]
    if len(columns) < 2:
        return (columns[0][0], None, columns[0][1]) if columns else (None, None, ())
    from hesitant.datasets import consensus

    opinions = np.stack([y for y, _ in columns], axis=1)
    # what one reader never writes, another may
    unused = tuple(v for v in columns[0][1] if all(v in other for _, other in columns))
    return consensus(opinions, 1, ties="blank"), opinions, unused


def _roles(sheet: Sheet, **roles: Sequence[str | None]) -> dict[str, str]:
    """Return which column plays which part, after checking that each plays only one."""
    taken: dict[str, str] = {}
    for role, given in roles.items():
        names = [name for name in given if name is not None]
        sheet.require(names, f"named in {option(role)}")
        for name in names:
            if name in taken:
                problem = f"The column is given both as {taken[name]} and as {role}."
                remedy = f"Choose another column with {option(taken[name])} or {option(role)}."
                raise sheet.error(problem, remedy, column=name)
            taken[name] = role
    return taken


def _default_features(
    sheet: Sheet, taken: Collection[str], leave_out: str
) -> tuple[list[str], list[str]]:
    """Return the numeric columns that have no other part, and those that are not numeric."""
    chosen: list[str] = []
    left: list[str] = []
    for name in (name for name in sheet.names if name not in taken):
        if not cells.is_numeric(sheet.column(name)):
            cells.refuse_mostly_numeric(sheet, name, leave_out)
            left.append(name)
        elif name.startswith("Unnamed: "):
            problem = "The column has no name: such columns are often row numbers."
            remedy = ways(leave_out, f"use it with {option('id')}", "name it")
            raise sheet.error(problem, remedy, column=name)
        else:
            chosen.append(name)
    if not chosen:
        text = f"; these are text: {quote_all(left)}" if left else ""
        remedy = "Check the table, or the columns that are given another part or left out."
        raise sheet.error(f"No numeric column is left to use as a feature{text}.", remedy)
    return chosen, left


def _unusable_rows(
    sheet: Sheet, X: Floats, names: Sequence[str], leave_out: str, on_missing: str
) -> npt.NDArray[np.intp]:
    """Find the rows with an unusable feature, and refuse them unless told what to do."""
    bad = np.isinf(X) if on_missing == "model" else ~np.isfinite(X)
    rows = np.flatnonzero(bad.any(axis=1))
    every = len(rows) == len(X)
    if len(rows) == 0 or (on_missing == "drop" and not every):
        return rows
    per_column = bad.sum(axis=0)
    worst = [int(i) for i in np.argsort(-per_column, kind="stable") if per_column[i]]
    counts = ", ".join(f"{quote(names[i])} ({per_column[i]:,})" for i in worst[:6])
    more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
    what = f"{len(rows):,} of {len(X):,} rows {'has' if len(rows) == 1 else 'have'}"
    what = "Every row has" if every else what
    kind = "an infinite cell" if on_missing == "model" else "a blank or infinite cell"
    where = ", ".join(str(sheet.row(int(i))) for i in rows[:5]) + (", …" if len(rows) > 5 else "")
    where = f"{'row' if len(rows) == 1 else 'rows'} {where}"
    drop_rows = f"leave the rows out by giving 'drop' to {option('on_missing')}"
    raise sheet.error(
        f"{what} {kind} in the feature(s) {counts}{more}: {where}.",
        ways("fill the cells in", leave_out, "" if every else drop_rows),
        column=names[worst[0]] if len(worst) == 1 else None,
    )
