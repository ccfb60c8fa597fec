"""Are labels missing by class: what difficulty does not explain, and which mechanism to use."""

import math
from typing import Any

import numpy as np

from hesitant._replicates import refit
from hesitant._typing import FloatArray
from hesitant.diagnostics import _tests
from hesitant.diagnostics._tests import Fits, Test
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, as_mechanism
from hesitant.rows import Rows

STRATA, ROWS_A_STRATUM = 20, 25
SURE = 1e-4  # of the test, which takes difficulty for known and so rejects too often
CLEAR = 3.0  # standard errors
# How far the best and the worst labelled class must stray from what is expected. Gaussians fitted
# to skewed classes (make_cytometry_like) stray by 0.13 on average, by this in one case of ten.
LARGE = 0.2
EXPECTED = 3.0  # labels, of which not one was given
MOST_ROWS = 50_000  # that mechanisms are compared on


def labelled_shares(fits: Fits) -> tuple[list[dict[str, Any]], float, bool]:
    """Compare each class's labelled share with that of equally difficult rows.

    Return the shares as Diagnosis has them, the p-value of rows equally difficult being labelled
    alike, and whether labels may be missing by class.

    In strata of like entropy under the ignorance fit the labels of a class are compared with
    those expected if all its rows had the same chance: Cochran, Mantel and Haenszel's test, with
    class posteriors where the class is not known.
    """
    found, names = fits.measured, fits.ignorance.fitted_.class_names
    n_strata = max(1, min(STRATA, found.seen.size // ROWS_A_STRATUM))
    edges = np.quantile(found.entropy, np.arange(1, n_strata) / n_strata)
    stratum = np.searchsorted(edges, found.entropy, side="right")
    known = np.where(found.seen[:, None], found.codes[:, None] == np.arange(len(names)), found.tau)
    columns = found.weight, found.weight * found.seen, known, found.tau
    sums = [_stratum(*(values[stratum == k] for values in columns)) for k in range(n_strata)]
    given, total, due, V = (np.sum(part, axis=0) for part in zip(*sums, strict=True))
    excess = given - due
    p_value = _tests.chi_squared_of(excess, V, 1e-9).p_value
    labelled, expected = (part / np.where(total > 0, total, 1.0) for part in (given, due))
    told = np.abs(excess) > CLEAR * np.sqrt(np.maximum(np.diag(V), 0)) + 1e-9 * total.sum()
    never = (fits.rows.tally.labelled == 0) & (due >= EXPECTED)
    apart = float(np.ptp(np.append((labelled - expected)[told], 0.0)))
    values = zip(names, total.tolist(), labelled.tolist(), expected.tolist(), strict=True)
    keys = ("class", "rows", "labelled", "expected")
    records = [dict(zip(keys, own, strict=True)) for own in values]
    return records, p_value, bool(never.any() or (p_value < SURE and apart >= LARGE))


def _stratum(w: FloatArray, w_seen: FloatArray, known: FloatArray, tau: FloatArray) -> Any:
    """Return labels, rows and expected labels of each class, and the covariance of the excess.

    With r whether a row is labelled, its excess in class h is ``(1 − p) 1[h = y]`` or
    ``−p τ_h``, of mean zero if r does not depend on the class. How many rows are labelled in all
    is given.
    """
    given, rows = w_seen @ known, w @ known
    p = given.sum() / max(rows.sum(), 1e-300)
    V = p * (1 - p) ** 2 * np.diag(w @ tau) + (1 - p) * p**2 * (tau.T * w) @ tau
    v = V.sum(axis=1)
    return given, rows, p * rows, V - np.outer(v, v) / max(v.sum(), 1e-300)


def compare_mechanisms(fits: Fits) -> tuple[dict[str, float], dict[str, Test], list[str]]:
    """Fit the classes with each mechanism to the same rows, from where the fits at hand ended.

    Return each BIC, tests of difficulty given the class and the reverse, and what else to say.
    """
    ignorance, full, data, remarks = fits.ignorance, fits.full, fits.rows, []
    step = int(data.tally.n) // MOST_ROWS
    if step > 1 and isinstance(data, Rows):
        data = data[::step]
        ignorance, full = (refit(fit, data, None, start=fit) for fit in (ignorance, full))
        fits = Fits(ignorance, full, data)
        remarks = [f"The mechanisms were compared on one row in {step}, enough to choose by."]
    own = as_mechanism(full.mechanism).get_params(deep=False)
    by_class = refit(ignorance, data, None, start=ignorance, mechanism=ClassMechanism())
    both = refit(full, data, None, start=full, mechanism=EntropyClassMechanism(**own))
    found = {"none": ignorance, "entropy": full, "class": by_class, "entropy+class": both}
    value = {name: fit.log_likelihood_ for name, fit in found.items()}
    size = {name: fit.n_parameters_ for name, fit in found.items()}
    value["none"] += fits.chance
    size["none"] += 1
    # The largest model contains all others, so a lower maximum is one that was not found.
    value["entropy+class"] = max(value.values())

    def ratio(smaller: str) -> Test:
        _tests.need_rows(*fits.counts, _tests.SMALLEST_GROUP)
        df = size["entropy+class"] - size[smaller]
        if df < 1:
            raise _tests.CannotTest("no parameter tells the two apart")
        return _tests.chi_squared(2 * (value["entropy+class"] - value[smaller]), df)

    given = {"difficulty, given the class": "class", "class, given the difficulty": "entropy"}
    tests = {name: _tests.named(name)(ratio)(smaller) for name, smaller in given.items()}
    n = math.log(max(fits.rows.tally.weight, 2.0))
    return {name: size[name] * n - 2 * value[name] for name in value}, tests, remarks
