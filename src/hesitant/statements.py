"""Who said what about which row: labels, sets, probabilities or grades, of one reader or many."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self, cast

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant._words import Table, noun
from hesitant.checks import check_shown
from hesitant.labels import describe, encode, is_blank, is_table, object_array, read, read_table

WITHHELD, NOT_SHOWN = -1, -2
SUM_TOLERANCE = 0.01
NOUN = {"labels": "labels", "sets": "sets", "probabilities": "reports", "grades": "grades"}


@dataclass(frozen=True, eq=False, repr=False)
class Statements:
    """What each reader said of each row, checked; use one of the ``from_`` methods to make it.

    They are sliced by rows like an array, and take the place of y: ``clf.fit(X, statements)``. The
    methods that make them take tables of any kind, and these options:

    - ``readers``: names, by default those of the columns, or "reader 1", "reader 2" and so on;
    - ``shown``: (n, J), False where a reader never saw the row; blanks elsewhere were withheld;
    - ``missing_label``: what marks a blank besides None, NaN, NA and null;
    - ``classes``: all class values, in the order wanted; by default those seen, sorted;
    - ``truth``: (n,) the class of rows for which it is known for certain, blank elsewhere.

    ``said`` (n, J) is what reader j said of row i: a position in ``options``, −1 if withheld, −2
    if never shown. The options of labels are the classes, those of sets a boolean array (m, g),
    those of grades the scale. ``truth`` (n,) is the position of the class where it is known, −1
    elsewhere, and ``chances`` (n, J, g) holds reported probabilities, NaN where there is none.

    >>> from hesitant import Statements
    >>> said = Statements.from_labels({"Ada": ["a", "b", None], "Bo": ["a", None, "a"]})
    >>> said
    Statements: 3 rows, 2 readers, labels of the classes 'a', 'b'
    reader  labels  withheld  never shown
    -------------------------------------
    Ada          2         1            0
    Bo           2         1            0
    >>> said[:2].said.tolist()
    [[0, 0], [1, -1]]
    """

    kind: str
    said: IntArray
    readers: tuple[str, ...]
    classes: AnyArray
    options: AnyArray
    truth: IntArray
    chances: FloatArray | None = None

    def __post_init__(self) -> None:
        for array in (self.said, self.classes, self.options, self.chances, self.truth):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_labels(
        cls, Y: Any, readers: Any = None, shown: Any = None, missing_label: Any = -1, **more: Any
    ) -> Self:
        """Make statements from labels: a column a reader (n, J), or (n,) of one."""
        table, names = read_table(Y, "Y")
        ordered, known, codes = _encode(table.ravel(), len(table), missing_label, **more)
        said = _hide(codes.reshape(table.shape), shown)
        return cls("labels", said, _names(readers, names, said), ordered, ordered, known)

    @classmethod
    def from_long(
        cls, table: Any, *, row: str, reader: str, label: str, rows: Any = None, **more: Any
    ) -> Self:
        """Make statements from a long table of labels: one line a statement.

        ``row``, ``reader`` and ``label`` name the columns. What has no line was never shown; an
        empty label was withheld. ``rows`` lists the rows' names in the order of X, or is their
        number where names are positions from 0 (by default, up to the largest).
        """
        cells, names = read_table(table, "table")
        columns = dict(zip(names or (), cells.T, strict=False))
        for name in (row, reader, label):
            if name not in columns:
                raise ValueError(f"the table has no column {name!r}; it has {names or []}.")
        of, who, what = columns[row], columns[reader], columns[label]
        at, n = _positions(of.tolist(), row, rows)
        persons, j = np.unique([str(person) for person in who], return_inverse=True)
        ordered, known, codes = _encode(what, n, **more)
        said = np.full((n, len(persons)), NOT_SHOWN, dtype=codes.dtype)
        said[at, j] = codes
        for k in np.flatnonzero(said[at, j] != codes):
            raise ValueError(f"reader {who[k]!r} has two labels for row {of[k]!r}: keep one line.")
        return cls("labels", said, tuple(persons.tolist()), ordered, ordered, known)

    @classmethod
    def from_probabilities(
        cls, Q: Any, classes: Any = None, readers: Any = None, shown: Any = None, **more: Any
    ) -> Self:
        """Make statements from probabilities (n, g) or (n, J, g), those withheld NaN."""
        Q, columns = read(Q, "Q")
        classes = columns if classes is None else classes
        try:
            Q = np.array(Q, dtype=float)
        except (TypeError, ValueError):
            raise ValueError("Q holds values that are not numbers: give probabilities.") from None
        Q = Q[:, None, :] if Q.ndim == 2 else Q
        if Q.ndim != 3 or 0 in Q.shape:
            raise ValueError(f"Q has shape {Q.shape}: give (n, g), or (n, J, g) of J readers.")
        if classes is None or len(classes) != Q.shape[2]:
            raise ValueError(f"classes={classes!r}: name the {Q.shape[2]} classes of Q's columns.")
        names, total = _names(readers, None, Q), Q.sum(axis=2)
        none = np.isnan(Q).all(axis=2)
        faults = {
            "is NaN for some of the classes": np.isnan(total) & ~none,
            "has a probability below 0, or infinite": ((Q < 0) | np.isinf(Q)).any(axis=2),
            "does not add up to 1 (percentages?)": abs(total - 1) > SUM_TOLERANCE,
        }
        for fault, where in faults.items():
            for i, j in np.argwhere(where):
                found = f"row {i} of {names[j]} {fault}: {Q[i, j].tolist()}. Give probabilities"
                raise ValueError(f"{found} that add up to 1, or NaN for all if withheld.")
        ordered, known, _ = _encode(object_array([]), len(Q), classes=classes, **more)
        said = _hide(np.where(none, WITHHELD, 0), shown)
        return cls("probabilities", said, names, ordered, ordered, known, Q / total[:, :, None])

    @classmethod
    def from_sets(
        cls, sets: Any, classes: Any = None, readers: Any = None, shown: Any = None, **more: Any
    ) -> Self:
        """Make statements from sets of classes, one a row, or a table with a column a reader.

        "a or b, not c" is ``{"a", "b"}``; a single label stands for the set of itself. None was
        withheld, and so was a set of all classes.

        >>> from hesitant import Statements
        >>> said = Statements.from_sets([{"a", "b"}, "c", None, {"a"}])
        >>> said.options[said.said[0, 0]].tolist()
        [True, True, False]
        """
        if isinstance(sets, str) or not isinstance(sets, Iterable):
            raise TypeError(f"sets={sets!r}: give a sequence of sets, one a row.")
        table, names = read_table(sets if is_table(sets) else {"reader 1": sets}, "sets")
        (n, J), blank = table.shape, more.get("missing_label", -1)
        cells = [_members(cell, blank) for cell in table.ravel()]
        members = object_array([value for cell in cells for value in cell])
        ordered, known, codes = _encode(members, n, classes=classes, **more)
        inside = np.zeros((n * J, len(ordered)), dtype=bool)
        inside[np.repeat(np.arange(n * J), [*map(len, cells)]), codes] = True
        spoke, said = inside.any(axis=1) & ~inside.all(axis=1), np.full(n * J, WITHHELD)
        options, said[spoke] = np.unique(inside[spoke], axis=0, return_inverse=True)
        said = _hide(said.reshape(n, J), shown)
        return cls("sets", said, _names(readers, names, said), ordered, options, known)

    @classmethod
    def from_grades(
        cls, R: Any, scale: Any, classes: Any, readers: Any = None, shown: Any = None, **more: Any
    ) -> Self:
        """Make statements from grades: a column a reader (n, J), or (n,) of one.

        ``scale`` lists all grades, from surely the first of two classes to surely the second
        (BI-RADS, 1 to 5), the middle being hesitation.
        """
        table, names = read_table(R, "R")
        if len(scale) < 3 or len(classes) != 2:
            given = f"scale={list(scale)!r}, classes={list(classes)!r}: give at least 3 grades"
            raise ValueError(f"{given} between 2 classes. Two grades are labels: use from_labels.")
        grades = encode(table.ravel(), more.get("missing_label", -1), scale, names=("R", "scale"))
        ordered, known, _ = _encode(object_array([]), len(table), classes=classes, **more)
        said = _hide(grades.codes.reshape(table.shape), shown)
        return cls("grades", said, _names(readers, names, said), ordered, grades.classes, known)

    def __len__(self) -> int:
        return len(self.said)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and readers."""
        return cast(tuple[int, int], self.said.shape)

    def __getitem__(self, rows: Any) -> "Statements":
        rows = rows[0] if isinstance(rows, tuple) else rows  # [rows, ...], as scikit-learn has it
        rows = [rows] if isinstance(rows, Integral) else rows
        chances = None if self.chances is None else self.chances[rows]
        return replace(self, said=self.said[rows], chances=chances, truth=self.truth[rows])

    @property
    def given(self) -> BoolArray:
        """Whether each reader said something of each row (n, J)."""
        return self.said >= 0

    @property
    def shown(self) -> BoolArray:
        """Whether each reader was shown each row (n, J)."""
        return self.said != NOT_SHOWN

    @property
    def sets(self) -> BoolArray | None:
        """What could be said as sets of classes (m, g), if it was labels or sets."""
        if self.kind == "labels":
            return np.eye(len(self.classes), dtype=bool)
        return self.options if self.kind == "sets" else None

    @property
    def counts(self) -> dict[str, list[Any]]:
        """Columns of a table with a row a reader: what was said, withheld, and never shown."""
        return {
            "reader": list(self.readers),
            NOUN[self.kind]: self.given.sum(axis=0).tolist(),
            "withheld": (self.said == WITHHELD).sum(axis=0).tolist(),
            "never shown": (~self.shown).sum(axis=0).tolist(),
        }

    def agreement(self) -> FloatArray:
        """Return how often each two readers agree (J, J), NaN if they never spoke of one row."""
        said = self.said if self.chances is None else np.nan_to_num(self.chances).argmax(axis=2)
        chose = [((said == k) & self.given).astype(float) for k in range(said.max(initial=0) + 1)]
        both = self.given.T.astype(float) @ self.given
        with np.errstate(invalid="ignore"):
            return np.asarray(sum(mine.T @ mine for mine in chose) / both)

    def votes(self) -> FloatArray:
        """Return votes (n, g), one for each reader who spoke; the classes of a set share one."""
        if self.chances is not None:
            return np.nansum(np.where(self.given[:, :, None], self.chances, np.nan), axis=1)
        if self.sets is not None:
            share = self.sets / self.sets.sum(axis=1, keepdims=True)
        else:
            along = np.linspace(0, 1, len(self.options))
            share = np.column_stack((1 - along, along))
        share = np.vstack((share, np.zeros(share.shape[1])))  # for those who said nothing
        return sum(share[np.maximum(column, -1)] for column in self.said.T)

    def vote(self) -> IntArray:
        """Return the class with most votes (n,), −1 for a tie; the truth where it is known."""
        votes = self.votes()
        alone = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        return np.where(self.truth >= 0, self.truth, np.where(alone, votes.argmax(axis=1), -1))

    def of(self, reader: str) -> tuple[AnyArray, BoolArray]:
        """Return one reader's labels (None for a blank) and which rows were shown: y, reviewed."""
        if self.kind != "labels":
            raise ValueError(f"these are {NOUN[self.kind]}, and only labels can take y's place.")
        if reader not in self.readers:
            raise ValueError(f"no labels of a reader {reader!r}; readers: {self.readers}.")
        said = self.said[:, self.readers.index(reader)]
        return self.labels(said), said != NOT_SHOWN

    def labels(self, codes: IntArray) -> AnyArray:
        """Return class codes as labels, None for a blank."""
        return np.take(object_array([*self.classes.tolist(), None]), np.maximum(codes, -1))

    def align(self, classes: Sequence[Any], readers: Sequence[str] | None = None) -> "Statements":
        """Return the same statements with these classes and readers, in this order."""
        places = encode(self.classes, None, classes)
        move, ordered = np.append(places.codes, -1), places.classes
        if self.kind == "grades" and move[0] > move[1]:
            raise ValueError(f"grades run from {self.classes[0]!r}: give classes in that order.")
        names = self.readers if readers is None else tuple(readers)
        unknown = sorted(set(self.readers) - set(names))
        if unknown:
            raise ValueError(f"reader {unknown[0]!r} was not in the fit, which had {names!r}.")
        at = [names.index(name) for name in self.readers]
        said, options, chances = np.full((len(self), len(names)), NOT_SHOWN), self.options, None
        said[:, at] = self.said
        if self.kind == "labels":
            said, options = np.where(said >= 0, move[said], said), ordered
        elif self.kind == "sets":
            options = np.zeros((len(self.options), len(ordered)), dtype=bool)
            options[:, move[:-1]] = self.options
        elif self.chances is not None:
            chances, options = np.full((*said.shape, len(ordered)), np.nan), ordered
            own = np.zeros((*self.shape, len(ordered)))
            own[:, :, move[:-1]] = self.chances
            chances[:, at] = own
        return Statements(self.kind, said, names, ordered, options, move[self.truth], chances)

    def __repr__(self) -> str:
        (n, J), listed = self.shape, ", ".join(map(describe, self.classes[:8]))
        between = {"grades": "between", "probabilities": "on"}.get(self.kind, "of")
        head = f"Statements: {noun(n, 'row')}, {noun(J, 'reader')}, {NOUN[self.kind]} {between}"
        head += f" the classes {listed}{', …' * (len(self.classes) > 8)}"
        table, known = replace(Table.of(self.counts), rest=".counts"), int((self.truth >= 0).sum())
        truth = f"\nThe class of {noun(known, 'row')} is known for certain." if known else ""
        return f"{head}\n{table.as_text()}{truth}"


def _encode(
    values: AnyArray, n: int, missing_label: Any = -1, classes: Any = None, truth: Any = None
) -> tuple[AnyArray, IntArray, IntArray]:
    """Return the classes of values and of the truth about n rows, the truth, and the values."""
    if truth is None:
        labels = encode(values, missing_label, classes)
        return labels.classes, np.full(n, -1), labels.codes
    known = read_table(truth, "truth")[0]
    if known.shape != (n, 1):
        raise ValueError(f"truth has shape {known.shape}: give a class or a blank for {n} rows.")
    labels = encode(np.concatenate((known[:, 0].astype(object), values)), missing_label, classes)
    return labels.classes, labels.codes[:n], labels.codes[n:]


def _members(cell: Any, missing_label: Any) -> list[Any]:
    """Return the classes that a cell of sets leaves possible, none if it says nothing."""
    if not isinstance(cell, set | frozenset | list | tuple | np.ndarray):
        return [] if is_blank(cell, missing_label) else [cell]
    odd = [v for v in cell if is_blank(v, missing_label) or not isinstance(v, Hashable)]
    if odd or not len(cell):
        blank = "None for an answer withheld (an empty set rules out every class)"
        several = "a table with a column for each of several readers"
        raise ValueError(f"sets holds {cell!r}: give sets of classes, {blank}, and {several}.")
    return list(cell)


def _positions(values: list[Any], column: str, rows: Any) -> tuple[IntArray, int]:
    """Return where in X each line of a long table belongs, and the number of rows."""
    if rows is None or isinstance(rows, int | np.integer):
        whole = (v for v in values if isinstance(v, int | np.integer) and v >= 0)
        rows = range(max(whole, default=-1) + 1 if rows is None else int(rows))
    place = {name: i for i, name in enumerate(rows)}
    if len(place) < len(rows):
        raise ValueError("rows names a row twice: give each row of X a name of its own.")
    for value in values:
        if value not in place:
            what = f"column {column!r} names the row {value!r}, which is not known: give rows=,"
            raise ValueError(f"{what} the names in the order of X, or how many there are.")
    return np.array([place[value] for value in values], dtype=np.int64), len(place)


def _hide(said: IntArray, shown: Any) -> IntArray:
    """Return what was said in a small type, with −2 where a reader was never shown the row."""
    said = said.astype(np.min_scalar_type(-int(said.max(initial=0)) - 2))
    if shown is None:
        return said
    hidden = ~check_shown("shown", read_table(shown, "shown")[0], said.shape)
    for i, j in np.argwhere(hidden & (said >= 0))[:1]:
        who = f"shown is False for row {i} and reader {j + 1}, who judged it"
        raise ValueError(f"{who}: give True (a class known otherwise belongs in truth=).")
    return np.where(hidden, NOT_SHOWN, said).astype(said.dtype)


def _names(given: Any, found: list[str] | None, said: AnyArray) -> tuple[str, ...]:
    J = said.shape[1]
    if given is None:
        return tuple(found or (f"reader {j + 1}" for j in range(J)))
    names = tuple(str(name) for name in given)
    if isinstance(given, str) or len(names) != J or len(set(names)) < J:
        raise ValueError(f"readers={given!r}: give {J} different names, one a column.")
    return names
