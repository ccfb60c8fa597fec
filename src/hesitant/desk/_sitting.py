"""`Desk`: one table, its journal on disk, its readers and the model that learns from them."""

import dataclasses
import datetime
import itertools
import json
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hesitant._typing import IntArray
from hesitant.desk._learning import Answer, Data, Model, Setup, Worker, guess, held_out, learn
from hesitant.tables import read_table, sha256_of

ANSWERS = ("label", "cannot tell", "not shown")
RESERVED = 15 * 60  # seconds that a case waits for a window that may have been closed
_PACKED = {".gz", ".bz2", ".xz", ".zip", ".zst"}
FORMAT, MARK = 1, 0x68647372  # the mark tells a journal from any other SQLite file


class Refused(ValueError):
    """A request that cannot be granted, with its HTTP status."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class Journal:
    """All answers ever given about one table, by whatever reader, window or process."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.RLock()
        # a file begins with its first note: none has to go that another desk may have opened
        self._open(path.exists())

    def _open(self, on_disk: bool) -> None:
        self._on_disk, place = on_disk, self.path if on_disk else ":memory:"
        try:
            self._db = sqlite3.connect(place, timeout=10, check_same_thread=False)
            self._db.isolation_level = None  # each statement is a transaction: on disk at once
            self._db.row_factory = sqlite3.Row
            # an answer that was acknowledged must survive the power switch: one wait for the disk
            # in this mode, four or five in the usual one
            self._do("PRAGMA journal_mode = WAL")
            self._do("PRAGMA synchronous = FULL")
            if not self._one("SELECT count(*) FROM sqlite_master"):
                schema = Path(__file__).with_name("journal.sql").read_text("utf-8")
                self._db.executescript(schema.format(mark=MARK, format=FORMAT))
            if self._one("PRAGMA application_id") != MARK:
                raise sqlite3.DatabaseError("the file belongs to another program")
            if self._one("PRAGMA user_version") > FORMAT:
                raise sqlite3.DatabaseError("it was written by a later version of hesitant")
        except sqlite3.DatabaseError as why:
            remedy = "Move it away, or copy the table to a folder that you can write to."
            raise ValueError(f"{self.path} cannot be used as a journal: {why}. {remedy}") from why

    def _do(self, statement: str, *given: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(statement, given).fetchall()

    def _one(self, question: str, *given: Any) -> Any:
        return next((found[0] for found in self._do(question, *given)), None)

    def fact(self, name: str) -> Any:
        return json.loads(self._one("SELECT value FROM facts WHERE name = ?", name) or "null")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else write meanwhile; what is written is kept as a whole, or not at all."""
        with self._lock:
            if not self._on_disk:
                self._db.close()
                self._open(on_disk=True)
            self._do("BEGIN IMMEDIATE")
            try:
                yield
                self._do("COMMIT")
            except BaseException:
                self._db.rollback()
                raise

    def note(self, **facts: Any) -> None:
        for name, value in facts.items():
            self._do("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, json.dumps(value))

    def answers(self, where: str = "undone IS NULL", *given: Any) -> list[Answer]:
        """Return answers, by default all that stand, in the order given."""
        found = self._do(f"SELECT * FROM answers WHERE {where} ORDER BY seq", *given)
        return [{**row, "audit": bool(row["audit"])} for row in map(dict, found)]

    def said(self, row: int, reader: str, *, undone: bool = False) -> list[Answer]:
        """Return the one answer of a reader about a row, or those taken back; if there are any."""
        stands = f"undone IS {'NOT ' if undone else ''}NULL AND row = ? AND reader = ?"
        return self.answers(stands, row, reader)

    def add(self, row: int, reader: str, **answer: Any) -> Answer:
        """Return the answer when it is on disk, or what this reader has said there meanwhile."""
        # whoever took an answer back here has seen the guess
        informed = int(bool(self.said(row, reader, undone=True)))
        made = {"row": row, "reader": reader, **answer, "time": now(), "informed": informed}
        names, marks = ", ".join(made), ", ".join("?" * len(made))
        # the index lets one answer in
        self._do(f"INSERT OR IGNORE INTO answers ({names}) VALUES ({marks})", *made.values())
        return self.said(row, reader)[0]

    def change(self, seq: int, column: str, value: Any) -> None:
        self._do(f"UPDATE answers SET {column} = ? WHERE seq = ?", value, seq)

    def content(self) -> bytes:
        with self._lock:
            return self._db.serialize()

    def close(self) -> None:
        self._db.close()


class Shown(NamedTuple):
    """A case that is in front of somebody."""

    row: int
    audit: bool
    model: int
    time: float


class Desk:
    """A sitting over one table.

    Parameters
    ----------
    table : str or path
        The file; it is read, never written. Answers go to ``NAME.desk.sqlite`` beside it.
    reader : str, default="reader"
        Who answers, where a page does not say.
    **given
        What is known of the table: ``label``, ``id``, ``show``, ``features``, ``blank``,
        ``classes``, ``withheld``, ``audit``.
    """

    def __init__(self, table: str | Path, reader: str = "reader", **given: Any) -> None:
        self.path, self.reader = Path(table).resolve(), reader_name(reader)
        self._given = {k: v for k, v in given.items() if v is not None}
        self.frame, self._stamp = self._read(self._given), self._changed()
        packed = self.path.suffix.lower() in _PACKED
        self.name = Path(self.path.stem).stem if packed else self.path.stem
        self.journal = Journal(self.path.with_name(f"{self.name}.desk.sqlite"))
        self._lock, self.worker = threading.RLock(), Worker(self._learn)
        self._windows: dict[tuple[str, str], Shown] = {}
        self._past: deque[tuple[int, IntArray]] = deque(maxlen=100)
        self.data: Data | None = None
        self.model: Model | None = None  # the latest
        self.before: Model | None = None  # of the table alone
        self.held_out: tuple[int, int] | None = None
        self.confirmed = False  # whether somebody has looked at the guesses about the columns
        self._notice = self._problem = ""
        try:
            self._resume()
        except BaseException:
            self.close()
            raise

    def _read(self, given: Mapping[str, Any]) -> Any:
        # names stay as they are written
        text = [given[k] for k in ("label", "id", "show") if given.get(k)]
        return read_table(self.path, text=text).rename(columns=str)

    def _changed(self) -> float:
        return self.path.stat().st_mtime if self.path.exists() else 0.0

    def _resume(self) -> None:
        """Take up an earlier sitting, or begin one if the label is named."""
        earlier, checksum = self.journal.fact("setup") or {}, sha256_of(self.path)
        # who begins at the same time draws the same audit
        self._seed = self.journal.fact("seed") or int(checksum[:8], 16) + 1
        begun = self.journal.answers() and self.journal.fact("checksum")
        label = self._given.get("label") or earlier.get("label")
        other = label != earlier.get("label")
        if begun and other:
            about = f"the answers in {self.journal.path.name} are about {earlier['label']!r}"
            raise ValueError(f"label={label!r}: {about}. Leave it out, or move that file away.")
        # classes, blanks and features of another label would not be this one's
        self._given = {**({} if other else earlier), **self._given}
        # of a column with fewer than two classes the page asks which there are
        if label and (label not in self.frame or len(self.guesses()["classes"]) > 1):
            self.configure(self._given, confirm=not other and bool(self.journal.fact("confirmed")))
        if begun and begun != checksum:
            changed = f"{self.path.name} has changed since the sitting began"
            still = "The answers still belong to their rows, by id or, without ids, by number"
            self._notice = f"{changed}. {still}: check that they do."
        with self.journal.alone():
            self.journal.note(seed=self._seed, checksum=checksum)

    def guesses(self) -> dict[str, Any]:
        return dataclasses.asdict(self.data.setup) if self.data else guess(self.frame, self._given)

    def configure(self, given: Mapping[str, Any], *, confirm: bool = True) -> Setup:
        """Say which column is what, and whether somebody has confirmed it."""
        frame = self._read({**self.guesses(), **given})
        setup, journal = Setup.of(given, frame), self.journal.path.name
        data = Data(setup, frame, self._seed)
        with self._lock, self.journal.alone():
            if answers := self.journal.answers():  # by another desk, perhaps
                both = self.journal.fact("setup"), dataclasses.asdict(setup)
                earlier, now = map(_fixed, both)
                if earlier[:2] != now[:2] or earlier[2] - now[2]:
                    fixed = "label, id and classes are fixed by the answers"
                    raise Refused(f"{fixed}: move {journal} away to start again.", 409)
            if any(a["row"] >= len(data.ids) or data.ids[a["row"]] != a["id"] for a in answers):
                other = f"The answers in {journal} belong to other rows than {self.path.name} has"
                raise ValueError(f"{other} now: bring the old table back, or move that file away.")
            self.model, self.before, self.held_out = Model(data, answers), None, None
            self.frame, self.data, self.confirmed = frame, data, confirm
            self.model.number = max((a["model"] for a in answers), default=0)
            self._windows.clear()
            self._past.clear()
            self.journal.note(setup=dataclasses.asdict(setup), confirmed=confirm)
        self.worker.ask()
        return setup

    def warnings(self) -> list[str]:
        changed = f"{self.path.name} has changed on disk while the desk is open: answers are about"
        changed += " the table as it was read. Start the desk again to read the new one."
        changed *= self._changed() != self._stamp
        return list(filter(None, (self._notice, self._problem, changed)))

    def _learn(self) -> None:
        """Make a model of all answers; the worker calls this in its thread."""
        with self._lock:
            data, last = self.ready()
            # the first fit shows where the boundary was before anybody sat down
            answers = [] if self.before is None else self.journal.answers()
        try:
            model = learn(Model(data, answers), last)
        except Exception as error:  # the desk goes on with the model it has
            self._problem = f"The last fit failed, and the model before it stays: {error}"
            return
        with self._lock:
            if data is not self.data:
                return
            self._problem, self.model = "", model
            self._past.append((model.answers, model.guess.astype(np.int16)))
            if self.before is None:
                self.before = model
                if self.journal.answers():  # those of an earlier sitting come on top
                    self.worker.ask()
        if not self.worker.overtaken:
            self.held_out = held_out(model)

    def changed(self, since: int) -> tuple[int, int] | None:
        """Return how many blank rows the last answers gave another guess, of how many."""
        _, model = self.ready()
        older = [found for n, found in self._past if n <= model.answers - since]
        if not older or model.clf is None:
            return None
        blank = (model.codes < 0) & (model.guess >= 0)
        return int((older[-1] != model.guess)[blank].sum()), int(blank.sum())

    def ready(self) -> tuple[Data, Model]:
        """Return table and model, or refuse while nobody has said which column is what."""
        if self.data is None or self.model is None:
            raise Refused("Say first which column is the label, on the page or with --label.", 409)
        return self.data, self.model

    def _current(self) -> tuple[Data, Model]:
        """Return table and model, or refuse if the journal is about something else by now."""
        data, model = self.ready()
        if _fixed(self.journal.fact("setup")) != _fixed(dataclasses.asdict(data.setup)):
            raise Refused("A later desk has another label, id or classes: close this one.", 409)
        return data, model

    def case(self, reader: str, window: str = "") -> dict[str, Any] | None:
        """Return the case in front of a window, or a new one; it tells neither guess nor audit."""
        with self._lock:
            data, _ = self.ready()
            shown = self._windows.get((reader, window))
            if shown is None or self.journal.said(shown.row, reader):
                shown = self._next(reader)
                if shown is None:
                    return None
                self._windows[reader, window] = shown
            values = [None if v != v else v for v in data.X[shown.row].tolist()]
            case = {"row": shown.row, "id": data.ids[shown.row], "reader": reader}
            case["features"] = dict(zip(data.setup.features, values, strict=True))
            return case | {"show": data.shown[shown.row], "classes": list(data.setup.classes)}

    def _next(self, reader: str) -> Shown | None:
        (data, model), now = self.ready(), time.monotonic()
        fresh = [(k[0], s) for k, s in self._windows.items() if now - s.time < RESERVED]
        mine, answers = {s.row for name, s in fresh if name == reader}, self.journal.answers()
        own = {a["row"]: a for a in answers if a["reader"] == reader}
        # the same after a restart: nobody can wait an audit case away
        turn = random.Random(f"{self._seed} {reader} {len(own) + len(mine)}").random()
        if turn < data.setup.audit or model.clf is None:
            for row in map(int, data.order):
                if row in own:  # chosen earlier, now drawn too: its answer was as free as any
                    if not own[row]["audit"]:
                        self.journal.change(own[row]["seq"], "audit", 1)
                elif row not in mine:
                    return Shown(row, True, model.number, now)
        # of a case that somebody could label, or is looking at, there is less to learn
        taken = {a["row"] for a in answers if a["answer"] == "label"} | {*own, *mine}
        taken |= {s.row for _, s in fresh if not s.audit}
        left = (row for row in itertools.chain(model.queue, data.order) if row not in taken)
        return next((Shown(int(row), False, model.number, now) for row in left), None)

    def answer(self, reader: str, row: Any, answer: Any, label: Any = None) -> dict[str, Any]:
        """Keep an answer, and return what the model had thought."""
        with self._lock, self.journal.alone():
            data, model = self._current()
            label = str(label) if answer == "label" else None
            if type(row) is not int or not 0 <= row < len(data.codes):
                raise Refused(f"row={row!r}: give a whole number from 0 to {len(data.codes) - 1}.")
            if answer not in ANSWERS:
                raise Refused(f"answer={answer!r}: give one of {', '.join(map(repr, ANSWERS))}.")
            if answer == "label" and label not in data.setup.classes:
                raise Refused(f"label={label!r}: give one of {', '.join(data.setup.classes)}.")
            if data.codes[row] >= 0 or not data.usable[row]:
                raise Refused(f"row={row} has a label in the table, or no feature.", 409)
            guess = data.names[model.guess[row]]  # none while there is no model
            probability = guess and round(float(model.probability[row]), 4)
            mine = [k for k, s in self._windows.items() if (k[0], s.row) == (reader, row)]
            shown = [self._windows.pop(k) for k in mine] or [Shown(row, False, model.number, 0.0)]
            said = {"id": data.ids[row], "answer": answer, "label": label}
            said |= {"model": shown[0].model, "audit": int(shown[0].audit)}
            if model.codes[row] < 0:  # a guess counts if the model was not told
                said |= {"guess": guess, "probability": probability}
            kept = self.journal.add(row, reader, **said)
            self.worker.ask()
            if (kept["answer"], kept["label"]) != (answer, label):
                was = kept["label"] or kept["answer"]
                raise Refused(f"{reader} has said {was!r} of this case before: undo that.", 409)
            told = {name: kept[name] for name in ("seq", "row", "id", "answer", "label")}
            return {"saved": True, **told, "guess": guess, "probability": probability}

    def undo(self, reader: str, window: str = "") -> Answer:
        """Take back a reader's last answer; the case is in front of the window again."""
        with self._lock:
            self._current()
            own = self.journal.answers("undone IS NULL AND reader = ?", reader)
            if not own:
                raise Refused(f"{reader} has given no answer that could be undone.", 409)
            last = own[-1]
            self.journal.change(last["seq"], "undone", now())
            back = Shown(last["row"], bool(last["audit"]), last["model"], time.monotonic())
            self._windows[reader, window] = back
            self.worker.ask()
            return last

    def close(self) -> None:
        self.worker.pool.shutdown(cancel_futures=True)
        self.journal.close()


def _fixed(setup: Mapping[str, Any]) -> tuple[str, str | None, set[str]]:
    """Return what no answer would fit any more if it were changed."""
    return setup["label"], setup["id"], set(setup["classes"])


def reader_name(name: Any) -> str:
    shown = " ".join(str(name).split())
    if not 0 < len(shown) <= 60 or not shown.isprintable():
        raise Refused(f"reader={str(name)[:60]!r}: give a name of 1 to 60 letters.")
    return shown


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
