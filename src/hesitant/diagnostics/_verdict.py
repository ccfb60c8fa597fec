"""What the tests amount to: decided once, and said in the same words everywhere."""

import dataclasses

from hesitant._words import noun, p_value, percent
from hesitant.diagnostics._test import Test

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


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a diagnosis decides.

    Attributes
    ----------
    what : str
        "hard" or "easy" (what the blanks are), "mixed" (they depend on difficulty, but not in one
        direction), "random" (no sign of it), "few" (rows, to tell), "crowded" (parameters for so
        few rows that no test here can be trusted), "all" or "none" (of the reviewed rows are
        labelled), "unseen" (no row was reviewed).
    decisive : Test or None
        The test it rests on.
    """

    what: str
    decisive: Test | None


def decide(
    tests: dict[str, Test],
    n_labelled: int,
    n_blank: int,
    *,
    harder_share: float,
    falls: bool,
    rows_a_parameter: float,
) -> Finding:
    """Decide whether blanks are about difficulty.

    Parameters
    ----------
    tests : dict
        By short name: "bootstrap", "lr", "score", "mw", "shape"; any may be skipped. One that
        could not have rejected (a bootstrap of a few replicates) has no say.
    n_labelled, n_blank : int
        Reviewed rows.
    harder_share : float
        Probability that a random blank row is harder than a random labelled one.
    falls : bool
        Whether the fitted chance of a label falls with difficulty.
    rows_a_parameter : float
    """
    if not n_blank or not n_labelled:
        return Finding("all" if n_labelled else "none" if n_blank else "unseen", None)
    able = [k for k in _ORDER if not tests[k].was_skipped and tests[k].least_p < ALPHA]
    test = tests[able[0]] if able else None
    # neither a link nor its absence shows where the model can fit any rows whatever
    if rows_a_parameter < ROWS_A_PARAMETER:
        return Finding("crowded", test)
    if test is None:
        return Finding("few", None)
    if test.p_value >= ALPHA:
        return Finding("random" if min(n_labelled, n_blank) >= FEW else "few", test)
    if (harder_share > 0.5) != falls:
        return Finding("mixed", test)
    return Finding("hard" if falls else "easy", test)


def in_words(
    finding: Finding,
    shape: Test,
    *,
    n_labelled: int,
    n_blank: int,
    n_not_reviewed: int,
    harder_share: float,
    rows_a_parameter: float,
    by_class: bool = False,
) -> tuple[str, str, str]:
    """Return a headline, what lies behind it, and a caution if the mechanism's shape is wrong.

    Where labels may be missing by class, a link with difficulty is claimed with that caution.
    """
    headline = (_HEADLINES | _BY_CLASS if by_class else _HEADLINES)[finding.what]
    if finding.what in ("all", "none") and n_not_reviewed:
        headline = headline.replace("row", "reviewed row")
    caution = ""
    # a skipped test has a p-value of NaN, which is not below anything
    if shape.p_value < ALPHA and finding.what in ("hard", "easy", "mixed"):
        caution = (
            "The chance of a label does not follow difficulty along quite the curve that was "
            f"assumed ({p_value(shape.p_value)}): take labelling probabilities as approximate, "
            "and try EntropyMechanism(basis='spline') or another family."
        )
    explanation = _explanation(
        finding, n_labelled, n_blank, harder_share, rows_a_parameter, by_class
    )
    return headline, explanation, caution


def _explanation(
    finding: Finding,
    n_labelled: int,
    n_blank: int,
    harder_share: float,
    rows_a_parameter: float,
    by_class: bool,
) -> str:
    if finding.what in ("all", "none", "unseen"):
        return (
            "Without both labelled and blank rows among those reviewed there is no pattern to "
            "learn from; the classes were fitted as usual."
        )
    missing_by_class = (
        "Some classes are labelled far more readily than their difficulty explains: labels may "
        "be missing by class, and then their pattern says little about where the classes overlap."
    )
    if finding.what == "crowded":
        return (
            f"There are {rows_a_parameter:.2g} rows for each parameter of the model; with fewer "
            f"than {ROWS_A_PARAMETER:g} the tests find a link where there is none and miss one "
            "where there is. Use fewer features or a simpler covariance, and ask again."
        )
    if finding.what == "few" or finding.decisive is None:
        return (
            f"{noun(n_blank, 'blank row')} beside {noun(n_labelled, 'labelled row')} show no "
            "clear link with difficulty, and are too few to rule one out."
            + (f" {missing_by_class}" if by_class else "")
        )
    test = finding.decisive
    pairs = (
        "Take a blank row and a labelled one at random: the blank one is the harder to classify "
        f"in {percent(harder_share)} of cases, where pure chance would give about 50 % "
        f"({test.name} test, {p_value(test.p_value)})."
    )
    return f"{pairs} {missing_by_class if by_class else _MEANING[finding.what]}"


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
