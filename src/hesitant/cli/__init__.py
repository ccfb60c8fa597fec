"""The command ``hesitant``.

Commands are declared in `_app` and `_app_studies`; the work of each has a module of its own,
imported when the command runs, so that ``hesitant --help`` does not wait for all of it.
"""

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """Run the command line; what ``hesitant`` and ``python -m hesitant`` call."""
    absent = [name for name in ("typer", "rich", "pandas", "jinja2") if find_spec(name) is None]
    if absent:
        print(
            f"Error: the command line needs {', '.join(absent)}, which is not installed. "
            "Install it with pip install 'hesitant[cli]'.",
            file=sys.stderr,
        )
        raise SystemExit(1)
    from hesitant.cli import _app, _app_desk, _app_studies  # noqa: F401 (attached on import)
    from hesitant.cli._root import app

    app(prog_name="hesitant")
