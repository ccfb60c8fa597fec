"""Sizes and power of the tests that labels are missing at random, by simulation.

The paper's two classes (n = 500 and 150), with labels missing completely at random (sizes: the
share of p-values below 0.05 should be 0.05) or by the paper's mechanism, weakened so that power
is not simply one. ``python -m benchmarks.study_tests [replications]``.
"""

import sys
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from hesitant.datasets import simulate
from hesitant.diagnostics import diagnose

SETTINGS = {
    "size, n = 500": {"n": 500, "intercept": 0.6, "slope": 0.0},
    "size, n = 150": {"n": 150, "intercept": 0.6, "slope": 0.0},
    "size, n = 500, few labels": {"n": 500, "intercept": -2.0, "slope": 0.0},
    "size, n = 500, few blanks": {"n": 500, "intercept": 2.5, "slope": 0.0},
    "power, n = 150, slope -1.5": {"n": 150, "intercept": 0.8, "slope": -1.5},
    "power, n = 500, slope -5": {"n": 500, "intercept": 1.0, "slope": -5.0},
}
ALPHA = 0.05


def p_values(setting: dict[str, float], n_boot: int, seed: int) -> dict[str, float]:
    data = simulate(**setting, random_state=seed)
    result = diagnose(data.features, data.labels, n_boot=n_boot, random_state=seed)
    return {test.name: test.p_value for test in result.tests}


def study(setting: dict[str, float], replications: int, n_boot: int = 0) -> dict[str, np.ndarray]:
    """Return every test's p-values over replications."""
    task = partial(p_values, setting, n_boot)
    rows = Parallel(n_jobs=2)(delayed(task)(seed) for seed in range(replications))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    error = np.sqrt(ALPHA * (1 - ALPHA) / replications)
    print(f"Share of p < {ALPHA} over {replications} replications (error of a true 0.05: ", end="")
    print(f"{error:.4f})")
    for title, setting in SETTINGS.items():
        print(f"\n{title}")
        for name, p in study(setting, replications).items():
            missing = np.isnan(p).sum()
            skipped = f"   ({missing} skipped)" if missing else ""
            print(f"  {name:32s} {np.mean(p[~np.isnan(p)] < ALPHA):6.3f}{skipped}")
    few = max(100, replications // 5)
    print(f"\nbootstrap likelihood ratio, n = 150, 99 replicates each, {few} replications")
    p = study(SETTINGS["size, n = 150"], few, n_boot=99)["likelihood ratio, bootstrap"]
    print(f"  size {np.mean(p < ALPHA):6.3f}")


if __name__ == "__main__":
    main()
