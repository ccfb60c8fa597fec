"""What the tests amount to, in words."""

from hesitant.diagnostics._test import Test

__all__ = ["caveats", "verdict"]

ALPHA = 0.05


def verdict(
    tests: dict[str, Test], n_labelled: int, n_blank: int, harder_share: float, rows: str
) -> str:
    """Say whether blanks are about difficulty, how clearly, and whether the shape fits.

    Parameters
    ----------
    tests : dict
        By short name: "bootstrap", "lr", "score", "mw", "shape"; any may be skipped. One that
        could not have rejected (a bootstrap of a few replicates) has no say.
    n_labelled, n_blank : int
        Reviewed rows.
    harder_share : float
        Probability that a random blank row is harder than a random labelled one.
    rows : str
        What a row of the data is called.
    """
    if not n_blank or not n_labelled:
        every = "labelled" if n_labelled else "left blank"
        return f"Every reviewed {rows} is {every}: there is no pattern to learn from."
    decisive = next(
        (
            tests[k]
            for k in ("bootstrap", "lr", "score", "mw")
            if not tests[k].was_skipped and tests[k].least_p <= ALPHA
        ),
        None,
    )
    if decisive is None:
        return (
            f"{n_blank} blank and {n_labelled} labelled {rows}s are too few to tell whether the "
            "blanks are about difficulty."
        )
    pair = (
        f"a blank {rows} is harder than a labelled one in {100 * harder_share:.0f} % of pairs "
        f"({decisive.name} test: {p_in_words(decisive.p_value)})"
    )
    if decisive.p_value >= ALPHA:
        out = (
            f"No sign that the blanks are about difficulty: {pair}. Labels look missing at "
            "random; mechanism=None loses nothing that these data can show."
        )
    elif harder_share > 0.5:
        out = (
            f"The blanks are about difficulty: {pair}. Where labels are missing tells where the "
            "classes overlap, and the full likelihood can use it."
        )
    else:
        out = (
            f"The blanks depend on difficulty, but the other way round: {pair}, so it is the easy "
            "ones that were left blank. The full likelihood can use that too; make sure it is so."
        )
    shape = tests["shape"]
    if shape.was_skipped or decisive.p_value >= ALPHA:
        return out
    if shape.p_value < ALPHA:
        return out + (
            f" The fitted curve does not have the right shape ({p_in_words(shape.p_value)}): try "
            "EntropyMechanism(basis='spline'), another order, or another family."
        )
    return out + f" The fitted curve's shape agrees with the data ({p_in_words(shape.p_value)})."


def caveats(family: str, bootstrapped: bool) -> list[str]:
    """Return what the tests take for granted."""
    same_data = (
        "Entropies come from a model fitted to these same rows, and labelled rows pull the model "
        "towards themselves: the rank tests treat the entropies as if they were measured. "
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


def p_in_words(p: float) -> str:
    """Return a p-value as a sentence has it."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
