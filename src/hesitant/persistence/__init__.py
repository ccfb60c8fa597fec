"""Models kept in files: plain, versioned, and harmless to open.

A model file is JSON text. It holds the options of the classifier and the numbers of its fit, and
names nothing but this package's own classes; loading one runs no code that came with the file.

The rooms, in the order a model passes through them::

    _values        options and arrays  <->  what JSON can say
    _objects       families, mechanisms, bases by name; users' own classes refused
    _document      a fitted classifier <->  one plain document, checked on the way back
    _files         `save` and `load`
    _preparation   `Preparation`: standardising and principal components before a classifier
"""

from hesitant.persistence._errors import ModelFileError
from hesitant.persistence._files import load, read_notes, save
from hesitant.persistence._preparation import Preparation

__all__ = ["ModelFileError", "Preparation", "load", "read_notes", "save"]
