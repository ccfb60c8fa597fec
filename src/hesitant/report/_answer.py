"""The answer, first on the page: what was found, how sure it is, and what to do next."""

from typing import Any

from hesitant._words import noun, percent, short
from hesitant.report._case import Case


def answer(case: Case, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the headline, a few sentences on each of the three, and cautions."""
    found, change, held_out = case.diagnosis, summary["change"], summary["held_out"]
    what = [_what_is_there(summary["labels"]), found.explanation]
    if change["available"] and found.finding in ("hard", "easy", "mixed", "random"):
        what.append(change["words"])
    out: dict[str, Any] = {"finding": found.finding, "headline": found.headline}
    three = {"what": what, "sure": _how_sure(case, summary), "next": _what_next(summary)}
    paragraphs = [text for part in three.values() for text in part]
    return out | three | {"paragraphs": paragraphs, "cautions": _cautions(case, held_out)}


def _what_is_there(labels: dict[str, Any]) -> str:
    rows, blank, unseen = labels["rows"], labels["blank"], labels["not_reviewed"]
    if not blank:
        return f"All {noun(rows, 'row')} carry a label."
    seen = "All rows were taken as shown to whoever labelled them."
    if unseen:
        seen = (
            f"{noun(unseen, 'row counts', 'rows count')} as not reviewed: they help to shape the "
            "classes, but whether they have a label is no evidence."
        )
    share = percent(labels["blank_share"])
    return f"Of {noun(rows, 'row')}, {blank:,} ({share}) have no label. {seen}"


def _how_sure(case: Case, summary: dict[str, Any]) -> list[str]:
    held_out, labels = summary["held_out"], summary["labels"]
    if not held_out["available"]:
        return [
            f"How often the model is right could not be measured: {held_out['why_not']}. Its own "
            "probabilities have not been put to the test."
        ]
    accuracy, lower, upper, claimed, agreed = (
        percent(held_out[k]) for k in ("accuracy", "lower", "upper", "claimed", "agreed")
    )
    given = "the class that most readers named" if case.panel else "the same label"
    out = [
        f"Asked about labelled rows that it had not seen, the model gives {given} in {accuracy} "
        f"of {noun(held_out['rows'], 'case')} (95 % interval {lower} to {upper})."
    ]
    if case.confusion is not None:
        out.append(
            f"Readers err too. Allowing for that, the model expects to agree with {claimed} of "
            f"their labels, and agrees with {agreed}."
        )
    if held_out["all_rows"] is not None and labels["blank"]:
        easier = "Labelled rows are the easier ones. " * (case.diagnosis.finding == "hard")
        out.append(
            f"{easier}The estimate for all rows, blank ones included, is about "
            f"{percent(held_out['all_rows'])}. It rests on the model where nobody gave a label, "
            "and tends to be a little high."
        )
    if held_out["contradicted"]:
        claims = "" if case.panel else f": on those rows it claims {claimed}"
        out.append(
            f"The model is far surer than it should be{claims}. Its probabilities are therefore "
            "not shown."
        )
    elif labels["blank"] > 1:
        unsure = labels["blank_unsure"]
        sure = f"{labels['blank_sure']:,} blank rows" if labels["blank_sure"] else "no blank row"
        text = f"It is at least 95 % sure of the class of {sure}"
        out.append(text + (f" and less than 70 % sure of {unsure:,}." if unsure else "."))
    return out


def _what_next(summary: dict[str, Any]) -> list[str]:
    triage, doubtful = summary["triage"], summary["doubtful_labels"]["total"]
    first, unusual, out = min(triage["total"], 20), triage["unusual_total"], []
    if first:
        which = f"first {first} rows of" if first > 1 else "row in"
        out.append(f"Ask again about the {which} the triage list: a label there teaches the most.")
    if unusual:
        which = noun(unusual, "blank row that fits", "blank rows that fit")
        out.append(f"Check {which} no class: damaged, mistyped or of another kind.")
    if doubtful:
        which = noun(doubtful, "label")
        out.append(f"Check {which} that the model contradicts with at least 95 % confidence.")
    return out or ["Nothing needs a second look."]


def _cautions(case: Case, held_out: dict[str, Any]) -> list[str]:
    clf, diagnosis, out = case.clf, case.diagnosis, []
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
