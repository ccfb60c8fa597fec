"""How right the answers for blank rows are, and how right they are said to be, on real sets.

``python -m benchmarks.real.claims [--repeats 2]``; with ``--held-back`` on the sets of
``held_back.py``, which had no part in choosing how a report estimates it.

Labels are taken away by difficulty, at random, by class and by both. For each model prints what it
claims (the mean of the largest probability) less the share that is right, its absolute value, and
log loss, on blank rows and on new ones; then how far off a report's estimate for blank rows is,
over the fits that have one, with what the same fits claim before it.
"""

import argparse
import warnings

import numpy as np

from benchmarks.real.by_class import losses
from benchmarks.real.held_back import HELD_BACK, keel
from benchmarks.real.sets import PATTERNS, TOGETHER, Split, known_sets, split
from hesitant import MixtureClassifier, MixtureClassifierCV
from hesitant.report._case import Case
from hesitant.report._held_out import judged_by_labels

MODELS = {
    "CV": MixtureClassifierCV(random_state=0),
    "tied": MixtureClassifier(covariance="tied"),
    "full": MixtureClassifier(),
}


def judge(clf: MixtureClassifier | MixtureClassifierCV, part: Split) -> list[float]:
    """Return overclaim and log loss on blank and on new rows, and the report's overclaim."""
    clf.fit(part.X, part.y)
    blank, out = part.y < 0, []
    test, truth = (np.searchsorted(clf.classes_, y) for y in (part.test, part.truth[blank]))
    old, new = clf.resolve(part.X, part.y)[blank], clf.predict_proba(part.X_test)
    for P, known in ((old, truth), (new, test)):
        error, loss = losses(P, known)
        out += [P.max(axis=1).mean() - (1 - error), loss]
    said = judged_by_labels(Case(clf, clf.check(part.X, part.y), None, None, str)).get(
        "blank_rows"
    )
    right = np.mean(old.argmax(axis=1) == truth)
    return [*out, np.nan if said is None else said - right]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--held-back", action="store_true")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    sets = [keel(name) for name in HELD_BACK] if asked.held_back else list(known_sets())
    print("claims too much, mean and absolute; log loss: blank rows, new rows; claim -> report")
    for pattern in (*PATTERNS, *TOGETHER):
        parts = [split(data, pattern, k) for data in sets for k in range(asked.repeats)]
        for name, clf in MODELS.items():
            m = np.array([judge(clf, part) for part in parts])
            told = m[np.isfinite(m[:, 4])]
            cells = (f"  {off(m[:, k])} {m[:, k + 1].mean():6.3f}" for k in (0, 2))
            report = f"{len(told)} reports {off(told[:, 0])} ->{off(told[:, 4])}"
            print(f"by {pattern:12s}{name:5s}{len(m)} fits{''.join(cells)}; {report}", flush=True)


def off(gaps: np.ndarray) -> str:
    return f"{gaps.mean():6.3f} {np.abs(gaps).mean():.3f}"


if __name__ == "__main__":
    main()
