"""Exports of annotation tools, and long tables: who said what about which case.

Such a file has no features. It is joined by an identifier to a table that has, and tells three
kinds of rows apart: labelled, withheld (shown and left without a label) and never shown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from hesitant._typing import BoolArray
from hesitant._words import noun

from .cells import Sheet, as_shown
from .errors import TableError, option, quote, quote_all

_READER = re.compile(r"(?i)(reader|annotator|rater|expert|user|coder|label+er)([\W_]?(id|name))?")
_CONFIRMED = ("is_confirmed", "confirmed", "approved", "annotation_approver")

Answers: TypeAlias = Mapping[Any, Any]
Question: TypeAlias = Callable[[Answers], Any]  # picks the answers to one question
Said: TypeAlias = Iterator[tuple[Any, Any]]  # who said what; no label means that it was withheld
Line: TypeAlias = tuple[str, str | None, Any]  # case, reader (None: nobody was asked), label


class Joined(NamedTuple):
    frame: pd.DataFrame
    labels: list[str]  # the columns added, one for each reader
    shown: BoolArray  # which reader saw which row
    notes: list[str]  # what was found


def _label_studio(record: Answers, question: Question) -> Said:
    for annotation in record.get("annotations") or ():
        who = annotation.get("completed_by")
        answers: defaultdict[str, list[Any]] = defaultdict(list)
        for result in annotation.get("result") or ():
            value = result.get("value", {}).get(result.get("type"))
            answers[result.get("from_name")] += value if isinstance(value, list) else [value]
        name = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
        yield name, None if annotation.get("was_cancelled") else question(answers)


def _argilla(record: Answers, question: Question) -> Said:
    given: Any = record.get("responses") or []
    flat = {k.removesuffix(".responses"): k for k in record if k.endswith(".responses")}
    if flat:
        columns = [record.get(question(flat) + end) or [] for end in (".users", ".status", "")]
        names = ("user_id", "status", "value")
        given = [dict(zip(names, told, strict=True)) for told in zip_longest(*columns)]
    elif isinstance(given, Mapping):  # by question, each a list of what users said
        given = question(given) or []
    else:  # by user, each with answers to all questions
        values = [(r.get("values") or {}).items() for r in given]
        plain = [
            {k: v.get("value") if isinstance(v, Mapping) else v for k, v in answers}
            for answers in values
        ]
        given = [{**r, "value": question(p)} for r, p in zip(given, plain, strict=True)]
    for response in given:
        state = response.get("status")
        if state in ("submitted", "discarded", None):  # a draft is nothing said yet
            yield response.get("user_id"), None if state == "discarded" else response.get("value")


def _doccano(record: Answers, question: Question) -> Said:
    known = [record[key] for key in _CONFIRMED if key in record]
    if record.get("label") or not known or any(known):
        yield None, record.get("label")


def _prodigy(record: Answers, question: Question) -> Said:
    accepted = record.get("answer") == "accept"
    said = record.get("accept", record.get("label")) if accepted else None
    yield record.get("_annotator_id") or record.get("_session_id"), said


# how a tool's records are read, and where in them an identifier may be
_TOOLS: dict[str, tuple[Callable[[Answers, Question], Said], tuple[str, ...]]] = {
    "Label Studio": (_label_studio, ("data", "meta")),
    "Argilla": (_argilla, ("metadata", "fields")),
    "doccano": (_doccano, ("meta", "metadata")),
    "Prodigy": (_prodigy, ("meta",)),
}


def tool_of(document: Any) -> str | None:
    """Tell which annotation tool wrote a JSON document, None for none that is known."""
    if not isinstance(document, list) or not document or not isinstance(document[0], Mapping):
        return None
    start = [row for row in document[:100] if isinstance(row, Mapping)]
    keys = set[Any]().union(*start)
    if {"annotations", "data"} <= keys:
        return "Label Studio"
    if {"fields", "responses"} <= keys or any(str(k).endswith(".responses") for k in keys):
        return "Argilla"
    if "answer" in keys and {"_task_hash", "_input_hash", "meta", "options"} & keys:
        return "Prodigy"
    listed = all(isinstance(row.get("label"), list) for row in start)
    return "doccano" if {"text", "filename"} & keys and listed else None


def _exported(
    document: list[Any], tool: str, id: str, label: str | None, source: str
) -> Iterator[Line]:
    read, inside = _TOOLS[tool]

    def question(answers: Answers) -> Any:
        if label is None and len(answers) > 1:
            problem = f"Several questions were asked: {quote_all(answers)}."
            raise TableError(source, problem, f"Name the one to learn with {option('label')}.")
        return next(iter(answers.values()), None) if label is None else answers.get(label)

    for number, record in enumerate(document, 1):
        try:
            # what the user put into a task comes before what the tool calls it
            places = [record[key] for key in inside if isinstance(record.get(key), Mapping)]
            places.append(record)
            found = [place[id] for place in places if place.get(id) is not None]
            if not found:
                names = [str(key) for place in places for key in place]
                problem = f"A case has no {quote(id)}, which {option('id')} names."
                raise TableError(source, problem, f"It has {quote_all(names, limit=12)}.")
            case = _name(found[0])
            said = [(_name(w), _one(v, case, source)) for w, v in read(record, question)]
        except (AttributeError, TypeError, KeyError) as error:
            problem = f"Record {number} is not as {tool} writes it."
            raise TableError(source, problem, "Export it again, and leave it as it is.") from error
        yield case, None, None  # it was there, whether anybody said something of it or not
        yield from ((case, who, told) for who, told in said)


def _one(value: Any, case: str, source: str) -> Any:
    values = list(dict.fromkeys(map(_name, value))) if isinstance(value, list) else [value]
    if len(values) > 1:
        told = f"The case {quote(case)} has several labels from one reader: {quote_all(values)}."
        raise TableError(source, told, "Keep one label a case; spans and boxes are not read.")
    return (_name(values[0]).strip() or None) if values and not pd.isna(values[0]) else None


def _name(value: Any) -> str:
    return "reader" if value is None else as_shown(value)


def _long_table(frame: pd.DataFrame, id: str, label: str | None) -> Iterator[Line]:
    """Yield the statements of a table with a line for each; a blank label was withheld."""
    sheet = Sheet(frame)
    others = [name for name in sheet if name != id]
    reader = next((name for name in others if _READER.fullmatch(name)), None)
    if label is None:
        left = [name for name in others if name != reader]
        label = "label" if "label" in left or len(left) != 1 else left[0]
    for name, part in ((id, "id"), (label, "label")):
        sheet.require([name], f"named in {option(part)}")
    readers: Any = [None] * len(frame) if reader is None else sheet[reader].cells()
    lines: Counter[str] = Counter()
    for cell, who, said in zip(sheet[id].cells(), readers, sheet[label].cells(), strict=True):
        if cell is not None:
            case = _name(cell)
            lines[case] += 1
            # without names, every further line about a case is another reader's
            name = f"reader {lines[case]}" if reader is None else _name(who)
            yield case, name, None if said is None else _name(said)


def join(
    export: Any, features: pd.DataFrame, source: str, *, id: str, label: str | None
) -> Joined:
    """Join what was said to the features it was said of, by the identifier that both have.

    ``export`` is the documents of an annotation tool, or a table with a line for each statement;
    ``label`` is its question or column, where there are several.
    """
    table = Sheet(features)
    table.require([id], f"named in {option('id')}")
    ids = ["" if case is None else _name(case) for case in table[id].cells()]
    repeated = [case for case, count in Counter(ids).items() if count > 1]
    if repeated:
        problem = f"Identifiers must not repeat, and these do: {quote_all(repeated)}."
        raise table.error(problem, "Keep one row of features for each.", column=id)
    tool = tool_of(export)
    if tool is None and not isinstance(export, pd.DataFrame):
        problem = "This is no export of Label Studio, Argilla, doccano or Prodigy."
        remedy = "Give the labels as a table of the columns case, reader and label."
        raise TableError(source, problem, remedy)
    parts = _exported(export, tool, id, label, source) if tool else _long_table(export, id, label)
    lines = pd.DataFrame(parts, columns=["case", "reader", "label"], dtype=object)
    strange = lines["case"][~lines["case"].isin(ids)].unique().tolist()
    if len(strange) == lines["case"].nunique():
        problem = f"None of its identifiers is in the column {quote(id)} of {table.source}: "
        problem += f"{quote_all(strange)} are not among {quote_all(ids)}."
        raise TableError(source, problem, f"Name the column that both have with {option('id')}.")
    lines = lines[lines["case"].isin(ids) & lines["reader"].notna()]
    lines = lines.drop_duplicates(["case", "reader"], keep="last").assign(shown=True)
    wide: Any = lines.pivot(index="case", columns="reader").reindex(ids).set_axis(features.index)
    told, shown = wide["label"], wide["shown"].notna().to_numpy()
    frame, labels = features.copy(deep=False), list[str]()
    for reader in told:
        name = (label or "label") if shown.shape[1] == 1 else reader
        while name in frame.columns:
            name += "_"
        frame[name] = told[reader].where(told[reader].notna(), None)
        labels.append(name)
    frame.attrs = features.attrs
    labelled, seen = int(told.notna().any(axis=1).sum()), int(shown.any(axis=1).sum())
    notes = [
        f"{f'{tool} export' if tool else 'Labels'}: {noun(labelled, 'row')} labelled, "
        f"{seen - labelled:,} withheld, {len(ids) - seen:,} never shown."
    ]
    if len(labels) > 1:
        apart = noun(int((told.nunique(axis=1) > 1).sum()), "case")
        notes.append(f"{len(labels)} readers ({quote_all(told)}) disagree on {apart}.")
    if tool == "doccano" and not any(key in row for row in export for key in _CONFIRMED):
        notes.append(
            "The export does not say which cases were confirmed, and all count as shown: tick "
            "'Export only approved documents' if some were not."
        )
    if tool is None and {"annotation_id", "lead_time"} <= set(export.columns):
        notes.append(
            "This looks like a CSV export of Label Studio, which leaves out skipped tasks: with "
            "the JSON export, withheld labels count."
        )
    rejected = sum(row.get("answer") == "reject" for row in export) if tool == "Prodigy" else 0
    if rejected:
        notes.append(f"{noun(rejected, 'answer')} 'reject', which names no class: withheld.")
    if strange:
        cases = noun(len(strange), "case")
        notes.append(f"{cases} of the export not in {table.source}: {quote_all(strange)}.")
    return Joined(frame, labels, shown, notes)
