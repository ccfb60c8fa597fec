"""Another version against the one here: ``python -m benchmarks.before_after CHECKOUT``.

CHECKOUT is a working copy of the other version (``git worktree add CHECKOUT TAG``). Each case runs
in a process of its own, the versions taking turns; the shortest time of each counts. Only what
both offer is asked for, with the packages that are installed here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._common import blobs

HERE = Path(__file__).resolve().parents[1]
TURNS = 2

START = """
import time, warnings
import numpy as np
from sklearn.datasets import load_digits
from benchmarks._common import best_of, blobs, paper_data
from hesitant import MixtureClassifier
from hesitant.mechanisms import EntropyMechanism
warnings.simplefilter("ignore")
def wide():
    X, y = blobs(284, 30, 2)
    return X, np.where(np.arange(284) % 2, y, MixtureClassifier().fit(X, y).predict(X))
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:800, np.ptp(X[:800], axis=0) > 0], np.where(np.arange(800) % 2, y[:800], -1)
"""
FIRST = "X, y = blobs({}); clf = MixtureClassifier(); print(best_of(lambda: clf.fit(X, y), 1))"
LATER = """
X, y = {data}
clf = MixtureClassifier({how}).fit(X, y)
least = best_of(lambda: {work}, 1)
if least < 20:  # seconds; the first may have compiled something
    least = min(least, best_of(lambda: {work}, int(np.clip(1 / least, 2, 30))))
print(least)
"""
COMMAND = """
import subprocess, sys, time
begin = time.perf_counter()
subprocess.run([sys.executable, "-m", "hesitant", {}], check=True, capture_output=True)
print(time.perf_counter() - begin)
"""
SIZES = {
    "500 x 2": "paper_data(500)",
    "20,000 x 5": "blobs(20_000, 5, 3)",
    "200,000 x 10": "blobs(200_000, 10, 4)",
    "284 x 30": "wide()",
}
QUESTIONS = {
    "fit": "clf.fit(X, y)",
    "summary": "clf.summary()",
    "diagnose": "clf.diagnose(X, y)",
    "triage": "clf.triage(X, y)",
    "efficiency": "clf.efficiency(random_state=0)",
}


def cases(table: str) -> dict[str, str]:
    """Return code that prints seconds, by what it times."""

    def later(data: str, work: str = "clf.fit(X, y)", how: str = "") -> str:
        return START + LATER.format(data=data, work=work, how=how)

    out = {
        "first small fit": START + FIRST.format("300, 2, 2"),
        "first fit of 200,000 x 10": START + FIRST.format("200_000, 10, 4"),
        "hesitant --help": COMMAND.format("'--help'"),
        "hesitant analyse, 500 x 2, one model": COMMAND.format(
            f"'analyse', {table!r}, '--label', 'label', '--family', 'gaussian', '--force'"
        ),
    }
    for size, data in SIZES.items():
        out |= {f"{name}, {size}": later(data, work) for name, work in QUESTIONS.items()}
    out["fit, 10,000 x 2"] = later("paper_data(10_000)")
    out["fit, 100,000 x 50"] = later("blobs(100_000, 50, 4)")
    out["t fit, digits, 800 x 61"] = later("digits()", how="'t'")
    for solver in ("one_step_late", "profile"):
        how = f"mechanism=EntropyMechanism(basis='spline'), solver={solver!r}"
        out[f"{solver}, spline, 5,000 x 2"] = later("paper_data(5_000)", how=how)
    return out


def seconds(code: str, checkout: Path, **more: str) -> float:
    """Return what a fresh process prints, NaN if the version cannot do it."""
    env = {**os.environ, "PYTHONPATH": str(checkout / "src"), **more}
    kept = {"capture_output": True, "text": True, "cwd": HERE, "env": env}
    done = subprocess.run([sys.executable, "-c", code], **kept)
    return float("nan") if done.returncode else float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a working copy of the other version")
    versions = parser.parse_args().checkout.resolve(), HERE
    print(f"{'seconds':38s}{'before':>10s}{'after':>10s}{'times as fast':>15s}")
    with tempfile.TemporaryDirectory() as folder:
        X, y = blobs(500, 2, 2)
        label = np.array(["", "a", "b"])[y + 1]
        rows = [f"{a},{b},{c}" for (a, b), c in zip(X, label, strict=True)]
        table = Path(folder, "table.csv")
        table.write_text("\n".join(["x,y,label", *rows]))
        for name, code in cases(str(table)).items():
            taken = np.empty((TURNS, 2))
            for turn, k in np.ndindex(taken.shape):
                how = {"NUMBA_CACHE_DIR": f"{folder}/{k}", "HESITANT_COMPILE": "always"}
                if name.startswith("first"):  # on a new machine, where it may do without
                    how = {"NUMBA_CACHE_DIR": f"{folder}/{name}{k}{turn}", "HESITANT_COMPILE": ""}
                taken[turn, k] = seconds(code, versions[k], **how)
            before, after = taken.min(axis=0)
            print(f"{name:38s}{before:10.4f}{after:10.4f}{before / after:15.1f}", flush=True)


if __name__ == "__main__":
    main()
