"""Where results go: checked before the work, never replaced or lost by accident."""

import os

import pytest

from hesitant.datasets import simulate
from hesitant.studies._simulation import Checkpoint

DATA = simulate(n=200, random_state=0).to_frame()


def test_nothing_is_replaced_without_force(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.model").write_text("precious")
    code, _, error = run("analyse", "a.csv", "--label", "label")
    assert code == 1
    assert "a.model" in error
    assert "--force" in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "a.model"]
    assert (tmp_path / "a.model").read_text() == "precious"
    assert run("analyse", "a.csv", "--label", "label", "--force", "--quiet") == (0, "", "")
    before = (tmp_path / "a.csv").read_bytes()
    for target in ("a.csv", "a.model"):  # what is read is kept, whatever is asked for
        code, _, error = run("predict", "a.model", "a.csv", "--out", target, "--force")
        assert code == 1
        assert "being read" in error or "not written as" in error
    assert (tmp_path / "a.csv").read_bytes() == before


def test_out_may_be_a_folder_or_a_prefix(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    assert run("analyse", "a.csv", "--label", "label", "--out", "new/", "-q") == (0, "", "")
    assert sorted(os.listdir(tmp_path / "new")) == [
        "a.model",
        "a.predictions.csv",
        "a.report.html",
    ]
    assert run("analyse", "a.csv", "--label", "label", "--out", "b", "-q") == (0, "", "")
    assert (tmp_path / "b.report.html").exists()


OUTS = {
    "a file": "a.csv/",
    "below a file": "a.csv/b/c",
    "a device": "/dev/null/x",
    "no real folder": "/proc/xx/",
}


@pytest.mark.parametrize("out", OUTS)
def test_an_unusable_place_is_told_before_the_work(out, run, tmp_path, monkeypatch):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr("hesitant.cli._analysis.prepare", None)  # no work must have begun
    code, printed, error = run("analyse", "a.csv", "--label", "label", "--out", OUTS[out])
    assert (code, printed) == (1, "")
    assert "Write to another folder." in error
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("command", [["demo"], ["reproduce", "table1"]], ids=" ".join)
def test_a_file_is_no_folder_of_results(command, run, tmp_path):
    (tmp_path / "mine").write_text("precious")
    code, _, error = run(*command, "--out", "mine")
    assert code == 1
    assert "folder" in error
    assert "out (--out)" not in error
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_may_not_be_written(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "shut").mkdir(mode=0o500)
    code, _, error = run("analyse", "a.csv", "--label", "label", "--out", "shut/new/")
    assert code == 1
    assert "Permission denied" in error


def test_failures_of_the_system_are_sentences(run, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise OSError(5, "Input/output error", "a.csv")

    DATA.to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr("hesitant.cli._analysis.prepare", fail)
    code, _, error = run("analyse", "a.csv", "--label", "label")
    assert code == 1
    assert error.startswith("Error: a.csv: Input/output error. Check")


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (["simulate", "--n", "20"], "rows"),
        (["compare", "a.csv", "--label", "label", "--family", "gaussian", "--folds", "2"], "ICL"),
        (["predict", "a.model", "a.csv"], "predicted"),
    ],
    ids=lambda v: v[0] if isinstance(v, list) else "",
)
def test_every_command_makes_the_folder(command, end, run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    if command[0] == "predict":
        run("analyse", "a.csv", "--label", "label", "-q")
    code, out, error = run(*command, "--out", "new/folder/x.csv")
    assert code == 0, error
    assert end in out
    assert (tmp_path / "new" / "folder" / "x.csv").exists()
    os.symlink("nowhere", tmp_path / "link.csv")
    code, _, error = run(*command, "--out", "link.csv")
    assert code == 1
    assert error == "Error: link.csv: The file exists already. " + (
        "Replace it with --force, or choose another."
    )


@pytest.mark.parametrize("command", ["analyse", "compare"])
@pytest.mark.parametrize(
    ("source", "words"), [(".", ".: This is a folder"), ("/", "/: This is a"), ("", "is empty")]
)
def test_a_folder_is_no_table(command, source, words, run):
    code, _, error = run(command, source, "--label", "y")
    assert code == 1
    assert words in error
    assert "Name a file" in error


def test_a_study_that_is_stopped_can_be_continued(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hesitant.studies.reproduce", stop)
    code, _, error = run("reproduce", "simulation", "--out", "mine")
    assert code == 1
    assert "finished replications of the simulation are kept in mine, and --resume" in error


def test_an_interrupted_study_is_not_begun_anew_by_accident(run, tmp_path):
    settings = ["simulation", "--replications", "1", "--out", "mine", "-q"]
    (tmp_path / "mine").mkdir()
    kept = Checkpoint(tmp_path / "mine" / "simulation.sqlite", {})
    with kept:
        kept.begin()
        kept.append(0, [])
    code, _, error = run("reproduce", *settings)
    assert code == 1
    assert "1 finished replication of an interrupted run" in error
    assert "with --resume, start again with --force, or choose" in error
    with kept:
        assert set(kept.finished) == {0}
        code, _, error = run("reproduce", *settings, "--resume")
    assert code == 1
    assert "Another run is writing to" in error
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["simulation.sqlite"]
    code, _, error = run("reproduce", *settings, "--resume", "--force")
    assert code == 2
    assert "choose one" in error


def test_the_files_of_an_analysis_are_one_set(run, tmp_path, monkeypatch):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    assert run("analyse", "a.csv", "--label", "label", "-q") == (0, "", "")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    replace, calls = os.replace, []

    def fail(source, target):
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    given = ["--label", "label", "--covariance", "tied", "--force"]
    code, _, error = run("analyse", "a.csv", *given)
    assert code == 1
    assert "The disk is full; nothing was written." in error
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
