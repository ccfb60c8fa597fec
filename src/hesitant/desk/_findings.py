"""What a sitting has found: accuracy, hesitation, disagreement, when to stop; and the export."""

import io
import itertools
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hesitant import save
from hesitant.desk._journal import Answer
from hesitant.desk._learning import Model, evidence
from hesitant.desk._sitting import Desk
from hesitant.diagnostics._smoother import wilson
from hesitant.exceptions import collect_warnings
from hesitant.tables import write_csv

# Stopping is sensible once so many answers have changed so small a share of the guesses. What
# answers are expected to teach is no yardstick: it leaps when classes get matrices of their own.
LATELY, SMALL_CHANGE = 20, 0.005
_README = """\
NAME.labelled.csv: the table with the labels given at the desk. Further columns:
  status    "table" (labelled before), "labelled", "withheld" (seen, and nobody could tell),
            "not shown" (not my case), "readers differ", or blank (never asked)
  reviewed  what --reviewed expects: yes where the row tells of free hesitation
  said by … what each reader answered
NAME.journal.csv: every answer, those taken back among them (undone has the time); rows from 1.
NAME.desk.sqlite: the same, as the desk keeps it; rows from 0.
NAME.model, NAME.report.html: the model and its report, if there were labels enough.
"""


def share(right: int, n: int) -> dict[str, Any]:
    """Return a share with its 95 % interval, after Wilson."""
    low, high = map(float, wilson(right / n, n)) if n else (0.0, 1.0)
    accuracy = right / n if n else None
    return {"right": right, "n": n, "accuracy": accuracy, "low": low, "high": high}


def counts(answers: Sequence[Answer]) -> dict[str, int]:
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
    labels: dict[str, dict[tuple[int, str], str]] = {}
    for a in answers:
        if a["answer"] == "label":
            labels.setdefault(a["reader"], {})[a["row"], a["id"]] = a["label"]
    out = []
    for one, other in itertools.combinations(sorted(labels), 2):
        both = sorted(labels[one].keys() & labels[other].keys())
        said = [(row, name, [labels[r][row, name] for r in (one, other)]) for row, name in both]
        differ = [{"row": row, "id": name, "said": s} for row, name, s in said if s[0] != s[1]]
        alike = share(len(both) - len(differ), len(both))
        out.append({"readers": (one, other), **alike, "cases": differ})
    return out


def when_to_stop(desk: Desk, model: Model) -> dict[str, Any]:
    """Return what the next ten answers are expected to teach, and what the last twenty changed."""
    changed, clf = desk.changed(since=LATELY), model.clf
    return {
        "promise": model.promise,
        "changed": changed,
        "still": changed is not None and changed[0] <= max(1, SMALL_CHANGE * changed[1]),
        # labels of each class that are needed before it has a matrix of its own: guesses leap then
        "shape_at": None if clf is None or clf.covariance == "full" else model.data.setup.enough,
        "expected_error": model.expected_error,
    }


def state(desk: Desk, reader: str) -> dict[str, Any]:
    """Return the state of the sitting as plain data; nothing in it tells of the case at hand."""
    answers = desk.journal.answers()
    names = sorted({a["reader"] for a in answers} | {reader})
    out = {
        "reader": reader,
        "learning": desk.worker.waiting,
        "warnings": desk.warnings(),
        "readers": {name: counts([a for a in answers if a["reader"] == name]) for name in names},
        **counts(answers),
    }
    if desk.data is None:
        return out
    (data, model), before = desk.ready(), desk.before
    left, moved = data.usable & (model.codes < 0), None
    if model.clf is not None and before is not None and before.clf is not None:
        moved = int((before.guess != model.guess)[left].sum())
    return {
        **out,
        "classes": data.setup.classes,
        "table_labels": int((data.codes >= 0).sum()),
        "left": int(left.sum()),
        "incomplete": int((~data.usable).sum()),
        "model": model.number,
        "can_learn": model.clf is not None,
        "queued": len(model.queue),
        "model_knows": model.answers,
        "panel": model.panel is not None,
        "notes": model.notes,
        "audit": guessed(answers, audit=True),
        "chosen": guessed(answers, audit=False),
        "held_out": share(*(desk.held_out or (0, 0))),
        "moved": moved,  # blank rows that have another guess than before the sitting
        "stop": when_to_stop(desk, model),
        "disagreement": disagreements(answers),
    }


def labelled_table(desk: Desk) -> pd.DataFrame:
    """Return the table with the answers in it; labels, withheld and not shown are kept apart."""
    (data, _), answers, frame = desk.ready(), desk.journal.answers(), desk.frame.copy()
    codes, reviewed, _ = evidence(data, answers)
    status: list[str | None] = ["table" if h >= 0 else None for h in data.codes]
    for a in answers:
        row = a["row"]
        if a["answer"] == "label":
            status[row] = "labelled" if codes[row] >= 0 else "readers differ"
        elif status[row] in (None, "not shown"):
            status[row] = "withheld" if a["answer"] == "cannot tell" else "not shown"
    names = [*data.setup.classes, None]
    frame[data.setup.label] = pd.Series([names[h] for h in codes], dtype=object)
    added = {"status": status, "reviewed": ["yes" if r else "no" for r in reviewed]}
    for reader in sorted({a["reader"] for a in answers}):
        own = {a["row"]: a["label"] or a["answer"] for a in answers if a["reader"] == reader}
        added[f"said by {reader}"] = [own.get(i) for i in range(len(frame))]
    for name, cells in added.items():
        frame[f"{name} (desk)" if name in frame else name] = cells
    return frame


def archive(desk: Desk) -> bytes:
    desk.worker.settle(timeout=60)  # a model of all answers, if that does not take forever
    data, model = desk.ready()
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", 8) as packed:
        base = Path(folder) / desk.name
        write_csv(labelled_table(desk), f"{base}.labelled.csv")
        journal = pd.DataFrame(desk.journal.answers("TRUE"))
        if len(journal):
            journal["row"] += 1  # files for people count from 1
            write_csv(journal, f"{base}.journal.csv")
        if model.clf is not None:
            save(model.clf, f"{base}.model", notes={"table": desk.path.name})
            X, said, reviewed = model.rows()
            ids = [i for i, kept in zip(data.ids, data.usable, strict=True) if kept]
            with collect_warnings():
                report = model.clf.report(X, said, reviewed=reviewed, ids=ids, name=desk.path.name)
                report.write_html(f"{base}.report.html")
        for path in sorted(Path(folder).iterdir()):
            packed.write(path, path.name)
        packed.writestr(f"{desk.name}.desk.sqlite", desk.journal.content())
        packed.writestr("README.txt", _README.replace("NAME", desk.name))
    return out.getvalue()
