"""Are labels missing by class: what difficulty does not explain, and which mechanism to use.

The paper's likelihoods take it that rows of the same features have the same chance of a label,
whatever their class. If experts label one class more readily than another, blanks may look as if
they were about difficulty, or random, and are neither.
"""

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import chi2

from hesitant._replicates import refit
from hesitant._result import percent
from hesitant._typing import BoolArray, FloatArray
from hesitant.diagnostics._tests import CannotTest, Fits, Test, chi_squared, or_skipped
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, EntropyMechanism
from hesitant.model_data import class_names
from hesitant.rows import Block
from hesitant.uncertainty import Shannon, transformed_entropy

STRATA, ROWS_A_STRATUM = 20, 25
SURE = 1e-4  # of the test, which takes difficulty for known and so rejects too often
CLEAR = 3.0  # standard errors
# How far the best and the worst labelled class must stray from what is expected. Gaussians fitted
# to skewed classes (make_cytometry_like) stray by 0.13 on average, by this in one case of ten.
LARGE = 0.2
EXPECTED = 3.0  # labels, of which not one was given
NAMED = 4


@dataclasses.dataclass(frozen=True)
class ByClass:
    """Labelled shares of the reviewed rows, class by class."""

    names: list[str]
    rows: FloatArray  # reviewed rows of each class; blank ones count by their class posteriors
    labelled: FloatArray  # share of them that is labelled
    expected: FloatArray  # share labelled among rows as difficult as they are
    told: BoolArray  # classes where the two differ by more than chance
    p_value: float  # of the hypothesis that rows equally difficult are labelled alike
    doubtful: bool  # whether labels may be missing by class

    def records(self) -> list[dict[str, Any]]:
        """Return one plain record for each class."""
        columns = (self.names, self.rows.tolist(), self.labelled.tolist(), self.expected.tolist())
        keys = ("class", "rows", "labelled", "expected")
        return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]

    def in_words(self) -> str:
        """Say which classes are labelled how often, what was expected, and what follows."""
        size = np.where(self.told, np.abs(self.labelled - self.expected), 0.0)
        named = np.sort(np.argsort(-size, kind="stable")[: min(NAMED, self.told.sum())])
        given = _and([f"{percent(self.labelled[h], 0)} of class {self.names[h]}" for h in named])
        expected = _and([percent(self.expected[h], 0) for h in named])
        return (
            f"Labels are given to {given}, which difficulty does not explain (of rows as hard, "
            f"{expected}): they may be missing by class. Then classes that get labels also get "
            "too many of the blanks, with either likelihood. Ask how labels were given, and see "
            "whether another family says the same."
        )


def labelled_by_class(fits: Fits) -> ByClass | None:
    """Compare each class's labelled share with that of equally difficult rows.

    Reviewed rows are cut into strata of like entropy under the ignorance fit, in each of which
    the labels of a class are compared with those expected if all its rows had the same chance:
    Cochran, Mantel and Haenszel's test, with class posteriors where the class is not known.
    Without a pattern there is nothing to compare, and None is returned.
    """
    t = fits.measured.entropy
    if fits.full is None:
        return None
    n_strata = max(1, min(STRATA, t.size // ROWS_A_STRATUM))
    edges = np.quantile(t, np.arange(1, n_strata) / n_strata)
    work = partial(_block, ignorance=fits.ignorance, edges=edges)
    given, blank, tau, outer = fits.rows.sum(work)
    rows = given + blank
    size = rows.sum(axis=1)
    p = given.sum(axis=1) / np.where(size > 0, size, 1.0)
    total = rows.sum(axis=0)
    excess = given.sum(axis=0) - p @ rows
    V = np.sum([*map(_spread, p, tau, outer)], axis=0)
    p_value = _chi_squared(excess, V)
    safe = np.where(total > 0, total, 1.0)
    gap = excess / safe
    rounding = 1e-9 * size.sum()
    told = np.abs(excess) > CLEAR * np.sqrt(np.maximum(np.diag(V), 0.0)) + rounding
    never = (fits.rows.tally.labelled == 0) & (p @ rows >= EXPECTED)
    apart = float(np.ptp(np.append(gap[told], 0.0)))
    return ByClass(
        names=class_names(fits.ignorance),
        rows=total,
        labelled=given.sum(axis=0) / safe,
        expected=(p @ rows) / safe,
        told=told | never,
        p_value=p_value,
        doubtful=bool(never.any() or (p_value < SURE and apart >= LARGE)),
    )


def _block(block: Block, ignorance: Any, edges: FloatArray) -> tuple[FloatArray, ...]:
    """Return sums over the rows of each stratum: labels, posteriors of blanks, of all, squares."""
    shown = block.review > 0
    weight, codes = block.review[shown], block.codes[shown]
    log_tau, tau, _ = log_posterior(ignorance.family_, ignorance.state_, block.X[shown])
    g = tau.shape[1]
    t = transformed_entropy(Shannon().evaluate(log_tau, tau)[0], g)
    stratum = np.searchsorted(edges, t, side="right")
    given, blank, sums = (np.zeros((edges.size + 1, g)) for _ in range(3))
    outer = np.zeros((edges.size + 1, g, g))
    for k in range(edges.size + 1):
        mine = stratum == k
        seen = mine & (codes >= 0)
        given[k] = np.bincount(codes[seen], weight[seen], g)
        blank[k] = weight[mine & (codes < 0)] @ tau[mine & (codes < 0)]
        sums[k] = weight[mine] @ tau[mine]
        outer[k] = (weight[mine, None] * tau[mine]).T @ tau[mine]
    return given, blank, sums, outer


def _spread(p: float, tau: FloatArray, outer: FloatArray) -> FloatArray:
    """Return the covariance of a stratum's excess labels, given how many there are in all.

    With r whether a row is labelled, its excess in class h is ``(1 − p) 1[h = y]`` or
    ``−p τ_h``, of mean zero if r does not depend on the class.
    """
    V = p * (1 - p) ** 2 * np.diag(tau) + (1 - p) * p**2 * outer
    v = V.sum(axis=1)
    return np.asarray(V - np.outer(v, v) / v.sum()) if v.sum() > 0 else V


def _chi_squared(excess: FloatArray, V: FloatArray) -> float:
    value, vector = np.linalg.eigh(V)
    keep = value > 1e-9 * max(value.max(), 1e-300)
    if not keep.any():
        return math.nan
    along = excess @ vector[:, keep]
    return float(chi2.sf(along @ (along / value[keep]), keep.sum()))


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


# -- which mechanism, on the same classes ---------------------------------------------------------

NONE, ENTROPY, CLASS, BOTH = "none", "entropy", "class", "entropy+class"


@dataclasses.dataclass(frozen=True)
class MechanismChoice:
    """What each mechanism explains, and the evidence for each part given the other."""

    bic: dict[str, float]  # Schwarz's criterion of each, the pattern of blanks included
    difficulty: Test  # likelihood ratio of "entropy+class" against "class"
    by_class: Test  # and against "entropy"

    @property
    def suggested(self) -> str:
        """The mechanism of the smallest BIC."""
        return min(self.bic, key=lambda name: self.bic[name])

    @property
    def favours_class(self) -> bool:
        """Whether a mechanism with the class explains the pattern better than those without."""
        return min(self.bic[CLASS], self.bic[BOTH]) < min(self.bic[NONE], self.bic[ENTROPY])


def choose_mechanism(fits: Fits, X: Any, y: Any, **rows: Any) -> MechanismChoice:
    """Fit the classes with each mechanism to the same rows, from where the fits at hand ended."""
    ignorance, full = fits.ignorance, fits.full
    given = full.mechanism
    settings = given.get_params(deep=False) if isinstance(given, EntropyMechanism) else {}
    found = {
        ENTROPY: full,
        CLASS: refit(ignorance, X, y, start=ignorance, mechanism=ClassMechanism(), **rows),
        BOTH: refit(full, X, y, start=full, mechanism=EntropyClassMechanism(**settings), **rows),
    }
    value = {name: fit.log_likelihood_ for name, fit in found.items()}
    size = {name: fit.n_parameters_ for name, fit in found.items()}
    value[NONE], size[NONE] = ignorance.log_likelihood_ + fits.chance, ignorance.n_parameters_ + 1
    # The larger model contains both others, so a lower maximum is one that was not found.
    value[BOTH] = max(value.values())
    n = math.log(max(fits.rows.tally.weight, 2.0))
    bic = {name: size[name] * n - 2 * value[name] for name in (NONE, ENTROPY, CLASS, BOTH)}

    def ratio(name: str, smaller: str) -> Test:
        def find() -> Test:
            fits.need_rows()
            df = size[BOTH] - size[smaller]
            if df < 1:
                raise CannotTest("no parameter tells the two apart")
            return chi_squared(name, 2 * (value[BOTH] - value[smaller]), df)

        return or_skipped(name)(find)()

    return MechanismChoice(
        bic,
        ratio("difficulty, given the class", CLASS),
        ratio("class, given the difficulty", ENTROPY),
    )
