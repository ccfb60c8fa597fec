"""Models kept in files: plain, versioned, and harmless to open."""

from hesitant.persistence._files import ModelFileError, load, read_notes, save
from hesitant.persistence._preparation import Preparation

__all__ = ["ModelFileError", "Preparation", "load", "read_notes", "save"]
