"""How much of the full likelihood's gain the combination keeps where classes and blanks are right.

``python -m benchmarks.real.paper [--repeats 20]``: the paper's simulation (Gaussian classes,
blanks by difficulty), error and log loss on 20,000 further rows.
"""

import argparse
import warnings

import numpy as np

from benchmarks.real.__main__ import judge
from hesitant import MixtureClassifier, MixtureClassifierCV
from hesitant.datasets import simulate

MODELS = {
    "ignorance": lambda: MixtureClassifier(mechanism=None),
    "full likelihood": lambda: MixtureClassifier(),
    "MixtureClassifierCV": lambda: MixtureClassifierCV(random_state=0),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=20)
    options.add_argument("--rows", default="200,500,1000")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    for n in map(int, given.rows.split(",")):
        found = np.zeros((given.repeats, len(MODELS), 2))
        for seed in range(given.repeats):
            data, test = (
                simulate(n=n, random_state=seed),
                simulate(20_000, random_state=10**6 + seed),
            )
            for k, make in enumerate(MODELS.values()):
                fit = make().fit(data.features, data.labels)
                score = judge(fit.predict_proba(test.features), test.truth)
                found[seed, k] = score["error"], score["log_loss"]
        means = found.mean(axis=0)
        kept = (means[0] - means[2]) / (means[0] - means[1])
        for name, (error, loss) in zip(MODELS, means, strict=True):
            print(f"n = {n}: {name}: error {error:.4%}, log loss {loss:.5f}")
        print(
            f"n = {n}: kept {kept[0]:.0%} of the gain in error, {kept[1]:.0%} in log loss",
            flush=True,
        )


if __name__ == "__main__":
    main()
