"""Models kept in files: plain, versioned, and harmless to open.

A model file is JSON text. It holds the options of the estimators and the numbers of their fits;
loading one runs no code that came with the file and imports nothing that it names.
"""

from hesitant.persistence._files import ModelFileError, load, read_notes, save
from hesitant.persistence._preparation import Preparation

__all__ = ["ModelFileError", "Preparation", "load", "read_notes", "save"]
