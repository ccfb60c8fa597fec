"""The report: one analysis as a single page, or as plain data.

In the order an analysis passes through them::

    _case       a model, its data, and the fits it is compared with
    _held_out   how often the model is right on rows that it did not see
    _sections   each section of the report as plain numbers and words
    _pictures   pictures of the package's displays, as SVG that follows the page's colours
    _page       numbers, words and pictures as HTML
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hesitant.report._report import Report, make_report

__all__ = ["Report", "make_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hesitant.report import _report

    return getattr(_report, name)
