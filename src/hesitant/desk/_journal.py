"""Answers on disk: a SQLite file beside the table, written before anything is acknowledged."""

import datetime
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORMAT, MARK = 1, 0x68647372  # the mark tells a journal from any other SQLite file
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE answers (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL, id TEXT NOT NULL, reader TEXT NOT NULL,
  answer TEXT NOT NULL CHECK (answer IN ('label', 'cannot tell', 'not shown')),
  label TEXT CHECK ((label IS NULL) = (answer <> 'label')),
  time TEXT NOT NULL, model INTEGER NOT NULL, audit INTEGER NOT NULL,
  guess TEXT, probability REAL, informed INTEGER NOT NULL, undone TEXT
);
CREATE UNIQUE INDEX one_answer ON answers (row, reader) WHERE undone IS NULL;
CREATE TABLE models (
  number INTEGER PRIMARY KEY, time TEXT NOT NULL, answers INTEGER NOT NULL,
  promise REAL, expected_error REAL
)
"""
Answer = dict[str, Any]


class Journal:
    """All answers ever given about one table, by whatever reader, window or process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._version = -1
        try:
            self._db = sqlite3.connect(
                path, timeout=10, isolation_level=None, check_same_thread=False
            )
            self._db.row_factory = sqlite3.Row
            # an answer that was acknowledged must survive the power switch
            self._db.execute("PRAGMA synchronous = FULL")
            self._open()
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{path} cannot be used as a journal: {error}. Move it away, or copy the table to "
                "a folder that you can write to."
            ) from error
        self.refresh()

    def _open(self) -> None:
        with self._writing():
            if not self._one("SELECT count(*) FROM sqlite_master"):
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {MARK}")
                self._db.execute(f"PRAGMA user_version = {FORMAT}")
        if self._one("PRAGMA application_id") != MARK:
            raise sqlite3.DatabaseError("the file belongs to another program")
        if (version := self._one("PRAGMA user_version")) > FORMAT:
            raise sqlite3.DatabaseError(f"format {version} needs a later version of hesitant")

    def _one(self, question: str, *given: Any) -> Any:
        with self._lock:
            found = self._db.execute(question, given).fetchone()
        return None if found is None else found[0]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the file for writing; all inside is on disk at the end, or nothing is."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def fact(self, name: str) -> Any:
        """Return something noted about the sitting, or None."""
        return json.loads(self._one("SELECT value FROM facts WHERE name = ?", name) or "null")

    def note(self, **facts: Any) -> None:
        """Note something about the sitting."""
        with self._writing():
            for name, value in facts.items():
                pair = name, json.dumps(value)
                self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", pair)

    def refresh(self) -> bool:
        """Take in what other processes wrote; return whether there was anything."""
        with self._lock:
            version = self._one("PRAGMA data_version")
            changed = bool(version != self._version)
            if changed:
                self._version, found = version, self.everything()
                self._active = {a["seq"]: a for a in found if a["undone"] is None}
                self._said = {(a["row"], a["reader"]): a for a in self._active.values()}
                self._undone = {(a["row"], a["reader"]) for a in found if a["undone"]}
            return changed

    def answers(self) -> list[Answer]:
        """Return the answers that stand, in the order given."""
        with self._lock:
            return list(self._active.values())

    def everything(self) -> list[Answer]:
        """Return every answer ever given, those taken back among them."""
        with self._lock:
            return [dict(row) for row in self._db.execute("SELECT * FROM answers ORDER BY seq")]

    def said(self, row: int, reader: str) -> Answer | None:
        """Return what a reader has said of a row."""
        return self._said.get((row, reader))

    def add(self, **answer: Any) -> Answer:
        """Write an answer; it is on disk when this returns.

        If the reader has answered this row meanwhile, from another window or process, that answer
        is returned and nothing is written.
        """
        with self._lock:
            key = answer["row"], answer["reader"]
            # whoever took an answer back here has seen the guess
            answer = {**answer, "time": now(), "informed": int(key in self._undone)}
            marks = ", ".join("?" * len(answer))
            question = f"INSERT INTO answers ({', '.join(answer)}) VALUES ({marks})"
            try:
                with self._writing():
                    seq = self._db.execute(question, list(answer.values())).lastrowid
            except sqlite3.IntegrityError:
                self.refresh()
                return self._said[key]
            made = {"seq": seq, **answer, "undone": None}
            self._active[made["seq"]] = self._said[key] = made
            return made

    def undo(self, seq: int) -> None:
        """Take an answer back; it stays in the file, marked."""
        with self._lock:
            with self._writing():
                self._db.execute("UPDATE answers SET undone = ? WHERE seq = ?", (now(), seq))
            gone = self._active.pop(seq)
            del self._said[gone["row"], gone["reader"]]
            self._undone.add((gone["row"], gone["reader"]))

    def mark_audit(self, seq: int) -> None:
        """Note that the audit has come to a case that was answered before."""
        with self._writing():
            self._db.execute("UPDATE answers SET audit = 1 WHERE seq = ?", (seq,))
            self._active[seq]["audit"] = 1

    def add_model(self, answers: int, promise: float | None, error: float | None) -> int:
        """Note a model, and return its number."""
        with self._writing():
            number = 1 + int(self._one("SELECT coalesce(max(number), 0) FROM models"))
            values = number, now(), answers, promise, error
            self._db.execute("INSERT INTO models VALUES (?, ?, ?, ?, ?)", values)
            return number

    def first_promise(self) -> float | None:
        """Return what ten answers were expected to teach when the sitting began."""
        found = self._one(
            "SELECT promise FROM models WHERE promise > 0 ORDER BY answers, number LIMIT 1"
        )
        return None if found is None else float(found)

    def content(self) -> bytes:
        """Return the whole file."""
        with self._lock:
            return self._db.serialize()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def now() -> str:
    """Return the time as text that sorts."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
