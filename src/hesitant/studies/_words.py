"""A word on each difference between our numbers and the printed ones."""

from __future__ import annotations

from typing import Any

from hesitant._words import noun
from hesitant.studies._estimators import Row

__all__ = ["OPEN", "about_full", "about_readings", "choices", "signed"]

OPEN = {
    "cytometry": "The counts of the published file are those of the paper. Scaling cannot matter: "
    "skew-t classes with scale matrices of their own fit standardised channels equally well. Open "
    "are the degrees of freedom, own or common, and where the climb starts; neither explains what "
    "is left of the difference.",
    "cardiotocography": "The text counts 670 recordings, 402 of them labelled, the table 669 and "
    "401; the published file has 670 and 402, and which one the table left out cannot be told. "
    "“23 features” fit the 23 measurements of the Raw Data sheet, one of them constant and one a "
    "copy of another; the Data sheet has 21. The likelihood has several maxima.",
    "gastrointestinal": "By the rule in the text, at least 6 of 7 doctors, 106 records are "
    "labelled and 46 are not; the printed 128 and 24 appear if the histology counts as an eighth "
    "opinion. The printed p-values confirm 128 and 24: exp(−2D²mn/(m+n)) is 0.0104 for D = 0.336, "
    "and the normal approximation to W = 1014 is 0.0042; with 106 and 46 both would be far "
    "smaller. Our p-values of the first test are exact. The four features are not printed: ours "
    "come from our own sparse discriminant analysis, and those of a later package of the same "
    "group are tried too. The 152 records are 76 lesions seen twice, so no p-value here can be "
    "taken at its word.",
}


def choices(row: Row) -> dict[str, str]:
    """Return what a reading decided, from its name."""
    return dict(part.split(": ", 1) for part in str(row["reading"]).split("; "))


def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign, a true minus included."""
    return f"{value:+,.{digits}f}".replace("-", "−")


def about_readings(rows: list[Row]) -> list[str]:
    """Return sentences on how the readings of one data set differ from the printed numbers.

    Parameters
    ----------
    rows : list of dict
        Rows of table 1, table 2 or both joined.
    """
    main = next(row for row in rows if row["main"])
    nearest = next(row for row in rows if row["nearest"])
    out = [f"Main reading: {_differences(main)}."]
    if nearest is main:
        out.append("No other reading comes nearer.")
        return out
    changed = [f"{k}: {v}" for k, v in choices(nearest).items() if choices(main).get(k) != v]
    out.append(f"Nearest reading ({'; '.join(changed)}): {_differences(nearest)}.")
    lower = _lower_maximum(nearest, rows)
    if lower > 0.5:
        out.append(
            f"But that is a lower maximum: from our own start the same model reaches a "
            f"log-likelihood {lower:,.1f} higher, with entropies further from the printed ones."
        )
    elif lower > 0:
        out.append(
            "That is the same maximum as from our own start, "
            f"{lower:.2f} short of it in log-likelihood where EM was stopped."
        )
    return out


def _differences(row: Row) -> str:
    names = {
        "mean_labelled": ("labelled mean", 2),
        "mean_unlabelled": ("unlabelled mean", 2),
        "ks": ("Kolmogorov-Smirnov", 3),
        "mann_whitney": ("Mann-Whitney", 0),
    }
    parts = [
        f"{words} {signed(row[key] - row[f'{key}_printed'], digits)}"
        for key, (words, digits) in names.items()
        if row.get(key) is not None and row.get(f"{key}_printed") is not None
    ]
    return f"ours less the printed: {', '.join(parts)}"


def _lower_maximum(row: Row, rows: list[Row]) -> float:
    """Return how much higher a likelihood the same model reaches from our own start."""
    wanted = {**choices(row), "start": "ours"}
    same = [other for other in rows if choices(other) == wanted]
    return same[0]["log_likelihood"] - row["log_likelihood"] if same else 0.0


def about_full(rows: list[Row]) -> list[str]:
    """Return sentences on what the full likelihood changes in one data set."""
    linear, log = rows[0], rows[1]
    seldom = "less" if linear["slope"] < 0 else "more"
    out = [
        f"The slope is {signed(linear['slope'], 1)}{_error(linear['slope_se'])}: the harder a "
        f"case, the {seldom} often it has a label. Against labels missing by chance the "
        f"likelihood ratio is {linear['likelihood_ratio']:,.1f} on one degree of freedom.",
        f"{_changing(linear['unlabelled_moved'])}, and {100 * linear['space_moved']:.1f} % of new "
        "rows would.",
    ]
    if linear["median_se_ratio"] is not None:
        out.append(
            "The median ratio of standard errors, full to ignorance, is "
            f"{linear['median_se_ratio']:.2f}."
        )
    gain = log["log_likelihood"] - linear["log_likelihood"]
    better, size = ("better", gain) if gain > 0 else ("worse", -gain)
    out.append(
        f"A mechanism linear in the log of the entropy fits {better}, by {size:,.1f} in "
        f"log-likelihood; with it {_changing(log['unlabelled_moved'])}."
    )
    return out


def _changing(rows: int) -> str:
    return f"{noun(rows, 'unlabelled row')} change{'s' if rows == 1 else ''} class"


def _error(value: Any) -> str:
    return "" if value is None else f" (standard error {value:,.1f})"
