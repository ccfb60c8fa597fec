"""What the figures of a study share, and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hesitant.tables import write_atomically

__all__ = ["INK", "panel_letter", "save"]

INK = "#222222"


def save(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and SVG, the same figure as the same bytes; return the files."""
    import matplotlib

    files = []
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):

        def write(file: Any, kind: str = suffix[1:], about: Any = metadata) -> None:
            figure.savefig(file, format=kind, dpi=200, metadata=about, facecolor="white")

        with matplotlib.rc_context({"svg.hashsalt": "hesitant", "svg.fonttype": "none"}):
            files.append(write_atomically(path.with_name(path.name + suffix), write, force=True))
    return files


def panel_letter(ax: Any, letter: str, title: str = "") -> None:
    """Write a panel's letter, and what it shows, above its top left corner."""
    ax.set_title(f"({letter}) {title}".strip(), loc="left")
