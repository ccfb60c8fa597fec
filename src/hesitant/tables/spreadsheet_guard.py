"""Text that a spreadsheet would run as a formula, and how it is disarmed.

A spreadsheet that opens a CSV file evaluates cells that start with ``=``, ``+``, ``-`` or ``@``,
and some of them look behind a tab or a line break. A label such as ``=HYPERLINK(...)`` would then
act on the computer of whoever opens the predictions. An apostrophe in front makes it text again.
"""

import re

__all__ = ["GUARDED_BYTES", "guard", "unguard"]

# Apostrophes may come first, so that guarding never maps two texts to one and can be undone.
# The wide characters are what East Asian input methods type; some spreadsheets accept them.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
GUARDED_BYTES = re.compile("'(?:[=+\\-@\t\r\n]|＝|＋|－|＠)".encode())


def guard(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate.

    Examples
    --------
    >>> guard("=1+1"), guard("CD4+")
    ("'=1+1", 'CD4+')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard(text: str) -> str:
    """Undo `guard`; any other text is returned as it is.

    Examples
    --------
    >>> unguard("'=1+1"), unguard("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text
