"""How strongly classes should be pulled together: two criteria in several made-up worlds.

Three classes, half of the rows labelled (in "hard cases blank" the easier half). Strengths of
``covariance="shrunk"`` are chosen on labelled rows left out: by the probability of their labels,
by their density, or by both (the density where labels hardly tell, as the package does). Then each
is fitted with blanks and without regard to their pattern, and judged on 4,000 new rows. Beside
them scikit-learn's linear discriminant analysis with ``shrinkage="auto"``, of labelled rows alone,
and the package's default mechanism. ``python -m benchmarks.study_shrinkage [replications]``.
"""

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from hesitant import MixtureClassifier
from hesitant.families import Gaussian, Shrunk
from hesitant.families._shrinkage import CLOSE, GRID, held_out, judged, likely

NEW_ROWS, CLASSES = 4000, 3
# rows, features, covariances of the classes, errors
WORLDS = {
    "wide": (200, 60, "unit", "normal"),
    "wide, hard cases blank": (200, 60, "unit", "normal"),
    "own matrices": (200, 8, "own", "normal"),
    "own matrices, many rows": (2000, 8, "own", "normal"),
    "one matrix": (200, 8, "shared", "normal"),
    "independent features": (200, 8, "diagonal", "normal"),
    "heavy tails": (200, 8, "own", "t"),
    "skewed": (200, 8, "own", "lognormal"),
    "hard cases blank": (500, 2, "own", "normal"),
    "hard cases blank, many rows": (2000, 2, "own", "normal"),
}
ERRORS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "t": lambda rng, size: rng.standard_t(3, size),
    "lognormal": lambda rng, size: np.exp(0.8 * rng.standard_normal(size)) - np.exp(0.32),
}


def draw(world: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows to fit with their labels (−1 blank), and new rows with their classes."""
    n, p, kind, errors = WORLDS[world]
    rng = np.random.default_rng(seed)
    telling = min(p, 4 if kind == "unit" else 8)
    means = np.zeros((CLASSES, p))
    means[:, :telling] = (0.7 if kind == "unit" else 0.9) * rng.standard_normal((CLASSES, telling))
    own = np.eye(p) + 0.4 * rng.standard_normal((CLASSES, p, p))
    halves = {
        "unit": np.repeat(np.eye(p)[None], CLASSES, axis=0),
        "own": own,
        "shared": np.repeat(own[:1], CLASSES, axis=0),
        "diagonal": np.repeat(
            np.diag(np.exp(0.5 * rng.standard_normal(p)))[None], CLASSES, axis=0
        ),
    }[kind]
    truth = rng.integers(CLASSES, size=n + NEW_ROWS)
    noise = ERRORS[errors](rng, (n + NEW_ROWS, p))
    X = means[truth] + np.einsum("ijk,ik->ij", halves[truth], noise)
    chance = np.full(n, 0.5)
    if "hard" in world:
        white = [
            np.linalg.solve(half, (X[:n] - m).T) for half, m in zip(halves, means, strict=True)
        ]
        joint = np.array([-0.5 * (z**2).sum(axis=0) for z in white]).T
        joint -= np.log(np.abs(np.linalg.det(halves)))
        tau = np.exp(joint - joint.max(axis=1, keepdims=True))
        tau /= tau.sum(axis=1, keepdims=True)
        entropy = -(tau * np.log(np.maximum(tau, 1e-300))).sum(axis=1)
        chance = 1 / (1 + np.exp(5 * (entropy - np.median(entropy))))
    y = np.where(rng.random(n) < chance, truth[:n], -1)
    return X[:n], y, X[n:], truth[n:]


def choices(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Shrunk]]:
    """Yield the strengths that each criterion chooses."""
    center, spread = Gaussian()._units(X)
    Z = (X[y >= 0] - center) / spread
    weights = (y[y >= 0, None] == np.arange(CLASSES)).astype(float)
    by_label, by_density = held_out(Z, weights, GRID, 1e-6 * CLASSES)
    yield "labels", Shrunk(*likely(by_label, GRID))
    yield "both", Shrunk(*likely(judged(by_label, by_density, CLOSE * len(Z) / X.shape[1]), GRID))
    yield "density", Shrunk(*likely(by_density, GRID))


def judge(clf: object, X: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return the share of wrong answers, log loss, and certainty claimed beyond what is right."""
    chances = np.maximum(clf.predict_proba(X), 1e-12)  # type: ignore[attr-defined]
    right = float((chances.argmax(axis=1) == truth).mean())
    loss = -np.log(chances[np.arange(len(truth)), truth]).mean()
    return 1 - right, float(loss), float(chances.max(axis=1).mean()) - right


def main() -> None:
    warnings.simplefilter("ignore")
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print("% wrong / log loss / points claimed too many; lowest accuracy against LDA's, in points")
    for world in WORLDS:
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(replications):
            X, y, new, truth = draw(world, seed)
            lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
            fits = {"LDA": lda.fit(X[y >= 0], y[y >= 0])}
            for name, structure in choices(X, y):
                fits[name] = MixtureClassifier(covariance=structure, mechanism=None).fit(X, y)
            fits["with mechanism"] = MixtureClassifier(covariance="shrunk").fit(X, y)
            for name, clf in fits.items():
                found.setdefault(name, []).append(judge(clf, new, truth))
        print(world)
        reference = np.array(found["LDA"])[:, 0]
        for name, values in found.items():
            wrong, loss, over = np.mean(values, axis=0)
            worst = 100 * (reference - np.array(values)[:, 0]).min()
            print(
                f"  {name:15} {100 * wrong:5.1f} / {loss:.3f} / {100 * over:5.1f}   {worst:5.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
