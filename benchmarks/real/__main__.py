"""Compare with other classifiers on real data, and keep the figures.

``python -m benchmarks.real [--repeats 2] [--sets iris,wine] [--models "LDA;QDA"]
[--only known|hesitation]``

Writes ``benchmarks/real/results.csv``: one line for each set, pattern, split and model.
"""

import argparse
import csv
import os
import platform
import time
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.hesitation import hesitation_rows
from benchmarks.real.peers import LABELLED, PARTLY, fit_peer
from benchmarks.real.sets import PATTERNS, data_folder, known_sets, split
from hesitant import MixtureClassifierCV, __version__, diagnose

TABLE = Path(os.environ.get("HESITANT_REAL_TABLE", Path(__file__).with_name("results.csv")))
HEAD = ("kind", "set", "pattern", "split", "model", "rows", "features", "classes", "labelled",
        "error", "log_loss", "overclaim", "seconds", "diagnose", "date", "versions")  # fmt: skip
OURS = "MixtureClassifierCV"
FLOOR = 1e-3  # a forest's zero must not make a mean infinite; kind to the peers, hard on nobody


def judge(P: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return error, log loss, and how much surer than right the probabilities are."""
    P = np.nan_to_num(np.asarray(P, dtype=float), nan=1 / P.shape[1])
    own = np.maximum(P[np.arange(len(truth)), truth], FLOOR)
    right = P.argmax(axis=1) == truth
    return {
        "error": 1 - right.mean(),
        "log_loss": -np.log(own).mean(),
        "overclaim": P.max(axis=1).mean() - right.mean(),
    }


def verdict(X: np.ndarray, y: np.ndarray) -> str:
    """Return what ``diagnose`` says of the blanks, in a word, before anything is fitted."""
    found = diagnose(X, y, covariance="tied")
    return str(found.finding) + (", by class" if found.missing_by_class else "")


def known_rows(
    names: tuple[str, ...], repeats: int, models: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Yield results on sets whose classes are known, one split of all of them after the other."""
    sets = list(known_sets(names))
    for repeat in range(repeats):
        for data in sets:
            for pattern in PATTERNS:
                part = split(data, pattern, repeat)
                about = {
                    "kind": "known",
                    "set": data.name,
                    "pattern": pattern,
                    "split": repeat,
                    "rows": len(part.y),
                    "features": data.X.shape[1],
                    "classes": len(np.unique(data.truth)),
                    "labelled": (part.y >= 0).mean(),
                    "diagnose": verdict(part.X, part.y),
                }
                for model in models or (*LABELLED, *PARTLY, OURS):
                    begin = time.perf_counter()
                    fit = (
                        MixtureClassifierCV(random_state=repeat).fit(part.X, part.y)
                        if model == OURS
                        else fit_peer(model, part.X, part.y)
                    )
                    found = judge(fit.predict_proba(part.X_test), part.test)
                    seconds = time.perf_counter() - begin
                    yield {**about, "model": model, **found, "seconds": seconds}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--sets", default="")
    options.add_argument("--models", default="", help="these alone; the others' rows are kept")
    options.add_argument("--only", choices=("known", "hesitation"))
    given = options.parse_args()
    if data_folder() is None:
        raise SystemExit("Set HESITANT_DATA to the folder of the data.")
    warnings.simplefilter("ignore")
    names = tuple(name for name in given.sets.split(",") if name)
    models = tuple(name for name in given.models.split(";") if name)
    import sklearn

    stamp = {
        "date": date.today().isoformat(),
        "versions": f"hesitant {__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}",
    }
    kept = []
    if TABLE.exists() and (given.only or names or models):
        with open(TABLE, newline="", encoding="utf-8") as file:
            kept = [row for row in csv.DictReader(file)
                    if (given.only and row["kind"] != given.only)
                    or (names and row["set"] not in names)
                    or (models and row["model"] not in models)]  # fmt: skip
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEAD, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        if given.only != "hesitation":
            _write(writer, file, known_rows(names, given.repeats, models), stamp)
        if given.only != "known":
            _write(writer, file, hesitation_rows(names, judge, verdict), stamp)


def _write(writer: Any, file: Any, rows: Iterator[dict[str, Any]], stamp: dict[str, str]) -> None:
    for row in rows:
        shown = {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()}
        writer.writerow({**shown, **stamp})
        file.flush()
        print(*(shown.get(k, "") for k in ("set", "pattern", "split", "model", "error",
                                           "log_loss", "overclaim")), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
