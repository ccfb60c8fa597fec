"""The command ``hesitant``.

Commands are declared in `_app` and `_app_studies`; the work of each has a module of its own,
imported when the command runs, so that ``hesitant --help`` does not wait for all of it.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; what ``hesitant`` and ``python -m hesitant`` call."""
    try:
        import jinja2  # noqa: F401
        import pandas  # noqa: F401
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"Error: the command line needs {error.name}, which is not installed. "
            "Install it with pip install 'hesitant[cli]'.",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    from hesitant.cli import _app, _app_studies  # noqa: F401 (they attach themselves)
    from hesitant.cli._root import app

    app(prog_name="hesitant")
