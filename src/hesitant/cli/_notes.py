"""What a careful user should know about a table that was read."""

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hesitant._words import noun

if TYPE_CHECKING:
    from hesitant.tables import Columns

__all__ = ["dropped_note", "table_notes"]

_LONGEST = 60  # characters of a name that a suggested option repeats


def table_notes(columns: "Columns") -> list[str]:
    """Say what was left out of a table, and what may not be what it is taken for."""
    from hesitant.tables.errors import quote, quote_all

    notes = [dropped_note(columns)]
    if columns.ignored:
        notes.append(f"Columns that are not numeric have no part: {quote_all(columns.ignored)}.")
    if columns.counting:
        one = len(columns.counting) == 1
        notes.append(
            f"The {'feature' if one else 'features'} {quote_all(columns.counting)} "
            f"{'seems' if one else 'seem'} to number the rows rather than to measure something; "
            f"if so, leave {'it' if one else 'them'} out with {_drop(columns.counting)}."
        )
    if columns.unused_missing:
        one = len(columns.unused_missing) == 1
        notes.append(
            f"{'This value' if one else 'These values'} given to --missing "
            f"{'does' if one else 'do'} not occur among the labels: "
            f"{quote_all(columns.unused_missing)}."
        )
    notes += [
        f"The label {quote(label)} ({noun(count, 'row')}) is taken for a class; if it means 'not "
        f"labelled', add {shlex.quote(f'--missing={label}')}."
        for label, count in columns.blank_like
    ]
    return [note for note in notes if note]


def dropped_note(columns: "Columns") -> str | None:
    """Say which rows were left out."""
    count = len(columns.dropped)
    if not count:
        return None
    shown = ", ".join(str(i + 1) for i in columns.dropped[:5]) + (", …" if count > 5 else "")
    rows = "row was" if count == 1 else "rows were"
    return f"{count:,} {rows} left out for a blank or infinite feature: {shown}."


def _drop(names: Iterable[str]) -> str:
    """Return the options that leave columns out, or the option alone where that would be long."""
    options = " ".join(f"--drop {shlex.quote(name)}" for name in names)
    return options if len(options) <= _LONGEST else "--drop"
