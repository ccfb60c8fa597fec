"""Numbers and names as a reader likes them."""

import difflib
import math
from collections.abc import Iterable, Sequence

LONGEST = 40
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"  # of emoji, and of several scripts


def decimals(value: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """Return a number with so many decimals: −1,234.57, or +0.50 if signed."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")


def noun(value: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: 1 row, 1,200 rows."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names in a row; of many, the first few and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(share: float | None, digits: int = 1, *, whole: bool = False) -> str:
    """Return a share as a percentage that claims no certainty; one that was chosen, ``whole``."""
    if share is None or math.isnan(share):
        return "–"
    if 0 < share < 0.0005 or 0.9995 <= share < 1:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    text = f"{100 * share:.{digits}f}"
    return f"{text.removesuffix('.0') if whole else text} %"


def p_value(p: float | None) -> str:
    """Return a p-value as a sentence has it: p = 0.032, p < 0.0001."""
    if p is None or math.isnan(p):
        return "not tested"
    if p < 1e-4:
        return "p < 0.0001"
    return "p > 0.99" if p >= 0.995 else f"p = {p:.2g}"  # rounded, it would be 1


def printable(text: str, keep: str = "", instead: str = "·") -> str:
    """Return text without characters that could steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or c in _JOINERS else instead for c in text)


def short(name: object, limit: int = LONGEST) -> str:
    """Return a name as one line of decent length; the start and the end tell names apart."""
    text = " ".join(str(name).split()) or "(blank)"
    text = printable(text, instead="\N{REPLACEMENT CHARACTER}")
    head, tail = limit // 2, limit - limit // 2 - 1
    return text if len(text) <= limit else f"{text[:head]}…{text[len(text) - tail :]}"


def shorten_in(text: str, names: list[str]) -> str:
    """Return text with every long one of these names shortened."""
    for name in sorted(names, key=len, reverse=True):
        if short(name) != name and name in text:
            text = text.replace(name, short(name))
    return text


def close_names(name: object, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Find the known names most like this one; case and surrounding blanks do not count."""

    def plain(text: object) -> str:  # cut, because the comparison is quadratic in the length
        return str(text).strip().casefold()[:100]

    by_plain = {plain(candidate): candidate for candidate in reversed(list(known))}
    return [by_plain[k] for k in difflib.get_close_matches(plain(name), by_plain, n=limit)]


def did_you_mean(name: object, known: Iterable[str], form: str = "{!r}") -> str:
    """Return a hint at the known name most like this one; empty if none is."""
    near = close_names(name, known, limit=1)
    return f" Did you mean {form.format(near[0])}?" if near else ""
