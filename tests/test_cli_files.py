"""Files as people have them, from the command line to the answer."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from helpers_tables import xlsx
from hesitant import MixtureClassifier
from hesitant.cli._tables import split_names, stem
from hesitant.datasets import simulate
from hesitant.persistence import Preparation, load, save

DATA = simulate(n=150, random_state=1).to_frame("y")
WORDS = DATA.assign(y=[None if pd.isna(v) else f"c{v:g}" for v in DATA["y"]])


def analyse(run, *arguments):
    code, out, error = run("analyse", *arguments, "--json", "--force")
    assert code == 0, out + error
    return json.loads(out)


def test_every_form_of_a_table_gives_the_same_model(run, tmp_path):
    WORDS.to_csv(tmp_path / "a.csv", index=False)
    WORDS.to_csv(tmp_path / "b.csv", index=False, sep=";", decimal=",")
    WORDS.to_json(tmp_path / "c.jsonl", orient="records", lines=True, double_precision=15)
    cells = WORDS.astype(object).where(WORDS.notna(), None)
    rows = [list(WORDS), *cells.to_numpy().tolist()]
    (tmp_path / "d.xlsx").write_bytes(xlsx({"Sheet1": rows, "Sheet2": [["note"], ["x"]]}))
    first = analyse(run, "a.csv", "--label", "y")
    for name in ("b.csv", "c.jsonl", "d.xlsx"):
        again = analyse(run, name, "--label", "y")
        assert again["classes"] == first["classes"]
        # numbers may differ in their last digit: JSON writes fifteen
        labels, expected = dict(again["labels"]), dict(first["labels"])
        for a, b in zip(labels.pop("classes"), expected.pop("classes"), strict=True):
            assert a == pytest.approx(b)
        assert labels == expected
        assert again["features"] == first["features"]
    assert "'Sheet2'" in again["notes"][0]


def test_an_export_of_an_annotation_tool(run, tmp_path):
    names = [f"cell {i}" for i in range(len(WORDS))]
    WORDS[["x0", "x1"]].assign(name=names).to_csv(tmp_path / "features.csv", index=False)
    tasks = []
    for i, (name, label) in enumerate(zip(names, WORDS["y"], strict=True)):
        result = [] if pd.isna(label) else [{"type": "choices", "value": {"choices": [label]}}]
        said = [{"completed_by": 1, "was_cancelled": pd.isna(label), "result": result}]
        tasks.append({"id": i, "data": {"name": name}, "annotations": said if i >= 20 else []})
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    given = ["export.json", "--features-from", "features.csv", "--id", "name"]
    answer = analyse(run, *given)
    labelled = int(WORDS["y"][20:].notna().sum())
    counts = f"{labelled} rows labelled, {130 - labelled} withheld, 20 never shown"
    assert counts in answer["notes"][0]
    assert answer["labels"]["not_reviewed"] == 20
    assert answer["labels"]["labelled"] == labelled
    assert answer["features"] == ["x0", "x1"]
    table = pd.read_csv(tmp_path / "export.predictions.csv")
    assert list(table)[:6] == ["row", "x0", "x1", "name", "label", "predicted"]
    code, _, error = run(*["analyse", *given[:3], "--force"])
    assert code == 2
    assert "--id" in error


def test_two_label_columns_are_a_panel(run, tmp_path):
    other = WORDS["y"].where(WORDS.index % 10 > 0, "c0")
    WORDS.rename(columns={"y": "ada"}).assign(bo=other).to_csv(tmp_path / "a.csv", index=False)
    answer = analyse(run, "a.csv", "--label", "ada,bo")
    both = pd.DataFrame({"ada": WORDS["y"], "bo": other})
    named = both.notna().any(axis=1) & ~(both.notna().all(axis=1) & (both.ada != both.bo))
    assert answer["labels"]["labelled"] == int(named.sum())
    assert answer["features"] == ["x0", "x1"]
    told = {line["reader"]: line for line in answer["readers"]["rows"]}
    assert told["ada"]["labelled"] == int(both.ada.notna().sum())
    assert told["ada"]["accuracy"] > told["bo"]["accuracy"]
    table = pd.read_csv(tmp_path / "a.predictions.csv")
    assert (table.predicted == WORDS["y"])[WORDS["y"].notna()].mean() > 0.95


def test_readers_who_never_agree_are_told_so(run, tmp_path):
    other = WORDS["y"].map({"c0": "c1", "c1": "c0"})
    WORDS.rename(columns={"y": "ada"}).assign(bo=other).to_csv(tmp_path / "a.csv", index=False)
    verdict = analyse(run, "a.csv", "--label", "ada,bo")["verdict"]
    rows = f"{WORDS['y'].notna().sum()} rows"
    assert verdict["headline"] == "On no row do most readers agree on a class."
    assert f"Readers gave labels on {rows}, and on none" in " ".join(verdict["paragraphs"])
    assert "No row has a label" not in (tmp_path / "a.report.html").read_text(encoding="utf-8")


def test_readers_of_an_export_are_a_panel(run, tmp_path):
    WORDS[["x0", "x1"]].assign(case=WORDS.index).to_csv(tmp_path / "f.csv", index=False)
    said = {"ada": WORDS["y"], "bo": WORDS["y"].where(WORDS.index % 10 > 0, "c0")}
    long = pd.concat([pd.DataFrame({"reader": r, "kind": y}) for r, y in said.items()])
    seen = (long["reader"] == "ada") | (long.index < 100)  # bo saw the first 100 rows
    long[seen].rename_axis("case").to_csv(tmp_path / "said.csv")
    given = ["said.csv", "--features-from", "f.csv", "--id", "case", "--label", "kind"]
    answer = analyse(run, *given)
    told = {line["reader"]: line for line in answer["readers"]["rows"]}
    assert told["ada"]["labelled"] == int(WORDS["y"].notna().sum())
    assert told["bo"]["labelled"] == int(said["bo"][:100].notna().sum())
    assert told["ada"]["accuracy"] > told["bo"]["accuracy"]


def test_a_missing_label_is_asked_for(run, tmp_path):
    WORDS.assign(id=range(len(WORDS))).to_csv(tmp_path / "a.csv", index=False)
    code, _, error = run("analyse", "a.csv")
    assert code == 2
    assert "--label y" in error.replace("'", "")
    assert "'x0', 'x1', 'y', 'id'" in error


def test_words_for_no_label_come_with_a_command_to_paste(run, tmp_path):
    rng = np.random.default_rng(0)
    blank = WORDS["y"].isna()
    frame = WORDS.assign(seen=rng.choice(["yes", "no"], len(WORDS)))
    frame.loc[blank, "y"] = rng.choice(["not sure", "N.D."], blank.sum())
    frame.loc[~blank & (frame.index % 20 == 0), "y"] = "C0"
    frame.loc[~blank & (frame.index % 20 == 1), "y"] += " "
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, _, error = run("analyse", "a.csv", "--label", "y")
    assert code == 0, error
    assert "name it with --reviewed" in " ".join(error.split())
    assert "Are 'C0' and 'c0' one class?" in error
    start = error.index("hesitant analyse")
    pasted = shlex.split(error[start : error.index("--force") + len("--force")])
    code, out, error = run(*pasted[1:])
    assert code == 0
    assert "All rows were taken as shown" in out
    assert load(tmp_path / "a.model").classes_.tolist() == ["C0", "c0", "c1"]
    assert "not labelled" not in error


def test_blank_features_are_modelled_where_the_model_can(run, tmp_path):
    frame = WORDS.assign(x0=WORDS["x0"].where(WORDS.index % 9 > 0))
    frame.to_csv(tmp_path / "a.csv", index=False)
    analyse(run, "a.csv", "--label", "y")
    assert len(pd.read_csv(tmp_path / "a.predictions.csv")) == len(frame)
    answer = analyse(run, "a.csv", "--label", "y", "--on-missing", "drop")
    assert answer["repeat"]["data"]["rows_left_out"] == frame["x0"].isna().sum()
    code, _, error = run("analyse", "a.csv", "--label", "y", "--on-missing", "error", "--force")
    assert code == 1
    assert "--on-missing" in error
    asked = ["--standardise", "--on-missing", "model"]
    assert run("analyse", "a.csv", "--label", "y", *asked, "--force")[0] == 2
    code, _, error = run("analyse", "a.csv", "--label", "y", "--standardise", "--force")
    assert code == 1
    assert "17 of 150 rows" in error
    assert run("predict", "a.model", "a.csv", "--out", "p.csv")[0] == 0


def test_models_saved_from_python_know_rows_that_fit_no_class(run, tmp_path):
    data = simulate(n=300, random_state=0)
    (tmp_path / "new.csv").write_text("x,y\n0,0\n900,-900\n")
    for model in (MixtureClassifier(), make_pipeline(Preparation(), MixtureClassifier())):
        save(model.fit(data.features, data.labels), tmp_path / "a.model", force=True)
        code, _, error = run("predict", "a.model", "new.csv", "--force")
        assert code == 0, error
        found = pd.read_csv(tmp_path / "new.predictions.csv")["unusual"]
        assert found.tolist() == [False, True]


@pytest.mark.parametrize("blank", ["-1", "None"])
def test_minus_one_and_none_mean_the_same_as_in_python(blank, run, tmp_path):
    frame = DATA.assign(y=DATA["y"].astype("Int64").astype(object).where(DATA["y"].notna(), blank))
    frame.to_csv(tmp_path / "a.csv", index=False)
    missing = [] if blank == "-1" else ["--missing", "None"]
    answer = analyse(run, "a.csv", "--label", "y", *missing)
    python = MixtureClassifier(random_state=0).fit(
        DATA[["x0", "x1"]], [-1 if pd.isna(v) else v for v in DATA["y"]]
    )
    assert answer["classes"] == [str(int(c)) for c in python.classes_]
    assert answer["labels"]["blank"] == int(DATA["y"].isna().sum())


def test_names_are_split_at_commas_unless_a_column_has_them():
    frame = pd.DataFrame(columns=["CD3", "CD5 (FL1)", "a,b"])
    frame.attrs["hesitant"] = {"aliases": {"CD5": "CD5 (FL1)"}}
    assert split_names(["CD3, CD5", "a,b"], frame) == ["CD3", "CD5 (FL1)", "a,b"]


@pytest.mark.parametrize(("table", "name"), [("data/cells.csv.gz", "cells"), ("-", "hesitant")])
def test_results_are_called_after_the_table(table, name):
    assert stem(table) == name


def test_where_nobody_was_shown_a_row_there_is_a_report_all_the_same(run, tmp_path):
    DATA.assign(shown="no").to_csv(tmp_path / "a.csv", index=False)
    found = analyse(run, "a.csv", "--label", "y", "--reviewed", "shown", "--family", "gaussian")
    assert (tmp_path / "a.report.html").exists()
    # the model's own columns are used, and a wish for others is not passed over in silence
    code, _, told = run("predict", "a.model", "a.csv", "--features", "x0", "--force")
    assert code == 0
    assert "--features has no effect" in told
    assert found["verdict"]["headline"]
