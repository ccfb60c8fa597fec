"""Difficulty, class or both: which mechanism the data ask for, on the same classes."""

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.stats import chi2

from hesitant._replicates import refit
from hesitant.diagnostics._test import Test, skipped
from hesitant.inference._pattern import chance_log_likelihood
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, EntropyMechanism
from hesitant.rows import Tally

NONE, ENTROPY, CLASS, BOTH = "none", "entropy", "class", "entropy+class"
_GIVEN_CLASS = "difficulty, given the class"
_GIVEN_DIFFICULTY = "class, given the difficulty"


@dataclasses.dataclass(frozen=True)
class MechanismChoice:
    """What each mechanism explains, and the evidence for each part given the other.

    Attributes
    ----------
    bic : dict
        Schwarz's criterion of each mechanism, the pattern of blanks included; smaller is better.
    difficulty, by_class : Test
        Likelihood ratios of "entropy+class" against "class", and against "entropy".
    intercepts : array of shape (g,)
        Logits of a label for the classes where there is no doubt, under "entropy+class".
    """

    bic: dict[str, float]
    difficulty: Test
    by_class: Test
    intercepts: np.ndarray

    @property
    def suggested(self) -> str:
        """The mechanism of the smallest BIC."""
        return min(self.bic, key=lambda name: self.bic[name])

    @property
    def favours_class(self) -> bool:
        """Whether a mechanism with the class explains the pattern better than those without."""
        return min(self.bic[CLASS], self.bic[BOTH]) < min(self.bic[NONE], self.bic[ENTROPY])


def choose_mechanism(
    ignorance: Any, full: Any, tally: Tally, X: Any, y: Any, **rows: Any
) -> MechanismChoice:
    """Fit the classes with each mechanism, from where the fits at hand ended.

    Parameters
    ----------
    ignorance, full : fitted MixtureClassifier
        Without a mechanism, and with the paper's.
    tally : Tally
    X, y, **rows
        The rows that both were fitted to, as for ``fit``.
    """
    seen, blank = tally.reviewed_labelled, tally.reviewed_blank
    chance = chance_log_likelihood(np.array([True, False]), np.array([seen, blank]))
    given = full.mechanism
    settings = given.get_params(deep=False) if isinstance(given, EntropyMechanism) else {}
    fits = {
        ENTROPY: full,
        CLASS: refit(ignorance, X, y, start=ignorance, mechanism=ClassMechanism(), **rows),
        BOTH: refit(full, X, y, start=full, mechanism=EntropyClassMechanism(**settings), **rows),
    }
    value = {name: fit.log_likelihood_ for name, fit in fits.items()}
    size = {name: fit.n_parameters_ for name, fit in fits.items()}
    value[NONE], size[NONE] = ignorance.log_likelihood_ + chance, ignorance.n_parameters_ + 1
    # The larger model contains both others, so a lower maximum is one that was not found.
    value[BOTH] = max(value.values())
    n = math.log(max(tally.weight, 2.0))
    bic = {name: size[name] * n - 2 * value[name] for name in (NONE, ENTROPY, CLASS, BOTH)}

    def ratio(name: str, smaller: str) -> Test:
        df = size[BOTH] - size[smaller]
        if df < 1:
            return skipped(name, "no parameter tells the two apart")
        statistic = 2 * (value[BOTH] - value[smaller])
        return Test(name, statistic, float(chi2.sf(statistic, df)), df, "chi-squared")

    return MechanismChoice(
        bic,
        ratio(_GIVEN_CLASS, CLASS),
        ratio(_GIVEN_DIFFICULTY, ENTROPY),
        np.asarray(fits[BOTH].mechanism_.intercept_),
    )
