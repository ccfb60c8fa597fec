"""The simulation: what it finds, and that a killed run loses nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from hesitant.studies import Design, StudyError, findings, run_simulation, summarise
from hesitant.studies._simulation import ALPHAS, Checkpoint, replicate, scores, true_log_posterior

_STUDY = """
import sys
from joblib import parallel_config
from hesitant.studies import Design, run_simulation
from hesitant.studies._simulation import Checkpoint


def telling(append):
    def told(self, replication, rows):
        append(self, replication, rows)
        print("replication", flush=True)

    return told


if __name__ == "__main__":
    path, replications, jobs, backend = sys.argv[1:]
    design = Design(seed=3, n=200, n_test=400, alphas=(0.0, 0.5, 1.0), restarts=2)
    Checkpoint.append = telling(Checkpoint.append)
    with parallel_config(backend=backend):
        run_simulation(path, int(replications), design=design, n_jobs=int(jobs), progress=False)
"""
SMALL = Design(seed=3, n=200, n_test=400, alphas=(0.0, 0.5, 1.0), restarts=2)


def run(path: Path, replications: int = 3, **options):
    options = {"design": SMALL, "n_jobs": 1, "progress": False, **options}
    return run_simulation(path, replications, **options)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return run(tmp_path_factory.mktemp("study") / "journal", 4)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The paper's design, on fewer replications and alphas."""
    design = Design(alphas=(0.0, 0.25, 0.5, 0.75, 1.0), restarts=2)
    path = tmp_path_factory.mktemp("study") / "journal"
    return run_simulation(path, 25, design=design, n_jobs=1, progress=False)


@pytest.fixture(scope="module")
def summary(rows):
    return summarise(rows)


# ---- what it finds ------------------------------------------------------------------------------


def find(summary, estimator, alpha=None):
    (row,) = [r for r in summary if r["estimator"] == estimator and r["alpha"] == alpha]
    return row


def test_findings_of_the_paper(rows, summary) -> None:
    seen = {(f["claim"], f["measure"]): f["seen"] for f in findings(rows)}
    for measure in ("adjusted_rand", "log_loss"):
        assert seen["full beats every alpha", measure]
        assert seen["both ends fall off", measure]
    # On the adjusted Rand index alpha from 0.5 to 0.75 is flat within the Monte Carlo error.
    assert seen["alpha = 0.5 is best among them", "log_loss"]
    half, best = find(summary, "fractional", 0.5), max(r["adjusted_rand_mean"] for r in summary)
    assert half["adjusted_rand_mean"] > best - 0.02


def test_a_difference_inside_its_error_is_no_refutation() -> None:
    def row(k, estimator, alpha, value):
        measures = {"adjusted_rand": value / 1000, "log_loss": value, "converged": True}
        return {"replication": k, "estimator": estimator, "alpha": alpha, **measures}

    noise = (-300.0, 100.0, 250.0, -50.0)
    means = {("full", None): 1800, ("a", 0.0): 9000, ("a", 0.5): 4001, ("a", 1.0): 4000}
    rows = [
        row(k, name, alpha, mean + (k % 2 - 0.5) * (alpha or 0) + noise[(k + j) % 4])
        for j, ((name, alpha), mean) in enumerate(means.items())
        for k in range(4)
    ]
    found = {f["claim"]: f for f in findings(rows) if f["measure"] == "log_loss"}
    assert found["full beats every alpha"]["state"] == "yes"
    near = found["alpha = 0.5 is best among them"]
    assert (near["seen"], near["state"]) == (False, "within error")
    words = " ".join(f["words"] for f in found.values())
    assert "e+" not in words
    assert "+4,999.00 (s.e. " in words
    found = {f["claim"]: f for f in findings(rows) if f["measure"] == "adjusted_rand"}
    assert found["full beats every alpha"]["state"] == "no"


def test_full_wins_most_replications(summary) -> None:
    half = find(summary, "fractional", 0.5)
    assert half["log_loss_full_wins"] > 0.7 * half["replications"]
    assert half["log_loss_minus_full"] > 2 * half["log_loss_minus_full_se"]
    assert half["adjusted_rand_minus_full"] < 0


def test_solvers_of_the_full_likelihood_agree(summary) -> None:
    full = find(summary, "full")
    for solver in ("profile", "one-step-late"):
        row = find(summary, solver)
        assert row["log_loss_mean"] == pytest.approx(full["log_loss_mean"], rel=1e-4)
        assert row["log_loss_ties"] >= 0.8 * row["replications"]


def test_ignorance_is_alpha_one_half(summary) -> None:
    half, ignorance = find(summary, "fractional", 0.5), find(summary, "ignorance")
    assert half["log_loss_mean"] == pytest.approx(ignorance["log_loss_mean"], rel=1e-9)
    assert half["adjusted_rand_mean"] == ignorance["adjusted_rand_mean"]


def test_nobody_beats_the_true_parameters(summary) -> None:
    floor = find(summary, "true parameters")["log_loss_mean"]
    assert all(row["log_loss_mean"] >= floor for row in summary)


def test_every_fit_converges(summary) -> None:
    assert all(row["converged"] == row["replications"] for row in summary)


def test_true_posterior() -> None:
    # On the line halfway between the means the classes tie only where their quadratics agree.
    log_tau = true_log_posterior(np.array([[0.0, 0.0], [0.0, 3.0]]))
    inverse = np.linalg.inv([[1, 0.7], [0.7, 1]])
    odds = 4.5 - 0.5 * np.log(0.51)
    np.testing.assert_allclose(log_tau[0, 0] - log_tau[0, 1], odds)
    np.testing.assert_allclose(
        log_tau[1, 0] - log_tau[1, 1], -0.5 * 9 * inverse[1, 1] - 0.5 * np.log(0.51)
    )
    np.testing.assert_allclose(np.exp(log_tau).sum(axis=1), 1)


def test_scores() -> None:
    log_tau = np.log([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    got = scores(log_tau, np.array([0, 1, 1]))
    assert got["log_loss"] == pytest.approx(-np.log(0.9 * 0.8 * 0.4))
    assert got["error_rate"] == pytest.approx(1 / 3)


def test_summary_by_hand() -> None:
    def row(k, estimator, ari, loss):
        return {
            "replication": k,
            "estimator": estimator,
            "alpha": None,
            "adjusted_rand": ari,
            "log_loss": loss,
            "converged": True,
        }

    rows = [row(1, "b", 0.6, 8.0), row(0, "b", 0.5, 12.0)]
    rows += [row(0, "full", 0.7, 10.0), row(1, "full", 0.6, 9.0)]
    b, full = summarise(rows)
    assert (b["adjusted_rand_mean"], b["log_loss_mean"]) == (pytest.approx(0.55), 10.0)
    assert b["log_loss_se"] == pytest.approx(2.0)
    assert b["log_loss_minus_full"] == pytest.approx(0.5)
    assert b["log_loss_minus_full_se"] == pytest.approx(1.5)
    assert (b["log_loss_full_wins"], b["adjusted_rand_full_wins"]) == (1, 1)
    assert (b["adjusted_rand_ties"], full["adjusted_rand_ties"]) == (1, 2)


# ---- a function of the design only --------------------------------------------------------------


def test_rows(uninterrupted) -> None:
    assert len(uninterrupted) == 4 * (len(SMALL.alphas) + 7)
    assert [row["replication"] for row in uninterrupted] == sorted(
        row["replication"] for row in uninterrupted
    )
    assert Design().alphas == ALPHAS
    assert len(ALPHAS) == 21


def test_seeds_are_those_of_spawn() -> None:
    _, rows = replicate(SMALL, 1)
    child = np.random.SeedSequence(SMALL.seed).spawn(2)[1]
    from hesitant.datasets import simulate

    assert rows[0]["n_labelled"] == simulate(SMALL.n, random_state=child.spawn(3)[0]).n_labelled


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_any_backend_gives_the_same(tmp_path, uninterrupted, backend) -> None:
    with parallel_config(backend=backend, n_jobs=2):
        assert run(tmp_path / "journal", 4, n_jobs=None) == uninterrupted


@pytest.mark.slow
def test_backend_that_returns_lists_gives_the_same(tmp_path, uninterrupted) -> None:
    # In a process of its own: forks of one that has used OpenMP may hang.
    script, path = tmp_path / "study.py", tmp_path / "journal"
    script.write_text(_STUDY)
    command = [sys.executable, script, path, "4", "2", "multiprocessing"]
    subprocess.run(command, check=True, timeout=1200)
    assert run(path, 4, resume=True) == uninterrupted


def test_dask_gives_the_same(tmp_path, uninterrupted) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        distributed.LocalCluster(dashboard_address=None, **options) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        assert run(tmp_path / "journal", 4, n_jobs=None) == uninterrupted


def test_more_replications_add_to_what_is_there(tmp_path, uninterrupted) -> None:
    path = tmp_path / "journal"
    assert run(path, 2) == [row for row in uninterrupted if row["replication"] < 2]
    assert run(path, 4, resume=True) == uninterrupted
    assert run(path, 2, resume=True) == [r for r in uninterrupted if r["replication"] < 2]


# ---- interruptions ------------------------------------------------------------------------------


def finished(path: Path) -> dict:
    with Checkpoint(path, SMALL.settings(), resume=True) as kept:
        kept.begin()  # which refuses other settings
        return kept.finished


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_killed_run_resumes_and_its_workers_end(tmp_path, uninterrupted) -> None:
    path, script = tmp_path / "study", tmp_path / "study.py"
    script.write_text(_STUDY)
    command = [sys.executable, script, path, "100000", "2", "loky"]
    # Workers inherit the pipe: it ends when the last of them has.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        for _ in range(3):
            assert process.stdout.readline().startswith(b"replication")
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.read()
    kept = finished(path)
    assert len(kept) >= 2
    for k, rows in list(kept.items())[:2]:
        assert rows == replicate(SMALL, k)[1]
    assert run(path, 4, resume=True) == uninterrupted


def test_rubbish_is_refused_and_kept(tmp_path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"settings": {"se' * 100)
    with pytest.raises(StudyError, match=r"not a database.*--out"):
        run(path, 4, resume=True)
    assert path.read_bytes() == b'{"settings": {"se' * 100


def test_nothing_to_resume_is_a_start(tmp_path, uninterrupted) -> None:
    assert run(tmp_path / "journal", 4, resume=True) == uninterrupted


def test_resuming_with_other_settings_is_refused(tmp_path) -> None:
    path = tmp_path / "journal"
    run(path, 1)
    before = path.read_bytes()
    other = Design(seed=4, n=200, n_test=400, alphas=(0.0, 1.0), restarts=2)
    with pytest.raises(StudyError, match="seed was 3 and is now 4") as caught:
        run(path, 1, design=other, resume=True)
    assert "alphas was" in str(caught.value)
    assert "--out" in str(caught.value)
    assert path.read_bytes() == before


def test_unfinished_run_is_not_lost(tmp_path) -> None:
    path = tmp_path / "simulation.sqlite"
    run(path, 2)
    with Checkpoint(path, {}) as kept:
        kept._execute("DELETE FROM finished WHERE replication = 1")
        kept._execute("DELETE FROM state WHERE key = 'complete'")
    with pytest.raises(StudyError, match=r"1 finished replication .*--resume.*--force"):
        run(path, 1)
    assert set(finished(path)) == {0}
    with pytest.raises(ValueError, match="choose one"):
        run(path, 1, resume=True, force=True)
    run(path, 1, force=True)
    assert set(finished(tmp_path / "simulation.1.old")) == {0}
    run(path, 1)  # that one was finished: nothing to keep
    assert len(list(tmp_path.iterdir())) == 2


def test_failing_replication_loses_no_other(tmp_path, uninterrupted, monkeypatch) -> None:
    from hesitant.studies import _simulation

    path = tmp_path / "journal"

    def fail(design, k):
        if k == 2:
            raise ZeroDivisionError("replication 2")
        return replicate(design, k)

    monkeypatch.setattr(_simulation, "replicate", fail)
    with pytest.raises(ZeroDivisionError):
        run(path, 4)
    monkeypatch.undo()
    assert set(finished(path)) >= {0, 1}
    assert run(path, 4, resume=True) == uninterrupted


def test_two_runs_do_not_share_a_file(tmp_path) -> None:
    path = tmp_path / "journal"
    run(path, 1)
    with (
        Checkpoint(path, SMALL.settings()),
        pytest.raises(StudyError, match="Another run is writing"),
    ):
        run(path, 1, resume=True)
    assert set(finished(path)) == {0}


def test_all_cores_and_one_worker_agree(tmp_path, uninterrupted) -> None:
    assert run(tmp_path / "journal", 4, n_jobs=-1) == uninterrupted


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [0, 1.5, "two", True])
def test_jobs_must_be_a_number_of_workers(tmp_path, jobs) -> None:
    with pytest.raises((ValueError, TypeError), match="n_jobs="):
        run(tmp_path / "journal", n_jobs=jobs)


@pytest.mark.parametrize("replications", [0, -3, 2.5, None, True])
def test_replications_must_be_positive(tmp_path, replications) -> None:
    with pytest.raises((ValueError, TypeError), match="replications="):
        run(tmp_path / "journal", replications)


def test_full_disk_loses_nothing_that_was_finished(tmp_path, uninterrupted, monkeypatch) -> None:
    path, append = tmp_path / "journal", Checkpoint.append

    def append_to_full_disk(self, replication, rows):
        if replication == 2:
            self._execute("PRAGMA max_page_count = 1")
        append(self, replication, rows * 100)

    monkeypatch.setattr(Checkpoint, "append", append_to_full_disk)
    with pytest.raises(StudyError, match=r"disk is full.*--out"):
        run(path, 4)
    monkeypatch.undo()
    assert set(finished(path)) == {0, 1}
    with Checkpoint(path, SMALL.settings()) as kept:
        for k, rows in kept.finished.items():
            kept.append(k, rows[: len(rows) // 100])
    assert run(path, 4, resume=True) == uninterrupted


def test_journal_that_cannot_be_written(tmp_path) -> None:
    with pytest.raises(StudyError, match="cannot be kept"):
        run(tmp_path / "no folder" / "journal", 1)
