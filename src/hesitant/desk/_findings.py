"""What the answers show so far: accuracy, hesitation, disagreement, and when to stop."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.desk._journal import Answer
from hesitant.desk._learning import Model
from hesitant.desk._sitting import Desk

FEWEST_FOR_CURVE = 8
# Stopping is sensible once ten answers teach so much less than at first, and change so little.
SMALL_PROMISE, SMALL_CHANGE = 0.2, 0.005


def share(right: int, n: int, z: float = 1.959964) -> dict[str, Any]:
    """Return a share with its 95 % interval, after Wilson.

    Examples
    --------
    >>> found = share(9, 10)
    >>> round(found["low"], 3), round(found["high"], 3)
    (0.596, 0.982)
    """
    if n == 0:
        return {"right": 0, "n": 0, "accuracy": None, "low": 0.0, "high": 1.0}
    p, scale = right / n, 1 + z * z / n
    middle = (p + z * z / (2 * n)) / scale
    reach = z / scale * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return {"right": right, "n": n, "accuracy": p, "low": low, "high": high}


def counts(answers: Sequence[Answer]) -> dict[str, int]:
    """Count the answers of each kind."""
    said = Counter(a["answer"] for a in answers)
    kinds = {"labels": "label", "cannot_tell": "cannot tell", "not_shown": "not shown"}
    return {"answers": len(answers), **{name: said[kind] for name, kind in kinds.items()}}


def guessed(answers: Sequence[Answer], *, audit: bool) -> dict[str, Any]:
    """Return how often the model was right about cases before it was told."""
    # one verdict a case, and none by a reader who had seen the guess
    labels = [a for a in answers if a["answer"] == "label" and bool(a["audit"]) == audit]
    fair = [a for a in labels if a["guess"] is not None and not a["informed"]]
    verdicts = {a["row"]: a["guess"] == a["label"] for a in fair}
    return share(sum(verdicts.values()), len(verdicts))


def disagreements(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return each pair of readers: where both gave a label, how often the same, and where not."""
    labels: dict[str, dict[int, Answer]] = {}
    for a in answers:
        if a["answer"] == "label":
            labels.setdefault(a["reader"], {})[a["row"]] = a
    out = []
    for pair in itertools.combinations(sorted(labels), 2):
        both = sorted(set(labels[pair[0]]) & set(labels[pair[1]]))
        said = [[labels[name][row]["label"] for name in pair] for row in both]
        differ = [
            {"row": row, "id": labels[pair[0]][row]["id"], "said": words}
            for row, words in zip(both, said, strict=True)
            if words[0] != words[1]
        ]
        alike = share(len(both) - len(differ), len(both))
        out.append({"readers": pair, **alike, "cases": differ})
    return out


def hesitation(answers: Sequence[Answer], model: Model, reader: str) -> dict[str, Any]:
    """Return a reader's audit cases by difficulty, and the curve through them.

    Only audit cases count: the others were chosen because they were hard.
    """
    own = [a for a in answers if a["reader"] == reader and a["audit"]]
    own = [a for a in own if a["answer"] != "not shown" and model.clf is not None]
    at = difficulty(model)[[a["row"] for a in own]] if own else np.zeros(0)
    gave = np.array([a["answer"] == "label" for a in own], dtype=bool)
    curve = None
    if len(own) >= FEWEST_FOR_CURVE and 0 < gave.sum() < len(own):
        from sklearn.linear_model import LogisticRegression

        # a weak prior: a few cases must not make a cliff
        fit = LogisticRegression(C=10.0).fit(at[:, None], gave)
        grid = np.linspace(0, 1, 41)
        curve = grid, fit.predict_proba(grid[:, None])[:, 1]
    return {"reader": reader, "at": at, "gave": gave, "curve": curve}


def difficulty(model: Model) -> FloatArray:
    """Return the entropy of each row on a scale from 0 to 1."""
    return model.entropy / math.log(len(model.data.setup.classes))


def assumed_curve(model: Model) -> tuple[FloatArray, FloatArray] | None:
    """Return the curve of hesitation that the model itself uses, if it uses one."""
    if model.clf is None or model.clf.mechanism is None:
        return None
    rows = np.flatnonzero(model.data.usable)
    rows = rows[np.argsort(model.entropy[rows])]
    rows = rows[np.unique(np.linspace(0, rows.size - 1, 80).astype(int))]
    return difficulty(model)[rows], model.clf.labelling_probability(model.data.X[rows])


def when_to_stop(desk: Desk, model: Model) -> dict[str, Any]:
    """Return what the next ten answers are expected to teach, and what the last ten changed."""
    first, changed = desk.journal.first_promise(), desk.changed()
    left = None if not first or model.promise is None else model.promise / first
    return {
        "promise": model.promise,
        "promise_at_first": first,
        "share_left": left,
        "changed": changed,
        "still": changed is not None and changed[0] <= max(1, SMALL_CHANGE * changed[1]),
        "little": left is None or left <= SMALL_PROMISE,
        "expected_error": model.expected_error,
    }


def _moved(before: Model | None, model: Model) -> int | None:
    """Return how many blank rows have another guess than before the sitting."""
    if before is None or before.clf is None or model.clf is None:
        return None
    return int((before.guess != model.guess)[model.data.usable & (model.codes < 0)].sum())


def state(desk: Desk, reader: str) -> dict[str, Any]:
    """Return the state of the sitting as plain data; nothing in it tells of the case at hand."""
    answers = desk.journal.answers()
    names = sorted({a["reader"] for a in answers} | {reader})
    out = {
        "table": desk.path.name,
        "journal": desk.journal.path.name,
        "reader": reader,
        "configured": desk.data is not None,
        "learning": desk.worker.waiting,
        "warnings": desk.warnings(),
        "readers": {name: counts([a for a in answers if a["reader"] == name]) for name in names},
        **counts(answers),
    }
    if desk.data is None:
        return out
    data, model = desk.ready()
    return {
        **out,
        "classes": data.setup.classes,
        "rows": len(data.codes),
        "table_labels": int((data.codes >= 0).sum()),
        "left": int((data.usable & (model.codes < 0)).sum()),
        "incomplete": int((~data.usable).sum()),
        "model": model.number,
        "can_learn": model.clf is not None,
        "queued": len(model.queue),
        "model_knows": model.answers,
        "notes": model.notes,
        "audit": guessed(answers, audit=True),
        "chosen": guessed(answers, audit=False),
        "held_out": share(*(desk.held_out or (0, 0))),
        "moved": _moved(desk.before, model),
        "stop": when_to_stop(desk, model),
        "disagreement": disagreements(answers),
    }
