"""The desk without a browser: cases, answers, the journal on disk, and who may ask."""

import csv
import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile

import httpx2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="no starlette: pip install 'hesitant[desk]'")
from starlette.testclient import TestClient

from hesitant import load
from hesitant.datasets import simulate
from hesitant.desk import Desk, make_app
from hesitant.desk._findings import share
from hesitant.desk._learning import evidence, learn
from hesitant.tables import read_table

PORT, TOKEN = 8123, "the-token"


def write_table(folder, n=200, name="cells.csv", show=None):
    """Write a table and return its path and true classes by id."""
    data = simulate(n, random_state=3)
    path, truth = folder / name, {}
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "x1", "x2", "label", *(["look"] if show else [])])
        for i, (x, y, z) in enumerate(zip(data.features, data.labels, data.truth, strict=True)):
            truth[f"{i:03d}"] = "ab"[z]
            told = "" if y is None else "ab"[y]
            out.writerow([f"{i:03d}", *x, told, *([show(i)] if show else [])])
    return path, truth


class Sitting:
    """A desk and a client that knows its token."""

    def __init__(self, path, **given):
        self.desk = Desk(path, **{"label": "label", **given})
        self.desk.worker.settle()
        self.client = self.fresh(cookies={f"hesitant_desk_{PORT}": TOKEN})

    def fresh(self, **options):
        app = make_app(self.desk, TOKEN, PORT)
        return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", **options)

    def get(self, path, **query):
        return self.client.get(path, params=query)

    def case(self, **query):
        return self.get("/api/case", **query).json()

    def say(self, row, answer, label=None, **more):
        given = {"row": row, "answer": answer, "label": label, **more}
        return self.client.post("/api/answer", json=given)

    def answers(self):
        return self.get("/api/answers").json()["answers"]


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path)


@pytest.fixture
def sit():
    """Return a function that opens desks; they are closed at the end."""
    opened = []

    def make(path, **given):
        opened.append(Sitting(path, **given))
        return opened[-1]

    yield make
    for sitting in opened:
        sitting.desk.close()


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
    sitting = sit(path, label="kind", classes=["ill", "well"])
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


# -- columns -------------------------------------------------------------------------------------


def test_columns_are_guessed_and_chosen_once(table, sit):
    sitting = sit(table[0], label=None)
    assert sitting.get("/api/case").status_code == 409
    home = sitting.client.get("/", follow_redirects=False)
    assert home.headers["location"].startswith("/setup")
    page = sitting.get("/setup").text
    for chosen in ("<option selected>label</option>", "<option selected>id</option>"):
        assert chosen in page
    for nonsense in ({"label": [1]}, {"label": "label", "blank": 5}, {"audit": "often"}):
        assert sitting.client.post("/api/setup", json=nonsense).status_code == 400
    wrong = sitting.client.post("/api/setup", json={"label": "x1"})
    assert wrong.status_code == 400
    assert "classes" in wrong.json()["error"]
    found = sitting.client.post("/api/setup", json={"label": "label", "features": ["x2"]})
    assert (found.json()["classes"], found.json()["features"]) == (["a", "b"], ["x2"])
    assert list(sitting.case()["features"]) == ["x2"]
    sitting.say(sitting.case()["row"], "cannot tell")
    refused = sitting.client.post("/api/setup", json={"label": "id"})
    assert refused.status_code in (400, 409)
    assert sitting.client.get("/", follow_redirects=False).status_code == 200


def test_an_empty_column_is_no_feature(tmp_path, sit):
    path = tmp_path / "t.csv"
    path.write_text(
        "x,note,label\n" + "\n".join(f"{k},,{'pq'[k % 2]}" for k in range(20)) + "\n9,,"
    )
    sitting = sit(path)
    assert sitting.desk.data.setup.features == ("x",)
    both = {"label": "label", "features": ["x", "note"]}
    found = sitting.client.post("/api/setup", json=both)
    assert found.status_code == 400
    assert "'note', which is empty" in found.json()["error"]
    assert sitting.get("/part/case").status_code == 200


def test_words_for_blank_and_empty_cells(tmp_path, sit):
    path = tmp_path / "t.csv"
    rows = [f"{k},{k % 7},{'unknown' if k % 3 == 0 else 'pq'[k % 2]}" for k in range(30)]
    path.write_text("n,x,label\n" + "\n".join(rows) + "\n31,,unknown\n,,unknown\n")
    sitting = sit(path, audit=1)
    desk = sitting.desk
    assert desk.data.setup.blank == ("unknown",)
    assert desk.data.setup.classes == ("p", "q")
    # of a row with empty cells the others count
    assert desk.data.usable.tolist() == [True] * 31 + [False]
    assert desk.model.clf is not None
    seen = {}
    while (case := sitting.case())["row"] is not None:
        seen[case["row"]] = case["features"]
        assert sitting.get("/part/case").status_code == 200
        sitting.say(case["row"], "cannot tell")
    assert seen[30] == {"n": 31.0, "x": None}
    assert 31 not in seen
    assert sitting.get("/part/report").status_code == 200


# -- the journal ---------------------------------------------------------------------------------


def test_a_second_start_resumes(table, sit):
    first = sit(table[0])
    case = first.case()
    first.say(case["row"], "label", "a")
    pending = first.case()
    kept = first.answers()
    again = sit(table[0])
    assert again.answers() == kept
    assert again.case()["row"] != case["row"]
    assert pending["row"] not in {a["row"] for a in kept}
    again.desk.worker.settle()
    assert again.desk.model.answers == 1
    assert again.desk.before.answers == 0


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_two_processes_share_a_journal(table, sit):
    one, other = sit(table[0], reader="Anna"), sit(table[0], reader="Ben")
    row = one.case()["row"]
    one.say(row, "label", "a")
    assert [a["row"] for a in other.answers()] == [row]
    other.say(row, "label", "b")
    assert len(one.answers()) == 2
    assert other.say(row, "label", "b", reader="Anna").status_code == 409


def test_the_table_is_never_touched_and_a_changed_one_is_noticed(table, sit):
    path, _ = table
    content = path.read_bytes()
    sitting = sit(path)
    sitting.say(sitting.case()["row"], "label", "a")
    assert path.read_bytes() == content
    path.write_bytes(content + b"999,1,2,\n")
    assert "while the desk is open" in str(sitting.get("/api/state").json()["warnings"])
    again = sit(path)
    assert "changed since the sitting began" in str(again.get("/api/state").json()["warnings"])
    assert len(again.answers()) == 1
    head, *rows = content.decode().splitlines()
    path.write_text("\n".join([head, *reversed(rows)]))
    with pytest.raises(ValueError, match="other rows"):
        Desk(path, label="label")


def test_a_foreign_file_is_not_taken_for_a_journal(table):
    journal = table[0].with_name("cells.desk.sqlite")
    journal.write_bytes(b"not a database at all, but long enough to look like one" * 20)
    with pytest.raises(ValueError, match="cannot be used as a journal"):
        Desk(table[0], label="label")
    journal.unlink()
    with sqlite3.connect(journal) as other:
        other.execute("CREATE TABLE t (x)")
    with pytest.raises(ValueError, match="another program"):
        Desk(table[0], label="label")


def test_export_keeps_labels_withheld_and_not_shown_apart(table, sit):
    sitting = sit(table[0], reader="Anna")
    rows = {}
    for answer, label in (("label", "b"), ("cannot tell", None), ("not shown", None)):
        rows[answer] = sitting.case()["row"]
        sitting.say(rows[answer], answer, label)
    sitting.say(sitting.case()["row"], "label", "a")
    sitting.client.post("/api/undo")
    found = sitting.get("/api/export")
    assert found.headers["content-type"] == "application/zip"
    packed = zipfile.ZipFile(io.BytesIO(found.content))
    assert {name.partition(".")[2] for name in packed.namelist() if name != "README.txt"} == {
        "labelled.csv",
        "journal.csv",
        "desk.sqlite",
        "model",
        "report.html",
    }
    frame = read_table(io.BytesIO(packed.read("cells.labelled.csv")), text=["id"])
    assert frame["status"][rows["label"]] == "labelled"
    assert frame["label"][rows["label"]] == "b"
    assert frame["status"][rows["cannot tell"]] == "withheld"
    assert frame["status"][rows["not shown"]] == "not shown"
    assert frame["said by Anna"][rows["not shown"]] == "not shown"
    assert frame["label"].isna().sum() == (sitting.desk.data.codes < 0).sum() - 1
    journal = read_table(io.BytesIO(packed.read("cells.journal.csv")))
    assert len(journal) == 4
    assert journal["undone"].notna().sum() == 1
    assert journal["row"][0] == rows["label"] + 1
    model = table[0].with_name("copy.model")
    model.write_bytes(packed.read("cells.model"))
    assert load(model).classes_.tolist() == ["a", "b"]
    assert b"</html>" in packed.read("cells.report.html")


# -- who may ask ---------------------------------------------------------------------------------

QUESTIONS = ["/", "/setup", "/report", "/part/case", "/api/case", "/api/answers", "/api/state"]
QUESTIONS += ["/api/export", "/static/desk.js", "/show/0"]


def test_nothing_without_the_token_or_from_elsewhere(table, sit):
    sitting = sit(table[0])
    stranger = sitting.fresh()
    elsewhere = [
        {"Host": "evil.example"},
        {"Host": f"evil.example:{PORT}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ]
    for path in QUESTIONS:
        assert stranger.get(path).status_code == 401
        assert stranger.get(path, params={"token": "wrong"}).status_code == 401
        assert stranger.get(path, params={"token": TOKEN + "é"}).status_code == 401
        for headers in elsewhere:
            assert sitting.client.get(path, headers=headers).status_code == 403


def test_nobody_else_can_answer(table, sit):
    sitting = sit(table[0])
    body = {"row": sitting.case()["row"], "answer": "cannot tell"}
    assert sitting.fresh().post("/api/answer", json=body).status_code == 401
    headers = {"Origin": "http://127.0.0.1:9"}
    assert sitting.client.post("/api/answer", json=body, headers=headers).status_code == 403
    assert sitting.client.get("/api/answer").status_code == 405
    upload = sitting.client.post("/api/answer", files={"file": b"x"})
    assert upload.status_code == 415
    assert sitting.client.post("/api/answer", content=b"[1]").status_code == 400
    assert sitting.client.post("/api/answer", content=b"{").status_code == 400
    assert sitting.client.post("/api/answer", content=b" " * 70_000).status_code == 413
    assert sitting.answers() == []
    own = {"Origin": f"http://127.0.0.1:{PORT}"}
    assert sitting.client.post("/api/answer", json=body, headers=own).status_code == 200


def test_the_token_becomes_a_cookie_and_leaves_the_address(table, sit):
    client = sit(table[0]).fresh(follow_redirects=False)
    query, accept = {"token": TOKEN, "reader": "Anna"}, {"Accept": "text/html"}
    found = client.get("/report", params=query, headers=accept)
    assert found.status_code == 303
    assert found.headers["location"] == "/report?reader=Anna"
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    page = client.get("/report?reader=Anna")
    assert page.status_code == 200
    assert TOKEN not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"


def test_files_outside_the_folder_are_refused(tmp_path, sit):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "fine.png").write_bytes(b"fine")
    (folder / "note.txt").write_text("<b>look here</b>")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    cells = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "fine.png", "cells.csv"]
    cells += ["note.txt", "https://example.org/1", "plain words", "\0.png", "gone.png"]
    path, _ = write_table(folder, n=80, show=lambda i: cells[i % len(cells)].replace("\0", "%00"))
    sitting = sit(path, show="look")
    for row, cell in enumerate(cells):
        found = sitting.get(f"/show/{row}")
        assert found.status_code == (200 if cell == "fine.png" else 404), cell
        assert b"secret" not in found.content
    assert "sandbox" in sitting.get("/show/3").headers["content-security-policy"]
    for path in ("/show/9999", "/show/-1", "/static/..%2f_app.py", "/static/../_app.py", "/x"):
        assert sitting.get(path).status_code == 404
    pages = {}
    for row in np.flatnonzero(sitting.desk.data.codes < 0):
        sitting.desk._windows["reader", "w"] = sitting.desk._next("reader").__class__(
            int(row), False, 1, 0.0
        )
        pages[cells[row % len(cells)]] = sitting.get("/part/case", window="w").text
    assert "&lt;b&gt;look here" in pages["note.txt"]
    assert 'rel="noopener noreferrer"' in pages["https://example.org/1"]
    assert "is no file in the folder" in pages["../secret.png"]
    assert "plain words" in pages["plain words"]


def test_hostile_names_stay_text(tmp_path, sit):
    bad = "<img src=x onerror=alert(1)>"
    path = tmp_path / "t.csv"
    rows = [f'"{bad}{k}",{k * 7 % 11},{k % 5},{"" if k % 3 else "pq"[k % 2]}' for k in range(60)]
    path.write_text(f'"id","{bad}","y","label"\n' + "\n".join(rows))
    sitting = sit(path, id="id")
    sitting.say(sitting.case()["row"], "label", "p", reader=bad)
    for page in ("/", "/setup", "/part/case", "/part/report", "/report"):
        text = sitting.get(page, reader=bad).text
        assert bad not in text
        assert sitting.get(page).status_code == 200


# -- a real process ------------------------------------------------------------------------------
@pytest.mark.slow
def test_kill_minus_nine_loses_no_acknowledged_answer(table):
    path, truth = table
    command = [sys.executable, "-m", "hesitant", "desk", str(path), "--label", "label"]
    command += ["--id", "id", "--no-browser", "--reader", "Anna"]
    acknowledged = []
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                base, _, token = server.stdout.readline().split()[-1].partition("/?")
                with httpx2.Client(base_url=base, params=dict([token.split("=")])) as client:
                    kept = client.get("/api/answers").json()["answers"]
                    assert [(a["row"], a["label"]) for a in kept] == acknowledged
                    for _ in range(6):
                        case = client.get("/api/case").json()
                        said = {"row": case["row"], "answer": "label", "label": truth[case["id"]]}
                        if client.post("/api/answer", json=said).json()["saved"]:
                            acknowledged.append((said["row"], said["label"]))
                    client.get("/api/case")
            finally:
                os.kill(server.pid, signal.SIGKILL)
    with sqlite3.connect(path.with_name("cells.desk.sqlite")) as journal:
        found = journal.execute("SELECT row, label FROM answers ORDER BY seq").fetchall()
        assert journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert found == acknowledged
    assert len(found) == 12


def test_the_command_says_what_is_wrong(table, run):
    code, _, errors = run("desk", "-", "--label", "label")
    assert code == 1
    assert "needs a file" in errors
    code, _, errors = run("desk", table[0], "--label", "nothing", "--no-browser")
    assert code == 1
    assert "lacks a column named in --label" in errors
    assert "'nothing'" in errors
    code, _, errors = run("desk", table[0].with_name("absent.csv"), "--label", "label")
    assert code == 1
