"""What a study has finished, kept so that a run that is killed loses no replication.

One SQLite file in the folder of results. It is locked while a run works there, so that two runs
never write to the same folder, and the system lifts the lock of a process that is killed.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any, Self

from hesitant._words import noun

Row = dict[str, Any]


class StudyError(RuntimeError):
    """A study cannot run as asked; the message says what to do."""


class Checkpoint:
    """The finished replications of a study; a context, which keeps every other run out."""

    def __init__(
        self, path: Any, settings: Row, resume: bool = False, force: bool = False
    ) -> None:
        if resume and force:
            raise ValueError("resume=True continues and force=True begins anew: choose one.")
        self.path, self.resume, self.force = Path(path), resume, force
        self.settings: Row = json.loads(json.dumps(settings))
        self._database: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        for statement in (
            "PRAGMA locking_mode = EXCLUSIVE",
            "BEGIN EXCLUSIVE",
            "CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT)",
            "CREATE TABLE IF NOT EXISTS finished (replication INTEGER PRIMARY KEY, rows TEXT)",
            "COMMIT",
        ):
            self._execute(statement)
        return self

    def __exit__(self, *_: object) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def finished(self) -> dict[int, list[Row]]:
        """The rows of each replication that has finished."""
        found = self._execute("SELECT replication, rows FROM finished ORDER BY replication")
        return {k: json.loads(rows) for k, rows in found}

    def begin(self, reuse: bool = False) -> None:
        """Continue what is there if asked to, or to reuse the same study's; else begin anew."""
        state = dict(self._execute("SELECT key, value FROM state"))
        recorded = json.loads(state.get("settings", "null"))
        unfinished = 0 if "complete" in state else len(self.finished)
        if reuse and recorded == self.settings:
            return
        if unfinished and not (self.resume or self.force):
            raise StudyError(
                f"{self.path} holds {noun(unfinished, 'finished replication')} of an interrupted "
                "run. Continue it with resume=True (--resume), begin anew with force=True "
                "(--force), or choose another folder with out (--out)."
            )
        if self.resume and recorded is not None:
            changed = [
                f"{key} was {json.dumps(old):.60} and is now {json.dumps(new):.60}"
                for key in sorted({*recorded, *self.settings})
                if (old := recorded.get(key)) != (new := self.settings.get(key))
            ]
            if not changed:
                return
            raise StudyError(
                f"{self.path} was begun with other settings ({'; '.join(changed)}), so its "
                "results cannot be continued. Use the same settings, begin anew with force=True "
                "(--force) instead, or choose another folder with out (--out)."
            )
        if unfinished:
            number = 1
            while (kept := self.path.with_suffix(f".{number}.old")).exists():
                number += 1
            self._execute("VACUUM INTO ?", str(kept))
        # Killed in between, there is nothing that could be lost or taken for something else.
        self._execute("DELETE FROM finished")
        self._execute("DELETE FROM state")
        self._execute("INSERT INTO state VALUES ('settings', ?)", json.dumps(self.settings))

    def append(self, replication: int, rows: list[Row]) -> None:
        """Add a finished replication; on return it is on the disk."""
        self._execute("DELETE FROM state WHERE key = 'complete'")
        added = "INSERT OR REPLACE INTO finished VALUES (?, ?)"
        self._execute(added, replication, json.dumps(rows))

    def finish(self) -> None:
        """Note that the study reached its end, so that nothing is lost by beginning another."""
        self._execute("INSERT OR IGNORE INTO state VALUES ('complete', '')")

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        try:
            if self._database is None:
                # Without transactions of Python's own a statement is on the disk on return.
                self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None)
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            why = f"The results cannot be kept in {self.path}: {error}. What was finished before "
            why += "is safe; make room, or choose another folder with out (--out)."
            code = getattr(error, "sqlite_errorcode", 0)
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                why = f"Another run is writing to {self.path}: wait for it, or choose another "
                why += "folder with out (--out)."
            raise StudyError(why) from error
