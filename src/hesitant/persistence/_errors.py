"""The one exception for a file that is not a model this version can read."""

from hesitant.tables import TableError

__all__ = ["Damaged", "ModelFileError"]


class ModelFileError(TableError):
    """A model file that cannot be read, and what to do about it."""


class Damaged(Exception):
    """Something in a document that `save` would not have written; `load` adds the file's name."""
