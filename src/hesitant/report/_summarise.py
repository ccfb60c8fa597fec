"""From a fitted model and its data to one plain dictionary."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hesitant._result import plain
from hesitant._typing import AnyArray
from hesitant.attached import attach
from hesitant.diagnostics import diagnose
from hesitant.report._case import Case
from hesitant.report._change import summarise_change
from hesitant.report._labels import summarise_labels
from hesitant.report._method import summarise_method
from hesitant.report._parameters import summarise_parameters
from hesitant.report._repeat import summarise_repeat
from hesitant.report._triage import summarise_triage
from hesitant.report._verdict import summarise_verdict

__all__ = ["build_case", "summarise"]


def build_case(
    clf: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    reviewed: Any = None,
    ids: Sequence[Any] | None = None,
    rows: AnyArray | None = None,
    n_boot: int = 0,
    seed: Any = None,
) -> Case:
    """Check the data against the model, and fit what the report compares it with."""
    data = attach(clf, X, y, sample_weight, reviewed)
    n = len(data.labels.codes)
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids has {len(ids)} entries and X has {n} rows: give one for each row.")
    diagnosis = diagnose(
        X,
        y,
        estimator=clf,
        sample_weight=sample_weight,
        reviewed=reviewed,
        n_boot=n_boot,
        random_state=seed,
        n_jobs=clf.n_jobs,
    )
    return Case(
        clf=clf,
        X=X,
        y=y,
        data=data,
        ids=ids,
        rows=np.arange(1, n + 1) if rows is None else np.asarray(rows),
        diagnosis=diagnosis,
    )


def summarise(
    case: Case,
    *,
    name: str,
    notes: Sequence[str],
    wording: Callable[[str], str],
    options: Mapping[str, Any] | None,
    seed: Any,
    data: Mapping[str, Any] | None,
    command: str | None,
) -> dict[str, Any]:
    """Return the whole report as plain lists, numbers and strings."""
    labels = summarise_labels(case)
    change = summarise_change(case)
    if data is None:
        data = {
            "name": name,
            "sha256": _checksum(case.X, case.y),
            "sha256_of": "features and labels",
            "rows": case.n,
            "columns": len(case.features),
            "features": case.features,
        }
    summary = {
        "name": name,
        "verdict": summarise_verdict(case.diagnosis, labels, change, case.clf),
        "notes": list(dict.fromkeys(map(wording, (*notes, *case.diagnosis.remarks)))),
        "classes": case.classes,
        "features": case.features,
        "labels": labels,
        "evidence": _evidence(case),
        "change": change,
        "parameters": summarise_parameters(case, wording),
        "triage": summarise_triage(case),
        "method": summarise_method(case),
        "repeat": summarise_repeat(
            case.clf, options=options, seed=seed, data=data, command=command
        ),
    }
    out: dict[str, Any] = plain(summary)
    return out


def _evidence(case: Case) -> dict[str, Any]:
    found = case.diagnosis.to_dict()
    # The curve is a picture, not numbers to read; the notes and the method say the rest.
    return {k: v for k, v in found.items() if k not in ("curve", "remarks", "caveats")}


def _checksum(X: Any, y: Any) -> str:
    """Return a digest of the data's own numbers and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes())
    for value in np.asarray(y, dtype=object):
        digest.update(str(value).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
