"""Every command through its real entry point, in a process of its own."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest

from hesitant.datasets import simulate


def hesitant(*arguments, cwd, stdin=None, **environment):
    """Run the command as a user would; return what came of it."""
    return subprocess.run(
        [sys.executable, "-m", "hesitant", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=1200,
        env={**os.environ, "COLUMNS": "100", **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demonstration once; return its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = hesitant("demo", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "demo", json.loads(done.stdout)


@pytest.mark.slow
def test_demo_leaves_data_report_predictions_and_model(demo):
    folder, answer = demo
    assert sorted(p.name for p in folder.iterdir()) == [
        "cells.csv",
        "cells.model",
        "cells.predictions.csv",
        "cells.report.html",
    ]
    assert answer["verdict"]["finding"] == "hard"
    assert answer["repeat"]["data"]["rows"] == 2000
    assert set(answer["files"]) == {"data", "report", "predictions", "model"}
    page = (folder / "cells.report.html").read_text(encoding="utf-8")
    assert "The blanks mark the hard cases." in page
    assert len(page.encode()) < 2_000_000


@pytest.mark.slow
def test_predictions_are_one_row_for_each_cell(demo):
    folder, answer = demo
    frame = pd.read_csv(folder / "cells.predictions.csv")
    assert len(frame) == 2000
    assert frame["cell"][0] == "cell-0001"
    assert frame["population"].isna().sum() == answer["labels"]["blank"]
    shares = frame[[c for c in frame if c.startswith("P(")]]
    assert shares.shape[1] == 4
    assert (shares.sum(axis=1) - 1).abs().max() < 1e-9
    labelled = frame.dropna(subset=["population"])
    assert (labelled["population"] == labelled["predicted"]).mean() > 0.95
    unusual = {row["name"] for row in answer["triage"]["unusual"]}  # blank rows that fit no class
    assert unusual
    assert unusual == set(frame["cell"][frame["unusual"] & frame["population"].isna()])


@pytest.mark.slow
def test_predict_agrees_with_the_analysis_and_reads_standard_input(demo):
    folder, _ = demo
    table = (folder / "cells.csv").read_bytes()
    done = hesitant("predict", "cells.model", "-", "--id", "cell", cwd=folder, stdin=table)
    assert done.returncode == 0, done.stderr.decode()
    (folder / "again.txt").write_bytes(done.stdout)
    again = pd.read_csv(folder / "again.txt")
    (folder / "again.txt").unlink()
    before = pd.read_csv(folder / "cells.predictions.csv")
    # the analysis knows that a row is blank, which may tell of its class
    known = before["population"].notna()
    pd.testing.assert_frame_equal(again[known], before[known], rtol=1e-9)
    features = ["entropy", "labelling_probability", "unusual"]
    pd.testing.assert_frame_equal(again[features], before[features], rtol=1e-9)
    assert (again["predicted"] == before["predicted"]).mean() > 0.95
    assert not done.stderr


def test_simulate_then_analyse_in_plain_text(tmp_path):
    done = hesitant("simulate", "--n", 250, "--out", "example.csv.gz", "--truth", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert list(pd.read_csv(tmp_path / "example.csv.gz")) == ["x0", "x1", "label", "truth"]
    words = ("analyse", "example.csv.gz", "--label", "label", "--drop", "truth")
    done = hesitant(*words, "--family", "gaussian", cwd=tmp_path)  # the demo combines several
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert "\x1b" not in text
    assert "example.report.html" in text
    assert "Labels and blanks" in text
    assert max(map(len, text.splitlines())) <= 100
    assert (tmp_path / "example.model").exists()


@pytest.mark.slow
def test_compare_ranks_models(demo, tmp_path):
    folder, _ = demo
    head = pd.read_csv(folder / "cells.csv").head(400)
    head.to_parquet(tmp_path / "cells.parquet")
    done = hesitant(
        "compare", "cells.parquet", "--label", "population", "--family", "gaussian",
        "--family", "t", "--covariance", "full", "--folds", "2", "--json", "--out", "ranking.csv",
        "--jobs", 1,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads(done.stdout)
    assert len(answer["candidates"]) == 4
    assert answer["notes"] == ["Columns that are not numeric are not used: 'cell'."]
    assert answer["best"] == answer["candidates"][0]["name"]
    assert list(pd.read_csv(tmp_path / "ranking.csv")["model"]) == [
        c["name"] for c in answer["candidates"]
    ]


@pytest.mark.slow
def test_wrong_use_is_2_and_a_closed_pipe_no_traceback(demo):
    folder, _ = demo
    done = hesitant("analyse", "cells.csv", cwd=folder)
    assert done.returncode == 2
    assert b"--label" in done.stderr
    assert b"Traceback" not in done.stderr
    # a program that reads the first line and goes away
    pipe = subprocess.run(
        f'"{sys.executable}" -m hesitant simulate --n 20000 | head -n 1',
        shell=True,
        cwd=folder,
        capture_output=True,
        timeout=1200,
        check=False,
    )
    assert pipe.stdout.strip() == b'"x0","x1","label"'
    assert b"Traceback" not in pipe.stderr
    assert b"BrokenPipe" not in pipe.stderr


def test_shell_completion_knows_names():
    done = hesitant(
        cwd=".",
        _HESITANT_COMPLETE="complete_bash",
        COMP_WORDS="hesitant analyse --family sk",
        COMP_CWORD="3",
    )
    assert done.stdout.decode().split() == ["skew_t", "skew_normal"]


@pytest.mark.parametrize("command", [[], ["analyse"], ["compare"], ["reproduce"]], ids=str)
def test_help_does_not_wait_for_the_libraries(command):
    code = (
        "import sys; from hesitant.cli import main\n"
        f"sys.argv = {['hesitant', *command, '--help']!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'numba'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Usage: hesitant" in done.stdout


def test_a_small_analysis_loads_only_what_it_uses(tmp_path):
    simulate(n=60, random_state=0).to_frame("label").to_csv(tmp_path / "t.csv", index=False)
    code = (
        "import sys; from hesitant.cli import main\n"
        "sys.argv = ['hesitant', 'analyse', 't.csv', '--label', 'label', '-q']\n"
        "try: main()\n"
        "except SystemExit as left: assert not left.code\n"
        "seldom = {'dask', 'pooch', 'starlette', 'matplotlib.pyplot'}\n"
        "parts = ('pipeline', 'neighbors', 'decomposition', 'linear_model')\n"
        "seldom |= {f'sklearn.{part}' for part in parts}\n"
        "sys.exit(' '.join(seldom & set(sys.modules)) or 0)"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "t.report.html").exists()


@pytest.mark.slow
def test_the_package_has_all_it_names_whoever_asks_first():
    code = (
        "import hesitant, sys; heavy = 'sklearn' in sys.modules\n"
        "assert all(hasattr(hesitant, name) for name in hesitant.__all__)\n"
        "assert set(hesitant.__all__) <= set(dir(hesitant))\n"
        "assert hesitant.families.FAMILIES['t']\n"
        "assert hesitant.MixtureClassifier is hesitant.classifier.MixtureClassifier\n"
        "sys.exit(heavy or hasattr(hesitant, 'nothing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
