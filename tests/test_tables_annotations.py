"""Exports of annotation tools joined to features: labelled, withheld, never shown."""

import json
import random
from types import SimpleNamespace

import pandas as pd
import pytest

from hesitant.tables import TableError, read_table
from hesitant.tables.annotations import join

FEATURES = pd.DataFrame({"id": ["c1", "c2", "c3", "c4", "c5"], "x": [0.1, 0.9, 0.5, 0.3, 0.7]})


def choice(label, **more):
    return {"type": "choices", "from_name": "kind", "value": {"choices": [label]}, **more}


def task(case, *annotations):
    return {"id": hash(case) % 1000, "data": {"id": case}, "annotations": list(annotations)}


LABEL_STUDIO = [
    task("c1", {"completed_by": 1, "was_cancelled": False, "result": [choice("T")]}),
    task("c2", {"completed_by": {"id": 1}, "was_cancelled": False, "result": [choice("B")]}),
    task("c3", {"completed_by": 1, "was_cancelled": True, "result": []}),
    task("c4"),
    task("c9", {"completed_by": 1, "result": [choice("B")]}),
]
ARGILLA = [
    {"id": "c1", "fields": {}, "responses": {"kind": [{"value": "T", "user_id": "u"}]}},
    {
        "id": "c2",
        "fields": {},
        "responses": {"kind": [{"value": "B", "user_id": "u", "status": "submitted"}]},
    },
    {
        "id": "c3",
        "fields": {},
        "responses": {"kind": [{"value": None, "user_id": "u", "status": "discarded"}]},
    },
    {"id": "c4", "fields": {}, "responses": {"kind": [{"value": "T", "status": "draft"}]}},
    {"id": "c9", "fields": {}, "responses": {}},
]
ARGILLA_LISTS = [
    {
        "metadata": {"id": case},
        "fields": {},
        "responses": [{"user_id": "u", "status": status, "values": {"kind": {"value": label}}}],
    }
    for case, status, label in [
        ("c1", "submitted", "T"),
        ("c2", "submitted", "B"),
        ("c3", "discarded", "B"),
        ("c4", "draft", "T"),
        ("c9", "submitted", "T"),
    ]
]
ARGILLA_FLAT = [
    {"id": case, "kind.responses": values, "kind.responses.status": status}
    for case, values, status in [
        ("c1", ["T"], ["submitted"]),
        ("c2", ["B"], ["submitted"]),
        ("c3", [None], ["discarded"]),
        ("c4", None, None),
        ("c9", ["B"], ["submitted"]),
    ]
]
DOCCANO = [
    {"id": "c1", "text": "", "label": ["T"], "is_confirmed": True},
    {"id": "c2", "text": "", "label": ["B"], "is_confirmed": False},
    {"id": "c3", "text": "", "label": [], "is_confirmed": True},
    {"id": "c4", "text": "", "label": [], "is_confirmed": False},
    {"id": "c9", "text": "", "label": ["B"], "is_confirmed": True},
]
PRODIGY = [
    {"text": "", "meta": {"id": "c1"}, "label": "T", "answer": "accept", "_task_hash": 1},
    {"text": "", "meta": {"id": "c2"}, "accept": ["B"], "answer": "accept", "_task_hash": 2},
    {"text": "", "meta": {"id": "c3"}, "label": "B", "answer": "ignore", "_task_hash": 3},
    {"text": "", "meta": {"id": "c9"}, "label": "B", "answer": "accept", "_task_hash": 4},
]
PRODIGY_CHOICES = [
    {"text": "", "meta": {"id": "c1"}, "options": [], "accept": ["T"], "answer": "accept"},
    {"text": "", "meta": {"id": "c2"}, "options": [], "accept": ["B"], "answer": "accept"},
    {"text": "", "meta": {"id": "c3"}, "options": [], "accept": [], "answer": "reject"},
    {"text": "", "meta": {"id": "c9"}, "options": [], "accept": ["B"], "answer": "accept"},
]
LONG = pd.DataFrame(
    {"id": ["c1", "c2", "c3", "c9"], "reader": "ada", "label": ["T", "B", None, "B"]}
)
EXPORTS = {
    "Label Studio": LABEL_STUDIO,
    "Argilla": ARGILLA,
    "Argilla, lists": ARGILLA_LISTS,
    "Argilla, flat": ARGILLA_FLAT,
    "doccano": DOCCANO,
    "Prodigy": PRODIGY,
    "Prodigy, choices": PRODIGY_CHOICES,
    "long table": LONG,
    "long table without readers": LONG[["id", "label"]],
}


def joined(export, features, source="export", *, id="id", label=None):
    """Return what `join` gives and notes, under names."""
    frame, labels, shown = join(export, features, source, id=id, label=label)
    notes = frame.attrs["hesitant"]["notes"]
    return SimpleNamespace(frame=frame, labels=labels, shown=shown, notes=notes)


@pytest.mark.parametrize("tool", EXPORTS)
def test_labelled_withheld_and_never_shown(tool):
    found = joined(EXPORTS[tool], FEATURES, "export", id="id", label=None)
    assert found.frame[found.labels[0]].tolist() == ["T", "B", None, None, None]
    assert found.shown.tolist() == [[True], [True], [True], [False], [False]]
    assert "2 rows labelled, 1 withheld, 2 never shown" in found.notes[0]
    assert found.notes[0].startswith(tool.split(",")[0] if "table" not in tool else "Labels")
    assert "'c9'" in found.notes[-1]
    assert list(FEATURES) == ["id", "x"]  # untouched


def test_every_reader_has_a_column():
    long = pd.DataFrame(
        [
            ("c1", "ada", "T"), ("c1", "bo", "T"), ("c1", "cy", "B"),
            ("c2", "ada", "T"), ("c2", "bo", "B"),
            ("c3", "ada", "B"), ("c3", "bo", None),
            ("c4", "cy", "B"), ("c5", "cy", "T"), ("c5", "cy", "B"),
        ],
        columns=["id", "annotator_id", "kind"],
    )  # fmt: skip
    found = joined(long, FEATURES, "long.csv", id="id", label="kind")
    assert found.labels == ["ada", "bo", "cy"]
    assert found.frame["ada"].tolist() == ["T", "T", "B", None, None]
    assert found.frame["cy"].tolist() == ["B", None, None, "B", "B"]
    assert found.shown.sum(axis=0).tolist() == [3, 3, 3]
    assert "5 rows labelled, 0 withheld, 0 never shown" in found.notes[0]
    assert "disagree on 2 cases" in found.notes[1]


def test_exports_that_do_not_fit_are_refused():
    def refused(export, *words, **options):
        with pytest.raises(TableError) as caught:
            join(
                export,
                **{"features": FEATURES, "id": "id", "label": None, "source": "e"} | options,
            )
        for word in words:
            assert word in str(caught.value)

    refused(
        LABEL_STUDIO,
        "no 'case'",
        "--id",
        id="case",
        features=FEATURES.rename(columns={"id": "case"}),
    )
    refused(PRODIGY[3:], "None of its identifiers", "'c9'")
    refused([{"a": 1}], "not an export")
    refused(LONG, "must not repeat", "'c1'", features=pd.concat([FEATURES, FEATURES]))
    two = [task("c1", {"completed_by": 1, "result": [choice("T"), choice("B")]})]
    refused(two, "several labels from one reader")
    asked = [task("c1", {"result": [choice("T"), choice("no", from_name="sure")]})]
    refused(asked, "The questions asked were 'kind', 'sure'", "--label")
    refused(asked, "The questions asked were 'kind', 'sure'", "--label", label="knd")
    found = joined(asked, FEATURES, "e", id="id", label="kind")
    assert found.frame["kind"][0] == "T"
    assert joined(asked, FEATURES, label="sure").frame["sure"][0] == "no"


ODD = [None, 3, "x", [], {}, [1], {"a": 1}, [None], float("nan"), [{"value": [{}]}]]


def spoilt(value, rng):
    """Return a document in which one part, at any depth, is something else."""
    if rng.random() < 0.25 or not isinstance(value, list | dict) or not value:
        return rng.choice(ODD)
    at = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    copy = value.copy()
    copy[at] = spoilt(value[at], rng)
    return copy


@pytest.mark.parametrize("tool", [name for name in EXPORTS if "table" not in name])
def test_spoilt_exports_are_refused_or_read(tool):
    rng = random.Random(0)
    for _ in range(200):
        try:
            found = joined(spoilt(EXPORTS[tool], rng), FEATURES, "e", id="id", label=None)
        except TableError:
            continue
        assert len(found.frame) == len(FEATURES)


def test_an_export_alone_has_no_features(tmp_path):
    for name, export in (
        ("a.json", json.dumps(LABEL_STUDIO)),
        ("a.jsonl", "\n".join(map(json.dumps, PRODIGY))),
    ):
        (tmp_path / name).write_text(export)
        with pytest.raises(TableError, match="--features-from"):
            read_table(tmp_path / name)


def test_what_an_export_leaves_out_is_said():
    csv = LONG.assign(annotation_id=[1, 2, 3, 4], lead_time=1.0)
    assert "skipped tasks" in joined(csv, FEATURES, label="label").notes[-2]
    images = [{"filename" if k == "text" else k: v for k, v in row.items()} for row in DOCCANO]
    assert joined(images, FEATURES).notes[0].startswith("doccano")
    unconfirmed = [{k: v for k, v in row.items() if k != "is_confirmed"} for row in DOCCANO]
    found = joined(unconfirmed, FEATURES, "e", id="id", label=None)
    assert "confirmed" in found.notes[-2]
    assert found.shown[:, 0].tolist() == [True, True, True, True, False]


def test_names_that_the_features_have_already_are_kept():
    taken = FEATURES.assign(label=1.0, shown=2.0)
    found = joined(PRODIGY, taken, "e", id="id", label=None)
    assert found.labels == ["label_"]
    assert found.frame["label"].tolist() == [1.0] * 5
