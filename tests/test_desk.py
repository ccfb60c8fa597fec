"""The desk without a browser: cases, answers, and what they mean to the model."""

import io
import threading
import zipfile

import numpy as np
import pytest

pytest.importorskip("starlette", reason="no starlette: pip install 'hesitant[desk]'")
from helpers_desk import write_table
from hesitant.desk._findings import share
from hesitant.desk._learning import evidence, learn

# -- cases and answers ---------------------------------------------------------------------------


def test_a_case_hides_what_the_model_thinks(table, sit):
    sitting = sit(table[0])
    assert sitting.desk.model.clf is not None
    case = sitting.case()
    assert set(case) == {"row", "id", "reader", "features", "show", "classes"}
    assert set(case["features"]) == {"x1", "x2"}
    assert case["id"] == f"{case['row']:03d}"
    assert sitting.desk.data.codes[case["row"]] == -1
    assert sitting.case() == case  # nothing moves under the cursor
    page = sitting.get("/part/case").text
    guess = sitting.desk.data.setup.classes[sitting.desk.model.guess[case["row"]]]
    probability = sitting.desk.model.probability[case["row"]]
    assert f"{100 * probability:.0f} %" not in page
    # both classes are named equally often, whichever the guess
    assert page.count(f">{guess}<") == page.count(f">{'ab'.replace(guess, '')}<")
    for word in ("guess", "posterior", "entropy", "audit", "gain"):
        assert word not in page
    said = sitting.say(case["row"], "label", "a").json()
    assert said["saved"]
    assert said["guess"] == guess
    assert said["probability"] == pytest.approx(probability, abs=1e-4)
    assert sitting.case()["row"] != case["row"]


def test_answers_are_what_they_are_about(table, sit):
    sitting = sit(table[0], reader="Anna")
    for answer, label in (("label", "b"), ("cannot tell", None), ("not shown", None)):
        row = sitting.case()["row"]
        assert sitting.say(row, answer, label).status_code == 200
        kept = sitting.answers()[-1]
        assert (kept["row"], kept["answer"], kept["label"]) == (row, answer, label)
        assert kept["reader"] == "Anna"
        assert kept["id"] == f"{row:03d}"
        assert kept["model"] >= 1
        assert kept["audit"] in (True, False)
        assert kept["time"].startswith("20")
    state = sitting.get("/api/state").json()
    assert (state["labels"], state["cannot_tell"], state["not_shown"]) == (1, 1, 1)


WRONG = [
    ({"row": -1, "answer": "cannot tell"}, "row=-1"),
    ({"row": 200, "answer": "cannot tell"}, "0 to 199"),
    ({"row": "1", "answer": "cannot tell"}, "row='1'"),
    ({"row": True, "answer": "cannot tell"}, "row=True"),
    ({"row": 1, "answer": "maybe"}, "answer='maybe'"),
    ({"row": 1, "answer": "label", "label": "c"}, "one of a, b"),
    ({"row": 1, "answer": "label"}, "one of a, b"),
    ({"answer": "label"}, "row=None"),
    ({"row": 1, "answer": "cannot tell", "reader": "x" * 61}, "reader="),
]


def test_wrong_answers_are_refused_and_nothing_is_kept(table, sit):
    sitting = sit(table[0])
    for given, words in WRONG:
        found = sitting.client.post("/api/answer", json=given)
        assert found.status_code == 400
        assert words in found.json()["error"]
    assert sitting.answers() == []


def test_a_labelled_row_is_not_asked_about(table, sit):
    sitting = sit(table[0])
    row = int(np.flatnonzero(sitting.desk.data.codes >= 0)[0])
    assert sitting.say(row, "label", "a").status_code == 409


def test_the_same_answer_twice_is_kept_once_and_another_is_refused(table, sit):
    sitting = sit(table[0])
    row = sitting.case()["row"]
    first = sitting.say(row, "label", "a").json()
    assert sitting.say(row, "label", "a").json()["seq"] == first["seq"]
    assert sitting.say(row, "cannot tell").status_code == 409
    assert len(sitting.answers()) == 1


def test_undo_brings_the_case_back_and_remembers_that_the_guess_was_seen(table, sit):
    sitting = sit(table[0])
    row = sitting.case()["row"]
    sitting.say(row, "label", "a")
    assert sitting.client.post("/api/undo").json()["undone"]["row"] == row
    assert sitting.answers() == []
    assert sitting.case()["row"] == row
    sitting.say(row, "label", "b")
    (kept,) = sitting.answers()
    assert kept["informed"] == 1
    state = sitting.get("/api/state").json()
    assert state["audit"]["n"] + state["chosen"]["n"] == 0
    assert len(sitting.desk.journal.answers("TRUE")) == 2
    sitting.client.post("/api/undo")
    assert sitting.client.post("/api/undo").status_code == 409


def test_windows_of_one_reader_get_different_cases(table, sit):
    sitting = sit(table[0], audit=0)
    rows = {sitting.case(window=str(k))["row"] for k in range(5)}
    assert len(rows) == 5


def test_a_labelled_case_goes_to_one_reader_and_an_audit_case_to_both(table, sit):
    sitting = sit(table[0], audit=0)
    row = sitting.case(reader="Anna")["row"]
    sitting.say(row, "label", "a", reader="Anna")
    assert sitting.case(reader="Ben")["row"] != row
    audit = sit(write_table(table[0].parent, name="more.csv")[0], audit=1)
    row = audit.case(reader="Anna")["row"]
    audit.say(row, "label", "a", reader="Anna")
    assert audit.case(reader="Ben")["row"] == row
    audit.say(row, "label", "b", reader="Ben")
    state = audit.get("/api/state").json()
    (pair,) = state["disagreement"]
    assert pair["readers"] == ["Anna", "Ben"]
    assert [case["said"] for case in pair["cases"]] == [["a", "b"]]
    assert state["audit"]["n"] == 1  # one case, one verdict


def test_readers_who_can_be_compared_are_a_panel(table, sit):
    sitting = sit(table[0], audit=1)
    rows = sitting.desk.data.order[:6].tolist()
    for k, row in enumerate(rows):
        assert sitting.case(reader="Anna")["row"] == row
        sitting.say(row, "label", "a", reader="Anna")
        assert sitting.case(reader="Ben")["row"] == row
        sitting.say(row, "label", "ab"[k == 0], reader="Ben")
    sitting.desk.worker.settle()
    model = sitting.desk.model
    assert model.panel.readers == ("Anna", "Ben", "whoever made the table")
    assert model.clf.experts == "fallible"
    assert model.codes[rows].tolist() == [-1, 0, 0, 0, 0, 0]  # nobody decides the first
    # what the readers agree on, and what the table says, is not asked again
    assert (model.codes[model.queue] < 0).all()
    assert sitting.get("/api/state").json()["panel"]
    assert "are a panel" in sitting.get("/part/report").text
    packed = zipfile.ZipFile(io.BytesIO(sitting.get("/api/export").content))
    assert b"The readers" in packed.read("cells.report.html")


def test_a_class_that_only_one_reader_names_is_no_obstacle(table, sit):
    sitting = sit(table[0], audit=1, classes=["c"])
    row = int(sitting.desk.data.order[0])
    for reader, label in (("Anna", "c"), ("Ben", "a")):
        sitting.say(sitting.case(reader=reader)["row"], "label", label, reader=reader)
    sitting.desk.worker.settle()
    assert sitting.desk.warnings() == []
    assert sitting.desk.model.panel.classes.tolist() == ["a", "b", "c"]
    assert sitting.desk.model.codes[row] == -1


def test_all_cases_come_once_and_then_none(tmp_path, sit):
    path, truth = write_table(tmp_path, n=40)
    sitting = sit(path, audit=0.3)
    seen = []
    while (case := sitting.case())["row"] is not None:
        sitting.say(case["row"], "label", truth[case["id"]])
        seen.append(case["row"])
    assert sorted(seen) == np.flatnonzero(sitting.desk.data.codes < 0).tolist()
    assert case["done"]
    assert "No case is left" in sitting.get("/part/case").text


def test_parallel_answers_neither_repeat_nor_get_lost(table, sit):
    sitting = sit(table[0])
    blank = np.flatnonzero(sitting.desk.data.codes < 0)[:20].tolist()

    def work(reader):
        for row in blank:
            sitting.desk.answer(reader, row, "label", "a")

    threads = [threading.Thread(target=work, args=(r,)) for r in ("Anna", "Ben", "Anna")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [(a["row"], a["reader"]) for a in sitting.answers()]
    assert sorted(kept) == sorted((row, reader) for row in blank for reader in ("Anna", "Ben"))


# -- what the answers mean -----------------------------------------------------------------------


def test_only_audit_answers_count_as_free_choice(table, sit):
    desk = sit(table[0]).desk
    rows = np.flatnonzero(desk.data.codes < 0).tolist()

    def said(row, answer, label=None, audit=0, reader="Anna"):
        return {"row": row, "reader": reader, "answer": answer, "label": label, "audit": audit}

    answers = [
        said(rows[0], "label", "a"),
        said(rows[1], "label", "a", audit=1),
        said(rows[2], "cannot tell"),
        said(rows[3], "not shown"),
        *(said(rows[4], "label", name, 1, reader=name) for name in "ab"),  # they differ
        *(said(rows[5], "label", name, reader=str(k)) for k, name in enumerate("abb")),  # majority
    ]
    codes, reviewed, _ = evidence(desk.data, answers)
    assert codes[rows[:6]].tolist() == [0, 0, -1, -1, -1, 1]
    assert reviewed[rows[:6]].tolist() == [False, True, True, True, False, False]


def test_blanks_nobody_looked_at_say_nothing_until_an_audit(table, sit):
    desk = sit(table[0], withheld=False).desk
    row, other = np.flatnonzero(desk.data.codes < 0)[:2].tolist()
    answers = [
        {"row": row, "reader": "Anna", "answer": "cannot tell", "label": None, "audit": 1},
        {"row": other, "reader": "Anna", "answer": "cannot tell", "label": None, "audit": 0},
    ]
    _, reviewed, _ = evidence(desk.data, answers)
    assert np.flatnonzero(reviewed).tolist() == [row]
    assert desk.model.clf.mechanism is None


def test_the_model_learns_from_answers_and_the_boundary_before_stays(table, sit):
    sitting = sit(table[0])
    desk, before = sitting.desk, sitting.desk.model
    for _ in range(5):
        case = sitting.case()
        sitting.say(case["row"], "label", table[1][case["id"]])
    desk.worker.settle()
    assert desk.model.answers == 5
    assert desk.model.number > before.number
    assert desk.before is before
    assert desk.held_out[1] == (desk.model.codes >= 0).sum()
    assert desk.model.clf.init is not None  # it began where the last fit ended,
    assert desk.model.clf.init.init is None  # and does not hold all fits before that one
    page = sitting.get("/part/report").text
    assert "The boundary, before and after" in page
    assert page.count('class="edge') >= 2


def test_no_page_waits_for_a_fit_and_the_latest_wins(table, sit, monkeypatch):
    sitting = sit(table[0])
    first, started, gate, fitted = sitting.desk.model, threading.Event(), threading.Event(), []

    def slowly(known, last):
        fitted.append((known.answers, last.number))
        started.set()
        assert gate.wait(60)
        return learn(known, last)

    monkeypatch.setattr("hesitant.desk._sitting.learn", slowly)
    for k in range(5):
        case = sitting.case()
        assert sitting.say(case["row"], "label", "a").json()["saved"]
        assert k or started.wait(60)
        for page in ("/part/case", "/part/report", "/api/state"):
            assert sitting.get(page).status_code == 200
        assert sitting.desk.model is first
    assert sitting.get("/api/state").json()["learning"]
    gate.set()
    sitting.desk.worker.settle()
    assert [answers for answers, _ in fitted] == [1, 5]  # those between were overtaken
    assert sitting.desk.model.answers == 5
    assert sitting.desk.model.clf.init is not None  # it began where the last fit ended


def test_the_audit_takes_in_cases_that_were_chosen_before(table, sit):
    sitting = sit(table[0], audit=0)
    for row in sitting.desk.data.order[:3].tolist():
        sitting.say(row, "label", "a")
    assert not any(a["audit"] for a in sitting.answers())
    sitting.client.post("/api/setup", json={**sitting.desk.guesses(), "audit": 1})
    row = sitting.case()["row"]
    assert row == sitting.desk.data.order[3]
    assert all(a["audit"] for a in sitting.answers())


def test_stopping_is_advised_when_answers_change_next_to_nothing(table, sit, monkeypatch):
    sitting = sit(table[0])
    assert "Too early to say" in sitting.get("/part/report").text
    for found, words in (((3, 400), "Going on is worth it"), ((2, 400), "Stopping is sensible")):
        monkeypatch.setattr(sitting.desk, "changed", lambda since, found=found: found)
        assert words in sitting.get("/part/report").text


def test_wilsons_interval():
    # Brown, Cai and DasGupta (2001) print (0.7226, 0.9452) for 36 of 41
    found = share(20, 20)
    assert found["high"] == pytest.approx(1.0)
    assert found["low"] == pytest.approx(0.8389, abs=1e-4)
    assert share(0, 0)["accuracy"] is None


def test_a_table_without_labels_is_begun_at_random(tmp_path, sit):
    path = tmp_path / "new.csv"
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{a},{b}," for a, b in rng.standard_normal((60, 2)) + 5)
    path.write_text("x,y,kind\n" + rows)
    sitting = sit(path, label="kind")  # which classes there are is asked on the page
    assert "<option selected>kind</option>" in sitting.get("/setup").text
    chosen = {"label": "kind", "classes": ["ill", "well"]}
    assert sitting.client.post("/api/setup", json=chosen).status_code == 200
    sitting.desk.worker.settle()
    assert sitting.desk.model.clf is None
    for k in range(8):
        case = sitting.case()
        assert (
            sitting.say(case["row"], "label", ["ill", "well"][k % 2]).json()["guess"] is None
            or k > 1
        )
        sitting.desk.worker.settle()
    assert sitting.desk.model.clf is not None
    assert sitting.get("/part/report").status_code == 200
