"""Answers become labels and blanks, those a model and a queue; all in a thread of its own."""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.desk._journal import Answer
from hesitant.desk._table import Data
from hesitant.exceptions import FitWarning

QUEUE, NEXT = 500, 10
# Above so many parameters the gain of a label takes minutes to compute: entropy stands in for it.
MOST_PARAMETERS = 600
FOLDS, FOLD_ROWS = 4, 10_000


def evidence(data: Data, answers: Iterable[Answer]) -> tuple[IntArray, AnyArray]:
    """Return class codes (−1 blank) and which rows count for the curve of hesitation.

    A label of a case that was chosen because it was hard is no free choice, so it counts for the
    classes alone; an audit case counts for both. Where readers differ and no majority agrees, the
    row stays blank and says nothing about hesitation. What the table left blank stays a withheld
    label of whoever made the table, unless the blanks were never looked at.
    """
    codes = data.codes.copy()
    reviewed = np.full(len(codes), data.setup.withheld)
    said: dict[int, list[Answer]] = {}
    for answer in answers:
        if answer["answer"] != "not shown" and data.codes[answer["row"]] < 0:
            said.setdefault(answer["row"], []).append(answer)
    for row, all_of_it in said.items():
        audit = any(a["audit"] for a in all_of_it)
        votes = Counter(a["label"] for a in all_of_it if a["label"] in data.setup.classes)
        if not votes:
            reviewed[row] |= audit
            continue
        label, most = votes.most_common(1)[0]
        agreed = most > votes.total() / 2
        codes[row] = data.setup.classes.index(label) if agreed else -1
        reviewed[row] = audit and agreed
    return codes, reviewed


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """A fit, what it says of every row, and which blank rows to ask about."""

    data: Data
    codes: IntArray  # what it was fitted to
    reviewed: AnyArray
    answers: int  # how many it knows
    guess: IntArray  # most probable class of each row, −1 where unknown
    probability: FloatArray
    entropy: FloatArray
    queue: IntArray  # blank rows, the most instructive first
    clf: Any = None  # none while there are labels of fewer than two classes
    number: int = 0
    promise: float | None = None  # what the next ten labels are expected to teach, in nats
    expected_error: float | None = None  # share of blank rows it expects to have wrong
    notes: tuple[str, ...] = ()  # what the fit warned of

    @classmethod
    def of(cls, data: Data, answers: list[Answer]) -> "Model":
        """Return what is known, before any fit."""
        none, zero = np.full(len(data.codes), -1), np.zeros(len(data.codes))
        return cls(data, *evidence(data, answers), len(answers), none, zero, zero, none[:0])

    def rows(self) -> tuple[FloatArray, AnyArray, AnyArray]:
        """Return features, labels (None where blank) and reviewed, as they are given to a fit."""
        use = self.data.usable
        names = np.array([*self.data.setup.classes, None], dtype=object)
        return self.data.X[use], names[self.codes[use]], self.reviewed[use]


def _estimator(known: Model, start: Model | None) -> Any:
    from hesitant import MixtureClassifier

    setup, use = known.data.setup, known.data.usable
    codes, reviewed = known.codes[use], known.reviewed[use]
    present = [name for h, name in enumerate(setup.classes) if (codes == h).any()]
    if len(present) < 2:
        return None
    # a curve needs some of each kind: labels given freely, and labels withheld
    enough = min((reviewed & (codes >= 0)).sum(), (reviewed & (codes < 0)).sum()) >= 5
    init = None if start is None else start.clf
    return MixtureClassifier(
        covariance=setup.covariance,
        mechanism="entropy" if enough else None,
        classes=present,
        missing_label=None,
        init=init if init is not None and list(init.classes_) == present else None,
        random_state=0,
    )


def learn(known: Model, start: Model | None = None) -> Model:
    """Fit what is known, from where the last fit ended, and rank the blank rows."""
    clf = _estimator(known, start)
    if clf is None:
        return known
    X, y, reviewed = known.rows()
    rows, n = np.flatnonzero(known.data.usable), len(known.codes)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", FitWarning)
        clf.fit(X, y, reviewed=reviewed)
        tau, entropy = clf.predict_proba(X), np.zeros(n)
        entropy[rows] = clf.entropy(X)
        queue, promise = _rank(clf, X, y, reviewed, entropy[rows])
    place = np.array([known.data.setup.classes.index(name) for name in clf.classes_])
    guess, probability = np.full(n, -1), np.zeros(n)
    guess[rows], probability[rows] = place[tau.argmax(axis=1)], tau.max(axis=1)
    blank = rows[known.codes[rows] < 0]
    return dataclasses.replace(
        known,
        clf=clf,
        guess=guess,
        probability=probability,
        entropy=entropy,
        queue=rows[queue],
        promise=promise,
        expected_error=float(1 - probability[blank].mean()) if blank.size else None,
        notes=tuple(dict.fromkeys(str(w.message) for w in heard)),
    )


def _rank(
    clf: Any, X: FloatArray, y: AnyArray, reviewed: AnyArray, entropy: FloatArray
) -> tuple[IntArray, float | None]:
    """Return blank rows, the most instructive first, and what the first ten promise."""
    blank = np.flatnonzero(y == np.array(None))
    if clf.n_parameters_ <= MOST_PARAMETERS and blank.size:
        try:
            found = clf.triage(X, y, reviewed=reviewed, top=QUEUE)
            return found["row"].to_numpy(), float(found["gain"][:NEXT].sum())
        except (ValueError, np.linalg.LinAlgError):  # a fit too flat to say what is known
            pass
    return blank[np.argsort(-entropy[blank], kind="stable")][:QUEUE], None


def held_out(model: Model) -> tuple[int, int] | None:
    """Return how many labels the model gets right when they are hidden from it, of how many."""
    from sklearn.model_selection import cross_val_score

    X, y, reviewed = model.rows()
    rng, is_blank = np.random.default_rng(0), y == np.array(None)
    labelled = rng.permutation(np.flatnonzero(~is_blank))[:FOLD_ROWS]
    blank = rng.permutation(np.flatnonzero(is_blank))[:FOLD_ROWS]
    if model.clf is None or labelled.size < 2 * FOLDS:
        return None
    tested = [labelled[k::FOLDS] for k in range(FOLDS)]
    folds = [(np.concatenate([np.setdiff1d(labelled, t), blank]), t) for t in tested]
    clf, given = _estimator(model, model), {"reviewed": reviewed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            shares = cross_val_score(clf, X, y, cv=folds, params=given, error_score="raise")
        except ValueError:  # a class without labels in some fold
            return None
    return round(sum(s * t.size for s, t in zip(shares, tested, strict=True))), labelled.size


class Worker:
    """Runs a piece of work in a thread when asked; of several questions only the last counts."""

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        self._work, self._asked = work, 0
        self._pool = ThreadPoolExecutor(1, "desk-learning")
        self._last: Future[Any] = self._pool.submit(bool)

    @property
    def waiting(self) -> bool:
        """Whether something is known that no model knows yet."""
        return not self._last.done()

    def ask(self) -> None:
        """Have a model made of what is known now."""
        self._asked += 1
        self._last = self._pool.submit(self._run, self._asked)

    def _run(self, number: int) -> None:
        if number == self._asked:  # else a later question is waiting already
            self._work(lambda: number != self._asked)

    def settle(self, timeout: float | None = None) -> None:
        """Wait until every question is answered; for exports, tests and the first page."""
        last = None
        while last is not self._last:
            last = self._last
            wait([last], timeout)

    def stop(self) -> None:
        """Begin nothing further, and wait for what is going on."""
        self._pool.shutdown(cancel_futures=True)
