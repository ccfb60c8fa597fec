"""What standard errors, a diagnosis and the like take, beside the fit that they follow.

The second way to the same information matrix is a central difference of the whole gradient, two
passes over the rows for every parameter. Both are computed here, and must agree.
"""

import warnings

import numpy as np

from benchmarks._common import best_of, blobs
from hesitant import FitWarning, MixtureClassifier
from hesitant.inference._scores import axes_at, curvature

# The last is wide: more parameters than rows.
SIZES = ((500, 2, 2), (20_000, 5, 3), (200_000, 10, 4), (284, 30, 2))


def by_differences(likelihood: object, chart: object, step: float = 1e-3) -> np.ndarray:
    """Return the information from gradients on both sides of every axis."""
    out = np.empty((chart.size, chart.size))
    for axis, along in enumerate(step * np.eye(chart.size)):
        ahead, behind = (chart.decode(v) for v in (along, -along))
        rise = chart.gradient(ahead, likelihood.evaluate(ahead))
        rise -= chart.gradient(behind, likelihood.evaluate(behind))
        out[axis] = -rise / (2 * step)
    return (out + out.T) / 2


def two_ways(n: int, p: int, g: int, family: str) -> None:
    X, y = blobs(n, p, g)
    if family != "gaussian":  # tails and slants that can be estimated
        rng = np.random.default_rng(1)
        X = X + 2 * np.abs(rng.standard_normal((n, 1))) + rng.standard_t(3, X.shape)
    clf = MixtureClassifier(family).fit(X, y)
    model, rows = clf.fitted_, clf.fit_rows
    likelihood = model.likelihood(rows)
    axes, evaluation = axes_at(model, rows)
    chart = axes.chart
    found = curvature(model, rows, axes, evaluation)[0]
    expected = by_differences(likelihood, chart)
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()
    fast = best_of(lambda: curvature(model, rows, axes, evaluation), 3)
    slow = best_of(lambda: by_differences(likelihood, chart), 1)
    print(
        f"  {family:8s} n = {n:>9,}, p = {p:2d}, g = {g}, {chart.size:3d} parameters: "
        f"{fast:6.2f} s against {slow:6.2f} s, {slow / fast:4.1f} times faster"
    )


def after_a_fit(n: int, p: int, g: int) -> None:
    """Print what each question takes, in seconds and in fits."""
    X, y = blobs(n, p, g)
    if n < p**2:  # a tenth of the labels would leave next to none
        y = np.where(np.arange(n) % 2, blobs(n, p, g)[1], MixtureClassifier().fit(X, y).predict(X))
    clf, repeats = MixtureClassifier(), 5 if n > 1000 else 40
    fit = best_of(lambda: clf.fit(X, y), repeats)
    questions = {
        "summary": clf.summary,
        "diagnose": lambda: clf.diagnose(X, y),
        "triage": lambda: clf.triage(X, y, top=20),
        "efficiency": lambda: clf.efficiency(random_state=0),
    }
    seconds = {name: best_of(work, repeats) for name, work in questions.items()}
    cells = "  ".join(f"{1000 * s:7.0f} ms {s / fit:6.1f}" for s in seconds.values())
    size = f"{n:>9,} x {p:<3d} {g} classes {clf.n_parameters_:5,d} parameters"
    print(f"  {size}  {1000 * fit:7.1f} ms  {cells}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", FitWarning)
    print(
        "After a fit: milliseconds, and how many fits they are. Where a fit takes a few of them,"
    )
    print("or has more parameters than rows, only the former mean something: one inverse of a")
    print("matrix of 1,000 parameters is longer than that fit.")
    names = "  ".join(f"{name:>17s}" for name in ("summary", "diagnose", "triage", "efficiency"))
    print(f"  {'rows':>13s} {'':26s}  {'fit':>10s}  {names}")
    for size in SIZES:
        after_a_fit(*size)
    print("The information matrix in one pass, against two passes for each parameter")
    for size in SIZES[:3]:
        two_ways(*size, "gaussian")
    two_ways(20_000, 5, 3, "t")
    two_ways(20_000, 5, 3, "skew_t")


if __name__ == "__main__":
    main()
