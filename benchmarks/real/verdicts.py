"""What ``diagnose`` says of labels missing by class, on real sets, and what its advice is worth.

``python -m benchmarks.real.verdicts [--repeats 2]``

Labels are taken away by difficulty, at random, by class and by both. Prints the share of fits in
which the caution is given, and in which BIC alone asks for a mechanism with the class; then the
log loss on new rows and on blank ones without a mechanism, with the paper's, with the one that BIC
alone would take, and with the one that is suggested.
"""

import numpy as np

from benchmarks.real.by_class import losses
from benchmarks.real.sets import PATTERNS, TOGETHER, Split, asked_for
from hesitant import MixtureClassifier, diagnose


def judge(part: Split, covariance: str) -> tuple[bool, bool, np.ndarray]:
    """Return caution, whether BIC asks for the class, and log losses (4 mechanisms, 2)."""
    said = diagnose(part.X, part.y, covariance=covariance)
    lowest, blank, found = min(said.mechanisms, key=said.mechanisms.get), part.y < 0, {}
    for name in {"none", "entropy", lowest, said.suggested}:
        clf = MixtureClassifier(covariance=covariance, mechanism=name).fit(part.X, part.y)
        test, truth = (np.searchsorted(clf.classes_, y) for y in (part.test, part.truth[blank]))
        new, old = clf.predict_proba(part.X_test), clf.resolve(part.X, part.y)[blank]
        found[name] = losses(new, test)[1], losses(old, truth)[1]
    taken = [found[name] for name in ("none", "entropy", lowest, said.suggested)]
    return said.missing_by_class, "class" in lowest, np.array(taken)


def main() -> None:
    print(f"log loss of new and of blank rows{'none':>35s}{'entropy':>15s}{'BIC':>15s}  suggested")
    for pattern, parts in asked_for(str(__doc__), (*PATTERNS, *TOGETHER)):
        found = [judge(part, covariance) for part in parts for covariance in ("tied", "full")]
        caution, bic = (np.mean([f[k] for f in found]) for k in range(2))
        cells = "".join(f"  {a:6.3f} {b:6.3f}" for a, b in np.mean([f[2] for f in found], axis=0))
        words = f"by {pattern:12s}{len(found)} fits: caution {caution:.0%}, BIC alone {bic:.0%}"
        print(f"{words:54s}{cells}", flush=True)


if __name__ == "__main__":
    main()
