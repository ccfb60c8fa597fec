"""A table becomes a setup and arrays, answers become evidence, those a model and a queue."""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from hesitant import MixtureClassifier, Statements
from hesitant._drawing import share_between
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.diagnostics._regions import reach
from hesitant.exceptions import collect_warnings
from hesitant.model_selection import LabelledKFold
from hesitant.tables import cells
from hesitant.tables.errors import option
from hesitant.tables.selection import likeliest_label

Answer = dict[str, Any]  # a row of the journal
MOST_CLASSES = 30
# Fewer labels than this share of the rows: nobody will have looked at all the blank ones.
SHARE_LOOKED_AT = 0.1
_ID = re.compile(r"(.*[\W_])?(id|name|case|cell|sample|patient|key|code)", re.I)
_LEAVE_OUT = "leave such columns out"
QUEUE, NEXT = 500, 10
# Above so many parameters the gain of a label takes minutes to compute: entropy stands in for it.
MOST_PARAMETERS = 600
FOLDS, MOST_HELD_OUT = 4, 20_000
TABLE = "whoever made the table"
MIDDLE = np.array([0.05, 0.5, 0.95])
MOST_DOTS, MOST_ROWS = 250, 2000


def words(column: "pd.Series[Any]") -> list[str | None]:
    """Return cells as text, None where blank, whole numbers without a decimal point."""
    told = [f"{c:.15g}" if isinstance(c, float) else str(c).strip() for c in column.tolist()]
    return [None if gone else word or None for word, gone in zip(told, column.isna(), strict=True)]


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
        taken, sheet = (label, out["id"], out["show"]), cells.Sheet(frame, _LEAVE_OUT)
        free = [n for n in frame.columns if n not in taken and sheet[n].is_numeric()]
        unfit = cells.unfit_features(sheet.features(free), free)
        out["features"] = [n for n in free if n not in unfit]
    found: Counter[Any] = Counter(filter(None, words(frame[label]) if label in frame else ()))
    blank = tuple(map(str, out.get("blank", (name for name, _ in cells.blank_like(found)))))
    also = filter(None, (str(name).strip() for name in out.get("classes", ())))
    classes = tuple(dict.fromkeys([*sorted(set(found) - set(blank)), *also]))
    looked = sum(found[name] for name in classes) >= SHARE_LOOKED_AT * len(frame)
    return {"withheld": looked, **out, "blank": blank, "classes": classes}


@dataclasses.dataclass(frozen=True)
class Setup:
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
        for name in told["features"]:
            if frame[name].isna().all():
                raise ValueError(f"features has {name!r}, which is empty: leave it out.")
        if not told["features"]:
            raise ValueError("features is empty: choose at least one numeric column.")
        if not 2 <= (n := len(told["classes"])) <= MOST_CLASSES:
            few = f"label={told['label']!r} has {n} classes: choose a column with"
            raise ValueError(f"{few} 2 to {MOST_CLASSES}, or name further classes.")
        if not 0 <= float(told["audit"]) <= 1:
            raise ValueError(f"audit={told['audit']}: give a share between 0 and 1.")
        return cls(**{field.name: told[field.name] for field in dataclasses.fields(cls)})


class Data:
    """The table as a sitting needs it; arrays have one entry for each row of the file."""

    def __init__(self, setup: Setup, frame: pd.DataFrame, seed: int) -> None:
        nothing: list[str | None] = [None] * len(frame)
        label, ids, self.shown = (
            words(frame[name]) if name else nothing for name in (setup.label, setup.id, setup.show)
        )
        self.setup, self.X = setup, cells.Sheet(frame, _LEAVE_OUT).features(setup.features)
        self.ids = [name or str(i + 1) for i, name in enumerate(ids)]
        self.names = np.array([*setup.classes, None], dtype=object)  # by code
        place = {name: h for h, name in enumerate(setup.classes)}
        self.codes = np.array([place.get(word or "", -1) for word in label])  # -1 where blank
        # rows with some feature, and none infinite
        self.usable = np.asarray(np.isfinite(self.X).any(axis=1) & ~np.isinf(self.X).any(axis=1))
        # the blank rows at random, always the same: the audit goes along it
        blank = np.flatnonzero((self.codes < 0) & self.usable)
        self.order = np.random.default_rng(seed).permutation(blank)


def evidence(data: Data, answers: Iterable[Answer]) -> tuple[IntArray, BoolArray, Any]:
    """Return class codes (−1 blank), which rows count for the curve of hesitation, and the panel.

    A label of a case that was chosen because it was hard is no free choice, so it counts for the
    classes alone; an audit case counts for both. Where readers differ and no majority agrees, the
    row stays blank and says nothing about hesitation. What the table left blank stays a withheld
    label of whoever made the table, unless the blanks were never looked at.

    There is a panel once two readers labelled the same case. In it each reader says what they said
    of audit cases, and whoever made the table what the table says, if they looked at all of it. A
    label of a chosen case that nobody contradicts is the truth.
    """
    said: dict[int, list[Answer]] = {}
    for answer in answers:
        if answer["answer"] != "not shown" and data.codes[answer["row"]] < 0:
            said.setdefault(answer["row"], []).append(answer)
    codes, reviewed = data.codes.copy(), np.full(len(data.codes), data.setup.withheld)
    truth, named, lines, most = data.names[data.codes], {*data.names[data.codes]}, [], 0
    if data.setup.withheld:
        truth[:] = None
    for row, own in said.items():
        audit, votes = [a["audit"] for a in own], Counter(a["label"] for a in own if a["label"])
        label, n = max(votes.items(), key=lambda pair: pair[1], default=(None, 0))
        agreed = n > votes.total() / 2
        codes[row] = data.setup.classes.index(label) if agreed else -1
        reviewed[row] = any(audit) and agreed if votes else reviewed[row] or any(audit)
        lines += [(row, a["reader"], a["label"]) for a in own if a["audit"] or len(votes) > 1]
        if len(votes) < 2 and not all(audit):
            truth[row] = label
        named, most = named | set(votes), max(most, votes.total())
    if data.setup.withheld and most > 1:
        lines += [(row, TABLE, label) for row, label in enumerate(data.names[data.codes])]
    if most < 2 or not lines:
        return codes, reviewed, None
    columns: dict[str, Any] = {name: name for name in ("row", "reader", "label")}
    # a class may have no label that all agree on
    classes = [name for name in data.setup.classes if name in named]
    known: dict[str, Any] = {"rows": len(truth), "classes": classes, "truth": truth}
    table = pd.DataFrame(lines, columns=list(columns))
    panel = Statements.from_long(table, **columns, **known, missing_label=None)
    return codes, reviewed, panel[data.usable]


class Model:
    """What is known of a table; once `learn` has fitted it, what the fit says of every row."""

    clf: Any = None  # none while there are labels of fewer than two classes
    number = 0
    promise: float | None = None  # what the next ten labels are expected to teach, in nats
    expected_error: float | None = None  # share of blank rows it expects to have wrong
    notes: tuple[str, ...] = ()  # what the fit answers of

    def __init__(self, data: Data, answers: list[Answer]) -> None:
        self.data, self.answers = data, len(answers)
        # the panel is statements of several readers, if they can be compared
        self.codes, self.reviewed, self.panel = evidence(data, answers)
        self._look(data.X, self.codes, np.arange(len(data.setup.classes)))
        n = len(data.codes)
        self.guess = np.full(n, -1)  # most probable class of each row, -1 where unknown
        self.probability, self.entropy = np.zeros((2, n))
        self.queue = self.guess[:0]  # blank rows, the most instructive first

    def _look(self, X: FloatArray, codes: IntArray, classes: IntArray) -> None:
        """Find out which features tell, where the classes lie, and some rows of each to show."""
        # of many rows a few thousand show as much as all of them
        order = np.random.default_rng(0).permutation(np.flatnonzero(self.data.usable))
        groups = [order[codes[order] == h] for h in (-1, *classes)]
        self.dots = [rows[:MOST_DOTS] for rows in groups]  # without a label, then of each class
        some = np.concatenate([rows[:MOST_ROWS] for rows in groups[1:]])
        found = pd.DataFrame(X[some]).groupby(codes[some]).quantile(MIDDLE)
        found = found.reindex(pd.MultiIndex.from_product((classes, MIDDLE)))
        # 5, 50 and 95 % of each class (3, g, p), and what of each feature to show (2, p)
        self.ranges = found.to_numpy(float).reshape(len(classes), 3, -1).swapaxes(0, 1)
        seen = X[order[: 10 * MOST_ROWS]].T
        self.ends = np.array([reach(x, 2) if np.isfinite(x).any() else (0, 1) for x in seen]).T
        # by the table's own labels where they suffice, so that the picture stays the same
        table = self.data.codes
        known = table if len(np.unique(table[order])) > 2 else codes
        rows = order[known[order] >= 0]
        of_class = np.eye(len(classes))[known[rows]]
        share = share_between(X[rows], of_class) if rows.size else X[0] * 0
        # features by how far apart the classes lie, against the spread within
        self.telling: list[int] = np.argsort(-share, kind="stable").tolist()

    def rows(self, panel: bool = True) -> tuple[FloatArray, Any, Any]:
        """Return features, what was said of them, and reviewed, as they are given to a fit."""
        use = self.data.usable
        if panel and self.panel is not None:
            return self.data.X[use], self.panel, None
        return self.data.X[use], self.data.names[self.codes[use]], self.reviewed[use]


def _estimator(known: Model, panel: Any, old: Any) -> Any:
    setup, use = known.data.setup, known.data.usable
    codes, reviewed = known.codes[use], known.reviewed[use]
    counts = np.bincount(codes[codes >= 0], minlength=len(setup.classes))
    classes = [name for name, n in zip(setup.classes, counts, strict=True) if n]
    if len(classes) < 2:
        return None
    if panel is not None:
        classes = panel.classes.tolist()
    # a curve needs some of each kind: labels given freely, and labels withheld
    enough = min((reviewed & (codes >= 0)).sum(), (reviewed & (codes < 0)).sum()) >= 5
    shape = "full" if counts[counts > 0].min() >= setup.enough else "shrunk"
    warm = old is not None and list(old.classes_) == classes and old.covariance == shape
    return MixtureClassifier(
        covariance=shape,
        mechanism="entropy" if enough else None,
        experts="right" if panel is None else "fallible",
        classes=classes,
        missing_label=None,
        init=old if warm else None,
        n_jobs=1,  # the other cores are for those who wait for a page
        random_state=0,
    )


def learn(model: Model, start: Model) -> Model:
    """Fit what is known, from where the last fit ended, and rank the blank rows."""
    model.number, clf = start.number, _estimator(model, model.panel, start.clf)
    if clf is None:
        return model
    if start.clf is not None:  # else every fit would hold all before it, in memory and in files
        start.clf.init = None
    X, said, reviewed = model.rows()
    rows = np.flatnonzero(model.data.usable)
    blank = np.flatnonzero(model.codes[rows] < 0)
    with collect_warnings() as warned:
        clf.fit(X, said, reviewed=reviewed)
        tau, entropy = clf.predict_proba(X), clf.entropy(X)
        queue = blank[np.argsort(-entropy[blank], kind="stable")][:QUEUE]
        if clf.n_parameters_ <= MOST_PARAMETERS and blank.size:
            # a fit too flat to say what is known keeps the order of entropy
            with suppress(ValueError, np.linalg.LinAlgError):
                found = clf.triage(X[blank], top=QUEUE)
                queue, model.promise = blank[found["row"]], float(found["gain"][:NEXT].sum())
    place = np.array([model.data.setup.classes.index(name) for name in clf.classes_])
    model.guess[rows], model.probability[rows] = place[tau.argmax(axis=1)], tau.max(axis=1)
    model.entropy[rows], model.queue = entropy, rows[queue]
    if blank.size:
        model.expected_error = float(1 - model.probability[rows[blank]].mean())
    model.notes = tuple(text.partition(" pooling=")[0] for text in warned)  # no option of the desk
    model.clf, model.number = clf, start.number + 1
    return model


def held_out(model: Model) -> tuple[int, int] | None:
    """Return how many labels the model gets right when they are hidden from it, of how many."""
    X, y, reviewed = model.rows(panel=False)  # judged by what most readers agree on
    some = np.random.default_rng(0).permutation(len(y))[:MOST_HELD_OUT]
    n = int((y[some] != np.array(None)).sum())
    if model.clf is None or n < 2 * FOLDS:
        return None
    clf, given = _estimator(model, None, model.clf), {"reviewed": reviewed[some]}
    folds = LabelledKFold(FOLDS, random_state=0, missing_label=None)
    with collect_warnings(), suppress(ValueError):  # of a class without labels in some fold
        shares = cross_val_score(clf, X[some], y[some], cv=folds, params=given)
        return round(n * float(shares.mean())), n
    return None


class Worker:
    """Runs a piece of work in a thread when asked; of several questions only the last counts."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self.pool = work, ThreadPoolExecutor(1, "desk-learning")
        self._last: Future[Any] = self.pool.submit(bool)

    @property
    def waiting(self) -> bool:
        return not self._last.done()

    @property
    def overtaken(self) -> bool:
        """Whether a later question waits for the work that is going on."""
        return self.waiting and not self._last.running()

    def ask(self) -> None:
        """Have a model made of what is known now; a question that still waits is dropped."""
        self._last.cancel()
        self._last = self.pool.submit(self._work)

    def settle(self, timeout: float | None = None) -> None:
        """Wait until every question is answered; for exports, tests and the first page."""
        last = None
        while last is not self._last:
            last = self._last
            wait([last], timeout)
