"""What pages show: accuracy, hesitation, disagreement, when to stop, pictures; and the export."""

import io
import itertools
import zipfile
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator
from sklearn.linear_model import LogisticRegression

from hesitant._drawing import BLANK, class_color, drawing
from hesitant.desk._learning import Answer, Model, evidence
from hesitant.desk._sitting import Desk
from hesitant.diagnostics._smoother import wilson
from hesitant.exceptions import collect_warnings
from hesitant.persistence._files import to_bytes
from hesitant.report._pictures import panel, regions, svg
from hesitant.tables.output import table_bytes

# Stopping is sensible once this many answers have changed no more than this share of guesses. What
# answers are expected to teach is no yardstick: it leaps when classes get matrices of their own.
LATELY, SMALL_CHANGE = 20, 0.005
FEWEST_FOR_CURVE = 8
CORNER, SIZE = np.array([52, 288]), np.array([378, -278])  # of the picture, from the lower left


def share(right: int, n: int) -> dict[str, Any]:
    """Return a share with its 95 % interval, after Wilson."""
    low, high = map(float, wilson(right / n, n)) if n else (0.0, 1.0)
    return {"right": right, "n": n, "accuracy": right / n if n else None, "low": low, "high": high}


def counts(answers: Sequence[Answer]) -> dict[str, int]:
    said = Counter(a["answer"] for a in answers)
    kinds = {"labels": "label", "cannot_tell": "cannot tell", "not_shown": "not shown"}
    return {"answers": len(answers), **{name: said[kind] for name, kind in kinds.items()}}


def guessed(answers: Sequence[Answer], *, audit: bool) -> dict[str, Any]:
    """Return how often the model was right about cases before it was told."""
    # one verdict a case, and none by a reader who had seen the guess
    labels = [a for a in answers if a["answer"] == "label" and a["audit"] == audit]
    fair = [a for a in labels if a["guess"] is not None and not a["informed"]]
    verdicts = {a["row"]: a["guess"] == a["label"] for a in fair}
    return share(sum(verdicts.values()), len(verdicts))


def disagreements(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return each pair of readers: where both gave a label, how often the same, and where not."""
    given = [a for a in answers if a["answer"] == "label"]
    table = pd.DataFrame(given, columns=["row", "id", "reader", "label"])
    labels, out = table.pivot(index=["row", "id"], columns="reader", values="label"), []
    for pair in itertools.combinations(labels, 2):
        both = labels[[*pair]].dropna()
        differ = both[both[pair[0]] != both[pair[1]]].itertuples()
        cases = [{"row": int(row), "id": id, "said": said} for (row, id), *said in differ]
        out.append({"readers": pair, **share(len(both) - len(cases), len(both)), "cases": cases})
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


def ranges(model: Model, row: int) -> list[dict[str, Any]]:
    """Return each feature of a case against the range of each class, the most telling first."""
    # here and below: labels and features alone, nothing that the model thinks
    setup, x = model.data.setup, model.data.X[row]
    low, high = np.fmin(model.ends[0], x), np.fmax(model.ends[1], x)
    share, at = np.clip((model.ranges - low) / (high - low), 0, 1), (x - low) / (high - low)
    g = range(len(setup.classes))
    return [
        {
            "name": setup.features[j],
            "value": "–" if np.isnan(x[j]) else f"{x[j]:.4g}",
            "at": at[j],
            "bars": [(h, *share[:, h, j]) for h in g if share[0, h, j] >= 0],
            "usual": [setup.classes[h] for h in g if share[0, h, j] <= at[j] <= share[2, h, j]],
        }
        for j in model.telling
    ]


def place(model: Model, row: int) -> dict[str, Any] | None:
    """Return a case among the labelled ones and some blank ones, on the two telling features."""
    data, pair = model.data, model.telling[:2]
    if len(pair) < 2:
        return None
    aim, ends = data.X[row, pair], model.ends[:, pair]
    low, high = np.fmin(ends[0], aim), np.fmax(ends[1], aim)

    def at(points: Any) -> list[list[float]]:
        found = CORNER + SIZE * (points - low) / (high - low)
        return found[np.isfinite(found).all(axis=1)].tolist()

    across, up = (
        [v for v in MaxNLocator(5).tick_values(*both) if both[0] <= v <= both[1]]
        for both in zip(low, high, strict=True)
    )
    # a thousand points are written here: a template would take ten times as long
    dots = [[f"{x:.1f} {y:.1f}" for x, y in at(data.X[some][:, pair])] for some in model.dots]
    return {
        "names": [data.setup.features[j] for j in pair],
        "across": [(x, v) for v in across for x, _ in at([[v, low[1]]])],
        "up": [(y, v) for v in up for _, y in at([[low[0], v]])],
        "dots": list(enumerate(dots, -1)),
        "aim": at(aim[None]),
    }


@lru_cache(maxsize=1)  # it takes longer than all else on the page
def boundary(model: Model, before: Model | None) -> str | None:
    """Draw where the model changes its mind, now and, dashed, before the sitting."""
    data, pair = model.data, model.telling[:2]
    if model.clf is None or len(pair) < 2:
        return None
    old = None if before is None else before.clf
    same = old is not None and list(old.classes_) == list(model.clf.classes_)
    rows = data.X, np.concatenate(model.dots), model.codes
    with drawing():
        named = list(data.setup.classes), list(data.setup.features), pair
        return regions(model.clf, old if same else None, rows, *named)


def hesitation(answers: Sequence[Answer], model: Model, reader: str) -> dict[str, Any]:
    """Draw a reader's audit cases by difficulty: the others were chosen because they are hard."""
    own = [a for a in answers if a["reader"] == reader and a["audit"] and model.clf is not None]
    own = [a for a in own if a["answer"] != "not shown"]
    at = model.entropy[[a["row"] for a in own]] / np.log(len(model.data.setup.classes))
    gave = np.array([a["answer"] == "label" for a in own], dtype=bool)
    height = gave + 0.03 * (np.arange(len(at)) % 3 - 1)  # so that none hides another
    enough = len(own) >= FEWEST_FOR_CURVE and 0 < gave.sum() < len(own)
    with drawing():
        figure, ax = panel()
        ax.plot(at[gave], height[gave], "o", color=class_color(0), markersize=4)
        ax.plot(at[~gave], height[~gave], "s", color=BLANK, markersize=4)
        if enough:  # a weak prior: a few cases must not make a cliff
            fit, grid = LogisticRegression(C=10.0).fit(at[:, None], gave), np.linspace(0, 1, 41)
            ax.plot(grid, fit.predict_proba(grid[:, None])[:, 1], color=class_color(0))
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.08, 1.08))
        ax.set(xlabel="difficulty (entropy, 0 to 1)", ylabel="chance of a label")
        drawn = svg(figure, f"How often {reader} gives a label, by difficulty.")
    return {"reader": reader, "gave": gave.sum(), "n": gave.size, "curve": enough, "svg": drawn}


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
    frame[data.setup.label] = pd.Series(data.names[codes], dtype=object)
    added = {"status": status, "reviewed": ["yes" if r else "no" for r in reviewed]}
    for reader in sorted({a["reader"] for a in answers}):
        own = {a["row"]: a["label"] or a["answer"] for a in answers if a["reader"] == reader}
        added[f"said by {reader}"] = [own.get(i) for i in range(len(frame))]
    for name, cells in added.items():
        frame[f"{name} (desk)" if name in frame else name] = cells
    return frame


def archive(desk: Desk) -> bytes:
    desk.worker.settle(timeout=60)  # a model of all answers, if that does not take forever
    (data, model), journal = desk.ready(), pd.DataFrame(desk.journal.answers("TRUE"))
    files: dict[str, str | bytes] = {"labelled.csv": table_bytes(labelled_table(desk))}
    if len(journal):
        journal["row"] += 1  # files for people count from 1
        journal["audit"] = journal["audit"].astype(int)
        files["journal.csv"] = table_bytes(journal)
    if model.clf is not None:
        files["model"] = to_bytes(model.clf, {"table": desk.path.name})
        X, said, reviewed = model.rows()
        ids = list(itertools.compress(data.ids, data.usable))
        with collect_warnings():
            report = model.clf.report(X, said, reviewed=reviewed, ids=ids, name=desk.path.name)
            files["report.html"] = report.to_html().encode("utf-8", "replace")
    files["desk.sqlite"], out = desk.journal.content(), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for end, content in files.items():
            packed.writestr(f"{desk.name}.{end}", content)
        readme = Path(__file__).with_name("README.export.txt").read_text("utf-8")
        packed.writestr("README.txt", readme.replace("NAME", desk.name))
    return out.getvalue()
