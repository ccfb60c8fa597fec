"""`select_columns`: from a data frame to the arrays that a fit needs."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant._words import did_you_mean, listed, noun
from hesitant.checks import look_up
from hesitant.labels import as_shown, kind_of, look_alike
from hesitant.statements import Statements

from .cells import BLANK_CELLS, SINGLE, Column, Sheet, blank_like, codes_in, unfit_features
from .errors import is_number, option, quote, quote_all, ways

# what `hesitant analyse` and `predict` write beside a table's own columns, and P(...) for classes
_PREDICTED = {"predicted", "probability", "entropy", "labelling_probability"}
_COMPARED = 1_000  # more different labels are not compared with a misspelt one, which takes long


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table by their part in the analysis, an entry for each row kept.

    ``X`` (named by ``feature_names``) is finite, or NaN where blank and ``on_missing="model"``;
    ``y``, ``ids``, ``reviewed`` and ``weight`` are None where not asked for, and ``y`` is None
    where a label is blank. ``rows`` and ``dropped`` are the positions in the data frame of the
    rows kept and of those left out. ``ignored`` columns are not numeric, and those ``set_aside``
    measure nothing of their own, for a reason. Classes that read like "no label" are
    ``blank_like``, with their rows; ``notes`` say in words what else was found. Of several label
    columns, ``opinions`` has what each of ``readers`` said, and ``shown`` which rows each saw, if
    that is known.
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    y: AnyArray | None
    ids: AnyArray | None
    reviewed: BoolArray | None
    weight: FloatArray | None
    rows: IntArray
    dropped: IntArray
    ignored: tuple[str, ...] = ()
    set_aside: dict[str, str] = field(default_factory=dict)
    blank_like: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    opinions: AnyArray | None = None
    readers: tuple[str, ...] = ()
    shown: BoolArray | None = None

    @property
    def said(self) -> Any:
        """The labels; what each reader of a panel said, if there are several."""
        if self.opinions is None:
            return self.y
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
    empty: Collection[float] = (),
) -> Columns:
    """Take the columns of a table, as `read_table` returns it, apart and check them.

    ``label`` is the column of labels, blank where the expert gave none; several are the readers
    of a panel, and ``y`` what most of them said. ``features`` are used in this order, and those
    in ``drop`` left out; by default, every numeric column is used that has no other part and
    measures something of its own. ``id`` names the rows, ``reviewed`` tells (yes/no, true/false,
    1/0) whether an expert has looked at a row, and ``weight`` weighs the rows. Labels in
    ``missing``, such as ``"ungated"``, stand for a blank; None takes the number -1 for one. Rows
    that have a blank or infinite feature are an ``on_missing="error"``, or "drop" leaves them
    out; "model" keeps blanks as NaN. Numbers in ``empty``, such as -999, make a feature blank.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"CD3": [0.1, 2.0, 0.3], "cell": ["B", "T", None]})
    >>> columns = select_columns(frame, label="cell")
    >>> columns.feature_names, columns.y
    (('CD3',), array(['B', 'T', None], dtype=object))
    """
    lists = {"features": features, "drop": drop, "missing": missing, "empty": empty}
    for name, value in lists.items():
        if isinstance(value, str | Real):
            kind = type(value).__name__
            raise TypeError(f"{name} must be a collection, not the {kind} {value!r}")
    look_up("on_missing", on_missing, dict.fromkeys(("error", "drop", "model")))
    sheet = Sheet(frame)
    if len(frame) == 0:
        raise sheet.error("The table has no rows.", "Check the file, or the rows selected.")
    readers = [] if label is None else [label] if isinstance(label, str) else list(label)
    parts: dict[str, Any] = {"label": readers, "id": id, "reviewed": reviewed, "weight": weight}
    taken = _roles(sheet, {**parts, "drop": drop, "features": features})
    sheet.empty = [float(value) for value in empty]
    sheet.leave_out = f"take such columns out of {option('features')}"
    if not readers:  # a fitted model cannot do without, but its features may have no names
        sheet.leave_out = "" if features else f"choose other columns with {option('features')}"
    elif features is None:
        sheet.leave_out = f"leave such columns out with {option('drop')}"
    if features is not None and not len(features):
        raise sheet.error("No feature is named.", f"Name at least one with {option('features')}.")
    chosen = _default_features(sheet, taken) if features is None else (list(features), [], {})
    names, ignored, aside = chosen
    X = sheet.features(names)
    sheet.notes += _codes(sheet, X, names)
    dropped = _unusable_rows(sheet, X, names, on_missing)
    kept = np.delete(np.arange(len(frame)), dropped)

    y = opinions = None
    counts: Counter[object] = Counter()
    if readers:
        said = np.stack(_read_labels(sheet, readers, missing), axis=1)[kept]
        y = said[:, 0]
        if len(readers) > 1:
            from hesitant.datasets import consensus

            opinions, y = said, consensus(said, 1, ties="blank")
        for row, rows in Counter(zip(*said.T, strict=True)).items():
            counts.update({label: rows for label in row if label is not None})
        sheet[readers[0]].check_classes(counts, len(y), coded=missing is None)
    sheet.notes += look_alike(counts)
    single = quote_all(name for name, count in counts.items() if count == 1)
    if single:
        sheet.notes.append(f"A single labelled row says little about a class: {single}.")
    # who gives "none" says that the number -1 is a class
    known = {"-1"} if "none" in (missing or ()) else set()
    like = tuple(found for found in blank_like(counts) if found[0] not in known)
    X = X if len(kept) == len(X) else X[kept]
    ids = None if id is None else sheet[id].cells[kept]
    seen = None if reviewed is None else sheet[reviewed].truths()[kept]
    weights = None if weight is None else _weights(sheet[weight], kept)
    rows_of = X, tuple(names), y, ids, seen, weights, kept, dropped
    told = tuple(ignored), aside, like, tuple(sheet.notes)
    return Columns(*rows_of, *told, opinions, tuple(readers))


def likeliest_label(frame: pd.DataFrame) -> str | None:
    frame = frame.head(10_000)
    words = ("label", "class", "population", "diagnos", "category", "type", "target", "gate")
    scores: dict[str, int] = {}
    for name, column in Sheet(frame).items():
        given, classes = int(pd.notna(column.cells).sum()), column.values
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
                if taken[name] == role:
                    problem, remedy = f"{option(role)} names the column twice.", "Name it once."
                raise sheet.error(problem, remedy, column=name)
            taken[name] = role
    return taken


def _default_features(
    sheet: Sheet, taken: dict[str, str]
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the numeric columns without a part, those not numeric, and why others are aside."""
    chosen, text, aside = list[str](), list[str](), dict[str, str]()
    learning = "label" in taken.values()  # a model whose features have no names takes them all
    again = learning and sheet.keys() >= _PREDICTED
    for name in (name for name in sheet if name not in taken):
        if learning and "reviewed" not in taken.values() and sheet[name].reads_like_reviewed():
            aside[name] = "reads like whether an expert saw the row: if so, name it with "
            aside[name] += option("reviewed")
        elif again and (name in {*_PREDICTED, "unusual"} or name.startswith("P(")):
            aside[name] = "was written by an earlier analysis"
        elif learning and name.startswith("Unnamed: "):
            aside[name] = "has no name, and may number the rows"
        elif not sheet[name].is_numeric():
            sheet[name].refuse_mostly_numbers()
            text.append(name)
        else:
            chosen.append(name)
    if not chosen:
        also = f"; these are text: {quote_all(text)}" if text else ""
        remedy = "Check the table, and the columns that are left out or used for something else."
        raise sheet.error(f"No numeric column is left to use as a feature{also}.", remedy)
    unfit = unfit_features(sheet.features(chosen), chosen) if learning else {}
    if len(unfit) < len(chosen):  # where nothing else is left, it is for the fit to judge
        aside |= unfit
    if text:
        sheet.notes.append(f"Columns that are not numeric are not used: {quote_all(text)}.")
    if aside:
        why = "; ".join(f"{quote(name)} {reason}" for name, reason in aside.items())
        features = option("features")
        sheet.notes.append(f"Columns set aside, unless you name them with {features}: {why}.")
    return [name for name in chosen if name not in aside], text, aside


def _codes(sheet: Sheet, X: FloatArray, names: list[str]) -> Iterator[str]:
    """Say which numbers were taken for empty cells, and ask about those that may mean that."""
    for code in sheet.empty:
        cells = sum(np.isclose(sheet[k].numbers(""), code, SINGLE, 0).sum() for k in names)
        yield f"{noun(cells, 'cell')} with {as_shown(code)} taken for empty."
    for code, rows in codes_in(X, names).items():
        where = listed([f"{quote(name)} ({noun(n, 'row')})" for name, n in rows.items()])
        far = f"{as_shown(code)} lies outside of all other values of {where}"
        remedy = f"If it means 'not measured', give {as_shown(code)} to {option('empty')}"
        yield f"{far}, and is taken for a number. {remedy}: such cells are then empty."


def _read_labels(sheet: Sheet, readers: list[str], missing: Any) -> list[AnyArray]:
    """Return what each reader said, None where blank; note listed values that do not occur."""
    labels = {name: sheet[name].labels() for name in readers}
    every = {label for said in labels.values() for label in said.values()}
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in every)
    # where no value is listed, the number -1 is blank, as it is in Python
    given = ([-1] if numbers else []) if missing is None else missing
    texts = [as_shown(value).strip() for value in given]  # options arrive as text
    blank = {as_shown(float(t)) if numbers and is_number(t) else t for t in texts}
    written = sorted(map(as_shown, every))
    # empty cells and their like were blank before anybody looked for them
    unused = sorted(blank.difference(written, BLANK_CELLS, ["none"])) if missing else []
    for value in unused:  # one that the column writes otherwise would stay a class
        hint = "" if is_number(value) else did_you_mean(value, written[:_COMPARED])
        if hint:
            problem = f"{quote(value)} is listed as missing, but is not in the column."
            remedy = f"{hint[1:]} List it so, or leave it out of {option('missing')}."
            raise sheet.error(problem, remedy, column=readers[0])
    if unused:
        sheet.notes.append(f"Given to {option('missing')}, but not a label: {quote_all(unused)}.")
    for said in labels.values():
        said |= {cell: None for cell, label in said.items() if as_shown(label) in blank}
        # to whoever fits, numbers that are not whole would be measurements: words are classes
        said |= {cell: as_shown(v) for cell, v in said.items() if isinstance(v, float)}
    _write_alike(sheet, labels)
    each = [(said, sheet[name].cells) for name, said in labels.items()]
    return [np.fromiter(map(said.get, cells), object, len(cells)) for said, cells in each]


def _write_alike(sheet: Sheet, labels: dict[str, dict[Any, Any]]) -> None:
    """Make words of all labels where one reader wrote words, and another the same as numbers."""
    found = {name: [v for v in said.values() if v is not None] for name, said in labels.items()}
    pairs = combinations([name for name, given in found.items() if given], 2)
    mixed = [(a, b) for a, b in pairs if kind_of(found[a][0]) != kind_of(found[b][0])]
    for a, b in mixed:
        if not {*map(as_shown, found[a])} & {*map(as_shown, found[b])}:
            problem = f"The labels look like {quote(found[b][0])}, those of the reader"
            problem += f" {quote(a)} like {quote(found[a][0])}."
            remedy = f"Write the classes alike in every column named in {option('label')}."
            raise sheet.error(problem, remedy, column=b)
    for said in labels.values() if mixed else ():
        said.update({k: v if v is None else as_shown(v) for k, v in said.items()})


def _weights(column: Column, kept: IntArray) -> FloatArray:
    remedy = "Give every row a weight; a row of weight 0 does not count in the fit."
    values = column.numbers(remedy)
    bad = ~(np.isfinite(values) & (values >= 0))
    column.refuse(bad, "is not a weight, a number of at least 0", remedy)
    if not values[kept].any():
        raise column.error("Every weight is 0.", "Give some rows a positive weight.")
    return values[kept]


def _unusable_rows(sheet: Sheet, X: FloatArray, names: list[str], on_missing: str) -> IntArray:
    bad = np.isinf(X) if on_missing == "model" else ~np.isfinite(X)
    rows = np.flatnonzero(bad.any(axis=1))
    every = len(rows) == len(X)
    if len(rows) == 0:
        return rows
    if on_missing == "drop" and not every:
        left = noun(len(rows), "row was", "rows were")
        which = listed([str(row + 1) for row in rows])
        sheet.notes.append(f"{left} left out for a blank or infinite feature: {which}.")
        return rows
    counts = bad.sum(axis=0)
    most = [f"{names[j]} ({counts[j]:,})" for j in np.argsort(-counts, kind="stable") if counts[j]]
    kind = "an infinite cell" if on_missing == "model" else "a blank or infinite cell"
    problem = f"{len(rows):,} of {len(X):,} rows have {kind}, by feature: {quote_all(most)}."
    drop_rows = f"leave the rows out by giving 'drop' to {option('on_missing')}"
    remedy = ways("fill the cells in", sheet.leave_out, "" if every else drop_rows)
    first = int(rows[0])
    raise sheet.error(problem, remedy, first, names[int(bad[first].argmax())])
