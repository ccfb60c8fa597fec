"""The parameter table, with intervals where they can be had."""

from collections.abc import Callable
from typing import Any

from hesitant._result import plain
from hesitant.report._case import Case

__all__ = ["summarise_parameters"]

_GROUPS = {
    "weight": "Class weights",
    "intercept": "Labelling mechanism",
    "coef": "Labelling mechanism",
    "dropout": "Labelling mechanism",
    "theta": "Labelling mechanism",
    "mean": "Class means",
    "location": "Class locations",
    "dof": "Degrees of freedom",
    "shape": "Skewness",
    "covariance": "Class covariances",
    "scale": "Class scale matrices",
}
_WORDS = {"coef[u]": "entropy", "dropout": "chance loss"}
_ORDER = tuple(dict.fromkeys(_GROUPS.values()))


def summarise_parameters(case: Case, wording: Callable[[str], str]) -> dict[str, Any]:
    """Return every parameter with estimate, standard error and interval, in groups."""
    found = case.information
    if isinstance(found, str):
        return {"level": None, "remarks": [wording(found)], "groups": []}
    groups: dict[str, list[dict[str, Any]]] = {}
    columns = (found.estimate, found.std_error, found.lower, found.upper)
    for name, *values in zip(found.parameters, *columns, strict=True):
        kind, bracket, rest = name.partition("[")
        title = _GROUPS.get(kind, "Other parameters")
        of = rest.removesuffix("]") if bracket else kind
        of = _WORDS.get(name, of)
        row = {"parameter": name, "of": of}
        row |= dict(zip(("estimate", "std_error", "lower", "upper"), plain(values), strict=True))
        groups.setdefault(title, []).append(row)
    ranked = sorted(groups, key=lambda t: _ORDER.index(t) if t in _ORDER else len(_ORDER))
    return {
        "level": found.level,
        "remarks": [wording(remark) for remark in found.remarks],
        "groups": [{"title": title, "rows": groups[title]} for title in ranked],
    }
