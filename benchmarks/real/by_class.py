"""What ``MixtureClassifierCV`` gains by finding each class's chance of a label, on real sets.

``python -m benchmarks.real.by_class [--repeats 2]``

Labels are taken away by difficulty, at random and by class. Prints in how many fits
``label_rates_`` were found, and error and log loss of new rows and of the blank ones, without and
with them.
"""

import numpy as np

from benchmarks.real.sets import Split, asked_for
from hesitant import MixtureClassifierCV

FLOOR = 1e-6


def losses(P: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return error and log loss."""
    own = np.maximum(P[np.arange(len(truth)), truth], FLOOR)
    return float(np.mean(P.argmax(axis=1) != truth)), float(-np.log(own).mean())


def compare(part: Split) -> tuple[float, ...]:
    """Return whether rates were found, and losses without and with them."""
    clf = MixtureClassifierCV(random_state=0).fit(part.X, part.y)
    blank, found = part.y < 0, clf.label_rates_
    test, truth = (np.searchsorted(clf.classes_, y) for y in (part.test, part.truth[blank]))
    out = [float(found is not None)]
    for rates in (None, found):
        clf.label_rates_ = rates
        out += losses(clf.predict_proba(part.X_test), test)
        out += losses(clf.resolve(part.X, part.y)[blank], truth)
    return tuple(out)


def main() -> None:
    print("error and log loss; new rows, then blank rows; without rates -> with them")
    for pattern, parts in asked_for(str(__doc__)):
        found = [compare(part) for part in parts]
        rates, *m = np.mean(found, axis=0)
        print(
            f"by {pattern:10s} {len(found)} fits, rates in {rates:.0%}:"
            f" {m[0]:.3f} {m[1]:.3f} -> {m[4]:.3f} {m[5]:.3f};"
            f" {m[2]:.3f} {m[3]:.3f} -> {m[6]:.3f} {m[7]:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
