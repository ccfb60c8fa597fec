"""What all pictures share: colours anyone can tell apart, plain axes, and no global state.

Figures are made without pyplot, so none stays open behind the user's back and no current figure
changes. In a notebook a display shows itself; elsewhere use its ``figure_`` or give axes of a
pyplot figure to draw on.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hesitant._optional import need

__all__ = ["BLANK", "GREY", "Drawing", "class_color", "class_marker", "drawing", "new_figure"]

# Okabe and Ito's colours, told apart with any kind of colour vision; black is for blanks.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
_MARKERS = ("o", "^", "v", "D", "P", "X", "*")
BLANK = "#000000"
GREY = "#6b6b6b"

_STYLE = {
    "axes.edgecolor": "#333333",
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "figure.dpi": 110,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "xtick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.labelsize": 8,
    "ytick.major.width": 0.7,
}


def class_color(h: int) -> str:
    """Return the colour of class h."""
    return _COLORS[h % len(_COLORS)]


def class_marker(h: int) -> str:
    """Return the marker of class h; with the colour, 49 classes can be told apart."""
    return _MARKERS[(h + h // len(_COLORS)) % len(_MARKERS)]


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the package's style; the user's own settings come back afterwards."""
    with need("matplotlib", "plot").rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches, that pyplot does not know of."""
    figure = need("matplotlib.figure", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )
    need("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(figure)
    return figure


class Drawing:
    """Base of the displays: what has been drawn, and how to keep it.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of Axes
    ax_ : Axes
        The first, or only, of them.
    """

    figure_: Any
    axes_: Any
    ax_: Any

    def save(self, path: Any, **options: Any) -> None:
        """Write the picture to a file; the ending (.png, .svg, .pdf) decides the format."""
        self.figure_.savefig(path, **options)

    def _repr_png_(self) -> bytes | None:
        if not hasattr(self, "figure_"):
            return None
        buffer = io.BytesIO()
        self.figure_.savefig(buffer, format="png")
        return buffer.getvalue()
