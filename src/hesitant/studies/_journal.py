"""A file that a study adds to replication by replication, and that survives being killed.

Every line is a JSON object: the study's settings first, then one line for each replication that
has finished. A process killed in the middle of a line leaves a line that is no JSON; readers pass
over it, and that replication is done again. Numbers are written so that they read back exactly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hesitant.studies._estimators import Row

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where two runs must not share a folder
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "StudyError"]


class StudyError(RuntimeError):
    """A study cannot run as asked; the message says what to do."""


class Journal:
    """What has been finished of a study, on disk.

    Parameters
    ----------
    path : path
        The file.
    settings : dict
        All that the results depend on, as plain JSON values.

    Attributes
    ----------
    finished : dict of int to list
        The rows of each replication that has finished.
    complete : bool
        Whether the study reached its end.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings: dict[str, Any] = json.loads(json.dumps(settings))
        self.finished: dict[int, list[Row]] = {}
        self.complete = False
        self._file: BinaryIO | None = None

    @contextmanager
    def open(self, resume: bool, force: bool = False) -> Iterator[Journal]:
        """Open for adding: to what is there with `resume`, else to a new file.

        An unfinished file is never begun anew without `force`, which keeps it under another name.
        One that was written with other settings is never added to.
        """
        with self._failing_clearly():
            self._file = open(self.path, "a+b")  # noqa: SIM115 - closed below
        try:
            self._lock()
            self._begin(resume, force)
            yield self
        finally:
            self._file.close()
            self._file = None

    def append(self, replication: int, rows: list[Row]) -> None:
        """Add a finished replication; on return it is on the disk."""
        self._write({"replication": replication, "rows": rows})
        self.finished[replication] = rows
        self.complete = False

    def finish(self) -> None:
        """Note that the study reached its end, so that nothing is lost by beginning another."""
        if not self.complete:
            self._write({"complete": len(self.finished)})
            self.complete = True

    def read(self) -> dict[str, Any] | None:
        """Read the file and return its settings; None if it has none."""
        settings: dict[str, Any] | None = None
        self.finished, self.complete = {}, False
        for entry in map(_parse, self._content().split(b"\n")):
            if "settings" in entry:
                settings = entry["settings"]
            elif settings is not None and "replication" in entry:
                self.finished[entry["replication"]] = entry["rows"]
                self.complete = False
            elif "complete" in entry:
                self.complete = True
        return settings

    def _content(self) -> bytes:
        if self._file is None:
            with suppress(FileNotFoundError):
                return self.path.read_bytes()
            return b""
        # Not by another handle: closing any handle of a file gives up its lock.
        self._file.seek(0)
        return self._file.read()

    def refuse_unfinished(self) -> None:
        """Refuse to lose what an interrupted run has finished."""
        self.read()
        if self.finished and not self.complete:
            done = len(self.finished)
            raise StudyError(
                f"{self.path} holds {done:,} finished replication{'' if done == 1 else 's'} of an "
                "interrupted run. Continue it with resume=True (--resume), begin anew with "
                "force=True (--force), or choose another folder with out (--out)."
            )

    def _begin(self, resume: bool, force: bool) -> None:
        assert self._file is not None
        recorded = self.read()
        if resume and recorded is not None:
            self._refuse_other(recorded)
            if not self._content().endswith(b"\n"):
                self._file.write(b"\n")  # so that a torn line does not spoil the next one
            return
        if not force:
            self.refuse_unfinished()
        elif self.finished and not self.complete:
            self._set_aside()
        self.finished, self.complete = {}, False
        with self._failing_clearly():
            self._file.truncate(0)
        self._write({"settings": self.settings})

    def _refuse_other(self, recorded: dict[str, Any]) -> None:
        changed = [
            f"{key} was {_shown(recorded.get(key))} and is now {_shown(self.settings.get(key))}"
            for key in sorted({*recorded, *self.settings})
            if recorded.get(key) != self.settings.get(key)
        ]
        if changed:
            raise StudyError(
                f"{self.path} was begun with other settings ({'; '.join(changed)}), so its "
                "results cannot be continued. Use the same settings, begin anew with force=True "
                "(--force) instead, or choose another folder with out (--out)."
            )

    def _set_aside(self) -> None:
        number = 1
        while (kept := self.path.with_suffix(f".{number}.old")).exists():
            number += 1
        with self._failing_clearly():
            kept.write_bytes(self._content())

    def _write(self, entry: dict[str, Any]) -> None:
        assert self._file is not None
        with self._failing_clearly():
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    @contextmanager
    def _failing_clearly(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StudyError(
                f"The results cannot be kept in {self.path}: {error.strerror or error}. What was "
                "finished before is safe; make room, or choose another folder with out (--out)."
            ) from error

    def _lock(self) -> None:
        # POSIX locks end with their process, however it ends, and forks do not inherit them.
        if fcntl is None or self._file is None:
            return
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StudyError(
                f"Another run is writing to {self.path}: wait for it, or choose another folder "
                "with out (--out)."
            ) from error
        except OSError:  # some network file systems have no locks
            pass


def _parse(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        entry = json.loads(line)
        if isinstance(entry, dict):
            return entry
    return {}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
