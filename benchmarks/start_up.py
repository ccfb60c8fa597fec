"""What the first import, a small analysis and the first fit on a new machine cost.

Each is timed in a fresh process; the first fit also with an empty cache of compiled code.
"""

import os
import subprocess
import sys
import tempfile
import time

from hesitant.datasets import simulate

FIT = """
import time
from benchmarks._common import blobs
from hesitant import MixtureClassifier
X, y = blobs({n}, {p}, {g})
for _ in range({times}):
    begin = time.perf_counter()
    MixtureClassifier().fit(X, y)
print(time.perf_counter() - begin)
"""
IMPORT = "import time, sklearn.base, sklearn.utils.validation; t = time.perf_counter(); {}; print(time.perf_counter() - t)"  # noqa: E501
# The time of outermost imports alone, wherever in the analysis they happen.
ANALYSE = """
import importlib._bootstrap as machinery, sys, time
load, depth, spent = machinery._find_and_load, 0, 0.0
def timed(*given):
    global depth, spent
    begin, depth = time.perf_counter(), depth + 1
    try:
        return load(*given)
    finally:
        depth -= 1
        spent += 0 if depth else time.perf_counter() - begin
machinery._find_and_load = timed
from hesitant.cli import main
sys.argv = ["hesitant", "analyse", {table!r}, "--label", "label", "--force", "-q"]
try:
    main()
finally:
    print(spent)
"""


def run(code: str, **env: str) -> float:
    """Return the seconds that a fresh process prints; modules are compiled once, as for users."""
    kept = {name: value for name, value in os.environ.items() if "BYTECODE" not in name}
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(out.stdout.split()[-1])


def main() -> None:
    added = min(run(IMPORT.format("from hesitant import MixtureClassifier")) for _ in range(5))
    print(f"from hesitant import MixtureClassifier, after scikit-learn: {added:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/table.csv"
        simulate(n=500, random_state=0).to_frame("label").to_csv(table, index=False)
        for where, how in {"on a new machine": "", "where kernels are compiled": "always"}.items():
            env, taken = {"NUMBA_CACHE_DIR": f"{folder}/kernels{how}", "HESITANT_COMPILE": how}, []
            for _ in range(6):
                begin = time.perf_counter()
                spent = run(ANALYSE.format(table=table), **env)
                taken.append((spent, time.perf_counter() - begin))
            spent, whole = map(min, zip(*taken, strict=True))
            words = f"{spent:.2f} s of {whole:.2f} from start to end"
            print(f"imports of a small analysis {where}: {words}")
    with tempfile.TemporaryDirectory() as folder:
        env = {"NUMBA_CACHE_DIR": folder, "HESITANT_COMPILE": ""}
        small = run(FIT.format(n=300, p=2, g=2, times=1), **env)
        print(f"first small fit ever: {small:.2f} s")
        large = run(FIT.format(n=200_000, p=10, g=4, times=1), **env)
        print(f"first fit of 200,000 x 10, which compiles nothing either: {large:.1f} s")
        size = {"n": 1_000_000, "p": 10, "g": 4}
        cold, known = (run(FIT.format(**size, times=1), **env) for _ in range(2))
        warm = run(FIT.format(**size, times=2), **env)
        words = f"later {known:.1f} s, and {warm:.1f} in the same process"
        print(f"first fit of 1,000,000 x 10, which compiles: {cold:.1f} s; {words}")
    with tempfile.TemporaryDirectory() as folder:
        env = {"NUMBA_CACHE_DIR": folder, "HESITANT_COMPILE": "always"}
        every = run(FIT.format(n=300, p=2, g=2, times=1), **env)
    print(f"a first small fit that must compile every kernel: {every:.1f} s")


if __name__ == "__main__":
    main()
