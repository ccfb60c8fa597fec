"""Our limited-memory BFGS against SciPy's, in the same fits: why there is one of our own.

Both climb the same likelihood in the same chart with the same gradients; only the routine that
chooses the steps differs. ``python -m benchmarks.quasi_newton``.
"""

import dataclasses
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks._common import best_of, blobs, paper_data
from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.likelihood import Likelihood, State
from hesitant.solvers import SOLVERS, Progress


def by_scipy(likelihood: Likelihood, state: State, progress: Progress) -> tuple[Any, Any]:
    """Do what `hesitant.solvers.quasi_newton` does in one chart, by SciPy."""
    progress.begin("SciPy")
    best, _ = likelihood.refit_mechanism(state, tol=1.0)
    top = likelihood.evaluate(best)
    chart = Chart(likelihood, best, top, mechanism=True)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, top
        trial = chart.decode(x)
        after = likelihood.evaluate(trial)
        if after.objective > top.objective:
            best, top = trial, after
        return -after.objective, -chart.gradient(trial, after)

    minimize(
        negative,
        np.zeros(chart.size),
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: progress.record(-intermediate_result.fun),
        options={"maxcor": 60, "ftol": 0.0, "gtol": np.sqrt(2 * progress.tol / chart.size)},
    )
    progress.finish("SciPy", True)
    return best, top


def main() -> None:
    """Print milliseconds a fit, iterations and maxima."""
    own = SOLVERS["auto"]
    other = dataclasses.replace(own, climb=by_scipy)
    print("    rows features  classes          ms a fit  steps          maximum")
    for data in (paper_data(500), paper_data(5000), blobs(2000, 10, 4), blobs(50_000, 10, 4)):
        X, y = data
        for name, routine in (("ours", own), ("SciPy's", other)):
            SOLVERS["auto"] = routine
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf = MixtureClassifier().fit(X, y)
                seconds = best_of(lambda X=X, y=y: MixtureClassifier().fit(X, y), 7)
            shape = f"{len(X):8,} {X.shape[1]:8} {len(clf.classes_):8}"
            found = f"{1e3 * seconds:8.1f} {clf.n_iter_:6} {clf.log_likelihood_:16.6f}"
            print(f"{shape} {name:>8} {found}")
    SOLVERS["auto"] = own


if __name__ == "__main__":
    main()
