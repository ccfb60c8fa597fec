"""Files of results: whole or not at all, and the same results give the same bytes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from hesitant._result import plain
from hesitant.studies._estimators import Row
from hesitant.studies._journal import StudyError
from hesitant.tables import write_atomically

__all__ = ["make_folder", "write_json", "write_table"]


def make_folder(out: Any) -> Path:
    """Make the folder of results if need be, or say why it cannot be used."""
    folder = Path(out).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".hesitant-probe"
        probe.touch()
        probe.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(
            f"Results cannot be written to {folder}: {reason}. Name a folder of your own with "
            "out (--out)."
        ) from error
    return folder


def write_table(path: Path, rows: list[Row]) -> Path:
    """Write rows as CSV; absent and undefined values are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = list(rows[0])
    writer.writerow(header)
    writer.writerows([_cell(row[column]) for column in header] for row in rows)
    return write_atomically(path, text.getvalue(), force=True)


def _cell(value: Any) -> Any:
    value = plain(value)
    # repr, which csv uses for floats, reads back exactly
    return "" if value is None else value


def write_json(path: Path, content: Any) -> Path:
    """Write plain data as JSON."""
    return write_atomically(path, json.dumps(plain(content), indent=1) + "\n", force=True)
