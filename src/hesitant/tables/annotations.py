"""Exports of annotation tools, and long tables: who said what about which case.

Such a file has no features. It is joined by an identifier to a table that has, and tells three
kinds of rows apart: labelled, withheld (shown and left without a label) and never shown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from hesitant._typing import BoolArray
from hesitant._words import noun
from hesitant.labels import as_shown

from .cells import Sheet
from .errors import TableError, option, quote, quote_all

_READER = re.compile(r"(?i)(reader|annotator|rater|expert|user|coder|label+er)([\W_]?(id|name))?")
_CONFIRMED = ("is_confirmed", "confirmed", "approved", "annotation_approver")
_INSIDE = ("data", "metadata", "meta", "fields")  # where an identifier may be

Said: TypeAlias = Iterator[tuple[Any, ...]]  # who, which question (None: any), the answer


def _label_studio(record: Any) -> Said:
    for annotation in record.get("annotations") or ():
        who = annotation.get("completed_by")
        who = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
        yield who, None, None
        answers: defaultdict[str, list[Any]] = defaultdict(list)
        for result in annotation.get("result") or ():
            value = result.get("value", {}).get(result.get("type"))
            answers[result.get("from_name")] += value if isinstance(value, list) else [value]
        if not annotation.get("was_cancelled"):
            yield from ((who, question, value) for question, value in answers.items())


def _argilla(record: Any) -> Said:
    given: Any = record.get("responses") or []
    if isinstance(given, Mapping):  # by question, each a list of what users said
        given = [{**r, "values": {name: r}} for name, told in given.items() for r in told]
    else:  # by user, who saw all questions whatever they answered
        given = [{**r, "values": {None: None, **(r.get("values") or {})}} for r in given]
    for key in (key for key in record if key.endswith(".responses")):  # in lists side by side
        told = zip_longest(*(record.get(key + end) or [] for end in (".users", ".status", "")))
        name = key.removesuffix(".responses")
        given += [{"user_id": who, "status": s, "values": {name: v}} for who, s, v in told]
    for response in given:
        state = response.get("status")
        for question, answer in response["values"].items():
            value = answer.get("value") if isinstance(answer, Mapping) else answer
            if state in ("submitted", "discarded", None):  # a draft is nothing said yet
                yield response.get("user_id"), question, None if state == "discarded" else value


def _doccano(record: Any) -> Said:
    known = [record[key] for key in _CONFIRMED if key in record]
    if record.get("label") or not known or any(known):
        yield None, None, record.get("label")


def _prodigy(record: Any) -> Said:
    said = record.get("accept", record.get("label")) if record.get("answer") == "accept" else None
    yield record.get("_annotator_id") or record.get("_session_id"), None, said


_TOOLS = {"Label Studio": _label_studio, "Argilla": _argilla, "doccano": _doccano}
_TOOLS["Prodigy"] = _prodigy


def tool_of(document: Any) -> str | None:
    """Tell which annotation tool wrote a JSON document, None for none that is known."""
    listed = isinstance(document, list) and document and isinstance(document[0], Mapping)
    start = [row for row in document[:100] if isinstance(row, Mapping)] if listed else []
    keys = set[Any]().union(*start)
    if {"annotations", "data"} <= keys:
        return "Label Studio"
    if {"fields", "responses"} <= keys or any(str(k).endswith(".responses") for k in keys):
        return "Argilla"
    if "answer" in keys and {"_task_hash", "_input_hash", "meta", "options"} & keys:
        return "Prodigy"
    labels = all(isinstance(row.get("label"), list) for row in start)
    return "doccano" if {"text", "filename"} & keys and labels else None


def _exported(document: list[Any], tool: str, id: str, source: str) -> Said:
    """Yield the case, and what was said of it; nobody, where it was never shown."""
    for number, record in enumerate(document, 1):
        try:
            # what the user put into a task comes before what the tool calls it
            places = [record[key] for key in _INSIDE if isinstance(record.get(key), Mapping)]
            places.append(record)
            found = [place[id] for place in places if place.get(id) is not None]
            if not found:
                names = [str(key) for place in places for key in place]
                problem = f"A case has no {quote(id)}, which {option('id')} names."
                raise TableError(source, problem, f"It has {quote_all(names, limit=12)}.")
            case = _name(found[0])
            said = [(case, _name(who), *answer) for who, *answer in _TOOLS[tool](record)]
        except (AttributeError, TypeError, KeyError) as error:
            problem = f"Record {number} is not as {tool} writes it."
            raise TableError(source, problem, "Export it again, and leave it as it is.") from error
        yield case, None, None, None  # it was there, whether anybody said something of it or not
        yield from said


def _one(value: Any, case: str, source: str) -> Any:
    values = list(dict.fromkeys(map(_name, value))) if isinstance(value, list) else [value]
    if len(values) > 1:
        told = f"The case {quote(case)} has several labels from one reader: {quote_all(values)}."
        raise TableError(source, told, "Keep one label per case; spans and boxes are not read.")
    return (_name(values[0]).strip() or None) if values and not pd.isna(values[0]) else None


def _name(value: Any) -> str:
    return "reader" if value is None else as_shown(value)


def _long_table(frame: pd.DataFrame, id: str, label: str | None) -> Said:
    """Yield the same of a table with a line for each statement; a blank label was withheld."""
    sheet = Sheet(frame)
    reader = next((name for name in sheet if name != id and _READER.fullmatch(name)), None)
    if label is None:
        left = [name for name in sheet if name not in (id, reader)]
        label = left[0] if len(left) == 1 else "label"
    for name, part in ((id, "id"), (label, "label")):
        sheet.require([name], f"named in {option(part)}")
    readers: Any = [None] * len(frame) if reader is None else sheet[reader].cells
    lines: Counter[str] = Counter()
    for cell, who, said in zip(sheet[id].cells, readers, sheet[label].cells, strict=True):
        if cell is not None:
            case = _name(cell)
            lines[case] += 1
            # without names, every further line about a case is another reader's
            name = f"reader {lines[case]}" if reader is None else _name(who)
            yield case, name, None, said


def join(
    export: Any, features: pd.DataFrame, source: str, *, id: str, label: str | None
) -> tuple[pd.DataFrame, list[str], BoolArray]:
    """Join what was said to the features it was said of, by the identifier that both have.

    ``export`` is the documents of an annotation tool, or a table with a line for each statement;
    ``label`` is its question or column, where there are several. Returned are the features with a
    column for each reader, the names of those, and which reader saw which row.
    """
    table = Sheet(features)
    table.require([id], f"named in {option('id')}")
    ids = ["" if case is None else _name(case) for case in table[id].cells]
    repeated = [case for case, count in Counter(ids).items() if count > 1]
    if repeated:
        problem = f"Identifiers must not repeat, and these do: {quote_all(repeated)}."
        raise table.error(problem, "Keep one row of features for each.", column=id)
    tool = tool_of(export)
    if tool is None and not isinstance(export, pd.DataFrame):
        problem = "This is not an export of Label Studio, Argilla, doccano or Prodigy."
        remedy = "Give the labels as a table with the columns case, reader and label."
        raise TableError(source, problem, remedy)
    told = _exported(export, tool, id, source) if tool else _long_table(export, id, label)
    lines, known = list(told), set(ids)
    cases = dict.fromkeys(case for case, *_ in lines)
    strange = [case for case in cases if case not in known]
    if len(strange) == len(cases):
        problem = f"None of its identifiers is in the column {quote(id)} of {table.source}: "
        problem += f"{quote_all(strange)} are not among {quote_all(ids)}."
        raise TableError(source, problem, f"Name the column that both have with {option('id')}.")
    asked = list(dict.fromkeys(question for _, _, question, _ in lines if question is not None))
    if len(asked) > 1 if label is None else asked and label not in asked:
        problem = f"The questions asked were {quote_all(asked)}."
        raise TableError(source, problem, f"Name the one to learn with {option('label')}.")
    said: defaultdict[str, dict[str, Any]] = defaultdict(dict)  # the last of a case counts
    for case, who, question, value in lines:
        if who is not None and case in known and (label is None or question in (None, label)):
            said[who][case] = _one(value, case, source)
    readers = sorted(said)
    shown = np.array([[case in said[reader] for reader in readers] for case in ids], dtype=bool)
    frame, labels = features.copy(deep=False), list[str]()
    for reader in readers:
        name = (label or "label") if len(readers) == 1 else reader
        while name in frame.columns:
            name += "_"
        frame[name] = pd.Series(map(said[reader].get, ids), frame.index, dtype=object)
        labels.append(name)
    found = [{said[reader].get(case) for reader in readers} - {None} for case in ids]
    labelled, seen = sum(map(bool, found)), int(shown.any(axis=1).sum())
    what = f"{tool} export" if tool else "Labels"
    counts = f"{noun(labelled, 'row')} labelled, {seen - labelled:,} withheld"
    notes = [*table.notes, f"{what}: {counts}, {len(ids) - seen:,} never shown."]
    if len(labels) > 1:
        apart = noun(sum(len(labels) > 1 for labels in found), "case")
        notes.append(f"{len(labels)} readers ({quote_all(readers)}) disagree on {apart}.")
    if tool == "doccano" and not any(key in row for row in export for key in _CONFIRMED):
        shown_all = "The export does not say which cases were confirmed, and all count as shown"
        notes.append(f"{shown_all}: tick 'Export only approved documents' if some were not.")
    if tool is None and {"annotation_id", "lead_time"} <= set(export.columns):
        looks = "This looks like a CSV export of Label Studio, which leaves out skipped tasks"
        notes.append(f"{looks}: with the JSON export, withheld labels count.")
    if strange:
        lost = noun(len(strange), "case")
        notes.append(f"{lost} of the export not in {table.source}: {quote_all(strange)}.")
    frame.attrs["hesitant"] = {**features.attrs.get("hesitant", {}), "notes": notes}
    return frame, labels, shown
