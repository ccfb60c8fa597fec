"""The paper by one call: its files, its page, and what happens when something is missing."""

import csv
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from hesitant.studies import PARTS, PRINTED, Design, StudyError, _real, reproduce
from hesitant.studies._loaders import DOCTORS, RAW
from hesitant.studies._real import (
    compare_full,
    compare_readings,
    draw_full,
    fit_reading,
    load,
    readings,
)
from hesitant.studies._reproduce import write_page
from hesitant.studies._simulation import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::hesitant.datasets.DataContentWarning")

SMALL = Design(seed=3, n=200, n_test=300, alphas=(0.0, 0.5, 1.0), restarts=2)


def run(parts, out, **options):
    options = {"design": SMALL, "replications": 2, "n_jobs": 1, "progress": False, **options}
    return reproduce(parts, out, **options)


# ---- small files in the published formats -------------------------------------------------------


def write_cytometry(folder: Path, rng: np.random.Generator) -> None:
    centres = np.array([[200, 220, 240], [400, 560, 600], [490, 190, 680], [140, 560, 200]])
    gate = rng.integers(0, 4, 400)
    X = centres[gate] + 60 * rng.standard_normal((400, 3))
    distance = np.sort(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
    gap = np.sqrt(distance[:, 1]) - np.sqrt(distance[:, 0])
    blank = rng.random(400) < 0.9 * np.exp(-gap / 80)
    table = pd.DataFrame(X.round(), columns=["FL1_LOG", "FL2_LOG", "FL4_LOG"])
    table.assign(label=np.where(blank, 0, gate + 1)).to_csv(
        folder / "cytometry_dlbcl030.csv", index=False
    )


def write_cardiotocography(folder: Path, rng: np.random.Generator) -> None:
    ease = rng.standard_normal(200)
    table = pd.DataFrame(
        {name: 100 + 10 * ease + 6 * rng.standard_normal(200) for name in RAW}
    ).round(1)
    table["LBE"], table["DR"] = table["LB"], 0
    table["b"], table["e"] = 0, 600
    table["CLASS"] = rng.choice([5, 6, 9, 10], 200)
    suspect = rng.random(200) < np.exp(-2 * np.abs(ease))
    table["NSP"] = np.where(suspect, 2, np.where(ease > 0, 1, 3))
    table.to_csv(folder / "ctg_full.csv", index=False)


def write_gastrointestinal(folder: Path, rng: np.random.Generator) -> None:
    kinds = rng.choice(["adenoma", "serrated", "hyperplasic"], 76, p=[0.5, 0.2, 0.3])
    names = [f"{kind}_{k}" for k, kind in enumerate(kinds)]
    shift = (kinds == "hyperplasic")[:, None] * np.array([1.5, 0.5, 2.0, 1.0])
    both = []
    for light in (1, 2):
        X = rng.standard_normal((76, 500))
        X[:, [293, 440, 471, 485]] += shift
        table = pd.DataFrame(X.round(4), columns=[f"f{k}" for k in range(1, 501)])
        table.insert(0, "lesion", names)
        table.insert(1, "class", 1)
        table.insert(2, "light", light)
        both.append(table)
    pd.concat(both).to_csv(folder / "gastro_features.csv", index=False)
    opinions = pd.DataFrame({"lesion": names, "truth": kinds})
    doubt = rng.choice([0.02, 0.4], 76, p=[0.7, 0.3])
    for doctor in DOCTORS:
        other = np.where(kinds == "hyperplasic", "adenoma", "hyperplasic")
        opinions[doctor] = np.where(rng.random(76) < doubt, other, kinds)
    opinions.to_csv(folder / "gastro_opinions.csv", index=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    write_cytometry(folder, rng)
    write_cardiotocography(folder, rng)
    write_gastrointestinal(folder, rng)
    return folder


@pytest.fixture(scope="module")
def everything(data, tmp_path_factory):
    """The whole paper on the small files, two readings of each data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_real, "readings", lambda name: readings(name)[:2])
        return run(None, tmp_path_factory.mktemp("paper"), data=data)


# ---- everything ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_is_made(everything) -> None:
    assert everything.ok, str(everything)
    assert everything.exit_code == 0
    assert list(everything.parts) == [*PARTS, "paper"]
    names = {path.name for path in everything.files}
    tables = ("table1", "table2", "simulation", "simulation_summary", "full", "full_parameters")
    assert {f"{name}.csv" for name in tables} < names
    assert {"paper.html", "results.json"} < names
    assert all(path.exists() for path in everything.files)
    assert sum(name.endswith(".png") for name in names) == 11


@pytest.mark.slow
def test_tables_have_the_printed_numbers_beside_ours(everything) -> None:
    with open(everything.out / "table1.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["dataset"] for row in rows] == [name for name in PRINTED for _ in range(2)]
    for row in rows:
        assert float(row["mean_labelled"]) < float(row["mean_unlabelled"]) or row["dataset"]
        assert float(row["mean_labelled_printed"]) == PRINTED[row["dataset"]].mean_labelled
    with open(everything.out / "table2.csv", newline="") as file:
        second = list(csv.DictReader(file))
    assert all(0 <= float(row["ks"]) <= 1 for row in second)
    for name in PRINTED:
        mine = [row for row in rows if row["dataset"] == name]
        assert [row["main"] for row in mine] == ["True", "False"]
        assert sum(row["nearest"] == "True" for row in mine) == 1


@pytest.mark.slow
def test_full_says_what_changes(everything) -> None:
    summary = everything.table("full")
    assert [row["dataset"] for row in summary] == list(PRINTED)
    for row in summary:
        assert np.isfinite(row["likelihood_ratio"])
        assert row["unlabelled_moved"] >= 0
    parameters = everything.to_frame("full_parameters")
    assert {"weight[1]", "weight[normal]", "weight[resection]"} < set(parameters["parameter"])


@pytest.mark.slow
def test_figures_are_pictures(everything) -> None:
    for path in everything.parts["figures"].files:
        if path.suffix == ".png":
            assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.slow
def test_page_needs_nothing_else(everything) -> None:
    page = (everything.out / "paper.html").read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert sum(source.startswith("data:image/png") for source in sources) == 11
    assert "<script" not in page
    for number in ("−5.59", "−4.82", "−2.34", "232,996", "0.0105"):
        assert number in page
    assert "Not computed" not in page


@pytest.mark.slow
def test_result_is_plain_data(everything) -> None:
    plain = json.loads(json.dumps(everything.to_dict(), allow_nan=False))
    assert plain["ok"] is True
    assert plain["parts"]["simulation"]["tables"]["findings"]
    assert "complete" in str(everything)
    with pytest.raises(KeyError, match="no table is called"):
        everything.table("table3")


# ---- parts --------------------------------------------------------------------------------------


def test_simulation_alone(tmp_path) -> None:
    result = run("simulation", tmp_path / "a" / "b")
    assert result.ok
    assert set(result.parts) == {"simulation", "paper"}
    with open(result.out / "simulation.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (4 + 6)
    assert {"replication", "estimator", "alpha", "adjusted_rand", "log_loss"} < set(rows[0])


def leave_unfinished(folder: Path, replications: int) -> None:
    """Make a finished simulation look like one killed after so many replications."""
    with Checkpoint(folder / "simulation.sqlite", {}) as kept:
        kept._execute("DELETE FROM finished WHERE replication >= ?", replications)
        kept._execute("DELETE FROM state WHERE key = 'complete'")


def finished(path: Path) -> set[int]:
    with Checkpoint(path, {}) as kept:
        return set(kept.finished)


@pytest.mark.slow
def test_resumed_files_equal_uninterrupted_ones(tmp_path) -> None:
    whole = run("simulation", tmp_path / "whole", replications=3)
    part = run("simulation", tmp_path / "part", replications=3)
    leave_unfinished(part.out, 1)
    (part.out / "simulation.csv").unlink()
    again = run("simulation", tmp_path / "part", replications=3, resume=True)
    assert again.ok
    for name in ("simulation.csv", "simulation_summary.csv"):
        assert (again.out / name).read_bytes() == (whole.out / name).read_bytes()


def test_interrupted_simulation_is_refused_before_the_work(tmp_path) -> None:
    run("simulation", tmp_path)
    leave_unfinished(tmp_path, 1)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(StudyError, match=r"interrupted run\. Continue it with resume=True"):
        run(["table1", "simulation"], tmp_path)
    assert finished(tmp_path / "simulation.sqlite") == {0}
    assert (tmp_path / "results.json").read_bytes() == before
    assert run("simulation", tmp_path, force=True).ok
    assert finished(tmp_path / "simulation.1.old") == {0}
    assert run("simulation", tmp_path).ok  # a finished one is replaced


def test_a_folder_in_use_is_left_alone(tmp_path) -> None:
    run("simulation", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with (
        Checkpoint(tmp_path / "simulation.sqlite", {}),
        pytest.raises(StudyError, match=r"Another run is writing to .*--out"),
    ):
        run("figures", tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_earlier_names_of_options_are_understood(tmp_path) -> None:
    with pytest.warns(DeprecationWarning, match="jobs is called n_jobs now"):
        assert reproduce(
            "simulation", tmp_path, replications=1, jobs=1, design=SMALL, progress=False
        ).ok


def test_words_agree_with_their_numbers(everything, tmp_path) -> None:
    content = everything.to_dict()
    line, other, _ = content["parts"]["full"]["tables"]["full"]
    line |= {"slope": -5.0, "likelihood_ratio": 1846.1, "space_moved": 0.01}
    line["unlabelled_moved"], other["unlabelled_moved"] = 1, 2
    words = " ".join(write_page(tmp_path, content)[1].read_text(encoding="utf-8").split())
    assert "likelihood ratio is 1,846.1 on one" in words
    assert "1 unlabelled row changes class, and 1.0 % of new rows would." in words
    assert "2 unlabelled rows change class, and" in words


def test_the_full_figure_rings_rows_that_change_class(data) -> None:
    reading = readings("cytometry")[0]
    table = load(reading, data)
    ignorance = fit_reading(reading, table)
    full, tables = compare_full(reading, table, ignorance)
    ax = draw_full(table, ignorance, full).ax_
    moved = len(tables["full_moved"])
    assert len(ax.collections[-1].get_offsets()) == moved
    names = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"full likelihood", "ignorance likelihood"} < names
    assert f"changes class ({moved} of {table.n_blank})" in names


def test_resume_with_other_settings_is_refused(tmp_path) -> None:
    run("simulation", tmp_path)
    before = (tmp_path / "results.json").read_bytes()
    with pytest.raises(StudyError, match="other settings"):
        run("simulation", tmp_path, design=Design(seed=9, n=100, n_test=100), resume=True)
    assert (tmp_path / "results.json").read_bytes() == before


def test_figures_use_the_simulation_that_is_there(tmp_path, data) -> None:
    run("simulation", tmp_path)
    before = (tmp_path / "simulation.sqlite").read_bytes()
    result = run("figures", tmp_path, data=tmp_path)
    assert (tmp_path / "simulation.sqlite").read_bytes() == before
    assert (tmp_path / "figure_simulation.png").exists()
    assert not result.ok  # there are no real data
    # The page still has the table of the earlier run.
    page = (tmp_path / "paper.html").read_text(encoding="utf-8")
    assert "one-step-late" in page
    assert "Not complete: figures" in page


def test_missing_data_stop_nothing_else(tmp_path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run(["table1", "simulation"], tmp_path / "out", data=empty)
    assert not result.ok
    assert result.exit_code == 1
    assert result.parts["simulation"].ok
    problems = "\n".join(result.parts["table1"].problems)
    for name in ("cytometry_dlbcl030.csv", "ctg_full.csv", "gastro_features.csv"):
        assert name in problems
    assert "https://archive.ics.uci.edu" in problems
    assert "INCOMPLETE" in str(result)
    assert (tmp_path / "out" / "paper.html").exists()


def test_one_data_set_is_enough_for_its_rows(tmp_path, monkeypatch) -> None:
    write_cytometry(tmp_path, np.random.default_rng(1))
    monkeypatch.setattr(_real, "readings", lambda name: readings(name)[:1])
    result = run(["table1", "table2"], tmp_path / "out", data=tmp_path)
    assert not result.ok
    assert {row["dataset"] for row in result.table("table1")} == {"cytometry"}
    assert (tmp_path / "out" / "table2.csv").exists()


def test_data_without_blanks_say_so(tmp_path) -> None:
    write_cytometry(tmp_path, np.random.default_rng(1))
    table = pd.read_csv(tmp_path / "cytometry_dlbcl030.csv").query("label > 0")
    table.to_csv(tmp_path / "cytometry_dlbcl030.csv", index=False)
    result = run("full", tmp_path / "out", data=tmp_path)
    assert "The cytometry data have no unlabelled row" in result.problems[0]


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": "tabel1"}, "Did you mean 'table1'"),
        ({"parts": ["simulation", "table3"]}, "'table3' is unknown"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": "two"}, "n_jobs='two'"),
        ({"replications": 0}, "replications=0"),
        ({"design": None, "random_state": -1}, "random_state=-1"),
        ({"design": None, "random_state": 1.5}, "random_state=1.5"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, message) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        run(options.pop("parts", "simulation"), tmp_path / "out", **options)
    assert not (tmp_path / "out" / "simulation.csv").exists()


def test_out_is_a_file(tmp_path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(StudyError, match=r"cannot be written.*--out"):
        run("simulation", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_out_may_not_be_written(tmp_path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StudyError, match="Permission denied"):
            run("simulation", tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_damaged_record_of_earlier_runs_is_passed_over(tmp_path) -> None:
    (tmp_path / "results.json").write_text('{"parts": [1, 2')
    assert run("simulation", tmp_path).ok


# ---- what is printed ----------------------------------------------------------------------------


def test_printed_p_values_belong_to_the_printed_counts() -> None:
    from scipy.stats import norm

    printed = PRINTED["gastrointestinal"]
    m, n = printed.n_labelled, printed.n_unlabelled
    assert np.exp(-2 * printed.ks**2 * m * n / (m + n)) == pytest.approx(0.0105, abs=1e-4)
    z = (printed.mann_whitney - m * n / 2) / np.sqrt(m * n * (m + n + 1) / 12)
    assert norm.cdf(z) == pytest.approx(0.0042, abs=1e-4)
    m, n = 106, 46
    assert np.exp(-2 * printed.ks**2 * m * n / (m + n)) < 0.001


# ---- the published data -------------------------------------------------------------------------

real = pytest.mark.skipif(
    not os.environ.get("HESITANT_DATA"),
    reason="HESITANT_DATA names no directory with the published data",
)


def compared(name, *wanted):
    chosen = [r for r in readings(name) if all(text in r.name for text in wanted)]
    return compare_readings(chosen)


@pytest.mark.slow
@real
def test_real_cytometry() -> None:
    (row,) = compared("cytometry", "channels", "freedom: own", "start: ours")
    assert (row["n_labelled"], row["n_unlabelled"]) == (11459, 333)
    assert row["log_likelihood"] > -209199.9
    assert row["mean_labelled"] == pytest.approx(-5.91, abs=0.05)
    assert row["mean_unlabelled"] == pytest.approx(-0.86, abs=0.05)
    assert row["ks"] == pytest.approx(0.874, abs=0.01)


@pytest.mark.slow
@real
def test_real_cardiotocography() -> None:
    ours, labelled = compared("cardiotocography", "21 of the Data", "freedom: own")
    assert (ours["n_labelled"], ours["n_unlabelled"]) == (402, 268)
    # The printed numbers belong to a maximum well below the highest.
    assert ours["log_likelihood"] > labelled["log_likelihood"] + 20
    assert labelled["distance"] < 0.05 < 0.5 < ours["distance"]


@pytest.mark.slow
@real
def test_real_gastrointestinal() -> None:
    rows = compared("gastrointestinal", "f294", "7 doctors", "freedom: common", "matrices: own")
    counts = {(row["n_labelled"], row["n_unlabelled"]) for row in rows}
    assert counts == {(128, 24), (106, 46)}
    (nearest,) = [row for row in rows if row["nearest"]]
    assert nearest["n_labelled"] == 128
    assert nearest["mean_unlabelled"] == pytest.approx(-0.38, abs=0.05)
