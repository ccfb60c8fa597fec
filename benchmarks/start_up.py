"""What the first import and the first fit on a new machine cost.

Each is timed in a fresh process; the first fit also with an empty cache of compiled code.
"""

import os
import subprocess
import sys
import tempfile

FIT = """
import time, numpy as np
from hesitant import MixtureClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 2)), rng.integers(-1, 2, 300)
begin = time.perf_counter()
MixtureClassifier().fit(X, y)
print(time.perf_counter() - begin)
"""
IMPORT = "import time, sklearn.base, sklearn.utils.validation; t = time.perf_counter(); {}; print(time.perf_counter() - t)"  # noqa: E501


def run(code: str, **env: str) -> float:
    """Return the seconds that a fresh process prints."""
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(out.stdout.split()[-1])


def main() -> None:
    added = min(run(IMPORT.format("from hesitant import MixtureClassifier")) for _ in range(5))
    print(f"from hesitant import MixtureClassifier, after scikit-learn: {added:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        small = run(FIT, NUMBA_CACHE_DIR=folder, HESITANT_COMPILE="")
        cold = run(FIT, NUMBA_CACHE_DIR=folder)
        warm = run(FIT, NUMBA_CACHE_DIR=folder)
    print(f"first small fit ever: {small:.2f} s; if it compiles {cold:.1f} s; later {warm:.2f} s")


if __name__ == "__main__":
    main()
