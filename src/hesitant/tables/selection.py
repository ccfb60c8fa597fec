"""`select_columns`: from a data frame to the arrays that a fit needs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import option, quote, quote_all, ways
from .label_columns import blank_like, check_classes, identifiers, labels, truths
from .number_columns import counting, default_features, unusable_rows, weights
from .number_columns import features as feature_values
from .sheet import Sheet

__all__ = ["Columns", "select_columns"]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, by their part in the analysis.

    Every array has one entry for each row that is kept.

    Attributes
    ----------
    X : ndarray of float, shape (n_rows, n_features)
        The features, all finite.
    feature_names : tuple of str
        Their columns.
    y : ndarray of object or None
        The labels, None where blank; None as a whole if no label was asked for.
    ids : ndarray of object or None
        The identifiers.
    reviewed : ndarray of bool or None
        Whether an expert has looked at the row.
    weight : ndarray of float or None
        The weights.
    rows : ndarray of int
        The positions in the data frame of the rows kept.
    dropped : ndarray of int
        The positions of the rows left out for a blank or infinite feature.
    ignored : tuple of str
        Columns that have no part because they are not numeric.
    unused_missing : tuple of str
        Values listed as missing that are not among the labels.
    blank_like : tuple of (str, int)
        Classes that read like "no label", such as ``unknown``, and their numbers of rows.
    counting : tuple of str
        Features, taken because none were named, that seem to number the rows.
    """

    X: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]
    y: npt.NDArray[np.object_] | None
    ids: npt.NDArray[np.object_] | None
    reviewed: npt.NDArray[np.bool_] | None
    weight: npt.NDArray[np.float64] | None
    rows: npt.NDArray[np.intp]
    dropped: npt.NDArray[np.intp]
    ignored: tuple[str, ...]
    unused_missing: tuple[str, ...] = ()
    blank_like: tuple[tuple[str, int], ...] = ()
    counting: tuple[str, ...] = ()


def select_columns(
    frame: pd.DataFrame,
    *,
    label: str | None,
    features: Sequence[str] | None = None,
    drop: Collection[str] = (),
    id: str | None = None,
    reviewed: str | None = None,
    weight: str | None = None,
    missing: Collection[object] = (),
    on_missing: Literal["error", "drop"] = "error",
) -> Columns:
    """Take the columns of a table apart, and check them.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, as `read_table` returns it.
    label : str or None
        The column of labels, blank where the expert gave none; None where there is no label, as
        for prediction.
    features : sequence of str or None, default=None
        The columns to use as features, in this order; None takes every numeric column that has no
        other part. True and False count as 1 and 0.
    drop : collection of str, default=()
        Columns to leave out.
    id : str or None, default=None
        The column that identifies the rows.
    reviewed : str or None, default=None
        The column that tells (yes/no, true/false, 1/0) whether an expert has looked at the row.
    weight : str or None, default=None
        The column of weights, not negative.
    missing : collection, default=()
        Labels that stand for a blank, such as ``"ungated"`` or ``-1``.
    on_missing : {"error", "drop"}, default="error"
        What to do with rows that have a blank or infinite feature.

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
    if on_missing not in ("error", "drop"):
        raise ValueError(f"on_missing must be 'error' or 'drop', got {on_missing!r}")
    sheet = Sheet(frame)
    if len(sheet) == 0:
        raise sheet.error("The table has no rows.", "Check the file, or the rows selected.")
    taken = _roles(sheet, label=label, id=id, reviewed=reviewed, weight=weight)
    leave_out = _leave_out(by_default=features is None, predicting=label is None)
    names, ignored = _feature_names(sheet, features, drop, taken, leave_out)

    X = feature_values(sheet, names, leave_out)
    dropped = unusable_rows(sheet, X, names, leave_out, on_missing=on_missing)
    kept = np.delete(np.arange(len(sheet)), dropped)
    X = X if len(kept) == len(X) else X[kept]

    y, unused = (None, ()) if label is None else labels(sheet, label, missing)
    if y is not None and label is not None:
        y = y[kept]
        check_classes(sheet, label, y)
    weight_values = None if weight is None else weights(sheet, weight)[kept]
    if weight_values is not None and not weight_values.any():
        raise sheet.error("Every weight is 0.", "Give some rows a positive weight.", column=weight)
    return Columns(
        X=X,
        feature_names=tuple(names),
        y=y,
        ids=None if id is None else identifiers(sheet, id)[kept],
        reviewed=None if reviewed is None else truths(sheet, reviewed)[kept],
        weight=weight_values,
        rows=kept,
        dropped=dropped,
        ignored=tuple(ignored),
        unused_missing=unused,
        blank_like=() if y is None else tuple(blank_like(y)),
        counting=() if features is not None else tuple(counting(X, names, kept)),
    )


def _leave_out(*, by_default: bool, predicting: bool) -> str:
    """Return how to do without a column, which depends on who chose the features."""
    if predicting:  # a fitted model cannot do without, but its features may have no names
        return f"choose other columns with {option('features')}" if by_default else ""
    if by_default:
        return f"leave such columns out with {option('drop')}"
    return f"take such columns out of {option('features')}"


def _roles(sheet: Sheet, **roles: str | None) -> dict[str, str]:
    """Return which column plays which part, after checking that each plays only one."""
    taken: dict[str, str] = {}
    for role, name in roles.items():
        if name is None:
            continue
        sheet.require([name], f"named in {option(role)}")
        if name in taken:
            raise sheet.error(
                f"The column is given both as {taken[name]} and as {role}.",
                f"Choose another column with {option(role)}.",
                column=name,
            )
        taken[name] = role
    return taken


def _feature_names(
    sheet: Sheet,
    features: Sequence[str] | None,
    drop: Collection[str],
    taken: dict[str, str],
    leave_out: str,
) -> tuple[list[str], list[str]]:
    sheet.require(drop, f"named in {option('drop')}")
    for name in drop:
        if name in taken:
            raise sheet.error(
                f"The column is given both as {taken[name]} and to be left out.",
                f"Take it out of {option('drop')}.",
                column=name,
            )
    if features is None:
        return default_features(sheet, {*taken, *drop}, leave_out)
    names = list(features)
    sheet.require(names, f"named in {option('features')}")
    if not names:
        raise sheet.error("No feature is named.", f"Name at least one with {option('features')}.")
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise sheet.error(
            f"{quote_all(repeated)} named as a feature more than once.",
            f"Name every column once in {option('features')}.",
        )
    for name in names:
        role = taken.get(name) or ("left out" if name in drop else None)
        if role is not None:
            other = (
                f"choose another column with {option(role)}"
                if name in taken
                else f"take it out of {option('drop')}"
            )
            raise sheet.error(
                f"{quote(name)} cannot be a feature, because it is given as {role}.",
                ways(other, leave_out),
                column=name,
            )
    return names, []
