"""Answers become labels and blanks, those a model and a queue; all in a thread of its own."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from hesitant import MixtureClassifier, Statements
from hesitant._drawing import share_between
from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.desk._journal import Answer
from hesitant.desk._table import Data
from hesitant.diagnostics._regions import reach
from hesitant.exceptions import collect_warnings
from hesitant.model_selection import LabelledKFold

QUEUE, NEXT = 500, 10
# Above so many parameters the gain of a label takes minutes to compute: entropy stands in for it.
MOST_PARAMETERS = 600
FOLDS, MOST_HELD_OUT = 4, 20_000
TABLE = "whoever made the table"
MIDDLE = np.array([0.05, 0.5, 0.95])
MOST_DOTS, MOST_ROWS = 250, 2000


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
    names = np.array([*data.setup.classes, None], dtype=object)
    truth, named, lines, most = names[data.codes], {*names[data.codes]}, [], 0
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
        lines += [(row, TABLE, label) for row, label in enumerate(names[data.codes])]
    if most < 2 or not lines:
        return codes, reviewed, None
    columns: dict[str, Any] = {name: name for name in ("row", "reader", "label")}
    # a class may have no label that all agree on
    classes = [name for name in data.setup.classes if name in named]
    known: dict[str, Any] = {"rows": len(truth), "classes": classes, "truth": truth}
    table = pd.DataFrame(lines, columns=list(columns))
    panel = Statements.from_long(table, **columns, **known, missing_label=None)
    return codes, reviewed, panel[data.usable]


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """Which features tell, where the classes lie, and some rows of each."""

    telling: list[int]  # features by how far apart the classes lie, against the spread within
    ends: FloatArray  # what of each feature to show (2, p)
    ranges: FloatArray  # 5, 50 and 95 % of each class (3, g, p)
    dots: list[IntArray]  # rows without a label, then rows of each class

    @classmethod
    def of(cls, data: Data, codes: IntArray) -> Self:
        """Look at a sample: of many rows a few thousand show as much as all of them."""
        X, g = data.X, len(data.setup.classes)
        order = np.random.default_rng(0).permutation(np.flatnonzero(data.usable))
        groups = [order[codes[order] == h] for h in range(-1, g)]
        some = np.concatenate([rows[:MOST_ROWS] for rows in groups[1:]])
        found = pd.DataFrame(X[some]).groupby(codes[some]).quantile(MIDDLE)
        every = pd.MultiIndex.from_product((range(g), MIDDLE))
        ranges = found.reindex(every).to_numpy(float).reshape(g, 3, -1).swapaxes(0, 1)
        # by the table's own labels where they suffice, so that the picture stays the same
        known = data.codes if len(np.unique(data.codes[order])) > 2 else codes
        rows = order[known[order] >= 0]
        share = share_between(X[rows], np.eye(g)[known[rows]]) if rows.size else X[0] * 0
        seen = X[order[: 10 * MOST_ROWS]].T
        ends = np.array([reach(x, 2) if np.isfinite(x).any() else (0, 1) for x in seen]).T
        telling = np.argsort(-share, kind="stable").tolist()
        return cls(telling, ends, ranges, [rows[:MOST_DOTS] for rows in groups])


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """A fit, what it says of every row, and which blank rows to ask about."""

    data: Data
    codes: IntArray  # what it was fitted to
    reviewed: BoolArray
    answers: int  # how many it knows
    panel: Any  # Statements of several readers, if they can be compared
    view: View  # what pictures of a case show of the others
    guess: IntArray  # most probable class of each row, −1 where unknown
    probability: FloatArray
    entropy: FloatArray
    queue: IntArray  # blank rows, the most instructive first
    clf: Any = None  # none while there are labels of fewer than two classes
    number: int = 0
    promise: float | None = None  # what the next ten labels are expected to teach, in nats
    expected_error: float | None = None  # share of blank rows it expects to have wrong
    notes: tuple[str, ...] = ()  # what the fit answers of

    @classmethod
    def of(cls, data: Data, answers: list[Answer]) -> Self:
        none, zero = np.full(len(data.codes), -1), np.zeros(len(data.codes))
        codes, reviewed, panel = evidence(data, answers)
        known = data, codes, reviewed, len(answers), panel, View.of(data, codes)
        return cls(*known, none, zero, zero, none[:0])

    def rows(self) -> tuple[FloatArray, Any, Any]:
        """Return features, what was said of them, and reviewed, as they are given to a fit."""
        use = self.data.usable
        if self.panel is not None:
            return self.data.X[use], self.panel, None
        names = np.array([*self.data.setup.classes, None], dtype=object)
        return self.data.X[use], names[self.codes[use]], self.reviewed[use]


def _estimator(known: Model, start: Model) -> Any:
    setup, use = known.data.setup, known.data.usable
    codes, reviewed = known.codes[use], known.reviewed[use]
    counts = np.bincount(codes[codes >= 0], minlength=len(setup.classes))
    classes = [name for name, n in zip(setup.classes, counts, strict=True) if n]
    if len(classes) < 2:
        return None
    if known.panel is not None:
        classes = known.panel.classes.tolist()
    # a curve needs some of each kind: labels given freely, and labels withheld
    enough = min((reviewed & (codes >= 0)).sum(), (reviewed & (codes < 0)).sum()) >= 5
    shape = "full" if counts[counts > 0].min() >= setup.enough else "shrunk"
    old = start.clf
    warm = old is not None and list(old.classes_) == classes and old.covariance == shape
    return MixtureClassifier(
        covariance=shape,
        mechanism="entropy" if enough else None,
        experts="right" if known.panel is None else "fallible",
        classes=classes,
        missing_label=None,
        init=old if warm else None,
        n_jobs=1,  # the other cores are for those who wait for a page
        random_state=0,
    )


def learn(known: Model, start: Model) -> Model:
    """Fit what is known, from where the last fit ended, and rank the blank rows."""
    clf = _estimator(known, start)
    if clf is None:
        return dataclasses.replace(known, number=start.number)
    X, said, reviewed = known.rows()
    rows, n = np.flatnonzero(known.data.usable), len(known.codes)
    blank = np.flatnonzero(known.codes[rows] < 0)
    with collect_warnings() as warned:
        clf.fit(X, said, reviewed=reviewed)
        tau, entropy = clf.predict_proba(X), clf.entropy(X)
        queue, promise = blank[np.argsort(-entropy[blank], kind="stable")][:QUEUE], None
        if clf.n_parameters_ <= MOST_PARAMETERS and blank.size:
            # a fit too flat to say what is known keeps the order of entropy
            with suppress(ValueError, np.linalg.LinAlgError):
                found = clf.triage(X[blank], top=QUEUE)
                queue, promise = blank[found["row"]], float(found["gain"][:NEXT].sum())
    place = np.array([known.data.setup.classes.index(name) for name in clf.classes_])
    guess, (probability, difficulty) = np.full(n, -1), np.zeros((2, n))
    guess[rows], probability[rows] = place[tau.argmax(axis=1)], tau.max(axis=1)
    difficulty[rows] = entropy
    return dataclasses.replace(
        known,
        clf=clf,
        number=start.number + 1,
        guess=guess,
        probability=probability,
        entropy=difficulty,
        queue=rows[queue],
        promise=promise,
        expected_error=float(1 - probability[rows[blank]].mean()) if blank.size else None,
        notes=tuple(text.partition(" pooling=")[0] for text in warned),  # no option of the desk
    )


def held_out(model: Model) -> tuple[int, int] | None:
    """Return how many labels the model gets right when they are hidden from it, of how many."""
    model = dataclasses.replace(model, panel=None)  # judged by what most readers agree on
    X, y, reviewed = model.rows()
    some = np.random.default_rng(0).permutation(len(y))[:MOST_HELD_OUT]
    n = int((y[some] != np.array(None)).sum())
    if model.clf is None or n < 2 * FOLDS:
        return None
    clf, given = _estimator(model, model), {"reviewed": reviewed[some]}
    folds = LabelledKFold(FOLDS, random_state=0, missing_label=None)
    with collect_warnings():
        try:
            shares = cross_val_score(clf, X[some], y[some], cv=folds, params=given)
        except ValueError:  # a class without labels in some fold
            return None
    return round(n * float(shares.mean())), n


class Worker:
    """Runs a piece of work in a thread when asked; of several questions only the last counts."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._pool = work, ThreadPoolExecutor(1, "desk-learning")
        self._last: Future[Any] = self._pool.submit(bool)

    @property
    def waiting(self) -> bool:
        """Whether something is known that no model knows yet."""
        return not self._last.done()

    @property
    def overtaken(self) -> bool:
        """Whether a later question waits for the work that is going on."""
        return self.waiting and not self._last.running()

    def ask(self) -> None:
        """Have a model made of what is known now; a question that still waits is dropped."""
        self._last.cancel()
        self._last = self._pool.submit(self._work)

    def settle(self, timeout: float | None = None) -> None:
        """Wait until every question is answered; for exports, tests and the first page."""
        last = None
        while last is not self._last:
            last = self._last
            wait([last], timeout)

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)
