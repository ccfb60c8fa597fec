"""The command ``hesitant``.

Libraries are imported when a command runs, so that ``hesitant --help`` does not wait for them.
"""

import atexit
import gc
import os
import sys
from contextlib import suppress
from importlib.util import find_spec


def main() -> None:
    """Run the command line; what ``hesitant`` and ``python -m hesitant`` call."""
    try:
        _run()
    except KeyboardInterrupt:
        _leave("stopped before anything was written.")
    except BrokenPipeError:
        _leave("")  # whoever read our output has seen enough
    except OSError as error:
        _leave(f"standard output: {error.strerror or error}.")


def _run() -> None:
    absent = [name for name in ("typer", "rich", "pandas", "jinja2") if find_spec(name) is None]
    if absent:
        _leave(f"the command line needs {', '.join(absent)}: pip install 'hesitant[cli]'")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if hasattr(getattr(sys, name), "reconfigure"):
            # a terminal that cannot show a character shows another
            getattr(sys, name).reconfigure(errors="replace")
    # Imports make objects by the hundred thousand, and nothing of it is garbage to look for: not
    # now, nor when the process ends, which would take a sixth of a small analysis.
    gc.set_threshold(500_000)
    atexit.register(gc.freeze)
    from hesitant.cli._app import app

    try:
        app(prog_name="hesitant")
    except SystemExit as left:
        if left.code == 130:  # Ctrl-C before a command began, of which typer says nothing
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.stdout.flush()  # here a full disk can still be told


def _leave(message: str) -> None:
    """End with exit code 1; what standard output still holds is lost in silence."""
    if message:
        print(f"Error: {message}", file=sys.stderr)
    with suppress(OSError, ValueError, AttributeError):  # no real file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1)
