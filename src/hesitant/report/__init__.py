"""The report: one analysis as a single page, or as plain data.

In the order an analysis passes through them::

    _case       a model, its data, and the fits it is compared with
    _sections   each section of the report as plain numbers and words
    _pictures   pictures of the package's displays, as SVG that follows the page's colours
    _page       numbers, words and pictures as HTML; templates/ has the page itself
"""

from hesitant.report._report import Report, make_report

__all__ = ["Report", "make_report"]
