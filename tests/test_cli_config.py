"""Options from a TOML file: the same names, and the command line wins."""

import json

import pytest

from hesitant.datasets import simulate
from hesitant.persistence import load


@pytest.fixture(autouse=True)
def table(tmp_path):
    """A table where the commands are run."""
    simulate(n=150, random_state=1).to_frame("y").to_csv(tmp_path / "a.csv", index=False)


CONFIG = """
label = "y"
family = "t"
seed = 7
on-missing = "drop"
force = true
json = true
folds = 3          # of another command

[analyse]
features = ["x0", "x1"]
standardise = true
alpha = 0.5

[predict]
id = "nothing"
"""


def test_a_file_sets_options_and_the_command_line_wins(run, tmp_path):
    (tmp_path / "a.toml").write_text(CONFIG)
    code, out, error = run("analyse", "a.csv", "--config", "a.toml", "--covariance", "tied")
    assert code == 0, error
    options = json.loads(out)["repeat"]["options"]
    assert options["label"] == "y"
    assert options["family"] == "t"
    assert options["seed"] == 7
    assert options["on_missing"] == "drop"
    assert options["features"] == ["x0", "x1"]
    assert options["standardise"] is True
    assert options["covariance"] == "tied"
    code, out, _ = run("analyse", "a.csv", "--config", "a.toml", "--family", "gaussian")
    assert json.loads(out)["repeat"]["options"]["family"] == "gaussian"


def test_starts_and_bootstrap_are_used_and_repeated(run, tmp_path):
    (tmp_path / "a.toml").write_text("label = 'y'\njson = true\n[analyse]\nstarts = 3\n")
    code, out, error = run("analyse", "a.csv", "--config", "a.toml", "--bootstrap", "20")
    assert code == 0, error
    answer = json.loads(out)
    assert answer["repeat"]["command"].endswith("--label y --starts 3 --bootstrap 20")
    assert answer["repeat"]["options"]["starts"] == 3
    assert load(tmp_path / "a.model").n_init == 3
    assert "20 replicates" in [test["method"] for test in answer["evidence"]["tests"]]


def test_a_zero_that_was_asked_for_is_repeated(run):
    given = ["--mechanism", "none", "--alpha", "0"]
    code, out, error = run("analyse", "a.csv", "--label", "y", *given, "--json")
    assert code == 0, error
    assert "--alpha 0" in json.loads(out)["repeat"]["command"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("famly = 't'", "Did you mean 'family'"),
        ("[analyse]\nfolds = 3", "no option 'folds'"),
        ("family = 'cauchy'", "'gaussian', 't'"),
        ("alpha = 'much'", "--alpha"),
        ("analyse = 3", "must be a table"),
        ("seed = 1.5", "'--seed'"),
        ("standardise = 'yes please'", "'--standardise'"),
        ("seed = -1", "'--seed'"),
        ("pca = true", "'--pca'"),
        ("[analyze]\nseed = 1", "no option 'analyze'. Did you mean 'analyse'?"),
        ("label = ", "cannot be read as TOML"),
        (b"\xff\xfe", "cannot be read as TOML"),
    ],
    ids=str,
)
def test_mistakes_in_the_file_are_wrong_use(run, tmp_path, content, words):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "a.toml").write_bytes(data)
    code, out, error = run("analyse", "a.csv", "--label", "y", "--config", "a.toml")
    assert code == 2
    assert words in error
    assert not out
    assert not (tmp_path / "a.model").exists()


def test_ctrl_c_before_a_command_begins_is_said(run, tmp_path, monkeypatch):
    def interrupt(text):
        raise KeyboardInterrupt

    (tmp_path / "a.toml").write_text(CONFIG)
    monkeypatch.setattr("tomllib.loads", interrupt)
    code, _, error = run("analyse", "a.csv", "--config", "a.toml")
    assert (code, error) == (1, "Error: stopped before anything was written.")


def test_a_scalar_will_do_where_a_list_is_meant(run, tmp_path):
    (tmp_path / "a.toml").write_text("label = 'y'\nfeatures = 'x0,x1'\nmissing = 'ungated'\n")
    code, _, error = run("analyse", "a.csv", "--config", "a.toml", "-q")
    assert (code, error) == (0, "")
