"""No traceback for a user's mistake: the file, the row and column, and the remedy."""

import contextlib
import html
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hesitant import MixtureClassifier, MixtureClassifierCV, save
from hesitant.cli import main
from hesitant.cli._terminal import in_options
from hesitant.datasets import simulate
from hesitant.families import KernelDensity

DATA = simulate(n=200, random_state=0).to_frame()


def wide(n):
    return ",".join(f"c{i}" for i in range(n)) + "\n" + ",".join("1" * n) + "\n"


GOOD = DATA.to_csv(index=False)
FILES = {
    "empty": (b"", "empty"),
    "header only": (b"x,label\n", "no rows"),
    "one column": (b"label\na\nb\n", "only one column"),
    "ragged": (GOOD.encode() + b"1,2,3,4,5\n", "line 202"),
    "wrong encoding": ("x,label\n1,café\n2,b\n".encode("cp1252"), "--encoding"),
    "binary": (bytes(range(256)) * 10, "binary"),
    "too wide": (wide(1_000_000).encode(), "1,000,000 columns"),
    "only blanks": (b"x,label\n1,\n2,\n3,\n", "blank in every row"),
    "one class": (b"x,label\n1,a\n2,\n3,a\n", "single class"),
    "no numbers": (b"x,label\nu,a\nv,b\nw,\n", "No numeric column"),
    "not a number": (b"x,label\n1,a\n2,b\noops,\n4,a\n", "row 3"),
    "infinite feature": (b"x,label\n1,a\ninf,b\n3,\n4,a\n", "--on-missing"),
    "label absent": (GOOD.replace("label", "Lable", 1).encode(), "Did you mean 'Lable'"),
    "duplicate names": (b"x,x,label\n1,2,a\n2,3,b\n", "more than once"),
    "web page": (b"<!DOCTYPE html><html></html>", "web page"),
    "pdf": (b"%PDF-1.7 ...", "PDF"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_tables(case, run, tmp_path):
    content, words = FILES[case]
    (tmp_path / "bad.csv").write_bytes(content)
    code, out, error = run("analyse", "bad.csv", "--label", "label")
    assert code == 1
    assert error.startswith("Error: bad.csv")
    assert words in error
    assert not out
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


def test_mistakes_reach_programs_as_json(run, tmp_path):
    (tmp_path / "bad.csv").write_bytes(FILES["not a number"][0])
    code, out, error = run("analyse", "bad.csv", "--label", "label", "--json")
    found = json.loads(out)["error"]
    assert (code, found["row"], found["column"], found["source"]) == (1, 3, "x", "bad.csv")
    assert found["remedy"]
    assert not error


USES = [
    (["analyse"], "Missing"),
    (["analyse", "a.csv", "--label", "y", "--family", "cauchy"], "'gaussian', 't', 'skew_t'"),
    (["analyse", "a.csv", "--label", "y", "--alpha", "2"], "--alpha"),
    (["analyse", "a.csv", "--label", "y", "--pca", "0"], "--pca"),
    (["analyse", "a.csv", "--label", "y", "--surprise"], "--surprise"),
    (["anlyse"], "No such command"),
    (
        ["compare", "a.csv", "--label", "y", "--family", "cauchy"],
        "'cauchy' is not one of 'gaussian'",
    ),
    (["reproduce", "table3"], "'table1', 'table2'"),
    (["simulate", "--n", "0"], "'--n'"),
    (["simulate", "--seed", "-1"], "'--seed'"),
    (["analyse", "a.csv", "--label", "y", "--starts", "0"], "--starts"),
    (["analyse", "a.csv", "--label", "y", "--bootstrap", "19"], "20"),
    (["simulate", "--json"], "--out"),
    (["analyse", "a.csv", "--label", "y", "--out", "-"], "--out -: name a file"),
    (["compare", "a.csv", "--label", "y", "--out", "-"], "--out -: name a file"),
    (["predict", "a.model", "a.csv", "--out", "-", "--json"], "name one with --out"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), USES, ids=lambda v: " ".join(v)[:40] if isinstance(v, list) else ""
)
def test_wrong_use(arguments, words, run):
    code, out, error = run(*arguments)
    assert code == 2
    assert words in error
    assert not out


@pytest.mark.parametrize("command", ["analyse", "compare"])
def test_no_cores_can_do_nothing(command, run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    code, out, error = run(command, "a.csv", "--label", "label", "--jobs", "0")
    assert (code, out) == (1, "")
    assert "--jobs 0: give a whole number" in error


def test_an_enormous_number_is_found_in_the_table(run, tmp_path):
    DATA.assign(x0=DATA["x0"].where(DATA.index != 4, -1e300)).to_csv(tmp_path / "a.csv")
    code, _, error = run("analyse", "a.csv", "--label", "label", "--features", "x0,x1")
    assert code == 1
    assert error.startswith("Error: a.csv, row 5 (line 6), column 'x0': '-1e+300' is too large")
    assert "Correct or empty the cell" in error


def test_messages_are_in_the_words_of_the_command_line(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,a\n,b\n3,\n4,a\n")
    code, _, error = run("analyse", "a.csv", "--label", "label", "--on-missing", "error")
    assert code == 1
    assert "in Python" not in error
    assert "leave such columns out with --drop, or" in error
    code, out, error = run("reproduce", "table1", "--data", "/nonexist")
    assert code == 1
    assert " ".join(out.split()).count("--data /nonexist is not a directory") == 1
    frame = DATA.assign(x0=DATA["x0"].where(DATA.index != 4, 1e140))
    frame.to_csv(tmp_path / "b.csv", index=False)
    code, _, error = run("analyse", "b.csv", "--label", "label")
    assert code == 0
    assert "reg_covar" not in error
    page = (tmp_path / "b.report.html").read_text(encoding="utf-8")
    assert page.find("reg_covar") < 0


_SLOW = "The fit did not converge: EM reached its last step before it settled. "


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("is kept finite by reg_covar alone", "is kept finite by a weak prior alone"),
        ("Use covariance='shrunk', or fewer", "Use --covariance shrunk, or fewer"),
        ("n_components=9: give", "--pca 9: give"),
        (
            _SLOW + "Raise max_iter, or tol if the remaining gain does not matter.",
            _SLOW + "Give another --family or --covariance.",
        ),
        (
            "Class a has no mean: the entries of means_ and covariances_ that do not exist are "
            "NaN. Use locations_ and scales_.",
            "Class a has no mean.",
        ),
        ("another folder with out (--out).", "another folder with --out."),
        ("start again with force=True (--force)", "start again with --force"),
    ],
)
def test_what_has_no_option_is_not_advised(said, wanted):
    assert in_options(said) == wanted


def test_shares_have_one_form(run, tmp_path):
    frame = DATA.copy()
    frame["label"] = [i % 2 if i % 4 else None for i in range(len(frame))]
    frame.to_csv(tmp_path / "a.csv", index=False)
    _, out, _ = run("analyse", "a.csv", "--label", "label")
    assert "50 (25.0 %) have no label" in out


def test_empty_cells_that_a_combination_cannot_predict_from_are_named(run, tmp_path):
    kernels = MixtureClassifier(KernelDensity(), mechanism=None, solver="em", tol=1.0)
    clf = MixtureClassifierCV([kernels], missing_label=None)
    clf.fit(DATA[["x0", "x1"]], DATA["label"])
    assert not clf.__sklearn_tags__().input_tags.allow_nan
    save(clf, tmp_path / "a.model")
    DATA.assign(x0=DATA["x0"].where(DATA.index != 4)).to_csv(tmp_path / "d.csv", index=False)
    code, _, error = run("predict", "a.model", "d.csv")
    assert code == 1
    assert error.startswith("Error: d.csv, row 5 (line 6), column 'x0'")
    assert "giving 'drop' to --on-missing" in " ".join(error.split())
    code, _, error = run("predict", "a.model", "d.csv", "--on-missing", "drop")
    assert code == 0
    assert "1 row was left out" in error


def test_predict_names_what_the_new_table_lacks(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    run("analyse", "a.csv", "--label", "label", "-q")
    DATA[["x0"]].to_csv(tmp_path / "b.csv", index=False)
    code, _, error = run("predict", "a.model", "b.csv")
    assert code == 1
    assert "lacks a column that the model needs: 'x1'" in error
    assert "--features" not in error
    DATA.assign(x0=DATA["x0"].where(DATA.index != 4)).to_csv(tmp_path / "d.csv", index=False)
    code, _, error = run("predict", "a.model", "d.csv", "--on-missing", "error")
    assert code == 1
    assert "row 5" in error
    assert "--on-missing" in error
    assert "--drop" not in error
    code, _, error = run("predict", "a.model", "a.csv", "--id", "x0", "--out", "e.csv")
    assert code == 1
    assert "another column with --id" in error
    code, _, error = run("predict", "a.model", "a.csv", "--features", "x0", "--out", "e.csv")
    assert code == 0
    (tmp_path / "c.model").write_bytes(b"\x80\x04 pickle")
    code, _, error = run("predict", "c.model", "a.csv", "--out", "c.csv")
    assert code == 1
    assert "c.model" in error
    assert "pickle" in error
    code, _, error = run("predict", "a.model", "none.csv")
    assert code == 1
    assert "No such file" in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "none.model", "none.csv"],
        ["compare", "none.csv", "--label", "y"],
        ["simulate"],
    ],
    ids=lambda a: a[0],
)
def test_a_format_that_is_not_written_is_refused_before_the_work(arguments, run):
    code, _, error = run(*arguments, "--out", "results.v2")
    assert code == 1
    assert "results.v2: Tables are not written as .v2. Let the name end in .csv" in error


def marked(tmp_path, blank):
    """Write a table in which a word stands for no label, and rows are numbered."""
    frame = DATA.copy()
    frame["label"] = [blank if pd.isna(v) else f"c{v}" for v in frame["label"]]
    frame.insert(0, "event", np.arange(len(frame)) + 1)
    frame.to_csv(tmp_path / "a.csv", index=False)
    return int((frame["label"] == blank).sum())


def test_what_is_taken_for_something_else_is_told_and_reported(run, tmp_path):
    rows = marked(tmp_path, "unknown")
    code, out, error = run("analyse", "a.csv", "--label", "label")
    assert code == 0, error
    assert f"Taken for a class: 'unknown' ({rows} rows)" in error
    assert "hesitant analyse a.csv --label label --missing=unknown --force" in error
    assert "'event' seems to number the rows" in error
    assert "Features: x0, x1." in out
    page = (tmp_path / "a.report.html").read_text(encoding="utf-8")
    assert page.find("--missing=unknown") > 0
    assert page.find("seems to number the rows") > 0
    # the same command with what the notes advise has nothing to note
    advised = ["--missing=unknown", "--drop", "event", "--force"]
    code, out, error = run("analyse", "a.csv", "--label", "label", *advised)
    assert (code, error) == (0, "")
    assert "Features: x0, x1." in out


def test_what_an_earlier_analysis_wrote_is_no_feature(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    assert run("analyse", "a.csv", "--label", "label")[0] == 0
    code, out, error = run("analyse", "a.predictions.csv", "--label", "label", "--family", "t")
    assert code == 0, error
    assert "'P(1)' was written by an earlier analysis" in " ".join(error.split())
    assert "Features: x0, x1." in out
    # a column that only shares a name with one of those is as good as any
    DATA.assign(entropy=DATA["x0"] ** 2).to_csv(tmp_path / "b.csv", index=False)
    code, out, error = run("analyse", "b.csv", "--label", "label", "--family", "gaussian")
    assert code == 0, error
    assert "Features: x0, x1, entropy." in out


def test_a_code_for_not_measured_is_told_with_the_option_that_empties_it(run, tmp_path):
    frame = DATA.copy()
    frame.loc[::20, "x0"] = -999
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, _, error = run("analyse", "a.csv", "--label", "label")
    assert code == 0, error
    assert "-999 lies outside of all other values of 'x0' (10 rows)" in error
    advised = ["--label", "label", "--force", "--json", "--empty", "-999"]
    code, out, error = run("analyse", "a.csv", *advised)
    assert code == 0, error
    answer = json.loads(out)
    assert answer["notes"] == ["10 cells with -999 taken for empty."]
    assert "--empty -999" in answer["repeat"]["command"]
    for more, told in (([], "lies outside"), (["--empty=-999"], "taken for empty")):
        code, _, error = run("predict", "a.model", "a.csv", "--out", "p.csv", "--force", *more)
        assert (code, told in error) == (0, True)


@pytest.mark.parametrize("given", [["--missing=-1"], ["--missing", "-1"]], ids=" ".join)
def test_minus_one_may_mean_no_label(given, run, tmp_path):
    rows = marked(tmp_path, "-1")
    options = ["--label", "label", "--features", "x0,x1", "--json", "--force"]
    _, out, _ = run("analyse", "a.csv", *options)
    assert f"'-1' ({rows} rows)" in json.loads(out)["notes"][0]
    code, out, error = run("analyse", "a.csv", *options, *given)
    assert code == 0, error
    answer = json.loads(out)
    assert (answer["classes"], answer["labels"]["blank"]) == (["c0", "c1"], rows)
    assert answer["notes"] == []


def test_a_missing_value_that_does_not_occur(run, tmp_path):
    marked(tmp_path, "unknown")
    options = ["--label", "label", "--features", "x0,x1", "--missing"]
    code, _, error = run("analyse", "a.csv", *options, "unknwn")
    assert code == 1
    assert "'unknwn' is listed as missing, but is not in the column" in error
    assert "Did you mean 'unknown'?" in error
    code, _, error = run("analyse", "a.csv", *options, "unknown", "--missing", "debris")
    assert code == 0
    assert "Given to --missing, but not a label: 'debris'" in error


@pytest.mark.slow
def test_many_features_are_listed_in_short(run, tmp_path):
    draws = np.random.default_rng(0).normal(size=(len(DATA), 20))
    wide = pd.DataFrame(draws, columns=[f"m{i}" for i in range(20)]).assign(y=DATA["label"])
    wide.to_csv(tmp_path / "a.csv", index=False)
    code, out, error = run("analyse", "a.csv", "--label", "y", "--covariance", "spherical")
    assert code == 0, error
    assert "m0, m1, m2," in out
    assert "m11 and 8 more." in " ".join(out.split())
    options = ["--covariance", "spherical", "--pca", "1", "--force"]
    _, out, _ = run("analyse", "a.csv", "--label", "y", "--drop", "m3", *options)
    assert "Features: 1 principal component of m0, m1, m2, m4," in " ".join(out.split())


def test_what_the_tests_leave_out_is_told_in_the_words_of_options(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    code, out, error = run(
        "analyse", "a.csv", "--label", "label", "--mechanism", "mixed", "--json"
    )
    assert code == 0, error
    page = html.unescape((tmp_path / "a.report.html").read_text(encoding="utf-8"))
    for note in json.loads(out)["notes"]:
        assert page.find(note) > 0
        assert "mechanism=" not in note


@pytest.mark.slow
def test_comparing_weighs_rows(run, tmp_path):
    # Weights that leave the first half out rank models as that table alone would.
    half = DATA.assign(w=(DATA.index >= 100).astype(int))
    half.to_csv(tmp_path / "a.csv", index=False)
    DATA[100:].to_csv(tmp_path / "b.csv", index=False)
    options = ["--label", "label", "--family", "gaussian", "--covariance", "tied", "--json"]
    values = []
    for name, more in (("a.csv", ["--weight", "w"]), ("b.csv", [])):
        code, out, error = run("compare", name, *options, *more)
        assert code == 0, error
        ranked = json.loads(out)["candidates"]
        values.append({c["name"]: c["log_likelihood"] for c in ranked})
    assert values[0].keys() == values[1].keys()
    for name, value in values[0].items():
        assert value == pytest.approx(values[1][name], rel=1e-6)


def test_components_too_many_for_the_table(run, tmp_path):
    DATA.to_csv(tmp_path / "a.csv", index=False)
    code, _, error = run("analyse", "a.csv", "--label", "label", "--pca", "9")
    assert code == 1
    assert "--pca 9" in error
    assert "from 1 to 2" in error


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_standardised_components_predict_from_raw_features(run, tmp_path):
    frame = DATA.assign(x3=np.arange(len(DATA)) % 7 * 100.0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, out, error = run(
        "analyse", "a.csv", "--label", "label", "--standardise", "--pca", "2", "--json"
    )
    assert code == 0, error
    assert json.loads(out)["features"] == ["PC1", "PC2"]
    code, _, error = run("predict", "a.model", "a.csv", "--out", "again.csv", "-q")
    assert (code, error) == (0, "")
    first, again = (pd.read_csv(tmp_path / f) for f in ("a.predictions.csv", "again.csv"))
    pd.testing.assert_frame_equal(first, again, rtol=1e-9)


HOSTILE = ['<script>alert("1")</script>', '=HYPERLINK("http://x","y")', "😀" * 40]


@pytest.mark.slow
def test_hostile_names_are_harmless_everywhere(run, tmp_path):
    """Markup, formulas, quotes, line breaks and endless names, as columns, labels and file."""
    classes = {0: "<img src=x onerror=alert(1)>\n'\"&amp;", 1: "=cmd|' /C calc'!A0" + "Z" * 10_000}
    frame = DATA.rename(columns={"x0": HOSTILE[0], "x1": HOSTILE[1]})
    frame[HOSTILE[2]] = np.random.default_rng(0).normal(size=len(frame))
    frame["label"] = [None if pd.isna(v) else classes[int(v)] for v in frame["label"]]
    frame["+id"] = [f"@SUM({i})" for i in range(len(frame))]
    name = "<b>'\"& =x.csv"
    frame.to_csv(tmp_path / name, index=False)
    code, _, error = run("analyse", name, "--label", "label", "--id", "+id", "-q")
    assert (code, error) == (0, "")
    page = (tmp_path / "<b>'\"& =x.report.html").read_text(encoding="utf-8")
    assert len(page) < 2_000_000
    assert page.count("<script>") == 1
    assert "<img" not in page
    assert "<b>" not in page
    assert page.find("Z" * 200) < 0  # a bare "not in" would print the page
    cells = (tmp_path / "<b>'\"& =x.predictions.csv").read_text(encoding="utf-8")
    assert "\"'=cmd" in cells
    assert '"\'@SUM(0)"' in cells
    for character in "=+@":
        assert f'"{character}' not in cells
        assert f"\n{character}" not in cells
    code, out, error = run("predict", "<b>'\"& =x.model", name, "--out", "-")
    assert code == 0, error
    header = out.splitlines()[0]
    assert header.startswith('"row",')
    assert '"label"' in header
    assert "\"'=HYPERLINK" in header


def test_ids_stay_text_and_missing_values_are_blanks(run, tmp_path):
    frame = DATA.assign(id=[f"{i:05d}" for i in range(len(DATA))])
    frame["label"] = ["ungated" if pd.isna(v) else f"class {v}" for v in frame["label"]]
    frame["seen"] = np.where(np.arange(len(frame)) % 5 == 0, "no", "yes")
    frame["weight"] = 1.5
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    code, out, error = run(
        "analyse", "a.tsv", "--label", "label", "--id", "id", "--missing", "ungated",
        "--reviewed", "seen", "--weight", "weight", "--json",
    )  # fmt: skip
    assert code == 0, error
    answer = json.loads(out)
    assert answer["classes"] == ["class 0", "class 1"]
    assert answer["labels"]["not_reviewed"] == 40
    assert answer["features"] == ["x0", "x1"]
    assert "--missing ungated" in answer["repeat"]["command"]
    predicted = pd.read_csv(tmp_path / "a.predictions.csv", dtype=str)
    assert list(predicted)[:7] == ["row", *frame]  # the table's own columns and names
    assert predicted["id"][0] == "00000"
    assert set(predicted["label"]) == {"ungated", "class 0", "class 1"}


CELLS = st.one_of(
    st.sampled_from(["", "a", "b", "NA", "1", "-2.5", "1e309", "<b>", '"', "=1", "\n", "\0", "é"]),
    st.text(max_size=5),
)
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=12)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(rows=TABLES, raw=st.binary(max_size=60), clean=st.booleans())
def test_no_table_leads_to_a_traceback(rows, raw, clean, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("fuzz")
    text = "x,label\n" + "\n".join(",".join(row) for row in rows)
    (folder / "a.csv").write_bytes(text.encode("utf-8", "replace") + (b"" if clean else raw))
    monkeypatch.setattr(
        sys, "argv", ["hesitant", "analyse", str(folder / "a.csv"), "--label", "label"]
    )
    said = io.StringIO()
    with (
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
        pytest.raises(SystemExit) as left,
    ):
        main()
    written = len(list(folder.iterdir())) - 1
    assert (left.value.code or 0, written) in ((0, 3), (1, 0))
    assert "Traceback" not in said.getvalue()
