"""What the tests amount to: decided once, and said in the same words everywhere."""

from typing import NamedTuple

from hesitant._words import noun, p_value, percent
from hesitant.diagnostics._tests import Fits, Test

ALPHA = 0.05
FEW = 20  # the test of a handful of rows finds nothing, whatever the truth
ROWS_A_PARAMETER = 2.0  # below, even score test and bootstrap reject chance one time in five

# Of those that allow for estimated classes the score test, at the fit without the pattern, keeps
# its size best; the likelihood ratio rejects true chance too often as parameters grow in number.
_ORDER = ("bootstrap", "score", "lr", "mw")

_HEADLINES = {
    "hard": "The blanks mark the hard cases.",
    "easy": "The blanks mark the easy cases.",
    "mixed": "The blanks depend on difficulty, but not in one direction.",
    "random": "The blanks look random.",
    "few": "There are too few rows to tell what the blanks mean.",
    "crowded": "There are too many parameters to tell what the blanks mean.",
    "all": "Every row has a label.",
    "none": "No row has a label.",
    "unseen": "No row was reviewed.",
}
# Where labels may be missing by class, no more than that is claimed.
_BY_CLASS = {
    "hard": "The blanks mark hard cases, or whole classes.",
    "easy": "The blanks mark easy cases, or whole classes.",
    "mixed": "The blanks depend on difficulty, or on the class.",
    "random": "The blanks look random in difficulty, but not in class.",
}
_MEANING = {
    "hard": "Labels are missing where the classes overlap, so the pattern of blanks is itself "
    "evidence of where that is.",
    "easy": "It is the clear-cut rows that were left blank, which is unusual: make sure that "
    "blank cells mean what they seem to mean.",
    "mixed": "Labels depend on difficulty, but not simply more or less with more of it: look at "
    "the labelling curve, try EntropyMechanism(basis='spline'), and make sure what blank cells "
    "mean in this table.",
    "random": "These data show no link between missing labels and difficulty: mechanism=None "
    "loses nothing that can be seen here.",
}


class Verdict(NamedTuple):
    """What a diagnosis decides, and how it says so; the fields are those of Diagnosis."""

    finding: str
    decisive: Test | None
    headline: str
    explanation: str
    caution: str


def decide(fits: Fits, tests: dict[str, Test], harder_share: float, by_class: bool) -> Verdict:
    """Decide whether blanks are about difficulty, and say it.

    Tests go by short names: "bootstrap", "lr", "score", "mw", "shape"; any may be skipped, and one
    that could not have rejected (a bootstrap of a few replicates) has no say. Less is claimed
    where labels may be missing by class.
    """
    able = [k for k in _ORDER if not tests[k].was_skipped and tests[k].least_p < ALPHA]
    test = tests[able[0]] if able else None
    finding = _finding(fits, test, harder_share)
    if finding in ("all", "none", "unseen"):
        test = None
    headline = (_HEADLINES | _BY_CLASS if by_class else _HEADLINES)[finding]
    if finding in ("all", "none") and not fits.measured.reviewed.all():
        headline = headline.replace("row", "reviewed row")
    caution = ""
    # a skipped test has a p-value of NaN, which is not below anything
    if tests["shape"].p_value < ALPHA and finding in ("hard", "easy", "mixed"):
        caution = (
            "The chance of a label does not follow difficulty along quite the curve that was "
            f"assumed ({p_value(tests['shape'].p_value)}): take labelling probabilities as "
            "approximate, and try EntropyMechanism(basis='spline') or another family."
        )
    explanation = _explanation(fits, finding, test, harder_share, by_class)
    return Verdict(finding, test, headline, explanation, caution)


def _finding(fits: Fits, test: Test | None, harder_share: float) -> str:
    n_labelled, n_blank = int(fits.seen.sum()), int((~fits.seen).sum())
    if not n_blank or not n_labelled:
        return "all" if n_labelled else "none" if n_blank else "unseen"
    # neither a link nor its absence shows where the model can fit any rows whatever
    if fits.rows_a_parameter < ROWS_A_PARAMETER:
        return "crowded"
    if test is None:
        return "few"
    if test.p_value >= ALPHA:
        return "random" if min(n_labelled, n_blank) >= FEW else "few"
    if (harder_share > 0.5) != fits.falls:
        return "mixed"
    return "hard" if fits.falls else "easy"


def _explanation(
    fits: Fits, finding: str, test: Test | None, harder_share: float, by_class: bool
) -> str:
    if finding in ("all", "none", "unseen"):
        return (
            "Without both labelled and blank rows among those reviewed there is no pattern to "
            "learn from; the classes were fitted as usual."
        )
    missing_by_class = (
        "Some classes are labelled far more readily than their difficulty explains: labels may "
        "be missing by class, and then their pattern says little about where the classes overlap."
    )
    if finding == "crowded":
        return (
            f"There are {fits.rows_a_parameter:.2g} rows for each parameter of the model; with "
            f"fewer than {ROWS_A_PARAMETER:g} the tests find a link where there is none and miss "
            "one where there is. Use fewer features or a simpler covariance, and ask again."
        )
    if finding == "few" or test is None:
        counts = int((~fits.seen).sum()), int(fits.seen.sum())
        return (
            f"{noun(counts[0], 'blank row')} beside {noun(counts[1], 'labelled row')} show no "
            "clear link with difficulty, and are too few to rule one out."
            + (f" {missing_by_class}" if by_class else "")
        )
    return (
        "Take a blank row and a labelled one at random: the blank one is the harder to classify "
        f"in {percent(harder_share)} of cases, where pure chance would give about 50 % "
        f"({test.name} test, {p_value(test.p_value)}). "
        f"{missing_by_class if by_class else _MEANING[finding]}"
    )


def caveats(family: str, bootstrapped: bool) -> list[str]:
    """Return what the tests take for granted."""
    same_data = (
        "The evidence uses a model fitted to these same rows. The rank tests treat its entropies "
        "as measured; the likelihood ratio and Wald tests come out too sure when rows are few "
        "for the parameters (a spline basis, many features, few labels), the score test least. "
    )
    same_data += (
        "The bootstrap refits the model every time and so allows for it."
        if bootstrapped
        else "n_boot=199 adds a test that refits the model every time and so allows for it."
    )
    return [
        same_data,
        f"Entropies are those of {family} classes. If the classes are not shaped so, a row in a "
        "tail may look easy or hard for the wrong reason: see whether another family says the "
        "same.",
        "That labels are missing where the classes meet does not prove why: anything else that "
        "makes labels rare there looks alike.",
    ]
