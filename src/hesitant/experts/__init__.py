"""Readers as they are: panels, mistakes, probabilities and grades."""

from hesitant.experts._answers import Answers, Certain, Confusion, Grades, Probabilities
from hesitant.experts._panel import Panel, Readers, as_readers, is_panel, reader_records

__all__ = ["Answers", "Certain", "Confusion", "Grades", "Panel", "Probabilities", "Readers"]
__all__ += ["as_readers", "is_panel", "reader_records"]
