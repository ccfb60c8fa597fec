"""What empty cells and several components cost, and what is gained by not imputing.

A pass is one evaluation of the full likelihood and one M-step. The log loss is that of rows held
out, with as many empty cells as the rows of the fit: exact likelihood against the same classifier
after imputation.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from benchmarks._common import best_of, blobs
from hesitant import MixtureClassifier
from hesitant.families import Components, Family, Gaussian, StudentT
from hesitant.likelihood import Likelihood, State
from hesitant.mechanisms import EntropyMechanism
from hesitant.rows import Rows


def one_pass(family: Family, X: np.ndarray, y: np.ndarray, g: int) -> float:
    """Return seconds for one evaluation and M-step."""
    family = family.specialise("full", 1e-6)
    mechanism = EntropyMechanism().prepare(g)
    first = X[:2000]
    start = np.eye(g)[np.arange(len(first)) % g]
    state = State(np.full(g, 1 / g), family.initial(first, start), np.array([0.5, -2.0]))
    rows = Rows(X, y, n_classes=g)
    likelihood = Likelihood(rows, family, mechanism)
    return best_of(lambda: likelihood.maximise(state, likelihood.evaluate(state)), 7)


def passes(n: int, p: int, g: int) -> None:
    X, y = blobs(n, p, g)
    rng = np.random.default_rng(1)
    print(f"A pass over {n:,} rows, p = {p}, g = {g}, one thread (milliseconds; x = of complete)")
    for family in (Gaussian(), StudentT()):
        whole = one_pass(family, X, y, g)
        print(f"  {type(family).__name__:9s} complete {1e3 * whole:8.1f}")
        for share in (0.01, 0.1, 0.5):
            torn = X.copy()
            rows = rng.random(n) < share
            empty = rows[:, None] & (rng.random(X.shape) < 0.2)
            torn[empty] = np.nan
            seconds = one_pass(family, torn, y, g)
            patterns = len(np.unique(empty, axis=0)) - 1
            print(
                f"    {share:4.0%} of the rows incomplete, {patterns:5d} patterns "
                f"{1e3 * seconds:8.1f}  x {seconds / whole:.2f}"
            )
        for k in (1, 2, 3):
            seconds = one_pass(Components(family, k), X, y, g)
            print(f"    {k} components a class {1e3 * seconds:8.1f}  x {seconds / whole:.2f}")


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return complete data: scikit-learn's, and those in HESITANT_DATA/bench if it is set."""
    X, y = load_breast_cancer(return_X_y=True)
    found = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast": (X[:, :10], y),
    }
    folder = Path(os.environ.get("HESITANT_DATA", "")) / "bench"
    for name in ("seeds", "vehicle", "banknote"):
        file = folder / f"{name}.csv"
        if os.environ.get("HESITANT_DATA") and file.exists():
            table = np.genfromtxt(file, delimiter=",", skip_header=1)
            found[name] = table[:, :-2], table[:, -2].astype(int)
    return found


def against_imputation(repeats: int) -> None:
    print("Held-out log loss, labels given to 70 %: exact, mean imputed, iteratively imputed")
    for name, (X, y) in sets().items():
        for share in (0.1, 0.3):
            losses = []
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                torn = np.where(rng.random(X.shape) < share, np.nan, X)
                order = rng.permutation(len(y))
                fit, out = order[: len(y) // 2], order[len(y) // 2 :]
                labels = np.where(rng.random(len(fit)) < 0.7, y[fit], -1)
                clf = MixtureClassifier(covariance="shrunk", mechanism=None)
                ways = (
                    clf,
                    make_pipeline(SimpleImputer(), clf),
                    make_pipeline(IterativeImputer(random_state=0), clf),
                )
                losses.append(
                    [
                        log_loss(y[out], way.fit(torn[fit], labels).predict_proba(torn[out]))
                        for way in ways
                    ]
                )
            exact, mean, iterative = np.mean(losses, axis=0)
            print(f"  {name:9s} {share:3.0%} empty: {exact:.3f} {mean:.3f} {iterative:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    passes(args.rows, 10, 4)
    against_imputation(args.repeats)


if __name__ == "__main__":
    main()
