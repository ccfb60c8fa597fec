"""Sizes and power of the tests that labels are missing at random, by simulation.

The paper's two classes (n = 500 and 150), with labels missing completely at random (sizes: the
share of p-values below 0.05 should be 0.05) or by the paper's mechanism, weakened so that power
is not simply one. Then labels lost by chance where tests are strained: a spline basis, few labels
of several classes, many features, down to one row a parameter, and classes so far apart that
hardly a row is in doubt. Last, labels that depend on the class and not on difficulty, which no
mechanism here describes: there the caution that labels may be missing by class should always be
given, and elsewhere next to never.
``python -m benchmarks.study_tests [replications]``.
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import diagnose
from hesitant.mechanisms import EntropyMechanism

SETTINGS = {
    "size, n = 500": {"n": 500, "intercept": 0.6, "slope": 0.0},
    "size, n = 150": {"n": 150, "intercept": 0.6, "slope": 0.0},
    "size, n = 500, few labels": {"n": 500, "intercept": -2.0, "slope": 0.0},
    "size, n = 500, few blanks": {"n": 500, "intercept": 2.5, "slope": 0.0},
    "power, n = 150, slope -1.5": {"n": 150, "intercept": 0.8, "slope": -1.5},
    "power, n = 500, slope -5": {"n": 500, "intercept": 1.0, "slope": -5.0},
}
ALPHA = 0.05


STRAINED = {
    # rows, features, classes, share labelled, basis
    "spline basis, n = 150": (150, 2, 2, 0.6, "spline"),
    "spline basis, n = 500": (500, 2, 2, 0.6, "spline"),
    "4 classes, 4 features, n = 400, 15 % labelled": (400, 4, 4, 0.15, "linear"),
    "10 features, n = 900 (6.8 rows a parameter)": (900, 10, 2, 0.5, "linear"),
    "10 features, n = 300 (2.3 rows a parameter)": (300, 10, 2, 0.5, "linear"),
    "20 features, n = 500 (1.1 rows a parameter)": (500, 20, 2, 0.5, "linear"),
}


def paper(setting: dict[str, float], n_boot: int, seed: int) -> dict[str, float]:
    data = simulate(**setting, random_state=seed)
    return answers(data.features, data.labels, "linear", n_boot, seed)


def strained(setting: tuple[int, int, int, float, str], seed: int) -> dict[str, float]:
    n, p, g, share, basis = setting
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, g, n)
    X = rng.standard_normal((n, p))
    X[np.arange(n), truth % p] += 2.0 * (1 + truth // p)
    return answers(X, np.where(rng.random(n) < share, truth, -1), basis, 0, seed)


def far_apart(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 4)) + 2.0 * rng.standard_normal((2, 4))[truth]
    return answers(X, np.where(rng.random(300) < 0.6, truth, -1), "linear", 0, seed)


BY_CLASS = {
    # share labelled of each class
    "90 % and 30 %": (0.9, 0.3),
    "90 %, 50 % and 15 %": (0.9, 0.5, 0.15),
    "60 %, 60 % and none": (0.6, 0.6, 0.0),
}


def by_class(shares: tuple[float, ...], seed: int) -> dict[str, float]:
    """Return what is found where labels are given by chance, to some classes more often."""
    rng = np.random.default_rng([seed, 1])
    g = len(shares)
    if g == 2:
        data = simulate(n=500, random_state=seed)
        X, truth = data.features, data.truth
    else:
        truth = rng.integers(0, g, 500)
        X = rng.standard_normal((500, 2)) + 3.0 * np.eye(g)[truth, 1:]
    y = np.where(rng.random(500) < np.array(shares)[truth], truth, -1)
    return answers(X, y, "linear", 0, seed, classes=list(range(g)))


def answers(
    X: np.ndarray, y: np.ndarray, basis: str, n_boot: int, seed: int, classes: list | None = None
) -> dict[str, float]:
    """Return every test's p-value, and 0 where verdict and caution find something, else 1."""
    model = MixtureClassifier(mechanism=EntropyMechanism(basis=basis), classes=classes)
    result = diagnose(X, y, estimator=model, n_boot=n_boot, random_state=seed)
    out = {test.name: test.p_value for test in result.tests}
    out["the verdict"] = 0.0 if result.finding in ("hard", "easy", "mixed") else 1.0
    return {**out, "caution: missing by class?": 0.0 if result.missing_by_class else 1.0}


def study(task: Callable[[int], dict[str, float]], replications: int) -> dict[str, np.ndarray]:
    """Return every test's p-values over replications."""
    rows = Parallel(n_jobs=2)(delayed(task)(seed) for seed in range(replications))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def show(title: str, found: dict[str, np.ndarray]) -> None:
    print(f"\n{title}")
    for name, p in found.items():
        missing = np.isnan(p).sum()
        skipped = f"   ({missing} skipped)" if missing else ""
        print(f"  {name:32s} {np.mean(p[~np.isnan(p)] < ALPHA):6.3f}{skipped}", flush=True)


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    error = np.sqrt(ALPHA * (1 - ALPHA) / replications)
    print(f"Share of p < {ALPHA} over {replications} replications (error of a true 0.05: ", end="")
    print(f"{error:.4f})")
    for title, setting in SETTINGS.items():
        show(title, study(partial(paper, setting, 0), replications))
    for title, strain in STRAINED.items():
        show(f"size, {title}", study(partial(strained, strain), max(200, replications // 5)))
    found = study(far_apart, max(200, replications // 5))
    show("size, two classes that are mostly far apart, 4 features, n = 300", found)
    for title, shares in BY_CLASS.items():
        found = study(partial(by_class, shares), max(200, replications // 5))
        show(f"labels given by class, whatever the difficulty, n = 500: {title}", found)
    few = max(100, replications // 5)
    print(f"\nbootstrap likelihood ratio, n = 150, 99 replicates each, {few} replications")
    task = partial(paper, SETTINGS["size, n = 150"], 99)
    p = study(task, few)["likelihood ratio, bootstrap"]
    print(f"  size {np.mean(p < ALPHA):6.3f}")


if __name__ == "__main__":
    main()
