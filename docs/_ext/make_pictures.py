"""Pictures: those of the pages, drawn by the package at every build, and those of the gallery."""

import warnings
from pathlib import Path

from hesitant._drawing import COLORS


def draw_pages(app):
    """Draw the pictures of the pages that are missing or older than the code."""
    import desk_screens
    import pictures

    import hesitant

    folder = Path(app.srcdir) / "_pictures"
    folder.mkdir(exist_ok=True)
    sources = [Path(pictures.__file__), *Path(hesitant.__file__).parent.rglob("*.py")]
    newest = max(path.stat().st_mtime for path in sources)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, draw in pictures.PICTURES.items():
            path = folder / f"{name}.png"
            if not _is_fresh(path, newest):
                draw().savefig(path, dpi=200)
        if not all(_is_fresh(folder / f"{name}.png", newest) for name in desk_screens.NAMES):
            desk_screens.shoot(folder)
        report = folder / "extra" / "example-report.html"
        report.parent.mkdir(exist_ok=True)
        if not _is_fresh(report, newest):
            report.write_text(pictures.example_report(), encoding="utf-8")


def _is_fresh(path, newest):
    return path.exists() and path.stat().st_mtime > newest


def draw_like_the_package(gallery_conf, filename):
    """Give what an example draws by itself the looks of the displays."""
    import matplotlib as mpl
    import matplotlib.style

    mpl.style.use(["hesitant.pictures", {"axes.prop_cycle": mpl.cycler(color=COLORS)}])


def setup(app):
    """Register with Sphinx."""
    app.connect("builder-inited", draw_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
