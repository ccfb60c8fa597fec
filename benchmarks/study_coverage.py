"""Coverage of 95 % intervals: observed information, sandwich and bootstrap, by simulation.

The paper's simulation (n = 500). ``python -m benchmarks.study_coverage [replications]``.
"""

import sys
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.inference import bootstrap, information

TRUTH = {
    "weight[0]": 0.5,
    "mean[0, x0]": 0.0,
    "mean[0, x1]": 0.0,
    "mean[1, x0]": 0.0,
    "mean[1, x1]": 3.0,
    "covariance[0, x0, x0]": 1.0,
    "covariance[0, x1, x0]": 0.7,
    "covariance[0, x1, x1]": 1.0,
    "covariance[1, x0, x0]": 1.0,
    "covariance[1, x1, x0]": 0.0,
    "covariance[1, x1, x1]": 1.0,
    "intercept": 1.0,
    "coef[u]": -5.0,
}


def by_information(mechanism, robust, n, seed):
    data = simulate(n=n, random_state=seed)
    clf = MixtureClassifier(mechanism=mechanism).fit(data.features, data.labels)
    return hits(information(clf, data.features, data.labels, robust=robust))


def by_bootstrap(kind, stratify, seed):
    data = simulate(n=500, random_state=seed)
    clf = MixtureClassifier().fit(data.features, data.labels)
    return hits(
        bootstrap(
            clf,
            data.features,
            data.labels,
            kind=kind,
            stratify=stratify,
            n_boot=199,
            random_state=seed,
        )
    )


def hits(result):
    bounds = zip(result.lower, result.upper, strict=True)
    return {
        name: low <= TRUTH[name] <= high
        for name, (low, high) in zip(result.parameters, bounds, strict=True)
        if name in TRUTH
    }


def study(task, replications):
    """Return the share of intervals that hold the truth, by parameter."""
    rows = Parallel(n_jobs=2)(delayed(task)(seed) for seed in range(replications))
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    few = max(50, replications // 5)
    columns = {
        "full": (partial(by_information, "entropy", False, 500), replications),
        "sandwich": (partial(by_information, "entropy", True, 500), replications),
        "ignorance": (partial(by_information, None, False, 500), replications),
        "n = 150": (partial(by_information, "entropy", False, 150), replications),
        "parametric": (partial(by_bootstrap, "parametric", True), few),
        "stratified": (partial(by_bootstrap, "nonparametric", True), few),
        "plain rows": (partial(by_bootstrap, "nonparametric", False), few),
    }
    found = {name: study(task, n) for name, (task, n) in columns.items()}
    print(f"Coverage of 95 % intervals; {replications} replications, bootstrap {few} x 199")
    print(" " * 24 + "".join(f"{name:>12s}" for name in columns))
    for parameter in TRUTH:
        cells = (found[name].get(parameter, np.nan) for name in columns)
        print(f"{parameter:24s}" + "".join(f"{c:12.3f}" for c in cells))
    means = (np.mean(list(found[name].values())) for name in columns)
    print(f"{'average':24s}" + "".join(f"{m:12.3f}" for m in means))


if __name__ == "__main__":
    main()
