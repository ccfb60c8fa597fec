"""The desk's columns, its journal on disk, and who may ask."""

import io
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import zipfile

import httpx2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="no starlette: pip install 'hesitant[desk]'")
from helpers_desk import PORT, TOKEN, write_table
from hesitant import load
from hesitant.desk import Desk, serve
from hesitant.desk._learning import Setup
from hesitant.tables import read_table

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
    rows = [f"{2 * k},{k % 7},{'unknown' if k % 3 == 0 else 'pq'[k % 2]}" for k in range(30)]
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


def test_another_label_begins_anew_until_there_is_an_answer(tmp_path, sit):
    path = tmp_path / "t.csv"
    words = [("?ab"[k % 3], ["", "p", "q", "r"][k % 4]) for k in range(60)]
    rows = [f"{k * 7 % 13},{k * 7 % 11},{one},{other}" for k, (one, other) in enumerate(words)]
    path.write_text("x1,x2,one,other\n" + "\n".join(rows))
    (tmp_path / "fresh.csv").write_bytes(path.read_bytes())
    first = sit(path, label="one", features=["x1"])
    assert first.client.post("/api/setup", json={"label": "one"}).status_code == 200
    row = first.case()["row"]
    again, fresh = sit(path, label="other"), sit(tmp_path / "fresh.csv", label="other")
    # one journal is about one label: the desk that opened it last goes on
    refused = first.say(row, "label", "a")
    assert (refused.status_code, "another label" in refused.text) == (409, True)
    setup = again.desk.data.setup
    assert (setup.label, setup.classes, setup.blank) == ("other", ("p", "q", "r"), ())
    assert setup == fresh.desk.data.setup
    # nobody has looked at these guesses yet
    assert again.client.get("/", follow_redirects=False).headers["location"].startswith("/setup")
    again.say(again.case()["row"], "label", "r")
    again.desk.close()
    with pytest.raises(ValueError, match=r"label='one': the answers .* are about 'other'"):
        Desk(path, label="one")
    assert sit(path, label=None).desk.data.setup == setup


def test_of_two_desks_without_a_label_the_first_answer_says_what_the_journal_is_about(
    tmp_path, sit
):
    path = tmp_path / "t.csv"
    rows = [f"{k * 7 % 13},{'ab '[k % 3]},{'pqr '[k % 4]}" for k in range(60)]
    path.write_text("x,one,other\n" + "\n".join(rows))
    first, second = sit(path, label=None), sit(path, label=None)
    first.client.post("/api/setup", json={"label": "one"})
    first.say(first.case()["row"], "label", "a")
    refused = second.client.post("/api/setup", json={"label": "other"})
    assert (refused.status_code, "fixed by the answers" in refused.text) == (409, True)
    assert second.client.post("/api/setup", json={"label": "one"}).status_code == 200
    for one in (first, second):
        assert one.say(one.case()["row"], "label", "b").status_code == 200


@pytest.mark.parametrize("later", [{"classes": ["c"]}, {"id": ""}])
def test_an_answer_fits_the_desk_that_opened_the_journal_last(table, sit, later):
    first, last = sit(table[0]), sit(table[0], **later)
    refused = first.say(first.case()["row"], "label", "a")
    assert (refused.status_code, "close this one" in refused.text) == (409, True)
    last.say(last.case()["row"], "label", last.desk.data.setup.classes[-1])
    assert first.client.post("/api/undo", json={}).status_code == 409
    last.desk.worker.settle()
    assert last.desk.warnings() == first.desk.warnings() == []
    assert len(sit(table[0]).answers()) == 1


def test_classes_that_answers_name_stay_when_a_desk_is_opened_again(table, sit):
    first = sit(table[0], classes=["c"])
    first.say(first.case()["row"], "label", "c")
    with pytest.raises(ValueError, match="classes are fixed by the answers"):
        Desk(table[0], classes=["d"])
    assert sit(table[0], classes=["c", "d"]).desk.data.setup.classes == ("a", "b", "c", "d")


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
    for content in (b"[1]", b"{", b"\xff", b"[" * 60_000):
        wrong = sitting.client.post("/api/answer", content=content)
        assert wrong.status_code == 400
        assert "no JSON object" in wrong.json()["error"]
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
    assert "next to a file" in errors
    code, _, errors = run("desk", table[0], "--label", "nothing", "--no-browser")
    assert code == 1
    assert "lacks a column named in --label" in errors
    assert "'nothing'" in errors
    code, _, errors = run("desk", table[0].with_name("absent.csv"), "--label", "label")
    assert code == 1


@pytest.mark.parametrize("label", ["nothing", "x1"])
def test_whoever_is_refused_leaves_nothing_behind(table, sit, run, label):
    path = table[0]
    before = sorted(path.parent.iterdir())
    assert run("desk", path, "--label", label, "--no-browser")[0] == 1
    assert sorted(path.parent.iterdir()) == before
    # a journal that was there before stays, with its answers
    sitting = sit(path)
    sitting.say(sitting.case()["row"], "cannot tell")
    answers = sitting.desk.journal.answers()
    sitting.desk.close()
    assert run("desk", path, "--label", label, "--no-browser")[0] == 1
    assert sit(path).desk.journal.answers() == answers
    assert len(answers) == 1


def test_a_desk_that_opens_while_another_is_refused_keeps_its_answers(table, sit, monkeypatch):
    path, opened = table[0], []

    def refuse(*given):
        monkeypatch.undo()
        assert not path.with_name("cells.desk.sqlite").exists()  # nothing to take away
        opened.append(sit(path))
        raise ValueError("refused while another opens")

    monkeypatch.setattr("hesitant.desk._sitting.Setup.of", refuse)
    with pytest.raises(ValueError, match="refused while another opens"):
        Desk(path, label="label")
    opened[0].say(opened[0].case()["row"], "cannot tell")
    opened[0].desk.close()
    assert len(sit(path).answers()) == 1


def test_desks_that_begin_at_once_draw_the_same_audit(table, sit, monkeypatch):
    opened, usual = [], Setup.of

    def wait(*given):
        monkeypatch.undo()
        opened.append(sit(table[0]))
        return usual(*given)

    monkeypatch.setattr("hesitant.desk._sitting.Setup.of", wait)
    for order in (sit(table[0]).desk.data.order, sit(table[0]).desk.data.order):
        np.testing.assert_array_equal(order, opened[0].desk.data.order)


def test_a_taken_port_is_told_with_the_remedy(table, sit):
    desk = sit(table[0]).desk
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"Port {port} cannot be opened.*or 0 for any"):
            serve(desk, port=port, browser=False)
