"""Answers on disk: a SQLite file beside the table, written before anything is acknowledged."""

import datetime
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

FORMAT, MARK = 1, 0x68647372  # the mark tells a journal from any other SQLite file
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL, id TEXT NOT NULL, reader TEXT NOT NULL,
  answer TEXT NOT NULL CHECK (answer IN ('label', 'cannot tell', 'not shown')),
  label TEXT CHECK ((label IS NULL) = (answer <> 'label')),
  time TEXT NOT NULL, model INTEGER NOT NULL, audit INTEGER NOT NULL,
  guess TEXT, probability REAL, informed INTEGER NOT NULL, undone TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS one_answer ON answers (row, reader) WHERE undone IS NULL;
PRAGMA application_id = {MARK};
PRAGMA user_version = {FORMAT};
COMMIT;
"""
Answer = dict[str, Any]


class Journal:
    """All answers ever given about one table, by whatever reader, window or process."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.RLock()
        try:
            self._db = sqlite3.connect(path, timeout=10, check_same_thread=False)
            self._db.isolation_level = None  # each statement is a transaction: on disk at once
            self._db.row_factory = sqlite3.Row
            # an answer that was acknowledged must survive the power switch: one wait for the disk
            # in this mode, four or five in the usual one
            self._do("PRAGMA journal_mode = WAL")
            self._do("PRAGMA synchronous = FULL")
            if not self._one("SELECT count(*) FROM sqlite_master"):
                self._db.executescript(_SCHEMA)
            if self._one("PRAGMA application_id") != MARK:
                raise sqlite3.DatabaseError("the file belongs to another program")
            if self._one("PRAGMA user_version") > FORMAT:
                raise sqlite3.DatabaseError("it was written by a later version of hesitant")
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{path} cannot be used as a journal: {error}. Move it away, or copy the table to "
                "a folder that you can write to."
            ) from error

    def _do(self, statement: str, *given: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(statement, given).fetchall()

    def _one(self, question: str, *given: Any) -> Any:
        return next((found[0] for found in self._do(question, *given)), None)

    def fact(self, name: str) -> Any:
        return json.loads(self._one("SELECT value FROM facts WHERE name = ?", name) or "null")

    def note(self, **facts: Any) -> None:
        for name, value in facts.items():
            self._do("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, json.dumps(value))

    def answers(self, where: str = "undone IS NULL", *given: Any) -> list[Answer]:
        """Return answers, by default all that stand, in the order given."""
        return [*map(dict, self._do(f"SELECT * FROM answers WHERE {where} ORDER BY seq", *given))]

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


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
