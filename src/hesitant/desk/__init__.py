"""The desk: a local page where an expert answers and the model learns at once."""

from hesitant.desk._app import make_app, serve
from hesitant.desk._sitting import Desk

__all__ = ["Desk", "make_app", "serve"]
