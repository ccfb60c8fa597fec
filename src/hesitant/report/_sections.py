"""Each section of the report as plain numbers and words."""

import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from hesitant._result import plain
from hesitant._typing import FloatArray
from hesitant._words import noun, number, percent, short
from hesitant.diagnostics._triage import gains, known_from
from hesitant.inference._information import information_of
from hesitant.report._case import Case
from hesitant.report._held_out import summarise_held_out

SURE, UNSURE = 0.95, 0.7
BANDS = (
    (0.99, 1.0),
    (0.9, 0.99),
    (0.7, 0.9),
    (0.0, 0.7),
)  # of confidence, that anyone can picture
MOST_LISTED, KEPT, SHOWN_FEATURES, VALUES = 12, 1000, 12, 4
REFERENCE = "D. Ahfock and G. J. McLachlan, On missing label patterns in semi-supervised learning."


def summarise(
    case: Case,
    *,
    name: str,
    notes: Sequence[str],
    wording: Callable[[str], str],
    options: Mapping[str, Any] | None,
    seed: Any,
    data: Mapping[str, Any],
    command: str | None,
) -> dict[str, Any]:
    """Return the whole report as plain lists, numbers and strings."""
    summary: dict[str, Any] = {
        "name": name,
        "classes": case.classes,
        "features": case.features,
        "held_out": summarise_held_out(case),
        "labels": _labels(case),
        "separation": _separation(case),
        "triage": _triage(case),
        "doubtful_labels": _doubtful_labels(case),
        "readers": _readers(case),
        "evidence": _evidence(case),
        "change": _change(case),
        "parameters": _parameters(case, wording),
        "method": _method(case),
        "candidates": _candidates(case.whole),
        "repeat": _repeat(case.whole, options, seed, data, command),
    }
    summary["verdict"] = {
        k: [wording(text) for text in v] if isinstance(v, list) else v
        for k, v in _verdict(case, summary).items()
    }
    summary["notes"] = list(dict.fromkeys(map(wording, (*notes, *case.diagnosis.remarks))))
    out: dict[str, Any] = plain(summary)
    return out


# -- the answer first -----------------------------------------------------------------------------


def _verdict(case: Case, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the headline and, in a few sentences each, what there is, how sure, what next."""
    diagnosis = case.diagnosis
    what = [_what_is_there(summary["labels"]), diagnosis.explanation]
    if summary["change"]["available"] and diagnosis.finding in ("hard", "easy", "mixed", "random"):
        what.append(_what_changes(diagnosis.finding, summary["change"]))
    sure = _how_sure(summary["held_out"], summary["labels"])
    then = _what_next(summary)
    return {
        "finding": diagnosis.finding,
        "headline": diagnosis.headline,
        "what": what,
        "sure": sure,
        "next": then,
        "paragraphs": [*what, *sure, *then],
        "cautions": _cautions(case, summary),
    }


def _what_is_there(labels: dict[str, Any]) -> str:
    rows, blank = labels["rows"], labels["blank"]
    if not blank:
        return f"All {noun(rows, 'row')} carry a label."
    text = f"Of {noun(rows, 'row')}, {blank:,} ({percent(labels['blank_share'])}) have no label."
    if labels["not_reviewed"]:
        count = "count" if labels["not_reviewed"] != 1 else "counts"
        return (
            f"{text} {noun(labels['not_reviewed'], 'row')} {count} as not reviewed: they help to "
            "shape the classes, but whether they have a label is no evidence."
        )
    return f"{text} All rows were taken as shown to whoever labelled them."


def _what_changes(finding: str, change: dict[str, Any]) -> str:
    moved, blank = change["moved_blank"], change["blank"]
    other = change["moved"] - moved
    if not change["moved"]:
        text = "Using the pattern puts no row into another class"
    else:
        text = f"Using the pattern puts {moved:,} of {noun(blank, 'blank row')} into another class"
        text += f", and {noun(other, 'labelled row')}" if other else ""
    gain = change["precision_gain"]
    if gain is not None and gain >= 1.02 and finding != "random":
        text += (
            f"; it sharpens the estimates about as much as {percent(gain - 1, whole=True)} more "
            "rows like these would"
        )
    if not change["model_uses_pattern"]:
        text += ". The model in this report was asked to ignore it"
    return text + "."


def _how_sure(held_out: dict[str, Any], labels: dict[str, Any]) -> list[str]:
    if not held_out["available"]:
        return [
            f"How often the model is right could not be measured: {held_out['why_not']}. Its own "
            "probabilities have not been put to the test."
        ]
    span = f"{percent(held_out['lower'])} to {percent(held_out['upper'])}"
    out = [
        f"Asked about labelled rows that it had not seen, the model gives the same label in "
        f"{percent(held_out['accuracy'])} of {noun(held_out['rows'], 'case')} (95 % interval "
        f"{span})."
    ]
    if held_out["all_rows"] is not None and labels["blank"]:
        out.append(
            "Labelled rows are the easier ones: with each weighted by one over its chance of a "
            f"label, the estimate for all rows is about {percent(held_out['all_rows'])}. It rests "
            "on the model where nobody gave a label, and tends to be a little high."
        )
    if held_out["contradicted"]:
        out.append(
            f"The model is far surer than it should be: on those rows it claims "
            f"{percent(held_out['claimed'])}. Its probabilities are therefore not shown."
        )
    elif labels["blank"] > 1:
        text = f"It is at least 95 % sure of the class of {labels['blank_sure']:,} blank rows"
        if labels["blank_unsure"]:
            text += f" and less than 70 % sure of {labels['blank_unsure']:,}"
        out.append(f"{text}.")
    return out


def _what_next(summary: dict[str, Any]) -> list[str]:
    triage, doubtful = summary["triage"], summary["doubtful_labels"]
    out = []
    if triage["total"]:
        first = min(triage["total"], 20)
        out.append(
            "Ask again about the blank row in the triage list."
            if first == 1
            else f"Ask again about the first {first} rows of the triage list: their labels would "
            "teach the most."
        )
    if triage["unusual_total"]:
        many = triage["unusual_total"] != 1
        out.append(
            f"Check {noun(triage['unusual_total'], 'blank row')} that fit{'' if many else 's'} no "
            f"class: {'they may be' if many else 'it may be'} damaged, mistyped or of another "
            "kind."
        )
    if doubtful["total"]:
        out.append(
            f"Check {noun(doubtful['total'], 'label')} that the model contradicts with at least "
            "95 % confidence."
        )
    return out or ["Nothing needs a second look."]


def _cautions(case: Case, summary: dict[str, Any]) -> list[str]:
    out = []
    clf, diagnosis, held_out = case.clf, case.diagnosis, summary["held_out"]
    if not clf.converged_:
        out.append(
            f"The fit did not settle ({clf.termination_}). Treat every number here as provisional."
        )
    if held_out["available"] and held_out["upper"] < max(0.8, held_out["guess"]):
        out.append(
            f"On held-out rows the model names only {percent(held_out['accuracy'])} of the labels "
            f"(always naming the commonest class would give {percent(held_out['guess'])}), so its "
            "classes may not be those of the labels. Try another family, or other features."
        )
    if diagnosis.caution:
        out.append(diagnosis.caution)
    if diagnosis.missing_by_class:
        ranked = sorted(diagnosis.by_class, key=lambda r: r["labelled"] - r["expected"])
        least, most = (
            f"{percent(r['labelled'])} of class {short(r['class'])} (of rows as hard, "
            f"{percent(r['expected'])})"
            for r in (ranked[0], ranked[-1])
        )
        out.append(f"Labels are given to {most} but to {least}.")
    return out


# -- section by section ---------------------------------------------------------------------------


def _labels(case: Case) -> dict[str, Any]:
    """Count labels and blanks, by class and by difficulty.

    Difficulty is judged by the fit that ignores the pattern of blanks, so that the counts cannot
    be an echo of the assumption.
    """
    labelled, blank = case.labels.labelled, case.blank
    given = case.labels.counts
    assigned = np.bincount(case.posterior[blank].argmax(axis=1), minlength=len(case.classes))
    expected = case.posterior[blank].sum(axis=0)
    assured = case.posterior[blank & ~case.unusual].max(axis=1)
    confidence = case.ignorant_posterior.max(axis=1)
    return {
        "rows": case.n,
        "labelled": int(labelled.sum()),
        "blank": int(blank.sum()),
        "blank_share": float(blank.mean()),
        "not_reviewed": int((~case.data.reviewed).sum()),
        "blank_sure": int((assured >= SURE).sum()),
        "blank_unsure": int((assured < UNSURE).sum()),
        "classes": [
            {
                "class": name,
                "labelled": int(given[h]),
                "blank_assigned": int(assigned[h]),
                "blank_expected": float(expected[h]),
                "blank_share": _share(expected[h], given[h] + expected[h]),
            }
            for h, name in enumerate(case.classes)
        ],
        "by_confidence": [_band(case, confidence, low, high) for low, high in BANDS],
    }


def _band(case: Case, confidence: Any, low: float, high: float) -> dict[str, Any]:
    inside = case.data.reviewed & (confidence >= low) & ((confidence < high) | (high == 1))
    rows, blank = int(inside.sum()), int((inside & case.blank).sum())
    share = _share(blank, rows)
    return {"from": low, "to": high, "rows": rows, "blank": blank, "blank_share": share}


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None


def _separation(case: Case) -> list[dict[str, Any]]:
    """Say of the features that tell classes apart which pair each does best."""
    means, spread = case.clf.means_, np.sqrt(np.einsum("hjj->hj", case.clf.covariances_))
    out = []
    for j in case.leading[:SHOWN_FEATURES]:
        with np.errstate(all="ignore"):
            pooled = np.sqrt((spread[:, None, j] ** 2 + spread[None, :, j] ** 2) / 2)
            away = np.nan_to_num(np.abs(means[:, None, j] - means[None, :, j]) / pooled)
        a, b = np.unravel_index(int(away.argmax()), away.shape)
        out.append(
            {
                "feature": case.features[j],
                "share": float(case.separation[j]),
                "classes": sorted((case.classes[a], case.classes[b])),
                "distance": float(away.max()),
            }
        )
    return out


def _triage(case: Case) -> dict[str, Any]:
    """List blank rows: those that fit the classes, most instructive first, and those that do not.

    The chance of an answer is part of the order: whoever withheld the hardest labels may again.
    """
    chance = (case.clf if case.panel else case.whole).labelling_probability(case.X)
    usual = np.flatnonzero(case.blank & ~case.unusual)
    apart = np.flatnonzero(case.blank & case.unusual)
    apart = apart[np.argsort(case.clf.score_samples(case.X)[apart], kind="stable")]
    if usual.size and not isinstance(case.information, str):
        known = known_from(case.data.likelihood, case.clf.state_, case.information)
        order, gain, *_ = gains(case.clf, case.data.X, usual, *known, chance, KEPT)
        explanation = (
            "Blank rows, ranked by what asking for their label would be expected to teach: how "
            "much the label tells about the classes, times the chance that it is given."
        )
    else:
        gain = case.clf.entropy(case.X)[usual]
        best = np.argsort(-gain * chance[usual], kind="stable")
        order, gain = usual[best], gain[best]
        explanation = (
            "Blank rows, ranked by how uncertain their class is and by the chance of an answer."
        )
    best_worth = max(gain[0] * chance[order[0]], 1e-300) if len(order) else 1.0
    return {
        "total": int(usual.size),
        "unusual_total": int(apart.size),
        "explanation": explanation,
        "features": [case.features[j] for j in case.leading[:VALUES]],
        "rows": [
            _row(case, i)
            | {"rank": rank, "chance": float(chance[i]), "gain": float(v)}
            | {"expected_gain": float(v * chance[i]), "worth": float(v * chance[i] / best_worth)}
            for rank, (i, v) in enumerate(zip(order[:KEPT], gain[:KEPT], strict=True), 1)
        ],
        "unusual": [_row(case, i) for i in apart[:KEPT]],
    }


def _row(case: Case, i: int, tau: FloatArray | None = None) -> dict[str, Any]:
    """Return what a table says of a row."""
    tau = case.posterior if tau is None else tau
    first, second = np.argsort(-tau[i], kind="stable")[:2]
    return {
        "row": int(case.rows[i]),
        "position": int(i),
        "name": case.name_of(int(i)),
        "predicted": case.classes[first],
        "probability": float(tau[i, first]),
        "runner_up": case.classes[second],
        "runner_up_probability": float(tau[i, second]),
        "values": [float(case.values[i, j]) for j in case.leading[:VALUES]],
    }


def _doubtful_labels(case: Case) -> dict[str, Any]:
    """List labels that the model contradicts, as far as it may: judged without the label."""
    tau = np.where(np.isfinite(case.held_out.proba), case.held_out.proba, case.proba)
    given = tau[np.arange(case.n), np.maximum(case.labels.codes, 0)]
    wrong = case.labels.labelled & (tau.max(axis=1) >= SURE) & (given <= 1 - SURE) & ~case.unusual
    rows = np.flatnonzero(wrong)
    rows = rows[np.argsort(given[rows], kind="stable")]
    if summarise_held_out(case)["contradicted"]:
        rows = rows[:0]  # a model that is wrongly sure contradicts nobody
    return {
        "total": int(rows.size),
        "rows": [
            _row(case, i, tau)
            | {"label": case.classes[case.labels.codes[i]], "label_probability": float(given[i])}
            for i in rows[:MOST_LISTED]
        ],
    }


def _readers(case: Case) -> dict[str, Any]:
    """Say of each reader how much they label, how often rightly, and with whom they agree."""
    if not case.panel:
        return {}
    table = case.whole.readers_
    agreement = case.said.agreement()
    confusion = getattr(case.whole, "confusion_", None)
    return {
        "names": list(case.said.readers),
        "rows": table.to_dict("records"),
        "agreement": agreement.tolist(),
        "confusion": None if confusion is None else np.asarray(confusion).tolist(),
    }


def _evidence(case: Case) -> dict[str, Any]:
    found = case.diagnosis.to_dict()
    # The curve is a picture, not numbers to read; the notes and the method say the rest.
    return {k: v for k, v in found.items() if k not in ("curve", "remarks", "caveats")}


def _change(case: Case) -> dict[str, Any]:
    """Return the differences between the two fits, or that there are none to show."""
    if case.informed is None:
        return {"available": False}
    before = case.ignorant_posterior
    after = case.informed.predict_proba(case.X)
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    moved, blank = np.flatnonzero(old != new), case.blank
    # those that change most come first
    order = moved[np.argsort(-np.abs(after - before).max(axis=1)[moved], kind="stable")]
    ignorance, informed = case.diagnosis.ignorance, case.informed
    return {
        "available": True,
        "model_uses_pattern": bool(case.clf.mechanism_.informative),
        "moved": len(moved),
        "moved_blank": int(blank[moved].sum()),
        "blank": int(blank.sum()),
        "rows": [
            {
                "row": int(case.rows[i]),
                "position": int(i),
                "name": case.name_of(int(i)),
                "labelled": bool(case.labels.labelled[i]),
                "without": case.classes[old[i]],
                "probability_without": float(before[i, old[i]]),
                "with": case.classes[new[i]],
                "probability_with": float(after[i, new[i]]),
            }
            for i in order[:MOST_LISTED]
        ],
        "classes": [
            {
                "class": name,
                "weight_without": float(ignorance.weights_[h]),
                "weight_with": float(informed.weights_[h]),
                "mean_shift": _shift(ignorance, informed, h),
                "blank_without": int((old[blank] == h).sum()),
                "blank_with": int((new[blank] == h).sum()),
            }
            for h, name in enumerate(case.classes)
        ],
        "precision_gain": _precision_gain(case),
    }


def _shift(old: Any, new: Any, h: int) -> float | None:
    """Return how far a class's mean moved, in its own standard deviations (Mahalanobis)."""
    step, covariance = new.means_[h] - old.means_[h], old.covariances_[h]
    if not (np.isfinite(step).all() and np.isfinite(covariance).all()):
        return None  # a t of so few degrees of freedom has no moments
    try:
        return float(np.sqrt(max(step @ np.linalg.solve(covariance, step), 0.0)))
    except np.linalg.LinAlgError:
        return None


def _precision_gain(case: Case) -> float | None:
    """Return the median ratio of variances, without over with the pattern, of class parameters.

    A ratio of 1.3 means that the pattern is worth about 30 % more rows like these.
    """
    using = case.information
    if isinstance(using, str) or case.informed is not case.clf:
        return None
    try:
        without = information_of(case.diagnosis.ignorance, case.data.likelihood.ignoring())
    except (ValueError, np.linalg.LinAlgError):
        return None
    errors = dict(zip(using.parameters, using.std_error, strict=True))
    ratios = [
        (error / errors[name]) ** 2
        for name, error in zip(without.parameters, without.std_error, strict=True)
        if name in errors and 0 < errors[name] < np.inf and 0 < error < np.inf
    ]
    return float(np.median(ratios)) if ratios else None


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
_PARAMETERS = {"coef[u]": "entropy", "dropout": "chance loss"}


def _parameters(case: Case, wording: Callable[[str], str]) -> dict[str, Any]:
    """Return every parameter with estimate, standard error and interval, in groups."""
    found = case.information
    if isinstance(found, str):
        return {"level": None, "remarks": [wording(found)], "groups": []}
    groups: dict[str, list[dict[str, Any]]] = {title: [] for title in _GROUPS.values()}
    columns = (found.estimate, found.std_error, found.lower, found.upper)
    for name, *values in zip(found.parameters, *columns, strict=True):
        kind, bracket, rest = name.partition("[")
        of = _PARAMETERS.get(name, rest.removesuffix("]") if bracket else kind)
        row = {"parameter": name, "of": of}
        row |= dict(zip(("estimate", "std_error", "lower", "upper"), plain(values), strict=True))
        groups.setdefault(_GROUPS.get(kind, "Other parameters"), []).append(row)
    return {
        "level": found.level,
        "remarks": [wording(remark) for remark in found.remarks],
        "groups": [{"title": title, "rows": rows} for title, rows in groups.items() if rows],
    }


def _candidates(whole: Any) -> list[dict[str, Any]]:
    """Return the models that were tried, largest weight first; nothing if there was one only."""
    found = getattr(whole, "cv_results_", None)
    if found is None:
        return []
    keys = ("name", "weight", "gap", "gap_error", "note")
    rows = [dict(zip(keys, row, strict=True)) for row in zip(*map(found.get, keys), strict=True)]
    return sorted(rows, key=lambda row: -row["weight"])


def _method(case: Case) -> dict[str, Any]:
    """Return what was fitted and what it takes for granted, in words."""
    clf = case.clf
    likelihood = clf.mechanism_.describe()
    if clf.alpha != 0.5:
        likelihood += (
            f" Labelled rows were given a weight of {2 * clf.alpha:g} against "
            f"{2 * (1 - clf.alpha):g} for blank ones (a fractionally supervised fit)."
        )
    combined = [r for r in _candidates(case.whole) if r["weight"] > 0]
    if combined:
        likelihood += (
            f" This is the one with the largest weight of {noun(len(combined), 'model')} whose "
            f"predictions were combined ({percent(combined[0]['weight'], whole=True)}); tests, "
            "parameters and what a label would teach are its own, all probabilities those of the "
            "combination."
        )
    own = [
        "Probabilities hold for rows drawn like these. A new instrument, panel or population "
        "calls for a new fit."
    ]
    if (case.data.weight != 1).any():
        own.append(
            "Row weights enter the fits and the tests of the likelihood as numbers of rows; the "
            "rank tests and the counts take every row once."
        )
    return {
        "paragraphs": [
            f"The rows are taken to come from {noun(len(case.classes), 'class', 'classes')}, "
            f"{clf.family_.describe()}. The model has {noun(clf.n_parameters_, 'parameter')}; "
            "they were chosen to make the data most likely (log-likelihood "
            f"{number(clf.log_likelihood_, 8)}, {noun(clf.n_iter_, 'iteration')}; "
            f"{clf.termination_}).",
            likelihood,
            "Difficulty is the entropy of a row's class probabilities: zero where one class is "
            "certain, largest where all are equally probable. Pictures show it as a share of its "
            "maximum on the logit scale. For the evidence it comes from a fit that ignores the "
            "pattern of blanks, so that the pattern cannot prove itself.",
            "Held-out rows: the labelled rows were split into five parts, and the labels of each "
            "predicted by a model fitted without them. The estimate for all rows is the model's "
            "confidence in every row, less what held-out rows fall short of it, weighted by one "
            "over their chance of a label. Intervals of parameters come from the "
            "curvature of the likelihood at its maximum. What a label would teach is the "
            "information about the classes that it is expected to give, in nats. A row fits no "
            "class if it is less likely under the model than 99.5 % of the labelled rows.",
        ],
        "caveats": [*case.diagnosis.caveats, *own],
        "reference": REFERENCE,
    }


def _repeat(
    clf: Any,
    options: Mapping[str, Any] | None,
    seed: Any,
    data: Mapping[str, Any],
    command: str | None,
) -> dict[str, Any]:
    """Return versions, options, seed and data checksum: everything needed to do it again."""
    from hesitant import __version__

    return {
        "version": __version__,
        "python": platform.python_version(),
        "libraries": {
            name: found
            for name in ("numpy", "scipy", "scikit-learn", "numba", "pandas")
            if (found := _version(name)) is not None
        },
        "seed": plain(seed),
        "options": plain(dict(options) if options is not None else clf.get_params(deep=False)),
        "data": plain(dict(data)),
        "command": command,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
