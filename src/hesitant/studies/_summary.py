"""What the simulation says: means, Monte Carlo errors, and paired comparisons with full."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hesitant._typing import FloatArray
from hesitant.studies._estimators import Row

__all__ = ["MEASURES", "findings", "summarise"]

MEASURES = {"adjusted_rand": 1, "log_loss": -1}
"""The measures of the paper, and whether more (1) or less (-1) of each is better."""


def summarise(rows: list[Row]) -> list[Row]:
    """Summarise a simulation, one row for each estimator.

    Parameters
    ----------
    rows : list of dict
        What `run_simulation` returns.

    Returns
    -------
    list of dict
        For each measure the mean over replications and its Monte Carlo standard error; the mean
        difference from the full likelihood on the same data (estimator − full) with its standard
        error; and in how many replications full was strictly better, and neither was.
    """
    groups = _groups(rows)
    full = groups["full", None]
    return [
        {
            "estimator": name,
            "alpha": alpha,
            "replications": len(group["converged"]),
            "converged": int(group["converged"].sum()),
            **_describe(group, full),
        }
        for (name, alpha), group in groups.items()
    ]


def _groups(rows: list[Row]) -> dict[tuple[str, float | None], dict[str, FloatArray]]:
    """Return each estimator's columns, in the order of the replications."""
    lists: dict[tuple[str, float | None], dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["replication"])):
        group = lists.setdefault((row["estimator"], row["alpha"]), {})
        for column in (*MEASURES, "converged"):
            group.setdefault(column, []).append(float(row[column]))
    return {
        key: {column: np.array(values) for column, values in group.items()}
        for key, group in lists.items()
    }


def _describe(group: dict[str, FloatArray], full: dict[str, FloatArray]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for measure, better in MEASURES.items():
        mean, error = _mean(group[measure])
        change = group[measure] - full[measure]
        # Solvers that reach the same maximum differ by rounding: that is a tie, not a win.
        change = np.where(np.abs(change) <= 1e-4 * np.abs(full[measure]), 0.0, change)
        difference, difference_error = _mean(change)
        out |= {
            f"{measure}_mean": mean,
            f"{measure}_se": error,
            f"{measure}_minus_full": difference,
            f"{measure}_minus_full_se": difference_error,
            f"{measure}_full_wins": int((better * change < 0).sum()),
            f"{measure}_ties": int((change == 0).sum()),
        }
    return out


def _mean(values: FloatArray) -> tuple[float, float]:
    """Return the mean and its standard error; NaN for that of a single value."""
    n = len(values)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan


def findings(rows: list[Row]) -> list[dict[str, Any]]:
    """Say whether each finding of the paper can be seen.

    Parameters
    ----------
    rows : list of dict
        What `run_simulation` returns.

    Returns
    -------
    list of dict
        ``claim``, ``measure``, whether it was ``seen`` in the means, the ``state`` ("yes", "no",
        or "within error" where a difference is less than two Monte Carlo standard errors), and
        the numbers in ``words``: paired differences, with those errors.
    """
    groups = _groups(rows)
    alphas = {a: group for (_, a), group in groups.items() if a is not None}
    out = []
    for measure, better in MEASURES.items():
        values = {a: group[measure] for a, group in alphas.items()}
        best = max(values, key=lambda a: better * values[a].mean())
        half = min(values, key=lambda a: abs(a - 0.5))
        gain = groups["full", None][measure] - values[best]
        to_best = values[half] - values[best]
        ends = {end: values[end] - values[half] for end in (min(values), max(values))}
        claims = [
            (
                "full beats every alpha",
                better * gain.mean() > 0,
                [better * gain],
                f"full less the best alpha ({best:g}): {_in_words(gain)}",
            ),
            (
                "alpha = 0.5 is best among them",
                half == best,
                [] if half == best else [better * to_best],
                f"best at {best:g}"
                + ("" if half == best else f"; {half:g} less the best: {_in_words(to_best)}"),
            ),
            (
                "both ends fall off",
                all(better * change.mean() < 0 for change in ends.values()),
                [-better * change for change in ends.values()],
                "; ".join(f"{a:g} less {half:g}: {_in_words(c)}" for a, c in ends.items()),
            ),
        ]
        out += [
            {
                "claim": claim,
                "measure": measure,
                "seen": bool(seen),
                "state": _state(support),
                "words": words,
            }
            for claim, seen, support, words in claims
        ]
    return out


def _state(support: list[FloatArray]) -> str:
    """Judge a claim by the paired differences that should all be positive."""
    reached = [_mean(change) for change in support]
    # a single replication has no error: its sign decides
    reaches = [2 * error if math.isfinite(error) else 0.0 for _, error in reached]
    if any(mean < -reach for (mean, _), reach in zip(reached, reaches, strict=True)):
        return "no"
    clear = all(mean > reach for (mean, _), reach in zip(reached, reaches, strict=True))
    return "yes" if clear else "within error"


def _in_words(change: FloatArray) -> str:
    """Return a difference to the second figure of its error."""
    mean, error = _mean(change)
    size = error if math.isfinite(error) and error > 0 else abs(mean) or 1.0
    places = max(0, 1 - math.floor(math.log10(size)))
    shown = f"{error:,.{places}f}" if math.isfinite(error) else "unknown"
    return f"{mean:+,.{places}f} (s.e. {shown})".replace("-", "−")
