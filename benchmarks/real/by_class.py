"""What ``MixtureClassifierCV`` gains by finding each class's chance of a label, on real sets.

``python -m benchmarks.real.by_class [--repeats 2]``

Labels are taken away by difficulty, at random, by class and by both. Prints in how many fits
``label_rates_`` were found, and error and log loss of new rows and of the blank ones, without and
with them; and the same for fits in which the blanks were taken to follow class and difficulty
together, where rates are not used, were they used there too.
"""

from unittest.mock import patch

import numpy as np

from benchmarks.real.sets import PATTERNS, TOGETHER, Split, asked_for
from hesitant import MixtureClassifierCV
from hesitant.label_rates import FLOOR as LEAST
from hesitant.label_rates import explain_blanks
from hesitant.uncertainty import Shannon

FLOOR = 1e-6


def losses(P: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return error and log loss."""
    own = np.maximum(P[np.arange(len(truth)), truth], FLOOR)
    return float(np.mean(P.argmax(axis=1) != truth)), float(-np.log(own).mean())


def by_both(P: np.ndarray, theta: np.ndarray, blank: bool) -> np.ndarray:
    """Return posteriors of new rows or blank ones, with rates by class and difficulty."""
    p = np.clip(P / P.sum(axis=1, keepdims=True), LEAST, 1.0)
    u = Shannon().evaluate(np.log(p), p)[0][:, None]
    p = p * (np.exp(-theta[:-1] - theta[-1] * u) + (not blank))
    return p / p.sum(axis=1, keepdims=True)


def compare(part: Split) -> tuple[str, list[float]]:
    """Return what blanks were taken to follow, and losses without and with rates."""
    told = []

    def listen(*given: np.ndarray) -> tuple[str, np.ndarray]:
        told.append(explain_blanks(*given))
        return told[-1]

    with patch("hesitant.model_selection._classifier_cv.explain_blanks", listen):
        clf = MixtureClassifierCV(random_state=0).fit(part.X, part.y)
    mechanism, theta = told[-1] if told else ("none", np.zeros(1))
    blank, found = part.y < 0, clf.label_rates_
    test, truth = (np.searchsorted(clf.classes_, y) for y in (part.test, part.truth[blank]))
    out: list[float] = []
    for use, rates in ((False, None), (True, found)):
        clf.label_rates_ = rates
        new, old = clf.predict_proba(part.X_test), clf.resolve(part.X, part.y)[blank]
        if use and mechanism == "entropy+class":
            new = by_both(clf._if_labelled(part.X_test), theta, blank=False)
            old = by_both(clf._if_labelled(part.X[blank]), theta, blank=True)
        out += [*losses(new, test), *losses(old, truth)]
    return mechanism, out


def main() -> None:
    print("error and log loss; new rows, then blank rows; without rates -> with them")
    for pattern, parts in asked_for(str(__doc__), (*PATTERNS, *TOGETHER)):
        found = [compare(part) for part in parts]
        both = [m for name, m in found if name == "entropy+class"]
        # Where rates are not used, they change nothing.
        used = [m[:4] * 2 if name == "entropy+class" else m for name, m in found]
        rates = np.mean([name == "class" for name, _ in found])
        line(f"by {pattern}, {len(used)} fits, rates in {rates:.0%}", used)
        if both:
            line(f"  {len(both)} taken for both", both)


def line(words: str, figures: list[list[float]]) -> None:
    m = np.mean(figures, axis=0)
    print(
        f"{words:44s} {m[0]:.3f} {m[1]:.3f} -> {m[4]:.3f} {m[5]:.3f};"
        f" {m[2]:.3f} {m[3]:.3f} -> {m[6]:.3f} {m[7]:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
