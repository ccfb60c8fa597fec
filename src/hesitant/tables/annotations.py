"""Exports of annotation tools, and long tables: who said what about which case.

Such a file has no features. It is joined by an identifier to a table that has, and tells three
kinds of rows apart: labelled, withheld (shown and left without a label) and never shown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from hesitant._words import noun

from .cells import Sheet
from .errors import TableError, option, quote, quote_all

_READER = re.compile(r"(?i)(reader|annotator|rater|expert|user|coder|label+er)([\W_]?(id|name))?")
_CONFIRMED = ("is_confirmed", "confirmed", "approved", "annotation_approver")
_ALONE = "reader"


class Statement(NamedTuple):
    """What a reader said of a case; no label means that it was withheld."""

    case: str
    reader: str
    label: Any


@dataclass(frozen=True)
class Joined:
    """A table of features with the labels that were said of its rows.

    ``label`` and ``reviewed`` name the columns added (``reviewed`` is None if every row was
    shown), ``notes`` say what was found, and ``statements`` who said what.
    """

    frame: pd.DataFrame
    label: str
    reviewed: str | None
    notes: list[str]
    statements: list[Statement] = field(default_factory=list)


def tool_of(document: Any) -> str | None:
    """Tell which annotation tool wrote a JSON document, None for none that is known."""
    if not isinstance(document, list) or not document or not isinstance(document[0], Mapping):
        return None
    start = [row for row in document[:100] if isinstance(row, Mapping)]
    keys = set().union(*start)
    if "annotations" in keys and "data" in keys:
        return "Label Studio"
    if {"fields", "responses"} <= keys or any(str(k).endswith(".responses") for k in keys):
        return "Argilla"
    if "answer" in keys and {"_task_hash", "_input_hash"} & keys:
        return "Prodigy"
    if "text" in keys and all(isinstance(row.get("label"), list) for row in start):
        return "doccano"
    return None


def refuse_alone(tool: str, source: str) -> TableError:
    """Make the error for an export that was given where features are needed."""
    return TableError(
        source,
        f"This is an export of {tool}: it has labels, but no features.",
        "Name the table of features with --features-from, and the column of identifiers that both "
        "have with --id.",
    )


# -- what each tool writes: who said what about a record ------------------------------------------

Question: TypeAlias = Callable[[Mapping[Any, Any]], Any]  # picks the answers to one question
Said: TypeAlias = Iterator[tuple[Any, Any]]


def _label_studio(record: Mapping[str, Any], question: Question) -> Said:
    for annotation in record.get("annotations") or ():
        who = annotation.get("completed_by")
        answers: defaultdict[str, list[Any]] = defaultdict(list)
        for result in annotation.get("result") or ():
            value = result.get("value", {}).get(result.get("type"))
            answers[result.get("from_name")] += value if isinstance(value, list) else [value]
        withheld = annotation.get("was_cancelled")
        name = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
        yield name, None if withheld else question(answers)


def _argilla(record: Mapping[str, Any], question: Question) -> Said:
    responses = record.get("responses") or []
    flat = {k.removesuffix(".responses"): k for k in record if k.endswith(".responses")}
    if flat:
        key = question(flat)
        values = record.get(key) or []
        users = record.get(f"{key}.users") or [None] * len(values)
        status = record.get(f"{key}.status") or ["submitted"] * len(values)
        given = list(zip(users, status, values, strict=False))
    elif isinstance(responses, Mapping):  # by question, each a list of what users said
        told = question(responses) or []
        given = [(r.get("user_id"), r.get("status", "submitted"), r.get("value")) for r in told]
    else:
        given = []
        for r in responses:
            answers = (r.get("values") or {}).items()
            plain = {k: v.get("value") if isinstance(v, Mapping) else v for k, v in answers}
            given.append((r.get("user_id"), r.get("status"), question(plain)))
    for who, state, value in given:
        if state in ("submitted", "discarded"):  # a draft is nothing said yet
            yield who, None if state == "discarded" else value


def _doccano(record: Mapping[str, Any], question: Question) -> Said:
    known = [record[key] for key in _CONFIRMED if key in record]
    if record.get("label") or not known or any(known):
        yield None, record.get("label")


def _prodigy(record: Mapping[str, Any], question: Question) -> Said:
    accepted = record.get("answer") == "accept"
    said = record.get("accept", record.get("label")) if accepted else None
    yield record.get("_annotator_id") or record.get("_session_id"), said


# how a tool's records are read, and where in them an identifier may be
_TOOLS: dict[str, tuple[Callable[[Mapping[str, Any], Question], Said], tuple[str, ...]]] = {
    "Label Studio": (_label_studio, ("data", "meta")),
    "Argilla": (_argilla, ("metadata", "fields")),
    "doccano": (_doccano, ("meta", "metadata")),
    "Prodigy": (_prodigy, ("meta",)),
}


def _exported(
    document: list[Any], tool: str, id: str, label: str | None, source: str
) -> Iterator[Statement | str]:
    """Yield the cases of an export, and after each what was said of it."""
    read, inside = _TOOLS[tool]
    for number, record in enumerate(document, 1):
        try:
            case = _identifier(record, id, inside, source)
            said = list(read(record, lambda answers: _question(answers, label, source)))
            found = [Statement(case, _name(who), _one(value, case, source)) for who, value in said]
        except (AttributeError, TypeError, KeyError) as error:
            problem = f"Record {number} is not as {tool} writes it."
            raise TableError(source, problem, "Export it again, and leave it as it is.") from error
        yield case
        yield from found


def _identifier(record: Mapping[str, Any], id: str, inside: Sequence[str], source: str) -> str:
    # what the user put into a task comes before what the tool calls it
    places = [record[key] for key in inside if isinstance(record.get(key), Mapping)]
    for place in (*places, record):
        if place.get(id) is not None:
            return _name(place[id])
    names = [str(key) for place in (*places, record) for key in place]
    raise TableError(
        source,
        f"A case has no {quote(id)}, which {option('id')} names.",
        f"It has {quote_all(names, limit=12)}.",
    )


def _question(answers: Mapping[Any, Any], label: str | None, source: str) -> Any:
    """Return the answers to the question asked for, or to the only one."""
    if label in answers:
        return answers[label]
    if label is None and len(answers) > 1:
        raise TableError(
            source,
            f"Several questions were asked: {quote_all(answers)}.",
            f"Name the one to learn with {option('label')}.",
        )
    return next(iter(answers.values()), None) if label is None else None


def _one(value: Any, case: str, source: str) -> Any:
    """Return the one label that was given, or None."""
    values = list(dict.fromkeys(map(_name, value))) if isinstance(value, list) else [value]
    if len(values) > 1:
        raise TableError(
            source,
            f"The case {quote(case)} has several labels from one reader: {quote_all(values)}.",
            "Keep one label a case; spans and boxes are not read.",
        )
    said = _name(values[0]).strip() if values and not pd.isna(values[0]) else ""
    return said or None


def _name(value: Any) -> str:
    if value is None:
        return _ALONE
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _long_table(frame: pd.DataFrame, id: str, label: str | None) -> Iterator[Statement | str]:
    """Yield the statements of a table with a line for each; a blank label was withheld."""
    sheet = Sheet(frame)
    sheet.require([id], f"named in {option('id')}")
    others = [name for name in sheet.names if name != id]
    reader = next((name for name in others if _READER.fullmatch(name)), None)
    if label is None:
        left = [name for name in others if name != reader]
        label = "label" if "label" in left or len(left) != 1 else left[0]
    sheet.require([label], f"named in {option('label')}")
    readers = [None] * len(sheet) if reader is None else sheet.cells(reader)
    lines: Counter[str] = Counter()
    for case, who, said in zip(sheet.cells(id), readers, sheet.cells(label), strict=True):
        if case is not None:
            lines[_name(case)] += 1
            # without names, every further line about a case is another reader's
            nobody = f"{_ALONE} {lines[_name(case)]}"
            name = nobody if reader is None else _name(who)
            yield _name(case)
            yield Statement(_name(case), name, None if said is None else _name(said))


# -- joining --------------------------------------------------------------------------------------


def join(
    export: Any, features: pd.DataFrame, source: str, *, id: str, label: str | None
) -> Joined:
    """Join what was said to the features it was said of.

    Parameters
    ----------
    export : list or pandas.DataFrame
        The documents of an annotation tool, or a table with a line for each statement.
    features : pandas.DataFrame
        The table of features, with a column ``id``.
    source : str
        What messages call the export.
    id : str
        The identifier that both have.
    label : str or None
        The question, or the column of the long table, where there are several.
    """
    table = Sheet(features)
    table.require([id], f"named in {option('id')}")
    ids = ["" if case is None else _name(case) for case in table.cells(id)]
    repeated = [case for case, count in Counter(ids).items() if count > 1]
    if repeated:
        raise table.error(
            f"Identifiers must not repeat, and these do: {quote_all(repeated)}.",
            "Keep one row of features for each.",
            column=id,
        )
    tool = tool_of(export)
    if tool is None and not isinstance(export, pd.DataFrame):
        raise TableError(
            source,
            "This is no export of Label Studio, Argilla, doccano or Prodigy.",
            "Give the labels as a table with the columns of the case, the reader and the label.",
        )
    parts = _exported(export, tool, id, label, source) if tool else _long_table(export, id, label)
    by_case: dict[str, dict[str, Any]] = {}
    statements = []
    for part in parts:
        if isinstance(part, str):
            by_case.setdefault(part, {})
        elif part.case in by_case:
            by_case[part.case][part.reader] = part.label  # a later statement replaces
            statements.append(part)
    strange = [case for case in by_case if case not in set(ids)]
    if len(strange) == len(by_case):
        raise TableError(
            source,
            f"None of its identifiers is in the column {quote(id)} of {table.source}: "
            f"{quote_all(strange)} are not among {quote_all(ids)}.",
            f"Name the column that both have with {option('id')}.",
        )
    said = [by_case.get(case, {}) for case in ids]
    y = pd.Series([_majority(opinions) for opinions in said], dtype=object, index=features.index)
    shown = [bool(opinions) for opinions in said]
    name = _fresh(label or "label", table.names)
    reviewed = None if all(shown) else _fresh("shown", table.names)
    frame = features.assign(**{name: y} | ({} if reviewed is None else {reviewed: shown}))
    frame.attrs = features.attrs
    notes = _notes(tool, said, y, strange, table.source)
    if tool == "doccano" and not any(key in row for row in export for key in _CONFIRMED):
        notes.append("The export does not say which cases were confirmed: all count as shown.")
    if tool is None and {"annotation_id", "lead_time"} <= set(export.columns):
        notes.append(
            "This looks like a CSV export of Label Studio, which leaves out skipped tasks: with "
            "the JSON export, withheld labels count."
        )
    return Joined(frame, name, reviewed, notes, statements)


def _majority(opinions: Mapping[str, Any]) -> Any:
    """Return the label of more than half of the readers who saw the case, else None."""
    counts = Counter(label for label in opinions.values() if label is not None)
    label, most = counts.most_common(1)[0] if counts else (None, 0)
    return label if 2 * most > len(opinions) else None


def _fresh(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _notes(
    tool: str | None, said: list[dict[str, Any]], y: Any, strange: list[str], table: str
) -> list[str]:
    labelled, shown = int(y.notna().sum()), sum(map(bool, said))
    apart = sum(len(set(s.values()) - {None}) > 1 for s in said)
    readers = sorted({reader for opinions in said for reader in opinions})
    origin = f"{tool} export" if tool else "Labels"
    notes = [
        f"{origin}: {noun(labelled, 'row')} labelled, {shown - labelled:,} withheld, "
        f"{len(said) - shown:,} never shown."
    ]
    if len(readers) > 1:
        notes.append(
            f"{len(readers)} readers ({quote_all(readers)}): the label is what more than half of "
            f"those who saw a case said; they disagree on {noun(apart, 'case')}."
        )
    if strange:
        one = len(strange) == 1
        notes.append(
            f"{noun(len(strange), 'case')} {'is' if one else 'are'} not in {table} and "
            f"{'has' if one else 'have'} no part: {quote_all(strange)}."
        )
    return notes
