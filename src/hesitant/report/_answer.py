"""The answer, first on the page: what was found, how sure it is, and what to do next."""

from collections.abc import Iterator
from typing import Any

from hesitant._words import noun, percent
from hesitant.report._case import Case


def answer(case: Case, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the headline, a few sentences on each of the three, and cautions."""
    three = {
        "what": [*_what_is_there(case, summary)],
        "sure": [*_how_sure(case, summary["held_out"], summary["labels"])],
        "next": [*_what_next(summary)] or ["Nothing needs a second look."],
    }
    return {
        "finding": case.diagnosis.finding,
        "headline": case.diagnosis.headline,
        **three,
        "paragraphs": [text for part in three.values() for text in part],
        "cautions": [*_cautions(case, summary["held_out"])],
    }


def _what_is_there(case: Case, summary: dict[str, Any]) -> Iterator[str]:
    labels, found, change = summary["labels"], case.diagnosis, summary["change"]
    rows, blank, unseen = noun(case.n, "row"), labels["blank"], labels["not_reviewed"]
    seen = "All rows were taken as shown to whoever labelled them."
    if unseen:
        seen = (
            f"{noun(unseen, 'row counts', 'rows count')} as not reviewed: they help to shape the "
            "classes, but whether they have a label is no evidence."
        )
    share = percent(labels["blank_share"])
    some = f"Of {rows}, {blank:,} ({share}) have no label. {seen}"
    yield some if blank else f"All {rows} carry a label."
    yield found.explanation
    if change["available"] and found.finding in ("hard", "easy", "mixed", "random"):
        yield change["words"]


def _how_sure(case: Case, held_out: dict[str, Any], labels: dict[str, Any]) -> Iterator[str]:
    if not held_out["available"]:
        yield (
            f"How often the model is right could not be measured: {held_out['why_not']}. Its own "
            "probabilities have not been put to the test."
        )
        return
    accuracy, lower, upper, claimed, agreed = (
        percent(held_out[k]) for k in ("accuracy", "lower", "upper", "claimed", "agreed")
    )
    given = "the class that most readers named" if case.panel else "the same label"
    yield (
        f"Asked about labelled rows that it had not seen, the model gives {given} in {accuracy} "
        f"of {noun(held_out['rows'], 'case')} (95 % interval {lower} to {upper})."
    )
    if case.confusion is not None:
        yield (
            f"Readers err too. Allowing for that, the model expects to agree with {claimed} of "
            f"their labels, and agrees with {agreed}."
        )
    if held_out["all_rows"] is not None and labels["blank"]:
        easier = "Labelled rows are the easier ones. " * (case.diagnosis.finding == "hard")
        yield (
            f"{easier}The estimate for all rows, blank ones included, is about "
            f"{percent(held_out['all_rows'])}. It rests on the model where nobody gave a label, "
            "and tends to be a little high."
        )
    if held_out["contradicted"]:
        claims = "" if case.panel else f": on those rows it claims {claimed}"
        text = f"The model is far surer than it should be{claims}."
        yield f"{text} Its probabilities are therefore not shown."
    elif labels["blank"] > 1:
        sure = f"{labels['blank_sure']:,} blank rows" if labels["blank_sure"] else "no blank row"
        unsure = f"less than 70 % sure of {labels['blank_unsure']:,}"
        yield f"It is at least 95 % sure of the class of {sure}, and {unsure}."


def _what_next(summary: dict[str, Any]) -> Iterator[str]:
    triage, doubtful = summary["triage"], summary["doubtful_labels"]["total"]
    if triage["total"]:
        first = noun(min(triage["total"], 20), "row")
        yield f"Ask again about the first {first} of the triage list: they would teach the most."
    if triage["unusual_total"]:
        which = noun(triage["unusual_total"], "blank row that fits", "blank rows that fit")
        yield f"Check {which} no class: perhaps damaged, mistyped or of another kind."
    if doubtful:
        which = noun(doubtful, "label")
        yield f"Check {which} that the model contradicts with at least 95 % confidence."


def _cautions(case: Case, held_out: dict[str, Any]) -> Iterator[str]:
    clf, diagnosis = case.clf, case.diagnosis
    if not clf.converged_:
        yield f"The fit did not settle ({clf.termination_}): every number here is provisional."
    if held_out["available"] and held_out["upper"] < max(0.8, held_out["guess"]):
        yield (
            f"On held-out rows the model names only {percent(held_out['accuracy'])} of the labels "
            f"(always naming the commonest class would give {percent(held_out['guess'])}), so its "
            "classes may not be those of the labels. Try another family, or other features."
        )
    if diagnosis.caution:
        yield diagnosis.caution
