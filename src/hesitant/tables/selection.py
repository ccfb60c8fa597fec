"""`select_columns`: from a data frame to the arrays that a fit needs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import cells
from .cells import Floats, Mask, Objects, Sheet
from .errors import option, quote, quote_all, ways


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, by their part in the analysis.

    Every array has one entry for each row that is kept.

    Attributes
    ----------
    X : ndarray of float, shape (n_rows, n_features)
        The features; finite, or NaN where blank and ``on_missing="model"``.
    feature_names : tuple of str
        Their columns.
    y : ndarray of object or None
        The labels, None where blank; None as a whole if no label was asked for.
    ids, reviewed, weight : ndarray or None
        The identifiers, whether an expert has looked at the row, and the weights.
    rows, dropped : ndarray of int
        The positions in the data frame of the rows kept, and of those left out for a blank or
        infinite feature.
    ignored : tuple of str
        Columns that have no part because they are not numeric.
    set_aside : dict of str to str
        Numeric columns that measure nothing of their own, and why.
    unused_missing : tuple of str
        Values listed as missing that are not among the labels.
    blank_like : tuple of (str, int)
        Classes that read like "no label", such as ``unknown``, and their numbers of rows.
    alike : tuple of tuple of str
        Classes that differ only in case or blanks.
    single : tuple of str
        Classes of one labelled row.
    reviewed_like : str or None
        A column that reads like whether an expert saw the row, if none was named.
    opinions : ndarray of object, shape (n_rows, n_readers), or None
        What each reader said, where several label columns were named.
    """

    X: Floats
    feature_names: tuple[str, ...]
    y: Objects | None
    ids: Objects | None
    reviewed: Mask | None
    weight: Floats | None
    rows: npt.NDArray[np.intp]
    dropped: npt.NDArray[np.intp]
    ignored: tuple[str, ...]
    set_aside: dict[str, str]
    unused_missing: tuple[str, ...] = ()
    blank_like: tuple[tuple[str, int], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    single: tuple[str, ...] = ()
    reviewed_like: str | None = None
    opinions: Objects | None = None


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
        panel, whose majority is the label; None where there is no label, as for prediction.
    features : sequence of str or None, default=None
        The columns to use as features, in this order; None takes every numeric column that has no
        other part and measures something of its own. True and False count as 1 and 0.
    drop : collection of str, default=()
        Columns to leave out.
    id : str or None, default=None
        The column that identifies the rows.
    reviewed : str or None, default=None
        The column that tells (yes/no, true/false, 1/0) whether an expert has looked at the row.
    weight : str or None, default=None
        The column of weights, not negative.
    missing : collection or None, default=None
        Labels that stand for a blank, such as ``"ungated"``; None takes the number -1 for one.
    on_missing : {"error", "drop", "model"}, default="error"
        What to do with rows that have a blank or infinite feature; "model" keeps blanks as NaN.

    Returns
    -------
    Columns
        The arrays, and which rows were left out.

    Raises
    ------
    TableError
        If the columns are not what they are taken for; the message says where and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"CD3": [0.1, 2.0, 0.3], "cell": ["B", "T", None]})
    >>> columns = select_columns(frame, label="cell")
    >>> columns.feature_names
    ('CD3',)
    >>> columns.y
    array(['B', 'T', None], dtype=object)
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
    others = [("id", id), ("reviewed", reviewed), ("weight", weight)]
    taken = _roles(sheet, [*(("label", name) for name in readers), *others])
    leave_out = _leave_out(by_default=features is None, predicting=label is None)
    names, ignored = _feature_names(sheet, features, drop, taken, leave_out)
    offered = None if reviewed or not readers else cells.reviewed_like(sheet, {*taken, *drop})

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
    if y is not None:
        cells.check_classes(sheet, readers[0], y, minus_one=missing is None)
    weights = None if weight is None else cells.weights(sheet, weight)[kept]
    if weights is not None and not weights.any():
        raise sheet.error("Every weight is 0.", "Give some rows a positive weight.", column=weight)
    ids = np.empty(len(sheet), dtype=object)
    if id is not None:
        ids[:] = sheet.cells(id)
    given = [] if y is None else [cell for cell in y if cell is not None]
    return Columns(
        X=X if len(kept) == len(X) else X[kept],
        feature_names=tuple(names),
        y=y,
        ids=None if id is None else ids[kept],
        reviewed=None if reviewed is None else cells.truths(sheet, reviewed)[kept],
        weight=weights,
        rows=kept,
        dropped=dropped,
        ignored=tuple(name for name in ignored if name != offered),
        set_aside=aside,
        unused_missing=unused,
        blank_like=() if y is None else tuple(cells.blank_like(y)),
        alike=() if y is None else tuple(cells.alike(y)),
        single=tuple(str(label) for label, count in Counter(given).items() if count == 1)[:100],
        reviewed_like=offered,
        opinions=None if opinions is None else opinions[kept],
    )


def likeliest_label(frame: pd.DataFrame) -> str | None:
    """Return the column that most looks like a label: a few words, some of them blank."""
    sheet = Sheet(frame)
    best: tuple[float, str | None] = (0.0, None)
    for name in sheet.names:
        given = [cell for cell in sheet.cells(name)[:10_000] if cell is not None]
        classes = len(set(given))
        if not 2 <= classes <= max(2, min(50, len(given) // 2)):
            continue
        score = 1.0 + (len(given) < len(sheet)) + 2 * isinstance(given[0], str)
        words = ("label", "class", "population", "diagnos", "category", "type", "target", "gate")
        score += 4 * any(word in name.casefold() for word in words) + (name == "y")
        if score > best[0] and not all(isinstance(c, float) and c % 1 for c in given):
            best = (score, name)
    return best[1]


def _labels(
    sheet: Sheet, readers: Sequence[str], missing: Collection[object] | None
) -> tuple[Objects | None, Objects | None, tuple[str, ...]]:
    if not readers:
        return None, None, ()
    if len(readers) == 1:
        y, unused = cells.labels(sheet, readers[0], missing)
        return y, None, unused
    from hesitant.datasets import consensus

    columns = [cells.labels(sheet, name, missing) for name in readers]
    opinions = np.stack([y for y, _ in columns], axis=1)
    # what one reader never writes, another may
    unused = tuple(v for v in columns[0][1] if all(v in other for _, other in columns))
    return consensus(opinions, len(readers) // 2 + 1, ties="blank"), opinions, unused


def _leave_out(*, by_default: bool, predicting: bool) -> str:
    """Return how to do without a column, which depends on who chose the features."""
    if predicting:  # a fitted model cannot do without, but its features may have no names
        return f"choose other columns with {option('features')}" if by_default else ""
    if by_default:
        return f"leave such columns out with {option('drop')}"
    return f"take such columns out of {option('features')}"


def _roles(sheet: Sheet, roles: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return which column plays which part, after checking that each plays only one."""
    taken: dict[str, str] = {}
    for role, name in roles:
        if name is None:
            continue
        sheet.require([name], f"named in {option(role)}")
        if name in taken:
            problem = f"The column is given both as {taken[name]} and as {role}."
            raise sheet.error(problem, f"Choose another with {option(role)}.", column=name)
        taken[name] = role
    return taken


def _feature_names(
    sheet: Sheet,
    features: Sequence[str] | None,
    drop: Collection[str],
    taken: dict[str, str],
    leave_out: str,
) -> tuple[list[str], list[str]]:
    """Return the columns that are features, and those that cannot be for being no numbers."""
    sheet.require(drop, f"named in {option('drop')}")
    for name in drop:
        if name in taken:
            problem = f"The column is given both as {taken[name]} and to be left out."
            raise sheet.error(problem, f"Take it out of {option('drop')}.", column=name)
    if features is None:
        return _default_features(sheet, {*taken, *drop}, leave_out)
    names = list(features)
    sheet.require(names, f"named in {option('features')}")
    if not names:
        raise sheet.error("No feature is named.", f"Name at least one with {option('features')}.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        problem = f"{quote_all(repeated)} named as a feature more than once."
        raise sheet.error(problem, f"Name every column once in {option('features')}.")
    for name in names:
        role = taken.get(name) or ("left out" if name in drop else None)
        if role is not None:
            other = f"take it out of {option('drop')}"
            if name in taken:
                other = f"choose another column with {option(role)}"
            problem = f"{quote(name)} cannot be a feature, because it is given as {role}."
            raise sheet.error(problem, ways(other, leave_out), column=name)
    return names, []


def _default_features(
    sheet: Sheet, taken: Collection[str], leave_out: str
) -> tuple[list[str], list[str]]:
    chosen, left = [], []
    for name in sheet.names:
        if name in taken:
            continue
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
    what = "Every row" if every else f"{len(rows):,} of {len(X):,} rows"
    has = "has" if every or len(rows) == 1 else "have"
    kind = "an infinite cell" if on_missing == "model" else "a blank or infinite cell"
    where = ", ".join(str(sheet.row(int(i))) for i in rows[:5]) + (", …" if len(rows) > 5 else "")
    drop_rows = f"leave the rows out by giving 'drop' to {option('on_missing')}"
    raise sheet.error(
        f"{what} {has} {kind} in the feature(s) {counts}{more}: "
        f"{'row' if len(rows) == 1 else 'rows'} {where}.",
        ways("fill the cells in", leave_out, "" if every else drop_rows),
        column=names[worst[0]] if len(worst) == 1 else None,
    )
