"""What `reproduce` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hesitant._result import plain
from hesitant.studies._checkpoint import Row


@dataclass(frozen=True)
class Part:
    """One part of the paper: the files it wrote, its tables by name, and what went wrong.

    ``problems`` says that in words, with what to do; ``errors`` are the exceptions themselves.
    """

    name: str
    seconds: float = 0.0
    files: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list, repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return not self.problems

    def note(self, error: Exception) -> None:
        """Add what went wrong."""
        # Messages of the package stand for themselves; others need the kind of error.
        known = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
        words = str(error) if known else f"{type(error).__name__}: {error}"
        if words not in self.problems:  # a file that is missing is missed more than once
            self.errors.append(error)
            self.problems.append(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain data."""
        return {
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "files": [path.name for path in self.files],
            "problems": list(self.problems),
            "tables": plain(self.tables),
        }


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The paper, reproduced as far as it went: its parts, in the order they were made."""

    out: Path
    parts: dict[str, Part]
    settings: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether every part was completed."""
        return all(part.ok for part in self.parts.values())

    @property
    def exit_code(self) -> int:
        """0 if every part was completed, else 1."""
        return 0 if self.ok else 1

    @property
    def files(self) -> list[Path]:
        """All files written."""
        return [path for part in self.parts.values() for path in part.files]

    @property
    def problems(self) -> list[str]:
        """What went wrong, each with the name of its part."""
        return [f"{name}: {p}" for name, part in self.parts.items() for p in part.problems]

    def table(self, name: str) -> list[Row]:
        """Return a table by the name of its file without suffix, such as "table1"."""
        known = {key: rows for part in self.parts.values() for key, rows in part.tables.items()}
        if name not in known:
            raise KeyError(f"no table is called {name!r}; there are {', '.join(known) or 'none'}")
        return known[name]

    def to_frame(self, name: str) -> Any:
        """Return a table as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.table(name))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, fit for JSON."""
        return {
            "ok": self.ok,
            "out": str(self.out),
            "settings": plain(self.settings),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }

    def __str__(self) -> str:
        width = max(map(len, self.parts), default=0)
        lines = [f"{'complete' if self.ok else 'INCOMPLETE'}: {self.out}"]
        said: dict[str, str] = {}
        for name, part in self.parts.items():
            files = ", ".join(path.name for path in part.files if path.suffix != ".svg")
            state = "ok    " if part.ok else "FAILED"
            lines.append(f"  {name:{width}}  {state}  {part.seconds:6.1f} s  {files}")
            for problem in part.problems:
                first = said.setdefault(problem, name)
                words = problem.splitlines() if first == name else [f"as for {first}"]
                lines += [f"      {line}" for line in words if f"      {line}" != lines[-1]]
        return "\n".join(lines)

    __repr__ = __str__
