"""How often ``diagnose`` warns of labels missing by class, on real sets.

``python -m benchmarks.real.verdicts [--repeats 2]``

Labels are taken away by difficulty, at random and by class. Prints the share of fits in which the
caution is given, and in which BIC alone asks for a mechanism with the class.
"""

import numpy as np

from benchmarks.real.sets import asked_for
from hesitant import diagnose


def main() -> None:
    for pattern, parts in asked_for(str(__doc__)):
        found = []
        for part in parts:
            for covariance in ("tied", "full"):
                said = diagnose(part.X, part.y, covariance=covariance)
                found.append((said.missing_by_class, "class" in said.suggested))
        caution, bic = np.mean(found, axis=0)
        print(f"by {pattern:10s} {len(found)} fits: caution {caution:.0%}, BIC alone {bic:.0%}")


if __name__ == "__main__":
    main()
