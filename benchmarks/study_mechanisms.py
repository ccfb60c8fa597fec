"""Which mechanism, in which world: the paper's classes, labels withheld in four ways.

Blanks by difficulty, by class (90 % of one class and 30 % of the other are labelled), by both,
and at random; n = 500. For each of the four mechanisms the share of wrong answers of its rule on
new rows (the exact rate, by the true posteriors of 20,000 rows), for the one that ``diagnose``
suggests, and how often 95 % intervals cover the classes' true intercepts.
``python -m benchmarks.study_mechanisms [replications]``.
"""

import sys
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy import special

from benchmarks._common import COVARIANCES, MEANS, log_posterior
from hesitant import MixtureClassifier
from hesitant.diagnostics import diagnose

MECHANISMS = ("none", "entropy", "class", "entropy+class")
WORLDS = {
    # intercepts of the two classes, slope in the entropy
    "difficulty": ((1.0, 1.0), -5.0),
    "class, 90 and 30 %": ((np.log(9), np.log(3 / 7)), 0.0),
    "both": ((2.5, -0.2), -4.0),
    "at random": ((0.5, 0.5), 0.0),
}
ROWS, NEW_ROWS = 500, 20_000


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    truth = rng.integers(0, 2, n)
    z = rng.standard_normal((n, 2))
    return np.einsum("nij,nj->ni", np.linalg.cholesky(COVARIANCES)[truth], z) + MEANS[truth], truth


def one(world: str, seed: int) -> dict[str, float]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    intercepts, slope = WORLDS[world]
    X, truth = draw(ROWS, rng)
    log_tau = log_posterior(X)
    entropy = -(np.exp(log_tau) * log_tau).sum(axis=1)
    seen = rng.random(ROWS) < special.expit(np.array(intercepts)[truth] + slope * entropy)
    y = np.where(seen, truth, -1)
    new, _ = draw(NEW_ROWS, rng)
    right = np.exp(log_posterior(new))
    out: dict[str, float] = {}
    for name in MECHANISMS:
        clf = MixtureClassifier(mechanism=None if name == "none" else name).fit(X, y)
        out[name] = 1 - right[np.arange(NEW_ROWS), clf.predict(new)].mean()
        if name == "entropy+class":
            table = clf.summary().set_index("parameter")
            for h, value in enumerate(intercepts):
                row = table.loc[f"intercept[{h}]"]
                out[f"covers {h}"] = float(row.lower <= value <= row.upper)
    out["suggested"] = out[diagnose(X, y).suggested]
    out["best rule"] = 1 - right.max(axis=1).mean()
    return out


def main(replications: int = 200) -> None:
    columns = (*MECHANISMS, "suggested", "best rule")
    print(f"{'% wrong':20s}" + "".join(f"{c:>15s}" for c in columns) + "  95 % intervals cover")
    for world in WORLDS:
        found = Parallel(n_jobs=-1)(delayed(one)(world, seed) for seed in range(replications))
        mean = {c: 100 * np.mean([f[c] for f in found]) for c in columns}
        covers = [np.mean([f[f"covers {h}"] for f in found]) for h in (0, 1)]
        cells = "".join(f"{mean[c]:15.2f}" for c in columns)
        print(f"{world:20s}{cells}  {covers[0]:.2f}, {covers[1]:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
