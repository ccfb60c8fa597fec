"""The report: one analysis as a single page, or as plain data.

The rooms, in the order an analysis passes through them::

    _case                         a model, its data, and the fits it is compared with
    _labels, _change, _verdict,
    _parameters, _triage,
    _method, _repeat              one section each, as plain numbers and words
    _summarise                    all of them: the whole report as one dictionary
    _chart, _entropy_picture,
    _projection, _data_picture    pictures, as SVG that follows the page's colours
    _cells, _tables, _page,
    templates                     the dictionary and the pictures as HTML
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hesitant.report._report import Report, make_report

__all__ = ["Report", "make_report"]


def __getattr__(name: str) -> Any:
    # on first use: the command line borrows `_words` without waiting for all the rest
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hesitant.report import _report

    return getattr(_report, name)
