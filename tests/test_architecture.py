"""What docs/architecture.md says of the code."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import hesitant
from hesitant import MixtureClassifier, intake
from hesitant.cli import main
from hesitant.datasets import simulate

ROOT = Path(hesitant.__file__).parent


def _rooms_imported():
    """Return the rooms that each room imports when it is imported itself."""
    found = {}
    for file in ROOT.rglob("*.py"):
        room = file.relative_to(ROOT).parts[0].removesuffix(".py")
        top = [
            node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom)
        ]
        names = [n.module for n in top if n.module and n.module.startswith("hesitant.")]
        found.setdefault(room, set()).update({n.split(".")[1] for n in names} - {room})
    return found


def test_rooms_do_not_import_each_other_in_a_circle():
    left = _rooms_imported()
    while left:
        free = [room for room, needs in left.items() if not needs & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for room in free:
            del left[room]


def test_from_fit_to_the_kernel_it_is_ten_calls_at_most(paper):
    X, y, _ = paper
    MixtureClassifier().fit(X, y)
    depths = []

    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "kernel":
            depth = 0
            while frame is not None and frame.f_code.co_name != "fit":
                frame, depth = frame.f_back, depth + 1
            depths.append(depth)

    sys.setprofile(watch)
    try:
        MixtureClassifier().fit(X, y)
    finally:
        sys.setprofile(None)
    assert 0 < max(depths) <= 10


def test_checked_data_give_what_the_data_gave(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(X, y)
    data = clf.check(X, y)
    again = MixtureClassifier().fit(data, None)
    assert again.log_likelihood_ == clf.log_likelihood_
    np.testing.assert_array_equal(clf.predict_proba(data), clf.predict_proba(X))
    np.testing.assert_array_equal(clf.resolve(data), clf.resolve(X, y))
    assert clf.log_likelihood(data) == clf.log_likelihood(X, y)


def test_an_analysis_checks_its_data_once(tmp_path, monkeypatch):
    data = simulate(n=137, random_state=0)
    lines = [
        f"{x},{y},{label if label >= 0 else ''}"
        for (x, y), label in zip(
            data.features.tolist(), np.where(data.labelled, data.truth, -1).tolist(), strict=True
        )
    ]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["x,y,label", *lines]))
    looked, encoded = [], []
    look, encode = intake.refuse_not_finite, intake.encode
    monkeypatch.setattr(
        intake, "refuse_not_finite", lambda X, *a: looked.append(len(X)) or look(X, *a)
    )
    monkeypatch.setattr(intake, "encode", lambda *a: encoded.append(1) or encode(*a))
    command = ["hesitant", "analyse", str(table), "--label", "label", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert looked.count(137) == 1
    assert len(encoded) == 1
