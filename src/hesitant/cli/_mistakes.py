"""Mistakes of a user's, told from failures of ours: the first get a sentence, not a traceback."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from hesitant.cli._terminal import Terminal

__all__ = ["in_options", "reporting"]

FAILED = 1
_PARAMETER = re.compile(
    r"\b(family|covariance|mechanism|alpha|random_state|n_jobs|n_init|n_boot)="
    r"('[^']*'|\w+(?:\.\d+)?)"
)
_OPTION = {"random_state": "seed", "n_jobs": "jobs", "n_init": "starts", "n_boot": "bootstrap"}


def in_options(text: str) -> str:
    """Return a message of the library's in the words of the command line.

    Examples
    --------
    >>> in_options("Use covariance='tied', or mechanism=None.")
    'Use --covariance tied, or --mechanism none.'
    """

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        shown = "none" if value == "None" else value.strip("'")
        return f"--{_OPTION.get(name, name)} {shown}"

    return _PARAMETER.sub(option, text)


@contextmanager
def reporting(terminal: Terminal) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message and exit code 1.

    The environment variable ``HESITANT_TRACEBACK`` brings the traceback back.
    """
    from hesitant.tables import TableError

    try:
        yield
    except TableError as error:
        document = {
            name: getattr(error, name)
            for name in ("source", "problem", "remedy", "row", "line", "column")
        }
        _leave(terminal, str(error), document, error)
    except BrokenPipeError as error:
        # Whoever read our output has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt as error:
        terminal.fail("stopped; no file was left half-written.")
        raise typer.Exit(FAILED) from error
    except MemoryError as error:
        remedy = "Keep the columns you need, or a sample of the rows."
        problem = "There is not enough memory for this table."
        _leave(terminal, f"{problem} {remedy}", {"problem": problem, "remedy": remedy}, error)
    except (ValueError, TypeError, ImportError) as error:
        # The package's own checks speak to whoever wrote the options: their words are the message.
        said = in_options(str(error))
        _leave(terminal, said, {"problem": said}, error)


def _leave(
    terminal: Terminal, message: str, document: dict[str, object], error: Exception
) -> None:
    if os.environ.get("HESITANT_TRACEBACK"):
        raise error
    terminal.fail(message, document)
    raise typer.Exit(FAILED) from error
