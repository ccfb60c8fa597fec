"""What standard errors, a diagnosis and a triage list take, beside the fit that they follow.

The second way to the same information matrix is a central difference of the whole gradient, two
passes over the rows for every parameter. Both are computed here, and must agree.
"""

import warnings

import numpy as np

from benchmarks._common import best_of, blobs
from hesitant import FitWarning, MixtureClassifier
from hesitant.inference._curvature import curvature
from hesitant.model_data import likelihood_of, open_chart


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
    likelihood = likelihood_of(clf)
    with open_chart(likelihood, clf.state_) as (chart, evaluation):
        found = curvature(likelihood, chart, evaluation)[0]
        expected = by_differences(likelihood, chart)
        assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()
        fast = best_of(lambda: curvature(likelihood, chart, evaluation), 3)
        slow = best_of(lambda: by_differences(likelihood, chart), 1)
    print(
        f"  {family:8s} n = {n:>9,}, p = {p:2d}, g = {g}, {chart.size:3d} parameters: "
        f"{fast:6.2f} s against {slow:6.2f} s, {slow / fast:4.1f} times faster"
    )


def after_a_fit(n: int, p: int, g: int) -> None:
    X, y = blobs(n, p, g)
    clf = MixtureClassifier()
    fit = best_of(lambda: clf.fit(X, y), 2)
    print(f"After a fit of {n:,} x {p}, {g} classes ({fit:.2f} s)")
    for name, work in {
        "summary()": clf.summary,
        "diagnose(X, y)": lambda: clf.diagnose(X, y),
        "triage(X, y, top=20)": lambda: clf.triage(X, y, top=20),
    }.items():
        seconds = best_of(work, 2)
        print(f"  {name:22s} {seconds:6.2f} s, {seconds / fit:5.1f} times the fit")


def main() -> None:
    warnings.simplefilter("ignore", FitWarning)
    print("The information matrix in one pass, against two passes for each parameter")
    for size in ((500, 2, 2), (20_000, 5, 3), (200_000, 10, 4)):
        two_ways(*size, "gaussian")
    two_ways(20_000, 5, 3, "t")
    two_ways(20_000, 5, 3, "skew_t")
    after_a_fit(200_000, 10, 4)


if __name__ == "__main__":
    main()
