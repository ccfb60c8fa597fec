"""The answer first, in plain words."""

from typing import Any

from hesitant._words import noun, p_value, percent, short
from hesitant.diagnostics import Diagnosis
from hesitant.diagnostics._verdict import ALPHA

__all__ = ["summarise_verdict"]

_HEADLINES = {
    "hard": "The blanks mark the hard cases.",
    "easy": "The blanks mark the easy cases.",
    "mixed": "The blanks depend on difficulty, but not in one direction.",
    "random": "The blanks look random.",
    "few": "There are too few rows to tell what the blanks mean.",
    "crowded": "There are too many parameters to tell what the blanks mean.",
    "all": "Every row has a label.",
    "none": "No row has a label.",
    "unseen": "The blanks cannot be judged.",
}
# Where labels may be missing by class, no more than that is claimed.
_BY_CLASS = {
    "hard": "The blanks mark hard cases, or whole classes.",
    "easy": "The blanks mark easy cases, or whole classes.",
    "mixed": "The blanks depend on difficulty, or on the class.",
    "random": "The blanks look random in difficulty, but not in class.",
}


def summarise_verdict(
    diagnosis: Diagnosis, labels: dict[str, Any], change: dict[str, Any], clf: Any
) -> dict[str, Any]:
    """Return a headline, a few sentences, and what should make a reader careful.

    Returns
    -------
    dict
        ``tone`` (that of the diagnosis), ``headline``, ``paragraphs`` and ``cautions``.
    """
    decisive = diagnosis.decisive
    tone = _tone(diagnosis, labels)
    by_class = diagnosis.missing_by_class
    paragraphs = [_what_is_there(labels), _what_it_means(tone, diagnosis, decisive)]
    if change.get("available") and tone in ("hard", "easy", "mixed", "random"):
        paragraphs.append(_what_changes(tone, change))
    if labels["blank"]:
        paragraphs.append(_what_to_do(labels))
    return {
        "tone": tone,
        "headline": (_HEADLINES | _BY_CLASS if by_class else _HEADLINES)[tone],
        "paragraphs": [p for p in paragraphs if p],
        "cautions": _cautions(tone, diagnosis, change, clf),
    }


def _tone(diagnosis: Diagnosis, labels: dict[str, Any]) -> str:
    """Return the diagnosis's own, unless there is nothing to diagnose among all rows."""
    if not labels["blank"]:
        return "all"
    if not labels["labelled"]:
        return "none"
    return "unseen" if diagnosis.finding in ("all", "none") else diagnosis.finding


def _what_is_there(labels: dict[str, Any]) -> str:
    rows, blank = labels["rows"], labels["blank"]
    if not blank:
        return f"All {noun(rows, 'row')} carry a label."
    text = f"Of {noun(rows, 'row')}, {blank:,} ({percent(labels['blank_share'])}) have no label."
    if labels["not_reviewed"]:
        text += (
            f" {noun(labels['not_reviewed'], 'row')} count as not reviewed: they help to shape "
            "the classes, but whether they have a label is no evidence."
        )
    return text


def _what_it_means(tone: str, diagnosis: Diagnosis, decisive: Any) -> str:
    if tone == "all":
        return (
            "With no blanks there is no pattern to learn from; the classes were fitted as usual."
        )
    if tone == "none":
        return "With no label there is nothing to compare the blanks with."
    if tone == "unseen":
        return (
            f"Of the rows that somebody reviewed, {diagnosis.n_labelled:,} are labelled and "
            f"{diagnosis.n_blank:,} blank: without some of both there is no pattern to learn "
            "from. The classes were fitted as usual."
        )
    if tone == "few":
        return (
            f"{noun(diagnosis.n_blank, 'blank row')} beside "
            f"{noun(diagnosis.n_labelled, 'labelled one')} show no clear link with difficulty, "
            "and are too few to rule one out."
        )
    if tone == "crowded":
        return diagnosis.explanation
    pairs = (
        f"Take a blank row and a labelled one at random: the blank one is the harder to classify "
        f"in {percent(diagnosis.harder_share)} of cases"
    )
    test = f"{decisive.name} test, {p_value(decisive.p_value)}"
    if diagnosis.missing_by_class:
        return (
            f"{pairs}, where pure chance would give about 50 % ({test}). But some classes are "
            "labelled far more readily than their difficulty explains: labels may be missing by "
            "class, and then their pattern says little about where the classes overlap."
        )
    if tone == "mixed":
        return (
            f"{pairs}, where pure chance would give about 50 % ({test}). Labels depend on "
            "difficulty, but not simply more or less with more of it: look at the labelling "
            "curve, and at what blank cells mean in this table."
        )
    if tone == "random":
        return (
            f"{pairs}, where pure chance would give about 50 % ({test}). These data show no link "
            "between missing labels and difficulty, so ignoring the blanks loses nothing that "
            "can be seen here."
        )
    if tone == "hard":
        return (
            f"{pairs}, where pure chance would give about 50 % ({test}). Labels are missing where "
            "the classes overlap, so the pattern of blanks is itself evidence of where that is."
        )
    return (
        f"{pairs}; pure chance would give about 50 % ({test}). It is the clear-cut rows that were "
        "left blank, which is unusual: make sure that blank cells mean what they seem to mean."
    )


def _what_changes(tone: str, change: dict[str, Any]) -> str:
    moved, blank = change["moved_blank"], change["blank"]
    other = change["moved"] - moved
    if not change["moved"]:
        text = "Using the pattern puts no row into another class"
    else:
        text = f"Using the pattern puts {moved:,} of {noun(blank, 'blank row')} into another class"
        text += f", and {noun(other, 'labelled row')}" if other else ""
    gain = change["precision_gain"]
    if gain is not None and gain >= 1.02 and tone != "random":
        text += (
            f"; it sharpens the estimates about as much as {percent(gain - 1)} more rows like "
            "these would"
        )
    if not change["model_uses_pattern"]:
        text += ". The model in this report was asked to ignore it"
    return text + "."


def _what_to_do(labels: dict[str, Any]) -> str:
    blank, sure, unsure = labels["blank"], labels["blank_sure"], labels["blank_unsure"]
    if blank == 1:
        return "The triage list below shows what the model makes of the blank row."
    text = f"The model is at least 95 % sure of the class of {sure:,} of the blank rows"
    if unsure:
        text += f" and less than 70 % sure of {unsure:,}"
    return text + ". The triage list ranks them by how much an expert's second look would teach."


def _cautions(tone: str, diagnosis: Diagnosis, change: dict[str, Any], clf: Any) -> list[str]:
    out = []
    if not clf.converged_:
        out.append(
            f"The fit did not settle ({clf.termination_}). Treat every number here as provisional."
        )
    agreement = change.get("agreement_with") if change.get("available") else None
    if agreement is not None and agreement < 0.8:
        out.append(
            f"The model agrees with only {percent(agreement)} of the labels that were given, so "
            "its classes may not be the expert's. Try another family, or other features."
        )
    shape = next((t for t in diagnosis.tests if t.name.startswith("shape")), None)
    if diagnosis.missing_by_class:
        out.append(f"{_shares(diagnosis)} Both fits take it that no class is favoured.")
    # a skipped test has a p-value of NaN, which is not below anything
    if shape is not None and shape.p_value < ALPHA and tone in ("hard", "easy"):
        out.append(
            "The chance of a label does not fall with difficulty along quite the curve that was "
            f"assumed ({p_value(shape.p_value)}). "
            + ("Take" if diagnosis.missing_by_class else "That the two are linked stands; take")
            + " the labelling probabilities as approximate, and see whether another family agrees."
        )
    return out


def _shares(diagnosis: Diagnosis) -> str:
    """Say of the most and the least readily labelled class how often they are, and might be."""
    ranked = sorted(diagnosis.by_class, key=lambda r: r["labelled"] - r["expected"])
    least, most = (
        f"{percent(r['labelled'])} of class {short(r['class'])} (of rows as hard, "
        f"{percent(r['expected'])})"
        for r in (ranked[0], ranked[-1])
    )
    return f"Labels are given to {most} but to {least}."
