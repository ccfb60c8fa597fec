"""Warnings of the package."""

__all__ = ["FitWarning"]


class FitWarning(UserWarning):
    """Something about the data or the fit that a careful user should know."""
