"""Each section of the report as plain numbers and words."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hesitant._typing import FloatArray, IntArray
from hesitant._words import decimals, listed, noun, percent, plain, short
from hesitant.diagnostics._triage import known_by_labels, known_from, rank
from hesitant.inference import information
from hesitant.inference._scores import axes_at
from hesitant.report._case import Case
from hesitant.report._held_out import Section, judged_by_labels

SURE, UNSURE = 0.95, 0.7
# bands of confidence that anyone can picture, and what to call them
BANDS = (0.0, 0.7, 0.9, 0.99, 1.0)
BAND_NAMES = ("less than 70 %", "70 % to 90 %", "90 % to 99 %", "99 % or more")
MOST_LISTED, KEPT, VALUES = 12, 1000, 4
REFERENCE = "D. Ahfock and G. J. McLachlan, On missing label patterns in semi-supervised learning."
# titles of parameters, by how their names begin
_GROUPS = {"weight": "Class weights"}
_GROUPS |= dict.fromkeys(("intercept", "coef", "dropout", "theta"), "Labelling mechanism")
_GROUPS |= {"mean": "Class means", "location": "Class locations", "dof": "Degrees of freedom"}
_GROUPS |= {"shape": "Skewness", "covariance": "Class covariances"}
_GROUPS |= {"scale": "Class scale matrices"}
_PARAMETERS = {"coef[u]": "entropy", "dropout": "chance loss"}


def summarise(case: Case, name: str, notes: Sequence[str], repeat: Section) -> Any:
    found, candidates = case.diagnosis, _candidates(case.whole)
    held_out, labels, change = judged_by_labels(case), _labels(case), _change(case)
    triage, doubtful = _triage(case), _doubtful_labels(case, held_out)
    first = case.leading[:MOST_LISTED]
    apart = {"feature": [case.features[j] for j in first], "share": case.separation[first]}
    # The answer, first on the page: what was found, how sure it is, and what to do next.
    told = {
        "what": [*_what_is_there(case, labels, change)],
        "sure": [*_how_sure(case, held_out, labels)],
        "next": [*_what_next(triage, doubtful)] or ["Nothing needs a second look."],
        "cautions": [*_cautions(case, held_out)],
    }
    told = {part: [case.wording(text) for text in texts] for part, texts in told.items()}
    # The curve is a picture, not numbers to read; the notes and the method say the rest.
    hidden = {"curve", "remarks", "caveats"}
    page = {"name": name, "classes": case.classes, "features": case.features}
    page |= {"held_out": held_out, "labels": labels, "separation": _records(apart)}
    page |= {"triage": triage, "doubtful_labels": doubtful, "candidates": candidates}
    page |= {"readers": _readers(case) if case.panel else {}, "change": change}
    page["evidence"] = {k: v for k, v in case.diagnosis.to_dict().items() if k not in hidden}
    page |= {"parameters": _parameters(case), "method": _method(case, candidates)}
    answer = {"paragraphs": [*told["what"], *told["sure"], *told["next"]]}
    page["verdict"] = {"finding": found.finding, "headline": found.headline, **told, **answer}
    of = f" (This is about the model '{case.whole.name_}'.)" if candidates else ""
    own = [case.wording(remark) + of for remark in found.remarks]
    page["notes"] = list(dict.fromkeys([*map(case.wording, notes), *own]))
    return plain(page | {"repeat": repeat})


def _what_is_there(case: Case, labels: Section, change: Section) -> Iterator[str]:
    rows, found, unseen = noun(case.n, "row"), case.diagnosis, labels["not_reviewed"]
    seen = "All rows were taken as shown to whoever labelled them."
    if unseen:
        count = f"{noun(unseen, 'row counts', 'rows count')} as not reviewed"
        no_label = "they help to shape the classes, but whether they have a label is no evidence"
        seen = f"{count}: {no_label}."
    share = percent(labels["blank_share"])
    some = f"Of {rows}, {labels['blank']:,} ({share}) have no {case.label}. {seen}"
    yield some if labels["blank"] else f"All {rows} carry a label."
    yield found.explanation
    if case.label_rates is not None:
        pairs = zip(case.label_rates, case.classes, strict=True)
        rates = listed([f"{percent(r)} of class {short(c)}" for r, c in pairs], most=6)
        yield f"Labels seem to be given to about {rates}. The predictions allow for that."
    elif change["available"] and found.finding in ("hard", "easy", "mixed", "random"):
        yield change["words"]


def _how_sure(case: Case, held_out: Section, labels: Section) -> Iterator[str]:
    if not held_out["available"]:
        unknown = f"How often the model is right could not be measured: {held_out['why_not']}."
        yield f"{unknown} Its own probabilities have not been put to the test."
        return
    names = ("accuracy", "lower", "upper", "claimed", "agreed")
    accuracy, lower, upper, claimed, agreed = (percent(held_out[k]) for k in names)
    given = "the class that most readers named" if case.panel else "the same label"
    share = f"{accuracy} of {noun(held_out['rows'], 'case')} (95 % interval {lower} to {upper})"
    yield f"Asked about labelled rows that it had not seen, the model gives {given} in {share}."
    if case.confusion is not None:
        expected = f"the model expects to agree with {claimed} of their labels"
        yield f"Readers err too. Allowing for that, {expected}, and agrees with {agreed}."
    if held_out["blank_rows"] is not None:
        hard = case.diagnosis.finding == "hard" and not case.diagnosis.missing_by_class
        easier = "Labelled rows are the easier ones. " * hard
        every, blank = (percent(held_out[k]) for k in ("all_rows", "blank_rows"))
        text = f"{easier}The estimate for all rows is about {every}, for blank ones about {blank}."
        rests = "It rests on the model where nobody gave a label, and may be some points too high."
        yield f"{text} {rests}".replace("about >", "above")
    elif labels["blank"] and case.confusion is None:
        yield "That is so of rows like the labelled ones; blank rows may well be harder."
    if held_out["contradicted"]:
        claims = "" if case.panel else f": on those rows it claims {claimed}"
        yield f"The model is far surer than it should be{claims}. Its probabilities are not shown."
    elif labels["blank"] > 1:
        sure, unsure = (noun(labels[k], "blank row") for k in ("blank_sure", "blank_unsure"))
        told = f"at least 95 % sure of the class of {sure}, and less than 70 % sure of {unsure}"
        yield f"It is {told}.".replace(" of 0 blank rows", " of no blank row")


def _what_next(triage: Section, doubtful: Section) -> Iterator[str]:
    if triage["total"]:
        first = noun(min(triage["total"], 20), "row")
        yield f"Ask again about the first {first} of the triage list: they would teach the most."
    if triage["unusual_total"]:
        which = noun(triage["unusual_total"], "blank row that fits", "blank rows that fit")
        yield f"Check {which} no class: perhaps damaged, mistyped or of another kind."
    if doubtful["total"]:
        which = noun(doubtful["total"], "label")
        text = f"Check {which} that the model contradicts with at least 95 % confidence"
        yield f"{text}: were all labels right, at most half as many would be."


def _cautions(case: Case, held_out: Section) -> Iterator[str]:
    if not case.clf.converged_:
        yield f"The fit did not settle ({case.clf.termination_}): every number is provisional."
    if held_out["available"] and held_out["upper"] < max(0.8, held_out["guess"]):
        right, guess = percent(held_out["accuracy"]), percent(held_out["guess"])
        naive = f"always naming the commonest class would give {guess}"
        other = "its classes may not be those of the labels. Try another family, or other features"
        yield f"On held-out rows the model names only {right} of the labels ({naive}), so {other}."
    if case.label_rates is not None:
        yield "Ask how labels were given: that it was by class is what the rows suggest."
    elif case.diagnosis.caution:
        yield case.diagnosis.caution


def _records(columns: Section) -> list[Section]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _labels(case: Case) -> Section:
    blank, seen, given = case.blank, case.data.reviewed, case.labels.counts
    assigned = np.bincount(case.posterior[blank].argmax(axis=1), minlength=len(case.classes))
    expected = case.posterior[blank].sum(axis=0)
    assured = case.posterior[blank & ~case.unusual].max(axis=1)
    # judged by the fit that ignores the blanks, so that counts cannot be an echo of the assumption
    band = np.digitize(np.max([*case.ignorant_posterior.T], axis=0), BANDS[1:-1])
    rows, without = (np.bincount(band[which], minlength=4) for which in (seen, seen & blank))
    classes = {"class": case.classes, "labelled": given, "blank_assigned": assigned}
    bands = {"from": BANDS[:-1], "to": BANDS[1:], "sure": BAND_NAMES, "rows": rows}
    with np.errstate(invalid="ignore"):  # of nothing there is no share
        classes |= {"blank_expected": expected, "blank_share": expected / (given + expected)}
        bands |= {"blank": without, "blank_share": without / rows}
    counts = {"rows": case.n, "labelled": (~blank).sum(), "blank": blank.sum()}
    counts |= {"blank_share": blank.mean(), "not_reviewed": (~seen).sum()}
    counts |= {"blank_sure": (assured >= SURE).sum(), "blank_unsure": (assured < UNSURE).sum()}
    return counts | {"classes": _records(classes), "by_confidence": _records(bands)[::-1]}


def _triage(case: Case) -> Section:
    # the chance of an answer is part of the order: whoever withheld the hardest labels may again
    chance, usual = case.chance, np.flatnonzero(case.blank & ~case.unusual)
    apart = np.flatnonzero(case.blank & case.unusual)
    apart = apart[np.argsort(case.density[apart], kind="stable")]
    known, by = None, "how uncertain their class is and by the chance of an answer"
    if not isinstance(case.information, str):
        known = known_from(case.information.axes, case.information.chart_information)
    elif case.diagnosis.finding != "crowded" and case.clf.family_.has_coordinates:
        model = case.clf.fitted_
        known = known_by_labels(axes_at(model, case.data)[0], model.n_rows)
    if known is not None:
        by = "how much their label is expected to tell, times the chance that it is given"
    order, gain = rank(known, case.data, usual, (case.posterior, case.entropy, chance), KEPT)
    worth = gain * chance[order]
    ranked = {"rank": np.arange(len(order)) + 1, "chance": chance[order], "gain": gain}
    ranked |= {"expected_gain": worth, "worth": worth / max(worth.max(initial=0), 1e-300)}
    return {
        "total": usual.size,
        "unusual_total": apart.size,
        "explanation": f"Blank rows, ranked by {by}.",
        "features": [case.features[j] for j in case.leading[:VALUES]],
        "rows": _records(_rows(case, order, case.posterior) | ranked),
        "unusual": _records(_rows(case, apart[:KEPT], case.posterior)),
    }


def _rows(case: Case, rows: IntArray, tau: FloatArray) -> Section:
    first, second = np.argsort(-tau[rows], axis=1, kind="stable")[:, :2].T
    classes = np.array(case.classes, dtype=object)
    likeliest = {"predicted": classes[first], "probability": tau[rows, first]}
    next_to = {"runner_up": classes[second], "runner_up_probability": tau[rows, second]}
    values = {"values": case.values[rows][:, case.leading[:VALUES]]}
    return _named(case, rows) | likeliest | next_to | values


def _named(case: Case, rows: IntArray) -> Section:
    return {"row": case.rows[rows], "position": rows, "name": [*map(case.name, rows)]}


def _doubtful_labels(case: Case, held_out: Section) -> Section:
    """List labels that the model contradicts, as far as it may: judged without the label."""
    every, codes = case.held_out[0], case.labels.codes
    tau = np.where(np.isfinite(every), every, case.proba)
    given, judged = tau[np.arange(case.n), np.maximum(codes, 0)], ~case.blank & ~case.unusual
    wrong = judged & (np.max([*tau.T], axis=0) >= SURE) & (given <= 1 - SURE)
    # a model that is wrongly sure contradicts nobody
    rows = np.flatnonzero(wrong & (not held_out["contradicted"]))
    rows = rows[np.argsort(given[rows], kind="stable")]
    # Of very many labels some are improbable and right: so many, if the model is. As many rows
    # are listed as leave at least every second of them wrong.
    small = np.sort(tau[judged].ravel())
    right = np.append(0.0, np.cumsum(small))[np.searchsorted(small, given[rows], side="right")]
    rows = rows[: np.flatnonzero(right <= np.arange(1, rows.size + 1) / 2).max(initial=-1) + 1]
    first = rows[:MOST_LISTED]
    said = {"label": [case.classes[h] for h in codes[first]], "label_probability": given[first]}
    return {"total": rows.size, "rows": _records(_rows(case, first, tau) | said)}


def _readers(case: Case) -> Section:
    said, shown, given = case.said, case.said.shown.sum(axis=0), case.said.given.sum(axis=0)
    share = np.where(shown > 0, given / np.maximum(shown, 1), np.nan)
    columns = {"reader": said.readers, "shown": shown, "labelled": given, "share": share}
    found = getattr(case.main, "readers_", None)  # none if all that was said is in the labels
    records = _records(columns | ({} if found is None else found.to_dict("list")))
    agreed = {"agreement": said.agreement(), "confusion": case.confusion}
    return {"names": list(said.readers), "rows": records, **agreed}


def _change(case: Case) -> Section:
    if case.informed is None:
        return {"available": False}
    before, after = case.ignorant_posterior, case.informed.predict_proba(case.data)
    old, new, blank = before.argmax(axis=1), after.argmax(axis=1), case.blank
    moved, g = np.flatnonzero(old != new), len(case.classes)
    # those that change most come first
    order = moved[np.argsort(-np.abs(after - before)[moved].max(axis=1), kind="stable")]
    first, classes = order[:MOST_LISTED], np.array(case.classes, dtype=object)
    rows = {"labelled": ~blank[first], "label": np.where(blank[first], "blank", "given")}
    each, fits = {"class": classes}, (case.diagnosis.ignorance, case.informed)
    both = zip(("without", "with"), fits, (before, after), (old, new), strict=True)
    for name, clf, tau, h in both:
        rows |= {name: classes[h[first]], f"probability_{name}": tau[first, h[first]]}
        each[f"weight_{name}"] = clf.weights_
        each[f"blank_{name}"] = np.bincount(h[blank], minlength=g)
    if_by_class = case.tilted and (
        f"If equally hard rows of class {short(case.tilted.of, 20)} were labelled up to three "
        "times more or less readily than others, at most "
        f"{percent(float(case.tilted.changed.max()))} of rows would change class."
    )
    gain, uses_pattern, of_blank = _precision_gain(case), case.informed is case.clf, blank[moved]
    words = "Using the pattern puts no row into another class"
    if moved.size:
        of = noun(blank.sum(), "blank row")
        words = f"Using the pattern puts {of_blank.sum():,} of {of} into another class"
    if not of_blank.all():
        words += f", and {noun((~of_blank).sum(), 'labelled row')}"
    if gain is not None and gain >= 1.02 and case.diagnosis.finding != "random":
        more = percent(gain - 1, whole=True)
        words += f"; it sharpens the estimates about as much as {more} more rows like these would"
    if not uses_pattern:
        words += ". The model described in this report does without it"
    found: Section = {"available": True, "model_uses_pattern": uses_pattern}
    found |= {"moved": moved.size, "moved_blank": of_blank.sum(), "blank": blank.sum()}
    found |= {"rows": _records(_named(case, first) | rows), "classes": _records(each)}
    found |= {"precision_gain": gain, "if_by_class": if_by_class or ""}
    return found | {"words": f"{words}."}


def _precision_gain(case: Case) -> float | None:
    """Return the median ratio of variances, without over with the pattern, of class parameters."""
    if isinstance(case.information, str) or case.informed is not case.clf:
        return None
    try:
        without = information(case.diagnosis.ignorance, case.data)
    except (ValueError, np.linalg.LinAlgError):
        return None
    errors = dict(zip(case.information.parameters, case.information.std_error, strict=True))
    both = zip(without.parameters, without.std_error, strict=True)
    with np.errstate(all="ignore"):  # not each parameter need be listed in both
        ratios = np.array([(error / errors.get(name, np.nan)) ** 2 for name, error in both])
    ratios = ratios[(ratios > 0) & np.isfinite(ratios)]
    return float(np.median(ratios)) if ratios.size else None


def _parameters(case: Case) -> Section:
    found = case.information
    if isinstance(found, str):
        return {"level": None, "remarks": [case.wording(found)], "groups": []}
    groups: dict[str, list[Section]] = {title: [] for title in _GROUPS.values()}
    for record in _records(found._columns()):
        kind, _, rest = record["parameter"].partition("[")
        of = _PARAMETERS.get(record["parameter"], rest.removesuffix("]") or kind)
        groups.setdefault(_GROUPS.get(kind, "Other parameters"), []).append({**record, "of": of})
    kept = [{"title": title, "rows": rows} for title, rows in groups.items() if rows]
    remarks = [case.wording(remark) for remark in found.remarks]
    return {"level": found.level, "remarks": remarks, "groups": kept}


def _candidates(whole: Any) -> list[Section]:
    found = getattr(whole, "cv_results_", {})  # nothing of a single model
    columns = {k: found[k] for k in ("name", "weight", "gap", "gap_error", "note") if found}
    return sorted(_records(columns), key=lambda row: -row["weight"])


def _method(case: Case, candidates: list[Section]) -> Section:
    clf, likelihood = case.clf, case.clf.mechanism_.describe()
    if clf.alpha != 0.5:
        weight = f"a weight of {2 * clf.alpha:g} against {2 * (1 - clf.alpha):g} for blank ones"
        likelihood += f" Labelled rows were given {weight} (a fractionally supervised fit)."
    combined = [r for r in candidates if r["weight"] > 0]
    if combined:
        models, share = noun(len(combined), "model"), percent(combined[0]["weight"], whole=True)
        one = f"the one with the largest weight of {models} whose predictions were combined"
        own = "tests, parameters and what a label would teach are its own, all probabilities"
        likelihood += f" This is {one} ({share}); {own} those of the combination."
    fitted = (
        f"The rows are taken to come from {noun(len(case.classes), 'class', 'classes')}, "
        f"{clf.family_.describe()}. The model has {noun(clf.n_parameters_, 'parameter')}; "
        f"they were chosen to make the data most likely (log-likelihood "
        f"{decimals(clf.log_likelihood_)}, {noun(clf.n_iter_, 'iteration')}; {clf.termination_})."
    )
    words = {"paragraphs": [fitted, likelihood], "reference": REFERENCE}
    return {**words, "caveats": case.diagnosis.caveats}
