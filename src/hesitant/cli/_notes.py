"""What a careful user should know about a table that was read."""

import shlex
from typing import TYPE_CHECKING

from hesitant._words import noun

if TYPE_CHECKING:
    from hesitant.tables import Columns


def table_notes(columns: "Columns", command: str = "") -> list[str]:
    """Say what was left out of a table, and what may not be what it is taken for.

    ``command`` is what was run, for advice that can be pasted.
    """
    from hesitant.tables.errors import quote, quote_all

    notes = [dropped_note(columns)]
    if columns.ignored:
        notes.append(f"Columns that are not numeric have no part: {quote_all(columns.ignored)}.")
    if columns.set_aside.keys() - {columns.reviewed_like}:
        aside = [(n, why) for n, why in columns.set_aside.items() if n != columns.reviewed_like]
        why = "; ".join(f"{quote(name)} {reason}" for name, reason in aside)
        notes.append(f"Columns set aside, unless you name them with --features: {why}.")
    if columns.reviewed_like is not None:
        notes.append(
            f"The column {quote(columns.reviewed_like)} reads like whether an expert saw the row "
            f"and has no part; if it is that, add --reviewed {shlex.quote(columns.reviewed_like)}."
        )
    notes += [
        f"Are {' and '.join(map(quote, names))} one class? They differ only in case or blanks and "
        "are taken for several; if they are one, write them alike."
        for names in columns.alike
    ]
    if columns.single:
        notes.append(
            f"A single labelled row says little about a class: {quote_all(columns.single)}."
        )
    if columns.unused_missing:
        one = len(columns.unused_missing) == 1
        notes.append(
            f"{'This value' if one else 'These values'} given to --missing "
            f"{'does' if one else 'do'} not occur among the labels: "
            f"{quote_all(columns.unused_missing)}."
        )
    if columns.blank_like:
        one = len(columns.blank_like) == 1
        listed = ", ".join(f"{quote(v)} ({noun(count, 'row')})" for v, count in columns.blank_like)
        options = [shlex.quote(f"--missing={label}") for label, _ in columns.blank_like]
        repeat = " ".join([command, *options, "--force"]) if command else " ".join(options)
        notes.append(
            f"{'This label is' if one else 'These labels are'} taken for "
            f"{'a class' if one else 'classes'}: {listed}. If {'it' if one else 'they'} should "
            f"count as 'not labelled', {'repeat with' if command else 'add'}: {repeat}"
        )
    return [note for note in notes if note]


def dropped_note(columns: "Columns") -> str | None:
    """Say which rows were left out."""
    count = len(columns.dropped)
    if not count:
        return None
    shown = ", ".join(str(i + 1) for i in columns.dropped[:5]) + (", …" if count > 5 else "")
    rows = "row was" if count == 1 else "rows were"
    return f"{count:,} {rows} left out for a blank or infinite feature: {shown}."
