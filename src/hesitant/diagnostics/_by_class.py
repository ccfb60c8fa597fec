"""Are labels missing by class: what difficulty does not explain, and which mechanism to use."""

import dataclasses
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from hesitant._replicates import refit
from hesitant._result import percent
from hesitant._typing import FloatArray
from hesitant.diagnostics._fits import SMALLEST_GROUP, Fits
from hesitant.diagnostics._tests import CannotTest, Test, chi_squared, named, need_rows
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, as_mechanism
from hesitant.model import FittedModel
from hesitant.rows import Block, Rows
from hesitant.uncertainty import Shannon, transformed_entropy

STRATA, ROWS_A_STRATUM = 20, 25
SURE = 1e-4  # of the test, which takes difficulty for known and so rejects too often
CLEAR = 3.0  # standard errors
# How far the best and the worst labelled class must stray from what is expected. Gaussians fitted
# to skewed classes (make_cytometry_like) stray by 0.13 on average, by this in one case of ten.
LARGE = 0.2
EXPECTED = 3.0  # labels, of which not one was given
NAMED = 4
MOST_ROWS = 50_000  # that mechanisms are compared on


class Shares(NamedTuple):
    """Labelled shares of the reviewed rows, class by class."""

    records: list[dict[str, Any]]  # as Diagnosis has them
    p_value: float  # of the hypothesis that rows equally difficult are labelled alike
    doubtful: bool  # whether labels may be missing by class
    words: str  # which classes are labelled how often, and what follows


def labelled_shares(fits: Fits) -> Shares:
    """Compare each class's labelled share with that of equally difficult rows.

    In strata of like entropy under the ignorance fit the labels of a class are compared with
    those expected if all its rows had the same chance: Cochran, Mantel and Haenszel's test, with
    class posteriors where the class is not known.
    """
    t, model = fits.measured.entropy, fits.ignorance.fitted_
    n_strata = max(1, min(STRATA, t.size // ROWS_A_STRATUM))
    edges = np.quantile(t, np.arange(1, n_strata) / n_strata)
    given, blank, tau, outer = fits.rows.sum(partial(_strata, model=model, edges=edges))
    rows = given + blank
    size, total = rows.sum(axis=1), rows.sum(axis=0)
    p = given.sum(axis=1) / np.where(size > 0, size, 1.0)
    excess = given.sum(axis=0) - p @ rows
    V = np.sum([*map(_spread, p, tau, outer)], axis=0)
    value, vector = np.linalg.eigh(V)
    keep = value > 1e-9 * max(value.max(), 1e-300)
    along = excess @ vector[:, keep]
    p_value = float(chi2.sf(along @ (along / value[keep]), keep.sum())) if keep.any() else math.nan
    safe = np.where(total > 0, total, 1.0)
    labelled, expected = given.sum(axis=0) / safe, (p @ rows) / safe
    clear = CLEAR * np.sqrt(np.maximum(np.diag(V), 0.0)) + 1e-9 * size.sum()
    told = np.abs(excess) > clear
    never = (fits.rows.tally.labelled == 0) & (p @ rows >= EXPECTED)
    apart = float(np.ptp(np.append((labelled - expected)[told], 0.0)))
    doubtful = bool(never.any() or (p_value < SURE and apart >= LARGE))
    names = model.class_names
    gap = np.where(told | never, np.abs(labelled - expected), 0.0)
    far = np.sort(np.argsort(-gap, kind="stable")[: min(NAMED, (told | never).sum())])
    some = _and([f"{percent(labelled[h], 0)} of class {names[h]}" for h in far])
    words = (
        f"Labels are given to {some}, which difficulty does not explain (of rows as hard, "
        f"{_and([percent(expected[h], 0) for h in far])}): they may be missing by class. Then "
        "classes that get labels also get too many of the blanks, with either likelihood. Ask how "
        "labels were given, and see whether another family says the same."
    )
    columns = names, total.tolist(), labelled.tolist(), expected.tolist()
    keys = ("class", "rows", "labelled", "expected")
    records = [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]
    return Shares(records, p_value, doubtful, words)


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _strata(block: Block, model: FittedModel, edges: FloatArray) -> tuple[FloatArray, ...]:
    """Return sums over the rows of each stratum: labels, posteriors of blanks, of all, squares."""
    shown = block.review > 0
    codes = block.codes[shown]
    log_tau, tau, _ = model.posterior(block.X[shown])
    g = tau.shape[1]
    t = transformed_entropy(Shannon().evaluate(log_tau, tau)[0], g)
    stratum = np.searchsorted(edges, t, side="right")
    member = (stratum == np.arange(edges.size + 1)[:, None]) * block.review[shown]
    outer = np.einsum("ia,ib->iab", tau, tau).reshape(-1, g * g)
    given, blank = codes[:, None] == np.arange(g), tau * (codes < 0)[:, None]
    return member @ given, member @ blank, member @ tau, (member @ outer).reshape(-1, g, g)


def _spread(p: float, tau: FloatArray, outer: FloatArray) -> FloatArray:
    """Return the covariance of a stratum's excess labels, given how many there are in all.

    With r whether a row is labelled, its excess in class h is ``(1 − p) 1[h = y]`` or
    ``−p τ_h``, of mean zero if r does not depend on the class.
    """
    V = p * (1 - p) ** 2 * np.diag(tau) + (1 - p) * p**2 * outer
    v = V.sum(axis=1)
    return np.asarray(V - np.outer(v, v) / v.sum()) if v.sum() > 0 else V


def compare_mechanisms(fits: Fits) -> tuple[dict[str, float], dict[str, Test], list[str]]:
    """Fit the classes with each mechanism to the same rows, from where the fits at hand ended.

    Return each BIC, tests of difficulty given the class and the reverse, and what else to say.
    """
    remarks = []
    step = int(fits.rows.tally.n) // MOST_ROWS
    if step > 1 and isinstance(fits.rows, Rows):
        fits = _thinned(fits, step)
        remarks = [f"The mechanisms were compared on one row in {step}, enough to choose by."]
    ignorance, full = fits.ignorance, fits.full
    own = as_mechanism(full.mechanism).get_params(deep=False)
    by_class = refit(ignorance, fits.data, None, start=ignorance, mechanism=ClassMechanism())
    both = refit(full, fits.data, None, start=full, mechanism=EntropyClassMechanism(**own))
    found = {"none": ignorance, "entropy": full, "class": by_class, "entropy+class": both}
    value = {name: fit.log_likelihood_ for name, fit in found.items()}
    size = {name: fit.n_parameters_ for name, fit in found.items()}
    value["none"] += fits.chance
    size["none"] += 1
    # The largest model contains all others, so a lower maximum is one that was not found.
    value["entropy+class"] = max(value.values())

    def ratio(smaller: str) -> Test:
        need_rows(*fits.counts, SMALLEST_GROUP)
        df = size["entropy+class"] - size[smaller]
        if df < 1:
            raise CannotTest("no parameter tells the two apart")
        return chi_squared(2 * (value["entropy+class"] - value[smaller]), df)

    given = {"difficulty, given the class": "class", "class, given the difficulty": "entropy"}
    tests = {name: named(name)(ratio)(smaller) for name, smaller in given.items()}
    n = math.log(max(fits.rows.tally.weight, 2.0))
    return {name: size[name] * n - 2 * value[name] for name in value}, tests, remarks


def _thinned(fits: Fits, step: int) -> Fits:
    """Return the fits to every few rows."""
    rows: Any = fits.rows
    rest = (None if part is None else part[::step] for part in (rows.weight, rows.reviewed))
    how = {"n_classes": len(fits.data.classes), "threads": rows.threads}
    fewer = Rows(rows.X[::step], rows.codes[::step], *rest, **how)
    data = dataclasses.replace(fits.data, rows=fewer)
    ignorance, full = (refit(fit, data, None, start=fit) for fit in (fits.ignorance, fits.full))
    return Fits(ignorance, full, data)
