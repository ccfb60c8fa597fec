"""Readers as they are: panels, mistakes, probabilities and grades."""

from hesitant.experts._panel import Panel
from hesitant.experts._readers import Readers, as_readers, readers_table
from hesitant.experts._voices import Certain, Confusion, Grades, Probabilities, Voice

__all__ = [
    "Certain",
    "Confusion",
    "Grades",
    "Panel",
    "Probabilities",
    "Readers",
    "Voice",
    "as_readers",
    "readers_table",
]
