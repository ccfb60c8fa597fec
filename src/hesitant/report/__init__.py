"""The report: one analysis as a single page, or as plain data."""

from hesitant.report._report import Report, make_report

__all__ = ["Report", "make_report"]
