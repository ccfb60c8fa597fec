"""What the tests amount to: decided once, then said in words."""

import dataclasses

from hesitant._words import p_value
from hesitant.diagnostics._test import Test

__all__ = ["ALPHA", "Finding", "caveats", "decide", "verdict"]

ALPHA = 0.05
FEW = 20  # the test of a handful of rows finds nothing, whatever the truth
ROWS_A_PARAMETER = 2.0  # below, even score test and bootstrap reject chance one time in five

# Of those that allow for estimated classes the score test, at the fit without the pattern, keeps
# its size best; the likelihood ratio rejects true chance too often as parameters grow in number.
_ORDER = ("bootstrap", "score", "lr", "mw")

_BY_CLASS = (
    "Some classes are labelled far more readily than their difficulty explains, so labels may be "
    "missing by class"
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a diagnosis decides.

    Attributes
    ----------
    tone : str
        "hard" or "easy" (what the blanks are), "mixed" (they depend on difficulty, but not in one
        direction), "random" (no sign of it), "few" (rows, to tell), "crowded" (parameters for so
        few rows that no test here can be trusted), "all" or "none" (of the reviewed rows are
        labelled), "unseen" (no row was reviewed).
    decisive : Test or None
        The test it rests on.
    """

    tone: str
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
    if not able:
        return Finding("few", None)
    test = tests[able[0]]
    if test.p_value >= ALPHA:
        return Finding("random" if min(n_labelled, n_blank) >= FEW else "few", test)
    if rows_a_parameter < ROWS_A_PARAMETER:
        return Finding("crowded", test)
    if (harder_share > 0.5) != falls:
        return Finding("mixed", test)
    return Finding("hard" if falls else "easy", test)


def verdict(
    finding: Finding,
    shape: Test,
    n_labelled: int,
    n_blank: int,
    harder_share: float,
    *,
    by_class: bool = False,
) -> str:
    """Say what was found, how clearly, and whether the mechanism's shape fits.

    Where labels may be missing by class, a link with difficulty is claimed with that caution.
    """
    test = finding.decisive
    if finding.tone in ("all", "none", "unseen"):
        every = {
            "all": "Every reviewed row is labelled",
            "none": "Every reviewed row is left blank",
            "unseen": "No row was reviewed",
        }[finding.tone]
        return f"{every}: there is no pattern to learn from."
    if finding.tone == "few" or test is None:
        return (
            f"{n_blank} blank and {n_labelled} labelled rows are too few to tell whether the "
            "blanks are about difficulty." + (f" {_BY_CLASS}." if by_class else "")
        )
    pair = (
        f"a blank row is harder than a labelled one in {100 * harder_share:.0f} % of pairs "
        f"({test.name} test: {p_value(test.p_value)})"
    )
    if finding.tone == "random" and by_class:
        return (
            f"No sign that the blanks are about difficulty: {pair}. But they are not random "
            f"either. {_BY_CLASS}, which no mechanism here describes."
        )
    if finding.tone == "random":
        return (
            f"No sign that the blanks are about difficulty: {pair}. Labels look missing at "
            "random; mechanism=None loses nothing that these data can show."
        )
    if finding.tone == "crowded":
        return (
            f"Too many parameters for so few rows: {pair}, but with fewer than "
            f"{ROWS_A_PARAMETER:g} rows a parameter tests reject pure chance far too often. Use "
            "a simpler covariance or fewer features, and ask again."
            + (f" {_BY_CLASS}." if by_class else "")
        )
    if by_class:
        out = _but_by_class(finding.tone, pair)
    else:
        out = _about_difficulty(finding.tone, pair, harder_share)
    if shape.was_skipped or (by_class and shape.p_value >= ALPHA):
        return out
    if shape.p_value < ALPHA:
        return out + (
            f" The fitted curve does not have the right shape ({p_value(shape.p_value)}): try "
            "EntropyMechanism(basis='spline'), another order, or another family."
        )
    return out + f" The fitted curve's shape agrees with the data ({p_value(shape.p_value)})."


def _but_by_class(tone: str, pair: str) -> str:
    often = {"hard": "more often", "easy": "less often", "mixed": "more often or less"}[tone]
    return (
        f"Harder rows are left blank {often}: {pair}. But that may have another cause. "
        f"{_BY_CLASS}; then the blanks do not tell where the classes overlap, and the full "
        "likelihood takes them for something that they are not."
    )


def _about_difficulty(tone: str, pair: str, harder_share: float) -> str:
    return {
        "hard": f"The blanks are about difficulty: {pair}. Where labels are missing tells where "
        "the classes overlap, and the full likelihood can use it.",
        "easy": f"The blanks depend on difficulty, but the other way round: {pair}, so it is the "
        "easy ones that were left blank. The full likelihood can use that too; make sure it is "
        "so.",
        "mixed": f"The blanks depend on difficulty, but not in one direction: {pair}, and yet the "
        "fitted chance of a label "
        f"{'falls' if harder_share <= 0.5 else 'rises'} with difficulty. Look at the labelling "
        "curve, and try EntropyMechanism(basis='spline').",
    }[tone]


def caveats(family: str, bootstrapped: bool) -> list[str]:
    """Return what the tests take for granted."""
    same_data = (
        "Entropies come from a model fitted to these same rows. The rank tests treat them as "
        "measured; the likelihood ratio and Wald tests reject too often when rows are few for "
        "the parameters (a spline basis, many features, few labels), the score test least. "
    )
    same_data += (
        "The bootstrap refits the model every time and so allows for it."
        if bootstrapped
        else "n_boot=199 adds a test that refits the model every time and so allows for it."
    )
    return [
        same_data,
        f"Entropies are those of {family} classes. If that family is wrong, rows in a tail may "
        "look easy or hard for the wrong reason: see whether another family (compare) says the "
        "same.",
        "A dependence on difficulty is not proof of its cause: anything else that makes labels "
        "rare where the classes meet looks alike.",
    ]
